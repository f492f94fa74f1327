/** What channels offer of one model: what follows from their settings for prices and bounds, each kind once however many channels there are. */

import type { Operation } from '../contract/channel-rules.ts';
import { type ModelLimits, modelLimits } from '../contract/model-limits.ts';
import { channelFactorIn } from '../contract/pricing/channel-factor.ts';
import { cheapestOnlyIf, dearest, type Reading } from '../contract/pricing/dearest.ts';
import {
  isPlainTerm,
  type PriceModifiers,
  priceModifiers,
  surchargeOf,
  type TermRule,
  termRatio,
} from '../contract/pricing/modifiers.ts';
import type { Surcharge } from '../contract/pricing/price.ts';
import type { ChannelSnapshot } from '../contract/snapshot.ts';
import type { ProtocolId } from '../protocols/canonical.ts';
import type { LimitMembers, ProtocolDefinition } from '../protocols/definition.ts';
import { allCodecs, codecFor, commonProtocol } from '../protocols/registry.ts';
import { guardedLookup, record } from '../protocols/shared/json.ts';
import { anyAsks, looseName, readingsOf, shownName } from '../protocols/shared/member-name.ts';
import type { ApartThought, Target as ModelInfo } from '../protocols/target.ts';
import { providerByType } from '../providers/catalogue.ts';
import { type HostedUse, webPlugin } from '../providers/knowledge/builtin-tools.ts';
import { modelRows } from '../providers/knowledge/models.ts';
import { streamingAt, streamingProviders } from '../providers/knowledge/streams.ts';
import { targetFor } from '../providers/knowledge/target.ts';
import { boundsOf, type RuleOptions, rulesOf, sizeOf } from './body-rules.ts';
import { type CandidateList, mapModel } from './candidates.ts';
import { featuresIn, modelLists, noFeatures, type RequestedFeatures, type RequestedModifier } from './features.ts';
import { ordered } from './multipliers.ts';
import { systemPromptOf } from './system-prompt.ts';

type Members = Readonly<Record<string, unknown>>;

/** More than any model writes; wishes beyond it are the same wish. */
const maxResponseLength = 1_000_000_000;

const positive = (value: unknown): number => {
  const number = typeof value === 'string' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number > 0 ? Math.ceil(number) : 0;
};

/** Tokens that a member allows, 0 = it does not say; so does what an upstream cuts down to 0, for some of them to mean no limit. */
export const limitIn = (value: unknown): number =>
  typeof value === 'number' && value >= 1 ? Math.min(positive(value), maxResponseLength) : 0;

/** @returns the largest of the limits and the one found before, 0 = one of them is unlimited. */
function largest(members: Members, names: readonly string[], before: number): number {
  let max = before;
  for (const name of names) {
    const value = members[name];
    if (value === undefined || value === null) continue;
    const limit = limitIn(value);
    // -1 is unlimited for some hosts, whatever another member is.
    if (limit === 0 && typeof value === 'number') return 0;
    max = Math.max(max, limit);
  }
  return max;
}

/** Some clients and hosts merge it into the request. */
const wrapper = 'extrabody';
/** By the names that they have in the request. */
export function wrappersIn(body: Members): readonly Reading<Members>[] {
  let found: Reading<Members>[] | null = null;
  for (const { value, place } of readingsOf(body, wrapper)) {
    const members = record(value);
    if (members === null) continue;
    found ??= [];
    found.push({ value: members, place });
  }
  return found ?? none;
}

/** Objects that may say what is wanted: the request itself, and what some upstreams merge into it. */
export const withWrapped = (body: Members): readonly Members[] => [body, ...wrappersIn(body).map(({ value }) => value)];

const looseLimits = new WeakMap<LimitMembers, ReadonlySet<string>>();

/** Loose names of all limits of a dialect. */
function looseNames(limit: LimitMembers): ReadonlySet<string> {
  let found = looseLimits.get(limit);
  if (found === undefined) {
    found = new Set([...limit.names, ...(limit.others ?? none)].map(looseName));
    looseLimits.set(limit, found);
  }
  return found;
}

