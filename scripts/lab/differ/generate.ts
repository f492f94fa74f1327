/** Cases made from a seed: client dialects × providers × features × what an upstream may say and do. */
import fc from 'fast-check';
import { damageOf } from '../../../tests/fuzz/damage.ts';
import { forms } from '../../../tests/relay/parsers/forms.ts';
import { jsonBodies } from '../../../tests/relay/parsers/json-bodies.ts';
import { clientDialects, dialects, promptCases } from '../../../tests/support/evasions.ts';
import { randomOf } from '../../../tests/support/random.ts';
import {
  type Case,
  type ClientRequest,
  type ModelOutput,
  markOf,
  type RecordedReply,
  type Reply,
  type Usage,
  type Variant,
} from './case.ts';
import type { ModelOffer, Plan } from './plan.ts';
import { mainToken, tokens } from './site.ts';

type Json = Record<string, unknown>;

/** Chance with a memory of where it came from. */
interface Random {
  whole(max: number): number;
  is(share: number): boolean;
  pick<T>(list: readonly T[]): T;
  readonly random: () => number;
}

function seededRandom(seed: number): Random {
  const random = randomOf(seed);
  // Seeds that follow one another start alike.
  for (let n = 0; n < 4; n++) random();
  const whole = (max: number) => Math.floor(random() * (max + 1));
  return {
    random,
    whole,
    is: (share) => random() < share,
    pick: <T>(list: readonly T[]): T => list[whole(list.length - 1)] as T,
  };
}

const texts = [
  'Hello',
  ' world',
  ', how are you?',
  ' 日本語のテキスト',
  ' 🚀🙂',
  ' "quoted" \\ and\nlines',
  ' <b>&amp;</b>',
  ' {"json":1}',
  ' é\u2028x',
  '\n\n',
  ' data: [DONE]',
  ' The answer is 42.',
];
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==';
const schema = {
  type: 'object',
  properties: { city: { type: 'string', description: 'where' }, days: { type: 'integer' } },
  required: ['city'],
  additionalProperties: false,
};

function usageOf(random: Random): Usage | null {
  if (random.is(0.12)) return null;
  const odd = random.is(0.05);
  return {
    prompt: odd ? random.pick([0, 1, 2_000_000, 199_999, 200_001]) : 5 + random.whole(3000),
    output: odd ? random.pick([0, 1, 65_536]) : 1 + random.whole(800),
    cacheRead: random.is(0.25) ? random.whole(2000) : 0,
    cacheWrite: random.is(0.1) ? random.whole(1000) : 0,
    reasoning: random.is(0.2) ? random.whole(500) : 0,
  };
}

function outputOf(random: Random, { tools, thinks, choices }: Features): ModelOutput {
  const said = (max: number) => Array.from({ length: random.whole(max) }, () => random.pick(texts));
  const calls = tools && random.is(0.6) ? 1 + random.whole(1) : 0;
  return {
    thoughts: thinks || random.is(0.1) ? said(4) : [],
    words: calls > 0 && random.is(0.5) ? [] : ['Well', ...said(10)],
    calls: Array.from({ length: calls }, (_, index) => ({
      id: `call_up${index}`,
      name: 'plan_trip',
      input: random.pick([{ city: 'Paris', days: 3 }, {}, { city: '東京 "x"', days: 1 }]),
    })),
    finish: calls > 0 ? 'tools' : random.pick(['stop', 'stop', 'stop', 'length', 'filtered', 'stop word']),
    usage: usageOf(random),
    choices,
    model: random.pick(['upstream-model', 'gpt-4o-mini-2024-07-18', 'claude-haiku-4-5-20251001']),
    tier: random.is(0.1) ? random.pick(['default', 'priority', 'flex', 'standard']) : null,
  };
}

const retryHeaders: readonly Readonly<Record<string, string>>[] = [
  {},
  { 'retry-after': '3' },
  { 'x-ratelimit-remaining-requests': '0' },
];
function variantOf(random: Random): Variant {
  if (random.is(0.62)) return { kind: 'none' };
  const share = 0.1 + random.random() * 0.85;
  switch (random.whole(9)) {
    case 0:
    case 1:
      return {
        kind: 'status',
        status: random.pick([400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504, 524, 529]),
        headers: random.pick(retryHeaders),
      };
    case 2:
      return {
        kind: 'garbage',
        status: random.pick([200, 200, 500, 403]),
        text: random.pick(['<html>busy</html>', '', 'null', '[]', '{"error":"no"}', '{', 'data: {\n\n']),
      };
    case 3:
      return { kind: 'cut', share };
    case 4:
      return { kind: 'short', share };
    case 5:
      return { kind: 'error frame', share };
    case 6:
      return { kind: 'pings' };
    case 7:
      return { kind: 'windows lines' };
    case 8:
      return { kind: 'unknown members' };
    default:
      return { kind: 'last frame twice' };
  }
}

