import { expect, test } from 'vitest';
import { columns, matches, tailQueryOf } from '../../cli/commands/logs/filters.ts';
import { columnsOf } from '../../cli/parts/list-output.ts';
import type { Money } from '../../cli/parts/money.ts';
import type { Log } from '../../server/contract/entities.ts';

const row = (type: number, failure: string): Log =>
  ({ type, use_time: 0, created_at: 1, other: JSON.stringify({ failure, admin_info: {} }) }) as Log;
const shown = (status: string) =>
  [row(2, ''), row(5, 'status 429'), row(5, 'status 503'), row(5, 'unreachable')].map((one) =>
    matches(one, tailQueryOf({ status }, 0)),
  );

test('rows are chosen by what the upstream answered with, one status or a hundred of them', () => {
  expect(shown('200')).toEqual([true, false, false, false]);
  expect(shown('429')).toEqual([false, true, false, false]);
  expect(shown('5xx')).toEqual([false, false, true, false]);
  const rejected = { ...row(5, ''), other: JSON.stringify({ refused: 'rate_limited', status: 429 }) };
  expect(matches(rejected, tailQueryOf({ status: '429' }, 0))).toBe(true);
  expect(() => shown('often')).toThrow(expect.objectContaining({ code: 'usage' }));
});

test('each column of the log shows its own figure', () => {
  const plain: Money = {
    inCurrency: true,
    quotaPerUnit: 1,
    of: String,
    column: (name, amount) => ({ name, value: (one) => String(amount(one)) }),
  };
  const row = {
    ...{ id: 1, created_at: 1_700_000_000, type: 2, username: 'ann', token_name: 'ci', model_name: 'm', channel: 7 },
    ...{ prompt_tokens: 11, completion_tokens: 22, quota: 33 },
  } as Log;
  expect(
    Object.fromEntries(
      columnsOf('log.list', columns(plain, 'en'), plain).map(({ name, value }) => [name, value(row, [row])]),
    ),
  ).toEqual({
    id: '1',
    time: '2023-11-14T22:13:20.000Z',
    type: 'consume',
    user: 'ann',
    token: 'ci',
    model: 'm',
    channel: '7',
    in: '11',
    out: '22',
    quota: '33',
    cost: '33',
  });
});
