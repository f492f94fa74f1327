/** Budgets, with what was used in their newest window. */
import { type Insertable, type Kysely, type Selectable, sql, type Updateable } from 'kysely';
import type { BudgetHolder, BudgetUnit } from '../../server/contract/budgets.ts';
import { keysLabelled } from '../labels.ts';
import type { Database } from '../open.ts';
import { budgetLeases } from '../schema/migrations.ts';
import type { BudgetsTable, Schema } from '../schema/tables.ts';
import { nodeBefore } from './older-node.ts';

export type BudgetRow = Selectable<BudgetsTable> & {
  /** null = nothing was used yet. */
  readonly window_at: number | null;
  readonly used: number | null;
};

/** A budget of a key or user that is made together with it. */
export type FirstBudget = Omit<Insertable<BudgetsTable>, 'holder' | 'subject'>;

/** @param query the transaction that makes the holder. */
export async function insertFirstBudgets(
  query: Kysely<Schema>,
  holder: 'token' | 'user',
  id: number,
  budgets: readonly FirstBudget[],
): Promise<void> {
  if (budgets.length === 0) return;
  const rows = budgets.map((budget) => ({ ...budget, holder, subject: String(id) }));
  await query.insertInto('budgets').values(rows).execute();
}

/** Whose use is summed, from when on. */
export interface UseSought {
  readonly holder: BudgetHolder;
  readonly subject: string;
  readonly unit: BudgetUnit;
  /** Epoch seconds. */
  readonly from: number;
}

export function createBudgetsRepository(database: Database) {
  const { query, engine, dialect } = database;
  const rows = () =>
    query
      .selectFrom('budgets')
      .leftJoin('budget_use as use', (join) =>
        join.onRef('use.budget_id', '=', 'budgets.id').on('use.window_at', '=', (one) =>
          one
            .selectFrom('budget_use as newest')
            .select((each) => each.fn.max<number>('newest.window_at').as('at'))
            .whereRef('newest.budget_id', '=', 'budgets.id'),
        ),
      )
      .selectAll('budgets')
      .select(['use.window_at', 'use.used']);

  /** Settled use by whole hours: from the log for a key and for the keys of a label, else from the sums of hours. */
  const settled = ({ holder, subject, unit, from }: UseSought) => {
    if (holder !== 'token' && holder !== 'label') {
      const column = unit === 'money' ? sql.ref('quota') : unit === 'tokens' ? sql.ref('tokens') : sql.ref('count');
      const whose =
        holder === 'user'
          ? sql`user_id = ${Number(subject)}`
          : holder === 'group'
            ? sql`user_id IN (SELECT id FROM users WHERE group_name = ${subject})`
            : sql`1 = 1`;
      return sql`SELECT coalesce(sum(${column}), 0) FROM usage_hours WHERE hour_at >= ${from - (from % 3600)} AND ${whose}`;
    }
    const amount =
      unit === 'money'
        ? sql`coalesce(sum(quota), 0)`
        : unit === 'tokens'
          ? sql`coalesce(sum(prompt_tokens + completion_tokens), 0)`
          : sql`count(*)`;
    const id = Number(subject);
    const whose =
      holder === 'token'
        ? sql`user_id = (SELECT user_id FROM tokens WHERE id = ${id}) AND token_id = ${id}`
        : sql`user_id IN (${keysLabelled(dialect, 'user_id', subject)}) AND token_id IN (${keysLabelled(dialect, 'id', subject)})`;
    return sql`SELECT ${amount} FROM logs WHERE ${whose} AND type = 2 AND created_at >= ${from} AND (quota > 0 OR prompt_tokens + completion_tokens > 0)`;
  };

  return {
    all: (): Promise<BudgetRow[]> => rows().orderBy('budgets.id').execute(),
    byIds: (ids: readonly number[]): Promise<BudgetRow[]> => rows().where('budgets.id', 'in', ids).execute(),
    find: (id: number): Promise<BudgetRow | undefined> => rows().where('budgets.id', '=', id).executeTakeFirst(),
    of: (holder: BudgetHolder, subject: string): Promise<BudgetRow[]> =>
      rows().where('holder', '=', holder).where('subject', '=', subject).orderBy('budgets.id').execute(),
    /** Budgets near their amount; raises of the window are left out. */
    nearlyUsed: (percent: number): Promise<BudgetRow[]> =>
      rows().where(sql<boolean>`use.used * 100 >= budgets.amount * ${percent}`).execute(),
    /** Whose earlier use is not counted yet. */
    uncounted: (): Promise<BudgetRow[]> => rows().where('counted', '<=', 0).execute(),
    count: async (): Promise<number> => {
      const { count } = await query
        .selectFrom('budgets')
        .select((one) => one.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      return Number(count);
    },
    /** A node that lives and whose build spends without leases of budgets. @returns its name; undefined = none. */
    unboundNode: () => nodeBefore(database, budgetLeases),
    create: async (row: Insertable<BudgetsTable>): Promise<number> => {
      const { id } = await query.insertInto('budgets').values(row).returning('id').executeTakeFirstOrThrow();
      return id;
    },
    update: async (id: number, changes: Updateable<BudgetsTable>): Promise<boolean> => {
      const { numUpdatedRows } = await query
        .updateTable('budgets')
        .set(changes)
        .where('id', '=', id)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    /** With its use, and what nodes have leased of it. */
    remove: async (id: number): Promise<boolean> => {
      const { numDeletedRows } = await query.deleteFrom('budgets').where('id', '=', id).executeTakeFirst();
      if (engine === 'sqlite') await query.deleteFrom('budget_use').where('budget_id', '=', id).execute();
      else {
        await sql`DELETE FROM budget_use_parts WHERE budget_id = ${id}`.execute(query);
        await sql`DELETE FROM leases WHERE kind = 'budget' AND subject = ${id}`.execute(query);
      }
      return numDeletedRows > 0n;
    },
    /** Numbers of budgets whose key or user is gone, so many at most. */
    gone: async (limit: number): Promise<number[]> => {
      // A cast stands behind its condition: groups and labels are no numbers.
      const id = (...holders: readonly BudgetHolder[]) =>
        sql`CASE WHEN holder IN (${sql.join(holders)}) THEN CAST(subject AS BIGINT) END`;
      const { rows: found } = await sql<{ id: number }>`SELECT id FROM budgets WHERE
        holder IN ('token', 'end_user') AND NOT EXISTS
          (SELECT 1 FROM tokens WHERE tokens.id = ${id('token', 'end_user')} AND tokens.deleted_at IS NULL)
        OR holder = 'user' AND NOT EXISTS
          (SELECT 1 FROM users WHERE users.id = ${id('user')} AND users.deleted_at IS NULL)
        ORDER BY id LIMIT ${limit}`.execute(query);
      return found.map((row) => Number(row.id));
    },
    /** Settlements since the window began that the budget's use lacks: both as of one moment. */
    async missing({
      id,
      windowAt,
      ...sought
    }: UseSought & { readonly id: number; readonly windowAt: number }): Promise<number> {
      const { rows: found } = await sql<{ missing: number }>`SELECT (${settled(sought)})
        - coalesce((SELECT used FROM budget_use WHERE budget_id = ${id} AND window_at = ${windowAt}), 0) AS missing`.execute(
        query,
      );
      return Number(found[0]?.missing ?? 0);
    },
  };
}

export type BudgetsRepository = ReturnType<typeof createBudgetsRepository>;