/* ---- requests ---- */

interface Features {
  readonly streamed: boolean;
  readonly tools: boolean;
  /** An earlier call and its result stand in the conversation. */
  readonly history: boolean;
  readonly image: boolean;
  readonly thinks: boolean;
  readonly schema: boolean;
  readonly system: boolean;
  readonly caches: boolean;
  readonly choices: number;
  readonly text: string;
  readonly model: string;
}

function featuresOf(random: Random, model: string, mark: string): Features {
  const tools = random.is(0.3);
  return {
    streamed: random.is(0.55),
    tools,
    history: tools && random.is(0.4),
    image: random.is(0.12),
    thinks: random.is(0.2),
    schema: random.is(0.1),
    system: random.is(0.5),
    caches: random.is(0.1),
    choices: random.is(0.06) ? 2 : 1,
    text: `${mark} ${Array.from({ length: random.whole(5) }, () => random.pick(texts)).join('')}${random.is(0.01) ? ' forbiddenword' : ''}`,
    model,
  };
}

/** Members that some requests have: usual values, odd ones, and such as no one knows. */
function extras(random: Random, table: Readonly<Record<string, readonly unknown[]>>): Json {
  const result: Json = {};
  for (const [name, values] of Object.entries(table)) if (random.is(0.12)) result[name] = random.pick(values);
  return result;
}

const sampling = { temperature: [0, 0.7, 1, 2, '0.5', -1], top_p: [0.1, 1, 0.95] };

function chatBody(random: Random, f: Features): Json {
  return {
    model: f.model,
    messages: [
      ...(f.system ? [{ role: random.pick(['system', 'developer']), content: 'Be brief.' }] : []),
      ...(f.history
        ? [
            { role: 'user', content: 'Plan.' },
            {
              role: 'assistant',
              content: null,
              tool_calls: [
                { id: 'call_1', type: 'function', function: { name: 'plan_trip', arguments: '{"city":"Rome"}' } },
              ],
            },
            { role: 'tool', tool_call_id: 'call_1', content: 'RESULT 🚀' },
          ]
        : []),
      {
        role: 'user',
        content: f.image
          ? [
              { type: 'text', text: f.text },
              {
                type: 'image_url',
                image_url: { url: `data:image/png;base64,${pixel}`, ...(random.is(0.5) ? { detail: 'low' } : {}) },
              },
            ]
          : f.text,
      },
    ],
    ...(f.streamed ? { stream: true } : random.is(0.1) ? { stream: false } : {}),
    ...(f.streamed && random.is(0.5) ? { stream_options: { include_usage: random.is(0.8) } } : {}),
    ...(f.tools
      ? {
          tools: [
            {
              type: 'function',
              function: { name: 'plan_trip', description: 'Plans', parameters: schema, strict: true },
            },
          ],
          ...(random.is(0.3)
            ? {
                tool_choice: random.pick([
                  'auto',
                  'required',
                  'none',
                  { type: 'function', function: { name: 'plan_trip' } },
                ]),
              }
            : {}),
        }
      : {}),
    ...(f.thinks ? { reasoning_effort: random.pick(['none', 'minimal', 'low', 'medium', 'high', 'xhigh']) } : {}),
    ...(f.schema
      ? {
          response_format: random.pick([
            { type: 'json_object' },
            { type: 'json_schema', json_schema: { name: 'trip', schema, strict: true } },
          ]),
        }
      : {}),
    ...(f.choices > 1 ? { n: f.choices } : {}),
    ...extras(random, {
      ...sampling,
      max_tokens: [1, 16, 1000, 100_000, '50', 0],
      max_completion_tokens: [16, 5000],
      stop: ['END', ['END', '\n\n'], [], null],
      seed: [1, 9_007_199_254_740_991],
      service_tier: ['auto', 'default', 'flex', 'priority'],
      user: ['user-1', ''],
      metadata: [{ a: 'b' }],
      store: [true, false],
      logprobs: [true],
      top_logprobs: [2],
      parallel_tool_calls: [false, true],
      prediction: [{ type: 'content', content: 'guess' }],
      modalities: [['text'], ['text', 'audio']],
      web_search_options: [{}, { search_context_size: 'high' }],
      verbosity: ['low'],
      prompt_cache_key: ['k1'],
      presence_penalty: [0.5],
      logit_bias: [{ '50256': -100 }],
      x_unknown: [{ deep: [1, 1.5, 'é'] }],
    }),
  };
}

