/** The composition root of a running server: this thread supervises, one keeps the ledger, one serves the API; requests are relayed here, or by several threads of their own. */
import { randomBytes } from 'node:crypto';
import { writeCleanEnd } from '../../db/clean-end.ts';
import type { EncryptedSample } from '../../db/encrypted-columns.ts';
import type { MigrationStep } from '../../db/migrate.ts';
import type { DatabasePlace } from '../../db/place.ts';
import { controlName, type LedgerClient } from '../billing/ledger/client.ts';
import type { PendingReport } from '../billing/ledger/pending.ts';
import type { Missing } from '../billing/ledger/progress.ts';
import { createBalanceStore, slotsFor } from '../cluster/balance-store.ts';
import { nodeOrder } from '../cluster/order.ts';
import { AppError } from '../contract/errors.ts';
import { endRotation, rotationStamp } from '../domain/secrets/rotation.ts';
import { vaultFor } from '../domain/secrets/vault.ts';
import { embeddedAddon } from '../embedded/embedded-addon.ts';
import { nativeBindingFor } from '../embedded/native-addon.ts';
import { version } from '../embedded/version.ts';
import { endEarly, startEarly, startThread } from '../embedded/workers.ts';
import { createOldServer } from '../handover/handover.ts';
import { requestHandover, type TakenOver, taskThere } from '../handover/new-process.ts';
import { type HandoverListener, listenForHandover } from '../handover/old-process.ts';
import { openDescriptors } from '../http/descriptors.ts';
import { defaultLogSettings, type LogSettings } from '../observability/logging/settings.ts';
import { type MetricsAddress, serveMetrics } from '../observability/metrics/listener.ts';
import { createSignInCounts, type SignInCounts } from '../observability/metrics/sign-ins.ts';
import type { TraceSettings } from '../observability/traces/settings.ts';
import { innerTargetsName, parseInnerTargets } from '../outbound/inner-targets.ts';
import { countingThreadOf, createTokenCounter } from '../relay/admission/counting/counter.ts';
import { newBodyCells } from '../relay/intake/body-memory.ts';
import { newTrialCells } from '../relay/routing/learnt-members.ts';
import { createRelayState, type RelayState } from '../relay/state/state.ts';
import { keptHealth } from '../threads/control/health-file.ts';
import type { FromControl } from '../threads/control/messages.ts';
import { type ControlThread, createControlThread } from '../threads/control/thread.ts';
import { type LedgerThread, startLedger } from '../threads/ledger/thread.ts';
import { threadTimers } from '../threads/relay/clock.ts';
import type { RelayStatus, ServingOrder } from '../threads/relay/messages.ts';
import { createOneRelay } from '../threads/relay/one-relay.ts';
import { newPulse, stallsIn } from '../threads/relay/pulse.ts';
import type { RelayPool, RelayPoolDeps } from '../threads/relay/relay-pool.ts';
import { RelayThreads } from '../threads/relay/relay-threads.ts';
import { acquireLock, type DataDirFiles, databasePlace, ensureDataDir, lockOwner, lockReleaser } from './data-dir.ts';
import { ReserveSpace } from './reserve-space.ts';
import { createStopHandler, type StopHandler } from './shutdown-reason.ts';
import { createStorageWatch } from './storage-watch.ts';

export { parseBasePath } from '../http/base-path.ts';
export { createLog } from '../observability/logging/log.ts';
export { logSettings } from '../observability/logging/settings.ts';
export { metricsAddress } from '../observability/metrics/listener.ts';
export { traceSettings } from '../observability/traces/settings.ts';
export { relayThreadCount } from '../threads/relay/environment.ts';

export interface GatewayOptions {
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  /** Path under which a proxy serves the site, as `parseBasePath` returns it; '' = none. */
  readonly basePath?: string;
  /** Relay threads; one runs in the main thread. */
  readonly relayThreads: number;
  /** The place of the server that uses the folder now, if there is one. */
  readonly takeOver?: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Address of the metrics listener; null = none. */
  readonly metrics?: MetricsAddress | null;
  /** Default: what matters, as text. */
  readonly log?: LogSettings;
  /** Where traces go; null = nowhere. */
  readonly traces?: TraceSettings | null;
  /** One line for the operator, besides the requested output. */
  readonly print: (line: string) => void;
  /** Progress of a database upgrade, on which the start waits. */
  readonly onMigration?: (step: MigrationStep) => void;
}

