/**
 * Requests whose members ask for priced work, in every spelling, type and place that might hide it; and a vendor who reads
 * the bytes that arrive at it and says what it did. The vendor is written after the vendors' own pages and shares no code
 * with the product.
 */
import { createTestGateway } from '../support/gateway.ts';

export type Random = () => number;

/* ---- JSON as it is written: names may stand twice ---- */

type Scalar = string | number | boolean | null;
export type Node =
  | { readonly kind: 'object'; readonly pairs: [name: string, value: Node][] }
  | { readonly kind: 'list'; readonly items: Node[] }
  | { readonly kind: 'value'; readonly value: Scalar };
type ObjectNode = Extract<Node, { kind: 'object' }>;

export function nodeOf(json: unknown): Node {
  if (Array.isArray(json)) return { kind: 'list', items: json.map(nodeOf) };
  if (typeof json === 'object' && json !== null)
    return { kind: 'object', pairs: Object.entries(json).map(([name, value]) => [name, nodeOf(value)]) };
  return { kind: 'value', value: json as Scalar };
}

const escaped = (text: string, random: Random): string =>
  random() < 0.9
    ? JSON.stringify(text)
    : `"${[...Array(text.length).keys()].map((at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`;

export function written(node: Node, random: Random): string {
  if (node.kind === 'value')
    return typeof node.value === 'string' ? escaped(node.value, random) : JSON.stringify(node.value);
  if (node.kind === 'list') return `[${node.items.map((item) => written(item, random)).join(',')}]`;
  return `{${node.pairs.map(([name, value]) => `${escaped(name, random)}:${written(value, random)}`).join(',')}}`;
}

const token = /\s*([[\]{},:]|"(?:[^"\\]|\\.)*"|[^\s[\]{},:"]+)/y;

/** @param text valid JSON. */
export function parsed(text: string): Node {
  let at = 0;
  const next = (): string => {
    token.lastIndex = at;
    const found = token.exec(text)?.[1];
    if (found === undefined) throw new Error(`no JSON at ${at}`);
    at = token.lastIndex;
    return found;
  };
  const value = (first: string): Node => {
    if (first === '{') {
      const pairs: [string, Node][] = [];
      for (let name = next(); name !== '}'; name = next()) {
        if (name === ',') continue;
        next();
        pairs.push([JSON.parse(name) as string, value(next())]);
      }
      return { kind: 'object', pairs };
    }
    if (first !== '[') return { kind: 'value', value: JSON.parse(first) as Scalar };
    const items: Node[] = [];
    for (let item = next(); item !== ']'; item = next()) if (item !== ',') items.push(value(item));
    return { kind: 'list', items };
  };
  return value(next());
}

/* ---- how a vendor reads ---- */

/** A strict vendor knows exact names and types, a lenient one takes what is alike; of names that stand twice some take the first. */
export interface Reader {
  readonly lenient: boolean;
  readonly takes: 'first' | 'last';
  /** Members of `extra_body` are merged into the request. */
  readonly merges: boolean;
}
export const allReaders: readonly Reader[] = [false, true].flatMap((lenient) =>
  (['first', 'last'] as const).flatMap((takes) => [false, true].map((merges) => ({ lenient, takes, merges }))),
);

/** The vendor answers 400: it did nothing. */
export class Refused extends Error {}

const alike = (name: string): string =>
  name.normalize('NFKC').toLowerCase().replaceAll('ſ', 's').replaceAll('\u212a', 'k').replaceAll(/[_-]/g, '');

class View {
  constructor(
    private readonly node: ObjectNode,
    readonly reader: Reader,
  ) {}

  /** @param names that the vendor takes for one. */
  at(...names: readonly string[]): Node | null {
    const { lenient, takes } = this.reader;
    const matches = this.node.pairs.filter(([name]) =>
      names.some((own) => (lenient ? alike(own) === alike(name) : own === name)),
    );
    const found = (takes === 'first' ? matches[0] : matches.at(-1))?.[1] ?? null;
    return found?.kind === 'value' && found.value === null ? null : found;
  }

  object(...names: readonly string[]): View | null {
    const found = this.at(...names);
    if (found === null) return null;
    if (found.kind !== 'object') throw new Refused();
    return new View(found, this.reader);
  }

  objects(...names: readonly string[]): View[] {
    const found = this.at(...names);
    if (found === null) return [];
    const items = found.kind === 'list' ? found.items : this.reader.lenient && found.kind === 'object' ? [found] : null;
    if (items === null) throw new Refused();
    return items.map((item) => {
      if (item.kind !== 'object') throw new Refused();
      return new View(item, this.reader);
    });
  }

