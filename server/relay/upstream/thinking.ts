/** Thoughts that need not be seen: which requests may have them, and what they count for where the upstream never reports them. */

import { completionTokensOf, highestQuotaOf } from '../../contract/pricing/charge.ts';
import type { Usage } from '../../protocols/canonical.ts';
import { unknownTarget } from '../../protocols/target.ts';
import { expectsThinking, requestsThinking } from '../../routing/offers.ts';
import type { Reservation } from '../admission/reservation.ts';
import type { DeliveredText } from '../shared/delivered-text.ts';
import type { Thinking } from './frame-relay.ts';
import type { OpenStream } from './open-stream.ts';
import type { Prepared } from './prepare.ts';

/** How long a model thought, and how long its words took after that, in milliseconds. */
export interface ThoughtTime {
  readonly ms: number;
  readonly wordsMs: number;
}

/** Tokens that thoughts are charged with where only their time is known. */
export interface EstimatedThought {
  readonly tokens: number;
  readonly ms: number;
  readonly tokensPerSecond: number;
}

/** Tokens per second of a model without a figure of its own. */
const defaultSpeed = 50;
/** A proxy may gather words and send them at once: what is observed raises the usual speed so many times at most. */
const fastest = 4;
/** The shortest time over which a speed is observed. */
const observedMs = 1000;

type Planned = Pick<Reservation, 'parsed' | 'plan'>;
type Requested = Pick<Prepared, 'channel' | 'upstreamModel' | 'known' | 'settings'>;

/** Whether the upstream thinks before it answers, as far as the rows and the request say. */
export function isThinkingExpected({ parsed, plan }: Planned, requested: Requested): boolean {
  const { channel, upstreamModel, known, settings } = requested;
  if (parsed.operation !== 'chat') return false;
  const { model } = parsed;
  return expectsThinking(parsed.body, { channel, model, options: plan.settings, upstreamModel, known, settings });
}

/** Whether the upstream may have thought something that the client does not see. */
export function hasHiddenThinking(reservation: Planned, requested: Requested, { thought }: Thinking): boolean {
  const target = requested.known;
  // A request may hide thinking that is usually visible.
  if (target.thoughtsVisible && thought) return false;
  // A model that no row says to think is charged for the thoughts that are seen.
  if (thought)
    return (
      (target !== unknownTarget && target.thinking !== 'none') ||
      requested.settings ||
      requestsThinking(reservation.parsed.body)
    );
  return isThinkingExpected(reservation, requested);
}

/**
 * Until the first word that is no thought; the caller has seen to it that the model thinks unseen.
 * @param nowMs epoch milliseconds. @returns null where nothing was delivered, or the upstream reported it.
 */
export function thoughtTime({ frameRelay, sentMs }: OpenStream, nowMs: number): ThoughtTime | null {
  const { firstWordMs, usageAfterWord } = frameRelay;
  const { units, audioSeconds } = frameRelay.words();
  if (usageAfterWord || units + audioSeconds === 0) return null;
  const until = firstWordMs ?? nowMs;
  return { ms: Math.max(0, until - sentMs), wordsMs: Math.max(0, nowMs - until) };
}

/**
 * The time it took at the model's usual speed, or that of the words after it where these came faster; less what the client
 * saw of it, at most what is held.
 * @param local what was counted of the delivered words. @param usage what is charged without it.
 */
export function estimateThought(
  { plan, reserved }: Pick<Reservation, 'plan' | 'reserved'>,
  prepared: Requested,
  {
    time,
    delivered,
    local,
    usage,
  }: {
    readonly time: ThoughtTime;
    readonly delivered: DeliveredText;
    readonly local: Usage;
    readonly usage: Usage;
  },
): EstimatedThought | null {
  const { estimate, prices } = plan;
  const choices = estimate.answer?.choices ?? 1;
  const fallback = prepared.known.tokensPerSecond ?? defaultSpeed;
  const observed = time.wordsMs < observedMs ? 0 : (local.output * 1000) / time.wordsMs / choices;
  const tokensPerSecond = Math.round(Math.max(fallback, Math.min(observed, fastest * fallback)));
  const seen = delivered.units === 0 ? 0 : (local.output * delivered.thoughtUnits) / delivered.units;
  const estimated = Math.floor((time.ms / 1000) * tokensPerSecond * choices - seen);
  let tokens = Math.max(0, Math.min(estimated, estimate.maxTokens - completionTokensOf(usage)));
  const costs = (reasoning: number): number =>
    highestQuotaOf({ ...usage, reasoning: usage.reasoning + reasoning }, prices);
  if (costs(tokens) > reserved) {
    // Invariant: `low` fits or is 0, `tokens` does not.
    let low = 0;
    while (tokens - low > 1) {
      const middle = Math.floor((low + tokens) / 2);
      if (costs(middle) <= reserved) low = middle;
      else tokens = middle;
    }
    tokens = low;
  }
  return tokens <= 0 ? null : { tokens, ms: Math.round(time.ms), tokensPerSecond };
}