function responsesBody(random: Random, f: Features): Json {
  return {
    model: f.model,
    input:
      !f.image && !f.history && random.is(0.4)
        ? f.text
        : [
            ...(f.history
              ? [
                  { type: 'function_call', call_id: 'call_1', name: 'plan_trip', arguments: '{"city":"Rome"}' },
                  { type: 'function_call_output', call_id: 'call_1', output: 'RESULT 🚀' },
                ]
              : []),
            {
              role: 'user',
              content: [
                { type: 'input_text', text: f.text },
                ...(f.image ? [{ type: 'input_image', image_url: `data:image/png;base64,${pixel}` }] : []),
              ],
            },
          ],
    ...(f.system ? { instructions: 'Be brief.' } : {}),
    ...(f.streamed ? { stream: true } : {}),
    ...(f.tools
      ? {
          tools: [
            { type: 'function', name: 'plan_trip', description: 'Plans', parameters: schema, strict: true },
            ...(random.is(0.2) ? [{ type: 'web_search' }] : []),
          ],
        }
      : {}),
    ...(f.thinks ? { reasoning: { effort: random.pick(['low', 'medium', 'high']), summary: 'auto' } } : {}),
    ...(f.schema ? { text: { format: { type: 'json_schema', name: 'trip', schema, strict: true } } } : {}),
    ...extras(random, {
      ...sampling,
      max_output_tokens: [16, 1000, 100_000],
      store: [false, true],
      include: [['reasoning.encrypted_content']],
      service_tier: ['auto', 'flex', 'priority'],
      truncation: ['auto'],
      previous_response_id: ['resp_unknown1'],
      prompt_cache_key: ['k1'],
      metadata: [{ a: 'b' }],
      x_unknown: [[1.0]],
    }),
  };
}

function messagesBody(random: Random, f: Features): Json {
  const cache = f.caches ? { cache_control: { type: 'ephemeral', ...(random.is(0.3) ? { ttl: '1h' } : {}) } } : {};
  return {
    model: f.model,
    max_tokens: random.pick([16, 1024, 4096, 64_000]),
    messages: [
      ...(f.history
        ? [
            { role: 'user', content: 'Plan.' },
            {
              role: 'assistant',
              content: [
                ...(random.is(0.3) ? [{ type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmF0dXJl' }] : []),
                { type: 'tool_use', id: 'toolu_1', name: 'plan_trip', input: { city: 'Rome' } },
              ],
            },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'RESULT 🚀' }] },
            { role: 'assistant', content: 'Done.' },
          ]
        : []),
      {
        role: 'user',
        content:
          f.image || f.caches
            ? [
                ...(f.image
                  ? [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } }]
                  : []),
                { type: 'text', text: f.text, ...cache },
              ]
            : f.text,
      },
    ],
    ...(f.system ? { system: f.caches ? [{ type: 'text', text: 'Be brief.', ...cache }] : 'Be brief.' } : {}),
    ...(f.streamed ? { stream: true } : {}),
    ...(f.tools
      ? {
          tools: [
            { name: 'plan_trip', description: 'Plans', input_schema: schema },
            ...(random.is(0.2) ? [{ type: 'web_search_20250305', name: 'web_search', max_uses: 2 }] : []),
          ],
          ...(random.is(0.2) ? { tool_choice: random.pick([{ type: 'auto' }, { type: 'any' }]) } : {}),
        }
      : {}),
    ...(f.thinks
      ? {
          thinking: random.pick([{ type: 'enabled', budget_tokens: 2000 }, { type: 'adaptive' }, { type: 'disabled' }]),
        }
      : {}),
    ...extras(random, {
      temperature: [0, 1],
      top_k: [5],
      top_p: [0.9],
      stop_sequences: [['END']],
      service_tier: ['auto', 'standard_only'],
      metadata: [{ user_id: 'u1' }],
      speed: ['fast'],
      x_unknown: [true],
    }),
  };
}

