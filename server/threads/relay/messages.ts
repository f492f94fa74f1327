/** Messages between the main thread and a relay thread. */
import type { EncryptedSample } from '../../../db/encrypted-columns.ts';
import type { MemoryParts } from '../../billing/balances/shared-memory.ts';
import type { SlotIndexes } from '../../billing/balances/slot.ts';
import type { ChannelFailure } from '../../contract/channel-failure.ts';
import type { ErrorCode, ErrorParams } from '../../contract/errors.ts';
import type { HealthQuestion } from '../../contract/key-health.ts';
import type { SnapshotPart } from '../../contract/packed-rows.ts';
import type { Snapshot, SnapshotDelta } from '../../contract/snapshot.ts';
import type { TrafficWindow } from '../../contract/traffic.ts';
import type { RefusalReport } from '../../contract/unsupported-members.ts';
import type { ChannelHealthStatus } from '../../domain/channels/routes.ts';
import type { ChannelTestResult } from '../../domain/channels/service.ts';
import type { LogSettings } from '../../observability/logging/settings.ts';
import type { TraceSettings } from '../../observability/traces/settings.ts';
import type { CountRequest } from '../../relay/admission/counting/counter.ts';
import type { ChannelTestOrder } from '../../relay/channel-test.ts';
import type { TaskCallAnswer } from '../../relay/endpoints/tasks/calls.ts';
import type { TaskCall } from '../../relay/endpoints/tasks/store.ts';
import type { HealthPiece, HealthReport } from '../../relay/routing/health-report.ts';
import type { RelayStats } from '../../relay/shared/stats.ts';
import type { ClockReading } from './clock.ts';

/** How a relay is to serve, whichever thread it is in. */
export interface ServingOrder {
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  /** Path under which a proxy serves the site, '' = none. */
  readonly basePath: string;
  /** Other threads listen on the same port. */
  readonly shared: boolean;
  /** Another server may listen on the port together with this one, to take its place. */
  readonly sharesPort: boolean;
  /** Another server has the port still. */
  readonly follows: boolean;
  /** Socket on which requests that still reach that server are accepted, too; '' = none. */
  readonly forwardedSocket: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Something sealed in the database: which key fits. */
  readonly sample: EncryptedSample | null;
  /** Makes names of this thread's own; '' = it is the only one. */
  readonly mark: string;
  /** Statistics may be requested. */
  readonly measured: boolean;
  readonly log: LogSettings;
  /** null = nothing is traced. */
  readonly traces: TraceSettings | null;
}

/** Plain rows, and where in the shared memory they are counted. */
export interface RelayUpdate {
  readonly kind: 'snapshotUpdate';
  /** Users and keys of a snapshot; null = the update is none. */
  readonly part: SnapshotPart | null;
  readonly update: Snapshot | SnapshotDelta;
  readonly slots: SlotIndexes;
  /** Chunks of the shared memory that were allocated since the last message. */
  readonly chunks: readonly SharedArrayBuffer[];
}

export interface RelayStart {
  readonly kind: 'start';
  readonly order: ServingOrder;
  readonly thread: number;
  /** Several machines serve one site. */
  readonly leased: boolean;
  readonly memory: MemoryParts;
  readonly clock: ClockReading;
  /** First cells of the rows for its open requests. */
  readonly rows: readonly number[];
  readonly update: RelayUpdate;
  readonly ledger: MessagePort;
  /** Where it says that it goes on. */
  readonly pulse: SharedArrayBuffer;
  /** Memory that bodies take in all threads. */
  readonly bodyCells: SharedArrayBuffer;
  /** Attempts without a refused member, of all threads. */
  readonly trialCells: SharedArrayBuffer;
}

/** Metrics of one relay. */
export interface ThreadStats extends RelayStats {
  /** How late its event loop was since the last question, milliseconds; null = not measured. */
  readonly loop: { readonly median: number; readonly p99: number; readonly max: number } | null;
  readonly channels: readonly { readonly id: number; readonly name: string; readonly condition: string }[];
}

