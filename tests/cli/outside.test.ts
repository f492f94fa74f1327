/** `gateway doctor --url` without a login: what a proxy in between does to requests is named, with lines that mend it. */

import type { Server } from 'bun';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lookFromOutside } from '../../cli/commands/site/outside.ts';
import type { Context } from '../../cli/context.ts';
import { Reach } from '../../server/http/reach.ts';

interface Fault {
  /** What the proxy does to a request before it is passed on. */
  readonly request?: (url: URL, headers: Headers) => void;
  /** What it answers by itself; null = nothing. */
  readonly answer?: (request: Request) => Response | null;
  /** What it does to an answer. */
  readonly response?: (response: Response, request: Request) => Response | Promise<Response>;
  /** Milliseconds by which the server's clock is ahead. */
  readonly skewMs?: number;
  readonly forwarded?: 'none' | 'untrusted';
}

let fault: Fault = {};
let proxy: Server<undefined>;
/** As a listener would: what is no question from outside needs a key. */
const gateway = (request: Request): Response | Promise<Response> => {
  const now = () => Date.now() + (fault.skewMs ?? 0);
  const set = (run: () => void, ms: number) => setTimeout(run, ms);
  const clock = { now, set, monoNow: () => performance.now(), every: set };
  if (new URL(request.url).pathname.startsWith('/api/reach'))
    return new Reach(clock).answer(request, { forwarded: fault.forwarded ?? 'believed', secure: false });
  return Response.json({ error: { message: 'no key' } }, { status: 401 });
};
beforeAll(() => {
  proxy = Bun.serve({
    port: 0,
    idleTimeout: 30,
    async fetch(request) {
      const own = fault.answer?.(request) ?? null;
      if (own !== null) return own;
      const url = new URL(request.url);
      const headers = new Headers(request.headers);
      fault.request?.(url, headers);
      const { method, body, signal } = request;
      const answer = await gateway(new Request(url, { method, headers, body, signal }));
      answer.headers.set('server', 'nginx');
      return (await fault.response?.(answer, request)) ?? answer;
    },
  });
});
afterAll(() => proxy.stop(true));

async function look(planted: Fault, path = '') {
  fault = planted;
  const context = { url: `http://127.0.0.1:${proxy.port}${path}`, say: (_zh: string, en: string) => en };
  const findings = await lookFromOutside(context as unknown as Context, { silentMs: 60, everyMs: 20, proxy: '' });
  return findings.filter(({ result }) => result !== 'ok');
}
/** All that is sent comes together. */
const together = async (response: Response): Promise<Response> =>
  new Response(await response.arrayBuffer(), { status: response.status, headers: response.headers });
const isStream = ({ url }: Request): boolean => url.includes('pieces=');

test('a sound site yields no findings', async () => {
  expect(await look({})).toEqual([]);
});

