import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSimulation } from '../../server/domain/pricing/simulate.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream } from '../support/upstream.ts';

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await createTestGateway();
});
afterEach(() => gateway.close());

const call = (id: string, input: object = {}) => gateway.call(id, input) as Promise<never>;
const set = (key: string, value: object) => gateway.call('option.set', { key, value: JSON.stringify(value) });
const text = (key: 'ModelRatio' | 'ModelPrice' | 'GroupRatio') => gateway.services.options.text(key);

test('every change is a version with its difference; going back is a version too', async () => {
  await set('ModelRatio', { a: 1, b: 2 });
  await set('ModelRatio', { a: 3, c: 4 });
  await set('GroupRatio', { default: 1, vip: 0.5 });
  const { items } = (await call('ratio.history')) as { items: { id: number; keys: string[]; reason: string }[] };
  expect(items.map(({ keys, reason }) => [reason, ...keys])).toEqual([
    ['set', 'GroupRatio'],
    ['set', 'ModelRatio'],
    ['set', 'ModelRatio'],
  ]);
  const second = items[1]?.id ?? 0;
  expect(await call('ratio.changes', { id: second })).toEqual([
    { key: 'ModelRatio', name: 'a', before: '1', after: '3' },
    { key: 'ModelRatio', name: 'b', before: '2', after: null },
    { key: 'ModelRatio', name: 'c', before: null, after: '4' },
  ]);
  const back = (await call('ratio.rollback', { version: second })) as { version: number; changes: unknown[] };
  expect(back.changes).toHaveLength(3);
  expect(text('ModelRatio')).toBe('{"a":1,"b":2}');
  expect(JSON.parse(text('GroupRatio'))).toEqual({ default: 1, vip: 0.5 });
  await call('ratio.rollback', { version: back.version });
  expect(text('ModelRatio')).toBe('{"a":3,"c":4}');
  // The first version is the default.
  await call('ratio.rollback', { version: items[2]?.id });
  expect(gateway.services.options.list().find((row) => row.key === 'ModelRatio')?.isSet).toBe(false);
  await expect(call('ratio.rollback', { version: 999 })).rejects.toMatchObject({ code: 'not_found' });
});

test('what one model cost is said change by change, the newest first: changes of others are none of it, a rollback is', async () => {
  const priced = (input: number | null, output: number | null, per_call: number | null = null) =>
    expect.objectContaining({ input, output, per_call });
  await set('ModelRatio', { mine: 1, other: 2 });
  await set('ModelRatio', { mine: 1, other: 3 });
  await set('CompletionRatio', { mine: 4 });
  await set('ModelPrice', { mine: 0.5 });
  const of = (model: string) =>
    call('ratio.model_history', { model }) as Promise<{ id: number; reason: string; before: object; after: object }[]>;
  const found = await of('mine');
  expect(found.map(({ reason, before, after }) => [reason, before, after])).toEqual([
    ['set', priced(2, 8), priced(null, null, 0.5)],
    ['set', priced(2, 2), priced(2, 8)],
    ['set', priced(null, null), priced(2, 2)],
  ]);
  // A price per call stands over the ratios: what they are changes nothing.
  await set('CompletionRatio', { mine: 5 });
  expect(await of('mine')).toEqual(found);
  await call('ratio.rollback', { version: found[0]?.id });
  const [back, ...rest] = await of('mine');
  expect([back?.reason, back?.before, back?.after]).toEqual([
    `rollback ${found[0]?.id}`,
    ...[priced(null, null, 0.5), priced(2, 10)],
  ]);
  expect(rest).toEqual(found);
  expect(await of('never-heard-of')).toEqual([]);
  // A name may be written with escapes.
  await gateway.call('option.set', { key: 'ModelRatio', value: String.raw`{"\u006dine":3}` });
  await gateway.call('option.set', { key: 'ModelPrice', value: '{}' });
  expect((await of('mine'))[0]?.after).toEqual(priced(6, 30));
  await expect(call('ratio.model_history', { model: '' })).rejects.toMatchObject({ code: 'params_invalid' });
});

