/** The end of a request, whatever was asked for: what its response says about the channel, what it cost (reported usage, else a local count of what went in and came out), and the one entry of its money. */

import { soldAs } from '../../contract/answered-model.ts';
import type { CacheMiss, LoggedDiagnosis } from '../../contract/cache-miss.ts';
import type { EndReason, UsageSource } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { weightOf } from '../../contract/pricing/bucket.ts';
import { atFactor } from '../../contract/pricing/channel-factor.ts';
import { completionTokensOf, promptTokensOf, quotaOf } from '../../contract/pricing/charge.ts';
import type { Prices } from '../../contract/pricing/price.ts';
import { resolvePrices } from '../../contract/pricing/tables.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { FinishReason, Usage } from '../../protocols/canonical.ts';
import type { ClientError } from '../../protocols/codec.ts';
import type { CacheDiagnosis } from '../../protocols/shared/cache-diagnosis.ts';
import { endedEarly } from '../../protocols/shared/ended-early.ts';
import { hostedCallsIn } from '../../protocols/shared/tool-usage.ts';
import { emptyUsage } from '../../protocols/shared/usage.ts';
import type { SentModifiers } from '../../routing/offers.ts';
import { type CacheWatch, withDiagnosis } from '../admission/cache-watch.ts';
import type { TokenCounter } from '../admission/counting/counter.ts';
import { type Evidence, isTrusted } from '../admission/evidence.ts';
import { countLocally, finalPrices } from '../admission/meter.ts';
import { reportedPrices, withUses } from '../admission/modifiers.ts';
import type { Reservation } from '../admission/reservation.ts';
import { isTight } from '../admission/reserve.ts';
import { callerOf } from '../routing/health.ts';
import { audioTokens } from '../shared/audio.ts';
import { isOurs, type Reporter } from '../shared/defect.ts';
import type { DeliveredText } from '../shared/delivered-text.ts';
import {
  type AttemptSummary,
  attemptSummary,
  failedAttempt,
  failureError,
  mayRetry,
  type UpstreamFailure,
} from '../shared/failure.ts';
import { clientError, retryAfterOf, withUpstreamWords } from '../shared/render-error.ts';
import type { RelayState } from '../state/state.ts';
import { inBodyFailure, type Outcome } from '../upstream/attempt.ts';
import type { Prepared } from '../upstream/prepare.ts';
import type { Failed, SendCore } from '../upstream/send.ts';
import { type EstimatedThought, estimateThought, type ThoughtTime } from '../upstream/thinking.ts';
import type { ResponseItems } from './response-items.ts';

/** Parts that all requests of a relay are settled with. */
export interface SettleCore extends Reporter {
  readonly counter: TokenCounter;
  readonly state: Pick<RelayState, 'settings'>;
  readonly items: ResponseItems;
  readonly evidence: Evidence;
  readonly cacheWatch: CacheWatch;
}

export interface SettleInput {
  readonly prepared: Prepared;
  /** In order. */
  readonly attempts: readonly AttemptSummary[];
  /** The JSON of a whole answer. */
  readonly body?: unknown;
}

/** How an answer ended, and what is known of its cost. */
export interface StreamEnd {
  readonly endReason: EndReason;
  readonly usage: Usage | null;
  readonly usageSource: UsageSource | null;
  /** Text the client received, where the usage does not say all. */
  readonly delivered: DeliveredText;
  /** Set where the upstream may have thought unseen and never reported it. */
  readonly thought?: ThoughtTime | null;
  readonly firstByteMs: number | null;
  /** The upstream had been given the request and had not failed, although no byte of its answer came. */
  readonly sent?: true;
  readonly failure?: string;
  /** The finish reason that the upstream reported. */
  readonly finishReason?: () => FinishReason | null;
  /** The answer by its upstream's id; why its provider says that the cache was missed. */
  readonly responseId?: string | null;
  readonly diagnosis?: CacheDiagnosis | null;
}

