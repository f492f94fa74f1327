/** Thread entry: the only writer of money. The first message says where the database is; a port for the control thread comes along. */
import { createLedgerStore } from '../../db/ledger-store.ts';
import { migrate } from '../../db/migrate.ts';
import { openDatabase } from '../../db/open.ts';
import type { CommandMessage, LedgerMessage } from './client.ts';
import { createEngine, type Engine } from './engine.ts';
import { hostLedger } from './host.ts';
import { recover, type RecoveryReport } from './recovery.ts';

export interface LedgerStart {
  readonly kind: 'start';
  readonly file: string;
  readonly nativeBinding: string | undefined;
  /** For the control thread's client. */
  readonly port: MessagePort;
}

export type LedgerReport =
  | { readonly kind: 'ready'; readonly recovery: RecoveryReport; readonly migrated: readonly string[] }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string };

type Incoming = LedgerStart | CommandMessage | { readonly kind: 'close' };

declare const self: {
  onmessage: ((event: MessageEvent<Incoming>) => void) | null;
  postMessage(message: LedgerMessage | LedgerReport | { readonly kind: 'closed' }): void;
};

async function start(order: LedgerStart): Promise<{ engine: Engine; close: () => Promise<void> }> {
  const database = openDatabase(order.file, { nativeBinding: order.nativeBinding });
  const migrated = await migrate(database);
  // Folding the log into the file is this thread's work, at a size that costs milliseconds.
  database.raw.pragma('wal_autocheckpoint = 4000');
  const store = createLedgerStore(database.raw);
  const recovery = recover(store);
  const toMain = (message: LedgerMessage) => self.postMessage(message);
  const engine = createEngine({
    store,
    now: Date.now,
    onBalance: toMain,
    onHealth: (health) => {
      toMain({ kind: 'health', health });
      order.port.postMessage({ kind: 'health', health });
    },
  });
  hostLedger(engine, order.port as unknown as Parameters<typeof hostLedger>[1]);
  order.port.start();
  self.postMessage({ kind: 'ready', recovery, migrated });
  return {
    engine,
    close: async () => {
      await engine.drain();
      await database.close();
    },
  };
}

self.onmessage = ({ data }) => {
  if (data.kind !== 'start') return;
  start(data)
    .then(({ engine, close }) => {
      const port = { postMessage: (message: LedgerMessage) => self.postMessage(message), onmessage: null } as Parameters<typeof hostLedger>[1];
      hostLedger(engine, port);
      self.onmessage = ({ data: message }) => {
        if (message.kind === 'close') void close().then(() => self.postMessage({ kind: 'closed' }));
        else if (message.kind === 'commands') port.onmessage?.({ data: message } as MessageEvent<CommandMessage>);
      };
    })
    .catch((error: unknown) => {
      const code = (error as { code?: unknown }).code;
      self.postMessage({ kind: 'failed', code: typeof code === 'string' ? code : '', message: error instanceof Error ? error.message : String(error) });
    });
};