test.each<readonly [string, Fault, string, string, string]>([
  [
    'decodes paths',
    {
      request: (url) => {
        url.pathname = decodeURIComponent(url.pathname);
      },
    },
    'path',
    '/api/reach/a/b',
    'proxy_pass',
  ],
  [
    'drops a header',
    { request: (_url, headers) => headers.delete('authorization') },
    'headers',
    'authorization',
    'authorization',
  ],
  [
    'drops names with an underscore',
    { request: (_url, headers) => headers.delete('session_id') },
    'headers',
    'session_id',
    'underscores_in_headers on;',
  ],
  [
    'writes another host',
    { request: (_url, headers) => headers.set('host', 'gateway_upstream') },
    'host',
    'gateway_upstream',
    'proxy_set_header Host $http_host;',
  ],
  ['hides who calls', { forwarded: 'none' }, 'client address', 'X-Forwarded-For', 'proxy_set_header X-Forwarded-For'],
  ['is not declared', { forwarded: 'untrusted' }, 'client address', 'not trusted', 'general_setting.trusted_proxies='],
  ['has a clock ahead', { skewMs: 300_000 }, 'clock', '300 s ahead', 'set-ntp'],
  ['has a clock behind', { skewMs: -300_000 }, 'clock', '300 s behind', 'set-ntp'],
  [
    'answers from a cache',
    {
      response: (response, { url }) =>
        url.endsWith('/same') ? Response.json({ gateway: true, once: 'kept' }) : response,
    },
    'cache',
    'one answer',
    'proxy_cache off;',
  ],
  [
    'replaces refusals',
    { response: (response) => (response.status === 401 ? new Response('<html>', { status: 401 }) : response) },
    'errors',
    '401',
    'proxy_intercept_errors off;',
  ],
  [
    'answers refusals with 200',
    { response: (response) => (response.status === 401 ? Response.json({ error: 1 }) : response) },
    'errors',
    '200',
    'proxy_intercept_errors off;',
  ],
  [
    'knows two methods',
    { answer: ({ method }) => (/^(GET|POST)$/.test(method) ? null : new Response('', { status: 405 })) },
    'methods',
    'PUT, PATCH, DELETE',
    'limit_except',
  ],
  [
    'refuses large bodies',
    { answer: ({ method }) => (method === 'POST' ? new Response('', { status: 413 }) : null) },
    'body size',
    '413',
    'client_max_body_size 64m;',
  ],
  [
    'takes a part of a body',
    {
      response: (response, { method }) =>
        method === 'POST' ? Response.json({ gateway: true, bytes: 1_048_576 }) : response,
    },
    'body size',
    '8 MB',
    'client_max_body_size',
  ],
  [
    'holds streams back',
    { response: (response, request) => (isStream(request) ? together(response) : response) },
    'streams',
    'one piece',
    'proxy_buffering off;',
  ],
  [
    'cuts silence off',
    { answer: ({ url }) => (url.includes('silent=') ? new Response('', { status: 504 }) : null) },
    'silence',
    '504',
    'proxy_read_timeout 600s;',
  ],
  [
    'drops Upgrade',
    { request: (_url, headers) => headers.delete('upgrade') },
    'sockets',
    'Upgrade',
    'proxy_set_header Upgrade $http_upgrade;',
  ],
])('a proxy that %s is named, and nothing else', async (_name, planted, check, detail, line) => {
  const [found, ...others] = await look(planted);
  expect(others).toEqual([]);
  expect(found).toMatchObject({ check, detail: expect.stringContaining(detail), fix: expect.stringContaining(line) });
});

test('streams that are compressed are named, whether or not their pieces come one by one', async () => {
  const compressed = async (response: Response, request: Request): Promise<Response> => {
    if (!isStream(request)) return response;
    const headers = { 'content-encoding': 'gzip', 'content-type': 'text/event-stream' };
    return new Response(Bun.gzipSync(new Uint8Array(await response.arrayBuffer())), { headers });
  };
  expect((await look({ response: compressed })).map(({ check }) => check)).toEqual(['streams', 'compression']);
});

test.each<readonly [string, Fault, string, string]>([
  ['a gateway that is not running', { answer: () => new Response('', { status: 502 }) }, 'reach', '502'],
  ['another server', { answer: () => new Response('<html>', { status: 200 }) }, 'reach', 'no gateway'],
  [
    'an older gateway',
    {
      answer: ({ url }) =>
        url.endsWith('/api/status') ? Response.json({ success: true }) : new Response('{}', { status: 404 }),
    },
    'reach',
    'a version',
  ],
])('behind the address %s is told, and nothing more is asked', async (_name, planted, check, detail) => {
  expect(await look(planted)).toMatchObject([{ check, result: 'fail', detail: expect.stringContaining(detail) }]);
});

test('a path that the gateway does not know is named with the setting for it', async () => {
  const refusal = () => Response.json({ code: 'route_unknown' }, { status: 404 });
  expect(await look({ answer: refusal }, '/ai')).toMatchObject([
    { check: 'path', detail: expect.stringContaining('/ai'), fix: 'gateway serve --base-path /ai' },
  ]);
});

test('a path that is taken off is in order', async () => {
  const takesOff = (url: URL): void => {
    url.pathname = url.pathname.replace('/ai/', '/');
  };
  expect(await look({ request: takesOff }, '/ai')).toEqual([]);
});

test('a redirection is followed and told: a POST would lose its body', async () => {
  const moved = ({ url }: Request) =>
    url.includes('/old/') ? Response.redirect(url.replace('/old/', '/'), 301) : null;
  expect(await look({ answer: moved }, '/old')).toMatchObject([
    { check: 'redirect', result: 'warn', detail: expect.stringContaining('301') },
  ]);
});

test('an address where nothing listens is told in words', async () => {
  const context = { url: 'http://127.0.0.1:1', say: (_zh: string, en: string) => en };
  const findings = await lookFromOutside(context as unknown as Context, { silentMs: 0, proxy: '' });
  expect(findings).toMatchObject([{ check: 'reach', result: 'fail', detail: expect.stringContaining('127.0.0.1:1') }]);
});
