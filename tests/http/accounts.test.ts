import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { createMailbox, type Mailbox } from '../support/mail.ts';

let api: ApiFixture;
let mailbox: Mailbox;
let root: Headers;
let clock: number;
const reported: unknown[] = [];

const set = async (key: string, value: string) => {
  const { body } = await api.send('PUT', '/api/option/', { key, value }, root);
  expect([key, body.success]).toEqual([key, true]);
};

beforeEach(async () => {
  clock = Date.now();
  mailbox = await createMailbox({ user: 'postman', password: 'stamp' });
  api = await createApiFixture({ report: (error) => void reported.push(error) }, { now: () => clock });
  ({ headers: root } = await api.addUser('root', 100));
  await set('SMTPServer', '127.0.0.1');
  await set('SMTPPort', String(mailbox.port));
  await set('SMTPAccount', 'postman');
  await set('SMTPToken', 'stamp');
  await set('SMTPAllowPlainLocal', 'true');
  await set('SMTPFrom', 'relay@site.example');
  await set('ServerAddress', 'https://site.example');
});
afterEach(async () => {
  await api.close();
  await mailbox.close();
});

const register = (fields: Record<string, unknown>) =>
  api.send('POST', '/api/user/register?turnstile=', { username: 'newcomer', password: 'password1', ...fields });
const sendCode = (email: string) => api.send('GET', `/api/verification?email=${encodeURIComponent(email)}&turnstile=`);
const codeIn = (text: string): string => /<strong>(\w{6})<\/strong>/.exec(text)?.[1] ?? '';
const lastCode = () => codeIn(mailbox.letters.at(-1)?.text ?? '');

test('a new user can log in, and gets the initial quota of the site', async () => {
  await set('QuotaForNewUser', '1000');
  await set('QuotaForInvitee', '300');
  await set('QuotaForInviter', '200');
  const inviter = await api.addUser('inviter', 1);
  const code = (await api.send('GET', '/api/user/aff', undefined, inviter.headers)).body.data;
  expect((await register({ password2: 'password1', aff_code: code })).body).toMatchObject({ success: true });
  const headers = await api.login('newcomer', 'password1');
  const { data } = (await api.send('GET', '/api/user/self', undefined, headers)).body;
  expect(data).toMatchObject({ role: 1, quota: 1300, inviter_id: inviter.id, email: '', group: 'default' });
  expect((await api.send('GET', '/api/user/self', undefined, inviter.headers)).body.data).toMatchObject({
    aff_count: 1,
    aff_quota: 200,
  });
});

test.each([
  ['管理员关闭了新用户注册', 'RegisterEnabled', {}],
  ['管理员关闭了通过密码进行注册，请使用第三方账户验证的形式进行注册', 'PasswordRegisterEnabled', {}],
])('%s', async (message, option) => {
  await set(option, 'false');
  expect((await register({})).body).toMatchObject({ success: false, message });
});

test.each([
  ['两次输入的密码不一致', { password2: 'password2' }],
  ['输入不合法：密码长度须为 8 到 20 个字符', { password: 'short' }],
  ['输入不合法：用户名长度须为 1 到 12 个字符', { username: 'a name that is too long' }],
  ['用户名已存在，或已注销', { username: 'root' }],
])('%s', async (message, fields) => {
  expect((await register(fields)).body).toMatchObject({ success: false, message });
});

test('twenty who want the same name at once: one gets it', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => register({})));
  expect(answers.filter(({ body }) => body.success)).toHaveLength(1);
  expect(new Set(answers.filter(({ body }) => !body.success).map(({ body }) => body.message))).toEqual(
    new Set(['用户名已存在，或已注销']),
  );
});

test('with verification on, the code that was mailed is needed, once, within three minutes', async () => {
  await set('EmailVerificationEnabled', 'true');
  const email = 'me@people.example';
  expect((await register({ email })).body.message).toBe('管理员开启了邮箱验证，请输入邮箱地址和验证码');
  expect((await register({ email, verification_code: 'ABCDEF' })).body.message).toBe('验证码错误或已过期');
  expect((await sendCode(email)).body).toMatchObject({ success: true });
  const [letter] = mailbox.letters;
  expect(letter).toMatchObject({ from: 'relay@site.example', to: [email] });
  expect(letter?.text).toContain('验证码 3 分钟内有效');
  const code = lastCode();
  expect((await register({ email: 'other@people.example', verification_code: code })).body.message).toBe(
    '验证码错误或已过期',
  );
  expect((await register({ email, verification_code: code.toLowerCase() })).body).toMatchObject({ success: true });
  expect((await register({ username: 'second', email, verification_code: code })).body.message).toBe(
    '验证码错误或已过期',
  );
  const headers = await api.login('me@people.example', 'password1');
  expect((await api.send('GET', '/api/user/self', undefined, headers)).body.data).toMatchObject({ email });

  await sendCode('late@people.example');
  const lateCode = lastCode();
  clock += 180_001;
  expect(
    (await register({ username: 'late', email: 'late@people.example', verification_code: lateCode })).body.message,
  ).toBe('验证码错误或已过期');
});

