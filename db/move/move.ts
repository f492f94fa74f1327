/** Brings a whole site from one place to another: table by table, in batches that are continued where they stopped, and looked through at the end. */
import { createHash } from 'node:crypto';
import { AppError } from '../../server/contract/errors.ts';
import { type Cursor, type MovedRow, type MovedTable, type MoveEnd, type MoveTarget, movedTables } from './tables.ts';

export interface MoveProgress {
  readonly step: 'copied' | 'compared';
  readonly table: string;
  readonly rows: number;
  readonly of: number;
}

export interface MovedReport {
  readonly tables: readonly { readonly name: string; readonly rows: number; readonly hash: string }[];
  readonly rows: number;
  /** Rows that an earlier try had brought over. */
  readonly continued: number;
}

export interface MoveOrder {
  readonly from: MoveEnd;
  readonly to: MoveTarget;
  readonly progress?: ((progress: MoveProgress) => void) | undefined;
  /** Rows at once. */
  readonly batch?: number | undefined;
}

const defaultBatch = 2000;

type Key = readonly (string | number | null)[];
const keyOf = (table: MovedTable, row: MovedRow): Key => table.key.map((column) => row[column] ?? null);

/** A table and the columns that both places have. */
interface CopyResult {
  readonly table: MovedTable;
  readonly columns: readonly string[];
  readonly batch: number;
}

interface TableSummary {
  readonly rows: number;
  readonly hash: string;
  readonly totals: Readonly<Record<string, bigint>>;
}

/** All rows of a table in the order of their key. */
async function summarize(
  end: MoveEnd,
  { table, columns, batch }: CopyResult,
  report: (rows: number) => void,
): Promise<TableSummary> {
  const hash = createHash('sha256');
  const totals: Record<string, bigint> = {};
  let rows = 0;
  let after: Key | null = null;
  for (;;) {
    const some: MovedRow[] = await end.read(table, columns, after, batch);
    for (const row of some) {
      hash.update(`${JSON.stringify(columns.map((column) => row[column]))}\n`);
      for (const column of columns) {
        const value = row[column];
        if (Number.isSafeInteger(value)) totals[column] = (totals[column] ?? 0n) + BigInt(value as number);
      }
    }
    rows += some.length;
    const last = some.at(-1);
    if (last !== undefined) after = keyOf(table, last);
    report(rows);
    if (some.length < batch) return { rows, hash: hash.digest('hex'), totals };
  }
}

/** @returns rows in the target, and how many of them were there before. */
async function copy(
  { from, to, progress }: MoveOrder,
  { table, columns, batch }: CopyResult,
  known: Cursor | undefined,
): Promise<{ rows: number; continued: number }> {
  const of = await from.count(table.name);
  let rows = known?.rows ?? 0;
  let after = known === undefined ? null : (JSON.parse(known.after) as Key);
  for (;;) {
    const some = await from.read(table, columns, after, batch);
    const last = some.at(-1);
    if (last === undefined) return { rows, continued: known?.rows ?? 0 };
    after = keyOf(table, last);
    rows += some.length;
    await to.write(table, columns, some, { after: JSON.stringify(after), rows });
    progress?.({ step: 'copied', table: table.name, rows, of });
  }
}

async function compare({ from, to, progress }: MoveOrder, copied: CopyResult): Promise<TableSummary> {
  const { table } = copied;
  const of = await from.count(table.name);
  const report = (rows: number) => progress?.({ step: 'compared', table: table.name, rows, of });
  const one = await summarize(from, copied, () => undefined);
  const other = await summarize(to, copied, report);
  const totals = [...new Set([...Object.keys(one.totals), ...Object.keys(other.totals)])];
  const wrong = totals.find((column) => one.totals[column] !== other.totals[column]);
  if (one.rows !== other.rows || wrong !== undefined || one.hash !== other.hash)
    throw new AppError('move_differs', {
      table: table.name,
      detail: `${one.rows} / ${other.rows}${wrong === undefined ? '' : `, ${wrong}: ${one.totals[wrong]} / ${other.totals[wrong]}`}`,
    });
  return one;
}

/** The source is only read. @throws AppError move_busy, move_node_lives, move_node_owes, move_unsettled, move_not_empty, move_changed, move_differs */
export async function moveSite(order: MoveOrder): Promise<MovedReport> {
  const { from, to } = order;
  const batch = order.batch ?? defaultBatch;
  await from.rejectBusy();
  await from.rejectOwing?.();
  await to.rejectBusy();
  const mark = await from.mark();
  const cursors = await to.prepare(`${from.name} ${mark}`);
  const all: CopyResult[] = [];
  let continued = 0;
  for (const table of movedTables) {
    const theirs = new Set(await to.columns(table.name));
    const columns = (await from.columns(table.name)).filter((column) => theirs.has(column)).sort();
    const copied = { table, columns, batch };
    all.push(copied);
    continued += (await copy(order, copied, cursors.get(table.name))).continued;
  }
  const tables: { name: string; rows: number; hash: string }[] = [];
  for (const copied of all) {
    const { rows, hash } = await compare(order, copied);
    tables.push({ name: copied.table.name, rows, hash });
  }
  await from.rejectBusy();
  if ((await from.mark()) !== mark) throw new AppError('move_changed', { name: from.name });
  await to.finish(await from.numbers());
  return { tables, rows: tables.reduce((sum, { rows }) => sum + rows, 0), continued };
}