/** Settles what a response cost and ends its request. Resolves when the bill is durable. */
export function closeRequest(
  core: SettleCore,
  reservation: Reservation,
  input: SettleInput,
  end: StreamEnd,
): Promise<void> {
  const isReported = end.usage !== null && end.usageSource === 'reported';
  const isNothing = end.endReason !== 'completed' && end.firstByteMs === null && end.sent !== true;
  const isWhole = isReported && end.endReason === 'completed';
  const missed = isWhole && end.usage !== null ? cacheMissOf(core, reservation, input, end, end.usage) : null;
  const settled =
    isReported || isNothing
      ? finish(reservation, input, end, isReported ? end.usage : null, null, missed)
      : finishCounted(core, reservation, input, end);
  keepItems(core, reservation);
  if (isWhole && end.usage !== null) noteEvidence(core, reservation, input, end.usage);
  return settled.then(() => endOf(core, reservation));
}

/** The response is paid for and goes out, whatever goes wrong with the figures of open requests. */
export function endOf(core: Reporter, reservation: Reservation): void {
  try {
    reservation.owner?.over();
  } catch (error) {
    core.report(error, reservation.parsed.requestId);
    reservation.owner?.leave();
  }
}

/** Only where a request like it would hold so much of what there is that it matters. */
function noteEvidence(core: SettleCore, reservation: Reservation, { prepared }: SettleInput, usage: Usage): void {
  if (!isTight(reservation)) return;
  try {
    const { channel, key, upstreamModel } = prepared;
    const { sentMs, responseBytes: received } = reservation;
    core.evidence.answered(reservation, { channel, key, upstreamModel, sentMs, received }, usage);
  } catch (error) {
    core.report(error, reservation.parsed.requestId);
  }
}

/** Of conversations that their clients name, where the cache has a price of its own. The request is paid for whatever goes wrong here. */
function cacheMissOf(
  core: SettleCore,
  reservation: Reservation,
  { prepared: { channel, key, upstreamModel: model } }: SettleInput,
  { responseId, diagnosis = null }: StreamEnd,
  usage: Usage,
): CacheMiss | null {
  const { parsed, plan, principal } = reservation;
  const conversation = reservation.names?.session;
  if (usage.parts !== undefined || weightOf(plan.prices, 'cacheRead') >= 1) return null;
  if (conversation === undefined && diagnosis === null) return null;
  const rules = core.state.settings.requestRules;
  try {
    const { sentMs } = reservation;
    const miss =
      conversation === undefined
        ? null
        : core.cacheWatch.answered({
            ...{ userId: principal.user.id, conversation, parsed, channel, key, model, rules, usage, sentMs },
            ...{ responseId: responseId ?? null },
          });
    return diagnosis === null ? miss : withDiagnosis(miss, diagnosis, promptTokensOf(usage) - usage.cacheRead);
  } catch (error) {
    core.report(error, parsed.requestId);
    return null;
  }
}

/** The money has ended: what goes wrong from here on takes nothing back. */
function keepItems(core: SettleCore, reservation: Reservation): void {
  try {
    if (reservation.items !== null) core.items.keep(reservation, reservation.items());
  } catch (error) {
    core.report(error, reservation.parsed.requestId);
  }
}

async function finishCounted(
  core: SettleCore,
  reservation: Reservation,
  input: SettleInput,
  end: StreamEnd,
): Promise<void> {
  let found: Counted;
  try {
    found = await counted(core.counter, reservation, end, input.body ?? null);
  } catch (error) {
    core.report(error, reservation.parsed.requestId);
    // Reported usage is charged, else a bound by the length.
    return finish(reservation, input, end, end.usage ?? roughUsage(reservation, end.delivered.units), null);
  }
  const { usage, local } = found;
  const { thought: time = null, delivered } = end;
  const thought =
    time === null ? null : estimateThought(reservation, input.prepared, { time, delivered, local, usage });
  const all = thought === null ? usage : { ...usage, reasoning: usage.reasoning + thought.tokens };
  return finish(reservation, input, end, all, thought);
}

function finish(
  reservation: Reservation,
  { prepared, attempts, body }: SettleInput,
  end: StreamEnd,
  usage: Usage | null,
  thought: EstimatedThought | null,
  cacheMiss: CacheMiss | null = null,
): Promise<void> {
  return finishRequest(reservation, prepared, {
    endReason: end.endReason,
    usage,
    usageSource: usage === null ? 'none' : (end.usageSource ?? 'estimated'),
    reported: end.usage,
    body,
    firstByteMs: end.firstByteMs,
    attempts,
    failure: end.failure,
    finishReason: end.finishReason,
    thought,
    cacheMiss,
    diagnosis: end.diagnosis ? { ...end.diagnosis, asked: prepared.asked !== null } : null,
  });
}

