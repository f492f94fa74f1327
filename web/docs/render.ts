/** Turns the Markdown of the user documentation into pages of HTML that need no script to be read, and an index for their search. */
import { Marked } from 'marked';
import type { Written } from '../../server/contract/enum.ts';
import { docsPages, docsSections } from './pages.ts';

export const docsLanguages: readonly Written[] = ['en', 'zh'];

/** One heading with the text below it, up to the next heading. */
export interface DocsPart {
  readonly url: string;
  readonly page: string;
  /** '' = the text above the first heading of the page. */
  readonly heading: string;
  readonly text: string;
}

export interface RenderedDocs {
  /** HTML without what stands around it. */
  readonly body: string;
  readonly headings: readonly { readonly id: string; readonly text: string; readonly level: number }[];
  readonly parts: readonly DocsPart[];
}

const words = {
  en: {
    docs: 'Documentation',
    search: 'Search',
    nothing: 'Nothing found',
    onThisPage: 'On this page',
    menu: 'Menu',
    console: 'Console',
    missing: 'There is no such page.',
    theme: 'Switch between light and dark',
    skip: 'Skip to the text',
  },
  zh: {
    docs: '文档',
    search: '搜索',
    nothing: '没有找到',
    onThisPage: '本页内容',
    menu: '目录',
    console: '控制台',
    missing: '没有这个页面。',
    theme: '切换浅色与深色',
    skip: '跳到正文',
  },
} as const;

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign] ?? sign);

/** What each language calls itself. */
const ownName = (language: Written): string => (language === 'en' ? 'English' : '\u4e2d\u6587');

export const urlOf = (language: Written, slug: string): string =>
  slug === 'index' ? `/docs/${language}` : `/docs/${language}/${slug}`;

/** As GitHub makes them, so that links hold in both places. */
export const headingId = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');

const root = '../../../';

/** Links between the files, generated ones included, become links between the pages; those out of the documentation are left as they are. */
function linked(href: string, language: Written): string {
  const [file = '', anchor = ''] = href.split(/(?=#)/);
  const slug = file.startsWith(root)
    ? docsPages.find(({ generated }) => generated?.[language] === file.slice(root.length))?.slug
    : /^(?:\.\/)?([a-z-]+)\.md$/.exec(file)?.[1];
  return slug === undefined ? href : `${urlOf(language, slug)}${anchor}`;
}

/** @param markdown begins with a heading of the first level, the title of the page. */
export function renderDocs(markdown: string, slug: string, title: string, language: Written): RenderedDocs {
  const headings: { id: string; text: string; level: number }[] = [];
  const parts: { url: string; page: string; heading: string; text: string }[] = [
    { url: urlOf(language, slug), page: title, heading: '', text: '' },
  ];
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth, text }) {
        const plain = text.replace(/[`*]/g, '');
        const id = headingId(plain);
        if (depth > 1) headings.push({ id, text: plain, level: depth });
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        return `<a href="${escaped(linked(href, language))}">${this.parser.parseInline(tokens)}</a>`;
      },
      // Code and tables that are wide scroll by themselves instead of the page, with the keyboard too.
      code({ text, lang = '' }) {
        const kind = lang === '' ? '' : ` class="language-${escaped(lang)}"`;
        return `<pre tabindex="0"><code${kind}>${escaped(text)}\n</code></pre>\n`;
      },
      table(token) {
        const row = (cells: typeof token.header, tag: string): string =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`;
        const rows = token.rows.map((cells) => row(cells, 'td')).join('\n');
        return `<div class="wide" tabindex="0" role="group"><table><thead>${row(token.header, 'th')}</thead><tbody>${rows}</tbody></table></div>\n`;
      },
    },
  });
  const text = markdown.replace(/<!--[\s\S]*?-->\n?/g, '');
  for (const token of marked.lexer(text)) {
    if (token.type === 'heading') {
      if (token.depth === 1) continue;
      const heading = String(token.text).replace(/[`*]/g, '');
      parts.push({ url: `${urlOf(language, slug)}#${headingId(heading)}`, page: title, heading, text: '' });
      continue;
    }
    const last = parts.at(-1);
    if (last === undefined) continue;
    const plain = token.raw.replace(/^\|[\s|:-]+\|$/gm, '').replace(/[`*|]|\]\([^)]*\)|\[|^-+$/gm, ' ');
    last.text = `${last.text} ${plain}`.replace(/\s+/g, ' ').trim();
  }
  return {
    body: marked.parse(text, { async: false }),
    headings,
    parts: parts.filter((part) => part.text !== '' || part.heading !== ''),
  };
}

function menu(language: Written, slug: string): string {
  return docsSections
    .map(({ title, pages }) => {
      const links = pages.map((page) => {
        const here = page.slug === slug ? ' aria-current="page"' : '';
        return `<li><a href="${urlOf(language, page.slug)}"${here}>${escaped(page.title[language])}</a></li>`;
      });
      return `<h2>${escaped(title[language])}</h2><ul>${links.join('')}</ul>`;
    })
    .join('');
}

export interface PageFiles {
  readonly script: string;
  readonly styles: readonly string[];
}

/** @param slug null = the page that says that there is none. */
export function docsDocument(
  rendered: RenderedDocs | null,
  slug: string | null,
  language: Written,
  files: PageFiles,
): string {
  const say = words[language];
  const other = language === 'en' ? 'zh' : 'en';
  const title = docsPages.find((page) => page.slug === slug)?.title[language] ?? say.missing;
  const contents = (rendered?.headings ?? []).filter(({ level }) => level === 2);
  const sidebar =
    contents.length < 2
      ? ''
      : `<aside><h2>${say.onThisPage}</h2><ul>${contents.map(({ id, text }) => `<li><a href="#${id}">${escaped(text)}</a></li>`).join('')}</ul></aside>`;
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} · ${say.docs}</title>
<link rel="icon" href="/logo.svg" type="image/svg+xml">
<script src="/theme.js"></script>
${files.styles.map((path) => `<link rel="stylesheet" href="${path}">`).join('\n')}
<script type="module" src="${files.script}"></script>
</head>
<body>
<a class="skip" href="#text">${say.skip}</a>
<header>
<button class="menu" type="button" aria-expanded="false" aria-controls="menu">${say.menu}</button>
<a class="name" href="${urlOf(language, 'index')}"><img src="/logo.svg" alt="" width="20" height="20">${say.docs}</a>
<div class="search" role="search">
<input type="search" aria-label="${say.search}" placeholder="${say.search}" role="combobox" aria-expanded="false" aria-controls="found" autocomplete="off" data-nothing="${say.nothing}">
<kbd>/</kbd>
<ul id="found" role="listbox" hidden></ul>
</div>
<a class="language" href="${urlOf(other, slug ?? 'index')}" lang="${other}" hreflang="${other}">${ownName(other)}</a>
<button class="theme" type="button" aria-label="${say.theme}">◐</button>
<a class="console" href="/">${say.console}</a>
</header>
<div class="page">
<nav id="menu" aria-label="${say.docs}">${menu(language, slug ?? '')}</nav>
<main id="text" tabindex="-1">${rendered?.body ?? `<h1>${say.missing}</h1>`}</main>
${sidebar}
</div>
</body>
</html>
`;
}
