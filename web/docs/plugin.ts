/** Writes the documentation beside the console when it is built: `/docs/en/*.html`, `/docs/zh/*.html` and what their search reads. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';
import { docsPages } from './pages.ts';
import { type DocsPart, docsDocument, docsLanguages, renderDocs } from './render.ts';

const root = join(import.meta.dirname, '../..');
/** Lists of hundreds of rows would make the index larger than all pages. */
const maxPartLength = 1500;

export const docsEntry = join(import.meta.dirname, 'client.ts');

export const documentation: Plugin = {
  name: 'documentation',
  writeBundle(options, bundle) {
    const chunk = Object.values(bundle).find((file) => file.type === 'chunk' && file.facadeModuleId === docsEntry);
    if (chunk?.type !== 'chunk') throw new Error('the script of the documentation is not in the bundle');
    const files = {
      script: `/${chunk.fileName}`,
      styles: [...(chunk.viteMetadata?.importedCss ?? [])].map((path) => `/${path}`),
    };
    for (const language of docsLanguages) {
      const folder = join(options.dir ?? '', 'docs', language);
      mkdirSync(folder, { recursive: true });
      const parts: DocsPart[] = [];
      for (const page of docsPages) {
        const path = page.generated?.[language] ?? `web/docs/${language}/${page.slug}.md`;
        const rendered = renderDocs(readFileSync(join(root, path), 'utf8'), page.slug, page.title[language], language);
        writeFileSync(join(folder, `${page.slug}.html`), docsDocument(rendered, page.slug, language, files));
        parts.push(...rendered.parts.map((part) => ({ ...part, text: part.text.slice(0, maxPartLength) })));
      }
      writeFileSync(join(folder, 'missing.html'), docsDocument(null, null, language, files));
      writeFileSync(join(folder, 'search.json'), JSON.stringify(parts));
    }
  },
};
