import { afterEach, beforeEach, expect, test } from 'vitest';
import { createConnections, defaultConnectionLimits } from '../../server/http/connections.ts';
import { type HttpServer, openHttpServer } from '../../server/http/http-server.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
let door: HttpServer;
let key: string;
let upstream: ReturnType<typeof Bun.serve>;
let seen: { headers: Headers; url: string }[];

const done = (input: number, output: number, audio: number) =>
  JSON.stringify({
    type: 'response.done',
    response: {
      usage: {
        input_tokens: input,
        output_tokens: output,
        input_token_details: { cached_tokens: 0, audio_tokens: audio },
        output_token_details: { audio_tokens: 0 },
      },
    },
  });

beforeEach(async () => {
  seen = [];
  gateway = await createTestGateway();
  upstream = Bun.serve<undefined>({
    port: 0,
    fetch(request, server) {
      seen.push({ headers: request.headers, url: request.url });
      return server.upgrade(request, { data: undefined }) ? undefined : new Response(null, { status: 400 });
    },
    websocket: {
      open: (socket) => void socket.send('{"type":"session.created"}'),
      message: (socket, data) => void socket.send(String(data).includes('response.create') ? done(100, 50, 40) : data),
    },
  });
  await gateway.channel(`http://127.0.0.1:${upstream.port}`, { models: 'gpt-4o-realtime-preview' });
  key = (await gateway.token()).key;
  door = openHttpServer({
    host: '127.0.0.1',
    port: 0,
    relay: gateway.relay,
    mayServe: () => true,
    controlSocket: '/nonexistent',
    isTrustedProxy: () => false,
    consoleAsset: () => null,
    connections: createConnections(defaultConnectionLimits, null, Date.now),
  });
});
afterEach(async () => {
  await door.stop(100);
  await upstream.stop(true);
  await gateway.close();
});

interface Talk {
  readonly socket: WebSocket;
  readonly received: string[];
  readonly closed: Promise<number>;
  /** Of the close frame. */
  readonly reason: () => string;
}

async function talk(query: string, protocols: string[], headers: Record<string, string> = {}): Promise<Talk> {
  const options = { headers, protocols } as unknown as string[];
  const socket = new WebSocket(`ws://127.0.0.1:${door.port}/v1/realtime${query}`, options);
  const received: string[] = [];
  socket.onmessage = ({ data }) => void received.push(String(data));
  let said = '';
  const closed = new Promise<number>((resolve) => {
    socket.onclose = ({ code, reason }) => {
      said = reason;
      resolve(code);
    };
  });
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error('refused'));
  });
  return { socket, received, closed, reason: () => said };
}

test('frames pass untouched, turns are metered, one row has the sum', async () => {
  const { socket, received, closed } = await talk('?model=gpt-4o-realtime-preview', [
    'realtime',
    `openai-insecure-api-key.sk-${key}`,
    'openai-beta.realtime-v1',
  ]);
  expect(socket.protocol).toBe('realtime');
  await expect.poll(() => received).toEqual(['{"type":"session.created"}']);
  const odd = '{ "type":"input_audio_buffer.append",  "audio":"AAAA" }';
  socket.send(odd);
  await expect.poll(() => received[1]).toBe(odd);
  socket.send('{"type":"response.create"}');
  socket.send('{"type":"response.create"}');
  await expect.poll(() => received.length).toBe(4);
  socket.close(1000);
  await closed;
  await expect.poll(() => gateway.relay.open()).toBe(0);
  const [log, ...more] = await gateway.logs();
  expect(more).toEqual([]);
  expect(log).toMatchObject({
    prompt_tokens: 200,
    completion_tokens: 100,
    end_reason: 'completed',
    usage_source: 'reported',
  });
  expect(log?.quota).toBeGreaterThan(0);
  expect(seen[0]?.headers.get('authorization')).toBe('Bearer sk-upstream-secret-key');
  expect(JSON.stringify([...(seen[0]?.headers ?? [])])).not.toContain(key);
  expect(seen[0]?.url).toBe(`http://127.0.0.1:${upstream.port}/v1/realtime?model=gpt-4o-realtime-preview`);
  expect(await gateway.verify()).toEqual([]);
});

test('all that an upstream says before its client is there reaches the client, in order', async () => {
  const greetings = ['{"type":"session.created"}', '{"type":"conversation.created"}'];
  // The upstream's limits are not those of the caller.
  const limits = '{"type":"rate_limits.updated"}';
  upstream.reload({
    fetch: (request, server) =>
      server.upgrade(request, { data: undefined }) ? undefined : new Response(null, { status: 400 }),
    websocket: {
      open: (socket) => [limits, ...greetings].forEach((greeting) => void socket.send(greeting)),
      message: () => undefined,
    },
  });
  const { socket, received } = await talk(`?model=gpt-4o-realtime-preview`, [
    'realtime',
    `openai-insecure-api-key.sk-${key}`,
  ]);
  await expect.poll(() => received).toEqual(greetings);
  socket.close(1000);
});

