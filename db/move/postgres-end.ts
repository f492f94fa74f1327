/** A database of PostgreSQL as the source or the target of a move. */
import type { Kysely } from 'kysely';
import type { PoolClient } from 'pg';
import { AppError } from '../../server/contract/errors.ts';
import { placeName } from '../place.ts';
import { ensureMonths, monthOf } from '../postgres/months.ts';
import { graceSeconds, maxRequestSeconds } from '../postgres/nodes.ts';
import type { PostgresDatabase } from '../postgres/open.ts';
import type { Schema } from '../schema/tables.ts';
import { type Cursor, type MovedRow, type MoveEnd, type MoveTarget, movedTables } from './tables.ts';

const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

const parts = (table: string, column: string, of: string): string =>
  `(${of}."${column}" + coalesce((SELECT sum(p."${column}") FROM ${table} p WHERE p.${of === 'channels' ? 'channel_id' : 'account_id'} = ${of}.id), 0))::bigint AS "${column}"`;

/** A sum over nodes is one number in a file. */
const totalColumns: Readonly<Record<string, string>> = {
  'accounts.balance': parts('account_parts', 'balance', 'accounts'),
  'accounts.version': parts('account_parts', 'version', 'accounts'),
  'channels.used_quota': parts('channel_parts', 'used_quota', 'channels'),
};
const selected = (table: string, columns: readonly string[]): string =>
  columns.map((column) => totalColumns[`${table}.${column}`] ?? `"${column}"`).join(', ');

/** Where rows are written; the hours, and the use of budgets, are read through views. */
const partsOf: Readonly<Record<string, string>> = { usage_hours: 'usage_hour_parts', budget_use: 'budget_use_parts' };
const writtenTo = (table: string): string => partsOf[table] ?? table;
const keptForNodes = ['account_parts', 'channel_parts', 'leases', 'ends', 'changes', ...Object.values(partsOf)];

/** Months that a log may honestly lie in; the rest of the rows stay in the rest. */
const earliestMonth = Date.UTC(2015, 0, 1) / 1000;
const maxFutureSeconds = 62 * 86_400;

/** Fills the rows that make an end count once, from the ends known so far. */
const fillEnds = `INSERT INTO ends (ref, asked, paid, epoch, at)
  SELECT p.ref, p.amount, greatest(p.amount - coalesce(o.amount, 0), 0), 0, p.at
    FROM postings p LEFT JOIN postings o ON o.ref = 'overrun:' || p.ref WHERE p.kind = 'settle'
  UNION ALL SELECT DISTINCT ON (l.request_id) l.request_id, 0, 0, 0, l.created_at FROM logs l
    WHERE l.request_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM postings p WHERE p.ref = l.request_id AND p.kind = 'settle')
  ON CONFLICT DO NOTHING`;

/** Rows that are brought from elsewhere are no news. */
const withoutTriggers = "SET LOCAL gateway.quiet = 'on'";

type Ask = <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;

/** @param rowsOf queries the pool, or one connection with a snapshot. */
export const postgresSource = (name: string, rowsOf: Ask): MoveEnd => ({
  name,
  columns: async (table) =>
    (
      await rowsOf<{ name: string }>(
        `SELECT column_name AS name FROM information_schema.columns
          WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position`,
        [table],
      )
    ).map((column) => column.name),
  count: async (table) => (await rowsOf<{ n: number }>(`SELECT count(*) AS n FROM ${table}`))[0]?.n ?? 0,
  async read(table, columns, after, limit) {
    const keys = table.key.map((column) => `${table.name}."${column}"`).join(', ');
    const behind = after === null ? '' : `WHERE (${keys}) > (${after.map((_, index) => `$${index + 2}`).join(', ')})`;
    return rowsOf<MovedRow>(
      `SELECT ${selected(table.name, columns)} FROM ${table.name} ${behind} ORDER BY ${keys} LIMIT $1`,
      [limit, ...(after ?? [])],
    );
  },
  async numbers() {
    const lastIds = new Map<string, number>();
    for (const { name: table, idColumn } of movedTables) {
      if (idColumn === null) continue;
      const [row] = await rowsOf<{ last: number | null }>(
        `SELECT last_value AS last FROM pg_sequences WHERE format('%I.%I', schemaname, sequencename) = pg_get_serial_sequence($1, $2)`,
        [table, idColumn],
      );
      lastIds.set(table, row?.last ?? 0);
    }
    const [nodes] = await rowsOf<{ epoch: number | null }>('SELECT max(epoch) AS epoch FROM nodes');
    return lastIds.set('nodes', nodes?.epoch ?? 0);
  },
  mark: async () =>
    Object.values(
      (
        await rowsOf<Record<string, unknown>>(
          `SELECT (SELECT max(seq) FROM changes) AS c, (SELECT max(id) FROM postings) AS p, (SELECT max(id) FROM logs) AS l,
            (SELECT max(id) FROM audit) AS a, (SELECT sum(version) FROM accounts) AS v, (SELECT max(epoch) FROM nodes) AS n`,
        )
      )[0] ?? {},
    ).join(),
  async rejectBusy() {
    const [lives] = await rowsOf<{ node: string; seconds: number }>(
      `SELECT node, greatest(1, ceil(extract(epoch FROM expires_at - clock_timestamp()) + ${graceSeconds}))::bigint AS seconds
        FROM nodes WHERE state <> 'expired' ORDER BY expires_at DESC LIMIT 1`,
    );
    if (lives !== undefined) throw new AppError('move_node_lives', { name, ...lives });
  },
  async rejectOwing() {
    // A node is represented by its newest start, which has settled what earlier ones left.
    const [owes] = await rowsOf<{ node: string }>(
      `SELECT node FROM (SELECT DISTINCT ON (node) * FROM nodes ORDER BY node, epoch DESC) newest
        WHERE left_at = 0 AND forgotten_at = 0 ORDER BY node LIMIT 1`,
    );
    if (owes !== undefined) throw new AppError('move_node_owes', { name, ...owes });
    const [open] = await rowsOf<{ seconds: number }>(
      `SELECT greatest(1, max(extract(epoch FROM greatest(n.expires_at, clock_timestamp() - interval '${maxRequestSeconds} s') - clock_timestamp()) + ${maxRequestSeconds}))::bigint AS seconds
        FROM leases l JOIN nodes n USING (epoch) WHERE l.amount > 0 HAVING count(*) > 0`,
    );
    if (open !== undefined) throw new AppError('move_unsettled', { name, ...open });
  },
});

