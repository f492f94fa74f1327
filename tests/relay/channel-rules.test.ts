/** Rules of a channel on the wire: what is sent, what is refused, what is reserved and what is charged. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
beforeAll(async () => {
  gateway = await createTestGateway({ quota: 50_000_000 });
  upstream = await startUpstream((response) => sendJson(response, {}));
  ({ key } = await gateway.token());
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});
beforeEach(async () => {
  upstream.requests.length = 0;
  await removeAll();
});

const made: number[] = [];
async function removeAll(): Promise<void> {
  for (const id of made.splice(0)) await gateway.services.channels.remove(id);
  await gateway.sync();
}
async function open(fields: object): Promise<number> {
  const id = await gateway.channel(upstream.url, { type: 1, models: 'gpt-4.1', ...fields });
  made.push(id);
  return id;
}

const completion = {
  id: 'c',
  object: 'chat.completion',
  model: 'gpt-4.1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10_000, completion_tokens: 2_000, total_tokens: 12_000 },
};
const answers = (body: object = completion): void => upstream.script((response) => sendJson(response, body));

const ruled = (operations: readonly object[], fields: object = {}, members: object = {}): Promise<number> =>
  open({ param_override: JSON.stringify({ ...members, operations }), ...fields });

const chat = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'hi' }], max_tokens: 1000 };
async function send(body: object | string, path = '/v1/chat/completions', more: Readonly<Record<string, string>> = {}) {
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { ...more, authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  return { status: response.status, text: await response.text() };
}
const sent = (): string => upstream.requests.at(-1)?.body.toString() ?? '';
const charged = async () => (await gateway.logs())[0]?.quota;

test('members that no rule names go out byte for byte', async () => {
  await ruled([
    { mode: 'delete', path: 'seed' },
    { mode: 'move', from: 'max_tokens', to: 'max_completion_tokens' },
    { mode: 'append', path: 'messages', value: { role: 'user', content: 'Go.' } },
  ]);
  answers();
  const { status } = await send(
    '{ "model":"gpt-4.1", "id": 12345678901234567890, "seed":1, "max_tokens":1000, "messages":[{"role":"user","content":"h\\u0069"}],  "x" :  1e2}',
  );
  expect(status).toBe(200);
  expect(sent()).toContain('"id": 12345678901234567890');
  expect(sent()).toContain('"x" :  1e2');
  expect(JSON.parse(sent())).toEqual({
    ...{ model: 'gpt-4.1', id: Number('12345678901234567890'), x: 100, max_completion_tokens: 1000 },
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'user', content: 'Go.' },
    ],
  });
});

test('rules of a translated request act on what its upstream gets, after the members that are set', async () => {
  await ruled(
    [
      { mode: 'set', path: 'system', value: 'Be brief.', keep_origin: true },
      { mode: 'set', path: 'top_k', value: 5, conditions: { temperature: 0.5 } },
    ],
    { type: 14 },
    { temperature: 0.5 },
  );
  answers({
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'hi' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  });
  expect((await send(chat)).status).toBe(200);
  expect(JSON.parse(sent())).toMatchObject({ system: 'Be brief.', top_k: 5, temperature: 0.5, max_tokens: 1000 });
});

test('conditions know the models and the path, and other operations than chats have rules too', async () => {
  await ruled(
    [
      {
        mode: 'set',
        path: 'a',
        value: 1,
        conditions: {
          original_model: 'text-embedding-3-small',
          upstream_model: 'theirs',
          request_path: '/v1/embeddings',
        },
        logic: 'AND',
      },
      { mode: 'set', path: 'b', value: 1, conditions: { request_path: '/v1/chat/completions' } },
    ],
    { models: 'text-embedding-3-small', model_mapping: '{"text-embedding-3-small":"theirs"}' },
  );
  answers({
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [1] }],
    model: 'theirs',
    usage: { prompt_tokens: 1, total_tokens: 1 },
  });
  expect((await send({ model: 'text-embedding-3-small', input: 'hi' }, '/v1/embeddings')).status).toBe(200);
  expect(JSON.parse(sent())).toEqual({ model: 'theirs', input: 'hi', a: 1 });
});

test('a channel that passes bodies as they are has no rules', async () => {
  await ruled([{ mode: 'delete', path: 'max_tokens' }], { setting: '{"pass_through":true}' });
  answers();
  expect((await send(chat)).status).toBe(200);
  expect(JSON.parse(sent())).toEqual(chat);
});

test('a rule refuses in its own words, before anything is sent and for nothing', async () => {
  await ruled([
    { mode: 'return_error', value: { message: 'Not on Sundays', status_code: 451 }, conditions: { max_tokens: 1000 } },
  ]);
  const { status, text } = await send(chat);
  expect([status, text]).toEqual([451, expect.stringContaining('Not on Sundays')]);
  expect(upstream.requests).toHaveLength(0);
  expect(await charged()).toBe(0);
  answers();
  expect((await send({ ...chat, max_tokens: 999 })).status).toBe(200);
});

test('a rule that cannot be applied ends the request: no other channel is tried, none is to blame', async () => {
  const id = await ruled([{ mode: 'copy', from: 'nothing', to: 'a' }], { priority: 9 });
  await open({});
  for (let n = 0; n < 6; n++) {
    const { status, text } = await send(chat);
    expect([status, text]).toEqual([500, expect.stringContaining('Rule 1')]);
  }
  expect(upstream.requests).toHaveLength(0);
  expect(await charged()).toBe(0);
  await gateway.services.channels.update(id, { param_override: '' });
  await gateway.sync();
  answers();
  expect((await send(chat)).status).toBe(200);
  expect((await gateway.logs())[0]?.channel).toBe(id);
});

test('the status that a channel maps an answer to is what its client sees, and decides whether another channel is tried', async () => {
  const fails = (status: number) =>
    upstream.script((response) => sendJson(response, { error: { message: 'no' } }, status));
  await open({ status_code_mapping: '{"500":"400"}', priority: 9 });
  await open({});
  fails(500);
  expect([(await send(chat)).status, upstream.requests.length]).toEqual([400, 1]);
  await removeAll();
  upstream.requests.length = 0;
  await open({ status_code_mapping: '{"400":"503"}', priority: 9 });
  await open({});
  upstream.script((response) =>
    upstream.requests.length === 1
      ? sendJson(response, { error: { message: 'no' } }, 400)
      : sendJson(response, completion),
  );
  expect([(await send(chat)).status, upstream.requests.length]).toEqual([200, 2]);
});

const withHeaders = (header_override: object, fields: object = {}) =>
  open({ setting: JSON.stringify({ header_override }), ...fields });
const headers = () => upstream.requests.at(-1)?.headers ?? {};

test('headers of the channel win over all others, with its key and with what clients send', async () => {
  await withHeaders({
    Authorization: 'Token {api_key}',
    'X-App': 'gateway',
    'X-Caller': '{client_header:X-Name}',
    'X-None': '{client_header:X-Missing}',
    'x-empty': '',
  });
  answers();
  expect((await send(chat, '/v1/chat/completions', { 'x-name': '{api_key}' })).status).toBe(200);
  expect(headers()).toMatchObject({
    authorization: 'Token sk-upstream-secret-key',
    'content-type': 'application/json',
    'x-app': 'gateway',
    'x-caller': '{api_key}',
  });
  expect(headers()).not.toHaveProperty('x-none');
  expect(headers()).not.toHaveProperty('x-empty');
});

const sentByClient = {
  ...{ 'x-one': '1', 'x-two': '2', 'x-own': 'client', cookie: 'session=1', 'x-api-key': 'k', te: 'trailers' },
  ...{ 'x-amzn-bedrock-service-tier': 'priority', 'x-forwarded-for': '10.0.0.1', 'x-secret-thing': 's' },
};
test.each<[string, string, readonly string[]]>([
  ['all', '*', ['x-one', 'x-two']],
  ['those of a pattern', 're:^x-o', ['x-one']],
  ['those of a pattern, in its other form', 'regex: TWO$', ['x-two']],
])(
  "of a client's headers %s pass, but no credential, no price and nothing of the connection",
  async (_name, rule, passed) => {
    await withHeaders({ [rule]: '', 'X-Own': 'channel' });
    answers();
    expect((await send(chat, '/v1/chat/completions', sentByClient)).status).toBe(200);
    const names = [
      'x-one',
      'x-two',
      'cookie',
      'x-api-key',
      'te',
      'x-amzn-bedrock-service-tier',
      'x-forwarded-for',
      'x-secret-thing',
    ];
    expect(names.filter((name) => name in headers())).toEqual(passed);
    expect(headers()['x-own']).toBe('channel');
    expect(headers().authorization).toBe('Bearer sk-upstream-secret-key');
  },
);

test('a channel without header rules passes no client header, and one with them shares its target among clients', async () => {
  await open({});
  answers();
  await send(chat, '/v1/chat/completions', sentByClient);
  expect(headers()).not.toHaveProperty('x-one');
  await removeAll();
  await withHeaders({ 'X-Caller': '{client_header:X-One}' });
  const callers = [];
  for (const one of ['a', 'b', 'a']) {
    await send(chat, '/v1/chat/completions', { 'x-one': one });
    callers.push(headers()['x-caller']);
  }
  expect(callers).toEqual(['a', 'b', 'a']);
});

test('a header that is called like a member of every object is one like others', async () => {
  const rules = { mode: 'copy', from: 'constructor' };
  await withHeaders({ 'X-Caller': rules, Constructor: { mode: 'default', value: 'channel' } });
  answers();
  expect((await send(chat)).status).toBe(200);
  expect(headers()).not.toHaveProperty('x-caller');
  expect(Object.entries(headers())).toContainEqual(['constructor', 'channel']);
  expect((await send(chat, '/v1/chat/completions', { constructor: 'client' })).status).toBe(200);
  expect(headers()['x-caller']).toBe('client');
});

test("a channel's system prompt is sent, passed or translated, before its rules, and reserved for", async () => {
  const prompted = (fields: object = {}) =>
    ruled([{ mode: 'append', path: 'messages.0.content', value: '!' }], {
      setting: '{"system_prompt":"Be brief.","system_prompt_override":true}',
      ...fields,
    });
  await prompted();
  answers();
  await send(chat);
  expect(JSON.parse(sent()).messages).toEqual([{ role: 'system', content: 'Be brief.!' }, ...chat.messages]);
  await send({ ...chat, messages: [{ role: 'system', content: 'Mine.' }, ...chat.messages] });
  expect(JSON.parse(sent()).messages[0]).toEqual({ role: 'system', content: 'Be brief.\nMine.!' });
  await removeAll();
  await prompted({ type: 14 });
  await send(chat);
  expect(JSON.parse(sent()).system).toEqual([{ type: 'text', text: 'Be brief.' }]);
  await removeAll();
  await prompted({ setting: '{"system_prompt":"Be brief.","pass_through":true}' });
  await send(chat);
  expect(JSON.parse(sent())).toEqual(chat);
  await removeAll();
  const plain = await heldFor([]);
  const long = JSON.stringify({ system_prompt: 'x'.repeat(40_000) });
  expect((await heldFor([], chat, { setting: long })) / plain).toBeGreaterThan(4);
});

async function heldFor(operations: readonly object[], body: object = chat, fields: object = {}): Promise<number> {
  await ruled(operations, fields);
  let held = 0;
  const available = () => gateway.balances.account(gateway.userId, 0).available();
  const before = available();
  upstream.script((response) => {
    held = before - available();
    sendJson(response, completion);
  });
  expect((await send(body)).status).toBe(200);
  await removeAll();
  return held;
}

test('whatever rules may make dearer is reserved for, and nothing is reserved for less', async () => {
  const plain = await heldFor([{ mode: 'delete', path: 'user' }]);
  const ratio = async (...operations: object[]) => (await heldFor(operations)) / plain;
  expect(await ratio({ mode: 'set', path: 'service_tier', value: 'priority' })).toBeCloseTo(1.75, 1);
  expect(await ratio({ mode: 'set', path: 'service_tier', value: 'flex' })).toBeCloseTo(1, 1);
  expect(await ratio({ mode: 'set', path: 'n', value: 3, conditions: { user: 'nobody' } })).toBeCloseTo(3, 1);
  expect(await ratio({ mode: 'set', path: 'max_tokens', value: 4000 })).toBeGreaterThan(3.9);
  expect(await ratio({ mode: 'set', path: 'max_tokens', value: 10 })).toBeCloseTo(1, 1);
  expect(await ratio({ mode: 'delete', path: 'max_tokens' })).toBeGreaterThan(30);
  expect(
    await ratio({ mode: 'append', path: 'messages', value: { role: 'user', content: 'x'.repeat(40_000) } }),
  ).toBeGreaterThan(4);
});

test('the caller’s own tier is charged although a rule makes it cheaper, and a dearer tier of a rule is charged', async () => {
  const tier = (value: string) =>
    ruled([{ mode: 'set', path: 'service_tier', value }], { setting: '{"allow_tiers":true}' });
  const dollars = (input: number, output: number) => (10_000 * input + 2_000 * output) / 2;
  answers();
  await tier('flex');
  await send({ ...chat, service_tier: 'priority' });
  expect(JSON.parse(sent()).service_tier).toBe('flex');
  expect(await charged()).toBe(dollars(3.5, 14));
  await removeAll();
  await tier('priority');
  await send({ ...chat, service_tier: 'default' });
  expect(await charged()).toBe(dollars(3.5, 14));
});
