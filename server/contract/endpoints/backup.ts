/** Backups by the clock. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';

const none = z.object({});
const state = {
  made_at: z.int(),
  file: z.string(),
  place: z.string(),
  bytes: z.int(),
  tried_at: z.int(),
  error: z.string(),
};

export const backupEndpoints = [
  endpoint({
    id: 'backup.status',
    method: 'GET',
    path: '/api/backup/',
    access: 'root',
    input: none,
    /** `missing`: why there is none although there should be, '' = nothing is missing. */
    output: z.object({ ...state, every_hours: z.int(), missing: z.string() }),
    summary: { zh: '定时备份状态', en: 'How scheduled backups stand' },
  }),
  endpoint({
    id: 'backup.run',
    method: 'POST',
    path: '/api/backup/run',
    access: 'root',
    input: none,
    output: z.object(state),
    summary: { zh: '立即执行定时备份', en: 'Make a scheduled backup now' },
  }),
  endpoint({
    id: 'backup.list',
    method: 'GET',
    path: '/api/backup/files',
    access: 'root',
    input: none,
    /** The oldest first. `before_upgrade_to`: '' = it is no copy that an upgrade made. */
    output: z.array(
      z.object({
        file: z.string(),
        format: z.int(),
        schema: z.string(),
        version: z.string(),
        created_at: z.int(),
        bytes: z.int(),
        sha256: z.string(),
        before_upgrade_to: z.string(),
      }),
    ),
    summary: { zh: '服务器数据目录中的备份', en: 'Backups in the data directory of the server' },
  }),
] as const;
