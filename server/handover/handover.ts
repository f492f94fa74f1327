/** What this server does when another one follows it, or did not after all. */

import { acquireLock, type DataDirFiles, releaseLock } from '../app/data-dir.ts';
import type { Money } from '../billing/balances/money.ts';
import type { RelayState } from '../relay/state/state.ts';
import type { ControlThread } from '../threads/control/thread.ts';
import type { LedgerThread } from '../threads/ledger/thread.ts';
import type { RelayPool } from '../threads/relay/relay-pool.ts';
import { leavePort } from './listener-choice.ts';
import { type TakenOver, taskThere } from './new-process.ts';
import type { OldServer } from './old-process.ts';
import { openMoneyOf } from './open-requests.ts';

export interface OldServerDeps {
  readonly files: DataDirFiles;
  readonly port: number;
  readonly listeners: number;
  readonly ledgerThread: LedgerThread;
  readonly control: ControlThread;
  readonly relayThreads: RelayPool;
  readonly state: RelayState;
  readonly money: Money;
  readonly monitors: { close(): void; open(): Promise<void> };
  /** The server before this one, if this one followed it. */
  readonly before: Pick<TakenOver, 'alone' | 'moved' | 'taskResponded'> | null;
  readonly print: (line: string) => void;
  /** It cannot go on. */
  readonly onFatal: (reason: string) => void;
  /** Ends the process when its open requests have ended. */
  readonly stopAfterHandover: () => Promise<void>;
  /** Ends open requests now, and those of the server before. */
  readonly shutDownNow: () => void;
}

/** A full batch, and a slow disk. */
const leaveMs = 5000;
const controlMs = 1000;
/** The process that was about to follow may need a moment to end. */
const lockAttempts = 50;
const lockEveryMs = 100;
/** Connections that had been begun for this server, and clients that keep theirs, come over in this time. */
const closeDelayMs = 2000;
/** Builds from before this one do not tell that they have left the port. */
const aloneMs = closeDelayMs + 1000;

export function createOldServer(deps: OldServerDeps): OldServer {
  const { files, ledgerThread, control, relayThreads, state, money, monitors, before, print } = deps;

  const lockAgain = async (): Promise<void> => {
    for (let attempts = 1; ; attempts++) {
      try {
        acquireLock(files);
        return;
      } catch (error) {
        if (attempts === lockAttempts) throw error;
        await Bun.sleep(lockEveryMs);
      }
    }
  };

  return {
    port: deps.port,
    listeners: deps.listeners,
    async release(pid) {
      if (!ledgerThread.client.healthy().ok) throw new Error('its database is in trouble');
      if (before !== null) await Promise.race([before.alone, Bun.sleep(aloneMs)]);
      await relayThreads.pause();
      if (!(await ledgerThread.leave(leaveMs))) {
        await ledgerThread.resume(leaveMs);
        relayThreads.forwardTo(null);
        throw new Error('its disk is too slow now');
      }
      await control.stop(controlMs);
      monitors.close();
      releaseLock(files, pid);
    },
    async resume() {
      try {
        await lockAgain();
        if (!(await ledgerThread.resume(leaveMs))) throw new Error('the database does not open');
        await control.start();
        await monitors.open();
        relayThreads.forwardTo(null);
        print('the server that was to take over did not start; this one serves on');
      } catch (error) {
        deps.onFatal(error instanceof Error ? error.message : String(error));
      }
    },
    forwardTo(endpoint) {
      relayThreads.forwardTo(endpoint);
      before?.moved(endpoint);
    },
    openMoney: () => openMoneyOf(money, state),
    pending: () => relayThreads.status().pending,
    follow: ledgerThread.follow,
    taskResponded(answer) {
      if (answer.id < 0) before?.taskResponded({ ...answer, id: taskThere(answer.id) });
      else relayThreads.taskResponded(answer);
    },
    fail: () => deps.onFatal('the server that took over is gone'),
    async leavePort() {
      print('another process serves from here on; this one ends what it has open');
      await Bun.sleep(closeDelayMs);
      leavePort(deps.port);
    },
    stopAfterHandover: deps.stopAfterHandover,
    hurry: deps.shutDownNow,
  };
}
