/** Turns over a socket for responses: each is the request that POST /v1/responses would be. */
import { beforeAll, expect, test } from 'vitest';
import { systemTimers } from '../../server/contract/timers.ts';
import type { Conversation } from '../../server/relay/endpoints/realtime/conversation.ts';
import { asInput, readClientFrame, turnOf } from '../../server/relay/endpoints/responses-socket/client-frame.ts';
import { KeptInputs } from '../../server/relay/endpoints/responses-socket/kept-input.ts';
import { bodyOf, message, numbered, responseEvents, sse } from '../support/responses-upstream.ts';
import { sharedGateway } from '../support/shared-gateway.ts';
import { sendJson } from '../support/upstream.ts';
import { turn, VirtualTime } from '../support/virtual-time.ts';

const time = new VirtualTime();
const { gateway, upstream, key, row } = await sharedGateway({
  relay: { timers: { ...systemTimers, monoNow: time.monoNow, every: time.every } },
});

beforeAll(() => gateway.option('general_setting.responses_sockets', 'true'));

type Frame = Record<string, unknown> & { type: string; response?: { id: string; usage?: unknown }; error?: Frame };

/** A client without a network. @param sent what the listener says of each frame. */
async function connect(of = key, sent: () => number = () => 1, headers: Record<string, string> = {}) {
  const request = new Request('http://gateway/v1/responses', {
    headers: { authorization: `Bearer sk-${of}`, upgrade: 'websocket', connection: 'Upgrade', ...headers },
  });
  const opened = await gateway.relay.responsesSocket(request, '/v1/responses', { ip: () => '127.0.0.1' });
  if (opened instanceof Response) throw new Error(`${opened.status} ${await opened.text()}`);
  const socket: Conversation = opened;
  const frames: Frame[] = [];
  const closed: { code: number | undefined; reason: string | undefined }[] = [];
  socket.open({
    send(data) {
      frames.push(JSON.parse(String(data)) as Frame);
      return sent();
    },
    close(code, reason) {
      closed.push({ code, reason });
      socket.close();
    },
  });
  const last = (): Frame => frames.at(-1) ?? { type: '' };
  const isEnd = ({ type }: Frame): boolean => /^(?:error|response\.(?:completed|incomplete|failed))$/.test(type);
  return {
    socket,
    frames,
    closed,
    last,
    send: (event: unknown) => socket.message(typeof event === 'string' ? event : JSON.stringify(event)),
    /** Sends a turn, and waits for its end. */
    async turn(event: Record<string, unknown> | string): Promise<Frame> {
      const before = frames.filter(isEnd).length;
      this.send(typeof event === 'string' ? event : { type: 'response.create', model: 'gpt-4o-mini', ...event });
      await expect.poll(() => frames.filter(isEnd).length, { interval: 2, timeout: 5000 }).toBe(before + 1);
      await expect.poll(() => gateway.relay.open(), { interval: 2 }).toBe(0);
      return last();
    },
  };
}

const ask = (text: string) => [{ role: 'user', content: text }];

test('a turn is the request over HTTP: the same body goes upstream, the same is charged, and its events come as frames', async () => {
  await gateway.channel(upstream.url);
  upstream.script(numbered());
  const body = { model: 'gpt-4o-mini', input: ask('hello there'), store: false, max_output_tokens: 100 };
  const overHttp = await gateway.send(key, '/v1/responses', { ...body, stream: true });
  const events = (await overHttp.text()).split('\n\n').filter((frame) => frame.includes('data:'));
  const billed = await row();
  const client = await connect();
  await client.turn(body);
  const logged = await row();
  expect(client.frames.map(({ type }) => type)).toEqual(events.map((frame) => /event: (\S+)/.exec(frame)?.[1]));
  const [first, second] = upstream.requests.map(bodyOf);
  expect(second).toEqual(first);
  expect(logged?.quota).toBe(billed?.quota);
  expect(logged?.quota).toBeGreaterThan(0);
  expect(logged).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, end_reason: 'completed', is_stream: true });
  expect([JSON.parse(billed?.other ?? '{}').socket, JSON.parse(logged?.other ?? '{}').socket]).toEqual([
    undefined,
    true,
  ]);
});

