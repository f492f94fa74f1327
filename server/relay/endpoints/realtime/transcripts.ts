/** What was said is written down by other models, which have prices of their own: each has a row of its own. */
import type { Usage } from '../../../protocols/canonical.ts';
import { emptyUsage } from '../../../protocols/shared/usage.ts';
import type { Finish } from '../../admission/charge.ts';
import type { Exchange } from '../../admission/exchange.ts';
import type { ChannelSnapshot } from '../../state/snapshot.ts';
import { recordedTokens, sum, type Transcribed } from './usage.ts';

export interface Transcripts {
  /** @returns null = charged there, false = charged, but the balance does not carry it; else what belongs to the conversation's own bill. */
  take(model: string | null, transcribed: Transcribed): Usage | null | false;
  /** @param endReason of the conversation. */
  finish(endReason: Finish['endReason']): Promise<void>;
}

interface Bill {
  readonly exchange: Exchange;
  usage: Usage;
  seconds: number;
}

const owed = ({ usage, seconds }: Transcribed): Usage => sum(usage, { ...emptyUsage, input: recordedTokens(seconds) });

/** @param admit opens a bill for a model. @throws AppError where it may not be, or has no price. */
export function createTranscripts(admit: (model: string) => Exchange, channel: ChannelSnapshot): Transcripts {
  /** null = the model's bill cannot be opened. */
  const bills = new Map<string, Bill | null>();
  const billOf = (model: string): Bill | null => {
    const known = bills.get(model);
    if (known !== undefined) return known;
    let bill: Bill | null = null;
    try {
      bill = { exchange: admit(model), usage: emptyUsage, seconds: 0 };
    } catch {
      // It happened and is paid for: by the conversation's own price then.
    }
    bills.set(model, bill);
    return bill;
  };
  return {
    take(model, transcribed) {
      const bill = model === null ? null : billOf(model);
      if (bill === null) return owed(transcribed);
      bill.usage = sum(bill.usage, transcribed.usage);
      bill.seconds += transcribed.seconds;
      const { charge } = bill.exchange;
      charge.checkpoint(owed(bill), channel);
      return charge.extendTo(owed(bill)) ? null : false;
    },
    async finish(endReason) {
      for (const bill of bills.values()) {
        if (bill === null) continue;
        await bill.exchange.charge.finish({
          endReason,
          usage: owed(bill),
          usageSource: 'reported',
          prices: bill.exchange.plan.prices,
          channel,
          upstreamModel: bill.exchange.inquiry.model,
          firstByteMs: null,
          tried: [],
          dropped: [],
        });
      }
    },
  };
}
