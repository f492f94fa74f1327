/** What channels offer of one model: what follows from their settings for prices and bounds, each kind once however many channels there are. */
import { type ModelLimits, modelLimits } from '../contract/model-limits.ts';
import type { Surcharge } from '../contract/pricing/prices.ts';
import {
  isPlainTerm,
  priceTerms,
  surchargeOf,
  type TermRule,
  type Terms,
  termRatio,
} from '../contract/pricing/terms.ts';
import type { ChannelSnapshot } from '../contract/snapshot.ts';
import type { ProtocolId } from '../protocols/canonical.ts';
import { allCodecs, commonProtocol } from '../protocols/registry.ts';
import { record } from '../protocols/shared/json.ts';
import type { LimitMembers } from '../protocols/traits.ts';
import { type HostedUse, webPlugin } from '../providers/knowledge/hosted-tools.ts';
import { type CandidateList, mapModel } from './candidates.ts';
import { type Asked, type AskedTerm, askedIn, modelLists, nothingAsked } from './features.ts';

type Members = Readonly<Record<string, unknown>>;

/** More than any model writes; wishes beyond it are the same wish. */
const longestAnswer = 1_000_000_000;
const mostChoices = 1_000_000;

const positive = (value: unknown): number => {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number > 0 ? Math.ceil(number) : 0;
};

/** Tokens that a member allows, 0 = it does not say. */
export const limitIn = (value: unknown): number =>
  typeof value === 'number' ? Math.min(positive(value), longestAnswer) : 0;

/** The longest answer that the members allow, 0 = they do not say. */
export function namedLimit(body: Members, { names, nested }: LimitMembers): number {
  let most = 0;
  for (const name of names) {
    const value = body[name];
    if (value !== undefined) most = Math.max(most, limitIn(value));
  }
  if (nested === undefined) return most;
  for (const object of nested.objects) {
    const config = record(body[object]);
    if (config !== null) for (const name of nested.names) most = Math.max(most, limitIn(config[name]));
  }
  return most;
}

/** Objects that may ask for several answers. */
const choosing = allCodecs.flatMap(({ traits: { limit } }) =>
  limit.nested === undefined || limit.nested.choices.length === 0 ? [] : [limit.nested],
);

/** Answers asked for at once; each of them is paid. */
export function choicesOf(body: Members): number {
  let most = 1;
  if (body.n !== undefined || body.best_of !== undefined) most = Math.max(1, positive(body.n), positive(body.best_of));
  for (const { objects, choices } of choosing) {
    for (const object of objects) {
      const config = body[object] === undefined ? null : record(body[object]);
      if (config !== null) for (const name of choices) most = Math.max(most, positive(config[name]));
    }
  }
  return Math.min(most, mostChoices);
}

/** What follows from a channel's settings alone; the same object for channels whose settings are alike. */
interface ChannelFacts {
  /** Of the operator's override, which wins over what the client says. */
  readonly asked: Asked;
  readonly limit: number;
  readonly choices: number;
  /** '' = it says none. */
  readonly region: string;
  readonly allowsTerms: boolean;
  /** A limit that is written into a request reaches its upstream as it is. */
  readonly keepsLimit: boolean;
  readonly stopsOnCancel: boolean;
  readonly refusesFiles: boolean;
  /** It calls some models otherwise. */
  readonly maps: boolean;
}

const known = new WeakMap<ChannelSnapshot, ChannelFacts>();
/** Facts of channels without an override, by what decides them. */
const alike = new Map<string, ChannelFacts>();
const mostAlike = 1000;

function factsOf(channel: ChannelSnapshot): ChannelFacts {
  const found = known.get(channel);
  if (found !== undefined) return found;
  const { paramOverride, setting, modelMapping } = channel;
  const overrides = Object.keys(paramOverride).length > 0;
  const region = typeof setting.region === 'string' ? setting.region.toLowerCase() : '';
  const limit = overrides ? Math.max(...allCodecs.map(({ traits }) => namedLimit(paramOverride, traits.limit))) : 0;
  const made: ChannelFacts = {
    asked: overrides ? askedIn(paramOverride) : nothingAsked,
    limit,
    choices: choicesOf(paramOverride),
    region,
    allowsTerms: setting.allow_tiers === true || setting.pass_through === true,
    keepsLimit: setting.pass_through !== true && limit === 0,
    stopsOnCancel: setting.drain === undefined || setting.drain === false,
    refusesFiles: setting.unknown_ids === 'refuse',
    maps: Object.keys(modelMapping).length > 0,
  };
  const facts = overrides ? made : shared(made);
  known.set(channel, facts);
  return facts;
}