interface Counted {
  readonly usage: Usage;
  /** The count that was made here alone. */
  readonly local: Usage;
}

async function counted(
  counter: TokenCounter,
  reservation: Reservation,
  end: StreamEnd,
  body: unknown,
): Promise<Counted> {
  const words = await countLocally(counter, reservation.parsed, {
    body,
    text: end.delivered,
    left: end.endReason === 'client_gone',
  });
  const { audioSeconds, calls } = end.delivered;
  const withAudio = audioSeconds === 0 ? words : { ...words, audioOutput: audioTokens(audioSeconds) };
  const local = withCalls(withAudio, calls ?? (body === null ? noCalls : hostedCallsIn(body)));
  const reported = end.usage === null ? null : withCalls(end.usage, local.toolCalls);
  // The upstream reported usage only in part: its first report counts, but no less than what was delivered.
  if (reported === null) return { usage: local, local };
  const spoken = local.audioOutput - reported.audioOutput;
  // Sound that it did not tell from words is among them: these become fewer, all of it does not.
  if (spoken > 0) {
    const output = Math.max(local.output, reported.output - spoken);
    return { usage: { ...reported, output, audioOutput: local.audioOutput }, local };
  }
  const more = local.output - completionTokensOf(reported);
  return { usage: more > 0 ? { ...reported, output: reported.output + more } : reported, local };
}

const noCalls: Usage['toolCalls'] = {};

/** Calls that were seen count although no usage reports them. */
function withCalls(usage: Usage, seen: Usage['toolCalls']): Usage {
  let toolCalls: Record<string, number> | null = null;
  for (const tool in seen) {
    const count = seen[tool] ?? 0;
    if (count <= (usage.toolCalls[tool] ?? 0)) continue;
    toolCalls ??= { ...usage.toolCalls };
    toolCalls[tool] = count;
  }
  return toolCalls === null ? usage : { ...usage, toolCalls };
}

/** The attempt that served it. */
export interface Served {
  readonly channel: ChannelSnapshot;
  readonly upstreamModel: string;
  readonly dropped: readonly string[];
  /** How the conversation was compacted; null = it was not requested. */
  readonly compaction?: string | null;
  /** Absent = none could be sent. */
  readonly modifiers?: SentModifiers;
}

export interface Ended {
  readonly endReason: EndReason;
  /** null = nothing is charged. */
  readonly usage: Usage | null;
  readonly usageSource: UsageSource;
  /** Usage as the upstream reported it, where the charge differs: modifiers and pictures are priced by it. */
  readonly reported?: Usage | null;
  /** The JSON of a whole answer. */
  readonly body?: unknown;
  readonly firstByteMs: number | null;
  /** The finish reason of a stream, for observers. */
  readonly finishReason?: () => FinishReason | null;
  /** In order. */
  readonly attempts: readonly AttemptSummary[];
  /** The part of the usage that was charged for thoughts by their time. */
  readonly thought?: EstimatedThought | null;
  /** Why the provider's cache did not have what it had; null = it did. */
  readonly cacheMiss?: CacheMiss | null;
  /** The provider's own diagnosis; null = none. */
  readonly diagnosis?: LoggedDiagnosis | null;
  /** Words for the log row. */
  readonly content?: string;
  readonly failure?: string;
}

/** The one place that turns how a request ended into the entry of its money. @param served null = no channel did. Resolves as `Reservation.finish` does. */
export function finishRequest(
  reservation: Reservation,
  served: Served | null,
  ended: Ended,
  last: ChannelSnapshot | null = null,
): Promise<void> {
  const { parsed, plan } = reservation;
  const { body = null, reported = ended.usage } = ended;
  const modifiers = served?.modifiers;
  const requestedPrices =
    served === null || modifiers === undefined
      ? plan.prices
      : reportedPrices(
          plan.prices,
          plan.pricing,
          { model: parsed.model, upstreamModel: served.upstreamModel, modifiers },
          reported,
        );
  const cheaper =
    served?.channel.setting.bill_answered === true && ended.usageSource === 'reported' && reported !== null
      ? answeredPrices(reservation, served, reported, requestedPrices)
      : null;
  const prices = cheaper ?? requestedPrices;
  // Member by member: this runs for each request, and copies of whole objects cost as much as all the rest of it.
  return reservation.finish({
    endReason: ended.endReason,
    usage: modifiers === undefined ? ended.usage : withUses(ended.usage, modifiers, prices),
    usageSource: ended.usageSource,
    firstByteMs: ended.firstByteMs,
    finishReason: ended.finishReason,
    attempts: ended.attempts,
    thought: ended.thought ?? undefined,
    content: ended.content,
    failure: ended.failure,
    cacheMiss: ended.cacheMiss ?? undefined,
    diagnosis: ended.diagnosis ?? undefined,
    prices:
      served === null
        ? prices
        : finalPrices(parsed, prices, served, reported, {
            body,
            left: ended.endReason === 'client_gone',
            counted: reported === null ? ended.usage : null,
          }),
    channel: served?.channel ?? last,
    upstreamModel: served?.upstreamModel ?? '',
    dropped: served?.dropped ?? [],
    compaction: served?.compaction ?? undefined,
    answer: body,
  });
}

