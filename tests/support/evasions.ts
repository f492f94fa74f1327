/**
 * Requests that hide words from a count, and a judge of its own: words under any name, prefix, type and encoding, at any
 * place a dialect has. Prompts hide here; generators of answers that hide words go beside `promptCases`, and `playCase`
 * takes their answer in `answer`.
 */
import fc from 'fast-check';
import { Tiktoken } from 'js-tiktoken/lite';
import o200k from 'js-tiktoken/ranks/o200k_base';
import { createTokenCounter } from '../../server/relay/admission/counting/counter.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

export const clientDialects = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'gemini-generate',
  'cohere-chat',
] as const;
export type ClientDialect = (typeof clientDialects)[number];

type Json = Record<string, unknown>;

/** A request, and how it is played. */
export interface EvasionCase {
  readonly dialect: ClientDialect;
  readonly body: Json;
  /** Characters of the JSON beyond ASCII are written as escapes. */
  readonly escaped: boolean;
  /** The upstream speaks another dialect than the client. */
  readonly translated: boolean;
  /** The upstream says what it counted. */
  readonly usage: boolean;
  /** Of what the prompt's count costs; null = plenty. */
  readonly balance: number | null;
}

/* ---- what is hidden ---- */

const words = ['the ', 'water ', 'is ', 'deep, ', 'and ', 'bread ', 'costs ', '14.50 ', 'today.\n'];
const plainText = fc.oneof(
  fc.array(fc.constantFrom(...words), { minLength: 20, maxLength: 500 }).map((list) => list.join('')),
  fc
    .array(fc.constantFrom('水', '很', '深', '，', '面', '包', '价', '格'), { maxLength: 120 })
    .map((list) => list.join('')),
  fc.array(fc.constantFrom('🙂', '👩‍👩‍👧', '𝕬', '\u200b', '\u0001'), { maxLength: 60 }).map((list) => list.join('')),
  fc
    .array(fc.constantFrom('<|endoftext|>', '<|im_start|>', '<|fim_prefix|>'), { maxLength: 60 })
    .map((list) => list.join('')),
  fc.nat({ max: 1500 }).map((count) => '\n'.repeat(count)),
  fc.nat({ max: 400 }).map((count) => '\\"'.repeat(count)),
  fc.nat({ max: 300 }).map((count) => '{"a":[1,2],"b":"c d"}'.repeat(Math.ceil(count / 20))),
);
const encoded = (text: string): string => Buffer.from(text).toString('base64');
const disguised = plainText.chain((text) =>
  fc.constantFrom(
    text,
    `data:${text}`,
    `data: ${text}`,
    `data:image/png;base64,${text}`,
    `data:image/png;base64,${encoded(text)}`,
    `data:text/plain;base64,${encoded(text)}`,
    `data:application/pdf,${text}`,
    `iVBORw0KGgo ${text}`,
    `https://${text}`,
    `http:${text}`,
    encoded(text),
    JSON.stringify({ data: text }),
    JSON.stringify(JSON.stringify([text])),
  ),
);

const names = [
  'data',
  'url',
  'id',
  'type',
  'role',
  'model',
  'audio',
  'images',
  'image',
  'image_url',
  'file_data',
  'input_audio',
  'inlineData',
  'inline_data',
  'source',
  'signature',
  'encrypted_content',
  'cache_control',
  'tool_call_id',
  'call_id',
  'file',
  'file_id',
  'file_url',
  'fileUri',
  'text',
  'content',
  'DATA',
  'Url',
  'ID',
  'mimeType',
  'constructor',
  'toString',
  '_',
  'notes',
  'x-y',
] as const;
const name = fc.constantFrom<string>(...names);

/** Words in the shape of anything. */
const shaped = fc.tuple(disguised, name, name).chain(([text, key, other]) =>
  fc.constantFrom<unknown>(
    text,
    [text],
    { [key]: text },
    { [key]: { [other]: text } },
    { [key]: [{ [other]: text, type: 'base64', media_type: 'image/png' }] },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: text } },
    { inlineData: { mimeType: 'image/png', data: text } },
    { image_url: { url: text } },
    { [text.slice(0, 3000)]: 1 },
    Array.from({ length: Math.min(200, text.length) }, (_, at) => text.charCodeAt(at) * 1e18),
    Array.from({ length: Math.min(300, text.length) }, (_, at) => text[at]),
  ),
);
const asObject = shaped.map(
  (value): Json => (typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : { value }),
);