/** What is no number of tokens, or none that is left when it is cut to a whole one, may be read as no limit. */
const tokensIn = (value: unknown): number => {
  const tokens = typeof value === 'string' ? Number(value) : value;
  return typeof tokens === 'number' && tokens >= 1
    ? Math.min(Math.ceil(tokens), maxResponseLength)
    : Number.POSITIVE_INFINITY;
};

/** Limits that only some upstreams heed, by their name, spelling or place, and so may allow more and never less; infinite = none. */
function othersIn(body: Members, limit: LimitMembers, before = ''): readonly Reading[] {
  const limits = looseNames(limit);
  let readings: Reading[] | null = null;
  for (const name in body) {
    const loose = looseName(name);
    const value = body[name];
    const wrapped = loose === wrapper && before === '' ? record(value) : null;
    // Clients write null for what they do not mean; in a wrapper it may take a limit away.
    if (wrapped === null && (!limits.has(loose) || (before === '' && value === null))) continue;
    readings ??= [];
    if (wrapped === null) readings.push({ value: tokensIn(value), place: before + name });
    else readings.push(...othersIn(wrapped, limit, `${name}.`));
  }
  return readings ?? none;
}

/** The longest answer where the request names no limit that every upstream heeds. @param output of the model. */
export const unnamedLimit = (body: Members, limit: LimitMembers, output: number): number =>
  dearest(othersIn(body, limit), output);

type NestedLimit = NonNullable<LimitMembers['nested']>;

/** The same of objects in a wrapper, which may take the place of those in the request. */
function nestedWithin(wrapped: Members, { objects, names }: NestedLimit, before: number): number {
  const loose = objects.map(looseName);
  let max = before;
  for (const key in wrapped) {
    if (!loose.includes(looseName(key))) continue;
    const config = record(wrapped[key]);
    const named = config === null ? 0 : largest(config, names, 0);
    if (named === 0) return 0;
    max = Math.max(max, named);
  }
  return max;
}

/** The longest answer that the members allow, 0 = they do not say. */
export function namedLimit(body: Members, limit: LimitMembers): number {
  const { names, others, nested } = limit;
  let max = largest(body, names, 0);
  if (max > 0 && others !== undefined) max = largest(body, others, max);
  if (nested !== undefined)
    for (const object of nested.objects) {
      const config = record(body[object]);
      if (config !== null) max = largest(config, nested.names, max);
    }
  if (max === 0) return 0;
  if (nested !== undefined)
    for (const { value: wrapped } of wrappersIn(body)) {
      max = nestedWithin(wrapped, nested, max);
      if (max === 0) return 0;
    }
  const readings = othersIn(body, limit);
  return readings.some(({ value }) => value === Number.POSITIVE_INFINITY) ? 0 : dearest(readings, max);
}

const isOn = (value: unknown): boolean => value !== null && value !== false;
const someOn = (object: Members, loose: string): boolean => anyAsks(object, loose, isOn);

/** Effort in words; one that is no word says that some is wanted. */
const asksEffort = (object: Members, exact: string): boolean => {
  const efforts = readingsOf(object, looseName(exact)).filter(({ value }) => value !== undefined && value !== null);
  return efforts.length > 0 && !cheapestOnlyIf(efforts, exact, (value) => value === 'none');
};

/** Where a request may ask for thinking, in any dialect, by loose names: whether what stands there does. */
const thoughtMembers: Readonly<Record<string, (value: unknown) => boolean>> = {
  reasoning(value) {
    const own = record(value);
    if (own === null) return value === true;
    const budgeted = anyAsks(own, 'maxtokens', (tokens) => positive(tokens) > 0);
    return asksEffort(own, 'effort') || someOn(own, 'enabled') || budgeted;
  },
  thinking(value) {
    const own = record(value);
    if (own === null) return value === true;
    return !cheapestOnlyIf(readingsOf(own, 'type'), 'type', (type) => type === 'disabled');
  },
  generationconfig: (value) => anyAsks(record(value) ?? {}, 'thinkingconfig', asksBudget),
  chattemplatekwargs(value) {
    const own = record(value) ?? {};
    return someOn(own, 'enablethinking') || someOn(own, 'thinking');
  },
  enablethinking: isOn,
  think: isOn,
};

