import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';

let api: ApiFixture;
let me: Headers;
let id: number;
beforeEach(async () => {
  api = await createApiFixture();
  ({ headers: me, id } = await api.addUser('me', 1));
  for (const [key, value] of Object.entries({
    GitHubClientId: 'id',
    GitHubOAuthEnabled: 'true',
    TelegramBotToken: '1:t',
    TelegramOAuthEnabled: 'true',
    SMTPServer: 'mail.example',
    ServerAddress: 'https://site.example',
  }))
    await api.gateway.services.options.set(key, value, 100);
});
afterEach(() => api.close());

const set = (fields: object) =>
  api.gateway.database.query.updateTable('users').set(fields).where('id', '=', id).execute();
const unbind = async (type: string, password = '') =>
  (await api.send('POST', '/api/oauth/unbind', { type, password }, me)).body;
const self = async () => (await api.send('GET', '/api/user/self', undefined, me)).body.data as Record<string, unknown>;

test.each([
  ['github', 'github_id', 'GitHub'],
  ['oidc', 'oidc_id', 'OIDC'],
  ['linuxdo', 'linux_do_id', 'Linux DO'],
  ['wechat', 'wechat_id', '微信'],
  ['telegram', 'telegram_id', 'Telegram'],
])('%s is taken off its account, and can be bound by another user', async (type, column, name) => {
  expect((await unbind(type)).message).toBe(`未绑定 ${name}`);
  await set({ [column]: 'elsewhere-1', email: 'me@people.example' });
  expect(await self()).toMatchObject({ [column]: 'elsewhere-1' });
  expect(await unbind(type)).toMatchObject({ success: true });
  expect(await self()).toMatchObject({ [column]: '', email: 'me@people.example' });
  expect((await unbind(type)).message).toBe(`未绑定 ${name}`);
  const other = await api.addUser('other', 1);
  await api.gateway.database.query
    .updateTable('users')
    .set({ [column]: 'elsewhere-1' })
    .where('id', '=', other.id)
    .execute();
});

test('the last way in goes only with the password', async () => {
  await set({ github_id: 'g' });
  expect(await unbind('github')).toMatchObject({
    success: false,
    code: 'oauth_last',
    message: '这是唯一的登录方式，请输入密码以确认解除绑定',
  });
  expect(await unbind('github', 'wrong-one')).toMatchObject({ code: 'user_password_wrong' });
  expect(await self()).toMatchObject({ github_id: 'g' });
  expect(await unbind('github', 'password1')).toMatchObject({ success: true });
  expect(await self()).toMatchObject({ github_id: '' });
});

test('another service or a passkey is another way in', async () => {
  await set({ github_id: 'g', telegram_id: 't' });
  expect(await unbind('github')).toMatchObject({ success: true });
  expect(await unbind('telegram')).toMatchObject({ code: 'oauth_last' });
  await api.gateway.database.query
    .insertInto('passkeys')
    .values({
      credential_id: 'c',
      user_id: id,
      name: '',
      public_key: 'k',
      transports: '',
      counter: 0,
      created_at: 1,
      last_used_at: 0,
    })
    .execute();
  expect(await unbind('telegram')).toMatchObject({ success: true });
});

test('passwords are not guessed here', async () => {
  await set({ github_id: 'g' });
  const codes = [];
  for (let guess = 0; guess < 12; guess++) codes.push((await unbind('github', `wrong-${guess}`)).code);
  expect(codes.at(-1)).toBe('too_many_attempts');
  expect((await unbind('myspace')).code).toBe('params_invalid');
});

test('a service that is switched off, letters that cannot be sent and a generated password are no way in', async () => {
  const option = (key: string, value: string) => api.gateway.services.options.set(key, value, 100);
  await set({ github_id: 'g', telegram_id: 't', email: 'me@people.example' });
  await option('SMTPServer', '');
  await option('TelegramOAuthEnabled', 'false');
  expect(await unbind('github')).toMatchObject({ code: 'oauth_last' });
  await set({ password_made: 1 });
  expect(await unbind('github', 'password1')).toMatchObject({ code: 'oauth_only' });
  await set({ password_made: 0 });
  await option('PasswordLoginEnabled', 'false');
  expect(await unbind('github', 'password1')).toMatchObject({ code: 'oauth_only' });
  await option('TelegramOAuthEnabled', 'true');
  expect(await unbind('github')).toMatchObject({ success: true });
  expect(await unbind('telegram')).toMatchObject({ code: 'oauth_only' });
});

test('the last passkey of an account without a password stays', async () => {
  await set({ password_made: 1 });
  await api.gateway.database.query
    .insertInto('passkeys')
    .values({
      credential_id: 'c',
      user_id: id,
      name: '',
      public_key: 'k',
      transports: '',
      counter: 0,
      created_at: 1,
      last_used_at: 0,
    })
    .execute();
  const [kept] = (await api.send('GET', '/api/passkey/', undefined, me)).body.data as { id: number }[];
  const remove = async () => (await api.send('DELETE', `/api/passkey/${kept?.id}`, undefined, me)).body;
  expect(await remove()).toMatchObject({ code: 'passkey_only' });
  await set({ github_id: 'g' });
  expect(await remove()).toMatchObject({ success: true });
});
