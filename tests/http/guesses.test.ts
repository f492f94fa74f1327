import { Secret, TOTP } from 'otpauth';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { networkOf } from '../../server/domain/sessions/network.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { createAuthenticator } from '../support/authenticator.ts';
import { createMailbox, type Mailbox } from '../support/mail.ts';

let api: ApiFixture;
let mailbox: Mailbox;
let clock: number;
/** False: whoever waits is let through while no time passes for others. */
let ticking: boolean;
/** What a person at `home` has; strangers are everywhere else. */
let owner: { id: number; headers: Headers };
const home = '198.51.100.7';

/** As the front door names whoever calls. */
const from = (ip: string): Headers => ({ 'x-gateway-client-ip': ip });
const unknownClient = (n: number): Headers => from(`203.0.113.${n % 250}`);

beforeEach(async () => {
  clock = Date.UTC(2026, 5, 1);
  ticking = true;
  mailbox = await createMailbox();
  api = await createApiFixture(
    {},
    {
      now: () => clock,
      pause: async (ms) => {
        if (ticking) clock += ms;
      },
    },
  );
  owner = await api.addUser('ann', 1);
});
afterEach(async () => {
  await api.close();
  await mailbox.close();
});

interface Entered {
  readonly code: string;
  /** Milliseconds it took. */
  readonly took: number;
  readonly status: number;
  readonly retry: string;
  readonly cookies: string;
}

async function enter(headers: Headers, password: string, username = 'ann'): Promise<Entered> {
  const before = clock;
  const answer = await api.send('POST', '/api/user/login', { username, password }, headers);
  return {
    code: answer.body.success ? 'in' : (answer.body.code ?? ''),
    took: clock - before,
    status: answer.status,
    retry: '',
    cookies: answer.headers
      .getSetCookie()
      .map((cookie) => cookie.split(';')[0])
      .join('; '),
  };
}

test('wrong passwords from everywhere do not lock the owner out', async () => {
  for (let n = 0; n < 200; n++) expect((await enter(unknownClient(n), 'wrong')).code).toBe('credentials_wrong');
  const { code, took } = await enter(from(home), 'password1');
  expect(code).toBe('in');
  // A person bears that; a list of a million passwords does not.
  expect(took).toBeLessThanOrEqual(3400);
});

test('a guesser waits longer and longer, and is never refused for being slow', async () => {
  const waits: number[] = [];
  for (let n = 0; n < 12; n++) waits.push((await enter(from(home), 'wrong')).took - 400);
  expect(waits.slice(0, 5)).toEqual([0, 0, 0, 0, 0]);
  expect(waits[5]).toBeLessThanOrEqual(1000);
  expect(waits.slice(6).every((wait, index) => wait >= (waits[5 + index] ?? 0))).toBe(true);
  expect(waits.at(-1)).toBe(15_000 - 400);
  expect((await enter(from(home), 'password1')).code).toBe('in');
  expect((await enter(from(home), 'wrong')).took).toBe(400);
});

test('one network that tries many accounts waits for it', async () => {
  const waits: number[] = [];
  for (let n = 0; n < 60; n++) waits.push((await enter(from('203.0.113.9'), 'wrong', `user-${n}`)).took);
  expect(waits.slice(0, 50).every((wait) => wait === 400)).toBe(true);
  expect(waits.at(-1)).toBeGreaterThan(1000);
  expect((await enter(from(home), 'password1')).took).toBe(400);
});

test('guesses at other accounts from a shared address lock out no user behind it', async () => {
  for (let n = 0; n < 70; n++) await enter(from('203.0.113.9'), 'wrong', `user-${n % 7}`);
  // Six connections that go on guessing.
  ticking = false;
  const attempts = Array.from({ length: 60 }, (_none, n) => enter(from('203.0.113.9'), 'wrong', `user-${n % 6}`));
  const right = Array.from({ length: 3 }, () => enter(from('203.0.113.9'), 'password1'));
  expect((await Promise.all(right)).map(({ code }) => code)).toEqual(['in', 'in', 'in']);
  const rejected = (await Promise.all(attempts)).filter(({ code }) => code === 'too_many_attempts').length;
  expect(rejected).toBeGreaterThan(50);
  ticking = true;
  expect((await enter(from('203.0.113.9'), 'password1')).took).toBeLessThanOrEqual(3400);
});

