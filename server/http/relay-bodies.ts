/**
 * What a call of the relay takes and returns, for the OpenAPI document: the members that clients of each protocol begin
 * with, and an example that works as it stands. Members beyond these are passed on; the providers' own documents name them.
 */
import type { Operation, RelayRoute } from '../relay/intake/routes.ts';

type Schema = Readonly<Record<string, unknown>>;

export interface DocumentedBody {
  readonly schema: Schema;
  readonly example: Schema;
}

export interface DocumentedBodies {
  /** null = the call has no body of its own. */
  readonly request: DocumentedBody | null;
  /** null = bytes, or events alone. */
  readonly response: DocumentedBody | null;
}

const text: Schema = { type: 'string' };
const whole: Schema = { type: 'integer' };
const fraction: Schema = { type: 'number' };
const flag: Schema = { type: 'boolean' };
const file: Schema = { type: 'string', format: 'binary' };
const listOf = (items: Schema): Schema => ({ type: 'array', items });
const either = (...schemas: readonly Schema[]): Schema => ({ anyOf: schemas });
const object = (properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema => ({
  ...{ type: 'object', properties },
  ...(required.length === 0 ? {} : { required }),
});
const body = (
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[],
  example: Schema,
): DocumentedBody => ({
  schema: object(properties, required),
  example,
});
/** An answer: every member is there. */
const answer = (properties: Readonly<Record<string, Schema>>, example: Schema): DocumentedBody =>
  body(properties, Object.keys(properties), example);

const part = object({ type: text, text, image_url: object({ url: text }) }, ['type']);
const content = either(text, listOf(part));
const message = object({ role: text, content }, ['role', 'content']);
const tool = object({ type: text, function: object({ name: text, description: text, parameters: object({}) }) });
const sampling = { temperature: fraction, top_p: fraction, stream: flag };
const usage = object({ prompt_tokens: whole, completion_tokens: whole, total_tokens: whole });
const hello = [{ role: 'user', content: 'Hello!' }];
const exampleUsage = { prompt_tokens: 9, completion_tokens: 10, total_tokens: 19 };

const chat: DocumentedBodies = {
  request: body(
    { model: text, messages: listOf(message), max_completion_tokens: whole, tools: listOf(tool), ...sampling },
    ['model', 'messages'],
    { model: 'gpt-4o-mini', messages: hello },
  ),
  response: answer(
    {
      ...{ id: text, object: text, created: whole, model: text },
      choices: listOf(object({ index: whole, message: object({ role: text, content: text }), finish_reason: text })),
      usage,
    },
    {
      ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1_790_000_000, model: 'gpt-4o-mini' },
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hello! How can I help?' }, finish_reason: 'stop' }],
      usage: exampleUsage,
    },
  ),
};

const messages: DocumentedBodies = {
  request: body(
    {
      ...{ model: text, max_tokens: whole, system: text, messages: listOf(message) },
      tools: listOf(object({ name: text, description: text, input_schema: object({}) })),
      ...sampling,
    },
    ['model', 'max_tokens', 'messages'],
    { model: 'claude-sonnet-4-5', max_tokens: 256, messages: hello },
  ),
  response: answer(
    {
      ...{ id: text, type: text, role: text, model: text, stop_reason: text },
      content: listOf(object({ type: text, text })),
      usage: object({ input_tokens: whole, output_tokens: whole }),
    },
    {
      ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', stop_reason: 'end_turn' },
      content: [{ type: 'text', text: 'Hello! How can I help?' }],
      usage: { input_tokens: 9, output_tokens: 10 },
    },
  ),
};

const responses: DocumentedBodies = {
  request: body(
    {
      ...{ model: text, input: either(text, listOf(message)), instructions: text, max_output_tokens: whole },
      ...{ previous_response_id: text, tools: listOf(object({ type: text, name: text, parameters: object({}) })) },
      ...sampling,
    },
    ['model', 'input'],
    { model: 'gpt-4o-mini', input: 'Hello!' },
  ),
  response: answer(
    {
      ...{ id: text, object: text, status: text, model: text },
      output: listOf(object({ type: text, role: text, content: listOf(object({ type: text, text })) })),
      usage: object({ input_tokens: whole, output_tokens: whole, total_tokens: whole }),
    },
    {
      ...{ id: 'resp_1', object: 'response', status: 'completed', model: 'gpt-4o-mini' },
      output: [
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello! How can I help?' }] },
      ],
      usage: { input_tokens: 9, output_tokens: 10, total_tokens: 19 },
    },
  ),
};

