/** The ledger of one node of several on PostgreSQL: its number there, its heartbeat, its leases, and the settlements it has not written yet. */
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import type { EncryptedSample } from '../../db/encrypted-columns.ts';
import { PostgresLedger, type PostgresLedgerStore } from '../../db/ledger/postgres/store.ts';
import type { MigrationStep } from '../../db/migrate.ts';
import type { PostgresPlace } from '../../db/place.ts';
import { encryptedSampleOn } from '../../db/postgres/encrypted-columns.ts';
import { openLine } from '../../db/postgres/line.ts';
import { migratePostgres, postgresSchemaOf } from '../../db/postgres/migrate.ts';
import { runsElsewhere } from '../../db/postgres/nodes.ts';
import { openPostgres } from '../../db/postgres/open.ts';
import { openWire, type Wire } from '../../db/postgres/wire.ts';
import { postgresMigrations } from '../../db/schema/migrations.ts';
import { attachMemory, createMemory } from '../billing/balances/shared-memory.ts';
import { createNodeLease, type OwnNodeLease } from '../billing/leases/node-lease.ts';
import type { LedgerMessage, LedgerRequest, LedgerResponse } from '../billing/ledger/client.ts';
import type { LedgerCommand, LedgerResult } from '../billing/ledger/commands.ts';
import {
  type Engine,
  type EngineStore,
  LedgerEngine,
  type Standby,
  type StoreHealth,
} from '../billing/ledger/engine.ts';
import { type PendingOutbox, type PendingReport, settlePendingRemote } from '../billing/ledger/pending.ts';
import type { RecoveryReport } from '../billing/ledger/recovery.ts';
import { AppError } from '../contract/errors.ts';
import { createMonoClock } from '../threads/relay/clock.ts';
import { createNodeHeartbeat, type NodeHeartbeat } from './heartbeat.ts';
import { createLeaseManager, type LeaseManager } from './lease-manager.ts';
import { createLocalLeaseStore } from './lease-store-local.ts';
import { createSharedLeaseStore, type SharedMemory, type SlotsUpdate } from './lease-store-shared.ts';
import { type Acknowledged, type NodeFiles, openNodeFiles } from './node-files.ts';
import { folderError } from './node-name.ts';

export interface NodeOrder {
  readonly place: PostgresPlace;
  readonly name: string;
  readonly version: string;
  readonly nativeBinding: string | undefined;
  readonly pending: readonly PendingOutbox[];
  /** Folder of the node's own files. */
  readonly dir: string;
  /** Its leases end so long after the last heartbeat reached the database. */
  readonly leaseSeconds: number;
  /** Its folder survives a crash of the machine: settlements may wait there while the database is away. */
  readonly durable: boolean;
  /** What the relays spend from; null = nothing is relayed here. */
  readonly memory: SharedMemory | null;
}

export interface NodeReport {
  readonly recovery: RecoveryReport;
  readonly pending: PendingReport;
  readonly migrated: readonly string[];
  readonly sample: EncryptedSample | null;
}

export interface NodeLedger {
  readonly engine: Engine;
  readonly report: NodeReport;
  answer(question: LedgerRequest): Promise<LedgerResponse>;
  update(update: SlotsUpdate): void;
  /** Ends what nodes that are gone have left, as far as it is due. */
  collect(): Promise<void>;
  /** It is about to end: the others see it. */
  stopping(): void;
  /** All leases are returned, and the other nodes know that this node is gone. */
  close(): Promise<void>;
}

export interface NodeLedgerListeners {
  readonly message: (message: LedgerMessage) => void;
  readonly health: (health: StoreHealth) => void;
  /** One line for the operator. */
  readonly print: (line: string) => void;
  /** This node has been requested to stop. */
  readonly drain: () => void;
  /** What an upgrade of the database does meanwhile. */
  readonly onMigration?: (step: MigrationStep) => void;
}

const notListening =
  'NOTIFY of the database does not arrive, as behind a pooler that lends connections by the transaction: what other nodes want is asked for every 250 ms; DATABASE_DIRECT_URL=postgres://… leads around it';
const unavailableReason = ({ durable, leaseSeconds }: NodeOrder, error: unknown): string => {
  const words = error instanceof Error ? error.message : String(error);
  const meanwhile = durable
    ? `requests go on within what is leased, for ${leaseSeconds - 3} s since it was last heard of at most`
    : 'paid requests are refused: GATEWAY_OUTBOX names no folder for bills';
  return `the database cannot be reached (${words}); ${meanwhile}`;
};
const reachedAgain = 'the database answers again';
const listeningAgain = 'NOTIFY of the database arrives again';

