/** The endpoint follows from the model, and an upstream of the client's own dialect gets no member or tool that it is known to refuse. */
import { beforeEach, expect, test } from 'vitest';
import { providerBySlug } from '../../server/providers/catalogue.ts';
import { makeServiceAccount } from '../doubles/doubles/vertex.ts';
import { sendEvents } from '../providers/bench.ts';
import { sharedGateway } from '../support/shared-gateway.ts';
import { completion, sendJson } from '../support/upstream.ts';

const bench = await sharedGateway();
await bench.gateway.option('SelfUseModeEnabled', 'true');

const response = (output: readonly object[]) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'm',
  output,
  usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
});
const message = {
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'yes', annotations: [] }],
};
/** What the upstream answers with on its Responses endpoint. */
let output: readonly object[] = [message];

beforeEach(() => {
  output = [message];
  bench.upstream.script((out, { path }) =>
    path.endsWith('/responses') ? sendJson(out, response(output)) : sendJson(out, completion(3, 2)),
  );
});

const open = (slug: string, model: string, more: Record<string, unknown> = {}) =>
  bench.gateway.channel(bench.upstream.url, { type: providerBySlug(slug)?.type, models: model, ...more });

const post = (path: string, body: object): Promise<Response> =>
  bench.gateway.relay.handle(
    new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${bench.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
    path,
    { ip: () => '127.0.0.1' },
  );
async function ask(path: string, body: object): Promise<Record<string, unknown>> {
  const answer = await post(path, body);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Record<string, unknown>;
}
const sent = () => {
  const request = bench.upstream.requests.at(-1);
  return { path: request?.path.split('?')[0], text: String(request?.body), body: JSON.parse(String(request?.body)) };
};
const dropped = async () => (JSON.parse(String((await bench.row())?.other)).dropped ?? []) as string[];

const hi = [{ role: 'user', content: 'hi' }];
const parameters = { type: 'object', properties: { city: { type: 'string' } } };
const tools = [{ type: 'function', function: { name: 'get_weather', parameters } }];
type MakeRequest = (model: string, offered: boolean) => readonly [path: string, body: object];
const messagesRequest: MakeRequest = (model, offered) => [
  '/v1/messages',
  {
    model,
    max_tokens: 50,
    messages: hi,
    ...(offered ? { tools: [{ name: 'get_weather', input_schema: parameters }] } : {}),
  },
];
const requests: Readonly<Record<string, MakeRequest>> = {
  chat: (model, offered) => ['/v1/chat/completions', { model, messages: hi, ...(offered ? { tools } : {}) }],
  messages: messagesRequest,
  gemini: (model, offered) => [
    `/v1beta/models/${model}:generateContent`,
    {
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      ...(offered ? { tools: [{ functionDeclarations: [{ name: 'get_weather', parameters }] }] } : {}),
    },
  ],
  ollama: (model, offered) => ['/api/chat', { model, stream: false, messages: hi, ...(offered ? { tools } : {}) }],
};

test.each([
  ['openai', 'gpt-5.6-sol', '/v1/responses', '/v1/chat/completions'],
  ['openai', 'gpt-6-astra', '/v1/responses', '/v1/chat/completions'],
  ['azure', 'gpt-5.6-sol', '/openai/v1/responses', '/openai/deployments/gpt-5.6-sol/chat/completions'],
  ['openai', 'gpt-5.2', '/v1/chat/completions', '/v1/chat/completions'],
  ['openai', 'gpt-5.2-codex', '/v1/responses', '/v1/responses'],
])('every client’s tools reach %s’s %s at %s, and words alone %s', async (slug, model, withTools, without) => {
  await open(slug, model);
  for (const [client, make] of Object.entries(requests)) {
    await ask(...make(model, true));
    expect([client, sent().path]).toEqual([client, withTools]);
    expect(sent().body.tools).toHaveLength(1);
    await ask(...make(model, false));
    expect([client, sent().path]).toEqual([client, without]);
  }
});

test('a chat that sets the effort with which tools are taken stays as it is, where the model has that effort', async () => {
  await open('openai', 'gpt-5.6-sol,gpt-6-astra,gpt-5.4');
  const quiet = { model: 'gpt-5.6-sol', messages: hi, tools, reasoning_effort: 'none' };
  await ask('/v1/chat/completions', quiet);
  expect(sent()).toMatchObject({ path: '/v1/chat/completions', text: JSON.stringify(quiet) });
  await ask('/v1/chat/completions', { ...quiet, model: 'gpt-6-astra' });
  expect(sent()).toMatchObject({ path: '/v1/responses', body: { reasoning: { effort: 'low' } } });
  // It has that effort unless another is set.
  await ask('/v1/chat/completions', { model: 'gpt-5.4', messages: hi, tools });
  expect(sent().path).toBe('/v1/chat/completions');
  await ask('/v1/chat/completions', { model: 'gpt-5.4', messages: hi, tools, reasoning_effort: 'high' });
  expect(sent()).toMatchObject({ path: '/v1/responses', body: { reasoning: { effort: 'high' } } });
});

test.each(['openai', 'azure'])(
  'a shorter limit than %s’s Responses take is the shortest that they do',
  async (slug) => {
    await open(slug, 'gpt-5.6-sol');
    const limited = (path: string, body: object) =>
      ask(path, { model: 'gpt-5.6-sol', tools, messages: hi, ...body }).then(() => sent());
    expect(await limited('/v1/chat/completions', { max_tokens: 1 })).toMatchObject({
      path: expect.stringMatching(/\/responses$/),
      body: { max_output_tokens: 16 },
    });
    expect(await dropped()).toContain('/max_output_tokens: 16 instead of 1');
    expect((await limited('/v1/chat/completions', { max_tokens: 17 })).body.max_output_tokens).toBe(17);
    const [path, warmUp] = messagesRequest('gpt-5.6-sol', true);
    await ask(path, { ...warmUp, max_tokens: 1 });
    expect(sent().body.max_output_tokens).toBe(16);
    // A client of the same dialect hears of it from its maker.
    const own = { model: 'gpt-5.6-sol', input: 'hi', max_output_tokens: 1 };
    await ask('/v1/responses', own);
    expect(sent().text).toBe(JSON.stringify(own));
  },
);

test('a channel that names its dialect keeps it, and the model then does not think', async () => {
  await open('openai', 'gpt-5.6-sol', { setting: '{"dialect":"openai-chat"}' });
  await ask(...messagesRequest('gpt-5.6-sol', true));
  expect(sent()).toMatchObject({ path: '/v1/chat/completions', body: { reasoning_effort: 'none' } });
});

test('a call that a model makes at the other endpoint reaches a chat client as its own kind of call', async () => {
  await open('openai', 'gpt-5.6-sol');
  output = [
    { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Bonn"}' },
  ];
  const answer = await ask('/v1/chat/completions', { model: 'gpt-5.6-sol', messages: hi, tools });
  expect(answer).toMatchObject({
    object: 'chat.completion',
    choices: [
      {
        finish_reason: 'tool_calls',
        message: {
          tool_calls: [{ id: 'call_1', function: { name: 'get_weather', arguments: '{"city":"Bonn"}' } }],
        },
      },
    ],
  });
});

test.each([
  [
    '/v1/chat/completions',
    { messages: hi, temperature: 0.2, reasoning_effort: 'none' },
    { messages: hi, reasoning_effort: 'low' },
  ],
  [
    '/v1/responses',
    { input: 'hi', temperature: 0.2, reasoning: { effort: 'none' } },
    { input: 'hi', reasoning: { effort: 'low' } },
  ],
])('a client of %s gets no word through that a model which always thinks refuses', async (path, body, expected) => {
  await open('openai', 'gpt-6-astra');
  await ask(path, { model: 'gpt-6-astra', ...body });
  expect(sent().body).toEqual({ model: 'gpt-6-astra', ...expected });
  expect(await dropped()).toEqual(['/reasoning: cannot be switched off here', '/temperature: not taken by this model']);
});

test('the older name of a limit becomes the newer one, with its number', async () => {
  await open('openai', 'gpt-5');
  await ask('/v1/chat/completions', { model: 'gpt-5', messages: hi, max_tokens: 50 });
  expect(sent().body).toEqual({ model: 'gpt-5', messages: hi, max_completion_tokens: 50 });
});

test('with the effort of a model that does not think go its summary and its seal', async () => {
  await open('openai', 'gpt-4o,gpt-5');
  const thought = {
    input: 'hi',
    reasoning: { effort: 'medium', summary: 'auto' },
    include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
    text: { verbosity: 'low' },
  };
  await ask('/v1/responses', { model: 'gpt-4o', ...thought });
  expect(sent().body).toEqual({ model: 'gpt-4o', input: 'hi', include: ['message.output_text.logprobs'], text: {} });
  await ask('/v1/responses', { model: 'gpt-4o', input: 'hi', include: ['reasoning.encrypted_content'] });
  expect(sent().body).toEqual({ model: 'gpt-4o', input: 'hi' });
  const thinking = { model: 'gpt-5', ...thought };
  await ask('/v1/responses', thinking);
  expect(sent().text).toBe(JSON.stringify(thinking));
});

const patch = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edits.',
  format: { type: 'grammar', syntax: 'lark', definition: 'x' },
};
const bundle = {
  type: 'namespace',
  name: 'mcp__files',
  description: 'Files.',
  tools: [{ type: 'function', name: 'read', description: 'Reads.', parameters, strict: false, defer_loading: true }],
};
const plain = { type: 'function', name: 'exec_command', parameters, strict: false };
const codex = {
  tools: [plain, patch, bundle, { type: 'local_shell' }, { type: 'web_search', external_web_access: true }],
  tool_choice: 'auto',
  client_metadata: { 'x-codex-window-id': '1' },
};
const freeText = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
};
const told = [
  plain,
  { type: 'function', name: 'apply_patch', description: 'Edits.', parameters: freeText, strict: false },
  { type: 'function', name: 'mcp__files__read', description: 'Files.\n\nReads.', parameters, strict: false },
];

