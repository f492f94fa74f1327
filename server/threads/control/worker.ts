/** Thread entry: services, repositories and the HTTP API behind two unix sockets. */

import { randomUUID } from 'node:crypto';
import { chmodSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createChangeStream } from '../../../db/change-stream.ts';
import { createJobLock } from '../../../db/create-job-lock.ts';
import { type Database, openDatabase } from '../../../db/open.ts';
import { createMembers } from '../../../db/postgres/members.ts';
import type { Feed } from '../../../db/repositories/changes.ts';
import { dataDirFiles } from '../../app/data-dir.ts';
import type { Services } from '../../app/services.ts';
import { createLedgerClient, type LedgerClient, ledgerPortOf } from '../../billing/ledger/client.ts';
import type { RecentChanges } from '../../cluster/recent-changes.ts';
import type { ChannelFailure } from '../../contract/channel-failure.ts';
import { AppError } from '../../contract/errors.ts';
import { healthyStorage, type RelayStall, type StorageStatus } from '../../contract/storage.ts';
import { failureOf } from '../../contract/storage-reasons.ts';
import { sleep, systemTimers, type Timers } from '../../contract/timers.ts';
import type { RefusalReport } from '../../contract/unsupported-members.ts';
import { createDefectCount } from '../../domain/alerts/defects.ts';
import { followShippedPrices } from '../../domain/pricing/shipped.ts';
import { verifyKey } from '../../domain/secrets/key-check.ts';
import { createVault, loadMasterKey } from '../../domain/secrets/vault.ts';
import { createSnapshotSource } from '../../domain/snapshot/load.ts';
import { version } from '../../embedded/version.ts';
import type { AppOptions } from '../../http/app.ts';
import type { SignInStep } from '../../http/program-sign-in.ts';
import { createLog, type Log, type LogFields } from '../../observability/logging/log.ts';
import type { LogSettings } from '../../observability/logging/settings.ts';
import { guardVerified } from '../../outbound/guard.ts';
import { innerTargetsName, parseInnerTargets } from '../../outbound/inner-targets.ts';
import type { TaskCall } from '../../relay/endpoints/tasks/store.ts';
import { RequestIds } from '../../relay/intake/request-id.ts';
import type { HealthReport } from '../../relay/routing/health-report.ts';
import { Reader, readingWith } from '../reader/reader.ts';
import { threadTimers } from '../relay/clock.ts';
import { type Stall, stallLimits, watchStalls } from '../relay/pulse.ts';
import { within } from '../watch-thread.ts';
import { backupInThread } from './backup-thread.ts';
import { createHealthFile } from './health-file.ts';
import type { Isolation } from './isolation.ts';
import { startJobs } from './jobs.ts';
import { keepTraffic } from './keep-traffic.ts';
import { watchKey } from './key-watch.ts';
import type { ControlStart, FromControl, ToControl } from './messages.ts';
import type { Peers } from './peer.ts';
import { RelayQuestions } from './relay-questions.ts';
import { createPublisher, type Publisher } from './snapshot-updates.ts';

declare const self: {
  onmessage: ((event: MessageEvent<ToControl>) => void) | null;
  postMessage(message: FromControl): void;
};

const logOf = (settings: LogSettings): Log =>
  createLog(settings, (line) => void process.stderr.write(line), systemTimers.now);

const reporter =
  (log: Log) =>
  (error: unknown, requestId = ''): void => {
    // Somebody else's failure has no stack that anybody could use.
    if (error instanceof AppError && error.row.class !== 'ours' && error.code !== 'internal') {
      log.warn(error.message, { request_id: requestId });
      return;
    }
    const what = error instanceof Error ? { message: error.message, stack: error.stack } : { message: String(error) };
    log.error(what.message, { request_id: requestId, error: what.stack });
  };

/** A database server answers asynchronously; a file blocks the thread, so its long reads go to the reader. */
const withReader = (database: Database, timers: Timers): Database => {
  if (database.engine !== 'sqlite') return database;
  const { nativeBinding, place } = database;
  const reading = readingWith(new Reader({ file: place.file, nativeBinding, timers }));
  return {
    ...database,
    reading,
    async close() {
      await reading.destroy();
      await database.close();
    },
  };
};

