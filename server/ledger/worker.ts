/** Thread entry: the only writer of money. The first message says where the database is; a port for the control thread comes along. */
import { createLedgerStore } from '../../db/ledger-store.ts';
import { migrate } from '../../db/migrate.ts';
import { openDatabase } from '../../db/open.ts';
import { type SealedSample, sealedSample } from '../../db/sealed.ts';
import { AppError, type ErrorParams } from '../contract/errors.ts';
import type { LedgerMessage } from './client.ts';
import { createEngine, type Engine } from './engine.ts';
import { type HostPort, hostLedger } from './host.ts';
import { controlName } from './names.ts';
import { type OwedPlace, type OwedReport, settleOwed } from './owed.ts';
import { createProgress, type Missing } from './progress.ts';
import { type RecoveryReport, recover } from './recovery.ts';

export interface LedgerStart {
  readonly kind: 'start';
  readonly file: string;
  readonly nativeBinding: string | undefined;
  readonly owed: readonly OwedPlace[];
  /** For the control thread's client. */
  readonly port: MessagePort;
}

export type LedgerReport =
  | {
      readonly kind: 'ready';
      readonly recovery: RecoveryReport;
      readonly owed: OwedReport;
      readonly migrated: readonly string[];
      readonly sample: SealedSample | null;
      readonly missing: Missing | null;
    }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string; readonly params?: ErrorParams };

type Incoming =
  | string
  | LedgerStart
  /** For a thread of that name, which has no other any more. */
  | { readonly kind: 'port'; readonly port: MessagePort; readonly name: string }
  | { readonly kind: 'close' };

declare const self: {
  onmessage: ((event: MessageEvent<Incoming>) => void) | null;
  postMessage(message: string | LedgerReport | { readonly kind: 'closed' }): void;
};

/** What is lost with a damaged log is known to within so much. */
const noteMs = 5000;

interface Running {
  readonly engine: Engine;
  readonly host: (port: MessagePort, name: string) => void;
  readonly close: () => Promise<void>;
}

async function start(order: LedgerStart): Promise<Running> {
  const database = openDatabase(order.file, { nativeBinding: order.nativeBinding });
  const migrated = await migrate(database);
  // Folding the log into the file is this thread's work, at a size that costs milliseconds.
  database.raw.pragma('wal_autocheckpoint = 4000');
  const store = createLedgerStore(database.raw);
  const progress = createProgress(order.file, store, Date.now);
  const missing = progress.missing();
  const owed = settleOwed(store, order.owed);
  const recovery = recover(store);
  const toMain = (message: LedgerMessage) => self.postMessage(JSON.stringify(message));
  const engine = createEngine({
    store,
    onBalance: toMain,
    onHealth: (health) => {
      toMain({ kind: 'health', health });
      for (const port of ports.values()) port.postMessage(JSON.stringify({ kind: 'health', health }));
    },
  });
  const ports = new Map<string, MessagePort>();
  const host = (port: MessagePort, name: string) => {
    ports.set(name, port);
    hostLedger(engine, port as unknown as HostPort);
    port.start();
  };
  host(order.port, controlName);
  self.postMessage({ kind: 'ready', recovery, owed, migrated, sample: sealedSample(database), missing });
  progress.note();
  const noting = setInterval(progress.note, noteMs);
  noting.unref();
  return {
    engine,
    host,
    close: async () => {
      clearInterval(noting);
      await engine.drain();
      progress.note();
      await database.close();
    },
  };
}

self.onmessage = ({ data }) => {
  if (typeof data === 'string' || data.kind !== 'start') return;
  start(data)
    .then(({ engine, host, close }) => {
      const port: HostPort = { postMessage: (message) => self.postMessage(message), onmessage: null };
      hostLedger(engine, port);
      self.onmessage = (event) => {
        if (typeof event.data === 'string') port.onmessage?.(event as MessageEvent<string>);
        else if (event.data.kind === 'port') host(event.data.port, event.data.name);
        else if (event.data.kind === 'close') void close().then(() => self.postMessage({ kind: 'closed' }));
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
