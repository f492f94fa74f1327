/** The list of keys says of each what it spent of what, when it was used last and from where, and which of its keys end. */
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { Token } from '../../server/contract/entities.ts';
import { aroundPages, reader, rendered } from './rendered.tsx';

const now = 1_800_000_000;
beforeAll(() => aroundPages(reader(1)));
afterEach(() => vi.useRealTimers());
afterAll(() => vi.unstubAllGlobals());

const token = (more: Partial<Token>): Token => ({
  id: 4,
  user_id: 7,
  key: 'AbCdEfGh0123456789zzzz',
  status: 1,
  name: 'laptop',
  created_time: now - 1000,
  accessed_time: 0,
  expired_time: -1,
  remain_quota: 0,
  unlimited_quota: true,
  model_limits_enabled: false,
  model_limits: '',
  allow_ips: '',
  used_quota: 250_000,
  group: '',
  day_budget: 0,
  month_budget: 0,
  rpm_limit: 0,
  tpm_limit: 0,
  concurrency_limit: 0,
  day_used: 0,
  month_used: 0,
  old_key_hint: '',
  old_key_until: 0,
  link_until: 0,
  last_ip: '',
  DeletedAt: null,
  ...more,
});

async function list(one: Partial<Token>, requests?: number): Promise<string> {
  vi.useFakeTimers({ now: now * 1000, toFake: ['Date'] });
  const { TokensPage } = await import('../../web/features/tokens/tokens-page.tsx');
  const total = { requests };
  return rendered(<TokensPage />, {
    path: '/token',
    answers: {
      status: { quota_per_unit: 500_000, display_in_currency: true },
      'token-traffic': requests === undefined ? { series: [] } : { series: [{ id: 4, total }] },
    },
    lists: [[['tokens', 1, 20, '', '', undefined, undefined], { items: [token(one)], total: 23 }]],
  });
}

test('the list says how many keys there are and offers to narrow it by status', async () => {
  const page = await list({});
  expect(text(page)).toMatch(/令牌 23 /);
  expect(page).toContain('状态</button>');
});

const text = (page: string): string => page.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');

test.each([
  [{}, '$0.50 不限', null],
  [{ unlimited_quota: false, remain_quota: 250_000 }, '$0.50 / $1.00', 50],
  [{ day_budget: 2_500_000, day_used: 2_500_000 }, '$5.00 / 今日 $5.00', 100],
  [{ month_budget: 1_000_000, month_used: 250_000 }, '$0.50 / 本月 $2.00', 25],
  [{ unlimited_quota: false, remain_quota: -10_000_000 }, '$0.50 / -$19.50', 0],
] as const)('a key with %j has spent %s', async (limits, words, width) => {
  const page = await list(limits);
  expect(text(page)).toContain(words);
  // Nothing is filled up where nothing limits.
  expect(/width:(-?\d+)%/.exec(page)?.[1] ?? null).toBe(width === null ? null : String(width));
  expect(page.includes('--warning-solid')).toBe((width ?? 0) >= 90);
});

test('when a key was used last and from where, and how often today', async () => {
  const page = text(await list({ accessed_time: now - 120, last_ip: '10.0.0.7' }, 1204));
  expect(page).toMatch(/2\s?分钟前 10\.0\.0\.7/);
  expect(page).toContain('1,204');
  expect(text(await list({}))).toContain('尚未使用');
});

test('a key is known by its ends and never shown whole', async () => {
  const page = await list({});
  expect(page).toContain('sk-AbCd…zzzz');
  expect(page).not.toContain('AbCdEfGh');
});

test('the old key of a rotated one says when it stops, a link that was not opened is mentioned', async () => {
  const page = text(await list({ old_key_hint: 'abcd…wxyz', old_key_until: now + 23 * 3600, link_until: now + 60 }));
  expect(page).toMatch(/旧密钥 ?23\s?小时后失效/);
  expect(page).toContain('链接尚未打开');
  expect(text(await list({}))).not.toMatch(/旧密钥|链接/);
});

test('models of a key are named, those of one without a list are all', async () => {
  expect(text(await list({}))).toContain('全部');
  expect(text(await list({ model_limits_enabled: true, model_limits: 'a,b,c' }))).toContain('a, b +1');
});

test('an end that is near is said in words, one that is far as a day', async () => {
  expect(text(await list({ expired_time: now + 6 * 86_400 }))).toMatch(/6\s?天后/);
  expect(text(await list({ expired_time: now + 60 * 86_400 }))).toContain('2027年3月16日');
});

test('a program that signed in offers no key to copy, to give or to rotate', async () => {
  const own = await list({});
  for (const offer of ['sk-AbCd…zzzz', '复制 laptop', '接入…']) expect(own).toContain(offer);
  const program = await list({ key: '', kind: 'agent' });
  expect(text(program)).toContain('已登录的程序');
  expect(program).not.toMatch(/sk-(?!…")|复制 laptop|接入…/);
});