test.each([
  ['lm-studio', told],
  ['vllm', told],
  ['groq', told],
  ['xai', [...told, { type: 'web_search' }]],
  ['openrouter', [...told, { type: 'web_search' }]],
])(
  'the tools of a coding agent become functions on %s’s own endpoint, and calls come back as they were offered',
  async (slug, expected) => {
    await open(slug, 'qwen3-coder');
    output = [
      { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'apply_patch', arguments: '{"input":"*** Begin"}' },
      { type: 'function_call', id: 'fc_2', call_id: 'call_2', name: 'mcp__files__read', arguments: '{}' },
      { type: 'function_call', id: 'fc_3', call_id: 'call_3', name: 'exec_command', arguments: '{}' },
    ];
    const answer = await ask('/v1/responses', { model: 'qwen3-coder', input: 'hi', ...codex });
    expect(sent().path).toMatch(/\/responses$/);
    expect(sent().body).toEqual({ model: 'qwen3-coder', input: 'hi', tools: expected, tool_choice: 'auto' });
    expect(await dropped()).toContain('/tools/3: local_shell has a form that only its own dialect knows');
    expect(answer.output).toMatchObject([
      { type: 'custom_tool_call', call_id: 'call_1', name: 'apply_patch', input: '*** Begin' },
      { type: 'function_call', call_id: 'call_2', name: 'read', namespace: 'mcp__files' },
      { type: 'function_call', call_id: 'call_3', name: 'exec_command' },
    ]);
    expect((answer.output as object[])[2]).not.toHaveProperty('namespace');
  },
);

