import { Secret, TOTP } from 'otpauth';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { createAuthenticator } from '../support/authenticator.ts';

let api: ApiFixture;
let clock: number;
let root: Headers;
let me: Headers;
let myId: number;

beforeEach(async () => {
  clock = Date.UTC(2026, 0, 1);
  api = await createApiFixture({}, { now: () => clock });
  ({ headers: root } = await api.addUser('root', 100));
  ({ headers: me, id: myId } = await api.addUser('me', 1));
});
afterEach(() => api.close());

const post = async (path: string, body: object, as: Headers = me) => (await api.send('POST', path, body, as)).body;
const codeOf = (secret: string): string =>
  new TOTP({ secret: Secret.fromBase32(secret), digits: 6, period: 30 }).generate({ timestamp: clock });
const turnOn = async () => {
  const { secret } = (await post('/api/user/2fa', {})).data as { secret: string };
  const { recovery_codes: codes } = (await post('/api/user/2fa/enable', { code: codeOf(secret) })).data as {
    recovery_codes: string[];
  };
  clock += 30_000;
  return { secret, codes };
};
const login = async () =>
  (await api.send('POST', '/api/user/login', { username: 'me', password: 'password1' })) as {
    body: { data: { require_2fa?: boolean; ticket?: string; id?: number } };
    headers: globalThis.Headers;
  };

/** RFC 6238 appendix B, SHA-1; the last six of its eight digits. */
test.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
])('at %d s the RFC says %s', async (seconds, code) => {
  clock = seconds * 1000;
  const sealed = new Secret({ buffer: new TextEncoder().encode('12345678901234567890').buffer as ArrayBuffer }).base32;
  expect(codeOf(sealed)).toBe(code);
});

test('a password is half the way once the second factor is on; a code is the other half, once', async () => {
  expect((await post('/api/user/2fa/enable', { code: '123456' })).message).toBe('两步验证未启用');
  expect((await api.send('GET', '/api/user/2fa', undefined, me)).body.data).toEqual({
    enabled: false,
    recovery_codes_left: 0,
  });
  const { secret } = await turnOn();
  expect((await api.send('GET', '/api/user/2fa', undefined, me)).body.data).toEqual({
    enabled: true,
    recovery_codes_left: 10,
  });
  const first = await login();
  expect(first.body.data).toEqual({ require_2fa: true, ticket: expect.any(String) });
  expect(first.headers.get('set-cookie')).toBeNull();
  const { ticket } = first.body.data;
  expect((await post('/api/user/login/2fa', { ticket, code: '000000' }, {})).message).toBe('验证码错误或已过期');
  const code = codeOf(secret);
  const second = await api.send('POST', '/api/user/login/2fa', { ticket, code });
  expect(second.body.data).toMatchObject({ id: myId });
  expect(second.headers.get('set-cookie')).toContain('session=');
  const again = await login();
  expect((await post('/api/user/login/2fa', { ticket: again.body.data.ticket, code }, {})).message).toBe(
    '验证码错误或已过期',
  );
  expect((await post('/api/user/login/2fa', { ticket, code }, {})).message).toBe('登录已过期，请重新开始');
});

test('recovery codes are ten, all different, in two groups of five that people can copy', async () => {
  const { codes } = await turnOn();
  expect(new Set(codes).size).toBe(10);
  for (const code of codes) expect(code).toMatch(/^[0-9a-f]{5}-[0-9a-f]{5}$/);
});

test('a recovery code opens once, and the rest stay', async () => {
  const { codes } = await turnOn();
  expect(new Set(codes).size).toBe(10);
  const [code = ''] = codes;
  const enter = async (given: string) =>
    post('/api/user/login/2fa', { ticket: (await login()).body.data.ticket, code: given }, {});
  expect((await enter(code.toUpperCase().replace('-', ' '))).success).toBe(true);
  expect((await enter(code)).message).toBe('验证码错误或已过期');
  expect((await api.send('GET', '/api/user/2fa', undefined, me)).body.data).toMatchObject({ recovery_codes_left: 9 });
});

test('guesses are few', async () => {
  await turnOn();
  const { ticket } = (await login()).body.data;
  const answers = [];
  for (let guess = 0; guess < 12; guess++)
    answers.push((await api.send('POST', '/api/user/login/2fa', { ticket, code: '111111' })).status);
  expect(answers.at(-1)).toBe(429);
});

