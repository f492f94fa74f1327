/** Cost of each operation at most before it runs, and its cost when the upstream reports no usage. */
import { type ModelLimits, modelLimits, usualPicture, writtenPicture } from '../../contract/model-limits.ts';
import { cheapestOnlyIf, dearest } from '../../contract/pricing/dearest.ts';
import type { Prices } from '../../contract/pricing/price.ts';
import { type ReserveSize, reserveEstimate } from '../../contract/pricing/reserve.ts';
import { mostSearches, searchesFor, searchesOf } from '../../contract/pricing/searches.ts';
import type { Usage } from '../../protocols/canonical.ts';
import type { Translation, UpstreamHalf } from '../../protocols/codec.ts';
import type { LimitMembers } from '../../protocols/definition.ts';
import { codecFor, commonProtocol } from '../../protocols/registry.ts';
import { budgetOf } from '../../protocols/shared/effort.ts';
import { record } from '../../protocols/shared/json.ts';
import { anyAsks, looseName, readingsOf, valuesOf } from '../../protocols/shared/member-name.ts';
import { oneAnswerOnly } from '../../protocols/shared/model-limits.ts';
import { searchUnitsIn } from '../../protocols/shared/tool-usage.ts';
import { emptyUsage, tokenCount } from '../../protocols/shared/usage.ts';
import type { OtherModel } from '../../providers/knowledge/builtin-tools.ts';
import { Feature, type RequestedFeatures } from '../../routing/features.ts';
import { answersOf, longest, maxTimes, ordered } from '../../routing/multipliers.ts';
import {
  limitIn,
  namedLimit,
  type OfferedThought,
  type Offers,
  requestsThinking,
  unnamedLimit,
  withWrapped,
  wrappersIn,
} from '../../routing/offers.ts';
import type { RoutePlan } from '../../routing/plan.ts';
import type { ParsedRequest } from '../intake/parsed-request.ts';
import {
  countedBound,
  countedTexts,
  documentNames,
  estimatedPromptTokens,
  minCount,
  noMedia,
  type Prompt,
  promptBound,
  sumOf,
} from '../intake/prompt.ts';
import type { Operation } from '../intake/routes.ts';
import { type DeliveredText, textByChoice } from '../shared/delivered-text.ts';
import type { TokenCounter } from './counting/counter.ts';
import {
  type AnsweredPictures,
  deliveredPictures,
  makesPictures,
  orderedPictures,
  sizeOfPictures,
  writtenPictures,
} from './pictures.ts';
import { readsRecording, recordingTokens, sizeOfRecording, speechLength } from './recordings.ts';

/** Cost of a request at most, and the sizes that it follows from. */
export interface Estimate extends ReserveSize {
  readonly prices: Prices;
  /** Quota. */
  readonly reserveAmount: number;
  /** Tokens of the words that it is sent, read once. */
  readonly own: number;
  /** How often these are read once more, after calls of tools; so are media and files. */
  readonly rereads: number;
  /** Those of the prompt's tokens that the provider may look up for the model to read, each as often as it is read. */
  readonly found: number;
  /** Tokens that its model reads at once, at most; Infinity = it is not known. */
  readonly window: number;
  /** Tokens of the prompt as usual text has them. */
  readonly fallback: number;
  /** Where the length of the answer can be limited. */
  readonly answer: AnswerLimit | null;
  /** Other models that may work on the answer. */
  readonly others: readonly OtherCost[];
}

/** Cost of a request at another model. */
export interface OtherCost extends OtherModel {
  readonly prices: Prices;
}

const noOthers: readonly OtherCost[] = [];