test('a hundred tries at once get no more guesses than one after the other', async () => {
  ticking = false;
  const answers = await Promise.all(Array.from({ length: 100 }, () => enter(from('203.0.113.9'), 'wrong')));
  const attempts = answers.filter(({ code }) => code === 'credentials_wrong').length;
  const rejected = answers.filter(({ code, status }) => code === 'too_many_attempts' && status === 429).length;
  expect(attempts + rejected).toBe(100);
  // Five, and those whose turn comes within fifteen seconds.
  expect(attempts).toBe(9);
  // Only whoever did it pays.
  expect((await enter(from(home), 'password1')).code).toBe('in');
});

test('a browser that was inside passes the counters of its network, with a counter of its own', async () => {
  const { cookies } = await enter(from(home), 'password1');
  expect(cookies).toMatch(/(^|; )device=/);
  for (let n = 0; n < 80; n++) await enter(from(home), 'wrong');
  const known = { ...from(home), cookie: cookies.replace(/session=[^;]+;? ?/, '') };
  const { code, took } = await enter(known, 'password1');
  expect([code, took]).toEqual(['in', 400]);
  const waits: number[] = [];
  for (let n = 0; n < 8; n++) waits.push((await enter(known, 'wrong')).took);
  expect(waits.at(-1)).toBeGreaterThan(1000);
  // The cookie is for one account, opens nothing, and a forged one is none.
  const { headers: other } = await api.addUser('bob', 1);
  expect((await enter({ ...known, 'new-api-user': other['new-api-user'] ?? '' }, 'wrong', 'bob')).code).toBe(
    'credentials_wrong',
  );
  expect((await api.send('GET', '/api/user/self', undefined, { ...known, 'new-api-user': `${owner.id}` })).status).toBe(
    401,
  );
  for (let n = 0; n < 10; n++) await enter(from('192.0.2.1'), 'wrong');
  const forged = { ...from('192.0.2.1'), cookie: `device=${'A'.repeat(120)}` };
  expect((await enter(forged, 'password1')).took).toBeGreaterThan(1000);
});

test('the cookie of a known browser is HttpOnly, and the prefix keeps neighbours from setting it', async () => {
  const send = (headers: Headers) =>
    api.send('POST', '/api/user/login', { username: 'ann', password: 'password1' }, headers);
  const plain = (await send(from(home))).headers.getSetCookie().find((cookie) => cookie.startsWith('device='));
  expect(plain).toMatch(/HttpOnly/i);
  const tls = (await send({ ...from(home), 'x-gateway-tls': '1' })).headers.getSetCookie();
  const device = tls.find((cookie) => cookie.startsWith('__Host-device='));
  expect(device).toMatch(/HttpOnly/i);
  expect(device).toMatch(/Secure/i);
});

test.each<[string, Headers, 'plain' | 'secure']>([
  ['a proxy that is believed', { 'x-gateway-tls': '1' }, 'secure'],
  ['a browser on a page of this host', { origin: 'https://HOST' }, 'secure'],
  ['a caller’s own word about a proxy', { 'x-forwarded-proto': 'https' }, 'plain'],
  ['a browser on a page without TLS', { origin: 'http://HOST' }, 'plain'],
  ['nobody', {}, 'plain'],
])('that a request came over TLS is said by %s: %o makes %s cookies and addresses', async (_who, headers, kind) => {
  const sent = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value.replace('HOST', new URL(api.base).host)]),
  );
  const body = { username: 'ann', password: 'password1' };
  const { headers: answered } = await api.send('POST', '/api/user/login', body, { ...from(home), ...sent });
  const session = answered.getSetCookie().find((cookie) => cookie.includes('session='));
  expect(session).toMatch(kind === 'secure' ? /^__Host-session=.*; Secure/i : /^session=(?!.*; Secure)/i);
  const document = (await api.send('GET', '/api/openapi.json', undefined, sent)).body;
  const [server] = (document as { servers?: { url: string }[] }).servers ?? [];
  expect(new URL(server?.url ?? '').protocol).toBe(kind === 'secure' ? 'https:' : 'http:');
});

