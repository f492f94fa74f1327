/** The one place that turns how a request ended into the entry of its money, whatever was asked for. */
import type { EndReason, UsageSource } from '../../contract/enums.ts';
import { AppError } from '../../contract/errors.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { FinishReason, Usage } from '../../protocols/canonical.ts';
import type { ClientError } from '../../protocols/codec.ts';
import type { Exchange } from '../admission/exchange.ts';
import { finalPrices } from '../admission/meter.ts';
import { reportedPrices, type SentTerms, withUses } from '../admission/terms.ts';
import { failureError, type Tried } from '../shared/failure.ts';
import { candidError, clientError, retryAfterOf } from '../shared/render-error.ts';
import type { EstimatedThought } from '../upstream/thinking.ts';
import type { Failed } from '../upstream/try-channels.ts';

/** Who served it, and how it was asked. */
export interface Served {
  readonly channel: ChannelSnapshot;
  readonly upstreamModel: string;
  readonly dropped: readonly string[];
  /** How the conversation was made short; null = nobody asked for that. */
  readonly compaction?: string | null;
  /** Absent = none could be sent. */
  readonly terms?: SentTerms;
}

export interface Ended {
  readonly endReason: EndReason;
  /** null = nothing is charged. */
  readonly usage: Usage | null;
  readonly usageSource: UsageSource;
  /** What the upstream itself said, where that is not what is charged: terms and pictures are priced by it. */
  readonly reported?: Usage | null;
  /** The JSON of a whole answer. */
  readonly body?: unknown;
  readonly firstByteMs: number | null;
  /** How the upstream says that a stream ended, for whoever wants to know. */
  readonly finishReason?: () => FinishReason | null;
  /** In order. */
  readonly tried: readonly Tried[];
  /** What of the usage was charged for thoughts by their time. */
  readonly thought?: EstimatedThought | null;
  /** Words for the log row. */
  readonly content?: string;
  readonly failure?: string;
}

/** @param served null = nobody did. Resolves as `Charge.finish` does. */
export function finishRequest(
  { inquiry, plan, charge }: Exchange,
  served: Served | null,
  ended: Ended,
  last: ChannelSnapshot | null = null,
): Promise<void> {
  const { body = null, reported = ended.usage } = ended;
  const { model } = inquiry;
  const terms = served?.terms;
  const prices =
    served === null || terms === undefined
      ? plan.prices
      : reportedPrices(plan.prices, plan.pricing, { model, upstreamModel: served.upstreamModel, terms }, reported);
  // Member by member: this runs for each request, and copies of whole objects cost as much as all the rest of it.
  return charge.finish({
    endReason: ended.endReason,
    usage: terms === undefined ? ended.usage : withUses(ended.usage, terms, prices),
    usageSource: ended.usageSource,
    firstByteMs: ended.firstByteMs,
    finishReason: ended.finishReason,
    tried: ended.tried,
    thought: ended.thought ?? undefined,
    content: ended.content,
    failure: ended.failure,
    prices: served === null ? prices : finalPrices(inquiry, prices, reported, body),
    channel: served?.channel ?? last,
    upstreamModel: served?.upstreamModel ?? '',
    dropped: served?.dropped ?? [],
    compaction: served?.compaction ?? undefined,
    answer: body,
  });
}

/** Why nobody served it, other than because nobody could. */
export interface Circumstances {
  /** The client left. */
  readonly gone: boolean;
  /** We ended it. */
  readonly stopped: AppError | null;
}

export interface Refusal {
  readonly shown: ClientError;
  /** Seconds after which another try makes sense. */
  readonly retryAfter: number | null;
}

/** What is told of a request that nobody served. */
export function refusalOf(
  { inquiry }: Exchange,
  failed: Failed,
  { gone, stopped }: Circumstances,
): Refusal & { readonly error: AppError } {
  const { failure, tried } = failed;
  const error =
    stopped ??
    failed.error ??
    (failure !== null
      ? failureError(failure, failed.final)
      : tried.length === 0 && !gone
        ? new AppError('operation_unsupported', { operation: inquiry.operation })
        : new AppError('upstream_unreachable'));
  const shown = clientError(error, inquiry.requestId, failure);
  return {
    error,
    shown: inquiry.candid === true ? candidError(shown, failure) : shown,
    retryAfter: failure?.retryAfter ?? retryAfterOf(stopped),
  };
}

/** Gives the hold back and writes the error row. @returns what to tell the client. */
export async function finishFailed(exchange: Exchange, failed: Failed, circumstances: Circumstances): Promise<Refusal> {
  const { failure, tried, last } = failed;
  const { gone, stopped } = circumstances;
  const { error, ...refusal } = refusalOf(exchange, failed, circumstances);
  await finishRequest(
    exchange,
    null,
    {
      endReason: gone
        ? 'client_gone'
        : stopped !== null
          ? 'stopped'
          : failed.error !== null
            ? 'rejected'
            : 'upstream_failed',
      usage: null,
      usageSource: 'none',
      firstByteMs: null,
      tried,
      content: refusal.shown.message,
      failure:
        failure === null ? error.code : `${failure.reason}${failure.status === null ? '' : ` ${failure.status}`}`,
    },
    last,
  );
  return refusal;
}

/** Something went wrong on our own side: nothing is charged. */
export const finishBroken = (exchange: Exchange, error: unknown): Promise<void> =>
  finishRequest(exchange, null, {
    endReason: 'upstream_failed',
    usage: null,
    usageSource: 'none',
    firstByteMs: null,
    tried: [],
    content: clientError(error, exchange.inquiry.requestId).message,
  });