  text(...names: readonly string[]): string | null {
    const found = this.at(...names);
    if (found === null) return null;
    if (found.kind !== 'value' || typeof found.value !== 'string') throw new Refused();
    return this.reader.lenient ? found.value.toLowerCase() : found.value;
  }

  number(...names: readonly string[]): number | null {
    const found = this.at(...names);
    if (found === null) return null;
    const value = found.kind === 'value' ? found.value : null;
    const number = this.reader.lenient && typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isFinite(number)) throw new Refused();
    return number;
  }

  flag(...names: readonly string[]): boolean | null {
    const found = this.at(...names);
    if (found === null) return null;
    if (found.kind !== 'value') {
      if (this.reader.lenient) return true;
      throw new Refused();
    }
    if (!this.reader.lenient && typeof found.value !== 'boolean') throw new Refused();
    return Boolean(found.value);
  }

  length(name: string): number {
    const found = this.at(name);
    return found?.kind === 'list' ? found.items.length : found === null ? 0 : 1;
  }
}

/** @throws Error for what is no object. */
export function viewOf(text: string, reader: Reader): View {
  const node = parsed(text);
  if (node.kind !== 'object') throw new Refused();
  if (!reader.merges) return new View(node, reader);
  const wrapper = new View(node, reader).at('extra_body');
  if (wrapper === null || wrapper.kind !== 'object') return new View(node, reader);
  return new View({ kind: 'object', pairs: [...node.pairs, ...wrapper.pairs] }, reader);
}

/* ---- what a vendor does, and what that costs ---- */

export interface Work {
  /** Of searches, containers and the like. */
  readonly dollars: number;
  readonly choices: number;
  /** Tokens that one choice may take. */
  readonly tokens: number;
  /** Of the term that it is served under. */
  readonly factor: number;
  /** What is in an answer in one piece. */
  readonly pictures: number;
  /** Calls that an answer lists. */
  readonly calls: readonly string[];
}
const nothing: Work = { dollars: 0, choices: 1, tokens: 0, factor: 1, pictures: 0, calls: [] };

/** What a model writes where nobody limits it, at least. */
const usualAnswer = 1000;
/** A vendor makes a whole number of it, and reads none in 0 and below. */
const limitOf = (limit: number | null): number =>
  limit === null || Math.trunc(limit) <= 0 ? usualAnswer : Math.ceil(limit);
const atLeast = (count: number | null, least: number): number => Math.max(least, Math.ceil(count ?? least));

const tierFactors: Readonly<Record<string, number>> = { priority: 2, flex: 0.5 };
const factorOf = (view: View, ...names: readonly string[]): number => tierFactors[view.text(...names) ?? ''] ?? 1;

const memories: Readonly<Record<string, number>> = { '1g': 0.03, '4g': 0.12, '16g': 0.48, '64g': 1.92 };
function memoryPrice(place: View | null): number {
  const price = memories[place?.text('memory_limit') ?? '1g'];
  if (price === undefined) throw new Refused();
  return price;
}

/** OpenRouter, xAI, Perplexity and OpenAI's search models, Model Studio, Qianfan, Zhipu, Kimi, each for what it sells. */
function chatSearches(view: View): number {
  let dollars = 0;
  let results = 0;
  for (const plugin of view.objects('plugins'))
    if (plugin.text('id') === 'web' && plugin.flag('enabled') !== false)
      results = Math.max(results, atLeast(plugin.number('max_results') ?? 5, 1));
  dollars += results * 0.004;
  const live = view.object('search_parameters');
  if (live !== null && live.text('mode') !== 'off')
    dollars += atLeast(live.number('max_search_results') ?? 20, 1) * 0.025;
  if (view.object('web_search_options') !== null) dollars += 0.025;
  if (view.flag('enable_search') === true) dollars += 0.01;
  let searches = view.object('web_search')?.flag('enable') === true ? 1 : 0;
  let builtin = 0;
  for (const tool of view.objects('tools')) {
    const type = tool.text('type');
    if (type === 'web_search') searches = 1;
    if (type === 'builtin_function' && tool.object('function')?.text('name') === '$web_search') builtin = 1;
  }
  return dollars + searches * 0.01 + builtin * 0.005;
}

function chat(view: View): Work {
  const own = view.number('max_completion_tokens') ?? view.number('max_tokens');
  // llama.cpp has a name of its own for it.
  const limit = view.reader.lenient ? (view.number('n_predict') ?? own) : own;
  return {
    ...nothing,
    dollars: chatSearches(view),
    choices: atLeast(view.number('n'), 1),
    tokens: limitOf(limit),
    factor: factorOf(view, 'service_tier'),
  };
}

