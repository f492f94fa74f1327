/** The composition root of a running server: this thread supervises, one keeps the ledger, one serves the API; requests are relayed here, or by several threads of their own. */
import { randomBytes } from 'node:crypto';
import type { MigrationStep } from '../../db/migrate.ts';
import type { DatabasePlace } from '../../db/place.ts';
import type { SealedSample } from '../../db/sealed.ts';
import { controlName, type LedgerClient } from '../billing/ledger/client.ts';
import type { OwedReport } from '../billing/ledger/owed.ts';
import type { Missing } from '../billing/ledger/progress.ts';
import { createBalanceStore, placesFor } from '../cluster/balance-store.ts';
import { nodeOrder } from '../cluster/order.ts';
import { AppError } from '../contract/errors.ts';
import type { Snapshot, SnapshotDelta } from '../contract/snapshot.ts';
import { endRotation, rotationStamp } from '../domain/secrets/rotation.ts';
import { addonPath } from '../embedded/addon-path.ts';
import { nativeBindingFor } from '../embedded/native-addon.ts';
import { version } from '../embedded/version.ts';
import { endEarly, startEarly, startThread } from '../embedded/workers.ts';
import { createOldServer } from '../handover/handover.ts';
import { requestHandover, type TakenOver } from '../handover/new-process.ts';
import { type Handovers, listenForHandover } from '../handover/old-process.ts';
import { openDescriptors } from '../http/descriptors.ts';
import { type LogSettings, usualLog } from '../observability/logging/settings.ts';
import { type MetricsAddress, serveMetrics } from '../observability/metrics/listener.ts';
import type { TraceSettings } from '../observability/traces/settings.ts';
import { type CountingThread, createTokenCounter } from '../relay/admission/counting/counter.ts';
import { createRelayState, type RelayState } from '../relay/state/state.ts';
import type { FromControl } from '../threads/control/messages.ts';
import { type ControlThread, createControlThread } from '../threads/control/thread.ts';
import { type LedgerThread, startLedger } from '../threads/ledger/thread.ts';
import type { ServingOrder } from '../threads/relay/messages.ts';
import { createOneRelay } from '../threads/relay/one-relay.ts';
import { createRelayThreads } from '../threads/relay/relay-threads.ts';
import type { Relays, RelaysDeps } from '../threads/relay/relays.ts';
import { acquireLock, type DataDirFiles, databasePlace, ensureDataDir, givesLockBack, lockOwner } from './data-dir.ts';
import { createEndings, type Endings } from './shutdown-causes.ts';
import { createStorageWatch } from './storage-watch.ts';

export { createLog } from '../observability/logging/log.ts';
export { logSettings } from '../observability/logging/settings.ts';
export { metricsAddress } from '../observability/metrics/listener.ts';
export { traceSettings } from '../observability/traces/settings.ts';
export { relaysFor } from '../threads/relay/environment.ts';

export interface GatewayOptions {
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  /** Relay threads; one runs in the main thread. */
  readonly relays: number;
  /** The place of the server that uses the folder now, if there is one. */
  readonly takeOver?: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where figures are told; null = nowhere. */
  readonly metrics?: MetricsAddress | null;
  /** Default: what matters, as text. */
  readonly log?: LogSettings;
  /** Where traces go; null = nowhere. */
  readonly traces?: TraceSettings | null;
  /** One line for the operator, apart from what is asked for. */
  readonly say: (line: string) => void;
  /** What the start waits for while the database is upgraded. */
  readonly migrating?: (step: MigrationStep) => void;
}

export interface Gateway extends Omit<Endings, 'fail' | 'retire'> {
  readonly url: string;
  /** Needed for setting up over HTTP; null once set up. */
  readonly setupCode: string | null;
  /** What an earlier crash left and how it was settled. */
  readonly recovered: { readonly settled: number; readonly voided: number };
  /** What an earlier end could not write to the database, settled now. */
  readonly owed: OwedReport;
  /** Files and connections that may be open at a time; null where the system cannot be asked. */
  readonly descriptors: number | null;
  /** Resolves when somebody wants this node of several to end. */
  readonly drained: Promise<void>;
  /** Port of the figures; null = nobody asked for them. */
  readonly metricsPort: number | null;
}

const closeMs = 1000;
/** What a node has leased goes back over the network. */
const leaveMs = 5000;