/* ---- real media, which is no words ---- */

const noise = (length: number): Buffer =>
  Buffer.from(Array.from({ length }, (_, at) => (at * 7919 + (at >> 3) * 31) & 255));
const image = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), noise(4000)]).toString('base64');
const media: ReadonlySet<string> = new Set([image, `data:image/png;base64,${image}`]);

/* ---- where a dialect has room for it ---- */

type Hide = (body: Json) => Json;
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const add =
  (member: string, ...items: readonly unknown[]): Hide =>
  (body) => ({ ...body, [member]: [...list(body[member]), ...items] });
const user = (content: unknown): Hide => add('messages', { role: 'user', content });
const top: fc.Arbitrary<Hide> = fc
  .tuple(fc.constantFrom('user', 'metadata', 'safety_identifier', 'prompt_cache_key', 'x_notes'), shaped)
  .map(
    ([key, value]): Hide =>
      (body) => ({ ...body, [key]: key === 'metadata' ? { user: value } : value }),
  );
const string = disguised;
const tool = fc.tuple(string, asObject).map(([description, parameters]) => ({
  type: 'function',
  function: { name: 'look', description, parameters: { type: 'object', properties: parameters } },
}));

const called = (args: string) => [
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: args } }],
  },
  { role: 'tool', tool_call_id: 'call_1', content: 'ok' },
];
const chatHides: fc.Arbitrary<Hide> = fc.oneof(
  string.map((text) => user(text)),
  fc
    .tuple(string, name)
    .map(([text, key]) =>
      user([{ type: 'text', text: 'hi', [key === 'type' || key === 'text' ? 'notes' : key]: text }]),
    ),
  string.map((text) => user([{ type: 'text', text }])),
  string.map((url) =>
    user([
      { type: 'text', text: 'hi' },
      { type: 'image_url', image_url: { url } },
    ]),
  ),
  string.map((data) => user([{ type: 'input_audio', input_audio: { data, format: 'wav' } }])),
  string.map((file_data) => user([{ type: 'file', file: { filename: 'a.txt', file_data } }])),
  string.map((text) => user([{ type: text.slice(0, 2000), text: 'hi' }])),
  string.map((text): Hide => add('messages', { role: 'user', content: 'hi', name: text })),
  shaped.map((value): Hide => add('messages', ...called(JSON.stringify({ value })))),
  string.map(
    (text): Hide =>
      add('messages', ...called('{}').slice(0, 1), { role: 'tool', tool_call_id: 'call_1', content: text }),
  ),
  string.map(
    (text): Hide =>
      add(
        'messages',
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: text, type: 'function', function: { name: 'look', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: text, content: 'ok' },
      ),
  ),
  tool.map((one): Hide => add('tools', one)),
  asObject.map(
    (schema): Hide =>
      (body) => ({ ...body, response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } }),
  ),
  fc.constant(user([{ type: 'image_url', image_url: { url: `data:image/png;base64,${image}` } }])),
  top,
);
const responsesHides: fc.Arbitrary<Hide> = fc.oneof(
  string.map((text): Hide => add('input', { role: 'user', content: text })),
  fc.tuple(string, name).map(
    ([text, key]): Hide =>
      add('input', {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_text', text: 'hi', [key === 'type' || key === 'text' ? 'notes' : key]: text }],
      }),
  ),
  string.map((image_url): Hide => add('input', { role: 'user', content: [{ type: 'input_image', image_url }] })),
  string.map(
    (file_data): Hide =>
      add('input', { role: 'user', content: [{ type: 'input_file', filename: 'a.txt', file_data }] }),
  ),
  string.map(
    (text): Hide =>
      (body) => ({ ...body, instructions: text }),
  ),
  shaped.map(
    (value): Hide =>
      add(
        'input',
        { type: 'function_call', call_id: 'call_1', name: 'look', arguments: JSON.stringify(value) },
        { type: 'function_call_output', call_id: 'call_1', output: 'ok' },
      ),
  ),
  string.map(
    (output): Hide =>
      add(
        'input',
        { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output },
      ),
  ),
  string.map((text): Hide => add('input', { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: text })),
  string.map(
    (text): Hide =>
      add(
        'input',
        { type: 'function_call', call_id: text, name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: text, output: 'ok' },
      ),
  ),
  fc
    .tuple(string, asObject)
    .map(
      ([description, properties]): Hide =>
        add('tools', { type: 'function', name: 'look', description, parameters: { type: 'object', properties } }),
    ),
  asObject.map(
    (schema): Hide =>
      (body) => ({ ...body, text: { format: { type: 'json_schema', name: 'x', schema } } }),
  ),
  fc.constant<Hide>(
    add('input', { role: 'user', content: [{ type: 'input_image', image_url: `data:image/png;base64,${image}` }] }),
  ),
  top,
);
const used = (input: unknown, id = 'toolu_1') => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id, name: 'look', input }],
});
const result = (content: unknown, id = 'toolu_1') => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: id, content }],
});
const anthropicHides: fc.Arbitrary<Hide> = fc.oneof(
  string.map((text) => user(text)),
  fc
    .tuple(string, name)
    .map(([text, key]) =>
      user([{ type: 'text', text: 'hi', [key === 'type' || key === 'text' ? 'notes' : key]: text }]),
    ),
  string.map(
    (text): Hide =>
      (body) => ({ ...body, system: [{ type: 'text', text }] }),
  ),
  string.map((data) => user([{ type: 'document', source: { type: 'text', media_type: 'text/plain', data } }])),
  string.map((data) =>
    user([{ type: 'document', source: { type: 'base64', media_type: 'text/plain', data: encoded(data) } }]),
  ),
  string.map((data) => user([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }])),
  fc
    .tuple(string, string)
    .map(([title, context]) =>
      user([{ type: 'document', title, context, source: { type: 'content', content: [{ type: 'text', text: 'x' }] } }]),
    ),
  asObject.map((input): Hide => add('messages', used(input), result('ok'))),
  string.map((text): Hide => add('messages', used({}), result(text))),
  fc.tuple(string, name).map(
    ([text, key]): Hide =>
      add(
        'messages',
        used({}),
        result([
          { type: 'text', text: 'x' },
          { type: 'text', text, [key === 'type' || key === 'text' ? 'notes' : key]: text },
        ]),
      ),
  ),
  string.map((text): Hide => add('messages', used({}, text), result('ok', text))),
  string.map(
    (signature): Hide =>
      add('messages', {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature },
          { type: 'text', text: 'x' },
        ],
      }),
  ),
  fc
    .tuple(string, asObject)
    .map(
      ([description, properties]): Hide =>
        add('tools', { name: 'look', description, input_schema: { type: 'object', properties } }),
    ),
  fc.constant(user([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: image } }])),
  top,
);
const gemini = (role: string, ...parts: readonly unknown[]): Hide => add('contents', { role, parts });
const geminiHides: fc.Arbitrary<Hide> = fc.oneof(
  string.map((text) => gemini('user', { text })),
  fc.tuple(string, name).map(([text, key]) => gemini('user', { text: 'hi', [key === 'text' ? 'notes' : key]: text })),
  string.map(
    (text): Hide =>
      (body) => ({ ...body, systemInstruction: { parts: [{ text }] } }),
  ),
  string.map((data) => gemini('user', { inlineData: { mimeType: 'image/png', data } })),
  string.map((data) => gemini('user', { inlineData: { mimeType: 'text/plain', data: encoded(data) } })),
  string.map((data) => gemini('user', { inline_data: { mime_type: 'text/csv', data: encoded(data) } })),
  asObject.map(
    (args): Hide =>
      (body) =>
        gemini('user', { functionResponse: { name: 'look', response: { ok: true } } })(
          gemini('model', { functionCall: { name: 'look', args } })(body),
        ),
  ),
  asObject.map(
    (response): Hide =>
      (body) =>
        gemini('user', { functionResponse: { name: 'look', response } })(
          gemini('model', { functionCall: { name: 'look', args: {} } })(body),
        ),
  ),
  fc.tuple(string, asObject).map(
    ([description, properties]): Hide =>
      add('tools', {
        functionDeclarations: [{ name: 'look', description, parameters: { type: 'OBJECT', properties } }],
      }),
  ),
  asObject.map(
    (responseSchema): Hide =>
      (body) => ({
        ...body,
        generationConfig: { ...(body.generationConfig as Json), responseMimeType: 'application/json', responseSchema },
      }),
  ),
  fc.constant(gemini('user', { inlineData: { mimeType: 'image/png', data: image } })),
  top,
);
const cohereHides: fc.Arbitrary<Hide> = fc.oneof(
  chatHides,
  string.map((data): Hide => add('documents', { id: 'd', data })),
  asObject.map((data): Hide => add('documents', { id: 'd', data })),
  string.map((text): Hide => add('documents', text)),
  fc
    .tuple(string, string)
    .map(
      ([tool_plan, text]): Hide =>
        add(
          'messages',
          { ...called('{}')[0], tool_plan },
          { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'document', document: { id: 'x', data: text } }] },
        ),
    ),
);

