/** The usage log: pages, statistics, live reading. */
import type { Database } from '../../../db/open.ts';
import { createLogsRepository, type LogFilter, type LogRow } from '../../../db/repositories/logs.ts';
import type { Log } from '../../contract/entities.ts';
import { AppError } from '../../contract/errors.ts';

export function createLogs(deps: { readonly database: Database; readonly now: () => number }) {
  const repository = createLogsRepository(deps.database);

  return {
    /** @param page 1-based. @param full false hides what only operators may see. */
    async page(filter: LogFilter, page: number, size: number, full: boolean) {
      const [rows, total] = await Promise.all([
        repository.list(filter, (page - 1) * size, size),
        repository.count(filter),
      ]);
      return { items: rows.map((row) => logView(row, full)), page, page_size: size, total };
    },
    /** Quota of the range; requests and tokens of the last minute. */
    async stat(filter: LogFilter): Promise<{ quota: number; rpm: number; tpm: number }> {
      const minute = Math.floor(deps.now() / 1000) - 60;
      const [range, recent] = await Promise.all([
        repository.stat(filter),
        repository.stat({ ...filter, from: minute, to: undefined }),
      ]);
      return { quota: range.quota, rpm: recent.requests, tpm: recent.tokens };
    },
    /** Rows newer than an id, oldest first; with id -1 the newest `limit` rows. */
    async tail(after: number, type: number | undefined, limit: number): Promise<Log[]> {
      const rows =
        after < 0 ? (await repository.list({ type }, 0, limit)).reverse() : await repository.after(after, type, limit);
      return rows.map((row) => logView(row, true));
    },
    /** @param ref row id or request id. */
    async get(ref: string): Promise<Log> {
      const row = await repository.find(ref);
      if (row === undefined) throw new AppError('not_found', { what: `log ${ref}` });
      return logView(row, true);
    },
  };
}

export type LogsService = ReturnType<typeof createLogs>;

function logView(row: LogRow, full: boolean): Log {
  return {
    id: row.id,
    request_id: row.request_id ?? '',
    user_id: row.user_id,
    created_at: row.created_at,
    type: row.type,
    content: row.content,
    username: row.username,
    token_name: row.token_name,
    model_name: row.model_name,
    quota: row.quota,
    prompt_tokens: row.prompt_tokens,
    completion_tokens: row.completion_tokens,
    use_time: row.use_time,
    is_stream: row.is_stream === 1,
    channel: full ? row.channel_id : 0,
    channel_name: full ? (row.channel_name ?? '') : '',
    token_id: row.token_id,
    group: row.group_name,
    usage_source: row.usage_source,
    end_reason: row.end_reason,
    other: full ? row.other : withoutAdminInfo(row.other),
  };
}

function withoutAdminInfo(other: string): string {
  if (!other.includes('admin_info')) return other;
  const { admin_info: _hidden, ...rest } = JSON.parse(other) as Record<string, unknown>;
  return JSON.stringify(rest);
}
