// @vitest-environment happy-dom
/** A program that wants to sign in, as its user meets it. */
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { DevicePage } from '../../web/features/account/device-page.tsx';
import { mounted, unmounted } from './mounted.tsx';
import { reader } from './rendered.tsx';

afterEach(unmounted);
afterAll(() => vi.unstubAllGlobals());

const back = 'http://127.0.0.1:1455/callback?code=c&state=s';
const asked = { client: 'gateway', name: 'gateway', host: 'laptop', address: '192.0.2.7', until: 2_000_000_000 };
const open = (path: string, answers: Readonly<Record<string, unknown>> = {}) =>
  mounted(() => <DevicePage />, {
    path,
    user: reader(1),
    answers: {
      'status.get': { quota_per_unit: 500_000, display_in_currency: true },
      'user.self': { ...reader(1), username: 'ann', quota: 2_500_000, group: 'vip' },
      'user.models': ['a', 'b', 'c', 'd', 'e', 'f', 'g'],
      'sign_in.look': asked,
      'sign_in.decide': null,
      'sign_in.authorize': { name: 'Codex', address: '192.0.2.8', redirect: back },
      ...answers,
    },
  });
const decisions = ({ calls }: Awaited<ReturnType<typeof open>>) => calls.filter(([id]) => id.startsWith('sign_in.'));

test('the address fills the code in and asks nothing', async () => {
  const page = await open('/device?user_code=BCDF-GHJK');
  expect(page.field('代码').value).toBe('BCDF-GHJK');
  expect(decisions(page)).toEqual([]);
});

test('the page shows who asks, from where, and what may be spent and called, before a decision', async () => {
  const page = await open('/device?user_code=bcdfghjk');
  await page.press('继续');
  await page.until(() => expect(page.text()).toContain('a, b, c, d, e +2'));
  for (const part of ['gateway', 'laptop', '192.0.2.7', 'BCDF-GHJK', 'ann', '$5.00', 'vip'])
    expect(page.text()).toContain(part);
  expect(decisions(page)).toEqual([['sign_in.look', { code: 'bcdfghjk' }]]);
  // Enter, pressed twice, decides nothing.
  expect(document.activeElement?.tagName).toBe('H2');
});

test.each([
  ['批准', true, '已批准'],
  ['拒绝', false, '已拒绝'],
])('%s is sent once and said', async (button, approve, said) => {
  const page = await open('/device');
  await page.type('代码', 'BCDF-GHJK');
  await page.press('继续');
  await page.press(button);
  expect(page.text()).toContain(said);
  expect(decisions(page)[1]).toEqual(['sign_in.decide', { code: 'BCDF-GHJK', approve }]);
});

test('no code asks nothing, a wrong one and a decision that fails are said where they happen', async () => {
  const empty = await open('/device');
  await empty.press('继续');
  expect([empty.text().includes('请输入代码'), decisions(empty)]).toEqual([true, []]);
  const wrong = await open('/device?user_code=X', { 'sign_in.look': { refused: '代码不正确或已过期' } });
  await wrong.press('继续');
  expect([wrong.text().includes('代码不正确或已过期'), wrong.field('代码').value]).toEqual([true, 'X']);
  const full = await open('/device?user_code=X', { 'sign_in.decide': { refused: '最多可登录 20 个程序' } });
  await full.press('继续');
  await full.press('批准');
  expect(full.text()).toContain('最多可登录 20 个程序');
});

const request = {
  ...{ client_id: 'codex', redirect_uri: 'http://127.0.0.1:1455/callback', response_type: 'code' },
  ...{ code_challenge: 'c'.repeat(43), code_challenge_method: 'S256', state: 's' },
};

test.each([
  ['批准', true, '已批准'],
  ['拒绝', false, '已拒绝'],
])(
  'a program that sent the browser is looked at, and %s sends the browser back to it',
  async (button, approve, said) => {
    const assign = vi.spyOn(location, 'assign').mockImplementation(() => undefined);
    const page = await open(`/device?${new URLSearchParams(request)}`);
    await page.until(() => expect(page.text()).toContain('Codex'));
    for (const part of ['192.0.2.8', 'ann', '$5.00', 'vip', '本机']) expect(page.text()).toContain(part);
    expect(page.text()).not.toContain('代码');
    expect([decisions(page), assign.mock.calls]).toEqual([[['sign_in.authorize', request]], []]);
    await page.press(button);
    await page.until(() => expect(page.text()).toContain(said));
    expect(decisions(page)[1]).toEqual(['sign_in.authorize', { ...request, approve }]);
    expect(assign.mock.calls).toEqual([[back]]);
    assign.mockRestore();
  },
);

test('a request that the site refuses says so and decides nothing', async () => {
  const page = await open(`/device?${new URLSearchParams(request)}`, {
    'sign_in.authorize': { refused: '参数无效' },
  });
  await page.until(() => expect(page.text()).toContain('参数无效'));
  expect([page.text().includes('批准'), decisions(page)]).toEqual([false, [['sign_in.authorize', request]]]);
});