/** Model Studio's models that think beside the answer, where they are asked to. */
function thinkingChat(view: View): Work {
  const work = chat(view);
  const budget = view.number('thinking_budget');
  const thought =
    view.flag('enable_thinking') === true ? (budget === null || budget < 1 ? 81_920 : Math.min(budget, 81_920)) : 0;
  return { ...work, tokens: work.tokens + thought };
}

function completions(view: View): Work {
  const prompt = view.at('prompt');
  const isList =
    prompt?.kind === 'list' && prompt.items.every((item) => item.kind !== 'value' || typeof item.value === 'string');
  const each = Math.max(atLeast(view.number('n'), 1), atLeast(view.number('best_of'), 1));
  return {
    ...nothing,
    choices: each * (isList ? Math.max(1, prompt.items.length) : 1),
    tokens: limitOf(view.number('max_tokens')),
  };
}

function responses(view: View): Work {
  let dollars = 0;
  const calls: string[] = [];
  for (const tool of view.objects('tools')) {
    const type = tool.text('type');
    if (type === 'web_search' && !calls.includes('web_search_call')) {
      dollars += 0.01;
      calls.push('web_search_call');
    }
    if (type === 'code_interpreter' && !calls.includes('code_interpreter_call')) {
      dollars += memoryPrice(tool.object('container'));
      calls.push('code_interpreter_call');
    }
    const place = type === 'shell' ? tool.object('environment') : null;
    if (place?.text('type') === 'container_auto' && !calls.includes('shell_call')) {
      dollars += memoryPrice(place);
      calls.push('shell_call');
    }
  }
  const tokens = limitOf(view.number('max_output_tokens'));
  return { ...nothing, dollars, tokens, factor: factorOf(view, 'service_tier'), calls };
}

function messages(view: View): Work {
  let dollars = 0;
  const calls: string[] = [];
  for (const tool of view.objects('tools')) {
    if (tool.text('type') !== 'web_search_20250305' || calls.length > 0) continue;
    dollars += 0.01;
    calls.push('web_search');
  }
  return { ...nothing, dollars, tokens: limitOf(view.number('max_tokens')), calls };
}

/** Google's parser takes both spellings. */
function generateContent(view: View): Work {
  const config = view.object('generationConfig', 'generation_config');
  const searches = view.objects('tools').some((tool) => tool.at('googleSearch', 'google_search') !== null);
  return {
    ...nothing,
    dollars: searches ? 0.035 : 0,
    choices: atLeast(config?.number('candidateCount', 'candidate_count') ?? null, 1),
    tokens: limitOf(config?.number('maxOutputTokens', 'max_output_tokens') ?? null),
  };
}

const cohereChat = (view: View): Work => ({ ...nothing, tokens: limitOf(view.number('max_tokens')) });
const ollamaChat = (view: View): Work => ({
  ...nothing,
  tokens: limitOf(view.object('options')?.number('num_predict') ?? null),
});

/** Dollars of one picture: OpenAI's two models by their own tables, all others flat. */
const defaultPainter = 'dall-e-2';
const pictures =
  (model: string) =>
  (view: View): Work => {
    // What names no model is sent with the default of its path.
    if (model !== defaultPainter && view.text('model') === defaultPainter) return pictures(defaultPainter)(view);
    const size = view.text('size') ?? '1024x1024';
    const quality = view.text('quality') ?? 'standard';
    const wide = size === '1792x1024' || size === '1024x1792';
    let factor = 1;
    if (model === 'dall-e-2') {
      const factors: Readonly<Record<string, number>> = { '256x256': 0.4, '512x512': 0.45, '1024x1024': 1 };
      const own = factors[size];
      if (own === undefined) throw new Refused();
      factor = own;
    } else if (model === 'dall-e-3') {
      if (!wide && size !== '1024x1024') throw new Refused();
      factor = (wide ? 2 : 1) * (quality === 'hd' ? (wide ? 1.5 : 2) : 1);
    }
    const count = atLeast(view.number('n'), 1);
    return { ...nothing, dollars: 0.04 * factor * count, pictures: count };
  };

/** Characters; some hosts call them `text`. */
const speech = (view: View): Work => {
  const text = (view.reader.lenient ? view.text('text') : null) ?? view.text('input') ?? '';
  return { ...nothing, tokens: [...text].length };
};

/** Cohere sells a search of up to 100 documents. */
const rerank = (view: View): Work => ({
  ...nothing,
  dollars: 0.002 * Math.max(1, Math.ceil(view.length('documents') / 100)),
});

/* ---- answers, without usage unless a dialect has none without ---- */

