// @vitest-environment happy-dom
/** Forms that are filled in and sent: what is asked of the server, and what is said when it cannot be. */
import i18next from 'i18next';
import { useState } from 'react';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { GroupLimitsField } from '../../web/features/settings/group-limits-field.tsx';
import { ModelsField } from '../../web/features/tokens/models-field.tsx';
import { act, mounted, unmounted } from './mounted.tsx';
import { reader } from './rendered.tsx';

afterEach(unmounted);
afterAll(() => vi.unstubAllGlobals());

const status = { register_enabled: true, password_register_enabled: true, email_verification: true };

test('a registration sends what was typed, once both passwords are the same and long enough', async () => {
  const { RegisterPage } = await import('../../web/features/account/register-page.tsx');
  const page = await mounted(() => <RegisterPage />, {
    answers: { 'status.get': status, 'account.register': null },
  });
  const sent = () => page.calls.filter(([id]) => id === 'account.register').map(([, fields]) => fields);
  await page.until(() => expect(page.text()).toContain('验证码'));
  await page.press('注册账户');
  expect(sent()).toEqual([]);
  await page.type(/^用户名/, ' mira ');
  await page.type(/^密码/, 'password1');
  await page.type(/^确认密码/, 'password2');
  await page.press('注册账户');
  expect(sent()).toEqual([]);
  await page.type(/^确认密码/, 'password1');
  await page.type(/^验证码/, '123456');
  await page.press('注册账户');
  await page.until(() => expect(sent()).toHaveLength(1));
  expect(sent()[0]).toMatchObject({
    username: 'mira',
    password: 'password1',
    password2: 'password1',
    verification_code: '123456',
  });
});

test('a required invitation’s code is asked for, kept from the link, and sent', async () => {
  const { RegisterPage } = await import('../../web/features/account/register-page.tsx');
  const page = await mounted(() => <RegisterPage />, {
    path: '/register?aff=fromLink',
    answers: {
      'status.get': { ...status, email_verification: false, invitation_required: true },
      'account.register': null,
    },
  });
  await page.until(() => expect(page.text()).toContain('邀请码'));
  expect([...document.querySelectorAll('input')].some(({ value }) => value === 'fromLink')).toBe(true);
  await page.type(/^邀请码/, ' typed ');
  await page.type(/^用户名/, 'mira');
  await page.type(/^密码/, 'password1');
  await page.type(/^确认密码/, 'password1');
  await page.press('注册账户');
  await page.until(() => expect(page.calls.filter(([id]) => id === 'account.register')).toHaveLength(1));
  expect(page.calls.find(([id]) => id === 'account.register')?.[1]).toMatchObject({ aff_code: 'typed' });
});

test('a key with an address that is none is not sent: the field says which, and takes the right one', async () => {
  const { TokenDrawer } = await import('../../web/features/tokens/token-drawer.tsx');
  const details = { quotaPerUnit: 500_000, inCurrency: true } as never;
  const page = await mounted(
    () => <TokenDrawer token={null} details={details} onClose={() => undefined} onSaved={() => undefined} />,
    {
      answers: {
        'status.get': { ...status, quota_per_unit: 500_000, display_in_currency: true },
        'token.create': { id: 1 },
      },
    },
  );
  const sent = () => page.calls.filter(([id]) => id === 'token.create').map(([, fields]) => fields);
  const send = () => act(async () => document.querySelector<HTMLFormElement>('#token-form')?.requestSubmit());
  await page.until(() => expect(document.querySelector('#token-form input')).not.toBeNull());
  await page.type(i18next.t('tokens.name'), 'ci');
  await page.type(i18next.t('tokens.ips'), '10.0.0.1\n203.0.113.300');
  await send();
  expect(page.text()).toContain(i18next.t('tokens.wrongAddress', { address: '203.0.113.300' }));
  expect(sent()).toEqual([]);
  await page.type(i18next.t('tokens.ips'), '10.0.0.1\n203.0.113.0/24');
  await send();
  await page.until(() => expect(sent()).toHaveLength(1));
  expect(sent()[0]).toMatchObject({ allow_ips: '10.0.0.1\n203.0.113.0/24' });
});

