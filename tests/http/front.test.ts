/** What the one listener does with every kind of request, before, while and after it leaves, against a text that a person has read. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { Server } from 'bun';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AppError } from '../../server/contract/errors.ts';
import { createConnections, defaultConnectionLimits } from '../../server/http/connections.ts';
import { createConsoleAssets } from '../../server/http/console-assets.ts';
import { type HttpServer, openHttpServer, pathOf } from '../../server/http/http-server.ts';
import type { ClientSocket, Conversation } from '../../server/relay/endpoints/realtime/conversation.ts';
import type { Relay } from '../../server/relay/relay.ts';
import { expectGolden } from '../support/golden-file.ts';

let dir = '';
let control: Server<undefined>;
let api: () => Promise<void> = async () => undefined;
let isOverloaded = false;
let mayServe = true;
let openAnswers = 0;
const doors: HttpServer[] = [];

let hearing: (client: ClientSocket, data: string) => void = () => undefined;
let realtimeFrom = '';

/** Says what it was asked, as the relay, the API or the console. */
const echo = (who: string, request: Request, more: Record<string, unknown>) =>
  Response.json({ who, method: request.method, ...more }, { headers: { 'x-answered-by': who } });
const gatewayHeaders = (request: Request) =>
  Object.fromEntries([...request.headers].filter(([name]) => /^x-|^host$|^content-l|^transfer/.test(name)));

const relay = {
  reject: (request: Request, path: string, peer: { ip(): string }) =>
    isOverloaded ? echo('relay: too much', request, { path, ip: peer.ip() }) : null,
  handle: async (request: Request, path: string, peer: { ip(): string }) =>
    echo('relay', request, { path, ip: peer.ip(), body: (await request.text()).length }),
  async realtime(request: Request, peer: { ip(): string }) {
    realtimeFrom = peer.ip();
    const { searchParams } = new URL(request.url);
    if (searchParams.get('model') === null) return echo('relay: no model', request, {});
    let client: ClientSocket | null = null;
    const conversation: Conversation = {
      protocol: searchParams.get('as') ?? '',
      open(socket: ClientSocket) {
        client = socket;
        socket.send('opened');
      },
      message(data: string) {
        if (client !== null) hearing(client, data);
      },
      close: () => undefined,
    } as unknown as Conversation;
    return conversation;
  },
  refusal: (_request: Request, path: string, { code, params }: AppError) =>
    Response.json(
      { who: 'relay', refused: code, path },
      { status: 503, headers: { 'retry-after': String(params.seconds) } },
    ),
  open: () => openAnswers,
  endSockets: () => undefined,
} as unknown as Relay;

const files = {
  '/index.html': '<!doctype html>',
  '/assets/app-1.js': 'run()',
  '/icon.svg': '<svg/>',
  '/plain.unknown': 'bytes',
  '/docs/en/index.html': 'docs',
  '/a.css': 'a{}',
  '/a.json': '{}',
  '/a.png': 'png',
  '/a.ico': 'ico',
  '/a.webmanifest': '{}',
};

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'front door-'));
  control = Bun.serve({
    unix: join(dir, 'control'),
    maxRequestBodySize: 8 * 1024 * 1024,
    async fetch(request) {
      await api();
      const { pathname, search } = new URL(request.url);
      if (pathname === '/api/away') return Response.redirect('https://elsewhere.example/', 303);
      return echo('api', request, {
        path: pathname + search,
        ...gatewayHeaders(request),
        body: (await request.bytes()).length,
      });
    },
  });
});
afterAll(async () => {
  for (const door of doors) await door.stop(0);
  await control.stop(true);
  rmSync(dir, { recursive: true, force: true });
});

const embedded = () =>
  Object.entries(files).map(([path, text], index) => {
    const at = join(dir, `file-${index}`);
    writeFileSync(at, text);
    writeFileSync(`${at}.br`, brotliCompressSync(text));
    writeFileSync(`${at}.gz`, gzipSync(text));
    return {
      path,
      plain: path === '/icon.svg' ? null : at,
      brotli: path.endsWith('unknown') ? null : `${at}.br`,
      gzip: `${at}.gz`,
    };
  });

const newConnections = () => createConnections(defaultConnectionLimits, null, Date.now);

