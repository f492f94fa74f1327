// @vitest-environment happy-dom
/** Programs that are signed in, as their user and an administrator see them. */
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { Programs } from '../../web/components/programs.tsx';
import { mounted, unmounted } from './mounted.tsx';
import { reader } from './rendered.tsx';

afterEach(unmounted);
afterAll(() => vi.unstubAllGlobals());

const program = {
  id: 61,
  name: 'gateway on laptop',
  client: 'gateway',
  host: 'laptop',
  address: '192.0.2.7',
  created_time: 1_800_000_000,
  last_used_time: 1_800_003_600,
  spent_today: 250_000,
};
const open = (list: object, userId?: number) =>
  mounted(() => (userId === undefined ? <Programs /> : <Programs userId={userId} />), {
    path: '/personal',
    user: reader(1),
    answers: {
      'status.get': { quota_per_unit: 500_000, display_in_currency: true, server_address: 'https://site.example' },
      'sign_in.list': list,
      'sign_in.end': null,
    },
  });

test('a program is listed with its place, its last use and what it spent today, and signed out by its name', async () => {
  const page = await open({ open: true, items: [program] });
  await page.until(() => expect(page.text()).toContain('gateway on laptop'));
  for (const part of ['laptop, 192.0.2.7', '今日 $0.50', 'gateway connect', 'gateway login'])
    expect(page.text()).toContain(part);
  await page.press('退出登录：gateway on laptop');
  expect(page.calls.filter(([id]) => id === 'sign_in.end')).toEqual([['sign_in.end', { id: 61 }]]);
});

test('a machine that does not name itself is its address, once', async () => {
  const page = await open({ open: true, items: [{ ...program, host: '' }] });
  await page.until(() => expect(page.text()).toContain('192.0.2.7 ·'));
  expect(page.text()).not.toContain(', 192.0.2.7');
});

test('signed-in programs can be ended where no new ones may sign in, and no way in is offered', async () => {
  const closed = await open({ open: false, items: [program] });
  await closed.until(() => expect(closed.text()).toContain('gateway on laptop'));
  expect(closed.text()).not.toContain('gateway login');
  await unmounted();
  const none = await open({ open: false, items: [] });
  expect(none.text()).toBe('');
});

test('of another user an administrator sees the programs and no way to connect one, and of nobody nothing', async () => {
  const page = await open({ open: true, items: [program] }, 7);
  await page.until(() => expect(page.text()).toContain('已登录的程序'));
  expect(page.calls.find(([id]) => id === 'sign_in.list')?.[1]).toEqual({ user_id: '7' });
  expect(page.text()).not.toContain('gateway login');
  await unmounted();
  expect((await open({ open: true, items: [] }, 7)).text()).toBe('');
});
