/** Parameters that one maker takes and another refuses: they reach each within its bounds, and what changed is declared. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { allCodecs, codecFor } from '../../server/protocols/registry.ts';
import { encodeRequest as converse } from '../../server/providers/adapters/converse-request.ts';
import { rulesFor, withinRules } from '../../server/providers/knowledge/apply.ts';
import { targetFor } from '../../server/providers/knowledge/target.ts';
import { often } from '../support/often.ts';
import { strictHost } from '../support/strict-hosts.ts';

type Item = Record<string, unknown>;

const hi = [{ role: 'user', content: 'hi' }];
const decoded = (from: ProtocolId, body: Item, model: string) =>
  codecFor(from).translation.decodeRequest({ max_tokens: 99, messages: hi, ...body }, { model, stream: false });

function sent(from: ProtocolId, to: ProtocolId, provider: string, model: string, body: Item) {
  const dropped: string[] = [];
  const made = codecFor(to).translation.encodeRequest(decoded(from, body, model), dropped, targetFor(provider, model));
  return { made: withinRules(made, rulesFor(provider, to, true, model), dropped), dropped };
}

test.each<readonly [ProtocolId, ProtocolId, string, string, Item, Item, readonly string[]]>([
  [
    ...(['openai-chat', 'cohere-chat', 'cohere', 'command-a-03-2025'] as const),
    { temperature: 1.5, top_p: 1, top_k: 900, seed: -3 },
    { temperature: 1, p: 0.99, k: 500, seed: 0 },
    ['/temperature: 1 instead of 1.5', '/p: 0.99 instead of 1', '/k: 500 instead of 900', '/seed: 0 instead of -3'],
  ],
  [
    ...(['ollama-chat', 'cohere-chat', 'cohere', 'command-a-03-2025'] as const),
    { options: { top_p: 0 } },
    { p: 0.01 },
    ['/p: 0.01 instead of 0'],
  ],
  [
    ...(['openai-responses', 'openai-chat', 'zhipu', 'glm-4.6'] as const),
    { input: 'hi', temperature: 1, top_p: 1 },
    { temperature: 1, top_p: 0.99 },
    ['/top_p: 0.99 instead of 1'],
  ],
  [
    ...(['openai-responses', 'openai-chat', 'zhipu-v4', 'glm-4.6'] as const),
    { input: 'hi', top_p: 0 },
    { top_p: 0.01 },
    ['/top_p: 0.01 instead of 0'],
  ],
  [
    ...(['openai-responses', 'openai-chat', 'ali', 'qwen-plus'] as const),
    { input: 'hi', temperature: 2, top_p: 0 },
    { temperature: 1.99, top_p: 0.01 },
    ['/temperature: 1.99 instead of 2', '/top_p: 0.01 instead of 0'],
  ],
])('from %s to %s of %s (%s): %j', (from, to, provider, model, body, expected, losses) => {
  const { made, dropped } = sent(from, to, provider, model, body);
  expect(made).toMatchObject(expected);
  expect(dropped).toEqual(expect.arrayContaining([...losses]));
  const within = { ...made, ...expected };
  expect(withinRules(within, rulesFor(provider, to, true, model), [])).toBe(within);
});

test('a chat client’s probabilities stay away from models that think, at both endpoints of OpenAI', () => {
  for (const to of ['openai-responses', 'openai-chat'] as const)
    for (const [model, takes] of [
      ['gpt-5.5', false],
      ['gpt-4o', true],
    ] as const) {
      const from = to === 'openai-chat' ? 'openai-responses' : 'openai-chat';
      const { made } = sent(from, to, 'openai', model, { input: 'hi', logprobs: true, top_logprobs: 3 });
      expect([to, model, 'top_logprobs' in made]).toEqual([to, model, takes]);
    }
});

test('Cohere is asked for a form of the answer where it is offered no tools', () => {
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }];
  const asked = (more: Item) =>
    sent('openai-chat', 'cohere-chat', 'cohere', 'command-a-03-2025', {
      response_format: { type: 'json_object' },
      ...more,
    });
  const { made, dropped } = asked({ tools });
  expect(made).not.toHaveProperty('response_format');
  expect(dropped).toContain('/response_format: not taken by the upstream');
  expect(asked({}).made.response_format).toEqual({ type: 'json_object' });
});

test.each([
  [0, false],
  [1, true],
])('a draw among the %i likeliest words goes to Gemini: %s', (k, goes) => {
  for (const [from, body] of [
    ['cohere-chat', { k }],
    ['ollama-chat', { options: { top_k: k } }],
  ] as const) {
    const { generationConfig } = sent(from, 'gemini-generate', 'gemini', 'gemini-2.5-flash', body).made;
    expect([from, 'topK' in ((generationConfig ?? {}) as Item)]).toEqual([from, goes]);
  }
});

test('Converse takes no temperature above 1', () => {
  const dropped: string[] = [];
  const { inferenceConfig } = converse(decoded('openai-chat', { temperature: 1.7 }, 'amazon.nova-pro-v1:0'), dropped);
  expect(inferenceConfig).toMatchObject({ temperature: 1 });
  expect(dropped).toContain('/temperature: held to 1');
  const cool = converse(decoded('openai-chat', { temperature: 0.7 }, 'm'), []);
  expect(cool.inferenceConfig).toMatchObject({ temperature: 0.7 });
  expect(converse(decoded('openai-chat', {}, 'm'), []).inferenceConfig).not.toHaveProperty('temperature');
});

test('LM Studio is told that some tool is to be called, and of JSON without a schema as text', () => {
  const tools = ['f', 'g'].map((name) => ({ name, input_schema: { type: 'object', properties: {} } }));
  const forced = { tools, tool_choice: { type: 'tool', name: 'f' } };
  const { made, dropped } = sent('anthropic-messages', 'openai-chat', 'lm-studio', 'qwen3', forced);
  expect(made.tool_choice).toBe('required');
  expect(dropped).toContain('/tool_choice: required instead of one by its name');
  const any = sent('anthropic-messages', 'openai-chat', 'lm-studio', 'qwen3', { tools, tool_choice: { type: 'auto' } });
  expect(any.made.tool_choice).toBe('auto');
  const json = { generationConfig: { responseMimeType: 'application/json' } };
  const told = sent('gemini-generate', 'openai-chat', 'lm-studio', 'qwen3', {
    contents: [{ role: 'user', parts: [{ text: 'JSON' }] }],
    ...json,
  });
  expect(told.made.response_format).toEqual({ type: 'text' });
  expect(told.dropped).toContain('/response_format/type: text instead of json_object');
});

describe('a schema is followed strictly by OpenAI where it leaves nothing open', () => {
  const open = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'number' } }, required: ['a'] };
  const closed = { ...open, required: ['a', 'b'], additionalProperties: false };
  const within = (inner: object) => ({ ...closed, properties: { a: { type: 'array', items: inner }, b: {} } });
  test.each([
    ['members that may be missing', { ...open, additionalProperties: false }, false],
    ['members of any name', { ...closed, additionalProperties: {} }, false],
    ['nothing said of other members', { ...open, required: ['a', 'b'] }, false],
    ['the same within a list', within(open), false],
    ['the same in a definition', { ...closed, $defs: { x: open } }, false],
    ['all required and closed', within(closed), true],
    ['an object without members', { type: 'object', properties: {}, additionalProperties: false }, true],
  ])('%s', (_name, schema, strict) => {
    const body = {
      output_config: { format: { type: 'json_schema', schema } },
      tools: [{ name: 'f', input_schema: schema, strict: true }],
    };
    const loss = ': a schema that leaves something open is not followed strictly';
    for (const to of ['openai-chat', 'openai-responses'] as const) {
      const { made, dropped } = sent('anthropic-messages', to, 'openai', 'gpt-4o', body);
      const [tool] = made.tools as readonly Item[];
      const format = (made.response_format as Item | undefined)?.json_schema ?? (made.text as Item | undefined)?.format;
      expect([(tool?.function as Item | undefined)?.strict ?? tool?.strict, (format as Item).strict]).toEqual([
        strict,
        strict,
      ]);
      expect(dropped.filter((line) => line.endsWith(loss))).toEqual(
        strict ? [] : expect.arrayContaining([`/response_format/strict${loss}`, `/tools/0/strict${loss}`]),
      );
    }
  });

  test('OpenAI’s own clients are told by OpenAI', () => {
    const text = { format: { type: 'json_schema', name: 's', schema: open, strict: true } };
    const { made, dropped } = sent('openai-responses', 'openai-chat', 'openai', 'gpt-4o', { input: 'hi', text });
    expect(made.response_format).toMatchObject({ json_schema: { strict: true } });
    expect(dropped.filter((line) => line.includes('strict'))).toEqual([]);
  });
});

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
/** Ends of the range more often than what lies between. */
const share = (min: number, max: number) =>
  maybe(
    fc.oneof(
      fc.constantFrom(min, max),
      fc.integer({ min: min * 100, max: max * 100 }).map((cents) => cents / 100),
    ),
  );
