/** Members of a request that change what the upstream takes: which go upstream, what they may cost at most, and what they did cost. */

import { AppError } from '../../contract/errors.ts';
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
import { toolPrice } from '../../contract/quota.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { ProtocolId, Usage } from '../../protocols/canonical.ts';
import { commonProtocol } from '../../protocols/registry.ts';
import { lookUp, record } from '../../protocols/shared/json.ts';
import { looseName } from '../../protocols/shared/member-name.ts';
import { termValue } from '../../protocols/shared/usage.ts';
import {
  choosesHost,
  type HostedUse,
  hostedByMember,
  hostedByTools,
  webPlugin,
} from '../../providers/knowledge/hosted-tools.ts';
import { mapModel } from '../../routing/candidates.ts';
import type { Inquiry } from '../intake/inquiry.ts';
import type { RelaySettings } from '../state/settings.ts';

/** By their loose names: some upstreams read any spelling. */
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

/** The priced member this name may be read as. */
function memberOf(loose: string): string | undefined {
  return loose.length < 5 || loose.length > 14 ? undefined : lookUp(members, loose);
}

interface Asked {
  /** Where it stands: the name of a member, or of one in an object of the request's. */
  readonly path: readonly string[];
  readonly member: string;
  readonly value: string;
}

/** What a request asks for besides the model, that changes what the upstream takes. */
interface Features {
  readonly terms: readonly Asked[];
  readonly uses: readonly HostedUse[];
  /** Paths of members that choose another host. */
  readonly hosts: readonly string[];
}

const none: readonly never[] = [];
const nothing: Features = { terms: none, uses: none, hosts: none };

/** Objects that hold the conversation, schemas or the client's own notes: what they call `speed` is no wish. By loose names. */
const noOptions: ReadonlySet<string> = new Set(
  [
    'messages message system systemInstruction instructions prompt input inputs contents content prediction',
    'metadata clientMetadata text responseFormat format schema jsonSchema responseSchema responseJsonSchema properties',
    'toolChoice functionCall logitBias template variables',
  ]
    .join(' ')
    .toLowerCase()
    .split(' '),
);

interface Collected {
  terms: Asked[] | null;
  uses: HostedUse[] | null;
  hosts: string[] | null;
}

/** Wrappers are opened: several clients and upstreams merge `extra_body` and the like into the request. */
function collect(object: Readonly<Record<string, unknown>>, path: readonly string[], into: Collected): void {
  for (const key in object) {
    const value = object[key];
    const loose = looseName(key);
    const member = memberOf(loose);
    if (member !== undefined) {
      const said = member in lists ? (Array.isArray(value) ? 'other models' : null) : termValue(value);
      if (said !== null) {
        into.terms ??= [];
        into.terms.push({ path: [...path, key], member, value: said });
      }
      continue;
    }
    const uses = loose === 'tools' ? hostedByTools(value) : hostedByMember(loose, value);
    if (uses.length > 0) {
      into.uses ??= [];
      into.uses.push(...uses);
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value) || noOptions.has(loose)) continue;
    const chosen = choosesHost(loose, value);
    if (chosen.length > 0) {
      into.hosts ??= [];
      into.hosts.push(...chosen.map((name) => [...path, key, name].join('.')));
    }
    collect(value as Readonly<Record<string, unknown>>, [...path, key], into);
  }
}

/** Each is a line of the bill. */
const mostUses = 128;

/** A request is looked through once, however often it is tried. */
const known = new WeakMap<Readonly<Record<string, unknown>>, Features>();

function featuresIn(body: Readonly<Record<string, unknown>>): Features {
  const found = known.get(body);
  if (found !== undefined) return found;
  const { terms, uses, hosts }: Collected = collected(body);
  if (uses !== null && uses.length > mostUses)
    throw new AppError('body_invalid', { detail: `no more than ${mostUses} tools of the provider` });
  const features =
    terms === null && uses === null && hosts === null
      ? nothing
      : { terms: terms ?? none, uses: uses ?? none, hosts: hosts ?? none };
  known.set(body, features);
  return features;
}

