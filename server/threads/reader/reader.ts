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

/** A read that has not ended by then is given up. */
const longestSeconds = 30;
/** The thread takes memory; it ends when nothing was read for this long. */
const idleMs = 60_000;

interface Pending {
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

/** Starts its thread with the first read. */
export class Reader {
  readonly #deps: ReaderDeps;
  #thread: Worker | null = null;
  #unwatch: () => void = () => undefined;
  #nextId = 1;
  #pending = new Map<number, Pending>();
  #idle: Timer | null = null;

  constructor(deps: ReaderDeps) {
    this.#deps = deps;
  }

  /** Runs a statement that reads. @throws AppError read_too_long, thread_died; Error of the driver, with its code. */
  async read(sql: string, parameters: readonly unknown[]): Promise<unknown[]> {
    this.#idle?.close();
    const thread = this.#thread ?? this.#start();
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<unknown[]>();
    this.#pending.set(id, { resolve, reject });
    const timer = this.#deps.timers.set(() => this.#giveUp(id), longestSeconds * 1000);
    this.#post(thread, { kind: 'read', id, sql, parameters });
    try {
      return await promise;
    } finally {
      timer.close();
      this.#pending.delete(id);
      if (this.#pending.size === 0) this.#endWhenIdle();
    }
  }

  /** What is still read is given up. */
  end(): void {
    this.#failAll(new AppError('shutting_down'));
    this.#idle?.close();
    this.#unwatch();
    this.#thread?.terminate();
    this.#thread = null;
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
    const pending = this.#pending.get(message.id);
    if (message.kind === 'rows') pending?.resolve(message.rows);
    else pending?.reject(Object.assign(new Error(message.message), { code: message.code }));
  }

  /** Nothing stops a statement but the end of its thread: what waits behind it goes to the next. */
  #giveUp(id: number): void {
    this.#pending.get(id)?.reject(new AppError('read_too_long', { seconds: longestSeconds }));
    this.#pending.delete(id);
    this.#failAll(new AppError('thread_died', { thread: 'reader', reason: 'a read before this one took too long' }));
    this.end();
  }

  #died(reason: string): void {
    this.#thread = null;
    this.#failAll(new AppError('thread_died', { thread: 'reader', reason }));
  }

  #failAll(error: AppError): void {
    for (const { reject } of this.#pending.values()) reject(error);
  }

  #endWhenIdle(): void {
    this.#idle = this.#deps.timers.set(() => this.end(), idleMs);
    this.#idle.unref();
  }
}

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