test('a model whose price changed often is looked up in turns: others get theirs between five versions', async () => {
  for (let ratio = 1; ratio <= 20; ratio++) await set('ModelRatio', { mine: ratio });
  let turns = 0;
  let goesOn = true;
  const count = () => {
    turns++;
    if (goesOn) setTimeout(count);
  };
  setTimeout(count);
  const found = (await call('ratio.model_history', { model: 'mine' })) as unknown[];
  goesOn = false;
  expect(found).toHaveLength(20);
  expect(turns).toBeGreaterThanOrEqual(4);
});

test('the history says what each change did: how many names, and the first of them with what was and what became', async () => {
  await set('ModelRatio', { a: 1, b: 2 });
  await set('GroupRatio', { default: 1, vip: 0.5 });
  await set('ModelRatio', { a: 3, b: 2, c: 1, d: 1, e: 1 });
  type Item = { id: number; count: number; changes: { name: string; before: string | null; after: string | null }[] };
  const page = async (p: number) => ((await call('ratio.history', { p, page_size: 1 })) as { items: Item[] }).items[0];
  const [last, groups, first] = [await page(1), await page(2), await page(3)];
  expect([last?.count, last?.changes]).toEqual([
    4,
    [
      { key: 'ModelRatio', name: 'a', before: '1', after: '3' },
      { key: 'ModelRatio', name: 'c', before: null, after: '1' },
      { key: 'ModelRatio', name: 'd', before: null, after: '1' },
    ],
  ]);
  expect(groups?.changes.filter(({ name }) => name === 'vip')).toEqual([
    { key: 'GroupRatio', name: 'vip', before: '1', after: '0.5' },
  ]);
  for (const one of [last, groups, first]) {
    const all = (await call('ratio.changes', { id: one?.id })) as { name: string }[];
    expect([one?.count, one?.changes]).toEqual([all.length, all.slice(0, 3)]);
    // What came later on the same map is not counted to an earlier change.
    if (one === first)
      expect(all.filter(({ name }) => name === 'a')).toEqual([
        { key: 'ModelRatio', name: 'a', before: null, after: '1' },
      ]);
  }
});

test('a reset can be taken back whole', async () => {
  await set('ModelRatio', { a: 1 });
  await set('ModelPrice', { p: 0.5 });
  const { version } = (await call('option.reset_ratios')) as { version: number };
  expect(text('ModelRatio')).toBe(gateway.services.options.fallback('ModelRatio'));
  expect(text('ModelPrice')).toBe('{"p":0.5}');
  await call('ratio.rollback', { version });
  expect([text('ModelRatio'), text('ModelPrice')]).toEqual(['{"a":1}', '{"p":0.5}']);
});

test.each([
  ['option maps', { ModelRatio: { a: 2, new: 7 }, ModelPrice: '{"p":1}', Notice: 'x' }],
  ['published maps', { success: true, data: { model_ratio: { a: 2, new: 7 }, model_price: { p: 1 } } }],
  [
    'a pricing page',
    {
      data: [
        { model_name: 'a', quota_type: 0, model_ratio: 2 },
        { model_name: 'new', quota_type: 0, model_ratio: 7 },
        { model_name: 'p', quota_type: 1, model_price: 1, model_ratio: 0 },
      ],
    },
  ],
])('a list in the form of %s is proposed, never applied by itself', async (_name, list) => {
  await set('ModelRatio', { a: 1, kept: 5 });
  await set('ModelPrice', {});
  const proposal = (await call('ratio.propose', { text: JSON.stringify(list) })) as {
    changes: unknown[];
    values: Record<string, string>;
  };
  expect(proposal.changes).toEqual([
    { key: 'ModelRatio', name: 'a', before: '1', after: '2' },
    { key: 'ModelRatio', name: 'new', before: null, after: '7' },
    { key: 'ModelPrice', name: 'p', before: null, after: '1' },
  ]);
  expect(text('ModelRatio')).toBe('{"a":1,"kept":5}');
  const { version } = (await call('ratio.apply', { values: proposal.values })) as { version: number };
  expect(JSON.parse(text('ModelRatio'))).toEqual({ a: 2, kept: 5, new: 7 });
  await call('ratio.rollback', { version });
  expect([text('ModelRatio'), text('ModelPrice')]).toEqual(['{"a":1,"kept":5}', '{}']);
});

