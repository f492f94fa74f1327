import { expect, test } from 'vitest';
import type { ChatEvent, ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { collect } from '../../server/protocols/shared/blocks.ts';
import { toolRestorer } from '../../server/protocols/shared/restore.ts';
import { isForeign } from '../../server/protocols/shared/signature.ts';
import { portableName } from '../../server/protocols/shared/tools.ts';
import { scenarios } from './scenarios.ts';
import { context, encoder, meaning, readStream, streamOf } from './support.ts';

const chat = codecs['openai-chat'];
const messages = codecs['anthropic-messages'];
const sse = (...frames: unknown[]): Uint8Array =>
  encoder.encode(
    frames.map((frame) => `data: ${typeof frame === 'string' ? frame : JSON.stringify(frame)}\n\n`).join(''),
  );
const chunk = (delta: unknown, more = {}) => ({ choices: [{ index: 0, delta, finish_reason: null, ...more }] });
const ended = chunk({}, { finish_reason: 'stop' });
const chatStream = (...deltas: unknown[]) =>
  readStream(chat, sse(...deltas.map((delta) => chunk(delta)), ended, '[DONE]'));
const fn = (name: string, words: string) => ({ function: { name, arguments: words } });

test.each<[string, unknown[], { id: string; name: string; input: unknown }[]]>([
  [
    'every call numbered 0',
    [
      { tool_calls: [{ index: 0, id: 'a', ...fn('f', '{"x":1}') }] },
      { tool_calls: [{ index: 0, id: 'b', ...fn('g', '{}') }] },
    ],
    [
      { id: 'a', name: 'f', input: { x: 1 } },
      { id: 'b', name: 'g', input: {} },
    ],
  ],
  [
    'the id repeated with every piece',
    [
      { tool_calls: [{ index: 0, id: 'a', ...fn('f', '{"x"') }] },
      { tool_calls: [{ index: 0, id: 'a', ...fn('f', ':1}') }] },
    ],
    [{ id: 'a', name: 'f', input: { x: 1 } }],
  ],
  [
    'no index',
    [{ tool_calls: [{ id: 'a', ...fn('f', '{"x":') }] }, { tool_calls: [{ function: { arguments: '1}' } }] }],
    [{ id: 'a', name: 'f', input: { x: 1 } }],
  ],
  [
    'two at once without index',
    [
      {
        tool_calls: [
          { id: 'a', ...fn('f', '{}') },
          { id: 'b', ...fn('f', '{}') },
        ],
      },
    ],
    [
      { id: 'a', name: 'f', input: {} },
      { id: 'b', name: 'f', input: {} },
    ],
  ],
  [
    'every call numbered 0, in pieces',
    [
      { tool_calls: [{ index: 0, id: 'a', ...fn('f', '{"x"') }] },
      { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] },
      { tool_calls: [{ index: 0, id: 'b', ...fn('g', '{"y"') }] },
      { tool_calls: [{ index: 0, function: { arguments: ':2' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '}' } }] },
    ],
    [
      { id: 'a', name: 'f', input: { x: 1 } },
      { id: 'b', name: 'g', input: { y: 2 } },
    ],
  ],
  [
    'interleaved under their own numbers',
    [
      { tool_calls: [{ index: 1, id: 'b', ...fn('g', '{"y"') }] },
      { tool_calls: [{ index: 0, id: 'a', ...fn('f', '{"x"') }] },
      { tool_calls: [{ index: 1, function: { arguments: ':2}' } }] },
      { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] },
    ],
    [
      { id: 'b', name: 'g', input: { y: 2 } },
      { id: 'a', name: 'f', input: { x: 1 } },
    ],
  ],
  [
    'an empty object in front of the arguments',
    [
      { tool_calls: [{ index: 0, id: 'a', ...fn('f', '{}') }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"x":1}' } }] },
    ],
    [{ id: 'a', name: 'f', input: { x: 1 } }],
  ],
  [
    'the arguments as an object',
    [{ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: { x: 1 } } }] }],
    [{ id: 'a', name: 'f', input: { x: 1 } }],
  ],
])('chat calls: %s', (_name, deltas, calls) => {
  expect(meaning(chatStream(...deltas)).calls).toEqual(calls);
});

