/** One relay's thread as the main thread sees it, from its start to its end: what it was asked, and what it last said of itself. */

import type { Memory } from '../../billing/balances/shared-memory.ts';
import { AppError, isErrorCode } from '../../contract/errors.ts';
import type { HealthQuestion } from '../../contract/key-health.ts';
import { watchThread } from '../watch-thread.ts';
import type { FromRelay, RelayStatus, ThreadStats, ToRelay } from './messages.ts';

const nothing: RelayStatus = { open: 0, forwarded: 0, late: 0, rejected: 0, pending: 0, failure: '' };

/** Port on the other side of a connection in use, and whether its request has arrived. */
export type PortUse = readonly [port: number, hasArrived: boolean];

export interface RelayThreadDeps {
  /** From 1; a successor has the same. */
  readonly number: number;
  readonly worker: Worker;
  readonly memory: Memory;
  /** First cells of its rows. */
  readonly rows: number[];
  /** Called with its messages that answer no question from here. */
  readonly receive: (message: FromRelay) => void;
  readonly died: (reason: string) => void;
}

export class RelayThread {
  readonly number: number;
  /** First cells of its rows. */
  readonly rows: number[];
  readonly #worker: Worker;
  readonly #memory: Memory;
  readonly #stopWatching: () => void;
  /** Chunks of the memory that it knows. */
  #chunks: number;
  #isServing = false;
  #status = nothing;
  #nextQuestion = 1;
  readonly #portQuestions = new Map<number, (ports: readonly PortUse[]) => void>();
  readonly #statsQuestions = new Map<number, (stats: ThreadStats | null) => void>();
  readonly #ready = Promise.withResolvers<number>();
  readonly #stopped = Promise.withResolvers<void>();
  #paused = Promise.withResolvers<void>();
  /** Changes that were sent and are not yet applied, in order. */
  readonly #applying: (() => void)[] = [];
  /** Why it was ended; null = it was not. */
  #endedFor: string | null = null;
  /** Tests of channels that it was ordered and has not reported. */
  readonly tests = new Set<number>();
  /** Questions for the health of channels that it has not answered, and which channels. */
  readonly healthQuestions = new Map<number, HealthQuestion>();

  constructor({ number, worker, memory, rows, receive, died }: RelayThreadDeps) {
    this.number = number;
    this.rows = rows;
    this.#worker = worker;
    this.#memory = memory;
    this.#chunks = memory.parts().chunks.length;
    this.#stopWatching = watchThread(worker, (reason) => died(this.#endedFor ?? reason));
    // reason: whoever waits for the thread gets the error; a restart waits for nobody.
    this.#ready.promise.catch(() => undefined);
    worker.onmessage = ({ data }: MessageEvent<FromRelay>) => {
      if (!this.#receive(data)) receive(data);
    };
  }

  get isServing(): boolean {
    return this.#isServing;
  }

  get status(): RelayStatus {
    return this.#status;
  }

  /** Resolves with the port. @throws AppError what it could not start for; Error when it died before. */
  get ready(): Promise<number> {
    return this.#ready.promise;
  }

  /** Resolves when it has ended all of its work, or is dead. */
  get stopped(): Promise<void> {
    return this.#stopped.promise;
  }

  post(message: ToRelay, transfer: MessagePort[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  /** @returns chunks of the shared memory that it does not know yet; from now on it does. */
  newChunks(): readonly SharedArrayBuffer[] {
    const fresh = this.#memory.parts().chunks.slice(this.#chunks);
    this.#chunks += fresh.length;
    return fresh;
  }

  /** Resolves when it has applied the change, or is gone. */
  apply(message: ToRelay): Promise<void> {
    this.post(message);
    return new Promise((done) => this.#applying.push(done));
  }

  /** Resolves when it admits no request any more, or is gone. */
  pause(): Promise<void> {
    this.#paused = Promise.withResolvers();
    this.post({ kind: 'pause' });
    return this.#paused.promise;
  }

  /** @returns none where it dies. */
  ports(): Promise<readonly PortUse[]> {
    return new Promise((resolve) => this.post({ kind: 'busy', id: this.#question(this.#portQuestions, resolve) }));
  }

  /** @returns null where it dies. */
  stats(): Promise<ThreadStats | null> {
    return new Promise((resolve) => this.post({ kind: 'stats', id: this.#question(this.#statsQuestions, resolve) }));
  }

  /** Its death is seen like any other. */
  kill(reason: string): void {
    this.#endedFor = reason;
    this.#worker.terminate();
  }

  /** Ends it unseen. */
  end(): void {
    this.#stopWatching();
    this.#worker.terminate();
    this.#releaseApplying();
  }

  /** Whoever waits for an answer gets none. */
  onDeath(reason: string): void {
    this.#ready.reject(new Error(reason));
    for (const resolve of this.#portQuestions.values()) resolve([]);
    for (const resolve of this.#statsQuestions.values()) resolve(null);
  }

  /** Its requests and holds are settled: nobody has to wait for it any more. */
  onRecovered(): void {
    this.#stopped.resolve();
    this.#paused.resolve();
    this.#releaseApplying();
  }

  #question<Answer>(questions: Map<number, (answer: Answer) => void>, resolve: (answer: Answer) => void): number {
    const id = this.#nextQuestion++;
    questions.set(id, resolve);
    return id;
  }

  #releaseApplying(): void {
    for (const done of this.#applying.splice(0)) done();
  }

  /** @returns false for what concerns others, too. */
  #receive(message: FromRelay): boolean {
    switch (message.kind) {
      case 'ready':
        this.#isServing = true;
        this.#ready.resolve(message.port);
        return true;
      case 'failed':
        this.#ready.reject(
          new AppError(isErrorCode(message.code) ? message.code : 'internal', message.params, message.message),
        );
        return true;
      case 'status':
        this.#status = message.status;
        return true;
      case 'busy':
        this.#portQuestions.get(message.id)?.(message.ports);
        this.#portQuestions.delete(message.id);
        return true;
      case 'stats':
        this.#statsQuestions.get(message.id)?.(message.stats);
        this.#statsQuestions.delete(message.id);
        return true;
      case 'applied':
        this.#applying.shift()?.();
        return true;
      case 'paused':
        this.#paused.resolve();
        return true;
      case 'stopped':
        this.#stopped.resolve();
        return true;
      case 'tested':
        this.tests.delete(message.id);
        return false;
      case 'channelHealth':
        this.healthQuestions.delete(message.id);
        return false;
      default:
        return false;
    }
  }
}
