/** The ledger as others see it from their own thread: commands of one event-loop turn travel as one message, so do the answers. */
import { AppError } from '../../contract/errors.ts';
import type { KeyFunds } from '../../contract/key-budgets.ts';
import { callerReason, reasonText } from '../../contract/storage-reasons.ts';
import { systemTimers, type Timers } from '../../contract/timers.ts';
import type { LeaseAnswer } from '../leases/leases.ts';
import {
  keptUntilWritten,
  type LeaseOrder,
  type Ledger,
  type LedgerCommand,
  type LedgerResult,
  type MoneyEvent,
  type SpendingLimits,
} from './commands.ts';
import type { StoreHealth } from './engine.ts';
import { createRunningClock } from './running-clock.ts';

/** The port of the control thread; it arrives at the ledger thread's start. */
export const controlName = 'control';
/** The line of a relay thread. */
export const relayName = (thread: number): string => `relay ${thread}`;

/** Why nothing is written when the ledger thread is no more. */
export const ledgerLost = reasonText('ledger_gone');

export interface CommandMessage {
  readonly kind: 'commands';
  /** Number of the first command; the rest follow in order. */
  readonly first: number;
  readonly commands: readonly LedgerCommand[];
}

/** Queries to the ledger of several machines; each has an answer. */
export type LedgerRequest =
  | { readonly kind: 'lease'; readonly id: number; readonly order: LeaseOrder }
  | { readonly kind: 'accountLimits'; readonly id: number; readonly userId: number; readonly tokenId: number | null }
  | { readonly kind: 'keyFunds'; readonly id: number; readonly userId: number; readonly tokenId: number };

/** What was acknowledged so far shall be where others read. */
export interface FlushRequest {
  readonly kind: 'flush';
  readonly id: number;
}

/** null is short for {status: 'done'}, text for a storage failure. */
export type CommandAnswer = LedgerResult | string | null;

export type LedgerResponse =
  | { readonly kind: 'leased'; readonly id: number; readonly answer: LeaseAnswer }
  /** null = the ledger cannot be queried. */
  | { readonly kind: 'accountLimits'; readonly id: number; readonly limits: SpendingLimits | null }
  | { readonly kind: 'keyFunds'; readonly id: number; readonly funds: KeyFunds | null }
  /** @property isWhole false = it is not there, and cannot get there now. */
  | { readonly kind: 'flushed'; readonly id: number; readonly isWhole: boolean };

export type LedgerMessage =
  | { readonly kind: 'answers'; readonly ids: readonly number[]; readonly answers: readonly CommandAnswer[] }
  | { readonly kind: 'health'; readonly health: StoreHealth }
  /** The books turned down what had been acknowledged. */
  | { readonly kind: 'rejected'; readonly ref: string; readonly reason: string }
  | LedgerResponse
  /** For how long an answer may be waited for before something is wrong; null = as usual. */
  | { readonly kind: 'timeout'; readonly ms: number | null }
  | MoneyEvent;

/** The parts of Worker and MessagePort used here. */
export interface LedgerPort {
  postMessage(message: unknown): void;
  onmessage: ((event: MessageEvent<string | { readonly kind: string }>) => void) | null;
}

/** The runtime's types leave open what a port carries. */
export const ledgerPortOf = (port: object): LedgerPort => port as unknown as LedgerPort;

