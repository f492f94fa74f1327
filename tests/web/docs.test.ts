/** The user documentation: both languages say the same, links lead somewhere, and what it names exists. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { isOptionKey } from '../../server/contract/options.ts';
import { docsPages } from '../../web/docs/pages.ts';
import { docsLanguages, headingId, renderDocs, urlOf } from '../../web/docs/render.ts';

const root = resolve(import.meta.dirname, '../..');
const pathOf = (slug: string, language: 'en' | 'zh'): string => {
  const page = docsPages.find((each) => each.slug === slug);
  return join(root, page?.generated?.[language] ?? `web/docs/${language}/${slug}.md`);
};
const textOf = (slug: string, language: 'en' | 'zh'): string => readFileSync(pathOf(slug, language), 'utf8');
const written = docsPages.filter((page) => page.generated === undefined);
const rendered = new Map(
  docsLanguages.flatMap((language) =>
    docsPages.map(
      (page) =>
        [
          urlOf(language, page.slug),
          renderDocs(textOf(page.slug, language), page.slug, page.title[language], language),
        ] as const,
    ),
  ),
);

test.each(docsLanguages)('every page of %s has a file and every file a page', (language) => {
  const files = readdirSync(join(root, 'web/docs', language)).sort();
  expect(files).toEqual(written.map(({ slug }) => `${slug}.md`).sort());
});

test.each(written.map(({ slug, title }) => [slug, title] as const))('%s begins with its title', (slug, title) => {
  for (const language of docsLanguages) expect(textOf(slug, language).split('\n')[0]).toBe(`# ${title[language]}`);
});

/** Blocks of code without the comments and the words that a reader sees translated. */
const blocksOf = (text: string): string[] => [...text.matchAll(/```\w*\n([\s\S]*?)```/g)].map(([, code = '']) => code);

test.each(written.map(({ slug }) => slug))('%s says the same in both languages', (slug) => {
  const [en, zh] = [textOf(slug, 'en'), textOf(slug, 'zh')];
  expect(blocksOf(zh)).toEqual(blocksOf(en));
  for (const count of [/^#{2,} /gm, /^\|/gm, /^- /gm, /^\d+\. /gm, /\]\(/g])
    expect([count.source, zh.match(count)?.length ?? 0]).toEqual([count.source, en.match(count)?.length ?? 0]);
});

test('every link within the documentation leads to a page and a heading', () => {
  const lost: string[] = [];
  for (const [url, { body }] of rendered) {
    for (const [, href = ''] of body.matchAll(/href="([^"]+)"/g)) {
      if (/^https?:/.test(href)) continue;
      const [page = '', anchor] = href.split('#');
      const target = rendered.get(page === '' ? url : page);
      if (target === undefined) lost.push(`${url}: ${href}`);
      else if (anchor !== undefined && !target.headings.some(({ id }) => id === anchor)) lost.push(`${url}: ${href}`);
    }
  }
  expect(lost).toEqual([]);
});

test('every command and every option that is named exists', () => {
  const rows = readFileSync(join(root, 'cli/COMMANDS.md'), 'utf8').matchAll(/^\| `gateway ([a-z- ]+)/gm);
  const commands = new Set([...rows].map(([, name = '']) => name.trim()));

  const unknown: string[] = [];
  for (const { slug } of written) {
    const text = textOf(slug, 'en');
    for (const [, name = ''] of text.matchAll(/`(?:[A-Z_]+=\S+ )?gateway ((?:[a-z-]+ ?)+)/g)) {
      const words = name.trim().split(' ');
      const names = words.map((_, at) => words.slice(0, at + 1).join(' '));
      if (!names.some((each) => commands.has(each)) && words[0] !== 'help') unknown.push(`${slug}: gateway ${name}`);
    }
    for (const [, key = ''] of text.matchAll(/`([a-z_]+_setting\.[a-z0-9_]+)/g))
      if (!isOptionKey(key) && !key.endsWith('s3_')) unknown.push(`${slug}: ${key}`);
  }
  expect(unknown).toEqual([]);
});

/** Words that the console and the terminal do not use for these things. */
const otherWords = {
  en: /\bdialects?\b|\bspeaks?\b|\bsecond factor|\bfor good\b|\bfolders?\b|\blog rows?\b|\bbanned\b|\bset-up\b|\be-mail/i,
  zh: /账号|练习上游|花费|方言|日志行|通道|系数|登出/,
} as const;

test.each(docsLanguages)('the pages in %s use the words of the console', (language) => {
  const found = written.flatMap(({ slug }) => otherWords[language].exec(textOf(slug, language))?.[0] ?? []);
  expect(found).toEqual([]);
});

test('headings get the ids that GitHub gives them', () => {
  expect([headingId('Behind a proxy with TLS'), headingId('What `explain` shows: all?')]).toEqual([
    'behind-a-proxy-with-tls',
    'what-explain-shows-all',
  ]);
  expect(headingId('系统要求')).toBe('系统要求');
});

test('search results are sections with links to their headings', () => {
  const { parts } = renderDocs('# Title\n\nFirst.\n\n## Second `part`\n\nText of [it](x.md).\n', 'page', 'Title', 'en');
  expect(parts).toEqual([
    { url: '/docs/en/page', page: 'Title', heading: '', text: 'First.' },
    { url: '/docs/en/page#second-part', page: 'Title', heading: 'Second part', text: 'Text of it .' },
  ]);
  const table = renderDocs('# Title\n\n| name | use |\n| --- | :-: |\n| Caddy | TLS |\n', 'page', 'Title', 'en');
  expect(table.parts.map(({ text }) => text)).toEqual(['name use Caddy TLS']);
});
