/** The site's books on PostgreSQL as one node of several keeps them: its number there, its signs of life, what it has leased and what it still owes. */
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import type { PostgresPlace } from '../../db/place.ts';
import type { BatchOutcome } from '../../db/postgres/ledger-batch.ts';
import { createPostgresLedgerStore, type PostgresLedgerStore } from '../../db/postgres/ledger-store.ts';
import { openLine } from '../../db/postgres/line.ts';
import { migratePostgres, postgresSchemaOf } from '../../db/postgres/migrate.ts';
import { openPostgres } from '../../db/postgres/open.ts';
import { sealedSampleOn } from '../../db/postgres/sealed.ts';
import { openWire, type Wire } from '../../db/postgres/wire.ts';
import type { SealedSample } from '../../db/sealed.ts';
import { AppError } from '../contract/errors.ts';
import type { BooksAnswer, BooksQuestion, LedgerMessage } from '../ledger/client.ts';
import type { LedgerCommand, LedgerResult } from '../ledger/commands.ts';
import { createEngine, type Engine, type Standby, type StoreHealth } from '../ledger/engine.ts';
import { type NodeFiles, openNodeFiles } from '../ledger/outbox.ts';
import { type OwedPlace, type OwedReport, settleOwedFar } from '../ledger/owed.ts';
import type { RecoveryReport } from '../ledger/recovery.ts';
import { attachMemory, createMemory } from '../relay/admission/memory.ts';
import { createTenure, type OwnTenure } from '../relay/admission/tenure.ts';
import { createSteadyClock } from '../serving/clock.ts';
import { createKeeper, type Keeper } from './keeper.ts';
import { createLending, type Lending } from './lending.ts';
import { createPocket } from './pocket.ts';
import { createReach, type PlacesNews, type SharedMemory } from './reach.ts';

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
  /** What the relays spend from; null = nothing is relayed here. */
  readonly memory: SharedMemory | null;
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
  answer(question: BooksQuestion): Promise<BooksAnswer>;
  learn(news: PlacesNews): void;
  /** It is about to end: the others see it. */
  leaving(): void;
  /** All is given back, and the others know that this node is gone. */
  close(): Promise<void>;
}

export interface BooksHearers {
  readonly message: (message: LedgerMessage) => void;
  readonly health: (health: StoreHealth) => void;
  /** One line for the operator. */
  readonly say: (line: string) => void;
  /** Somebody wants this node to end. */
  readonly drain: () => void;
}

const unheard =
  'NOTIFY of the database does not arrive, as behind a pooler that lends connections by the transaction: what other nodes want is asked for every 250 ms; DATABASE_DIRECT_URL=postgres://… leads around it';
const heardAgain = 'NOTIFY of the database arrives again';

/** @throws AppError database_*, data_dir_unreadable, outbox_locked */
export async function openBooks(order: NodeOrder, told: BooksHearers): Promise<Books> {
  const { schema, migrated, sample } = await prepare(order.place);
  const { recovery, owed, ...books } = await begin(order, schema, told);
  return { ...books, report: { recovery, owed, migrated, sample } };
}

/** A pooler gives nobody a session; migrations want one, and statements that are parsed once. */
const directPlace = (place: PostgresPlace): PostgresPlace => ({ ...place, url: place.direct ?? place.url });

async function prepare(place: PostgresPlace) {
  const database = await openPostgres(directPlace(place), { connections: 1, name: 'gateway ledger' });
  try {
    const migrated = await migratePostgres(database);
    return { migrated, sample: await sealedSampleOn(database), schema: await postgresSchemaOf(database) };
  } finally {
    await database.close();
  }
}