/** Google reads both spellings of its names. */
function asksBudget(value: unknown): boolean {
  const own = record(value);
  if (own === null) return false;
  const budgets = readingsOf(own, 'thinkingbudget');
  const isZero = (budget: unknown): boolean => budget === 0;
  const isOff = cheapestOnlyIf(budgets, 'thinkingBudget', isZero) || cheapestOnlyIf(budgets, 'thinking_budget', isZero);
  return !isOff || someOn(own, 'thinkinglevel');
}

/** Whether a request asks for thinking, in any dialect: one reading that does is enough. */
export function requestsThinking(body: Members): boolean {
  if (asksEffort(body, 'reasoning_effort')) return true;
  for (const name in body) {
    const loose = looseName(name);
    if (loose === wrapper) {
      const wrapped = record(body[name]);
      if (wrapped !== null && requestsThinking(wrapped)) return true;
    } else if (guardedLookup(thoughtMembers, loose)?.(body[name]) === true) return true;
  }
  return false;
}

/** Where a chat is sent. */
export interface ChatTarget {
  readonly channel: ChannelSnapshot;
  /** The model as the client calls it. */
  readonly model: string;
  readonly options: RuleOptions;
  readonly upstreamModel: string;
  /** Rules of that model. */
  readonly known: ModelInfo;
  /** A suffix of the model's name requests thinking. */
  readonly settings: boolean;
}

/** Whether the upstream thinks before it answers, as far as the rows and the request say. */
export function expectsThinking(
  body: Members,
  { channel, model, options, upstreamModel, known, settings }: ChatTarget,
): boolean {
  if (known.thinking === 'none') return false;
  if (known.thinkingRequired || known.thinkingByDefault || settings) return true;
  if (requestsThinking(body) || requestsThinking(channel.paramOverride)) return true;
  const rules = rulesOf(channel, options, model);
  if (rules !== null && boundsOf(rules).written.some(requestsThinking)) return true;
  // No row says whether thinking must be requested.
  return known.thinking === null && modelLimits(upstreamModel).thinking;
}

/** What follows from a channel's settings alone; the same object for channels whose settings are alike. */
interface ChannelCapabilities {
  /** Members of the operator's override, which wins over the client's. */
  readonly requested: RequestedFeatures;
  /** What rules may write into some requests: it can only make them dearer. */
  readonly ruled: readonly RequestedFeatures[];
  readonly limit: number;
  /** Rules may take the limit of an answer away. */
  readonly freesLimit: boolean;
  /** How often rules may repeat the prompt, and tokens that they bring. */
  readonly promptFactor: number;
  readonly promptTokens: number;
  readonly choices: number;
  /** '' = it sets none. */
  readonly region: string;
  readonly allowsModifiers: boolean;
  /** A limit that is written into a request reaches its upstream as it is. */
  readonly keepsLimit: boolean;
  readonly stopsOnCancel: boolean;
  /** Slug of its provider, where some models answer in one piece. */
  readonly streamsBy: string | null;
  readonly refusesFiles: boolean;
  /** It calls some models otherwise. */
  readonly maps: boolean;
  /** On all that its requests cost. */
  readonly priceFactor: number;
  /** Slug of its provider, where some models' thoughts stand beside the longest answer. */
  readonly apartFrom: string | null;
}

const apartProviders: ReadonlySet<string> = new Set(
  modelRows.flatMap(({ provider, apartThought }) =>
    provider === undefined || apartThought === undefined ? [] : [provider],
  ),
);

function apartFrom({ type }: ChannelSnapshot): string | null {
  const slug = providerByType(type)?.slug ?? '';
  return apartProviders.has(slug) ? slug : null;
}

/** @returns its provider, where a row says of one of its models how it streams. */
function streamsBy({ type }: ChannelSnapshot): string | null {
  const slug = providerByType(type)?.slug ?? '';
  return streamingProviders.has(slug) ? slug : null;
}

/** The longest thought that no limit of the answer counts. */
export interface OfferedThought extends Omit<ApartThought, 'onRequest'> {
  /** The model thinks unless it is told not to. */
  readonly unasked: boolean;
}

