/** What the end of an answer that was passed on as it came says about its channel: only a good end is a success. */
import type { Exchange } from '../admission/exchange.ts';
import { mayRetry, type UpstreamFailure } from '../shared/failure.ts';
import { type AttemptsDeps, inBodyFailure, type Outcome } from '../upstream/try-channels.ts';
import type { StreamEnd } from './stream-options.ts';

type Lasting = Extract<Outcome, { kind: 'stream' | 'bytes' }>;

export function judgeEnd(
  { health, affinity }: Pick<AttemptsDeps, 'health' | 'affinity'>,
  { plan }: Exchange,
  outcome: Lasting,
  { endReason }: Pick<StreamEnd, 'endReason'>,
): void {
  const { channel, keyIndex } = outcome.prepared;
  if (endReason === 'completed') {
    health.succeeded(channel, keyIndex);
    return;
  }
  const failure = endReason === 'upstream_broken' ? breakOf(outcome) : null;
  // What the request itself brought about is nobody's fault upstream.
  if (failure === null || !mayRetry(failure)) {
    health.released(channel);
    return;
  }
  health.failed(channel, keyIndex, { ...failure, delivered: true });
  affinity.forget(plan.conversation, channel.id);
}

function breakOf(outcome: Lasting): UpstreamFailure {
  const error = outcome.kind === 'stream' ? outcome.stream.frameRelay.error() : null;
  if (error !== null) return inBodyFailure(error, outcome.prepared);
  const { status } = outcome.response;
  return { class: 'host', status, error: null, retryAfter: null, reason: 'broken' };
}
