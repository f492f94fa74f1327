/** Messages between the main thread and the control thread. */

import type { DatabasePlace } from '../../../db/place.ts';
import type { ChannelFailure } from '../../contract/channel-failure.ts';
import type { ErrorParams } from '../../contract/errors.ts';
import type { HealthQuestion } from '../../contract/key-health.ts';
import type { SnapshotPart } from '../../contract/packed-rows.ts';
import type { Snapshot, SnapshotDelta } from '../../contract/snapshot.ts';
import type { StorageStatus } from '../../contract/storage.ts';
import type { TrafficWindow } from '../../contract/traffic.ts';
import type { RefusalReport } from '../../contract/unsupported-members.ts';
import type { ChannelHealthStatus } from '../../domain/channels/routes.ts';
import type { ChannelTestResult, PreviewedRequest } from '../../domain/channels/service.ts';
import type { SignInStep } from '../../http/program-sign-in.ts';
import type { LogSettings } from '../../observability/logging/settings.ts';
import type { TaskCall } from '../../relay/endpoints/tasks/store.ts';
import type { HealthPiece, HealthReport } from '../../relay/routing/health-report.ts';
import type { ClockReading } from '../relay/clock.ts';

export interface ControlStart {
  readonly kind: 'start';
  readonly dataDir: string;
  readonly place: DatabasePlace;
  /** Name of this machine among several; '' = it is the only one. */
  readonly node: string;
  readonly nativeBinding: string | undefined;
  readonly setupCode: string;
  /** Relay threads of this process. */
  readonly relayThreads: number;
  /** Where the relay threads say that they go on. */
  readonly pulses: readonly SharedArrayBuffer[];
  /** How long its leases last without the database; null = the database is a file. */
  readonly leaseSeconds: number | null;
  readonly log: LogSettings;
  /** Whether monitors read figures of this process. */
  readonly measured: boolean;
  readonly clock: ClockReading;
  /** The ledger's port for this thread. */
  readonly ledger: MessagePort;
}

export type ToControl =
  | ControlStart
  | { readonly kind: 'tested'; readonly id: number; readonly result: ChannelTestResult }
  | { readonly kind: 'channelHealth'; readonly id: number; readonly statuses: readonly ChannelHealthStatus[] }
  | { readonly kind: 'task'; readonly id: number; readonly call: TaskCall }
  | { readonly kind: 'trouble'; readonly failure: ChannelFailure }
  /** An upstream took a request without members that it had refused. */
  | { readonly kind: 'learnt'; readonly refusal: RefusalReport }
  /** A request met a defect of this program; its stack is in the log. */
  | { readonly kind: 'defect'; readonly requestId: string; readonly message: string }
  | { readonly kind: 'storage'; readonly status: StorageStatus }
  /** For the relays of other machines. */
  | { readonly kind: 'healthReport'; readonly healthReport: HealthReport }
  /** Counters of a relay of this machine since the last query. */
  | { readonly kind: 'traffic'; readonly windows: readonly TrafficWindow[] }
  /** How upstreams are doing, for the next start: a piece of it. */
  | { readonly kind: 'health'; readonly health: HealthPiece; readonly thread?: number }
  /** Every relay thread has applied the changes up to `seq`. */
  | { readonly kind: 'applied'; readonly seq: number }
  | { readonly kind: 'close' };

export type FromControl =
  | SnapshotPart
  | Snapshot
  | SnapshotDelta
  | { readonly kind: 'ready'; readonly setupDone: boolean }
  | {
      readonly kind: 'test';
      readonly id: number;
      readonly channelId: number;
      readonly model: string;
      readonly stream: boolean;
      readonly request?: { readonly path: string; readonly body: Readonly<Record<string, unknown>> };
      readonly preview?: PreviewedRequest;
    }
  | ({ readonly kind: 'channelHealth'; readonly id: number } & HealthQuestion)
  /** Asks every relay of this machine for its traffic. */
  | { readonly kind: 'traffic' }
  /** Asks a relay of this machine how upstreams are doing. */
  | { readonly kind: 'keepHealth' }
  /** From the relays of other machines. */
  | { readonly kind: 'healthReport'; readonly healthReport: HealthReport }
  /** A step of a program's sign-in, for monitors. */
  | { readonly kind: 'signIn'; readonly step: SignInStep; readonly result: string }
  | { readonly kind: 'taskAnswered'; readonly id: number; readonly value: unknown; readonly failed: boolean }
  | { readonly kind: 'failed'; readonly message: string; readonly code: string; readonly params: ErrorParams }
  | { readonly kind: 'closed' };
