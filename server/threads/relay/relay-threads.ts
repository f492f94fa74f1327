/**
 * Several relays, each in a thread of its own behind the same port. The main thread gives out shared memory, passes on what
 * they have to know of each other and of the rest, and replaces a thread that dies while the others serve.
 */

import { keepPending } from '../../app/shutdown.ts';
import { allocateRows } from '../../billing/balances/open-requests.ts';
import { relayName } from '../../billing/ledger/client.ts';
import type { AppError } from '../../contract/errors.ts';
import type { HealthQuestion } from '../../contract/key-health.ts';
import type { Snapshot, SnapshotDelta } from '../../contract/snapshot.ts';
import { sleep, systemTimers, type Timers } from '../../contract/timers.ts';
import { startThread } from '../../embedded/workers.ts';
import { type Connections, createConnections, type Listener } from '../../http/connections.ts';
import type { TaskCallAnswer } from '../../relay/endpoints/tasks/calls.ts';
import type { HealthReport } from '../../relay/routing/health-report.ts';
import { createRestarts, until, within } from '../watch-thread.ts';
import { clockReading } from './clock.ts';
import { connectionLimits } from './environment.ts';
import { freePort } from './free-port.ts';
import { endLost, type LostReport } from './lost-thread.ts';
import type {
  FromRelay,
  RelayStart,
  RelayStatus,
  RelayUpdate,
  ServingOrder,
  ThreadStats,
  ToRelay,
} from './messages.ts';
import { forgetPulse, newPulse, type Stall, type StallLimits, stallLimits, watchStalls } from './pulse.ts';
import { passOn, type RelayPool, type RelayPoolDeps } from './relay-pool.ts';
import { RelayThread } from './relay-thread.ts';

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

const regionsAtOnce = 4;
const startMs = 30_000;
/** Time a relay needs beyond its grace, before it is not waited for any more. */
const endMs = 10_000;
/** Numbers of several threads in one: thread and serial. */
const threadsBits = 16;

export class RelayThreads implements RelayPool {
  readonly #deps: RelayThreadsDeps;
  readonly #timers: Timers;
  readonly #threads = new Map<number, RelayThread>();
  /** Rows whose requests have all ended. */
  readonly #spareRows: number[] = [];
  readonly #nextDelay: () => number | null;
  /** Counts of threads that are gone. */
  readonly #past = { late: 0, rejected: 0 };
  readonly #stopWatch: () => void;
  /** Connections of all threads are descriptors of one process: one of them looks after these. */
  readonly #connections: Connections;
  #port: number;
  #isEnding = false;
  /** Another server takes this one's place. */
  #isMoving = false;