function thoughtAt(provider: string, model: string): OfferedThought | null {
  const { thinking, apartThought, thinkingByDefault, thinkingRequired } = targetFor(provider, model);
  const limits = modelLimits(model);
  if (apartThought === null || thinking === 'none' || (limits.known && !limits.thinking)) return null;
  return { ...apartThought, unasked: thinkingByDefault || thinkingRequired || apartThought.onRequest !== true };
}

/** By channel, of those that have no rules, and by rules and channel. */
const known = new WeakMap<ChannelSnapshot, ChannelCapabilities>();
const knownRuled = new WeakMap<readonly Operation[], WeakMap<ChannelSnapshot, ChannelCapabilities>>();

function knownWith(rules: readonly Operation[] | null): WeakMap<ChannelSnapshot, ChannelCapabilities> {
  if (rules === null) return known;
  const found = knownRuled.get(rules) ?? new WeakMap<ChannelSnapshot, ChannelCapabilities>();
  knownRuled.set(rules, found);
  return found;
}

/** Facts of channels without an override, by what decides them. */
const alike = new Map<string, ChannelCapabilities>();
const maxSimilar = 1000;

function capabilitiesOf(channel: ChannelSnapshot, rules: readonly Operation[] | null): ChannelCapabilities {
  const ofRules = knownWith(rules);
  const found = ofRules.get(channel);
  if (found !== undefined) return found;
  const { paramOverride, setting, modelMapping } = channel;
  const ruled = rules === null ? null : boundsOf(rules);
  const prompt = systemPromptOf(channel);
  const written = ruled === null ? [paramOverride] : [paramOverride, ...ruled.written];
  const overrides = Object.keys(paramOverride).length > 0;
  const region = typeof setting.region === 'string' ? setting.region.toLowerCase() : '';
  const limit =
    overrides || ruled !== null
      ? Math.max(...written.flatMap((own) => allCodecs.map(({ definition }) => namedLimit(own, definition.limit))))
      : 0;
  const made: ChannelCapabilities = {
    requested: overrides ? featuresIn(paramOverride) : noFeatures,
    ruled: ruled === null ? none : ruled.written.map(featuresIn).filter((own) => own !== noFeatures),
    limit,
    freesLimit: ruled?.freesLimit === true,
    promptFactor: ruled?.factor ?? 1,
    promptTokens: (ruled?.length ?? 0) + (prompt === null ? 0 : sizeOf(prompt.text)),
    choices: Math.max(...written.map((own) => ordered('chat', 'answers', own))),
    region,
    allowsModifiers: setting.allow_tiers === true || setting.pass_through === true,
    keepsLimit: setting.pass_through !== true && limit === 0 && ruled === null,
    // What comes in one piece is bought as a whole.
    stopsOnCancel: (setting.drain === undefined || setting.drain === false) && setting.upstream_streams !== 'never',
    streamsBy: setting.upstream_streams === 'always' ? null : streamsBy(channel),
    refusesFiles: setting.unknown_ids === 'refuse',
    maps: Object.keys(modelMapping).length > 0,
    priceFactor: channelFactorIn(setting),
    apartFrom: apartFrom(channel),
  };
  const capabilities = overrides ? made : shared(made);
  ofRules.set(channel, capabilities);
  return capabilities;
}

function shared(capabilities: ChannelCapabilities): ChannelCapabilities {
  const key = JSON.stringify(capabilities);
  const found = alike.get(key);
  if (found !== undefined) return found;
  if (alike.size >= maxSimilar) alike.clear();
  alike.set(key, capabilities);
  return capabilities;
}

/** The operator's choices that decide what a channel offers. */
export interface OfferOptions extends RuleOptions {
  readonly passThrough: boolean;
  readonly priceTables: { readonly termRules: readonly TermRule[] };
}

/** Whether it passes on modifiers that the request sets. */
export const allowsModifiers = (
  channel: ChannelSnapshot,
  { passThrough }: Pick<OfferOptions, 'passThrough'>,
): boolean => passThrough || channel.setting.allow_tiers === true || channel.setting.pass_through === true;

/** Whether a limit that is written into a request for the model reaches this channel's upstream as it is. */
export const keepsLimit = (channel: ChannelSnapshot, options: RuleOptions, model: string): boolean =>
  capabilitiesOf(channel, rulesOf(channel, options, model)).keepsLimit;

