/** Every route for everybody, in both languages, a share of both themes and three widths (all of them with GATEWAY_LONG=1); then everything that opens, and a language nobody speaks. */
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endpoints } from '../../server/contract/endpoints/index.ts';
import { tagTitles } from '../../server/contract/openapi.ts';
import { optionKeys, optionRow } from '../../server/contract/options.ts';
import { allProviders } from '../../server/providers/catalogue.ts';
import { figure } from '../support/figure.ts';
import { inShare } from '../support/often.ts';
import { callFrom, newViolations, openStage, quietLine, type Stage, shot, violationsNow } from './support.ts';

const password = 'password1';
const widths = [1280, 768, 375] as const;
const themes = ['light', 'dark'] as const;
/** Every theme and width once for those who see a part of what the super administrator sees. */
const fewer = new Set(['light 1280', 'dark 768', 'light 375']);
const languages = ['en', 'zh'] as const;
const roles = ['user', 'admin', 'root'] as const;
type Role = (typeof roles)[number];
type Language = (typeof languages)[number];

const everybody = [
  '',
  'about',
  'login',
  'register',
  'reset',
  'user/reset?email=a@b.example&token=x',
  'api-docs',
  'pricing',
  'nowhere',
  'token',
  'log',
  'topup',
  'detail?range=7d',
  'personal',
  'midjourney',
  'task',
  'playground',
];
const operators = [
  'first',
  'channel',
  'channel?mode=tag',
  'redemption',
  'orders',
  'orders?view=callbacks',
  'user',
  'nodes',
  'audit',
  'budget',
  'connect',
  'audit?open=1',
  'log?size=all&type=5',
  'setting?tab=operation&block=visual',
  'setting?tab=operation&block=unset_models',
  'setting?tab=operation&block=proposals',
  'setting?tab=operation&block=history',
  'setting?tab=ratelimit',
  'setting?tab=models',
  'setting?tab=system',
  'setting?tab=other',
  'setting?q=retry',
  'setting?changed=true',
];
const routesOf = (role: Role): readonly string[] =>
  role === 'user' ? [...everybody, 'channel', 'setting'] : [...everybody, ...operators];

let stage: Stage;
let root: Page;
const contexts = new Map<string, BrowserContext>();

async function enter(page: Page, username: string, language: Language): Promise<void> {
  await page.goto(`${stage.url}/nowhere`);
  await page.evaluate((lng) => localStorage.setItem('i18nextLng', lng), language);
  const { success, data, message } = await callFrom(page, 'POST', '/api/user/login', { username, password });
  if (!success) throw new Error(message);
  await page.evaluate((user) => localStorage.setItem('user', JSON.stringify(user)), data);
  // The language is read while the page loads.
  await page.goto(stage.url);
  await page.waitForFunction((lng) => document.documentElement.lang.startsWith(lng), language);
}

/** One context per reader and language, logged in. */
async function pageFor(role: Role, language: Language): Promise<Page> {
  const key = `${role} ${language}`;
  const known = contexts.get(key);
  const context = known ?? (await stage.newContext(true));
  contexts.set(key, context);
  const page = await stage.newPage(context);
  if (known === undefined) await enter(page, role === 'root' ? 'root' : `${role}-one`, language);
  else await page.goto(stage.url);
  return page;
}