function collected(body: Readonly<Record<string, unknown>>): Collected {
  const into: Collected = { terms: null, uses: null, hosts: null };
  collect(body, none, into);
  return into;
}

/** `speed` of speech is how fast somebody talks. */
const featuresOf = ({ operation, json, body }: Inquiry): Features =>
  operation === 'speech' || json === null ? nothing : featuresIn(body);

/** A model's name may ask for a search. Source: https://openrouter.ai/docs/features/web-search */
const online = ':online';
const onlineUses: readonly HostedUse[] = [webPlugin()];

function usesOf(inquiry: Inquiry, channel: ChannelSnapshot, upstreamModel: string): readonly HostedUse[] {
  const { uses } = featuresOf(inquiry);
  const own = featuresIn(channel.paramOverride).uses;
  const named = upstreamModel.endsWith(online) ? onlineUses : none;
  return own.length === 0 && named.length === 0 ? uses : [...uses, ...own, ...named];
}

/** Units of each tool that this request may take at any of these channels. */
export function largestUses(inquiry: Inquiry, candidates: readonly ChannelSnapshot[]): Record<string, number> | null {
  let units: Record<string, number> | null = null;
  for (const channel of candidates) {
    for (const { tool, most } of usesOf(inquiry, channel, mapModel(channel.modelMapping, inquiry.model))) {
      units ??= {};
      units[tool] = Math.max(units[tool] ?? 0, most);
    }
  }
  return units;
}

/** The channels that pass on what the request says of the upstream's own hosts. @throws AppError member_not_allowed. */
export function allowedCandidates(
  inquiry: Inquiry,
  candidates: readonly ChannelSnapshot[],
  settings: RelaySettings,
): readonly ChannelSnapshot[] {
  const { hosts } = featuresOf(inquiry);
  if (hosts.length === 0) return candidates;
  const allowed = candidates.filter((channel) => allowsTerms(channel, settings));
  if (allowed.length === 0) throw new AppError('member_not_allowed', { name: hosts.join(', ') });
  return allowed;
}

const passesThrough = (channel: ChannelSnapshot, settings: RelaySettings): boolean =>
  settings.passThrough || channel.setting.pass_through === true;
const allowsTerms = (channel: ChannelSnapshot, settings: RelaySettings): boolean =>
  channel.setting.allow_tiers === true || passesThrough(channel, settings);

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

const untouched: SentTerms = { removed: none, dropped: none, sent: {}, uses: none, listsTools: true, discounts: false };

const listsTools = (dialect: ProtocolId): boolean => dialect !== commonProtocol;

/** A term goes upstream where the channel allows it and it has a price. What the operator's own override asks for goes in any case. */
export function termsFor(
  inquiry: Inquiry,
  channel: ChannelSnapshot,
  settings: RelaySettings,
  upstreamModel: string,
): SentTerms {
  const asked = featuresOf(inquiry).terms;
  const own = featuresIn(channel.paramOverride).terms.filter(({ member }) => !(member in lists));
  const uses = usesOf(inquiry, channel, upstreamModel);
  const allowed = allowsTerms(channel, settings);
  const { region } = channel.setting;
  const regional = typeof region === 'string' && region !== '';
  if (asked.length === 0 && own.length === 0 && uses.length === 0 && !regional)
    return allowed ? { ...untouched, discounts: true } : untouched;
  const models = [inquiry.model, upstreamModel];
  const removed: (readonly string[])[] = [];
  const dropped: string[] = [];
  const sent: Record<string, string> = regional ? { region: region.toLowerCase() } : {};
  for (const { path, member, value } of asked) {
    const priced = () => termRatio(settings.priceTables.termRules, models, member, value) !== null;
    if (isPlainTerm(member, value)) sent[member] ??= value;
    else if (allowed && lists[member] === 'priced') continue;
    else if (allowed && priced()) sent[member] = value;
    else {
      removed.push(path);
      dropped.push(`/${path.join('/')}: ${value} ${allowed ? 'has no price here' : 'is not allowed by the channel'}`);
    }
  }
  for (const { member, value } of own) sent[member] = value;
  const discounts = allowed || own.length > 0;
  return { removed, dropped, sent, uses, listsTools: listsTools(inquiry.protocol), discounts };
}