function geminiBody(random: Random, f: Features): Json {
  return {
    contents: [
      ...(f.history
        ? [
            { role: 'user', parts: [{ text: 'Plan.' }] },
            { role: 'model', parts: [{ functionCall: { name: 'plan_trip', args: { city: 'Rome' } } }] },
            { role: 'user', parts: [{ functionResponse: { name: 'plan_trip', response: { output: 'RESULT 🚀' } } }] },
          ]
        : []),
      {
        role: 'user',
        parts: [{ text: f.text }, ...(f.image ? [{ inlineData: { mimeType: 'image/png', data: pixel } }] : [])],
      },
    ],
    ...(f.system
      ? { [random.pick(['systemInstruction', 'system_instruction'])]: { parts: [{ text: 'Be brief.' }] } }
      : {}),
    ...(f.tools
      ? { tools: [{ functionDeclarations: [{ name: 'plan_trip', description: 'Plans', parameters: schema }] }] }
      : {}),
    generationConfig: {
      ...(f.thinks
        ? {
            thinkingConfig: {
              includeThoughts: random.is(0.7),
              ...(random.is(0.5) ? { thinkingBudget: random.pick([0, -1, 2048]) } : { thinkingLevel: 'low' }),
            },
          }
        : {}),
      ...(f.schema ? { responseMimeType: 'application/json', responseSchema: { type: 'OBJECT' } } : {}),
      ...(f.choices > 1 ? { candidateCount: f.choices } : {}),
      ...extras(random, {
        temperature: [0.2, 1],
        topP: [0.9],
        topK: [40],
        maxOutputTokens: [16, 8192],
        stopSequences: [['END']],
        seed: [7],
      }),
    },
    ...extras(random, {
      safetySettings: [[{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }]],
      toolConfig: [{ functionCallingConfig: { mode: 'ANY' } }],
      cachedContent: ['cachedContents/x'],
      labels: [{ a: 'b' }],
    }),
  };
}

const cohereBody = (random: Random, f: Features): Json => {
  const { n: _, stream_options: __, reasoning_effort: ___, ...body } = chatBody(random, { ...f, choices: 1 });
  return { ...body, ...(f.thinks ? { thinking: { type: 'enabled', token_budget: 1000 } } : {}) };
};

const ollamaBody = (random: Random, f: Features): Json => ({
  model: f.model,
  messages: [
    ...(f.system ? [{ role: 'system', content: 'Be brief.' }] : []),
    { role: 'user', content: f.text, ...(f.image ? { images: [pixel] } : {}) },
  ],
  ...(f.streamed ? {} : { stream: false }),
  ...(f.tools ? { tools: [{ type: 'function', function: { name: 'plan_trip', parameters: schema } }] } : {}),
  ...(f.thinks ? { think: random.pick([true, false, 'high']) } : {}),
  ...extras(random, {
    options: [{ temperature: 0, num_predict: 100, stop: ['END'] }],
    keep_alive: ['5m'],
    format: ['json', schema],
  }),
});

interface DialectWriter {
  readonly name: string;
  path(f: Features, random: Random): string;
  body(random: Random, f: Features): Json;
}

const writers: readonly DialectWriter[] = [
  {
    name: 'openai-chat',
    path: (f, random) =>
      random.is(0.05) ? `/openai/deployments/${encodeURIComponent(f.model)}/chat/completions` : '/v1/chat/completions',
    body: chatBody,
  },
  { name: 'openai-responses', path: () => '/v1/responses', body: responsesBody },
  { name: 'anthropic-messages', path: () => '/v1/messages', body: messagesBody },
  {
    name: 'gemini-generate',
    path: (f, random) =>
      `/v1beta/models/${encodeURIComponent(f.model)}:${f.streamed ? `streamGenerateContent${random.is(0.8) ? '?alt=sse' : ''}` : 'generateContent'}`,
    body: geminiBody,
  },
  { name: 'cohere-chat', path: () => '/v2/chat', body: cohereBody },
  { name: 'ollama-chat', path: () => '/api/chat', body: ollamaBody },
];

/** Where a client of a dialect puts its key. */
function credentials(path: string, token: string, random: Random): Readonly<Record<string, string>> {
  const key = `sk-${token}`;
  if (path.startsWith('/v1/messages') && random.is(0.7)) return { 'x-api-key': key, 'anthropic-version': '2023-06-01' };
  if (path.startsWith('/v1beta') && random.is(0.7)) return { 'x-goog-api-key': key };
  if (path.startsWith('/mj')) return { 'mj-api-secret': key };
  return { authorization: `Bearer ${key}` };
}

