/**
 * Long reads of a database file in a thread of their own: the driver answers only when it is done, and the control
 * thread, which every call of the console and API waits for, would stand still meanwhile.
 */
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { Schema } from '../../../db/schema/tables.ts';
import { AppError } from '../../contract/errors.ts';
import type { Timer, Timers } from '../../contract/timers.ts';
import { startThread } from '../../embedded/workers.ts';
import { watchThread } from '../watch-thread.ts';
import type { FromReader, ToReader } from './worker.ts';

/** A read that has not ended so long after it began is given up, and so is one that has not begun so long after it came. */
const maxSeconds = 30;
/** The thread takes memory; it ends when nothing was read for this long. */
const idleMs = 60_000;

interface Pending {
  readonly sql: string;
  readonly parameters: readonly unknown[];
  readonly resolve: (rows: unknown[]) => void;
  readonly reject: (error: unknown) => void;
}

export interface ReaderDeps {
  readonly file: string;
  readonly nativeBinding: string | undefined;
  readonly timers: Pick<Timers, 'set'>;
  /** Absent = the thread of this program. */
  readonly spawn?: () => Worker;
}

/** Starts its thread with the first read, and hands it one after the other: what one does to the thread harms no other. */
export class Reader {
  readonly #deps: ReaderDeps;
  #thread: Worker | null = null;
  #unwatch: () => void = () => undefined;
  #nextId = 1;
  /** By id, in the order in which they came. */
  #pending = new Map<number, Pending>();
  /** The one that the thread has; 0 = none. */
  #running = 0;
  /** Time limit of the read that runs. */
  #limit: Timer | null = null;
  #idle: Timer | null = null;

  constructor(deps: ReaderDeps) {
    this.#deps = deps;
  }

  /** Runs a statement that reads. @throws AppError read_too_long, thread_died; Error of the driver, with its code. */
  async read(sql: string, parameters: readonly unknown[]): Promise<unknown[]> {
    this.#idle?.close();
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<unknown[]>();
    this.#pending.set(id, { sql, parameters, resolve, reject });
    const line = this.#deps.timers.set(() => {
      if (this.#running !== id) this.#fail(id, tooLong());
    }, longestMs);
    this.#next();
    try {
      return await promise;
    } finally {
      line.close();
    }
  }

  /** Gives up all reads. */
  end(): void {
    // The one that runs last: none is begun any more.
    for (const id of [...this.#pending.keys()].reverse()) this.#fail(id, new AppError('shutting_down'));
    this.#idle?.close();
    this.#endThread();
  }

  #next(): void {
    if (this.#running !== 0) return;
    const [first] = this.#pending;
    if (first === undefined) {
      this.#endWhenIdle();
      return;
    }
    const [id, { sql, parameters }] = first;
    const thread = this.#thread ?? this.#start();
    this.#running = id;
    this.#limit = this.#deps.timers.set(() => this.#giveUp(id), longestMs);
    this.#post(thread, { kind: 'read', id, sql, parameters });
  }

  #start(): Worker {
    const thread = this.#deps.spawn?.() ?? startThread('reader');
    this.#unwatch = watchThread(thread, (reason) => this.#died(reason));
    thread.onmessage = ({ data }: MessageEvent<FromReader>) => this.#receive(data);
    this.#post(thread, { kind: 'open', file: this.#deps.file, nativeBinding: this.#deps.nativeBinding });
    this.#thread = thread;
    return thread;
  }

  #post(thread: Worker, message: ToReader): void {
    thread.postMessage(message);
  }

  #receive(message: FromReader): void {
    if (message.id !== this.#running) return;
    const pending = this.#pending.get(message.id);
    if (message.kind === 'rows') pending?.resolve(message.rows);
    else pending?.reject(Object.assign(new Error(message.message), { code: message.code }));
    this.#leave(message.id);
  }

  /** Only the end of its thread stops a statement: the reads behind it go to the next one. */
  #giveUp(id: number): void {
    this.#endThread();
    this.#fail(id, tooLong());
  }

  #died(reason: string): void {
    this.#thread = null;
    if (this.#running !== 0) this.#fail(this.#running, new AppError('thread_died', { thread: 'reader', reason }));
  }

  #fail(id: number, error: AppError): void {
    this.#pending.get(id)?.reject(error);
    this.#leave(id);
  }

  #leave(id: number): void {
    this.#pending.delete(id);
    if (id !== this.#running) return;
    this.#running = 0;
    this.#limit?.close();
    this.#next();
  }

  #endThread(): void {
    this.#unwatch();
    this.#thread?.terminate();
    this.#thread = null;
  }

  #endWhenIdle(): void {
    this.#idle?.close();
    this.#idle = this.#deps.timers.set(() => this.#endThread(), idleMs);
    this.#idle.unref();
  }
}

const longestMs = maxSeconds * 1000;
const tooLong = (): AppError => new AppError('read_too_long', { seconds: maxSeconds });

/** Statements go to the reader; it has one connection, and no transactions. */
export const readingWith = (reader: Reader): Kysely<Schema> =>
  new Kysely<Schema>({
    dialect: {
      createDriver: () => new ReadingDriver(reader),
      createAdapter: () => new SqliteAdapter(),
      createIntrospector: (database) => new SqliteIntrospector(database),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });

class ReadingDriver implements Driver {
  readonly #connection: DatabaseConnection;
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
    this.#connection = {
      async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
        return { rows: (await reader.read(sql, parameters)) as Row[] };
      },
      async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
        yield await this.executeQuery<Row>(query);
      },
    };
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async beginTransaction(): Promise<void> {
    throw new Error('the reader has no transactions');
  }

  async commitTransaction(): Promise<void> {}

  async rollbackTransaction(): Promise<void> {}

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    this.#reader.end();
  }
}