function open(name: string, connections = newConnections()): HttpServer {
  const door = openHttpServer({
    host: '127.0.0.1',
    port: 0,
    forwardedSocket: join(dir, name),
    relay,
    mayServe: () => mayServe,
    connections,
    controlSocket: join(dir, name === 'alone' ? 'nobody' : 'control'),
    isTrustedProxy: (address) => address === '10.0.0.1' || (name === 'trusting' && address === '127.0.0.1'),
    secureHost: () => 'ours.example',
    consoleAsset: createConsoleAssets(() => ({ botCheck: false, payAddress: '' }), '', embedded()),
  });
  doors.push(door);
  return door;
}

type Asked = readonly [method: string, path: string, headers?: Record<string, string>, body?: string];
const kept =
  /^(x-|access-|cache-control|connection$|content-encoding|content-type|location|retry-after|strict|vary|allow|etag|referrer)/;

async function answerOf(port: number, [method, path, headers = {}, body]: Asked): Promise<string[]> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { 'accept-encoding': 'identity', ...headers },
    redirect: 'manual',
    ...(body === undefined ? {} : { body }),
  });
  const text = (await response.text()).replaceAll(String(port), 'PORT');
  const found = [...response.headers].filter(([name]) => kept.test(name)).map(([name, value]) => `${name}: ${value}`);
  return [`  ${response.status} ${text}`, ...(found.length === 0 ? [] : [`    ${found.join('; ')}`])];
}

async function course(port: number, requests: readonly Asked[]): Promise<string[]> {
  const lines: string[] = [];
  for (const one of requests) {
    const [method, path, headers = {}, body] = one;
    const shown = Object.entries(headers).map(([name, value]) => ` ${name}: ${value}`);
    lines.push(`${method} ${path}${shown.join('')}${body === undefined ? '' : ` (${body.length} bytes)`}`);
    lines.push(...(await answerOf(port, one)));
  }
  return lines;
}

/** Bytes as they are, for what no client sends. */
const raw = (port: number, text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => void socket.write(text));
    let got = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => {
      got += chunk;
      if (got.includes('\r\n\r\n')) socket.end();
    });
    socket.on('close', () => resolve(got.replace(/^date:.*\r\n/im, '').trimEnd()));
    socket.on('error', reject);
  });

const everything: readonly Asked[] = [
  ['GET', '/'],
  ['HEAD', '/'],
  ['POST', '/', {}, 'x'],
  ['GET', '/some/page?x=1'],
  ['GET', '/', { host: 'OURS.example' }],
  ['GET', '/', { 'x-forwarded-proto': 'https' }],
  ['GET', '/assets/app-1.js'],
  ['GET', '/assets/app-2.js'],
  ['GET', '/icon.svg'],
  ['GET', '/missing.png'],
  ['GET', '/docs/en'],
  ['GET', '/v1/chat/completions'],
  ['POST', '/v1/chat/completions', { 'x-forwarded-for': '192.0.2.1' }, '{}'],
  ['POST', '/v1/chat/completions', { origin: 'https://page.example' }, '{}'],
  [
    'OPTIONS',
    '/v1/chat/completions',
    {
      origin: 'https://page.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, x-own',
    },
  ],
  [
    'OPTIONS',
    '/v1/chat/completions',
    {
      origin: 'https://page.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'a: b',
    },
  ],
  ['OPTIONS', '/v1/chat/completions', { origin: 'https://page.example' }],
  ['OPTIONS', '/v1/chat/completions', { 'access-control-request-method': 'POST' }],
  ['POST', '/pg/chat/completions', { origin: 'https://page.example' }, '{}'],
  ['GET', '/api/hello'],
  ['GET', '/api/status?a=b', { 'x-gateway-client-ip': '8.8.8.8', 'x-gateway-tls': '1', 'x-own': 'stays' }],
  ['GET', '/api/status', { host: 'ours.example', 'x-forwarded-for': '192.0.2.1, 10.0.0.1' }],
  ['POST', '/api/status', { 'content-type': 'text/plain' }, 'x'.repeat(70_000)],
  ['POST', '/api/status', {}, 'x'.repeat(1_048_576 + 9)],
  ['DELETE', '/api/status'],
  ['GET', '/api/away'],
  ['GET', '/API/status'],
  ['GET', '/metrics', { 'accept-language': 'zh' }],
  ['GET', '/%61pi/status'],
  ['GET', '/health'],
  ['GET', '/healthz'],
  ['HEAD', '/readyz'],
  ['POST', '/readyz'],
  ['GET', '/v1/realtime'],
];