function shared(facts: ChannelFacts): ChannelFacts {
  const key = JSON.stringify(facts);
  const found = alike.get(key);
  if (found !== undefined) return found;
  if (alike.size >= mostAlike) alike.clear();
  alike.set(key, facts);
  return facts;
}

/** The operator's choices that decide what a channel offers. */
export interface OfferOptions {
  readonly passThrough: boolean;
  readonly priceTables: { readonly termRules: readonly TermRule[] };
}

/** Whether it passes on what the request says of the upstream's own hosts and terms. */
export const allowsTerms = (channel: ChannelSnapshot, { passThrough }: Pick<OfferOptions, 'passThrough'>): boolean =>
  passThrough || factsOf(channel).allowsTerms;

/** Whether a limit that is written into the request reaches this channel's upstream as it is. */
export const keepsLimit = (channel: ChannelSnapshot): boolean => factsOf(channel).keepsLimit;

/** One channel, or several that are alike as far as prices go, for one model. */
export interface Offer {
  readonly upstreamModel: string;
  readonly allowsTerms: boolean;
  readonly facts: ChannelFacts;
}

/** @param upstreamModel as the channel's mapping has it. */
export function offerOf(channel: ChannelSnapshot, upstreamModel: string, { passThrough }: OfferOptions): Offer {
  const facts = factsOf(channel);
  return { upstreamModel, allowsTerms: passThrough || facts.allowsTerms, facts };
}

/** A model's name may ask for a search. Source: https://openrouter.ai/docs/features/web-search */
const online = ':online';
const onlineUses: readonly HostedUse[] = [webPlugin()];
const none: readonly never[] = [];

/** Work besides the model's that the upstream is asked for. */
function usesOf({ facts, upstreamModel }: Offer, asked: Asked): readonly HostedUse[] {
  const own = facts.asked.uses;
  const named = upstreamModel.endsWith(online) ? onlineUses : none;
  return own.length === 0 && named.length === 0 ? asked.uses : [...asked.uses, ...own, ...named];
}

/** What goes upstream of the terms that a request asks for. */
export interface SentTerms {
  /** Where in the client's request something is taken out. */
  readonly removed: readonly (readonly string[])[];
  /** The same for the log row. */
  readonly dropped: readonly string[];
  /** What the upstream is asked for, where its answer does not say what it gave. */
  readonly sent: Terms;
  /** Work besides the model's that the upstream is asked for. */
  readonly uses: readonly HostedUse[];
  /** The upstream's dialect lists the tools that ran in its answers. */
  readonly listsTools: boolean;
  /** Terms below the ordinary price are passed on to the client. */
  readonly discounts: boolean;
}

/** Nothing is asked for, and nothing goes upstream but what every request says. */
export const nothingSent: SentTerms = {
  removed: none,
  dropped: none,
  sent: {},
  uses: none,
  listsTools: true,
  discounts: false,
};
const discounted: SentTerms = { ...nothingSent, discounts: true };

export const listsTools = (dialect: ProtocolId): boolean => dialect !== commonProtocol;

/** @param request what the client's calls its model, and its dialect. */
export function sentTerms(
  asked: Asked,
  offer: Offer,
  { model, protocol }: { readonly model: string; readonly protocol: ProtocolId },
  options: OfferOptions,
): SentTerms {
  const uses = usesOf(offer, asked);
  const { asked: own, region } = offer.facts;
  const overridden = own.terms.some(({ member }) => !(member in modelLists));
  if (asked.terms.length === 0 && !overridden && uses.length === 0 && region === '')
    return offer.allowsTerms ? discounted : nothingSent;
  return {
    ...termsSent(model, offer, asked.terms, options),
    uses,
    listsTools: listsTools(protocol),
    discounts: offer.allowsTerms || overridden,
  };
}