test('five wrong guesses end a code', async () => {
  await set('EmailVerificationEnabled', 'true');
  const email = 'me@people.example';
  await sendCode(email);
  const code = lastCode();
  for (let guess = 0; guess < 5; guess++) await register({ email, verification_code: 'AAAAA2' });
  expect((await register({ email, verification_code: code })).body.message).toBe('验证码错误或已过期');
});

test.each([
  ['无效的邮箱地址', 'nobody', {}],
  ['无效的邮箱地址', 'a@b.example,c@d.example', {}],
  [
    '管理员启用了邮箱域名白名单，您的邮箱地址的域名不在白名单中',
    'me@else.example',
    { EmailDomainRestrictionEnabled: 'true' },
  ],
  [
    '管理员已启用邮箱地址别名限制，您的邮箱地址由于包含特殊符号而被拒绝。',
    'me+1@gmail.com',
    { EmailAliasRestrictionEnabled: 'true' },
  ],
])('%s: %s', async (message, email, options) => {
  for (const [key, value] of Object.entries(options)) await set(key, value);
  expect((await sendCode(email)).body).toMatchObject({ success: false, message });
  expect(mailbox.letters).toEqual([]);
});

test('an address with an account gets a letter, its asker learns nothing', async () => {
  await sendCode('me@people.example');
  const person = await api.addUser('person', 1);
  const bind = await api.send(
    'POST',
    '/api/oauth/email/bind',
    { email: 'me@people.example', code: lastCode() },
    person.headers,
  );
  expect(bind.body).toMatchObject({ success: true });
  const [known, unknown] = [await sendCode('ME@people.example'), await sendCode('you@people.example')];
  expect(known.body).toEqual(unknown.body);
  const [, toKnown, toUnknown] = mailbox.letters;
  expect(toKnown?.text).toContain('该邮箱地址已被占用');
  expect(codeIn(toKnown?.text ?? '')).toBe('');
  expect(codeIn(toUnknown?.text ?? '')).not.toBe('');
});