const whole = (min: number, max: number) => maybe(fc.integer({ min, max }));
const stops = (most: number) => maybe(fc.array(fc.constantFrom('END', '\n', ' ', 'a', 'b', 'c'), { maxLength: most }));
const openSchema = { type: 'object', properties: { a: { type: 'string' }, b: {} }, required: ['a'] };
const partlyOpen = { ...openSchema, additionalProperties: false };
const closedSchema = { ...partlyOpen, required: ['a', 'b'] };
const tool = { name: 'f', description: 'd' };
const nested = (parameters: unknown) => [{ type: 'function', function: { ...tool, parameters } }];
const question = { role: 'user', content: 'Answer in JSON.' };

/** What clients of a dialect may write; a choice of tools stands beside tools alone. */
const written: Readonly<Record<ProtocolId, fc.Arbitrary<Item>>> = {
  'openai-chat': fc.record<Item>({
    ...{ temperature: share(0, 2), top_p: share(0, 1), n: whole(1, 3), seed: whole(-9, 9), stop: stops(4) },
    ...{ frequency_penalty: share(-2, 2), presence_penalty: share(-2, 2), max_tokens: whole(1, 40_000) },
    ...{ top_k: whole(0, 1000), user: maybe(fc.constant('u')), parallel_tool_calls: maybe(fc.boolean()) },
    tools: maybe(fc.constant(nested(closedSchema))),
    tool_choice: maybe(fc.constantFrom('auto', 'none', 'required', { type: 'function', function: { name: 'f' } })),
    response_format: maybe(fc.constantFrom({ type: 'text' }, { type: 'json_object' })),
    messages: fc.constant([question]),
  }),
  'openai-responses': fc.record<Item>({
    ...{ temperature: share(0, 2), top_p: share(0, 1), max_output_tokens: whole(16, 40_000) },
    tools: maybe(fc.constant([{ type: 'function', ...tool, parameters: closedSchema, strict: true }])),
    tool_choice: maybe(fc.constantFrom('auto', 'none', 'required', { type: 'function', name: 'f' })),
    text: maybe(fc.constantFrom({ format: { type: 'json_object' } }, { verbosity: 'low' })),
    input: fc.constant('Answer in JSON.'),
  }),
  'anthropic-messages': fc.record<Item>({
    ...{ temperature: share(0, 1), top_p: share(0, 1), top_k: whole(1, 1000), stop_sequences: stops(8) },
    max_tokens: fc.integer({ min: 1, max: 40_000 }),
    tools: maybe(fc.constantFrom(openSchema, closedSchema).map((schema) => [{ ...tool, input_schema: schema }])),
    tool_choice: maybe(
      fc.constantFrom({ type: 'auto' }, { type: 'any' }, { type: 'none' }, { type: 'tool', name: 'f' }),
    ),
    output_config: maybe(
      fc.constantFrom(partlyOpen, closedSchema).map((schema) => ({ format: { type: 'json_schema', schema } })),
    ),
    messages: fc.constant([question]),
  }),
  'gemini-generate': fc.record<Item>({
    generationConfig: fc.record<Item>({
      ...{ temperature: share(0, 2), topP: share(0, 1), topK: whole(1, 1000), stopSequences: stops(5) },
      ...{ presencePenalty: share(-2, 2), frequencyPenalty: share(-2, 2), seed: whole(0, 9) },
      ...{ maxOutputTokens: whole(1, 40_000), candidateCount: whole(1, 3) },
      responseMimeType: maybe(fc.constant('application/json')),
    }),
    tools: maybe(
      fc.constant([{ functionDeclarations: [{ ...tool, parameters: { type: 'OBJECT', properties: {} } }] }]),
    ),
    contents: fc.constant([{ role: 'user', parts: [{ text: 'Answer in JSON.' }] }]),
  }),
  'cohere-chat': fc.record<Item>({
    ...{ temperature: share(0, 1), p: share(0.01, 0.99), k: whole(0, 500), max_tokens: whole(1, 40_000) },
    ...{ frequency_penalty: share(0, 1), presence_penalty: share(0, 1), seed: whole(0, 9), stop_sequences: stops(5) },
    tools: maybe(fc.constant(nested(openSchema))),
    tool_choice: maybe(fc.constantFrom('REQUIRED', 'NONE')),
    response_format: maybe(fc.constant({ type: 'json_object' })),
    messages: fc.constant([question]),
  }),
  'ollama-chat': fc.record<Item>({
    options: fc.record<Item>({
      ...{ temperature: share(0, 2), top_p: share(0, 1), top_k: whole(0, 1000), num_predict: whole(1, 40_000) },
      ...{ presence_penalty: share(-2, 2), frequency_penalty: share(-2, 2), seed: whole(0, 9), stop: stops(6) },
    }),
    format: maybe(fc.constantFrom('json', openSchema)),
    tools: maybe(fc.constant(nested(openSchema))),
    messages: fc.constant([question]),
  }),
};