  constructor(deps: RelayThreadsDeps) {
    const { timers = systemTimers, stalls = stallLimits, order, descriptors, pulses } = deps;
    this.#deps = deps;
    this.#timers = timers;
    this.#port = order.port;
    this.#nextDelay = createRestarts(timers.monoNow);
    this.#stopWatch = watchStalls({
      pulses,
      limitMs: stalls.replaceMs,
      lookMs: stalls.lookMs,
      found: (stall) => this.#replace(stall),
      timers,
    });
    this.#connections = createConnections(connectionLimits(order.env), descriptors, timers.monoNow, async () =>
      (await Promise.all(this.#all().map((thread) => thread.ports()))).flat(),
    );
  }

  async open(): Promise<number> {
    const { order, count, state } = this.#deps;
    if (!order.follows) this.#port = freePort(order.host, order.port);
    const started = Array.from({ length: count }, (_, index) => this.#launch(index + 1));
    await Promise.all(started.map(({ ready }) => ready));
    const listener: Listener = { port: this.#port, timeout: () => undefined, requestIP: () => null };
    this.#connections.watch(listener, (address) => state.settings.isTrustedProxy(address));
    return this.#port;
  }

  async update(update: Snapshot | SnapshotDelta): Promise<void> {
    const { balances, state } = this.#deps;
    balances.money.accounts.prepare(state.settings);
    const message = this.#updateOf(update);
    await Promise.all(this.#all().map((thread) => thread.apply({ ...message, chunks: thread.newChunks() })));
  }

  test(order: Parameters<RelayPool['test']>[0]): void {
    const thread = this.#first();
    thread?.tests.add(order.id);
    if (thread === undefined) this.#reportFailedTest(order.id, 'no relay thread');
    else thread.post({ kind: 'test', ...order });
  }

  channels(id: number, question: HealthQuestion): void {
    const thread = this.#first();
    thread?.healthQuestions.set(id, question);
    if (thread !== undefined) thread.post({ kind: 'channelHealth', id, ...question });
    else
      this.#deps.control({
        kind: 'channelHealth',
        id,
        statuses: question.ids.map(() => ({ condition: 'unknown', waitMs: 0 })),
      });
  }

  received(healthReport: HealthReport): void {
    this.#postAll({ kind: 'healthReport', healthReport });
  }

  traffic(): void {
    this.#postAll({ kind: 'traffic' });
  }

  keepHealth(): void {
    this.#first()?.post({ kind: 'keepHealth' });
  }

  taskResponded(answer: TaskCallAnswer): void {
    const id = Math.floor(answer.id / threadsBits);
    this.#threads.get(answer.id % threadsBits)?.post({ kind: 'taskAnswered', ...answer, id });
  }

  tasksLost(): void {
    this.#postAll({ kind: 'tasksLost' });
  }

  async stats(): Promise<readonly { readonly thread: number; readonly stats: ThreadStats }[]> {
    const all = await Promise.all(
      this.#all().map(async (thread) => ({ thread: thread.number, stats: await thread.stats() })),
    );
    return all.flatMap(({ thread, stats }) => (stats === null ? [] : [{ thread, stats }]));
  }

  status(): RelayStatus {
    const all = this.#all().map(({ status }) => status);
    const sum = (of: (one: RelayStatus) => number) => all.reduce((total, one) => total + of(one), 0);
    return {
      open: sum(({ open }) => open),
      forwarded: sum(({ forwarded }) => forwarded),
      late: this.#past.late + sum(({ late }) => late),
      rejected: this.#past.rejected + sum(({ rejected }) => rejected),
      pending: sum(({ pending }) => pending) + this.#deps.ledger.pending().count,
      failure: all.find(({ failure }) => failure !== '')?.failure ?? '',
    };
  }

  suspend(reason: string): void {
    this.#postAll({ kind: 'suspend', reason });
  }

  async pause(): Promise<void> {
    this.#isMoving = true;
    await Promise.all(this.#all().map((thread) => thread.pause()));
  }

  forwardTo(endpoint: string | null): void {
    this.#isMoving = endpoint !== null;
    this.#postAll({ kind: 'forward', endpoint });
  }

  stop(graceMs: number, delayMs = 0, until?: Promise<unknown>): Promise<void> {
    return this.#stop({ kind: 'stop', graceMs, delayMs, withOthers: this.#isMoving }, delayMs + graceMs, until);
  }

  shutDownNow(): void {
    this.#postAll({ kind: 'stopNow' });
  }

  fail({ code, params }: AppError, isLedgerLost: boolean): Promise<void> {
    return this.#stop({ kind: 'fail', isLedgerLost, code, params }, 0);
  }

  terminate(): void {
    this.#isEnding = true;
    this.#stopWatch();
    for (const thread of this.#all()) this.#end(thread);
  }

  #all(): readonly RelayThread[] {
    return [...this.#threads.values()];
  }

  #first(): RelayThread | undefined {
    return this.#all().find(({ isServing }) => isServing);
  }

  #postAll(message: ToRelay): void {
    for (const thread of this.#threads.values()) thread.post(message);
  }

  #reportFailedTest(id: number, message: string): void {
    this.#deps.control({ kind: 'tested', id, result: { ok: false, ms: 0, message } });
  }

  #releaseRows(): number[] {
    const { memory } = this.#deps.balances.money;
    return Array.from({ length: regionsAtOnce }, () => this.#spareRows.pop() ?? allocateRows(memory));
  }

  #updateOf(update: Snapshot | SnapshotDelta): Omit<RelayUpdate, 'chunks'> {
    const { accounts } = this.#deps.balances.money;
    const isAll = update.kind === 'snapshot';
    const slots = accounts.slotIndexes(
      isAll ? accounts.users.keys() : update.users.map(({ id }) => id),
      isAll ? accounts.tokens.keys() : update.tokens.map(({ id }) => id),
    );
    return { kind: 'snapshotUpdate', part: isAll ? this.#deps.state.part() : null, update, slots };
  }

  #pulseOf(number: number): SharedArrayBuffer {
    return this.#deps.pulses[number - 1] ?? newPulse();
  }

  /** Handles messages of a thread that answer no question of the main thread alone. */
  #receive(thread: RelayThread, message: FromRelay): void {
    const { balances, counter, control } = this.#deps;
    switch (message.kind) {
      case 'healthReport':
        for (const other of this.#threads.values()) if (other !== thread) other.post(message);
        if (balances.money.nodeLease !== null) passOn(this.#deps, message);
        break;
      case 'rows': {
        const rows = this.#releaseRows();
        thread.rows.push(...rows);
        thread.post({ kind: 'rows', rows, chunks: thread.newChunks() });
        break;
      }
      case 'count':
        void counter
          .count(message.model, message.texts)
          .then((counts) => thread.post({ kind: 'counted', id: message.id, counts }));
        break;
      case 'health':
        control({ ...message, thread: thread.number });
        break;
      case 'task':
        control({ ...message, id: message.id * threadsBits + thread.number });
        break;
      default:
        passOn(this.#deps, message);
    }
  }

  /** Its death is seen like any other, and its requests are settled then. */
  #replace({ thread: number, requestId, ms }: Stall): void {
    const thread = this.#threads.get(number);
    // One that begins has a time limit of its own, and one of a server that ends too.
    if (thread?.isServing !== true || this.#isEnding || this.#isMoving) return;
    thread.kill(`it stood still for ${Math.round(ms / 1000)} s at request ${requestId || '-'}`);
  }

  #launch(number: number): RelayThread {
    const { memory, nodeLease } = this.#deps.balances.money;
    const pulse = this.#pulseOf(number);
    forgetPulse(pulse);
    const thread: RelayThread = new RelayThread({
      number,
      worker: startThread('relay'),
      memory,
      rows: this.#releaseRows(),
      receive: (message) => this.#receive(thread, message),
      died: (reason) => void this.#died(thread, reason),
    });
    this.#threads.set(number, thread);
    const ledger = this.#deps.ledgerPort(relayName(number));
    const start: RelayStart = {
      kind: 'start',
      order: this.#orderFor(number),
      thread: number,
      leased: nodeLease !== null,
      memory: memory.parts(),
      clock: clockReading(),
      rows: thread.rows,
      update: { ...this.#updateOf(this.#deps.state.snapshot()), chunks: [] },
      ledger,
      pulse,
      bodyCells: this.#deps.bodyCells,
      trialCells: this.#deps.trialCells,
    };
    thread.post(start, [ledger]);
    return thread;
  }

  #orderFor(number: number): ServingOrder {
    const { order } = this.#deps;
    const forwardedSocket = number === 1 ? order.forwardedSocket : '';
    return { ...order, port: this.#port, shared: true, mark: `-${number}`, forwardedSocket };
  }

  /** Others may have its rows when all that was open is durable. */
  async #recover({ number, rows }: RelayThread): Promise<LostReport> {
    const { balances, state, ledger } = this.#deps;
    const pause = (ms: number) => sleep(this.#timers, ms);
    const report = await endLost({ balances, state, ledger, now: this.#timers.now, pause }, number, rows);
    void report.written.then(() => this.#spareRows.push(...rows));
    return report;
  }

  /** Its requests are ended first, so that its rows and its number can be another's. */
  async #died(thread: RelayThread, reason: string): Promise<void> {
    this.#threads.delete(thread.number);
    forgetPulse(this.#pulseOf(thread.number));
    thread.onDeath(reason);
    for (const id of thread.tests) this.#reportFailedTest(id, 'the relay thread died');
    for (const [id, question] of thread.healthQuestions) this.channels(id, question);
    this.#past.late += thread.status.late;
    this.#past.rejected += thread.status.rejected;
    const { settled, voided } = await this.#recover(thread);
    this.#deps.print(
      `relay thread ${thread.number} died: ${reason}; of its open requests ${settled} were settled, ${voided} voided`,
    );
    thread.onRecovered();
    if (thread.isServing && !this.#isEnding && !this.#isMoving) await this.#restart(thread.number, reason);
  }

  async #restart(number: number, reason: string): Promise<void> {
    const delay = this.#nextDelay();
    if (delay === null) return this.#deps.onFatal(reason);
    await sleep(this.#timers, delay);
    if (this.#isEnding) return;
    const thread = this.#launch(number);
    try {
      if (!(await within(thread.ready, startMs, this.#timers))) throw new Error('did not start in time');
    } catch (error) {
      this.#end(thread);
      await this.#recover(thread);
      return this.#restart(number, error instanceof Error ? error.message : String(error));
    }
  }

  #end(thread: RelayThread): void {
    thread.end();
    this.#threads.delete(thread.number);
    forgetPulse(this.#pulseOf(thread.number));
  }

  #hasEnded(): boolean {
    return this.#all().every(({ status }) => status.open === 0 && status.forwarded === 0);
  }

  /** @param ms that the threads may take. @param hold they stay until then. */
  async #stop(message: ToRelay, ms: number, hold?: Promise<unknown>): Promise<void> {
    this.#isEnding = true;
    this.#stopWatch();
    this.#connections.stop();
    this.#postAll(message);
    if (this.#isMoving)
      void until(() => this.#hasEnded(), ms, this.#timers).then(() => this.#postAll({ kind: 'allEnded' }));
    const all = this.#all();
    await within(Promise.all(all.map(({ stopped }) => stopped)), ms + endMs, this.#timers);
    await hold;
    // Threads that did not answer are ended like dead ones.
    for (const thread of all) {
      const isThere = this.#threads.has(thread.number);
      this.#end(thread);
      if (isThere) await this.#recover(thread);
    }
    await keepPending(this.#deps.ledger, this.#deps.keep);
  }
}
