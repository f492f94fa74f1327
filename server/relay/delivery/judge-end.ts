/** What the end of an answer that was passed on as it came says about its channel: only a good end is a success. */

import { endedEarly } from '../../protocols/shared/ended-early.ts';
import type { Exchange } from '../admission/exchange.ts';
import { failedAttempt, mayRetry, type Tried, type UpstreamFailure } from '../shared/failure.ts';
import { type AttemptsDeps, inBodyFailure, type Outcome } from '../upstream/try-channels.ts';
import type { StreamEnd } from './settle.ts';

export type Lasting = Extract<Outcome, { kind: 'stream' | 'bytes' }>;

/** @returns the attempts of the request, with why the last one broke. */
export function judgeEnd(
  { health, affinity, now }: Pick<AttemptsDeps, 'health' | 'affinity' | 'now'>,
  { inquiry, plan }: Exchange,
  outcome: Lasting,
  { endReason }: Pick<StreamEnd, 'endReason'>,
): readonly Tried[] {
  const { channel, keyIndex } = outcome.prepared;
  const { tried } = outcome;
  if (endReason === 'completed') {
    health.succeeded(channel, keyIndex);
    return tried;
  }
  const failure = endReason === 'upstream_broken' ? breakOf(outcome) : null;
  // What the request itself brought about is nobody's fault upstream.
  if (failure === null || !mayRetry(failure)) health.released(channel);
  else {
    health.failed(channel, keyIndex, { ...failure, delivered: true });
    affinity.forget(plan.conversation, channel.id);
  }
  if (failure === null) return tried;
  const before = tried.slice(0, -1);
  const ms = before.reduce((left, { failed }) => left - (failed?.ms ?? 0), now() - inquiry.startedMs);
  const last = { channelId: channel.id, name: channel.name, failed: failedAttempt(failure, ms) };
  return [...before, last];
}

/** What the upstream itself reported inside of its stream; null = nothing, though it may have broken off. */
export function reportedIn(outcome: Lasting): UpstreamFailure | null {
  const error = outcome.kind === 'stream' ? outcome.stream.frameRelay.error() : null;
  return error === null || error === endedEarly ? null : inBodyFailure(error, outcome.prepared);
}

function breakOf(outcome: Lasting): UpstreamFailure {
  const { status } = outcome.response;
  return reportedIn(outcome) ?? { class: 'host', status, error: null, retryAfter: null, reason: 'broken' };
}
