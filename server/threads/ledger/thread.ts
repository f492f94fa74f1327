/** Starts the ledger's thread and watches it. */

import { takeCleanEnd } from '../../../db/clean-end.ts';
import type { EncryptedSample } from '../../../db/encrypted-columns.ts';
import type { MigrationStep } from '../../../db/migrate.ts';
import type { DataDirFiles } from '../../app/data-dir.ts';
import {
  type CommandMessage,
  controlName,
  createLedgerClient,
  type LedgerClient,
  ledgerLost,
  ledgerPortOf,
} from '../../billing/ledger/client.ts';
import type { PendingReport } from '../../billing/ledger/pending.ts';
import type { Missing } from '../../billing/ledger/progress.ts';
import type { RecoveryReport } from '../../billing/ledger/recovery.ts';
import type { Remote } from '../../billing/ledger/remote.ts';
import type { SlotsUpdate } from '../../cluster/lease-store-shared.ts';
import type { NodeOrder } from '../../cluster/node-ledger.ts';
import { AppError, type ErrorParams, isErrorCode } from '../../contract/errors.ts';
import { version } from '../../embedded/version.ts';
import { startThread } from '../../embedded/workers.ts';
import { type DatabaseCheck, startDatabaseCheck } from '../database-check/thread.ts';
import { watchThread, within } from '../watch-thread.ts';
import type { LedgerMove, LedgerMoved, LedgerReport } from './worker.ts';

export interface LedgerThread {
  readonly client: LedgerClient;
  readonly recovery: RecoveryReport;
  readonly pending: PendingReport;
  /** Postings that were there and are not. */
  readonly missing: Missing | null;
  /** Something sealed in the database. */
  readonly sample: EncryptedSample | null;
  /** A line for another thread; the previous one of the same name is closed. */
  newPort(name: string): MessagePort;
  /** Where users and keys have their cells, for the code that fills these. */
  slots(update: SlotsUpdate): void;
  /** This node was requested to stop. */
  readonly drained: Promise<void>;
  /** Announces that it is about to end. */
  leaving(): void;
  /** Called once, at once when it has happened already; the client fails before. */
  onDeath(listener: (reason: string) => void): void;
  /** The database is written and closed. @returns false when that takes too long. */
  leave(ms: number): Promise<boolean>;
  /** Opens it again. */
  resume(ms: number): Promise<boolean>;
  /** Commands from here on, and those since it left, are for another process to write. */
  follow(send: (message: CommandMessage) => void): Pick<Remote, 'receive' | 'fail'>;
  /** Writes what is queued, at most so long, then ends the thread. @returns whether the database was closed, and nothing was wrong with it. */
  stop(ms: number): Promise<boolean>;
  terminate(): void;
  /** Nothing may be sold from here on, although the ledger writes: why. */
  readonly suspended: Promise<string>;
  /** Damage that a full look through the file found, '' = none. */
  readonly damage: Promise<string>;
}

/** How long a start waits for a look through the file, unless it was closed in order. */
const quickMs = 2000;

/** A file that was closed in order is looked through when the start is over. */
const cleanMs = 1000;