const words = (count: number): string => Array.from({ length: count }, () => 'hello').join(' ');
/** Words of an answer. */
const said = 20;
const deliveredTokens = ({ tokens }: Work): number => Math.min(tokens, said);
const mostAnswers = 60;
const indexes = (count: number): number[] => [...Array(Math.min(count, mostAnswers)).keys()];

const chatAnswer = (work: Work): object => ({
  id: 'c',
  object: 'chat.completion',
  choices: indexes(work.choices).map((index) => ({
    index,
    message: { role: 'assistant', content: words(deliveredTokens(work)) },
    text: words(deliveredTokens(work)),
    finish_reason: 'stop',
  })),
});
const responsesAnswer = (work: Work): object => ({
  id: 'r',
  object: 'response',
  status: 'completed',
  output: [
    ...work.calls.map((type, at) => ({ type, id: `c${at}`, status: 'completed', container_id: `cntr_${at}` })),
    {
      type: 'message',
      id: 'm',
      role: 'assistant',
      content: [{ type: 'output_text', text: words(deliveredTokens(work)) }],
    },
  ],
});
const messagesAnswer = (work: Work): object => ({
  id: 'm',
  type: 'message',
  role: 'assistant',
  content: [
    ...work.calls.map((name, at) => ({ type: 'server_tool_use', id: `srvtoolu_${at}`, name, input: {} })),
    { type: 'text', text: words(deliveredTokens(work)) },
  ],
  stop_reason: 'end_turn',
});
const generated = (work: Work): object => ({
  candidates: indexes(work.choices).map((index) => ({
    index,
    content: { role: 'model', parts: [{ text: words(deliveredTokens(work)) }] },
    finishReason: 'STOP',
  })),
});
const cohereAnswer = (work: Work): object => ({
  id: 'c',
  finish_reason: 'COMPLETE',
  message: { role: 'assistant', content: [{ type: 'text', text: words(deliveredTokens(work)) }] },
});
const ollamaAnswer = (work: Work): object => ({
  model: 'm',
  created_at: '2026-01-01T00:00:00Z',
  message: { role: 'assistant', content: words(deliveredTokens(work)) },
  done: true,
  done_reason: 'stop',
});
const imagesAnswer = (work: Work): object => ({
  created: 1,
  data: indexes(work.pictures).map(() => ({ b64_json: 'aGk=' })),
});
const rerankAnswer = (): object => ({
  id: 'r',
  results: [{ index: 0, relevance_score: 1 }],
  usage: { total_tokens: 1 },
});

/* ---- operations ---- */

type Wire =
  | 'openai-chat'
  | 'openai-responses'
  | 'anthropic-messages'
  | 'gemini-generate'
  | 'cohere-chat'
  | 'ollama-chat';

interface Operation {
  readonly path: string;
  readonly model: string;
  /** A channel of its own: the type and setting. */
  readonly channel: { readonly type: number; readonly setting: object };
  readonly start: object;
  /** Priced members, each with honest values. */
  readonly priced: Readonly<Record<string, readonly unknown[]>>;
  readonly work: (view: View) => Work;
  readonly answer: (work: Work) => object;
  /** Sent as the fields of a form, with a picture. */
  readonly form?: true;
  /** Its answer lists nothing of what was done besides, nor can: only what is held can be compared. */
  readonly heldOnly?: boolean | undefined;
}

const turn = [{ role: 'user', content: 'hi' }];
const limits = [1, 16, 200, 5000];
const chatPriced = {
  max_tokens: limits,
  max_completion_tokens: limits,
  n: [1, 2, 5],
  n_predict: [5000, 100_000],
  service_tier: ['priority', 'flex', 'default'],
  plugins: [
    [{ id: 'web' }],
    [{ id: 'web', max_results: 10 }],
    [{ id: 'web', enabled: true }],
    [{ id: 'response-healing' }],
  ],
  search_parameters: [
    { mode: 'on' },
    { mode: 'on', max_search_results: 30 },
    { mode: 'off' },
    { max_search_results: 2 },
  ],
  web_search_options: [{}, { search_context_size: 'low' }],
  enable_search: [true, false],
  web_search: [{ enable: true }, { enable: false }],
  tools: [
    [{ type: 'web_search', web_search: { enable: true } }],
    [{ type: 'builtin_function', function: { name: '$web_search' } }],
    [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: { n: {} } } } }],
  ],
  reasoning_effort: ['none', 'high'],
};
const responsesPriced = {
  max_output_tokens: limits,
  service_tier: ['priority', 'flex', 'default'],
  tools: [
    [{ type: 'web_search' }],
    [{ type: 'code_interpreter', container: { type: 'auto', memory_limit: '16g' } }],
    [{ type: 'shell', environment: { type: 'container_auto', memory_limit: '64g' } }],
    [{ type: 'shell', environment: { type: 'local' } }],
    [{ type: 'function', name: 'f', parameters: { type: 'object' } }],
  ],
};
const messagesPriced = {
  max_tokens: limits,
  tools: [
    [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }],
    [{ name: 'f', input_schema: { type: 'object', properties: { type: {} } } }],
  ],
};
const geminiPriced = {
  generationConfig: [{ maxOutputTokens: 16 }, { maxOutputTokens: 5000, candidateCount: 3 }, { candidateCount: 2 }],
  tools: [[{ googleSearch: {} }], [{ google_search: {} }], [{ functionDeclarations: [{ name: 'f' }] }]],
};
const dialect = (of: Wire) => ({ type: 199, setting: { dialect: of, allow_tiers: true } });

