/** Tools on their way through dialects that name, choose and describe them otherwise. */
import { expect, test } from 'vitest';
import type { ChatEvent, ProtocolId } from '../../server/protocols/canonical.ts';
import { decodeTool } from '../../server/protocols/openai-responses/decode-request.ts';
import { withKnownTools } from '../../server/protocols/openai-responses/known-tools.ts';
import { codecFor } from '../../server/protocols/registry.ts';
import { toolRestorer } from '../../server/protocols/shared/restore.ts';
import { portableName, withoutRootUnion } from '../../server/protocols/shared/tools.ts';
import { targetFor } from '../../server/providers/knowledge/target.ts';
import { context, streamOf } from './support.ts';

type Item = Record<string, unknown>;

const dialects = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'gemini-generate',
  'cohere-chat',
  'ollama-chat',
] as const;

function sent(from: ProtocolId, to: ProtocolId, body: Item, model = 'm') {
  const dropped: string[] = [];
  const request = codecFor(from).translation.decodeRequest(body, { model, stream: false });
  return { made: codecFor(to).translation.encodeRequest(request, dropped, targetFor('', model)), dropped, request };
}

const user = { role: 'user', content: 'go' };
const named = (name: string, parameters: unknown = { type: 'object', properties: { a: { type: 'string' } } }) => ({
  type: 'function',
  function: { name, parameters },
});

/** Names that an agent or a person gives, of which parts are alike. */
const names = [
  'mcp__plugin_chrome-devtools-mcp_chrome-devtools__get_console_message',
  'mcp__plugin_chrome-devtools-mcp_chrome-devtools__get_console_messages_all',
  '查询天气',
  '发送邮件',
  'a.b',
  'a_b',
  'a b',
  '1st_tool',
  '-x',
  '',
];

test('different tools never get one name, and every dialect takes it', () => {
  const portable = names.map(portableName);
  expect(new Set(portable).size).toBe(names.length);
  for (const name of portable) expect(name).toMatch(/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/);
  for (const name of ['a_b', 'get-weather', 'x'.repeat(64)]) expect(portableName(name)).toBe(name);
  expect(portableName('a.b')).toMatch(/^a_b_[0-9a-z]{8}$/);
  // The same whatever else is offered, so that a longer list changes no history.
  expect(portableName('a.b')).toBe(portable[4]);
});

test.each(dialects)('a client of %s gets the names of its tools back, whole and in a stream', (to) => {
  const { request } = sent('openai-chat', 'openai-chat', { messages: [user], tools: names.map((name) => named(name)) });
  for (const name of names.filter((one) => one !== '')) {
    const events: ChatEvent[] = [
      { type: 'response-start', id: 'r', model: 'm', created: 1 },
      { type: 'tool-call-start', index: 0, id: 'c', name: portableName(name) },
      { type: 'tool-call-delta', index: 0, arguments: '{}' },
      { type: 'tool-call-end', index: 0 },
      { type: 'finish', reason: { unified: 'tool_calls', raw: null } },
    ];
    const change = toolRestorer(request.tools)?.();
    const restored = events.flatMap((event) => change?.(event) ?? [event]);
    const whole = JSON.stringify(codecFor(to).translation.encodeResponse(restored, context));
    expect(whole).toContain(`"name":${JSON.stringify(name)}`);
    expect(streamOf(codecFor(to), restored)).toContain(`"name":${JSON.stringify(name)}`);
  }
});

test.each(dialects)('calls of the history, the choice and the tools have one name at %s', (to) => {
  const { made } = sent('openai-chat', to, {
    messages: [
      user,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'a.b', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'x' },
    ],
    tools: [named('a.b'), named('a_b')],
    tool_choice: { type: 'function', function: { name: 'a.b' } },
  });
  const text = JSON.stringify(made);
  expect(text).not.toContain('a.b');
  expect(text.split(portableName('a.b')).length - 1).toBeGreaterThanOrEqual(2);
});

const chunk = (delta: unknown, finish: string | null = null) =>
  JSON.stringify({ id: 'x', choices: [{ index: 0, delta, finish_reason: finish }] });
const call = (piece: Item) => chunk({ tool_calls: [piece] });

