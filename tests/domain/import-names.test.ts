import { expect, test } from 'vitest';
import { sharesOf } from '../../server/domain/import/money.ts';
import { channelRows } from '../../server/domain/import/rows.ts';
import { flagOf } from '../../server/domain/import/source.ts';
import { createVault } from '../../server/domain/secrets/vault.ts';

const vault = createVault(Buffer.from('test master key'));
const made = (family: 'new-api' | 'one-api', row: Record<string, unknown>) =>
  channelRows({ id: 1, type: 3, key: 'k', name: 'a', models: 'gpt-4.1,gpt-4o', ...row } as never, family, vault)?.[0]
    .model_mapping;

test.each([
  ['one-api', {}, { 'gpt-4.1': 'gpt-41' }],
  ['new-api', { created_time: 1_700_000_000 }, { 'gpt-4.1': 'gpt-41' }],
  [
    'new-api',
    { created_time: 1_700_000_000, model_mapping: '{"gpt-4.1":"my.own","x":"y"}' },
    { 'gpt-4.1': 'myown', x: 'y' },
  ],
  ['new-api', { created_time: 1_760_000_000 }, null],
  ['one-api', { type: 1 }, null],
] as const)(
  'names of Azure deployments that %s changed in secret stand in the mapping: %j',
  (family, row, expected) => {
    const mapping = made(family, row);
    expect(mapping === '' ? null : JSON.parse(mapping ?? '')).toEqual(expected);
  },
);

test.each([true, 1, '1', 't', 'TRUE', new TextEncoder().encode('1')])('%j is yes', (value) =>
  expect(flagOf(value)).toBe(true),
);
test.each([false, 0, '0', 'f', '', null, undefined, 2])('%j is no', (value) => expect(flagOf(value)).toBe(false));

test('a counter below nothing, as other gateways keep them, takes nothing from what was spent', () => {
  const user = {
    userId: 1,
    username: 'a',
    balance: 0,
    used: 10,
    tokens: [
      { id: 7, used: -5 },
      { id: 8, used: 4 },
    ],
  };
  const shares = sharesOf([user], [{ id: 3, used: 6 }]);
  expect(shares.map(({ tokenId, channelId, amount }) => [tokenId, channelId, amount])).toEqual([
    [8, 3, 4],
    [0, 3, 2],
    [0, 0, 4],
  ]);
});
