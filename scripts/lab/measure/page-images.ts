/**
 * The console photographed: the main pages at 1440 and 390 pixels in every state, theme and language, at the widths between in
 * every state, the others by a plan that has each pair of values once. Reports what axe finds, what is cut, what cannot be
 * reached, and what scrolls sideways; lays the pictures on contact sheets. Needs `npm run build` and Chromium.
 * `--pairs` takes every page by that plan: about 140 pictures; `--every` takes each page at each width in light and English
 * (`--language zh`, `--theme dark`).
 * `--beside PAGE=PNG,PAGE=PNG` takes only these pages, at 1440 pixels, and lays each beside the picture given for it.
 * `--bills DOCS` takes the picture of a bill for the README besides.
 * `node scripts/launch.mjs lab/measure/page-images FOLDER [--only PAGE,PAGE] [--states filled,empty,failing] [--widths 1440,390] [--seed N] [--pairs] [--every] [--no-axe]`
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { enter } from '../../../tests/browser/faults.ts';
import { newViolations, openStage, quietLine, type Stage, settled } from '../../../tests/browser/support.ts';
import { type PageImage, renderBeside, renderGrid } from './image-grid.ts';
import { fillSite, type SiteSize } from './site-data.ts';

const args = process.argv.slice(2);
const valueAfter = (flag: string): string | undefined => {
  const at = args.indexOf(flag);
  return at < 0 ? undefined : args[at + 1];
};
const listOf = (flag: string): string[] | undefined => valueAfter(flag)?.split(',');
const folder = resolve(args[0] ?? 'pictures');
const seed = Number(valueAfter('--seed') ?? 28);
const beside = new Map(
  listOf('--beside')?.map((pair): [string, string] => {
    const [page = '', file = ''] = pair.split('=');
    return [page, resolve(file)];
  }),
);
const checkAccessibility = !args.includes('--no-axe');

const states: Readonly<Record<string, SiteSize | null>> = {
  filled: { logs: 10_000, channels: 200, keys: 500, users: 300, failing: 0 },
  failing: { logs: 1500, channels: 12, keys: 8, users: 14, failing: 0.7 },
  empty: null,
  /** Before the first request; seen only beside another picture. */
  begun: { logs: 0, channels: 0, keys: 1, users: 0, failing: 0 },
};
const plannedStates = ['filled', 'failing', 'empty'] as const;
const widths = [1440, 1024, 768, 390] as const;
const themes = ['light', 'dark'] as const;
const languages = ['en', 'zh'] as const;
const screenHeights: Readonly<Record<number, number>> = { 1440: 900, 1024: 768, 768: 1024, 390: 844 };

type Width = (typeof widths)[number];
interface CaptureOrder {
  readonly page: string;
  readonly state: string;
  readonly width: Width;
  readonly theme: (typeof themes)[number];
  readonly language: (typeof languages)[number];
}
interface Place {
  readonly path: string;
  /** The page is opened without a login. */
  readonly guest?: boolean;
  /** What is done before it is opened. */
  readonly before?: (page: Page, capture: CaptureOrder) => Promise<unknown>;
}

const question = 'How do I merge two sorted lists in Rust?';
async function converse(page: Page, capture: CaptureOrder): Promise<void> {
  if (capture.state === 'empty') return;
  await page.evaluate(
    ([text]) => {
      const shorter = (text: string): string =>
        text
          .replace(
            'Walk both lists at once and take the smaller head each time',
            'Compare the two heads and push the smaller one',
          )
          .replace(', and the order of equal elements stays', ' and keeps the order of equal elements');
      const answer = {
        ...{ state: 'complete', error: '', thinking: '', results: {}, calls: [], cost: 2050, logId: null },
        text: `Walk both lists at once and take the smaller head each time:\n\n\`\`\`rust\nfn merge(a: &[i32], b: &[i32]) -> Vec<i32> {\n    let (mut i, mut j) = (0, 0);\n    let mut out = Vec::with_capacity(a.len() + b.len());\n    while i < a.len() && j < b.len() {\n        if a[i] <= b[j] { out.push(a[i]); i += 1 } else { out.push(b[j]); j += 1 }\n    }\n    out.extend_from_slice(&a[i..]);\n    out.extend_from_slice(&b[j..]);\n    out\n}\n\`\`\`\n\nIt takes **O(n + m)** time, and the order of equal elements stays.`,
        ...{ ms: 2210, firstMs: 430, tokensIn: 24, tokensOut: 187 },
      };
      localStorage.setItem(
        'playground',
        JSON.stringify({
          models: ['gpt-4o', 'claude-sonnet-4-5'],
          settings: {},
          turns: [
            {
              id: 1,
              text,
              files: [],
              answers: [[answer], [{ ...answer, text: shorter(answer.text), cost: 2710, ms: 1830, tokensOut: 174 }]],
            },
          ],
        }),
      );
    },
    [question],
  );
}