/** Quota that a request of this size costs at most, with all models that may work on it. */
function reserveAll(
  prices: Prices,
  size: ReserveSize & Pick<Estimate, 'own' | 'rereads' | 'found'>,
  others: readonly OtherCost[],
): number {
  let sum = reserveEstimate(prices, size);
  for (const { prices: own, calls, writes, most = 0 } of others)
    sum +=
      calls *
      reserveEstimate(own, {
        // One that takes the request over reads as often as the request's own model.
        ...(writes === null ? size : readOnce(size)),
        ...{ cached: 0, toolCalls: {} },
        maxTokens: Math.max(writes ?? size.maxTokens, most),
      });
  return sum;
}

/** All that there is to read, with what was found by then. */
function readOnce<Size extends ReserveSize & Pick<Estimate, 'own' | 'rereads' | 'found'>>(size: Size): Size {
  const { own, rereads, found, media = noMedia, files = 0 } = size;
  const share = 1 / (1 + rereads);
  return { ...size, promptTokens: own + found, media: timesMedia(media, share), files: files * share };
}

/** Tokens that a request of this size reads and writes at most. */
export function mostTokens({ promptTokens, media = {}, files = 0, maxTokens }: ReserveSize): number {
  let sum = promptTokens + files + maxTokens;
  for (const name in media) sum += media[name as keyof typeof media] ?? 0;
  return Math.ceil(sum);
}

/** Upper bound of the output, as far as the request and its candidates determine it. */
export interface AnswerLimit {
  readonly model: ModelLimits;
  /** Tokens of one answer. */
  readonly tokens: number;
  /** The client named the limit. */
  readonly named: boolean;
  readonly choices: number;
  /** Tokens of the thought of one answer that its limit does not count. */
  readonly thought: number;
  /** The member that may allow a shorter one. */
  readonly thoughtMember: string | null;
}

/** An answer as far as its price depends on it. */
export interface Delivered {
  /** The JSON of a whole answer, else null. */
  readonly body: unknown;
  /** Words the client received. */
  readonly text: DeliveredText;
  /** It did not wait for the end. */
  readonly left?: boolean;
}

/** Tokens that a conversation must be able to pay for when it opens. */
const shortAnswer = 16;
const textOut: ReadonlySet<Operation> = new Set<Operation>(['chat', 'completions', 'realtime']);

/**
 * @param counted tokens of the prompt's texts where they were counted; null = they are bounded by their bytes.
 */
export function estimate(
  parsed: ParsedRequest,
  {
    prices,
    route,
    requested,
    others,
  }: {
    readonly prices: Prices;
    readonly route: RoutePlan;
    readonly requested: RequestedFeatures;
    readonly others: readonly OtherCost[];
  },
  counted: number | null,
): Estimate {
  const { operation, body, prompt } = parsed;
  if (operation === 'drawing' || operation === 'music')
    return sized(
      orderPrices(parsed, prices),
      { promptTokens: Math.ceil(parsed.order?.work?.priceFactor ?? 1), maxTokens: 0 },
      1,
    );
  if (makesPictures(operation)) return pictureEstimate(parsed, prices, route, counted);
  if (readsRecording(operation)) return sized(prices, sizeOfRecording(parsed));
  if (operation === 'speech') return sized(prices, { promptTokens: speechLength(parsed), maxTokens: 0 });
  const { promptFactor, promptTokens } = route.offers;
  const words = maxWords(parsed, counted) * promptFactor + promptTokens;
  const fallback = estimatedPromptTokens(prompt);
  // Every answer of a conversation is held for before it begins.
  if (operation === 'realtime') return sized(prices, { promptTokens: 1, maxTokens: shortAnswer }, fallback);
  if (!textOut.has(operation)) {
    // Each document is read together with the question.
    const reads = operation === 'rerank' ? ordered(operation, 'documents', body, 0) : 0;
    const question = reads === 0 ? 0 : 3 * longestQuestion(body, (text) => text.length);
    const files = filesWithin(prompt, 0, modelLimits(parsed.model).context);
    const size = { promptTokens: words + reads * question, media: prompt.bound.media, files, maxTokens: 0 };
    return sized(prices.modelPrice === null ? prices : times(prices, callsAtMost(parsed, counted)), size, fallback);
  }
  const answer = answerLimit(parsed, route.offers);
  const perAnswer = prices.modelPrice === null ? prices : times(prices, answer.choices);
  const context = contextOf(parsed, answer.model, { words, reads: requested.reads });
  const own = Math.min(words, context);
  // Results of the provider's searches are read besides.
  const { calls: rereads } = requested;
  const found = foundIn({ own, window: context }, requested);
  const size = {
    ...{ own, rereads, found, window: context },
    promptTokens: own * (1 + rereads) + found,
    media: timesMedia(mediaWithin(prompt, context, answer.model), 1 + rereads),
    files: filesWithin(prompt, own, context) * (1 + rereads),
    caches: prompt.caches,
    maxTokens: (answer.tokens + answer.thought) * answer.choices,
    hasAudio: (prompt.features & Feature.sound) !== 0 && hasAudio(body),
    toolCalls: route.toolCallsFor(requested),
  };
  const reserveAmount = reserveAll(perAnswer, size, others);
  return { ...size, prices: perAnswer, reserveAmount, fallback, answer, others };
}