test('members and headers that only concern the socket do not go upstream', async () => {
  await gateway.channel(upstream.url);
  upstream.script(numbered());
  const client = await connect(key, undefined, { 'openai-beta': 'responses_websockets=2026-02-06,other=1' });
  await client.turn({ input: 'hi', background: true, stream: false, generate: true });
  const [sent] = upstream.requests;
  if (sent === undefined) throw new Error('nothing was sent');
  expect(Object.keys(bodyOf(sent)).sort()).toEqual(['input', 'model', 'stream']);
  expect(bodyOf(sent).stream).toBe(true);
  expect(sent.headers.upgrade).toBeUndefined();
  expect(sent.headers['openai-beta']).toBe('other=1');
});

test('the next turn goes upstream with all that was said before, and is reserved and counted with it', async () => {
  await gateway.channel(upstream.url);
  upstream.script(numbered());
  const client = await connect();
  const first = await client.turn({ input: 'one', store: false });
  const output = { type: 'function_call_output', call_id: 'c', output: 'x' };
  await client.turn({ input: [output], store: false, previous_response_id: first.response?.id });
  const third = await client.turn({
    input: ask('three'),
    store: false,
    previous_response_id: client.last().response?.id,
  });
  expect(third.type).toBe('response.completed');
  const sent = upstream.requests.map(bodyOf)[2];
  expect(sent?.previous_response_id).toBeUndefined();
  expect(sent?.input).toEqual([
    { type: 'message', role: 'user', content: 'one' },
    message('msg_resp_1', 'hello world'),
    output,
    message('msg_resp_2', 'hello world'),
    ...ask('three'),
  ]);
});

test('a turn that continues is charged like the same conversation over HTTP, where the upstream reports nothing', async () => {
  await gateway.channel(upstream.url);
  const silent = (id: string) =>
    responseEvents(id).map((event) => ({ ...event, response: { ...(event.response as object), usage: null } }));
  let at = 0;
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(silent(`resp_${++at}`).map(sse).join(''));
  });
  const client = await connect();
  await client.turn({ input: 'word '.repeat(500), store: false });
  await client.turn({ input: ask('more'), store: false, previous_response_id: client.last().response?.id });
  const over = await row();
  const { input } = upstream.requests.map(bodyOf)[1] ?? {};
  await (await gateway.send(key, '/v1/responses', { model: 'gpt-4o-mini', input, store: false, stream: true })).text();
  const http = await row();
  expect([over?.prompt_tokens, over?.quota]).toEqual([http?.prompt_tokens, http?.quota]);
  expect(over?.prompt_tokens).toBeGreaterThan(500);
});

test('a key that was disabled, and a balance that is used up, are met by the next turn; the socket stays open', async () => {
  await gateway.channel(upstream.url);
  upstream.script(numbered());
  const token = await gateway.token();
  const client = await connect(token.key);
  expect((await client.turn({ input: 'a' })).type).toBe('response.completed');
  await gateway.services.tokens.update(token.id, null, { status: 2 }, false);
  await gateway.sync();
  expect(await client.turn({ input: 'b' })).toMatchObject({ type: 'error', status: 401 });
  await gateway.services.tokens.update(token.id, null, { status: 1 }, false);
  await gateway.services.tokens.update(token.id, null, { unlimited_quota: false, remain_quota: 0 }, false);
  await gateway.sync();
  const refused = await client.turn({ input: 'c' });
  expect([refused.type, refused.status === 403 || refused.status === 429]).toEqual(['error', true]);
  expect(upstream.requests.length).toBe(1);
  expect(client.closed).toEqual([]);
});