test('names that exist and names that do not get the same response in the same time', async () => {
  const timedReply = async (username: string, n: number) => {
    const answers = [];
    for (let i = 0; i < 9; i++) {
      const { code, took } = await enter(from(`192.0.2.${n}`), 'wrong-one', username);
      answers.push([code, took]);
    }
    return answers;
  };
  const known = await timedReply('ann', 1);
  expect(await timedReply('nobody', 2)).toEqual(known);
  const hash = await Bun.password.hash('password1', { algorithm: 'bcrypt', cost: 4 });
  await api.gateway.database.query.updateTable('users').set({ password_hash: hash }).execute();
  expect(await timedReply('ann', 3)).toEqual(known);
});

test('an IPv6 address counts for its /64', async () => {
  expect(networkOf('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64');
  expect(networkOf('2001:db8:1:2::1')).toBe('2001:db8:1:2::/64');
  expect(networkOf('2001:db8::1')).toBe('2001:db8:0:0::/64');
  expect(networkOf('::1')).toBe('0:0:0:0::/64');
  expect(networkOf('fe80::1%eth0')).toBe('fe80:0:0:0::/64');
  expect(networkOf('::ffff:192.0.2.1')).toBe('192.0.2.1');
  expect(networkOf('::ffff:c000:201')).toBe('192.0.2.1');
  expect(networkOf('192.0.2.1')).toBe('192.0.2.1');
  expect(networkOf('')).toBe('');

  const waits: number[] = [];
  for (let n = 0; n < 9; n++) waits.push((await enter(from(`2001:db8:1:2::${n}`), 'wrong')).took);
  expect(waits.at(-1)).toBeGreaterThan(1000);
  expect((await enter(from('2001:db8:1:3::1'), 'wrong')).took).toBeLessThan(1000);
});

const codeAt = (secret: string): string =>
  new TOTP({ secret: Secret.fromBase32(secret), digits: 6, period: 30 }).generate({ timestamp: clock });

async function turnOnSecondFactor() {
  const started = await api.send('POST', '/api/user/2fa', {}, owner.headers);
  const { secret } = started.body.data as { secret: string };
  const enabled = await api.send('POST', '/api/user/2fa/enable', { code: codeAt(secret) }, owner.headers);
  const { recovery_codes: codes } = enabled.body.data as { recovery_codes: string[] };
  clock += 60_000;
  return { secret, codes };
}

test('an attacker who knows the password cannot keep the owner from the second step', async () => {
  const device = (await enter(from(home), 'password1')).cookies;
  const { secret, codes } = await turnOnSecondFactor();
  const ticketFor = async (headers: Headers) =>
    (
      (await api.send('POST', '/api/user/login', { username: 'ann', password: 'password1' }, headers)).body.data as {
        ticket: string;
      }
    ).ticket;
  const step = async (headers: Headers, code: string, ticket?: string) => {
    const { body } = await api.send(
      'POST',
      '/api/user/login/2fa',
      { ticket: ticket ?? (await ticketFor(headers)), code },
      headers,
    );
    return body.success ? 'in' : body.code;
  };
  const answers = new Set<string | undefined>();
  for (let n = 0; n < 40; n++) answers.add(await step(unknownClient(n), '000000'));
  // Six digits would be found by enough addresses, so they are no longer looked at where nobody was before.
  expect(answers).toEqual(new Set(['code_wrong', 'second_factor_guarded']));
  expect(await step(unknownClient(41), codeAt(secret))).toBe('second_factor_guarded');
  // Home and known, or anywhere with a code that cannot be found.
  expect(await step({ ...from(home), cookie: device }, codeAt(secret))).toBe('in');
  expect(await step(from('192.0.2.77'), codes[0] ?? '')).toBe('in');
});

async function withMail() {
  const set = (key: string, value: string) => api.gateway.services.options.set(key, value, 100);
  await set('SMTPServer', '127.0.0.1');
  await set('SMTPPort', String(mailbox.port));
  await set('SMTPFrom', 'relay@site.example');
  await set('ServerAddress', 'https://site.example');
  await set('EmailVerificationEnabled', 'true');
}
const email = 'me@people.example';
const sendCode = (headers: Headers) => api.send('GET', `/api/verification?email=${email}`, undefined, headers);
const codeIn = (text = ''): string => /<strong>(\w{6})<\/strong>/.exec(text)?.[1] ?? '';
const register = async (headers: Headers, code: string, username = 'newcomer') =>
  (
    await api.send(
      'POST',
      '/api/user/register',
      { username, password: 'password1', email, verification_code: code },
      headers,
    )
  ).body;

test('other clients neither use up nor replace a code that was mailed', async () => {
  await withMail();
  expect((await sendCode(from(home))).body.success).toBe(true);
  const code = codeIn(mailbox.letters[0]?.text);
  for (let n = 0; n < 30; n++) await register(unknownClient(n), 'AAAAAA');
  for (let n = 0; n < 4; n++) await sendCode(unknownClient(n));
  expect(await register(from(home), code)).toMatchObject({ success: true });
  expect(await register(from(home), code, 'second')).toMatchObject({ code: 'code_wrong' });
  // Whoever guesses spends tries of its own.
  const lateCode = codeIn(mailbox.letters.at(-1)?.text);
  for (let n = 0; n < 5; n++) await register(unknownClient(99), 'AAAAAA', 'third');
  expect(await register(unknownClient(99), lateCode, 'third')).toMatchObject({ code: 'code_wrong' });
});

test('other clients cannot keep letters from a mailbox, nor fill it', async () => {
  await withMail();
  let wanted = 0;
  for (let n = 0; n < 60; n++) {
    expect((await sendCode(unknownClient(n))).status).toBe(200);
    clock += 1000;
    wanted += 1;
  }
  expect(wanted).toBe(60);
  expect(mailbox.letters.length).toBeLessThanOrEqual(7);
  // The owner of the mailbox asks too, and what lies there is good.
  expect((await sendCode(from(home))).body.success).toBe(true);
  const code = codeIn(mailbox.letters.at(-1)?.text);
  expect(await register(from(home), code)).toMatchObject({ success: true });
});

test('wrong reset links from everywhere leave the right one alone', async () => {
  await withMail();
  await api.gateway.database.query.updateTable('users').set({ email }).where('id', '=', owner.id).execute();
  await api.send('GET', `/api/reset_password?email=${email}`, undefined, from(home));
  await expect.poll(() => mailbox.letters.length).toBe(1);
  const token = /token=([\w-]+)/.exec(mailbox.letters[0]?.text ?? '')?.[1] ?? '';
  for (let n = 0; n < 60; n++)
    await api.send('POST', '/api/user/reset', { email, token: `wrong-${n}` }, unknownClient(n));
  for (let n = 0; n < 10; n++) await api.send('GET', `/api/reset_password?email=${email}`, undefined, unknownClient(n));
  const done = await api.send('POST', '/api/user/reset', { email, token, password: 'password9' }, from(home));
  expect(done.body.success).toBe(true);
});

test('thousands of sign-ins that are begun push out no other sign-in', async () => {
  const device = createAuthenticator(api.base);
  const started = (await api.send('POST', '/api/passkey/options', {}, owner.headers)).body.data as {
    ticket: string;
    options: { challenge: string };
  };
  const response = device.register(started.options);
  await api.send('POST', '/api/passkey/', { ticket: started.ticket, name: '', response }, owner.headers);
  const requested = (await api.send('POST', '/api/passkey/login/options', {}, from(home))).body.data as typeof started;
  const left = await api.send('GET', '/api/oauth/state', undefined, from(home));
  const cookie = left.headers.get('set-cookie')?.split(';')[0] ?? '';
  const { oauth, passkeys } = api.gateway.services;
  for (let n = 0; n < 12_000; n++) oauth.state({ userId: 0, fresh: false, affCode: '' });
  for (let n = 0; n < 300; n++) await passkeys.loginOptions(api.base, `10.0.${n % 250}.${n % 7}`);
  const back = await api.send('GET', `/api/oauth/github?code=c&state=${left.body.data}`, undefined, { cookie });
  // The state is good; only the service is switched off here.
  expect(back.body.code).toBe('oauth_off');
  const signed = device.sign(requested.options, String(owner.id));
  const entered = await api.send(
    'POST',
    '/api/passkey/login',
    { ticket: requested.ticket, response: signed },
    from(home),
  );
  expect(entered.body.data).toMatchObject({ id: owner.id });
});