type Lookups = Pick<RequestedFeatures, 'reads' | 'calls' | 'each' | 'again'>;

/**
 * Tokens that are read besides the own ones: after each call all that was found by then, within what the model reads at once.
 * Any of the calls may be the dearest. What has no bound, such as a page, takes the window once, and lowers nothing.
 */
function foundIn({ own, window }: Pick<Estimate, 'own' | 'window'>, { reads, calls, each, again }: Lookups): number {
  const isKnown = Number.isFinite(window);
  const most = Math.min(reads, isKnown ? window : defaultContext);
  const room = isKnown ? window - own : defaultContext;
  const growing = each === 0 ? 0 : Math.min(calls, Math.floor(room / each));
  const bounded = each === 0 ? 0 : (each * growing * (growing + 1)) / 2 + (calls - growing) * room;
  // A summary is written from all of it.
  const summary = again ? own + Math.min(reads, room) : 0;
  return (calls > 0 && Number.isFinite(reads) ? bounded : Math.max(bounded, most)) + summary;
}

const timesMedia = (media: Media, times: number): Media =>
  media === noMedia || times === 1
    ? media
    : Object.fromEntries(Object.entries(media).map(([name, tokens]) => [name, tokens * times]));

/** The same request where its tools are called another number of times. */
export function withLookups(
  size: Estimate,
  requested: Lookups,
  toolCalls: NonNullable<ReserveSize['toolCalls']>,
): Estimate {
  const { own, rereads, media = noMedia, files = 0, cached = 0 } = size;
  const { calls } = requested;
  const found = foundIn(size, requested);
  const times = (tokens: number): number => (tokens / (1 + rereads)) * (1 + calls);
  const looked: Estimate = {
    ...size,
    ...{ rereads: calls, found, toolCalls },
    ...{ promptTokens: own * (1 + calls) + found, cached: times(cached), files: times(files) },
    media: rereads === calls ? media : timesMedia(timesMedia(media, 1 / (1 + rereads)), 1 + calls),
  };
  return { ...looked, reserveAmount: reserveFor(looked, looked.maxTokens) };
}

/** Where a call has a price, whatever is done several times costs it as often. */
const times = (prices: Prices, priceFactor: number): Prices =>
  priceFactor === prices.priceFactor ? prices : { ...prices, priceFactor };

/** Calls that a request without an answer in words is, at most. @param counted tokens of its texts, or null. */
function callsAtMost({ operation, body }: ParsedRequest, counted: number | null): number {
  if (operation !== 'rerank') return ordered(operation, 'texts', body);
  const most = searchesOf(rankingOf(body, bytesOf));
  if (counted === null) return most;
  const documents = ordered('rerank', 'documents', body);
  return Math.min(most, mostSearches(documents, counted + documents * longestQuestion(body, bytesOf)));
}