test('a model that the key may not use is refused in a turn, and where one is only prepared', async () => {
  await gateway.channel(upstream.url);
  const token = await gateway.token({ model_limits_enabled: true, model_limits: 'gpt-5.5' });
  const client = await connect(token.key);
  for (const generate of [true, false])
    expect(await client.turn({ input: 'a', generate }), String(generate)).toMatchObject({
      type: 'error',
      error: { code: 'model_not_found' },
    });
  expect(upstream.requests.length).toBe(0);
});

test('a turn that is only prepared asks nobody, costs nothing, and is continued with its input', async () => {
  await gateway.channel(upstream.url);
  upstream.script(numbered());
  const client = await connect();
  const rows = (await gateway.logs()).length;
  const warm = await client.turn({ input: ask('rules'), generate: false, instructions: 'be brief' });
  expect(client.frames.map(({ type }) => type)).toEqual(['response.created', 'response.completed']);
  expect(warm.response?.usage).toMatchObject({ input_tokens: 0, output_tokens: 0, total_tokens: 0 });
  expect([upstream.requests.length, (await gateway.logs()).length]).toEqual([0, rows]);
  await client.turn({ input: ask('go'), previous_response_id: warm.response?.id });
  expect(upstream.requests.map(bodyOf)[0]?.input).toEqual([...ask('rules'), ...ask('go')]);
  expect((await row())?.quota).toBeGreaterThan(0);
});

test('a response that this socket did not make, or no longer keeps, is not found', async () => {
  await gateway.channel(upstream.url);
  upstream.script(numbered('unkept'));
  const client = await connect();
  const first = (await client.turn({ input: 'a', store: false })).response?.id;
  const other = await connect();
  const notFound = {
    type: 'error',
    status: 400,
    error: { code: 'previous_response_not_found', param: 'previous_response_id' },
  };
  expect(await other.turn({ input: 'b', store: false, previous_response_id: first })).toMatchObject(notFound);
  expect(await other.turn({ input: 'b', generate: false, previous_response_id: first })).toMatchObject(notFound);
  await client.turn({ input: 'c', store: false });
  expect(await client.turn({ input: 'd', store: false, previous_response_id: first })).toMatchObject(notFound);
  expect(upstream.requests.length).toBe(2);
});

test('a turn that fails ends the conversation it continued, and its error has a status', async () => {
  await gateway.channel(upstream.url);
  upstream.script(numbered('failing'));
  const client = await connect();
  const first = (await client.turn({ input: 'a', store: false })).response?.id;
  upstream.script((response) =>
    sendJson(response, { error: { message: 'no', type: 'invalid_request_error', code: 'bad' } }, 400),
  );
  expect(await client.turn({ input: 'b', store: false, previous_response_id: first })).toMatchObject({
    status: 400,
    error: { code: 'bad' },
  });
  upstream.script(numbered());
  expect(await client.turn({ input: 'b', store: false, previous_response_id: first })).toMatchObject({
    error: { code: 'previous_response_not_found' },
  });
});

test('an answer that breaks off ends with an error, is charged for what was delivered, and leaves the socket open', async () => {
  await gateway.channel(upstream.url);
  let breakOff: () => void = () => undefined;
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(responseEvents('resp_1').slice(0, 3).map(sse).join(''));
    breakOff = () => response.destroy();
  });
  const client = await connect();
  client.send({ type: 'response.create', model: 'gpt-4o-mini', input: 'a' });
  await expect.poll(() => client.frames.length, { interval: 2 }).toBeGreaterThan(2);
  breakOff();
  await expect.poll(() => client.last().type, { interval: 2 }).toBe('response.failed');
  expect(client.frames.map(({ type }) => type)).not.toContain('error');
  expect(await row()).toMatchObject({ end_reason: 'upstream_broken', completion_tokens: 2 });
  upstream.script(numbered());
  expect((await client.turn({ input: 'b' })).type).toBe('response.completed');
});

