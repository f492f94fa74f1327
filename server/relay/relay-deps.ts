/** What a relay is given, and how long and how much it allows. */

import type { Balances } from '../billing/balances/money.ts';
import type { Ledger } from '../billing/ledger/commands.ts';
import type { ChannelFailure } from '../contract/channel-failure.ts';
import type { Timers } from '../contract/timers.ts';
import type { RefusalReport } from '../contract/unsupported-members.ts';
import type { TokenCounter } from './admission/counting/counter.ts';
import type { LeaseSource } from './admission/lease-client.ts';
import type { RequestObserver, RequestWatch } from './admission/observer.ts';
import type { SiteRates } from './admission/site-rates.ts';
import type { TaskStore } from './endpoints/tasks/store.ts';
import type { BodyMemory } from './intake/body-memory.ts';
import type { EncryptedBlob } from './intake/parsed-request.ts';
import type { FindSession } from './intake/playground.ts';
import type { HealthReport } from './routing/health-report.ts';
import type { RelayState } from './state/state.ts';
import type { Dispatch, Exhausted } from './upstream/http.ts';

export interface RelayDeps {
  readonly state: RelayState;
  readonly balances: Balances;
  readonly ledger: Ledger;
  /** Where several machines serve one site; absent = all its money is in reach. */
  readonly leaseSource?: LeaseSource;
  /** Where its machines count requests together; absent = each has its share of every limit. */
  readonly rates?: SiteRates;
  readonly counter: TokenCounter;
  readonly fetch: typeof fetch;
  readonly timers: Timers;
  /** [0, 1). */
  readonly random: () => number;
  readonly keyHmac: (key: string) => string;
  /** For what clients keep in our place. */
  readonly encryptedBlob: EncryptedBlob;
  /** Whose console session a playground request belongs to. */
  readonly findSession: FindSession;
  /** Where drawings and songs are kept. */
  readonly tasks: TaskStore;
  /** Called for a settlement that the ledger's rules rejected. */
  readonly rejected?: (ref: string, reason: string) => void;
  /** Called for each defect of this program, with the request that met it. Must not throw. */
  readonly report: (error: unknown, requestId: string) => void;
  /** Put around every call of an upstream; absent = nothing is. */
  readonly wrap?: (dispatch: Dispatch) => Dispatch;
  /** Called with the request that is worked on from here on, as often as that changes; absent = nobody asks. */
  readonly works?: (requestId: string) => void;
  /** Absent = no observer. */
  readonly observer?: RequestObserver | null;
  /** Called when a channel or a key may have to be disabled. */
  readonly failure: (failure: ChannelFailure) => void;
  /** Called when an upstream took a request without members that it had refused; absent = each conversation learns for itself. */
  readonly learnt?: (report: RefusalReport) => void;
  /** Where relay threads count attempts without a refused member; absent = this relay counts alone. */
  readonly trialCells?: SharedArrayBuffer;
  readonly limits: RelayLimits;
  /** Called where a request is under way, for the time limits of its connection. */
  readonly watch?: RequestWatch;
  readonly exhausted?: Exhausted;
  /** Memory that bodies may take; absent = as much as there is. */
  readonly bodies?: BodyMemory;
  /** More than is open cannot be served in time. */
  readonly isOverloaded?: (open: number) => boolean;
  /** Resolves when it is a new request's turn; null = it is. */
  readonly wait?: () => Promise<void> | null;
  /** Receives what other relay threads should know; absent where there are none. */
  readonly broadcast?: (report: HealthReport) => void;
}

export interface RelayLimits {
  /** Largest JSON body in bytes. */
  readonly bodyLimit: number;
  readonly headersTimeoutMs: number;
  /** However long the operator lets an upstream be silent. */
  readonly idleMs: number;
  /** Infinity = the end of an answer waits for its bill as long as that takes. */
  readonly maxCommitWaitMs: number;
  /** Interval of the comments that keep the stream alive meanwhile. */
  readonly commitPingMs: number;
  /** Milliseconds between durable notes of what an open stream owes. */
  readonly checkpointMs: number;
  /** Milliseconds that an upstream's bill is waited for once the answer is over. */
  readonly billMs: number;
}

export const defaultLimits: RelayLimits = {
  bodyLimit: 64 * 1024 * 1024,
  headersTimeoutMs: 300_000,
  idleMs: 3_600_000,
  maxCommitWaitMs: Number.POSITIVE_INFINITY,
  commitPingMs: 5000,
  checkpointMs: 5000,
  billMs: 5000,
};