/** @param tokensOf a text. */
const rankingOf = (body: ParsedRequest['body'], tokensOf: (text: string) => number) => ({
  question: longestQuestion(body, tokensOf),
  documents: longest('rerank', 'documents', body).map((document) => tokensOf(textOf(document))),
  perDocument: mostOf(body, 'maxtokensperdoc', limitIn),
});

/** The largest of all readings of a member, in the request and in what some upstreams merge into it. */
function mostOf(body: ParsedRequest['body'], loose: string, sizeOf: (value: unknown) => number): number {
  let most = 0;
  for (const object of withWrapped(body))
    for (const value of valuesOf(object, loose)) most = Math.max(most, sizeOf(value));
  return most;
}

const longestQuestion = (body: ParsedRequest['body'], tokensOf: (text: string) => number): number =>
  mostOf(body, 'query', (value) => tokensOf(textOf(value)));

const bytesOf = (text: string): number => Buffer.byteLength(text);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

/** Orders are priced with the work that they take. */
const orderPrices = ({ order }: ParsedRequest, prices: Prices): Prices =>
  order?.work === undefined ? prices : { ...prices, ...order.work };

/** Thinking needs room, or nothing is left for the answer. */
export const minThinking = 1024;
/** Tokens that a translation allows for thinking where the request sets no budget. */
const usualShare = 0.8;

/** Completions know one limit of their own; what a chat calls its limit means nothing to them, or more. */
const completionsLimit: LimitMembers = {
  ...codecFor(commonProtocol).definition.limit,
  names: ['max_tokens'],
  others: [
    ...codecFor(commonProtocol).definition.limit.names.filter((name) => name !== 'max_tokens'),
    ...(codecFor(commonProtocol).definition.limit.others ?? []),
  ],
};

/** Where a request says how long its answer may get. */
export const limitOf = ({ operation, protocol }: Pick<ParsedRequest, 'operation' | 'protocol'>): LimitMembers =>
  operation === 'completions' ? completionsLimit : codecFor(protocol).definition.limit;

export function answerLimit(
  {
    body,
    protocol,
    operation,
    model: requested,
    prompt,
  }: Pick<ParsedRequest, 'body' | 'operation' | 'protocol' | 'model' | 'prompt'>,
  {
    limits: model,
    overriddenLimit,
    overriddenChoices,
    freesLimit,
    thought: offered,
  }: Pick<Offers, 'limits' | 'overriddenLimit' | 'overriddenChoices' | 'freesLimit' | 'thought'>,
): AnswerLimit {
  const { translation } = codecFor(protocol);
  const limit = limitOf({ operation, protocol });
  // An operator's override wins over what the client says.
  const named = Math.max(namedLimit(body, limit), overriddenLimit);
  const several = operation === 'completions' || (prompt.features & Feature.answers) !== 0;
  const choices = Math.max(several ? answersOf(operation, body) : 1, overriddenChoices);
  const own = named > 0 ? named : unnamedLimit(body, limit, model.output);
  const limited = freesLimit ? Math.max(own, model.output) : own;
  const mayThink = limit.nested === undefined && (prompt.features & Feature.thought) !== 0;
  const thought = mayThink ? thoughtOf(body, limit, model.countable, translation) : 0;
  // A share of the answer, by the operator's choice or the usual one, and the room beside it.
  const share = requested.endsWith('-thinking') ? named : thought < 0 ? Math.floor(named * usualShare) : 0;
  const shared = share > 0 ? Math.max(share, minThinking) + minThinking : 0;
  const apart = offered === null ? noThought : apartThought(body, protocol, offered);
  return { model, tokens: Math.max(limited, thought, shared), named: named > 0, choices, ...apart };
}

const noThought: Pick<AnswerLimit, 'thought' | 'thoughtMember'> = { thought: 0, thoughtMember: null };