async function start(order: ControlStart) {
  const timers = threadTimers(order.clock);
  const log = logOf(order.log);
  const report = reporter(log);
  const files = dataDirFiles(order.dataDir);
  const database = withReader(await openDatabase(order.place, { nativeBinding: order.nativeBinding }), timers);
  const vault = createVault(loadMasterKey(files.secretKey, process.env));
  await verifyKey(database, vault);
  // The relays are given what is in force from here on.
  await followShippedPrices(database, timers.now());
  const ledger = createLedgerClient(ledgerPortOf(order.ledger), undefined, timers);
  order.ledger.start();
  const questions = new RelayQuestions((message) => self.postMessage(message));
  let storage = healthyStorage;
  const defects = createDefectCount(timers.now);
  const stalls = relayStalls(log, timers);
  const { node } = order;
  const turns = createJobLock(database, node);
  const feed = createChangeStream(database);
  const fresh = database.engine === 'sqlite' ? freshness(ledger, timers) : async () => true;
  const api = Promise.withResolvers<Omit<AppOptions, 'listener'>>();
  const servers = await Promise.all([
    listen(createServer(loadedLater(api.promise, 'network', fresh)), files.httpSocket),
    listen(createServer(loadedLater(api.promise, 'local', fresh)), files.localSocket),
  ]);
  const making = Promise.withResolvers<Services>();
  let isolation: Isolation | null = null;
  const publisher = createPublisher({
    source: createSnapshotSource({ database, vault, feed }),
    publish(update) {
      self.postMessage(update);
      if (update.kind !== 'part') isolation?.changed(update);
    },
    optionsChanged: async () => (await making.promise).options.reload(),
    report,
    timers,
  });
  // The relays take requests from here on, which reach the sockets above.
  await publisher.start();
  // Most of what this thread loads, which the relays do not wait for.
  const { createServices } = await import('../../app/services.ts');
  // All of them now: what counts from the start counts from here.
  const services: Services = {
    ...(await createServices({
      database,
      dataFolder: { folder: files.dir, nativeBinding: order.nativeBinding },
      vault,
      ledger,
      turns,
      relayTest: async (channelTest) => {
        // The relay must know the channel as it is now.
        await publisher.check();
        return questions.test(channelTest);
      },
      statusOf: (ids, model = null, keys = false) => questions.health(ids, model, keys),
      innerTargets: parseInnerTargets(process.env[innerTargetsName] ?? ''),
      version,
      report,
      setupCode: order.setupCode,
      node,
      storage: () => storage,
      defects: defects.recent,
      stall: stalls.last,
      relayThreads: order.relayThreads,
      verifiedBackup: backupInThread,
      now: timers.now,
    })),
  };
  making.resolve(services);
  // Older versions kept them readable.
  await services.settings.sealReadable();
  if (order.leaseSeconds !== null) isolation = await watchIsolation(feed, publisher, node, order.leaseSeconds, timers);
  const requestIds = new RequestIds(timers.now);
  api.resolve({
    services,
    requestId: () => requestIds.next(),
    ...(order.measured
      ? {
          onSignIn: (step: SignInStep, result: string) =>
            self.postMessage({ kind: 'signIn', step, result } satisfies FromControl),
        }
      : {}),
    report,
    changed: publisher.check,
    ...(order.log.access ? { onResponse: (fields: LogFields) => log.info('api request', fields) } : {}),
  });
  const peers = await joinPeers({
    ...{ database, node, timers, services, publisher, report },
    follows: feed.position,
    status: () => storage,
    leaseSeconds: order.leaseSeconds,
  });
  const stopWatchingKey =
    database.engine === 'sqlite' ? () => undefined : watchKey(() => verifyKey(database, vault), dieOf, timers);
  const stopJobs = startJobs({
    ...{ services, feed, turns, report, fresh },
    cleanupNodes: database.engine === 'postgres' ? createMembers(database).sweep : async () => undefined,
    timers,
  });
  const askTraffic = () => self.postMessage({ kind: 'traffic' });
  const traffic = keepTraffic({ recorder: services.trafficRecorder, ask: askTraffic, fresh, timers, report });
  const healthFile = createHealthFile(files.health, timers);
  const healthTimer = timers.every(() => self.postMessage({ kind: 'keepHealth' }), healthMs);
  stalls.watch(order.pulses);
  void services.practice.resume().catch(report);
  self.postMessage({ kind: 'ready', setupDone: await services.setup.isDone() });
  // Without a guard in the way this thread ends, and with it the server; until the proof is there, no guarded call leaves.
  timers.set(() => void guardVerified(), guardMs).unref();
  return {
    questions,
    answerTask: (id: number, call: TaskCall) => answerTask(services, report, id, call),
    storage: (status: StorageStatus) => {
      storage = status;
    },
    broadcastHealth: (healthReport: HealthReport) => peers?.broadcast(healthReport),
    traffic: traffic.take,
    health: healthFile.keep,
    defect: defects.note,
    applied: publisher.applied,
    troubled: (failure: ChannelFailure) => void services.channels.troubled(failure).then(publisher.check).catch(report),
    learnt: (refusal: RefusalReport) =>
      void services.unsupportedMembers.note(refusal).then(publisher.check).catch(report),
    close: async () => {
      stalls.stop();
      stopJobs();
      healthTimer.close();
      await Promise.all([traffic.stop(), healthFile.done()]);
      stopWatchingKey();
      peers?.stop();
      isolation?.stop();
      publisher.stop();
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
      rmSync(files.httpSocket, { force: true });
      rmSync(files.localSocket, { force: true });
      services.tasks.closeItems();
      await services.practice.stop();
      await database.close();
    },
  };
}

