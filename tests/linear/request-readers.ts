/** What admits, prices, routes and rewrites a request, with members that are hostile to it: spelled in many ways, in long lists, below long names. */

import { modelLimits } from '../../server/contract/model-limits.ts';
import type { ChannelSnapshot } from '../../server/contract/snapshot.ts';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { commonProtocol } from '../../server/protocols/registry.ts';
import { emptyUsage } from '../../server/protocols/shared/usage.ts';
import { providerBySlug } from '../../server/providers/catalogue.ts';
import { refusedMembers } from '../../server/providers/knowledge/refused-members.ts';
import { withLimit } from '../../server/relay/admission/answer-limit.ts';
import { checkWords } from '../../server/relay/admission/blocked-words.ts';
import { CacheWatch } from '../../server/relay/admission/cache-watch.ts';
import { estimate, finalPrices, reportedUsage } from '../../server/relay/admission/meter.ts';
import { requestedOf } from '../../server/relay/admission/modifiers.ts';
import { PrefixEvidence } from '../../server/relay/admission/prefix-evidence.ts';
import { openingOf } from '../../server/relay/admission/prompt-opening.ts';
import { actionOf, orderOf } from '../../server/relay/endpoints/tasks/actions.ts';
import { workOf } from '../../server/relay/endpoints/tasks/work.ts';
import { outline } from '../../server/relay/intake/json-text.ts';
import type { ParsedRequest } from '../../server/relay/intake/parsed-request.ts';
import { readPrompt } from '../../server/relay/intake/prompt.ts';
import type { Operation } from '../../server/relay/intake/routes.ts';
import { conversationKey, keptIds, referencedIds } from '../../server/relay/routing/affinity.ts';
import { LearntMembers, newTrialCells } from '../../server/relay/routing/learnt-members.ts';
import { compileSettings } from '../../server/relay/state/settings.ts';
import { prepare } from '../../server/relay/upstream/prepare.ts';
import { trialAfter } from '../../server/relay/upstream/refused-request.ts';
import { allFeatures, firstFileIn } from '../../server/routing/features.ts';
import { planOfChannels } from '../../server/routing/plan.ts';
import { type Case, growing, type Json, type Reader, spelled, texts, told } from './cases.ts';

const settings = compileSettings(
  new Map([
    ['SensitiveWords', 'secret\naaaaaaaab'],
    ['CheckSensitiveEnabled', 'true'],
    ['CheckSensitiveOnPromptEnabled', 'true'],
  ]),
  0,
);
const account = JSON.stringify({ project_id: 'p', client_email: 'e', private_key: 'k' });

/** Providers whose rows and forms differ most, and a model of each. */
const places: readonly (readonly [slug: string, model: string, key?: string, mapping?: Record<string, string>])[] = [
  ['openai', 'gpt-4o'],
  ['openai', 'gpt-4o', 'k', { 'gpt-4o': 'o3' }],
  ['mistral', 'mistral-large-latest'],
  ['perplexity', 'sonar'],
  ['deepseek', 'deepseek-reasoner'],
  ['cerebras', 'zai-glm-4.6'],
  ['volcengine', 'doubao-pro'],
  ['moonshot', 'kimi-k2'],
  ['ali', 'qwen-max'],
  ['anthropic', 'claude-sonnet-4-5'],
  ['aws', 'claude-sonnet-4-5', 'a|b|us-east-1'],
  ['aws', 'amazon.nova-pro-v1:0', 'a|b|us-east-1'],
  ['vertex', 'claude-sonnet-4-5', account],
  ['gemini', 'gemini-2.5-pro'],
  ['cohere', 'command-a-03-2025'],
  ['ollama', 'llama3'],
  ['zhipu', 'glm-4'],
  ['vllm', 'qwen3'],
];

/** A schema in which each level lies within the one above it. @param levels at most so many: bodies may not nest deeper. */
const nested = (n: number, levels: number, one: (inner: Json) => Json): Json => {
  let schema: Json = { type: 'string' };
  for (let level = 0; level < Math.min(n, levels); level++) schema = one(schema);
  return schema;
};
const answering = (schema: Json): Json => ({
  response_format: { type: 'json_schema', json_schema: { name: 's', schema } },
});
const several = ['object', 'object', 'array'];

