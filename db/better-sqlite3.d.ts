/** The part of better-sqlite3 13 that we use; the package ships no types of its own. */
declare module 'better-sqlite3' {
  export interface Statement<Row = unknown> {
    readonly reader: boolean;
    run(...params: unknown[]): { changes: number; lastInsertRowid: number | bigint };
    get(...params: unknown[]): Row | undefined;
    all(...params: unknown[]): Row[];
    iterate(...params: unknown[]): IterableIterator<Row>;
    safeIntegers(on?: boolean): Statement<Row>;
    pluck(on?: boolean): Statement<Row>;
    raw(on?: boolean): Statement<Row>;
  }
  export interface Options {
    readonly?: boolean;
    fileMustExist?: boolean;
    timeout?: number;
    nativeBinding?: string;
  }
  export interface Database {
    readonly open: boolean;
    readonly inTransaction: boolean;
    readonly name: string;
    prepare<Row = unknown>(sql: string): Statement<Row>;
    exec(sql: string): Database;
    pragma(text: string, options?: { simple?: boolean }): unknown;
    transaction<A extends unknown[], R>(work: (...args: A) => R): ((...args: A) => R) & { immediate(...args: A): R };
    backup(
      file: string,
      options?: { progress?: (p: { totalPages: number; remainingPages: number }) => number },
    ): Promise<unknown>;
    close(): Database;
  }
  interface Constructor {
    new (file: string, options?: Options): Database;
  }
  const Database: Constructor;
  export default Database;
}
