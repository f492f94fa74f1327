import { Secret, TOTP } from 'otpauth';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { createAuthenticator } from '../support/authenticator.ts';

let api: ApiFixture;
let clock: number;
let ann: { id: number; headers: Headers };
let root: { id: number; headers: Headers };

beforeEach(async () => {
  clock = Date.UTC(2026, 5, 1);
  api = await createApiFixture(
    {},
    {
      now: () => clock,
      pause: async (ms) => {
        clock += ms;
      },
    },
  );
  root = await api.addUser('boss', 100);
  ann = await api.addUser('ann', 1);
});
afterEach(() => api.close());

const put = async (fields: object, as: Headers = ann.headers) =>
  (await api.send('PUT', '/api/user/self', fields, as)).body;
const status = async (headers: Headers) => (await api.send('GET', '/api/user/self', undefined, headers)).status;
const columns = (fields: object) =>
  api.gateway.database.query.updateTable('users').set(fields).where('id', '=', ann.id).execute();

/** Everything that opens the account: a session elsewhere, both kinds of access tokens, a passkey; and an API key, which opens none. */
async function waysIn() {
  const device = createAuthenticator(api.base);
  const started = (await api.send('POST', '/api/passkey/options', {}, ann.headers)).body.data as {
    ticket: string;
    options: { challenge: string };
  };
  const response = device.register(started.options);
  await api.send('POST', '/api/passkey/', { ticket: started.ticket, name: '', response }, ann.headers);
  const management = String((await api.send('POST', '/api/user/token', {}, ann.headers)).body.data);
  const scoped = (await api.send('POST', '/api/access_token/', { name: 's', scopes: 'read' }, ann.headers)).body
    .data as { token: string };
  const key = (await api.send('POST', '/api/token/', { name: 'k', unlimited_quota: true }, ann.headers)).body.data as {
    key: string;
  };
  const elsewhere = await api.login('ann', 'password1');
  const byToken = (token: string): Headers => ({ authorization: token, 'new-api-user': String(ann.id) });
  return {
    elsewhere: elsewhere,
    async open() {
      const requested = (await api.send('POST', '/api/passkey/login/options', {})).body.data as typeof started;
      const signed = device.sign(requested.options, String(ann.id));
      const passkey = await api.send('POST', '/api/passkey/login', { ticket: requested.ticket, response: signed });
      await api.gateway.sync();
      return {
        here: (await status(ann.headers)) === 200,
        elsewhere: (await status(elsewhere)) === 200,
        management: (await status(byToken(management))) === 200,
        scoped: (await status(byToken(scoped.token))) === 200,
        passkey: passkey.body.success === true,
        key: (await api.gateway.chat(key.key.replace('sk-', ''), { model: 'm', messages: [] })).status !== 401,
      };
    },
  };
}
const all = { here: true, elsewhere: true, management: true, scoped: true, passkey: true, key: true };
const nothingButKey = {
  here: false,
  elsewhere: false,
  management: false,
  scoped: false,
  passkey: false,
  key: true,
};

test('a new password needs the present one where the login is old, and guesses are slow', async () => {
  clock += 15 * 60_000;
  expect(await put({ password: 'password2' })).toMatchObject({ success: false, code: 'login_again_needed' });
  expect(await put({ password: 'password2', original_password: 'wrong' })).toMatchObject({
    code: 'user_password_wrong',
  });
  const management = String((await api.send('POST', '/api/user/token', {}, ann.headers)).body.data);
  const thief = { authorization: management, 'new-api-user': String(ann.id) };
  expect(await put({ password: 'password2' }, thief)).toMatchObject({ code: 'password_proof_needed' });
  const before = clock;
  for (let n = 0; n < 10; n++) await put({ password: 'password2', original_password: 'wrong' }, thief);
  expect(clock - before).toBeGreaterThan(20_000);
  expect(await put({ password: 'password2', original_password: 'password1' })).toMatchObject({ success: true });
  await api.login('ann', 'password2');
});

test('a code of the second factor does as well', async () => {
  const { secret } = (await api.send('POST', '/api/user/2fa', {}, ann.headers)).body.data as { secret: string };
  const code = () =>
    new TOTP({ secret: Secret.fromBase32(secret), digits: 6, period: 30 }).generate({ timestamp: clock });
  await api.send('POST', '/api/user/2fa/enable', { code: code() }, ann.headers);
  clock += 60_000;
  expect(await put({ password: 'password2', code: '000000' })).toMatchObject({ code: 'code_wrong' });
  expect(await put({ password: 'password2', code: code() })).toMatchObject({ success: true });
});