/** A term goes upstream where the channel allows it and it has a price. What the operator's own override asks for goes in any case. */
function termsSent(
  model: string,
  { facts, allowsTerms: allowed, upstreamModel }: Offer,
  asked: readonly AskedTerm[],
  { priceTables: { termRules } }: OfferOptions,
): Pick<SentTerms, 'removed' | 'dropped' | 'sent'> {
  const models = [model, upstreamModel];
  const removed: (readonly string[])[] = [];
  const dropped: string[] = [];
  const sent: Record<string, string> = facts.region === '' ? {} : { region: facts.region };
  for (const { path, member, value } of asked) {
    const priced = () => termRatio(termRules, models, member, value) !== null;
    if (isPlainTerm(member, value) || (allowed && modelLists[member] === 'priced')) continue;
    if (allowed && priced()) sent[member] = value;
    else {
      removed.push(path);
      dropped.push(`/${path.join('/')}: ${value} ${allowed ? 'has no price here' : 'is not allowed by the channel'}`);
    }
  }
  for (const { member, value } of facts.asked.terms) if (!(member in modelLists)) sent[member] = value;
  return { removed, dropped, sent };
}

/** What all channels that may serve a model offer together: what a reservation must cover whichever of them is asked. */
export class Offers {
  /** Those that differ in what they cost. */
  readonly kinds: readonly Offer[];
  /** The widest of their models'. */
  readonly limits: ModelLimits;
  /** The longest answer and the most answers that an override asks for. */
  readonly overriddenLimit: number = 0;
  readonly overriddenChoices: number = 1;
  /** Each stops its upstream when the client leaves. */
  readonly stopOnCancel: boolean = true;
  /** A limit that is written into a request reaches each upstream as it is. */
  readonly keepLimits: boolean = true;
  /** One of them refuses requests that name files and the like. */
  readonly refuseFiles: boolean = false;
  /** The dearest terms of a request that asks for none. */
  readonly surcharges: readonly Surcharge[];

  constructor(
    list: CandidateList<ChannelSnapshot>,
    readonly model: string,
    private readonly options: OfferOptions,
  ) {
    let limits = modelLimits(model);
    const kinds = new Map<string, Offer>();
    const numbers = new Map<ChannelFacts, number>();
    let last: ChannelFacts | null = null;
    for (const tier of list)
      for (const channel of tier) {
        const facts = factsOf(channel);
        // Most channels are like the one before.
        if (facts === last && !facts.maps) continue;
        last = facts;
        if (!numbers.has(facts)) numbers.set(facts, numbers.size);
        const upstreamModel = facts.maps ? mapModel(channel.modelMapping, model) : model;
        const kind = `${numbers.get(facts)} ${upstreamModel}`;
        if (kinds.has(kind)) continue;
        kinds.set(kind, { upstreamModel, allowsTerms: options.passThrough || facts.allowsTerms, facts });
        this.stopOnCancel &&= facts.stopsOnCancel;
        this.refuseFiles ||= facts.refusesFiles;
        this.keepLimits &&= facts.keepsLimit;
        this.overriddenLimit = Math.max(this.overriddenLimit, facts.limit);
        this.overriddenChoices = Math.max(this.overriddenChoices, facts.choices);
        if (upstreamModel !== model) limits = widest(limits, modelLimits(upstreamModel));
      }
    this.kinds = [...kinds.values()];
    this.limits = limits;
    this.surcharges = this.dearestTerms(nothingAsked);
  }

  /** The dearest terms that a request can be served under. Discounts count for nothing. */
  surchargesFor({ terms }: Asked): readonly Surcharge[] {
    return terms.length === 0 ? this.surcharges : this.dearestTerms({ ...nothingAsked, terms });
  }

  private dearestTerms({ terms }: Asked): readonly Surcharge[] {
    const { termRules } = this.options.priceTables;
    let largest: readonly Surcharge[] = none;
    for (const offer of this.kinds) {
      if (terms.length === 0 && offer.facts.region === '' && offer.facts.asked === nothingAsked) continue;
      const { sent } = termsSent(this.model, offer, terms, this.options);
      const { surcharges } = priceTerms(termRules, [this.model, offer.upstreamModel], sent, false);
      if (surchargeOf({ surcharges }) > surchargeOf({ surcharges: largest })) largest = surcharges;
    }
    return largest;
  }

  /** Units of each tool that a request may take at most. */
  unitsFor(asked: Asked): Record<string, number> | null {
    let units: Record<string, number> | null = null;
    for (const offer of this.kinds)
      for (const { tool, most } of usesOf(offer, asked)) {
        units ??= {};
        units[tool] = Math.max(units[tool] ?? 0, most);
      }
    return units;
  }
}

function widest(one: ModelLimits, other: ModelLimits): ModelLimits {
  if (one === other) return one;
  return {
    output: Math.max(one.output, other.output),
    context: Math.max(one.context, other.context),
    thinks: one.thinks || other.thinks,
    countable: one.countable && other.countable,
    known: one.known && other.known,
  };
}