test('a chat answer that ends without saying why has ended well, one that breaks off has not', () => {
  const content = chunk({ content: 'yes' });
  expect(readStream(chat, sse(content, '[DONE]')).at(-1)).toEqual({
    type: 'finish',
    reason: { unified: 'stop', raw: null },
  });
  expect(readStream(chat, sse(content)).at(-1)).toMatchObject({ type: 'error' });
  const whole = { choices: [{ message: { content: 'yes' }, finish_reason: null }] };
  expect(chat.upstream.decodeResponse(whole).at(-1)).toMatchObject({ type: 'finish' });
  expect(chat.upstream.decodeResponse({ detail: 'nothing here' }).at(-1)).toMatchObject({ type: 'error' });
});

test('two free-text calls of a whole answer stay two', () => {
  const call = (id: string) => ({ id, type: 'custom', custom: { name: 'patch', input: id } });
  const message = { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] };
  const { parts } = collect(chat.upstream.decodeResponse({ choices: [{ message, finish_reason: 'tool_calls' }] }));
  expect(parts).toMatchObject([
    { id: 'a', arguments: 'a', custom: true },
    { id: 'b', arguments: 'b', custom: true },
  ]);
});

test.each<[string, unknown[]]>([
  ['reasoning_content', [{ reasoning_content: 'h' }, { reasoning_content: 'm' }]],
  ['reasoning', [{ reasoning: 'h' }, { reasoning: 'm' }]],
  [
    'details alone',
    [{ reasoning_details: [{ type: 'reasoning.text', text: 'h' }] }, { reasoning_details: [{ text: 'm' }] }],
  ],
  ['details beside', [{ reasoning: 'hm', reasoning_details: [{ type: 'reasoning.text', text: 'hm' }] }]],
  ['details behind', [{ reasoning_content: 'hm' }, { reasoning_details: [{ text: 'hm', signature: 's' }] }]],
  ['parts of the content', [{ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] }]],
])('chat thoughts as %s', (_name, deltas) => {
  expect(meaning(chatStream(...deltas, { content: 'yes' }))).toMatchObject({ thoughts: 'hm', text: 'yes' });
});

test('words in a list of parts are read as they come, thoughts beside them', () => {
  const content = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
    { type: 'text', text: 'well, ' },
    { type: 'text', text: 'yes' },
  ];
  expect(meaning(chatStream({ content }))).toMatchObject({ thoughts: 'hm', text: 'well, yes' });
});

test.each<[string, unknown[]]>([
  ['beside the choices', [{ error: { message: 'overloaded', code: 503 } }]],
  ['inside of a choice', [chunk({ content: '' }, { error: { message: 'overloaded' }, finish_reason: 'error' })]],
])('a chat error in the middle ends the stream: %s', (_name, frames) => {
  const events = readStream(chat, sse(chunk({ content: 'half' }), ...frames, ended, '[DONE]'));
  expect(events.at(-1)).toMatchObject({ type: 'error', error: { message: 'overloaded' } });
  expect(events.filter(({ type }) => type === 'finish' || type === 'error')).toHaveLength(1);
  expect(meaning(events).text).toBe('half');
});

test('an error in the middle ends a stream of responses, and nothing is wrong besides', () => {
  const events = readStream(
    codecs['openai-responses'],
    sse(
      { type: 'response.created', response: { id: 'resp_1' } },
      { type: 'error', code: 'server_error', message: 'overloaded' },
    ),
  );
  expect(events.filter(({ type }) => type === 'finish' || type === 'error')).toEqual([
    { type: 'error', error: expect.objectContaining({ code: 'server_error', message: 'overloaded' }) },
  ]);
});