interface Dialect {
  readonly model: string;
  /** Its tokens are counted here as they are there. */
  readonly countable: boolean;
  /** The dialect it is translated to. */
  readonly other: ClientDialect;
  readonly path: string;
  readonly start: Json;
  readonly hides: fc.Arbitrary<Hide>;
  readonly answer: (usage: { readonly prompt: number } | null) => Json;
}

const openAiUsage = (prompt: number) => ({ prompt_tokens: prompt, completion_tokens: 1, total_tokens: prompt + 1 });
export const dialects: Readonly<Record<ClientDialect, Dialect>> = {
  'openai-chat': {
    model: 'gpt-4o',
    countable: true,
    other: 'anthropic-messages',
    path: '/v1/chat/completions',
    start: { max_tokens: 16, messages: [{ role: 'user', content: 'hello' }] },
    hides: chatHides,
    answer: (usage) => ({
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }],
      ...(usage === null ? {} : { usage: openAiUsage(usage.prompt) }),
    }),
  },
  'openai-responses': {
    model: 'gpt-4.1',
    countable: true,
    other: 'openai-chat',
    path: '/v1/responses',
    start: { max_output_tokens: 16, store: false, input: [{ role: 'user', content: 'hello' }] },
    hides: responsesHides,
    answer: (usage) => ({
      id: 'r',
      object: 'response',
      status: 'completed',
      model: 'm',
      output: [
        {
          type: 'message',
          id: 'm',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'yes', annotations: [] }],
        },
      ],
      ...(usage === null
        ? {}
        : { usage: { input_tokens: usage.prompt, output_tokens: 1, total_tokens: usage.prompt + 1 } }),
    }),
  },
  'anthropic-messages': {
    model: 'claude-3-5-haiku-20241022',
    countable: false,
    other: 'openai-chat',
    path: '/v1/messages',
    start: { max_tokens: 16, messages: [{ role: 'user', content: 'hello' }] },
    hides: anthropicHides,
    answer: (usage) => ({
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'm',
      stop_reason: 'end_turn',
      content: [{ type: 'text', text: 'yes' }],
      ...(usage === null ? {} : { usage: { input_tokens: usage.prompt, output_tokens: 1 } }),
    }),
  },
  'gemini-generate': {
    model: 'gemini-2.0-flash',
    countable: false,
    other: 'openai-chat',
    path: '/v1beta/models/MODEL:generateContent',
    start: { generationConfig: { maxOutputTokens: 16 }, contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
    hides: geminiHides,
    answer: (usage) => ({
      candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'yes' }] }, finishReason: 'STOP' }],
      ...(usage === null
        ? {}
        : {
            usageMetadata: {
              promptTokenCount: usage.prompt,
              candidatesTokenCount: 1,
              totalTokenCount: usage.prompt + 1,
            },
          }),
    }),
  },
  'cohere-chat': {
    model: 'command-r-08-2024',
    countable: false,
    other: 'openai-chat',
    path: '/v2/chat',
    start: { max_tokens: 16, messages: [{ role: 'user', content: 'hello' }] },
    hides: cohereHides,
    answer: (usage) => ({
      id: 'c',
      finish_reason: 'COMPLETE',
      message: { role: 'assistant', content: [{ type: 'text', text: 'yes' }] },
      ...(usage === null
        ? {}
        : {
            usage: {
              billed_units: { input_tokens: usage.prompt, output_tokens: 1 },
              tokens: { input_tokens: usage.prompt, output_tokens: 1 },
            },
          }),
    }),
  },
};