function typeOf(slug: string): number {
  const provider = providerBySlug(slug);
  if (provider === undefined) throw new Error(`no provider ${slug}`);
  return provider.type;
}

const channelOf = (
  slug: string,
  model: string,
  key: string,
  modelMapping: Record<string, string>,
): ChannelSnapshot => ({
  id: 1,
  name: 'c',
  type: typeOf(slug),
  keys: [key],
  baseUrl: '',
  organization: '',
  other: '',
  models: [model],
  groups: ['default'],
  priority: 0,
  weight: 0,
  status: 1,
  autoBan: true,
  tag: '',
  testModel: '',
  modelMapping,
  statusCodeMapping: {},
  paramOverride: {},
  setting: {},
});

/** @returns null for what has more parts than any request may have: it is refused before anything here reads it. */
function parsedOf(protocol: ProtocolId, operation: Operation, model: string, given: Json): ParsedRequest | null {
  const body = { ...given, model };
  const text = JSON.stringify(body);
  const shape = outline(text);
  if (!shape.ok) return null;
  return {
    requestId: 'r',
    startedMs: 0,
    route: { path: '/v1/x', protocol, operation },
    protocol,
    operation,
    model,
    stream: false,
    json: { bytes: new TextEncoder().encode(text), text, shape },
    form: null,
    body,
    prompt: readPrompt(body, allFeatures),
    request: new Request('http://x/v1/x'),
    clientHeaders: {},
  };
}

const principal = { user: { id: 1 } } as never;

type Stage = (parsed: ParsedRequest, channel: ChannelSnapshot) => unknown;

/** A turn, and the next one with another end. */
function proveOpening(parsed: ParsedRequest): void {
  const opening = openingOf(parsed, []);
  if (opening === null) return;
  const evidence = new PrefixEvidence(() => 0);
  const origin = { userId: 1, channelId: 1, keyHash: '', conversation: '' };
  evidence.answered(origin, opening, { tokens: 1e9, all: 1e9, sentMs: 0, lifeMs: 300_000 });
  evidence.proven(origin, { ...opening, parts: [...opening.parts.slice(0, -1), { text: '', most: 0 }] });
}

/** A turn, and the same once more, which its upstream's cache did not have. */
function watchCache(parsed: ParsedRequest, channel: ChannelSnapshot): void {
  const watch = new CacheWatch();
  const turn = { userId: 1, conversation: 's', parsed, channel, key: 'k', model: 'm', rules: null, sentMs: 0 };
  watch.answered({ ...turn, usage: { ...emptyUsage, cacheRead: 1e6 } });
  watch.answered({ ...turn, usage: { ...emptyUsage, input: 1e6 } });
}

/** What a request goes through, in order. */
const stages: Readonly<Record<string, Stage>> = {
  admitted(parsed, channel) {
    const { body, prompt } = parsed;
    told(() => checkWords(settings, prompt));
    firstFileIn(body);
    conversationKey(parsed, principal);
    keptIds(parsed);
    referencedIds(parsed);
    const key = { model: parsed.model, group: 'default', userGroup: 'default', acceptUnset: true };
    const plan = planOfChannels(key, [[channel]], settings);
    const requested = requestedOf(parsed);
    const prices = plan.pricesFor(requested);
    if (prices === null) throw new Error(`${parsed.model} has no price`);
    estimate(parsed, { prices, route: plan, requested, others: [] }, null);
    const served = { upstreamModel: parsed.model, dropped: [] };
    finalPrices(parsed, prices, served, null, { body: null, left: true, counted: null });
    proveOpening(parsed);
    watchCache(parsed, channel);
  },
  sent(parsed, channel) {
    const key = { key: channel.keys[0] ?? '', index: 0 };
    const prepared = prepare(parsed, channel, key, settings, { unsigned: true, summary: false, without: null });
    if (prepared instanceof Error) throw prepared.cause instanceof RangeError ? prepared.cause : prepared;
  },
  shortened: (parsed) => withLimit(parsed, 2000, modelLimits(parsed.model), { thinking_budget: 1024 }),
};

/** Nothing is remembered of a request that is a new object. */
const fresh = (parsed: ParsedRequest): ParsedRequest => ({ ...parsed, body: { ...parsed.body } });

