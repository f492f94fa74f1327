/** One relay behind a door of its own: the same in the main thread, where it is the only one, and in a thread beside others. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { dataDirFiles } from '../../app/data-dir.ts';
import { createStop } from '../../app/shutdown.ts';
import type { Balances } from '../../billing/balances/money.ts';
import { type LedgerClient, ledgerLost } from '../../billing/ledger/client.ts';
import { createRedis, redisAt } from '../../cluster/redis.ts';
import { AppError } from '../../contract/errors.ts';
import { isOutOfMemory } from '../../contract/own-shortage.ts';
import { sleep, type Timers } from '../../contract/timers.ts';
import { sealedBlobOf, vaultFor } from '../../domain/secrets/vault.ts';
import { createConnections } from '../../http/connections.ts';
import { createConsoleAssets } from '../../http/console-assets.ts';
import type { Descriptors } from '../../http/descriptors.ts';
import { createFindSession } from '../../http/find-session.ts';
import { type HttpServer, openHttpServer } from '../../http/http-server.ts';
import { createLog } from '../../observability/logging/log.ts';
import type { LogSettings } from '../../observability/logging/settings.ts';
import type { TokenCounter } from '../../relay/admission/counting/counter.ts';
import type { LeaseSource } from '../../relay/admission/lease-client.ts';
import { createSiteRates, rateScripts, type SiteRates } from '../../relay/admission/site-rates.ts';
import { runChannelTest } from '../../relay/channel-test.ts';
import { createTaskCalls } from '../../relay/endpoints/tasks/calls.ts';
import type { BodyMemory } from '../../relay/intake/body-memory.ts';
import { createRelay } from '../../relay/relay.ts';
import { defaultLimits } from '../../relay/relay-deps.ts';
import type { HealthPiece } from '../../relay/routing/health-report.ts';
import type { RelayState } from '../../relay/state/state.ts';
import { within } from '../watch-thread.ts';
import { connectionLimits, maxCommitWait, overloadLimits } from './environment.ts';
import { portError } from './free-port.ts';
import { createOverload } from './load-shedding.ts';
import type { FromRelay, RelayStatus, ServingOrder, ThreadStats, ToRelay } from './messages.ts';
import { createObservers } from './observer.ts';
import { beatMs, type Pulse } from './pulse.ts';
import { createShortageWatch, type ShortageWatch } from './shortage-watch.ts';

export interface Serving {
  /** @returns the port. @throws AppError port_taken. */
  open(): Promise<number>;
  receive(message: ToRelay): void;
  status(): RelayStatus;
  stats(): ThreadStats;
}

export interface ServingDeps {
  readonly order: ServingOrder;
  readonly state: RelayState;
  readonly balances: Balances;
  readonly ledger: LedgerClient;
  readonly counter: TokenCounter;
  /** null where another thread looks after all connections. */
  readonly descriptors: Descriptors | null;
  /** Its monotonic clock is the same in all threads. */
  readonly timers: Timers;
  readonly pulse: Pulse;
  readonly bodies: BodyMemory;
  readonly trialCells: SharedArrayBuffer;
  readonly send: (message: FromRelay) => void;
}