test('one turn at a time: another one is refused, one that follows the end of an answer at once is not', async () => {
  await gateway.channel(upstream.url);
  let finish: () => void = () => undefined;
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(responseEvents('resp_1').slice(0, 3).map(sse).join(''));
    finish = () => response.end(responseEvents('resp_1').slice(3).map(sse).join(''));
  });
  const client = await connect();
  client.send({ type: 'response.create', model: 'gpt-4o-mini', input: 'a' });
  await expect.poll(() => client.frames.length, { interval: 2 }).toBeGreaterThan(2);
  client.send({ type: 'response.create', model: 'gpt-4o-mini', input: 'b' });
  expect(client.last()).toMatchObject({ status: 400, error: { code: 'conversation_already_has_active_response' } });
  client.send({ type: 'response.processed', response_id: 'resp_0' });
  const length = client.frames.length;
  upstream.script(numbered());
  const watching = client.frames.push.bind(client.frames);
  client.frames.push = (...more) => {
    const count = watching(...more);
    if (more[0]?.type === 'response.completed' && more[0].response?.id === 'resp_1' && client.frames.length < 99) {
      client.frames.push = watching;
      client.send({ type: 'response.create', model: 'gpt-4o-mini', input: 'c' });
    }
    return count;
  };
  finish();
  await expect
    .poll(() => client.frames.filter(({ type }) => type === 'response.completed').length, { interval: 2 })
    .toBe(2);
  expect(client.frames.slice(length).map(({ type }) => type)).not.toContain('error');
  expect(upstream.requests.map(bodyOf).map(({ input }) => input)).toEqual(['a', 'c']);
  await row();
});

test.each([
  ['no JSON', '{"type":', 'body_not_json'],
  ['no object', '[]', 'body_not_json'],
  [
    'nesting',
    `{"type":"response.create","model":"gpt-4o-mini","input":${'['.repeat(200)}${']'.repeat(200)}}`,
    'body_too_deep',
  ],
  [
    'an input that is neither text nor a list',
    '{"type":"response.create","model":"gpt-4o-mini","input":{}}',
    'body_invalid',
  ],
  ['no model', '{"type":"response.create","input":"a"}', 'model_missing'],
  ['another event', '{"type":"response.steer"}', 'invalid_value'],
  ['a stream of its own', '{"type":"response.create","stream_id":"main"}', 'websocket_stream_limit_reached'],
  ['a name that is none', '{"type":"response.create","stream_id":""}', 'invalid_stream_id'],
  ['members twice', '{"type":"response.create","model":"gpt-4o-mini","model":"gpt-5.5","input":"a"}', 'body_invalid'],
])('a frame with %s is refused, and the socket stays open', async (_, frame, code) => {
  await gateway.channel(upstream.url);
  const client = await connect();
  expect(await client.turn(frame)).toMatchObject({ type: 'error', status: 400, error: { code } });
  expect([client.closed, upstream.requests.length]).toEqual([[], 0]);
});

test('a client that leaves in a turn is charged for what it got, as over HTTP', async () => {
  await gateway.channel(upstream.url);
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(responseEvents('resp_1').slice(0, 3).map(sse).join(''));
  });
  const client = await connect();
  client.send({ type: 'response.create', model: 'gpt-4o-mini', input: 'a' });
  await expect.poll(() => client.frames.length, { interval: 2 }).toBeGreaterThan(2);
  client.socket.close();
  expect(await row()).toMatchObject({ end_reason: 'client_gone', completion_tokens: 2 });
  await expect.poll(() => upstream.requests[0]?.closed, { interval: 2 }).toBe(true);
});

