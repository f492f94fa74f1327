/** Stage 3: which channels may serve the request, in which order, and what is held for it. */
import { ChannelStatus } from '../contract/enums.ts';
import { AppError } from '../contract/errors.ts';
import { resolvePrices } from '../contract/pricing-tables.ts';
import { holdEstimate } from '../contract/quota.ts';
import { type Affinity, conversationKey } from './affinity.ts';
import { type ChooseFacts, orderChannels } from './choose.ts';
import type { Inquiry, Plan, Principal } from './exchange.ts';
import type { Health } from './health.ts';
import { estimate } from './meter.ts';
import type { ChannelSnapshot } from './snapshot.ts';
import type { RelayState, Route } from './state.ts';
import { traceOf } from './trace.ts';

export interface PlanDeps {
  readonly state: RelayState;
  readonly health: Health;
  readonly affinity: Affinity;
  readonly random: () => number;
}

/** @param test a disabled channel may be tested. @throws AppError channel_*, model_price_unset. */
export function makePlan(deps: PlanDeps, inquiry: Inquiry, principal: Principal, test = false): Plan {
  const { state } = deps;
  const { group, user } = principal;
  const pinned = principal.pinnedChannel;
  const route =
    pinned === null
      ? continuing(deps.affinity, inquiry, state.route(group, inquiry.model))
      : [[pinnedChannel(state, pinned, test)]];
  // With nobody to choose from, nothing needs to be remembered.
  const conversation = route.some((tier) => tier.length > 1) ? conversationKey(inquiry, principal) : null;
  const facts: ChooseFacts = {
    random: deps.random,
    condition: deps.health.condition,
    waitMs: deps.health.waitMs,
    preferred: () => deps.affinity.find(conversation),
  };
  const candidates = orderChannels(route, facts);
  if (candidates.length === 0) throw new AppError('channel_unavailable', { group, model: inquiry.model });
  const settings = state.settings();
  const acceptUnset = settings.selfUse || user.setting.accept_unset_model_ratio_model === true;
  const prices = resolvePrices(settings.priceTables, inquiry.model, { group, userGroup: user.group, acceptUnset });
  if (prices === null) throw new AppError('model_price_unset', { model: inquiry.model });
  const size = estimate(inquiry, prices, settings.preConsumedQuota);
  return {
    candidates,
    prices,
    promptTokens: size.promptTokens,
    hold: holdEstimate(size.prices, size),
    conversation,
    showCost: settings.showCost,
    trace: settings.showTrace ? traceOf(route, candidates, facts) : null,
  };
}

/** A kept response continues where it was made, as long as that channel still serves the caller. */
function continuing(affinity: Affinity, inquiry: Inquiry, route: Route): Route {
  const id = inquiry.protocol === 'openai-responses' ? inquiry.body.previous_response_id : null;
  const made = typeof id === 'string' ? affinity.channelOfResponse(id) : null;
  const channel = made === null ? undefined : route.flat().find((candidate) => candidate.id === made);
  return channel === undefined ? route : [[channel]];
}

function pinnedChannel(state: RelayState, id: number, test: boolean): ChannelSnapshot {
  const channel = state.channel(id);
  if (channel === undefined) throw new AppError('channel_pin_unknown');
  if (channel.status !== ChannelStatus.enabled && !test) throw new AppError('channel_pin_disabled');
  return channel;
}
