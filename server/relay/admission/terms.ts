/** Members of a request that change the upstream's price: which go upstream, what they may cost at most, and what they did cost. */

import type { Prices, Surcharge } from '../../contract/prices.ts';
import { type PriceTables, resolvePrices } from '../../contract/pricing-tables.ts';
import {
  isPlainTerm,
  priceTerms,
  surchargeOf,
  type Terms,
  termRatio,
  underTerms,
} from '../../contract/pricing-terms.ts';
import type { Usage } from '../../protocols/canonical.ts';
import { lookUp } from '../../protocols/shared/json.ts';
import { termValue } from '../../protocols/shared/usage.ts';
import type { Inquiry } from '../intake/inquiry.ts';
import { mapModel } from '../routing/choose.ts';
import type { RelaySettings } from '../state/settings.ts';
import type { ChannelSnapshot } from '../state/snapshot.ts';

/** By the name without case and underscores: some upstreams read any spelling. */
const members: Readonly<Record<string, string>> = {
  servicetier: 'service_tier',
  speed: 'speed',
  inferencegeo: 'inference_geo',
  models: 'models',
  fallbacks: 'fallbacks',
  fallbackmodels: 'fallback_models',
};
/** Lists of other models to be served by. A list whose answers name each model's share is priced by them, the other never goes upstream. */
const lists: Readonly<Record<string, 'priced' | 'unpriced'>> = {
  models: 'unpriced',
  fallback_models: 'unpriced',
  fallbacks: 'priced',
};

/** Names already folded: requests use few, and use them again and again. */
const folded = new Map<string, string | undefined>();

/** The priced member this name may be read as. U+017F and U+212A fold to letters in some decoders. */
function memberOf(key: string): string | undefined {
  if (key.length < 5 || key.length > 15) return undefined;
  if (folded.has(key)) return folded.get(key);
  const name = key.replaceAll('_', '').replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase();
  const member = lookUp(members, name);
  if (folded.size >= 1000) folded.clear();
  folded.set(key, member);
  return member;
}

interface Asked {
  readonly key: string;
  readonly member: string;
  readonly value: string;
}

const none: readonly never[] = [];

function askedIn(body: Readonly<Record<string, unknown>>): readonly Asked[] {
  let asked: Asked[] | null = null;
  for (const key in body) {
    const member = memberOf(key);
    if (member === undefined) continue;
    const value = member in lists ? (Array.isArray(body[key]) ? 'other models' : null) : termValue(body[key]);
    if (value === null) continue;
    asked ??= [];
    asked.push({ key, member, value });
  }
  return asked ?? none;
}

/** `speed` of speech is how fast somebody talks. */
const askedBy = ({ operation, json, body }: Inquiry): readonly Asked[] =>
  operation === 'speech' || json === null ? none : askedIn(body);

const passesThrough = (channel: ChannelSnapshot, settings: RelaySettings): boolean =>
  settings.passThrough || channel.setting.pass_through === true;
const allowsTerms = (channel: ChannelSnapshot, settings: RelaySettings): boolean =>
  channel.setting.allow_tiers === true || passesThrough(channel, settings);

export interface SentTerms {
  /** Names to take out of the client's request. */
  readonly removed: readonly string[];
  /** The same for the log row. */
  readonly dropped: readonly string[];
  /** What the upstream is asked for, where its answer does not say what it gave. */
  readonly sent: Terms;
  /** Terms below the ordinary price are passed on to the client. */
  readonly discounts: boolean;
}

const untouched: SentTerms = { removed: none, dropped: none, sent: {}, discounts: false };