test('a lost password comes back by mail, once, and every credential ends', async () => {
  const person = await api.addUser('person', 1);
  await sendCode('me@people.example');
  await api.send('GET', `/api/oauth/email/bind?email=me@people.example&code=${lastCode()}`, undefined, person.headers);
  const ask = (email: string) => api.send('GET', `/api/reset_password?email=${encodeURIComponent(email)}&turnstile=`);
  expect((await ask('me@people.example')).body).toEqual((await ask('nobody@people.example')).body);
  await expect.poll(() => mailbox.letters.length).toBe(2);
  const link = /https:\/\/site\.example\/user\/reset\?email=[^"<]+/.exec(mailbox.letters[1]?.text ?? '')?.[0] ?? '';
  const query = new URL(link.replaceAll('&#38;', '&')).searchParams;
  const token = query.get('token') ?? '';
  expect(query.get('email')).toBe('me@people.example');
  const management = String((await api.send('POST', '/api/user/token', {}, person.headers)).body.data);
  const scoped = await api.send('POST', '/api/access_token/', { name: 's', scopes: 'read' }, person.headers);
  const wrong = await api.send('POST', '/api/user/reset', { email: 'me@people.example', token: `${token}x` });
  expect(wrong.body).toMatchObject({ success: false, message: '重置链接非法或已过期' });
  const done = await api.send('POST', '/api/user/reset', { email: 'me@people.example', token });
  expect(done.body.data).toMatch(/^[A-Za-z2-9]{12}$/);
  expect((await api.send('GET', '/api/user/self', undefined, person.headers)).status).toBe(401);
  for (const authorization of [management, (scoped.body.data as { token: string }).token])
    expect(
      (
        await api.send('GET', '/api/user/self', undefined, {
          authorization,
          'new-api-user': String(person.id),
        })
      ).status,
    ).toBe(401);
  await api.login('person', String(done.body.data));
  const again = await api.send('POST', '/api/user/reset', { email: 'me@people.example', token });
  expect(again.body.message).toBe('重置链接非法或已过期');
});

test('a letter is promised only with a mail server and an address for links', async () => {
  await set('ServerAddress', '');
  expect((await api.send('GET', '/api/reset_password?email=a@b.example')).body.message).toBe('请先填写服务器地址');
  await set('SMTPServer', '');
  expect((await sendCode('a@b.example')).body.message).toBe('SMTP 服务器未配置');
  await set('SMTPServer', '127.0.0.1');
  await set('SMTPToken', 'wrong');
  expect((await sendCode('a@b.example')).body.message).toBe('邮件发送失败，请稍后重试');
});

test('a password is said to no mail server that cannot encrypt, this machine’s alone when that is allowed', async () => {
  await set('SMTPAllowPlainLocal', 'false');
  expect((await sendCode('a@b.example')).body).toMatchObject({
    code: 'mail_unencrypted',
    message: 'SMTP 服务器未提供加密（STARTTLS），密码未发送；请启用 SSL 或更换端口',
  });
  expect(mailbox.passwords).toEqual([]);
  // The same machine by a name that says nothing about it.
  await set('SMTPAllowPlainLocal', 'true');
  await set('SMTPServer', '0.0.0.0');
  expect((await sendCode('a@b.example')).body.code).toBe('mail_unencrypted');
  expect(mailbox.passwords).toEqual([]);
  await set('SMTPServer', 'localhost');
  expect((await sendCode('a@b.example')).body.success).toBe(true);
  expect(mailbox.passwords).toEqual(['stamp']);
});

test('letters are few per address', async () => {
  const answers = [];
  for (let n = 0; n < 7; n++) answers.push((await sendCode('me@people.example')).status);
  expect(answers).toEqual([200, 200, 200, 200, 200, 429, 429]);
});

test('settings are checked, kept, and a secret that is not sent stays', async () => {
  const { headers } = await api.addUser('person', 1);
  const change = async (fields: object) => (await api.send('PUT', '/api/user/setting', fields, headers)).body;
  const setting = async () =>
    JSON.parse(
      ((await api.send('GET', '/api/user/self', undefined, headers)).body.data as { setting: string }).setting,
    ) as Record<string, unknown>;
  expect(await change({ notify_type: 'pigeon' })).toMatchObject({ success: false, message: '无效的预警类型' });
  expect(await change({ quota_warning_threshold: 0 })).toMatchObject({ message: '预警阈值必须大于0' });
  expect(await change({ notify_type: 'webhook' })).toMatchObject({ message: 'Webhook地址不能为空' });
  expect(await change({ notify_type: 'webhook', webhook_url: 'http://x.example' })).toMatchObject({
    message: '无效的Webhook地址',
  });
  expect(await change({ notification_email: 'x' })).toMatchObject({ message: '无效的邮箱地址' });
  const whole = {
    notify_type: 'webhook',
    quota_warning_threshold: 500_000,
    webhook_url: 'https://hooks.example/x',
    webhook_secret: 's3cret',
    notification_email: '',
    accept_unset_model_ratio_model: true,
  };
  expect(await change(whole)).toMatchObject({ success: true, message: '设置已更新' });
  const { webhook_secret: secret, ...told } = { ...whole, webhook_secret_set: true };
  expect(await setting()).toEqual(told);
  await change({ ...whole, webhook_secret: '', quota_warning_threshold: 7 });
  expect(await setting()).toEqual({ ...told, quota_warning_threshold: 7 });
  const { id } = (await api.send('GET', '/api/user/self', undefined, headers)).body.data as { id: number };
  expect(await api.gateway.services.settings.webhookSecret(id)).toBe(secret);
});

test('notices go to a new address only where its reader has typed the code that was mailed there', async () => {
  const { headers } = await api.addUser('person', 1);
  const { headers: admin } = await api.addUser('manager', 10);
  const change = async (fields: object, whose = headers) =>
    (await api.send('PUT', '/api/user/setting', fields, whose)).body;
  const stored = async () =>
    (
      JSON.parse(
        ((await api.send('GET', '/api/user/self', undefined, headers)).body.data as { setting: string }).setting ||
          '{}',
      ) as { notification_email?: string }
    ).notification_email;
  const stranger = { notification_email: 'stranger@people.example' };
  expect(await change(stranger)).toMatchObject({ success: false, code: 'code_wrong' });
  expect(await change({ ...stranger, verification_code: 'ABCDEF' })).toMatchObject({ code: 'code_wrong' });
  expect(await stored()).toBeUndefined();
  await sendCode('notices@people.example');
  const code = lastCode();
  expect(await change({ ...stranger, verification_code: code })).toMatchObject({ code: 'code_wrong' });
  const own = { notification_email: 'notices@people.example' };
  expect(await change({ ...own, verification_code: code })).toMatchObject({ success: true });
  expect(await stored()).toBe('notices@people.example');
  // As it is it stays, whatever else is saved.
  expect(await change({ ...own, quota_warning_threshold: 7 })).toMatchObject({ success: true });
  expect(await change(stranger, admin)).toMatchObject({ success: true });
});

test('the bot check comes before forms that need no login when the site has one', async () => {
  const requested: string[] = [];
  await api.close();
  api = await createApiFixture(
    {},
    {
      fetch: (async (_url: string, init: RequestInit) => {
        requested.push(String(init.body));
        return Response.json({ success: String(init.body).includes('response=right') });
      }) as typeof fetch,
    },
  );
  ({ headers: root } = await api.addUser('root', 100));
  await set('TurnstileSiteKey', 'site');
  await set('TurnstileSecretKey', 'secret');
  await set('TurnstileCheckEnabled', 'true');
  expect((await register({})).body).toMatchObject({ success: false, message: '请先完成人机验证' });
  const wrong = await api.send('POST', '/api/user/login?turnstile=wrong', { username: 'root', password: 'password1' });
  expect(wrong.body.message).toBe('Turnstile 校验失败，请刷新重试！');
  const right = await api.send('POST', '/api/user/login?turnstile=right', { username: 'root', password: 'password1' });
  expect(right.body.success).toBe(true);
  expect(requested).toEqual([
    expect.stringContaining('secret=secret&response=wrong'),
    expect.stringContaining('secret=secret&response=right'),
  ]);
});

test('an address that was taken while the code was on its way is refused to every other account', async () => {
  await set('EmailVerificationEnabled', 'true');
  await sendCode('new@site.example');
  await vi.waitFor(() => expect(mailbox.letters).toHaveLength(1));
  const taken = api.gateway.database.query.updateTable('users').set({ email: 'new@site.example' });
  await taken.where('id', '=', api.gateway.userId).execute();
  const { body } = await register({ email: 'new@site.example', verification_code: lastCode() });
  expect(body).toMatchObject({ success: false, code: 'email_taken' });
});

test('a name is trimmed at the login as it was at the registration', async () => {
  expect((await register({ username: ' lead ' })).body).toMatchObject({ success: true });
  for (const username of ['lead', ' lead', 'lead '])
    expect((await api.send('POST', '/api/user/login', { username, password: 'password1' })).body).toMatchObject({
      data: { username: 'lead' },
    });
});

test('wide and other compatibility letters make no double of a name', async () => {
  await register({ username: 'full' });
  for (const username of ['ｆｕｌｌ', 'ﬁne', '①'])
    expect((await register({ username })).body).toMatchObject({ success: false, code: 'input_invalid' });
  const made = await api.send('POST', '/api/user/', { username: 'ｒｏｏｔ', password: 'password1' }, root);
  expect(made.body).toMatchObject({ code: 'input_invalid', message: expect.stringContaining('root') });
  for (const username of ['小明', 'Ünal', 'かな'])
    expect((await register({ username })).body).toMatchObject({ success: true });
});

test('settings that are stored and not sent stand in nobody’s way, whatever they are', async () => {
  const ann = await api.addUser('ann', 1);
  const put = async (fields: object) => (await api.send('PUT', '/api/user/setting', fields, ann.headers)).body;
  for (const stored of [{ notify_type: 'bark' }, { notify_type: 'webhook', webhook_url: 'http://hook.example' }]) {
    await api.gateway.rows('UPDATE users SET setting = ? WHERE id = ?', JSON.stringify(stored), ann.id);
    expect(await put({ quota_warning_threshold: 5 })).toMatchObject({ success: true });
    expect(await put({ accept_unset_model_ratio_model: true })).toMatchObject({ success: true });
    expect(await put({ ...stored, quota_warning_threshold: 5 })).toMatchObject({ success: false });
  }
});

test('a webhook is https alone, also while mail is chosen', async () => {
  const ann = await api.addUser('ann', 1);
  const put = async (fields: object) => (await api.send('PUT', '/api/user/setting', fields, ann.headers)).body;
  const old = 'http://hook.example';
  expect(await put({ notify_type: 'email', webhook_url: old })).toMatchObject({ code: 'webhook_invalid' });
  expect(await put({ notify_type: 'email', webhook_url: 'https://hook.example' })).toMatchObject({ success: true });
  // One that was moved in stays, as long as it is not used.
  await api.gateway.rows('UPDATE users SET setting = ? WHERE id = ?', JSON.stringify({ webhook_url: old }), ann.id);
  expect(await put({ notify_type: 'email', webhook_url: old })).toMatchObject({ success: true });
  expect(await put({ notify_type: 'webhook', webhook_url: old })).toMatchObject({ code: 'webhook_invalid' });
});

test('the user of a channel test, whom there is not, is said to be unknown', async () => {
  expect((await api.send('GET', '/api/user/0', undefined, root)).body).toMatchObject({ code: 'user_unknown' });
});