/** The prices of the model that answered in place of the one that was sent, where they come to less and its channel is trusted. */
function answeredPrices(
  reservation: Reservation,
  { channel, upstreamModel, modifiers }: Served,
  usage: Usage,
  requested: Prices,
): Prices | null {
  const { parsed, plan } = reservation;
  if (modifiers === undefined || parsed.operation !== 'chat' || requested.modelPrice !== null) return null;
  const model = isTrusted(channel) ? reservation.otherModel({ upstreamModel, usage }) : null;
  const name = model === null ? null : soldAs(plan.pricing.tables, model);
  const found = name === null ? null : resolvePrices(plan.pricing.tables, name, plan.pricing);
  const own = found === null ? null : atFactor(found, requested.channel?.factor ?? 1);
  // A price of zero is a model of a list, or a mistake: nobody is served for nothing because an upstream names it.
  if (name === null || own === null || own.modelPrice !== null || own.modelRatio === 0) return null;
  const prices = reportedPrices(own, plan.pricing, { model: name, upstreamModel: name, modifiers }, usage);
  return quotaOf(usage, prices) < quotaOf(usage, requested) ? { ...prices, listedAs: name } : null;
}

/** The end of whatever no other step has ended: charged for nothing, and over. Does nothing where all is over. Never throws. */
export function closeUnfinished(core: Reporter, reservation: Reservation): void | Promise<void> {
  try {
    if (!reservation.isFinished) return closeBroken(core, reservation);
  } catch (error) {
    core.report(error, reservation.parsed.requestId);
    return abandon(core, reservation);
  }
  endOf(core, reservation);
}

async function closeBroken(core: Reporter, reservation: Reservation): Promise<void> {
  try {
    await finishBroken(reservation, null);
  } catch (error) {
    core.report(error, reservation.parsed.requestId);
    return abandon(core, reservation);
  }
  endOf(core, reservation);
}

/** Ends a request whose settlement failed by a defect of ours: the reservation is given up. */
async function abandon(core: Reporter, reservation: Reservation): Promise<void> {
  await reservation.abandon();
  endOf(core, reservation);
}

/** Prompt and words by their length alone: never more than was sent and delivered. @param units UTF-16 units that the client got. */
const roughUsage = ({ plan }: Reservation, units: number): Usage => ({
  ...emptyUsage,
  // The plan's count is a bound: twice what ordinary text takes.
  input: Math.ceil(plan.promptTokens / 2),
  output: Math.ceil(units / 4),
});

/** A defect of ours met what the client had begun to receive, and the usual count of it as well: what was delivered is charged by its length. */
export const finishRoughly = (reservation: Reservation, channel: ChannelSnapshot, units: number): Promise<void> =>
  reservation.finish({
    endReason: 'internal',
    usage: roughUsage(reservation, units),
    usageSource: 'estimated',
    prices: reservation.plan.prices,
    channel,
    upstreamModel: '',
    firstByteMs: null,
    attempts: [attemptSummary(channel)],
    dropped: [],
  });

/** Something went wrong on our own side: nothing is charged. */
export const finishBroken = (reservation: Reservation, error: unknown): Promise<void> =>
  finishRequest(reservation, null, {
    endReason: isOurs(error) ? 'internal' : 'upstream_failed',
    usage: null,
    usageSource: 'none',
    firstByteMs: null,
    attempts: [],
    content: clientError(error, reservation.parsed.requestId).message,
  });