test('a client that reads slowly holds up the upstream, and gets all in the end', async () => {
  await gateway.channel(upstream.url);
  const big = message('msg_1', 'x'.repeat(1000));
  const delta = sse({
    type: 'response.output_text.delta',
    output_index: 0,
    content_index: 0,
    item_id: 'msg_1',
    delta: 'word '.repeat(10_000),
  });
  let written = 0;
  upstream.script(async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const [created = {}, added = {}, , ...rest] = responseEvents('resp_1', { output: [big] });
    response.write(sse(created) + sse(added));
    for (let at = 0; at < 400; at++) {
      written++;
      if (!response.write(delta)) await new Promise((resolve) => response.once('drain', resolve));
    }
    response.end(rest.map(sse).join(''));
  });
  let isFull = true;
  const client = await connect(key, () => (isFull ? -1 : 1));
  client.send({ type: 'response.create', model: 'gpt-4o-mini', input: 'a' });
  await expect.poll(() => client.frames.length, { interval: 2 }).toBeGreaterThan(2);
  let before = -1;
  while (before !== written) {
    before = written;
    for (let turns = 0; turns < 50; turns++) await turn();
  }
  expect(written).toBeLessThan(400);
  isFull = false;
  client.socket.drain?.();
  await expect.poll(() => client.last().type, { timeout: 5000 }).toBe('response.completed');
  expect(client.frames.filter(({ type }) => type.endsWith('text.delta')).length).toBe(400);
  await row();
});

test('after an hour the socket says so and closes: at once where it is idle, else behind its turn', async () => {
  await gateway.channel(upstream.url);
  let finish: () => void = () => undefined;
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(responseEvents('resp_1').slice(0, 3).map(sse).join(''));
    finish = () => response.end(responseEvents('resp_1').slice(3).map(sse).join(''));
  });
  const [idle, busy] = [await connect(), await connect()];
  busy.send({ type: 'response.create', model: 'gpt-4o-mini', input: 'a' });
  await expect.poll(() => busy.frames.length, { interval: 2 }).toBeGreaterThan(2);
  time.jump(60 * 60_000 + 1000);
  expect(idle.last()).toMatchObject({ status: 400, error: { code: 'websocket_connection_limit_reached' } });
  expect([idle.closed.map(({ code }) => code), busy.closed]).toEqual([[1000], []]);
  finish();
  await expect.poll(() => busy.closed.map(({ code }) => code), { interval: 2 }).toEqual([1000]);
  expect(busy.frames.slice(-2).map(({ type }) => type)).toEqual(['response.completed', 'error']);
  await row();
});

test('a handshake is refused with 426 where the operator allows no sockets', async () => {
  await gateway.option('general_setting.responses_sockets', 'false');
  await expect(connect()).rejects.toThrow('426');
  await gateway.option('general_setting.responses_sockets', 'true');
});

test('a key that does not work is refused at the handshake', async () => {
  await expect(connect('wrong')).rejects.toThrow('401');
});

test('a client with two hundred sockets goes on over HTTP', async () => {
  const sockets = [];
  for (let at = 0; at < 200; at++) sockets.push(await connect());
  await expect(connect()).rejects.toThrow('426');
  expect(gateway.relay.stats().sockets.open).toBe(200);
  for (const { socket } of sockets) socket.close();
  expect(gateway.relay.stats().sockets).toEqual({ open: 0, keptBytes: 0 });
});

test('the responses kept for all sockets are bounded: the oldest leaves, and use renews', () => {
  const kept = new KeptInputs(10);
  const [first, second, third] = [{}, {}, {}];
  kept.put(first, 'a', '1234');
  kept.put(second, 'b', '1234');
  expect(kept.find(first, 'a')).toBe('1234');
  kept.put(third, 'c', 'ü34');
  expect([kept.find(first, 'a'), kept.find(second, 'b'), kept.find(third, 'c'), kept.bytes]).toEqual([
    '1234',
    null,
    'ü34',
    8,
  ]);
  kept.put(first, 'd', '12');
  expect([kept.find(first, 'a'), kept.find(first, 'd'), kept.bytes]).toEqual([null, '12', 6]);
  kept.put(first, 'e', '12345678901');
  expect([kept.find(first, 'e'), kept.find(first, 'd'), kept.bytes]).toEqual([null, null, 4]);
  kept.drop(third);
  expect(kept.bytes).toBe(0);
});