beforeAll(async () => {
  stage = await openStage();
  root = await stage.newPage(await stage.newContext(true));
  await root.goto(stage.setupLink);
  await root.getByLabel('Username').fill('root');
  await root.getByLabel('Password', { exact: true }).fill(password);
  await root.getByLabel('Confirm password').fill(password);
  await root.getByRole('button', { name: 'Set up' }).click();
  await root.waitForURL('**/first');
  await enter(root, 'root', 'en');
  const made = async (method: string, path: string, body?: unknown) => {
    const answer = await callFrom(root, method, path, body);
    expect([path, answer.message]).toEqual([path, '']);
    return answer.data;
  };
  for (const username of ['user-one', 'admin-one']) {
    await made('POST', '/api/user/', { username, password, display_name: username });
  }
  const users = (await made('GET', '/api/user/?p=1&page_size=10')) as { items: { id: number; username: string }[] };
  const admin = users.items.find(({ username }) => username === 'admin-one');
  await made('POST', '/api/user/manage', { id: admin?.id, action: 'promote' });
  const type = allProviders.find(({ slug }) => slug === 'practice')?.type;
  const practice = { type, key: 'none', base_url: stage.upstream, group: 'default' };
  await made('POST', '/api/channel/', { ...practice, name: 'practice', models: 'practice-small', tag: 'spare' });
  const failing = 'gpt-4o-mini';
  await made('POST', '/api/channel/', {
    ...practice,
    name: 'failing',
    models: `unpriced-model,${failing}`,
    base_url: 'http://127.0.0.1:9',
  });
  await made('POST', '/api/redemption/', { name: 'gift', quota: 500_000, count: 3 });
  await made('PUT', '/api/option/', { key: 'RetryTimes', value: '1' });
  const { key } = (await made('POST', '/api/token/', { name: 'laptop', unlimited_quota: true })) as { key: string };
  for (const model of ['practice-small', 'practice-small', failing]) {
    await fetch(`${stage.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
    }).then((answer) => answer.text());
  }
  stage.complaints.length = 0;
});
afterAll(() => stage?.close());

const wide = (page: Page): Promise<boolean> =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
const settle = (page: Page) =>
  page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));

async function open(page: Page, route: string): Promise<void> {
  await page.goto(`${stage.url}/${route}`);
  await page.locator('h1').waitFor();
  await quietLine(page);
}

/** As a link goes there: without loading everything anew. */
async function follow(page: Page, route: string): Promise<void> {
  const elsewhere = await page.evaluate((path) => {
    const other = new URL(path, location.href).pathname !== location.pathname;
    if (other) document.querySelector('h1')?.setAttribute('data-left', '');
    history.pushState(null, '', path);
    return other;
  }, `/${route}`);
  if (elsewhere) await page.locator('h1:not([data-left])').waitFor();
  await page.waitForFunction(() => document.querySelector('[data-waiting]') === null);
  await quietLine(page);
}

/** The same as opening it, in a page that is alive: what was open closes, and every part is made anew. */
async function afresh(page: Page, route: string): Promise<void> {
  await page.keyboard.press('Escape');
  await follow(page, 'about');
  if ((await page.locator('[role=dialog], [role=menu]').count()) > 0) return open(page, route);
  await follow(page, route);
}

async function setTheme(page: Page, theme: string): Promise<void> {
  await page.evaluate((wanted) => {
    if (document.documentElement.dataset.theme === wanted) return;
    document.querySelector<HTMLElement>('header button[aria-pressed]')?.click();
  }, theme);
}

/** How each part of a page looked that was judged already. */
const seen = new Set<string>();

/** @returns what is wrong with the page as it stands. */
async function faultsOf(page: Page, place: string): Promise<string[]> {
  await settle(page);
  const found = (await newViolations(page, seen)).map((error) => `${place}: ${error}`);
  if (await wide(page)) found.push(`${place}: scrolls sideways`);
  return found;
}

/** Two at a time: one per core. */
async function together<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all([worker(), worker()]);
}

test('every route, for everybody, in both languages, both themes and three widths', async () => {
  const faults: string[] = [];
  let states = 0;
  const readers = roles.flatMap((role) => languages.map((language) => ({ role, language })));
  await together([...readers.entries()], async ([reader, { role, language }]) => {
    const page = await pageFor(role, language);
    for (const [at, route] of routesOf(role).entries()) {
      await follow(page, route);
      let look = 0;
      for (const theme of themes) {
        await setTheme(page, theme);
        for (const width of widths) {
          if (role !== 'root' && !fewer.has(`${theme} ${width}`)) continue;
          if (!inShare(at + reader, look++)) continue;
          await page.setViewportSize({ width, height: 800 });
          const place = `/${route} ${role} ${language} ${theme} ${width}`;
          faults.push(...(await faultsOf(page, place)));
          states += 1;
          if (role === 'root' && (theme === 'light') === (width === 1280) && width !== 768) {
            const name = `${route.replaceAll(/\W+/g, '-') || 'home'}-${language}-${theme}-${width}.png`;
            await shot(page, name);
          }
        }
      }
      await setTheme(page, 'light');
      await page.setViewportSize({ width: 1280, height: 800 });
    }
    await page.close();
  });
  figure(`${states} states of pages, ${seen.size} looks of their parts judged`);
  expect(faults).toEqual([]);
  expect(stage.complaints).toEqual([]);
}, 1_500_000);

type Step = (page: Page) => Promise<unknown>;
const press =
  (selector: string, index = 0): Step =>
  (page) =>
    page.locator(selector).nth(index).click({ timeout: 5000 });
const key =
  (name: string): Step =>
  (page) =>
    page.keyboard.press(name);

/** What opens where, by means that no language changes. */
const openings: readonly (readonly [name: string, route: string, ...steps: Step[]])[] = [
  ['provider picker', 'channel/add'],
  ['new channel', 'channel/add', press('[role=dialog] ul button'), press('[role=dialog] button[aria-expanded=false]')],
  ['channel', 'channel/edit/1', press('[role=dialog] button[aria-expanded=false]')],
  ['channel menu', 'channel', press('tbody button[aria-haspopup=menu]')],
  ['channel test', 'channel', press('tbody td:last-child button')],
  ['chosen channels', 'channel', press('tbody input[type=checkbox]')],
  ['tag of channels', 'channel', press('tbody input[type=checkbox]'), press('section.fixed button', 3)],
  ['delete channels', 'channel', press('tbody input[type=checkbox]'), press('section.fixed button', 4)],
  ['channels menu', 'channel', press('main button[aria-haspopup=menu]')],
  ['saved filters', 'channel', press('main span.ml-auto button[aria-expanded]')],
  ['columns', 'channel', press('main span.ml-auto button[aria-expanded]', 1)],
  ['tag', 'channel?mode=tag', press('tbody td:last-child button')],
  ['new token', 'token?open=new', press('[role=dialog] summary')],
  ['token', 'token?open=1'],
  [
    'delete token',
    'token',
    press('tbody td:last-child button[aria-haspopup=menu]'),
    press('[role=menuitem] >> nth=-1'),
  ],
  ['log row', 'log?type=2', press('tbody tr[data-row]')],
  ['failed log row', 'log?type=5', press('tbody tr[data-row]')],
  ['export', 'log', press('main button[aria-haspopup=menu]')],
  ['new codes', 'redemption', press('[data-key=n]')],
  ['code', 'redemption', press('tbody tr[data-row] td:nth-child(3)')],
  [
    'delete code',
    'redemption',
    press('tbody td:last-child button[aria-haspopup=menu]'),
    press('[role=menuitem] >> nth=-1'),
  ],
  ['new user', 'user/edit'],
  ['user', 'user/edit/2'],
  [
    'close account',
    'user',
    press('tbody td:last-child button[aria-haspopup=menu]'),
    press('[role=menuitem] >> nth=-1'),
  ],
  ['price', 'setting?tab=operation&block=visual', press('tbody td:last-child button')],
  ['languages', 'token', press('header button[aria-haspopup=menu]')],
  ['account', 'token', press('nav button[aria-haspopup=menu]')],
  ['palette', 'token', key('Control+k'), (page) => page.keyboard.type('to')],
  ['keys', 'token', key('?')],
  ['personal', 'personal', press('main h2 ~ * button, main section button')],
];

/** @returns what could not be opened. */
async function walkOpenings(page: Page, check: (name: string) => Promise<void>): Promise<string[]> {
  const closed: string[] = [];
  for (const [name, route, ...steps] of openings) {
    await afresh(page, route);
    try {
      for (const step of steps) {
        await step(page);
        await page.waitForTimeout(150);
      }
    } catch (error) {
      closed.push(`${name}: ${String(error).split('\n')[0]}`);
      continue;
    }
    await quietLine(page);
    await check(name);
  }
  return closed;
}

test('everything that opens', async () => {
  const faults: string[] = [];
  const closed: string[] = [];
  const looks = [
    ['en', 'light', 1280],
    ['zh', 'dark', 375],
  ] as const;
  await together(looks, async ([language, theme, width]) => {
    const page = await pageFor('root', language);
    await page.setViewportSize({ width, height: 800 });
    await page.evaluate((mode) => localStorage.setItem('theme-mode', mode), theme);
    const unopened = await walkOpenings(page, async (name) => {
      faults.push(...(await faultsOf(page, `${name} ${language} ${theme} ${width}`)));
      await shot(page, `open-${name.replaceAll(' ', '-')}-${language}-${theme}-${width}.png`);
    });
    // On a phone some of these are folded away.
    if (width > 600) closed.push(...unopened);
    // The checks themselves see what is wrong.
    await page.evaluate(() => document.querySelector('main')?.append(document.createElement('input')));
    expect((await violationsNow(page)).length).toBeGreaterThan(0);
    await page.close();
  });
  expect(closed).toEqual([]);
  expect(faults).toEqual([]);
  expect(stage.complaints).toEqual([]);
}, 1_500_000);

/** What this site's own data and other people's names look like. */
const data =
  /^(root|Root User|admin-one|user-one|laptop|practice(-small|-large)?|failing|unpriced-model|spare|gift|default|vip|svip|New API|English|unpriced-model gpt-4o-mini|模型测试|: (default|laptop|gpt-4o-mini)|(gpt|chatgpt|text|o\d|dall-e|tts|whisper|davinci|babbage)-[\w.-]+|https?:\/\/\S+|alt\+T|The upstream could not be reached \(request id: \w+\)|[: ]*ECONNREFUSED: .+|: unreachable|(GitHub|OIDC|Linux DO|Telegram):?|OpenAI( Responses)?|Anthropic|Gemini|RPM|TPM|CSV|JSONL|curl|Python|Mozilla\/\S.+)$/;

/** Words that are nobody's to translate: names, data, what the catalogues tell in both languages by themselves. */
const untranslated = new Set(
  [
    ...optionKeys.flatMap((one) => [
      one,
      optionRow(one).label.en,
      `${optionRow(one).label.en}:`,
      `${optionRow(one).label.en}: JSON`,
      optionRow(one).help.en,
      ...(optionRow(one).kind.choices ?? []),
    ]),
    ...allProviders.flatMap(({ label, other }) => [label.en, label.en.slice(0, 1), other?.label.en ?? '']),
    // The audit trail has the call itself in a tooltip, behind its words.
    ...endpoints.flatMap(({ id, summary }) => [summary.en, id, id.split('.')[0] ?? '']),
    // The groups of calls in the page of the API.
    ...Object.values(tagTitles).map(({ en }) => en),
  ].map((text) => text.trim()),
);

/** @returns visible words, labels and hints that did not come out of the dictionary. */
const anonymous = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const found: string[] = [];
    const bare = (text: string): string => {
      let rest = text;
      for (let last = ''; last !== rest; ) [last, rest] = [rest, rest.replace(/⟦[^⟦⟧]*⟧/g, ' ')];
      return rest.replace(/\s+/g, ' ').trim();
    };
    const judge = (text: string) => {
      const rest = bare(text);
      if (/[A-Za-z]{3,}|\p{Script=Han}/u.test(rest)) found.push(rest);
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const parent = node.parentElement;
      if (parent === null || parent.closest('code, kbd, pre, script, style, textarea, [lang], .font-mono') !== null)
        continue;
      judge(node.textContent ?? '');
    }
    for (const element of document.querySelectorAll('[aria-label], [title], [placeholder], [alt]')) {
      // A tooltip that repeats what may be cut is judged as what is there.
      const visible = element instanceof HTMLInputElement ? element.value : element.textContent;
      for (const name of ['aria-label', 'title', 'placeholder', 'alt']) {
        const text = element.getAttribute(name) ?? '';
        if (name !== 'title' || !visible?.includes(text)) judge(text);
      }
    }
    return found;
  });

test('every word comes out of the dictionary', async () => {
  const context = await stage.newContext(true);
  // The English dictionary, each text between brackets.
  await context.route(/\/assets\/en-[^/]+\.js$/, (route) =>
    route.fulfill({
      contentType: 'text/javascript',
      body: `import { en as words } from '${new URL(route.request().url()).pathname}?plain';
        const marked = (value) => typeof value === 'string' ? '\u27e6' + value + '\u27e7'
          : Object.fromEntries(Object.entries(value).map(([name, one]) => [name, marked(one)]));
        export const en = marked(words);`,
    }),
  );
  const page = await stage.newPage(context);
  await enter(page, 'root', 'en');
  const seen = new Map<string, string>();
  const check = async (place: string) => {
    for (const text of await anonymous(page)) if (!untranslated.has(text) && !data.test(text)) seen.set(text, place);
  };
  for (const route of routesOf('root')) {
    await follow(page, route);
    await check(`/${route}`);
  }
  expect(await walkOpenings(page, check)).toEqual([]);
  expect(await page.getByText('\u27e6').count()).toBeGreaterThan(5);
  await page.close();
  expect([...seen].map(([text, place]) => `${place}: ${text}`)).toEqual([]);
}, 1_500_000);