test('a ticket is late after five minutes', async () => {
  const { secret } = await turnOn();
  const { ticket } = (await login()).body.data;
  clock += 5 * 60_000;
  expect((await post('/api/user/login/2fa', { ticket, code: codeOf(secret) }, {})).message).toBe(
    '登录已过期，请重新开始',
  );
});

test('off again with a code, or by a higher role', async () => {
  const { secret } = await turnOn();
  expect((await post('/api/user/2fa/disable', { code: '000000' })).success).toBe(false);
  expect((await post('/api/user/2fa/disable', { code: codeOf(secret) })).success).toBe(true);
  expect((await login()).body.data.id).toBe(myId);
  clock += 60_000;
  await turnOn();
  const { headers: admin } = await api.addUser('admin', 10);
  const { id: other } = await api.addUser('other', 10);
  expect((await post('/api/user/2fa/reset', { id: myId }, me)).message).toBe('无权进行此操作，权限不足');
  expect((await post('/api/user/2fa/reset', { id: other }, admin)).message).toBe(
    '无权更新同权限等级或更高权限等级的用户信息',
  );
  expect((await post('/api/user/2fa/reset', { id: myId }, admin)).success).toBe(true);
  expect((await login()).body.data.id).toBe(myId);
});

test('the secret lies sealed in the database', async () => {
  const { secret } = await turnOn();
  const rows = await api.gateway.database.query.selectFrom('second_factors').selectAll().execute();
  expect(JSON.stringify(rows)).not.toContain(secret);
});

test('a passkey logs in without a password, past the second factor', async () => {
  await turnOn();
  const device = createAuthenticator(api.base);
  const started = (await post('/api/passkey/options', {})).data as { ticket: string; options: { challenge: string } };
  const response = device.register(started.options);
  expect(await post('/api/passkey/', { ticket: started.ticket, name: 'phone', response })).toMatchObject({
    success: true,
  });
  expect((await post('/api/passkey/', { ticket: started.ticket, name: 'phone', response })).message).toBe(
    '登录已过期，请重新开始',
  );
  const [kept] = (await api.send('GET', '/api/passkey/', undefined, me)).body.data as { id: number; name: string }[];
  expect(kept).toMatchObject({ name: 'phone', last_used_time: 0 });

  const challenge = async () =>
    (await post('/api/passkey/login/options', {}, {})).data as { ticket: string; options: { challenge: string } };
  const requested = await challenge();
  const signed = device.sign(requested.options, String(myId));
  const entered = await api.send('POST', '/api/passkey/login', { ticket: requested.ticket, response: signed });
  expect(entered.body.data).toMatchObject({ id: myId });
  expect(entered.headers.get('set-cookie')).toContain('session=');
  const replay = await api.send('POST', '/api/passkey/login', { ticket: requested.ticket, response: signed });
  expect(replay.body.message).toBe('登录已过期，请重新开始');

  const foreign = createAuthenticator('https://evil.example');
  for (const wrong of [foreign.sign((await challenge()).options), { id: 7 }, null, { ...signed, id: 'AAAA' }]) {
    const { ticket } = await challenge();
    expect((await post('/api/passkey/login', { ticket, response: wrong }, {})).message).toBe('通行密钥验证失败');
  }
});

test('passkeys are renamed and removed by their owner alone', async () => {
  const device = createAuthenticator(api.base);
  const started = (await post('/api/passkey/options', {})).data as { ticket: string; options: { challenge: string } };
  await post('/api/passkey/', { ticket: started.ticket, name: '', response: device.register(started.options) });
  const [kept] = (await api.send('GET', '/api/passkey/', undefined, me)).body.data as { id: number }[];
  const id = kept?.id ?? 0;
  expect((await api.send('PUT', `/api/passkey/${id}`, { name: 'x' }, root)).body.success).toBe(false);
  expect((await api.send('DELETE', `/api/passkey/${id}`, undefined, root)).body.success).toBe(false);
  expect((await api.send('PUT', `/api/passkey/${id}`, { name: 'desk' }, me)).body.success).toBe(true);
  expect((await api.send('DELETE', `/api/passkey/${id}`, undefined, me)).body.success).toBe(true);
  expect((await api.send('GET', '/api/passkey/', undefined, me)).body.data).toEqual([]);
});
