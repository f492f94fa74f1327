/**
 * How the console feels at a quarter of the processor's speed, on a filled site: largest paint and shifts of every page
 * on its first visit, and how long usual interactions take until the next frame. Needs dist/gateway. Flags: --only TEXT
 * (names with it), --rounds N (3; the least counts, as other work on the machine only adds). Exits with 1 where a goal
 * is missed.
 */
import type { BrowserContext, Page } from 'playwright-core';
import { openInside } from '../../../tests/browser/inside.ts';
import { settled } from '../../../tests/browser/support.ts';
import { tablesOf } from '../../../tests/browser/tables.ts';
import { en } from '../../../web/locales/en.ts';

const goals = { lcp: 1000, cls: 0.05, inp: 200 } as const;
const slowdown = 4;
const rowsOf = { log: 10_000, channels: 200, tokens: 500, users: 300, 'models and prices': 300, orders: 50 } as const;

const flag = (name: string, otherwise: string): string => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : (process.argv[at + 1] ?? otherwise);
};
const only = flag('only', '');
const iterations = Number(flag('rounds', '3'));

const paths = [
  ...['', 'login', 'pricing', 'pricing/practice-small', 'token', 'log', 'detail?range=7d', 'detail?view=margin'],
  ...['playground', 'channel', 'channel?mode=tag', 'redemption', 'orders', 'user', 'user/1', 'nodes', 'topup'],
  ...['statement', 'personal', 'api-docs', 'about', 'first', 'midjourney', 'task', 'setting?tab=operation'],
  ...['setting?tab=operation&block=visual', 'setting?tab=ratelimit', 'setting?tab=models', 'setting?tab=system'],
];

interface Vitals {
  lcp: number;
  cls: number;
  /** What was painted largest, and what moved. */
  largest: string;
  moved: string;
  inp: number;
}
type VitalsWindow = Window & { readonly vitals: Vitals };

/** Runs in the page before anything of it. */
function watch(): void {
  const vitals: Vitals = { lcp: 0, cls: 0, largest: '', moved: '', inp: 0 };
  Object.assign(window, { vitals });
  const nameOf = (node: Node | null | undefined): string => {
    const element = node instanceof Element ? node : node?.parentElement;
    return `${element?.tagName.toLowerCase() ?? ''} ${(element?.textContent ?? '').slice(0, 30)}`;
  };
  const observe = (options: PerformanceObserverInit & { durationThreshold?: number }, see: (entry: never) => void) =>
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) see(entry as never);
    }).observe({ buffered: true, ...options });
  observe({ type: 'largest-contentful-paint' }, (entry: PerformanceEntry & { element?: Element }) => {
    vitals.lcp = entry.startTime;
    vitals.largest = nameOf(entry.element);
  });
  observe(
    { type: 'layout-shift' },
    (shift: PerformanceEntry & { value: number; hadRecentInput: boolean; sources?: { node?: Node }[] }) => {
      if (shift.hadRecentInput) return;
      vitals.cls += shift.value;
      if (shift.value > 0.01) vitals.moved += ` [${shift.value.toFixed(3)} ${nameOf(shift.sources?.[0]?.node)}]`;
    },
  );
  observe({ type: 'event', durationThreshold: 16 }, (entry: PerformanceEntry & { interactionId?: number }) => {
    if ((entry.interactionId ?? 0) > 0) vitals.inp = Math.max(vitals.inp, entry.duration);
  });
}

const vitalsOf = (page: Page): Promise<Vitals> => page.evaluate(() => (window as unknown as VitalsWindow).vitals);

const inside = await openInside();
const { stage, page: admin, ask } = inside;
type State = Awaited<ReturnType<BrowserContext['storageState']>>;

async function fill(): Promise<void> {
  const tables = await tablesOf(inside);
  for (const [name, rows] of Object.entries(rowsOf)) await tables[name]?.fill(rows);
  for (let asked = 0; asked < 50; asked++)
    await fetch(`${stage.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${inside.key}` },
      body: '{"model":"practice-small","messages":[{"role":"user","content":"hi"}]}',
    }).then((answer) => answer.text());
  await ask('PUT', '/api/option/', { key: 'DataExportEnabled', value: 'true' });
}

/** A browser that has the login and nothing in its cache. */
async function freshPage(state: State): Promise<Page> {
  const context = await stage.browser.newContext({
    storageState: state,
    locale: 'en-US',
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
  });
  const page = await stage.newPage(context);
  await page.addInitScript(watch);
  const session = await context.newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
  return page;
}

async function paint(state: State, path: string): Promise<Vitals> {
  const page = await freshPage(state);
  await page.goto(`${stage.url}/${path}`);
  await settled(page);
  await page.waitForTimeout(1000);
  const vitals = await vitalsOf(page);
  await page.context().close();
  return vitals;
}

const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' }).first();
const type = (page: Page, label: string, text: string) =>
  page.getByLabel(label).first().pressSequentially(text, { delay: 60 });

