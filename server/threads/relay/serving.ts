/** One relay behind a door of its own: the same in the main thread, where it is the only one, and in a thread beside others. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { dataDirFiles } from '../../app/data-dir.ts';
import { createStop } from '../../app/shutdown.ts';
import type { Balances } from '../../billing/balances/balances.ts';
import { type LedgerClient, ledgerGone } from '../../billing/ledger/client.ts';
import { createRedis, redisAt } from '../../cluster/redis.ts';
import { AppError } from '../../contract/errors.ts';
import { capsuleOf, vaultFor } from '../../domain/secrets/vault.ts';
import { createConnections } from '../../http/connections.ts';
import { createConsoleAssets } from '../../http/console-assets.ts';
import type { Descriptors } from '../../http/descriptors.ts';
import { createFindSession } from '../../http/find-session.ts';
import { type FrontDoor, openFrontDoor } from '../../http/front-door.ts';
import type { TokenCounter } from '../../relay/admission/counting/counter.ts';
import type { LeaseSource } from '../../relay/admission/lease-client.ts';
import { createSiteRates, type SiteRates } from '../../relay/admission/site-rates.ts';
import { runChannelTest } from '../../relay/channel-test.ts';
import { createTaskCalls } from '../../relay/endpoints/tasks/calls.ts';
import { createRelay } from '../../relay/relay.ts';
import { defaultLimits } from '../../relay/relay-deps.ts';
import type { RelayState } from '../../relay/state/state.ts';
import { within } from '../supervise.ts';
import { createStarvation } from './descriptors-exhausted.ts';
import { commitCeiling, connectionLimits, overloadLimits } from './environment.ts';
import { portError } from './free-port.ts';
import { createOverload } from './load-shedding.ts';
import type { FromRelay, RelayStanding, ServingOrder, ThreadFigures, ToRelay } from './messages.ts';
import { createOnlookers } from './observers.ts';

export interface Serving {
  /** @returns the port. @throws AppError port_taken. */
  open(): Promise<number>;
  receive(message: ToRelay): void;
  standing(): RelayStanding;
  figures(): ThreadFigures;
}

export interface ServingDeps {
  readonly order: ServingOrder;
  readonly state: RelayState;
  readonly balances: Balances;
  readonly ledger: LedgerClient;
  readonly counter: TokenCounter;
  /** null where another thread looks after all connections. */
  readonly descriptors: Descriptors | null;
  /** Milliseconds of a clock that never goes back and is the same in all threads. */
  readonly steady: () => number;
  readonly tell: (message: FromRelay) => void;
}