/** This thread lives on whatever the relays do, and the only relay may be the main thread. */
function relayStalls(log: Log, timers: Timers) {
  let last: RelayStall | null = null;
  let stop = () => {};
  const note = ({ thread, requestId, ms }: Stall) => {
    last = { thread, requestId, ms, at: Math.floor(timers.now() / 1000) };
  };
  return {
    last: () => last,
    watch(pulses: ControlStart['pulses']) {
      stop = watchStalls({
        pulses,
        limitMs: stallLimits.reportMs,
        lookMs: stallLimits.lookMs,
        counts: true,
        timers,
        found(stall) {
          note(stall);
          const seconds = Math.round(stall.ms / 1000);
          log.error(`relay thread ${stall.thread} stands still for ${seconds} s`, { request_id: stall.requestId });
        },
        over(stall) {
          note(stall);
          const seconds = (stall.ms / 1000).toFixed(1);
          log.warn(`relay thread ${stall.thread} goes on after ${seconds} s`, { request_id: stall.requestId });
        },
      });
    },
    stop: () => stop(),
  };
}

/** Calls the store of tasks for a relay, which has no database. */
async function answerTask(
  { tasks }: Services,
  report: (error: unknown) => void,
  id: number,
  call: TaskCall,
): Promise<void> {
  try {
    const method = tasks[call.method] as (...args: readonly unknown[]) => Promise<unknown>;
    self.postMessage({ kind: 'taskAnswered', id, value: await method(...call.args), failed: false });
  } catch (error) {
    report(error);
    self.postMessage({ kind: 'taskAnswered', id, value: null, failed: true });
  }
}

/** The proof of the guard costs as much as the first answer of the API, which goes first. */
const guardMs = 1000;

/** A crash loses what was learnt of upstreams within this interval. */
const healthMs = 10_000;

/** The supervising thread gets the reason. */
function dieOf(error: unknown): void {
  systemTimers.set(() => {
    throw error;
  }, 0);
}

interface Joining {
  readonly database: Database;
  readonly node: string;
  readonly timers: Timers;
  readonly services: Services;
  readonly publisher: Publisher;
  readonly follows: () => string | null;
  readonly status: () => StorageStatus;
  readonly leaseSeconds: number | null;
  readonly report: (error: unknown) => void;
}

/** @returns null where this machine is the only one. */
async function joinPeers({
  database,
  services,
  publisher,
  status,
  leaseSeconds,
  ...rest
}: Joining): Promise<Peers | null> {
  if (database.engine === 'sqlite') return null;
  const { startPeers } = await import('./peer.ts');
  return startPeers({
    ...rest,
    database,
    run: randomUUID(),
    knownAt: publisher.knownAt,
    changed: () => void publisher.check(),
    received: (healthReport) => self.postMessage({ kind: 'healthReport', healthReport }),
    nodes: publisher.nodes,
    stats: () => ({
      relays: services.relayThreads,
      waiting: status().waiting,
      trouble: failureOf(status().reason),
      lease_seconds: leaseSeconds,
    }),
  });
}

