import { afterEach, beforeEach, expect, test } from 'vitest';
import type { BudgetHolder, BudgetUnit, BudgetWindow } from '../../server/contract/budgets.ts';
import { systemTimers } from '../../server/contract/timers.ts';
import { createTestGateway, type TestGateway, type TestGatewayOptions } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let now = Date.parse('2026-11-29T12:00:00Z');

/** A call costs 225 and is 1,500 tokens. */
const price = 225;
beforeEach(async () => {
  now = Date.parse('2026-11-29T12:00:00Z');
  upstream = await startUpstream((response) => sendJson(response, completion(1000, 500)));
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const ask = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };
const open = async (options: TestGatewayOptions = {}) => {
  const timers = { ...systemTimers, now: () => now };
  gateway = await createTestGateway({ engine: 'sqlite', now: () => now, relay: { timers }, ...options });
  await gateway.channel(upstream.url);
};
const refusal = async (response: Response) => {
  const { error } = (await response.json()) as { error?: { code?: string; message?: string } };
  const wait = response.headers.get('retry-after');
  return { status: response.status, code: error?.code, wait: wait === null ? null : Number(wait) };
};

async function budget(
  holder: BudgetHolder,
  subject: string | number,
  window: BudgetWindow,
  unit: BudgetUnit,
  amount: number,
  more: { zone?: string; raise?: number; raise_until?: number } = {},
) {
  const set = await gateway.services.budgets.set({ holder, subject: String(subject), window, unit, amount, ...more });
  await gateway.sync();
  return set.budget;
}
const usedOf = async (id: number) => {
  await gateway.ledger.drain();
  return (await gateway.services.budgets.get(id)).used;
};

const holders = ['token', 'user', 'group', 'site'] as const;
const day = { status: 429, wait: 12 * 3600 };

test('each holder’s budget of each unit is refused by its own name, and its last unit can be spent', async () => {
  await open({ quota: 1_000_000 });
  for (const holder of holders)
    for (const [unit, amount] of [
      ['money', 2 * price],
      ['requests', 2],
      ['tokens', 3000],
    ] as const) {
      const { key, id: token } = await gateway.token();
      const subject = { token, user: gateway.userId, group: 'default', site: '' }[holder];
      const { id } = await budget(holder, subject, 'day', unit, amount);
      await gateway.services.budgets.reset(id);
      expect((await gateway.chat(key, ask)).status, `${holder} ${unit}`).toBe(200);
      expect((await gateway.chat(key, ask)).status).toBe(200);
      expect(await refusal(await gateway.chat(key, ask))).toEqual({ ...day, code: `budget_${holder}` });
      expect(await usedOf(id)).toBe(amount);
      await gateway.services.budgets.remove(id);
      await gateway.sync();
      expect((await gateway.chat(key, ask)).status).toBe(200);
    }
});

test('fifty at once never take more than a budget has, and take its last unit', async () => {
  await open({ quota: 10_000_000 });
  const small = { ...ask, max_tokens: 500 };
  for (const holder of holders) {
    const { key, id: token } = await gateway.token();
    const subject = { token, user: gateway.userId, group: 'default', site: '' }[holder];
    const { id } = await budget(holder, subject, 'total', 'requests', 0);
    const { used } = await gateway.services.budgets.get(id);
    await budget(holder, subject, 'total', 'requests', used + 7);
    const answers = await Promise.all(Array.from({ length: 50 }, () => gateway.chat(key, small)));
    const codes = await Promise.all(answers.map(async (one) => (one.ok ? 'ok' : (await refusal(one)).code)));
    expect(codes.filter((code) => code === 'ok')).toHaveLength(7);
    expect(new Set(codes)).toEqual(new Set(['ok', `budget_${holder}_total`]));
    expect(await usedOf(id)).toBe(used + 7);
    await gateway.services.budgets.remove(id);
    await gateway.sync();
  }
});

test.each(['money', 'tokens'] as const)(
  'fifty at once never take more %s than a budget has, and none of it stays held',
  async (unit) => {
    await open({ quota: 10_000_000 });
    const small = { ...ask, max_tokens: 500 };
    upstream.script((response, { body }) => {
      const { max_tokens: most = 500 } = JSON.parse(String(body)) as { max_tokens?: number };
      sendJson(response, completion(2, Math.min(most, 500)));
    });
    const { key } = await gateway.token();
    const one = unit === 'money' ? 150 : 502;
    const first = await budget('user', gateway.userId, 'week', unit, 10 * one);
    const second = await budget('group', 'default', 'month', unit, 9 * one);
    const answers = await Promise.all(Array.from({ length: 50 }, () => gateway.chat(key, small)));
    const served = answers.filter(({ status }) => status === 200).length;
    expect(served).toBeGreaterThan(0);
    while ((await gateway.chat(key, small)).status === 200);
    expect(await usedOf(second.id)).toBeLessThanOrEqual(9 * one);
    expect(await usedOf(second.id)).toBeGreaterThan(8 * one);
    expect(await usedOf(first.id)).toBe(await usedOf(second.id));
    const held = gateway.balances.budgets.of({ tokenId: 0, userId: gateway.userId, userGroup: 'default' }) ?? [];
    expect(held.map(({ slot }) => [0, 1, 2].map((cell) => gateway.balances.money.memory.get(slot + cell)))).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ]);
  },
);

