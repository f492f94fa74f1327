import { expect, test } from 'vitest';
import { verify } from '../../cli/commands/data/ledger.ts';
import { atTerminal, type Terminal } from './at-terminal.ts';

const words = { zh: '账目平衡', en: 'the books balance' };
const sound = { id: 'I1', ...words, checked: 3, violations: 0, examples: [] };
const broken = {
  ...{ id: 'I2', ...words, checked: 9, violations: 2, examples: ['account 1', 'account 2'] },
  note: { zh: '一条说明', en: 'a note' },
};
const asked = (reports: readonly object[], more: Terminal = {}) =>
  atTerminal(verify, { answers: { 'ledger.verify': reports }, ...more });

test('a broken invariant lists its examples and its note, and fails the command by name', async () => {
  const csv = { output: 'csv' } as const;
  await expect(asked([sound, broken])).rejects.toMatchObject({ code: 'check_failed', params: { detail: 'I2' } });
  const whole = { ...broken, violations: 0 };
  expect((await asked([sound, whole], { global: csv })).out.trim().split(/\r?\n/)).toEqual([
    'id,result,checked,invariant,examples',
    'I1,ok,3,the books balance,',
    'I2,ok,9,the books balance,account 1; account 2; a note',
  ]);
  expect((await asked([whole], { global: csv, language: 'zh' })).out).toContain(
    '账目平衡,account 1; account 2; 一条说明',
  );
});