test('thoughts outside of the completion count are paid, as the total says', () => {
  const usage = (counts: object) => chat.upstream.readUsage({ usage: counts });
  const details = { completion_tokens_details: { reasoning_tokens: 228 } };
  const outside = { prompt_tokens: 12, completion_tokens: 1, total_tokens: 241, ...details };
  expect(usage(outside)).toMatchObject({ input: 12, output: 1, reasoning: 228 });
  const inside = { prompt_tokens: 12, completion_tokens: 229, total_tokens: 241, ...details };
  expect(usage(inside)).toMatchObject({ output: 1, reasoning: 228 });
});

const page = {
  type: 'url_citation',
  url_citation: { url: 'https://a.example/', title: 'A', start_index: 0, end_index: 4 },
};
const cited: readonly [string, readonly ChatEvent[]][] = [
  ['chat, streamed', chatStream({ content: 'It i' }, { content: 's so', annotations: [page] })],
  [
    'chat, whole',
    chat.upstream.decodeResponse({
      choices: [{ message: { content: 'It is so', annotations: [page] }, finish_reason: 'stop' }],
    }),
  ],
  [
    'sources beside the choices',
    chat.upstream.decodeResponse({
      search_results: [{ url: 'https://a.example/', title: 'A' }],
      choices: [{ message: { content: 'It is so' }, finish_reason: 'stop' }],
    }),
  ],
  [
    'messages',
    messages.upstream.decodeResponse({
      content: [
        {
          type: 'text',
          text: 'It is so',
          citations: [{ type: 'web_search_result_location', url: 'https://a.example/', title: 'A', cited_text: 'so' }],
        },
      ],
      stop_reason: 'end_turn',
    }),
  ],
  [
    'gemini',
    codecs['gemini-generate'].upstream.decodeResponse({
      candidates: [
        {
          content: { parts: [{ text: 'It is so' }] },
          finishReason: 'STOP',
          groundingMetadata: {
            groundingChunks: [{ web: { uri: 'https://a.example/', title: 'A' } }],
            groundingSupports: [{ segment: { startIndex: 6, endIndex: 8, text: 'so' }, groundingChunkIndices: [0] }],
          },
        },
      ],
    }),
  ],
];
/** Ollama's answers have no place for sources. */
const sourceless: readonly ProtocolId[] = ['ollama-chat'];
const targets = (Object.keys(codecs) as ProtocolId[]).filter((id) => !sourceless.includes(id));

test.each(cited.flatMap(([name, events]) => targets.map((target) => [name, target, events] as const)))(
  'a source written by %s reaches clients of %s',
  (_name, target, events) => {
    const codec = codecs[target];
    const whole = JSON.parse(JSON.stringify(codec.translation.encodeResponse(events, context)));
    for (const again of [
      readStream(codec, encoder.encode(streamOf(codec, events))),
      codec.upstream.decodeResponse(whole),
    ]) {
      const [part] = collect(again).parts;
      expect(part).toMatchObject({ text: 'It is so', citations: [{ url: 'https://a.example/', title: 'A' }] });
    }
  },
);

/** The order of events that Messages clients insist on. */
function blocksOf(stream: string): { kind: string; deltas: string[] }[] {
  const seen: { kind: string; deltas: string[] }[] = [];
  let open = false;
  const events = stream
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => {
      const [, name, data] = /^event: (\w+)\ndata: (.+)$/s.exec(frame) ?? [];
      const event = JSON.parse(data ?? '');
      expect(event.type).toBe(name);
      return event;
    });
  const types = events.map(({ type }) => type);
  expect([types[0], ...types.slice(-2)]).toEqual(['message_start', 'message_delta', 'message_stop']);
  for (const event of events.slice(1, -2)) {
    if (event.type === 'content_block_start') {
      expect([open, event.index]).toEqual([false, seen.length]);
      open = true;
      seen.push({ kind: event.content_block.type, deltas: [] });
    } else {
      expect([open, event.index]).toEqual([true, seen.length - 1]);
      if (event.type === 'content_block_stop') open = false;
      else seen.at(-1)?.deltas.push(event.delta.type);
    }
  }
  expect(open).toBe(false);
  return seen;
}