/** Those that decide; each is seen in every state. */
const mainPages: Readonly<Record<string, Place>> = {
  overview: { path: 'detail?range=7d' },
  channels: { path: 'channel' },
  log: { path: 'log' },
  'log-row': { path: 'log?open=ROW' },
  keys: { path: 'token' },
  models: { path: 'pricing' },
  playground: { path: 'playground', before: converse },
  users: { path: 'user' },
  wallet: { path: 'topup' },
  settings: { path: 'setting?tab=operation' },
  first: { path: 'first' },
  home: { path: '', guest: true },
};
const otherPages: Readonly<Record<string, Place>> = {
  'key-new': { path: 'token?open=new' },
  'channel-new': { path: 'channel/add' },
  'channel-edit': { path: 'channel/edit/1' },
  tags: { path: 'channel?mode=tag' },
  model: { path: 'pricing/gpt-4o' },
  'models-stranger': { path: 'pricing', guest: true },
  user: { path: 'user/2' },
  'user-edit': { path: 'user/edit/2' },
  statement: { path: 'statement' },
  account: { path: 'personal' },
  'alert-rules': { path: 'alert' },
  audit: { path: 'audit' },
  budgets: { path: 'budget' },
  connect: { path: 'connect' },
  invoices: { path: 'topup?view=invoices' },
  'invoices-all': { path: 'orders?view=invoices' },
  codes: { path: 'redemption' },
  orders: { path: 'orders' },
  'virtual-models': { path: 'virtual-model' },
  'not-found': { path: 'nowhere' },
  drawings: { path: 'midjourney' },
  tasks: { path: 'task' },
  nodes: { path: 'nodes' },
  'settings-models': { path: 'setting?tab=models' },
  'settings-limits': { path: 'setting?tab=ratelimit' },
  'settings-prices': { path: 'setting?tab=operation&block=visual' },
  'settings-system': { path: 'setting?tab=system' },
  'api-docs': { path: 'api-docs' },
  about: { path: 'about', guest: true },
  login: { path: 'login', guest: true },
  register: { path: 'register', guest: true },
};
const pageRows = { ...mainPages, ...otherPages };

/** So few combinations that each value of a factor meets each value of another. The first are taken as they come. */
function combine(factors: readonly (readonly string[])[]): string[][] {
  const pairsIn = (row: readonly string[]): string[] =>
    row.flatMap((one, a) => row.slice(a + 1).map((other, b) => `${a}:${one} ${a + 1 + b}:${other}`));
  let rows: string[][] = [[]];
  for (const values of factors) rows = rows.flatMap((row) => values.map((value) => [...row, value]));
  const left = new Set(rows.flatMap(pairsIn));
  const result: string[][] = [];
  while (left.size > 0) {
    const gain = (row: readonly string[]): number => pairsIn(row).filter((pair) => left.has(pair)).length;
    const best = rows.reduce((one, other) => (gain(other) > gain(one) ? other : one));
    for (const pair of pairsIn(best)) left.delete(pair);
    result.push(best);
  }
  return result;
}

/** Main pages in all states, the rest by pairs. */
function combinations(names: readonly string[]): string[][] {
  const all: string[][] = [];
  for (const page of Object.keys(mainPages))
    for (const width of ['1440', '390'])
      for (const state of names)
        for (const theme of themes) for (const language of languages) all.push([page, width, state, theme, language]);
  const between = Object.keys(mainPages).flatMap((page) => ['1024', '768'].map((width) => `${page} ${width}`));
  for (const [place = '', ...rest] of combine([between, names, themes, languages]))
    all.push([...place.split(' '), ...rest]);
  all.push(...combine([Object.keys(otherPages), widths.map(String), names, themes, languages]));
  return all;
}

