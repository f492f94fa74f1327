/**
 * What people come for, by the number of things they do until they have it: a click, a field that is filled with the
 * Enter that sends it, a choice in the menu are one each. After the first answer everything starts where a login ends.
 */
import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { en } from '../../web/locales/en.ts';
import { freePort } from '../binary/support.ts';
import { callFrom, logIn, openStage, type Stage, settled, violationsOn } from './support.ts';

let stage: Stage;
let page: Page;
let actions = 0;
const act = async (done: Promise<unknown>): Promise<void> => {
  actions += 1;
  await done;
};
const button = (name: string | RegExp): Locator =>
  page.getByRole('button', typeof name === 'string' ? { name, exact: true } : { name });
const choice = (name: string): Locator => page.getByRole('radio', { name, exact: true });
const menu = (name: string): Promise<void> =>
  act(page.getByRole('navigation', { name: en.app.menu }).getByRole('link', { name }).click());
/** Patience: what is shown of the traffic is written every few seconds. */
const soon = { timeout: 90_000 } as const;

beforeAll(async () => {
  stage = await openStage();
  page = await stage.newPage(await stage.newContext(true));
});
afterAll(() => stage?.close());

test('from the printed link to the first answer with its bill: six, without a key of any provider', async () => {
  await page.goto(stage.setupLink);
  actions = 0;
  await act(page.getByLabel(en.setup.username).fill('root'));
  await act(page.getByLabel(en.setup.password, { exact: true }).fill('password1'));
  await act(page.getByLabel(en.setup.confirm).fill('password1'));
  await act(button(en.setup.run).click());
  await page.waitForURL('**/first');
  await button(en.setup.practice).waitFor();
  expect(await violationsOn(page)).toEqual([]);
  await act(button(en.setup.practice).click());
  await button(en.setup.sendForMe).waitFor();
  expect(await violationsOn(page)).toEqual([]);
  await act(button(en.setup.sendForMe).click());
  await page.getByText(en.setup.showLog).waitFor();
  expect(await page.locator('main').textContent()).toMatch(/\$0\.000\d{3}/);
  expect(await violationsOn(page)).toEqual([]);
  expect(actions).toBe(6);
});

const land = async (): Promise<void> => {
  await page.goto(`${stage.url}/token`);
  await settled(page);
  actions = 0;
};

test('two models compared: three, with the cost of each', async () => {
  await land();
  await menu(en.playground.title);
  await act(button(en.playground.compare).click());
  const say = page.getByPlaceholder(en.playground.say);
  await act(say.fill('hello').then(() => say.press('Enter')));
  await expect
    .poll(() =>
      page
        .getByRole('log')
        .getByText(/^\$0\.000\d{3}$/)
        .count(),
    )
    .toBe(2);
  expect(actions).toBe(3);
});

test('latency over a week: two; and from its chart to the requests one more', async () => {
  await land();
  await menu(en.nav.dashboard);
  await act(choice(en.range['7d']).click());
  await page.waitForURL(/range=7d/);
  await expect.poll(() => page.locator('main').textContent(), soon).toMatch(/\d\.\d\d \/ \d\.\d\d/);
  expect(actions).toBe(2);
  // The figures may still be those of the day.
  await settled(page);
  const chart = page.locator('.u-over').last();
  await chart.waitFor();
  const box = await chart.boundingBox();
  if (box === null) throw new Error('no chart');
  // The last bar is the hour under way.
  await act(chart.click({ position: { x: box.width - 3, y: box.height - 3 } }));
  await page.waitForURL(/\/log\?.*from=/);
  const requests = page.getByRole('cell', { name: /practice-/ });
  await expect.poll(async () => `${page.url()}: ${(await requests.count()) > 0}`, soon).toMatch(/: true$/);
  expect(actions).toBe(3);
});