test('every kind of request, before, while and after it leaves', async () => {
  const lines: string[] = ['# it serves'];
  const door = open('one');
  lines.push(...(await course(door.port, everything)));
  lines.push('# as nobody’s client sends it');
  for (const text of [
    'GET /healthz HTTP/1.0\r\n\r\n',
    'GET /v1/models HTTP/1.0\r\n\r\n',
    'GET /api/status?x HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n',
    'GET /page HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
    'GET /v1/realtime HTTP/1.1\r\nHost: h\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n\r\n',
    'GET /v1/realtime?model=m HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
    'GET /v1/realtime?model=m&as=realtime HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  ])
    lines.push(
      JSON.stringify(text),
      ...(await raw(door.port, text)).split('\r\n').map((line) => `  ${line.replace(/[^ -~]+/g, '?')}`),
    );
  lines.push('# it trusts who connects');
  lines.push(
    ...(await course(open('trusting').port, [
      ['GET', '/api/status', { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https, http' }],
      ['POST', '/v1/chat/completions', { 'x-forwarded-for': '192.0.2.1, 10.0.0.1' }, '{}'],
      ['GET', '/', { 'x-forwarded-proto': 'HTTPS' }],
    ])),
  );
  lines.push('# the API is away');
  lines.push(
    ...(await course(open('alone').port, [
      ['GET', '/api/status'],
      ['POST', '/api/status', { 'accept-language': 'zh-CN' }, 'x'],
      ['GET', '/readyz'],
    ])),
  );
  lines.push('# there is too much, and no disk');
  isOverloaded = true;
  mayServe = false;
  lines.push(
    ...(await course(door.port, [
      ['POST', '/v1/chat/completions', { origin: 'https://page.example' }, '{}'],
      ['GET', '/readyz'],
      ['GET', '/healthz'],
      ['GET', '/api/status'],
    ])),
  );
  isOverloaded = false;
  lines.push('# it leaves');
  door.leave();
  lines.push(
    ...(await course(
      door.port,
      everything
        .filter(([method]) => method !== 'HEAD')
        .slice(0, 30)
        .filter((_, index) => index % 3 === 0),
    )),
  );
  lines.push(
    ...(await course(door.port, [
      ['GET', '/readyz'],
      ['GET', '/api/hello'],
      ['GET', '/v1/models'],
      ['GET', '/nowhere.js'],
    ])),
  );
  mayServe = true;
  lines.push(...(await course(door.port, [['GET', '/readyz']])));
  lines.push('# it drains');
  door.drain();
  lines.push(
    ...(await course(door.port, [
      ['GET', '/'],
      ['GET', '/api/status', { 'accept-language': 'zh' }],
      ['POST', '/v1/chat/completions', { origin: 'https://page.example' }, '{}'],
      ['GET', '/readyz'],
      ['GET', '/healthz'],
    ])),
  );
  expectGolden('tests/http/outlines/front.txt', lines);
  await door.stop(0);
  await expect(fetch(`http://127.0.0.1:${door.port}/healthz`)).rejects.toThrow();
});

test('another server takes over: what comes meanwhile waits, goes to it whole, or is served here after all', async () => {
  const connections = newConnections();
  const first = open('first', connections);
  const second = open('second');
  const ask = (path: string, headers: Record<string, string> = {}, body?: string) =>
    answerOf(first.port, [body === undefined ? 'GET' : 'POST', path, headers, body]);
  const gate = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  api = () => {
    arrived.resolve();
    return gate.promise;
  };
  const before = ask('/api/before');
  await arrived.promise;
  let quiet = false;
  const paused = first.pause().then(() => {
    quiet = true;
  });
  const order: string[] = [];
  const waiting = ['/v1/models', '/api/status?x=1'].map((path) =>
    ask(path).then((lines) => {
      order.push(path);
      return lines;
    }),
  );
  await Bun.sleep(20);
  expect([quiet, order]).toEqual([false, []]);
  gate.resolve();
  expect((await before)[0]).toContain('"path":"/api/before"');
  await paused;
  expect(order).toEqual([]);
  expect(first.forwarded()).toBe(0);
  first.forwardTo(join(dir, 'second'));
  api = async () => undefined;
  const passed = await Promise.all(waiting);
  const more = [
    await ask('/api/late', { 'x-forwarded-for': '192.0.2.9' }, 'body'),
    await ask('/v1/chat/completions', { 'x-gateway-handed-from': '8.8.8.8' }, 'a longer body'),
    await ask('/'),
  ];
  expect(
    [...passed, ...more].map((lines) => lines.join('\n').replaceAll(String(second.port), 'SECOND')),
  ).toMatchInlineSnapshot(`
    [
      "  200 {"who":"relay","method":"GET","path":"/v1/models","ip":"127.0.0.1","body":0}
        connection: close; content-type: application/json;charset=utf-8; x-answered-by: relay",
      "  200 {"who":"api","method":"GET","path":"/api/status?x=1","host":"127.0.0.1:PORT","x-gateway-client-ip":"127.0.0.1","body":0}
        connection: close; content-type: application/json;charset=utf-8; x-answered-by: api",
      "  200 {"who":"api","method":"POST","path":"/api/late","content-length":"4","host":"127.0.0.1:PORT","x-forwarded-for":"192.0.2.9","x-gateway-client-ip":"127.0.0.1","x-gateway-undeclared-proxy":"127.0.0.1","body":4}
        connection: close; content-type: application/json;charset=utf-8; x-answered-by: api",
      "  200 {"who":"relay","method":"POST","path":"/v1/chat/completions","ip":"127.0.0.1","body":13}
        connection: close; content-type: application/json;charset=utf-8; x-answered-by: relay",
      "  200 <!doctype html>
        cache-control: no-cache; connection: close; content-type: text/html; charset=utf-8; etag: "fe26c59e91ac8de694b2"; referrer-policy: same-origin; vary: accept-encoding; x-content-type-options: nosniff",
    ]
  `);
  const slow = Promise.withResolvers<void>();
  api = () => slow.promise;
  const open3 = ask('/api/slow');
  await expect.poll(() => first.forwarded()).toBe(1);
  // Its connection is in use, and none of those that are idle when descriptors run short.
  expect([...connections.busy()].filter(([port]) => port > 0)).toEqual([[expect.any(Number), true]]);
  slow.resolve();
  await open3;
  api = async () => undefined;
  void first.pause();
  first.forwardTo(join(dir, 'nobody-there'));
  expect(await ask('/v1/models')).toEqual([
    '  503 {"who":"relay","refused":"shutting_down","path":"/v1/models"}',
    '    connection: close; content-type: application/json;charset=utf-8; retry-after: 1',
  ]);
  expect(await ask('/api/status', { 'accept-language': 'zh' })).toEqual([
    '  503 {"success":false,"message":"服务正在关闭","code":"shutting_down"}',
    '    connection: close; content-type: application/json; charset=utf-8; retry-after: 1',
  ]);
  // It did not come after all.
  void first.pause();
  const kept = ask('/v1/models');
  first.forwardTo(null);
  expect((await kept)[0]).toContain('"who":"relay"');
  expect((await ask('/v1/models'))[0]).toContain('"who":"relay"');
  expect(first.forwarded()).toBe(0);
});

/** What a socket hears, and how it ends. */
function socketOf(port: number, path: string, headers: Record<string, string> = {}) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers } as unknown as string[]);
  const heard: unknown[] = [];
  socket.addEventListener('message', ({ data }) => void heard.push(data));
  const ended = new Promise<string>((resolve) =>
    socket.addEventListener('close', ({ code, reason }) => resolve(`${code} ${reason}`)),
  );
  return { socket, heard, ended };
}

test('a socket over a connection of the first of three servers has its conversation at the third: frames, close codes and refusals pass both ways', async () => {
  const [first, second, third] = [open('one'), open('two'), open('three')];
  const said: unknown[] = [];
  hearing = (client, data) => {
    said.push(data);
    if (data === 'end') client.close(4321, 'as the upstream says');
    else client.send(data);
  };
  for (const [door, name] of [
    [first, 'two'],
    [second, 'three'],
  ] as const) {
    void door.pause();
    door.forwardTo(join(dir, name));
  }
  const whole = socketOf(first.port, '/v1/realtime?model=m&as=realtime', {
    'sec-websocket-protocol': 'realtime, another',
    'x-gateway-handed-from': '8.8.8.8',
  });
  await expect.poll(() => whole.heard).toEqual(['opened']);
  expect([whole.socket.protocol, realtimeFrom]).toEqual(['realtime', '127.0.0.1']);
  expect([first.forwarded(), second.forwarded(), third.forwarded()]).toEqual([1, 1, 0]);
  whole.socket.send('words');
  await expect.poll(() => whole.heard).toEqual(['opened', 'words']);
  whole.socket.send('end');
  expect(await whole.ended).toBe('4321 as the upstream says');
  expect(said).toEqual(['words', 'end']);
  await expect.poll(() => first.forwarded() + second.forwarded()).toBe(0);
  const upgrading = { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
  const key = { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
  expect(await answerOf(first.port, ['GET', '/v1/realtime', { ...upgrading, ...key }])).toEqual([
    '  200 {"who":"relay: no model","method":"GET"}',
    '    connection: close; content-type: application/json;charset=utf-8; x-answered-by: relay: no model',
  ]);
  // The second has told of the third.
  first.forwardTo(join(dir, 'three'));
  const direct = socketOf(first.port, '/v1/realtime?model=m');
  await expect.poll(() => direct.heard).toEqual(['opened']);
  expect([first.forwarded(), second.forwarded()]).toEqual([1, 0]);
  await first.stop(0);
  expect(await direct.ended).toBe('1001 shutting_down');
});

test('a stop waits for what is open as long as it may', async () => {
  const door = open('stopping');
  openAnswers = 1;
  const from = performance.now();
  await door.stop(150);
  expect(performance.now() - from).toBeGreaterThan(145);
  openAnswers = 0;
});

test.each([
  ['http://h/a/b?c=d', '/a/b'],
  ['http://h', '/'],
  ['http://h?x', '/'],
  ['/only/a/path?x', '/only/a/path'],
  ['https://h.example:8443/', '/'],
])('the path of %s is %s', (url, path) => expect(pathOf(url)).toBe(path));

test('files of the console: which bytes, how long they are kept, and what a page may load', async () => {
  const lines: string[] = [];
  const info = { botCheck: false, payAddress: '' };
  const assets = createConsoleAssets(() => info, '', embedded());
  const say = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const response = assets(new Request(`http://h${path}`, { method, headers }), path);
    const shown = Object.entries(headers).map(([name, value]) => ` ${name}: ${value}`);
    lines.push(`${method} ${path}${shown.join('')}`);
    if (response === null) return void lines.push('  nothing');
    lines.push(
      `  ${response.status} ${(await response.bytes()).length} bytes`,
      ...[...response.headers].map(([name, value]) => `    ${name}: ${value}`),
    );
  };
  for (const path of Object.keys(files)) await say(path);
  for (const encoding of ['br', 'gzip', 'gzip, br', 'br;q=0, gzip', 'BR; q=0.5', 'br ; q=0.000', 'deflate', 'xbr'])
    await say('/assets/app-1.js', { 'accept-encoding': encoding });
  await say('/plain.unknown', { 'accept-encoding': 'br, gzip' });
  await say('/icon.svg', { 'accept-encoding': 'br;q=0' });
  const etag = assets(new Request('http://h/'), '/')?.headers.get('etag') ?? '';
  await say('/', { 'if-none-match': etag });
  await say('/', { 'if-none-match': '"other"' });
  await say('/any/page');
  await say('/any/page.HTML');
  for (const path of [
    '/a.js',
    '/a.MJS',
    '/x/y.woff',
    '/x.woff2',
    '/x.jpeg',
    '/x.webmanifest',
    '/assets/none',
    '/docs',
    '/docs/en/none',
    '/docs/de',
    '/docsy',
  ])
    await say(path);
  for (const method of ['HEAD', 'POST', 'DELETE']) await say('/', {}, method);
  for (const payAddress of [
    'http://pay.example:81/x',
    'https://pay.example/x',
    'HTTP://pay.example',
    'http://',
    'nonsense',
  ]) {
    info.payAddress = payAddress;
    info.botCheck = !info.botCheck;
    lines.push(
      `# pays at ${payAddress}`,
      `  ${assets(new Request('http://h/'), '/')?.headers.get('content-security-policy')}`,
    );
  }
  const none = createConsoleAssets(() => info, '', []);
  expect([none(new Request('http://h/'), '/'), none(new Request('http://h/docs/en'), '/docs/en')]).toEqual([
    null,
    null,
  ]);
  expectGolden('tests/http/outlines/files.txt', lines);
});
