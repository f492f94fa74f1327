import { generateKeyPairSync } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { providerBySlug } from '../../server/providers/catalogue.ts';
import { awsMessage } from '../providers/aws-message.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
  await gateway.option('SelfUseModeEnabled', 'true');
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

async function channel(slug: string, model: string, fields: Record<string, unknown> = {}): Promise<string> {
  await gateway.channel(upstream.url, { type: providerBySlug(slug)?.type, models: model, ...fields });
  return (await gateway.token()).key;
}
const ask = (model: string, more: object = {}) => ({ model, messages: [{ role: 'user', content: 'hi' }], ...more });
const sent = (index = 0) => {
  const request = upstream.requests[index];
  return { path: request?.path, headers: request?.headers ?? {}, body: JSON.parse(request?.body.toString() || 'null') };
};
const embed = (key: string, body: object): Promise<Response> =>
  gateway.relay.handle(
    new Request('http://gateway/v1/embeddings', {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}` },
      body: JSON.stringify(body),
    }),
    '/v1/embeddings',
    { ip: () => '' },
  );
const textOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { choices: { message: { content: string } }[] }).choices[0]?.message.content ?? '';

const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'hello' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 10, output_tokens: 5 },
};

test.each([
  ['', '/openai/deployments/gpt-4o/chat/completions?api-version=2024-12-01-preview'],
  ['2025-04-01-preview', '/openai/deployments/gpt-4o/chat/completions?api-version=2025-04-01-preview'],
  ['v1', '/openai/v1/chat/completions'],
])('Azure with version "%s"', async (other, path) => {
  const key = await channel('azure', 'gpt-4o', { other });
  expect(await textOf(await gateway.chat(key, ask('gpt-4o')))).toBe('hello world');
  expect(sent().path).toBe(path);
  expect(sent().headers['api-key']).toBe('sk-upstream-secret-key');
  expect(sent().headers.authorization).toBeUndefined();
});

test.each([
  ['gpt-4.1', '', 'gpt-4.1'],
  ['gpt-4.1', '{"gpt-4.1":"my.gpt-41"}', 'my.gpt-41'],
  ['gpt-3.5-turbo', '', 'gpt-35-turbo'],
  ['gpt-3.5-turbo', '{"gpt-3.5-turbo":"gpt-3.5"}', 'gpt-3.5'],
])('Azure, %s with the mapping "%s" is the deployment %s', async (model, model_mapping, deployment) => {
  const key = await channel('azure', model, { model_mapping });
  expect(await textOf(await gateway.chat(key, ask(model)))).toBe('hello world');
  expect(sent().path).toContain(`/openai/deployments/${deployment}/chat/completions?`);
});

test.each([
  ['bot-20250101-abc', '/api/v3/bots/chat/completions'],
  ['ep-20250101-abc', '/api/v3/chat/completions'],
])('VolcEngine, %s is asked at %s', async (model, path) => {
  const key = await channel('volcengine', model, {});
  expect(await textOf(await gateway.chat(key, ask(model)))).toBe('hello world');
  expect(sent().path).toBe(path);
});

test('Bedrock: Claude by InvokeModel, signed, whole', async () => {
  const key = await channel('aws', 'claude-3-5-sonnet-20241022', { key: 'AKID|SECRET|us-west-2' });
  upstream.script((response) => sendJson(response, message));
  expect(await textOf(await gateway.chat(key, ask('claude-3-5-sonnet-20241022', { max_tokens: 9 })))).toBe('hello');
  const { path, headers, body } = sent();
  expect(path).toBe('/model/anthropic.claude-3-5-sonnet-20241022-v2%3A0/invoke');
  expect(headers.authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=AKID\/\d{8}\/us-west-2\/bedrock\/aws4_request/);
  expect(body).toEqual({
    anthropic_version: 'bedrock-2023-05-31',
    max_tokens: 9,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
  });
  expect((await gateway.logs())[0]).toMatchObject({
    prompt_tokens: 10,
    completion_tokens: 5,
    usage_source: 'reported',
  });
});

const inner = [
  { type: 'message_start', message: { id: 'm', usage: { input_tokens: 10, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
];
const sendAws = (response: ServerResponse, messages: readonly Buffer[]) => {
  response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
  for (const bytes of messages) response.write(bytes);
  response.end();
};

test('Bedrock: Claude streamed, to a client of either dialect', async () => {
  const model = 'claude-sonnet-4-20250514';
  const key = await channel('aws', model, { key: 'APIKEY|eu-central-1' });
  upstream.script((response) =>
    sendAws(
      response,
      inner.map((event) =>
        awsMessage(
          { ':event-type': 'chunk', ':message-type': 'event' },
          JSON.stringify({ bytes: Buffer.from(JSON.stringify(event)).toString('base64') }),
        ),
      ),
    ),
  );
  const text = await (await gateway.chat(key, ask(model, { stream: true }))).text();
  expect(text).toContain('"content":"hello"');
  expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true);
  expect(sent().path).toBe(`/model/eu.anthropic.${model}-v1%3A0/invoke-with-response-stream`);
  expect(sent().headers.authorization).toBe('Bearer APIKEY');
  const native = await gateway.relay.handle(
    new Request('http://gateway/v1/messages', {
      method: 'POST',
      headers: { 'x-api-key': key, 'anthropic-beta': 'context-1m-2025-08-07,unknown-beta-1' },
      body: JSON.stringify({ ...ask(model), max_tokens: 9, stream: true }),
    }),
    '/v1/messages',
    { ip: () => '' },
  );
  expect(await native.text()).toContain('event: message_stop');
  expect(sent(1).body).toMatchObject({ anthropic_beta: ['context-1m-2025-08-07'] });
  expect(sent(1).body.stream).toBeUndefined();
  expect((await gateway.logs()).map((log) => log.completion_tokens)).toEqual([5, 5]);
});

test('Bedrock: an exception in the stream is an error of its kind', async () => {
  const key = await channel('aws', 'claude-3-haiku-20240307', { key: 'A|S|us-east-1' });
  upstream.script((response) =>
    sendAws(response, [
      awsMessage({ ':message-type': 'exception', ':exception-type': 'throttlingException' }, '{"message":"slow down"}'),
    ]),
  );
  const response = await gateway.chat(key, ask('claude-3-haiku-20240307', { stream: true }));
  expect(response.status).toBe(429);
  expect((await gateway.logs())[0]).toMatchObject({ type: 5, quota: 0 });
});

test('Bedrock: other models by Converse, tools included', async () => {
  const key = await channel('aws', 'amazon.nova-pro-v1:0', { key: 'A|S|us-east-1' });
  upstream.script((response) =>
    sendJson(response, {
      output: {
        message: {
          role: 'assistant',
          content: [{ text: 'let me look' }, { toolUse: { toolUseId: 't1', name: 'now', input: { zone: 'CET' } } }],
        },
      },
      stopReason: 'tool_use',
      usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
    }),
  );
  const response = await gateway.chat(
    key,
    ask('amazon.nova-pro-v1:0', {
      max_tokens: 50,
      tools: [{ type: 'function', function: { name: 'now', parameters: { type: 'object' } } }],
    }),
  );
  const { choices } = (await response.json()) as {
    choices: [{ message: Record<string, unknown>; finish_reason: string }];
  };
  expect(choices[0].finish_reason).toBe('tool_calls');
  expect(choices[0].message.tool_calls).toMatchObject([
    { id: 't1', function: { name: 'now', arguments: '{"zone":"CET"}' } },
  ]);
  expect(sent().path).toBe('/model/amazon.nova-pro-v1%3A0/converse');
  expect(sent().body).toMatchObject({
    messages: [{ role: 'user', content: [{ text: 'hi' }] }],
    inferenceConfig: { maxTokens: 50 },
    toolConfig: { tools: [{ toolSpec: { name: 'now' } }] },
  });
});

const account = () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return JSON.stringify({
    project_id: 'proj',
    client_email: 'a@proj.example',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    private_key_id: crypto.randomUUID(),
    token_uri: `${upstream.url}/token`,
  });
};

test('Vertex: one token for many requests; Gemini, Claude and open models at their own places', async () => {
  const models = 'gemini-2.5-flash,claude-sonnet-4-20250514,llama-4';
  const other = '{"default":"us-central1","claude-sonnet-4-20250514":"europe-west1"}';
  const key = await channel('vertex', models, { key: account(), other });
  upstream.script((response, { path }) => {
    if (path === '/token') return sendJson(response, { access_token: 'ya29', expires_in: 3600 });
    if (path.includes('/google/')) {
      return sendJson(response, {
        candidates: [{ content: { role: 'model', parts: [{ text: 'hello' }] }, finishReason: 'STOP' }],
        usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5 },
      });
    }
    return sendJson(response, path.includes('/anthropic/') ? message : completion(10, 5));
  });
  for (const model of models.split(',')) {
    expect(await textOf(await gateway.chat(key, ask(model, { max_tokens: 9 })))).toMatch(/^hello/);
  }
  expect(upstream.requests.map(({ path }) => path)).toEqual([
    '/token',
    '/v1/projects/proj/locations/us-central1/publishers/google/models/gemini-2.5-flash:generateContent',
    '/v1/projects/proj/locations/europe-west1/publishers/anthropic/models/claude-sonnet-4@20250514:rawPredict',
    '/v1/projects/proj/locations/us-central1/endpoints/openapi/chat/completions',
  ]);
  expect(sent(1).headers.authorization).toBe('Bearer ya29');
  expect(sent(2).body).toMatchObject({ anthropic_version: 'vertex-2023-10-16', max_tokens: 9 });
  expect(sent(2).body.model).toBeUndefined();
});

test('Vertex: a key that is no account is trouble of the key, not of the client', async () => {
  const key = await channel('vertex', 'gemini-2.5-flash', { key: 'not json' });
  const response = await gateway.chat(key, ask('gemini-2.5-flash'));
  expect(response.status).toBe(400);
  expect(upstream.requests).toHaveLength(0);
  expect(await gateway.verify()).toEqual([]);
  expect(gateway.relay.open()).toBe(0);
});

test('Tencent: capital letters, TC3, errors inside of 200', async () => {
  const key = await channel('tencent', 'hunyuan-pro', { key: '1|ID|KEY' });
  upstream.script((response) =>
    sendJson(response, {
      Response: {
        Id: 'x',
        Choices: [{ FinishReason: 'stop', Message: { Role: 'assistant', Content: 'hello' } }],
        Usage: { PromptTokens: 10, CompletionTokens: 5, TotalTokens: 15 },
      },
    }),
  );
  expect(await textOf(await gateway.chat(key, ask('hunyuan-pro')))).toBe('hello');
  expect(sent().body).toEqual({ Model: 'hunyuan-pro', Messages: [{ Role: 'user', Content: 'hi' }] });
  expect(sent().headers['x-tc-action']).toBe('ChatCompletions');
  expect(sent().headers.authorization).toContain('Credential=ID/');
  upstream.script((response) =>
    sendJson(response, { Response: { Error: { Code: 'AuthFailure', Message: 'bad signature' }, RequestId: 'r' } }),
  );
  expect((await gateway.chat(key, ask('hunyuan-pro'))).status).toBe(502);
});

test.each([
  ['rate_limit_error', 429],
  ['invalid_request_error', 400],
  ['server_error', 502],
])('an error of type %s inside of a 200 is answered with %d', async (type, status) => {
  const key = await channel('openai', 'gpt-4o');
  upstream.script((response) => sendJson(response, { error: { message: 'no', type } }));
  expect((await gateway.chat(key, ask('gpt-4o'))).status).toBe(status);
});

test('Baidu: a token for the query, the model in the path, turns that alternate', async () => {
  const key = await channel('baidu', 'ERNIE-3.5-8K', { key: 'AK|SK' });
  upstream.script((response, { path }) =>
    path.startsWith('/oauth')
      ? sendJson(response, { access_token: 'tok', expires_in: 2_592_000 })
      : sendJson(response, { result: 'hello', is_end: true, usage: { prompt_tokens: 10, completion_tokens: 5 } }),
  );
  const messages = [
    { role: 'system', content: 'be brief' },
    { role: 'user', content: 'a' },
    { role: 'user', content: 'b' },
  ];
  expect(await textOf(await gateway.chat(key, { model: 'ERNIE-3.5-8K', messages }))).toBe('hello');
  expect(sent(0).path).toBe('/oauth/2.0/token?grant_type=client_credentials&client_id=AK&client_secret=SK');
  expect(sent(1).path).toBe('/rpc/2.0/ai_custom/v1/wenxinworkshop/chat/completions?access_token=tok');
  expect(sent(1).body).toEqual({ system: 'be brief', messages: [{ role: 'user', content: 'a\nb' }] });
  upstream.script((response) =>
    sendJson(response, { error_code: 18, error_msg: 'Open api qps request limit reached' }),
  );
  expect((await gateway.chat(key, ask('ERNIE-3.5-8K'))).status).toBe(429);
});

test.each([
  ['baidu', 'ERNIE-3.5-8K', 'AK'],
  ['baidu', 'ERNIE-3.5-8K', 'app|AK|SK'],
  ['tencent', 'hunyuan-lite', 'SecretId|SecretKey'],
])('%s: a key of the wrong number of parts is sent nowhere', async (type, model, key) => {
  const response = await gateway.chat(await channel(type, model, { key }), ask(model));
  expect(await response.json()).toMatchObject({ error: { code: 'upstream_key' } });
  expect(upstream.requests).toEqual([]);
});

test('Baidu: embeddings, and their errors inside of a 200', async () => {
  const key = await channel('baidu', 'bge-large-zh', { key: 'AK|SK' });
  const answer = { data: [{ index: 0, embedding: [0.5] }], usage: { prompt_tokens: 3, total_tokens: 3 } };
  let answered: object = answer;
  upstream.script((response, { path }) =>
    sendJson(response, path.startsWith('/oauth') ? { access_token: 'tok', expires_in: 2_592_000 } : answered),
  );
  const body = { model: 'bge-large-zh', input: 'a' };
  expect(await (await embed(key, body)).json()).toMatchObject({
    data: [{ embedding: [0.5] }],
    usage: { prompt_tokens: 3 },
  });
  expect(sent(1).path).toBe('/rpc/2.0/ai_custom/v1/wenxinworkshop/embeddings/bge_large_zh?access_token=tok');
  expect(sent(1).body).toEqual({ input: ['a'] });
  answered = { error_code: 336501, error_msg: 'Rate limit reached' };
  expect((await embed(key, body)).status).toBe(429);
});

test('Vertex: embeddings by predict, tokens counted for each text', async () => {
  const model = 'text-embedding-005';
  const key = await channel('vertex', model, { key: account() });
  const prediction = (values: number[], token_count: number) => ({
    embeddings: { values, statistics: { token_count } },
  });
  upstream.script((response, { path }) =>
    sendJson(
      response,
      path === '/token'
        ? { access_token: 'ya29', expires_in: 3600 }
        : { predictions: [prediction([0.5], 2), prediction([1], 3)] },
    ),
  );
  expect(await (await embed(key, { model, input: ['a', 'b'], dimensions: 1 })).json()).toMatchObject({
    data: [{ embedding: [0.5] }, { embedding: [1] }],
    usage: { prompt_tokens: 5, total_tokens: 5 },
  });
  expect(sent(1).path).toBe(`/v1/projects/proj/locations/us-central1/publishers/google/models/${model}:predict`);
  expect(sent(1).body).toEqual({
    instances: [{ content: 'a' }, { content: 'b' }],
    parameters: { outputDimensionality: 1 },
  });
});

test('Dify: a transcript in, words and usage out', async () => {
  const key = await channel('dify', 'app');
  const events = [
    { event: 'message', answer: 'hel' },
    { event: 'message', answer: 'lo' },
    { event: 'message_end', metadata: { usage: { prompt_tokens: 10, completion_tokens: 5 } } },
  ];
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  });
  const text = await (await gateway.chat(key, ask('app', { stream: true }))).text();
  expect(text).toContain('"content":"hel"');
  expect(sent().path).toBe('/v1/chat-messages');
  expect(sent().body).toMatchObject({ query: 'hi', response_mode: 'streaming', inputs: {} });
  expect((await gateway.logs())[0]).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, end_reason: 'completed' });
});

test('Coze: one piece is gathered from the stream', async () => {
  const key = await channel('coze', 'bot-7');
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('event:conversation.message.delta\ndata:{"type":"answer","content":"hello"}\n\n');
    response.write('event:conversation.message.delta\ndata:{"type":"follow_up","content":"more?"}\n\n');
    response.end('event:conversation.chat.completed\ndata:{"usage":{"input_count":10,"output_count":5}}\n\n');
  });
  const response = await gateway.chat(key, ask('bot-7'));
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(await textOf(response)).toBe('hello');
  expect(sent().body).toMatchObject({ bot_id: '7', stream: true });
});

test('Zhipu: the key signs a token', async () => {
  const key = await channel('zhipu-v4', 'glm-4', { key: 'id.secret' });
  await (await gateway.chat(key, ask('glm-4', { top_p: 1, temperature: 1.5, max_tokens: 9 }))).text();
  const [head = '', body = ''] = String(sent().headers.authorization).replace('Bearer ', '').split('.');
  expect(JSON.parse(Buffer.from(head, 'base64url').toString())).toEqual({ alg: 'HS256', sign_type: 'SIGN' });
  expect(JSON.parse(Buffer.from(body, 'base64url').toString())).toMatchObject({ api_key: 'id' });
  // Moved to the nearest that is allowed there.
  expect(sent().body).toEqual(ask('glm-4', { top_p: 0.99, temperature: 1, max_tokens: 9 }));
});

test.each([
  [
    'claude-sonnet-4-5-thinking',
    'anthropic',
    'claude-sonnet-4-5',
    { thinking: { type: 'enabled', budget_tokens: 8000 } },
  ],
  ['gemini-2.5-flash-nothinking', 'gemini', null, { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }],
  ['gemini-2.5-flash-thinking-999', 'gemini', null, { generationConfig: { thinkingConfig: { thinkingBudget: 999 } } }],
  ['o3-mini-high', 'openai', 'o3-mini', { reasoning_effort: 'high' }],
] as const)('%s is a wish about thinking', async (model, slug, upstreamModel, expected) => {
  await gateway.option('gemini.thinking_adapter_enabled', 'true');
  const key = await channel(slug, model);
  await gateway.chat(key, ask(model, { max_tokens: 10_000 }));
  expect(sent().body).toMatchObject(expected);
  if (upstreamModel !== null) expect(sent().body.model).toBe(upstreamModel);
  else expect(sent().path).toContain('/models/gemini-2.5-flash:generateContent');
});

test('thoughts can be put into the text', async () => {
  const key = await channel('deepseek', 'deepseek-reasoner', { setting: '{"thinking_to_content":true}' });
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const chunk = (delta: object, finish: string | null = null) =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    response.end(
      `${chunk({ reasoning_content: 'hmm' })}${chunk({ content: 'yes' })}${chunk({}, 'stop')}data: [DONE]\n\n`,
    );
  });
  const text = await (await gateway.chat(key, ask('deepseek-reasoner', { stream: true }))).text();
  const words = [...text.matchAll(/"content":"((?:[^"\\]|\\.)*)"/g)]
    .map((match) => JSON.parse(`"${match[1]}"`))
    .join('');
  expect(words).toBe('<think>\nhmm\n</think>\nyes');
});
