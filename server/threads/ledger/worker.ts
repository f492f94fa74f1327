/** Thread entry: the only writer of the ledger. The first message says where the database is; a port for the control thread comes along. */

import { type EncryptedSample, encryptedSample } from '../../../db/encrypted-columns.ts';
import { growJournal } from '../../../db/journal/files.ts';
import { keepRejected, newJournal, openJournal, replayNotices } from '../../../db/journal/replay.ts';
import { JournaledStore } from '../../../db/ledger/sqlite/journaled.ts';
import { createLedgerStore } from '../../../db/ledger/sqlite/store.ts';
import { type MigrationStep, migrate } from '../../../db/migrate.ts';
import { openDatabase } from '../../../db/open.ts';
import {
  type CommandAnswer,
  type CommandMessage,
  controlName,
  type LedgerMessage,
} from '../../billing/ledger/client.ts';
import { type Engine, LedgerEngine, type StoreHealth } from '../../billing/ledger/engine.ts';
import { type PendingOutbox, type PendingReport, settlePending } from '../../billing/ledger/pending.ts';
import { createProgress, type Missing } from '../../billing/ledger/progress.ts';
import { type RecoveryReport, recover } from '../../billing/ledger/recovery.ts';
import { createRemote } from '../../billing/ledger/remote.ts';
import { AppError, type ErrorParams } from '../../contract/errors.ts';
import { systemTimers, type Timer } from '../../contract/timers.ts';
import { type HostPort, hostLedger, hostPortOf } from './host.ts';

export interface LedgerStart {
  readonly kind: 'start';
  readonly file: string;
  readonly nativeBinding: string | undefined;
  readonly pending: readonly PendingOutbox[];
  /** Another server ends its requests still: what is open in the database is not left over. */
  readonly follows: boolean;
  /** For the control thread's client. */
  readonly port: MessagePort;
  /** Version of this build. */
  readonly version: string;
}

export type LedgerReport =
  | { readonly kind: 'migrating'; readonly step: MigrationStep }
  /** Something odd about the journal, for the operator's log. */
  | { readonly kind: 'notice'; readonly line: string }
  | {
      readonly kind: 'ready';
      readonly recovery: RecoveryReport;
      readonly pending: PendingReport;
      readonly migrated: readonly string[];
      readonly sample: EncryptedSample | null;
      readonly missing: Missing | null;
    }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string; readonly params?: ErrorParams };

/** Messages of the main thread while another server takes the ledger over. */
export type LedgerMove =
  /** Close the database; what comes from here on waits. */
  | { readonly kind: 'leave' }
  /** The other did not start: open it again. */
  | { readonly kind: 'return' }
  /** The other process takes new commands. */
  | { readonly kind: 'follow' }
  | { readonly kind: 'answered'; readonly ids: readonly number[]; readonly responses: readonly CommandAnswer[] }
  | { readonly kind: 'lost'; readonly reason: string };

type Incoming =
  | string
  | LedgerStart
  | LedgerMove
  /** For a thread of that name, which has no other any more. */
  | { readonly kind: 'port'; readonly port: MessagePort; readonly name: string }
  | { readonly kind: 'close' };

/** Messages to the main thread: results of a move, or something to pass on. */
export type LedgerMoved = { readonly kind: 'left' | 'returned' } | CommandMessage;

declare const self: {
  onmessage: ((event: MessageEvent<Incoming>) => void) | null;
  postMessage(message: string | LedgerReport | LedgerMoved | { readonly kind: 'closed' }): void;
};

/** The loss of a damaged log is known to this precision. */
const noteMs = 5000;

/** So long an answer may take while the ledger moves to another server. */
const moveMs = 15_000;

interface Running {
  readonly engine: Engine;
  readonly flush: (done: (isWhole: boolean) => void) => void;
  readonly host: (port: MessagePort, name: string) => void;
  readonly move: (order: LedgerMove) => void;
  readonly close: () => Promise<void>;
}