const clientHeaders: readonly Readonly<Record<string, string>>[] = [
  { 'user-agent': 'OpenAI/JS 7.55.0', 'x-stainless-lang': 'js', 'openai-beta': 'assistants=v2' },
  {
    'user-agent': 'claude-cli/2.1.329 (external, cli)',
    'anthropic-beta': 'context-1m-2025-08-07,fine-grained-tool-streaming-2025-05-14',
    'x-app': 'cli',
  },
  {
    'user-agent': 'codex_cli_rs/0.169.0',
    originator: 'codex_cli_rs',
    session_id: '01a1fa6e-066f-73b1-a10a-ab5000018260',
  },
  { 'user-agent': 'google-genai-sdk/3.1.0', 'x-goog-api-client': 'google-genai-sdk/3.1.0 gl-node/v24.21.0' },
  { 'x-forwarded-for': '203.0.113.9', cookie: 'session=abc', 'x-custom': 'kept?' },
  { 'accept-language': 'zh-CN', 'openai-organization': 'org-client', 'x-request-id': 'client-request-1' },
];

function tokenOf(random: Random, id: number): string {
  const one = random.whole(99);
  if (one < 84) return mainToken(id);
  if (one < 95) return tokens.vip;
  return one < 97 ? tokens.poor : one < 99 ? tokens.narrow : 'nobody00000000000000000000000000000000000000000';
}