export const promptCases = (dialect: ClientDialect): fc.Arbitrary<EvasionCase> =>
  fc.record({
    dialect: fc.constant(dialect),
    body: fc
      .array(dialects[dialect].hides, { minLength: 1, maxLength: 3 })
      .map((hides) => hides.reduce((body, hide) => hide(body), dialects[dialect].start)),
    escaped: fc.boolean(),
    translated: fc.boolean(),
    usage: fc.boolean(),
    balance: fc.option(fc.double({ min: 0.3, max: 6, noNaN: true }), { freq: 2 }),
  });

/* ---- the judge: nothing of the product's own ---- */

const tiktoken = new Tiktoken(o200k);
/** Long runs without a border take the tokenizer a time that grows with their square. */
const tokensOf = (text: string): number => {
  let sum = 0;
  for (let from = 0; from < text.length; from += 4000)
    sum += tiktoken.encode(text.slice(from, from + 4000), [], []).length;
  // A cut between two halves of a character, or within a word, may cost a token.
  return sum - Math.floor(text.length / 4000) * 4;
};
/** What every request of a dialect consists of; it says nothing. */
const constants =
  /^(?:user|assistant|system|developer|tool|model|function|message|text|image|image_url|input_image|input_text|output_text|input_audio|input_file|file|document|tool_use|tool_result|function_call|function_call_output|thinking|reasoning|base64|url|content|ephemeral|json_schema|object|OBJECT|auto|none|any)$/;
