/** Budgets of labels: shared by all keys that have one, whoever owns them. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { maxHolders, Row } from '../../server/billing/balances/open-requests.ts';
import { emptyUsage } from '../../server/protocols/shared/usage.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;

beforeEach(async () => {
  upstream = await startUpstream((response) => sendJson(response, completion(1000, 500)));
  gateway = await createTestGateway({ engine: 'sqlite', quota: 10_000_000 });
  await gateway.channel(upstream.url);
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const ask = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };
const code = async (response: Response) =>
  response.ok ? 'ok' : ((await response.json()) as { error: { code: string } }).error.code;
const label = async (subject: string, unit: 'requests' | 'tokens' | 'money', amount: number) => {
  const { budget } = await gateway.services.budgets.set({ holder: 'label', subject, window: 'day', unit, amount });
  await gateway.sync();
  return budget.id;
};
const labelled = async (id: number, labels: string) => {
  await gateway.services.tokens.update(id, null, { labels }, false);
  await gateway.sync();
};
const usedOf = async (id: number) => {
  await gateway.ledger.drain();
  return (await gateway.services.budgets.get(id)).used;
};

test('keys with a label share its budget, and keys without it, or with one that only begins like it, do not', async () => {
  const [one, two, other, near] = await Promise.all([1, 2, 3, 4].map(() => gateway.token()));
  if (one === undefined || two === undefined || other === undefined || near === undefined) throw new Error('no keys');
  await labelled(one.id, 'team-a');
  await labelled(two.id, 'build, team-a');
  await labelled(near.id, 'team-ab');
  const id = await label('team-a', 'requests', 2);
  expect(await code(await gateway.chat(one.key, ask))).toBe('ok');
  expect(await code(await gateway.chat(two.key, ask))).toBe('ok');
  expect(await code(await gateway.chat(one.key, ask))).toBe('budget_label');
  expect(await code(await gateway.chat(two.key, ask))).toBe('budget_label');
  expect(await code(await gateway.chat(other.key, ask))).toBe('ok');
  expect(await code(await gateway.chat(near.key, ask))).toBe('ok');
  expect(await usedOf(id)).toBe(2);
  // What it is called elsewhere changes nothing for a key that is taken out.
  await labelled(one.id, '');
  expect(await code(await gateway.chat(one.key, ask))).toBe('ok');
  expect(await usedOf(id)).toBe(2);
});

test('a new budget of a label counts what its keys have used in the window, in each unit', async () => {
  const { key, id } = await gateway.token();
  const near = await gateway.token();
  await labelled(id, 'x,team-a');
  await labelled(near.id, 'team-abc');
  await gateway.chat(key, ask);
  await gateway.chat(near.key, ask);
  await gateway.ledger.drain();
  expect(await usedOf(await label('team-a', 'money', 1000))).toBe(225);
  expect(await usedOf(await label('team-a', 'tokens', 5000))).toBe(1500);
  expect(await usedOf(await label('x', 'requests', 5))).toBe(1);
});

test('fifty at once over keys of different labels never exceed the one that they share', async () => {
  const keys = await Promise.all(
    ['a,shared', 'shared,b', 'c,shared'].map(async (labels) => {
      const { key, id } = await gateway.token();
      await labelled(id, labels);
      return key;
    }),
  );
  const shared = await label('shared', 'requests', 7);
  await label('a', 'requests', 50);
  await label('b', 'money', 5_000_000);
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, at) => gateway.chat(keys[at % keys.length] ?? '', { ...ask, max_tokens: 500 })),
  );
  const codes = await Promise.all(answers.map(code));
  expect(codes.filter((one) => one === 'ok')).toHaveLength(7);
  expect(new Set(codes)).toEqual(new Set(['ok', 'budget_label']));
  expect(await usedOf(shared)).toBe(7);
});

test('a key, its user, group and site and two labels hold at once, and the row names all of them', async () => {
  const { key, id } = await gateway.token();
  await labelled(id, 'a,b');
  const sets = [
    ['token', String(id)],
    ['user', String(gateway.userId)],
    ['group', 'default'],
    ['label', 'a'],
    ['label', 'b'],
    ['site', ''],
  ] as const;
  for (const [holder, subject] of sets)
    await gateway.services.budgets.set({ holder, subject, window: 'day', unit: 'requests', amount: 3 });
  await gateway.sync();
  const caller = { tokenId: id, userId: gateway.userId, userGroup: 'default', labels: ['a', 'b'] };
  const holders = gateway.balances.budgets.of(caller) ?? [];
  // And nobody's end user.
  expect(holders).toHaveLength(maxHolders - 1);
  expect(await code(await gateway.chat(key, ask))).toBe('ok');
  await gateway.ledger.drain();
  expect((await gateway.services.budgets.list()).map(({ used }) => used)).toEqual([1, 1, 1, 1, 1, 1]);
  const { memory } = gateway.balances.money;
  expect(holders.map(({ slot }) => [0, 1, 2].map((cell) => memory.get(slot + cell)))).toEqual(
    holders.map(() => [0, 0, 0]),
  );
});

test('the cells of a row do not overlap', () => {
  const numbers = Object.values(emptyUsage).filter((value) => typeof value === 'number').length;
  expect(Row.holders + maxHolders).toBeLessThanOrEqual(Row.tokensHeld);
  expect(Row.channelFactor).toBeLessThan(Row.usage);
  expect(Row.usage + numbers).toBeLessThanOrEqual(Row.ref);
});
