/** Extends a stream's hold ahead of what is delivered, where it did not hold the whole when it began. */
import type { Exchange } from '../admission/exchange.ts';
import type { DeliveredText } from '../shared/delivered-text.ts';

/**
 * Asked before bytes are delivered. @param told the words delivered so far, read only when it may have become tight.
 * @returns false when they cannot be paid for.
 */
export type Cover = (bytes: number, told: () => DeliveredText) => boolean;

/** @param stake output tokens to hold for ahead. @returns null where the whole is held. */
export function createCover({ plan, charge }: Pick<Exchange, 'plan' | 'charge'>, stake: number): Cover | null {
  const { held, estimate } = plan;
  if (plan.hold === plan.most) return null;
  // No tokenizer makes more tokens than there are bytes: so many are surely enough, without looking into the frames.
  let covered = held;
  let counted = 0;
  let unread = 0;
  let texts = 0;
  let kept = 0;
  let keptBytes = 0;

  const count = ({ texts: words, units }: DeliveredText): void => {
    for (; texts < words.length; texts++) {
      const word = words[texts] ?? '';
      kept += word.length;
      keptBytes += Buffer.byteLength(word);
    }
    // What was not kept is taken at its worst.
    counted = keptBytes + 3 * (units - kept);
    unread = 0;
  };
  const extend = (tokens: number): boolean => {
    if (!charge.cover(tokens)) return false;
    covered = tokens;
    return true;
  };

  return (bytes, told) => {
    if (counted + unread + bytes > covered && covered < estimate.maxTokens) {
      count(told());
      const needed = counted + bytes;
      if (needed > covered && !extend(needed + stake) && !extend(needed)) return false;
    }
    unread += bytes;
    return true;
  };
}
