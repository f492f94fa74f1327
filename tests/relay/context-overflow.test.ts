/** A prompt that is longer than the model takes is reported in the words on which clients of each dialect act. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { refusalIn } from '../../server/providers/knowledge/rejection.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;

const hello = [{ role: 'user', content: 'hi' }];
const requests = {
  'openai-chat': ['/v1/chat/completions', (model: string) => ({ model, messages: hello })],
  'openai-responses': ['/v1/responses', (model: string) => ({ model, input: 'hi' })],
  'anthropic-messages': ['/v1/messages', (model: string) => ({ model, max_tokens: 9, messages: hello })],
  'gemini-generate': [
    '/v1beta/models/{model}:generateContent',
    () => ({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }),
  ],
  'ollama-chat': ['/api/chat', (model: string) => ({ model, messages: hello })],
  'cohere-chat': ['/v2/chat', (model: string) => ({ model, messages: hello })],
} as const;
type Dialect = keyof typeof requests;
const dialects = Object.keys(requests) as Dialect[];

beforeAll(async () => {
  upstream = await startUpstream(() => undefined);
  gateway = await createTestGateway();
  for (const dialect of dialects)
    await gateway.channel(upstream.url, { type: 199, models: dialect, setting: JSON.stringify({ dialect }) });
  await gateway.option('ModelRatio', JSON.stringify(Object.fromEntries(dialects.map((model) => [model, 1]))));
  key = (await gateway.token()).key;
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

async function send(client: Dialect, model: Dialect) {
  const [template, bodyFor] = requests[client];
  const path = template.replace('{model}', model);
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'accept-language': 'en' },
    body: JSON.stringify(bodyFor(model)),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const refusing = (body: object, status = 400) => upstream.script((response) => sendJson(response, body, status));

const upstreams: Readonly<Partial<Record<Dialect, object>>> = {
  'openai-chat': {
    error: {
      message:
        "This model's maximum context length is 200000 tokens. However, your messages resulted in 210000 tokens.",
      type: 'invalid_request_error',
      param: 'messages',
      code: 'context_length_exceeded',
    },
  },
  'anthropic-messages': {
    type: 'error',
    error: { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' },
  },
  'gemini-generate': {
    error: {
      code: 400,
      status: 'INVALID_ARGUMENT',
      message: 'The input token count (210000) exceeds the maximum number of tokens allowed (200000).',
    },
  },
};

const own: Readonly<Record<Dialect, object>> = {
  'openai-chat': { error: { type: 'invalid_request_error', code: 'context_length_exceeded', param: 'messages' } },
  'openai-responses': { error: { type: 'invalid_request_error', code: 'context_length_exceeded', param: 'input' } },
  'anthropic-messages': {
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message: expect.stringMatching(/^prompt is too long: 210000 tokens > 200000 maximum/),
    },
  },
  'gemini-generate': {
    error: {
      code: 400,
      status: 'INVALID_ARGUMENT',
      message: expect.stringMatching(
        /^The input token count \(210000\) exceeds the maximum number of tokens allowed \(200000\)/,
      ),
    },
  },
  'ollama-chat': { error: expect.stringContaining('210000') },
  'cohere-chat': { message: expect.stringContaining('210000') },
};

test.each(dialects.flatMap((client) => (Object.keys(upstreams) as Dialect[]).map((model) => [client, model] as const)))(
  '%s client, %s upstream: the prompt is too long',
  async (client, model) => {
    refusing(upstreams[model] ?? {});
    const { status, body } = await send(client, model);
    expect(status).toBe(400);
    expect(body).toMatchObject(own[client]);
  },
);

test('an upstream that calls it a server error is not asked again', async () => {
  refusing({ error: { message: 'the request exceeds the available context size, try increasing it' } }, 500);
  const { status, body } = await send('anthropic-messages', 'openai-chat');
  expect([status, body.error]).toMatchObject([400, { message: expect.stringMatching(/^prompt is too long: /) }]);
});

test('an overflow inside of a stream has the code that Codex acts on', async () => {
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const delta = { choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: null }], id: 'x' };
    const error = { message: 'prompt is too long: 9 tokens > 8 maximum', type: 'invalid_request_error' };
    response.end(`data: ${JSON.stringify(delta)}\n\ndata: ${JSON.stringify({ error })}\n\n`);
  });
  const request = new Request('http://gateway/v1/responses', {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}` },
    body: JSON.stringify({ model: 'openai-chat', input: 'hi', stream: true }),
  });
  const response = await gateway.relay.handle(request, '/v1/responses', { ip: () => '127.0.0.1' });
  expect(await response.text()).toMatch(/event: response\.failed\ndata: .*"error":\{"code":"context_length_exceeded"/);
});

test('the member that an upstream names stays named, and its words for types are not another dialect’s', async () => {
  refusing({
    error: { message: 'no', type: 'invalid_request_error', param: 'temperature', code: 'unsupported_value' },
  });
  expect((await send('openai-responses', 'openai-chat')).body).toMatchObject({
    error: { type: 'invalid_request_error', param: 'temperature', code: 'unsupported_value' },
  });
  refusing({ error: { code: 400, status: 'INVALID_ARGUMENT', message: 'bad schema' } });
  expect((await send('openai-chat', 'gemini-generate')).body).toMatchObject({
    error: { type: 'invalid_request_error', param: null },
  });
});

test('Azure’s words about its filter are in the log', async () => {
  const innererror = { code: 'ResponsibleAIPolicyViolation', content_filter_result: { hate: { filtered: true } } };
  refusing({ error: { message: 'filtered', code: 'content_filter', status: 400, innererror } });
  await send('openai-chat', 'openai-chat');
  const other = JSON.parse(String((await gateway.logs())[0]?.other)) as {
    admin_info: { attempts: { detail?: string }[] };
  };
  expect(JSON.parse(other.admin_info.attempts[0]?.detail ?? '')).toEqual(innererror);
});

test.each([
  ['prompt is too long: 213462 tokens > 200000 maximum', 213462, 200000],
  ['input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000', null, null],
  [
    "This model's maximum context length is 128000 tokens. However, you requested 130000 tokens (120000 in the messages, 10000 in the completion).",
    130000,
    128000,
  ],
  [
    "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens (40000 of text input).",
    40000,
    32768,
  ],
  ['Your input exceeds the context window of this model.', null, null],
  ['The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).', 1196265, 1048575],
  ['Input is too long for requested model.', null, null],
  ["This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 537812, 131072],
  ['Please reduce the length of the messages or completion.', null, null],
  [
    'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    40000,
    32768,
  ],
  ['prompt token count of 70000 exceeds the limit of 64000', 70000, 64000],
  ['request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it', 5000, 4096],
  ['tokens to keep is greater than the context length', null, null],
  ['Your request exceeded model token limit: 8192 (requested: 9000)', 9000, 8192],
  ['context window exceeds limit', null, null],
  ['Input length 131393 exceeds the maximum allowed input length of 131040 tokens.', 131393, 131040],
  ["Input length (265330) exceeds model's maximum context length (262144).", 265330, 262144],
  ['Range of input length should be [1, 98304]', null, 98304],
  ['the input length exceeds the context length', null, null],
])('words for it: %s', (message, tokens, limit) => {
  const error = { status: 400, type: null, code: null, message };
  expect(refusalIn(error, false)).toEqual({ reason: 'context', tokens, limit });
});

test.each([
  'max_tokens is too large',
  'Too many tokens, please wait',
  'temperature exceeds the limit',
  'prompt is required',
])('no words for it: %s', (message) => {
  expect(refusalIn({ status: 400, type: null, code: null, message }, false)).toBeNull();
});
