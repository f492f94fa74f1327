/**
 * Several relays, each in a thread of its own behind the same port. The main thread gives out shared memory, passes on what
 * they have to know of each other and of the rest, and replaces a thread that dies while the others serve.
 */

import { keepPending } from '../../app/shutdown.ts';
import { allocateRows } from '../../billing/balances/open-requests.ts';
import { relayName } from '../../billing/ledger/client.ts';
import { AppError, isErrorCode } from '../../contract/errors.ts';
import type { Snapshot, SnapshotDelta } from '../../contract/snapshot.ts';
import { sleep, systemTimers, type Timers } from '../../contract/timers.ts';
import { startThread } from '../../embedded/workers.ts';
import { createConnections, type Listener } from '../../http/connections.ts';
import { createRestarts, until, watchThread, within } from '../watch-thread.ts';
import { clockReading } from './clock.ts';
import { connectionLimits } from './environment.ts';
import { freePort } from './free-port.ts';
import { endLost, type LostReport } from './lost-thread.ts';
import type { FromRelay, RelayStatus, RelayUpdate, ThreadStats, ToRelay } from './messages.ts';
import { forgetPulse, newPulse, type Stall, type StallLimits, stallLimits, watchStalls } from './pulse.ts';
import { passOn, type RelayPool, type RelayPoolDeps } from './relay-pool.ts';

export interface RelayThreadsDeps extends RelayPoolDeps {
  readonly count: number;
  readonly ledgerPort: (name: string) => MessagePort;
  /** Where what is owed is kept for the next start. */
  readonly keep: Parameters<typeof keepPending>[1];
  /** One died too often. */
  readonly onFatal: (reason: string) => void;
  readonly stalls?: StallLimits;
  /** Absent = the time of this process. */
  readonly timers?: Timers;
}

/** One relay's thread, from its start to its end. */
interface Thread {
  /** From 1; a successor has the same. */
  readonly number: number;
  readonly worker: Worker;
  /** First cells of its rows. */
  readonly rows: number[];
  /** Chunks of the memory that it knows. */
  chunks: number;
  serving: boolean;
  status: RelayStatus;
  /** Pending queries, and their answer when the thread dies. */
  readonly tests: Set<number>;
  readonly replies: Map<number, readonly number[]>;
  readonly busy: Map<number, (ports: readonly (readonly [number, boolean])[]) => void>;
  readonly figured: Map<number, (stats: ThreadStats | null) => void>;
  readonly ready: PromiseWithResolvers<number>;
  readonly stopped: PromiseWithResolvers<void>;
  paused: PromiseWithResolvers<void>;
  /** Of changes that were sent and are not yet applied, in order. */
  readonly applying: (() => void)[];
  readonly stopWatching: () => void;
  /** Why it was ended; null = it was not. */
  ended: string | null;
}

const regionsAtOnce = 4;
const startMs = 30_000;
/** What a relay needs beyond its grace, before it is not waited for any more. */
const endMs = 10_000;
const nothing: RelayStatus = { open: 0, forwarded: 0, late: 0, rejected: 0, pending: 0, failure: '' };
/** Numbers of several threads in one: thread and serial. */
const threadsBits = 16;

