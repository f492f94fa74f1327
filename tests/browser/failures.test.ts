/** Every page with every failure of what it reads: the failure is said, and nothing reads as if there were nothing. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setUp } from '../binary/support.ts';
import { figure } from '../support/figure.ts';
import { openStage, type Stage, settled } from './support.ts';

const pages = [
  'token',
  'token?open=1',
  'log',
  'log?size=all',
  'topup',
  'detail?by=day',
  'personal',
  'midjourney',
  'task',
  'playground',
  'channel',
  'channel?mode=tag',
  'channel/edit/1',
  'redemption',
  'orders',
  'orders?view=callbacks',
  'user',
  'user/edit/1',
  'setting?tab=operation',
  'setting?tab=operation&block=unset_models',
  'setting?tab=operation&block=history',
  'setting?tab=other',
  'pricing',
  'api-docs',
  'about',
  '',
] as const;

interface Failure {
  readonly status?: number;
  readonly body?: string;
  readonly type?: string;
}

const json = (status: number, message: string): Failure => ({
  status,
  type: 'application/json',
  body: JSON.stringify({ success: false, message, code: 'tried' }),
});
const html = (status: number): Failure => ({ status, type: 'text/html', body: '<html><h1>nginx</h1></html>' });
const failures: Readonly<Record<string, Failure | 'abort' | 'slow'>> = {
  '403': json(403, 'not for you'),
  '429': json(429, 'too many'),
  '429 without JSON': html(429),
  '500': json(500, 'database is locked'),
  '500 without JSON': html(500),
  '502 with JSON': json(502, 'bad gateway'),
  '502 without JSON': html(502),
  'success:false': json(200, 'refused by a rule'),
  'no network': 'abort',
  slow: 'slow',
};

/** Texts that say: there is nothing. Each is what a list, a chart or a figure shows when its read was answered with nothing. */
const nothing =
  /No channels yet|No tokens yet|No token matches|No user matches|No row matches|No logs yet|Nothing was used|Nothing has|No channel matches|No orders|No codes|No code matches|No drawings|No tasks|No passkey|No access token|No model|has been changed yet|No notice|not logged in|0 of 0|0–0/i;
const zeros = /\$0(\.0+)?(?![\d.])|(^|\n)0(\n|$)/;

let stage: Stage;
let page: Page;
/** What is failed now; null = nothing. */
let failing: { readonly how: Failure | 'abort' | 'slow'; readonly only: string | null } | null = null;
const held: (() => void)[] = [];
const asked = new Set<string>();

const pathOf = (address: string): string => new URL(address).pathname.replace(/\/\d+(?=\/|$)/g, '/:id');
/** Without these there is no console at all: they have a test of their own. */
const ground = new Set(['/api/status']);

