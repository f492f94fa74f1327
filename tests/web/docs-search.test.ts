// @vitest-environment happy-dom
/** The documentation as a browser has it: what stands around a page, and what its search, menu and theme do. */
import { afterAll, expect, test, vi } from 'vitest';
import { type DocsPart, docsDocument, renderDocs } from '../../web/docs/render.ts';
import { expectGolden } from '../support/golden-file.ts';

const text = [
  '# Quick start',
  '',
  'Start it with `gateway <serve>` & read on: [channels](channels.md#add), [commands](../../../cli/COMMANDS.md), [Bun](https://bun.sh).',
  '<!-- not for readers -->',
  '## First *channel*',
  '',
  '```sh',
  'gateway channel add',
  '```',
  '',
  '### Its key',
  '',
  'A key.',
  '## Then',
  '',
  '| name | use |',
  '| --- | --- |',
  '| `--key` | a "key" |',
  '',
  '```',
  'plain',
  '```',
].join('\n');

const part = (url: string, page: string, heading: string, words: string): DocsPart => ({
  url,
  page,
  heading,
  text: words,
});
const long = `${'Before it much is said about other things. '.repeat(3)}Then a key is kept${' and so on'.repeat(12)}.`;
const parts = [
  part('/docs/en/channels', 'Channels', '', 'Each has a key.'),
  part('/docs/en/keys#make', 'Key words', 'Make one', 'Nothing else.'),
  part('/docs/en/users#keys', 'Users', 'Keys of users', long),
  part('/docs/en/other', 'Other', 'Rest', 'Nothing of it.'),
  ...Array.from({ length: 12 }, (_, at) => part(`/docs/en/part-${at}`, 'Many', `Part ${at}`, `manifold ${at}`)),
];

const rendered = renderDocs(text, 'quick-start', 'Quick start', 'en');
const files = { script: '/docs.js', styles: ['/a.css', '/b.css'] };

afterAll(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  document.documentElement.innerHTML = '<head></head><body></body>';
});

test('a page of each language, and the one that says that there is none', () => {
  expectGolden('tests/web/outlines/docs/page.txt', [
    docsDocument(rendered, 'quick-start', 'en', files),
    docsDocument({ ...rendered, headings: rendered.headings.slice(0, 2) }, 'index', 'zh', files),
    docsDocument(null, null, 'zh', files),
    JSON.stringify(rendered.parts, null, 1),
  ]);
});

test('the search lists what has every word, headings first, and keys walk through it', async () => {
  document.documentElement.innerHTML = docsDocument(rendered, 'quick-start', 'en', files).replace(
    /<(script|link).*?>(<.script>)?/g,
    '',
  );
  document.documentElement.lang = 'en';
  history.replaceState(null, '', '/docs/en/quick-start');
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (address: string) => {
    asked.push(address);
    return Response.json(parts);
  });
  const seen: number[] = [];
  vi.spyOn(Element.prototype, 'scrollIntoView').mockImplementation(function scroll(this: Element) {
    seen.push([...(this.parentElement?.children ?? [])].indexOf(this));
  });
  await import('../../web/docs/client.ts');
  const input = document.querySelector('input') as HTMLInputElement;
  const lines: string[] = [];
  let before = '';
  const state = (step: string): void => {
    const items = [...document.querySelectorAll('#found > li')].map((item) => {
      const option = item.querySelector('a') ?? item;
      const [title, line] =
        option.children.length === 0 ? [option.textContent, ''] : [...option.children].map((one) => one.textContent);
      const kinds = [
        item.className,
        item.role,
        option.role,
        option.id,
        option.getAttribute('tabindex'),
        option.ariaDisabled,
      ];
      return `    ${option.ariaSelected === 'true' ? '*' : '-'} ${kinds.filter(Boolean).join(' ')} → ${option.getAttribute('href')} | ${title} | ${line}`;
    });
    const isHidden = document.querySelector<HTMLElement>('#found')?.hidden;
    lines.push(
      `> ${step}: ${isHidden ? 'hidden' : 'shown'}, expanded ${input.ariaExpanded}, marked ${input.getAttribute('aria-activedescendant')}, scrolled to ${seen.splice(0)}, asked ${asked.splice(0)}`,
    );
    const list = items.join('\n');
    if (list !== before && list !== '') lines.push(list);
    before = list;
  };
  const type = async (words: string): Promise<void> => {
    input.value = words;
    input.dispatchEvent(new Event('input', { bubbles: true }));
    await new Promise((resolve) => setTimeout(resolve, 1));
    state(`types ${JSON.stringify(words)}`);
  };
  const key = (name: string, more: KeyboardEventInit = {}, on: EventTarget = input): boolean => {
    const event = new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true, ...more });
    on.dispatchEvent(event);
    state(`key ${name} ${JSON.stringify(more)}${event.defaultPrevented ? ', taken' : ''}`);
    return event.defaultPrevented;
  };
  state('nothing yet');
  key('ArrowDown');
  await type('KEY');
  for (const name of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowUp', 'ArrowUp', 'a']) key(name);
  key('ArrowDown', { isComposing: true });
  await type('key users');
  await type('manifold');
  await type('nowhere');
  key('ArrowDown');
  await type('  ');
  await type('rest');
  key('Escape');
  await type('make');
  document.querySelector('main')?.dispatchEvent(new MouseEvent('click', { bubbles: true }));
  state('clicks on the text');
  await type('make');
  input.dispatchEvent(new MouseEvent('click', { bubbles: true }));
  state('clicks into the field');
  key('/', {}, document.body);
  lines.push(`    focus: ${document.activeElement?.tagName}`);
  input.blur();
  for (const more of [{ ctrlKey: true }, { metaKey: true }]) key('/', more, document.body);
  key('a', {}, document.body);
  expect(document.activeElement).toBe(document.body);
  expect(key('/')).toBe(false);
  key('Enter');
  lines.push(`    at ${location.pathname}${location.hash}`);
  // An answer that comes after other words were typed shows nothing.
  input.value = 'key';
  input.dispatchEvent(new Event('input', { bubbles: true }));
  input.value = 'make one';
  await new Promise((resolve) => setTimeout(resolve, 1));
  state('other words than were asked for');
  expectGolden('tests/web/outlines/docs/search.txt', lines);
});

test('the menu opens and closes, the theme changes and is kept', () => {
  const [menu, theme] = ['menu', 'theme'].map((name) => document.querySelector<HTMLElement>(`button.${name}`));
  const states = [0, 1].map(() => {
    menu?.click();
    theme?.click();
    return [
      document.body.className,
      menu?.ariaExpanded,
      document.documentElement.dataset.theme,
      localStorage.getItem('theme-mode'),
    ];
  });
  expect(states).toEqual([
    ['menu-open', 'true', 'dark', 'dark'],
    ['', 'false', 'light', 'light'],
  ]);
});