const inStages = (name: string, channel: ChannelSnapshot, parsedFor: (n: number) => ParsedRequest | null): Case[] =>
  Object.entries(stages).map(([stage, run]) => ({
    name: `${name}, ${stage}`,
    prepare: (n: number) => {
      const parsed = parsedFor(n);
      return () => told(() => parsed !== null && run(fresh(parsed), channel));
    },
  }));

const numbered = (n: number, one: (index: number) => unknown): unknown[] =>
  Array.from({ length: n }, (_, at) => one(at));
const objectOf = (n: number, one: (index: number) => unknown): Json =>
  Object.fromEntries(Array.from({ length: n }, (_, at) => [`x${at}`, one(at)]));

/** What some parser reads as more, where nothing is read twice. @param n members and items; 32 times as many characters. */
const hostileChats: Readonly<Record<string, (n: number) => Json>> = {
  'types of one tool': (n) => ({ tools: [spelled('type', n, 'web_search')] }),
  'containers of one tool': (n) => ({
    tools: [{ ...spelled('type', n, 'code_interpreter'), ...spelled('container', n, { memory_limit: '4g' }) }],
  }),
  'environments of one shell': (n) => ({
    tools: [{ ...spelled('type', n, 'shell'), ...spelled('environment', n, { type: 'local' }) }],
  }),
  'names of one built-in function': (n) => ({
    tools: [{ ...spelled('type', n, 'builtin_function'), ...spelled('function', n, { name: 'x' }) }],
  }),
  'types of one adviser': (n) => ({ tools: [{ ...spelled('type', n, 'advisor'), ...spelled('model', n, 'm') }] }),
  'tools of two hosts in one object': (n) => ({
    tools: [{ type: 'function', ...spelled('type', n, 'function'), ...spelled('googlesearch', n, {}) }],
  }),
  'tools that name nothing': (n) => ({ tools: numbered(n, (at) => ({ [`t${at}`]: {} })) }),
  'functions that are tools of the provider': (n) => ({ tools: numbered(n, (at) => ({ type: `odd_${at}` })) }),
  'ids of one plugin': (n) => ({ plugins: [{ ...spelled('id', n, 'web'), ...spelled('maxresults', n, 7) }] }),
  plugins: (n) => ({ plugins: numbered(n, (at) => ({ id: `p${at}` })) }),
  'settings of one search': (n) => ({
    search_parameters: { ...spelled('mode', n, 'on'), ...spelled('maxsearchresults', n, 9) },
  }),
  searches: (n) => ({ extra_body: spelled('searchparameters', n, { mode: 'on' }) }),
  'advisers in objects': (n) => ({ options: objectOf(n, () => ({ tools: [{ type: 'advisor', model: 'a' }] })) }),
  'advisers in turns': (n) => ({
    messages: numbered(n, () => ({ role: 'user', content: 'x', type: 'x', tools: [{ type: 'advisor', model: 'a' }] })),
  }),
  'tools in turns': (n) => ({
    messages: numbered(n, () => ({ role: 'user', content: 'x', type: 'x', tools: [{ type: 'mcp' }] })),
  }),
  'changes of tools': (n) => ({
    messages: [
      { role: 'user', content: numbered(n, () => ({ tool_changes: [{ tool: { definition: { type: 'advisor' } } }] })) },
    ],
  }),
  'fallback models': (n) => ({ fallbacks: numbered(n, (at) => ({ model: `m${at}`, max_tokens: 3 })) }),
  'lists of fallback models': (n) => ({ extra_body: spelled('fallbacks', n, ['m']) }),
  'terms of service': (n) => ({ extra_body: spelled('servicetier', n, 'priority') }),
  'terms below a long name': (n) => ({ ['x'.repeat(32 * n)]: spelled('servicetier', n, 'priority') }),
  'speeds in objects': (n) => ({ options: objectOf(n, () => ({ speed: 'fast' })) }),
  'hosts below a long name': (n) => ({ ['x'.repeat(32 * n)]: { provider: objectOf(n, () => 'x') } }),
  'hosts with long names': (n) => ({ provider: objectOf(n, () => 'x') }),
  'limits in a wrapper': (n) => ({ extra_body: spelled('maxtokens', n, 3) }),
  wrappers: (n) => spelled('extrabody', Math.min(n, 900), { max_tokens: 3, n: 2 }),
  'limits in objects of a wrapper': (n) => ({
    generationConfig: { maxOutputTokens: 5 },
    extra_body: spelled('generationconfig', n, { maxOutputTokens: 7 }),
  }),
  'wishes to think': (n) => ({
    reasoning: { ...spelled('effort', n, 'none'), ...spelled('maxtokens', n, 0) },
    extra_body: { ...spelled('thinking', n, { type: 'disabled' }), ...spelled('reasoningeffort', n, 'none') },
  }),
  'numbers of answers': (n) => ({ extra_body: { ...spelled('n', n, 2), ...spelled('bestof', n, 3) } }),
  modalities: (n) => ({ modalities: numbered(n, () => 'text') }),
  'turns of one side': (n) => ({
    messages: numbered(n, () => ({ role: 'user', content: [{ type: 'text', text: 'x' }] })),
  }),
  'words of one side': (n) => ({ messages: numbered(n, () => ({ role: 'user', content: 'x' })) }),
  'turns of the assistant': (n) => ({
    messages: [
      { role: 'user', content: 'x' },
      ...numbered(n, () => ({ role: 'assistant', content: ['x'], reasoning: 'r' })),
    ],
  }),
  'results and questions': (n) => ({
    messages: numbered(n, (at) =>
      at % 2 === 0 ? { role: 'tool', tool_call_id: `c${at}`, content: 'x' } : { role: 'user', content: 'x' },
    ),
  }),
  'calls and results': (n) => ({
    messages: numbered(n, (at) =>
      at % 2 === 0
        ? {
            role: 'assistant',
            tool_calls: [{ id: `c${at}`, type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
          }
        : { role: 'tool', tool_call_id: `c${at - 1}`, content: 'x' },
    ),
  }),
  'calls of one turn': (n) => ({
    messages: [
      {
        role: 'assistant',
        tool_calls: numbered(n, (at) => ({ id: `c${at}`, type: 'function', function: { name: 'f', arguments: '{}' } })),
      },
      ...numbered(n, (at) => ({ role: 'tool', tool_call_id: `c${n - at}`, content: 'x' })),
    ],
  }),
  'tools without a name': (n) => ({
    tool_choice: 'auto',
    tools: numbered(n, (at) => ({ type: 'custom', custom: { name: `t${at}`, format: { type: 'grammar' } } })),
  }),
  'tools of one name': (n) => ({
    tools: numbered(n, () => ({ type: 'function', function: { name: 'f', parameters: { type: 'object' } } })),
  }),
  'schemas of several types, one in another': (n) =>
    answering({
      type: 'object',
      properties: objectOf(n / 30, () => nested(30, 30, (inner) => ({ type: several, properties: { a: inner } }))),
    }),
  'unions that name each other': (n) => ({
    tools: numbered(n / 8, () => {
      const parameters = {
        $defs: { a: { anyOf: numbered(8, () => ({ $ref: '#/$defs/a' })) } },
        anyOf: [{ $ref: '#/$defs/a' }],
      };
      return { type: 'function', function: { name: 'f', parameters }, name: 'f', parameters };
    }),
  }),
  'tools that are allowed': (n) => {
    const tools = numbered(n, (at) => ({ type: at === 0 ? 'custom' : 'function', name: `f${at}`, parameters: {} }));
    return { input: 'x', tools, tool_choice: { type: 'allowed_tools', mode: 'auto', tools: tools.toReversed() } };
  },
  'tools of a bundle with a long name': (n) => ({
    input: 'x',
    tools: [
      {
        type: 'namespace',
        name: 'b'.repeat(n * 16),
        tools: numbered(n / 2, (at) => ({ type: 'function', name: `f${at}` })),
      },
    ],
  }),
  'words to stop at': (n) => ({ stop: numbered(n, (at) => `w${at}`) }),
  'files in parts': (n) => ({
    messages: [{ role: 'user', content: numbered(n, (at) => ({ type: 'input_file', x: { file: `f${at}` } })) }],
  }),
  'what may not be seen': (n) => ({ messages: [{ role: 'user', content: '\\u200b\u200bs'.repeat(n) }] }),
  'a word that begins again': (n) => ({ messages: [{ role: 'user', content: 'aaaaaaaa\u200b'.repeat(n) }] }),
  'unknown members': (n) => objectOf(Math.min(n, 900), (at) => ({ at })),
};

const ownDialects: Readonly<Record<string, ProtocolId>> = {
  anthropic: 'anthropic-messages',
  vertex: 'anthropic-messages',
  vllm: 'openai-responses',
};
const dialectOf = (operation: Operation, slug: string): ProtocolId =>
  operation === 'chat' ? (ownDialects[slug] ?? commonProtocol) : commonProtocol;

const withQuestion = (body: Json): Json =>
  'messages' in body || 'input' in body
    ? body
    : { messages: [{ role: 'user', content: 'hi' }], max_tokens: 9, ...body };

const chats: Reader = {
  name: 'chats on their way to a channel',
  files: [
    'providers/knowledge/apply.ts',
    'providers/knowledge/builtin-tools.ts',
    'providers/knowledge/unsupported-fields.ts',
    'providers/adapters/ali.ts',
    'providers/adapters/bedrock.ts',
    'providers/adapters/bedrock-body.ts',
    'providers/adapters/beta-headers.ts',
    'providers/adapters/ollama.ts',
    'providers/adapters/vertex.ts',
    'providers/adapters/volcengine.ts',
    'providers/adapters/zhipu.ts',
    'relay/admission/answer-limit.ts',
    'relay/admission/blocked-words.ts',
    'relay/admission/cache-watch.ts',
    'relay/admission/meter.ts',
    'relay/admission/modifiers.ts',
    'relay/admission/prefix-evidence.ts',
    'relay/admission/prompt-opening.ts',
    'relay/routing/affinity.ts',
    'relay/upstream/foreign-blocks.ts',
    'relay/upstream/prepare.ts',
    'relay/upstream/translate.ts',
    'routing/body.ts',
    'routing/features.ts',
    'routing/multipliers.ts',
    'routing/offers.ts',
    'routing/plan.ts',
  ],
  cases: places.flatMap(([slug, model, key = 'k', mapping = {}]) => {
    const channel = channelOf(slug, model, key, mapping);
    return [...new Set([dialectOf('chat', slug), commonProtocol])].flatMap((protocol) =>
      Object.entries(hostileChats).flatMap(([name, bodyOf]) =>
        inStages(`${name}, ${protocol} to ${slug} ${model}`, channel, (n) =>
          parsedOf(protocol, 'chat', model, withQuestion(bodyOf(Math.ceil(n / 32)))),
        ),
      ),
    );
  }),
};

/** Operations other than chats, whose bodies and answers are priced by what is in them. */
const others: readonly (readonly [operation: Operation, slug: string, model: string, body: Json, answer: Json])[] = [
  [
    'rerank',
    'cohere',
    'rerank-v3.5',
    { query: 'q', documents: ['a', { text: 'b' }], max_tokens_per_doc: 9 },
    { results: [{ index: 0, relevance_score: 1 }], meta: { billed_units: { search_units: 1 } } },
  ],
  [
    'rerank',
    'ali',
    'gte-rerank-v2',
    { query: 'q', documents: ['a', 'b'] },
    { output: { results: [{ index: 0, relevance_score: 1 }] }, usage: { total_tokens: 3 } },
  ],
  [
    'embeddings',
    'openai',
    'text-embedding-3-small',
    { input: ['a', 'b'] },
    { data: [{ embedding: [1] }], usage: { prompt_tokens: 1, total_tokens: 1 } },
  ],
  ['embeddings', 'cohere', 'embed-v4.0', { input: ['a'] }, { embeddings: { float: [[1]] } }],
  ['embeddings', 'ali', 'multimodal-embedding-v1', { input: [{ image: 'x' }, 'a'] }, { output: { embeddings: [] } }],
  ['embeddings', 'gemini', 'gemini-embedding-001', { input: ['a'] }, { embeddings: [{ values: [1] }] }],
  [
    'embeddings',
    'vertex',
    'text-embedding-005',
    { input: ['a'] },
    { predictions: [{ embeddings: { values: [1], statistics: { token_count: 1 } } }] },
  ],
  ['moderations', 'openai', 'omni-moderation-latest', { input: ['a'] }, { results: [{ flagged: false }] }],
  ['completions', 'openai', 'gpt-3.5-turbo-instruct', { prompt: ['a', 'b'], n: 2, best_of: 3 }, { choices: [{}] }],
  [
    'images',
    'openai',
    'gpt-image-1',
    { prompt: 'p', n: 2, size: '1024x1024', quality: 'high', output_format: 'gif', partial_images: 1 },
    { data: [{ b64_json: 'AAAA' }] },
  ],
  ['images', 'openai', 'dall-e-3', { prompt: 'p', extra_body: { size: '1', quality: 'hd' } }, { data: [{ url: 'x' }] }],
  [
    'images',
    'ali',
    'wanx2.1-t2i-turbo',
    { prompt: 'p', size: '1024x1024' },
    { output: { task_status: 'SUCCEEDED', results: [{ url: 'u', actual_prompt: 'p' }] } },
  ],
  [
    'images',
    'ali',
    'qwen-image',
    { prompt: 'p' },
    { output: { choices: [{ message: { content: [{ image: 'u' }] } }] } },
  ],
  [
    'images',
    'gemini',
    'gemini-2.5-flash-image',
    { prompt: 'p' },
    { candidates: [{ content: { parts: [{ inlineData: { data: 'AAAA' } }] } }] },
  ],
  ['images', 'gemini', 'imagen-4.0-generate-001', { prompt: 'p' }, { predictions: [{ bytesBase64Encoded: 'AAAA' }] }],
  ['speech', 'openai', 'gpt-4o-mini-tts', { input: 'x', instructions: 'y', extra_body: { text: ['z'] } }, {}],
];

/** Objects of which some upstream reads every spelling of a name. */
const respelled: Readonly<Record<string, (n: number) => Json>> = {
  'sizes and qualities of pictures': (n) => ({ extra_body: { ...spelled('size', n), ...spelled('quality', n) } }),
  'numbers of pictures': (n) => ({ extra_body: { ...spelled('n', n, 2), ...spelled('framecount', n, 2) } }),
  'lists of documents': (n) => ({ extra_body: { ...spelled('documents', n, ['x']), ...spelled('texts', n, ['x']) } }),
  'bounds of documents': (n) => ({
    extra_body: spelled('maxtokensperdoc', n, 3),
    ...spelled('maxtokensperdoc', 900, 3),
  }),
  'texts to speak': (n) => ({ extra_body: { ...spelled('text', n), ...spelled('instructions', n) } }),
  'lists of lists': (n) => ({ input: numbered(n, () => ['x']), documents: numbered(n, () => ({ text: ['x'] })) }),
};

const works: Reader = {
  name: 'other requests on their way to a channel',
  files: [
    ...['cohere', 'gemini'].map((name) => `providers/adapters/${name}.ts`),
    'providers/forms/',
    'relay/admission/pictures.ts',
    'relay/admission/recordings.ts',
    'relay/upstream/custom-operation.ts',
  ],
  cases: others.flatMap(([operation, slug, model, body]) => {
    const channel = channelOf(slug, model, slug === 'vertex' ? account : 'k', {});
    const parsedFor = (grown: unknown) => parsedOf(commonProtocol, operation, model, grown as Json);
    const name = `${operation} of ${slug} ${model}`;
    return [
      ...Object.entries(respelled).flatMap(([what, bodyOf]) =>
        inStages(`${name}: ${what}`, channel, (n) => parsedFor({ ...body, ...bodyOf(Math.ceil(n / 32)) })),
      ),
      ...Object.entries(stages).flatMap(([stage, run]) =>
        growing(`${name} ${stage}`, body, (grown) => {
          const parsed = parsedFor(grown);
          return parsed !== null && run(parsed, channel);
        }),
      ),
    ];
  }),
};

const drawing = { clearsMode: false, keepAccountFilter: false } as const;

/** Answers as their form translates them and as they are priced. */
const answers: Reader = {
  name: 'answers of other operations',
  files: ['providers/adapters/cohere.ts', 'providers/adapters/gemini.ts', 'relay/admission/meter.ts'],
  cases: others.flatMap(([operation, slug, model, body, answer]) => {
    const channel = channelOf(slug, model, slug === 'vertex' ? account : 'k', {});
    const parsed = parsedOf(commonProtocol, operation, model, { ...body, return_documents: true });
    if (parsed === null) throw new Error(`${operation} is no request`);
    const prepared = prepare(parsed, channel, { key: channel.keys[0] ?? '', index: 0 }, settings);
    if (prepared === null || prepared instanceof Error)
      throw new Error(`${slug} does not serve ${operation}: ${String(prepared)}`);
    const plan = planOfChannels(
      { model, group: 'default', userGroup: 'default', acceptUnset: true },
      [[channel]],
      settings,
    );
    const prices = plan.pricesFor(requestedOf(parsed));
    if (prices === null) throw new Error(`${model} has no price`);
    return growing(`${operation} of ${slug} ${model}`, answer, (grown) => {
      prepared.custom?.form.pending?.(grown, prepared.call.url);
      const translated = prepared.custom?.form.decode?.(grown, prepared.custom.requested) ?? grown;
      prepared.translateResponse?.(translated);
      reportedUsage(parsed, prepared.upstream, translated);
      const served = { upstreamModel: model, dropped: [] };
      finalPrices(parsed, prices, served, null, { body: translated, left: true, counted: null });
    });
  }),
};

const drawings: Reader = texts(
  'prompts of drawings',
  ['relay/endpoints/tasks/work.ts', 'relay/endpoints/tasks/actions.ts'],
  (prompt) => {
    workOf({ action: 'IMAGINE', model: 'mj_imagine', body: { prompt }, mode: '' }, drawing, []);
    orderOf('simple-change', { content: prompt });
    actionOf(prompt);
  },
  ['…--r…', '…--repeat =:…', '…{a,…b}', '{…{a,b}…', '…\\\\{…', 'a… …u1x', 'MJ::…::…'],
);

/** What an upstream refuses of a body, and the body without it. */
const refusals: Reader = {
  name: 'requests that are refused',
  files: ['relay/upstream/refused-request.ts', 'providers/knowledge/refused-members.ts'],
  cases: [
    ...['turns of one side', 'tools of one name', 'unknown members', 'a word that begins again'].map(
      (name): Case => ({
        name,
        prepare(n) {
          const model = 'gpt-4o';
          const marked = { seed: 1, temperature: 1, ...withQuestion(hostileChats[name]?.(Math.ceil(n / 32)) ?? {}) };
          const parsed = parsedOf(commonProtocol, 'chat', model, marked);
          const channel = channelOf('openai', model, 'k', {});
          const made = parsed === null ? null : prepare(parsed, channel, { key: 'k', index: 0 }, settings);
          if (parsed === null || made === null || made instanceof Error) throw new Error(`${name} is no request`);
          return () => {
            const error = { status: 400, type: null, code: null, message: "'seed' is not supported" };
            const failure = { class: 'client', status: 400, error, retryAfter: null, reason: 'status' } as const;
            const learnt = new LearntMembers({
              now: () => 0,
              trialCells: newTrialCells(),
              share: (limit) => limit,
              known: () => undefined,
              report: () => undefined,
            });
            const trial = trialAfter(
              learnt,
              { parsed, plan: { settings }, principal, free: false } as never,
              made,
              failure,
            );
            const without = learnt.without(channel.id, () => null, trial);
            prepare(parsed, channel, { key: 'k', index: 0 }, settings, { unsigned: false, summary: false, without });
          };
        },
      }),
    ),
    ...texts(
      'words of a refusal',
      [],
      (message) => {
        const body = { seed: 1, tools: [{ strict: true, type: 'custom' }] };
        const error = { status: 400, type: null, code: null, message };
        for (const dialect of ['openai-responses', 'anthropic-messages', 'openai-chat'] as const)
          refusedMembers(error, { dialect, body, betas: ['context-1m-2025-08-07'], model: 'gpt' });
      },
      [
        "'seed' ",
        '`',
        '"a',
        'a: ',
        'a.',
        'a[',
        'parameter: ',
        'parameter a b ',
        'gpt',
        "'gpt'",
        'beta `context-1m-2025-08-07` ',
      ],
    ).cases,
  ],
};

export const requestReaders: readonly Reader[] = [chats, works, answers, drawings, refusals];
