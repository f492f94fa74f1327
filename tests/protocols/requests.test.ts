import { expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { plainSchema } from '../../server/protocols/gemini-generate/decode-request.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { targetFor } from '../../server/providers/knowledge/target.ts';

/** A request translated to another dialect, and what was lost on the way. */
function translated(from: ProtocolId, to: ProtocolId, body: Record<string, unknown>) {
  const path = { model: String(body.model), stream: body.stream === true };
  const request = codecs[from].translation.decodeRequest(body, path);
  const dropped: string[] = [];
  const made = JSON.parse(
    JSON.stringify(codecs[to].translation.encodeRequest(request, dropped, targetFor('', request.model))),
  );
  return { made, dropped };
}
const chat = (body: Record<string, unknown>) =>
  translated('openai-chat', 'anthropic-messages', { model: 'claude-sonnet-4-5', ...body });
const messages = (body: Record<string, unknown>) =>
  translated('anthropic-messages', 'openai-chat', { model: 'some-model', max_tokens: 10, ...body });
const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } };
const use = (id: string) => ({ type: 'tool_use', id, name: 'look', input: { at: id } });
const result = (id: string, content: unknown, more = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
});

test('all results of a turn stand right behind their calls, pictures in them come after the last', () => {
  const { made, dropped } = messages({
    messages: [
      { role: 'user', content: 'look twice' },
      { role: 'assistant', content: [{ type: 'text', text: 'Looking' }, use('a'), use('b')] },
      {
        role: 'user',
        content: [result('a', [picture]), result('b', 'none', { is_error: true }), { type: 'text', text: 'well?' }],
      },
    ],
  });
  expect(made.messages.map((message: { role: string }) => message.role)).toEqual([
    'user',
    'assistant',
    'tool',
    'tool',
    'user',
    'user',
  ]);
  expect(made.messages[1]).toMatchObject({
    content: 'Looking',
    tool_calls: [
      { id: 'a', function: { name: 'look', arguments: '{"at":"a"}' } },
      { id: 'b', function: { name: 'look', arguments: '{"at":"b"}' } },
    ],
  });
  expect(made.messages[3]).toEqual({ role: 'tool', tool_call_id: 'b', content: 'Error: none' });
  expect(made.messages[4].content).toEqual([{ type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } }]);
  expect(dropped).toEqual([]);
});

test('a turn in which nothing is said stays a turn', () => {
  const turns = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'hello' },
    { role: 'user', content: [] },
  ];
  expect(messages({ messages: turns }).made.messages).toEqual([...turns.slice(0, 2), { role: 'user', content: '' }]);
});

test.each([
  [
    'chat',
    chat,
    { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '' } }] },
  ],
  ['messages', messages, { role: 'assistant', content: [use('a')] }],
] as const)('%s: a call whose result was lost is answered in its place', (_name, send, call) => {
  const { made } = send({ messages: [{ role: 'user', content: 'go' }, call, { role: 'user', content: 'next' }] });
  const place = JSON.stringify(made.messages[2]);
  expect(place).toContain('"a"');
  expect(place.toLowerCase()).toContain('no result was given');
  expect(JSON.stringify(made.messages.slice(2))).toContain('next');
});

test('instructions lead or keep their position; only known marks and role names are sent', () => {
  const { made, dropped } = messages({
    system: [{ type: 'text', text: 'Be brief', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'system', content: 'Now in French' },
    ],
  });
  expect(made.messages).toEqual([
    { role: 'system', content: 'Be brief' },
    { role: 'user', content: 'hi' },
    { role: 'system', content: 'Now in French' },
  ]);
  expect(dropped).toEqual([expect.stringMatching(/^\/messages\/0\/content\/0: marks of what to cache/)]);
  const other = chat({
    messages: [
      { role: 'developer', content: 'Be brief' },
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'oui' },
      { role: 'developer', content: 'Now in French' },
      { role: 'user', content: 'again' },
    ],
  });
  expect(other.made.system).toEqual([{ type: 'text', text: 'Be brief' }]);
  expect(other.made.messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant', 'user']);
  expect(other.made.messages[2].content).toEqual([
    { type: 'text', text: '<system>\nNow in French\n</system>' },
    { type: 'text', text: 'again' },
  ]);
});

const thought = (more: Record<string, unknown>) => [
  { role: 'user', content: 'hi' },
  { role: 'assistant', content: 'hello', ...more },
  { role: 'user', content: 'more' },
];

