/**
 * A site under a path behind a real nginx, Caddy and HAProxy, each of them once with the path passed on and once with the
 * path taken off: `node scripts/launch.mjs lab/measure/proxies [--gateway FILE]`. Needs the three programs
 * (`apt-get install nginx-light caddy haproxy`), and an executable or a built console (`node scripts/launch.mjs build`). Prints a line a
 * proxy; exits 1 where one fails.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { ServerWebSocket } from 'bun';
import { endAll, freePort, ownProgram, start, waitForResponse } from '../../../cli/bench/process.ts';

const basePath = '/ai';
const at = process.argv.indexOf('--gateway');
/** The executable, or these sources. */
const program = at < 0 ? ownProgram : [resolve(process.argv[at + 1] ?? '')];
const home = mkdtempSync(join(tmpdir(), 'gateway-proxies-'));
const betweenMs = 300;

const frame = (content: string): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;

/** Streams two words with a pause between, and answers a socket's first message. */
const upstream = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request, server) {
    if (server.upgrade(request, { data: undefined })) return undefined;
    await request.text();
    const bytes = new TextEncoder();
    const answer = new ReadableStream({
      async start(controller) {
        controller.enqueue(bytes.encode(frame('first')));
        await Bun.sleep(betweenMs);
        controller.enqueue(bytes.encode(`${frame('second')}data: [DONE]\n\n`));
        controller.close();
      },
    });
    return new Response(answer, { headers: { 'content-type': 'text/event-stream' } });
  },
  websocket: {
    open: (socket: ServerWebSocket<undefined>) =>
      void socket.send('{"type":"session.created","session":{"type":"realtime","model":"m"}}'),
    message: () => undefined,
  },
});

/** A provider of identities: whoever comes is signed in at once, a code is good for one token, and a token for one look at who it is. */
const codes = new Map<string, { readonly back: string; readonly nonce: string }>();
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const identities = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/authorize') {
      const code = crypto.randomUUID();
      const back = searchParams.get('redirect_uri') ?? '';
      codes.set(code, { back, nonce: searchParams.get('nonce') ?? '' });
      const state = searchParams.get('state') ?? '';
      return Response.redirect(`${back}?${new URLSearchParams({ code, state })}`, 302);
    }
    if (pathname === '/token') {
      const form = new URLSearchParams(await request.text());
      const known = codes.get(form.get('code') ?? '');
      codes.delete(form.get('code') ?? '');
      if (known?.back !== form.get('redirect_uri') || form.get('client_secret') !== 'secret')
        return Response.json({ error: 'invalid_grant' }, { status: 400 });
      const now = Math.floor(Date.now() / 1000);
      const claims = { iss: new URL(request.url).origin, aud: 'x', sub: 'somebody', nonce: known?.nonce };
      const token = `${part({ alg: 'none' })}.${part({ ...claims, iat: now, exp: now + 60 })}.`;
      return Response.json({ access_token: 'good', token_type: 'Bearer', expires_in: 60, id_token: token });
    }
    if (request.headers.get('authorization') !== 'Bearer good') return new Response(null, { status: 401 });
    return Response.json({ sub: 'somebody', preferred_username: 'somebody', email: 'somebody@site.example' });
  },
});

type Configuration = (front: number, port: number, taken: boolean) => string;

const nginx: Configuration = (front, port, taken) => `daemon off; pid ${home}/nginx-${front}.pid;
events {}
http {
  access_log off; client_body_temp_path ${home}/${front}-body; proxy_temp_path ${home}/${front}-proxy;
  fastcgi_temp_path ${home}/${front}-f; uwsgi_temp_path ${home}/${front}-u; scgi_temp_path ${home}/${front}-s;
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  server {
    listen 127.0.0.1:${front};
    location / { return 404 neighbour; }
    location = ${basePath} { return 308 ${basePath}/; }
    location ${basePath}/ {
      proxy_pass http://127.0.0.1:${port}${taken ? '/' : ''};
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
    }
  }
}`;