/** The database, and what writes to it. */
async function openStore(
  { file, nativeBinding, pending: outboxes, follows, version }: LedgerStart,
  outputs: { readonly message: (message: LedgerMessage) => void; readonly health: (health: StoreHealth) => void },
) {
  const database = openDatabase(file, { nativeBinding });
  const report = (step: MigrationStep) => self.postMessage({ kind: 'migrating', step });
  const migrated = await migrate(database, { version, report });
  // Folding the log into the file is this thread's work, at a size that costs milliseconds.
  database.raw.pragma('wal_autocheckpoint = 4000');
  const store = createLedgerStore(database.raw);
  // Before anything reads or recovers: what the process before had acknowledged is in the books.
  const { replayed, journal } = openJournal(file, store);
  for (const { en } of replayNotices(replayed)) self.postMessage({ kind: 'notice', line: en });
  const progress = createProgress(file, store, systemTimers.now);
  const missing = progress.missing();
  const pending = settlePending(store, outboxes);
  const recovery = follows ? { epoch: store.nextEpoch(), settled: 0, voided: 0 } : recover(store);
  let growing: Timer | null = null;
  const journaled = new JournaledStore({
    store,
    onBalance: outputs.message,
    onRejected(command, result) {
      const kept = keepRejected(file, command);
      const why = result.status === 'refused' ? result.reason : result.status;
      outputs.message({ kind: 'rejected', ref: command.ref, reason: kept === '' ? why : `${why}; see ${kept}` });
    },
    wanted: () => {
      growing ??= growJournal(file, (files) => journaled.use(newJournal(files, store)), systemTimers);
    },
    timers: systemTimers,
  });
  if (journal !== null) journaled.use(journal);
  const engine = new LedgerEngine({ store: journaled, onBalance: outputs.message, onHealth: outputs.health });
  progress.note();
  const noting = systemTimers.every(progress.note, noteMs);
  noting.unref();
  return {
    engine,
    flush: (done: (isWhole: boolean) => void) => journaled.flush(done),
    report: {
      recovery,
      pending,
      migrated,
      sample: encryptedSample(database),
      missing,
    },
    close: async () => {
      noting.close();
      growing?.close();
      journaled.close();
      progress.note();
      await database.close();
    },
  };
}

async function start(order: LedgerStart): Promise<Running> {
  const ports = new Map<string, MessagePort>();
  const toMain = (message: LedgerMessage) => self.postMessage(JSON.stringify(message));
  const toAll = (message: LedgerMessage) => {
    toMain(message);
    for (const port of ports.values()) port.postMessage(JSON.stringify(message));
  };
  const outputs = { message: toMain, health: (health: StoreHealth) => toAll({ kind: 'health', health }) };
  let own: Awaited<ReturnType<typeof openStore>> | null = await openStore(order, outputs);
  let current: Engine = own.engine;
  const remote = createRemote((reason) => toAll({ kind: 'health', health: { ok: false, reason } }));
  const engine: Engine = {
    submit: (command, done) => current.submit(command, done),
    health: () => current.health(),
    drain: () => current.drain(),
  };
  // While another server writes the books, it is asked by its own readers.
  const flush = (done: (isWhole: boolean) => void) => (own === null ? done(true) : own.flush(done));
  const host = (port: MessagePort, name: string) => {
    ports.set(name, port);
    hostLedger(engine, hostPortOf(port), null, flush);
    port.start();
  };
  host(order.port, controlName);
  self.postMessage({ kind: 'ready', ...own.report });

  const leave = async () => {
    toAll({ kind: 'timeout', ms: moveMs });
    current = remote;
    await own?.engine.drain();
    // It took too long, and its caller gave up.
    if (current !== remote) return;
    const closing = own?.close();
    own = null;
    await closing;
    self.postMessage({ kind: 'left' });
  };
  const resume = async () => {
    own ??= await openStore({ ...order, follows: true }, outputs);
    current = own.engine;
    remote.yield(current);
    toAll({ kind: 'timeout', ms: null });
    self.postMessage({ kind: 'returned' });
  };
  return {
    engine,
    flush,
    host,
    move(step) {
      switch (step.kind) {
        case 'leave':
          void leave();
          break;
        case 'return':
          void resume();
          break;
        case 'follow':
          remote.open((message) => self.postMessage(message));
          break;
        case 'answered':
          remote.receive(step.ids, step.responses);
          break;
        case 'lost':
          remote.fail(step.reason);
      }
    },
    close: async () => {
      await own?.engine.drain();
      await own?.close();
    },
  };
}

self.onmessage = ({ data }) => {
  if (typeof data === 'string' || data.kind !== 'start') return;
  start(data)
    .then(({ engine, flush, host, move, close }) => {
      const port: HostPort = { postMessage: (message) => self.postMessage(message), onmessage: null };
      hostLedger(engine, port, null, flush);
      self.onmessage = (event) => {
        const message = event.data;
        if (typeof message === 'string') port.onmessage?.(event as MessageEvent<string>);
        else if (message.kind === 'port') host(message.port, message.name);
        else if (message.kind === 'close') void close().then(() => self.postMessage({ kind: 'closed' }));
        else if (message.kind !== 'start') move(message);
      };
    })
    .catch((error: unknown) => {
      const code = (error as { code?: unknown }).code;
      self.postMessage({
        kind: 'failed',
        code: typeof code === 'string' ? code : '',
        message: error instanceof Error ? error.message : String(error),
        ...(error instanceof AppError ? { params: error.params } : {}),
      });
    });
};
