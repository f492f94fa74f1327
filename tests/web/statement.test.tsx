/** A statement on the screen: its lines by day, its total, and the rows of the log that each line is the sum of. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Statement, StatementShares } from '../../server/contract/statement.ts';
import { aroundPages, linksIn, reader, rendered } from './rendered.tsx';

beforeAll(() => aroundPages(reader(10)));
afterAll(() => vi.unstubAllGlobals());

const line = (day: string, model: string, quota: number) => ({
  ...{ day, model, quota, refund: false, requests: 1200, prompt_tokens: 10, completion_tokens: 5 },
});
const statement: Statement = {
  ...{ month: '2026-11', from: 1_793_491_200, to: 1_796_083_199, of: 'token', id: 3, name: 'ci', username: 'ann' },
  ...{ site: 'Our site', in_currency: true, quota_per_unit: 500_000, check: null, bill: null },
  lines: [line('2026-11-03', 'gpt-4o', 750_000), line('2026-11-03', 'mini', 5), line('2026-11-04', 'mini', 10)],
  total: { requests: 3600, prompt_tokens: 30, completion_tokens: 15, quota: 750_015 },
};
const shown = async (of: Statement, admin: boolean): Promise<string> => {
  const { StatementSheet } = await import('../../web/features/statements/statement-page.tsx');
  return rendered(<StatementSheet statement={of} admin={admin} />, {
    answers: { status: { quota_per_unit: 500_000, display_in_currency: true } },
  });
};
const text = (page: string): string => page.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');

test('names whose it is, the total before the lines and behind them, each day once with its sum, each model with its amount', async () => {
  const page = text(await shown(statement, true));
  expect(page).toContain('ann 的令牌 ci');
  expect(page.match(/2026-11-03/g)).toHaveLength(1);
  expect(page).toContain('合计 $1.50 请求数 3,600 输入 Tokens 30 输出 Tokens 15');
  expect(page).toContain('2026-11-03 2,400 20 10 $1.500010');
  expect(page).toContain('gpt-4o 1,200 次请求 · 输入 10 · 输出 5 1,200 10 5 $1.500000');
  expect(page).toContain('mini 1,200 次请求 · 输入 10 · 输出 5 1,200 10 5 $0.000010');
  expect(page).toContain('2026-11-04 1,200 10 5 $0.000020');
  expect(page).toContain('合计 3,600 次请求 · 输入 30 · 输出 15 3,600 30 15 $1.500030');
});

test('each line leads to its requests in the log', async () => {
  const queryOf = (page: string) =>
    Object.fromEntries(new URLSearchParams((linksIn(page)[0] ?? '').replaceAll('&amp;', '&').split('?')[1]));
  const from = Date.UTC(2026, 10, 3) / 1000;
  const mine = { type: '2', model: 'gpt-4o', from: String(from), to: String(from + 86_399), token: 'ci' };
  expect(queryOf(await shown(statement, true))).toEqual({ ...mine, user: 'ann' });
  expect(queryOf(await shown(statement, false))).toEqual(mine);
  expect(queryOf(await shown({ ...statement, of: 'user' }, false))).not.toHaveProperty('token');
});

test('a refund is a line of its own, and leads to its row', async () => {
  const none = { requests: 0, prompt_tokens: 0, completion_tokens: 0 };
  const back = { day: '2026-11-05', model: 'mj_imagine', refund: true, ...none, quota: -500_000 };
  const page = await shown({ ...statement, lines: [back], total: { ...none, quota: -500_000 } }, true);
  expect(text(page)).toContain('mj_imagine（退款） 0 次请求 · 输入 0 · 输出 0 0 0 0 -$1.000000');
  expect(linksIn(page)[0]).toMatch(/^\/log\?type=4&amp;model=mj_imagine&/);
  expect(linksIn(page)[0]).not.toContain('token=');
});

test('a month without charges says so', async () => {
  const none = { requests: 0, prompt_tokens: 0, completion_tokens: 0, quota: 0 };
  expect(await shown({ ...statement, lines: [], total: none }, true)).toContain('本月没有费用。');
});

const sums = (quota: number) => ({ requests: 2, prompt_tokens: 10, completion_tokens: 5, quota });
const divided = async (by: StatementShares['by'], everybody: boolean): Promise<string> => {
  const { SharesSheet } = await import('../../web/features/statements/shares.tsx');
  const found: StatementShares = {
    ...{ month: '2026-11', from: 0, to: 1, by, total: sums(1_000_000) },
    shares: [
      { id: by === 'token' ? 3 : 0, name: 'a b', user: 7, username: 'ann', ...sums(750_000) },
      { id: 0, name: '', user: 7, username: 'ann', ...sums(250_000) },
    ],
  };
  return rendered(<SharesSheet found={found} everybody={everybody} />, {
    answers: { status: { quota_per_unit: 500_000, display_in_currency: true } },
  });
};

test('a share leads to its own statement and names its part of the whole; what has no label or project leads nowhere', async () => {
  const projects = await divided('project', true);
  expect(text(projects)).toContain('a b ann 2 10 5 $1.500000 75.0 %');
  expect(text(projects)).toContain('无项目 ann 2 10 5 $0.500000 25.0 %');
  expect(text(projects)).toContain('合计 2 10 5 $2.000000');
  expect(linksIn(projects)).toEqual(['/statement?project=a+b&amp;user=7&amp;month=2026-11']);
  expect(linksIn(await divided('token', false))).toEqual(['/statement?token=3&amp;month=2026-11']);
  const labels = await divided('label', false);
  expect(linksIn(labels)).toEqual(['/statement?label=a+b&amp;user=7&amp;month=2026-11']);
  expect(text(labels)).toContain('无标签');
  expect(text(labels)).not.toContain('ann');
});

test('where more came back than was spent there is no share, and the others have no more than all', async () => {
  const { SharesSheet } = await import('../../web/features/statements/shares.tsx');
  const found: StatementShares = {
    ...{ month: '2026-11', from: 0, to: 1, by: 'project', total: sums(400_000) },
    shares: [
      { id: 0, name: 'a', user: 7, username: 'ann', ...sums(500_000) },
      { id: 0, name: 'b', user: 7, username: 'ann', ...sums(0) },
      { id: 0, name: 'c', user: 7, username: 'ann', ...sums(-100_000) },
    ],
  };
  const shown = text(
    await rendered(<SharesSheet found={found} everybody={false} />, {
      answers: { status: { quota_per_unit: 500_000, display_in_currency: true } },
    }),
  );
  expect([...shown.matchAll(/(\S+ %|–)/g)].map(([share]) => share)).toEqual(['100.0 %', '0.0 %', '–']);
});

test('a line of a label or a project leads to the rows of that label or project; a refund’s has none', async () => {
  const page = async (of: Statement['of'], refund: boolean) =>
    linksIn(
      await shown(
        { ...statement, of, name: 'web', username: '', lines: [{ ...line('2026-11-03', 'mini', 5), refund }] },
        true,
      ),
    )[0];
  expect(await page('label', false)).toContain('label=web');
  expect(await page('project', false)).toContain('project=web');
  expect(await page('project', true)).not.toContain('project=web');
});
