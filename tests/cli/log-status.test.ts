import { expect, test } from 'vitest';
import { matches, tailQueryOf } from '../../cli/commands/logs/filters.ts';
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
  const refused = { ...row(5, ''), other: JSON.stringify({ refused: 'rate_limited', status: 429 }) };
  expect(matches(refused, tailQueryOf({ status: '429' }, 0))).toBe(true);
  expect(() => shown('often')).toThrow(expect.objectContaining({ code: 'usage' }));
});
