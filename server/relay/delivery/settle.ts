/** Closes a request's money by the printed policy: reported usage, else a local count of what went in and came out. */

import { completionTokensOf } from '../../contract/quota.ts';
import type { Usage } from '../../protocols/canonical.ts';
import type { TokenCounter } from '../admission/counting/counter.ts';
import type { Exchange } from '../admission/exchange.ts';
import { countLocally } from '../admission/meter.ts';
import type { Tried } from '../shared/failure.ts';
import { spokenTokens } from '../shared/sound.ts';
import type { Prepared } from '../upstream/prepare.ts';
import { finishRequest } from './finish-request.ts';
import type { StreamEnd } from './stream-options.ts';

export interface SettleFacts {
  readonly prepared: Prepared;
  /** In order. */
  readonly tried: readonly Tried[];
  /** The JSON of a whole answer. */
  readonly body?: unknown;
}

export function settle(counter: TokenCounter, exchange: Exchange, facts: SettleFacts, end: StreamEnd): Promise<void> {
  if (end.usage !== null && end.usageSource === 'reported') return finish(exchange, facts, end, end.usage);
  if (end.endReason !== 'completed' && end.firstByteMs === null) return finish(exchange, facts, end, null);
  return counted(counter, exchange, end, facts.body ?? null).then((usage) => finish(exchange, facts, end, usage));
}

function finish(exchange: Exchange, facts: SettleFacts, end: StreamEnd, usage: Usage | null): Promise<void> {
  return finishRequest(exchange, facts.prepared, {
    endReason: end.endReason,
    usage,
    usageSource: usage === null ? 'none' : (end.usageSource ?? 'estimated'),
    reported: end.usage,
    body: facts.body,
    firstByteMs: end.firstByteMs,
    tried: facts.tried,
    failure: end.failure,
    finishReason: end.finishReason,
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