/** A node that is cut off learns on the Redis of the site, if there is one, whose rights have changed. */
async function watchIsolation(
  feed: Feed,
  publisher: Publisher,
  node: string,
  leaseSeconds: number,
  timers: Timers,
): Promise<Isolation> {
  const { createIsolation } = await import('./isolation.ts');
  const { aloneSecondsIn } = await import('../../cluster/order.ts');
  const url = process.env.REDIS_URL ?? '';
  return createIsolation({
    recentChanges: url === '' ? null : await recentChangesAt(url, timers),
    async unread() {
      const changes = await feed.unread(node);
      const idsOf = (kind: string) =>
        changes.flatMap(({ entity, entity_id }) => (entity === kind ? [Number(entity_id)] : []));
      return { users: idsOf('users'), tokens: idsOf('tokens') };
    },
    aloneMs: aloneSecondsIn(process.env, leaseSeconds) * 1000,
    knownAt: publisher.knownAt,
    publish: publisher.unknown,
    timers,
  });
}

async function recentChangesAt(url: string, timers: Timers): Promise<RecentChanges> {
  const { createRedis, redisAt } = await import('../../cluster/redis.ts');
  const { recentChangesScripts, createRecentChanges } = await import('../../cluster/recent-changes.ts');
  // The relays say it when it goes and comes back.
  const changed = () => undefined;
  const wait = (ms: number) => sleep(timers, ms);
  const { run } = createRedis({
    open: () => redisAt(url),
    scripts: recentChangesScripts,
    purpose: 'changes',
    changed,
    wait,
  });
  return createRecentChanges(run);
}

/** So long a reader waits for what was acknowledged to get into the tables; a disk that hangs is read as it is. */
const freshMs = 250;

/** @returns what resolves when everything acknowledged so far can be read, with false where it cannot be for now. */
function freshness(ledger: LedgerClient, timers: Timers): () => Promise<boolean> {
  return async () => {
    let isWhole = false;
    const flushed = ledger.flush().then(
      (all) => {
        isWhole = all;
      },
      () => undefined,
    );
    return (await within(flushed, freshMs, timers)) && isWhole;
  };
}

/** The API is loaded and put together for its first request: a node that only relays never needs it. @param options resolves when there is what it is put together from. */
function loadedLater(
  options: Promise<Omit<AppOptions, 'listener'>>,
  listener: AppOptions['listener'],
  fresh: () => Promise<boolean>,
): RequestListener {
  let app: Promise<RequestListener> | null = null;
  return async (request, response) => {
    app ??= Promise.all([import('../../http/app.ts'), options]).then(([{ createApp }, made]) =>
      createApp({ ...made, listener }),
    );
    // Whoever asks for his balance or the log after his answer sees it there.
    if (!(await fresh())) response.setHeader('X-Ledger-Behind', '1');
    (await app)(request, response);
  };
}

function listen(server: Server, path: string): Promise<Server> {
  rmSync(path, { force: true });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      chmodSync(path, 0o600);
      resolve(server);
    });
  });
}

/** What came while the thread started. */
const early: ToControl[] = [];

self.onmessage = ({ data }) => {
  if (data.kind !== 'start') {
    early.push(data);
    return;
  }
  start(data)
    .then((control) => {
      const receive = (message: ToControl) => {
        if (message.kind === 'tested') control.questions.tested(message.id, message.result);
        if (message.kind === 'channelHealth') control.questions.healthFound(message.id, message.statuses);
        if (message.kind === 'storage') control.storage(message.status);
        if (message.kind === 'healthReport') control.broadcastHealth(message.healthReport);
        if (message.kind === 'traffic') control.traffic(message.windows);
        if (message.kind === 'health') control.health(message.health, message.thread);
        if (message.kind === 'task') void control.answerTask(message.id, message.call);
        if (message.kind === 'trouble') control.troubled(message.failure);
        if (message.kind === 'learnt') control.learnt(message.refusal);
        if (message.kind === 'defect') control.defect(message.requestId, message.message);
        if (message.kind === 'applied') control.applied(message.seq);
        if (message.kind === 'close') void control.close().then(() => self.postMessage({ kind: 'closed' }));
      };
      self.onmessage = ({ data: message }) => receive(message);
      for (const message of early.splice(0)) receive(message);
    })
    .catch((error: unknown) => {
      reporter(logOf(data.log))(error);
      const message = error instanceof Error ? error.message : String(error);
      const { code, params } = error instanceof AppError ? error : { code: '', params: {} };
      self.postMessage({ kind: 'failed', message, code, params });
    });
};
