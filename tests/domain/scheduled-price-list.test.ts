/** A price list that is read by the clock: it proposes and stores nothing. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

const address = 'https://prices.example/list.json';
const hourMs = 3_600_000;
let gateway: TestGateway;
let now: number;
let asked: string[];
let answer: () => Response;

beforeEach(async () => {
  now = Date.UTC(2026, 10, 29);
  asked = [];
  answer = () => list({ a: 1.2, b: 2.2, far: 90 });
  gateway = await createTestGateway({
    now: () => now,
    guardedFetch: async (url) => {
      asked.push(url);
      return answer();
    },
  });
  await gateway.option('ModelRatio', JSON.stringify({ a: 1, b: 2, far: 1 }));
  await gateway.option('CompletionRatio', JSON.stringify({ a: 5, b: 5, far: 5 }));
  await gateway.option('CacheRatio', '{}');
  await gateway.option('price_list.address', address);
  await gateway.option('price_list.every_hours', '6');
});
afterEach(() => gateway.close());

/** Ratios as LiteLLM would write them. */
const list = (ratios: Record<string, number>) =>
  Response.json(
    Object.fromEntries(
      Object.entries(ratios).map(([name, ratio]) => [
        name,
        {
          litellm_provider: 'openai',
          mode: 'chat',
          input_cost_per_token: (ratio * 2) / 1e6,
          output_cost_per_token: (ratio * 10) / 1e6,
        },
      ]),
    ),
  );
const tick = () => gateway.services.proposals.tick();
const proposed = async () => {
  const all = await gateway.services.proposals.list();
  const found = all.find(({ source }) => source === 'list');
  if (found === undefined) throw new Error('no list');
  return found;
};
const ratiosProposed = async () =>
  (await proposed()).changes.filter(({ key }) => key === 'ModelRatio').map(({ name, after }) => [name, after]);
const inForce = () => JSON.parse(gateway.services.options.text('ModelRatio')) as Record<string, number>;

test('only the list that was seen is applied: one that changed since is looked at again', async () => {
  await tick();
  const { at } = await proposed();
  now += 6 * hourMs;
  answer = () => list({ a: 1.9, b: 2.9 });
  await tick();
  for (const verb of ['apply', 'reject'] as const)
    await expect(gateway.call(`ratio.${verb}_proposal`, { source: 'list', at })).rejects.toMatchObject({
      code: 'prices_renewed',
    });
  expect(inForce().a).toBe(1);
  await gateway.call('ratio.apply_proposal', { source: 'list', at: (await proposed()).at });
  expect(inForce().a).toBe(1.9);
});

test('a list of rows is read in a time that grows with it, and looked at once for as long as nothing changes', async () => {
  const rows = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ model_name: `m${n}`, quota_type: 0, model_ratio: 1 }));
  answer = () => Response.json({ data: rows(20_000) });
  const started = process.cpuUsage();
  await tick();
  const { user, system } = process.cpuUsage(started);
  expect((user + system) / 1000).toBeLessThan(5000);
  const propose = vi.spyOn(gateway.services.pricing, 'propose');
  const count = await gateway.services.proposals.count();
  expect(count).toBe(20_000);
  await gateway.services.proposals.count();
  expect(propose).toHaveBeenCalledTimes(1);
  await gateway.option('ModelRatio', JSON.stringify({ a: 1, b: 2, far: 1, m0: 1 }));
  expect(await gateway.services.proposals.count()).toBe(count - 1);
  const begun = process.cpuUsage();
  expect(await gateway.services.proposals.reject({ source: 'list', names: null })).toHaveLength(count - 1);
  const spent = process.cpuUsage(begun);
  expect((spent.user + spent.system) / 1000).toBeLessThan(5000);
  expect(await gateway.services.proposals.count()).toBe(0);
  now += 6 * hourMs;
  answer = () => Response.json({ data: rows(20_001) });
  await tick();
  expect(await proposed()).toMatchObject({ error: 'more than 20000 names' });
});

