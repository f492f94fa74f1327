/** Statements that are mailed by the clock, and which mail of which period was sent. */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { Database } from '../open.ts';
import type { Schema } from '../schema/tables.ts';

type Tables = Schema['statement_schedules'];
export type ScheduleRow = Selectable<Tables>;
export type MailRow = Selectable<Schema['statement_mails']>;

export interface ListedSchedule extends ScheduleRow {
  /** null = no such user. */
  readonly username: string | null;
  /** The last mail; null = there was none. */
  readonly period: string | null;
  readonly state: string | null;
  readonly tries: number | null;
  readonly tried_at: number | null;
  readonly error: string | null;
}

const firstSchema = '0035-schedules';

/**
 * Of a restored database: what had ended by then may have been mailed after the backup was made, which nothing in it says.
 * @param schema name of its newest migration. @param at epoch seconds.
 */
export async function mailFrom({ query }: Database, schema: string, at: number): Promise<void> {
  if (schema < firstSchema) return;
  await query.updateTable('statement_schedules').set({ since: at }).where('since', '<', at).execute();
}

export function createStatementSchedulesRepository({ query }: Database) {
  return {
    /** @param userId whose mail box, or who made it; absent = all. */
    list: (userId?: number): Promise<ListedSchedule[]> =>
      query
        .selectFrom('statement_schedules as schedules')
        .leftJoin('users', 'users.id', 'schedules.user_id')
        .leftJoin('statement_mails as mails', (join) =>
          join.onRef('mails.schedule_id', '=', 'schedules.id').on('mails.tried_at', '=', (eb) =>
            eb
              .selectFrom('statement_mails as later')
              .select((one) => one.fn.max('later.tried_at').as('at'))
              .whereRef('later.schedule_id', '=', 'schedules.id'),
          ),
        )
        .selectAll('schedules')
        .select(['users.username', 'mails.period', 'mails.state', 'mails.tries', 'mails.tried_at', 'mails.error'])
        .$if(userId !== undefined, (q) =>
          q.where((eb) =>
            eb.or([eb('schedules.user_id', '=', userId as number), eb('schedules.created_by', '=', userId as number)]),
          ),
        )
        .orderBy('schedules.id')
        .execute(),
    find: (id: number): Promise<ScheduleRow | undefined> =>
      query.selectFrom('statement_schedules').selectAll().where('id', '=', id).executeTakeFirst(),
    /** Schedules that were made before a period ended, and are not paused. */
    due: (every: string, end: number): Promise<ScheduleRow[]> =>
      query
        .selectFrom('statement_schedules')
        .selectAll()
        .where('every', '=', every)
        .where('paused', '=', 0)
        .where('since', '<=', end)
        .orderBy('id')
        .execute(),
    create: async (row: Insertable<Tables>): Promise<number> =>
      (await query.insertInto('statement_schedules').values(row).returning('id').executeTakeFirstOrThrow()).id,
    update: async (id: number, change: Updateable<Tables>): Promise<void> => {
      await query.updateTable('statement_schedules').set(change).where('id', '=', id).execute();
    },
    remove: async (id: number): Promise<void> => {
      await query.transaction().execute(async (inside) => {
        await inside.deleteFrom('statement_mails').where('schedule_id', '=', id).execute();
        await inside.deleteFrom('statement_schedules').where('id', '=', id).execute();
      });
    },
    /** Those to users who are deleted. */
    removeGone: async (): Promise<void> => {
      await query
        .deleteFrom('statement_schedules')
        .where('user_id', 'not in', (eb) => eb.selectFrom('users').select('id').where('deleted_at', 'is', null))
        .execute();
      await query
        .deleteFrom('statement_mails')
        .where('schedule_id', 'not in', (eb) => eb.selectFrom('statement_schedules').select('id'))
        .execute();
    },
    /** Ids that have a mail of a period which is not to be tried again. */
    done: async (period: string, retryBefore: number, maxTries: number): Promise<ReadonlySet<number>> => {
      const rows = await query
        .selectFrom('statement_mails')
        .select('schedule_id')
        .where('period', '=', period)
        .where((eb) =>
          eb.or([eb('state', '<>', 'failed'), eb('tries', '>=', maxTries), eb('tried_at', '>', retryBefore)]),
        )
        .execute();
      return new Set(rows.map((row) => row.schedule_id));
    },
    /**
     * One statement: of several nodes, or of two calls of one, exactly one gets it. What was claimed and never finished stays so: whether
     * its mail went out is not known, and none is sent twice.
     * @returns how often it was tried with this; 0 = it is another's, was sent, or is not to be tried again yet.
     */
    claim: async (
      scheduleId: number,
      period: string,
      now: number,
      { retryBefore, maxTries }: { readonly retryBefore: number; readonly maxTries: number },
    ): Promise<number> => {
      const row = await query
        .insertInto('statement_mails')
        .values({ schedule_id: scheduleId, period, state: 'claimed', tries: 1, tried_at: now, error: '' })
        .onConflict((conflict) =>
          conflict
            .columns(['schedule_id', 'period'])
            .doUpdateSet({ state: 'claimed', tries: sql<number>`statement_mails.tries + 1`, tried_at: now, error: '' })
            .where('statement_mails.state', '=', 'failed')
            .where('statement_mails.tries', '<', maxTries)
            .where('statement_mails.tried_at', '<=', retryBefore),
        )
        .returning('tries')
        .executeTakeFirst();
      return row?.tries ?? 0;
    },
    finish: async (scheduleId: number, period: string, state: string, error: string): Promise<void> => {
      await query
        .updateTable('statement_mails')
        .set({ state, error })
        .where('schedule_id', '=', scheduleId)
        .where('period', '=', period)
        .execute();
    },
    /** Mails that failed for good, or whose end nobody saw, since then. */
    troubles: (since: number, claimedBefore: number, minTries: number): Promise<MailRow[]> =>
      query
        .selectFrom('statement_mails')
        .selectAll()
        .where('tried_at', '>=', since)
        .where((eb) =>
          eb.or([
            eb.and([eb('state', '=', 'failed'), eb('tries', '>=', minTries)]),
            eb.and([eb('state', '=', 'claimed'), eb('tried_at', '<', claimedBefore)]),
          ]),
        )
        .execute(),
  };
}
