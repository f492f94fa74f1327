/** Where an account is logged in: one's own sessions, and other people's for administrators. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { id, text } from './fields.ts';

const none = z.object({});
const session = z.object({
  id: z.string(),
  /** `Firefox · Linux`, '' = unknown. */
  browser: z.string(),
  user_agent: z.string(),
  /** Where it was seen last. */
  ip: z.string(),
  created_time: z.int(),
  last_seen_time: z.int(),
  expired_time: z.int(),
  /** The one that asks. */
  current: z.boolean(),
});
const ended = z.object({ ended: z.int() });

export const sessionEndpoints = [
  endpoint({
    id: 'session.list',
    method: 'GET',
    path: '/api/user/session/',
    access: 'user',
    input: none,
    output: z.array(session),
    summary: { zh: '登录会话列表', en: 'Own sessions' },
  }),
  endpoint({
    id: 'session.end_others',
    method: 'POST',
    path: '/api/user/session/end_others',
    access: 'user',
    input: none,
    output: ended,
    summary: { zh: '退出其他所有会话', en: 'End every other session' },
  }),
  endpoint({
    id: 'session.end',
    method: 'DELETE',
    path: '/api/user/session/:id',
    access: 'user',
    input: z.object({ id: text }),
    output: z.unknown(),
    summary: { zh: '退出一个会话', en: 'End one session' },
  }),
  endpoint({
    id: 'user.sessions',
    method: 'GET',
    path: '/api/user/sessions/:id',
    access: 'admin',
    input: z.object({ id }),
    output: z.array(session),
    summary: { zh: '用户的登录会话', en: 'Sessions of a user' },
  }),
  endpoint({
    id: 'user.end_sessions',
    method: 'DELETE',
    path: '/api/user/sessions/:id',
    access: 'admin',
    input: z.object({ id }),
    output: ended,
    summary: { zh: '退出用户的所有会话', en: 'End every session of a user' },
  }),
] as const;
