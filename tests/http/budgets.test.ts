import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;

beforeEach(async () => {
  gateway = await createTestGateway({ engine: 'sqlite' });
});
afterEach(() => gateway.close());

const call = (id: string, input: object) => gateway.call(id, input);
const set = (more: object) => call('budget.set', { holder: 'site', window: 'day', amount: 5, ...more });
const actions = async () => (await gateway.services.audit.page(1, 50)).items.map(({ action }) => action);

test('a budget is set, changed, reset and deleted, and each is in the audit trail', async () => {
  const made = { holder: 'user', subject: '1', name: 'tester', unit: 'money', amount: 5, bound: 5, used: 0 };
  expect(await set({ holder: 'user', subject: 1 })).toMatchObject({ id: 1, ...made });
  expect(await set({ holder: 'user', subject: '1', amount: 7, zone: 'Asia/Shanghai' })).toMatchObject({
    id: 1,
    amount: 7,
  });
  expect(await set({ holder: 'user', subject: '1', unit: 'tokens' })).toMatchObject({ id: 2, zone: 'Asia/Shanghai' });
  expect(await call('budget.list', { holder: 'user', subject: '1' })).toHaveLength(2);
  expect(await call('budget.list', { holder: 'site' })).toEqual([]);
  expect(await call('budget.reset', { id: 1 })).toMatchObject({ used: 0 });
  await call('budget.delete', { id: 1 });
  expect(await call('budget.list', {})).toMatchObject([{ id: 2 }]);
  await expect(call('budget.get', { id: 1 })).rejects.toMatchObject({ code: 'not_found' });
  const all = ['budget.delete', 'budget.reset', 'budget.set', 'budget.set', 'budget.set'];
  expect((await actions()).filter((action) => action.startsWith('budget.'))).toEqual(all);
  // The same again is no change.
  await set({ holder: 'user', subject: '1', unit: 'tokens' });
  expect(await actions()).toHaveLength(all.length);
});

test.each([
  ['nobody is named', { holder: 'group' }, 'params_invalid'],
  ['a user that is not there', { holder: 'user', subject: '99' }, 'not_found'],
  ['a key that is not there', { holder: 'token', subject: '99' }, 'not_found'],
  ['a key by its name', { holder: 'token', subject: 'ci' }, 'params_invalid'],
  ['less than nothing', { amount: -1 }, 'params_invalid'],
  ['no amount', { amount: undefined }, 'params_invalid'],
  ['another window', { window: 'year' }, 'params_invalid'],
  ['another unit', { unit: 'cents' }, 'params_invalid'],
  ['a zone that is not there', { zone: 'Mars/Base' }, 'params_invalid'],
  ['a raise below nothing', { raise: -1 }, 'params_invalid'],
  ['no label', { holder: 'label', subject: ' ' }, 'params_invalid'],
  ['two labels in one', { holder: 'label', subject: 'a,b' }, 'params_invalid'],
  ['a single request in money', { window: 'request', unit: 'money' }, 'params_invalid'],
])('%s is refused', async (_name, more, code) => {
  await expect(set(more)).rejects.toMatchObject({ code });
  expect(await call('budget.list', {})).toEqual([]);
});

test('the limit of a single request is set in tokens, has no use and no zone, and a reset of it changes nothing', async () => {
  const made = await set({ window: 'request', amount: 32_000, zone: 'Asia/Shanghai' });
  expect(made).toMatchObject({ window: 'request', unit: 'tokens', amount: 32_000, used: 0, resets: null, zone: '' });
  expect(await call('budget.reset', { id: 1 })).toMatchObject({ used: 0, window_at: null });
});

test('administrators alone change the labels of a key, and its owner may send them back unchanged', async () => {
  const { id } = await gateway.token();
  const actor = { via: 'session', userId: gateway.userId, username: 'tester', role: 1, group: 'default' } as const;
  const own = (fields: object) => gateway.call('token.update', { id, name: 'ci', ...fields }, actor);
  await expect(own({ labels: 'team-a' })).rejects.toMatchObject({ code: 'role_too_low' });
  await expect(gateway.call('token.create', { name: 'new', labels: 'a' }, actor)).rejects.toMatchObject({
    code: 'role_too_low',
  });
  expect(await call('token.update', { id, labels: ' team-a ,b, b' })).toMatchObject({ labels: 'team-a,b' });
  expect(await own({ labels: 'team-a,b' })).toMatchObject({ labels: 'team-a,b' });
  await expect(own({ labels: '' })).rejects.toMatchObject({ code: 'role_too_low' });
  await expect(call('token.update', { id, labels: 'a,b,c' })).rejects.toMatchObject({ code: 'token_labels' });
  await expect(call('token.update', { id, labels: 'x'.repeat(65) })).rejects.toMatchObject({ code: 'token_labels' });
  expect(await call('token.update', { id, labels: '' })).not.toHaveProperty('labels');
});

test('a declarative file brings budgets, says what differs, and the export is such a file', async () => {
  const { key: _, name } = await gateway.token({ name: 'ci' });
  const document = {
    version: 1,
    budgets: [
      { user: 'tester', window: 'week', amount: '5usd' },
      { token: name, owner: 'tester', window: 'day', unit: 'requests', amount: 20 },
      { group: 'default', window: '5h', unit: 'tokens', amount: 1000 },
      { site: true, window: 'month', amount: 9, zone: 'Asia/Shanghai' },
      { label: 'team-a', window: 'request', amount: 32_000 },
    ],
    tokens: [{ name: 'ci', owner: 'tester', labels: ['team-a', 'b'] }],
  };
  const apply = async (file: object, dryRun = false) =>
    (
      (await call('provision.apply', { document: file, dry_run: dryRun, prune: false })) as {
        action: string;
        fields: string[];
      }[]
    ).map(({ action, fields }) => [action, ...fields]);
  expect(await apply(document)).toEqual([
    ['update', 'labels:  -> team-a,b'],
    ...Array.from({ length: 5 }, () => ['create']),
  ]);
  expect(await apply(document)).toEqual(Array.from({ length: 6 }, () => ['unchanged']));
  const less = { version: 1, budgets: [{ site: true, window: 'month', amount: 8 }] };
  expect(await apply(less)).toEqual([['update', 'amount: 9 -> 8']]);
  const { budgets, tokens } = (await gateway.services.provisioning.export(false)) as {
    budgets: object[];
    tokens: object[];
  };
  expect(tokens).toMatchObject([{ name: 'ci', labels: ['team-a', 'b'] }]);
  expect(budgets).toEqual([
    { user: 'tester', window: 'week', unit: 'money', amount: 2_500_000 },
    { token: 'ci', owner: 'tester', window: 'day', unit: 'requests', amount: 20 },
    { group: 'default', window: '5h', unit: 'tokens', amount: 1000 },
    { site: true, window: 'month', unit: 'money', amount: 8, zone: 'Asia/Shanghai' },
    { label: 'team-a', window: 'request', unit: 'tokens', amount: 32_000 },
  ]);
  await expect(
    apply({ version: 1, budgets: [{ user: 'a', site: true, window: 'day', amount: 1 }] }),
  ).rejects.toMatchObject({
    code: 'params_invalid',
  });
});