/** An upstream that closes at the client's first frame. */
const closing = (close: (socket: Bun.ServerWebSocket<undefined>) => void, greeting = '{"type":"session.created"}') =>
  upstream.reload({
    fetch: (request, server) => (server.upgrade(request, { data: undefined }) ? undefined : new Response()),
    websocket: { open: (socket) => void socket.send(greeting), message: close },
  });

test.each([
  [1000, 1000, 'completed'],
  [1001, 1001, 'upstream_broken'],
  [1002, 1011, 'upstream_broken'],
  [1008, 1008, 'upstream_broken'],
  [1009, 1009, 'upstream_broken'],
  [1013, 1013, 'upstream_broken'],
  [3000, 3000, 'upstream_broken'],
  [4321, 4321, 'upstream_broken'],
  [4999, 4999, 'upstream_broken'],
])('an upstream that closes with %i closes its client with %i', async (code, seenCode, reason) => {
  closing((socket) => socket.close(code, 'session expired'));
  const talking = await talk('?model=gpt-4o-realtime-preview', ['realtime', `openai-insecure-api-key.sk-${key}`]);
  talking.socket.send('{"type":"input_audio_buffer.clear"}');
  expect(await talking.closed).toBe(seenCode);
  expect(talking.reason()).toBe(seenCode === code ? 'session expired' : '');
  await expect.poll(() => gateway.relay.open()).toBe(0);
  const [row] = await gateway.logs();
  expect(row).toMatchObject({ end_reason: reason });
  expect(JSON.parse(String(row?.other)).failure).toBe(reason === 'completed' ? undefined : `closed ${code}`);
});

test.each<[string, (socket: Bun.ServerWebSocket<undefined>) => void, number, string]>([
  ['in good order without a code', (socket) => socket.close(), 1000, 'completed'],
  ['by breaking off', (socket) => socket.terminate(), 1011, 'upstream_broken'],
])('an upstream that ends %s', async (_how, close, seenCode, reason) => {
  closing(close);
  const talking = await talk('?model=gpt-4o-realtime-preview', ['realtime', `openai-insecure-api-key.sk-${key}`]);
  talking.socket.send('{"type":"input_audio_buffer.clear"}');
  expect(await talking.closed).toBe(seenCode);
  expect(talking.reason()).toBe('');
  await expect.poll(async () => (await gateway.logs())[0]?.end_reason).toBe(reason);
});

test('an upstream that says why it closes before its client is there: the client gets both', async () => {
  upstream.reload({
    fetch: (request, server) => (server.upgrade(request, { data: undefined }) ? undefined : new Response()),
    websocket: {
      open(socket) {
        socket.send('{"type":"error"}');
        socket.close(4002, 'too many sessions');
      },
      message: () => undefined,
    },
  });
  const talking = await talk('?model=gpt-4o-realtime-preview', ['realtime', `openai-insecure-api-key.sk-${key}`]);
  expect(await talking.closed).toBe(4002);
  expect(talking.reason()).toBe('too many sessions');
  expect(talking.received).toEqual(['{"type":"error"}']);
});

test('the reason of a close frame names no key, no address and no account of the upstream', async () => {
  const account = 'organization org-AbCdEf123456';
  closing((socket) => socket.close(4001, `sk-upstream-secret-key of ${account} at wss://inner.example/v1 ended`));
  const talking = await talk('?model=gpt-4o-realtime-preview', ['realtime', `openai-insecure-api-key.sk-${key}`]);
  talking.socket.send('{"type":"input_audio_buffer.clear"}');
  expect(await talking.closed).toBe(4001);
  expect(talking.reason()).toMatch(/ ended$/);
  expect(talking.reason()).not.toMatch(/secret|AbCdEf|inner|example/);
});

test('a reason that grows while it is cleaned is cut at a whole character', async () => {
  const account = '账户余额 ';
  // Cleaning makes it longer than the 123 bytes that a close frame can carry.
  closing((socket) => socket.close(4001, `x${'$1 '.repeat(30)}${account}`));
  const talking = await talk('?model=gpt-4o-realtime-preview', ['realtime', `openai-insecure-api-key.sk-${key}`]);
  talking.socket.send('{"type":"input_audio_buffer.clear"}');
  expect(await talking.closed).toBe(4001);
  const bytes = Buffer.byteLength(talking.reason());
  expect(bytes).toBeLessThanOrEqual(123);
  expect(bytes).toBeGreaterThan(115);
  expect(talking.reason()).not.toContain('\uFFFD');
});