test('a password that was generated is replaced only after a new login', async () => {
  await columns({ password_made: 1 });
  clock += 15 * 60_000;
  expect(await put({ password: 'password2' })).toMatchObject({ code: 'login_again_needed' });
  const { headers } = { headers: await api.login('ann', 'password1') };
  expect(await put({ password: 'password2' }, headers)).toMatchObject({ success: true });
  // Now somebody knows it.
  clock += 15 * 60_000;
  expect(await put({ password: 'password3' }, headers)).toMatchObject({ code: 'login_again_needed' });
});

test('a new password alone is enough right after a login, unless a second factor guards the account', async () => {
  const { secret } = (await api.send('POST', '/api/user/2fa', {}, ann.headers)).body.data as { secret: string };
  expect(await put({ password: 'password2' })).toMatchObject({ success: true });
  const fresh = await api.login('ann', 'password2');
  const code = new TOTP({ secret: Secret.fromBase32(secret), digits: 6, period: 30 }).generate({ timestamp: clock });
  const started = await api.send('POST', '/api/user/2fa/enable', { code }, fresh);
  expect(started.body.success).toBe(true);
  expect(await put({ password: 'password3' }, fresh)).toMatchObject({ code: 'password_proof_needed' });
  expect(await put({ password: 'password3', original_password: 'password2' }, fresh)).toMatchObject({ success: true });
});

test('a change ends everything else that opens the account, unless `end_all` is false', async () => {
  const ways = await waysIn();
  expect(await ways.open()).toEqual(all);
  expect(await put({ password: 'password2', original_password: 'password1', end_all: false })).toMatchObject({
    success: true,
  });
  expect(await ways.open()).toEqual({ ...all, elsewhere: false });
  expect(await put({ password: 'password3', original_password: 'password2' })).toMatchObject({ success: true });
  expect(await ways.open()).toEqual({ ...nothingButKey, here: true });
});

test.each([
  ['by an administrator', () => api.send('PUT', '/api/user/', { id: ann.id, password: 'password2' }, root.headers)],
  ['on the machine', () => api.gateway.call('local.password', { username: 'ann', password: 'password2' })],
  [
    'by a declarative file',
    () =>
      api.gateway.call('provision.apply', {
        document: { version: 1, users: [{ username: 'ann', password: 'password2' }] },
      }),
  ],
])('a reset %s ends every credential', async (_by, reset) => {
  const ways = await waysIn();
  await reset();
  expect(await ways.open()).toEqual(nothingButKey);
  await api.login('ann', 'password2');
});

test('a password of a higher or equal role, or one’s own, cannot be reset', async () => {
  const admin = await api.addUser('admin', 10);
  const other = await api.addUser('other', 10);
  const reset = async (id: number, as: Headers) =>
    (await api.send('PUT', '/api/user/', { id, password: 'password2' }, as)).body;
  expect(await reset(root.id, admin.headers)).toMatchObject({ code: 'user_rank_update' });
  expect(await reset(other.id, admin.headers)).toMatchObject({ code: 'user_rank_update' });
  expect(await reset(admin.id, admin.headers)).toMatchObject({ code: 'user_rank_update' });
  // A stolen session of the first of all would keep what it stole.
  expect(await reset(root.id, root.headers)).toMatchObject({ code: 'user_own_password' });
  expect(await reset(admin.id, root.headers)).toMatchObject({ success: true });
});

test('a login that began with the old password does not end inside', async () => {
  const { secret } = (await api.send('POST', '/api/user/2fa', {}, ann.headers)).body.data as { secret: string };
  const code = () =>
    new TOTP({ secret: Secret.fromBase32(secret), digits: 6, period: 30 }).generate({ timestamp: clock });
  await api.send('POST', '/api/user/2fa/enable', { code: code() }, ann.headers);
  clock += 60_000;
  const half = await api.send('POST', '/api/user/login', { username: 'ann', password: 'password1' });
  const { ticket } = half.body.data as { ticket: string };
  const { services } = api.gateway;
  const seen = await services.users.find(ann.id);
  await api.gateway.call('local.password', { username: 'ann', password: 'password2' });
  expect((await api.send('POST', '/api/user/login/2fa', { ticket, code: code() })).body.code).toBe('ticket_late');
  if (seen === undefined) throw new Error('no user');
  const client = { ip: '', userAgent: '', deviceCookie: '' };
  await expect(services.sessions.open(seen, client)).rejects.toMatchObject({ code: 'ticket_late' });
});

