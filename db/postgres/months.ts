/** The log by months: made ahead, made for what is brought from elsewhere, dropped whole. */
import { type Kysely, sql } from 'kysely';
import type { Schema } from '../schema/tables.ts';

interface Month {
  readonly table: string;
  /** Epoch seconds, the second one not included. */
  readonly from: number;
  readonly to: number;
}

const secondsOf = (year: number, month: number): number => Date.UTC(year, month, 1) / 1000;

/** @param at epoch seconds. */
export function monthOf(at: number): Month {
  const date = new Date(at * 1000);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return {
    table: `logs_${year}_${String(month + 1).padStart(2, '0')}`,
    from: secondsOf(year, month),
    to: secondsOf(year, month + 1),
  };
}

function monthsBetween(from: number, to: number): Month[] {
  const months: Month[] = [];
  for (let month = monthOf(from); ; month = monthOf(month.to)) {
    months.push(month);
    if (month.to > to) return months;
  }
}

/** Asked of the catalogue itself: `to_regclass` may answer from what the connection remembers. */
const hasTable = async (db: Kysely<Schema>, table: string): Promise<boolean> =>
  (
    await sql<{ there: boolean }>`SELECT EXISTS (SELECT 1 FROM pg_class
      WHERE relname = ${table} AND relnamespace = current_schema()::regnamespace) AS there`.execute(db)
  ).rows[0]?.there === true;

/** An arbitrary advisory lock number, used for nothing else in this database. */
const lockNumber = 4_747_201_117;

/** Rows that came before their month was there lie in the rest and are brought over. */
const createMonth = ({ table, from, to }: Month, db: Kysely<Schema>): Promise<void> =>
  db.transaction().execute(async (transaction) => {
    await sql`SELECT pg_advisory_xact_lock(${sql.lit(lockNumber)})`.execute(transaction);
    if (await hasTable(transaction, table)) return;
    const [month, start, end] = [sql.table(table), sql.lit(from), sql.lit(to)];
    // Writes into the default partition during this would go to rows that are being moved out of it.
    await sql`LOCK TABLE logs_rest IN ACCESS EXCLUSIVE MODE`.execute(transaction);
    await sql`CREATE TABLE ${month} (LIKE logs INCLUDING DEFAULTS)`.execute(transaction);
    await sql`WITH moved AS (DELETE FROM logs_rest WHERE created_at >= ${start} AND created_at < ${end} RETURNING *)
      INSERT INTO ${month} SELECT * FROM moved`.execute(transaction);
    await sql`ALTER TABLE logs ATTACH PARTITION ${month} FOR VALUES FROM (${start}) TO (${end})`.execute(transaction);
  });

/** Every month between the two times, both included. @param from epoch seconds. */
export async function ensureMonths(db: Kysely<Schema>, from: number, to: number): Promise<void> {
  for (const month of monthsBetween(from, to)) if (!(await hasTable(db, month.table))) await createMonth(month, db);
}

const futureSeconds = 62 * 86_400;

/** This month and those that come next, by the database's clock. */
export async function prepareMonths(db: Kysely<Schema>): Promise<void> {
  const { rows } = await sql<{ now: number }>`SELECT extract(epoch FROM now())::bigint AS now`.execute(db);
  const now = rows[0]?.now ?? 0;
  await ensureMonths(db, now, now + futureSeconds);
}

/** Readers and writers of the log wait no longer than this; what was not dropped is dropped the next time. */
const lockTimeout = '3s';

/** Drops the months that ended before a time. @returns how many rows they had. */
export async function dropMonths(db: Kysely<Schema>, before: number): Promise<number> {
  const { rows } = await sql<{ name: string }>`SELECT inhrelid::regclass::text AS name FROM pg_inherits
    WHERE inhparent = 'logs'::regclass ORDER BY 1`.execute(db);
  let removed = 0;
  for (const { name } of rows) {
    const [, year, month] = /^logs_(\d{4})_(\d{2})$/.exec(name) ?? [];
    if (year === undefined || secondsOf(Number(year), Number(month)) > before) continue;
    removed += await db.transaction().execute(async (transaction) => {
      await sql`SET LOCAL lock_timeout = ${sql.lit(lockTimeout)}`.execute(transaction);
      const counted = await sql<{ n: number }>`SELECT count(*) AS n FROM ${sql.table(name)}`.execute(transaction);
      await sql`DROP TABLE ${sql.table(name)}`.execute(transaction);
      return counted.rows[0]?.n ?? 0;
    });
  }
  return removed;
}
