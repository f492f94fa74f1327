/** Drawings and songs that take minutes: their rows, read by owner. */
import type { Insertable, Selectable, Updateable } from 'kysely';
import type { Database } from '../open.ts';
import type { DrawingTasksTable, TasksTable } from '../schema/tables.ts';

export type DrawingRow = Selectable<DrawingTasksTable>;
export type SongRow = Selectable<TasksTable>;
/** With the name of its channel; null = it was deleted. */
export type ListedDrawing = DrawingRow & { channel_name: string | null };
export type ListedSong = SongRow & { channel_name: string | null };

export interface DrawingFilter {
  readonly userId?: number | undefined;
  readonly mjId?: string | undefined;
  readonly channelId?: number | undefined;
  /** Epoch milliseconds. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

export interface SongFilter {
  readonly userId?: number | undefined;
  readonly taskId?: string | undefined;
  readonly channelId?: number | undefined;
  readonly platform?: string | undefined;
  readonly status?: string | undefined;
  readonly action?: string | undefined;
  /** Epoch seconds. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** States after which nothing changes any more. */
const ended = ['SUCCESS', 'FAILURE'];

export function createTasksRepository({ query }: Database) {
  const narrowDrawings = (filter: DrawingFilter) =>
    query
      .selectFrom('drawing_tasks')
      .$if(filter.userId !== undefined, (q) => q.where('user_id', '=', filter.userId as number))
      .$if((filter.mjId ?? '') !== '', (q) => q.where('mj_id', '=', filter.mjId ?? ''))
      .$if((filter.channelId ?? 0) > 0, (q) => q.where('channel_id', '=', filter.channelId as number))
      .$if((filter.from ?? 0) > 0, (q) => q.where('submit_ms', '>=', filter.from as number))
      .$if((filter.to ?? 0) > 0, (q) => q.where('submit_ms', '<=', filter.to as number));
  const narrowSongs = (filter: SongFilter) =>
    query
      .selectFrom('tasks')
      .$if(filter.userId !== undefined, (q) => q.where('user_id', '=', filter.userId as number))
      .$if((filter.taskId ?? '') !== '', (q) => q.where('task_id', '=', filter.taskId ?? ''))
      .$if((filter.channelId ?? 0) > 0, (q) => q.where('channel_id', '=', filter.channelId as number))
      .$if((filter.platform ?? '') !== '', (q) => q.where('platform', '=', filter.platform ?? ''))
      .$if((filter.status ?? '') !== '', (q) => q.where('status', '=', filter.status ?? ''))
      .$if((filter.action ?? '') !== '', (q) => q.where('action', '=', filter.action ?? ''))
      .$if((filter.from ?? 0) > 0, (q) => q.where('submit_at', '>=', filter.from as number))
      .$if((filter.to ?? 0) > 0, (q) => q.where('submit_at', '<=', filter.to as number));

  return {
    /** Newest first. */
    async listDrawings(filter: DrawingFilter, offset: number, limit: number) {
      const rows: ListedDrawing[] = await narrowDrawings(filter)
        .selectAll('drawing_tasks')
        .select((eb) =>
          eb
            .selectFrom('channels')
            .select('name')
            .whereRef('channels.id', '=', 'drawing_tasks.channel_id')
            .as('channel_name'),
        )
        .orderBy('id', 'desc')
        .offset(offset)
        .limit(limit)
        .execute();
      const { total } = await narrowDrawings(filter)
        .select((eb) => eb.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      return { rows, total };
    },
    async listSongs(filter: SongFilter, offset: number, limit: number) {
      const rows: ListedSong[] = await narrowSongs(filter)
        .selectAll('tasks')
        .select((eb) =>
          eb.selectFrom('channels').select('name').whereRef('channels.id', '=', 'tasks.channel_id').as('channel_name'),
        )
        .orderBy('id', 'desc')
        .offset(offset)
        .limit(limit)
        .execute();
      const { total } = await narrowSongs(filter)
        .select((eb) => eb.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      return { rows, total };
    },
    addDrawing: async (row: Insertable<DrawingTasksTable>): Promise<void> => {
      await query.insertInto('drawing_tasks').values(row).execute();
    },
    drawings: (userId: number, mjIds: readonly string[]): Promise<DrawingRow[]> =>
      query
        .selectFrom('drawing_tasks')
        .selectAll()
        .where('user_id', '=', userId)
        .where('mj_id', 'in', mjIds)
        .orderBy('id', 'desc')
        .execute(),
    imageOf: async (mjId: string): Promise<string> =>
      (
        await query
          .selectFrom('drawing_tasks')
          .select('image_url')
          .where('mj_id', '=', mjId)
          .orderBy('id', 'desc')
          .executeTakeFirst()
      )?.image_url ?? '',
    drawingAt: (channelId: number, mjId: string): Promise<DrawingRow | undefined> =>
      query
        .selectFrom('drawing_tasks')
        .selectAll()
        .where('channel_id', '=', channelId)
        .where('mj_id', '=', mjId)
        .orderBy('id', 'desc')
        .executeTakeFirst(),
    openDrawings: (limit: number): Promise<DrawingRow[]> =>
      query
        .selectFrom('drawing_tasks')
        .selectAll()
        .where('status', 'not in', ended)
        .orderBy('id')
        .limit(limit)
        .execute(),
    /** Only rows that have not ended are changed. @returns false when it had. */
    updateDrawing: async (id: number, change: Updateable<DrawingTasksTable>): Promise<boolean> => {
      const { numUpdatedRows } = await query
        .updateTable('drawing_tasks')
        .set(change)
        .where('id', '=', id)
        .where('status', 'not in', ended)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    addSong: async (row: Insertable<TasksTable>): Promise<void> => {
      await query.insertInto('tasks').values(row).execute();
    },
    songs: (userId: number, taskIds: readonly string[]): Promise<SongRow[]> =>
      query
        .selectFrom('tasks')
        .selectAll()
        .where('user_id', '=', userId)
        .where('task_id', 'in', taskIds)
        .orderBy('id', 'desc')
        .execute(),
    openSongs: (limit: number): Promise<SongRow[]> =>
      query.selectFrom('tasks').selectAll().where('status', 'not in', ended).orderBy('id').limit(limit).execute(),
    updateSong: async (id: number, change: Updateable<TasksTable>): Promise<boolean> => {
      const { numUpdatedRows } = await query
        .updateTable('tasks')
        .set(change)
        .where('id', '=', id)
        .where('status', 'not in', ended)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
  };
}
