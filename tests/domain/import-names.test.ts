import { expect, test } from 'vitest';
import { channelRow } from '../../server/domain/import/rows.ts';
import { createVault } from '../../server/domain/secrets/vault.ts';

const vault = createVault(Buffer.from('test master key'));
const made = (family: 'new-api' | 'one-api', row: Record<string, unknown>) =>
  channelRow({ id: 1, type: 3, key: 'k', name: 'a', models: 'gpt-4.1,gpt-4o', ...row } as never, family, vault)
    ?.model_mapping;

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
  'W10: names of Azure deployments that %s changed in secret stand in the mapping: %j',
  (family, row, expected) => {
    const mapping = made(family, row);
    expect(mapping === '' ? null : JSON.parse(mapping ?? '')).toEqual(expected);
  },
);
