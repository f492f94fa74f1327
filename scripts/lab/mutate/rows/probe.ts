/** Requests in which a row of knowledge makes a difference. */
import type { Demand, ModelRow, ProviderRow } from '../../../../server/providers/knowledge/row.ts';

export interface RowProbe {
  readonly path: string;
  /** null = it is read. */
  readonly body: Readonly<Record<string, unknown>> | null;
  /** What stands behind the model's name. */
  readonly suffix?: string;
}

const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const text = 'hi, in json';
const tool = { type: 'function', function: { name: 'f', parameters: schema } };
const history = [
  { role: 'user', content: text },
  {
    role: 'assistant',
    content: 'x',
    tool_calls: [{ id: 'call_0123456789', type: 'function', function: { name: 'f', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'call_0123456789', content: 'done' },
];
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==';
const withPart = (part: object) => ({ messages: [{ role: 'user', content: [{ type: 'text', text }, part] }] });

type Chat = RowProbe & { readonly body: Readonly<Record<string, unknown>> };
const chat = (more: object): Chat => ({
  path: '/v1/chat/completions',
  body: { messages: [{ role: 'user', content: text }], ...more },
});
const messages = (more: object): RowProbe => ({
  path: '/v1/messages',
  body: { max_tokens: 4000, messages: [{ role: 'user', content: text }], ...more },
});
const responses = (more: object): RowProbe => ({ path: '/v1/responses', body: { input: text, ...more } });
const gemini = (more: object): RowProbe => ({
  path: '/v1beta/models/{model}:generateContent',
  body: { contents: [{ role: 'user', parts: [{ text }] }], generationConfig: more },
});

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const sampled: readonly object[] = [
  { temperature: 0.3 },
  { temperature: 1.9 },
  { top_p: 0.5 },
  { stop: ['x'] },
  { seed: 1 },
  { presence_penalty: 0.5 },
  { frequency_penalty: 0.5 },
  { n: 2 },
  { logprobs: true, top_logprobs: 2 },
  { max_completion_tokens: 10_000_000 },
  { max_tokens: 10_000_000 },
];
const choiceMessages: readonly object[] = [
  { tools: [tool] },
  { tools: [tool], parallel_tool_calls: false },
  { tools: [tool], tool_choice: 'required' },
  { tools: [tool], tool_choice: 'required', reasoning_effort: 'high' },
  { response_format: { type: 'json_object' } },
  { response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } } },
];

/** What clients of every dialect may ask of a model. */
const general: readonly RowProbe[] = [
  { path: '/v1/models/{model}', body: null },
  { path: '/v1beta/models/{model}', body: null },
  { ...chat({}), suffix: '-high' },
  chat(withPart({ type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } })),
  chat(withPart({ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } })),
  messages(withPart({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } })),
  messages(withPart({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } })),
  messages({
    tools: [
      { name: 'f', input_schema: schema },
      { type: 'web_search_20250305', name: 'web_search' },
    ],
  }),
  chat({ tools: [tool], response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } } }),
  chat({ tools: [tool], messages: [...history, { role: 'user', content: text }] }),
  chat({ messages: [...history, { role: 'assistant', content: 'It' }] }),
  chat({ messages: [history[0], history[0]] }),
  messages({
    messages: [
      { role: 'user', content: text },
      { role: 'assistant', content: 'It' },
    ],
  }),
  responses({ input: 'hi', text: { format: { type: 'json_object' } } }),
  responses({ input: [{ role: 'developer', content: 'hi' }] }),
  chat({ messages: [{ role: 'developer', content: 'be brief' }, ...history] }),
  ...sampled.flatMap((more) => [chat(more), chat({ ...more, reasoning_effort: 'high' })]),
  ...choiceMessages.map(chat),
  ...efforts.flatMap((effort) => [
    chat({ reasoning_effort: effort }),
    responses({ reasoning: { effort } }),
    messages({ output_config: { effort }, thinking: { type: 'adaptive' } }),
    gemini({ thinkingConfig: { thinkingLevel: effort.toUpperCase() } }),
  ]),
  ...[100, 1024, 3000, 200_000].flatMap((budget) => [
    messages({ max_tokens: budget + 1000, thinking: { type: 'enabled', budget_tokens: budget } }),
    gemini({ thinkingConfig: { thinkingBudget: budget } }),
  ]),
  gemini({ thinkingConfig: { thinkingBudget: 0 } }),
  gemini({ temperature: 0.3, topP: 0.5, topK: 5, seed: 1, presencePenalty: 0.5, frequencyPenalty: 0.5 }),
  gemini({ stopSequences: ['x'], candidateCount: 2, responseLogprobs: true, logprobs: 2 }),
  gemini({ responseMimeType: 'application/json', responseJsonSchema: schema }),
  messages({ temperature: 0.3, top_k: 5 }),
  messages({ top_p: 0.5 }),
  messages({ temperature: 0.3, top_p: 0.97 }),
  messages({ stop_sequences: ['x'] }),
  messages({ thinking: { type: 'disabled' } }),
  messages({ max_tokens: 10_000_000 }),
  messages({ output_config: { format: { type: 'json_schema', schema } } }),
  messages({ tools: [{ name: 'f', input_schema: schema }], tool_choice: { type: 'any' } }),
  messages({
    tools: [{ name: 'f', input_schema: schema }],
    messages: [
      { role: 'user', content: text },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_0123456789', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_0123456789', content: 'done' }] },
    ],
  }),
  messages({
    messages: [
      { role: 'user', content: text },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'x' },
          { type: 'text', text: 'a' },
        ],
      },
      { role: 'user', content: text },
    ],
  }),
];

