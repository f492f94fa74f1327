/** Upstreams that cannot be reached, hang, or end a connection in the moment it is used again. */
import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';
import { VirtualTime } from '../support/virtual-time.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
let time: VirtualTime;
const servers: { readonly server: Server; readonly sockets: Set<Socket> }[] = [];

beforeEach(async () => {
  time = new VirtualTime();
  gateway = await createTestGateway({ channelTests: true, relay: { timers: time } });
  upstream = await startUpstream((response) => sendJson(response, completion(3, 2)));
  key = (await gateway.token()).key;
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
  for (const { server, sockets } of servers.splice(0)) {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
});

/** An upstream in plain bytes. @returns its address. */
async function bare(serve: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    serve(socket);
  });
  servers.push({ server, sockets });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}
/** One that takes a request and never answers. @param asked called when it has come. */
const hanging = (asked: () => void): Promise<string> => bare((socket) => void socket.once('data', asked));
const chat = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };
const ask = (body: object = chat) => gateway.chat(key, body);
const answer = JSON.stringify(completion(3, 2));
const whole = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`;

test('a connection that its upstream ends at the moment of reuse costs no request', async () => {
  let requested = 0;
  const url = await bare((socket) => {
    let answered = false;
    socket.on('data', () => {
      requested++;
      if (answered) return void socket.destroy();
      answered = true;
      socket.write(whole);
    });
  });
  const channel = await gateway.channel(url);
  for (let n = 0; n < 40; n++) expect((await ask()).status).toBe(200);
  expect(requested).toBeGreaterThan(40);
  expect(gateway.relay.channelStatuses([channel])).toMatchObject([{ condition: 'up' }]);
  const logs = await gateway.logs();
  expect(logs.filter(({ type }) => type === 2)).toHaveLength(40);
  const quotas = logs.map(({ quota }) => quota);
  // What one leaves of a unit counts with the next.
  expect(Math.max(...quotas) - Math.min(...quotas)).toBeLessThanOrEqual(1);
});

test('an upstream that resets what it was never asked before is not asked twice', async () => {
  let requested = 0;
  const url = await bare((socket) =>
    socket.on('data', () => {
      requested++;
      socket.destroy();
    }),
  );
  await gateway.channel(url);
  expect((await ask()).status).toBe(502);
  expect(requested).toBe(1);
});

test('an order of work is never placed twice, however its connection ended', async () => {
  const orders: string[] = [];
  const serve = (name: string) => (socket: Socket) =>
    socket.on('data', () => {
      orders.push(name);
      socket.destroy();
    });
  await gateway.option('ModelPrice', '{"mj_imagine":0.1}');
  await gateway.option('RetryTimes', '3');
  for (const name of ['one', 'two'])
    await gateway.channel(await bare(serve(name)), { type: 2, models: 'mj_imagine', name });
  const order = new Request('http://gateway/mj/submit/imagine', {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}` },
    body: '{"prompt":"a boat"}',
  });
  const response = await gateway.relay.handle(order, '/mj/submit/imagine', { ip: () => '127.0.0.1' });
  expect(response.status).toBeGreaterThanOrEqual(400);
  expect(orders).toHaveLength(1);
});

test.each([
  ['a whole answer', false],
  ['a stream', true],
])('%s that does not begin is asked for elsewhere', async (_name, stream) => {
  const asked = Promise.withResolvers<void>();
  await gateway.option('general_setting.first_event_seconds', '1');
  await gateway.option('general_setting.first_answer_seconds', '1');
  await gateway.channel(await hanging(asked.resolve), { priority: 9 });
  await gateway.channel(upstream.url);
  const waiting = ask({ ...chat, stream });
  await asked.promise;
  await time.advance(900);
  expect(upstream.requests).toHaveLength(0);
  await time.advance(200);
  const response = await waiting;
  expect([response.status, upstream.requests.length]).toEqual([200, 1]);
  await response.text();
  const [log] = await gateway.logs();
  expect(JSON.parse(String(log?.other))).toMatchObject({ admin_info: { attempts: [{ reason: 'timeout' }, {}] } });
});

test('without another channel the request waits on, unless the channel sets a timeout', async () => {
  let begin: () => void = () => undefined;
  const started = new Promise<void>((resolve) => {
    begin = resolve;
  });
  upstream.script(async (response) => {
    await started;
    sendJson(response, completion(3, 2));
  });
  await gateway.option('general_setting.first_answer_seconds', '1');
  await gateway.channel(upstream.url);
  const waiting = ask();
  await expect.poll(() => upstream.requests.length, { interval: 2 }).toBe(1);
  await time.advance(60_000);
  begin();
  expect((await waiting).status).toBe(200);
  const asked = Promise.withResolvers<void>();
  await gateway.channel(await hanging(asked.resolve), { models: 'gpt-4o', setting: '{"first_byte_seconds":1}' });
  const limited = ask({ ...chat, model: 'gpt-4o' });
  await asked.promise;
  await time.advance(1100);
  expect((await limited).status).toBe(504);
});

