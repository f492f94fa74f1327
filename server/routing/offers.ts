/** What channels offer of one model: what follows from their settings for prices and bounds, each kind once however many channels there are. */
import { type ModelLimits, modelLimits } from '../contract/model-limits.ts';
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
import type { LimitMembers } from '../protocols/definition.ts';
import { allCodecs, codecFor, commonProtocol } from '../protocols/registry.ts';
import { record } from '../protocols/shared/json.ts';
import type { ApartThought } from '../protocols/target.ts';
import { providerByType } from '../providers/catalogue.ts';
import { type HostedUse, webPlugin } from '../providers/knowledge/builtin-tools.ts';
import { modelRows } from '../providers/knowledge/models.ts';
import { targetFor } from '../providers/knowledge/target.ts';
import { type CandidateList, mapModel } from './candidates.ts';
import { featuresIn, modelLists, noFeatures, type RequestedFeatures, type RequestedModifier } from './features.ts';

type Members = Readonly<Record<string, unknown>>;

/** More than any model writes; wishes beyond it are the same wish. */
const maxResponseLength = 1_000_000_000;
const maxChoices = 1_000_000;

const positive = (value: unknown): number => {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number > 0 ? Math.ceil(number) : 0;
};

/** Tokens that a member allows, 0 = it does not say. */
export const limitIn = (value: unknown): number =>
  typeof value === 'number' ? Math.min(positive(value), maxResponseLength) : 0;

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
export const wrapper = 'extra_body';
export const wrappedIn = (body: Members): Members | null =>
  body[wrapper] === undefined ? null : record(body[wrapper]);

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
  const wrapped = max === 0 ? null : wrappedIn(body);
  return wrapped === null ? max : largest(wrapped, [...names, ...(others ?? none)], max);
}

/** Objects that may ask for several answers. */
const choosing = allCodecs.flatMap(({ definition: { limit } }) =>
  limit.nested === undefined || limit.nested.choices.length === 0 ? [] : [limit.nested],
);

/** Number of requested choices; each of them is charged. */
export function choicesOf(body: Members): number {
  let max = 1;
  if (body.n !== undefined || body.best_of !== undefined) max = Math.max(1, positive(body.n), positive(body.best_of));
  const wrapped = wrappedIn(body);
  if (wrapped !== null) max = Math.max(max, positive(wrapped.n), positive(wrapped.best_of));
  for (const { objects, choices } of choosing) {
    for (const object of objects) {
      const config = body[object] === undefined ? null : record(body[object]);
      if (config !== null) for (const name of choices) max = Math.max(max, positive(config[name]));
    }
  }
  return Math.min(max, maxChoices);
}

/** Whether a request asks for thinking, in any dialect. */
export function requestsThinking(body: Members): boolean {
  const reasoning = record(body.reasoning);
  const effort = body.reasoning_effort ?? reasoning?.effort;
  if (typeof effort === 'string' && effort !== 'none') return true;
  if (reasoning !== null && (reasoning.enabled === true || limitIn(reasoning.max_tokens) > 0)) return true;
  const thinking = record(body.thinking);
  if (thinking !== null && thinking.type !== 'disabled') return true;
  const config = record(body.generationConfig) ?? record(body.generation_config);
  const budget = record(config?.thinkingConfig) ?? record(config?.thinking_config);
  if (budget !== null && budget.thinkingBudget !== 0 && budget.thinking_budget !== 0) return true;
  const template = record(body.chat_template_kwargs);
  if (template?.enable_thinking === true || template?.thinking === true) return true;
  return body.enable_thinking === true || (body.think !== undefined && body.think !== null && body.think !== false);
}

