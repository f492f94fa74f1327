/** Search, menu and theme of the documentation; its pages can be read without. */
import './docs.css';

interface Part {
  readonly url: string;
  readonly page: string;
  readonly heading: string;
  readonly text: string;
}

const one = <T extends Element>(selector: string): T | null => document.querySelector<T>(selector);
// Read here: what is shared with the console lies in a file that starts the console.
const basePath = one<HTMLMetaElement>('meta[name=base-path]')?.content ?? '';
const input = one<HTMLInputElement>('.search input');
const list = one<HTMLUListElement>('#found');
let parts: Promise<readonly Part[]> | null = null;
let visible: readonly Part[] = [];
let marked = 0;

/** Every word has to stand somewhere in the part; Chinese has no spaces, so words are looked for inside of others. */
function score(part: Part, terms: readonly string[]): number {
  const [page, heading, text] = [part.page, part.heading, part.text].map((each) => each.toLowerCase());
  let sum = 0;
  for (const term of terms) {
    const found = (heading?.includes(term) ? 8 : 0) + (page?.includes(term) ? 4 : 0) + (text?.includes(term) ? 1 : 0);
    if (found === 0) return 0;
    sum += found;
  }
  return sum;
}

function snippet(text: string, term: string): string {
  const at = text.toLowerCase().indexOf(term);
  const start = Math.max(0, at - 30);
  return (start > 0 ? '… ' : '') + text.slice(start, start + 110).trim();
}

function option(part: Part, at: number, terms: readonly string[]): HTMLLIElement {
  const item = document.createElement('li');
  item.role = 'none';
  const link = document.createElement('a');
  link.id = `found-${at}`;
  link.role = 'option';
  link.ariaSelected = String(at === marked);
  link.href = part.url;
  link.tabIndex = -1;
  const title = document.createElement('strong');
  title.textContent = part.heading === '' ? part.page : `${part.page} › ${part.heading}`;
  const line = document.createElement('span');
  line.textContent = snippet(part.text, terms[0] ?? '');
  link.append(title, line);
  item.append(link);
  return item;
}

function show(found: readonly Part[] | null, terms: readonly string[]): void {
  if (input === null || list === null) return;
  visible = found ?? [];
  list.hidden = found === null;
  input.ariaExpanded = String(found !== null);
  if (found?.length === 0) {
    const empty = document.createElement('li');
    empty.className = 'none';
    empty.role = 'option';
    empty.ariaDisabled = 'true';
    empty.textContent = input.dataset.nothing ?? '';
    list.replaceChildren(empty);
  } else list.replaceChildren(...visible.map((part, at) => option(part, at, terms)));
  if (visible.length > 0) input.setAttribute('aria-activedescendant', `found-${marked}`);
  else input.removeAttribute('aria-activedescendant');
}

async function search(): Promise<void> {
  const asked = input?.value ?? '';
  const terms = asked.toLowerCase().split(/\s+/).filter(Boolean);
  if (terms.length === 0) return show(null, terms);
  parts ??= fetch(`${basePath}/docs/${document.documentElement.lang}/search.json`).then(async (response) =>
    ((await response.json()) as Part[]).map((part) => ({ ...part, url: basePath + part.url })),
  );
  const all = await parts;
  if (input?.value !== asked) return;
  marked = 0;
  const scored = all.map((part) => ({ part, value: score(part, terms) })).filter(({ value }) => value > 0);
  show(
    scored
      .sort((a, b) => b.value - a.value)
      .slice(0, 12)
      .map(({ part }) => part),
    terms,
  );
}

function move(by: number): void {
  if (visible.length === 0 || list === null) return;
  marked = (marked + by + visible.length) % visible.length;
  for (const [at, link] of [...list.querySelectorAll('a')].entries()) link.ariaSelected = String(at === marked);
  list.children[marked]?.scrollIntoView({ block: 'nearest' });
  input?.setAttribute('aria-activedescendant', `found-${marked}`);
}

input?.addEventListener('input', () => void search());
input?.addEventListener('keydown', (event) => {
  if (event.isComposing) return;
  if (event.key === 'ArrowDown') move(1);
  else if (event.key === 'ArrowUp') move(-1);
  else if (event.key === 'Enter') location.href = visible[marked]?.url ?? location.href;
  else if (event.key === 'Escape') show(null, []);
  else return;
  event.preventDefault();
});
document.addEventListener('click', (event) => {
  if (!(event.target instanceof Element) || event.target.closest('.search') === null) show(null, []);
});
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.target instanceof HTMLInputElement) return;
  event.preventDefault();
  input?.focus();
});

const menuButton = one<HTMLButtonElement>('button.menu');
menuButton?.addEventListener('click', () => {
  const open = document.body.classList.toggle('menu-open');
  menuButton.ariaExpanded = String(open);
});
one('button.theme')?.addEventListener('click', () => {
  const next = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  document.documentElement.dataset.theme = next;
  localStorage.setItem('theme-mode', next);
});
