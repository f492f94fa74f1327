/** For the owner of the data directory alone: never over the network. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';

const none = z.object({});

export const localEndpoints = [
  endpoint({
    id: 'local.check',
    method: 'GET',
    path: '/api/local/check',
    access: 'local',
    input: none,
    output: z.object({
      schema: z.string(),
      problems: z.array(z.string()),
      /** Address of a proxy whose X-Forwarded-For is not believed, '' = none. */
      undeclared_proxy: z.optional(z.string()),
      /** Advice for a server that several machines share. */
      advice: z.optional(
        z.array(
          z.object({
            check: z.string(),
            result: z.enum(['ok', 'warn', 'fail']),
            detail: z.string(),
            fix: z.string(),
          }),
        ),
      ),
    }),
    summary: { zh: '检查数据库', en: 'Check the database' },
  }),
  endpoint({
    id: 'local.vacuum',
    method: 'POST',
    path: '/api/local/vacuum',
    access: 'local',
    input: none,
    output: z.object({ before: z.int(), after: z.int() }),
    summary: { zh: '压缩数据库', en: 'Compact the database' },
  }),
  endpoint({
    id: 'local.backup',
    method: 'POST',
    path: '/api/local/backup',
    access: 'local',
    input: z.object({ file: z.string() }),
    output: z.object({
      format: z.literal(1),
      schema: z.string(),
      version: z.string(),
      created_at: z.int(),
      bytes: z.int(),
      sha256: z.string(),
    }),
    summary: { zh: '备份', en: 'Back up' },
  }),
  endpoint({
    id: 'local.password',
    method: 'POST',
    path: '/api/local/password',
    access: 'local',
    input: z.object({ username: z.string(), password: z.string() }),
    output: z.unknown(),
    summary: { zh: '重设密码', en: 'Set any password' },
  }),
  endpoint({
    id: 'local.access_token',
    method: 'POST',
    path: '/api/local/access_token',
    access: 'local',
    input: z.object({ token: z.string() }),
    output: z.object({ result: z.enum(['updated', 'unchanged']), username: z.string() }),
    summary: { zh: '设置管理员的访问令牌', en: "Set the first administrator's access token" },
  }),
] as const;
