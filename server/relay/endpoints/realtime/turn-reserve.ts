/** Holds for every answer of a conversation before it runs; where the balance has less, for a shorter one that is asked for instead. */

import { AppError } from '../../../contract/errors.ts';
import { completionTokensOf, highestQuotaOf, promptTokensOf } from '../../../contract/pricing/charge.ts';
import type { Prices } from '../../../contract/pricing/price.ts';
import type { Usage } from '../../../protocols/canonical.ts';
import type { Json } from '../../../protocols/shared/json.ts';
import { emptyUsage } from '../../../protocols/shared/usage.ts';
import type { Reservation } from '../../admission/reservation.ts';
import type { Turns } from './turns.ts';
import { sum } from './usage.ts';

/** Tokens of an answer that is worth asking for: a second of speech. */
const minResponseTokens = 20;

export interface TurnReservation {
  /** Whether the answer that `ask` is about is affordable as long as it may get. */
  affordsAnswer(response: Json | null): boolean;
  /** Whether the answer that `update` is about is affordable without a shorter limit. */
  affordsSpeech(): boolean;
  /** The client asks for an answer. @returns tokens it may write, null = not even a short one is carried. */
  ask(response: Json | null): { readonly limit: number; readonly shorter: boolean } | null;
  /** A user speaks, and a response may begin without a request. @returns the limit to send upstream, 0 = none is needed, null = the balance does not suffice. */
  update(fresh: boolean): number | null;
  /** Something was delivered. @returns false when it cannot be carried. */
  delivered(): boolean;
  /** Why the last answer was not carried, where that was its length: a single request may take no more tokens. null = it was the money. */
  tooLong(): AppError | null;
}

/** @param otherUsage what else comes on the same bill. */
export function createTurnReservation(
  charge: Pick<Reservation, 'reserved' | 'extendTo' | 'mostTokens'>,
  prices: Prices,
  turns: Turns,
  otherUsage: () => Usage,
): TurnReservation {
  /** Of the answer that is too long; 0 = none is. */
  let needed = 0;
  const isAffordable = (next: Usage | null): boolean => {
    const tokens = next === null ? 0 : Math.ceil(promptTokensOf(next) + completionTokensOf(next));
    needed = tokens > charge.mostTokens ? tokens : 0;
    if (needed > 0) return false;
    const more = otherUsage();
    const due = more === emptyUsage ? turns.max() : sum(turns.max(), more);
    const usage = next === null ? due : sum(due, next);
    return highestQuotaOf(usage, prices) <= charge.reserved || charge.extendTo(usage);
  };
  /** Half of what is wished for, and half of that: so the next request finds something as well. 0 = none. */
  const maxLength = (response: Json | null, requested: number): number => {
    for (let limit = requested; ; limit = Math.max(minResponseTokens, Math.floor(limit / 2))) {
      if (isAffordable(turns.next(response, limit))) return limit;
      if (limit <= minResponseTokens) return 0;
    }
  };
  /** Highest usage that was last found to be affordable, and the other usage beside it. */
  let affordable: Usage | null = null;
  let affordableWith: Usage | null = null;
  /** Set where the session's limit is ours. */
  let lowered: number | null = null;
  let settings = 0;

  const limitNow = (): number => lowered ?? turns.session.limit();

  return {
    tooLong: () =>
      needed === 0 ? null : new AppError('request_tokens', { need: String(needed), most: String(charge.mostTokens) }),
    affordsAnswer: (response) => isAffordable(turns.next(response, turns.session.limitOf(response))),
    affordsSpeech: () => isAffordable(turns.session.acceptsAudio() ? turns.next(null, limitNow()) : null),
    ask(response) {
      const requested = turns.session.limitOf(response);
      const limit = maxLength(response, requested);
      if (limit === 0) return null;
      turns.ask(turns.next(response, limit));
      return { limit, shorter: limit < requested };
    },
    update(fresh) {
      const { session } = turns;
      if (!session.acceptsAudio()) return isAffordable(null) ? 0 : null;
      if (session.settings() !== settings) lowered = null;
      settings = session.settings();
      const requested = session.requested();
      if (lowered !== null && fresh && isAffordable(turns.next(null, requested))) {
        lowered = null;
        return requested;
      }
      const now = limitNow();
      const limit = maxLength(null, now);
      if (limit === 0) return null;
      if (limit === now) return 0;
      lowered = limit;
      return limit;
    },
    delivered: () => {
      turns.raiseMax(minResponseTokens);
      // Most events are pieces of an answer that is held for already.
      if (turns.max() === affordable && otherUsage() === affordableWith) return true;
      if (!isAffordable(null)) return false;
      affordable = turns.max();
      affordableWith = otherUsage();
      return true;
    },
  };
}
