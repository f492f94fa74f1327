/** Writes postings and rows of the log, each once. */
import type { Database as RawDatabase } from 'better-sqlite3';
import type { LogEntry } from '../../../server/billing/ledger/commands.ts';
import type { Posting } from '../../../server/billing/ledger/core.ts';
import { manyRows, type Row } from '../../many-rows.ts';

export interface Rows {
  /** @returns false when its ref was posted before. */
  posting(posting: Posting): boolean;
  /** @returns false when there is a row of its request already. */
  log(log: LogEntry): boolean;
  /** From here on what was written can be read. */
  flush(): void;
}

export interface LedgerRows {
  /** Asks the table about each row. */
  readonly singly: Rows;
  /** Takes every row for new and writes many with one statement, at two thirds of the cost. Its flush throws when one is not. */
  together(): Rows;
}

/** A row was there before. */
export const isRepeated = (error: unknown): boolean =>
  (error as { code?: unknown } | null)?.code === 'SQLITE_CONSTRAINT_UNIQUE';

const postingColumns = 'ref, debit, credit, amount, kind, token_id, channel_id, at';
const logColumns = `request_id, created_at, type, user_id, username, token_id, token_name, channel_id, group_name, model_name,
  is_stream, use_time, prompt_tokens, completion_tokens, quota, content, other, usage_source, end_reason`;

const postingRow = ({ ref, debit, credit, amount, kind, tokenId, channelId, at }: Posting): Row => [
  ref,
  debit,
  credit,
  amount,
  kind,
  tokenId,
  channelId,
  at,
];

const logRow = (log: LogEntry): Row => [
  log.requestId === '' ? null : log.requestId,
  log.createdAt,
  log.type,
  log.userId,
  log.username,
  log.tokenId,
  log.tokenName,
  log.channelId,
  log.group,
  log.model,
  log.isStream ? 1 : 0,
  log.useTime,
  log.promptTokens,
  log.completionTokens,
  log.quota,
  log.content,
  log.other,
  log.usageSource,
  log.endReason,
];

function insertTo(raw: RawDatabase, table: string, columns: string, key: string) {
  const width = columns.split(',').length;
  const one = raw.prepare(
    `INSERT INTO ${table} (${columns}) VALUES (${columns.replace(/\w+/g, '?')}) ON CONFLICT (${key}) DO NOTHING`,
  );
  return {
    /** @returns whether it is new. */
    one: (row: Row): boolean => one.run(row).changes > 0,
    // What fails is rolled back with its transaction, so the statement needs no journal of its own.
    all: manyRows(raw, width, (values) => `INSERT OR FAIL INTO ${table} (${columns}) VALUES ${values}`),
  };
}

export function createLedgerRows(raw: RawDatabase): LedgerRows {
  const postingsTable = insertTo(raw, 'postings', postingColumns, 'ref');
  const logsTable = insertTo(raw, 'logs', logColumns, 'request_id');
  return {
    singly: {
      posting: (posting) => postingsTable.one(postingRow(posting)),
      log: (log) => logsTable.one(logRow(log)),
      flush: () => undefined,
    },
    together() {
      let postings: Row[] = [];
      let logs: Row[] = [];
      return {
        posting(posting) {
          postings.push(postingRow(posting));
          return true;
        },
        log(log) {
          logs.push(logRow(log));
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