const requestOf = (path: string, body: Json | string, token: string, random: Random): ClientRequest => ({
  method: 'POST',
  path,
  headers: {
    'content-type': 'application/json',
    ...credentials(path, token, random),
    ...(random.is(0.35) ? random.pick(clientHeaders) : {}),
  },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

/** Other requests than chats, with the operation that a provider must offer. */
function otherRequest(random: Random, offer: ModelOffer, mark: string): { path: string; body: Json } {
  const { alias: model } = offer;
  const text = `${mark} ${random.pick(texts)}`;
  const list: readonly (readonly [operation: string, path: string, body: Json])[] = [
    [
      'embeddings',
      '/v1/embeddings',
      {
        model,
        input: random.pick([text, [text, 'more']]),
        ...extras(random, { dimensions: [256], encoding_format: ['base64', 'float'] }),
      },
    ],
    [
      'completions',
      '/v1/completions',
      {
        model,
        prompt: text,
        ...extras(random, { stream: [true], max_tokens: [9], n: [2], echo: [true], suffix: ['x'], best_of: [3] }),
      },
    ],
    ['moderations', '/v1/moderations', { model, input: text }],
    [
      'images',
      '/v1/images/generations',
      {
        model,
        prompt: text,
        ...extras(random, {
          n: [1, 3],
          size: ['256x256', '1024x1792', '1792x1024'],
          quality: ['hd', 'low'],
          response_format: ['url'],
        }),
      },
    ],
    ['speech', '/v1/audio/speech', { model, input: text, voice: 'alloy' }],
    [
      'rerank',
      random.pick(['/v1/rerank', '/v2/rerank']),
      { model, query: text, documents: ['one', 'two'], ...extras(random, { top_n: [1] }) },
    ],
    ['embed_contents', `/v1beta/models/${encodeURIComponent(model)}:embedContent`, { content: { parts: [{ text }] } }],
    [
      'drawing',
      '/mj/submit/imagine',
      { prompt: text, ...extras(random, { base64Array: [[]], notifyHook: ['http://x.example'] }) },
    ],
    ['music', '/suno/submit/music', { prompt: text, mv: 'chirp-v3-5' }],
  ];
  const fit = list.filter(([operation]) => offer.operations.includes(operation));
  const [, path, body] = random.pick(fit.length > 0 ? fit : list);
  return { path, body };
}

function countRequest(random: Random, model: string, mark: string): { path: string; body: Json } {
  const text = `${mark} ${random.pick(texts)}`;
  return random.pick([
    { path: '/v1/messages/count_tokens', body: { model, messages: [{ role: 'user', content: text }] } },
    { path: `/v1beta/models/${model}:countTokens`, body: { contents: [{ parts: [{ text }] }] } },
    { path: '/v1/responses/input_tokens', body: { model, input: text } },
  ]);
}

/* ---- cases ---- */

/** @param recorded replies of real providers that are at hand. */
export function makeCases(
  plan: Plan,
  count: number,
  seed: number,
  from: number,
  recorded: readonly RecordedReply[],
): readonly Case[] {
  const parserRuns = evasions(seed, Math.min(600, Math.ceil(count * 0.06)));
  let pairs = 0;
  return Array.from({ length: count }, (_, index): Case => {
    const id = from + index;
    const mark = markOf(id);
    const random = seededRandom(seed * 1_000_003 + index);
    const token = tokenOf(random, id);
    const reply = (features: Features, variant = variantOf(random)): Reply => ({
      modelOutput: outputOf(random, features),
      recorded: recorded.length > 0 && random.is(0.25) ? random.pick(recorded) : null,
      variant,
      chunks: random.is(0.15) ? 1 + random.whole(60) : 0,
    });
    const kind = random.whole(99);
    if (kind < 4) {
      const body = random.pick(jsonBodies);
      const path = random.pick([
        '/v1/chat/completions',
        '/v1/images/generations',
        '/v1/responses',
        '/v1/messages',
        '/v1beta/models/cheap:generateContent',
      ]);
      const features = featuresOf(random, 'cheap', mark);
      return {
        id,
        name: `body: ${body.name}`,
        request: requestOf(path, body.body.replace('"hi"', `"hi ${mark}"`), token, random),
        responses: [reply(features)],
      };
    }
    if (kind < 6) {
      const form = random.pick(forms);
      const path = random.pick(['/v1/audio/transcriptions', '/v1/audio/translations', '/v1/images/edits']);
      const body = Buffer.from(form.body.replace('fmt sound', `fmt ${mark}`), 'latin1');
      const request = requestOf(path, '', token, random);
      return {
        id,
        name: `form: ${form.name}`,
        request: { ...request, headers: { ...request.headers, 'content-type': form.type }, body },
        responses: [reply(featuresOf(random, 'cheap', mark))],
      };
    }
    if (kind < 12) {
      const evasion = parserRuns[index % parserRuns.length];
      if (evasion !== undefined) {
        const { path } = dialects[evasion.dialect];
        const text = JSON.stringify(evasion.body);
        const marked = text.includes('"hello')
          ? text.replace('"hello', `"${mark} hello`)
          : `{"x_mark":"${mark}",${text.slice(1)}`;
        return {
          id,
          name: `hidden words: ${evasion.dialect}`,
          request: requestOf(path, marked, token, random),
          responses: [reply(featuresOf(random, '', mark))],
        };
      }
    }
    if (kind < 13) {
      const { alias, slug } = random.pick(plan.counting);
      const { path, body } = countRequest(random, alias, mark);
      return {
        id,
        name: `${path.replace(alias, '…')} → ${slug}`,
        request: requestOf(path, body, token, random),
        responses: [reply(featuresOf(random, alias, mark), { kind: 'none' })],
      };
    }
    if (kind < 21) {
      const offer = random.pick(plan.offers);
      const { path, body } = otherRequest(random, offer, mark);
      return {
        id,
        name: `${path.replace(/models\/[^:]*/, 'models/…')} → ${offer.slug}`,
        request: requestOf(path, body, token, random),
        responses: [reply(featuresOf(random, offer.alias, mark))],
      };
    }
    const writer = random.pick([...writers, ...writers.slice(0, 3)]);
    const retried = kind >= 95 && pairs < plan.pairs.length;
    const offer = (retried ? plan.pairs[pairs++] : undefined) ?? random.pick(plan.offers);
    const features = featuresOf(random, offer.alias, mark);
    let body: Json | string = writer.body(random, features);
    const damaged = kind < 23;
    if (damaged) body = damageOf(random.random).damaged(JSON.stringify(body));
    const failure: Variant = {
      kind: 'status',
      status: random.pick([401, 403, 404, 429, 500, 503, 529]),
      headers: random.pick(retryHeaders),
    };
    return {
      id,
      name: `${writer.name}${features.streamed ? ' streamed' : ''} → ${offer.slug}${retried ? ' after a failure' : ''}${damaged ? ', damaged' : ''}`,
      request: requestOf(writer.path(features, random), body, token, random),
      responses: retried
        ? [
            reply(features, failure),
            ...(random.is(0.3) ? [reply(features, failure)] : []),
            reply(features, { kind: 'none' }),
          ]
        : [reply(features)],
    };
  });
}

function evasions(seed: number, count: number) {
  const each = Math.ceil(count / clientDialects.length);
  return clientDialects.flatMap((dialect) => fc.sample(promptCases(dialect), { seed, numRuns: each }));
}