/** Where only chat completions say so, what an upstream may not read allows more, and never less. */
function apartThought(
  body: ParsedRequest['body'],
  protocol: ParsedRequest['protocol'],
  { most, member, unasked }: OfferedThought,
): Pick<AnswerLimit, 'thought' | 'thoughtMember'> {
  const isOff = (): boolean =>
    protocol === commonProtocol &&
    cheapestOnlyIf(readingsOf(body, 'enablethinking'), 'enable_thinking', (value) => value === false);
  if (!requestsThinking(body) && (!unasked || isOff())) return noThought;
  if (member === undefined || protocol !== commonProtocol) return { thought: most, thoughtMember: null };
  const named = limitIn(body[member]);
  const wrapped = wrappersIn(body).flatMap(({ value }) => readingsOf(value, looseName(member)));
  const within = wrapped.map(({ value, place }) => ({ value: limitIn(value), place }));
  const isUnlimited = named === 0 || within.some(({ value }) => value === 0);
  const thought = isUnlimited ? most : Math.min(most, dearest(within, named));
  // Its hosts take no word besides, and one in the wrapper might win.
  const isAlone = body.reasoning_effort === undefined && wrapped.length === 0;
  return { thought, thoughtMember: isAlone ? member : null };
}

/**
 * A translation gives a thought its room above a limit that is too tight for it.
 * @returns tokens of both, below 0 = the provider decides, 0 = none is asked for.
 */
function thoughtOf(
  body: ParsedRequest['body'],
  { thoughts }: LimitMembers,
  itsOwnWords: boolean,
  { reasoning: read }: Translation,
): number {
  let requested = 0;
  for (const [object, member] of thoughts) requested = Math.max(requested, limitIn(record(body[object])?.[member]));
  const reasoning = read?.(body) ?? null;
  const budget = itsOwnWords && reasoning?.budget === null ? 0 : (budgetOf(reasoning) ?? 0);
  const thought = Math.max(requested, budget, 0);
  return thought > 0 ? Math.max(thought, minThinking) + minThinking : budget;
}

const sized = (prices: Prices, size: ReserveSize, fallback = size.promptTokens): Estimate => ({
  ...size,
  prices,
  reserveAmount: reserveEstimate(prices, size),
  own: size.promptTokens,
  rereads: 0,
  found: 0,
  window: Number.POSITIVE_INFINITY,
  fallback,
  answer: null,
  others: noOthers,
});

/** The same request with another length of all its answers. */
export const reserveFor = ({ prices, others, ...size }: Estimate, maxTokens: number): number =>
  reserveAll(prices, { ...size, maxTokens }, others);

type Media = NonNullable<ReserveSize['media']>;

/** The most that the model can read; computed only where the request, or what the provider looks up for it, may reach it. */
function contextOf(
  { protocol, prompt, request, body }: ParsedRequest,
  { context }: ModelLimits,
  { words, reads }: { readonly words: number; readonly reads: number },
): number {
  const { bound } = prompt;
  if (words + reads <= context && bound.media === noMedia && !bound.files) return context;
  const { wantedContext } = codecFor(protocol).definition;
  return wantedContext === undefined ? context : Math.max(context, wantedContext(request.headers, body));
}

/** No kind of media takes more than all that the model reads. */
function mediaWithin({ bound }: Prompt, context: number, { picture, smallPicture }: ModelLimits): Media {
  if (bound.media === noMedia) return noMedia;
  const within: Record<string, number> = {};
  for (const [name, tokens] of Object.entries(bound.media)) {
    const all =
      name === 'imageInput' ? ((tokens - bound.small) * picture + bound.small * smallPicture) / usualPicture : tokens;
    within[name] = Math.min(Math.ceil(all), context);
  }
  return within;
}

/** Context of models that stand in no table, as most have it. */
const defaultContext = 200_000;