function read(...frames: readonly string[]): readonly ChatEvent[] {
  const reader = codecFor('openai-chat').upstream.reader();
  return [...frames, '[DONE]'].flatMap((data) => reader.feed({ event: '', data } as never));
}

test.each([
  [
    'a null first',
    [
      { index: 0, id: 'c', function: { name: null, arguments: null } },
      { index: 0, function: { name: 'get_weather', arguments: '{"a"' } },
      { index: 0, function: { arguments: ':1}' } },
    ],
  ],
  [
    'an empty word first, the arguments before the name',
    [
      { index: 0, id: 'c', function: { name: '', arguments: '{"a"' } },
      { index: 0, function: { name: '', arguments: ':1}' } },
      { index: 0, function: { name: 'get_weather' } },
    ],
  ],
  [
    'no number and no id at first',
    [{ function: { arguments: '' } }, { id: 'c', function: { name: 'get_weather', arguments: '{"a":1}' } }],
  ],
])('a call whose name comes late begins when it is known: %s', (_name, pieces) => {
  const events = read(...pieces.map(call), chunk({}, 'tool_calls'));
  const starts = events.filter(({ type }) => type === 'tool-call-start');
  expect(starts).toMatchObject([{ id: 'c', name: 'get_weather' }]);
  const words = events.flatMap((event) => (event.type === 'tool-call-delta' ? [event.arguments] : [])).join('');
  expect(words).toBe('{"a":1}');
  expect(streamOf(codecFor('anthropic-messages'), events)).toContain('"name":"get_weather"');
});

test('two calls whose names come late stay two', () => {
  const events = read(
    call({ index: 0, id: 'a', function: { name: null } }),
    call({ index: 1, id: 'b', function: { name: null } }),
    call({ index: 1, function: { name: 'second', arguments: '{}' } }),
    call({ index: 0, function: { name: 'first', arguments: '{}' } }),
    chunk({}, 'tool_calls'),
  );
  expect(events.filter(({ type }) => type === 'tool-call-start')).toMatchObject([
    { id: 'b', name: 'second' },
    { id: 'a', name: 'first' },
  ]);
});

test('a call without any name is delivered at the end, and loses no arguments', () => {
  const events = read(
    call({ index: 0, id: 'a', function: { name: null, arguments: '{"a":1}' } }),
    chunk({}, 'tool_calls'),
  );
  expect(events).toContainEqual({ type: 'tool-call-start', index: 0, id: 'a', name: '' });
  expect(events).toContainEqual({ type: 'tool-call-delta', index: 0, arguments: '{"a":1}' });
});

test.each([
  ['openai-chat', '"finish_reason":"stop"'],
  ['anthropic-messages', '"stop_reason":"end_turn"'],
  ['cohere-chat', '"finish_reason":"COMPLETE"'],
] as const)('an answer that says it calls and does not has ended its turn for a client of %s', (to, word) => {
  const frames = [chunk({ content: 'done' }), chunk({}, 'tool_calls')];
  const events = read(...frames);
  expect(JSON.stringify(codecFor(to).translation.encodeResponse(events, context))).toContain(word);
  expect(streamOf(codecFor(to), events)).toContain(word);
  const calling = read(call({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }), chunk({}, 'tool_calls'));
  expect(JSON.stringify(codecFor(to).translation.encodeResponse(calling, context))).not.toContain(word);
  expect(streamOf(codecFor(to), calling)).not.toContain(word);
});

test.each(dialects.filter((id) => id !== 'anthropic-messages'))(
  'the results of a search for tools are told in words at %s',
  (to) => {
    const { made, dropped } = sent('anthropic-messages', to, {
      max_tokens: 9,
      messages: [
        user,
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'ToolSearch', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'a',
              content: [
                { type: 'tool_reference', tool_name: 'WebFetch' },
                { type: 'tool_reference', tool_name: 'WebSearch' },
              ],
            },
          ],
        },
      ],
    });
    expect(JSON.stringify(made)).toContain('Tools now available: WebFetch, WebSearch');
    expect(dropped.filter((line) => line.includes('result'))).toEqual([]);
  },
);

