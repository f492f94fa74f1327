/** How single requests ended, for the log and for traces. Nothing of it is put together where neither is wanted. */
import type { CacheMiss, LoggedDiagnosis } from '../../contract/cache-miss.ts';
import type { EndReason, UsageSource } from '../../contract/enum.ts';
import type { Prices } from '../../contract/pricing/price.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { FinishReason, Usage } from '../../protocols/canonical.ts';
import type { ParsedRequest, Principal } from '../intake/parsed-request.ts';
import type { AttemptSummary } from '../shared/failure.ts';

/** How a request ended, and what it cost. */
export interface Finish {
  readonly endReason: EndReason;
  /** null = nothing is charged. */
  readonly usage: Usage | null;
  readonly usageSource: UsageSource;
  /** Usually the plan's; pictures are priced by what came. */
  readonly prices: Prices;
  readonly channel: ChannelSnapshot | null;
  readonly upstreamModel: string;
  readonly firstByteMs: number | null;
  /** In order. */
  readonly attempts: readonly AttemptSummary[];
  /** Losses of the translation. */
  readonly dropped: readonly string[];
  /** How the conversation was made short. */
  readonly compaction?: string | undefined;
  /** How the upstream says that a stream ended, for observers. */
  readonly finishReason?: () => FinishReason | null;
  /** Why the provider's cache did not have what it had. */
  readonly cacheMiss?: CacheMiss | undefined;
  readonly diagnosis?: LoggedDiagnosis | undefined;
  /** The part of the usage that was charged for thoughts by their time. */
  readonly thought?: { readonly tokens: number; readonly ms: number; readonly tokensPerSecond: number } | undefined;
  /** The JSON of a whole answer. */
  readonly answer?: unknown;
  /** Words for an error row. */
  readonly content?: string;
  /** HTTP status or reason for an error row's `other`. */
  readonly failure?: string;
}

/** One request and all that came of it. */
export interface EndedRequest {
  readonly parsed: ParsedRequest;
  readonly principal: Principal;
  readonly finish: Finish;
  readonly tokens: { readonly input: number; readonly output: number };
  /** Quota. */
  readonly charged: number;
  readonly endedMs: number;
}

/** Facts known of a request before it was refused. */
export interface Seen {
  principal: Principal | null;
  parsed: ParsedRequest | null;
  /** It was refused before its body, which names the model, was read. */
  unread?: boolean;
}

export interface RejectedRequest {
  readonly request: Request;
  readonly requestId: string;
  readonly path: string;
  readonly code: string;
  readonly status: number;
  readonly seen: Seen;
}

export interface RequestObserver {
  ended(request: EndedRequest): void;
  /** No upstream was asked. */
  rejected(request: RejectedRequest): void;
}

/** May be called for requests of other listeners too. */
export interface RequestWatch {
  /** Its body has arrived; from now on it is we who are waited for. */
  onReceived(request: Request): void;
  /** Its answer goes on after it was handed over; `over` will be called. */
  onStreaming(request: Request): void;
  /** The last byte is about to leave. */
  over(request: Request): void;
}