async function begin(order: NodeOrder, schema: string, told: BooksHearers) {
  const direct = directPlace(order.place);
  const files = openFiles(order);
  const { memory: shared } = order;
  const memory = shared === null ? createMemory() : attachMemory(shared.parts, shared.thread);
  const reach = shared === null ? createPocket() : createReach(memory);
  const tenure = createTenure(memory, { steady: createSteadyClock(), wall: Date.now });
  const submitted = (command: LedgerCommand): Promise<LedgerResult> =>
    new Promise((resolve, reject) =>
      engine.submit(command, (result) => (result instanceof AppError ? reject(result) : resolve(result))),
    );
  const store = createPostgresLedgerStore({
    connect: () => openLine(direct, { isOwn: () => order.place.direct !== undefined || wire.hears() }),
    node: { name: order.name, version: order.version, schema },
    acknowledged: files.acknowledged,
    onEpoch(epoch) {
      tenure.ended();
      lending.began(epoch);
      tenure.begins(epoch);
    },
    sign: tenure.sent,
    onForgotten(commands) {
      if (commands.length === 0) return;
      told.say(`the database had forgotten ${commands.length} postings of this node; they are sent again`);
      setImmediate(() => {
        for (const command of commands) void submitted(command).catch(() => undefined);
      });
    },
    newRun: randomUUID,
    now: () => Math.floor(Date.now() / 1000),
  });
  const lending = createLending({
    ...{
      reach,
      tenure,
      move: store.move,
      isUnresolved: store.isUnresolved,
      epoch: store.epoch,
      tell: (text) => wire.tell(text),
    },
    nodes: () => keeper.nodes(),
    now: () => performance.now(),
  });
  const wire: Wire = openWire(order.place, {
    hear: (text) => lending.hear(text),
    say: (channel, text) => keeper.notify(channel, text),
    changed: (hears) => told.say(hears ? heardAgain : unheard),
    name: randomUUID().replaceAll('-', ''),
  });
  const keeper: Keeper = createKeeper({
    connect: () => openLine(order.place, { name: 'gateway keeper' }),
    name: order.name,
    epoch: store.epoch,
    beat: store.probe,
    sweep: lending.sweep,
    submit: submitted,
    say: told.say,
    drain: told.drain,
  });
  const engine = createEngine({
    store: lendingStore(store, lending),
    onBalance: told.message,
    onHealth: told.health,
    ...(order.durable ? { standby: standbyOf(files.outbox, tenure, told) } : {}),
  });
  const close = async () => {
    keeper.stop();
    await engine.drain();
    wire.close();
    await keeper.leave(files.outbox.size() > 0);
    store.close();
    files.close();
  };
  try {
    await store.probe();
    const owed = await settleOwedFar((commands) => Promise.all(commands.map(submitted)), order.owed);
    const recovered = await keeper.bury();
    keeper.start();
    return {
      engine: gathering(engine, lending),
      recovery: { epoch: store.epoch(), ...recovered },
      owed,
      answer: async (question: BooksQuestion): Promise<BooksAnswer> =>
        question.kind === 'lend'
          ? { kind: 'loan', id: question.id, answer: await lending.lend(question.order) }
          : {
              kind: 'stands',
              id: question.id,
              standing: await keeper.standing(question.userId, question.tokenId).catch(() => null),
            },
      leaving: () => void keeper.leaving(),
      learn(news: PlacesNews) {
        reach.learn(news);
        if (news.changed) lending.changed(news);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** @throws AppError data_dir_unreadable, outbox_locked */
function openFiles({ dir, nativeBinding }: NodeOrder): NodeFiles {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    return openNodeFiles(dir, { nativeBinding, now: Date.now });
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('data_dir_unreadable', { dir, detail: error instanceof Error ? error.message : '' }, error);
  }
}

const standbyOf = (outbox: Standby['outbox'], tenure: OwnTenure, { say }: BooksHearers): Standby => ({
  outbox,
  mayAdmit: tenure.lasts,
  onRefused: ({ ref }, result) => say(`what was owed for ${ref} was turned down: ${JSON.stringify(result)}`),
});

/** After the commit, what was not paid out of leases is in reach again. */
const lendingStore = (store: PostgresLedgerStore, lending: Lending) => ({
  ...store,
  async apply(commands: readonly LedgerCommand[]): Promise<BatchOutcome> {
    const outcome = await store.apply(commands);
    lending.settled(commands, outcome.spared);
    return outcome;
  },
});

/** What is to be taken from a balance may lie idle with some node. */
const gathering = (engine: Engine, lending: Lending): Engine => ({
  ...engine,
  submit(command, done) {
    if (command.type !== 'deduct') return engine.submit(command, done);
    engine.submit(command, (result) => {
      if (result instanceof AppError || result.status !== 'refused' || result.reason !== 'insufficient')
        return done(result);
      void lending.gather(command.userId).then(() => engine.submit(command, done));
    });
  },
});