const mediaPlaces = /(?:^|\.)(?:image_url(?:\.url)?|source\.data|inline_?[dD]ata\.data)$/;
const textPlaces = /(?:^|\.)(?:source\.data|inline_?[dD]ata\.data|file_data)$/;

function said(text: string, path: string, owner: Json): string {
  if (!textPlaces.test(path)) return text;
  const url = /^data:(text\/[^;,]*);base64,/.exec(text);
  const mime = owner.mimeType ?? owner.mime_type ?? owner.media_type;
  const isText = url !== null || (typeof mime === 'string' && mime.startsWith('text/') && owner.type !== 'text');
  if (!isText) return text;
  const data = url === null ? text : text.slice(url[0].length);
  return /^[A-Za-z\d+/]+=*$/.test(data) ? Buffer.from(data, 'base64').toString('utf8') : text;
}

/** Tokens of all strings in a body at least: of all values, of long names and of numbers in lists. */
export function minTokens(body: unknown, countable: boolean): number {
  let sum = 0;
  const count = (text: string) => {
    sum += countable ? tokensOf(text) : Buffer.byteLength(text) / 4;
  };
  const walk = (value: unknown, path: string, owner: Json): void => {
    if (typeof value === 'string') {
      if (media.has(value) && mediaPlaces.test(path)) return;
      if (!constants.test(value)) count(said(value, path, owner));
    } else if (Array.isArray(value)) {
      for (const item of value) {
        if (typeof item === 'number') count(String(item));
        else walk(item, path, owner);
      }
    } else if (typeof value === 'object' && value !== null)
      for (const [key, inner] of Object.entries(value)) {
        if (key.length > 64) count(key);
        if (path !== '' || key !== 'model') walk(inner, `${path}.${key}`, value as Json);
      }
  };
  walk(body, '', {});
  return Math.floor(sum);
}

/* ---- the gateway under test ---- */

export interface Played {
  readonly status: number;
  /** Null where nothing went upstream. */
  readonly min: number | null;
  readonly reserved: number;
  readonly charged: number;
  readonly overrun: number;
  readonly arrived: string;
}

export interface Stage {
  readonly gateway: TestGateway;
  /** @param answer the upstream's answer instead of the usual one. */
  play(one: EvasionCase, answer?: Json): Promise<Played>;
  close(): Promise<void>;
}

/** A name that is known to be of its family, for each way. */
const modelOf = (dialect: ClientDialect, translated: boolean): string =>
  translated ? `${dialects[dialects[dialect].other].model}-${dialect}` : dialects[dialect].model;
const ratios = Object.fromEntries(
  clientDialects.flatMap((dialect) => [false, true].map((translated) => [modelOf(dialect, translated), 1])),
);
const plenty = 1_000_000_000;
const never = { at: 0, used: 0 };