function ordersOf(): CaptureOrder[] {
  const orderOf = ([page, width, state, theme, language]: readonly string[]): CaptureOrder =>
    ({ page, width: Number(width), state, theme, language }) as unknown as CaptureOrder;
  if (beside.size > 0)
    return [...beside.keys()].map((page) =>
      orderOf([page, '1440', page === 'first' ? 'begun' : 'filled', 'light', 'en']),
    );
  const names = plannedStates;
  const all = args.includes('--every')
    ? Object.keys(pageRows).flatMap((page) =>
        widths.flatMap((width) =>
          names.map((state) => [
            page,
            String(width),
            state,
            valueAfter('--theme') ?? 'light',
            valueAfter('--language') ?? 'en',
          ]),
        ),
      )
    : args.includes('--pairs')
      ? combine([Object.keys(pageRows), widths.map(String), names, themes, languages])
      : combinations(names);
  const only = { page: listOf('--only'), state: listOf('--states'), width: listOf('--widths') };
  return all
    .map(orderOf)
    .filter(
      ({ page, state, width }) =>
        (only.page ?? [page]).includes(page) &&
        (only.state ?? [state]).includes(state) &&
        (only.width ?? [String(width)]).includes(String(width)),
    );
}

interface LayoutIssues {
  readonly cut: readonly string[];
  readonly outside: readonly string[];
  readonly unreachable: readonly string[];
  readonly scrolls: boolean;
}

/** Runs in the page. */
function findIssues(): LayoutIssues {
  const isVisible = (element: Element): boolean => {
    const { width, height } = element.getBoundingClientRect();
    // The heads of a table whose rows are cards are there for readers of the screen alone.
    const head = element.closest('thead');
    if (head !== null && getComputedStyle(head).clipPath !== 'none') return false;
    return width > 1 && height > 1 && element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  };
  const nameOf = (element: Element): string => {
    const words = (element.getAttribute('aria-label') ?? element.textContent ?? '').replace(/\s+/g, ' ').trim();
    return `<${element.tagName.toLowerCase()}> ${words.slice(0, 60)}`;
  };
  const ownText = (element: Element): boolean =>
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && (node.textContent ?? '').trim() !== '');
  const scrollerOf = (element: Element): Element | null => {
    for (let one = element.parentElement; one !== null; one = one.parentElement)
      if (/auto|scroll/.test(getComputedStyle(one).overflowX) && one.scrollWidth > one.clientWidth + 1) return one;
    return null;
  };
  const dialog = document.querySelector('[role=dialog]');
  const all = [...(dialog ?? document).querySelectorAll('*')].filter(
    (element) => !element.closest('svg, .sr-only, script, style, [aria-hidden=true]') && isVisible(element),
  );
  const cut = all.filter((element) => {
    if (!ownText(element)) return false;
    for (let one: Element | null = element; one !== null && one !== document.body; one = one.parentElement) {
      const { overflowX, overflowY, textOverflow } = getComputedStyle(one);
      const inner = one.getBoundingClientRect();
      const text = element.getBoundingClientRect();
      const wide =
        overflowX !== 'visible' &&
        !/auto|scroll/.test(overflowX) &&
        (one === element ? one.scrollWidth > one.clientWidth + 1 : text.right > inner.right + 1);
      const high = /hidden|clip/.test(overflowY) && one === element && one.scrollHeight > one.clientHeight + 3;
      if (wide && textOverflow === 'ellipsis' && one.closest('[title]') !== null) return false;
      if (wide || high) return true;
    }
    return false;
  });
  const outside = all.filter((element) => {
    if (!ownText(element) || scrollerOf(element) !== null) return false;
    const { left, right } = element.getBoundingClientRect();
    return left < -1 || right > innerWidth + 1;
  });
  const unreachable = all.filter((element) => {
    if (!element.matches('a[href], button, input:not([type=hidden]), select, textarea, [role=switch]')) return false;
    const { left, right } = element.getBoundingClientRect();
    const box = scrollerOf(element)?.getBoundingClientRect();
    const sticky = element.closest('td, th') !== null;
    // In a table that scrolls sideways an action that is out of sight is not found.
    return right > innerWidth + 1 || left < -1 || (sticky && box !== undefined && left > box.right);
  });
  const fields = all.filter(
    (element) =>
      element instanceof HTMLInputElement &&
      element.type === 'text' &&
      element.scrollWidth > element.clientWidth + 1 &&
      element.value !== '' &&
      document.activeElement !== element &&
      element.title === '',
  );
  const names = (list: readonly Element[]): string[] => [...new Set(list.map(nameOf))].slice(0, 8);
  return {
    cut: names([...cut, ...fields]),
    outside: names(outside),
    unreachable: names(unreachable),
    scrolls: document.documentElement.scrollWidth > document.documentElement.clientWidth,
  };
}