/** @throws AppError secret_* */
export function createServing(deps: ServingDeps): Serving {
  const { order, state, ledger, send, timers } = deps;
  const files = dataDirFiles(order.dataDir);
  const print = (line: string) => send({ kind: 'print', line });
  const observers = createObservers(order, (text) => send({ kind: 'logged', text }), timers);
  const tasks = createTaskCalls((id, call) => send({ kind: 'task', id, call }));
  const connections = createConnections(connectionLimits(order.env), deps.descriptors, timers.monoNow);
  const vault = vaultFor(files.secretKey, order.env, order.sample);
  const overload = createOverload(overloadLimits(order.env, deps.descriptors?.limit ?? null), {
    now: timers.monoNow,
    afterTurn: setImmediate,
    open: () => relay.open(),
    billMs: ledger.waitedMs,
    every(beat, ms) {
      const beats = timers.every(beat, ms);
      beats.unref();
      return () => beats.close();
    },
  });
  const shortages = createShortageWatch(print, timers.monoNow);
  const relay = createRelay({
    state,
    balances: deps.balances,
    ledger,
    counter: deps.counter,
    fetch,
    timers,
    random: Math.random,
    keyHmac: vault.keyHmac,
    encryptedBlob: sealedBlobOf(vault),
    tasks: tasks.store,
    findSession: createFindSession(files.httpSocket, order.basePath),
    failure: (failure) => send({ kind: 'trouble', failure }),
    learnt: (refusal) => send({ kind: 'learnt', refusal }),
    trialCells: deps.trialCells,
    observer: observers.observer,
    ...(observers.wrap === undefined ? {} : { wrap: observers.wrap }),
    report: defectReport(order.log, timers.now, { send, shortages }),
    rejected: (ref, reason) => print(`settlement of ${ref} was turned down: ${reason}`),
    works: deps.pulse.works,
    bodies: deps.bodies,
    limits: { ...defaultLimits, maxCommitWaitMs: maxCommitWait(order.env) },
    watch: connections,
    exhausted: shortages.isExhausted,
    isOverloaded: overload.isOverloaded,
    wait: overload.wait,
    ...(deps.balances.money.nodeLease === null
      ? {}
      : { leaseSource: leaseSourceOver(ledger), ...ratesOf(deps, print) }),
    ...(order.shared || deps.balances.money.nodeLease !== null
      ? { broadcast: (healthReport) => send({ kind: 'healthReport', healthReport }) }
      : {}),
  });
  let httpServer: HttpServer | null = null;
  let othersEnded = true;
  const stop = createStop({
    server: {
      leave: () => httpServer?.leave(),
      drain: () => httpServer?.drain(),
      forwarded: () => httpServer?.forwarded() ?? 0,
      stop: async (graceMs) => httpServer?.stop(graceMs),
    },
    othersEnded: () => othersEnded,
    relay,
    ledger,
    counter: deps.counter,
    keep: { pending: files.pending, mark: order.mark, print, now: timers.now },
  });
  const reportTraffic = () => {
    const windows = relay.takeTraffic();
    if (windows.length > 0) send({ kind: 'traffic', windows });
  };
  let healthLeft: Generator<HealthPiece, undefined> | null = null;
  /** @returns whether there is another piece. */
  const reportPiece = (): boolean => {
    const piece = healthLeft?.next().value;
    if (piece === undefined) healthLeft = null;
    else send({ kind: 'health', health: piece });
    return piece !== undefined;
  };
  const reportNextPiece = () => {
    if (reportPiece()) timers.set(reportNextPiece, betweenPiecesMs);
  };
  const reportHealth = () => {
    // Changes that came meanwhile are in the next one.
    if (healthLeft !== null) return;
    healthLeft = relay.healthToKeep();
    reportNextPiece();
  };
  /** At the end, all at once. */
  const reportAllHealth = () => {
    while (reportPiece());
    healthLeft = relay.healthToKeep();
    while (reportPiece());
  };
  const leave = async () => {
    reportTraffic();
    reportAllHealth();
    await within(observers.stop(), lastSpansMs, timers);
    send({ kind: 'stopped' });
  };
  const delays = order.measured ? monitorEventLoopDelay({ resolution: loopResolutionMs }) : null;
  delays?.enable();
  const stats = (): ThreadStats => {
    const channels = [...state.channels()];
    const limits = relay.channelStatuses(channels.map(({ id }) => id));
    return {
      ...relay.stats(),
      loop: delays === null ? null : loopOf(delays),
      channels: channels.map(({ id, name }, at) => ({ id, name, condition: limits[at]?.condition ?? 'unknown' })),
    };
  };

  return {
    async open() {
      await observers.ready();
      deps.pulse.beat();
      timers.every(() => deps.pulse.beat(), beatMs).unref();
      httpServer = openServer(deps, { relay: observers.seen(relay), controlSocket: files.httpSocket, connections });
      return httpServer.port;
    },
    receive(message) {
      switch (message.kind) {
        case 'test':
          return void runChannelTest(relay, state, message, timers.now).then((result) =>
            send({ kind: 'tested', id: message.id, result }),
          );
        case 'channelHealth':
          return send({
            kind: 'channelHealth',
            id: message.id,
            statuses: relay
              .channelStatuses(message.ids, message.model)
              .map((status, at) =>
                message.keys === true ? { ...status, keys: relay.keyHealth(message.ids[at] ?? 0) } : status,
              ),
          });
        case 'taskAnswered':
          return tasks.answered(message);
        case 'tasksLost':
          return tasks.giveUp();
        case 'healthReport':
          return relay.receive(message.healthReport);
        case 'busy':
          return send({ kind: 'busy', id: message.id, ports: [...connections.busy()] });
        case 'stats':
          return send({ kind: 'stats', id: message.id, stats: stats() });
        case 'traffic':
          return reportTraffic();
        case 'keepHealth':
          return reportHealth();
        case 'suspend':
          return ledger.suspend(message.reason);
        case 'stop':
          othersEnded = !message.withOthers;
          return void stop.stop(message.graceMs, message.delayMs).then(leave);
        case 'allEnded':
          othersEnded = true;
          return;
        case 'pause':
          return void within(httpServer?.pause() ?? Promise.resolve(), apiMs, timers).then(() => {
            // The new process reads it when it starts.
            reportAllHealth();
            send({ kind: 'paused' });
          });
        case 'forward':
          return httpServer?.forwardTo(message.endpoint);
        case 'stopNow':
          return stop.shutDownNow();
        case 'fail':
          if (message.isLedgerLost) ledger.fail(ledgerLost);
          return void stop.fail(new AppError(message.code, message.params)).then(leave);
      }
    },
    stats,
    status() {
      const health = ledger.healthy();
      return {
        open: relay.open(),
        forwarded: httpServer?.forwarded() ?? 0,
        ...relay.unbilled(),
        pending: ledger.pending().count,
        failure: health.ok ? '' : health.reason,
      };
    },
  };
}

