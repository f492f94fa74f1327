/** Who may set a new site up: whoever holds the printed code, from wherever the connection seems to come. */
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net';
import { createProxyServer } from 'httpxy';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { setupLink } from '../../cli/parts/access.ts';
import { codeIn } from '../../web/features/setup/code-in.ts';
import { createSite, type Raw, type Site, sendRaw } from '../support/site.ts';

let site: Site;
let closing: Server[] = [];
beforeEach(async () => {
  site = await createSite();
  // A new site has nobody yet.
  await site.gateway.rows('DELETE FROM users');
});
afterEach(async () => {
  for (const server of closing) server.close();
  closing = [];
  await site.close();
});

const details = { username: 'thief', password: 'password1', confirmPassword: 'password1' };
const post = (port: number, headers: readonly string[], more: object = {}, target = '/api/setup'): Promise<Raw> =>
  sendRaw(
    port,
    [`POST ${target} HTTP/1.1`, ...headers, 'Content-Type: application/json'],
    JSON.stringify({ ...details, ...more }),
  );
const roots = async (): Promise<number> => (await site.gateway.rows('SELECT id FROM users WHERE role = 100')).length;
const portOf = (server: Server): number => (server.address() as AddressInfo).port;

/** A plain `proxy_pass http://localhost:3000;`: the target's own name, and not a word about the caller. */
async function openProxy(): Promise<number> {
  const proxy = createProxyServer({ target: `http://127.0.0.1:${site.port}`, changeOrigin: true });
  const server = createServer((request, response) => {
    request.headers.host = `localhost:${site.port}`;
    void proxy.web(request, response, { headers: { host: `localhost:${site.port}` } });
  });
  closing.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return portOf(server);
}

/** What `socat` or a container's port mapping does. */
async function openForwarder(): Promise<number> {
  const server = createTcpServer((client) => {
    const upstream = connect(site.port, '127.0.0.1');
    client.pipe(upstream).pipe(client);
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
  });
  closing.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return portOf(server);
}

/** Everything that could make a caller look like the machine itself. */
const forms: readonly (readonly [name: string, headers: readonly string[], target?: string])[] = [
  ['Host localhost', ['Host: localhost:3000']],
  ['Host localhost in capitals', ['Host: LOCALHOST']],
  ['Host 127.0.0.1', ['Host: 127.0.0.1']],
  ['Host 127.1.2.3', ['Host: 127.1.2.3:3000']],
  ['Host [::1]', ['Host: [::1]:3000']],
  ['Host 0.0.0.0', ['Host: 0.0.0.0:3000']],
  ['Host of a rebound name', ['Host: rebound.example:3000']],
  ['X-Forwarded-For 127.0.0.1', ['Host: localhost', 'X-Forwarded-For: 127.0.0.1']],
  ['X-Forwarded-For empty', ['Host: localhost', 'X-Forwarded-For: ']],
  ['Forwarded', ['Host: localhost', 'Forwarded: for=127.0.0.1;host=localhost;proto=https']],
  ['X-Real-IP', ['Host: localhost', 'X-Real-IP: 127.0.0.1']],
  ['X-Forwarded-Host', ['Host: gw.example', 'X-Forwarded-Host: localhost']],
  ['Client-IP and its kin', ['Host: localhost', 'Client-IP: ::1', 'True-Client-IP: ::1', 'CF-Connecting-IP: ::1']],
  ['the inner border’s own headers', ['Host: localhost', 'X-Gateway-Loopback: 1', 'X-Gateway-Client-IP: local']],
  ['a user the owner could be', ['Host: localhost', 'X-Gateway-As-User: 1']],
  ['same origin', ['Host: localhost', 'Origin: http://localhost', 'Sec-Fetch-Site: same-origin']],
  ['absolute request target', ['Host: gw.example'], 'http://localhost:3000/api/setup'],
  ['absolute target with another port', ['Host: localhost'], 'http://127.0.0.1:1/api/setup'],
  ['trailing slash', ['Host: localhost'], '/api/setup/'],
];