interface Site {
  readonly stage: Stage;
  /** In the log, to be opened; 0 = there is none. */
  readonly row: number;
}

async function openSite(state: string): Promise<Site> {
  const stage = await openStage();
  const made = await stage.sandbox.run(['setup', '--username', 'root', '--password-stdin'], 'password1\n');
  if (made.code !== 0) throw new Error(made.err);
  const page = await stage.newPage(await stage.newContext(true));
  await enter(stage, page, 'en');
  const ask = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const answer = await page.evaluate(
      async ([verb, address, content]) => {
        const { id } = JSON.parse(localStorage.getItem('user') ?? '{}') as { id?: number };
        const headers = { 'content-type': 'application/json', 'new-api-user': String(id) };
        const response = await fetch(address, {
          method: verb,
          headers,
          ...(content === undefined ? {} : { body: JSON.stringify(content) }),
        });
        return (await response.json()) as { success: boolean; message: string; data: unknown };
      },
      [method, path, body] as const,
    );
    if (!answer.success) throw new Error(`${method} ${path}: ${answer.message}`);
    return answer.data;
  };
  const size = states[state] ?? null;
  if (size !== null) await fillSite(stage, ask, size, seed);
  const filter = state === 'failing' ? 'status=failed' : 'status=retried';
  const { items } = (await ask('GET', `/api/log/?${filter}&p=1&page_size=100`)) as {
    items: { id: number; other: string }[];
  };
  // A bill with a line of each kind says the most.
  const row = items.find(({ other }) => /"cache_tokens":[1-9]/.test(other)) ?? items[0];
  await page.close();
  return { stage, row: row?.id ?? 0 };
}

const inTheme = (page: Page, theme: string): Promise<void> =>
  page.evaluate((theme) => {
    localStorage.setItem('theme-mode', theme);
    if (document.documentElement.dataset.theme === theme) return;
    const button = document.querySelector<HTMLElement>('header button[aria-pressed]');
    if (button === null) document.documentElement.dataset.theme = theme;
    else button.click();
  }, theme);

const images: PageImage[] = [];
const findings = new Map<string, string[]>();
const seen = new Set<string>();
let sideways = 0;