test.each(['auto', 'required'])('some allowed tools are the only ones that are offered, chosen by %s', (mode) => {
  const tools = ['a', 'b', 'c'].map((name) => ({
    type: 'function',
    name,
    parameters: { type: 'object', properties: {} },
  }));
  const { made } = sent('openai-responses', 'anthropic-messages', {
    input: 'hi',
    tools: [...tools, { type: 'namespace', name: 'n', tools: [tools[0]] }],
    tool_choice: {
      type: 'allowed_tools',
      mode,
      tools: [
        { type: 'function', name: 'b' },
        { type: 'namespace', name: 'n' },
      ],
    },
  });
  expect((made.tools as readonly Item[]).map(({ name }) => name)).toEqual(['b', 'n__a']);
  expect(made.tool_choice).toEqual({ type: mode === 'auto' ? 'auto' : 'any' });
});

const titled = { required: ['title'] };
const union = { type: 'object', properties: { title: { type: 'string' }, id: { type: 'number' } } };

test.each(['anyOf', 'oneOf', 'allOf'])('a union at the root, %s, is one object where it is refused', (word) => {
  const schema: Item = { ...union, required: ['id'], [word]: [titled, { required: ['id', 'title'] }] };
  for (const [to, model] of [
    ['anthropic-messages', 'claude-opus-5'],
    ['openai-chat', 'gpt-4o'],
    ['openai-responses', 'o3'],
    ['openai-chat', 'grok-4.6'],
  ] as const) {
    const { made, dropped } = sent('openai-chat', to, { messages: [user], tools: [named('f', schema)] }, model);
    const [tool] = made.tools as readonly { input_schema?: Item; parameters?: Item; function?: { parameters: Item } }[];
    const told = tool?.input_schema ?? tool?.parameters ?? tool?.function?.parameters ?? {};
    expect(Object.keys(told)).not.toContain(word);
    expect(told).toMatchObject({ ...union, required: ['id', 'title'] });
    expect(String(told.description)).toContain(JSON.stringify({ [word]: schema[word] }));
    expect(dropped).toContain(
      '/tools/0/parameters: the union at the root is one object, and is told in its description',
    );
  }
  const taken = sent('openai-chat', 'openai-chat', { messages: [user], tools: [named('f', schema)] }, 'gpt-5.2');
  expect(taken.made.tools).toEqual([named('f', schema)]);
});

test('branches without a common root give each of their properties, required where all of them require it', () => {
  const branch = (name: string, kind: string) => ({
    type: 'object',
    properties: { kind: { const: kind }, [name]: { type: 'string' } },
    required: ['kind', name],
    additionalProperties: false,
  });
  const bare = { anyOf: [branch('a', 'x'), { $ref: '#/$defs/other' }], $defs: { other: branch('b', 'y') } };
  expect(withoutRootUnion(bare)).toMatchObject({
    type: 'object',
    properties: { kind: { anyOf: [{ const: 'x' }, { const: 'y' }] }, a: { type: 'string' }, b: { type: 'string' } },
    required: ['kind'],
    additionalProperties: false,
  });
  const plain = { type: 'object', properties: { a: { anyOf: [{ type: 'string' }] } } };
  expect(withoutRootUnion(plain)).toBe(plain);
});

test.each(dialects)('a tool that a later list offers again is offered once at %s, and that is declared', (to) => {
  const [one, two] = ['read', 'write'].map((name) => ({ type: 'function', name, parameters: { type: 'object' } }));
  const body = { tools: [one], input: [user, { type: 'additional_tools', tools: [two, one] }] };
  const { made, dropped } = sent('openai-responses', to, body);
  expect(JSON.stringify(made).match(/"name":"(?:read|write)"/g)).toEqual(['"name":"read"', '"name":"write"']);
  expect(dropped).toContain('/tools/2: read is offered already');
  const losses: string[] = [];
  const edits = withKnownTools(body, /^function$/, losses);
  expect(JSON.parse(edits.get('tools') ?? '')).toEqual([one, two]);
  expect(losses).toEqual(['/tools/2: read is offered already']);
});