test.each([
  ['CompletionRatio', { a: 0.01 }],
  ['CacheRatio', { a: 0.01 }],
  ['AudioRatio', { a: 0 }],
  ['ContextTiers', { a: [{ above: 1, input: 0.01 }] }],
  ['TierRatio', { a: { 'service_tier:flex': 0.01 } }],
  ['PriceDates', { a: [{ from: '2026-01-01', ModelRatio: 0.01 }] }],
  ['PriceDates', { a: [{ from: '2027-01-01', CompletionRatio: 500 }] }],
  ['ToolPrices', { web_search: 0 }],
])('a figure that moves far is held back by whatever map a list moves it: %s', async (key, map) => {
  answer = () => Response.json({ [key]: { ...map, 'an-unknown-model': Object.values(map)[0] } });
  await tick();
  const { changes, held } = await proposed();
  expect(changes.filter(({ name }) => name in map)).toEqual([]);
  expect(held).toContainEqual({ name: Object.keys(map)[0], reason: 'threefold' });
});

test('other parts of a price are proposed where they move little', async () => {
  answer = () =>
    Response.json({
      CompletionRatio: { a: 6 },
      AudioRatio: { a: 8 },
      ContextTiers: { a: [{ above: 200_000, input: 2, output: 1.5 }] },
      TierRatio: { a: { 'service_tier:priority': 6, 'service_tier:flex': 0.5 } },
      PriceDates: { a: [{ from: '2027-01-01', ModelRatio: 2 }] },
      ToolPrices: { web_search: 0.014 },
    });
  await tick();
  const { changes, held } = await proposed();
  expect(changes.length).toBe(6);
  expect(held).toEqual([]);
});

test('it is read when its hours have passed, and never before', async () => {
  await tick();
  now += 6 * hourMs - 1000;
  await tick();
  expect(asked).toEqual([address]);
  now += 1000;
  await tick();
  expect(asked).toHaveLength(2);
});

test.each([
  ['no hours', 'price_list.every_hours', '0'],
  ['no address', 'price_list.address', ''],
])('with %s it is not read', async (_what, key, value) => {
  await gateway.option(key, value);
  await tick();
  expect(asked).toEqual([]);
});

test('another address is read at once', async () => {
  await tick();
  await gateway.option('price_list.address', `${address}?2`);
  await tick();
  expect(asked).toEqual([address, `${address}?2`]);
});

test('it changes no price, and what moves threefold is held back', async () => {
  await tick();
  expect(await ratiosProposed()).toEqual([
    ['a', '1.2'],
    ['b', '2.2'],
  ]);
  expect((await proposed()).held).toEqual([{ name: 'far', reason: 'threefold' }]);
  expect(inForce()).toEqual({ a: 1, b: 2, far: 1 });
});

test('a price that is applied by name is in force, and the rest still waits', async () => {
  await tick();
  const { version } = await gateway.services.proposals.apply({ source: 'list', names: ['a'] }, 100, 'root');
  expect(inForce()).toEqual({ a: 1.2, b: 2, far: 1 });
  expect(await ratiosProposed()).toEqual([['b', '2.2']]);
  await gateway.call('ratio.rollback', { version });
  expect(inForce()).toEqual({ a: 1, b: 2, far: 1 });
});

test('a figure that was rejected is not proposed again, another one is', async () => {
  await tick();
  await gateway.services.proposals.reject({ source: 'list', names: ['a'] });
  now += 6 * hourMs;
  await tick();
  expect(await ratiosProposed()).toEqual([['b', '2.2']]);
  answer = () => list({ a: 1.3, b: 2.2 });
  now += 6 * hourMs;
  await tick();
  expect(await ratiosProposed()).toEqual([
    ['a', '1.3'],
    ['b', '2.2'],
  ]);
});

test.each([
  ['is no JSON', () => new Response('<html>'), 'not JSON'],
  ['is refused', () => new Response('', { status: 503 }), 'HTTP 503'],
  ['holds no prices', () => Response.json({ hello: {} }), 'no prices found'],
  ['has no end', () => new Response('x'.repeat(6_000_001)), 'more than 6 MB'],
])('a list that %s is said, and what was read before stays', async (_what, next, error) => {
  await tick();
  answer = next;
  now += 6 * hourMs;
  await tick();
  expect((await proposed()).error).toBe(error);
  expect(await ratiosProposed()).toHaveLength(2);
  // Soon again, not at once.
  await tick();
  expect(asked).toHaveLength(2);
  now += 10 * 60_000;
  await tick();
  expect(asked).toHaveLength(3);
});