/** A missing one is not waited for. */
function ratesOf({ order, state, timers }: ServingDeps, print: (line: string) => void): { readonly rates?: SiteRates } {
  const url = order.env.REDIS_URL ?? '';
  if (url === '') return {};
  const { run } = createRedis({
    open: () => redisAt(url),
    scripts: rateScripts,
    purpose: 'rates',
    changed: (error) =>
      print(
        error === null
          ? 'rate limits: Redis answers again, all nodes count together'
          : `rate limits: Redis is away, each node keeps to its share: ${String(error)}`,
      ),
    wait: (ms) => sleep(timers, ms),
  });
  return { rates: createSiteRates({ run, settings: () => state.settings }) };
}

/** Stacks in a second; what is beyond is counted alone. */
const stacksPerSecond = 100;

/** At once, not together with other lines: the thread may not live much longer. */
function defectReport(
  settings: LogSettings,
  now: Timers['now'],
  { send, shortages }: { readonly send: ServingDeps['send']; readonly shortages: ShortageWatch },
): (error: unknown, requestId: string) => void {
  const log = createLog(settings, (text) => send({ kind: 'logged', text }), now);
  let second = 0;
  let stacks = 0;
  return (error, requestId) => {
    // No defect of the program.
    if (isOutOfMemory(error)) return shortages.met('memory');
    const message = error instanceof Error ? error.message : String(error);
    const current = Math.floor(now() / 1000);
    if (current !== second) stacks = 0;
    second = current;
    if (stacks++ < stacksPerSecond)
      log.error(message, { request_id: requestId, error: error instanceof Error ? error.stack : undefined });
    send({ kind: 'defect', requestId, message });
  };
}

/** The site's books, as the relay speaks of them. */
const leaseSourceOver = ({ acquire, limits, funds }: LedgerClient): LeaseSource => ({
  funds,
  async acquire(to, more, requested) {
    const { userId, tokenId, selfUse: house, budget } = to;
    const order = { userId, tokenId, house, more, wish: requested };
    return acquire(budget === undefined ? order : { ...order, budget });
  },
  async limits(userId, tokenId) {
    const { limit, used } = await limits(userId, tokenId);
    return { limit: limit ?? Number.POSITIVE_INFINITY, used };
  },
});

/** Time that collectors get to take the last spans. */
const lastSpansMs = 2000;
const loopResolutionMs = 20;
/** Other work goes on between two pieces. */
const betweenPiecesMs = 2;
/** How long the API may take for its pending requests when another server takes over. */
const apiMs = 2000;

/** Since the last question; the histogram counts nanoseconds from tick to tick. */
function loopOf(delays: ReturnType<typeof monitorEventLoopDelay>): NonNullable<ThreadStats['loop']> {
  const delayOf = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - loopResolutionMs);
  const [median, p99, max] = [delays.percentile(50), delays.percentile(99), delays.max].map(delayOf);
  delays.reset();
  return { median: median ?? 0, p99: p99 ?? 0, max: max ?? 0 };
}

/** @throws AppError port_taken. */
function openServer(
  { order, state, ledger, balances }: ServingDeps,
  inside: Pick<Parameters<typeof openHttpServer>[0], 'relay' | 'controlSocket' | 'connections'>,
): HttpServer {
  try {
    return openHttpServer({
      ...inside,
      host: order.host,
      port: order.port,
      basePath: order.basePath,
      shared: order.sharesPort,
      forwardedSocket: order.forwardedSocket,
      mayServe: () => ledger.healthy().ok && !state.isIsolated(),
      isOutOfLeases: () => state.isAway() && inside.relay.isOutOfLeases(),
      leasesMs: () => (state.isAway() ? (balances.money.nodeLease?.remainingMs() ?? null) : null),
      isTrustedProxy: (address) => state.settings.isTrustedProxy(address),
      secureHost: () => state.settings.secureHost,
      consoleAsset: createConsoleAssets(() => state.settings, order.basePath),
    });
  } catch (error) {
    throw portError(error, order.host, order.port);
  }
}