test('a code is asked for once in half a minute, and again at once where it could not be sent', async () => {
  const { CodeButton } = await import('../../web/components/login/code-button.tsx');
  let works = false;
  let may = false;
  const page = await mounted(() => <CodeButton email="mira@x.example" turnstile="" mayAsk={() => may} />, {
    answers: { 'account.send_code': () => (works ? null : { refused: '发送失败' }) },
  });
  await page.press('获取验证码');
  expect(page.calls).toEqual([]);
  may = true;
  await page.press('获取验证码');
  await page.until(() => expect(page.calls).toHaveLength(1));
  works = true;
  await page.press('获取验证码');
  await page.until(() => expect(page.text()).toContain('30'));
  expect(document.querySelector('button')?.disabled).toBe(true);
  expect(page.calls[1]).toEqual(['account.send_code', { email: 'mira@x.example' }]);
});

const setup = { status: false, root_init: false, database_type: 'sqlite', code_required: false };

test('the first account is made with what was typed, and not before its password is long enough and repeated', async () => {
  const { SetupPage } = await import('../../web/features/setup/setup-page.tsx');
  const page = await mounted(() => <SetupPage />, {
    answers: { 'setup.get': setup, 'setup.run': null, 'session.login': { refused: 'later' } },
  });
  const run = () => page.calls.filter(([id]) => id === 'setup.run').map(([, fields]) => fields);
  const submit = () => page.press(i18next.t('setup.run'));
  await page.until(() => expect(page.text()).toContain(i18next.t('setup.confirm')));
  await submit();
  expect(page.text()).toContain(i18next.t('setup.needUsername'));
  await page.type(/^用户名/, 'root');
  await page.type(/^密码/, 'short');
  await submit();
  expect(page.text()).toContain(i18next.t('setup.shortPassword'));
  await page.type(/^密码/, 'password1');
  await submit();
  expect(page.text()).toContain(i18next.t('setup.mismatch'));
  await page.type(/^确认密码/, 'password1');
  await submit();
  await page.until(() => expect(run()).toHaveLength(1));
  expect(run()[0]).toMatchObject({ username: 'root', password: 'password1', confirmPassword: 'password1' });
});

const details = ['gpt-4o', 'gpt-4o-mini'].map((name) => ({ name, price: '$1', ms: 400, requests: 0, charge: 0 }));

function KeyModels() {
  const [selected, setSelected] = useState<readonly string[]>([]);
  return <ModelsField details={details} selected={selected} onChange={setSelected} />;
}

test('a key whose last model is unticked is not opened to all models', async () => {
  const page = await mounted(() => <KeyModels />, { answers: {} });
  const chosen = () => document.querySelector('[role=radio][aria-checked=true]')?.textContent;
  const box = () => page.field(/^gpt-4o\$/);
  expect(chosen()).toBe(i18next.t('tokens.everyModel'));
  for (const checked of [true, false]) {
    await act(async () => box().click());
    expect([box().checked, chosen()]).toEqual([checked, i18next.t('tokens.onlyThese')]);
  }
});

function GroupLimits() {
  const [value, setValue] = useState('{"vip":{"rpm":60}}');
  return (
    <>
      <GroupLimitsField
        {...{ option: 'group_limits', label: 'limits', help: '', error: undefined, locked: false, value }}
        onChange={setValue}
      />
      <output>{value}</output>
    </>
  );
}