/** Health of one relay. */
export interface RelayStatus {
  readonly open: number;
  /** Requests and sockets that came over its connections, and that another server answers. */
  readonly forwarded: number;
  readonly late: number;
  readonly rejected: number;
  /** Ends without an answer of the ledger. */
  readonly pending: number;
  /** Why no paid work is admitted there, '' = it is. */
  readonly failure: string;
}

export type ToRelay =
  | RelayStart
  | RelayUpdate
  | { readonly kind: 'rows'; readonly rows: readonly number[]; readonly chunks: readonly SharedArrayBuffer[] }
  | ({ readonly kind: 'test'; readonly id: number } & ChannelTestOrder)
  | ({ readonly kind: 'channelHealth'; readonly id: number } & HealthQuestion)
  | ({ readonly kind: 'taskAnswered' } & TaskCallAnswer)
  | { readonly kind: 'tasksLost' }
  | { readonly kind: 'counted'; readonly id: number; readonly counts: readonly number[] }
  | { readonly kind: 'healthReport'; readonly healthReport: HealthReport }
  | { readonly kind: 'busy'; readonly id: number }
  | { readonly kind: 'stats'; readonly id: number }
  /** Asks for the counters since the last time; they go to the control thread. */
  | { readonly kind: 'traffic' }
  /** How upstreams are doing is for the control thread, if that changed. */
  | { readonly kind: 'keepHealth' }
  /** The ledger writes, and nothing is sold all the same. */
  | { readonly kind: 'suspend'; readonly reason: string }
  /** `withOthers`: its connections stay until `allEnded`, however little goes on in this thread. */
  | { readonly kind: 'stop'; readonly graceMs: number; readonly delayMs: number; readonly withOthers: boolean }
  /** No thread of this server has anything open. */
  | { readonly kind: 'allEnded' }
  | { readonly kind: 'stopNow' }
  /** New requests wait from here on. */
  | { readonly kind: 'pause' }
  /** Requests are forwarded to that socket, where another server accepts them; null = they are served here. */
  | { readonly kind: 'forward'; readonly endpoint: string | null }
  /** A thread that it cannot do without is gone; `isLedgerLost` = the ledger's. */
  | { readonly kind: 'fail'; readonly isLedgerLost: boolean; readonly code: ErrorCode; readonly params: ErrorParams };

export type FromRelay =
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'failed'; readonly code: string; readonly params: ErrorParams; readonly message: string }
  | { readonly kind: 'tested'; readonly id: number; readonly result: ChannelTestResult }
  | { readonly kind: 'channelHealth'; readonly id: number; readonly statuses: readonly ChannelHealthStatus[] }
  | { readonly kind: 'task'; readonly id: number; readonly call: TaskCall }
  | ({ readonly kind: 'count' } & CountRequest)
  | { readonly kind: 'trouble'; readonly failure: ChannelFailure }
  /** An upstream took a request without members that it had refused. */
  | { readonly kind: 'learnt'; readonly refusal: RefusalReport }
  /** A request met a defect of this program; its stack is in the log. */
  | { readonly kind: 'defect'; readonly requestId: string; readonly message: string }
  | { readonly kind: 'healthReport'; readonly healthReport: HealthReport }
  | { readonly kind: 'traffic'; readonly windows: readonly TrafficWindow[] }
  /** How upstreams are doing, for the next start: a piece of it. */
  | { readonly kind: 'health'; readonly health: HealthPiece }
  | { readonly kind: 'busy'; readonly id: number; readonly ports: readonly (readonly [number, boolean])[] }
  | { readonly kind: 'stats'; readonly id: number; readonly stats: ThreadStats }
  /** It has few rows left. */
  | { readonly kind: 'rows' }
  | { readonly kind: 'print'; readonly line: string }
  /** Whole lines of the log. */
  | { readonly kind: 'logged'; readonly text: string }
  | { readonly kind: 'status'; readonly status: RelayStatus }
  | { readonly kind: 'paused' }
  /** The oldest change that it was sent and has not yet confirmed. */
  | { readonly kind: 'applied' }
  | { readonly kind: 'stopped' };