/**
 * What of the terms a request told anew still asks for.
 * @param body null = none of the client's members are in it. @param dialect that it is told in.
 */
export function carriedTerms(
  terms: SentTerms,
  body: Readonly<Record<string, unknown>> | null,
  dialect: ProtocolId,
): SentTerms {
  const features = body === null ? nothing : featuresIn(body);
  const told = new Set(features.terms.map(({ member }) => member));
  const sent = Object.entries(terms.sent).filter(([member]) => member === 'region' || told.has(member));
  return { ...terms, sent: Object.fromEntries(sent), uses: features.uses, listsTools: listsTools(dialect) };
}

/** The members that have to go, as edits of the client's own request. */
export function editsOfTerms(
  body: Readonly<Record<string, unknown>>,
  { removed }: SentTerms,
): ReadonlyMap<string, string | undefined> {
  const edits = new Map<string, string | undefined>();
  const wrappers = new Map<string, unknown>();
  for (const [key = '', ...rest] of removed) {
    if (rest.length === 0) {
      edits.set(key, undefined);
      continue;
    }
    wrappers.set(key, withoutPath(wrappers.get(key) ?? body[key], rest));
  }
  for (const [key, value] of wrappers) if (!edits.has(key)) edits.set(key, JSON.stringify(value));
  return edits;
}

function withoutPath(value: unknown, [key = '', ...rest]: readonly string[]): unknown {
  const object = record(value);
  if (object === null) return value;
  const { [key]: inner, ...others } = object;
  return rest.length === 0 ? others : { ...object, [key]: withoutPath(inner, rest) };
}

/** Takes the same members out of a request that was told anew. @returns what to declare. */
export function withoutTerms(body: Record<string, unknown>, { removed, dropped }: SentTerms): readonly string[] {
  const kept: string[] = [];
  for (const [at, path] of removed.entries()) {
    const [first = ''] = path;
    const wanted = looseName(first);
    for (const key of Object.keys(body)) {
      if (looseName(key) !== wanted) continue;
      if (path.length === 1) delete body[key];
      else body[key] = withoutPath(body[key], path.slice(1));
      kept.push(dropped[at] ?? key);
    }
  }
  return kept;
}

/**
 * The usage with the work that the upstream was asked for besides the model's: as the answer reports it, else the most
 * that one answer takes.
 */
export function withUses(usage: Usage | null, { uses, listsTools: lists }: SentTerms, prices: Prices): Usage | null {
  if (usage === null || uses.length === 0) return usage;
  const calls: Record<string, number> = { ...usage.toolCalls };
  const dearest = (one: HostedUse) => toolPrice(prices, one.tool) * one.units;
  for (const use of [...uses].sort((one, other) => dearest(other) - dearest(one))) {
    for (const name of use.instead) {
      const count = calls[name] ?? 0;
      if (count === 0) continue;
      delete calls[name];
      calls[use.tool] = (calls[use.tool] ?? 0) + count * use.units;
    }
    if ((calls[use.tool] ?? 0) > 0 || (use.listed && lists)) continue;
    if (use.reportedBy !== null && record(usage.raw)?.[use.reportedBy] !== undefined) continue;
    const { reportedAs } = use;
    if (reportedAs === null || !Object.keys(calls).some((name) => reportedAs.test(name))) calls[use.tool] = use.units;
  }
  return { ...usage, toolCalls: calls };
}

/** The dearest terms this request can be served under by any of these channels: what a hold must cover. Discounts count for nothing. */
export function largestSurcharges(
  inquiry: Inquiry,
  candidates: readonly ChannelSnapshot[],
  settings: RelaySettings,
): readonly Surcharge[] {
  const asked = featuresOf(inquiry).terms;
  let largest: readonly Surcharge[] = none;
  for (const channel of candidates) {
    if (
      asked.length === 0 &&
      channel.setting.region === undefined &&
      featuresIn(channel.paramOverride).terms.length === 0
    )
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