export interface Gateway extends Omit<StopHandler, 'fail' | 'stopAfterHandover'> {
  readonly url: string;
  /** Needed for setting up over HTTP; null once set up. */
  readonly setupCode: string | null;
  /** What an earlier crash left and how it was settled. */
  readonly recovered: { readonly settled: number; readonly voided: number };
  /** What an earlier end could not write to the database, settled now. */
  readonly pending: PendingReport;
  /** The limit of open files and connections; null where the system does not report it. */
  readonly descriptors: number | null;
  /** Resolves when this node of several has been requested to stop. */
  readonly drained: Promise<void>;
  /** Port of the metrics listener; null = not configured. */
  readonly metricsPort: number | null;
}

const closeMs = 1000;
/** Folding the log into the file takes its time on a busy disk, returning a node's leases a round trip over the network. */
const leaveMs = 5000;

/** @throws AppError data_dir_*, database_*, secret_missing, port_taken. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  parseInnerTargets(options.env[innerTargetsName] ?? '');
  const files = ensureDataDir(options.dataDir, options.env);
  const place = databasePlace(files, options.env);
  const nativeBinding = nativeBindingFor(files.dir, embeddedAddon);
  const before = options.takeOver === true ? await placeOf(files, options.port, place) : null;
  const release = before === null ? acquireLock(files) : lockReleaser(files);
  startEarly('control');
  const threads: { terminate(): void }[] = [];
  try {
    await endRotation({ ...files, database: place }, nativeBinding, rotationStamp(Date.now()));
    const setupCode = randomBytes(8).toString('hex');
    const { balances, shared, recoverThread } = createBalanceStore(place, options.relayThreads);
    const node = nodeOrder(place, files, options.env, { nativeBinding, memory: shared });
    const ledgerThread = await startLedger({
      ...{ files, nativeBinding, follows: before !== null, node },
      onMigration: options.onMigration,
      print: options.print,
    });
    threads.push(ledgerThread);
    const { client: ledger, missing } = ledgerThread;
    if (missing !== null) options.print(missingPostings(missing));
    ledger.onRejected((ref, reason) => options.print(`settlement of ${ref} was turned down: ${reason}`));
    ledger.onBalance(balances.money.accounts.credit);
    const { env, print, metrics = null, log = defaultLogSettings } = options;
    const pulses = Array.from({ length: options.relayThreads }, newPulse);
    // Before any other thread wants it: where it is missing none is made, and where there is nothing to open one is, once.
    vaultFor(files.secretKey, env, ledgerThread.sample);
    // It opens the database while this thread puts the relays together.
    let received: (message: FromControl) => void = () => undefined;
    const control = createControlThread({
      spawn: () => startThread('control'),
      order: {
        ...{ place, nativeBinding, setupCode, log, pulses, measured: metrics !== null },
        ...machineOf(files, node, options),
      },
      ledgerPort: () => ledgerThread.newPort(controlName),
      receive: (message) => received(message),
      lost(reason) {
        print(`the control thread died and is started again: ${reason}`);
        relayThreads.tasksLost();
      },
      replaced: () => control.send({ kind: 'storage', status: watch.status() }),
      onFatal: (reason) => fail('control', reason),
    });
    threads.push({ terminate: () => void control.stop(0) });
    const controlStarted = control.start().catch((error: unknown) => {
      throw error instanceof AppError ? error : new AppError('internal', {}, error);
    });
    // Whoever fails first ends the start; what the thread says of its end then is of no use.
    controlStarted.catch(() => undefined);
    const state = createRelayState(balances.watcher, Date.now);
    const counter = createTokenCounter(() => countingThreadOf(startThread('counter')));
    const descriptors = openDescriptors();
    const order = orderOf(options, files, before, ledgerThread.sample);
    let handovers: HandoverListener | null = null;
    const sendToControl: RelayPoolDeps['control'] = (message) => {
      if (handovers?.control(message) !== true) control.send(message);
    };
    const relayThreads = createRelayPool(
      options.relayThreads,
      {
        ...{ order, state, balances, ledger, counter, descriptors, print, pulses, control: sendToControl },
        bodyCells: newBodyCells(),
        trialCells: newTrialCells(),
        write: (text) => void process.stderr.write(text),
      },
      { files, ledgerPort: ledgerThread.newPort, onFatal: (reason) => fail('relay', reason) },
    );
    threads.push(relayThreads);
    const signIns = createSignInCounts();
    received = receiveControl({
      ...{ state, relayThreads, before, signIns, slots: slotsFor(ledgerThread, balances.money) },
      applied: (seq) => control.send({ kind: 'applied', seq }),
    });
    const watch = watchStorage(ledgerThread, relayThreads, control, print);
    threads.push({ terminate: watch.stop });
    // Among other servers a relay must not begin before this one is known to them.
    if (before !== null || node !== null) await controlStarted;
    await Promise.race([state.ready, controlStarted.then(() => state.ready)]);

    await before?.reserve({ balances, ledger, control: sendToControl, now: Date.now });
    const openPort = await relayThreads.open();
    threads.push({ terminate: relayThreads.shutDownNow });
    const health = keptHealth(files.health, threadTimers());
    if (health !== null) relayThreads.received(health);
    const monitors = createMonitors(metrics, {
      env,
      relayThreads,
      pulses,
      ledger,
      state,
      signIns,
      leaseSeconds: node?.leaseSeconds ?? null,
    });
    await monitors.open();
    threads.push({ terminate: monitors.close });
    before?.open(options.relayThreads, order.forwardedSocket);
    const reserveSpace = new ReserveSpace({
      ...{ outbox: files.ownPending, relayThreads: options.relayThreads, print },
      open: () => relayThreads.status().open,
    });
    reserveSpace.start();
    threads.push({ terminate: () => void reserveSpace.stop() });
    const setupDone = await controlStarted;
    // Another process has the file open then.
    let isFollowed = false;
    const close = async (): Promise<void> => {
      const [isSound] = await Promise.all([
        ledgerThread.stop(leaveMs),
        ...[control.stop(closeMs), reserveSpace.stop()],
      ]);
      if (node === null && isSound && !isFollowed) writeCleanEnd(files.database);
      watch.stop();
      monitors.close();
      counter.close();
      handovers?.stop();
      release();
    };
    const { fail, stopAfterHandover, ...lasting } = createStopHandler({
      relayThreads,
      ledgerThread,
      print,
      before,
      close,
    });
    void lasting.handedOver.then(() => {
      isFollowed = true;
    });
    ledgerThread.onDeath(recoverThread);
    ledgerThread.onDeath((reason) => fail('ledger', reason));
    void ledgerThread.suspended.then((reason) => relayThreads.suspend(reason));
    if (hasSharedPort && node === null)
      handovers = listenForHandover(
        files.nextSocket,
        createOldServer({
          ...{ files, ledgerThread, control, relayThreads, state, monitors, before, print, stopAfterHandover },
          shutDownNow: lasting.shutDownNow,
          money: balances.money,
          port: openPort,
          listeners: options.relayThreads,
          onFatal: (reason) => fail('ledger', reason),
        }),
      );
    return {
      url: `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${openPort}${options.basePath ?? ''}`,
      setupCode: setupDone ? null : setupCode,
      ...{ recovered: ledgerThread.recovery, pending: ledgerThread.pending },
      descriptors: descriptors?.limit ?? null,
      metricsPort: monitors.port(),
      drained: ledgerThread.drained,
      ...lasting,
    };
  } catch (error) {
    for (const thread of threads) thread.terminate();
    release();
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
  { relayThreads }: GatewayOptions,
) => ({
  dataDir: files.dir,
  node: node?.name ?? '',
  leaseSeconds: node?.leaseSeconds ?? null,
  relayThreads: relayThreads,
});

function orderOf(
  { host, port, basePath = '', env, metrics = null, log = defaultLogSettings, traces = null }: GatewayOptions,
  files: DataDirFiles,
  before: TakenOver | null,
  sample: EncryptedSample | null,
): ServingOrder {
  return {
    ...{ host, basePath, env, log, traces, sample, sharesPort: hasSharedPort, shared: false, mark: '' },
    dataDir: files.dir,
    port: before?.port ?? port,
    follows: before !== null,
    forwardedSocket: before === null ? '' : files.handoverSocket(process.pid),
    measured: metrics !== null,
  };
}

interface OfThreads {
  readonly files: DataDirFiles;
  readonly ledgerPort: (name: string) => MessagePort;
  readonly onFatal: (reason: string) => void;
}

function createRelayPool(count: number, deps: RelayPoolDeps, { files, ledgerPort, onFatal }: OfThreads): RelayPool {
  const { print } = deps;
  if (count === 1) return createOneRelay(deps);
  const keep = { pending: files.pending, mark: '', print: print, now: Date.now };
  return new RelayThreads({ ...deps, count, ledgerPort, keep, onFatal });
}

interface ControlListeners {
  readonly state: RelayState;
  readonly relayThreads: RelayPool;
  readonly before: TakenOver | null;
  readonly signIns: SignInCounts;
  /** Notified of users and keys before any relay is. */
  readonly slots: ReturnType<typeof slotsFor>;
  /** Every relay thread has applied the changes up to this sequence number. */
  readonly applied: (seq: number) => void;
}