test('members of a frame stay as they came, byte for byte', () => {
  const source =
    '{ "type":"response.create", "seed": 12345678901234567890, "input" : [ {"a":1.0} ],"previous_response_id":"r"}';
  const frame = readClientFrame(source);
  if (frame === null) throw new Error('unread');
  expect(turnOf(frame, '{"b":2}')).toEqual({
    body: '{"stream":true,"seed": 12345678901234567890,"input":[{"b":2},{"a":1.0}]}',
    items: '{"b":2},{"a":1.0}',
  });
  expect(turnOf(frame, null)).toEqual({
    body: '{"stream":true,"seed": 12345678901234567890,"input" : [ {"a":1.0} ],"previous_response_id":"r"}',
    items: null,
  });
});

test('thoughts that nobody can look up are left out, with the ids that belong to them', () => {
  const thought = { type: 'reasoning', id: 'rs', summary: [] };
  const call = { type: 'function_call', id: 'fc', call_id: 'c' };
  expect(asInput([thought, call], false)).toBe('{"type":"function_call","call_id":"c"}');
  expect(asInput([thought, call], true)).toBe(`${JSON.stringify(thought)},${JSON.stringify(call)}`);
  const sealed = { ...thought, encrypted_content: 'x' };
  expect(asInput([sealed, call], false)).toBe(`${JSON.stringify(sealed)},${JSON.stringify(call)}`);
});

test('an upstream of another dialect answers a socket, too, and its conversation goes on', async () => {
  await gateway.channel(upstream.url, { type: 14, models: 'claude-sonnet-4-5' });
  upstream.script((response) => {
    const events = [
      {
        type: 'message_start',
        message: {
          id: 'm',
          type: 'message',
          role: 'assistant',
          model: 'c',
          content: [],
          usage: { input_tokens: 9, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
      { type: 'message_stop' },
    ];
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(events.map(sse).join(''));
  });
  const client = await connect();
  const first = await client.turn({ model: 'claude-sonnet-4-5', input: 'one' });
  await client.turn({ model: 'claude-sonnet-4-5', input: 'two', previous_response_id: first.response?.id });
  expect(upstream.requests.map(bodyOf)[1]?.messages).toMatchObject([
    { role: 'user' },
    { role: 'assistant', content: [{ type: 'text', text: 'hello' }] },
    { role: 'user' },
  ]);
  expect(await row()).toMatchObject({ prompt_tokens: 9, completion_tokens: 3, end_reason: 'completed' });
});

// The last one: it ends all sockets.
test('when the server goes, idle sockets end, turns finish first, and new ones are sent to HTTP', async () => {
  await gateway.channel(upstream.url);
  let finish: () => void = () => undefined;
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(responseEvents('resp_1').slice(0, 3).map(sse).join(''));
    finish = () => response.end(responseEvents('resp_1').slice(3).map(sse).join(''));
  });
  const [idle, busy] = [await connect(), await connect()];
  busy.send({ type: 'response.create', model: 'gpt-4o-mini', input: 'a' });
  await expect.poll(() => busy.frames.length, { interval: 2 }).toBeGreaterThan(2);
  gateway.relay.endSockets();
  expect([idle.closed, busy.closed]).toEqual([[{ code: 1001, reason: 'shutting_down' }], []]);
  await expect(connect()).rejects.toThrow('426');
  finish();
  await expect.poll(() => busy.closed.length, { interval: 2 }).toBe(1);
  expect(busy.last().type).toBe('response.completed');
  await row();
});