interface DialectForm extends Pick<Operation, 'path' | 'start' | 'priced' | 'work' | 'answer' | 'heldOnly'> {}
const dialects: Readonly<Record<Wire, DialectForm>> = {
  'openai-chat': {
    path: '/v1/chat/completions',
    start: { messages: turn },
    priced: chatPriced,
    work: chat,
    answer: chatAnswer,
  },
  'openai-responses': {
    path: '/v1/responses',
    start: { store: false, input: turn },
    priced: responsesPriced,
    work: responses,
    answer: responsesAnswer,
  },
  'anthropic-messages': {
    path: '/v1/messages',
    start: { messages: turn },
    priced: messagesPriced,
    work: messages,
    answer: messagesAnswer,
  },
  'gemini-generate': {
    path: '/v1beta/models/MODEL:generateContent',
    start: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
    priced: geminiPriced,
    work: generateContent,
    answer: generated,
    heldOnly: true,
  },
  'cohere-chat': {
    path: '/v2/chat',
    start: { messages: turn },
    priced: { max_tokens: limits },
    work: cohereChat,
    answer: cohereAnswer,
  },
  'ollama-chat': {
    path: '/api/chat',
    start: { stream: false, messages: turn },
    priced: { options: [{ num_predict: 16 }, { num_predict: 5000 }], think: [true, false] },
    work: ollamaChat,
    answer: ollamaAnswer,
  },
};
const wires = Object.keys(dialects) as Wire[];

/** A dialect to itself, and to the one that every provider knows. */
const chats: Readonly<Record<string, Operation>> = Object.fromEntries(
  wires.flatMap((from) =>
    wires
      .filter((to) => to === from || to === 'openai-chat' || (from === 'openai-chat' && to !== 'ollama-chat'))
      .map((to): [string, Operation] => [
        from === to ? from : `${from} to ${to}`,
        {
          ...dialects[from],
          work: dialects[to].work,
          answer: dialects[to].answer,
          heldOnly: dialects[to].heldOnly,
          channel: dialect(to),
          model: `${from}-to-${to}`,
        },
      ]),
  ),
);
const picture = (model: string): Operation => ({
  path: '/v1/images/generations',
  model,
  channel: { type: 1, setting: {} },
  start: { prompt: 'a door' },
  priced: {
    n: [1, 2, 5],
    size: ['256x256', '512x512', '1024x1024', '1792x1024'],
    quality: ['standard', 'hd', 'low'],
  },
  work: pictures(model),
  answer: imagesAnswer,
});
const plain = { type: 1, setting: {} };

export const operations: Readonly<Record<string, Operation>> = {
  ...chats,
  'thinking beside the answer': {
    ...dialects['openai-chat'],
    model: 'qwen-plus',
    channel: { type: 17, setting: {} },
    priced: {
      max_tokens: limits,
      enable_thinking: [true, false],
      thinking_budget: [100, 20_000],
      reasoning_effort: ['none', 'high'],
    },
    work: thinkingChat,
    heldOnly: true,
  },
  completions: {
    path: '/v1/completions',
    model: 'writer',
    channel: plain,
    start: {},
    priced: {
      prompt: ['hi', ['hi', 'ho', 'ha'], [1, 2, 3], [[1], [2]]],
      max_tokens: limits,
      n: [1, 3],
      best_of: [2, 5],
    },
    work: completions,
    answer: chatAnswer,
  },
  'pictures of dall-e-2': picture('dall-e-2'),
  'pictures of dall-e-3': picture('dall-e-3'),
  'pictures of another model': picture('painter'),
  'edits of dall-e-2': { ...picture('dall-e-2'), path: '/v1/images/edits', form: true },
  'edits of another model': { ...picture('painter'), path: '/v1/images/edits', form: true },
  'variations of dall-e-2': { ...picture('dall-e-2'), path: '/v1/images/variations', form: true },
  speech: {
    path: '/v1/audio/speech',
    model: 'speaker',
    channel: plain,
    start: { voice: 'alloy' },
    priced: { input: ['hi', 'a'.repeat(300)], text: ['b'.repeat(1000)], speed: [1] },
    work: speech,
    answer: () => ({}),
  },
  rerank: {
    path: '/v1/rerank',
    model: 'ranker',
    channel: { type: 38, setting: {} },
    start: { query: 'q' },
    priced: { documents: [['a', 'b'], Array.from({ length: 250 }, () => 'x')], top_n: [1, 5] },
    work: rerank,
    answer: rerankAnswer,
  },
};