test('a call to such a tool in a stream is free text as well', async () => {
  await open('vllm', 'qwen3-coder');
  const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'apply_patch' };
  const events = [
    { type: 'response.created', response: response([]) },
    { type: 'response.output_item.added', output_index: 0, item: { ...call, arguments: '' } },
    { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: '{"input":"*** ' },
    { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: 'Begin"}' },
    { type: 'response.output_item.done', output_index: 0, item: { ...call, arguments: '{"input":"*** Begin"}' } },
    { type: 'response.completed', response: response([{ ...call, arguments: '{"input":"*** Begin"}' }]) },
  ];
  bench.upstream.script((out) => sendEvents(out, events));
  const answer = await post('/v1/responses', { model: 'qwen3-coder', input: 'hi', stream: true, ...codex });
  const frames = (await answer.text()).split('\n').filter((line) => line.startsWith('data: '));
  const done = frames.map((line) => JSON.parse(line.slice(6))).find(({ type }) => type === 'response.output_item.done');
  expect(done.item).toMatchObject({ type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin' });
});

test('the history and the choice of such tools are told in the same way', async () => {
  await open('vllm', 'qwen3-coder');
  await ask('/v1/responses', {
    model: 'qwen3-coder',
    input: [
      { type: 'additional_tools', tools: [patch] },
      { role: 'user', content: 'hi' },
      { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_1', name: 'apply_patch', input: 'x' },
      { type: 'custom_tool_call_output', call_id: 'call_1', output: 'done' },
      { type: 'function_call', call_id: 'call_2', name: 'read', namespace: 'mcp__files', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_2', output: 'words' },
      { type: 'local_shell_call', call_id: 'call_3', action: {} },
    ],
    tools: [bundle],
    tool_choice: { type: 'custom', name: 'apply_patch' },
  });
  expect(sent().body).toEqual({
    model: 'qwen3-coder',
    input: [
      { role: 'user', content: 'hi' },
      { type: 'function_call', call_id: 'call_1', name: 'apply_patch', arguments: '{"input":"x"}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'done' },
      { type: 'function_call', call_id: 'call_2', name: 'mcp__files__read', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_2', output: 'words' },
    ],
    tools: [told[2], told[1]],
    tool_choice: { type: 'function', name: 'apply_patch' },
  });
  expect(await dropped()).toContain('/input/6: local_shell_call is unknown to the upstream');
});

test('a search without access to the web is left out where a model cannot be told so, with its choice and an empty list', async () => {
  await open('xai', 'grok-4.6');
  const cached = { type: 'web_search', external_web_access: false };
  await ask('/v1/responses', {
    model: 'grok-4.6',
    input: 'hi',
    tools: [cached],
    tool_choice: cached,
    parallel_tool_calls: true,
  });
  expect(sent().body).toEqual({ model: 'grok-4.6', input: 'hi' });
  expect(await dropped()).toEqual(['/tools/0: a search that may not reach the web is unknown to the upstream']);
});

test.each(['openai', 'azure'])(
  'OpenAI’s own tools pass to %s as they are, and functions everywhere, byte for byte',
  async (slug) => {
    await open(slug, 'gpt-5.6-sol');
    const whole = { model: 'gpt-5.6-sol', input: 'hi', ...codex };
    await ask('/v1/responses', whole);
    expect(sent().text).toBe(JSON.stringify(whole));
    await open('xai', 'grok-4');
    const functions = {
      model: 'grok-4',
      input: 'hi',
      tools: [plain, { type: 'web_search' }],
      tool_choice: { type: 'web_search' },
    };
    await ask('/v1/responses', functions);
    expect(sent().text).toBe(JSON.stringify(functions));
  },
);

const label = (mimeType: string) => {
  const data = Buffer.from('\x89PNG\r\n\x1a\nxxxxxxxx', 'latin1').toString('base64');
  return { mimeType, data };
};

test('a wrong label of a picture is corrected for clients of Gemini and Anthropic, a right one stays byte for byte', async () => {
  await open('gemini', 'gemini-2.5-pro');
  await open('anthropic', 'claude-sonnet-4-5');
  bench.upstream.script((out, { path }) =>
    path.includes('generateContent')
      ? sendJson(out, { candidates: [{ content: { parts: [{ text: 'yes' }] }, finishReason: 'STOP' }] })
      : sendJson(out, {
          type: 'message',
          role: 'assistant',
          content: [{ type: 'text', text: 'yes' }],
          stop_reason: 'end_turn',
          usage: { input_tokens: 1, output_tokens: 1 },
        }),
  );
  const gemini = (mimeType: string) => ({ contents: [{ role: 'user', parts: [{ inlineData: label(mimeType) }] }] });
  await ask('/v1beta/models/gemini-2.5-pro:generateContent', gemini('image/jpg'));
  expect(sent().body).toEqual(gemini('image/png'));
  await ask('/v1beta/models/gemini-2.5-pro:generateContent', gemini('image/png'));
  expect(sent().text).toBe(JSON.stringify(gemini('image/png')));
  const messages = (mimeType: string) => {
    const { data } = label(mimeType);
    const image = { type: 'image', source: { type: 'base64', media_type: mimeType, data } };
    const content = [image, { type: 'tool_result', tool_use_id: 't', content: [image] }];
    return { model: 'claude-sonnet-4-5', max_tokens: 9, messages: [{ role: 'user', content }] };
  };
  await ask('/v1/messages', messages('image/jpeg'));
  expect(sent().body).toEqual(messages('image/png'));
});

test('the clouds that host these models compare pictures with their labels, too', async () => {
  const { json } = makeServiceAccount(`${bench.upstream.url}/token`);
  await open('aws', 'claude-opus-4-5', { key: 'ak|sk|us-east-1' });
  await open('vertex', 'claude-opus-4-8,gemini-3-flash-preview', { key: json });
  bench.upstream.script((out, { path }) =>
    path === '/token'
      ? sendJson(out, { access_token: 'bought', expires_in: 3600 })
      : path.includes('generateContent')
        ? sendJson(out, { candidates: [{ content: { parts: [{ text: 'yes' }] }, finishReason: 'STOP' }] })
        : sendJson(out, {
            type: 'message',
            role: 'assistant',
            content: [{ type: 'text', text: 'yes' }],
            stop_reason: 'end_turn',
            usage: { input_tokens: 1, output_tokens: 1 },
          }),
  );
  const { data } = label('');
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data } };
  const content = [image, { type: 'tool_result', tool_use_id: 't', content: [image] }];
  for (const model of ['claude-opus-4-5', 'claude-opus-4-8']) {
    await ask('/v1/messages', { model, max_tokens: 9, messages: [{ role: 'user', content }] });
    expect(sent().text.match(/image\/\w+/g)).toEqual(['image/png', 'image/png']);
  }
  for (const [member, type] of [
    ['inlineData', 'mimeType'],
    ['inline_data', 'mime_type'],
  ] as const) {
    const parts = [{ [member]: { [type]: 'image/jpg', data } }];
    await ask('/v1beta/models/gemini-3-flash-preview:generateContent', { contents: [{ role: 'user', parts }] });
    expect(sent().body).toMatchObject({ contents: [{ parts: [{ [member]: { [type]: 'image/png', data } }] }] });
  }
});

test('members that the makers refuse or require are seen to for clients of the same dialect', async () => {
  await open('minimax', 'MiniMax-M3');
  await open('moonshot', 'kimi-k2.7-code');
  await open('zhipu-v4', 'glm-5');
  const call = (more: object) => ({
    messages: [
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '' } }],
        ...more,
      },
    ],
  });
  await ask('/v1/chat/completions', {
    model: 'MiniMax-M3',
    ...call({}),
    tools: [{ type: 'function', function: { name: 'f' } }],
  });
  expect(sent().body).toMatchObject({
    messages: [{ tool_calls: [{ function: { arguments: '{}' } }] }],
    tools: [{ function: { name: 'f', parameters: { type: 'object', properties: {} } } }],
  });
  await ask('/v1/chat/completions', {
    model: 'kimi-k2.7-code',
    messages: hi,
    thinking: { type: 'disabled' },
    temperature: 0.3,
  });
  expect(sent().body).toEqual({ model: 'kimi-k2.7-code', messages: hi, thinking: { type: 'enabled' } });
  const marked = [
    { role: 'user', content: [{ type: 'text', text: 'hi', prompt_cache_breakpoint: { mode: 'explicit' } }] },
  ];
  await ask('/v1/chat/completions', { model: 'glm-5', messages: marked, prompt_cache_options: { ttl: '30m' } });
  expect(sent().body).toEqual({
    model: 'glm-5',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
  });
});

