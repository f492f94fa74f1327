import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSandbox, type Sandbox, setUp } from './support.ts';

let sandbox: Sandbox;
let upstream: Server;
let talking: ReturnType<typeof Bun.serve>;
let sockets: Socket[];
let served: Bun.Subprocess<'ignore', 'pipe', 'pipe'> | null;

const silentMs = 16_000;
const chunk = (text: string) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: text } }] })}\n\n`;

beforeEach(async () => {
  sandbox = createSandbox();
  sockets = [];
  served = null;
  // Says something, then nothing for long, then the rest.
  upstream = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk('first'));
      setTimeout(() => response.end(`${chunk('last')}data: [DONE]\n\n`), silentMs);
    });
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  talking = Bun.serve<undefined>({
    port: 0,
    fetch: (request, server) => (server.upgrade(request, { data: undefined }) ? undefined : new Response('[]')),
    websocket: { message: (socket, data) => void socket.send(data) },
  });
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  served?.kill('SIGKILL');
  await served?.exited;
  upstream.closeAllConnections();
  upstream.close();
  await talking.stop(true);
  await sandbox.close();
});

/** @returns the port. */
async function serve(files: string, env: Record<string, string> = {}): Promise<number> {
  const child = Bun.spawn(['bash', '-c', `ulimit ${files} && exec ./gateway serve --port 0`], {
    cwd: sandbox.dir,
    env: { PATH: '/usr/bin:/bin', TERM: 'dumb', LANG: 'C', GATEWAY_DATA_DIR: sandbox.dataDir, ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  served = child;
  let text = '';
  const reader = child.stdout.getReader();
  while (!/127\.0\.0\.1:\d+\n/.test(text)) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`ended early: ${await new Response(child.stderr).text()}`);
    text += new TextDecoder().decode(value);
  }
  reader.releaseLock();
  return Number(/127\.0\.0\.1:(\d+)/.exec(text)?.[1]);
}

interface Wire {
  readonly socket: Socket;
  received(): string;
  /** Milliseconds until the server closed it, null while it has not. */
  closedMs(): number | null;
}

async function wire(port: number, print = ''): Promise<Wire> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  sockets.push(socket);
  const started = performance.now();
  let received = '';
  let closed: number | null = null;
  const end = () => {
    closed ??= performance.now() - started;
  };
  socket
    .on('data', (bytes) => {
      received += bytes.toString('latin1');
    })
    .on('end', end)
    .on('close', end)
    .on('error', end);
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
  if (print !== '') socket.write(print);
  return { socket, received: () => received, closedMs: () => closed };
}

const get = 'GET /api/hello HTTP/1.1\r\nHost: x\r\n\r\n';
const post = (path: string, headers: string, body = '') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n${body}`;
/** Says a piece from time to time until it is stopped or the other side has gone. */
function drip(one: Wire, piece: () => string, ms: number): void {
  const timer = setInterval(() => {
    if (one.closedMs() === null && one.socket.writable) one.socket.write(piece());
    else clearInterval(timer);
  }, ms);
}