test.each(Object.keys(scenarios))('%s: Messages blocks come one after another', (name) => {
  blocksOf(streamOf(messages, scenarios[name] ?? []));
});

const finish: ChatEvent = { type: 'finish', reason: { unified: 'stop', raw: null } };

test('a refusal in many pieces is one block, pictures and the rest keep their turn', () => {
  const image = { type: 'image', source: { kind: 'base64', data: 'aGk=', mimeType: 'image/png' } } as const;
  const stream = streamOf(messages, [
    { type: 'text-start', index: 0 },
    { type: 'text-delta', index: 0, text: 'Well' },
    { type: 'media', part: image },
    { type: 'refusal-delta', text: 'I ' },
    { type: 'refusal-delta', text: 'will not' },
    { type: 'text-delta', index: 0, text: ' then' },
    { type: 'text-end', index: 0 },
    finish,
  ]);
  expect(blocksOf(stream)).toHaveLength(3);
  expect(meaning(readStream(messages, encoder.encode(stream)))).toMatchObject({
    text: 'Well then![image](data:image/png;base64,aGk=)I will not',
    finish: 'content_filter',
  });
});

test('thoughts: encrypted ones arrive whole, foreign signatures are marked, empty ones are left out', () => {
  const thought = (index: number, text: string, seal: object): ChatEvent[] => [
    { type: 'reasoning-start', index },
    ...(text === '' ? [] : [{ type: 'reasoning-delta' as const, index, text }]),
    { type: 'reasoning-end', index, signature: null, redacted: null, ...seal },
  ];
  const stream = streamOf(messages, [
    ...thought(0, '', { redacted: 'sealed', origin: 'anthropic-messages' }),
    ...thought(1, 'hm', { signature: 'own', origin: 'anthropic-messages' }),
    ...thought(2, '', {}),
    ...thought(3, 'ah', { redacted: 'foreign', origin: 'openai-responses' }),
    ...thought(4, 'oh', {}),
    finish,
  ]);
  expect(blocksOf(stream)).toEqual([
    { kind: 'redacted_thinking', deltas: [] },
    { kind: 'thinking', deltas: ['thinking_delta', 'signature_delta'] },
    { kind: 'thinking', deltas: ['thinking_delta', 'signature_delta'] },
    { kind: 'thinking', deltas: ['thinking_delta'] },
  ]);
  expect(stream).toContain('"signature":"gw1.r.foreign"');
  const read = messages.upstream.decodeResponse(
    messages.translation.encodeResponse(readStream(messages, encoder.encode(stream)), context),
  );
  expect(collect(read).parts).toMatchObject([
    { redacted: 'sealed' },
    { text: 'hm', signature: 'own' },
    { text: 'ah', signature: 'gw1.r.foreign' },
    { text: 'oh', signature: null },
  ]);
});

const frames = {
  start: { type: 'message_start', message: { id: 'msg_1', model: 'm', usage: { input_tokens: 43, output_tokens: 1 } } },
  use: {
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
  },
  piece: (words: string) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'input_json_delta', partial_json: words },
  }),
  stop: { type: 'content_block_stop', index: 0 },
  end: (delta: object, usage: object) => ({ type: 'message_delta', delta, usage }),
  last: { type: 'message_stop' },
};