test('a limit of a group stays in its cell while it is no number yet, and says so', async () => {
  const page = await mounted(() => <GroupLimits />, { answers: { 'group.list': ['vip'] } });
  const cell = i18next.t('settings.limit.of', { name: i18next.t('settings.limit.rpm'), group: 'vip' });
  await page.type(cell, '-');
  expect([page.field(cell).value, page.field(cell).getAttribute('aria-invalid')]).toEqual(['-', 'true']);
  await page.type(cell, '90');
  expect([page.field(cell).value, page.field(cell).getAttribute('aria-invalid')]).toEqual(['90', 'false']);
  expect(JSON.parse(document.querySelector('output')?.textContent ?? '')).toEqual({ vip: { rpm: 90 } });
  await page.type(cell, '');
  expect(JSON.parse(document.querySelector('output')?.textContent ?? '')).toEqual({});
});

test('a group that has no ratio is given limits as well', async () => {
  const page = await mounted(() => <GroupLimits />, { answers: { 'group.list': ['vip'] } });
  await page.type(`limits: ${i18next.t('settings.limit.other')}`, ' trial ');
  await page.press(i18next.t('settings.map.add'));
  await page.type(i18next.t('settings.limit.of', { name: i18next.t('settings.limit.tpm'), group: 'trial' }), '500');
  expect(JSON.parse(document.querySelector('output')?.textContent ?? '')).toEqual({
    vip: { rpm: 60 },
    trial: { tpm: 500 },
  });
});

test('the second factor of another is reset only when that is confirmed', async () => {
  const { UserDrawer } = await import('../../web/features/users/user-drawer.tsx');
  const user = { ...reader(1), id: 7, username: 'mira' };
  const page = await mounted(
    () => <UserDrawer user={user} groups={['default']} onClose={() => undefined} onSaved={() => undefined} />,
    {
      user: reader(100),
      answers: { 'second_factor.reset': null, 'status.get': { quota_per_unit: 500_000, display_in_currency: true } },
    },
  );
  const resets = () => page.calls.filter(([id]) => id === 'second_factor.reset').map(([, fields]) => fields.id);
  await page.until(() => expect(page.text()).toContain(i18next.t('users.resetSecond')));
  await page.press(i18next.t('users.resetSecond'));
  await page.until(() => expect(page.text()).toContain(i18next.t('users.resetSecondTitle', { name: 'mira' })));
  expect(resets()).toEqual([]);
  const buttons = [...document.querySelectorAll<HTMLElement>('[role=dialog] button')];
  await act(async () => buttons.findLast((one) => one.textContent === i18next.t('users.resetSecond'))?.click());
  await page.until(() => expect(resets().map(Number)).toEqual([7]));
});

const refused: readonly (readonly [actor: number, row: number, offered: readonly string[]])[] = [
  [100, 100, ['edit']],
  [100, 10, ['edit', 'users.ban', 'users.demote', 'users.close']],
  [100, 1, ['edit', 'users.ban', 'users.promote', 'users.close']],
  [10, 100, []],
  [10, 10, []],
  [10, 1, ['edit', 'users.ban', 'users.close']],
];

test.each(refused)('role %i is offered for role %i what the server accepts', async (actor, role, offered) => {
  const { userColumns } = await import('../../web/features/users/user-columns.tsx');
  const nothing = () => undefined;
  const columns = userColumns({ t: i18next.t, refresh: nothing, onEdit: nothing, onClose: nothing } as never);
  const row = { ...reader(role), id: 7, username: 'mira', DeletedAt: null };
  const page = await mounted(() => columns.find(({ id }) => id === 'actions')?.cell?.(row), { user: reader(actor) });
  const found: string[] = document.querySelector(`[aria-label="${i18next.t('app.edit')}"]`) === null ? [] : ['edit'];
  const more = i18next.t('table.moreOf', { name: 'mira' });
  if (document.querySelector(`[aria-label="${more}"]`) !== null) {
    await page.press(more);
    await page.until(() => expect(document.querySelector('[role=menuitem]')).not.toBeNull());
    const names = [...document.querySelectorAll('[role=menuitem]')].map((one) => one.textContent);
    for (const key of ['users.ban', 'users.promote', 'users.demote', 'users.close'] as const)
      if (names.includes(i18next.t(key))) found.push(key);
  }
  expect(found).toEqual(offered);
});