test('a server with 512 descriptors and 520 idle connections still serves a new client', async () => {
  const port = await serve('-n 512');
  for (let i = 0; i < 520; i++) await wire(port, i % 2 === 0 ? '' : get);
  // The listener takes them a few at a time.
  await expect.poll(() => readdirSync(`/proc/${served?.pid}/fd`).length, { timeout: 10_000 }).toBeGreaterThan(440);
  await Bun.sleep(1500);
  const started = performance.now();
  const fresh = await wire(port, 'GET /api/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  await expect.poll(fresh.received, { timeout: 8000, interval: 20 }).toMatch(/^HTTP\/1\.1 200[\s\S]*"success":true/);
  console.log(`a new client was served after ${(performance.now() - started).toFixed(0)} ms`);
});

test('serving takes as many descriptors as it may have, and says how many', { timeout: 30_000 }, async () => {
  await serve('-Sn 300 && ulimit -Hn 700');
  const reader = served?.stderr.getReader();
  let said = '';
  while (!said.includes('stop')) said += new TextDecoder().decode((await reader?.read())?.value);
  expect(said).toContain('Limit of open files and connections: 700');
  expect(readFileSync(`/proc/${served?.pid}/limits`, 'utf8')).toMatch(/Max open files +700 +700/);
});

test('stalled connections are closed, live ones stay', { timeout: 90_000 }, async () => {
  const token = await setUp(sandbox, `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`);
  const place = [
    '--base-url',
    `http://127.0.0.1:${talking.port}`,
    '--models',
    'gpt-4o-realtime-preview',
    '--key-stdin',
  ];
  await sandbox.run(['channel', 'add', '--type', 'openai', '--name', 'talking', ...place], 'sk-x\n');
  const port = await serve('-n 512', { GATEWAY_IDLE_SECONDS: '8', GATEWAY_BODY_SECONDS: '2' });
  const key = `Authorization: Bearer ${token}\r\n`;

  const stalled = {
    nothing: await wire(port),
    'part of the headers': await wire(port, 'GET / HTTP/1.1\r\nHost: x'),
    'headers drop by drop': await wire(port, 'GET / HTTP/1.1\r\n'),
    'idle after an answer': await wire(port, get),
    'an anonymous body for the API': await wire(port, post('/api/user/login', 'Content-Length: 100\r\n', '{"user')),
    'a body without end': await wire(port, post('/api/user/login', 'Transfer-Encoding: chunked\r\n', '5\r\n{"use\r\n')),
    'a body for the relay': await wire(port, post('/v1/chat/completions', `${key}Content-Length: 100\r\n`, '{"mod')),
    'a long body for the relay': await wire(
      port,
      post('/v1/chat/completions', `${key}Content-Length: 9000000\r\n`, '{"mod'),
    ),
    'a long body drop by drop': await wire(
      port,
      post('/v1/chat/completions', `${key}Content-Length: 9000000\r\n`, '{"mod'),
    ),
    'half closed': await wire(port, get),
    'half closed within a body': await wire(port, post('/api/user/login', 'Content-Length: 100\r\n', '{"user')),
  };
  drip(stalled['headers drop by drop'], () => 'X-A: b\r\n', 500);
  drip(stalled['a long body drop by drop'], () => ' ', 500);
  stalled['half closed'].socket.end();
  stalled['half closed within a body'].socket.end();

  const ask = JSON.stringify({ model: 'practice-small', stream: true, messages: [{ role: 'user', content: 'hi' }] });
  const stream = await wire(port, post('/v1/chat/completions', `${key}Content-Length: ${ask.length}\r\n`, ask));
  const busy = await wire(port, get);
  drip(busy, () => get, 1000);
  // 100,000 letters that take longer than any limit here.
  const text = JSON.stringify({
    model: 'practice-small',
    stream: true,
    messages: [{ role: 'user', content: 'x'.repeat(100_000) }],
  });
  const upload = await wire(port, post('/v1/chat/completions', `${key}Content-Length: ${text.length}\r\n`));
  let sent = 0;
  drip(
    upload,
    () => {
      sent += 5000;
      return text.slice(sent - 5000, sent);
    },
    600,
  );
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/realtime?model=gpt-4o-realtime-preview`, {
    headers: { authorization: `Bearer ${token}` },
  } as unknown as string[]);
  const said: string[] = [];
  socket.onmessage = ({ data }) => void said.push(String(data));
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error('the socket was refused'));
  });

  for (const [name, one] of Object.entries(stalled))
    await expect.poll(one.closedMs, { timeout: 30_000, message: name }).not.toBeNull();
  await expect.poll(stream.received, { timeout: 40_000 }).toContain('[DONE]');
  expect(stream.received()).toContain('last');
  await expect.poll(upload.received, { timeout: 60_000 }).toContain('[DONE]');
  expect(upload.received()).toMatch(/^HTTP\/1\.1 200/);
  expect(busy.closedMs()).toBeNull();
  expect(busy.received().match(/HTTP\/1\.1 200/g)?.length).toBeGreaterThan(10);
  socket.send('{"type":"still here"}');
  await expect.poll(() => said).toEqual(['{"type":"still here"}']);
  socket.close();
  // A connection whose request took long is idle like any other afterwards.
  await expect.poll(stream.closedMs, { timeout: 20_000 }).not.toBeNull();
  for (const [name, one] of Object.entries(stalled))
    console.log(`${name}: ${((one.closedMs() ?? 0) / 1000).toFixed(1)} s`);
});