/** @throws AppError data_dir_*, database_*, secret_missing, port_taken. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const files = ensureDataDir(options.dataDir);
  const place = databasePlace(files, options.env);
  const nativeBinding = nativeBindingFor(files.dir, addonPath);
  const before = options.takeOver === true ? await placeOf(files, options.port, place) : null;
  const unlock = before === null ? acquireLock(files) : givesLockBack(files);
  startEarly('control');
  const threads: { terminate(): void }[] = [];
  try {
    await endRotation({ ...files, database: place }, nativeBinding, rotationStamp(Date.now()));
    const setupCode = randomBytes(8).toString('hex');
    const { balances, shared, bury } = createBalanceStore(place, options.relays);
    const node = nodeOrder(place, files, options.env, { nativeBinding, memory: shared });
    const ledgerThread = await startLedger({
      ...{ files, nativeBinding, follows: before !== null, node },
      migrating: options.migrating,
    });
    threads.push(ledgerThread);
    const { client: ledger, missing } = ledgerThread;
    if (missing !== null) options.say(missingPostings(missing));
    ledger.onBalance(balances.money.accounts.credit);
    const state = createRelayState(balances.money.accounts);
    const counter = createTokenCounter(() => startThread('counter') as unknown as CountingThread);
    const descriptors = openDescriptors();
    const { env, say, metrics = null, log = usualLog } = options;
    const order = orderOf(options, files, before, ledgerThread.sample);
    let handovers: Handovers | null = null;
    const tellControl: RelaysDeps['control'] = (message) => {
      if (handovers?.control(message) !== true) control.tell(message);
    };
    const relays = createRelays(
      options.relays,
      {
        ...{ order, state, balances, ledger, counter, descriptors, say, control: tellControl },
        write: (text) => void process.stderr.write(text),
      },
      { files, ledgerPort: ledgerThread.newPort, hopeless: (why) => fail('relay', why) },
    );
    threads.push(relays);
    const control = createControlThread({
      spawn: () => startThread('control'),
      order: { place, nativeBinding, setupCode, log, ...machineOf(files, node, options) },
      ledgerPort: () => ledgerThread.newPort(controlName),
      receive: hearControl({
        ...{ state, relays, before, places: placesFor(ledgerThread, balances.money) },
        applied: (seq) => control.tell({ kind: 'applied', seq }),
      }),
      lost(why) {
        say(`the control thread died and is started again: ${why}`);
        relays.tasksLost();
      },
      replaced: () => control.tell({ kind: 'storage', standing: watch.standing() }),
      hopeless: (why) => fail('control', why),
    });
    const watch = watchStorage(ledgerThread, relays, control, say);
    threads.push({ terminate: watch.stop });
    const setupDone = await control.start().catch((error: unknown) => {
      throw error instanceof AppError ? error : new AppError('internal', {}, error);
    });
    await state.ready;

    await before?.hold({ balances, ledger, control: control.tell, now: Date.now });
    const openPort = await relays.open();
    const monitors = createMonitors(metrics, { env, relays, ledger, state, leaseSeconds: node?.leaseSeconds ?? null });
    await monitors.open();
    threads.push({ terminate: monitors.close });
    before?.open(options.relays, order.handedOn);
    const close = async (): Promise<void> => {
      await Promise.all([control.stop(closeMs), ledgerThread.stop(node === null ? closeMs : leaveMs)]);
      watch.stop();
      monitors.close();
      counter.close();
      handovers?.stop();
      unlock();
    };
    const { fail, retire, ...lasting } = createEndings({ relays, ledgerThread, say, before: before?.ended, close });
    ledgerThread.onDeath(bury);
    ledgerThread.onDeath((why) => fail('ledger', why));
    void ledgerThread.suspended.then(relays.suspend);
    if (sharesPort && node === null)
      handovers = listenForHandover(
        files.successionSocket,
        createOldServer({
          ...{ files, ledgerThread, control, relays, state, monitors, say, retire },
          money: balances.money,
          port: openPort,
          listeners: options.relays,
          hopeless: (why) => fail('ledger', why),
        }),
      );
    return {
      url: `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${openPort}`,
      setupCode: setupDone ? null : setupCode,
      ...{ recovered: ledgerThread.recovery, owed: ledgerThread.owed },
      descriptors: descriptors?.limit ?? null,
      metricsPort: monitors.port(),
      drained: ledgerThread.drained,
      ...lasting,
    };
  } catch (error) {
    for (const thread of threads) thread.terminate();
    unlock();
    // Then the other serves on.
    before?.end();
    throw error;
  } finally {
    endEarly();
  }
}

const machineOf = (
  files: DataDirFiles,
  node: { readonly name: string; readonly leaseSeconds: number } | null,
  { relays }: GatewayOptions,
) => ({
  dataDir: files.dir,
  node: node?.name ?? '',
  leaseSeconds: node?.leaseSeconds ?? null,
  relays,
});

function orderOf(
  { host, port, env, metrics = null, log = usualLog, traces = null }: GatewayOptions,
  files: DataDirFiles,
  before: TakenOver | null,
  sample: SealedSample | null,
): ServingOrder {
  return {
    ...{ host, env, log, traces, sample, sharesPort, shared: false, mark: '' },
    dataDir: files.dir,
    port: before?.port ?? port,
    follows: before !== null,
    handedOn: before === null ? '' : files.doorSocket(process.pid),
    measured: metrics !== null,
  };
}

interface OfThreads {
  readonly files: DataDirFiles;
  readonly ledgerPort: (name: string) => MessagePort;
  readonly hopeless: (why: string) => void;
}

function createRelays(count: number, around: RelaysDeps, { files, ledgerPort, hopeless }: OfThreads): Relays {
  const { say } = around;
  if (count === 1) return createOneRelay(around);
  const keep = { owed: files.owed, mark: '', say, now: Date.now };
  return createRelayThreads({ ...around, count, ledgerPort, keep, hopeless });
}

interface ControlHearers {
  readonly state: RelayState;
  readonly relays: Relays;
  readonly before: TakenOver | null;
  /** Told of users and keys before any relay is. */
  readonly places: (news: Snapshot | SnapshotDelta) => void;
  /** Every relay thread has applied the changes up to this sequence number. */
  readonly applied: (seq: number) => void;
}

