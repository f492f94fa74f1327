/** Keeps a control thread running: one that dies is replaced, and meanwhile the relay continues with its last snapshot. */
import { AppError, isErrorCode } from '../../contract/errors.ts';
import { sleep, systemTimers, type Timers } from '../../contract/timers.ts';
import { clockReading } from '../relay/clock.ts';
import { createRestarts, watchThread, within } from '../watch-thread.ts';
import type { ControlStart, FromControl, ToControl } from './messages.ts';

export interface ControlThread {
  /** Also when it was stopped. @returns whether the site is set up. @throws the error that the thread reports. */
  start(): Promise<boolean>;
  /** A message to a thread that is gone is lost. */
  send(message: ToControl): void;
  /** At most so many milliseconds. */
  stop(ms: number): Promise<void>;
}

export interface ControlThreadDeps {
  readonly spawn: () => Worker;
  readonly order: Omit<ControlStart, 'kind' | 'clock' | 'ledger'>;
  /** A new line to the ledger for each thread. */
  readonly ledgerPort: () => MessagePort;
  readonly receive: (message: FromControl) => void;
  /** A thread is gone: its pending queries stay unanswered. */
  readonly lost: (reason: string) => void;
  /** Another has taken its place. */
  readonly replaced: () => void;
  /** Called when it died too often. */
  readonly onFatal: (reason: string) => void;
  /** Absent = the time of this process. */
  readonly timers?: Timers;
}

const startMs = 30_000;
const connectionErrors: readonly string[] = ['database_unreachable', 'database_starting', 'database_full'];
const unavailableMs = 1000;

export function createControlThread(deps: ControlThreadDeps): ControlThread {
  const { timers = systemTimers } = deps;
  const nextDelay = createRestarts(timers.monoNow);
  let thread: Worker | null = null;
  let stopWatching: () => void = () => undefined;
  let stopping = false;
  let closed = Promise.withResolvers<void>();

  const launch = (): Promise<boolean> => {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const own = deps.spawn();
    thread = own;
    let serving = false;
    stopWatching = watchThread(own, (reason) => {
      if (thread === own) thread = null;
      if (serving) died(reason);
      else reject(new Error(reason));
    });
    own.onmessage = ({ data }: MessageEvent<FromControl>) => {
      if (data.kind === 'ready') {
        serving = true;
        resolve(data.setupDone);
      } else if (data.kind === 'failed')
        reject(isErrorCode(data.code) ? new AppError(data.code, data.params) : new Error(data.message));
      else if (data.kind === 'closed') closed.resolve();
      else deps.receive(data);
    };
    const ledger = deps.ledgerPort();
    own.postMessage({ kind: 'start', ...deps.order, clock: clockReading(), ledger } satisfies ToControl, [ledger]);
    return promise;
  };

  const end = () => {
    stopWatching();
    thread?.terminate();
    thread = null;
  };

  const died = (reason: string) => {
    closed.resolve();
    if (stopping) return;
    deps.lost(reason);
    void again(reason);
  };

  const again = async (reason: string): Promise<void> => {
    const delay = nextDelay();
    if (delay === null) return deps.onFatal(reason);
    await sleep(timers, delay);
    try {
      await launchAgain();
    } catch (error) {
      return again(error instanceof Error ? error.message : String(error));
    }
    if (!stopping) deps.replaced();
  };

  /** A database that is away is no fault of the thread's: it waits for it. */
  const launchAgain = async (): Promise<void> => {
    while (!stopping) {
      closed = Promise.withResolvers<void>();
      try {
        if (!(await within(launch(), startMs, timers))) throw new Error('did not start in time');
        return;
      } catch (error) {
        end();
        if (!(error instanceof AppError) || !connectionErrors.includes(error.code)) throw error;
        await sleep(timers, unavailableMs);
      }
    }
  };

  return {
    start() {
      stopping = false;
      closed = Promise.withResolvers<void>();
      return launch();
    },
    send: (message) => thread?.postMessage(message),
    async stop(ms) {
      stopping = true;
      if (thread !== null) {
        thread.postMessage({ kind: 'close' } satisfies ToControl);
        await within(closed.promise, ms, timers);
      }
      end();
    },
  };
}
