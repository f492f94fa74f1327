/** Members of a request that change what the upstream takes: which go upstream, what they may cost at most, and what they did cost. */

import { atFactor } from '../../contract/pricing/channel-factor.ts';
import { toolPrice } from '../../contract/pricing/charge.ts';
import { priceModifiers, withModifiers } from '../../contract/pricing/modifiers.ts';
import type { Prices } from '../../contract/pricing/price.ts';
import { type PriceTables, resolvePrices } from '../../contract/pricing/tables.ts';
import type { ProtocolId, Usage } from '../../protocols/canonical.ts';
import { record } from '../../protocols/shared/json.ts';
import { looseName } from '../../protocols/shared/member-name.ts';
import type { HostedUse } from '../../providers/knowledge/builtin-tools.ts';
import { featuresIn, noFeatures, type RequestedFeatures, requestedMask } from '../../routing/features.ts';
import { listsTools, nothingSent, type SentModifiers } from '../../routing/offers.ts';
import type { ParsedRequest } from '../intake/parsed-request.ts';

const none: readonly never[] = [];

/** Members besides the model that change what the upstream charges. `speed` of speech is the speed of a voice. */
export const requestedOf = ({ operation, json, body, prompt }: ParsedRequest): RequestedFeatures =>
  (prompt.features & requestedMask) === 0 || operation === 'speech' || json === null ? noFeatures : featuresIn(body);

/**
 * Which of the price modifiers a translated request still asks for.
 * @param body null = none of the client's members are in it. @param dialect of the translated request.
 */
export function passedModifiers(
  modifiers: SentModifiers,
  body: Readonly<Record<string, unknown>> | null,
  dialect: ProtocolId,
): SentModifiers {
  const requested = body === null ? noFeatures : featuresIn(body);
  const names = new Set(requested.modifiers.map(({ member }) => member));
  const sent = Object.entries(modifiers.sent).filter(([member]) => member === 'region' || names.has(member));
  return { ...modifiers, sent: Object.fromEntries(sent), uses: requested.uses, listsTools: listsTools(dialect) };
}

/** By name: what goes within a member; null = all of it. */
type Removals = Map<string, Removals | null>;

/** The members that have to go, as edits of the client's own request. Each object is read once, however many go. */
export function modifierEdits(
  body: Readonly<Record<string, unknown>>,
  { removed }: SentModifiers,
): ReadonlyMap<string, string | undefined> {
  const removals: Removals = new Map();
  for (const path of removed) addRemoval(removals, path);
  const edits = new Map<string, string | undefined>();
  for (const [key, within] of removals)
    edits.set(key, within === null ? undefined : JSON.stringify(without(body[key], within)));
  return edits;
}

function addRemoval(removals: Removals, [key = '', ...rest]: readonly string[]): void {
  if (rest.length === 0) removals.set(key, null);
  const within = removals.get(key);
  if (within === null) return;
  const inner: Removals = within ?? new Map();
  removals.set(key, inner);
  addRemoval(inner, rest);
}

function without(value: unknown, removals: Removals): unknown {
  const object = record(value);
  if (object === null) return value;
  const kept: [string, unknown][] = [];
  for (const name of Object.keys(object)) {
    const within = removals.get(name);
    if (within !== null) kept.push([name, within === undefined ? object[name] : without(object[name], within)]);
  }
  return Object.fromEntries(kept);
}

/** Takes the same members out of a translated request. @returns what to declare. */
export function withoutModifiers(
  body: Record<string, unknown>,
  { removed, dropped }: SentModifiers,
): readonly string[] {
  const kept: string[] = [];
  const names = Object.groupBy(Object.keys(body), looseName);
  const removals: Removals = new Map();
  // Many members may stand below one name, however long that is.
  let [last, loose] = ['', ''];
  for (const [at, path] of removed.entries()) {
    const [first = '', ...rest] = path;
    if (first !== last) [last, loose] = [first, looseName(first)];
    for (const key of names[loose] ?? none) {
      if (removals.get(key) === null) continue;
      addRemoval(removals, [key, ...rest]);
      kept.push(dropped[at] ?? key);
    }
  }
  for (const [key, within] of removals)
    if (within === null) delete body[key];
    else body[key] = without(body[key], within);
  return kept;
}

/**
 * The usage with the work that the upstream was asked for besides the model's: as the answer reports it, else the most
 * that one answer takes.
 */
export const withUses = (usage: Usage | null, sent: SentModifiers, prices: Prices): Usage | null =>
  usage === null || sent.uses.length === 0 ? usage : usedBy(usage, sent, prices);

function usedBy(usage: Usage, { uses, listsTools: lists }: SentModifiers, prices: Prices): Usage {
  const calls: Record<string, number> = { ...usage.toolCalls };
  const reported = Object.keys(calls);
  const priceOf = (one: HostedUse) => toolPrice(prices, one.tool) * one.units;
  for (const use of [...uses].sort((one, other) => priceOf(other) - priceOf(one))) {
    for (const name of use.instead) {
      const count = calls[name] ?? 0;
      if (count === 0) continue;
      delete calls[name];
      calls[use.tool] = (calls[use.tool] ?? 0) + count * use.units;
    }
    if ((calls[use.tool] ?? 0) > 0 || (use.listed && lists)) continue;
    if (use.reportedBy !== null && isCount(record(usage.raw)?.[use.reportedBy])) continue;
    const { reportedAs } = use;
    if (reportedAs === null || !reported.some((name) => reportedAs.test(name))) calls[use.tool] = use.units;
  }
  return { ...usage, toolCalls: calls };
}

/** A count that says something; null says nothing. */
const isCount = (value: unknown): boolean => typeof value === 'number' && value >= 0;

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
  details: { readonly model: string; readonly upstreamModel: string; readonly modifiers: SentModifiers },
  usage: Usage | null,
): Prices {
  const { sent } = details.modifiers;
  if (sent === nothingSent.sent && usage?.modifiers === undefined && usage?.parts === undefined)
    return withModifiers(prices, none);
  const models = [details.model, details.upstreamModel];
  const modifiers = { ...sent, ...usage?.modifiers };
  const { surcharges, unpriced } = priceModifiers(
    pricing.tables.termRules,
    models,
    modifiers,
    details.modifiers.discounts,
  );
  const own = withModifiers(prices, surcharges);
  if (usage?.parts === undefined && unpriced.length === 0) return own;
  const others = new Map<string, Prices>();
  const unknown = new Set<string>(unpriced);
  for (const { model } of usage?.parts ?? none) {
    if (model === null || models.includes(model) || others.has(model)) continue;
    const found = resolvePrices(pricing.tables, model, pricing);
    // A dated name of the model that was asked for is that model.
    if (found !== null) others.set(model, atFactor(found, prices.channel?.factor ?? 1));
    else if (!models.some((name) => model.startsWith(`${name}-`))) unknown.add(`model:${model}`);
  }
  if (others.size === 0 && unknown.size === 0) return own;
  return {
    ...own,
    ...(others.size === 0 ? {} : { others }),
    ...(unknown.size === 0 ? {} : { unpriced: [...(own.unpriced ?? []), ...unknown] }),
  };
}