/** @throws AppError data_dir_unreadable, database_corrupt, database_newer. */
export async function startLedger(order: {
  readonly files: DataDirFiles;
  readonly nativeBinding: string | undefined;
  /** Another server ends its requests still. */
  readonly follows: boolean;
  /** What makes it one node among others; null = it has the database for itself. */
  readonly node: NodeOrder | null;
  readonly onMigration?: ((step: MigrationStep) => void) | undefined;
  /** One line for the operator's log. */
  readonly print: (line: string) => void;
}): Promise<LedgerThread> {
  const { files, nativeBinding, follows, node, print, onMigration = () => undefined } = order;
  const isClean = node === null && takeCleanEnd(files.database);
  const check =
    node === null ? startDatabaseCheck({ file: files.database, nativeBinding }, isClean ? cleanMs : 0) : unchecked;
  const thread = startThread(node === null ? 'ledger' : 'node');
  const ready = Promise.withResolvers<LedgerReport & { kind: 'ready' }>();
  const closed = Promise.withResolvers<void>();
  const dead = Promise.withResolvers<string>();
  const suspended = Promise.withResolvers<string>();
  const drained = Promise.withResolvers<void>();
  let moved = Promise.withResolvers<void>();
  let send: (message: CommandMessage) => void = () => undefined;
  const move = (step: LedgerMove) => thread.postMessage(step);
  const moveAndWait = (kind: 'leave' | 'return', ms: number): Promise<boolean> => {
    moved = Promise.withResolvers();
    move({ kind });
    return within(moved.promise, ms);
  };
  const client = createLedgerClient(ledgerPortOf(thread), (message) => {
    const report = message as LedgerReport | LedgerMoved | { readonly kind: 'closed' | 'drain' };
    if (report.kind === 'drain') return drained.resolve();
    if (report.kind === 'commands') return send(report);
    if (report.kind === 'left' || report.kind === 'returned') return moved.resolve();
    if (report.kind === 'migrating') return onMigration(report.step);
    if (report.kind === 'notice') return print(report.line);
    if (report.kind === 'ready') ready.resolve(report);
    if (report.kind === 'closed') closed.resolve();
    if (report.kind === 'failed') ready.reject(startError(report, files.dir));
  });
  let isSound = true;
  client.onHealth(({ ok }) => {
    if (!ok) isSound = false;
  });
  const noteDamage = ([found]: readonly string[]) => {
    if (found !== undefined) isSound = false;
  };
  void check.quick.then(noteDamage);
  void check.full.then(noteDamage);
  const stopWatching = watchThread(thread, (reason) => {
    ready.reject(new AppError('thread_died', { thread: 'ledger', reason: reason }));
    client.fail(ledgerLost);
    closed.resolve();
    dead.resolve(reason);
  });
  const terminate = () => {
    stopWatching();
    check.stop();
    thread.terminate();
  };
  const first = new MessageChannel();
  let spare: MessagePort | null = first.port2;
  try {
    // Nothing is written to a file that is damaged.
    if (!isClean && (await within(check.quick, quickMs))) rejectDamage(await check.quick);
    const port = first.port1;
    const start = {
      kind: 'start',
      file: files.database,
      nativeBinding,
      pending: files.pending,
      follows,
      port,
      version,
    };
    thread.postMessage(node === null ? start : { kind: 'start', node, port }, [port]);
    const { recovery, pending, sample, missing } = await ready.promise;
    void check.quick.then(([found]) => {
      if (found === undefined) return;
      client.suspend(found);
      suspended.resolve(found);
    });
    return {
      client,
      recovery,
      pending,
      missing,
      sample,
      newPort(name) {
        if (spare !== null && name === controlName) {
          const port = spare;
          spare = null;
          return port;
        }
        const { port1, port2 } = new MessageChannel();
        thread.postMessage({ kind: 'port', port: port1, name }, [port1]);
        return port2;
      },
      slots: (update) => thread.postMessage(update),
      drained: drained.promise,
      leaving: () => void (node !== null && thread.postMessage({ kind: 'leaving' })),
      onDeath: (listener) => void dead.promise.then(listener),
      leave: (ms) => moveAndWait('leave', ms),
      resume: (ms) => moveAndWait('return', ms),
      follow(sender) {
        send = sender;
        move({ kind: 'follow' });
        return {
          receive: (ids, responses) => move({ kind: 'answered', ids, responses }),
          fail: (reason) => move({ kind: 'lost', reason }),
        };
      },
      async stop(ms) {
        stopWatching();
        thread.postMessage({ kind: 'close' });
        const isClosed = await within(closed.promise, ms);
        const hasLooked = check.hasLooked();
        terminate();
        // After a crash nobody knows how the file is until somebody has looked.
        return isClosed && isSound && (isClean || hasLooked);
      },
      terminate,
      suspended: suspended.promise,
      damage: check.full.then((found) => found[0] ?? ''),
    };
  } catch (error) {
    terminate();
    throw error;
  }
}

/** A server looks after its own files. */
const unchecked: DatabaseCheck = {
  quick: Promise.resolve([]),
  full: Promise.resolve([]),
  hasLooked: () => true,
  stop: () => undefined,
};

function rejectDamage([detail]: readonly string[]): void {
  if (detail !== undefined) throw new AppError('database_corrupt', { detail });
}

export function startError(
  report: { readonly code: string; readonly message: string; readonly params?: ErrorParams },
  dir: string,
): AppError {
  if (isErrorCode(report.code)) return new AppError(report.code, report.params ?? {});
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(report.code)) return new AppError('database_corrupt', { detail: report.message });
  return new AppError('data_dir_unreadable', { dir, detail: report.message });
}