const ask = (key: string, model: string): Promise<number> =>
  fetch(`${stage.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello '.repeat(50) }] }),
  }).then(async (answer) => {
    await answer.text();
    return answer.status;
  });

const unpriced = 'gpt-4o-next';
let leaked = '';

/** A channel that fails every request and is saved by the other, a customer, a model without a price, a failure of yesterday. */
async function fill(): Promise<void> {
  const done = async (by: Page, method: string, path: string, body?: unknown): Promise<unknown> => {
    const answer = await callFrom(by, method, path, body);
    if (!answer.success) throw new Error(`${method} ${path}: ${answer.message}`);
    return answer.data;
  };
  await done(page, 'PUT', '/api/option/', { key: 'RetryTimes', value: '1' });
  const failing = (await stage.sandbox.start(['mock-upstream', '--port', String(freePort()), '--error-rate', '1']))
    .line;
  const broken = { type: 199, name: 'broken', key: 'k', base_url: failing, priority: 10 };
  await done(page, 'POST', '/api/channel/', { ...broken, models: `practice-small,${unpriced}` });
  await done(page, 'POST', '/api/channel/', { ...broken, name: 'seldom', models: 'gpt-4o-mini' });
  leaked = ((await done(page, 'POST', '/api/token/', { name: 'leaked', unlimited_quota: true })) as { key: string })
    .key;
  const alice = { username: 'alice', password: 'password1' };
  const { id } = (await done(page, 'POST', '/api/user/', alice)) as { id: number };
  await done(page, 'PUT', '/api/user/', { id, username: 'alice', add_quota: 5_000_000 });
  const hers = await stage.newPage(await stage.newContext(true));
  await logIn(hers, stage.url, 'alice', 'password1');
  const { key } = (await done(hers, 'POST', '/api/token/', { name: 'app', unlimited_quota: true })) as { key: string };
  await hers.context().close();
  expect(await ask(leaked, 'gpt-4o-mini')).toBeGreaterThanOrEqual(500);
  for (let asked = 0; asked < 6; asked++) expect(await ask(key, 'practice-large')).toBe(200);
  for (let asked = 0; asked < 6; asked++) expect(await ask(leaked, 'practice-small')).toBe(200);
  const { Database } = await import('bun:sqlite');
  const database = new Database(`${stage.sandbox.dataDir}/gateway.db`);
  database.run('PRAGMA busy_timeout = 10000');
  const move = database.prepare("UPDATE logs SET created_at = created_at - 108000 WHERE model_name = 'gpt-4o-mini'");
  // Rows are written shortly after their answers.
  for (let tries = 0; move.run().changes === 0; tries++) {
    if (tries > 300) throw new Error('the failure is not in the log');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  database.close();
}

describe('on a site in use', () => {
  beforeAll(fill, 240_000);

  test('a key for $5 with two models: seven', async () => {
    await land();
    await act(button(en.tokens.add).click());
    const form = page.getByRole('dialog');
    await act(form.getByLabel(en.tokens.name, { exact: true }).fill('customer'));
    await act(form.getByLabel(en.tokens.quota, { exact: true }).fill('$5'));
    await act(form.getByRole('radio', { name: en.tokens.onlyThese }).click());
    for (const model of ['practice-small', 'practice-large'])
      await act(form.getByRole('checkbox', { name: model }).check());
    await act(form.getByRole('button', { name: en.tokens.create }).click());
    const reveal = page.getByRole('dialog', { name: en.tokens.reveal });
    await reveal.locator('code', { hasText: /^sk-/ }).first().waitFor();
    const sentence = (await reveal.textContent()) ?? '';
    for (const part of ['$5.00', 'practice-small', 'practice-large']) expect(sentence).toContain(part);
    expect(actions).toBe(7);
  });

  test('a failing channel: counted without an action, and one to what its upstream says and who served instead', async () => {
    await land();
    const rail = page.getByRole('navigation', { name: en.app.menu }).getByRole('link', { name: en.channels.title });
    await expect
      .poll(async () => {
        await page.reload();
        await settled(page);
        return rail.textContent();
      }, soon)
      .toContain(`1 ${en.nav.autoDisabled}`);
    await menu(en.channels.title);
    await page.getByText(/practice error 500.*all served by practice/).waitFor();
    expect(actions).toBe(1);
  });

  test('why a request of yesterday failed: three', async () => {
    await land();
    await menu(en.logs.title);
    await act(choice(en.range['7d']).click());
    await act(
      page
        .getByRole('navigation', { name: en.logs.facets })
        .getByRole('button', { name: new RegExp(`^${en.logs.status.failed}`) })
        .click(),
    );
    const row = page.getByRole('row', { name: /gpt-4o-mini/ });
    await expect
      .poll(() => row.allTextContents(), { timeout: 15_000 })
      .toEqual([expect.stringContaining('The upstream returned status 500')]);
    expect(actions).toBe(3);
  });

  test('why a request cost what it did: two', async () => {
    await land();
    await menu(en.logs.title);
    await act(
      page
        .getByRole('row', { name: /practice-large/ })
        .first()
        .click(),
    );
    const drawer = page.getByRole('dialog');
    await drawer.getByText(en.logs.bill, { exact: true }).waitFor();
    expect(await drawer.textContent()).toMatch(/\$0\.\d{6}/);
    expect(actions).toBe(2);
  });

  test('who spent most this week: three, and one more to what it went for', async () => {
    await land();
    await menu(en.nav.dashboard);
    await act(choice(en.range['7d']).click());
    await act(choice(en.dashboard.user).click());
    const first = page
      .getByRole('region', { name: en.dashboard.top_user })
      .getByRole('row')
      .nth(1)
      .getByRole('link')
      .first();
    await expect.poll(() => first.textContent(), soon).toBe('alice');
    expect(actions).toBe(3);
    await act(first.click());
    const facets = page.getByRole('navigation', { name: en.logs.facets });
    await expect.poll(() => facets.textContent()).toMatch(/practice-large6/);
    expect(actions).toBe(4);
  });

  test('a bill for a customer as a file: four', async () => {
    await land();
    await menu(en.users.title);
    await act(page.getByRole('link', { name: 'alice', exact: true }).click());
    await act(page.locator('main').getByRole('link', { name: en.statement.title, exact: true }).first().click());
    await page.getByRole('row', { name: /practice-large/ }).waitFor();
    const file = page.waitForEvent('download');
    await act(button(en.statement.csv).click());
    const text = readFileSync(await (await file).path(), 'utf8');
    expect(text).toMatch(/practice-large.*,6,/);
    expect(text).not.toContain('practice-small');
    expect(actions).toBe(4);
  });

  test('a new model priced like its sibling: two', async () => {
    await land();
    await menu(en.nav.pricing);
    await act(button(`${en.pricing.apply} ${unpriced}`).click());
    const prices = page.getByRole('row', { name: unpriced }).locator('input:not([type=checkbox])');
    await expect
      .poll(() => prices.evaluateAll((all) => all.map((one) => (one as HTMLInputElement).value)), { timeout: 15_000 })
      .toEqual(['2.50', '10.00']);
    expect(actions).toBe(2);
  });

  test('a leaked key replaced: three, and the old one is refused', async () => {
    await land();
    expect(await ask(leaked, 'practice-small')).toBe(200);
    await act(button(en.table.moreOf.replace('{{name}}', 'leaked')).click());
    await act(page.getByRole('menuitem', { name: `${en.tokens.rotate}…` }).click());
    await act(page.getByRole('dialog').getByRole('button', { name: en.tokens.rotate, exact: true }).click());
    const next = page.locator('code', { hasText: /^sk-/ }).first();
    await next.waitFor();
    expect(actions).toBe(3);
    expect(await ask((await next.textContent()) ?? '', 'practice-small')).toBe(200);
    expect(await ask(leaked, 'practice-small')).toBe(401);
  });
});
