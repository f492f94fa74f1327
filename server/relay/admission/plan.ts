/** The step `plan`: what the configuration says for one request: the channels it may reach, and what is held for it. */
import { ChannelStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { allowChannel, channelNumbers } from '../../contract/key-channels.ts';
import { atFactor } from '../../contract/pricing/channel-factor.ts';
import type { Prices } from '../../contract/pricing/price.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import { codecFor } from '../../protocols/registry.ts';
import type { OtherModel } from '../../providers/knowledge/builtin-tools.ts';
import { servesByItself } from '../../providers/knowledge/own-hosts.ts';
import { type Candidates, candidatesOf, traceOf } from '../../routing/candidates.ts';
import { Feature, firstFileIn, type RequestedFeatures } from '../../routing/features.ts';
import { allowsModifiers } from '../../routing/offers.ts';
import { type PlanKey, planOfChannels, type RoutePlan } from '../../routing/plan.ts';
import { callDetails } from '../../routing/protocol.ts';
import type { ParsedRequest, Principal } from '../intake/parsed-request.ts';
import {
  type Affinity,
  conversationKey,
  conversationName,
  keptIds,
  referencedIds,
  type Served,
} from '../routing/affinity.ts';
import type { Health } from '../routing/health.ts';
import type { Kept } from '../routing/health-report.ts';
import type { RelaySettings } from '../state/settings.ts';
import type { RelayState } from '../state/state.ts';
import { isFreeSelfUse } from './gate.ts';
import { type Estimate, estimate, type OtherCost } from './meter.ts';
import { type Pricing, requestedOf } from './modifiers.ts';

export interface PlanDeps {
  readonly state: RelayState;
  readonly health: Health;
  readonly affinity: Affinity;
  readonly random: () => number;
}

/** Before it is known whether it can be paid: the whole is held. @param test a disabled channel may be tested. @param only the one channel of a chain's target. @throws AppError channel_*, key_channels*, model_not_found, model_price_unset, previous_response_not_found, stored_id_refused, member_not_allowed. */
export function makePlan(
  deps: PlanDeps,
  parsed: ParsedRequest,
  principal: Principal,
  test = false,
  only: number | null = null,
): Plan {
  const { state, health } = deps;
  const { group, user, token, pinnedChannel: pinned } = principal;
  const { model, prompt } = parsed;
  const settings = state.settings;
  const continued = (prompt.features & Feature.stored) === 0 ? nothingContinued : continuedBy(deps, parsed, user.id);
  const acceptUnset = settings.selfUse || user.setting.accept_unset_model_ratio_model === true;
  const key = { model, group, userGroup: user.group, acceptUnset, channels: token?.channels };
  let route =
    pinned === null
      ? state.plan(key)
      : planOfChannels(key, [[pinnedChannel(state, pinned, test, key.channels)]], settings);
  if (only !== null && route !== null) route = onlyAt(route, only);
  if (route === null || route.list.length === 0) throw unserved(state, key);
  if (pinned === null && continued.kept !== null) route = continuing(continued.kept, route);
  const { list } = route;
  if (continued.unknown && !settings.selfUse) route = allowingUnknown(route);
  if (route.offers.refuseFiles && (prompt.features & Feature.files) !== 0) route = allowingFiles(route, parsed);
  const requested = requestedOf(parsed);
  if (requested.hosts.length > 0) route = allowingHosts(route, requested, parsed, settings);
  const prices = route.pricesFor(requested);
  if (prices === null) throw new AppError('model_price_unset', { model });
  // With one channel nothing needs to be remembered.
  const keepsKey = route.hasSeveralKeys && conversationName(parsed) !== null;
  const conversation = keepsKey || list.some(hasSeveral) ? conversationKey(parsed, principal) : null;
  const served = conversation === null ? null : deps.affinity.find(conversation);
  const preferred = served === null ? null : preferredOf(deps, served, model);
  const candidates = candidatesOf(route.list, model, deps.random, health, preferred, settings);
  const others = requested.others.length === 0 ? none : othersOf(state, parsed, route, requested.others);
  const size = estimate(parsed, { prices, route, requested, others }, null);
  return {
    candidates,
    route,
    requested,
    others,
    prices,
    settings,
    pricing: { tables: settings.priceTables, group, userGroup: user.group },
    promptTokens: size.fallback,
    estimate: size,
    reserveAmount: size.reserveAmount,
    max: size.reserveAmount,
    reserved: size.maxTokens,
    selfUse: isFreeSelfUse(settings, principal),
    ownerId: user.id,
    conversation,
    keepsKey,
    served,
    showCost: settings.showCost,
    trace: settings.showTrace ? traceOf(list, model, candidates, health, preferred, settings) : null,
  };
}

const none: readonly never[] = [];
const hasSeveral = (tier: readonly unknown[]): boolean => tier.length > 1;
const onlyAt = (route: RoutePlan, channelId: number): RoutePlan => route.filter(({ id }) => id === channelId);

/** Where a conversation goes first: back to where it was, once that is sound again, else to who served it last. */
function preferredOf({ state, health, affinity }: PlanDeps, { channelId, left }: Served, model: string): number | null {
  if (left !== null && affinity.isWarm(left)) {
    const channel = state.channel(left.channelId);
    if (channel !== undefined && health.condition(channel, model) === 'up') return left.channelId;
  }
  return channelId === 0 ? null : channelId;
}

/**
 * What other models that the request names may take. They are the caller's choice as much as the first one, so they must be
 * sold to the caller as well.
 * @throws AppError channel_unavailable, model_not_found, model_price_unset.
 */
function othersOf(
  state: RelayState,
  parsed: ParsedRequest,
  own: RoutePlan,
  named: readonly OtherModel[],
): readonly OtherCost[] {
  const { key, list } = own;
  const request = { ...parsed, session: parsed.route.session === true, ordered: false };
  const { settings } = state;
  // A translation sends none of them; fallback models go upstream where modifiers do.
  const passes = (channel: ChannelSnapshot, { writes }: OtherModel) =>
    callDetails(channel, request, settings, 'secret')?.translated === false &&
    (writes !== null ||
      (codecFor(parsed.protocol).definition.namesShares === true && allowsModifiers(channel, settings)));
  const passed = named.filter((other) => list.some((tier) => tier.some((channel) => passes(channel, other))));
  return passed.map((other) => {
    const { model } = other;
    const route = state.plan({ ...key, model });
    if (route === null) throw unserved(state, { ...key, model });
    if (route.prices === null) throw new AppError('model_price_unset', { model });
    // Whoever serves the request works with the other model, too.
    const factor = Math.max(own.offers.priceFactor, route.offers.priceFactor);
    return { ...other, prices: atFactor(route.prices, factor) };
  });
}

interface Continued {
  /** The stored response that the request continues. */
  readonly kept: Kept | null;
  /** It names items whose owner is unknown. */
  readonly unknown: boolean;
}
const nothingContinued: Continued = { kept: null, unknown: false };

/** The upstream knows our key alone: only the gateway knows which user owns an item. @throws AppError previous_response_not_found. */
function continuedBy({ affinity }: PlanDeps, parsed: ParsedRequest, userId: number): Continued {
  const ids = keptIds(parsed);
  const recalled = referencedIds(parsed);
  if (ids.length === 0 && recalled.length === 0) return nothingContinued;
  let first: Kept | null = null;
  let unknown = false;
  const check = (id: string): Kept | null => {
    const kept = affinity.kept(id);
    if (kept !== null && kept.ownerId !== userId) throw new AppError('previous_response_not_found');
    first ??= kept;
    return kept;
  };
  for (const id of ids) if (check(id) === null) unknown = true;
  for (const id of recalled) check(id);
  return { kept: first, unknown };
}

/** It continues where it was made, as long as that channel still serves the caller. */
const continuing = ({ channelId }: Kept, route: RoutePlan): RoutePlan =>
  route.list.some((tier) => tier.some(({ id }) => id === channelId))
    ? route.filter(({ id }) => id === channelId)
    : route;

/** A stored response has an owner: an unknown id is passed on only where the operator allows it; where one person pays for all, all is theirs. @throws AppError previous_response_not_found. */
function allowingUnknown(route: RoutePlan): RoutePlan {
  const some = route.filter(({ setting }) => setting.unknown_ids === 'allow');
  if (some.list.length === 0) throw new AppError('previous_response_not_found');
  return some;
}

/** Files and vector stores are made by the operator beside this site: they are passed on unless the operator forbids it. @throws AppError stored_id_refused. */
function allowingFiles(route: RoutePlan, { body }: ParsedRequest): RoutePlan {
  const id = firstFileIn(body);
  if (id === null) return route;
  const some = route.filter(({ setting }) => setting.unknown_ids !== 'refuse');
  if (some.list.length === 0) throw new AppError('stored_id_refused', { id });
  return some;
}

/** Channels that may pass on what the request says of the upstream's own hosts, or where nobody reads it: a translation leaves it out. @throws AppError member_not_allowed. */
function allowingHosts(
  route: RoutePlan,
  { hosts }: RequestedFeatures,
  parsed: ParsedRequest,
  settings: RelaySettings,
): RoutePlan {
  const request = { ...parsed, session: parsed.route.session === true, ordered: false };
  const isUnread = (channel: ChannelSnapshot): boolean => {
    const call = callDetails(channel, request, settings, 'secret');
    return call !== null && (call.translated || servesByItself(call.provider, channel.baseUrl));
  };
  const some = route.filter((channel) => allowsModifiers(channel, settings) || isUnread(channel));
  if (some.list.length === 0) throw new AppError('member_not_allowed', { name: hosts.join(', ') });
  return some;
}

/** Why no channel serves such a request. A channel that the key is bound to and that is off for now is waited for like every other. */
function unserved(state: RelayState, { model, group, channels }: PlanKey): AppError {
  if (!state.configured(group, model)) return new AppError('model_not_found', { group, model });
  if (channels === undefined) return new AppError('channel_unavailable', { group, model });
  const bound = channels.split(',').flatMap((id) => state.channel(Number(id)) ?? []);
  const named = channelNumbers(channels);
  if (bound.length === 0) return new AppError('key_channels_gone', { channels: named });
  const isMeant = bound.some(({ models, groups }) => models.includes(model) && groups.includes(group));
  if (isMeant) return new AppError('channel_unavailable', { group, model });
  return new AppError('key_channels', { channels: named, group, model });
}

/** @param bound channels of the key; undefined = all. */
function pinnedChannel(state: RelayState, id: number, test: boolean, bound: string | undefined): ChannelSnapshot {
  allowChannel(bound, id);
  const channel = state.channel(id);
  if (channel === undefined) throw new AppError('channel_pin_unknown');
  if (channel.status !== ChannelStatus.enabled && !test) throw new AppError('channel_pin_disabled');
  return channel;
}

/** After `plan`: where it may go, in order, and what it may cost. */
export interface Plan {
  /** The candidates in the order they are tried. */
  readonly candidates: Candidates<ChannelSnapshot>;
  /** Their compiled configuration. */
  readonly route: RoutePlan;
  /** Features that the request asks for besides the model. */
  readonly requested: RequestedFeatures;
  /** Costs of other models that may work on the answer. */
  readonly others: readonly OtherCost[];
  /** Under the dearest terms the request can be served under; the bill follows what the answer reports. */
  readonly prices: Prices;
  readonly pricing: Pricing;
  /** The options that it was made under: they hold until the request ends. */
  readonly settings: RelaySettings;
  /** Quota held when it starts. */
  readonly reserveAmount: number;
  /** Quota it may cost at most; more than `reserveAmount` where a stream's hold grows ahead of what is delivered. */
  readonly max: number;
  /** The estimate of the request as it goes out. */
  readonly estimate: Estimate;
  /** Output tokens that are held for. */
  readonly reserved: number;
  /** Paid by the house. */
  readonly selfUse: boolean;
  /** As usual text has them; the bound of the hold is larger. */
  readonly promptTokens: number;
  /** Whose request it is: what the upstream keeps of it is theirs. */
  readonly ownerId: number;
  /** Names the conversation whose prompt an upstream may have cached. */
  readonly conversation: string | null;
  /** Its client names it, and channels have several keys: it stays with one of them. */
  readonly keepsKey: boolean;
  /** Who served it before. */
  readonly served: Served | null;
  /** How the candidates came about, where the operator wants it shown. */
  readonly trace: string | null;
  /** The response says what it cost. */
  readonly showCost: boolean;
}