test.each([
  ['unsigned', { reasoning_content: 'hm' }],
  ['signed by a stranger', { reasoning_details: [{ type: 'reasoning.text', text: 'hm', signature: 'foreign' }] }],
  ['sealed by a stranger', { reasoning_details: [{ type: 'reasoning.encrypted', data: 'gw1.r.xyz' }] }],
])('a thought that is %s is never sent as a signed one', (_name, more) => {
  const { made, dropped } = chat({ messages: thought(more) });
  expect(JSON.stringify(made)).not.toMatch(/thinking/);
  expect(dropped.join()).toContain('signature');
});

test('a thought comes back from a chat client with its own words and signature', () => {
  const { translation, upstream } = codecs['anthropic-messages'];
  const context = { model: 'm', responseId: 'r', created: 1, includeUsage: false };
  const content = [
    { type: 'thinking', thinking: 'Let me see', signature: 'sig' },
    { type: 'redacted_thinking', data: 'sealed' },
    use('a'),
  ];
  const events = upstream.decodeResponse({ id: 'msg_1', content, stop_reason: 'tool_use' });
  const writer = codecs['openai-chat'].translation.writer(context);
  const deltas = events
    .map((event) => writer.write(event))
    .join('')
    .split('\n\n')
    .flatMap((frame) => (frame.startsWith('data: {') ? [JSON.parse(frame.slice(6)).choices[0].delta] : []));
  const whole = codecs['openai-chat'].translation.encodeResponse(events, context) as {
    choices: { message: Record<string, unknown> }[];
  };
  const details = deltas.flatMap((delta) => delta.reasoning_details ?? []);
  const calls = whole.choices[0]?.message.tool_calls;
  for (const answer of [
    whole.choices[0]?.message,
    { role: 'assistant', reasoning_details: details, tool_calls: calls },
  ]) {
    const { made, dropped } = chat({
      messages: [{ role: 'user', content: 'hi' }, answer, { role: 'tool', tool_call_id: 'a', content: 'ok' }],
    });
    expect(made.messages[1].content).toEqual(content);
    expect(dropped).toEqual([]);
  }
  expect(translation.encodeResponse(events, context)).toMatchObject({ content });
});

test('tool choice, schemas and single calls', () => {
  const tools = [
    { type: 'function', function: { name: 'f' } },
    { type: 'function', function: { name: 'g' } },
  ];
  const requested = { messages: [{ role: 'user', content: 'hi' }], tools };
  expect(chat({ ...requested, tool_choice: 'none' }).made).toMatchObject({
    tool_choice: { type: 'none' },
    tools: [{}, {}],
  });
  expect(chat({ ...requested, tool_choice: 'required', parallel_tool_calls: false }).made.tool_choice).toEqual({
    type: 'any',
    disable_parallel_tool_use: true,
  });
  expect(chat({ ...requested, tool_choice: { type: 'function', function: { name: 'g' } } }).made.tool_choice).toEqual({
    type: 'tool',
    name: 'g',
  });
  const some = chat({
    ...requested,
    tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [tools[1]] } },
  }).made;
  expect([some.tool_choice, some.tools]).toEqual([
    { type: 'any' },
    [{ name: 'g', input_schema: { type: 'object', properties: {} } }],
  ]);
  const schema = { type: 'object', properties: { n: { type: 'number' } } };
  const format = { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } };
  const there = chat({ ...requested, response_format: format }).made;
  expect(there.output_config.format).toEqual({ type: 'json_schema', schema });
  expect(messages({ ...requested, tools: [], output_config: there.output_config }).made.response_format).toEqual(
    format,
  );
});

test('what the other side has no place for is written down', () => {
  const { made, dropped } = chat({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'input_audio', input_audio: { data: 'aGk=', format: 'wav' } },
          { type: 'file', file: { file_id: 'file-1' } },
          { type: 'hologram', depth: 3 },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' } },
        ],
      },
    ],
    n: 2,
    seed: 7,
    service_tier: 'flex',
    logit_bias: { 1: 2 },
  });
  expect(made.messages[0].content).toEqual([
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'aGk=' }, title: 'a.pdf' },
  ]);
  expect(made).not.toHaveProperty('service_tier');
  expect(dropped.map((entry) => entry.split(':')[0])).toEqual([
    '/messages/0/content/0',
    '/messages/0/content/1',
    '/messages/0/content/2',
    '/seed',
    '/n',
    '/service_tier',
    '/logit_bias',
  ]);
});

test('a wish to search the web is kept, whatever it is called', () => {
  const requested = {
    messages: [{ role: 'user', content: 'news?' }],
    web_search_options: { search_context_size: 'low' },
  };
  const { made, dropped } = chat(requested);
  expect(made.tools).toEqual([{ type: 'web_search_20250305', name: 'web_search' }]);
  expect(dropped).toEqual([]);
  const same = translated('openai-chat', 'openai-chat', { model: 'm', ...requested });
  expect(same).toEqual({ made: { model: 'm', ...requested }, dropped: [] });
});