test.each(['', '[]', '{}', '{"ModelRatio":{"a":-1}}', '{"data":[{"model_name":5}]}'])(
  'a list that is none, or has impossible prices, is refused: %s',
  async (list) => {
    await expect(call('ratio.propose', { text: list })).rejects.toMatchObject({
      code: expect.stringMatching(/params_invalid|option_invalid/),
    });
  },
);

test('all or nothing: one bad map leaves the others untouched', async () => {
  await set('ModelRatio', { a: 1 });
  await expect(
    call('ratio.apply', { values: { ModelRatio: '{"a":9}', ModelPrice: '{"b":"x"}' } }),
  ).rejects.toMatchObject({ code: 'option_invalid' });
  expect(text('ModelRatio')).toBe('{"a":1}');
});

test('past requests are priced again', async () => {
  const upstream = await startUpstream((response) => sendJson(response, completion(1000, 500)));
  await gateway.channel(upstream.url, { models: 'gpt-4o-mini,gpt-4o' });
  const { key } = await gateway.token();
  for (const model of ['gpt-4o-mini', 'gpt-4o-mini', 'gpt-4o'])
    await (await gateway.chat(key, { model, messages: [] })).text();
  await gateway.logs();
  const simulate = (values: object) => call('ratio.simulate', { since: 0, values });
  // (1000 + 500 x 4) x 0.075 = 225, gpt-4o 3750
  expect(await simulate({ ModelRatio: '{"gpt-4o-mini":0.15,"gpt-4o":1.25}' })).toEqual({
    requests: 3,
    before: 4200,
    after: 4650,
    models: [
      { model: 'gpt-4o-mini', requests: 2, before: 450, after: 900 },
      { model: 'gpt-4o', requests: 1, before: 3750, after: 3750 },
    ],
  });
  expect(await simulate({ GroupRatio: '{"default":2}' })).toMatchObject({ before: 4200, after: 8400 });
  expect(await simulate({ ModelPrice: '{"gpt-4o":0.01}' })).toMatchObject({ after: 5450 });
  expect(await simulate({})).toMatchObject({ before: 4200, after: 4200 });
  await expect(simulate({ Notice: 'x' })).rejects.toMatchObject({ code: 'option_unknown' });
  await upstream.stop();
});

test('past requests that were charged with what earlier ones left of a unit are simulated so', () => {
  const text = (key: string) =>
    key === 'ModelRatio' ? '{"small":0.01}' : key === 'GroupRatio' ? '{"default":1}' : '{}';
  const simulated = (carried: readonly (number | undefined)[], quotas: readonly number[]) => {
    const simulation = createSimulation(new Set(), text, 0);
    for (const [at, quota] of quotas.entries()) {
      const other = JSON.stringify({
        model_ratio: 0.01,
        model_price: -1,
        group_ratio: 1,
        input: 49,
        carried: carried[at],
      });
      simulation.add({ model_name: 'small', group_name: 'default', quota, other });
    }
    const { before, after } = simulation.result();
    return [before, after];
  };
  expect(simulated([0, 0.49, 0.98], [0, 0, 1])).toEqual([1, 1]);
  expect(simulated([undefined, undefined, undefined], [0, 0, 0])).toEqual([0, 0]);
});
