/** The relays of this process as the rest of it sees them: their number is hidden. */

import type { Balances } from '../../billing/balances/money.ts';
import type { LedgerClient } from '../../billing/ledger/client.ts';
import type { AppError } from '../../contract/errors.ts';
import type { HealthQuestion } from '../../contract/key-health.ts';
import type { Snapshot, SnapshotDelta } from '../../contract/snapshot.ts';
import type { Descriptors } from '../../http/descriptors.ts';
import type { TokenCounter } from '../../relay/admission/counting/counter.ts';
import type { ChannelTestOrder } from '../../relay/channel-test.ts';
import type { TaskCallAnswer } from '../../relay/endpoints/tasks/calls.ts';
import type { HealthReport } from '../../relay/routing/health-report.ts';
import type { RelayState } from '../../relay/state/state.ts';
import type { ToControl } from '../control/messages.ts';
import type { FromRelay, RelayStatus, ServingOrder, ThreadStats } from './messages.ts';

export interface RelayPool {
  /** @returns the port. @throws AppError port_taken. */
  open(): Promise<number>;
  /** Applies an update that the main thread's own state has applied already. Resolves when every relay thread has applied it, too. */
  update(update: Snapshot | SnapshotDelta): Promise<void>;
  test(order: ChannelTestOrder & { readonly id: number }): void;
  channels(id: number, question: HealthQuestion): void;
  /** Takes the health that relays of other machines report. */
  received(update: HealthReport): void;
  /** Each hands what it has counted to the control thread. */
  traffic(): void;
  /** One of them, since all know nearly the same. */
  keepHealth(): void;
  taskResponded(answer: TaskCallAnswer): void;
  /** The thread that keeps tasks is gone. */
  tasksLost(): void;
  /** Figures of each thread that answers, with its number. */
  stats(): Promise<readonly { readonly thread: number; readonly stats: ThreadStats }[]>;
  /** All together. */
  status(): RelayStatus;
  suspend(reason: string): void;
  /** New requests wait. Resolves when none is admitted any more and the API has answered, unless that takes long. */
  pause(): Promise<void>;
  /** Requests are forwarded to that socket, where another server accepts them; null = they are served here. */
  forwardTo(endpoint: string | null): void;
  /** As `Stop` has it. @param until threads stay until then, for what is forwarded. */
  stop(graceMs: number, delayMs?: number, until?: Promise<unknown>): Promise<void>;
  shutDownNow(): void;
  /** A thread that they cannot do without is gone. @param reason what clients see. @param isLedgerLost it is the ledger's. */
  fail(reason: AppError, isLedgerLost: boolean): Promise<void>;
  /** At once, whatever is open. */
  terminate(): void;
}

export interface RelayPoolDeps {
  readonly order: ServingOrder;
  readonly state: RelayState;
  readonly balances: Balances;
  /** The main thread's own. */
  readonly ledger: LedgerClient;
  readonly counter: TokenCounter;
  readonly descriptors: Descriptors | null;
  /** One for each relay thread, by number. */
  readonly pulses: readonly SharedArrayBuffer[];
  /** Memory that bodies take, of all relay threads. */
  readonly bodyCells: SharedArrayBuffer;
  /** Attempts without a refused member, of all relay threads. */
  readonly trialCells: SharedArrayBuffer;
  readonly control: (message: ToControl) => void;
  /** One line for the operator. */
  readonly print: (line: string) => void;
  /** Whole lines of the log. */
  readonly write: (text: string) => void;
}

/** Messages of relays that concern only the control thread and the operator. @returns false when it was something else. */
export function passOn(
  { control, print, write }: Pick<RelayPoolDeps, 'control' | 'print' | 'write'>,
  message: FromRelay,
): boolean {
  switch (message.kind) {
    case 'tested':
    case 'channelHealth':
    case 'task':
    case 'trouble':
    case 'learnt':
    case 'defect':
    case 'healthReport':
    case 'traffic':
    case 'health':
      control(message);
      return true;
    case 'print':
      print(message.line);
      return true;
    case 'logged':
      write(message.text);
      return true;
    default:
      return false;
  }
}
