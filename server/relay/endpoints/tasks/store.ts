/** Drawings and songs: tasks that take minutes and are fetched later. The control thread keeps their rows. */
import type { ItemStore } from '../../shared/items.ts';

/** A drawing as midjourney-proxy's clients see it. Times are epoch milliseconds. */
export interface Drawing {
  readonly id: number;
  readonly user_id: number;
  readonly token_id: number;
  readonly channel_id: number;
  readonly request_id: string;
  readonly quota: number;
  readonly code: number;
  readonly action: string;
  readonly mj_id: string;
  readonly prompt: string;
  readonly prompt_en: string;
  readonly description: string;
  readonly state: string;
  readonly submit_ms: number;
  readonly start_ms: number;
  readonly finish_ms: number;
  readonly image_url: string;
  readonly status: string;
  readonly progress: string;
  readonly fail_reason: string;
  /** JSON texts. */
  readonly buttons: string;
  readonly properties: string;
}

/** A song or its words. Times are epoch seconds. */
export interface Song {
  readonly id: number;
  readonly created_at: number;
  readonly updated_at: number;
  readonly task_id: string;
  readonly platform: string;
  readonly user_id: number;
  readonly token_id: number;
  readonly channel_id: number;
  readonly request_id: string;
  readonly quota: number;
  readonly action: string;
  readonly status: string;
  readonly fail_reason: string;
  readonly submit_at: number;
  readonly start_at: number;
  readonly finish_at: number;
  readonly progress: string;
  /** JSON texts. */
  readonly properties: string;
  readonly data: string;
}

/** Items of answers lie here, too. Reads are bound to their owner; `mjImage` alone is public, by an unguessable id. */
export interface TaskStore extends ItemStore {
  addDrawing(drawing: Omit<Drawing, 'id'>): Promise<void>;
  drawing(userId: number, mjId: string): Promise<Drawing | null>;
  drawings(userId: number, mjIds: readonly string[]): Promise<Drawing[]>;
  /** Address of a finished picture, '' when there is none. */
  mjImage(mjId: string): Promise<string>;
  /** Takes a report that an upstream sends unrequested; accepted only from the drawing's own channel. */
  noteDrawing(channelId: number, report: Readonly<Record<string, unknown>>): Promise<boolean>;
  addSong(song: Omit<Song, 'id'>): Promise<void>;
  song(userId: number, taskId: string): Promise<Song | null>;
  songs(userId: number, taskIds: readonly string[]): Promise<Song[]>;
}

export type TaskCall = {
  [K in keyof TaskStore]: { readonly method: K; readonly args: Parameters<TaskStore[K]> };
}[keyof TaskStore];