export interface LedgerClient extends Ledger {
  /** Loads a balance of the shared ledger into this machine's memory. @throws AppError storage_unavailable */
  acquire(order: LeaseOrder): Promise<Exclude<LeaseAnswer, 'away'>>;
  /** @throws AppError storage_unavailable */
  limits(userId: number, tokenId: number | null): Promise<SpendingLimits>;
  /** @throws AppError storage_unavailable. */
  funds(userId: number, tokenId: number): Promise<KeyFunds>;
  /** Resolves when everything acknowledged so far can be read, with false where that is not possible now. @throws AppError storage_unavailable */
  flush(): Promise<boolean>;
  /** Called when the books turned down what had been acknowledged. */
  onRejected(listener: (ref: string, reason: string) => void): void;
  /** How often that was so. */
  turnedDown(): number;
  onBalance(listener: (event: MoneyEvent) => void): void;
  /** Called when paid work stops or may go on. */
  onHealth(listener: (health: StoreHealth) => void): void;
  /** Settlements without an answer yet, and for how many milliseconds the oldest command waits. */
  pending(): { readonly count: number; readonly oldestMs: number };
  /** Milliseconds for which the oldest command has waited, not counting time in which this thread was blocked; 0 = none waits. */
  waitedMs(): number;
  /** No paid work from here on, although the ledger writes. */
  suspend(reason: string): void;
  /** The ledger's thread is gone: nothing is sent any more, and unsettled commands wait for `saveUnsettled`. */
  fail(reason: string): void;
  /** Writes unsettled commands elsewhere; they count as durable then. @returns how many. @throws what `save` throws; then all of them stay unsettled. */
  saveUnsettled(save: (commands: readonly LedgerCommand[]) => Promise<void>): Promise<number>;
}

const done: LedgerResult = { status: 'done' };
const databaseUnavailable = reasonText('database_away');

/** A disk that has not confirmed for so long may never do. */
const oldestMs = 1000;

interface Call {
  readonly command: LedgerCommand;
  /** By the awake clock. */
  readonly at: number;
  /** Milliseconds that never jump. */
  readonly since: number;
  readonly resolve: (result: LedgerResult) => void;
  readonly reject: (error: AppError) => void;
}