test('without the code set-up is refused, in whatever form, directly, through a proxy or a forwarder', async () => {
  const ways = { direct: site.port, proxy: await openProxy(), forwarder: await openForwarder() };
  for (const [way, port] of Object.entries(ways)) {
    for (const [name, headers, target] of forms) {
      const { status, body } = await post(port, headers, {}, target);
      // An absolute target may be refused by what stands before us.
      const rejected = /setup_code_required|cross_site/.test(body) || (way === 'proxy' && status >= 400);
      expect([way, name, rejected, await roots()]).toEqual([way, name, true, 0]);
      expect(status).toBeGreaterThanOrEqual(400);
    }
  }
});

test('the status shows every caller over HTTP that the code is needed', async () => {
  for (const [, headers] of forms) {
    const { body } = await sendRaw(site.port, ['GET /api/setup HTTP/1.1', ...headers]);
    expect(body).toContain('"code_required":true');
  }
});

test('with the printed link it works through a proxy that says nothing, once', async () => {
  const port = await openProxy();
  const link = setupLink('http://0.0.0.0:3000', 'code');
  expect(link).toBe('http://127.0.0.1:3000/setup#code=code');
  const code = codeIn(new URL(link).hash);
  expect((await post(port, ['Host: gw.example'], { code: `${code} ` })).body).toContain('"success":true');
  expect(await roots()).toBe(1);
  expect((await post(port, ['Host: localhost'], { code })).body).toContain('setup_done');
});

test('wrong guesses of others do not keep the owner out', async () => {
  const codes: unknown[] = [];
  const ask = async (more: object) =>
    (JSON.parse((await post(site.port, ['Host: localhost'], more)).body) as { code?: unknown }).code;
  for (let turn = 0; turn < 25; turn += 1) codes.push(await ask({ code: String(turn) }));
  for (let turn = 0; turn < 25; turn += 1) expect(await ask({})).toBe('setup_code_required');
  expect(new Set(codes.slice(0, 20))).toEqual(new Set(['setup_code_required']));
  expect(new Set(codes.slice(20))).toEqual(new Set(['too_many_attempts']));
  expect(await ask({ code: 'code' })).toBeUndefined();
  expect(await roots()).toBe(1);
});

test('registration is refused before there is an administrator', async () => {
  const register = () =>
    sendRaw(
      site.port,
      ['POST /api/user/register HTTP/1.1', 'Host: localhost', 'Content-Type: application/json'],
      JSON.stringify({ username: 'early', password: 'password1' }),
    );
  expect((await register()).body).toContain('setup_needed');
  expect(await site.gateway.rows('SELECT id FROM users')).toEqual([]);
  await post(site.port, ['Host: localhost'], { code: 'code' });
  expect((await register()).body).toContain('"success":true');
});

test('the owner of the data directory is shown the code as long as it opens something', async () => {
  const overview = () => site.gateway.call('status.overview', {});
  expect(await overview()).toMatchObject({ setup: false, setup_code: 'code' });
  const actor = { via: 'session', userId: 1, username: 'boss', role: 100, group: 'default' } as const;
  expect(await site.gateway.call('status.overview', {}, actor)).not.toHaveProperty('setup_code');
  await site.gateway.call('setup.run', details);
  expect(await overview()).not.toHaveProperty('setup_code');
});

test('a link says nothing where it has no code', () => {
  for (const fragment of ['', '#', '#code=', '#other=1']) expect(codeIn(fragment)).toBe('');
  expect(codeIn('#code=0123456789abcdef')).toBe('0123456789abcdef');
});

test('sign-up through another service is refused before there is an administrator', async () => {
  const answer = (async () => Response.json({ success: true, data: 'their-id' })) as unknown as typeof fetch;
  const other = await createSite({ fetch: answer, guardedFetch: answer });
  for (const [key, value] of [
    ['WeChatServerAddress', 'https://wechat.example'],
    ['WeChatAuthEnabled', 'true'],
  ] as const)
    await other.gateway.option(key, value);
  const people = async () => (await other.gateway.rows('SELECT id FROM users')).length;
  await other.gateway.rows('DELETE FROM users');
  const signIn = async () =>
    (await sendRaw(other.port, ['GET /api/oauth/wechat?code=1 HTTP/1.1', 'Host: gw.example'])).body;
  expect(await signIn()).toContain('setup_needed');
  expect(await people()).toBe(0);
  await other.gateway.call('setup.run', details);
  expect(await signIn()).toContain('"success":true');
  await other.close();
});