/** An open transaction; its creator ends it. */
export interface OneTransaction {
  readonly client: PoolClient;
  readonly query: Kysely<Schema>;
}

/** @param one everything happens in it; null = step by step, each of which holds. */
export function postgresEnd(database: PostgresDatabase, one: OneTransaction | null = null): MoveTarget {
  const { pool } = database;
  const { query } = one ?? database;
  const name = placeName(database.place);
  const rowsOf: Ask = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
    (await (one?.client ?? pool).query<Row>(text, values)).rows;
  const inTransaction = async <Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> => {
    if (one !== null) {
      await one.client.query(withoutTriggers);
      return work(one.client);
    }
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      await client.query(withoutTriggers);
      const result = await work(client);
      await client.query('COMMIT');
      client.release();
      return result;
    } catch (error) {
      client.release(true);
      throw error;
    }
  };
  const madeMonths = new Set<string>();
  const makeMonths = async (rows: readonly MovedRow[]): Promise<void> => {
    const latest = Date.now() / 1000 + maxFutureSeconds;
    for (const { created_at: at } of rows) {
      if (typeof at !== 'number' || at < earliestMonth || at > latest) continue;
      const { table } = monthOf(at);
      if (madeMonths.has(table)) continue;
      await ensureMonths(query, at, at);
      madeMonths.add(table);
    }
  };

  return {
    ...postgresSource(name, rowsOf),
    prepare: (mark) =>
      inTransaction(async (client) => {
        const { rows: known } = await client.query("SELECT to_regclass('move_cursor') IS NOT NULL AS moving");
        if (known[0]?.moving !== true) {
          const { rows } = await client.query(
            'SELECT (SELECT count(*) FROM users) + (SELECT count(*) FROM channels) AS n',
          );
          if (rows[0]?.n > 0) throw new AppError('move_not_empty', { name });
          await client.query(
            'CREATE TABLE move_cursor (name text COLLATE "C" PRIMARY KEY, after text NOT NULL, rows bigint NOT NULL)',
          );
        }
        const { rows: marks } = await client.query("SELECT after FROM move_cursor WHERE name = ''");
        if (marks[0]?.after !== mark) {
          const all = [...movedTables.map((table) => writtenTo(table.name)), ...keptForNodes, 'move_cursor'];
          await client.query(`TRUNCATE ${quoted([...new Set(all)])}`);
          await client.query("INSERT INTO move_cursor (name, after, rows) VALUES ('', $1, 0)", [mark]);
        }
        const { rows } = await client.query<Cursor & { name: string }>('SELECT name, after, rows FROM move_cursor');
        return new Map(rows.map(({ name: table, ...cursor }) => [table, cursor]));
      }),
    async write(table, columns, rows, cursor) {
      if (table.name === 'logs') await makeMonths(rows);
      const target = writtenTo(table.name);
      const node = target === table.name ? ['', ''] : [', epoch', ', 0'];
      await inTransaction(async (client) => {
        await client.query(
          `INSERT INTO ${target} (${quoted(columns)}${node[0]})
            SELECT ${quoted(columns)}${node[1]} FROM json_populate_recordset(null::${target}, $1::json)`,
          [JSON.stringify(rows)],
        );
        await client.query(
          `INSERT INTO move_cursor (name, after, rows) VALUES ($1, $2, $3)
            ON CONFLICT (name) DO UPDATE SET after = excluded.after, rows = excluded.rows`,
          [table.name, cursor.after, cursor.rows],
        );
      });
    },
    async finish(numbers) {
      await inTransaction(async (client) => {
        await client.query(fillEnds);
        for (const [table, last] of numbers)
          if (last > 0 && movedTables.some((one) => one.name === table && one.idColumn !== null))
            await client.query("SELECT setval(pg_get_serial_sequence($1, 'id'), $2)", [table, last]);
        // Holds of the file's last run belong to a run that has ended.
        await client.query(
          `SELECT setval(pg_get_serial_sequence('nodes', 'epoch'), greatest(1,
            coalesce((SELECT value::bigint FROM meta WHERE key = 'ledger_epoch'), 0),
            coalesce((SELECT max(epoch) FROM holds), 0), coalesce((SELECT max(epoch) FROM nodes), 0)))`,
        );
        await client.query('DROP TABLE move_cursor');
      });
      if (one === null) await pool.query('ANALYZE');
    },
  };
}
