/** Drawings and songs as their owners and operators read them. */
import type { Database } from '../../../db/open.ts';
import {
  createTasksRepository,
  type DrawingFilter,
  type ListedDrawing,
  type ListedSong,
  type SongFilter,
} from '../../../db/repositories/tasks.ts';
import type { OptionsService } from '../options/service.ts';

export type TaskListsService = ReturnType<typeof createTaskLists>;

export function createTaskLists(deps: { readonly database: Database; readonly options: OptionsService }) {
  const { options } = deps;
  const repository = createTasksRepository(deps.database);

  const drawingView = (row: ListedDrawing, full: boolean) => {
    const forwarded = row.image_url !== '' && options.get('MjForwardUrlEnabled');
    return {
      id: row.id,
      created_at: row.submit_ms,
      submit_time: row.submit_ms,
      start_time: row.start_ms,
      finish_time: row.finish_ms,
      user_id: row.user_id,
      channel_id: full ? row.channel_id : 0,
      ...(full ? { channel_name: row.channel_name ?? '' } : {}),
      mj_id: row.mj_id,
      action: row.action,
      code: row.code,
      status: row.status,
      progress: row.progress,
      image_url: forwarded ? `${options.get('ServerAddress')}/mj/image/${row.mj_id}` : row.image_url,
      prompt: row.prompt,
      prompt_en: row.prompt_en,
      fail_reason: row.fail_reason,
      quota: row.quota,
      description: row.description,
      state: row.state,
      buttons: row.buttons,
      properties: row.properties,
    };
  };
  const songView = (row: ListedSong, full: boolean) => ({
    id: row.id,
    created_at: row.created_at,
    updated_at: row.updated_at,
    submit_time: row.submit_at,
    start_time: row.start_at,
    finish_time: row.finish_at,
    user_id: row.user_id,
    channel_id: full ? row.channel_id : 0,
    ...(full ? { channel_name: row.channel_name ?? '' } : {}),
    platform: row.platform,
    action: row.action,
    task_id: row.task_id,
    status: row.status,
    progress: row.progress,
    fail_reason: row.fail_reason,
    quota: row.quota,
    data: parsed(row.data),
    properties: parsed(row.properties) ?? {},
  });

  return {
    /** Newest first. @param page 0-based. @param full false hides what only operators may see. */
    async drawings(filter: DrawingFilter, page: number, size: number, full: boolean) {
      const { rows, total } = await repository.listDrawings(filter, page * size, size);
      return { items: rows.map((row) => drawingView(row, full)), total };
    },
    async songs(filter: SongFilter, page: number, size: number, full: boolean) {
      const { rows, total } = await repository.listSongs(filter, page * size, size);
      return { items: rows.map((row) => songView(row, full)), total };
    },
  };
}

function parsed(text: string): unknown {
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
