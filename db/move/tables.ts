/** What a site consists of: every table, the order in which its rows are read, the column that gives out numbers. */

export interface MovedTable {
  readonly name: string;
  /** Names each row; rows are read in its order. */
  readonly key: readonly string[];
  /** Column whose numbers are given out one after the other. */
  readonly numbered: string | null;
}

const numbered = (name: string): MovedTable => ({ name, key: ['id'], numbered: 'id' });
const keyed = (name: string, ...key: string[]): MovedTable => ({ name, key, numbered: null });

export const movedTables: readonly MovedTable[] = [
  keyed('meta', 'key'),
  keyed('options', 'key'),
  numbered('users'),
  keyed('accounts', 'id'),
  numbered('tokens'),
  numbered('channels'),
  numbered('redemptions'),
  numbered('top_ups'),
  numbered('callbacks'),
  numbered('access_tokens'),
  numbered('saved_filters'),
  keyed('webhook_secrets', 'user_id'),
  keyed('sessions', 'id_hash'),
  keyed('second_factors', 'user_id'),
  keyed('recovery_codes', 'user_id', 'code_hash'),
  numbered('passkeys'),
  keyed('alerts', 'user_id', 'kind'),
  numbered('audit'),
  numbered('price_versions'),
  numbered('drawing_tasks'),
  numbered('tasks'),
  keyed('usage_hours', 'hour_at', 'user_id', 'model_name', 'channel_id'),
  keyed('holds', 'ref'),
  numbered('postings'),
  numbered('logs'),
];

/** Tables of both places that are not moved, each with the reason. */
export const leftTables: Readonly<Record<string, string>> = {
  changes: 'news for followers who run: there are none while a site is moved, and whoever starts reads everything',
};

/** Tables that a server has and a file has not, each with the reason why nothing is lost with it: by a move, or in a backup. */
export const serverTables: Readonly<Record<string, string>> = {
  account_parts: 'what each node counts for itself, read as part of accounts',
  channel_parts: 'what each node counts for itself, read as part of channels',
  usage_hour_parts: 'what each node counts for itself, read and written as usage_hours',
  logs_rest: 'rows of logs whose month has no table of its own',
  ends: 'made from postings and logs by whoever fills a server',
  leases:
    'what living nodes may spend: there are none while a site is moved, and what is leased still lies in the balance',
  nodes: 'lives of processes; the last number goes on as that of the last run',
  jobs: 'whose turn it is among living nodes',
  feed: 'how far news are kept',
  node_messages: 'what nodes tell each other, kept for seconds',
  memos: 'what lives for minutes: a file keeps it in the memory of its process',
  kept_items:
    'items of answers, which a file keeps beside it in answers.db: without them a client sends its conversation again',
  kept_owners:
    'whose the things are that upstreams keep: a file keeps it in answers.db, and what nobody is known to own is refused',
  gateway_migrations: 'how old the schema is: each place has its own',
};

export type MovedRow = Readonly<Record<string, string | number | null>>;

/** How far a table has come: key of its last row as JSON, '' = not begun; how many rows. */
export interface Cursor {
  readonly after: string;
  readonly rows: number;
}

/** One of the two places. */
export interface MoveEnd {
  readonly name: string;
  columns(table: string): Promise<readonly string[]>;
  count(table: string): Promise<number>;
  /** Rows behind a key, in the key's order. @param after null = from the first. */
  read(
    table: MovedTable,
    columns: readonly string[],
    after: readonly (string | number | null)[] | null,
    limit: number,
  ): Promise<MovedRow[]>;
  /** Numbers given out last, by table. */
  numbers(): Promise<ReadonlyMap<string, number>>;
  /** Changes when anything is written that matters. */
  mark(): Promise<string>;
  /** @throws AppError move_busy when somebody works on it. */
  refuseBusy(): Promise<void>;
}

/** The place that is filled. */
export interface MoveTarget extends MoveEnd {
  /** Ready to be filled: emptied where that is needed. @param mark of the source. @returns how far earlier work came. @throws AppError move_not_empty */
  prepare(mark: string): Promise<ReadonlyMap<string, Cursor>>;
  /** Rows and the place behind them, together. */
  write(table: MovedTable, columns: readonly string[], rows: readonly MovedRow[], cursor: Cursor): Promise<void>;
  /** Everything is there and equal: numbers go on where the source stopped, and the place may be used. */
  finish(numbers: ReadonlyMap<string, number>): Promise<void>;
}
