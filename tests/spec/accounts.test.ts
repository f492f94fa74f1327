/** Clauses of the first document, each by its number, as callers of the API meet them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSpecFixture, type SpecFixture } from './support.ts';

let on: SpecFixture;
beforeAll(async () => {
  on = await createSpecFixture();
});
afterAll(() => on.close());

let made = 0;
const newcomer = async () => {
  made += 1;
  const username = `user${made}`;
  await on.works('POST', '/api/user/', { username, display_name: `D${made}`, password: 'password1' });
  const { items } = (await on.works('GET', `/api/user/search?keyword=${username}&group=&p=1&page_size=10`)) as {
    items: { id: number; username: string }[];
  };
  const found = items.find((user) => user.username === username);
  if (found === undefined) throw new Error(username);
  return { ...found, headers: await on.api.login(username, 'password1') };
};
/** As the list of users has them, the closed ones too. */
const rowOf = async (id: number) => {
  const { items } = (await on.works('GET', '/api/user/?p=1&page_size=100')) as {
    items: { id: number; DeletedAt: unknown }[];
  };
  return items.find((user) => user.id === id);
};
const manage = (id: number, action: string) => on.works('POST', '/api/user/manage', { id, action });
const self = (headers: Record<string, string>) => on.works('GET', '/api/user/self', undefined, headers);
const userKeys = ['id', 'username', 'display_name', 'group', 'role', 'status', 'quota', 'used_quota', 'request_count'];
const idKeys = ['aff_count', 'aff_history_quota', 'aff_quota', 'inviter_id', 'github_id', 'oidc_id', 'wechat_id'];
const moreKeys = ['telegram_id', 'linux_do_id', 'email', 'setting', 'DeletedAt'];
const statusKeys =
  'system_name logo footer_html quota_per_unit display_in_currency enable_drawing enable_task enable_data_export chats data_export_default_time default_collapse_sidebar mj_notify_enabled chat_link chat_link2 docs_link version start_time email_verification turnstile_check turnstile_site_key github_oauth github_client_id oidc_enabled oidc_authorization_endpoint oidc_client_id wechat_login wechat_qrcode telegram_oauth telegram_bot_name linuxdo_oauth linuxdo_client_id setup self_use_mode_enabled demo_site_enabled';
const setting = {
  notify_type: 'email',
  quota_warning_threshold: 1000,
  webhook_url: '',
  webhook_secret: '',
  notification_email: '',
  accept_unset_model_ratio_model: true,
};

