/** Closes a request's money by the printed policy: reported usage, else a local count of what went in and came out. */

import type { EndReason, UsageSource } from '../../contract/enums.ts';
import { completionTokensOf } from '../../contract/quota.ts';
import type { FinishReason, Usage } from '../../protocols/canonical.ts';
import { hostedCallsIn } from '../../protocols/shared/tool-usage.ts';
import type { TokenCounter } from '../admission/counting/counter.ts';
import type { Exchange } from '../admission/exchange.ts';
import { countLocally } from '../admission/meter.ts';
import type { DeliveredText } from '../shared/delivered-text.ts';
import type { Tried } from '../shared/failure.ts';
import { spokenTokens } from '../shared/sound.ts';
import type { RelaySettings } from '../state/settings.ts';
import type { Prepared } from '../upstream/prepare.ts';
import { type EstimatedThought, estimateThought, type ThoughtTime } from '../upstream/thinking.ts';
import { finishRequest } from './finish-request.ts';
import type { ItemKeeping } from './items.ts';

export interface SettleFacts {
  readonly prepared: Prepared;
  /** In order. */
  readonly tried: readonly Tried[];
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
  readonly failure?: string;
  /** How the upstream says that it ended. */
  readonly finishReason?: () => FinishReason | null;
}

export interface SettleDeps {
  readonly counter: TokenCounter;
  readonly settings: () => RelaySettings;
  readonly items: ItemKeeping;
  /** Called once when the request is over, streams included. */
  readonly ended: (request: Request) => void;
}

/** Settles what an answer cost and ends its request. Resolves when the bill is durable. */
export function closeRequest(deps: SettleDeps, exchange: Exchange, facts: SettleFacts, end: StreamEnd): Promise<void> {
  deps.items.keep(exchange);
  return settle(deps, exchange, facts, end).then(() => deps.ended(exchange.inquiry.request));
}

function settle(deps: SettleDeps, exchange: Exchange, facts: SettleFacts, end: StreamEnd): Promise<void> {
  if (end.usage !== null && end.usageSource === 'reported') return finish(exchange, facts, end, end.usage);
  if (end.endReason !== 'completed' && end.firstByteMs === null) return finish(exchange, facts, end, null);
  return counted(deps.counter, exchange, end, facts.body ?? null).then(({ usage, local }) => {
    const { thought: time = null, delivered } = end;
    const thought =
      time === null
        ? null
        : estimateThought(exchange, facts.prepared, deps.settings(), { time, delivered, local, usage });
    const all = thought === null ? usage : { ...usage, reasoning: usage.reasoning + thought.tokens };
    return finish(exchange, facts, end, all, thought);
  });
}

function finish(
  exchange: Exchange,
  facts: SettleFacts,
  end: StreamEnd,
  usage: Usage | null,
  thought: EstimatedThought | null = null,
): Promise<void> {
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
    thought,
  });
}

interface Counted {
  readonly usage: Usage;
  /** What was counted here alone. */
  readonly local: Usage;
}

async function counted(counter: TokenCounter, exchange: Exchange, end: StreamEnd, body: unknown): Promise<Counted> {
  const words = await countLocally(counter, exchange.inquiry, { body, told: end.delivered });
  const { spokenSeconds, calls } = end.delivered;
  const heard = spokenSeconds === 0 ? words : { ...words, audioOutput: spokenTokens(spokenSeconds) };
  const local = withCalls(heard, calls ?? (body === null ? noCalls : hostedCallsIn(body)));
  const reported = end.usage === null ? null : withCalls(end.usage, local.toolCalls);
  // Part of the story was told by the upstream: what it reported first, but no less than what was delivered.
  if (reported === null) return { usage: local, local };
  if (local.audioOutput > reported.audioOutput)
    return { usage: { ...reported, output: local.output, audioOutput: local.audioOutput }, local };
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
