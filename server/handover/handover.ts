/** What this server does when another one follows it, or did not after all. */

import { acquireLock, type DataDirFiles, giveLock } from '../app/data-dir.ts';
import type { Money } from '../billing/balances/balances.ts';
import type { RelayState } from '../relay/state/state.ts';
import type { ControlThread } from '../threads/control/thread.ts';
import type { LedgerThread } from '../threads/ledger/thread.ts';
import type { Relays } from '../threads/relay/relays.ts';
import type { OldServer } from './old-process.ts';
import { openMoneyOf } from './open-reservations.ts';

export interface OldServerDeps {
  readonly files: DataDirFiles;
  readonly port: number;
  readonly listeners: number;
  readonly ledgerThread: LedgerThread;
  readonly control: ControlThread;
  readonly relays: Relays;
  readonly state: RelayState;
  readonly money: Money;
  readonly monitors: { close(): void; open(): Promise<void> };
  readonly say: (line: string) => void;
  /** It cannot go on. */
  readonly hopeless: (why: string) => void;
  /** Ends everything when what is open has ended. */
  readonly retire: () => Promise<void>;
}

/** A full batch, and a slow disk. */
const leaveMs = 5000;
const controlMs = 1000;
/** Whoever was about to follow may need a moment to end. */
const lockTries = 50;
const lockEveryMs = 100;
/** Connections that had been begun for this server, and clients that keep theirs, come over in this time. */
const lingerMs = 2000;

export function createOldServer(deps: OldServerDeps): OldServer {
  const { files, ledgerThread, control, relays, state, money, monitors, say } = deps;

  const lockAgain = async (): Promise<void> => {
    for (let tries = 1; ; tries++) {
      try {
        acquireLock(files);
        return;
      } catch (error) {
        if (tries === lockTries) throw error;
        await Bun.sleep(lockEveryMs);
      }
    }
  };

  return {
    port: deps.port,
    listeners: deps.listeners,
    async release(pid) {
      if (!ledgerThread.client.healthy().ok) throw new Error('its database is in trouble');
      await relays.pause();
      if (!(await ledgerThread.leave(leaveMs))) {
        await ledgerThread.comeBack(leaveMs);
        relays.handOn(null);
        throw new Error('its disk is too slow now');
      }
      await control.stop(controlMs);
      monitors.close();
      giveLock(files, pid);
    },
    async comeBack() {
      try {
        await lockAgain();
        if (!(await ledgerThread.comeBack(leaveMs))) throw new Error('the database does not open');
        await control.start();
        await monitors.open();
        relays.handOn(null);
        say('the server that was to take over did not start; this one serves on');
      } catch (error) {
        deps.hopeless(error instanceof Error ? error.message : String(error));
      }
    },
    handOn: relays.handOn,
    openMoney: () => openMoneyOf(money, state.snapshot()),
    owed: () => relays.standing().owed,
    follow: ledgerThread.follow,
    taskAnswered: relays.taskAnswered,
    fail: () => deps.hopeless('the server that took over is gone'),
    async retire() {
      say('another process serves from here on; this one ends what it has open');
      await Bun.sleep(lingerMs);
      await deps.retire();
    },
  };
}