test('a long name of a bundle is not repeated by each of its tools, and comes back whole', () => {
  const long = ['a', 'b'].map((end) => `${'bundle.'.repeat(5000)}${end}`);
  const tools = long.flatMap((name) =>
    decodeTool({ type: 'namespace', name, tools: [{ type: 'function', name: 'f' }] }),
  );
  const names = tools.map(({ name }) => name);
  expect(names.every((name) => name.length < 100)).toBe(true);
  expect(new Set(names.map(portableName)).size).toBe(2);
  const restore = toolRestorer(tools)?.();
  const called = names.flatMap(
    (name) => restore?.({ type: 'tool-call-start', index: 0, id: 'c', name: portableName(name) }) ?? [],
  );
  expect(called).toMatchObject(long.map((namespace) => ({ name: 'f', namespace })));
});

test('branches that name each other again and again are told in the description alone', () => {
  const branches = Array.from({ length: 60 }, () => ({ $ref: '#/$defs/a' }));
  const schema = { ...union, additionalProperties: false, $defs: { a: { anyOf: branches } }, anyOf: branches };
  const { anyOf: _, ...kept } = schema;
  expect(withoutRootUnion(schema)).toEqual({
    ...kept,
    additionalProperties: true,
    description: `The arguments match this schema: ${JSON.stringify({ anyOf: branches })}`,
  });
});

test.each([
  { anyOf: [union, union] },
  { $ref: '#/$defs/x', $defs: { x: union } },
  { type: 'object', additionalProperties: union },
])('Gemini gets arguments that no property at the root names: %j', (schema) => {
  const { made } = sent('openai-chat', 'gemini-generate', {
    messages: [user],
    tools: [named('f', schema), named('g', { type: 'object', properties: {} })],
  });
  const [{ functionDeclarations = [] } = {}] = made.tools as readonly { functionDeclarations?: readonly Item[] }[];
  expect(functionDeclarations.map((one) => one.parametersJsonSchema)).toEqual([schema, undefined]);
});

test.each([{ type: 'tool', name: 'web_search' }, { type: 'any' }])(
  'a search alone goes to Gemini without a choice of functions: %j',
  (choice) => {
    const search = { type: 'web_search_20250305', name: 'web_search' };
    const body = { max_tokens: 9, messages: [user], tools: [search], tool_choice: choice };
    const { made } = sent('anthropic-messages', 'gemini-generate', body);
    expect(made.tools).toEqual([{ googleSearch: {} }]);
    expect(made.toolConfig).toBeUndefined();
    const responses = sent('anthropic-messages', 'openai-responses', {
      ...body,
      tool_choice: { type: 'tool', name: 'web_search' },
    });
    expect(responses.made.tool_choice).toEqual({ type: 'web_search' });
  },
);

test.each(['openai-chat', 'openai-responses', 'gemini-generate', 'anthropic-messages'] as const)(
  'a choice of a tool that is not sent is no choice at %s, and is declared',
  (to) => {
    const { made, dropped } = sent('openai-chat', to, {
      messages: [user],
      tools: [named('f')],
      tool_choice: { type: 'function', function: { name: 'other' } },
    });
    expect(JSON.stringify(made)).not.toContain('other');
    expect(dropped).toContain('/tool_choice: other is not among the tools that are sent');
  },
);

test('more stop words than Cohere takes are cut and declared', () => {
  const { made, dropped } = sent('openai-chat', 'cohere-chat', {
    messages: [user],
    stop: ['1', '2', '3', '4', '5', '6'],
  });
  expect(made.stop_sequences).toHaveLength(5);
  expect(dropped).toContain('/stop: only 5 are taken');
});

test('the result of a tool that takes free text has the type of its call at Responses', () => {
  const { made } = sent('openai-chat', 'openai-responses', {
    messages: [
      user,
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'a', type: 'custom', custom: { name: 'patch', input: 'x' } },
          { id: 'b', type: 'function', function: { name: 'f', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: '1' },
      { role: 'tool', tool_call_id: 'b', content: '2' },
    ],
  });
  const types = (made.input as readonly Item[]).map(({ type }) => type);
  expect(types.slice(1)).toEqual([
    'custom_tool_call',
    'function_call',
    'custom_tool_call_output',
    'function_call_output',
  ]);
});