const turn = object({ role: text, parts: listOf(object({ text })) });
const gemini: DocumentedBodies = {
  request: body(
    {
      contents: listOf(turn),
      systemInstruction: turn,
      generationConfig: object({ temperature: fraction, topP: fraction, maxOutputTokens: whole }),
      tools: listOf(object({ functionDeclarations: listOf(object({ name: text, parameters: object({}) })) })),
    },
    ['contents'],
    { contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] },
  ),
  response: answer(
    {
      candidates: listOf(object({ content: turn, finishReason: text })),
      usageMetadata: object({ promptTokenCount: whole, candidatesTokenCount: whole, totalTokenCount: whole }),
    },
    {
      candidates: [{ content: { role: 'model', parts: [{ text: 'Hello! How can I help?' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 10, totalTokenCount: 19 },
    },
  ),
};

const cohere: DocumentedBodies = {
  request: body({ model: text, messages: listOf(message), max_tokens: whole, ...sampling }, ['model', 'messages'], {
    model: 'command-a-03-2025',
    messages: hello,
  }),
  response: answer(
    { id: text, message: object({ role: text, content: listOf(object({ type: text, text })) }), finish_reason: text },
    {
      ...{ id: '1', finish_reason: 'COMPLETE' },
      message: { role: 'assistant', content: [{ type: 'text', text: 'Hello! How can I help?' }] },
    },
  ),
};

const ollama: DocumentedBodies = {
  request: body({ model: text, messages: listOf(message), stream: flag, options: object({}) }, ['model', 'messages'], {
    model: 'llama3.3',
    messages: hello,
    stream: false,
  }),
  response: answer(
    { model: text, message: object({ role: text, content: text }), done: flag },
    { model: 'llama3.3', message: { role: 'assistant', content: 'Hello! How can I help?' }, done: true },
  ),
};

interface DialectRow {
  readonly protocol: RelayRoute['protocol'];
  readonly chat: DocumentedBodies;
  /** What a count of tokens is called; absent = none is counted. */
  readonly counted?: string;
}

const dialects: readonly DialectRow[] = [
  { protocol: 'openai-chat', chat },
  { protocol: 'openai-responses', chat: responses, counted: 'input_tokens' },
  { protocol: 'anthropic-messages', chat: messages, counted: 'input_tokens' },
  { protocol: 'gemini-generate', chat: gemini, counted: 'totalTokens' },
  { protocol: 'cohere-chat', chat: cohere },
  { protocol: 'ollama-chat', chat: ollama },
];

const picture = listOf(object({ url: text, b64_json: text }));
const pictures = answer(
  { created: whole, data: picture },
  { created: 1_790_000_000, data: [{ b64_json: 'iVBORw0KGgo…' }] },
);
const transcript = answer({ text }, { text: 'Hello!' });
const recording = body({ model: text, file, language: text, response_format: text }, ['model', 'file'], {
  model: 'whisper-1',
  file: '(bytes)',
});

const operations: Partial<Readonly<Record<Operation, DocumentedBodies>>> = {
  completions: {
    request: body(
      { model: text, prompt: either(text, listOf(text)), max_tokens: whole, ...sampling },
      ['model', 'prompt'],
      {
        model: 'gpt-3.5-turbo-instruct',
        prompt: 'Once upon a time',
      },
    ),
    response: answer(
      {
        id: text,
        object: text,
        model: text,
        choices: listOf(object({ index: whole, text, finish_reason: text })),
        usage,
      },
      {
        ...{ id: 'cmpl-1', object: 'text_completion', model: 'gpt-3.5-turbo-instruct' },
        ...{ choices: [{ index: 0, text: ' there was a gateway.', finish_reason: 'stop' }], usage: exampleUsage },
      },
    ),
  },
  embeddings: {
    request: body(
      { model: text, input: either(text, listOf(text)), dimensions: whole, encoding_format: text },
      ['model', 'input'],
      { model: 'text-embedding-3-small', input: 'Hello!' },
    ),
    response: answer(
      { object: text, model: text, data: listOf(object({ index: whole, embedding: listOf(fraction) })), usage },
      {
        ...{ object: 'list', model: 'text-embedding-3-small' },
        ...{ data: [{ index: 0, embedding: [0.0023, -0.0091] }], usage: { prompt_tokens: 2, total_tokens: 2 } },
      },
    ),
  },
  moderations: {
    request: body({ model: text, input: either(text, listOf(text)) }, ['input'], { input: 'Hello!' }),
    response: answer(
      { id: text, model: text, results: listOf(object({ flagged: flag, categories: object({}) })) },
      { id: 'modr-1', model: 'omni-moderation-latest', results: [{ flagged: false, categories: {} }] },
    ),
  },
  rerank: {
    request: body(
      { model: text, query: text, documents: listOf(text), top_n: whole },
      ['model', 'query', 'documents'],
      {
        model: 'rerank-v3.5',
        query: 'capital of France',
        documents: ['Paris', 'Berlin'],
      },
    ),
    response: answer(
      { id: text, results: listOf(object({ index: whole, relevance_score: fraction })) },
      { id: '1', results: [{ index: 0, relevance_score: 0.98 }] },
    ),
  },
  images: {
    request: body(
      { model: text, prompt: text, n: whole, size: text, quality: text, stream: flag },
      ['model', 'prompt'],
      {
        model: 'gpt-image-1',
        prompt: 'A lighthouse in the fog',
      },
    ),
    response: pictures,
  },
  image_edits: {
    request: body(
      { model: text, prompt: text, image: file, mask: file, n: whole, size: text },
      ['model', 'prompt', 'image'],
      {
        model: 'gpt-image-1',
        prompt: 'Make it night',
        image: '(bytes)',
      },
    ),
    response: pictures,
  },
  image_variations: {
    request: body({ model: text, image: file, n: whole, size: text }, ['image'], {
      model: 'dall-e-2',
      image: '(bytes)',
    }),
    response: pictures,
  },
  speech: {
    request: body(
      { model: text, input: text, voice: text, response_format: text, speed: fraction },
      ['model', 'input', 'voice'],
      {
        ...{ model: 'tts-1', input: 'Hello!', voice: 'alloy' },
      },
    ),
    response: null,
  },
  transcriptions: { request: recording, response: transcript },
  translations: { request: recording, response: transcript },
};

/** @returns null = only the provider's own documents describe it. */
export function bodiesOf({ protocol, operation }: Pick<RelayRoute, 'protocol' | 'operation'>): DocumentedBodies | null {
  const dialect = dialects.find((row) => row.protocol === protocol);
  if (operation === 'chat') return dialect?.chat ?? null;
  if (operation !== 'count_tokens') return operations[operation] ?? null;
  if (dialect?.counted === undefined) return null;
  const { chat: counts, counted } = dialect;
  return { request: counts.request, response: answer({ [counted]: whole }, { [counted]: 9 }) };
}