/* ---- what hides work ---- */

const cheap: readonly unknown[] = [
  false,
  'off',
  'none',
  0,
  1,
  null,
  '',
  [],
  {},
  'false',
  'response-healing',
  'function',
  'local',
  '1g',
  'flex',
  'default',
  '256x256',
  'low',
  0.5,
  1e-300,
  -1,
  'disabled',
  [1],
  '1',
  'OFF',
  'x',
];
const dear: readonly unknown[] = [
  true,
  50,
  '50',
  'on',
  'web',
  'web_search',
  '64g',
  'container_auto',
  'priority',
  '1792x1024',
  'hd',
  'high',
  2.5,
  'true',
  3000,
];
const priced: readonly string[] = [
  'enabled',
  'enable',
  'mode',
  'id',
  'type',
  'max_results',
  'max_search_results',
  'memory_limit',
  'container',
  'environment',
  'service_tier',
  'n',
  'best_of',
  'size',
  'quality',
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'maxOutputTokens',
  'candidateCount',
  'plugins',
  'search_parameters',
  'enable_search',
  'web_search',
  'tools',
  'name',
  'enable_thinking',
  'thinking_budget',
  'num_predict',
  'input',
  'text',
  'documents',
  'prompt',
];
/** Where the conversation and the client's own things lie: nothing there is a request. */
const quiet: ReadonlySet<string> = new Set([
  'messages',
  'input',
  'contents',
  'parameters',
  'input_schema',
  'metadata',
  'prompt',
]);

export const among = <T>(list: readonly T[], random: Random): T => {
  const found = list[Math.floor(random() * list.length)];
  if (found === undefined) throw new Error('an empty list');
  return found;
};

function respelled(name: string, random: Random): string {
  return among(
    [
      name.toUpperCase(),
      name.charAt(0).toUpperCase() + name.slice(1),
      name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      name.replaceAll('_', '-'),
      name.replaceAll('_', ''),
      `_${name}`,
      `${name}_`,
      name.replace('s', 'ſ'),
      name.replace('k', '\u212a'),
      name.replace(/[a-z]/, (letter) => String.fromCodePoint(letter.charCodeAt(0) + 0xfee0)),
    ],
    random,
  );
}

function objectsIn(node: Node, found: ObjectNode[] = []): readonly ObjectNode[] {
  if (node.kind === 'object') {
    found.push(node);
    for (const [name, value] of node.pairs) if (!quiet.has(name)) objectsIn(value, found);
  } else if (node.kind === 'list') for (const item of node.items) objectsIn(item, found);
  return found;
}

const insert = (object: ObjectNode, pair: [string, Node], random: Random): void => {
  object.pairs.splice(Math.floor(random() * (object.pairs.length + 1)), 0, pair);
};

function wrapperOf(root: ObjectNode, random: Random): ObjectNode {
  const found = root.pairs.find(([name, value]) => name === 'extra_body' && value.kind === 'object')?.[1];
  if (found?.kind === 'object') return found;
  const made: ObjectNode = { kind: 'object', pairs: [] };
  insert(root, [random() < 0.8 ? 'extra_body' : 'Extra_Body', made], random);
  return made;
}

/** What turns work off, or makes it small, at its own place. */
const switches: readonly (readonly [name: string, value: unknown])[] = [
  ['enabled', false],
  ['enable', false],
  ['mode', 'off'],
  ['id', 'response-healing'],
  ['type', 'function'],
  ['type', 'local'],
  ['memory_limit', '1g'],
  ['max_results', 1],
  ['max_search_results', 1],
  ['max_uses', 1],
];

