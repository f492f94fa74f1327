/** What the tail shows of a row, in a narrow terminal and in a wide one. */
import { expect, test } from 'vitest';
import { columns } from '../../cli/commands/logs/filters.ts';
import { tailHeading, tailLine } from '../../cli/commands/logs/tail-line.ts';
import { columnsOf } from '../../cli/parts/list-output.ts';
import type { Log } from '../../server/contract/entities.ts';

const row = {
  id: 7,
  type: 2,
  created_at: 1_795_305_600,
  model_name: 'gpt-4o-mini',
  username: 'carol',
  token_name: 'laptop',
  channel: 3,
  use_time: 2,
  prompt_tokens: 8200,
  completion_tokens: 411,
  quota: 13_499,
  content: '',
} as unknown as Log;
const money = { of: (quota: number) => `$${(quota / 500_000).toFixed(6)}` } as unknown as Parameters<
  typeof tailLine
>[1];

test.each([80, 100, 140])('U.D: heading and row stand below each other in %i cells', (room) => {
  const check = { maxWidth: room, color: false };
  const [head, line] = [tailHeading(check), tailLine(row, money, { ...check, language: 'en' })];
  expect(Bun.stringWidth(line)).toBeLessThanOrEqual(room);
  expect(line.indexOf('gpt-4o-mini')).toBe(head.indexOf('MODEL'));
  expect(line).toContain('$0.026998');
  expect(line).not.toContain('.000Z');
  expect(line.includes('carol/laptop')).toBe(room >= 100);
});

test('U.D: a failure says why, in its own line', () => {
  const failed = { ...row, type: 5, quota: 0, content: 'Rate limit reached for requests per min. Limit: 500' };
  const [line = '', reason = ''] = tailLine(failed, money, { maxWidth: 80, color: false, language: 'en' }).split('\n');
  expect(line).toContain('FAILED');
  expect(reason.trim()).toBe('Rate limit reached for requests per min. Limit: 500');
});

test.each([
  ['en', 'Model test'],
  ['zh', '模型测试'],
] as const)('the test of a channel is named in the language of the terminal: %s', (language, name) => {
  const tested = { ...row, token_name: '模型测试' };
  expect(tailLine(tested, money, { maxWidth: 140, color: false, language })).toContain(`carol/${name} `);
  const shown = { ...money, column: () => ({ name: 'cost', value: () => '' }) } as never;
  const token = columnsOf('log.list', columns(shown, language), shown).find((column) => column.name === 'token');
  expect(token?.value(tested, [tested])).toBe(name);
});
