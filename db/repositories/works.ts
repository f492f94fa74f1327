/** Drawings and songs that take minutes: their rows, read by owner. */
import type { Insertable, Selectable, Updateable } from 'kysely';
import type { Database } from '../open.ts';
import type { DrawingTasksTable, TasksTable } from '../schema.ts';

export type DrawingRow = Selectable<DrawingTasksTable>;
export type SongRow = Selectable<TasksTable>;

/** States after which nothing changes any more. */
const ended = ['SUCCESS', 'FAILURE'];

export function createWorksRepository({ query }: Database) {
  return {
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