const decorations: readonly ((root: ObjectNode, random: Random) => void)[] = [
  // Another spelling beside it, that says less or more.
  (root, random) => {
    const object = among(objectsIn(root), random);
    if (object.pairs.length === 0) return;
    const [name] = among(object.pairs, random);
    insert(object, [respelled(name, random), nodeOf(among(random() < 0.7 ? cheap : dear, random))], random);
  },
  // Another spelling of what is not there.
  (root, random) => {
    const name = among(priced, random);
    const own = random() < 0.5 ? name : respelled(name, random);
    insert(among(objectsIn(root), random), [own, nodeOf(among(random() < 0.6 ? cheap : dear, random))], random);
  },
  // A switch in another spelling, inside of what it would switch off.
  (root, random) => {
    const inner = objectsIn(root).filter((object) => object !== root);
    if (inner.length === 0) return;
    const [name, value] = among(switches, random);
    insert(among(inner, random), [respelled(name, random), nodeOf(value)], random);
  },
  // The same name once more.
  (root, random) => {
    const object = among(objectsIn(root), random);
    if (object.pairs.length === 0) return;
    const [name] = among(object.pairs, random);
    insert(object, [name, nodeOf(among(random() < 0.6 ? cheap : dear, random))], random);
  },
  // Another name instead.
  (root, random) => {
    const object = among(objectsIn(root), random);
    if (object.pairs.length === 0) return;
    const pair = among(object.pairs, random);
    pair[0] = respelled(pair[0], random);
  },
  // Another type instead.
  (root, random) => {
    const object = among(objectsIn(root), random);
    if (object.pairs.length === 0) return;
    const pair = among(object.pairs, random);
    const value = pair[1];
    pair[1] =
      value.kind === 'list' && value.items[0] !== undefined && random() < 0.6
        ? value.items[0]
        : value.kind === 'value' && random() < 0.6
          ? nodeOf(String(value.value))
          : nodeOf(among(cheap, random));
  },
  // In a wrapper instead of, or beside, its place.
  (root, random) => {
    const at = Math.floor(random() * root.pairs.length);
    const pair = root.pairs[at];
    if (pair === undefined || quiet.has(pair[0]) || pair[0] === 'model' || alike(pair[0]) === 'extrabody') return;
    const [name, value] = pair;
    const pool = random() < 0.5 ? cheap : dear;
    if (random() < 0.5) root.pairs.splice(at, 1);
    const kept = random() < 0.4 ? structuredClone(value) : nodeOf(among(pool, random));
    insert(wrapperOf(root, random), [random() < 0.7 ? name : respelled(name, random), kept], random);
  },
  // Words that are no request.
  (root, random) => {
    const name = among(priced, random);
    insert(root, ['metadata', nodeOf({ [name]: among(cheap, random) })], random);
  },
];

const boundary = 'pricedworkboundary';
/** Readers of forms make lists of `n[]` and `n[0]`. */
const listed = (name: string, random: Random): string => among([name, name, name, `${name}[]`, `${name}[0]`], random);

function fieldsOf(root: ObjectNode, random: Random): string {
  const fields = root.pairs.flatMap(([name, value]) =>
    value.kind === 'value' && value.value !== null
      ? [`content-disposition: form-data; name="${listed(name, random).replaceAll('"', '%22')}"\r\n\r\n${value.value}`]
      : [],
  );
  const picture = 'content-disposition: form-data; name="image"; filename="a.png"\r\ncontent-type: image/png\r\n\r\nxx';
  return `${[...fields, picture].map((part) => `--${boundary}\r\n${part}\r\n`).join('')}--${boundary}--\r\n`;
}

/** What arrived, in the words of the JSON that other operations send: a form knows texts alone. */
function jsonOfForm(text: string): string {
  const pairs = [...text.matchAll(/name="([^"]*)"\r\n\r\n([^\r]*)\r\n/g)].map(
    ([, name = '', value = '']): [string, Node] => [
      name.replaceAll(/\[\d*\]$/g, ''),
      { kind: 'value', value: /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : value },
    ],
  );
  return written({ kind: 'object', pairs }, () => 0);
}

/** A request of an operation, as it is sent. */
export function bodyFor(operation: Operation, random: Random): string {
  const { start, priced: members, model, path } = operation;
  const names = Object.keys(members);
  const chosen: Record<string, unknown> = {};
  for (let count = 1 + Math.floor(random() * 3); count > 0; count--) {
    const name = among(names, random);
    chosen[name] = among(members[name] ?? [], random);
  }
  const named = path.includes('MODEL') ? {} : { model };
  const root = nodeOf(structuredClone({ ...named, ...start, ...chosen }));
  if (root.kind !== 'object') throw new Error('an object');
  for (let count = Math.floor(random() * 4); count > 0; count--) among(decorations, random)(root, random);
  return operation.form === true ? fieldsOf(root, random) : written(root, random);
}