test('an old session makes itself no way in that lasts', async () => {
  clock += 15 * 60_000;
  const attempts = [
    ['POST', '/api/oauth/email/bind', { email: 'thief@people.example', code: 'AAAAAA' }],
    ['GET', '/api/oauth/email/bind?email=thief@people.example&code=AAAAAA', undefined],
    ['POST', '/api/passkey/options', {}],
    ['POST', '/api/user/2fa', {}],
    ['GET', '/api/oauth/wechat/bind?code=1', undefined],
    ['POST', '/api/oauth/begin', { type: 'github', bind: true }],
  ] as const;
  for (const [method, path, body] of attempts)
    expect([path, (await api.send(method, path, body, ann.headers)).body.code]).toEqual([path, 'login_again_needed']);
  const fresh = await api.login('ann', 'password1');
  expect((await api.send('POST', '/api/passkey/options', {}, fresh)).body.success).toBe(true);
});

interface Listed {
  readonly id: string;
  readonly browser: string;
  readonly ip: string;
  readonly created_time: number;
  readonly last_seen_time: number;
  readonly current: boolean;
}
const list = async (as: Headers) =>
  (await api.send('GET', '/api/user/session/', undefined, as)).body.data as readonly Listed[];

test('sessions are listed and ended one by one or all others together', async () => {
  const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
  const enter = async () => {
    const { headers } = await api.send(
      'POST',
      '/api/user/login',
      { username: 'ann', password: 'password1' },
      { 'user-agent': agent, 'x-gateway-client-ip': '198.51.100.7' },
    );
    const cookie = headers.getSetCookie().find((one) => one.startsWith('session='));
    return { ...ann.headers, cookie: cookie?.split(';')[0] ?? '' };
  };
  clock += 120_000;
  const phone = await enter();
  const startedAt = clock / 1000;
  clock += 120_000;
  const desk = await enter();
  clock += 120_000;
  await api.send('GET', '/api/user/self', undefined, { ...phone, 'x-gateway-client-ip': '203.0.113.5' });
  const listed = await list(desk);
  expect(listed).toHaveLength(3);
  expect(listed.filter(({ current }) => current)).toHaveLength(1);
  expect(listed.find(({ ip }) => ip === '203.0.113.5')).toMatchObject({
    browser: 'Firefox · Linux',
    created_time: Math.floor(startedAt),
    last_seen_time: Math.floor(clock / 1000),
    current: false,
  });
  const phoneId = listed.find(({ ip }) => ip === '203.0.113.5')?.id ?? '';
  // A name in a list is no key.
  expect(await status({ ...ann.headers, cookie: `session=${phoneId}` })).toBe(401);
  expect((await api.send('DELETE', `/api/user/session/${phoneId}`, undefined, root.headers)).body.code).toBe(
    'not_found',
  );
  expect(await status(phone)).toBe(200);
  expect((await api.send('DELETE', `/api/user/session/${phoneId}`, undefined, desk)).body.success).toBe(true);
  expect(await status(phone)).toBe(401);
  expect((await api.send('POST', '/api/user/session/end_others', {}, desk)).body.data).toEqual({ ended: 1 });
  expect([await status(ann.headers), await status(desk)]).toEqual([401, 200]);
});

test('administrators see and end sessions of those below them alone', async () => {
  const admin = await api.addUser('admin', 10);
  const of = (id: number, method = 'GET') =>
    api.send(method, `/api/user/sessions/${id}`, undefined, admin.headers).then(({ body }) => body);
  expect((await of(ann.id)).data).toHaveLength(1);
  expect(await of(root.id)).toMatchObject({ code: 'user_rank_read' });
  expect(await of(root.id, 'DELETE')).toMatchObject({ code: 'user_rank_update' });
  expect((await of(ann.id, 'DELETE')).data).toEqual({ ended: 1 });
  expect(await status(ann.headers)).toBe(401);
});

test('an unused session ends, one that is used goes on until its month is over', async () => {
  const day = 24 * 3600_000;
  clock += 6 * day;
  expect(await status(ann.headers)).toBe(200);
  clock += 6 * day;
  expect(await status(ann.headers)).toBe(200);
  clock += 7 * day;
  expect(await status(ann.headers)).toBe(401);
  await api.gateway.services.options.set('general_setting.session_idle_hours', '0', 100);
  const again = await api.login('ann', 'password1');
  clock += 29 * day;
  expect(await status(again)).toBe(200);
  clock += day;
  expect(await status(again)).toBe(401);
  await api.gateway.services.sessions.deleteExpired();
  expect(await api.gateway.database.query.selectFrom('sessions').selectAll().execute()).toEqual([]);
});