/** Why no channel served it, other than that none could. */
export interface FailureContext {
  /** The client left. */
  readonly clientGone: boolean;
  /** We ended it. */
  readonly stopped: AppError | null;
}

export interface Refusal {
  readonly clientError: ClientError;
  /** Seconds after which another try makes sense. */
  readonly retryAfter: number | null;
}

/** The answer to a request that no channel served. */
export function refusalOf(
  { parsed, free }: Reservation,
  failed: Failed,
  { clientGone, stopped }: FailureContext,
): Refusal & { readonly error: AppError } {
  const { failure, attempts } = failed;
  const error =
    stopped ??
    failed.error ??
    (failure !== null
      ? failureError(failure, failed.final)
      : attempts.length === 0 && !clientGone
        ? new AppError('operation_unsupported', { operation: parsed.operation })
        : new AppError('upstream_unreachable'));
  const shown = clientError(error, parsed.requestId, failure);
  return {
    error,
    clientError: free ? withUpstreamWords(shown, failure) : shown,
    // When an upstream's account is filled again is its operator's to know.
    retryAfter: error.code === 'upstream_spent' ? null : (failure?.retryAfter ?? retryAfterOf(stopped ?? failed.error)),
  };
}

/** Releases the reservation and writes the error row. @returns the error for the client. */
export async function finishFailed(
  reservation: Reservation,
  failed: Failed,
  circumstances: FailureContext,
): Promise<Refusal> {
  const { failure, attempts, last } = failed;
  const { clientGone, stopped } = circumstances;
  const { error, ...refusal } = refusalOf(reservation, failed, circumstances);
  await finishRequest(
    reservation,
    null,
    {
      endReason: clientGone
        ? 'client_gone'
        : stopped !== null
          ? 'stopped'
          : failed.error !== null
            ? isOurs(failed.error)
              ? 'internal'
              : 'rejected'
            : 'upstream_failed',
      usage: null,
      usageSource: 'none',
      firstByteMs: null,
      attempts,
      content: refusal.clientError.message,
      failure:
        failure === null ? error.code : `${failure.reason}${failure.status === null ? '' : ` ${failure.status}`}`,
    },
    last,
  );
  return refusal;
}

export type StreamedOutcome = Extract<Outcome, { kind: 'stream' | 'bytes' }>;

/** Reports to the channel's health how a response ended that was passed on as it came: only a good end is a success. @returns the attempts of the request, with why the last one broke. */
export function reportOutcome(
  { health, affinity, now }: Pick<SendCore, 'health' | 'affinity' | 'now'>,
  { parsed, plan, principal }: Reservation,
  outcome: StreamedOutcome,
  { endReason }: Pick<StreamEnd, 'endReason'>,
): readonly AttemptSummary[] {
  const { channel, keyIndex } = outcome.prepared;
  const { attempts } = outcome;
  if (endReason === 'completed') {
    health.succeeded(channel, parsed.model, keyIndex);
    return attempts;
  }
  const failure = endReason === 'upstream_broken' ? breakOf(outcome) : null;
  // A failure that the request itself caused is not the upstream's fault.
  if (failure === null || !mayRetry(failure)) health.released(channel, parsed.model);
  else {
    health.failed(channel, parsed.model, keyIndex, { ...failure, delivered: true }, callerOf(principal));
    affinity.evict(plan.conversation, channel.id);
  }
  if (failure === null) return attempts;
  const before = attempts.slice(0, -1);
  const ms = before.reduce((left, { failed }) => left - (failed?.ms ?? 0), now() - parsed.startedMs);
  const last = { channelId: channel.id, name: channel.name, failed: failedAttempt(failure, ms) };
  return [...before, last];
}

/** Usage that the upstream itself reported inside of its stream; null = none, though it may have broken off. */
export function reportedIn(outcome: StreamedOutcome): UpstreamFailure | null {
  const error = outcome.kind === 'stream' ? outcome.stream.frameRelay.error : null;
  return error === null || error === endedEarly ? null : inBodyFailure(error, outcome.prepared);
}

function breakOf(outcome: StreamedOutcome): UpstreamFailure {
  const { status } = outcome.response;
  return reportedIn(outcome) ?? { class: 'host', status, error: null, retryAfter: null, reason: 'broken' };
}
