/** Behind a pooler that lends connections by the transaction no node hears NOTIFY: what they want of each other comes all the same. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Stretch, startProxy } from './proxy.ts';
import {
  answersAfter,
  ask,
  needOf,
  openSellingSite,
  type SellingSite,
  type ServingNode,
  setBalance,
} from './serving.ts';

let site: SellingSite;
let proxy: Stretch;

beforeEach(async () => {
  site = await openSellingSite();
  proxy = await startProxy(site.url, { mute: true });
});
afterEach(async () => {
  await site.close();
  expect(proxy.rejected).toEqual([]);
  await proxy.stop();
});

const rowOf = async () =>
  (await site.rows<{ balance: number; leased: number }>('SELECT balance, leased FROM accounts WHERE id = 1'))[0] ?? {
    balance: 0,
    leased: 0,
  };

const nothingLeased = () => expect.poll(async () => (await rowOf()).leased, { timeout: 60_000 }).toBe(0);
const knows = ({ url }: ServingNode, key: string) =>
  expect
    .poll(async () => (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer sk-${key}` } })).status, {
      timeout: 60_000,
    })
    .toBe(200);

/** All of a balance for so many requests lies with one node, and nothing uses it. On a busy machine it may have returned a part by then: once more. */
async function leaseAll(node: ServingNode, key: string, { need, count }: Record<'need' | 'count', number>) {
  for (;;) {
    await nothingLeased();
    await setBalance(node, count * need);
    const gate = Promise.withResolvers<void>();
    site.upstream.script(answersAfter(gate.promise));
    const before = site.upstream.requests.length;
    const requested = Array.from({ length: count }, () => node.chat(key, ask));
    await expect.poll(() => site.upstream.requests.length - before, { timeout: 60_000 }).toBe(count);
    gate.resolve();
    expect((await Promise.all(requested)).map(({ status }) => status)).toEqual(requested.map(() => 200));
    const { balance, leased } = await rowOf();
    if (leased === balance) return;
  }
}

/** Retries as a client does after a 503; what the holder itself uses now and then is not returned by itself. */
async function comesOver(holder: ServingNode, other: ServingNode, key: string): Promise<number> {
  for (;;) {
    const { status } = await other.chat(key, ask);
    if (status !== 503) return status;
    await holder.chat(key, ask);
  }
}

test('an idle lease of one node comes to another that asks, and the operator learns why it takes longer', async () => {
  const [holder, other] = await Promise.all([site.start({ url: proxy.url }), site.start({ url: proxy.url })]);
  const key = await site.furnish(holder);
  await expect
    .poll(() => [holder, other].filter((node) => node.output().includes('NOTIFY of the database does not arrive')), {
      timeout: 60_000,
    })
    .toHaveLength(2);
  await knows(other, key);
  await leaseAll(holder, key, { need: (await needOf(site, holder, key)).need, count: 20 });
  expect(await comesOver(holder, other, key)).toBe(200);
  // A node that has nothing left answers, too: a refusal does not need a timeout.
  await setBalance(holder, 0);
  expect(await rowOf()).toEqual({ balance: 0, leased: 0 });
  expect((await other.chat(key, ask)).status).toBe(403);
  const { advice = [] } = await holder.client.call('local.check');
  expect(advice.find(({ check }) => check === 'news')).toMatchObject({
    result: 'warn',
    detail: expect.stringContaining('NOTIFY does not arrive'),
  });
});

test('a node that hears and one that does not serve each other', async () => {
  const [isListening, deaf] = await Promise.all([site.start(), site.start({ url: proxy.url })]);
  const key = await site.furnish(isListening);
  await knows(deaf, key);
  const { need } = await needOf(site, isListening, key);
  for (const [holder, other] of [
    [isListening, deaf],
    [deaf, isListening],
  ] as const) {
    await leaseAll(holder, key, { need, count: 20 });
    expect(await comesOver(holder, other, key)).toBe(200);
  }
  expect(isListening.output()).not.toContain('NOTIFY');
});