test.each([
  ['gpt-4o', { thinking: { type: 'enabled', budget_tokens: 9000 } }, undefined],
  ['any-model', { thinking: { type: 'enabled', budget_tokens: 9000 } }, 'high'],
  ['any-model', { thinking: { type: 'disabled' } }, undefined],
  ['any-model', { thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } }, 'medium'],
])('how hard %s is to think: %j is %s', (model, body, effort) => {
  expect(messages({ model, messages: [], ...body }).made.reasoning_effort).toBe(effort);
});

const own: readonly (readonly [ProtocolId, Record<string, unknown>])[] = [
  [
    'anthropic-messages',
    {
      model: 'claude-opus-4-6',
      max_tokens: 4096,
      system: [{ type: 'text', text: 'Be brief', cache_control: { type: 'ephemeral', ttl: '1h' } }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'see' }, picture] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'sig' },
            { type: 'redacted_thinking', data: 'sealed' },
            { type: 'server_tool_use', id: 'srv', name: 'web_search', input: { query: 'x' } },
            use('a'),
          ],
        },
        { role: 'user', content: [result('a', [{ type: 'text', text: 'done' }, picture], { is_error: true })] },
      ],
      stop_sequences: ['END'],
      tools: [
        { name: 'look', description: 'Looks', input_schema: { type: 'object', properties: {} }, strict: true },
        { type: 'web_search_20250305', name: 'web_search', max_uses: 3 },
      ],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high' },
      metadata: { user_id: 'u1' },
      service_tier: 'standard_only',
    },
  ],
  [
    'openai-chat',
    {
      model: 'vendor/model',
      messages: [
        { role: 'developer', content: 'Be brief' },
        { role: 'user', content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }], name: 'ann' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'f', arguments: '{"n":12345678901234567890}' } },
            { id: 'b', type: 'custom', custom: { name: 'patch', input: '*** begin' } },
          ],
        },
        { role: 'tool', tool_call_id: 'a', content: 'one' },
        { role: 'tool', tool_call_id: 'b', content: 'two' },
      ],
      max_tokens: 100,
      temperature: 0.5,
      top_k: 5,
      n: 2,
      stop: ['END'],
      seed: 1,
      tools: [
        { type: 'function', function: { name: 'f', parameters: { type: 'object' }, strict: true } },
        { type: 'custom', custom: { name: 'patch', format: { type: 'text' } } },
      ],
      tool_choice: { type: 'custom', custom: { name: 'patch' } },
      parallel_tool_calls: false,
      reasoning_effort: 'low',
      user: 'u1',
      logit_bias: { 1: 2 },
      safe_prompt: true,
    },
  ],
];

test.each(own)('%s: encoded in its own dialect, a request stays what it was', (id, body) => {
  const { made, dropped } = translated(id, id, body);
  expect(made).toEqual(body);
  expect(dropped).toEqual([]);
});

test('a schema in the words of OpenAPI: the type alone is written small, members keep their names', () => {
  expect(
    plainSchema({
      type: 'OBJECT',
      title: 'Day',
      format: 'DATE',
      propertyOrdering: ['type'],
      properties: { type: { type: 'STRING', nullable: true, description: 'Of WHAT', enum: ['A'] } },
    }),
  ).toEqual({
    type: 'object',
    title: 'Day',
    format: 'DATE',
    properties: { type: { type: ['string', 'null'], description: 'Of WHAT', enum: ['A'] } },
  });
});

test.each([
  ['hello', [{ type: 'text', text: 'hello' }]],
  ['', []],
])('words of Cohere’s clients in one piece, or none: %j', (content, parts) => {
  const requested = { model: 'command-a', messages: [{ role: 'user', content }] };
  const { messages: received } = codecs['cohere-chat'].translation.decodeRequest(requested, {
    model: 'command-a',
    stream: false,
  });
  expect(received.flatMap((message) => message.parts)).toEqual(parts);
});

test.each([true, false])('Cohere hears nothing of a failed tool, and its client of that alone: %j', (failed) => {
  const { dropped } = translated('anthropic-messages', 'cohere-chat', {
    model: 'command-a',
    max_tokens: 10,
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [use('a')] },
      { role: 'user', content: [result('a', 'no', failed ? { is_error: true } : {})] },
    ],
  });
  expect(dropped.some((one) => one.includes('the tool failed'))).toBe(failed);
});