/** A term goes upstream where the channel allows it and it has a price. What the operator's own override asks for goes in any case. */
export function termsFor(
  inquiry: Inquiry,
  channel: ChannelSnapshot,
  settings: RelaySettings,
  upstreamModel: string,
): SentTerms {
  const asked = askedBy(inquiry);
  const own = askedIn(channel.paramOverride).filter(({ member }) => !(member in lists));
  const allowed = allowsTerms(channel, settings);
  const { region } = channel.setting;
  const regional = typeof region === 'string' && region !== '';
  if (asked.length === 0 && own.length === 0 && !regional)
    return allowed ? { ...untouched, discounts: true } : untouched;
  const models = [inquiry.model, upstreamModel];
  const removed: string[] = [];
  const dropped: string[] = [];
  const sent: Record<string, string> = regional ? { region: region.toLowerCase() } : {};
  for (const { key, member, value } of asked) {
    const priced = () => termRatio(settings.priceTables.termRules, models, member, value) !== null;
    if (isPlainTerm(member, value)) sent[member] ??= value;
    else if (allowed && lists[member] === 'priced') continue;
    else if (allowed && priced()) sent[member] = value;
    else {
      removed.push(key);
      dropped.push(`/${key}: ${value} ${allowed ? 'has no price here' : 'is not allowed by the channel'}`);
    }
  }
  for (const { member, value } of own) sent[member] = value;
  return { removed, dropped, sent, discounts: allowed || own.length > 0 };
}

/** What of the terms a request told anew still asks for. @param body null = none of the client's members are in it. */
export function carriedTerms(terms: SentTerms, body: Readonly<Record<string, unknown>> | null): SentTerms {
  const told = new Set(body === null ? none : askedIn(body).map(({ member }) => member));
  const sent = Object.entries(terms.sent).filter(([member]) => member === 'region' || told.has(member));
  return { ...terms, sent: Object.fromEntries(sent) };
}

/** Takes the same members out of a request that was told anew. @returns what to declare. */
export function withoutTerms(body: Record<string, unknown>, { removed, dropped }: SentTerms): readonly string[] {
  const gone = new Set(removed.map(memberOf));
  const kept: string[] = [];
  for (const key of Object.keys(body)) {
    const member = memberOf(key);
    if (member === undefined || !gone.has(member)) continue;
    delete body[key];
    kept.push(dropped[removed.findIndex((name) => memberOf(name) === member)] ?? key);
  }
  return kept;
}

/** The dearest terms this request can be served under by any of these channels: what a hold must cover. Discounts count for nothing. */
export function largestSurcharges(
  inquiry: Inquiry,
  candidates: readonly ChannelSnapshot[],
  settings: RelaySettings,
): readonly Surcharge[] {
  const asked = askedBy(inquiry);
  let largest: readonly Surcharge[] = none;
  for (const channel of candidates) {
    if (asked.length === 0 && channel.setting.region === undefined && askedIn(channel.paramOverride).length === 0)
      continue;
    const upstreamModel = mapModel(channel.modelMapping, inquiry.model);
    const { sent } = termsFor(inquiry, channel, settings, upstreamModel);
    const { surcharges } = priceTerms(settings.priceTables.termRules, [inquiry.model, upstreamModel], sent, false);
    if (surchargeOf({ surcharges }) > surchargeOf({ surcharges: largest })) largest = surcharges;
  }
  return largest;
}

/** Whose tables and groups priced a request when it was admitted. */
export interface Pricing {
  readonly tables: PriceTables;
  readonly group: string;
  readonly userGroup: string;
}

/** The prices that hold for what the answer reports: its terms, and the other models that worked on it. */
export function reportedPrices(
  prices: Prices,
  pricing: Pricing,
  facts: { readonly model: string; readonly upstreamModel: string; readonly terms: SentTerms },
  usage: Usage | null,
): Prices {
  const models = [facts.model, facts.upstreamModel];
  const terms = { ...facts.terms.sent, ...usage?.terms };
  const { surcharges, unpriced } = priceTerms(pricing.tables.termRules, models, terms, facts.terms.discounts);
  const own = underTerms(prices, surcharges);
  if (usage?.parts === undefined && unpriced.length === 0) return own;
  const others = new Map<string, Prices>();
  const unknown = new Set<string>(unpriced);
  for (const { model } of usage?.parts ?? none) {
    if (model === null || models.includes(model) || others.has(model)) continue;
    const found = resolvePrices(pricing.tables, model, pricing);
    // A dated name of the model that was asked for is that model.
    if (found !== null) others.set(model, found);
    else if (!models.some((name) => model.startsWith(`${name}-`))) unknown.add(`model:${model}`);
  }
  if (others.size === 0 && unknown.size === 0) return own;
  return {
    ...own,
    ...(others.size === 0 ? {} : { others }),
    ...(unknown.size === 0 ? {} : { unpriced: [...(own.unpriced ?? []), ...unknown] }),
  };
}
