/** Writes postings and rows of the log, each once. */
import type { Database as RawDatabase } from 'better-sqlite3';
import type { Posting } from '../../../server/billing/ledger/core.ts';
import { manyRows, type Row } from '../../many-rows.ts';
import { type InsertColumn, insertColumns, logAliases, namesOf } from '../../schema/inserts.ts';
import type { NumberedLog } from '../names.ts';

export interface Rows {
  /** @returns false when its ref was posted before. */
  posting(posting: Posting): boolean;
  /** @returns false when there is a row of its request already. */
  log(log: NumberedLog): boolean;
  /** From here on what was written can be read. */
  flush(): void;
}

export interface LedgerRows {
  /** Asks the table about each row. */
  readonly oneByOne: Rows;
  /** Takes every row for new and writes many with one statement, at two thirds of the cost. Its flush throws when one is not. */
  together(): Rows;
}

/** A row was there before. */
export const isDuplicate = (error: unknown): boolean =>
  (error as { code?: unknown } | null)?.code === 'SQLITE_CONSTRAINT_UNIQUE';

function insertTo<Entry>(raw: RawDatabase, table: string, columns: readonly InsertColumn<Entry>[], key: string) {
  const names = namesOf(columns);
  const insert = raw.prepare(
    `INSERT INTO ${table} (${names}) VALUES (${columns.map(() => '?').join(', ')}) ON CONFLICT (${key}) DO NOTHING`,
  );
  const many = manyRows(
    raw,
    columns.length,
    // A failure is rolled back with its transaction, so the statement needs no journal of its own.
    (values) => `INSERT OR FAIL INTO ${table} (${names}) VALUES ${values}`,
  );
  // A loop, for each row of the log passes here.
  const rowOf = (entry: Entry): Row => {
    const row: (string | number | null)[] = [];
    for (const { value } of columns) row.push(value(entry));
    return row;
  };
  return {
    /** @returns whether it is new. */
    one: (entry: Entry): boolean => insert.run(rowOf(entry)).changes > 0,
    all: (entries: readonly Entry[]) => many(entries.map(rowOf)),
  };
}

export function createLedgerRows(raw: RawDatabase): LedgerRows {
  const postingsTable = insertTo<Posting>(raw, 'postings', insertColumns('postings'), 'ref');
  const logsTable = insertTo<NumberedLog>(raw, 'logs', insertColumns('logs', logAliases), 'request_id');
  return {
    oneByOne: {
      posting: (posting) => postingsTable.one(posting),
      log: (log) => logsTable.one(log),
      flush: () => undefined,
    },
    together() {
      let postings: Posting[] = [];
      let logs: NumberedLog[] = [];
      return {
        posting(posting) {
          postings.push(posting);
          return true;
        },
        log(log) {
          logs.push(log);
          return true;
        },
        flush() {
          postingsTable.all(postings);
          logsTable.all(logs);
          postings = [];
          logs = [];
        },
      };
    },
  };
}