/** What follows from a channel's settings alone; the same object for channels whose settings are alike. */
interface ChannelCapabilities {
  /** Members of the operator's override, which wins over the client's. */
  readonly requested: RequestedFeatures;
  readonly limit: number;
  readonly choices: number;
  /** '' = it sets none. */
  readonly region: string;
  readonly allowsModifiers: boolean;
  /** A limit that is written into a request reaches its upstream as it is. */
  readonly keepsLimit: boolean;
  readonly stopsOnCancel: boolean;
  readonly refusesFiles: boolean;
  /** It calls some models otherwise. */
  readonly maps: boolean;
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

const known = new WeakMap<ChannelSnapshot, ChannelCapabilities>();
/** Facts of channels without an override, by what decides them. */
const alike = new Map<string, ChannelCapabilities>();
const maxSimilar = 1000;

function capabilitiesOf(channel: ChannelSnapshot): ChannelCapabilities {
  const found = known.get(channel);
  if (found !== undefined) return found;
  const { paramOverride, setting, modelMapping } = channel;
  const overrides = Object.keys(paramOverride).length > 0;
  const region = typeof setting.region === 'string' ? setting.region.toLowerCase() : '';
  const limit = overrides
    ? Math.max(...allCodecs.map(({ definition }) => namedLimit(paramOverride, definition.limit)))
    : 0;
  const made: ChannelCapabilities = {
    requested: overrides ? featuresIn(paramOverride) : noFeatures,
    limit,
    choices: choicesOf(paramOverride),
    region,
    allowsModifiers: setting.allow_tiers === true || setting.pass_through === true,
    keepsLimit: setting.pass_through !== true && limit === 0,
    stopsOnCancel: setting.drain === undefined || setting.drain === false,
    refusesFiles: setting.unknown_ids === 'refuse',
    maps: Object.keys(modelMapping).length > 0,
    apartFrom: apartFrom(channel),
  };
  const capabilities = overrides ? made : shared(made);
  known.set(channel, capabilities);
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
export interface OfferOptions {
  readonly passThrough: boolean;
  readonly priceTables: { readonly termRules: readonly TermRule[] };
}

/** Whether it passes on modifiers that the request sets. */
export const allowsModifiers = (
  channel: ChannelSnapshot,
  { passThrough }: Pick<OfferOptions, 'passThrough'>,
): boolean => passThrough || capabilitiesOf(channel).allowsModifiers;

/** Whether a limit that is written into the request reaches this channel's upstream as it is. */
export const keepsLimit = (channel: ChannelSnapshot): boolean => capabilitiesOf(channel).keepsLimit;

/** One channel, or several that are alike as far as prices go, for one model. */
export interface Offer {
  readonly upstreamModel: string;
  readonly allowsModifiers: boolean;
  readonly capabilities: ChannelCapabilities;
}

/** @param upstreamModel as the channel's mapping has it. */
export function offerOf(channel: ChannelSnapshot, upstreamModel: string, { passThrough }: OfferOptions): Offer {
  const capabilities = capabilitiesOf(channel);
  return { upstreamModel, allowsModifiers: passThrough || capabilities.allowsModifiers, capabilities };
}

/** A model's name may ask for a search. Source: https://openrouter.ai/docs/features/web-search */
const online = ':online';
const onlineUses: readonly HostedUse[] = [webPlugin()];
const none: readonly never[] = [];

/** Work besides the model's that is requested from the upstream. */
function usesOf({ capabilities, upstreamModel }: Offer, requested: RequestedFeatures): readonly HostedUse[] {
  const own = capabilities.requested.uses;
  const named = upstreamModel.endsWith(online) ? onlineUses : none;
  return own.length === 0 && named.length === 0 ? requested.uses : [...requested.uses, ...own, ...named];
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
  const overridden = own.modifiers.some(({ member }) => !(member in modelLists));
  if (requested.modifiers.length === 0 && !overridden && uses.length === 0 && region === '')
    return offer.allowsModifiers ? discounted : nothingSent;
  return {
    ...modifiersSent(model, offer, requested.modifiers, options, codecFor(protocol).definition.namesShares),
    uses,
    listsTools: listsTools(protocol),
    discounts: offer.allowsModifiers || overridden,
  };
}

/** A modifier goes upstream where the channel allows it and it has a price. Those of the operator's own override go in any case. */
function modifiersSent(
  model: string,
  { capabilities, allowsModifiers: allowed, upstreamModel }: Offer,
  requested: readonly RequestedModifier[],
  { priceTables: { termRules } }: OfferOptions,
  namesShares: true | undefined,
): Pick<SentModifiers, 'removed' | 'dropped' | 'sent'> {
  const models = [model, upstreamModel];
  const removed: (readonly string[])[] = [];
  const dropped: string[] = [];
  const sent: Record<string, string> = capabilities.region === '' ? {} : { region: capabilities.region };
  for (const { path, member, value } of requested) {
    const priced = () => termRatio(termRules, models, member, value) !== null;
    if (isPlainTerm(member, value) || (allowed && namesShares === true && modelLists[member] === 'priced')) continue;
    if (allowed && priced()) sent[member] = value;
    else {
      removed.push(path);
      dropped.push(`/${path.join('/')}: ${value} ${allowed ? 'has no price here' : 'is not allowed by the channel'}`);
    }
  }
  for (const { member, value } of capabilities.requested.modifiers) if (!(member in modelLists)) sent[member] = value;
  return { removed, dropped, sent };
}

/** The combined offer of all channels that may serve a model: a reservation must cover whichever of them is tried. */
export class Offers {
  /** Those that differ in what they cost. */
  readonly kinds: readonly Offer[];
  /** The widest of their models'. */
  readonly limits: ModelLimits;
  /** The longest answer and the most choices that an override requests. */
  readonly overriddenLimit: number = 0;
  readonly overriddenChoices: number = 1;
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
        const capabilities = capabilitiesOf(channel);
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
        this.stopOnCancel &&= capabilities.stopsOnCancel;
        this.refuseFiles ||= capabilities.refusesFiles;
        this.keepLimits &&= capabilities.keepsLimit;
        this.overriddenLimit = Math.max(this.overriddenLimit, capabilities.limit);
        this.overriddenChoices = Math.max(this.overriddenChoices, capabilities.choices);
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
      if (modifiers.length === 0 && offer.capabilities.region === '' && offer.capabilities.requested === noFeatures)
        continue;
      const { sent } = modifiersSent(this.model, offer, modifiers, this.options, true);
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
  return member !== undefined && member === other?.member ? { most, unasked, member } : { most, unasked };
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
