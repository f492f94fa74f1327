import { expect, test } from 'vitest';
import { AppError, formatError } from '../../server/contract/errors.ts';
import { waitIn } from '../../server/contract/wait.ts';

test.each([
  [0, '0 seconds', '0 秒'],
  [0.2, '1 seconds', '1 秒'],
  [90, '90 seconds', '90 秒'],
  [121, '2 minutes 1 seconds', '2 分钟 1 秒'],
  [180, '3 minutes', '3 分钟'],
  [3599, '59 minutes 59 seconds', '59 分钟 59 秒'],
  [3601, '1 hours 1 minutes', '1 小时 1 分钟'],
  [81_473, '22 hours 38 minutes', '22 小时 38 分钟'],
  // Rounded up into the next larger unit.
  [86_399, '1 days', '1 天'],
  [86_401, '1 days 1 hours', '1 天 1 小时'],
  [2_592_000, '30 days', '30 天'],
])('%d seconds are said in the largest two units, never too short', (seconds, en, zh) => {
  expect([waitIn(seconds, 'en'), waitIn(seconds, 'zh')]).toEqual([en, zh]);
});

test('a budget that is used up says when it is new as people count, and programs get the seconds', () => {
  const params = { remain: '$0.00', need: '$0.02', seconds: 81_473, resets: 1_796_083_200 };
  expect(formatError('token_budget_day', params, 'en')).toContain('it resets in 22 hours 38 minutes');
  expect(formatError('token_budget_day', params, 'zh')).toContain('22 小时 38 分钟后重置');
  expect(formatError('budget_user', { ...params, seconds: 3660 }, 'en')).toContain('it resets in 1 hour 1 minute');
  expect(new AppError('token_budget_day', params).params.seconds).toBe(81_473);
});