/** One channel, or several that are alike as far as prices go, for one model. */
export interface Offer {
  readonly upstreamModel: string;
  readonly allowsModifiers: boolean;
  readonly capabilities: ChannelCapabilities;
}

/** @param model as the client calls it. @param upstreamModel as the channel's mapping has it. */
export function offerOf(channel: ChannelSnapshot, model: string, upstreamModel: string, options: OfferOptions): Offer {
  const capabilities = capabilitiesOf(channel, rulesOf(channel, options, model));
  return { upstreamModel, allowsModifiers: options.passThrough || capabilities.allowsModifiers, capabilities };
}

/** A model's name may ask for a search. Source: https://openrouter.ai/docs/features/web-search */
const online = ':online';
const onlineUses: readonly HostedUse[] = [webPlugin()];
const none: readonly never[] = [];

/** Work besides the model's that is requested from the upstream. */
function usesOf({ capabilities, upstreamModel }: Offer, requested: RequestedFeatures): readonly HostedUse[] {
  const own = capabilities.requested.uses;
  const named = upstreamModel.endsWith(online) ? onlineUses : none;
  const ruled = capabilities.ruled.flatMap(({ uses }) => uses);
  return own.length === 0 && named.length === 0 && ruled.length === 0
    ? requested.uses
    : [...requested.uses, ...own, ...ruled, ...named];
}

/** Modifiers of a request that go upstream. */
export interface SentModifiers {
  /** Where in the client's request something is taken out. */
  readonly removed: readonly (readonly string[])[];
  /** The same for the log row. */
  readonly dropped: readonly string[];
  /** Modifiers that are requested from the upstream, where its response does not report them. */
  readonly sent: PriceModifiers;
  /** Work besides the model's that is requested from the upstream. */
  readonly uses: readonly HostedUse[];
  /** The upstream's dialect lists the tools that ran in its answers. */
  readonly listsTools: boolean;
  /** Terms below the ordinary price are passed on to the client. */
  readonly discounts: boolean;
}

/** No modifiers are requested. */
export const nothingSent: SentModifiers = {
  removed: none,
  dropped: none,
  sent: {},
  uses: none,
  listsTools: true,
  discounts: false,
};
const discounted: SentModifiers = { ...nothingSent, discounts: true };

export const listsTools = (dialect: ProtocolId): boolean => dialect !== commonProtocol;

/** @param request what the client's calls its model, and its dialect. */
export function sentModifiers(
  requested: RequestedFeatures,
  offer: Offer,
  { model, protocol }: { readonly model: string; readonly protocol: ProtocolId },
  options: OfferOptions,
): SentModifiers {
  const uses = usesOf(offer, requested);
  const { requested: own, region } = offer.capabilities;
  const overridden =
    own.modifiers.some(({ member }) => !(member in modelLists)) ||
    offer.capabilities.ruled.some(({ modifiers }) => modifiers.length > 0);
  if (requested.modifiers.length === 0 && !overridden && uses.length === 0 && region === '')
    return offer.allowsModifiers ? discounted : nothingSent;
  return {
    ...modifiersSent(model, offer, requested.modifiers, options, codecFor(protocol).definition),
    uses,
    listsTools: listsTools(protocol),
    discounts: offer.allowsModifiers || overridden,
  };
}

/** What a request's terms would cost: a term that goes upstream, or one that costs nothing of its own. */
interface TermReading extends Reading {
  readonly word: string;
}

/**
 * A modifier goes upstream where the channel allows it and it has a price. Those of the operator's own override go in any
 * case. Of several readings of one term the dearest is priced, and one below the ordinary price only where all are.
 */