export const modelProbes = (_row: ModelRow): readonly RowProbe[] => general;

const samples: Readonly<Record<string, unknown>> = {
  stream_options: { include_usage: true },
  logit_bias: { 1: 1 },
  include: ['reasoning.encrypted_content'],
  truncation: 'auto',
  top_logprobs: 2,
  logprobs: true,
  seed: 1,
  store: true,
  parallel_tool_calls: true,
  metadata: { a: 'b' },
  max_completion_tokens: 100,
  reasoning_details: [],
  extra_content: {},
  service_tier: 'priority',
  reasoning: 'hm',
  presence_penalty: 0.5,
  frequency_penalty: 0.5,
  stop: ['x'],
};

function valueAgainst(demand: Demand, member: string): unknown {
  if (demand.kind === 'atMost') return demand.value + 1;
  if (demand.kind === 'atLeast') return demand.value - 0.5;
  if (demand.kind === 'oneOf') return Object.keys(demand.instead ?? {})[0] ?? 'unheard';
  if (demand.kind === 'shaped') return 'call_0123456789';
  return samples[member] ?? 'x';
}

/** Sets what a path such as `messages[].tool_calls[].name` leads to, where its holder is. */
function withAt(value: unknown, [step = '', ...rest]: readonly string[], next: unknown): unknown {
  const object = { ...(value as Record<string, unknown>) };
  const key = step.replace('[]', '');
  if (rest.length === 0) return { ...object, [key]: next };
  const held = object[key];
  if (step.endsWith('[]'))
    return Array.isArray(held) ? { ...object, [key]: held.map((item) => withAt(item, rest, next)) } : value;
  return { ...object, [key]: withAt(held ?? {}, rest, next) };
}

export function providerProbes(row: ProviderRow): readonly RowProbe[] {
  const path = row.member.split('.');
  const value = valueAgainst(row.demand, path.at(-1) ?? '');
  if (row.dialect === 'openai-responses') return [responses(withAt({}, path, value) as object)];
  // Another dialect's client says it.
  if (row.translatedOnly === true)
    return [
      ...general,
      responses({ ...samples, [row.member]: value }),
      responses({ tools: [{ type: 'function', ...tool.function }], reasoning: { effort: 'high' } }),
    ];
  if (row.dialect !== 'openai-chat') return general;
  const bare = chat({ ...(row.member.startsWith('tool') ? { tools: [tool] } : {}) });
  const long = chat({ tools: [tool], messages: history });
  const requested = [bare, long].map(({ body }) => chat(withAt(body, path, value) as object));
  const atAssistant = history.map((turn) => (turn.role === 'assistant' ? withAt(turn, path.slice(1), value) : turn));
  const inside = row.member.startsWith('messages[].') ? [chat({ tools: [tool], messages: atAssistant })] : [];
  const streamed = requested.map(({ body }) => chat({ ...body, stream: true }));
  // Rules of whole messages, of roles and of combinations need requests of every kind.
  const wide = row.onlyWith !== undefined || row.member === 'messages' || row.member.endsWith('role');
  return [...requested, ...streamed, ...inside, ...(wide ? general : [])];
}