test('a new budget counts what its window has used already, and starts anew with the next', async () => {
  await open({ quota: 1_000_000 });
  const { key, id: token } = await gateway.token();
  expect((await gateway.chat(key, ask)).status).toBe(200);
  await gateway.ledger.drain();
  const ofKey = await budget('token', token, 'day', 'money', 400);
  const ofUser = await budget('user', gateway.userId, 'week', 'tokens', 4000);
  const ofSite = await budget('site', '', 'month', 'requests', 5);
  expect(await Promise.all([ofKey, ofUser, ofSite].map(({ id }) => usedOf(id)))).toEqual([225, 1500, 1]);
  expect((await gateway.chat(key, ask)).status).toBe(200);
  expect(await refusal(await gateway.chat(key, ask))).toEqual({ ...day, code: 'budget_token' });
  now += 12 * 3600_000;
  expect((await gateway.chat(key, ask)).status).toBe(200);
  // 30 November is a Monday.
  expect(await Promise.all([ofKey, ofUser, ofSite].map(({ id }) => usedOf(id)))).toEqual([225, 1500, 3]);
});

test('five hours begin with the first use', async () => {
  await open({ quota: 1_000_000 });
  const { key } = await gateway.token();
  const { id, resets } = await budget('user', gateway.userId, '5h', 'requests', 1);
  expect(resets).toBe(null);
  now += 90 * 60_000;
  expect((await gateway.chat(key, ask)).status).toBe(200);
  now += 3600_000;
  expect(await refusal(await gateway.chat(key, ask))).toEqual({ status: 429, code: 'budget_user', wait: 4 * 3600 });
  now += 4 * 3600_000;
  expect(await usedOf(id)).toBe(0);
  expect((await gateway.chat(key, ask)).status).toBe(200);
});

test('a raise holds until it ends, a reset takes off what was used, a change of the amount acts at once', async () => {
  await open({ quota: 1_000_000 });
  const { key } = await gateway.token();
  const { id } = await budget('user', gateway.userId, 'month', 'requests', 1);
  expect((await gateway.chat(key, ask)).status).toBe(200);
  expect((await gateway.chat(key, ask)).status).toBe(429);
  await budget('user', gateway.userId, 'month', 'requests', 1, { raise: 1, raise_until: now / 1000 + 60 });
  expect((await gateway.chat(key, ask)).status).toBe(200);
  expect((await gateway.chat(key, ask)).status).toBe(429);
  await gateway.services.budgets.reset(id);
  expect(await usedOf(id)).toBe(0);
  expect((await gateway.chat(key, ask)).status).toBe(200);
  now += 60_000;
  expect((await gateway.chat(key, ask)).status).toBe(429);
  await budget('user', gateway.userId, 'month', 'requests', 2);
  expect((await gateway.chat(key, ask)).status).toBe(200);
  expect((await gateway.chat(key, ask)).status).toBe(429);
});