test('Messages: doubled starts, pings, unknown blocks, corrected counts', () => {
  const events = readStream(
    messages,
    sse(
      frames.start,
      { type: 'ping' },
      { ...frames.start, message: { id: 'msg_2' } },
      frames.use,
      frames.piece('{"query":'),
      frames.piece('"x"}'),
      frames.stop,
      frames.end(
        { stop_reason: 'pause_turn' },
        {
          input_tokens: 61,
          output_tokens: 30,
          cache_creation: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 7 },
          output_tokens_details: { thinking_tokens: 10 },
          server_tool_use: { web_search_requests: 2 },
        },
      ),
      frames.last,
      frames.last,
    ),
  );
  expect(events.filter(({ type }) => type === 'response-start')).toMatchObject([{ id: 'msg_1' }]);
  expect(events.findLast(({ type }) => type === 'usage')).toMatchObject({
    usage: {
      input: 61,
      cacheWrite5m: 5,
      cacheWrite1h: 7,
      output: 20,
      reasoning: 10,
      toolCalls: { web_search: 2 },
    },
  });
  expect(events.at(-1)).toEqual({ type: 'finish', reason: { unified: 'length', raw: 'pause_turn' } });
  const raw = { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'x' } };
  expect(events).toContainEqual({ type: 'unknown', dialect: 'anthropic-messages', raw });
  expect(messages.translation.encodeResponse(events, context)).toMatchObject({
    content: [raw],
    stop_reason: 'pause_turn',
  });
  expect(streamOf(messages, events)).toContain(JSON.stringify(raw));
  expect(streamOf(chat, events)).not.toContain('web_search');
});

test.each([
  ['pieces that repeat what the start said', { city: 'Paris' }, ['{"city":', '"Paris"}'], { city: 'Paris' }],
  ['pieces that say something else', { city: '' }, ['{"city":"Rome"}'], { city: 'Rome' }],
  ['the start alone', { city: 'Paris' }, [], { city: 'Paris' }],
  ['neither', {}, [], {}],
])('Messages: arguments in %s are written once', (_name, input, chunks, expected) => {
  const stream = sse(
    { type: 'message_start', message: { id: 'msg_1' } },
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'a', name: 'f', input } },
    ...chunks.map((partial_json) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json },
    })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
    { type: 'message_stop' },
  );
  expect(meaning(readStream(messages, stream)).calls).toEqual([{ id: 'a', name: 'f', input: expected }]);
});

test('Messages: a refusal has its reason, an error in the middle closes what is open', () => {
  const refusal = { type: 'refusal', category: null, explanation: 'Not this' };
  const rejected = readStream(
    messages,
    sse(frames.start, frames.end({ stop_reason: 'refusal', stop_details: refusal }, {}), frames.last),
  );
  expect(chat.translation.encodeResponse(rejected, context)).toMatchObject({
    choices: [{ message: { content: null, refusal: 'Not this' }, finish_reason: 'content_filter' }],
  });
  const text = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'half' } };
  const failed = readStream(
    messages,
    sse(frames.start, text, { type: 'error', error: { type: 'overloaded_error', message: 'busy' } }, frames.last),
  );
  expect(failed.slice(-2)).toMatchObject([
    { type: 'text-end' },
    { type: 'error', error: { type: 'overloaded_error', message: 'busy' } },
  ]);
});

test('the start of a Messages stream has the prompt’s tokens as counted here', () => {
  const writer = messages.translation.writer({ ...context, promptTokens: 55 });
  const started = writer.write({ type: 'response-start', id: null, model: null, created: null });
  expect(started).toContain('"input_tokens":55');
});