const proofs: Readonly<Record<string, () => Promise<unknown>>> = {
  '000.1.4': async () =>
    expect(await on.works('GET', '/api/status')).toMatchObject({
      self_use_mode_enabled: false,
      demo_site_enabled: false,
    }),
  '000.3.1': async () => {
    const { id } = await newcomer();
    const user = await on.record('GET', `/api/user/${id}`);
    expect(Object.keys(user)).toEqual(expect.arrayContaining([...userKeys, ...idKeys, ...moreKeys]));
    expect(user.DeletedAt).toBeNull();
    expect(JSON.stringify(user)).not.toContain('password');
    await manage(id, 'delete');
    expect((await rowOf(id))?.DeletedAt).toEqual(expect.any(String));
  },
  '000.3.2': async () => {
    const code = await on.works('GET', '/api/user/aff', undefined, on.plain.headers);
    const fields = { username: 'invited', password: 'password1', password2: 'password1', aff_code: code };
    await on.works('POST', '/api/user/register', fields, {});
    expect(await self(await on.api.login('invited', 'password1'))).toMatchObject({ inviter_id: on.plain.id });
  },
  '000.3.3': async () => {
    const { headers } = await newcomer();
    await on.works('PUT', '/api/user/setting', setting, headers);
    const { webhook_secret: _, ...kept } = setting;
    expect(JSON.parse(String(((await self(headers)) as { setting: string }).setting))).toMatchObject(kept);
    await on.says('无效的预警类型', 'PUT', '/api/user/setting', { ...setting, notify_type: 'pigeon' }, headers);
  },
  '000.3.4': async () =>
    expect(await on.works('GET', '/api/setup', undefined, {})).toMatchObject({
      status: expect.any(Boolean),
      root_init: true,
      database_type: 'sqlite',
    }),
  '000.3.6': async () => {
    const status = (await on.works('GET', '/api/status', undefined, {})) as object;
    expect(Object.keys(status)).toEqual(expect.arrayContaining(statusKeys.split(' ')));
  },
  '000.4.1': async () => {
    for (const { id, role } of [
      { id: on.plain.id, role: 1 },
      { id: on.admin.id, role: 10 },
      { id: on.root.id, role: 100 },
    ])
      expect(await on.works('GET', `/api/user/${id}`)).toMatchObject({ role });
  },
  '000.4.3': async () => {
    await on.works('GET', '/api/user/', undefined, on.admin.headers);
    expect(await on.ask('GET', '/api/user/', undefined, on.plain.headers)).toMatchObject({ success: false });
  },
  '000.4.4': async () => {
    const change = { key: 'SystemName', value: 'New API' };
    await on.works('PUT', '/api/option/', change);
    expect(await on.ask('PUT', '/api/option/', change, on.admin.headers)).toMatchObject({ success: false });
  },
  '000.4.5': async () => {
    const { id } = await newcomer();
    expect(await on.works('GET', `/api/user/${id}`)).toMatchObject({ status: 1 });
    await manage(id, 'disable');
    expect(await on.works('GET', `/api/user/${id}`)).toMatchObject({ status: 2 });
  },
  '000.4.9': async () => {
    const { id } = await newcomer();
    expect(await manage(id, 'promote')).toEqual({ role: 10, status: 1 });
    expect(await manage(id, 'demote')).toEqual({ role: 1, status: 1 });
    expect(await manage(id, 'disable')).toEqual({ role: 1, status: 2 });
    expect(await manage(id, 'enable')).toEqual({ role: 1, status: 1 });
    await manage(id, 'delete');
    expect((await rowOf(id))?.DeletedAt).not.toBeNull();
  },
  '000.4.10': async () => {
    const { id, username } = await newcomer();
    await manage(id, 'delete');
    expect(await on.ask('POST', '/api/user/manage', { id, action: 'enable' })).toMatchObject({ success: false });
    expect(await on.ask('POST', '/api/user/login', { username, password: 'password1' }, {})).toMatchObject({
      success: false,
    });
  },
  '000.6.2': async () => {
    for (const path of ['/api/pricing', '/api/about', '/api/status', '/api/notice', '/api/home_page_content'])
      expect([path, (await on.ask('GET', path, undefined, {})).success]).toEqual([path, true]);
    expect(await on.ask('GET', '/api/pricing', undefined, {})).toMatchObject({ group_ratio: { default: 1 } });
    expect((await on.api.send('GET', '/api/user/self', undefined, {})).status).toBe(401);
  },
  '000.6.3': async () => {
    const { headers } = await newcomer();
    for (const path of [
      '/api/user/self',
      '/api/user/aff',
      '/api/user/models',
      '/api/log/self/',
      '/api/token/?p=0&size=10',
    ])
      await on.works('GET', path, undefined, headers);
    await on.works('DELETE', '/api/user/self', undefined, headers);
    expect((await on.api.send('GET', '/api/user/self', undefined, headers)).status).toBe(401);
  },
  '000.6.4': async () => {
    for (const path of [
      '/api/user/',
      '/api/option/',
      '/api/channel/?p=0&page_size=10',
      '/api/redemption/?p=0&page_size=10',
    ]) {
      await on.works('GET', path, undefined, on.admin.headers);
      expect([path, (await on.ask('GET', path, undefined, on.plain.headers)).success]).toEqual([path, false]);
    }
  },
  '000.7.1': async () => {
    const { 'new-api-user': _, ...rest } = on.plain.headers;
    expect((await on.api.send('GET', '/api/user/self', undefined, rest)).status).toBe(401);
    const { headers } = await on.api.send('GET', '/api/user/self', undefined, on.plain.headers);
    expect(headers.get('cache-control')).toBe('no-store');
  },
  '000.7.2': async () =>
    expect([
      await on.ask('GET', '/api/user/self'),
      await on.ask('GET', '/api/user/999999'),
      await on.ask('POST', '/api/user/login', { username: 'plain', password: 'wrong-one' }, {}),
    ]).toEqual([
      { success: true, message: '', data: expect.anything() },
      expect.objectContaining({ success: false, message: expect.stringMatching(/\p{Script=Han}/u) }),
      expect.objectContaining({ success: false, message: expect.stringMatching(/\p{Script=Han}/u) }),
    ]),
  '000.7.4': async () => {
    const first = (await on.works('GET', '/api/user/?p=0&page_size=2')) as { items: object[] };
    expect(first).toMatchObject({ page: 1, total: expect.any(Number) });
    expect(first.items).toHaveLength(2);
  },
  '000.7.5': async () =>
    expect(await on.works('GET', '/api/user/search?keyword=plain&group=default&p=1&page_size=10')).toMatchObject({
      page: 1,
      items: [{ username: 'plain' }],
    }),
  '000.7.6': async () => {
    expect(await on.works('GET', `/api/user/${on.plain.id}`)).toMatchObject({ username: 'plain' });
    expect(await self(on.plain.headers)).toMatchObject({ id: on.plain.id });
  },
  '000.7.7': async () => expect((await newcomer()).username).toMatch(/^user/),
  '000.7.8': async () => {
    const { id } = await newcomer();
    const record = await on.record('GET', `/api/user/${id}`);
    await on.works('PUT', '/api/user/', { ...record, display_name: 'Changed', quota: 700, password: '' });
    expect(await on.record('GET', `/api/user/${id}`)).toMatchObject({ display_name: 'Changed', quota: 700 });
  },
  '000.7.9': async () => {
    const { headers } = await newcomer();
    await on.works('PUT', '/api/user/self', { display_name: 'Me' }, headers);
    expect(await self(headers)).toMatchObject({ display_name: 'Me' });
    const change = { password: 'password2', original_password: 'password1' };
    await on.works('PUT', '/api/user/self', change, headers);
  },
  '000.7.10': async () => expect(await manage((await newcomer()).id, 'disable')).toEqual({ role: 1, status: 2 }),
  '000.7.11': async () => expect(await on.list('/api/group/')).toContain('default'),
  '000.7.12': async () =>
    expect(
      await on.works('POST', '/api/user/login?turnstile=', { username: 'plain', password: 'password1' }, {}),
    ).toMatchObject({
      id: on.plain.id,
      username: 'plain',
      display_name: expect.any(String),
      role: 1,
      status: 1,
      group: 'default',
    }),
  '000.7.13': async () => {
    const fields = { username: 'asked', password: 'password1', password2: 'password1', email: '', aff_code: null };
    await on.works('POST', '/api/user/register?turnstile=', { ...fields, verification_code: '' }, {});
    await on.api.login('asked', 'password1');
  },
  '000.7.14': async () => {
    await on.set('SMTPServer', 'mail.example');
    await on.works('GET', '/api/verification?email=new@mail.example&turnstile=', undefined, {});
    expect(on.letters.at(-1)?.to).toBe('new@mail.example');
  },
  '000.7.17': async () => {
    const { headers } = await newcomer();
    await on.set('SMTPServer', 'mail.example');
    await on.works('GET', '/api/verification?email=bound@mail.example&turnstile=', undefined, headers);
    const code = /<strong>(\w+)<\/strong>/.exec(on.letters.at(-1)?.html ?? '')?.[1] ?? '';
    const answer = await on.ask(
      'GET',
      `/api/oauth/email/bind?email=bound@mail.example&code=${code}`,
      undefined,
      headers,
    );
    expect([code, answer.success]).toEqual([code, true]);
    expect(await self(headers)).toMatchObject({ email: 'bound@mail.example' });
  },
  '000.7.19': async () => expect(await on.works('GET', '/api/oauth/state?aff=abcd', undefined, {})).toMatch(/.{8,}/),
  '000.7.21': async () => {
    const { headers } = await newcomer();
    await on.works('GET', '/api/user/logout', undefined, headers);
    expect((await on.api.send('GET', '/api/user/self', undefined, headers)).status).toBe(401);
  },
  '000.7.22': async () => {
    const { id, headers } = await newcomer();
    await on.works('DELETE', '/api/user/self', undefined, headers);
    expect((await rowOf(id))?.DeletedAt).not.toBeNull();
  },
  '000.7.23': async () => {
    const { id, headers } = await newcomer();
    const token = String(await on.works('GET', '/api/user/token', undefined, headers));
    expect(await self({ authorization: token, 'new-api-user': String(id) })).toMatchObject({ id });
  },
  '000.7.24': async () => expect(await on.works('GET', '/api/user/aff')).toMatch(/^\w+$/),
  '000.7.25': async () => {
    await on.works('POST', '/api/channel/', { name: 'named', key: 'k', models: 'model-a,model-b' });
    expect(await on.list('/api/user/models', on.plain.headers)).toEqual(['model-a', 'model-b']);
  },
  '000.7.26': async () =>
    expect(await on.ask('POST', '/api/user/aff_transfer', { quota: 500_000 }, on.plain.headers)).toMatchObject({
      success: false,
      message: '划转失败：可划转额度不足',
    }),
  '000.7.27': async () => on.works('PUT', '/api/user/setting', setting, (await newcomer()).headers),
  '000.7.28': async () =>
    expect(await on.works('GET', '/api/status', undefined, {})).toMatchObject({ setup: expect.any(Boolean) }),
  '000.7.29': async () =>
    expect(await on.works('GET', '/api/setup', undefined, {})).toMatchObject({ database_type: 'sqlite' }),
  '000.9.1': async () => expect(await on.works('GET', '/api/user/?p=1')).toMatchObject({ page_size: 10 }),
  '000.9.2': async () => {
    for (const size of [10, 20, 50, 100])
      expect(await on.works('GET', `/api/user/?p=1&page_size=${size}`)).toMatchObject({ page_size: size });
  },
  '000.9.6': async () => {
    expect(await on.optionOf('QuotaPerUnit')).toBe('500000');
    expect(await on.works('GET', '/api/status')).toMatchObject({ quota_per_unit: 500_000 });
  },
  '000.9.19': async () => expect(await on.works('GET', '/api/status')).toMatchObject({ system_name: 'New API' }),
  '000.9.24': async () =>
    expect(await on.record('GET', `/api/user/${(await newcomer()).id}`)).toMatchObject({ group: 'default' }),
};

test.each(Object.keys(proofs))('%s', async (id) => void (await proofs[id]?.()));