test('a reset is not undone when a new budget’s earlier use is counted once more', async () => {
  await open({ quota: 1_000_000 });
  const { key } = await gateway.token();
  expect((await gateway.chat(key, ask)).status).toBe(200);
  await gateway.ledger.drain();
  const { id } = await budget('user', gateway.userId, 'day', 'requests', 1);
  await gateway.services.budgets.reset(id);
  now += 5000;
  await gateway.services.budgets.tick();
  expect(await usedOf(id)).toBe(0);
  const other = await budget('user', gateway.userId, 'week', 'requests', 5);
  now += 5000;
  await gateway.services.budgets.tick();
  expect(await usedOf(other.id)).toBe(1);
});

test('agents are told of the budgets of their key and user, the two tightest, and of no others', async () => {
  await open({ quota: 1_000_000 });
  upstream.script((response) =>
    sendJson(response, {
      ...{ id: 'r', object: 'response', status: 'completed', model: 'gpt-4o-mini', output: [] },
      usage: { input_tokens: 1000, output_tokens: 500, total_tokens: 1500 },
    }),
  );
  const { key, id: token } = await gateway.token();
  const asked = () => gateway.send(key, '/v1/responses', { model: 'gpt-4o-mini', input: 'hi', max_output_tokens: 600 });
  const told = ({ headers }: Response) =>
    ['primary', 'secondary'].map((name) =>
      ['used-percent', 'window-minutes'].map((of) => headers.get(`x-codex-${name}-${of}`)),
    );
  const nothing = [null, null];
  await budget('site', '', 'day', 'requests', 10);
  await budget('group', 'default', '5h', 'requests', 10);
  expect(told(await asked())).toEqual([nothing, nothing]);
  await budget('user', gateway.userId, 'week', 'requests', 10);
  expect(told(await asked())).toEqual([['10', '10080'], nothing]);
  await budget('token', token, '5h', 'tokens', 15_000);
  await budget('user', gateway.userId, 'month', 'requests', 1000);
  await budget('user', gateway.userId, 'total', 'requests', 30);
  // As the answers before left them; the total has no end.
  expect(told(await asked())).toEqual([
    ['20', '10080'],
    ['0.2', '43200'],
  ]);
  expect(told(await asked())).toEqual([
    ['10', '300'],
    ['30', '10080'],
  ]);
});

test('an answer is asked for as long as money and tokens of the budgets reach', async () => {
  await open({ quota: 1_000_000 });
  const { key } = await gateway.token();
  const long = { ...ask, max_tokens: 10_000 };
  await budget('user', gateway.userId, 'day', 'tokens', 3000);
  expect((await gateway.chat(key, long)).status).toBe(200);
  const asked = () => (JSON.parse(String(upstream.requests.at(-1)?.body)) as { max_tokens?: number }).max_tokens ?? 0;
  expect(asked()).toBeGreaterThan(500);
  expect(asked()).toBeLessThan(3000);
  const { id } = await budget('token', (await gateway.token()).id, 'day', 'money', 1);
  await gateway.services.budgets.remove(id);
  await budget('group', 'default', 'day', 'money', 2 * price);
  await budget('user', gateway.userId, 'day', 'tokens', 1_000_000);
  expect((await gateway.chat(key, long)).status).toBe(200);
  expect(asked()).toBeGreaterThan(100);
  expect(asked()).toBeLessThan(1000);
});