test.each([
  ['first_answer_seconds', false],
  ['first_event_seconds', true],
  ['first_byte_seconds', true],
] as const)('a channel has a limit of its own: %s', async (name, stream) => {
  const asked = Promise.withResolvers<void>();
  const other = stream ? 'first_answer_seconds' : 'first_event_seconds';
  const setting = JSON.stringify({ [name]: 2, [other]: 50 });
  await gateway.channel(await hanging(asked.resolve), { models: 'gpt-4o', setting });
  const limited = ask({ ...chat, model: 'gpt-4o', stream });
  await asked.promise;
  let over = false;
  void limited.then(() => {
    over = true;
  });
  await time.advance(1900);
  expect(over).toBe(false);
  await time.advance(300);
  expect((await limited).status).toBe(504);
});

test.each(['stream', 'sound'])('a channel has a limit of its own for silence within an answer: %s', async (kind) => {
  const taken = Promise.withResolvers<void>();
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': kind === 'stream' ? 'text/event-stream' : 'audio/mpeg' });
    response.write(
      kind === 'stream'
        ? `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'one' }, finish_reason: null }] })}\n\n`
        : 'abc',
    );
    taken.resolve();
  });
  await gateway.channel(upstream.url, { models: 'gpt-4o,tts-1', setting: '{"upstream_idle_seconds":5}' });
  const { key } = await gateway.token();
  const response = await (kind === 'stream'
    ? gateway.chat(key, { ...chat, model: 'gpt-4o', stream: true })
    : gateway.send(key, '/v1/audio/speech', { model: 'tts-1', input: 'hi', voice: 'alloy' }));
  const text = response.text().catch(() => 'cut');
  await taken.promise;
  await time.advance(12_000);
  expect(await text).toMatch(kind === 'stream' ? /"error"/ : /cut|abc/);
  await expect.poll(() => gateway.relay.open()).toBe(0);
});

test('models that think take their time', async () => {
  const thought = Promise.withResolvers<void>();
  upstream.script(async (response) => {
    await thought.promise;
    sendJson(response, completion(3, 2));
  });
  await gateway.option('general_setting.first_answer_seconds', '1');
  for (let n = 0; n < 2; n++) await gateway.channel(upstream.url, { models: 'o3-mini' });
  const waiting = ask({ ...chat, model: 'o3-mini' });
  await expect.poll(() => upstream.requests.length, { interval: 2 }).toBe(1);
  await time.advance(1500);
  thought.resolve();
  expect((await waiting).status).toBe(200);
  expect(upstream.requests).toHaveLength(1);
});

test('an upstream that falls silent in the middle is cut after the silence that the operator allows', async () => {
  await gateway.option('general_setting.upstream_idle_seconds', '5');
  expect(gateway.state.settings.idleMs).toBe(5000);
});

test('a shortage of our own is ours: 503, no other upstream is tried, and no channel is blamed', async () => {
  await gateway.close();
  gateway = await createTestGateway({ relay: { exhausted: () => true } });
  key = (await gateway.token()).key;
  const channels = [await gateway.channel('http://127.0.0.1:1'), await gateway.channel('http://127.0.0.1:1')];
  for (let n = 0; n < 12; n++) {
    const response = await ask();
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2']);
    expect(await response.json()).toMatchObject({ error: { code: 'overloaded' } });
  }
  expect(gateway.relay.channelStatuses(channels).map(({ condition }) => condition)).toEqual(['up', 'up']);
  expect((await gateway.logs())[0]).toMatchObject({ type: 5, quota: 0 });
});

test.each([
  ['refused', 'http://127.0.0.1:1', /ECONNREFUSED/],
  ['an unknown name', 'http://upstream.invalid', /ENOTFOUND/],
])('%s is named to the operator of the channel and to no client', async (_name, url, cause) => {
  const channel = await gateway.channel(url);
  const message = await (await ask()).text();
  expect(message).not.toMatch(cause);
  const [log] = await gateway.logs();
  const { attempts } = (JSON.parse(String(log?.other)) as { admin_info: { attempts: { message: string }[] } })
    .admin_info;
  expect(attempts[0]?.message).toMatch(cause);
  expect(attempts[0]?.message).not.toContain('upstream.invalid');
  const tested = await gateway.services.channels.test(channel, 'gpt-4o-mini', false);
  expect(tested).toMatchObject({ ok: false, message: expect.stringMatching(cause) });
  // Who tests has written the address.
  expect(tested.message).not.toContain('***');
});

test('TLS to a plain port is reported as that', async () => {
  const plain = await bare((socket) => socket.on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
  const channel = await gateway.channel(plain.replace('http:', 'https:'));
  const tested = await gateway.services.channels.test(channel, 'gpt-4o-mini', false);
  expect(tested.message).toMatch(/TLS/);
});
