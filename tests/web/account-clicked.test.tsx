// @vitest-environment happy-dom
/** What readers do with their own account, and numbers that are changed where they stand. */
import i18next from 'i18next';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { InlineNumber } from '../../web/components/inline-number.tsx';
import { AccessTokens } from '../../web/features/personal/access-tokens.tsx';
import { Notifications } from '../../web/features/personal/notifications.tsx';
import { SecondFactor } from '../../web/features/personal/second-factor.tsx';
import { readUser } from '../../web/lib/stored-user.ts';
import { useOwnUser } from '../../web/shell/own-user.ts';
import { act, mounted, unmounted } from './mounted.tsx';
import { reader } from './rendered.tsx';

afterEach(unmounted);
afterAll(() => vi.unstubAllGlobals());

const status = { register_enabled: true };

test('a login that ran out is said on the page that it leads to, and nowhere else', async () => {
  const { LoginPage } = await import('../../web/features/account/login-page.tsx');
  const shown = async (path: string) =>
    (await mounted(() => <LoginPage />, { path, answers: { 'status.get': status } })).text();
  const ended = await shown('/login?expired=true');
  expect(ended).toContain(i18next.t('login.expired'));
  expect(await shown('/login')).not.toContain(i18next.t('login.expired'));
});

function Own() {
  useOwnUser('/');
  return null;
}

test('a role that was changed elsewhere is the reader’s without a new login; another’s answer is not', async () => {
  const answer = (more: object) => ({ 'user.self': { ...reader(1), setting: '{"language":"zh"}', ...more } });
  const page = await mounted(() => <Own />, { user: reader(1), answers: answer({ role: 10 }) });
  await page.until(() => expect(readUser()?.role).toBe(10));
  expect(page.calls.map(([id]) => id)).toEqual(['user.self']);
  await mounted(() => <Own />, { user: reader(1), answers: answer({ id: 8, role: 100 }) });
  expect(readUser()?.role).toBe(1);
  // Whoever has saved no language gets that of the page.
  const fresh = await mounted(() => <Own />, {
    user: reader(1),
    answers: { ...answer({ setting: '' }), 'account.setting': null },
  });
  await fresh.until(() => expect(fresh.calls).toContainEqual(['account.setting', { language: 'zh' }]));
});

test('a new address for notices is saved with the code that was mailed to it; the own one needs none', async () => {
  const own = { ...reader(1), email: 'me@people.example', setting: '{"notification_email":"old@people.example"}' };
  const page = await mounted(() => <Notifications self={own} />, {
    user: own,
    answers: {
      'status.get': { ...status, quota_per_unit: 500_000, display_in_currency: true },
      'user.self': own,
      'account.send_code': null,
      'account.setting': null,
    },
  });
  const code = i18next.t('account.code');
  await page.until(() => page.field(/^通知邮箱/));
  await page.type(/^通知邮箱/, 'ME@people.example');
  expect(page.text()).not.toContain(code);
  await page.type(/^通知邮箱/, 'other@people.example');
  await page.until(() => expect(page.text()).toContain(code));
  await page.press(i18next.t('account.sendCode'));
  await page.until(() => expect(page.calls).toContainEqual(['account.send_code', { email: 'other@people.example' }]));
  await page.type(new RegExp(`^${code}`), 'ABC234');
  await page.press(i18next.t('app.save'));
  await page.until(() =>
    expect(page.calls.find(([id]) => id === 'account.setting')?.[1]).toMatchObject({
      notification_email: 'other@people.example',
      verification_code: 'ABC234',
    }),
  );
});

test('an access token is listed with what it may do, when it was used and until when, and a new one is shown once', async () => {
  const list = [
    {
      id: 1,
      name: 'ci',
      hint: 'gat_ab…',
      scopes: ['read', 'logs:read'],
      last_used_time: 0,
      expired_time: -1,
      created_time: 1,
    },
  ];
  const page = await mounted(() => <AccessTokens />, {
    user: reader(1),
    answers: { 'access_token.list': list, 'access_token.create': { token: 'gat_whole' } },
  });
  await page.until(() => expect(page.text()).toContain('ci'));
  expect(page.text()).toContain(`read logs:read · ${i18next.t('personal.neverUsed')} · ${i18next.t('tokens.never')}`);
  await page.press(i18next.t('personal.newAccessToken'));
  await page.until(() => page.field(/^名称/));
  await page.type(/^名称/, 'backup');
  await page.press(i18next.t('personal.createToken'));
  await page.until(() => expect(page.text()).toContain('gat_whole'));
  expect(page.calls.find(([id]) => id === 'access_token.create')?.[1]).toMatchObject({
    name: 'backup',
    scopes: 'read',
  });
  expect(page.text()).not.toContain(i18next.t('personal.createToken'));
});

test('a code is sent by the page itself, which stays', async () => {
  const page = await mounted(() => <SecondFactor />, {
    user: reader(1),
    answers: {
      'second_factor.get': { enabled: true, recovery_codes_left: 8 },
      'second_factor.disable': null,
    },
  });
  await page.until(() => expect(page.text()).toContain('8'));
  await page.press(i18next.t('personal.turnOff'));
  const stays: boolean[] = [];
  addEventListener('submit', (event) => void stays.push(event.defaultPrevented), { once: true });
  await page.until(() => page.field(/./));
  await page.type(/./, '123456');
  await act(async () => document.querySelector<HTMLElement>('form button[type=submit]')?.click());
  await page.until(() => expect(page.calls).toContainEqual(['second_factor.disable', { code: '123456' }]));
  expect(stays).toEqual([true]);
});

test('a number is saved where it stands when it is another one, and says what is wrong when it is none', async () => {
  const saved: number[] = [];
  const page = await mounted(() => (
    <InlineNumber
      label="weight"
      value={5}
      bounds={{ integer: true, min: 0 }}
      onSave={(value) => void saved.push(value)}
    />
  ));
  const key = (name: string) =>
    act(
      async () => void page.field('weight').dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true })),
    );
  const alert = () => document.querySelector('[role=alert]');
  await page.type('weight', '5');
  await key('Enter');
  expect([saved, alert()]).toEqual([[], null]);
  await page.type('weight', 'x');
  expect(alert()).toBeNull();
  await key('Enter');
  expect(alert()).not.toBeNull();
  expect(page.field('weight').getAttribute('aria-invalid')).toBe('true');
  await key('Escape');
  expect([page.field('weight').value, alert()]).toEqual(['5', null]);
  await page.type('weight', '7');
  await key('Enter');
  expect(saved).toEqual([7]);
});
