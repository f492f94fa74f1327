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
  const schema = {
    type: 'object',
    properties: { n: { type: 'number' } },
    required: ['n'],
    additionalProperties: false,
  };
  const format = { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } };
  const there = chat({ ...requested, response_format: format }).made;
  expect(there.output_config.format).toEqual({ type: 'json_schema', schema });
  expect(messages({ ...requested, tools: [], output_config: there.output_config }).made.response_format).toEqual(
    format,
  );
});

test('members without a place on the other side are written down', () => {
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
  expect(dropped).toEqual(["/tools/0/search_context_size: the upstream's search knows no such limit"]);
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

test.each([
  ['deepseek-r1', 'none', false],
  ['deepseek-r1', 'high', 'high'],
  ['kimi-k2.5', 'none', false],
  ['qwen3', 'none', false],
  ['qwen3', undefined, undefined],
] as const)('Ollama hears of %s with effort %s: think %s', (model, effort, think) => {
  const requested = { model, messages: [{ role: 'user', content: 'hi' }], temperature: 0.5, reasoning_effort: effort };
  const request = codecs['openai-chat'].translation.decodeRequest(requested, { model, stream: false });
  const dropped: string[] = [];
  const made = codecs['ollama-chat'].translation.encodeRequest(request, dropped, targetFor('ollama', model));
  expect(made.think).toBe(think);
  if (model === 'deepseek-r1') expect([made.options, dropped]).toEqual([{ temperature: 0.5 }, []]);
});

test.each([
  ['ollama-chat', { think: true }, 'some-model', 'medium'],
  ['ollama-chat', { think: true }, 'gpt-5.1', 'medium'],
  ['ollama-chat', { think: true }, 'gpt-4o', undefined],
  ['ollama-chat', {}, 'some-model', undefined],
  ['cohere-chat', { thinking: { type: 'enabled' } }, 'some-model', 'medium'],
  ['anthropic-messages', { thinking: { type: 'adaptive' }, max_tokens: 9 }, 'some-model', undefined],
] as const)('thinking switched on without a degree by %s %j: %s thinks with effort %s', (from, more, model, effort) => {
  const requested = { model, messages: [{ role: 'user', content: 'hi' }], ...more };
  expect(translated(from, 'openai-chat', requested).made.reasoning_effort).toBe(effort);
  expect(translated(from, 'openai-responses', requested).made.reasoning?.effort).toBe(effort);
});

test('a reasoning that cannot be switched off is said', () => {
  const { made, dropped } = translated('ollama-chat', 'openai-chat', {
    model: 'kimi-k2.5',
    messages: [{ role: 'user', content: 'hi' }],
    think: false,
  });
  expect(made).not.toHaveProperty('reasoning_effort');
  expect(dropped).toEqual(['/reasoning: cannot be switched off here']);
});

const location = { city: 'Paris', country: 'FR', region: 'IDF', timezone: 'Europe/Paris' };
const searched = { messages: [{ role: 'user', content: 'news?' }] };
const anthropicSearch = {
  type: 'web_search_20250305',
  name: 'web_search',
  max_uses: 3,
  allowed_domains: ['a.example'],
  user_location: { type: 'approximate', ...location },
};
const responsesSearch = {
  type: 'web_search',
  filters: { allowed_domains: ['a.example'] },
  user_location: { type: 'approximate', ...location },
};

test('the sites that a search is limited to hold in the other dialect, or the loss is listed', () => {
  const messagesSearch = { ...searched, max_tokens: 9, tools: [anthropicSearch] };
  const there = translated('anthropic-messages', 'openai-responses', { model: 'm', ...messagesSearch });
  expect(there.made).toMatchObject({ tools: [responsesSearch], max_tool_calls: 3 });
  expect(there.dropped).toEqual([]);
  const input = { model: 'm', input: 'news?', tools: [{ ...responsesSearch, search_context_size: 'low' }] };
  const back = translated('openai-responses', 'anthropic-messages', input);
  const { max_uses: _, ...unlimited } = anthropicSearch;
  expect(back.made.tools).toEqual([unlimited]);
  expect(back.dropped).toEqual(["/tools/0/search_context_size: the upstream's search knows no such limit"]);
  const chatSearch = { user_location: { type: 'approximate', approximate: location }, search_context_size: 'high' };
  const fromChat = translated('openai-chat', 'openai-responses', {
    model: 'm',
    ...searched,
    web_search_options: chatSearch,
  });
  expect(fromChat.made.tools).toEqual([
    { type: 'web_search', user_location: responsesSearch.user_location, search_context_size: 'high' },
  ]);
  const blocking = {
    ...messagesSearch,
    tools: [{ ...anthropicSearch, allowed_domains: undefined, blocked_domains: ['b'] }],
  };
  expect(translated('anthropic-messages', 'openai-responses', { model: 'm', ...blocking }).dropped).toEqual([
    "/tools/0/blocked_domains: the upstream's search knows no such limit",
  ]);
  const google = translated('anthropic-messages', 'gemini-generate', { model: 'm', ...messagesSearch });
  expect(google.made.tools).toEqual([{ googleSearch: {} }]);
  expect(google.dropped.map((entry) => entry.split(':')[0])).toEqual([
    '/tools/0/max_uses',
    '/tools/0/allowed_domains',
    '/tools/0/user_location',
  ]);
});

test('a search in its own dialect stays what it was', () => {
  const tools = [
    { ...responsesSearch, search_content_types: ['text'] },
    { type: 'file_search', vector_store_ids: ['v'] },
  ];
  expect(translated('openai-responses', 'openai-responses', { model: 'm', input: 'x', tools }).made.tools).toEqual(
    tools,
  );
  const googleSearch = { searchTypes: { webSearch: {} } };
  const body = { model: 'm', contents: [], tools: [{ googleSearch }] };
  expect(translated('gemini-generate', 'gemini-generate', body).made.tools).toEqual([{ googleSearch }]);
});

test.each([
  ['openai-responses', 'anthropic-messages', { input: 'x' }, 'context_management', [{ type: 'compaction' }]],
  ['anthropic-messages', 'openai-chat', { ...searched, max_tokens: 9 }, 'service_tier', 'standard_only'],
  ['anthropic-messages', 'openai-responses', { ...searched, max_tokens: 9 }, 'service_tier', 'standard_only'],
  ['openai-chat', 'cohere-chat', searched, 'documents', 'all of them'],
  ['cohere-chat', 'openai-chat', searched, 'safety_identifier', 7],
] as const)('%s to %s: a member of another kind there is not copied by its name', (from, to, base, name, value) => {
  const { made, dropped } = translated(from, to, { model: 'm', ...base, [name]: value });
  expect(made).not.toHaveProperty(name);
  expect(dropped).toEqual([`/${name}: has another meaning for the upstream`]);
});

test('members of the same kind are copied by their names', () => {
  expect(messages({ ...searched, service_tier: 'auto' }).made.service_tier).toBe('auto');
  const context_management = { edits: [{ type: 'clear_tool_uses_20250919' }] };
  expect(chat({ ...searched, context_management }).made.context_management).toEqual(context_management);
});

test.each([
  ['original', 'high'],
  ['low', 'low'],
  ['auto', 'auto'],
])('a picture of detail %s is shown to chat upstreams in %s', (detail, shown) => {
  const content = [{ type: 'input_image', image_url: 'https://a.example/b.png', detail }];
  const { made } = translated('openai-responses', 'openai-chat', { model: 'm', input: [{ role: 'user', content }] });
  expect(made.messages[0].content).toEqual([
    { type: 'image_url', image_url: { url: 'https://a.example/b.png', detail: shown } },
  ]);
});

test('a custom tool keeps its grammar between the dialects that have custom tools', () => {
  const grammar = { syntax: 'lark', definition: 'start: x' };
  const custom = { name: 'patch', description: 'Edits', format: { type: 'grammar', grammar } };
  const requested = { model: 'm', ...searched, tools: [{ type: 'custom', custom }] };
  const { made, dropped } = translated('openai-chat', 'openai-responses', requested);
  expect(made.tools).toEqual([
    { type: 'custom', name: 'patch', description: 'Edits', format: { type: 'grammar', ...grammar } },
  ]);
  expect(dropped).toEqual([]);
  expect(translated('openai-chat', 'anthropic-messages', { ...requested, max_tokens: 9 }).dropped).toEqual([
    '/tools/0/format: no grammar is followed',
  ]);
});

test('of names that no format knows the first many are listed', () => {
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`x${at}`, 1]));
  const { dropped } = messages({ messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', ...many }] }] });
  expect(dropped).toHaveLength(64);
  expect(dropped[0]).toBe('/messages/0/content/0/x0: not known to the upstream');
});

test('a loss that occurs in many places is listed once', () => {
  const content = ['a', 'b', 'c'].map((text) => ({
    type: 'document',
    context: 'from the archive',
    source: { type: 'text', media_type: 'text/plain', data: text },
    cache_control: { type: 'ephemeral' },
  }));
  const { dropped } = translated('anthropic-messages', 'gemini-generate', {
    model: 'm',
    max_tokens: 9,
    messages: [{ role: 'user', content }],
  });
  expect(dropped).toEqual([
    '/messages/0/content/0/context: not known to the upstream, as in 2 more places',
    '/messages/0/content/0: marks of what to cache are not known to the upstream, as in 2 more places',
  ]);
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

test('a thought before a call reaches Cohere as one, and the words before it as their plan', () => {
  const calling = [
    { type: 'thinking', thinking: 'I wonder', signature: '' },
    { type: 'text', text: 'I look.' },
    use('a'),
  ];
  const { made, dropped } = translated('anthropic-messages', 'cohere-chat', {
    model: 'command-a-reasoning-08-2025',
    max_tokens: 10,
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: calling },
      { role: 'user', content: [result('a', 'no')] },
    ],
  });
  expect((made.messages as readonly unknown[])[1]).toMatchObject({
    role: 'assistant',
    content: [{ type: 'thinking', thinking: 'I wonder' }],
    tool_plan: 'I look.',
    tool_calls: [{ id: 'a' }],
  });
  expect(dropped.filter((line) => line.includes('thought'))).toEqual([]);
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
  'the device that Anthropic’s clients name goes to %s as a hash, and the row says so',
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

const sources = [
  { id: 'doc-1', data: { title: 'Penguins', text: 'They live in the south.', pages: 3 } },
  { data: 'They cannot fly.' },
  'They swim.',
];
const sourceTexts = [
  'Document: doc-1\ntitle: Penguins\ntext: They live in the south.\npages: 3',
  'Document: 1\nThey cannot fly.',
  'Document: 2\nThey swim.',
];

test.each<[ProtocolId, (made: { [name: string]: { content: never; parts: never }[] }) => unknown]>([
  ['openai-chat', (made) => [made.messages?.[2]?.content].map((text) => ({ text }))],
  ['openai-responses', (made) => made.input?.[2]?.content],
  ['anthropic-messages', (made) => made.messages?.[2]?.content],
  ['gemini-generate', (made) => made.contents?.[2]?.parts],
  ['ollama-chat', (made) => [made.messages?.[2]?.content].map((text) => ({ text }))],
])('documents of a Cohere client are words in front of the last question for %s', (to, read) => {
  const conversation = [
    { role: 'user', content: 'hello' },
    { role: 'assistant', content: 'hi' },
    { role: 'user', content: 'where?' },
  ];
  const { made, dropped } = translated('cohere-chat', to, { model: 'm', messages: conversation, documents: sources });
  const said = (read(made) as { text: string }[]).map(({ text }) => text);
  expect(said.join('\n').replaceAll('\n\n', '\n')).toBe([...sourceTexts, 'where?'].join('\n'));
  expect(JSON.stringify(made)).not.toContain('"documents"');
  expect(dropped).toEqual(['/documents: sent as text in front of the question']);
});

test('documents without anybody who asks are the user’s word', () => {
  const messages = [{ role: 'system', content: 'Sum up.' }];
  const { made } = translated('cohere-chat', 'openai-chat', { model: 'm', messages, documents: ['They swim.'] });
  expect(made.messages).toEqual([
    { role: 'system', content: 'Sum up.' },
    { role: 'user', content: 'Document: 0\nThey swim.' },
  ]);
});

test('documents stay documents in their own dialect, and what is no list of them is declared as lost elsewhere', () => {
  const base = { model: 'm', messages: [{ role: 'user', content: 'where?' }] };
  const own = translated('cohere-chat', 'cohere-chat', { ...base, documents: sources });
  expect([own.made.documents, own.made.messages, own.dropped]).toEqual([sources, base.messages, []]);
  for (const documents of [['a', 7], 'a', { a: 1 }])
    expect(translated('cohere-chat', 'openai-chat', { ...base, documents }).dropped).toEqual([
      '/documents: not known to the upstream',
    ]);
});