function modifiersSent(
  model: string,
  { capabilities, allowsModifiers: allowed, upstreamModel }: Offer,
  requested: readonly RequestedModifier[],
  { priceTables: { termRules } }: OfferOptions,
  { namesShares, camelNames }: Pick<ProtocolDefinition, 'namesShares' | 'camelNames'>,
): Pick<SentModifiers, 'removed' | 'dropped' | 'sent'> {
  const models = [model, upstreamModel];
  const own = capabilities.requested.modifiers.filter(({ member }) => !(member in modelLists));
  const removed: (readonly string[])[] = [];
  const dropped: string[] = [];
  const terms = new Map<string, TermReading[]>();
  for (const { path, member, value } of requested) {
    if (allowed && namesShares === true && modelLists[member] === 'priced') continue;
    const ratio = isPlainTerm(member, value) ? 1 : allowed ? termRatio(termRules, models, member, value) : null;
    if (ratio === null) {
      removed.push(path);
      dropped.push(
        `/${path.map(shownName).join('/')}: ${value} ${allowed ? 'has no price here' : 'is not allowed by the channel'}`,
      );
      continue;
    }
    if (own.some((override) => isSamePath(override.path, path))) continue;
    const place = placeOf(path, camelNames === true);
    const readings = terms.get(member) ?? [];
    readings.push({ value: ratio, place, word: value });
    terms.set(member, readings);
  }
  const sent: Record<string, string> = capabilities.region === '' ? {} : { region: capabilities.region };
  const costs = new Map<string, number>();
  for (const [member, readings] of terms) {
    const cost = dearest(readings, 0);
    const word = readings.find(({ value }) => value === cost)?.word ?? '';
    if (isPlainTerm(member, word) || (cost < 1 && !cheapestOnlyIf(readings, member, (ratio) => ratio < 1))) continue;
    sent[member] = word;
    costs.set(member, cost);
  }
  for (const { member, value } of own) {
    const cost = termRatio(termRules, models, member, value) ?? 1;
    if (cost < (costs.get(member) ?? 0)) continue;
    sent[member] = value;
    costs.set(member, cost);
  }
  // Whether a rule applies depends on the request: it is no reason for a lower price.
  for (const { modifiers } of capabilities.ruled)
    for (const { member, value } of modifiers) {
      const cost = termRatio(termRules, models, member, value) ?? 1;
      if (member in modelLists || cost <= Math.max(1, costs.get(member) ?? 0)) continue;
      sent[member] = value;
      costs.set(member, cost);
    }
  return { removed, dropped, sent };
}

const isSamePath = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((name, at) => name === other[at]);

/** The name of a member of the request itself; what stands deeper is at no exact place. */
function placeOf([name = '', ...deeper]: readonly string[], isCamel: boolean): string {
  if (deeper.length > 0) return '';
  return isCamel ? snakeName(name) : name;
}

/** `serviceTier` -> `service_tier`. */
const snakeName = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A reservation covers what any dialect may pass on. */
const sharing = { namesShares: true } as const;

/** The combined offer of all channels that may serve a model: a reservation must cover whichever of them is tried. */
export class Offers {
  /** The kinds that differ in what they cost. */
  readonly kinds: readonly Offer[];
  /** The widest of their models'. */
  readonly limits: ModelLimits;
  /** The longest answer and the most choices that an override requests. */
  readonly overriddenLimit: number = 0;
  readonly overriddenChoices: number = 1;
  /** A rule of one of them may take the limit of an answer away. */
  readonly freesLimit: boolean = false;
  /** How often a rule may repeat the prompt, and tokens that rules bring. */
  readonly promptFactor: number = 1;
  readonly promptTokens: number = 0;
  /** The factors of the dearest and the cheapest of them. */
  readonly priceFactor: number = 0;
  readonly leastPriceFactor: number = Number.POSITIVE_INFINITY;
  /** Each stops its upstream when the client leaves. */
  readonly stopOnCancel: boolean = true;
  /** A limit that is written into a request reaches each upstream as it is. */
  readonly keepLimits: boolean = true;
  /** One of them refuses requests that name files and the like. */
  readonly refuseFiles: boolean = false;
  /** The longest thought beside the answer. */
  readonly thought: OfferedThought | null = null;
  /** The dearest modifiers of a request that sets none. */
  readonly surcharges: readonly Surcharge[];