/** Without what is undefined, and without a choice among no tools. */
function asWritten(body: Item): Item {
  const { tools, tool_choice, parallel_tool_calls, ...rest } = JSON.parse(JSON.stringify(body)) as Item;
  return tools === undefined ? rest : { ...rest, tools, tool_choice, parallel_tool_calls };
}

const hosts: readonly (readonly [double: string, to: ProtocolId | 'converse', model: string])[] = [
  ['openai', 'openai-chat', 'gpt-4o'],
  ['azure', 'openai-chat', 'gpt-4.1'],
  ...(
    [
      ['mistral', 'mistral-large-latest'],
      ['groq', 'openai/gpt-oss-120b'],
      ['cerebras', 'gpt-oss-120b'],
      ['xai', 'grok-4.3'],
      ['deepseek', 'deepseek-v4-pro'],
      ['moonshot', 'kimi-k2.5'],
      ['zhipu', 'glm-4.6'],
      ['ali', 'qwen-plus'],
      ['minimax', 'MiniMax-M2.5'],
      ['fireworks', 'accounts/fireworks/models/kimi-k2p6'],
      ['vllm', 'Qwen/Qwen3.6-27B'],
      ['lm-studio', 'qwen/qwen3.6-35b-a3b'],
      ['openrouter', 'anthropic/claude-opus-4.7'],
      ['together', 'openai/gpt-oss-20b'],
      ['siliconflow', 'Qwen/Qwen3-32B'],
      ['volcengine', 'doubao-seed-1-6-251015'],
    ] as const
  ).map(([name, model]) => [name, 'openai-chat', model] as const),
  ['openai', 'openai-responses', 'gpt-4o'],
  ['anthropic', 'anthropic-messages', 'claude-haiku-4-5-20251001'],
  ['anthropic', 'anthropic-messages', 'claude-opus-4-8'],
  ['gemini', 'gemini-generate', 'gemini-2.5-flash'],
  ['gemini', 'gemini-generate', 'gemini-3-pro-preview'],
  ['cohere', 'cohere-chat', 'command-a-03-2025'],
  ['ollama', 'ollama-chat', 'qwen3'],
  ['bedrock', 'converse', 'amazon.nova-pro-v1:0'],
];

test.each(hosts)('%s takes in %s (%s) what clients of every other dialect may write', (name, to, model) => {
  const { slug, refusal } = strictHost(name, to, model);
  for (const { id } of allCodecs.filter((codec) => codec.id !== to))
    fc.assert(
      fc.property(written[id], (body) => {
        const request = codecFor(id).translation.decodeRequest(asWritten(body), { model, stream: false });
        const target = targetFor(slug, model);
        const made =
          to === 'converse' ? converse(request, []) : codecFor(to).translation.encodeRequest(request, [], target);
        const within = to === 'converse' ? made : withinRules(made, rulesFor(slug, to, true, model), []);
        expect([id, refusal(JSON.stringify(within))]).toEqual([id, null]);
      }),
      { seed: Number(process.env.FUZZ_SEED ?? 20261130), numRuns: often(8, 300, 'FUZZ_FACTOR') },
    );
});