test('a failed request gives its place and its tokens back, and counts in nothing', async () => {
  await open({ quota: 1_000_000 });
  const { key } = await gateway.token();
  const requests = await budget('group', 'default', 'day', 'requests', 1);
  const tokens = await budget('site', '', 'day', 'tokens', 100_000);
  upstream.script((response) => sendJson(response, { error: { message: 'no' } }, 400));
  for (let n = 0; n < 3; n++) expect((await gateway.chat(key, ask)).status).toBe(400);
  expect([await usedOf(requests.id), await usedOf(tokens.id)]).toEqual([0, 0]);
  upstream.script((response) => sendJson(response, completion(1000, 500)));
  expect((await gateway.chat(key, ask)).status).toBe(200);
  expect([await usedOf(requests.id), await usedOf(tokens.id)]).toEqual([1, 1500]);
});

test('a zone that changes in the middle: the later window goes on, and one that begins counts what it has used', async () => {
  await open({ quota: 1_000_000 });
  const { key, id: token } = await gateway.token();
  const call = async (at: string) => {
    now = Date.parse(at);
    expect((await gateway.chat(key, ask)).status).toBe(200);
    await gateway.ledger.drain();
  };
  await call('2026-11-29T03:00:00Z');
  const money = await budget('token', token, 'day', 'money', 10_000);
  const requests = await budget('user', gateway.userId, 'day', 'requests', 50);
  await call('2026-11-29T06:00:00Z');
  await call('2026-11-29T11:00:00Z');
  expect([await usedOf(money.id), await usedOf(requests.id)]).toEqual([675, 3]);
  now = Date.parse('2026-11-29T12:00:00Z');
  // New York's day began at 05:00: two of three calls are in it.
  await budget('token', token, 'day', 'money', 10_000, { zone: 'America/New_York' });
  await budget('user', gateway.userId, 'day', 'requests', 50, { zone: 'America/New_York' });
  expect([await usedOf(money.id), await usedOf(requests.id)]).toEqual([450, 2]);
  await call('2026-11-29T12:30:00Z');
  expect([await usedOf(money.id), await usedOf(requests.id)]).toEqual([675, 3]);
  expect((await gateway.services.budgets.get(money.id)).resets).toBe(Date.parse('2026-11-30T05:00:00Z') / 1000);
  // Shanghai's began at 16:00 the day before: the window at hand goes on until it ends there.
  await budget('token', token, 'day', 'money', 10_000, { zone: 'Asia/Shanghai' });
  expect(await gateway.services.budgets.get(money.id)).toMatchObject({
    used: 675,
    resets: Date.parse('2026-11-29T16:00:00Z') / 1000,
  });
  await call('2026-11-29T16:00:01Z');
  expect(await usedOf(money.id)).toBe(225);
  now += 60_000;
  await gateway.services.budgets.tick();
  expect(await usedOf(money.id)).toBe(225);
});

test('use from before a reset and a change of zone is not counted again', async () => {
  await open({ quota: 1_000_000 });
  const { key, id: token } = await gateway.token();
  now = Date.parse('2026-11-29T06:00:00Z');
  const { id } = await budget('token', token, 'day', 'money', 10_000);
  await gateway.chat(key, ask);
  expect(await usedOf(id)).toBe(225);
  now += 60_000;
  await gateway.services.budgets.reset(id);
  now += 60_000;
  await gateway.chat(key, ask);
  await budget('token', token, 'day', 'money', 10_000, { zone: 'America/New_York' });
  expect(await usedOf(id)).toBe(225);
  now += 10_000;
  await gateway.services.budgets.tick();
  await gateway.services.budgets.tick();
  expect(await usedOf(id)).toBe(225);
});

test('a refusal of a budget of money names the least that would do', async () => {
  await open({ quota: 1_000_000 });
  await gateway.option('DisplayInCurrencyEnabled', 'false');
  const { key, id } = await gateway.token();
  await budget('token', id, 'day', 'money', 2);
  const refused = await gateway.chat(key, ask);
  expect(refused.status).toBe(429);
  const { error } = (await refused.json()) as { readonly error: { readonly message: string } };
  const need = Number(/([\d,.]+) needed/.exec(error.message)?.[1]?.replaceAll(',', ''));
  expect(need).toBeGreaterThan(2);
  await budget('token', id, 'day', 'money', need);
  expect((await gateway.chat(key, ask)).status).toBe(200);
});