test('calls come back under the names and in the kind that the client knows', () => {
  const tool = (name: string, kind: 'function' | 'custom' = 'function') =>
    ({ kind, name, description: null, schema: null, strict: null }) as const;
  expect(toolRestorer([tool('plain')])).toBeNull();
  const restore = toolRestorer([tool('files.read'), tool('apply_patch', 'custom')])?.();
  const events: ChatEvent[] = [
    { type: 'tool-call-start', index: 0, id: 'a', name: portableName('files.read') },
    { type: 'tool-call-delta', index: 0, arguments: '{"p":1}' },
    { type: 'tool-call-end', index: 0 },
    { type: 'tool-call-start', index: 1, id: 'b', name: 'apply_patch' },
    { type: 'tool-call-delta', index: 1, arguments: '{"input":"*** ' },
    { type: 'tool-call-delta', index: 1, arguments: 'begin"}' },
    { type: 'tool-call-end', index: 1 },
  ];
  expect(collect(events.flatMap((event) => [...(restore?.(event) ?? [])])).parts).toMatchObject([
    { name: 'files.read', arguments: '{"p":1}' },
    { name: 'apply_patch', arguments: '*** begin', custom: true },
  ]);
});

test('calls of bundled tools come back to a Responses client with their bundle in a field of its own, streamed and whole', () => {
  const request = codecs['openai-responses'].translation.decodeRequest(
    {
      model: 'm',
      input: [
        { type: 'function_call', call_id: 'c0', namespace: 'clock', name: 'sleep', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c0', output: 'slept' },
        {
          type: 'additional_tools',
          tools: [{ type: 'namespace', name: 'functions', tools: [{ type: 'custom', name: 'apply_patch' }] }],
        },
      ],
      tools: [
        {
          type: 'namespace',
          name: 'clock',
          description: 'Time.',
          tools: [{ type: 'function', name: 'sleep', description: 'Waits.', parameters: {} }],
        },
        { type: 'function', name: 'my__own', parameters: {} },
      ],
      tool_choice: { type: 'function', namespace: 'clock', name: 'sleep' },
    },
    { model: null, stream: true },
  );
  expect(request.toolChoice).toEqual({ name: 'clock__sleep' });
  expect(request.tools[0]?.description).toBe('Time.\n\nWaits.');
  expect(request.tools.map(({ name }) => name)).toEqual(['clock__sleep', 'my__own', 'functions__apply_patch']);
  const restore = toolRestorer(request.tools)?.();
  const call = (index: number, name: string, words: string): ChatEvent[] => [
    { type: 'tool-call-start', index, id: `c${index}`, name },
    { type: 'tool-call-delta', index, arguments: words },
    { type: 'tool-call-end', index },
  ];
  const events = [
    ...call(1, 'clock__sleep', '{"s":1}'),
    ...call(2, 'functions__apply_patch', '{"input":"*** begin"}'),
    ...call(3, 'my__own', '{}'),
    finish,
  ].flatMap((event) => [...(restore?.(event) ?? [])]);
  const expected = [
    { type: 'function_call', call_id: 'c1', namespace: 'clock', name: 'sleep', arguments: '{"s":1}' },
    { type: 'custom_tool_call', call_id: 'c2', namespace: 'functions', name: 'apply_patch', input: '*** begin' },
    { type: 'function_call', call_id: 'c3', name: 'my__own', arguments: '{}' },
  ];
  const responses = codecs['openai-responses'];
  expect(responses.translation.encodeResponse(events, context)).toMatchObject({ output: expected });
  const items = streamOf(responses, events)
    .split('\n\n')
    .filter((frame) => frame.startsWith('event: response.output_item.done'))
    .map((frame) => JSON.parse(frame.slice(frame.indexOf('data: ') + 6)).item);
  expect(items).toMatchObject(expected);
  expect(items[2]).not.toHaveProperty('namespace');
});

test('speech of an answer reaches a chat client, streamed and whole', () => {
  const part = {
    type: 'audio',
    format: 'wav',
    source: { kind: 'base64', data: 'aGk=', mimeType: 'audio/wav' },
  } as const;
  const events: ChatEvent[] = [{ type: 'media', part }, finish];
  expect(chat.translation.encodeResponse(events, context)).toMatchObject({
    choices: [{ message: { audio: { data: 'aGk=' } } }],
  });
  const read = readStream(chat, encoder.encode(streamOf(chat, events)));
  expect(read).toContainEqual(
    expect.objectContaining({ type: 'media', part: expect.objectContaining({ type: 'audio' }) }),
  );
});

test('a Gemini client is given the seals of thoughts and calls in one piece, marked with whose they are', () => {
  const whole = codecs['gemini-generate'].translation.encodeResponse(
    [
      { type: 'response-start', id: 'r', model: 'm', created: null },
      { type: 'reasoning-start', index: 0 },
      { type: 'reasoning-delta', index: 0, text: 'hm' },
      { type: 'reasoning-end', index: 0, signature: 'EqoB', redacted: null, origin: 'anthropic-messages' },
      { type: 'reasoning-start', index: 1 },
      { type: 'reasoning-delta', index: 1, text: 'oh' },
      { type: 'reasoning-end', index: 1, signature: null, redacted: null },
      { type: 'tool-call-start', index: 2, id: 'c', name: 'f' },
      { type: 'tool-call-end', index: 2, signature: 'own', origin: 'gemini-generate' },
      { type: 'finish', reason: { unified: 'tool-calls', raw: null } },
    ] as ChatEvent[],
    context,
  ) as { candidates: { content: { parts: unknown[] } }[] };
  expect(whole.candidates[0]?.content.parts).toEqual([
    { text: 'hm', thought: true, thoughtSignature: Buffer.from('gw1.a.EqoB').toString('base64') },
    { text: 'oh', thought: true },
    { functionCall: { id: 'c', name: 'f', args: {} }, thoughtSignature: 'own' },
  ]);
});

test.each([
  ['openai-responses', { redacted: 'gAAAAAB/+?>~' }],
  ['anthropic-messages', { signature: 'EqoB/+?>~' }],
  ['openai-chat', { signature: 'EqoB/+?>~' }],
] as const)(
  'what %s signed is bytes in base64 for a Gemini client, and comes back in either alphabet',
  (origin, seal) => {
    const gemini = codecs['gemini-generate'];
    const events: ChatEvent[] = [
      { type: 'reasoning-start', index: 0 },
      { type: 'reasoning-delta', index: 0, text: 'hm' },
      { type: 'reasoning-end', index: 0, signature: null, redacted: null, ...seal, origin },
      { type: 'tool-call-start', index: 1, id: 'c', name: 'f' },
      { type: 'tool-call-end', index: 1, signature: 'call/+?>~', origin },
      finish,
    ];
    const found = [streamOf(gemini, events), JSON.stringify(gemini.translation.encodeResponse(events, context))].map(
      (written) => [...written.matchAll(/"thoughtSignature":"([^"]+)"/g)].map(([, value]) => value ?? ''),
    );
    const [streamed = [], whole] = found;
    expect(streamed).toHaveLength(2);
    expect(whole).toEqual(streamed);
    for (const value of streamed) expect(value).toMatch(/^[A-Za-z0-9+/]+={0,2}$/);
    const foreign = streamed.map((value) => isForeign(value, { form: null, unsigned: false }));
    expect(foreign).toEqual([true, true]);
    const urlSafe = (value: string) => value.replaceAll('+', '-').replaceAll('/', '_');
    for (const kept of [streamed, streamed.map(urlSafe), streamed.map((value) => urlSafe(value).replace(/=+$/, ''))]) {
      const [thought, call] = kept;
      const parts = [
        { text: 'hm', thought: true, thoughtSignature: thought },
        { functionCall: { name: 'f', args: {} }, thoughtSignature: call },
      ];
      const { messages: turns } = gemini.translation.decodeRequest(
        { contents: [{ role: 'model', parts }] },
        { model: 'm', stream: false },
      );
      const sealed = 'redacted' in seal ? { redacted: seal.redacted } : { signature: seal.signature };
      expect(turns[0]?.parts).toMatchObject([
        { ...sealed, origin },
        { signature: 'call/+?>~', origin },
      ]);
    }
  },
);

test('Gemini: an unknown part is kept as it came, one without any words is nothing', () => {
  const raw = { executableCode: { language: 'PYTHON', code: 'print(1)' } };
  const content = { parts: [{ text: '' }, { text: '', thoughtSignature: 'sig' }, raw] };
  const events = codecs['gemini-generate'].upstream.decodeResponse({ candidates: [{ content, finishReason: 'STOP' }] });
  expect(events.filter(({ type }) => type === 'unknown')).toEqual([
    { type: 'unknown', dialect: 'gemini-generate', raw },
  ]);
});

test('Responses: a refusal that its finished item calls a text is written once, and ends no block that never began', () => {
  const position = { output_index: 0, content_index: 0 };
  const events = readStream(
    codecs['openai-responses'],
    sse(
      { type: 'response.refusal.delta', ...position, delta: 'Not this' },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { type: 'message', content: [{ type: 'output_text', text: 'Not this', annotations: [] }] },
      },
      { type: 'response.completed', response: { id: 'r', status: 'completed', output: [] } },
    ),
  );
  expect(events.map(({ type }) => type)).toEqual(['refusal-delta', 'response-start', 'finish']);
});