const caddy: Configuration = (front, port, taken) => `{
  admin off
  auto_https off
}
http://127.0.0.1:${front} {
  redir ${basePath} ${basePath}/ 308
  ${taken ? 'handle_path' : 'handle'} ${basePath}/* {
    reverse_proxy 127.0.0.1:${port}
  }
  handle {
    respond neighbour 404
  }
}`;

const haproxy: Configuration = (front, port, taken) => `defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout tunnel 1h
  option http-no-delay
  option forwardfor
frontend site
  bind 127.0.0.1:${front}
  http-request redirect code 308 location ${basePath}/ if { path ${basePath} }
  http-request return status 404 content-type text/plain string neighbour unless { path_beg ${basePath}/ }
  default_backend gateway
backend gateway
  ${taken ? `http-request replace-path ${basePath}(/.*) \\1` : ''}
  server one 127.0.0.1:${port}
`;

const programs: readonly (readonly [
  name: string,
  command: (file: string) => string[],
  configuration: Configuration,
])[] = [
  ['nginx', (file) => ['nginx', '-c', file, '-e', `${file}.log`], nginx],
  ['Caddy', (file) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file], caddy],
  ['HAProxy', (file) => ['haproxy', '-f', file], haproxy],
];

async function run(args: readonly string[], input = ''): Promise<string> {
  const child = Bun.spawn([...program, ...args], {
    env: { ...process.env, GATEWAY_DATA_DIR: join(home, 'data') },
    stdin: new Blob([input]),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${args.join(' ')}: ${error}`);
  return out.trim();
}

type Check = readonly [name: string, holds: (base: string, key: string) => Promise<boolean>];

const get = (url: string, headers: Record<string, string> = {}) => fetch(url, { redirect: 'manual', headers });
const leadsTo = async (response: Response, path: string): Promise<boolean> =>
  [301, 302, 308].includes(response.status) &&
  new URL(response.headers.get('location') ?? '', 'http://site.example').pathname === path;

/** As a browser does: to the provider and back to the page under the path, which asks with its cookie. */
async function signsIn(base: string): Promise<boolean> {
  const begun = await fetch(`${base}/api/oauth/begin`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'oidc', aff: '', bind: false }),
  });
  const cookies = begun.headers.getSetCookie();
  const cookie = cookies.map((text) => text.split(';')[0]).join('; ');
  const { data } = (await begun.json()) as { data: { url: string } };
  const back = new URL((await get(data.url)).headers.get('location') ?? 'http://nowhere.example');
  if (back.origin + back.pathname !== `${base}/oauth/oidc`) return false;
  const page = await get(back.href, { accept: 'text/html' });
  const signed = await get(`${base}/api/oauth/oidc${back.search}`, { cookie });
  const { success, data: user } = (await signed.json()) as { success: boolean; data?: { id: number } };
  const session = signed.headers.getSetCookie();
  const self = await get(`${base}/api/user/self`, {
    cookie: session.map((text) => text.split(';')[0]).join('; '),
    'new-api-user': String(user?.id ?? 0),
  });
  const whole = (await self.json()) as { data?: { oidc_id?: string } };
  return (
    page.status === 200 &&
    success &&
    whole.data?.oidc_id === 'somebody' &&
    [...cookies, ...session].every((text) => text.includes(`Path=${basePath};`))
  );
}

const checks: readonly Check[] = [
  ['neighbour', async (base) => (await (await get(`${new URL(base).origin}/x`)).text()) === 'neighbour'],
  ['slash', async (base) => leadsTo(await get(base), `${basePath}/`)],
  [
    'deep link and its files',
    async (base) => {
      const page = await (await get(`${base}/channel/edit/7?x=1`, { accept: 'text/html' })).text();
      const files = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path);
      const found = await Promise.all(files.map(async (path) => (await get(new URL(base).origin + path)).status));
      return (
        files.length > 2 && files.every((path) => path.startsWith(`${basePath}/`)) && found.every((is) => is === 200)
      );
    },
  ],
  ['documentation', async (base) => leadsTo(await get(`${base}/docs`), `${basePath}/docs/en`)],
  [
    'login and cookie',
    async (base) => {
      const response = await fetch(`${base}/api/user/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ username: 'root', password: 'password1' }),
      });
      const { data } = (await response.json()) as { data: { id: number } };
      const cookies = response.headers.getSetCookie();
      const self = await get(`${base}/api/user/self`, {
        cookie: cookies.map((text) => text.split(';')[0]).join('; '),
        'new-api-user': String(data.id),
      });
      return cookies.length > 0 && cookies.every((text) => text.includes(`Path=${basePath};`)) && self.status === 200;
    },
  ],
  ['sign-in by OIDC', signsIn],
  [
    'stream as it comes',
    async (base, key) => {
      const response = await fetch(`${base}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }] }),
      });
      let first = 0;
      let text = '';
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) {
        if (first === 0) first = performance.now();
        text += decoder.decode(chunk, { stream: true });
      }
      return text.includes('second') && performance.now() - first > betweenMs / 2;
    },
  ],
  [
    'socket',
    (base, key) => {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const socket = new WebSocket(`${base.replace('http', 'ws')}/v1/realtime?model=m`, {
        headers: { authorization: `Bearer ${key}` },
      } as never);
      socket.onmessage = ({ data }) => resolve(String(data).includes('session.created'));
      socket.onerror = () => resolve(false);
      return promise.finally(() => socket.close());
    },
  ],
];

let failed = 0;
try {
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], 'password1');
  const address = ['--base-url', `http://127.0.0.1:${upstream.port}`, '--models', 'm'];
  await run(['channel', 'add', '--type', 'openai', '--name', 'up', ...address, '--key-stdin'], 'k');
  const key = await run(['token', 'create', '--name', 'proxies', '--quota', 'unlimited', '-q']);
  for (const option of [
    'oidc.client_id=x',
    `oidc.authorization_endpoint=http://127.0.0.1:${identities.port}/authorize`,
    `oidc.token_endpoint=http://127.0.0.1:${identities.port}/token`,
    `oidc.user_info_endpoint=http://127.0.0.1:${identities.port}/me`,
  ])
    await run(['option', 'set', option]);
  await run(['option', 'set', 'oidc.client_secret=-'], 'secret');
  await run(['option', 'set', 'oidc.enabled=true']);
  const port = freePort();
  start(null, [...program, 'serve', '--port', String(port), '--base-path', basePath], {
    GATEWAY_DATA_DIR: join(home, 'data'),
  });
  await waitForResponse(`http://127.0.0.1:${port}/api/status`, (status) => status === 200);
  for (const [name, command, configuration] of programs)
    for (const taken of [false, true]) {
      const front = freePort();
      const file = join(home, `${name}-${front}.conf`);
      writeFileSync(file, configuration(front, port, taken));
      start(null, command(file));
      const base = `http://127.0.0.1:${front}${basePath}`;
      await waitForResponse(`${base}/api/status`, (status) => status === 200);
      await run(['option', 'set', `ServerAddress=${base}`]);
      const wrong: string[] = [];
      for (const [what, holds] of checks) if (!(await holds(base, key))) wrong.push(what);
      failed += wrong.length;
      const works = `${checks.length - wrong.length} of ${checks.length}`;
      console.log(
        `${name}, path ${taken ? 'taken off' : 'passed on'}: ${works}${wrong.map((one) => `; ${one}`).join('')}`,
      );
    }
} finally {
  await endAll();
  await upstream.stop(true);
  await identities.stop(true);
  rmSync(home, { recursive: true, force: true });
}
process.exit(failed === 0 ? 0 : 1);