export async function openStage(): Promise<Stage> {
  let upstream: (url: string, body: string) => Json = () => ({});
  const counter = createTokenCounter(
    () => new Worker(new URL('../../server/relay/admission/counting/worker.ts', import.meta.url)) as never,
  );
  const gateway = await createTestGateway({
    engine: 'sqlite',
    relay: { counter },
    upstreamFetch: (async (input: string | URL | Request, init?: RequestInit) => {
      const body = typeof init?.body === 'string' ? init.body : Buffer.from(init?.body as Uint8Array).toString('utf8');
      return Response.json(upstream(String(input), body));
    }) as typeof fetch,
  });
  for (const dialect of clientDialects) {
    const { model, other } = dialects[dialect];
    const settings = { type: 199, models: model, setting: JSON.stringify({ dialect }) };
    await gateway.channel('http://upstream.test', settings);
    const translated = { models: modelOf(dialect, true), setting: JSON.stringify({ dialect: other }) };
    await gateway.channel('http://upstream.test', { ...settings, ...translated });
  }
  await gateway.option('ModelRatio', JSON.stringify(ratios));
  let serial = 10_000;

  const newUser = async (balance: number): Promise<number> => {
    const id = serial++;
    const raw = gateway.raw();
    raw.prepare("INSERT INTO users (id, username, password_hash, created_at) VALUES (?, ?, 'x', 1)").run(id, `u${id}`);
    raw.prepare('INSERT INTO accounts (id) VALUES (?)').run(id);
    await gateway.ledger.execute({ type: 'grant', ref: `g${id}`, userId: id, amount: balance, at: 1, log: null });
    const user = {
      id,
      username: `u${id}`,
      role: 1,
      status: 1,
      group: 'default',
      balance,
      used: 0,
      balanceVersion: 1,
      overrun: 0,
      setting: {},
    };
    const limits = {
      unlimited: true,
      quotaLimit: 0,
      used: 0,
      modelLimits: null,
      oldKey: null,
      allowIps: [],
      group: '',
      limits: null,
      periods: { day: never, month: never },
    };
    const token = {
      id,
      userId: id,
      name: 't',
      keyHmac: gateway.vault.keyHmac(`key${id}`),
      status: 1,
      expiresAt: -1,
      ...limits,
    };
    gateway.state.apply({
      kind: 'delta',
      seq: 0,
      channels: [],
      options: {},
      removed: { users: [], tokens: [], channels: [] },
      users: [user],
      tokens: [token],
    });
    return id;
  };

  return {
    gateway,
    async play(one, answer) {
      const own = dialects[one.dialect];
      const target = dialects[one.translated ? own.other : one.dialect];
      const model = modelOf(one.dialect, one.translated);
      const body = one.dialect === 'gemini-generate' ? one.body : { model, ...one.body };
      const plain = JSON.stringify(body);
      const json = one.escaped
        ? plain.replace(/[^\0-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
        : plain;
      // What was sent is near enough to what arrives to choose a balance by.
      const near = minTokens(body, false) + 60;
      const balance = one.balance === null ? plenty : Math.ceil(near * one.balance);
      const id = await newUser(balance);
      let seen: { readonly min: number; readonly reserved: number; readonly arrived: string } | null = null;
      upstream = (_url, arrived) => {
        const min = minTokens(JSON.parse(arrived), target.countable);
        seen = { min, reserved: balance - gateway.balances.account(id, id).available(), arrived };
        return answer ?? target.answer(one.usage ? { prompt: Math.max(1, min) } : null);
      };
      const path = own.path.replace('MODEL', model);
      const request = new Request(`http://gateway${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer sk-key${id}`, 'content-type': 'application/json' },
        body: json,
      });
      const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
      await response.arrayBuffer();
      const charged = balance - gateway.balances.account(id, id).available();
      const overrun = gateway.balances.account(id, 0).overrun();
      // Read where the callback has written it.
      const found = seen as { readonly min: number; readonly reserved: number; readonly arrived: string } | null;
      return {
        status: response.status,
        min: found?.min ?? null,
        reserved: found?.reserved ?? 0,
        charged,
        overrun,
        arrived: found?.arrived ?? '',
      };
    },
    async close() {
      counter.close();
      await gateway.close();
    },
  };
}

/** @returns what is wrong, in words; null = nothing. */
export function hitOf({ usage }: EvasionCase, { status, min, reserved, charged, overrun }: Played): string | null {
  if (min === null || status !== 200) return null;
  if (reserved < min) return `reserved ${reserved} of ${min}`;
  if (overrun > 0) return `ran over by ${overrun}`;
  return !usage && charged < min ? `charged ${charged} of ${min}` : null;
}