export function createRelayThreads(deps: RelayThreadsDeps): RelayPool {
  const { state, balances, timers = systemTimers } = deps;
  const { memory, accounts } = balances.money;
  const threads = new Map<number, Thread>();
  /** Rows whose requests have all ended. */
  const spareRows: number[] = [];
  const nextDelay = createRestarts(timers.monoNow);
  /** Of those that are gone. */
  const past = { late: 0, refused: 0 };
  let port = deps.order.port;
  let ending = false;
  /** Another server takes this one's place. */
  let moving = false;
  let nextAsk = 1;

  const post = (thread: Thread, message: ToRelay, transfer: MessagePort[] = []) =>
    thread.worker.postMessage(message, transfer);
  const each = (message: ToRelay) => {
    for (const thread of threads.values()) post(thread, message);
  };
  const newChunks = (thread: Thread): readonly SharedArrayBuffer[] => {
    const fresh = memory.parts().chunks.slice(thread.chunks);
    thread.chunks += fresh.length;
    return fresh;
  };
  const releaseRows = (): number[] =>
    Array.from({ length: regionsAtOnce }, () => spareRows.pop() ?? allocateRows(memory));
  const updateOf = (update: Snapshot | SnapshotDelta): Omit<RelayUpdate, 'chunks'> => ({
    kind: 'news',
    update,
    slots: accounts.slotIndexes(
      update.users.map(({ id }) => id),
      update.tokens.map(({ id }) => id),
    ),
  });
  const first = (): Thread | undefined => [...threads.values()].find(({ serving }) => serving);

  const receive = (thread: Thread, message: FromRelay) => {
    switch (message.kind) {
      case 'ready':
        thread.serving = true;
        return thread.ready.resolve(message.port);
      case 'failed':
        return thread.ready.reject(
          new AppError(isErrorCode(message.code) ? message.code : 'internal', message.params, message.message),
        );
      case 'standing':
        thread.status = message.status;
        return;
      case 'heard':
        for (const other of threads.values()) if (other !== thread) post(other, message);
        if (balances.money.nodeLease === null) return;
        break;
      case 'rows': {
        const rows = releaseRows();
        thread.rows.push(...rows);
        return post(thread, { kind: 'rows', rows, chunks: newChunks(thread) });
      }
      case 'count':
        return void deps.counter
          .count(message.model, message.texts)
          .then((counts) => post(thread, { kind: 'counted', id: message.id, counts }));
      case 'busy':
        thread.busy.get(message.id)?.(message.ports);
        return void thread.busy.delete(message.id);
      case 'figured':
        thread.figured.get(message.id)?.(message.stats);
        return void thread.figured.delete(message.id);
      case 'applied':
        return thread.applying.shift()?.();
      case 'paused':
        return thread.paused.resolve();
      case 'stopped':
        return thread.stopped.resolve();
      case 'task':
        return deps.control({ ...message, id: message.id * threadsBits + thread.number });
      case 'tested':
        thread.tests.delete(message.id);
        break;
      case 'stood':
        thread.replies.delete(message.id);
        break;
    }
    passOn(deps, message);
  };

  const pulseOf = (number: number): SharedArrayBuffer => deps.pulses[number - 1] ?? newPulse();

  /** Its death is seen like any other, and its requests are settled then. */
  const replace = ({ thread: number, requestId, ms }: Stall): void => {
    const thread = threads.get(number);
    // One that begins has a time limit of its own, and one of a server that ends too.
    if (thread?.serving !== true || ending || moving) return;
    thread.ended = `it stood still for ${Math.round(ms / 1000)} s at request ${requestId || '-'}`;
    thread.worker.terminate();
  };
  const limits = deps.stalls ?? stallLimits;
  const stopWatch = watchStalls({
    pulses: deps.pulses,
    limitMs: limits.replaceMs,
    lookMs: limits.lookMs,
    found: replace,
    timers,
  });

  const launch = (number: number): Thread => {
    const pulse = pulseOf(number);
    forgetPulse(pulse);
    const worker = startThread('relay');
    const thread: Thread = {
      number,
      worker,
      rows: releaseRows(),
      chunks: 0,
      serving: false,
      status: nothing,
      tests: new Set(),
      replies: new Map(),
      busy: new Map(),
      figured: new Map(),
      ready: Promise.withResolvers(),
      stopped: Promise.withResolvers(),
      paused: Promise.withResolvers(),
      applying: [],
      stopWatching: watchThread(worker, (reason) => void died(thread, thread.ended ?? reason)),
      ended: null,
    };
    // reason: whoever waits for the thread gets the error; a restart waits for nobody.
    thread.ready.promise.catch(() => undefined);
    threads.set(number, thread);
    worker.onmessage = ({ data }: MessageEvent<FromRelay>) => receive(thread, data);
    const parts = memory.parts();
    thread.chunks = parts.chunks.length;
    const ledger = deps.ledgerPort(relayName(number));
    const { forwardedSocket } = deps.order;
    const order = {
      ...deps.order,
      port,
      shared: true,
      mark: `-${number}`,
      forwardedSocket: number === 1 ? forwardedSocket : '',
    };
    const update = { ...updateOf(state.snapshot()), chunks: [] };
    const leased = balances.money.nodeLease !== null;
    post(
      thread,
      {
        kind: 'start',
        order,
        thread: number,
        leased,
        memory: parts,
        clock: clockReading(),
        rows: thread.rows,
        update,
        ledger,
        pulse,
        bodyCells: deps.bodyCells,
      },
      [ledger],
    );
    return thread;
  };

  /** Others may have its rows when all that was open is durable. */
  const recoverThread = async ({ number, rows }: Thread): Promise<LostReport> => {
    const report = await endLost(
      { balances, state, ledger: deps.ledger, now: timers.now, pause: (ms) => sleep(timers, ms) },
      number,
      rows,
    );
    void report.written.then(() => spareRows.push(...rows));
    return report;
  };

  /** Its requests are ended first, so that its rows and its number can be another's. */
  const died = async (thread: Thread, reason: string): Promise<void> => {
    threads.delete(thread.number);
    forgetPulse(pulseOf(thread.number));
    thread.ready.reject(new Error(reason));
    for (const resolve of thread.busy.values()) resolve([]);
    for (const resolve of thread.figured.values()) resolve(null);
    for (const id of thread.tests)
      deps.control({ kind: 'tested', id, result: { ok: false, ms: 0, message: 'the relay thread died' } });
    for (const [id, ids] of thread.replies) channels(id, ids);
    past.late += thread.status.late;
    past.refused += thread.status.rejected;
    const { settled, voided } = await recoverThread(thread);
    deps.print(
      `relay thread ${thread.number} died: ${reason}; of its open requests ${settled} were settled, ${voided} voided`,
    );
    thread.stopped.resolve();
    thread.paused.resolve();
    for (const done of thread.applying.splice(0)) done();
    if (thread.serving && !ending && !moving) await again(thread.number, reason);
  };

  const again = async (number: number, reason: string): Promise<void> => {
    const delay = nextDelay();
    if (delay === null) return deps.onFatal(reason);
    await sleep(timers, delay);
    if (ending) return;
    const thread = launch(number);
    try {
      if (!(await within(thread.ready.promise, startMs, timers))) throw new Error('did not start in time');
    } catch (error) {
      end(thread);
      await recoverThread(thread);
      return again(number, error instanceof Error ? error.message : String(error));
    }
  };

  const end = (thread: Thread) => {
    thread.stopWatching();
    thread.worker.terminate();
    threads.delete(thread.number);
    forgetPulse(pulseOf(thread.number));
    for (const done of thread.applying.splice(0)) done();
  };

  const channels = (id: number, ids: readonly number[]) => {
    const thread = first();
    if (thread === undefined)
      return deps.control({ kind: 'stood', id, statuses: ids.map(() => ({ condition: 'unknown', waitMs: 0 })) });
    thread.replies.set(id, ids);
    post(thread, { kind: 'standing', id, ids });
  };

  /** Connections of all threads are descriptors of one process: one of them looks after these. */
  const connections = createConnections(
    connectionLimits(deps.order.env),
    deps.descriptors,
    timers.monoNow,
    async () => {
      const replies = [...threads.values()].map((thread) => {
        const { promise, resolve } = Promise.withResolvers<readonly (readonly [number, boolean])[]>();
        const id = nextAsk++;
        thread.busy.set(id, resolve);
        post(thread, { kind: 'busy', id });
        return promise;
      });
      return (await Promise.all(replies)).flat();
    },
  );

  const allEnded = (): boolean =>
    [...threads.values()].every(({ status }) => status.open === 0 && status.forwarded === 0);

  const over = async (message: ToRelay, ms: number, hold?: Promise<unknown>): Promise<void> => {
    ending = true;
    stopWatch();
    connections.stop();
    each(message);
    if (moving) void until(allEnded, ms, timers).then(() => each({ kind: 'allEnded' }));
    const all = [...threads.values()];
    await within(Promise.all(all.map(({ stopped }) => stopped.promise)), ms + endMs, timers);
    await hold;
    // What did not answer is ended like what died.
    for (const thread of all) {
      const isThere = threads.has(thread.number);
      end(thread);
      if (isThere) await recoverThread(thread);
    }
    await keepPending(deps.ledger, deps.keep);
  };

  return {
    async open() {
      if (!deps.order.follows) port = freePort(deps.order.host, deps.order.port);
      const started = Array.from({ length: deps.count }, (_, index) => launch(index + 1));
      await Promise.all(started.map(({ ready }) => ready.promise));
      const listener: Listener = { port, timeout: () => undefined, requestIP: () => null };
      connections.watch(listener, (address) => state.settings.isTrustedProxy(address));
      return port;
    },
    async update(update) {
      accounts.prepare(state.settings);
      const message = updateOf(update);
      const applied = [...threads.values()].map((thread) => {
        post(thread, { ...message, chunks: newChunks(thread) });
        return new Promise<void>((done) => thread.applying.push(done));
      });
      await Promise.all(applied);
    },
    test(order) {
      const thread = first();
      if (thread === undefined)
        return deps.control({ kind: 'tested', id: order.id, result: { ok: false, ms: 0, message: 'no relay thread' } });
      thread.tests.add(order.id);
      post(thread, { kind: 'test', ...order });
    },
    channels,
    received: (healthReport) => each({ kind: 'heard', healthReport }),
    traffic: () => each({ kind: 'traffic' }),
    taskResponded(answer) {
      const thread = threads.get(answer.id % threadsBits);
      if (thread !== undefined)
        post(thread, { kind: 'taskAnswered', ...answer, id: Math.floor(answer.id / threadsBits) });
    },
    tasksLost: () => each({ kind: 'tasksLost' }),
    async stats() {
      const replies = [...threads.values()].map(async (thread) => {
        const { promise, resolve } = Promise.withResolvers<ThreadStats | null>();
        const id = nextAsk++;
        thread.figured.set(id, resolve);
        post(thread, { kind: 'figures', id });
        return { thread: thread.number, stats: await promise };
      });
      const all = await Promise.all(replies);
      return all.flatMap(({ thread, stats }) => (stats === null ? [] : [{ thread, stats: stats }]));
    },
    status() {
      const all = [...threads.values()].map(({ status }) => status);
      const sum = (of: (one: RelayStatus) => number) => all.reduce((total, one) => total + of(one), 0);
      return {
        open: sum(({ open }) => open),
        forwarded: sum(({ forwarded }) => forwarded),
        late: past.late + sum(({ late }) => late),
        rejected: past.refused + sum(({ rejected }) => rejected),
        pending: sum(({ pending }) => pending) + deps.ledger.pending().count,
        failure: all.find(({ failure }) => failure !== '')?.failure ?? '',
      };
    },
    suspend: (reason) => each({ kind: 'suspend', reason }),
    async pause() {
      moving = true;
      const all = [...threads.values()];
      for (const thread of all) thread.paused = Promise.withResolvers();
      each({ kind: 'pause' });
      await Promise.all(all.map(({ paused }) => paused.promise));
    },
    forwardTo(endpoint) {
      moving = endpoint !== null;
      each({ kind: 'handOn', endpoint });
    },
    stop: (graceMs, delayMs = 0, until) =>
      over({ kind: 'stop', graceMs, delayMs, withOthers: moving }, delayMs + graceMs, until),
    shutDownNow: () => each({ kind: 'hurry' }),
    fail: ({ code, params }, bankrupt) => over({ kind: 'fail', bankrupt, code, params }, 0),
    terminate() {
      ending = true;
      stopWatch();
      for (const thread of [...threads.values()]) end(thread);
    },
  };
}