/** @throws AppError secret_* */
export function createServing(deps: ServingDeps): Serving {
  const { order, state, ledger, tell } = deps;
  const files = dataDirFiles(order.dataDir);
  const say = (line: string) => tell({ kind: 'say', line });
  const onlookers = createOnlookers(order, (text) => tell({ kind: 'logged', text }));
  const tasks = createTaskCalls((id, call) => tell({ kind: 'task', id, call }));
  const connections = createConnections(connectionLimits(order.env), deps.descriptors, () => performance.now());
  const vault = vaultFor(files.secretKey, order.env, order.sample);
  const overload = createOverload(overloadLimits(order.env, deps.descriptors?.limit ?? null), {
    now: () => performance.now(),
    afterTurn: setImmediate,
    open: () => relay.open(),
    billMs: ledger.waitedMs,
    every(beat, ms) {
      const beats = setInterval(beat, ms);
      beats.unref();
      return () => clearInterval(beats);
    },
  });
  const relay = createRelay({
    state,
    balances: deps.balances,
    ledger,
    counter: deps.counter,
    fetch,
    now: Date.now,
    steady: deps.steady,
    random: Math.random,
    keyHmac: vault.keyHmac,
    capsule: capsuleOf(vault),
    tasks: tasks.store,
    findSession: createFindSession(files.httpSocket),
    trouble: (trouble) => tell({ kind: 'trouble', trouble }),
    observer: onlookers.observer,
    ...(onlookers.around === undefined ? {} : { around: onlookers.around }),
    refused: (ref, reason) => say(`settlement of ${ref} was turned down: ${reason}`),
    limits: { ...defaultLimits, commitCeilingMs: commitCeiling(order.env) },
    watch: connections,
    starved: createStarvation(say, () => performance.now()),
    crowded: overload.crowded,
    wait: overload.wait,
    ...(deps.balances.money.nodeLease === null ? {} : { lender: lenderOver(ledger), ...ratesOf(deps, say) }),
    ...(order.shared || deps.balances.money.nodeLease !== null
      ? { tell: (news) => tell({ kind: 'heard', news }) }
      : {}),
  });
  let door: FrontDoor | null = null;
  const stop = createStop({
    door: {
      leave: () => door?.leave(),
      drain: () => door?.drain(),
      handedOn: () => door?.handedOn() ?? 0,
      stop: async (graceMs) => door?.stop(graceMs),
    },
    relay,
    ledger,
    counter: deps.counter,
    keep: { owed: files.owed, mark: order.mark, say, now: Date.now },
  });
  const handTraffic = () => {
    const windows = relay.takeTraffic();
    if (windows.length > 0) tell({ kind: 'traffic', windows });
  };
  const leave = async () => {
    handTraffic();
    await within(onlookers.stop(), lastSpansMs);
    tell({ kind: 'stopped' });
  };
  const delays = order.measured ? monitorEventLoopDelay({ resolution: loopResolutionMs }) : null;
  delays?.enable();
  const figures = (): ThreadFigures => {
    const channels = [...state.channels()];
    const standings = relay.standings(channels.map(({ id }) => id));
    return {
      ...relay.figures(),
      loop: delays === null ? null : loopOf(delays),
      channels: channels.map(({ id, name }, at) => ({ id, name, condition: standings[at]?.condition ?? 'unknown' })),
    };
  };

  return {
    async open() {
      await onlookers.ready();
      door = openDoor(deps, { relay: onlookers.seen(relay), controlSocket: files.httpSocket, connections });
      return door.port;
    },
    receive(message) {
      switch (message.kind) {
        case 'test':
          return void runChannelTest(relay, state, message, Date.now).then((result) =>
            tell({ kind: 'tested', id: message.id, result }),
          );
        case 'standing':
          return tell({ kind: 'stood', id: message.id, standings: relay.standings(message.ids) });
        case 'taskAnswered':
          return tasks.answered(message);
        case 'tasksLost':
          return tasks.giveUp();
        case 'heard':
          return relay.hear(message.news);
        case 'busy':
          return tell({ kind: 'busy', id: message.id, ports: [...connections.busy()] });
        case 'figures':
          return tell({ kind: 'figured', id: message.id, figures: figures() });
        case 'traffic':
          return handTraffic();
        case 'suspend':
          return ledger.suspend(message.reason);
        case 'stop':
          return void stop.stop(message.graceMs, message.delayMs).then(leave);
        case 'pause':
          return void within(door?.pause() ?? Promise.resolve(), apiMs).then(() => tell({ kind: 'paused' }));
        case 'handOn':
          return door?.handOn(message.door);
        case 'hurry':
          return stop.hurry();
        case 'fail':
          if (message.bankrupt) ledger.fail(ledgerGone);
          return void stop.fail(new AppError(message.code, message.params)).then(leave);
      }
    },
    figures,
    standing() {
      const health = ledger.healthy();
      return {
        open: relay.open(),
        ...relay.unbilled(),
        owed: ledger.owed().count,
        trouble: health.ok ? '' : health.reason,
      };
    },
  };
}

/** Nobody waits for one that is not there. */
function ratesOf({ order, state }: ServingDeps, say: (line: string) => void): { readonly rates?: SiteRates } {
  const url = order.env.REDIS_URL ?? '';
  if (url === '') return {};
  const { run } = createRedis({ open: () => redisAt(url), say, wait: (ms) => Bun.sleep(ms) });
  return { rates: createSiteRates({ run, settings: () => state.settings }) };
}

/** The site's books, as the relay speaks of them. */
const lenderOver = ({ lend, standing }: LedgerClient): LeaseSource => ({
  async lend(to, more, wish) {
    const answer = await lend({ ...to, more, wish });
    return answer === 'granted' ? 'lent' : answer;
  },
  async standing(userId, tokenId) {
    const { limit, used } = await standing(userId, tokenId);
    return { limit: limit ?? Number.POSITIVE_INFINITY, used };
  },
});

/** What collectors get to take the last spans. */
const lastSpansMs = 2000;
const loopResolutionMs = 20;
/** What the API gets to answer those who have asked when another server comes. */
const apiMs = 2000;

/** Since the last question; the histogram counts nanoseconds from tick to tick. */
function loopOf(delays: ReturnType<typeof monitorEventLoopDelay>): NonNullable<ThreadFigures['loop']> {
  const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - loopResolutionMs);
  const [median, p99, most] = [delays.percentile(50), delays.percentile(99), delays.max].map(late);
  delays.reset();
  return { median: median ?? 0, p99: p99 ?? 0, most: most ?? 0 };
}

/** @throws AppError port_taken. */
function openDoor(
  { order, state, ledger }: ServingDeps,
  inside: Pick<Parameters<typeof openFrontDoor>[0], 'relay' | 'controlSocket' | 'connections'>,
): FrontDoor {
  try {
    return openFrontDoor({
      ...inside,
      host: order.host,
      port: order.port,
      shared: order.sharesPort,
      handedOn: order.handedOn,
      mayServe: () => ledger.healthy().ok,
      trustsProxy: (address) => state.settings.trustsProxy(address),
      secureHost: () => state.settings.secureHost,
      consoleAsset: createConsoleAssets(() => state.settings),
    });
  } catch (error) {
    throw portError(error, order.host, order.port);
  }
}
