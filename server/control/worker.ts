/** Thread entry: services, repositories and the HTTP API behind two unix sockets. */
import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { openDatabase } from '../../db/open.ts';
import { createChangesRepository } from '../../db/repositories/changes.ts';
import { AppError } from '../contract/errors.ts';
import { type StorageStanding, soundStorage } from '../contract/storage.ts';
import type { Trouble } from '../contract/trouble.ts';
import { dataDirFiles } from '../data-dir.ts';
import type { Standing } from '../domain/channels/routes.ts';
import type { ChannelTestResult } from '../domain/channels/service.ts';
import { proveKey } from '../domain/secrets/proof.ts';
import { createVault, loadMasterKey } from '../domain/secrets/vault.ts';
import { createSnapshotSource } from '../domain/snapshot/load.ts';
import { version } from '../embedded/version.ts';
import { createApp } from '../http/app.ts';
import { createLedgerClient, type LedgerPort } from '../ledger/client.ts';
import { createLog, type Facts, type Log } from '../logging/log.ts';
import type { LogSettings } from '../logging/settings.ts';
import { proveGuard } from '../outbound/guard.ts';
import type { WorkCall } from '../relay/endpoints/tasks/store.ts';
import { createRequestIds } from '../relay/intake/request-id.ts';
import { createServices } from '../services.ts';
import { backupInThread } from './backup-thread.ts';
import type { ControlStart, FromControl, ToControl } from './messages.ts';
import { createPublisher } from './publisher.ts';

declare const self: {
  onmessage: ((event: MessageEvent<ToControl>) => void) | null;
  postMessage(message: FromControl): void;
};

const sweepMs = 10 * 60 * 1000;
const alertMs = 60 * 1000;
/** Between two looks at drawings and songs under way. As new-api does. */
const worksMs = 15_000;
/** Changes kept although every follower has seen them. */
const keptChanges = 10_000;

const logOf = (settings: LogSettings): Log => createLog(settings, (line) => void process.stderr.write(line), Date.now);

const reporter =
  (log: Log) =>
  (error: unknown, requestId = ''): void => {
    const what = error instanceof Error ? { message: error.message, stack: error.stack } : { message: String(error) };
    log.error(what.message, { request_id: requestId, error: what.stack });
  };

async function start(order: ControlStart) {
  const log = logOf(order.log);
  const report = reporter(log);
  await proveGuard();
  const files = dataDirFiles(order.dataDir);
  const database = await openDatabase(order.place, { nativeBinding: order.nativeBinding });
  const vault = createVault(loadMasterKey(files.secretKey, process.env));
  await proveKey(database, vault);
  const ledger = createLedgerClient(order.ledger as unknown as LedgerPort);
  order.ledger.start();
  const tests = new Map<number, (result: ChannelTestResult) => void>();
  const standings = new Map<number, (found: readonly Standing[]) => void>();
  let nextTest = 1;
  let storage = soundStorage;
  const services = await createServices({
    database,
    dataFolder: { folder: files.dir, nativeBinding: order.nativeBinding },
    vault,
    ledger,
    relayTest: async (wanted) => {
      // The relay must know the channel as it is now.
      await publisher.look();
      return new Promise((resolve) => {
        const id = nextTest++;
        tests.set(id, resolve);
        self.postMessage({ kind: 'test', id, ...wanted });
      });
    },
    standingOf: (ids) =>
      new Promise((resolve) => {
        const id = nextTest++;
        standings.set(id, resolve);
        self.postMessage({ kind: 'standing', id, ids });
      }),
    version,
    report,
    setupCode: order.setupCode,
    storage: () => storage,
    relays: order.relays,
    verifiedBackup: backupInThread,
    now: Date.now,
  });
  const publisher = createPublisher({
    source: createSnapshotSource({ database, vault }),
    publish: (news) => self.postMessage(news),
    optionsChanged: services.options.reload,
    report,
  });
  await publisher.start();
  const requestId = createRequestIds(Date.now);
  const api = {
    services,
    requestId,
    report,
    changed: publisher.look,
    ...(order.log.access ? { answered: (facts: Facts) => log.info('api request', facts) } : {}),
  };
  const servers = await Promise.all([
    listen(createServer(createApp({ ...api, listener: 'network' })), files.httpSocket),
    listen(createServer(createApp({ ...api, listener: 'local' })), files.localSocket),
  ]);
  const changes = createChangesRepository(database);
  const sweepOnce = async () => {
    await services.sessions.sweep();
    await services.wallet.sweep();
    const days = services.options.get('LogRetentionDays');
    await services.logs.prepare();
    if (days > 0) await services.logs.prune(Math.floor(Date.now() / 1000) - days * 86_400);
    await services.works.sweepItems(services.options.get('ResponseItemDays'));
    await changes.trim((await changes.last()) - keptChanges);
  };
  let polling = false;
  const pollOnce = async () => {
    if (polling) return;
    polling = true;
    await services.works.poll().catch(report);
    polling = false;
  };
  const works = setInterval(() => void pollOnce(), worksMs);
  const tellOnce = () => {
    void services.quotaAlerts.look().catch(report);
    void services.backups.tick().then(services.alerts.look).catch(report);
  };
  const alerts = setInterval(tellOnce, alertMs);
  const sweep = setInterval(() => void sweepOnce().catch(report), sweepMs);
  // Payments that were reported just before a crash.
  void services.wallet.sweep().catch(report);
  self.postMessage({ kind: 'ready', setupDone: await services.setup.isDone() });
  return {
    tested: (id: number, result: ChannelTestResult) => {
      tests.get(id)?.(result);
      tests.delete(id);
    },
    stood: (id: number, found: readonly Standing[]) => {
      standings.get(id)?.(found);
      standings.delete(id);
    },
    worked: async (id: number, call: WorkCall) => {
      try {
        const method = services.works[call.method] as (...args: readonly unknown[]) => Promise<unknown>;
        self.postMessage({ kind: 'worked', id, value: await method(...call.args), failed: false });
      } catch (error) {
        report(error);
        self.postMessage({ kind: 'worked', id, value: null, failed: true });
      }
    },
    stands: (standing: StorageStanding) => {
      storage = standing;
    },
    troubled: (trouble: Trouble) => void services.channels.troubled(trouble).then(publisher.look).catch(report),
    close: async () => {
      clearInterval(works);
      clearInterval(sweep);
      clearInterval(alerts);
      publisher.stop();
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
      rmSync(files.httpSocket, { force: true });
      rmSync(files.localSocket, { force: true });
      services.works.closeItems();
      await database.close();
    },
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

self.onmessage = ({ data }) => {
  if (data.kind !== 'start') return;
  start(data)
    .then((control) => {
      self.onmessage = ({ data: message }) => {
        if (message.kind === 'tested') control.tested(message.id, message.result);
        if (message.kind === 'stood') control.stood(message.id, message.standings);
        if (message.kind === 'storage') control.stands(message.standing);
        if (message.kind === 'work') void control.worked(message.id, message.call);
        if (message.kind === 'trouble') control.troubled(message.trouble);
        if (message.kind === 'close') void control.close().then(() => self.postMessage({ kind: 'closed' }));
      };
    })
    .catch((error: unknown) => {
      reporter(logOf(data.log))(error);
      const message = error instanceof Error ? error.message : String(error);
      const { code, params } = error instanceof AppError ? error : { code: '', params: {} };
      self.postMessage({ kind: 'failed', message, code, params });
    });
};