const receiveControl =
  ({ state, relayThreads, before, signIns, slots, applied }: ControlListeners) =>
  (data: FromControl): void => {
    switch (data.kind) {
      case 'part':
        state.prepare(data);
        break;
      case 'snapshot':
      case 'delta': {
        state.apply(data);
        const update = data.kind === 'delta' ? data : state.snapshot();
        slots(update, state.part);
        void relayThreads.update(update).then(() => applied(data.seq));
        break;
      }
      case 'test':
        relayThreads.test(data);
        break;
      case 'channelHealth':
        relayThreads.channels(data.id, data);
        break;
      case 'healthReport':
        relayThreads.received(data.healthReport);
        break;
      case 'traffic':
        relayThreads.traffic();
        break;
      case 'keepHealth':
        relayThreads.keepHealth();
        break;
      case 'taskAnswered':
        // Numbers below zero are those of the server before this one.
        if (data.id < 0) before?.taskResponded({ ...data, id: taskThere(data.id) });
        else relayThreads.taskResponded(data);
        break;
      case 'signIn':
        signIns.note(data.step, data.result);
        break;
      case 'ready':
      case 'failed':
      case 'closed':
        // Whoever started the thread waits for these.
        break;
    }
  };

/** Elsewhere no two servers share a port, so that none can take another's place without a gap. */
const hasSharedPort = process.platform === 'linux';