/** Name: address, and what is done there. */
const interactions: Readonly<Record<string, readonly [path: string, act: (page: Page) => Promise<unknown>]>> = {
  'log: range': ['log?range=7d', (page) => page.getByRole('radio', { name: en.range['24h'], exact: true }).click()],
  'log: filter by a count': [
    'log?range=7d',
    (page) => page.getByRole('navigation', { name: en.logs.facets }).getByRole('button').first().click(),
  ],
  'log: add a filter by typing': [
    'log?range=7d',
    async (page) => {
      await button(page, en.table.addFilter).click();
      await button(page, en.logs.model).click();
      await page.getByRole('combobox', { name: en.logs.model }).pressSequentially('m-77', { delay: 60 });
      await page.keyboard.press('Enter');
    },
  ],
  'log: sort': [
    'log?range=7d',
    (page) => page.getByRole('columnheader', { name: en.logs.cost }).getByRole('button').click(),
  ],
  'log: open a row': ['log?range=7d&live=off', (page) => page.locator('tr[data-row]').nth(3).click()],
  'log of 100 rows: open a row': [
    'log?range=7d&size=100&live=off',
    (page) => page.locator('tr[data-row]').nth(3).click(),
  ],
  'channels: search': ['channel', (page) => type(page, en.channels.search, 'many')],
  'channels: choose all': ['channel', (page) => page.getByLabel('Select all rows on this page').click()],
  'channels: sort': [
    'channel',
    (page) => page.getByRole('columnheader', { name: en.channels.name }).getByRole('button').click(),
  ],
  'channels: open the form': ['channel', (page) => button(page, en.channels.add).click()],
  'channels: edit one': ['channel', (page) => page.locator('tr[data-row]').nth(2).locator('td').nth(2).click()],
  'keys: open the form, type the name': [
    'token?size=100',
    async (page) => {
      await button(page, en.tokens.add).click();
      await page
        .getByRole('dialog')
        .getByLabel(en.tokens.name, { exact: true })
        .pressSequentially('laptop', { delay: 60 });
    },
  ],
  'keys: tick a model of 300': [
    'token?open=new',
    async (page) => {
      await page.getByRole('radio', { name: en.tokens.onlyThese }).click();
      await page.getByRole('dialog').getByRole('checkbox').nth(3).click();
    },
  ],
  'keys: search': ['token?size=100', (page) => type(page, en.tokens.keyword, 'key-4')],
  'models: search': ['pricing', (page) => type(page, en.pricing.search, 'priced-2')],
  'models: tick a row': ['pricing', (page) => page.locator('tr[data-row] input[type=checkbox]').nth(2).click()],
  'overview: range': [
    'detail?range=7d',
    (page) => page.getByRole('radio', { name: en.range['24h'], exact: true }).click(),
  ],
  'overview: by user': [
    'detail?range=7d',
    (page) => page.getByRole('radio', { name: en.dashboard.user, exact: true }).click(),
  ],
  'settings: search': ['setting?tab=operation', (page) => type(page, en.settings.search, 'retry')],
  'playground: type': [
    'playground',
    (page) => page.getByPlaceholder(en.playground.say).pressSequentially('hello there', { delay: 60 }),
  ],
  'menu: to the log': ['token', (page) => page.getByRole('link', { name: en.logs.title }).click()],
  'palette: open and type': [
    'token',
    async (page) => {
      await page.keyboard.press('Control+k');
      await page.waitForTimeout(400);
      await page.keyboard.type('channel', { delay: 60 });
    },
  ],
};

async function interact(state: State, path: string, act: (page: Page) => Promise<unknown>): Promise<Vitals> {
  const page = await freshPage(state);
  await page.goto(`${stage.url}/${path}`);
  await settled(page);
  await page.evaluate(() => {
    (window as unknown as VitalsWindow).vitals.inp = 0;
  });
  await act(page);
  await page.waitForTimeout(1200);
  const vitals = await vitalsOf(page);
  await page.context().close();
  return vitals;
}

/** The least of a few rounds; no further one where the goal is met. */
async function least(measure: () => Promise<Vitals>, cost: (found: Vitals) => number, goal: number): Promise<Vitals> {
  let best = await measure();
  for (let round = 1; round < iterations && cost(best) > goal; round += 1) {
    const next = await measure();
    if (cost(next) < cost(best)) best = next;
  }
  return best;
}

let failures = 0;
const report = (name: string, figures: string, within: boolean): void => {
  if (!within) failures += 1;
  console.log(`${within ? ' ' : '!'} ${name.padEnd(40)} ${figures}`);
};
try {
  await fill();
  const state = await admin.context().storageState();
  for (const path of paths.filter((one) => `/${one}`.includes(only))) {
    const { lcp, cls, largest, moved } = await least(
      () => paint(state, path),
      (found) => Math.max(found.lcp / goals.lcp, found.cls / goals.cls),
      1,
    );
    report(
      `/${path}`,
      `LCP ${lcp.toFixed(0).padStart(5)} ms  CLS ${cls.toFixed(3)}  ${largest}${moved}`,
      lcp <= goals.lcp && cls <= goals.cls,
    );
  }
  for (const [name, [path, act]] of Object.entries(interactions).filter(([one]) => one.includes(only))) {
    const { inp } = await least(
      () => interact(state, path, act),
      (found) => found.inp,
      goals.inp,
    );
    report(name, `INP ${String(inp).padStart(5)} ms`, inp <= goals.inp);
  }
} finally {
  await stage.close();
}
process.exit(failures === 0 ? 0 : 1);