test('Responses: a refusal that names no place of its own ends the text before it', () => {
  const events = readStream(
    codecs['openai-responses'],
    sse(
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Well, ' },
      { type: 'response.refusal.delta', output_index: 0, delta: 'not ' },
      { type: 'response.refusal.delta', output_index: 0, delta: 'this' },
      { type: 'response.completed', response: { id: 'r', status: 'completed', output: [] } },
    ),
  );
  expect(events.map(({ type }) => type)).toEqual([
    'text-start',
    'text-delta',
    'text-end',
    'refusal-delta',
    'refusal-delta',
    'response-start',
    'finish',
  ]);
});

const thinking: ChatEvent[] = [
  { type: 'response-start', id: 'r', model: 'm', created: 1 },
  { type: 'reasoning-start', index: 0 },
  { type: 'reasoning-delta', index: 0, text: 'hm' },
  { type: 'reasoning-end', index: 0, signature: null, redacted: null },
];

test('thoughts of Responses clients say where they stand, and the usage what was written to caches', () => {
  const responses = codecs['openai-responses'];
  const usage = responses.upstream.readUsage({ usage: { input_tokens: 3, output_tokens: 2 } });
  const events: ChatEvent[] = [...thinking, ...(usage === null ? [] : [{ type: 'usage' as const, usage }]), finish];
  const whole = responses.translation.encodeResponse(events, context) as Record<string, unknown>;
  expect(whole).toMatchObject({
    output: [{ type: 'reasoning', status: 'completed' }],
    usage: { input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 } },
  });
  const frames = streamOf(responses, events)
    .split('\n')
    .flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []));
  const statuses = frames.flatMap(({ item }) => (item?.type === 'reasoning' ? [item.status] : []));
  expect(statuses).toEqual(['in_progress', 'completed']);
});

test('what Google’s screening stopped is filtered, and a turn of Anthropic’s that pauses is not over', () => {
  const stopped = codecs['gemini-generate'].upstream.decodeResponse({
    candidates: [{ content: { parts: [{ text: 'hi' }] }, finishReason: 'MODEL_ARMOR' }],
  });
  expect(stopped.at(-1)).toEqual({ type: 'finish', reason: { unified: 'content_filter', raw: 'MODEL_ARMOR' } });
  const paused = messages.upstream.decodeResponse({
    id: 'msg_1',
    content: [{ type: 'text', text: 'hi' }],
    stop_reason: 'pause_turn',
  });
  expect(chat.translation.encodeResponse(paused, context)).toMatchObject({ choices: [{ finish_reason: 'length' }] });
  expect(codecs['openai-responses'].translation.encodeResponse(paused, context)).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
  });
});