/** A file whose length is not known takes all that the model reads besides the words. */
const filesWithin = ({ bound }: Prompt, words: number, context: number): number =>
  bound.files ? Math.max(0, (Number.isFinite(context) ? context : words + defaultContext) - words) : 0;

/** Words of the prompt, in tokens. */
function maxWords({ json, body, prompt }: ParsedRequest, counted: number | null): number {
  if (counted !== null) return countedBound(prompt, body, counted);
  if (json !== null) return promptBound(prompt, body, json.bytes.length);
  return promptBound(prompt, body, Buffer.byteLength(countedTexts(prompt).join('\n')));
}

const hasAudio = (body: ParsedRequest['body']): boolean =>
  asksSound(body) || wrappersIn(body).some(({ value }) => asksSound(value));

const asksSound = (object: ParsedRequest['body']): boolean =>
  anyAsks(object, 'modalities', speaks) || anyAsks(object, 'generationconfig', configSpeaks);

const configSpeaks = (config: unknown): boolean => anyAsks(record(config) ?? {}, 'responsemodalities', speaks);

const speaks = (modes: unknown): boolean =>
  (Array.isArray(modes) ? modes : [modes]).some((mode) => typeof mode === 'string' && mode.toLowerCase() === 'audio');

function pictureEstimate(parsed: ParsedRequest, prices: Prices, route: RoutePlan, counted: number | null): Estimate {
  const models = route.offers.kinds.map(({ upstreamModel }) => upstreamModel);
  const byPicture = sized(orderedPictures(parsed, prices, models), { promptTokens: 1, maxTokens: 0 });
  if (prices.modelPrice !== null) return byPicture;
  const byToken = sized(prices, sizeOfPictures(parsed, maxWords(parsed, counted), models));
  return byToken.reserveAmount > byPicture.reserveAmount ? byToken : byPicture;
}

/** Usage in a whole answer. @returns null when it reports none or nonsense. */
export function reportedUsage(parsed: ParsedRequest, upstream: UpstreamHalf, body: unknown): Usage | null {
  const reported = upstream.readUsage(body);
  if (reported !== null || parsed.operation !== 'rerank') return reported;
  const total = tokenCount(record(record(body)?.usage)?.total_tokens);
  return total === null || total === 0 ? null : { ...emptyUsage, input: total };
}

/**
 * The prices the answer is charged by: pictures without a reported usage are paid by the piece, calls as often as they were
 * done.
 * @param served what made it, and what of the request it never got. @param body the JSON of a whole answer, else null.
 */
export function finalPrices(
  parsed: ParsedRequest,
  prices: Prices,
  served: { readonly upstreamModel: string; readonly dropped: readonly string[] },
  usage: Usage | null,
  { body, left, counted }: AnsweredPictures,
): Prices {
  if (makesPictures(parsed.operation))
    return usage === null || prices.modelPrice !== null
      ? deliveredPictures(parsed, prices, served.upstreamModel, { body, left, counted })
      : prices;
  if (parsed.order !== undefined) return orderPrices(parsed, prices);
  return prices.modelPrice === null ? prices : times(prices, callsDone(parsed, served.dropped, body));
}

/** As often as the answer says that a call was done, else as often as it was requested. */
function callsDone({ operation, body, prompt }: ParsedRequest, dropped: readonly string[], answer: unknown): number {
  const whole = record(answer);
  if (operation === 'rerank') {
    const documents = ordered(operation, 'documents', body);
    const reported = searchUnitsIn(whole);
    // Each document counts once at least, whatever is reported.
    if (reported !== null) return Math.max(reported, searchesFor(documents));
    return searchesOf(rankingOf(body, (text) => minCount([text])));
  }
  if (operation === 'embeddings' || operation === 'moderations')
    return listed(whole, textLists) ?? ordered(operation, 'texts', body);
  if (!textOut.has(operation)) return 1;
  if (whole !== null) {
    const delivered = listed(whole, answerLists) ?? 1;
    // The best of several: the others were written as well.
    return operation === 'completions'
      ? Math.min(Math.ceil(delivered * attemptsPerChoice(body)), answersOf(operation, body))
      : delivered;
  }
  if (dropped.includes(oneAnswerOnly)) return answersOf(operation, withoutAnswers(body));
  return operation === 'completions' || (prompt.features & Feature.answers) !== 0 ? answersOf(operation, body) : 1;
}

