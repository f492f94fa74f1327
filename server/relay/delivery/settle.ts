/** Closes a request's money by the printed policy: reported usage, else a local count of what went in and came out. */

import { completionTokensOf } from '../../contract/quota.ts';
import type { Usage } from '../../protocols/canonical.ts';
import type { TokenCounter } from '../admission/counting/counter.ts';
import type { Exchange } from '../admission/exchange.ts';
import { countLocally, finalPrices } from '../admission/meter.ts';
import { reportedPrices } from '../admission/terms.ts';
import type { Tried } from '../shared/failure.ts';
import { spokenTokens } from '../shared/sound.ts';
import type { Prepared } from '../upstream/prepare.ts';
import type { StreamEnd } from './stream-options.ts';

export interface SettleFacts {
  readonly prepared: Prepared;
  /** In order. */
  readonly tried: readonly Tried[];
  /** The JSON of a whole answer. */
  readonly body?: unknown;
}

export async function settle(
  counter: TokenCounter,
  exchange: Exchange,
  facts: SettleFacts,
  end: StreamEnd,
): Promise<void> {
  const { inquiry, plan, charge } = exchange;
  const { prepared } = facts;
  const nothing = end.endReason !== 'completed' && end.firstByteMs === null;
  const usage =
    end.usage !== null && end.usageSource === 'reported'
      ? end.usage
      : nothing
        ? null
        : await counted(counter, exchange, end, facts.body ?? null);
  const { upstreamModel, terms } = prepared;
  const prices = reportedPrices(plan.prices, plan.pricing, { model: inquiry.model, upstreamModel, terms }, end.usage);
  await charge.finish({
    endReason: end.endReason,
    usage,
    usageSource: nothing ? 'none' : (end.usageSource ?? 'estimated'),
    prices: finalPrices(inquiry, prices, end.usage, facts.body ?? null),
    channel: prepared.channel,
    upstreamModel: prepared.upstreamModel,
    firstByteMs: end.firstByteMs,
    tried: facts.tried,
    dropped: prepared.dropped,
    ...(end.failure === undefined ? {} : { failure: end.failure }),
  });
}

async function counted(counter: TokenCounter, exchange: Exchange, end: StreamEnd, body: unknown): Promise<Usage> {
  const words = await countLocally(counter, exchange.inquiry, { body, told: end.delivered });
  const { spokenSeconds } = end.delivered;
  const local = spokenSeconds === 0 ? words : { ...words, audioOutput: spokenTokens(spokenSeconds) };
  const reported = end.usage;
  // Part of the story was told by the upstream: what it reported first, but no less than what was delivered.
  if (reported === null) return local;
  if (local.audioOutput > reported.audioOutput)
    return { ...reported, output: local.output, audioOutput: local.audioOutput };
  const more = local.output - completionTokensOf(reported);
  return more > 0 ? { ...reported, output: reported.output + more } : reported;
}