beforeAll(async () => {
  stage = await openStage();
  const key = await setUp(stage.sandbox, stage.upstream);
  await fetch(`${stage.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'practice-small', messages: [{ role: 'user', content: 'hi' }] }),
  }).then((answer) => answer.text());
  page = await stage.newPage(await stage.newContext(true));
  await page.goto(`${stage.url}/nowhere`);
  await page.evaluate(async () => {
    localStorage.setItem('i18nextLng', 'en');
    const response = await fetch('/api/user/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'root', password: 'password1' }),
    });
    const { data } = (await response.json()) as { data: unknown };
    localStorage.setItem('user', JSON.stringify(data));
  });
  await page.route('**/api/**', async (route) => {
    const path = pathOf(route.request().url());
    asked.add(path);
    if (failing === null || ground.has(path) || (failing.only !== null && failing.only !== path))
      return route.continue();
    const { how } = failing;
    if (how === 'abort') return route.abort();
    if (how === 'slow') {
      await new Promise<void>((resolve) => held.push(resolve));
      return route.abort().catch(() => undefined);
    }
    return route.fulfill({ status: how.status ?? 500, contentType: how.type ?? '', body: how.body ?? '' });
  });
});
afterAll(() => stage?.close());

const shownText = (): Promise<string> =>
  page.evaluate(() =>
    // biome-ignore lint/performance/useDomNodeTextContent: what is hidden is not said
    [...document.querySelectorAll('main, [role=dialog]')].map((part) => (part as HTMLElement).innerText).join('\n'),
  );
const told = (): Promise<string> =>
  page.evaluate(() =>
    [...document.querySelectorAll('[data-failure]')].map((part) => part.textContent ?? '').join('\n'),
  );
const busy = (): Promise<boolean> =>
  page.evaluate(() => document.querySelector('[aria-busy=true], [data-waiting]') !== null);

interface State {
  readonly name: string;
  readonly silent: boolean;
  readonly reads: readonly string[];
}

async function look(name: string, how: Failure | 'abort' | 'slow', allowed: string): Promise<State> {
  const until = performance.now() + 5000;
  let said = false;
  while (!said && performance.now() < until) {
    said = how === 'slow' ? await busy() : (await told()) !== '';
    if (!said) await new Promise((resolve) => setTimeout(resolve, 40));
  }
  const text = await shownText();
  const claims = [nothing.exec(text)?.[0], zeros.exec(text)?.[0]].filter(
    (claim): claim is string => claim !== undefined && !allowed.includes(claim),
  );
  return { name, silent: !said, reads: claims };
}

/** @returns what the page asks for, and what it shows when all of it is answered. */
async function visit(path: string): Promise<{ readonly reads: readonly string[]; readonly text: string }> {
  failing = null;
  asked.clear();
  await page.goto(`${stage.url}/${path}`);
  await settled(page);
  return { reads: [...asked].filter((one) => !ground.has(one)), text: await shownText() };
}

test('P2: no failed read is silent, or looks like an empty list or a zero', async () => {
  const states: State[] = [];
  for (const path of pages) {
    const { reads, text } = await visit(path);
    for (const [name, how] of Object.entries(failures)) {
      failing = { how, only: null };
      await page.goto(`${stage.url}/${path}`);
      states.push(await look(`/${path} all: ${name}`, how, ''));
      for (const release of held.splice(0)) release();
    }
    for (const only of reads) {
      failing = { how: json(500, 'database is locked'), only };
      await page.goto(`${stage.url}/${path}`);
      states.push(await look(`/${path} ${only}: 500`, failing.how, text));
    }
  }
  const silent = states.filter((state) => state.silent).map(({ name }) => name);
  const lies = states.filter(({ reads }) => reads.length > 0).map(({ name, reads }) => `${name}: ${reads.join(', ')}`);
  figure(`failure states ${states.length}, silent ${silent.length}, zeros or empty texts ${lies.length}`);
  expect({ silent, lies }).toEqual({ silent: [], lies: [] });
}, 1_200_000);

test('a session that ran out leads to the login from every page', async () => {
  for (const path of pages) {
    if (path === '' || path === 'about' || path === 'pricing' || path === 'api-docs') continue;
    await visit(path);
    const user = await page.evaluate(() => localStorage.getItem('user') ?? '');
    failing = { how: json(401, 'log in again'), only: null };
    // The console leaves the page while it is still being loaded.
    await page.goto(`${stage.url}/${path}`).catch(() => undefined);
    await page.waitForURL('**/login?expired=true');
    failing = null;
    await page.evaluate((text) => localStorage.setItem('user', text), user);
  }
}, 300_000);

test('what was read last stays when reading it again fails, and is read again on request', async () => {
  await visit('channel');
  failing = { how: json(500, 'database is locked'), only: null };
  await page.getByRole('searchbox').first().fill('practice');
  await page.locator('[data-failure]').first().waitFor();
  expect(await page.locator('[data-failure]').first().textContent()).toContain('database is locked');
  expect(await page.locator('tbody tr[data-row]').count()).toBe(1);
  failing = null;
  await page.getByRole('button', { name: 'Try again' }).first().click();
  await page.locator('[data-failure]').first().waitFor({ state: 'detached' });
}, 60_000);

test('P3: code that is gone after an upgrade is fetched anew once; then it is said, never a white page', async () => {
  await visit('token');
  let reloads = 0;
  const count = () => void reloads++;
  page.on('load', count);
  await page.route('**/assets/redemption-page*', (route) => route.fulfill({ status: 404, body: '' }));
  await page.getByRole('link', { name: 'Codes' }).first().click();
  await page.getByRole('heading', { name: /could not be shown/ }).waitFor();
  expect(reloads).toBe(1);
  await page.unroute('**/assets/redemption-page*');
  await page.getByRole('button', { name: 'Load the page again' }).click();
  await page.getByRole('heading', { name: 'Redemption codes' }).waitFor();
  page.off('load', count);
}, 60_000);