test('Ollama: results belong to their calls by id, by name, or in order', () => {
  const call = (name: string, id?: string) => ({
    ...(id === undefined ? {} : { id }),
    function: { name, arguments: {} },
  });
  const received = (calls: readonly object[], results: readonly object[]) =>
    codecs['ollama-chat'].translation
      .decodeRequest(
        {
          model: 'm',
          messages: [
            { role: 'user', content: 'hi' },
            { role: 'assistant', content: '', tool_calls: calls },
            ...results.map((more) => ({ role: 'tool', content: 'r', ...more })),
          ],
        },
        { model: 'm', stream: false },
      )
      .messages.flatMap(({ parts }) =>
        parts.flatMap((part) =>
          part.type === 'tool-call' || part.type === 'tool-result' ? [[part.type, part.id]] : [],
        ),
      );
  const called = [
    ['tool-call', 'call_0'],
    ['tool-call', 'call_1'],
  ];
  expect(received([call('f'), call('g')], [{ tool_name: 'g' }, {}])).toEqual([
    ...called,
    ['tool-result', 'call_1'],
    ['tool-result', 'call_0'],
  ]);
  // Of two calls of one name the first is answered first; there is no third call.
  expect(received([call('f'), call('f')], [{ tool_name: 'f' }, { tool_name: 'f' }, { tool_name: 'f' }])).toEqual([
    ...called,
    ['tool-result', 'call_0'],
    ['tool-result', 'call_1'],
    ['tool-result', 'call_2'],
  ]);
  expect(received([call('f', 'a'), call('g', 'b')], [{ tool_call_id: 'b' }, {}])).toEqual([
    ['tool-call', 'a'],
    ['tool-call', 'b'],
    ['tool-result', 'b'],
    ['tool-result', 'a'],
  ]);
});

test('Ollama: options that have a place of their own are not carried along beside it', () => {
  const options = {
    num_predict: 5,
    temperature: 0.5,
    top_p: 0.9,
    top_k: 40,
    stop: ['x'],
    seed: 1,
    presence_penalty: 0.1,
    frequency_penalty: 0.2,
    mirostat: 1,
  };
  const requested = { model: 'm', messages: [{ role: 'user', content: 'hi' }], options };
  const { extra } = codecs['ollama-chat'].translation.decodeRequest(requested, { model: 'm', stream: false });
  expect(extra).toEqual({ options: { mirostat: 1 } });
});

test('Ollama: that calls must come one by one is declared lost, and nothing where they need not', () => {
  const lost = (more: object) =>
    translated('openai-chat', 'ollama-chat', { model: 'm', messages: [{ role: 'user', content: 'hi' }], ...more })
      .dropped;
  expect(lost({ parallel_tool_calls: false })).toEqual([expect.stringContaining('/parallel_tool_calls')]);
  for (const more of [{}, { parallel_tool_calls: true }]) expect(lost(more)).toEqual([]);
});

test('a call whose input is no JSON stays one in responses', () => {
  const call = { id: 'a', type: 'custom', custom: { name: 'patch', input: '*** begin' } };
  const { made } = translated('openai-chat', 'openai-responses', {
    model: 'm',
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: 'done' },
    ],
  });
  expect(made.input).toContainEqual({ type: 'custom_tool_call', call_id: 'a', name: 'patch', input: '*** begin' });
});

test('Ollama: pictures are sent as bytes, and an address of one is declared lost', () => {
  const image = (url: string) => ({ type: 'image_url', image_url: { url } });
  const ask = (url: string) =>
    translated('openai-chat', 'ollama-chat', { model: 'm', messages: [{ role: 'user', content: [image(url)] }] });
  expect(ask('data:image/png;base64,aGk=')).toMatchObject({ made: { messages: [{ images: ['aGk='] }] }, dropped: [] });
  const { made, dropped } = ask('https://a.example/b.png');
  expect(made.messages[0].images).toBeUndefined();
  expect(dropped).toEqual([expect.stringContaining('image cannot be sent')]);
});

test.each(['openai-chat', 'openai-responses'] as const)(
  'what Anthropic’s clients say of their device goes to %s as a hash, and the row says so',
  (upstream) => {
    const device = JSON.stringify({ device_id: 'd'.repeat(64), account_uuid: '', session_id: 's' });
    const request = codecs['anthropic-messages'].translation.decodeRequest(
      { model: 'm', max_tokens: 9, metadata: { user_id: device }, messages: [{ role: 'user', content: 'hi' }] },
      { model: null, stream: false },
    );
    const dropped: string[] = [];
    const sent = codecs[upstream].translation.encodeRequest(request, dropped);
    expect(sent.user).toMatch(/^user_[\da-f]{32}$/);
    expect(codecs[upstream].translation.encodeRequest(request, []).user).toBe(sent.user);
    expect(dropped).toContain('/metadata/user_id: sent as a hash');
    const own: string[] = [];
    expect(codecs['anthropic-messages'].translation.encodeRequest(request, own).metadata).toEqual({ user_id: device });
    expect(own).toEqual([]);
  },
);