async function take(site: Site, captureOrders: readonly CaptureOrder[]): Promise<void> {
  const [first] = captureOrders;
  if (first === undefined) return;
  const contexts = await Promise.all([site.stage.newContext(true), site.stage.newContext(true)]);
  const [reader, guest] = await Promise.all(contexts.map((context) => site.stage.newPage(context)));
  if (reader === undefined || guest === undefined) return;
  await enter(site.stage, reader, first.language);
  await guest.addInitScript((spoken) => localStorage.setItem('i18nextLng', spoken), first.language);
  let at = '';
  for (const capture of captureOrders) {
    const place = pageRows[capture.page];
    if (place === undefined) throw new Error(`no page is called ${capture.page}`);
    const page = place.guest === true ? guest : reader;
    // Before it is loaded: what is drawn for one width may stay so.
    await page.setViewportSize({ width: capture.width, height: screenHeights[capture.width] ?? 900 });
    const key = `${capture.page} ${capture.width}`;
    if (at !== key) {
      if (place.before !== undefined) {
        await page.goto(`${site.stage.url}/about`);
        await place.before(page, capture);
      }
      await page.goto(
        `${site.stage.url}/${place.path.replace('?open=ROW', site.row === 0 ? '' : `?open=${site.row}`)}`,
      );
      await settled(page);
      at = key;
    }
    await inTheme(page, capture.theme);
    await page.waitForTimeout(250);
    await quietLine(page);
    const name = `${capture.page}-${capture.state}-${capture.language}-${capture.theme}-${capture.width}`;
    const note = (kind: string, texts: readonly string[]) => {
      for (const text of texts) findings.set(`${kind}: ${text}`, [...(findings.get(`${kind}: ${text}`) ?? []), name]);
    };
    const issues = await page.evaluate(findIssues);
    note('cut', issues.cut);
    note('outside', issues.outside);
    note('out of sight', issues.unreachable);
    if (issues.scrolls) {
      sideways++;
      note('sideways', [capture.page]);
    }
    const violations = checkAccessibility ? await newViolations(page, seen) : [];
    note('axe', violations);
    await page.screenshot({ path: join(folder, `${name}.png`) });
    images.push({
      name,
      page: capture.page,
      width: capture.width,
      issues: issues.cut.length + issues.outside.length + issues.unreachable.length + violations.length,
    });
  }
  for (const context of contexts) await context.close();
}

/** The log with a request open, as the README shows it: twice as sharp. */
async function captureCost(site: Site, where: string): Promise<void> {
  for (const language of languages) {
    const context = await site.stage.browser.newContext({
      viewport: { width: 1280, height: 800 },
      deviceScaleFactor: 2,
      reducedMotion: 'reduce',
    });
    const page = await site.stage.newPage(context);
    await enter(site.stage, page, language);
    await page.goto(`${site.stage.url}/log?open=${site.row}`);
    await settled(page);
    await page.screenshot({ path: join(where, `bill-${language}.png`) });
    await context.close();
  }
}

mkdirSync(folder, { recursive: true });
const captureOrders = ordersOf();
const started = performance.now();
for (const state of Object.keys(states)) {
  const own = captureOrders.filter((capture) => capture.state === state);
  if (own.length === 0) continue;
  const site = await openSite(state);
  console.log(
    `${state}: ${own.length} pictures, site made after ${Math.round((performance.now() - started) / 1000)} s`,
  );
  const costFolder = valueAfter('--bills');
  if (state === 'filled' && costFolder !== undefined) await captureCost(site, costFolder);
  const order = (a: CaptureOrder, b: CaptureOrder): number =>
    Object.keys(pageRows).indexOf(a.page) - Object.keys(pageRows).indexOf(b.page) || b.width - a.width;
  await Promise.all(
    languages.map((language) => take(site, own.filter((capture) => capture.language === language).sort(order))),
  );
  for (const complaint of new Set(site.stage.complaints)) findings.set(`complaint: ${complaint}`, [state]);
  await site.stage.close();
}

const sheets = await renderGrid(folder, images);
await renderBeside(folder, beside, images);
const kinds = ['axe', 'cut', 'outside', 'out of sight', 'sideways', 'complaint'];
const lines = kinds.flatMap((kind) =>
  [...findings]
    .filter(([text]) => text.startsWith(`${kind}: `))
    .map(([text, where]) => `${text}   (${where.length} ×, ${where[0]})`),
);
writeFileSync(join(folder, 'findings.txt'), `${lines.join('\n')}\n`);
console.log(lines.join('\n'));
const count = (kind: string): number => [...findings.keys()].filter((text) => text.startsWith(`${kind}: `)).length;
console.log('\npage              pictures  with faults');
for (const [page, own] of Map.groupBy(images, (one) => one.page))
  console.log(
    `${page.padEnd(18)} ${String(own.length).padStart(7)} ${String(own.filter(({ issues }) => issues > 0).length).padStart(12)}`,
  );
console.log(
  `${images.length} pictures, ${sheets} contact sheets in ${Math.round((performance.now() - started) / 1000)} s: axe ${count('axe')}, cut ${count('cut')}, outside ${count('outside')}, out of sight ${count('out of sight')}, scrolling sideways ${sideways}`,
);
process.exit(count('axe') + count('cut') + count('outside') + count('out of sight') + sideways === 0 ? 0 : 1);
