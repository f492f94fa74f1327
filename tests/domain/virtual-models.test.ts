/** Virtual models as they are saved, explained and declared. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type AppError, formatError } from '../../server/contract/errors.ts';
import type { ChainTarget } from '../../server/contract/virtual-models.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
const upstream = 'http://127.0.0.1:9';
beforeAll(async () => {
  gateway = await createTestGateway();
  await gateway.channel(upstream, { models: 'gpt-4o,gpt-4o-mini' });
});
afterAll(() => gateway.close());
const service = () => gateway.services.virtualModels;
beforeEach(async () => {
  const all = await service().list();
  for (const { id } of all) await service().update(id, { targets: [{ model: 'gpt-4o' }] });
  for (const { id } of all) await service().remove(id);
});
const add = (name: string, targets: readonly ChainTarget[], fields: Readonly<Record<string, unknown>> = {}) =>
  service().create({ name, targets, ...fields });
const refusal = (code: string) => expect.objectContaining({ code });

test.each<[string, Readonly<Record<string, unknown>>, string]>([
  ['no name', { targets: [{ model: 'gpt-4o' }] }, 'name'],
  ['a name with a comma', { name: 'a,b', targets: [{ model: 'gpt-4o' }] }, 'name'],
  ['no targets', { name: 'a', targets: [] }, 'targets'],
  ['seventeen targets', { name: 'a', targets: Array(17).fill({ model: 'gpt-4o' }) }, 'targets'],
  ['a target without a model', { name: 'a', targets: [{ group: 'vip' }] }, 'targets[0].model'],
  ['an unknown member', { name: 'a', targets: [{ model: 'gpt-4o', weight: 1 }] }, 'targets[0].weight'],
  ['an unknown failure', { name: 'a', targets: [{ model: 'gpt-4o', after: ['tired'] }] }, 'targets[0].after'],
  ['an unknown class', { name: 'a', targets: [{ model: 'gpt-4o', classes: ['boss'] }] }, 'targets[0].classes'],
  [
    'bounds that meet nothing',
    { name: 'a', targets: [{ model: 'gpt-4o', prompt_over: 9, prompt_up_to: 9 }] },
    'targets[0].prompt_up_to',
  ],
  [
    'a class twice',
    { name: 'a', targets: [{ model: 'gpt-4o', classes: Array(6).fill('main') }] },
    'targets[0].classes',
  ],
  ['a target that is no object', { name: 'a', targets: ['gpt-4o'] }, 'targets[0]'],
  ['a flag in words', { name: 'a', targets: [{ model: 'gpt-4o', images: 'yes' }] }, 'targets[0].images'],
  ['a negative prompt', { name: 'a', targets: [{ model: 'gpt-4o', prompt_over: -1 }] }, 'targets[0].prompt_over'],
  ['a group of no name', { name: 'a', targets: [{ model: 'gpt-4o', group: ' vip' }] }, 'targets[0].group'],
  ['a boundary of no name', { name: 'a', targets: [{ model: 'gpt-4o' }], boundary: 'a,b' }, 'boundary'],
  ['a long description', { name: 'a', targets: [{ model: 'gpt-4o' }], description: 'x'.repeat(513) }, 'description'],
  ['an agent of no name', { name: 'a', targets: [{ model: 'gpt-4o', agent_types: [''] }] }, 'targets[0].agent_types'],
  ['half a channel', { name: 'a', targets: [{ model: 'gpt-4o', channel: 1.5 }] }, 'targets[0].channel'],
])('%s is refused, and the member is named', async (_name, value, field) => {
  const refused = await service()
    .create(value)
    .then(
      () => null,
      (error: unknown) => error,
    );
  expect(refused).toMatchObject({ code: 'virtual_model_invalid', params: expect.objectContaining({ field }) });
  const { code, params } = refused as AppError;
  // Words that members and their values have in the file itself may stand in both.
  expect(formatError(code, params, 'zh')).not.toMatch(/[a-z]+ (of|or|up|than|number|with)\b|\{/);
  expect(formatError(code, params, 'en')).not.toMatch(/[\p{Script=Han}{]/u);
});

test('names of virtual models and of models of channels stay apart, whichever comes first', async () => {
  await expect(add('gpt-4o', [{ model: 'gpt-4o-mini' }])).rejects.toEqual(refusal('virtual_model_of_channel'));
  const { id } = await add('coder', [{ model: 'gpt-4o' }]);
  await expect(add('coder', [{ model: 'gpt-4o' }])).rejects.toEqual(refusal('virtual_model_taken'));
  await expect(service().update(id, { name: 'gpt-4o' })).rejects.toEqual(refusal('virtual_model_of_channel'));
  const { channels } = gateway.services;
  const taken = refusal('channel_model_virtual');
  const made = { type: 1, name: 'b', key: 'k', base_url: upstream, tag: 't' };
  await expect(channels.create({ ...made, models: 'gpt-4.1,coder' })).rejects.toEqual(taken);
  const [other] = await channels.create({ ...made, models: 'gpt-4.1' });
  await expect(channels.update(other?.id ?? 0, { models: 'coder' })).rejects.toEqual(taken);
  await expect(channels.editTag('t', { models: 'coder' })).rejects.toEqual(taken);
  await channels.remove(other?.id ?? 0);
});

test('cycles are refused when they are saved: of itself, of two, and of a disabled one', async () => {
  await expect(add('a', [{ model: 'a' }])).rejects.toEqual(refusal('virtual_model_cycle'));
  const a = await add('a', [{ model: 'b' }], { enabled: false });
  await expect(add('b', [{ model: 'a' }])).rejects.toEqual(refusal('virtual_model_cycle'));
  await add('b', [{ model: 'gpt-4o' }]);
  await add('c', [{ model: 'a' }]);
  const b = await service().named('b');
  await expect(service().update(b.id, { targets: [{ model: 'c' }] })).rejects.toEqual(refusal('virtual_model_cycle'));
  await expect(service().remove(a.id)).rejects.toEqual(refusal('virtual_model_used'));
  await expect(service().update(a.id, { name: 'z' })).rejects.toEqual(refusal('virtual_model_used'));
});

test('five lie within each other, and no sixth', async () => {
  await add('v1', [{ model: 'gpt-4o' }]);
  for (let at = 2; at <= 5; at++) await add(`v${at}`, [{ model: `v${at - 1}` }]);
  await expect(add('v6', [{ model: 'v5' }])).rejects.toEqual(refusal('virtual_model_depth'));
});

test('chains within chains come to 64 targets at most', async () => {
  await add('inner', Array(16).fill({ model: 'gpt-4o' }));
  await add('four', Array(4).fill({ model: 'inner' }));
  await expect(add('five', Array(5).fill({ model: 'inner' }))).rejects.toEqual(refusal('virtual_model_leaves'));
});

test('no target leaves the boundary, its own or that of a chain it leads to', async () => {
  const leaves = refusal('virtual_model_boundary');
  await expect(add('a', [{ model: 'gpt-4o', group: 'vip' }], { boundary: 'default' })).rejects.toEqual(leaves);
  await add('inner', [{ model: 'gpt-4o', group: 'vip' }]);
  await expect(add('a', [{ model: 'inner' }], { boundary: 'default' })).rejects.toEqual(leaves);
  await add('b', [{ model: 'inner' }], { boundary: 'vip' });
  await expect(add('c', [{ model: 'b' }], { boundary: 'default' })).rejects.toEqual(leaves);
});

test('what is thought of goes where a request would, with prices, and calls nobody', async () => {
  const { call, option } = gateway;
  await option('UserUsableGroups', '{"default":"d"}');
  await add('coder', [
    { model: 'gpt-4o-mini', classes: ['subagent'] },
    { model: 'gpt-4o' },
    { model: 'gpt-4o-mini', after: ['rate_limited'] },
    { model: 'gpt-4o', group: 'vip' },
    { model: 'nobody' },
  ]);
  const tried = async (input: object) => (await call('virtual_model.try', { name: 'coder', ...input })) as object;
  expect(await tried({ failure: 'rate_limited' })).toMatchObject({
    targets: [
      { model: 'gpt-4o-mini', order: 0, outcome: 'conditions' },
      { model: 'gpt-4o', order: 1, outcome: 'tried', price: { input: 2.5, output: 10 }, channels: [{ name: 'up' }] },
      { model: 'gpt-4o-mini', order: 2, outcome: 'tried' },
      { order: 0, outcome: 'group' },
      { model: 'nobody', order: 0, outcome: 'no_channel' },
    ],
  });
  expect(await tried({ class: 'subagent', failure: 'timeout' })).toMatchObject({
    targets: [{ order: 1 }, { order: 2 }, { order: 0, outcome: 'not_after' }, {}, {}],
  });
  expect(await call('route.explain', { model: 'coder' })).toMatchObject({ channels: [], chain: { name: 'coder' } });
  expect(await call('route.explain', { model: 'gpt-4o' })).not.toHaveProperty('chain');
});

test('a declarative file brings them, once, and an export has them', async () => {
  const targets = [
    { model: 'gpt-4o', after: [] },
    { model: 'gpt-4o-mini', after: ['timeout'] },
  ];
  const apply = (virtual_models: readonly object[]) =>
    gateway.services.provisioning.apply({
      document: { version: 1, virtual_models },
      ...{ dryRun: false, prune: false, actor: 'root', keyOwner: 'owner' as const },
    });
  expect(await apply([{ name: 'coder', targets }])).toMatchObject([{ action: 'create', kind: 'virtual_model' }]);
  expect(await apply([{ name: 'coder', targets }])).toMatchObject([{ action: 'unchanged' }]);
  expect(await apply([{ name: 'coder', targets, boundary: 'default' }])).toMatchObject([{ action: 'update' }]);
  const { virtual_models: exported } = await gateway.services.provisioning.export(false);
  const stored = [{ model: 'gpt-4o' }, { model: 'gpt-4o-mini', after: ['timeout'] }];
  expect(exported).toEqual([{ name: 'coder', targets: stored, boundary: 'default' }]);
  expect(await apply(exported as object[])).toMatchObject([{ action: 'unchanged' }]);
});

test('the price list has each name with what its targets cost, and lists of models to choose from have the name', async () => {
  await gateway.option('UserUsableGroups', '{"default":"d"}');
  await add('coder', [{ model: 'gpt-4o' }, { model: 'gpt-4o-mini', group: 'vip' }, { model: 'nobody' }]);
  await add('off', [{ model: 'gpt-4o' }], { enabled: false });
  await add('empty', [{ model: 'nobody' }]);
  const price = { input: 2.5, output: 10, call: null };
  expect(await gateway.call('pricing.get', {})).toMatchObject({
    virtual_models: [{ name: 'coder', targets: [{ model: 'gpt-4o', group: 'default', price }] }],
  });
  const names = (await gateway.call('user.models', {})) as string[];
  expect([names.includes('coder'), names.includes('off')]).toEqual([true, false]);
});