/* ---- the stage ---- */

export interface Played {
  readonly status: number;
  readonly body: string;
  /** What arrived at the upstream; null = it was refused before. */
  readonly arrived: string | null;
  readonly reserved: number;
  readonly charged: number;
  /** What the vendor of this case did; null = it refused. */
  readonly did: Work | null;
}

const perDollar = 500_000;
export const priceOf = ({ dollars, choices, tokens, factor }: Work): number =>
  Math.floor(dollars * perDollar + choices * tokens * factor);
/** Of what is in the answer, which is bounded. */
const deliveredPrice = (work: Work, operation: Operation): number =>
  operation === operations.speech
    ? priceOf(work)
    : priceOf({
        ...work,
        dollars: work.pictures > mostAnswers ? (work.dollars * mostAnswers) / work.pictures : work.dollars,
        choices: Math.min(work.choices, mostAnswers),
        tokens: deliveredTokens(work),
      });

export async function openStage() {
  let operation: Operation | undefined;
  let reader: Reader = { lenient: false, takes: 'last', merges: false };
  let before = 0;
  let seen: { arrived: string; reserved: number; did: Work | null } | null = null;
  const available = (): number => gateway.balances.account(gateway.userId, 0).available();
  const gateway = await createTestGateway({
    engine: 'sqlite',
    quota: 1_000_000_000_000,
    upstreamFetch: (async (_input: unknown, init?: RequestInit) => {
      if (operation === undefined) throw new Error('no operation');
      const reserved = before - available();
      const text = await new Response(init?.body as BodyInit).text();
      const arrived = operation.form === true ? jsonOfForm(text) : text;
      const did = workBy(operation, arrived, reader);
      seen = { arrived, reserved, did };
      return did === null
        ? Response.json({ error: { message: 'no', type: 'invalid_request_error' } }, { status: 400 })
        : Response.json(operation.answer(did));
    }) as typeof fetch,
  });
  const channels = new Map(Object.values(operations).map(({ model, channel }) => [model, channel]));
  for (const [model, channel] of channels)
    await gateway.channel('http://upstream.test', {
      type: channel.type,
      models: model,
      setting: JSON.stringify(channel.setting),
    });
  const models = Object.values(operations).map(({ model }) => model);
  const each = (value: unknown) => JSON.stringify(Object.fromEntries(models.map((model) => [model, value])));
  await gateway.option('ModelRatio', each(1));
  await gateway.option('CompletionRatio', each(1));
  const byPiece = { 'dall-e-2': 0.04, 'dall-e-3': 0.04, painter: 0.04, ranker: 0.002 };
  await gateway.option('ModelPrice', JSON.stringify(byPiece));
  await gateway.option('TierRatio', each({ 'service_tier:priority': 2, 'service_tier:flex': 0.5 }));
  const { key } = await gateway.token();
  return {
    gateway,
    async play(one: Operation, body: string, as: Reader): Promise<Played> {
      operation = one;
      reader = as;
      seen = null;
      before = available();
      const path = one.path.replace('MODEL', one.model);
      const request = new Request(`http://gateway${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer sk-${key}`,
          'content-type': one.form === true ? `multipart/form-data; boundary=${boundary}` : 'application/json',
        },
        body,
      });
      const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
      await response.arrayBuffer();
      // Read where the callback has written it.
      const found = seen as { readonly arrived: string; readonly reserved: number; readonly did: Work | null } | null;
      return {
        status: response.status,
        body,
        arrived: found?.arrived ?? null,
        reserved: found?.reserved ?? 0,
        charged: before - available(),
        did: found?.did ?? null,
      };
    },
    close: () => gateway.close(),
  };
}

/** @returns null where the vendor refuses it. */
export function workBy(operation: Operation, arrived: string, reader: Reader): Work | null {
  try {
    return operation.work(viewOf(arrived, reader));
  } catch (error) {
    if (error instanceof Refused) return null;
    throw error;
  }
}

/** @returns what is wrong, in words; null = nothing. */
export function faultOf(operation: Operation, { status, arrived, reserved, charged, did }: Played): string | null {
  if (arrived === null) return null;
  for (const reader of allReaders) {
    const work = workBy(operation, arrived, reader);
    if (work !== null && reserved < priceOf(work))
      return `reserved ${reserved} of ${priceOf(work)} as ${JSON.stringify(reader)} reads it`;
  }
  if (did === null || status !== 200 || operation.heldOnly === true) return null;
  const due = deliveredPrice(did, operation);
  return charged < due ? `charged ${charged} of ${due}` : null;
}