/** @throws AppError database_*, data_dir_unreadable, outbox_unusable, outbox_locked, node_copied */
export async function openNodeLedger(order: NodeOrder, listeners: NodeLedgerListeners): Promise<NodeLedger> {
  const { schema, migrated, sample } = await prepare(order.place, listeners.onMigration);
  const { recovery, pending, ...ledger } = await begin(order, schema, listeners);
  return { ...ledger, report: { recovery, pending, migrated, sample } };
}

/** A pooler offers no session; migrations need one, and so do prepared statements. */
const directPlace = (place: PostgresPlace): PostgresPlace => ({ ...place, url: place.direct ?? place.url });

async function prepare(place: PostgresPlace, onMigration: NodeLedgerListeners['onMigration']) {
  const database = await openPostgres(directPlace(place), { connections: 1, name: 'gateway ledger' });
  try {
    const migrated = await migratePostgres(database, postgresMigrations, false, onMigration);
    return { migrated, sample: await encryptedSampleOn(database), schema: await postgresSchemaOf(database) };
  } finally {
    await database.close();
  }
}

async function begin(order: NodeOrder, schema: string, listeners: NodeLedgerListeners) {
  const direct = directPlace(order.place);
  const files = openFiles(order, listeners.print);
  await rejectDuplicate(order, files);
  const { memory: shared } = order;
  const memory = shared === null ? createMemory() : attachMemory(shared.parts, shared.thread);
  const leaseStore = shared === null ? createLocalLeaseStore() : createSharedLeaseStore(memory);
  const nodeLease = createNodeLease(memory, { monoNow: createMonoClock(shared?.clock), wall: Date.now });
  const submitted = (command: LedgerCommand): Promise<LedgerResult> =>
    new Promise((resolve, reject) =>
      engine.submit(command, (result) => (result instanceof AppError ? reject(result) : resolve(result))),
    );
  const store = new PostgresLedger({
    connect: () => openLine(direct, { isOwn: () => order.place.direct !== undefined || wire.isListening() }),
    node: { name: order.name, version: order.version, schema, leaseSeconds: order.leaseSeconds },
    acknowledged: files.acknowledged,
    onEpoch(epoch) {
      nodeLease.ended();
      leases.started(epoch);
      nodeLease.start(epoch, order.leaseSeconds);
    },
    onConnectionError: (error) => listeners.print(error === null ? reachedAgain : unavailableReason(order, error)),
    sign: nodeLease.heartbeatSent,
    onUnlisted(commands, done) {
      if (commands.length === 0) return done();
      listeners.print(
        `${commands.length} postings of this node are not in the database, as after a failover to an older copy; they are sent again`,
      );
      engine.resend(commands.map(again), done);
    },
    newRun: randomUUID,
    now: () => Math.floor(Date.now() / 1000),
  });
  const leases = createLeaseManager({
    ...{
      leaseStore,
      nodeLease,
      move: (moves, epoch) => store.move(moves, epoch),
      isUncertain: (error) => store.isUncertain(error),
      unavailable: () => store.unavailable(),
      leaseMs: order.leaseSeconds * 1000,
      epoch: () => store.epoch(),
      send: (text) => wire.send(text),
    },
    nodes: () => heartbeat.nodes(),
    wall: Date.now,
    now: () => performance.now(),
  });
  const wire: Wire = openWire(order.place, {
    receive: (text) => leases.receive(text),
    notify: (channel, text) => heartbeat.notify(channel, text),
    changed: (isListening) => listeners.print(isListening ? listeningAgain : notListening),
    name: randomUUID().replaceAll('-', ''),
  });
  const heartbeat: NodeHeartbeat = createNodeHeartbeat({
    connect: () => openLine(order.place, { name: 'gateway keeper' }),
    name: order.name,
    epoch: () => store.epoch(),
    beat: () => store.probe(),
    unavailable: () => store.unavailable(),
    cleanup: leases.cleanup,
    submit: submitted,
    print: listeners.print,
    drain: listeners.drain,
  });
  const engine = new LedgerEngine({
    store: leasingStore(store, leases, files.acknowledged),
    onBalance: listeners.message,
    onHealth: listeners.health,
    standby: standbyOf(files.outbox, order.durable, nodeLease, listeners),
  });
  const close = async () => {
    heartbeat.stop();
    await engine.drain();
    wire.close();
    await heartbeat.leave(files.outbox.size() > 0);
    store.close();
    files.close();
  };
  try {
    await store.probe();
    const pending = await settlePendingRemote((commands) => Promise.all(commands.map(submitted)), order.pending);
    const recovered = await heartbeat.recoverOwnEpochs();
    heartbeat.start();
    return {
      engine: withRecall(engine, leases),
      recovery: { epoch: store.epoch(), ...recovered },
      pending,
      answer: async (question: LedgerRequest): Promise<LedgerResponse> => answerTo(question, leases, heartbeat),
      collect: heartbeat.collect,
      stopping: () => void heartbeat.stopping(),
      update(update: SlotsUpdate) {
        leaseStore.update(update);
        leases.changed(update);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function answerTo(
  question: LedgerRequest,
  leases: Pick<LeaseManager, 'acquire'>,
  heartbeat: Pick<NodeHeartbeat, 'limits' | 'funds'>,
): Promise<LedgerResponse> {
  const { id } = question;
  switch (question.kind) {
    case 'lease':
      return { kind: 'leased', id, answer: await leases.acquire(question.order) };
    case 'accountLimits': {
      const limits = await heartbeat.limits(question.userId, question.tokenId).catch(() => null);
      return { kind: 'accountLimits', id, limits };
    }
    case 'keyFunds': {
      const funds = await heartbeat.funds(question.userId, question.tokenId).catch(() => null);
      return { kind: 'keyFunds', id, funds };
    }
  }
}

/** @throws AppError data_dir_unreadable, outbox_unusable, outbox_locked, node_copied */
function openFiles({ dir, durable, nativeBinding }: NodeOrder, print: NodeLedgerListeners['print']): NodeFiles {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    return openNodeFiles(dir, { nativeBinding, now: Date.now, print });
  } catch (error) {
    throw folderError({ dir, durable }, error);
  }
}

/** A folder that was copied while its node runs, such as a machine's snapshot, has the name of that node. @throws AppError node_copied */
async function rejectDuplicate({ place, name, dir }: NodeOrder, files: NodeFiles): Promise<void> {
  if (files.before === 'gone') return;
  try {
    const line = await openLine(directPlace(place), { name: 'gateway ledger' });
    const isDuplicate = await runsElsewhere(line, name).finally(line.close);
    if (isDuplicate) throw new AppError('node_copied', { dir });
  } catch (error) {
    files.close();
    throw error;
  }
}

/** Its code or order may be younger than the copy of the database: the credit is posted without it. */
const again = (command: LedgerCommand): LedgerCommand =>
  command.type === 'redeem' || command.type === 'topup' ? { ...command, resent: true } : command;

const standbyOf = (
  outbox: Standby['outbox'],
  durable: boolean,
  nodeLease: OwnNodeLease,
  { print }: NodeLedgerListeners,
): Standby => ({
  outbox,
  durable,
  mayAdmit: () => durable && nodeLease.isValid(),
  onRejected: ({ ref }, result) => print(`what was owed for ${ref} was turned down: ${JSON.stringify(result)}`),
});

/** After the commit, what was not paid out of leases is in reach again. */
const leasingStore = (store: PostgresLedgerStore, leases: LeaseManager, copies: Acknowledged): EngineStore => ({
  async probe() {
    await store.probe();
    copies.check();
  },
  async apply(commands) {
    const outcome = await store.apply(commands);
    leases.settled(commands, outcome.unspent);
    return outcome;
  },
  isInvalidCommand: (error) => store.isInvalidCommand(error),
  isUncertain: (error) => store.isUncertain(error),
  reasonOf: (error) => store.reasonOf(error),
});

/** The amount to be taken from a balance may be leased and idle on some node. */
const withRecall = (engine: Engine, leases: LeaseManager): Engine => ({
  health: () => engine.health(),
  drain: () => engine.drain(),
  submit(command, done) {
    if (command.type !== 'deduct') return engine.submit(command, done);
    engine.submit(command, (result) => {
      if (result instanceof AppError || result.status !== 'refused' || result.reason !== 'insufficient')
        return done(result);
      void leases.recallAll(command.userId).then(() => engine.submit(command, done));
    });
  },
});