/** @param port 0 = whatever the other has. @returns null where no server runs. @throws AppError take_over_refused */
async function placeOf(files: DataDirFiles, port: number, { engine }: DatabasePlace): Promise<TakenOver | null> {
  const owner = lockOwner(files);
  if (owner === null) return null;
  // Of several nodes one is drained, and another started beside it.
  if (engine !== 'sqlite') throw new AppError('take_over_refused', { pid: owner, reason: 'DATABASE_URL' });
  const before = await requestHandover(files.nextSocket, owner);
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
  readonly relayThreads: RelayPool;
  readonly pulses: readonly SharedArrayBuffer[];
  readonly ledger: LedgerClient;
  readonly state: RelayState;
  readonly signIns: SignInCounts;
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
  const { env, relayThreads, pulses, ledger, state, signIns, leaseSeconds } = sources;
  // Most sites have no metrics listener, and their start does not wait for its modules.
  const { createExposition } = await import('../observability/metrics/text-format.ts');
  const exposition = createExposition(async () => ({
    relayThreads: await relayThreads.stats(),
    status: statusOf(relayThreads, ledger),
    stalls: stallsIn(pulses),
    oldestPendingMs: ledger.pending().oldestMs,
    version,
    quotaPerUnit: state.settings.priceTables.quotaPerUnit,
    leaseSeconds,
    signIns: signIns.read(),
  }));
  return serveMetrics(address, { token: env.GATEWAY_METRICS_TOKEN ?? '', ...exposition });
}

/** What the books turn down after it was acknowledged no relay knows of. */
function statusOf(relayThreads: RelayPool, ledger: LedgerClient): RelayStatus {
  const status = relayThreads.status();
  return { ...status, rejected: status.rejected + ledger.turnedDown() };
}

function watchStorage(
  thread: LedgerThread,
  relayThreads: RelayPool,
  control: ControlThread,
  print: GatewayOptions['print'],
) {
  const { client } = thread;
  const watch = createStorageWatch({
    ledger: {
      onHealth: client.onHealth,
      healthy() {
        const own = client.healthy();
        const { failure } = relayThreads.status();
        return own.ok && failure !== '' ? { ok: false, reason: failure } : own;
      },
      pending: () => ({ ...client.pending(), count: relayThreads.status().pending }),
    },
    unbilled: () => statusOf(relayThreads, client),
    publish: (status) => control.send({ kind: 'storage', status }),
    print,
    now: Date.now,
  });
  void thread.damage.then((found) => {
    if (found !== '') watch.warn(`the database is damaged: ${found}`);
  });
  return watch;
}
