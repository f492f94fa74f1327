/** Stage 3: which channels may serve the request, in which order, and what is held for it. */
import { ChannelStatus } from '../contract/enums.ts';
import { AppError } from '../contract/errors.ts';
import { resolvePrices } from '../contract/pricing-tables.ts';
import { holdEstimate } from '../contract/quota.ts';
import { orderChannels } from './choose.ts';
import type { Inquiry, Plan, Principal } from './exchange.ts';
import { boundPromptTokens } from './prompt.ts';
import type { ChannelSnapshot } from './snapshot.ts';
import type { RelayState } from './state.ts';

/** @param test a disabled channel may be tested. @throws AppError channel_*, model_price_unset. */
export function makePlan(
  state: RelayState,
  inquiry: Inquiry,
  principal: Principal,
  random: () => number,
  test = false,
): Plan {
  const { group, user } = principal;
  const candidates =
    principal.pinnedChannel === null
      ? orderChannels(state.route(group, inquiry.model), random)
      : [pinnedChannel(state, principal.pinnedChannel, test)];
  if (candidates.length === 0) throw new AppError('channel_unavailable', { group, model: inquiry.model });
  const settings = state.settings();
  const acceptUnset = settings.selfUse || user.setting.accept_unset_model_ratio_model === true;
  const prices = resolvePrices(settings.priceTables, inquiry.model, { group, userGroup: user.group, acceptUnset });
  if (prices === null) throw new AppError('model_price_unset', { model: inquiry.model });
  const promptTokens = boundPromptTokens(inquiry.prompt);
  return {
    candidates,
    prices,
    promptTokens,
    hold: holdEstimate(prices, { promptTokens, maxTokens: maxTokensOf(inquiry.body) ?? settings.preConsumedQuota }),
  };
}

function pinnedChannel(state: RelayState, id: number, test: boolean): ChannelSnapshot {
  const channel = state.channel(id);
  if (channel === undefined) throw new AppError('channel_pin_unknown');
  if (channel.status !== ChannelStatus.enabled && !test) throw new AppError('channel_pin_disabled');
  return channel;
}

function maxTokensOf(body: Readonly<Record<string, unknown>>): number | null {
  const asked = [body.max_tokens, body.max_completion_tokens, body.max_output_tokens].filter(
    (value): value is number => typeof value === 'number' && Number.isFinite(value) && value > 0,
  );
  if (asked.length === 0) return null;
  const choices = typeof body.n === 'number' && body.n > 1 ? Math.min(Math.floor(body.n), 128) : 1;
  return Math.ceil(Math.max(...asked)) * choices;
}