const hearControl =
  ({ state, relays, before, places, applied }: ControlHearers) =>
  (data: FromControl): void => {
    switch (data.kind) {
      case 'snapshot':
      case 'delta':
        state.apply(data);
        places(data);
        void relays.news(data).then(() => applied(data.seq));
        break;
      case 'test':
        relays.test(data);
        break;
      case 'standing':
        relays.channels(data.id, data.ids);
        break;
      case 'heard':
        relays.heard(data.news);
        break;
      case 'traffic':
        relays.traffic();
        break;
      case 'taskAnswered':
        // Numbers below zero are those of the server before this one.
        if (data.id < 0) before?.taskAnswered({ ...data, id: -data.id });
        else relays.taskAnswered(data);
    }
  };

/** Elsewhere no two servers share a port, so that none can take another's place without a gap. */
const sharesPort = process.platform === 'linux';

/** @param port 0 = whatever the other has. @returns null where nobody serves. @throws AppError take_over_refused */
async function placeOf(files: DataDirFiles, port: number, { engine }: DatabasePlace): Promise<TakenOver | null> {
  const owner = lockOwner(files);
  if (owner === null) return null;
  // Of several nodes one is drained, and another started beside it.
  if (engine !== 'sqlite') throw new AppError('take_over_refused', { pid: owner, reason: 'DATABASE_URL' });
  const before = await requestHandover(files.successionSocket, owner);
  if (port !== 0 && port !== before.port) {
    before.end();
    throw new AppError('take_over_refused', { pid: owner, reason: `--port ${before.port}` });
  }
  await before.release();
  return before;
}

const missingPostings = ({ postings, at }: Missing): string =>
  `the database has ${postings} postings fewer than it had at ${new Date(at).toISOString()}: a damaged log loses its end, a restored file what came after it; gateway ledger verify checks the rest`;

interface MetricsSources {
  readonly env: GatewayOptions['env'];
  readonly relays: Relays;
  readonly ledger: LedgerClient;
  readonly state: RelayState;
  readonly leaseSeconds: number | null;
}

function createMonitors(address: MetricsAddress | null, sources: MetricsSources) {
  let listener: { readonly port: number; stop(): void } | null = null;
  return {
    /** @throws AppError port_taken. */
    async open(): Promise<void> {
      listener = address === null ? null : await openMetrics(address, sources);
    },
    close(): void {
      listener?.stop();
      listener = null;
    },
    port: () => listener?.port ?? null,
  };
}

/** @throws AppError port_taken. */
async function openMetrics(address: MetricsAddress, sources: MetricsSources) {
  const { env, relays, ledger, state, leaseSeconds } = sources;
  // Most sites have no monitor, and their start shall not wait for what one needs.
  const { createExposition } = await import('../observability/metrics/exposition.ts');
  const exposition = createExposition(async () => ({
    relays: await relays.figures(),
    standing: relays.standing(),
    oldestOwedMs: ledger.owed().oldestMs,
    version,
    quotaPerUnit: state.settings.priceTables.quotaPerUnit,
    leaseSeconds,
  }));
  return serveMetrics(address, { token: env.GATEWAY_METRICS_TOKEN ?? '', ...exposition });
}

function watchStorage(thread: LedgerThread, relays: Relays, control: ControlThread, say: GatewayOptions['say']) {
  const { client } = thread;
  const watch = createStorageWatch({
    ledger: {
      onHealth: client.onHealth,
      healthy() {
        const own = client.healthy();
        const { trouble } = relays.standing();
        return own.ok && trouble !== '' ? { ok: false, reason: trouble } : own;
      },
      owed: () => ({ ...client.owed(), count: relays.standing().owed }),
    },
    unbilled: relays.standing,
    publish: (standing) => control.tell({ kind: 'storage', standing }),
    say,
    now: Date.now,
  });
  void thread.damage.then((found) => {
    if (found !== '') watch.warn(`the database is damaged: ${found}`);
  });
  return watch;
}