  constructor(
    list: CandidateList<ChannelSnapshot>,
    readonly model: string,
    private readonly options: OfferOptions,
  ) {
    let limits = modelLimits(model);
    const kinds = new Map<string, Offer>();
    const numbers = new Map<ChannelCapabilities, number>();
    let last: ChannelCapabilities | null = null;
    for (const tier of list)
      for (const channel of tier) {
        const capabilities = capabilitiesOf(channel, rulesOf(channel, options, model));
        // Most channels are like the one before.
        if (capabilities === last && !capabilities.maps) continue;
        last = capabilities;
        if (!numbers.has(capabilities)) numbers.set(capabilities, numbers.size);
        const upstreamModel = capabilities.maps ? mapModel(channel.modelMapping, model) : model;
        const kind = `${numbers.get(capabilities)} ${upstreamModel}`;
        if (kinds.has(kind)) continue;
        kinds.set(kind, {
          upstreamModel,
          allowsModifiers: options.passThrough || capabilities.allowsModifiers,
          capabilities,
        });
        const { streamsBy } = capabilities;
        this.stopOnCancel &&=
          capabilities.stopsOnCancel &&
          (streamsBy === null || streamingAt(streamsBy, upstreamModel, true, undefined) !== 'never');
        this.refuseFiles ||= capabilities.refusesFiles;
        this.keepLimits &&= capabilities.keepsLimit;
        this.overriddenLimit = Math.max(this.overriddenLimit, capabilities.limit);
        this.overriddenChoices = Math.max(this.overriddenChoices, capabilities.choices);
        this.freesLimit ||= capabilities.freesLimit;
        this.promptFactor = Math.max(this.promptFactor, capabilities.promptFactor);
        this.promptTokens = Math.max(this.promptTokens, capabilities.promptTokens);
        this.priceFactor = Math.max(this.priceFactor, capabilities.priceFactor);
        this.leastPriceFactor = Math.min(this.leastPriceFactor, capabilities.priceFactor);
        const thought = capabilities.apartFrom === null ? null : thoughtAt(capabilities.apartFrom, upstreamModel);
        this.thought = kinds.size === 1 ? thought : longerThought(this.thought, thought);
        if (upstreamModel !== model) limits = widest(limits, modelLimits(upstreamModel));
      }
    this.kinds = [...kinds.values()];
    this.limits = limits;
    this.surcharges = this.dearestModifiers(noFeatures);
  }

  /** The dearest terms that a request can be served under. Discounts count for nothing. */
  surchargesFor({ modifiers }: RequestedFeatures): readonly Surcharge[] {
    return modifiers.length === 0 ? this.surcharges : this.dearestModifiers({ ...noFeatures, modifiers });
  }

  private dearestModifiers({ modifiers }: RequestedFeatures): readonly Surcharge[] {
    const { termRules } = this.options.priceTables;
    let largest: readonly Surcharge[] = none;
    for (const offer of this.kinds) {
      const { region, requested, ruled } = offer.capabilities;
      if (modifiers.length === 0 && region === '' && requested === noFeatures && ruled.length === 0) continue;
      const { sent } = modifiersSent(this.model, offer, modifiers, this.options, sharing);
      const { surcharges } = priceModifiers(termRules, [this.model, offer.upstreamModel], sent, false);
      if (surchargeOf({ surcharges }) > surchargeOf({ surcharges: largest })) largest = surcharges;
    }
    return largest;
  }

  /** Units of each tool that a request may take at most. */
  unitsFor(requested: RequestedFeatures): Record<string, number> | null {
    let units: Record<string, number> | null = null;
    for (const offer of this.kinds)
      for (const { tool, max } of usesOf(offer, requested)) {
        units ??= {};
        units[tool] = Math.max(units[tool] ?? 0, max);
      }
    return units;
  }
}

/** A member that not every channel knows bounds none. */
function longerThought(one: OfferedThought | null, other: OfferedThought | null): OfferedThought | null {
  if (one === null && other === null) return null;
  const most = Math.max(one?.most ?? 0, other?.most ?? 0);
  const unasked = one?.unasked === true || other?.unasked === true;
  const { member } = one ?? {};
  return member === other?.member ? { most, unasked, member } : { most, unasked };
}

function widest(one: ModelLimits, other: ModelLimits): ModelLimits {
  if (one === other) return one;
  return {
    output: Math.max(one.output, other.output),
    context: Math.max(one.context, other.context),
    picture: Math.max(one.picture, other.picture),
    smallPicture: Math.max(one.smallPicture, other.smallPicture),
    thinking: one.thinking || other.thinking,
    countable: one.countable && other.countable,
    known: one.known && other.known,
  };
}
