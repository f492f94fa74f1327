/** Every page with every failure of what it reads: the failure is said, and nothing reads as if there were nothing. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setUp } from '../binary/support.ts';
import { figure } from '../support/figure.ts';
import { inShare } from '../support/often.ts';
import { enter, fail, failures, type How, json, load, mount, withFaults } from './faults.ts';
import { openStage, type Stage } from './support.ts';

const pages = [
  'token',
  'token?open=1',
  'log',
  'log?size=all',
  'topup',
  'detail?range=7d',
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
  'nodes',
  'audit',
  'budget',
  'connect',
  'setting?tab=operation',
  'setting?tab=operation&block=unset_models',
  'setting?tab=operation&block=proposals',
  'setting?tab=operation&block=history',
  'setting?tab=other',
  'pricing',
  'api-docs',
  'about',
  '',
] as const;

/** Texts that say: there is nothing. Each is what a list, a chart or a figure shows when its read was answered with nothing. */
const nothing =
  /No channels yet|No tokens yet|No token matches|No user matches|No row matches|No logs yet|Nothing was used|Nothing has|No channel matches|No orders|No codes|No code matches|No drawings|No tasks|No passkey|No access token|No model|has been changed yet|No notice|is one machine|No node has|not logged in|0 of 0|0–0/i;
const zeros = /\$0(\.0+)?(?![\d.])|(^|\n)0(\n|$)/;

let stage: Stage;
let page: Page;

beforeAll(async () => {
  stage = await openStage();
  const key = await setUp(stage.sandbox, stage.upstream);
  await fetch(`${stage.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'practice-small', messages: [{ role: 'user', content: 'hi' }] }),
  }).then((answer) => answer.text());
  page = await stage.newPage(await stage.newContext(true));
  await withFaults(page);
  await enter(stage, page);
});
afterAll(() => stage?.close());

interface Look {
  readonly isReported: boolean;
  readonly text: string;
}

/** What the page shows once it has said that something failed (or that it waits), and nothing is under way any more. */
const check = (patience: 'failed' | 'slow' | 'answered'): Promise<Look> =>
  page.evaluate(async (kind) => {
    const until = performance.now() + 60_000;
    const marks = { failed: '[data-failure]', slow: '[aria-busy=true], [data-waiting]', answered: 'main h1' };
    const isReported = (): boolean => {
      const mark = document.querySelector(marks[kind]);
      const content = (document.querySelector('main')?.textContent ?? '') !== '';
      if (kind === 'slow') return mark !== null;
      const quiet = window.faults.client?.isFetching() === 0 && document.querySelector('[data-waiting]') === null;
      return quiet && content && (kind === 'answered' || (mark?.textContent ?? '') !== '');
    };
    // One read may follow from the answer of another.
    for (let calm = 0; calm < 8 && performance.now() < until; calm = isReported() ? calm + 1 : 0)
      await new Promise((resolve) => setTimeout(resolve, 10));
    const parts = [...document.querySelectorAll<HTMLElement>('main, [role=dialog]')];
    // biome-ignore lint/performance/useDomNodeTextContent: what is hidden is not said
    return { isReported: isReported(), text: parts.map((part) => part.innerText).join('\n') };
  }, patience);

interface State {
  readonly name: string;
  readonly silent: boolean;
  readonly reads: readonly string[];
}

async function judged(name: string, how: How, allowed: string): Promise<State> {
  const { isReported, text } = await check(how === 'slow' ? 'slow' : 'failed');
  const claims = [nothing.exec(text)?.[0], zeros.exec(text)?.[0]].filter(
    (claim): claim is string => claim !== undefined && !allowed.includes(claim),
  );
  return { name, silent: !isReported, reads: claims };
}

/** @returns what the page asks for, and what it shows when all of it is answered. */
async function visit(path: string): Promise<{ readonly reads: readonly string[]; readonly text: string }> {
  await mount(page, path, null);
  const { text } = await check('answered');
  const requested = await page.evaluate(() => [...window.faults.requested]);
  // The sidebar of the page before may still ask; the home page has none.
  const others = path === '' ? ['/api/status', '/api/traffic/channels'] : ['/api/status'];
  // No read: the page's language is saved for its user, without being asked to, once.
  others.push('PUT /api/user/setting');
  return { reads: requested.filter((one) => !others.includes(one)), text };
}

test('no failed read is silent, or looks like an empty list or a zero', async () => {
  const states: State[] = [];
  const kinds = Object.entries<How>({ ...failures, slow: 'slow' });
  for (const [at, path] of pages.entries()) {
    const { reads, text } = await visit(path);
    for (const [kind, [name, how]] of kinds.entries()) {
      if (!inShare(at, kind) && kind !== at % kinds.length) continue;
      const failing = { how, only: null };
      // One of them with everything loaded anew, by turns.
      if (kind === at % kinds.length) await load(page, `${stage.url}/${path}`, failing);
      else await mount(page, path, failing);
      states.push(await judged(`/${path} all: ${name}`, how, ''));
    }
    for (const only of reads.filter((_, index) => inShare(at, index))) {
      const how = json(500, 'database is locked');
      await mount(page, path, { how, only });
      states.push(await judged(`/${path} ${only}: 500`, how, text));
    }
  }
  const silent = states.filter((state) => state.silent).map(({ name }) => name);
  const lies = states.filter(({ reads }) => reads.length > 0).map(({ name, reads }) => `${name}: ${reads.join(', ')}`);
  figure(`failure states ${states.length}, silent ${silent.length}, zeros or empty texts ${lies.length}`);
  expect({ silent, lies }).toEqual({ silent: [], lies: [] });
});

test('a session that ran out leads to the login from every page', async () => {
  const user = await page.evaluate(() => localStorage.getItem('user') ?? '');
  for (const path of pages) {
    if (path === '' || path === 'about' || path === 'pricing' || path === 'api-docs') continue;
    await page.evaluate((text) => localStorage.setItem('user', text), user);
    await load(page, `${stage.url}/${path}`, { how: json(401, 'log in again'), only: null });
    await page.waitForURL('**/login?expired=true');
    await page.getByRole('button', { name: 'Log in' }).waitFor();
  }
  await page.evaluate((text) => {
    sessionStorage.removeItem('failing');
    localStorage.setItem('user', text);
  }, user);
  await page.goto(`${stage.url}/nowhere`);
});

test('data that was read stays when reading it again fails, and is read again on request', async () => {
  await visit('channel');
  await fail(page, { how: json(500, 'database is locked'), only: null });
  await page.getByRole('searchbox').first().fill('practice');
  await page.locator('[data-failure]').first().waitFor();
  expect(await page.locator('[data-failure]').first().textContent()).toContain('database is locked');
  expect(await page.locator('tbody tr[data-row]').count()).toBe(1);
  await fail(page, null);
  await page.getByRole('button', { name: 'Try again' }).first().click();
  await page.locator('[data-failure]').first().waitFor({ state: 'detached' });
});

test('code that is gone after an upgrade is reloaded once; then an error is shown, never a white page', async () => {
  await page.goto(`${stage.url}/token`);
  await page.getByRole('link', { name: 'Codes' }).first().waitFor();
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
});
