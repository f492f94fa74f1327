/** Drawings and songs that take minutes. Lists are 0-based arrays; `X-Total-Count` says how many there are. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { number, text } from './fields.ts';

const pagination = { p: number, page_size: number, start_timestamp: number, end_timestamp: number };
const drawing = z.object({
  id: z.int(),
  created_at: z.int(),
  submit_time: z.int(),
  start_time: z.int(),
  finish_time: z.int(),
  user_id: z.int(),
  channel_id: z.int(),
  /** For operators alone; '' = it was deleted. */
  channel_name: z.optional(z.string()),
  mj_id: z.string(),
  action: z.string(),
  code: z.int(),
  status: z.string(),
  progress: z.string(),
  image_url: z.string(),
  prompt: z.string(),
  prompt_en: z.string(),
  fail_reason: z.string(),
  quota: z.int(),
  description: z.string(),
  state: z.string(),
  /** JSON text. */
  buttons: z.string(),
  properties: z.string(),
});
const task = z.object({
  id: z.int(),
  created_at: z.int(),
  updated_at: z.int(),
  submit_time: z.int(),
  start_time: z.int(),
  finish_time: z.int(),
  user_id: z.int(),
  channel_id: z.int(),
  /** For operators alone; '' = it was deleted. */
  channel_name: z.optional(z.string()),
  platform: z.string(),
  action: z.string(),
  task_id: z.string(),
  status: z.string(),
  progress: z.string(),
  fail_reason: z.string(),
  quota: z.int(),
  data: z.unknown(),
  properties: z.unknown(),
});
const taskFilters = { task_id: text, platform: text, status: text, action: text };

export const taskEndpoints = [
  endpoint({
    id: 'drawing.list',
    method: 'GET',
    path: '/api/mj/',
    access: 'admin',
    input: z.object({ ...pagination, mj_id: text, channel_id: number }),
    output: z.array(drawing),
    summary: { zh: '绘图日志', en: 'Drawings' },
  }),
  endpoint({
    id: 'drawing.self',
    method: 'GET',
    path: '/api/mj/self',
    access: 'user',
    input: z.object({ ...pagination, mj_id: text }),
    output: z.array(drawing),
    summary: { zh: '自己的绘图日志', en: 'Own drawings' },
  }),
  endpoint({
    id: 'task.list',
    method: 'GET',
    path: '/api/task/',
    access: 'admin',
    input: z.object({ ...pagination, ...taskFilters, channel_id: number }),
    output: z.array(task),
    summary: { zh: '任务日志', en: 'Tasks' },
  }),
  endpoint({
    id: 'task.self',
    method: 'GET',
    path: '/api/task/self',
    access: 'user',
    input: z.object({ ...pagination, ...taskFilters }),
    output: z.array(task),
    summary: { zh: '自己的任务日志', en: 'Own tasks' },
  }),
] as const;