/** The body without the members that a dialect reads: another spelling of theirs may have gone upstream. */
function withoutAnswers({ n: _, generationConfig, ...rest }: ParsedRequest['body']): ParsedRequest['body'] {
  const config = record(generationConfig);
  if (config === null) return rest;
  const { candidateCount: _count, ...others } = config;
  return { ...rest, generationConfig: others };
}

/** Lists with an item for each text, or for each answer, in any dialect. */
const textLists = ['data', 'embeddings', 'results'] as const;
const answerLists = ['choices', 'candidates'] as const;

function listed(answer: Readonly<Record<string, unknown>> | null, names: readonly string[]): number | null {
  for (const name of names) {
    const list = answer?.[name];
    if (Array.isArray(list) && list.length > 0) return Math.min(list.length, maxTimes);
  }
  return null;
}

/** @returns what the client asked for and received, counted here. */
export async function countLocally(counter: TokenCounter, parsed: ParsedRequest, delivered: Delivered): Promise<Usage> {
  const { operation, prompt } = parsed;
  if (makesPictures(operation)) return writtenPictures(parsed, { body: delivered.body, left: delivered.left === true });
  if (operation === 'speech') return { ...emptyUsage, input: speechLength(parsed) };
  if (readsRecording(operation))
    return { ...emptyUsage, input: recordingTokens(parsed, { body: delivered.body, texts: delivered.text.texts }) };
  const { units } = delivered.text;
  const written = textOut.has(operation) ? textByChoice(delivered.text) : [];
  const read = countedTexts(prompt);
  const counts = await counter.count(parsed.model, [...written, ...read]);
  const inWords = sumOf(counts.slice(written.length));
  const promptTokens = modelLimits(parsed.model).countable ? inWords : Math.max(inWords, minCount(read));
  const outputTokens = sumOf(counts.slice(0, written.length));
  let kept = 0;
  for (const text of written) kept += text.length;
  // 3 tokens of framing per message and 3 for the reply; as in new-api.
  const framing = operation === 'chat' ? 6 + documentNames(parsed.body) : 0;
  // Words that were not kept are counted like those that were.
  const all = kept < units && kept > 0 ? Math.ceil((outputTokens * units) / kept) : outputTokens;
  const { pictures, fileTokens } = delivered.text;
  const media = pictures === 0 ? fileTokens : pictures * writtenPicture(parsed.model) + fileTokens;
  const output = media + (operation === 'completions' ? Math.ceil(all * attemptsPerChoice(parsed.body)) : all);
  return { ...emptyUsage, input: Math.ceil(promptTokens + prompt.tokens + prompt.media + framing), output };
}

/** `best_of` answers are written and paid for, of which `n` are delivered: the fewest that some upstream may read. */
const attemptsPerChoice = (body: ParsedRequest['body']): number => {
  let written = 1;
  let fewest = wholeNumber(body.n) ?? 1;
  for (const object of withWrapped(body)) {
    for (const value of valuesOf(object, 'bestof')) written = Math.max(written, wholeNumber(value) ?? 1);
    if (object === body) continue;
    for (const value of valuesOf(object, 'n')) fewest = Math.min(fewest, wholeNumber(value) ?? 1);
  }
  return Math.max(1, written / fewest);
};

const wholeNumber = (value: unknown): number | null => {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number > 0 ? Math.ceil(number) : null;
};