/** @param other receives messages that are not the ledger's protocol (a worker's start-up report). */
export function createLedgerClient(
  port: LedgerPort,
  other: (message: unknown) => void = () => undefined,
  timers: Pick<Timers, 'monoNow' | 'every'> = systemTimers,
): LedgerClient {
  const clock = createRunningClock(timers);
  const now = timers.monoNow;
  let next = 1;
  let outgoing: LedgerCommand[] = [];
  /** Last state that the ledger's thread reported; it reports none while it hangs. */
  let reported: StoreHealth = { ok: true };
  let failure: string | null = null;
  let suspended: string | null = null;
  let timeoutMs = oldestMs;
  let health: StoreHealth = reported;
  const balanceListeners: ((event: MoneyEvent) => void)[] = [];
  const rejectedListeners: ((ref: string, reason: string) => void)[] = [];
  let turnedDown = 0;
  const healthListeners: ((health: StoreHealth) => void)[] = [];
  /** In the order of their sending: the first is the oldest. */
  const waiting = new Map<number, Call>();
  const requests = new Map<number, { resolve(answer: LedgerResponse): void; reject(error: AppError): void }>();
  let nextRequest = 1;

  const ageOf = (): number => {
    for (const { at } of waiting.values()) return clock.now() - at;
    return 0;
  };
  const judge = (): StoreHealth => {
    if (failure !== null) return { ok: false, reason: failure };
    if (!reported.ok) return reported;
    if (suspended !== null) return { ok: false, reason: suspended };
    const age = waiting.size === 0 ? 0 : ageOf();
    return age < timeoutMs ? reported : { ok: false, reason: reasonText('unconfirmed') };
  };
  const check = () => {
    const before = health;
    health = judge();
    if (health.ok !== before.ok) for (const listener of healthListeners) listener(health);
  };
  clock.onTick(check);

  const send = () => {
    if (failure !== null) return;
    const message: CommandMessage = { kind: 'commands', first: next - outgoing.length, commands: outgoing };
    outgoing = [];
    // As text: cloning the objects costs three times as much as writing and reading JSON.
    port.postMessage(JSON.stringify(message));
  };
  const unavailable = (reason: string): AppError =>
    new AppError('storage_unavailable', { reason: callerReason(reason), seconds: 5 }, new Error(reason));

  port.onmessage = (event) => {
    if (typeof event.data !== 'string') return other(event.data);
    const data = JSON.parse(event.data) as LedgerMessage;
    if (data.kind === 'answers') {
      let index = 0;
      for (const id of data.ids) {
        const answer = data.answers[index++];
        const call = waiting.get(id);
        waiting.delete(id);
        if (typeof answer === 'string') call?.reject(unavailable(answer));
        else call?.resolve(answer ?? done);
      }
    } else if (
      data.kind === 'leased' ||
      data.kind === 'accountLimits' ||
      data.kind === 'keyFunds' ||
      data.kind === 'flushed'
    ) {
      requests.get(data.id)?.resolve(data);
      requests.delete(data.id);
    } else if (data.kind === 'health') {
      reported = data.health;
      check();
    } else if (data.kind === 'rejected') {
      turnedDown++;
      for (const listener of rejectedListeners) listener(data.ref, data.reason);
    } else if (data.kind === 'timeout') timeoutMs = data.ms ?? oldestMs;
    else for (const listener of balanceListeners) listener(data);
  };

  const ask = (question: (id: number) => LedgerRequest | FlushRequest): Promise<LedgerResponse> => {
    if (failure !== null) return Promise.reject(unavailable(failure));
    const { promise, resolve, reject } = Promise.withResolvers<LedgerResponse>();
    const id = nextRequest++;
    requests.set(id, { resolve, reject });
    port.postMessage(JSON.stringify(question(id)));
    return promise;
  };

  const pendingCalls = () => [...waiting].filter(([, { command }]) => keptUntilWritten.has(command.type));

  return {
    execute(command) {
      if (failure !== null && !keptUntilWritten.has(command.type)) return Promise.reject(unavailable(failure));
      const id = next++;
      const { promise, resolve, reject } = Promise.withResolvers<LedgerResult>();
      waiting.set(id, { command, at: clock.now(), since: now(), resolve, reject });
      outgoing.push(command);
      // A microtask would run after each single answer of the same turn and send every command alone.
      if (outgoing.length === 1 && failure === null) setImmediate(send);
      return promise;
    },
    async acquire(order) {
      const response = await ask((id) => ({ kind: 'lease', id, order }));
      if (response.kind !== 'leased' || response.answer === 'away') throw unavailable(databaseUnavailable);
      return response.answer;
    },
    async limits(userId, tokenId) {
      const response = await ask((id) => ({ kind: 'accountLimits', id, userId, tokenId }));
      if (response.kind !== 'accountLimits' || response.limits === null) throw unavailable(databaseUnavailable);
      return response.limits;
    },
    async funds(userId, tokenId) {
      const response = await ask((id) => ({ kind: 'keyFunds', id, userId, tokenId }));
      if (response.kind !== 'keyFunds' || response.funds === null) throw unavailable(databaseUnavailable);
      return response.funds;
    },
    async flush() {
      const response = await ask((id) => ({ kind: 'flush', id }));
      return response.kind === 'flushed' && response.isWhole;
    },
    healthy: () => health,
    waitedMs() {
      for (const { since } of waiting.values()) return now() - since;
      return 0;
    },
    onRejected: (listener) => void rejectedListeners.push(listener),
    turnedDown: () => turnedDown,
    onBalance: (listener) => void balanceListeners.push(listener),
    onHealth: (listener) => void healthListeners.push(listener),
    pending() {
      let count = 0;
      for (const { command } of waiting.values()) if (command.type === 'settle' || command.type === 'void') count++;
      return { count, oldestMs: ageOf() };
    },
    suspend(reason) {
      suspended = reason;
      check();
    },
    fail(reason) {
      failure ??= reason;
      for (const [id, { command, reject }] of waiting) {
        if (keptUntilWritten.has(command.type)) continue;
        waiting.delete(id);
        reject(unavailable(failure));
      }
      for (const { reject } of requests.values()) reject(unavailable(failure));
      requests.clear();
      check();
    },
    async saveUnsettled(save) {
      const calls = pendingCalls();
      if (calls.length === 0) return 0;
      await save(calls.map(([, { command }]) => command));
      for (const [id, { resolve }] of calls) {
        waiting.delete(id);
        resolve(done);
      }
      return calls.length;
    },
  };
}
