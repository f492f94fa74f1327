/** Keeps drawings and songs, asks their upstreams how they stand, and gives the money back for those that fail. */

import type { Database } from '../../../db/open.ts';
import { type ChannelRow, createChannelsRepository } from '../../../db/repositories/channels.ts';
import { createTasksRepository, type DrawingRow, type SongRow } from '../../../db/repositories/tasks.ts';
import { createUsersRepository } from '../../../db/repositories/users.ts';
import { type Ledger, refundRef } from '../../billing/ledger/commands.ts';
import { LogType } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { storedText } from '../../contract/stored-texts.ts';
import { firstKey } from '../channels/keys.ts';
import type { Vault } from '../secrets/vault.ts';
import { drawingChange, drawingTimeout, songChange } from './progress.ts';

export interface TasksDeps {
  readonly database: Database;
  readonly vault: Vault;
  readonly ledger: Ledger;
  readonly fetch: typeof fetch;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Default address of a channel's provider. */
  readonly baseUrlOf: (type: number) => string;
  readonly report: (error: unknown) => void;
}

const batch = 500;
const timeoutMs = 15_000;

export function createTasks(deps: TasksDeps) {
  const repository = createTasksRepository(deps.database);
  const channels = createChannelsRepository(deps.database);
  const users = createUsersRepository(deps.database);

  /** The settlement's own reference makes it happen once. */
  const refund = async (task: DrawingRow | SongRow, model: string, content: string) => {
    if (task.quota <= 0) return;
    const [user] = await users.byIds([task.user_id]);
    const at = Math.floor(deps.now() / 1000);
    const username = user?.username ?? '';
    await deps.ledger.execute({
      type: 'refund',
      ref: refundRef(task.request_id),
      of: task.request_id,
      userId: task.user_id,
      amount: task.quota,
      model,
      username,
      at,
      log: {
        requestId: refundRef(task.request_id),
        createdAt: at,
        type: LogType.system,
        userId: task.user_id,
        username,
        tokenId: task.token_id,
        tokenName: '',
        channelId: task.channel_id,
        group: '',
        model,
        isStream: false,
        useTime: 0,
        promptTokens: 0,
        completionTokens: 0,
        quota: 0,
        content,
        other: '',
        usageSource: 'none',
        endReason: 'upstream_failed',
      },
    });
  };

  const applyDrawing = async (row: DrawingRow, change: Partial<DrawingRow> | null) => {
    if (change === null || !(await repository.updateDrawing(row.id, change)) || change.status !== 'FAILURE') return;
    await refund(
      row,
      `mj_${row.action.toLowerCase()}`,
      storedText('drawingFailed', { id: row.mj_id, quota: String(row.quota) }),
    );
  };
  const applySong = async (row: SongRow, change: Partial<SongRow> | null) => {
    if (change === null || !(await repository.updateSong(row.id, change)) || change.status !== 'FAILURE') return;
    await refund(
      row,
      `suno_${row.action.toLowerCase()}`,
      storedText('songFailed', { id: row.task_id, quota: String(row.quota) }),
    );
  };

  const ask = async (channel: ChannelRow, path: string, ids: readonly string[], music: boolean): Promise<unknown> => {
    const key = firstKey(channel, deps.vault);
    const url = `${channel.base_url || deps.baseUrlOf(channel.type)}${path}`;
    const sent: RequestInit = {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(music ? { authorization: `Bearer ${key}` } : { 'mj-api-secret': key }),
      },
      body: JSON.stringify({ ids }),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    };
    const failed = (detail: string, cause?: unknown): AppError =>
      new AppError('upstream_lookup', { detail: `#${channel.id} ${channel.name}: ${detail}` }, cause);
    const response = await deps.fetch(url, sent).catch((cause: unknown) => {
      throw failed('unreachable', cause);
    });
    if (!response.ok) throw failed(`HTTP ${response.status}`);
    return response.json().catch((cause: unknown) => {
      throw failed('no JSON', cause);
    });
  };

  /** One bad answer ends neither the others' turn nor the next. */
  const perChannel = async <Row extends { readonly channel_id: number }>(
    rows: readonly Row[],
    check: (channel: ChannelRow | undefined, rows: readonly Row[]) => Promise<void>,
  ) => {
    for (const id of new Set(rows.map((row) => row.channel_id))) {
      try {
        await check(
          await channels.find(id),
          rows.filter((row) => row.channel_id === id),
        );
      } catch (error) {
        deps.report(error);
      }
    }
  };

  const reportsOf = (answer: unknown, idName: string): Map<string, Record<string, unknown>> => {
    const list = Array.isArray(answer) ? answer : ((answer as { data?: unknown } | null)?.data ?? []);
    const found = (Array.isArray(list) ? list : []).filter(
      (item): item is Record<string, unknown> => typeof item === 'object' && item !== null,
    );
    return new Map(found.map((item) => [String(item[idName]), item]));
  };

  const pollDrawings = async (channel: ChannelRow | undefined, rows: readonly DrawingRow[]) => {
    const now = deps.now();
    if (channel !== undefined) {
      const answer = await ask(
        channel,
        '/mj/task/list-by-condition',
        rows.map((row) => row.mj_id),
        false,
      ).catch((error: unknown) => deps.report(error));
      const reports = reportsOf(answer, 'id');
      for (const row of rows) {
        const report = reports.get(row.mj_id);
        if (report !== undefined) await applyDrawing(row, drawingChange(row, report, now));
      }
    }
    for (const row of rows) await applyDrawing(row, drawingTimeout(row, now));
  };

  const pollSongs = async (channel: ChannelRow | undefined, rows: readonly SongRow[]) => {
    const at = Math.floor(deps.now() / 1000);
    if (channel === undefined) {
      for (const row of rows) await applySong(row, songChange(row, { fail_reason: 'channel removed' }, at));
      return;
    }
    const answer = await ask(
      channel,
      '/suno/fetch',
      rows.map((row) => row.task_id),
      true,
    );
    const reports = reportsOf(answer, 'task_id');
    for (const row of rows) {
      const report = reports.get(row.task_id);
      if (report !== undefined) await applySong(row, songChange(row, report, at));
    }
  };

  return {
    /** Once for each request and drawing: it is asked again where the answer was lost. */
    async addDrawing(row: Parameters<typeof repository.addDrawing>[0]): Promise<void> {
      const known = await repository.drawings(row.user_id, [row.mj_id]);
      if (!known.some((one) => one.request_id === row.request_id)) await repository.addDrawing(row);
    },
    drawing: async (userId: number, mjId: string): Promise<DrawingRow | null> =>
      (await repository.drawings(userId, [mjId]))[0] ?? null,
    drawings: async (userId: number, mjIds: readonly string[]): Promise<DrawingRow[]> =>
      mjIds.length === 0 ? [] : repository.drawings(userId, mjIds.slice(0, batch)),
    mjImage: repository.imageOf,
    async noteDrawing(channelId: number, report: Readonly<Record<string, unknown>>): Promise<boolean> {
      const row = await repository.drawingAt(channelId, String(report.id ?? ''));
      if (row === undefined) return false;
      await applyDrawing(row, drawingChange(row, report, deps.now()));
      return true;
    },
    async addSong(row: Parameters<typeof repository.addSong>[0]): Promise<void> {
      const known = await repository.songs(row.user_id, [row.task_id]);
      if (!known.some((one) => one.request_id === row.request_id)) await repository.addSong(row);
    },
    song: async (userId: number, taskId: string): Promise<SongRow | null> =>
      (await repository.songs(userId, [taskId]))[0] ?? null,
    songs: async (userId: number, taskIds: readonly string[]): Promise<SongRow[]> =>
      taskIds.length === 0 ? [] : repository.songs(userId, taskIds.slice(0, batch)),
    /** Asks the upstreams once about all that is under way. */
    async poll(): Promise<void> {
      await perChannel(await repository.openDrawings(batch), pollDrawings);
      await perChannel(await repository.openSongs(batch), pollSongs);
    },
  };
}

export type TasksService = ReturnType<typeof createTasks>;
