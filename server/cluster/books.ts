/** The site's books on PostgreSQL as one node of several keeps them: its number there, its signs of life, what it still owes, and what became of nodes that are gone. */
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import type { PostgresPlace } from '../../db/place.ts';
import { createPostgresLedgerStore, type PostgresLedgerStore } from '../../db/postgres/ledger-store.ts';
import { openLine } from '../../db/postgres/line.ts';
import { migratePostgres, postgresSchemaOf } from '../../db/postgres/migrate.ts';
import { openPostgres } from '../../db/postgres/open.ts';
import { sealedSampleOn } from '../../db/postgres/sealed.ts';
import type { SealedSample } from '../../db/sealed.ts';
import type { AppError } from '../contract/errors.ts';
import type { LedgerMessage } from '../ledger/client.ts';
import type { LedgerCommand, LedgerResult } from '../ledger/commands.ts';
import { createEngine, type Engine, type StoreHealth } from '../ledger/engine.ts';
import { createLeaseLife } from '../ledger/lease-life.ts';
import { openNodeFiles } from '../ledger/outbox.ts';
import { type OwedPlace, type OwedReport, settleOwedFar } from '../ledger/owed.ts';
import type { RecoveryReport } from '../ledger/recovery.ts';
import { createKeeper } from './keeper.ts';

export interface NodeOrder {
  readonly place: PostgresPlace;
  readonly name: string;
  readonly version: string;
  readonly nativeBinding: string | undefined;
  readonly owed: readonly OwedPlace[];
  /** Folder of the node's own files. */
  readonly dir: string;
  /** What is written there outlives the machine's crash: ends may wait there while the database is away. */
  readonly durable: boolean;
}

export interface NodeReport {
  readonly recovery: RecoveryReport;
  readonly owed: OwedReport;
  readonly migrated: readonly string[];
  readonly sample: SealedSample | null;
}

export interface Books {
  readonly engine: Engine;
  readonly report: NodeReport;
  /** All is given back, and the others know that this node is gone. */
  close(): Promise<void>;
}

export interface BooksHearers {
  readonly message: (message: LedgerMessage) => void;
  readonly health: (health: StoreHealth) => void;
  readonly say: (line: string) => void;
}

const connections = 2;

/** @throws AppError database_* */
export async function openBooks(order: NodeOrder, told: BooksHearers): Promise<Books> {
  const { place } = order;
  // A pooler gives nobody a session, and migrations want one.
  const database = await openPostgres(
    { ...place, url: place.direct ?? place.url },
    { connections, name: 'gateway ledger' },
  );
  try {
    const migrated = await migratePostgres(database);
    const sample = await sealedSampleOn(database);
    const schema = await postgresSchemaOf(database);
    await database.close();
    const { recovery, owed, ...books } = await begin(order, schema, told);
    return { ...books, report: { recovery, owed, migrated, sample } };
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function begin(order: NodeOrder, schema: string, told: BooksHearers) {
  mkdirSync(order.dir, { recursive: true, mode: 0o700 });
  const files = openNodeFiles(order.dir, {
    nativeBinding: order.nativeBinding,
    now: Date.now,
  });
  const life = createLeaseLife({ monotonic: () => performance.now(), wall: Date.now });
  const forgotten: LedgerCommand[] = [];
  const submitted = (command: LedgerCommand): Promise<LedgerResult> =>
    new Promise((resolve, reject) =>
      engine.submit(command, (result) => ('status' in result ? resolve(result) : reject(result as AppError))),
    );
  const store = createPostgresLedgerStore({
    connect: () => openLine(order.place),
    node: { name: order.name, version: order.version, schema },
    acknowledged: files.acknowledged,
    onEpoch: () => life.ended(),
    onForgotten(commands) {
      if (commands.length > 0) told.say(`the database had forgotten ${commands.length} postings; they are sent again`);
      forgotten.push(...commands);
      setImmediate(() => {
        for (const command of forgotten.splice(0)) void submitted(command).catch(() => undefined);
      });
    },
    newRun: randomUUID,
    now: () => Math.floor(Date.now() / 1000),
  });
  const living = alive(store, life);
  await living.probe();
  const keeper = createKeeper({
    connect: () => openLine(order.place, 'gateway keeper'),
    name: order.name,
    epoch: store.epoch,
    beat: living.probe,
    submit: submitted,
    say: told.say,
  });
  const engine = createEngine({
    store: living,
    onBalance: told.message,
    onHealth: told.health,
    ...(order.durable
      ? {
          standby: {
            outbox: files.outbox,
            mayAdmit: life.lasts,
            onRefused: ({ ref }: LedgerCommand, result: LedgerResult) =>
              told.say(`what was owed for ${ref} was turned down: ${JSON.stringify(result)}`),
          },
        }
      : {}),
  });
  const owed = await settleOwedFar((commands) => Promise.all(commands.map(submitted)), order.owed);
  const recovered = await keeper.bury();
  keeper.start();
  return {
    engine,
    recovery: { epoch: store.epoch(), ...recovered },
    owed,
    async close() {
      keeper.stop();
      await engine.drain();
      await keeper.leave();
      store.close();
      files.close();
    },
  };
}

/** Whatever the database commits for this node says that it lives. */
function alive(store: PostgresLedgerStore, life: ReturnType<typeof createLeaseLife>) {
  const signed = async <T>(work: () => Promise<T>): Promise<T> => {
    const confirmed = life.sent();
    const value = await work();
    confirmed();
    return value;
  };
  return {
    ...store,
    apply: (commands: readonly LedgerCommand[]) => signed(() => store.apply(commands)),
    probe: () => signed(store.probe),
  };
}