test('where a channel’s address has a query of its own, the model is added to it', async () => {
  // A whole address, called as it is.
  const base_url = `http://127.0.0.1:${upstream.port}/own/realtime?tenant=a`;
  await gateway.channel(base_url, { type: 8, models: 'mine', model_mapping: '{"mine":"theirs & more"}' });
  await gateway.option('SelfUseModeEnabled', 'true');
  const { socket, received, closed } = await talk('?model=mine', [], { authorization: `Bearer sk-${key}` });
  await expect.poll(() => received.length).toBe(1);
  expect(seen[0]?.url).toBe(`${base_url}&model=theirs%20%26%20more`);
  socket.close(1000);
  await closed;
});

test('a user who cannot pay for the next turn gets an error and is disconnected', async () => {
  const poor = await gateway.token({ unlimited_quota: false, remain_quota: 8000 });
  const { socket, received, closed } = await talk('?model=gpt-4o-realtime-preview', [], {
    authorization: `Bearer sk-${poor.key}`,
  });
  for (let turn = 0; turn < 9; turn++) socket.send('{"type":"response.create"}');
  expect(await closed).toBe(1008);
  expect(received.at(-1)).toContain('user_exhausted');
  await expect.poll(async () => (await gateway.logs())[0]?.end_reason).toBe('quota_cut');
  expect(await gateway.verify()).toEqual([]);
});

test.each([
  ['no key', '?model=gpt-4o-realtime-preview', {}],
  ['no model', '', { authorization: 'Bearer sk-x' }],
  ['a wrong key', '?model=gpt-4o-realtime-preview', { authorization: 'Bearer sk-x' }],
])('%s: refused before the upstream is called', async (_name, query, headers) => {
  await expect(talk(query, [], headers)).rejects.toThrow('refused');
  expect(seen).toEqual([]);
  expect(gateway.relay.open()).toBe(0);
});

test('frames with unwanted words go no further; the conversation does', async () => {
  await gateway.option('CheckSensitiveEnabled', 'true');
  await gateway.option('CheckSensitiveOnPromptEnabled', 'true');
  await gateway.option('SensitiveWords', 'forbidden-fruit');
  const { socket, received, closed } = await talk('?model=gpt-4o-realtime-preview', [], {
    authorization: `Bearer sk-${key}`,
  });
  const print = (text: string) =>
    JSON.stringify({
      type: 'conversation.item.create',
      item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
    });
  socket.send(print('a Forbidden-Fruit, please'));
  socket.send(print('an apple, please'));
  await expect.poll(() => received.length).toBe(3);
  expect(received[1]).toContain('sensitive_words');
  expect(received[2]).toBe(print('an apple, please'));
  socket.close(1000);
  await closed;
});

test('a caller without balance is refused before the upstream is called', async () => {
  const empty = await gateway.token({ unlimited_quota: false, remain_quota: 0 });
  await expect(talk('?model=gpt-4o-realtime-preview', [], { authorization: `Bearer sk-${empty.key}` })).rejects.toThrow(
    'refused',
  );
  expect(seen).toEqual([]);
});

test('an upgrade that is refused, by us or by the listener, holds no connection', async () => {
  const connections = createConnections(defaultConnectionLimits, null, Date.now);
  let held = 0;
  const counted = openHttpServer({
    host: '127.0.0.1',
    port: 0,
    relay: gateway.relay,
    mayServe: () => true,
    controlSocket: '/nonexistent',
    isTrustedProxy: () => false,
    consoleAsset: () => null,
    connections: {
      ...connections,
      reserve: (request) => {
        const release = connections.reserve(request);
        held++;
        let open = true;
        return () => {
          if (open) held--;
          open = false;
          release();
        };
      },
    },
  });
  const url = `http://127.0.0.1:${counted.port}/v1/realtime?model=gpt-4o-realtime-preview`;
  const upgrade = { connection: 'upgrade', upgrade: 'websocket' };
  expect((await fetch(url, { headers: upgrade })).status).toBe(401);
  expect(held).toBe(0);
  // Without a key of its own the handshake is none, so the listener refuses what the relay has let in.
  const requested = await fetch(url, { headers: { ...upgrade, authorization: `Bearer sk-${key}` } });
  expect(requested.status).toBe(400);
  expect(held).toBe(0);
  await expect.poll(() => gateway.relay.open()).toBe(0);
  await counted.stop(10);
});

test('an upstream that cannot be reached costs nothing', async () => {
  await upstream.stop(true);
  await expect(talk('?model=gpt-4o-realtime-preview', [], { authorization: `Bearer sk-${key}` })).rejects.toThrow(
    'refused',
  );
  expect((await gateway.logs())[0]).toMatchObject({ type: 5, quota: 0 });
  expect(await gateway.verify()).toEqual([]);
});