test('a thought that was lost is stood in for where hosts of DeepSeek’s models demand one', async () => {
  for (const slug of ['openrouter', 'fireworks']) {
    await open(slug, `deepseek/deepseek-v4-pro-${slug}`, { setting: '{"dialect":"openai-chat"}' });
    const calls = [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }];
    await ask('/v1/chat/completions', {
      model: `deepseek/deepseek-v4-pro-${slug}`,
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: '', tool_calls: calls },
        { role: 'tool', tool_call_id: 'c', content: 'x' },
      ],
    });
    expect(sent().body.messages[1].reasoning_content).toBe(' ');
    expect(sent().body.messages[0]).not.toHaveProperty('reasoning_content');
  }
});

test('embeddings that were asked for in base64 come in base64, and as they came where they are', async () => {
  await open('custom', 'e');
  const entry = (embedding: unknown) => ({
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding }],
    model: 'e',
    usage: { prompt_tokens: 1, total_tokens: 1 },
  });
  const embed = (encoding_format?: string) => ask('/v1/embeddings', { model: 'e', input: 'hi', encoding_format });
  bench.upstream.script((out) => sendJson(out, entry([0.5, -2])));
  const packed = Buffer.from(new Float32Array([0.5, -2]).buffer).toString('base64');
  expect(await embed('base64')).toEqual(entry(packed));
  expect(await embed()).toEqual(entry([0.5, -2]));
  bench.upstream.script((out) => sendJson(out, entry(packed)));
  expect(await embed('base64')).toEqual(entry(packed));
});
