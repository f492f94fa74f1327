/** `gateway login` by a code and `gateway token print`: what lies on the machine, and what happens when several terminals renew at once. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { printArguments, signedInSite } from '../../cli/commands/connection/login.ts';
import type { Context } from '../../cli/context.ts';
import { readContexts, writeContexts } from '../../cli/contexts.ts';
import { accessToken, isSecure, keep, locked, longToken, signIn, signOut } from '../../cli/sign-in.ts';

type Reply = readonly [status: number, body: object];
let home: string;
let env: Record<string, string>;
let site: Server;
let url: string;
let asked: { path: string; form: Record<string, string> }[];
/** What the site answers, first to last; the last one again and again. */
let replies: Reply[];
/** What the site says of a token that is about to be printed. */
let check: number;
/** The tokens that it was asked about. */
let checked: string[];

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'sign-in-'));
  env = { HOME: home, SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' };
  asked = [];
  replies = [];
  check = 200;
  checked = [];
  site = createServer(async (request, response) => {
    if (request.method === 'GET') {
      checked.push(`${request.url} ${request.headers.authorization}`);
      return void response.writeHead(check).end('{}');
    }
    let body = '';
    for await (const part of request) body += part;
    asked.push({ path: request.url ?? '', form: Object.fromEntries(new URLSearchParams(body)) });
    const [status, answer] = (replies.length > 1 ? replies.shift() : replies[0]) ?? [404, {}];
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  await new Promise<void>((done) => site.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
});
afterEach(() => {
  site.close();
  rmSync(home, { recursive: true });
});

const folder = () => join(home, '.config', 'gateway');
const file = () => join(folder(), 'sign-in-work.json');
const issued = (access: string, refresh: string): Reply => [
  200,
  { access_token: access, refresh_token: refresh, expires_in: 3600, user: { id: 7, username: 'ann' } },
];
const store = (minutes: number) => {
  const end = Date.now() + minutes * 60_000;
  return keep(env, 'work', { refresh: 'r1', access: 'a1', renewAt: end - 5 * 60_000, end });
};
const codes: Reply = [
  200,
  {
    device_code: 'd',
    user_code: 'BCDF-GHJK',
    verification_uri: 'https://s/device',
    verification_uri_complete: 'https://s/device?user_code=BCDF-GHJK',
    interval: 0,
    expires_in: 60,
  },
];
const begin = async () => {
  const shown: (string | boolean)[] = [];
  const result = await signIn(url, 'laptop', (...what) => shown.push(...what));
  return { shown, result };
};

test('a code is shown with its page until it is approved', async () => {
  replies = [codes, [400, { error: 'authorization_pending' }], [503, {}], issued('a1', 'r1')];
  const { shown, result } = await begin();
  expect(shown).toEqual(['https://s/device?user_code=BCDF-GHJK', 'BCDF-GHJK', false]);
  expect(result).toMatchObject({ access: 'a1', refresh: 'r1', user: { id: 7, username: 'ann' } });
  expect(asked[0]?.form).toEqual({ client_id: 'gateway', host: 'laptop' });
});

test.each<[string, Reply, string, string]>([
  ['denied', codes, 'access_denied', 'cancelled'],
  ['over', [200, { ...codes[1], expires_in: 0.05, interval: 0.05 }], 'expired_token', 'sign_in_code'],
])('a code that is %s ends the waiting', async (_what, given, error, code) => {
  replies = [given, [400, { error }]];
  await expect(begin()).rejects.toMatchObject({ code });
});

test('a site that forgot the code, as one that starts anew does, gives another', async () => {
  const other: Reply = [200, { ...codes[1], user_code: 'LMNP-QRST', verification_uri_complete: 'https://s/device?2' }];
  replies = [codes, [400, { error: 'expired_token' }], other, issued('a1', 'r1')];
  const { shown, result } = await begin();
  expect(shown.slice(3)).toEqual(['https://s/device?2', 'LMNP-QRST', true]);
  expect(result).toMatchObject({ access: 'a1' });
});

test('a site that forgets every code is not asked for ever', async () => {
  replies = Array.from({ length: 20 }, (_, index): Reply => (index % 2 ? [400, { error: 'expired_token' }] : codes));
  await expect(begin()).rejects.toMatchObject({ code: 'sign_in_code' });
  expect(asked).toHaveLength(8);
});

test('a site that lets no program sign in says so by having nothing there', async () => {
  replies = [[404, {}]];
  expect((await begin()).result).toBeNull();
});

test('over SSH the tokens lie in a file that its owner alone reads', async () => {
  expect(await store(60)).toBe('file');
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  expect(statSync(folder()).mode & 0o777).toBe(0o700);
  expect(await accessToken(env, 'work', url)).toBe('a1');
  expect(asked).toEqual([]);
  expect(checked).toEqual(['/v1/dashboard/billing/subscription Bearer a1']);
});

test.each([401, 403])('a token that the site refuses with %s is not printed', async (status) => {
  await store(60);
  check = status;
  replies = [[400, { error: 'invalid_grant' }]];
  await expect(accessToken(env, 'work', url)).rejects.toMatchObject({ code: 'signed_out' });
  replies = [[503, {}]];
  await expect(accessToken(env, 'work', url)).rejects.toMatchObject({ code: 'server_unreachable' });
  replies = [issued('a2', 'r2')];
  expect(await accessToken(env, 'work', url)).toBe('a2');
});

test('a site that has trouble of its own refuses no token by that', async () => {
  await store(60);
  check = 503;
  expect(await accessToken(env, 'work', url)).toBe('a1');
  site.close();
  site.closeAllConnections();
  expect(await accessToken(env, 'work', url)).toBe('a1');
  expect(asked).toEqual([]);
});

test('a token of a minute is renewed in its last quarter', async () => {
  replies = [codes, [200, { ...issued('a1', 'r1')[1], expires_in: 60 }]];
  const { end = 0, renewAt = 0 } = (await begin()).result ?? {};
  expect(end - renewAt).toBe(15_000);
});

test('a token for a program that keeps it is asked for each time, and others get a short one afterwards', async () => {
  await store(60);
  replies = [issued('day', 'r2'), issued('a3', 'r3')];
  expect(await longToken(env, 'work', url)).toBe('day');
  expect(await accessToken(env, 'work', url)).toBe('a3');
  expect(asked.map(({ form }) => form)).toEqual([
    { grant_type: 'refresh_token', refresh_token: 'r1', kept: 'true' },
    { grant_type: 'refresh_token', refresh_token: 'r2' },
  ]);
  replies = [[400, { error: 'invalid_grant' }]];
  await expect(longToken(env, 'work', url)).rejects.toMatchObject({ code: 'signed_out' });
  await expect(longToken(env, 'nowhere', url)).rejects.toMatchObject({ code: 'signed_out' });
});

test('without room for the next token no refresh token is spent, and the present one serves until its end', async () => {
  replies = [issued('a2', 'r2')];
  await store(2);
  mkdirSync(`${file()}.new`);
  expect(await accessToken(env, 'work', url)).toBe('a1');
  await expect(longToken(env, 'work', url)).rejects.toThrow(`${file()}.new`);
  check = 401;
  writeFileSync(file(), JSON.stringify({ refresh: 'r1', access: 'a1', renewAt: 9e15, end: 9e15 }));
  await expect(accessToken(env, 'work', url)).rejects.toThrow(`${file()}.new`);
  writeFileSync(file(), JSON.stringify({ refresh: 'r1', access: 'a1', renewAt: 0, end: 1 }));
  await expect(accessToken(env, 'work', url)).rejects.toThrow(`${file()}.new`);
  expect(asked).toEqual([]);
});

test('terminals that ask at once renew once', async () => {
  await store(1);
  replies = [issued('a2', 'r2'), [400, { error: 'invalid_grant' }]];
  const tokens = await Promise.all(Array.from({ length: 5 }, () => accessToken(env, 'work', url)));
  expect(new Set(tokens)).toEqual(new Set(['a2']));
  expect(asked.map(({ form }) => form)).toEqual([{ grant_type: 'refresh_token', refresh_token: 'r1' }]);
  expect(readdirSync(folder())).toEqual(['sign-in-work.json']);
});

test('nobody waits for a process that was killed while it renewed', async () => {
  await store(1);
  // Beyond the highest number that a process may have.
  writeFileSync(`${file()}.lock`, '2147483646');
  replies = [issued('a2', 'r2')];
  expect(await accessToken(env, 'work', url)).toBe('a2');
});

test('one process at a time removes an abandoned lock, and one that was killed doing so holds nobody up', async () => {
  const lock = join(folder(), 'sign-in-work.json.lock');
  mkdirSync(folder(), { recursive: true });
  writeFileSync(lock, '2147483646');
  writeFileSync(`${lock}.turn`, '');
  let done = false;
  const waiting = locked(env, 'work', async () => {
    done = true;
  });
  expect([done, readFileSync(lock, 'utf8')]).toEqual([false, '2147483646']);
  const longAgo = Date.now() / 1000 - 60;
  utimesSync(`${lock}.turn`, longAgo, longAgo);
  await waiting;
  expect([done, existsSync(lock), existsSync(`${lock}.turn`)]).toEqual([true, false, false]);
});

test('a process that stood still until the lock went to another leaves it to that one', async () => {
  const lock = join(folder(), 'sign-in-work.json.lock');
  await locked(env, 'work', async () => writeFileSync(lock, '1 of another'));
  expect(readFileSync(lock, 'utf8')).toBe('1 of another');
  rmSync(lock);
});

test('a token that another machine of the same home renewed is adopted', async () => {
  await store(1);
  site.prependOnceListener('request', () =>
    writeFileSync(file(), JSON.stringify({ refresh: 'r9', access: 'a9', renewAt: 0, end: Date.now() + 3_600_000 })),
  );
  replies = [[400, { error: 'invalid_grant' }]];
  expect(await accessToken(env, 'work', url)).toBe('a9');
});

test('while the site is away a token serves until its end and no longer', async () => {
  await store(1);
  replies = [[503, {}]];
  expect(await accessToken(env, 'work', url)).toBe('a1');
  await store(-1);
  await expect(accessToken(env, 'work', url)).rejects.toMatchObject({ code: 'server_unreachable' });
});

test.each<[string, Reply]>([
  ['ended the sign-in', [400, { error: 'invalid_grant' }]],
  ['lets no program sign in any more', [404, {}]],
])('a site that %s signs the machine out', async (_what, reply) => {
  await store(-1);
  replies = [reply];
  await expect(accessToken(env, 'work', url)).rejects.toMatchObject({ code: 'signed_out' });
});

test('signing out forgets the tokens and tells the site, even one that is away', async () => {
  await store(60);
  replies = [[503, {}]];
  await signOut(env, 'work', url);
  expect(asked).toMatchObject([{ path: '/oauth/revoke', form: { token: 'r1' } }]);
  expect(existsSync(file())).toBe(false);
  await expect(accessToken(env, 'work', url)).rejects.toMatchObject({ code: 'signed_out' });
});

test('a broken file is no reason to stay signed out for good', async () => {
  mkdirSync(folder(), { recursive: true });
  const whole = { refresh: 'r1', access: 'a1', renewAt: 9e15, end: 9e15 };
  const broken = (['refresh', 'access', 'renewAt', 'end'] as const).map((name) => ({ ...whole, [name]: [1] }));
  for (const text of [
    '{"refresh":',
    '',
    'null',
    '[]',
    ...[...broken, { ...whole, access: 'a\nb' }].map((one) => JSON.stringify(one)),
  ]) {
    writeFileSync(file(), text);
    await expect(accessToken(env, 'work', url)).rejects.toMatchObject({ code: 'signed_out' });
  }
  expect([asked, checked]).toEqual([[], []]);
});

test.each([
  ['https://a.example', true],
  ['http://localhost:3000', true],
  ['http://127.0.0.1', true],
  ['http://[::1]:3000', true],
  ['http://10.0.0.2', false],
  ['http://127.0.0.1.evil.example', false],
])('%s is secure: %s', (address, secure) => {
  expect(isSecure(address)).toBe(secure);
});

test.each([
  'null',
  '[]',
  '7',
  '{"current":"a"}',
  '{"current":null,"contexts":{}}',
  '{"current":"a","contexts":{"a":null}}',
  '{"current":"a","contexts":{"a":{"url":"http://a","token":7,"user":1}}}',
  '{"current":"a","contexts":{"a":{"url":"http://a","token":"","user":1,"signedIn":true}}}',
])('a list of gateways that was spoilt by hand is named, and no error of ours: %s', (text) => {
  mkdirSync(folder(), { recursive: true });
  writeFileSync(join(folder(), 'contexts.json'), text);
  expect(() => readContexts(env)).toThrow(expect.objectContaining({ code: 'usage' }));
});

test('an agent gets the token of the site that it is set up for, whichever the machine is signed in to besides', () => {
  const at = (address: string, signedIn?: string) => ({
    url: address,
    token: '',
    user: 7,
    ...(signedIn && { signedIn }),
  });
  const contexts = { work: at('https://office/', 'ann'), home: at('https://home', 'ann'), admin: at('https://other') };
  writeContexts(env, { current: 'home', contexts });
  const siteFor = (flags: object) => signedInSite({ env, flags } as unknown as Context);
  expect(printArguments('codex', 'https://office')).toEqual([
    'token',
    'print',
    '--for',
    'codex',
    '--url',
    'https://office',
  ]);
  expect(siteFor({ url: 'https://office' })).toEqual({ name: 'work', url: 'https://office/' });
  expect(siteFor({})).toEqual({ name: 'home', url: 'https://home' });
  for (const address of ['https://other', 'https://elsewhere', 'https://work.evil'])
    expect(() => siteFor({ url: address })).toThrow(expect.objectContaining({ code: 'signed_out' }));
  writeContexts(env, { current: 'work', contexts: { work: contexts.work } });
  expect(() => siteFor({ url: 'https://other' })).toThrow(expect.objectContaining({ code: 'signed_out' }));
});
