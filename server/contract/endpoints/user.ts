/** Accounts: one's own, and other people's for administrators. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { auditShape, page, tokenShape, userShape } from '../entities.ts';
import { userSorts } from '../sort.ts';
import { id, nothing, number, sortBy, text, toggle } from './fields.ts';

const pagination = { p: number, page_size: number, sort: sortBy(userSorts) };

export const userEndpoints = [
  endpoint({
    id: 'user.update_self',
    method: 'PUT',
    path: '/api/user/self',
    access: 'user',
    /** A new password needs the present one or a code of the second factor; it ends access tokens and passkeys unless `end_all` is false. */
    input: z.object({
      /** Only one's own: whole records come back with it. */
      username: text,
      display_name: text,
      password: text,
      original_password: text,
      code: text,
      end_all: toggle,
    }),
    output: nothing,
    summary: { zh: '修改自己的资料或密码', en: 'Change own name or password' },
  }),
  endpoint({
    id: 'user.close_self',
    method: 'DELETE',
    path: '/api/user/self',
    access: 'user',
    input: z.object({}),
    output: nothing,
    summary: { zh: '注销自己的账户', en: 'Close own account' },
  }),
  endpoint({
    id: 'user.access_token_get',
    method: 'GET',
    path: '/api/user/token',
    access: 'user',
    input: z.object({}),
    output: z.string(),
    summary: { zh: '生成系统访问令牌', en: 'New full-access token' },
    mutation: true,
  }),
  endpoint({
    id: 'user.list',
    method: 'GET',
    path: '/api/user/',
    access: 'admin',
    input: z.object(pagination),
    output: page(userShape),
    summary: { zh: '用户列表', en: 'Users' },
  }),
  endpoint({
    id: 'user.search',
    method: 'GET',
    path: '/api/user/search',
    access: 'admin',
    input: z.object({ keyword: text, group: text, role: number, status: number, ...pagination }),
    output: page(userShape),
    summary: { zh: '搜索用户', en: 'Search users' },
  }),
  endpoint({
    id: 'user.create',
    method: 'POST',
    path: '/api/user/',
    access: 'admin',
    input: z.object({ username: text, display_name: text, password: text }),
    output: userShape,
    summary: { zh: '创建用户', en: 'Create a user' },
  }),
  endpoint({
    id: 'user.update',
    method: 'PUT',
    path: '/api/user/',
    access: 'admin',
    input: z.object({
      id,
      username: text,
      display_name: text,
      password: text,
      group: text,
      quota: number,
      used_quota: number,
      add_quota: number,
      reason: text,
    }),
    output: z.extend(userShape, { result: z.enum(['updated', 'unchanged']) }),
    summary: { zh: '修改用户', en: 'Change a user' },
  }),
  endpoint({
    id: 'user.manage',
    method: 'POST',
    path: '/api/user/manage',
    access: 'admin',
    input: z.object({ id, action: z.enum(['disable', 'enable', 'delete', 'promote', 'demote']) }),
    output: z.object({ role: z.int(), status: z.int() }),
    summary: { zh: '管理用户', en: 'Promote, demote, disable, enable or close a user' },
  }),
  endpoint({
    id: 'user.overview',
    method: 'GET',
    path: '/api/user/overview/:id',
    access: 'admin',
    input: z.object({ id }),
    output: z.object({
      user: userShape,
      /** Newest first, at most a hundred; `key` shows the ends alone. */
      keys: z.array(tokenShape),
      /** Epoch seconds of the last use of the console or of a key, and where it came from; 0 and '' = never. */
      last_seen_time: z.int(),
      last_ip: z.string(),
      /** When the newest login that has not ended began; 0 = there is none. */
      last_login_time: z.int(),
      /** Quota; a balance below it is one that the user is warned of. */
      low_balance_below: z.int(),
      /** What was done to the account, newest first; null = for the super administrator alone. */
      audit: z.nullable(z.array(auditShape)),
    }),
    summary: { zh: '用户、其令牌、最近使用与审计', en: 'A user with keys, last use and audit trail' },
  }),
  // After every other path of the same length: `:id` would take their names.
  endpoint({
    id: 'user.get',
    method: 'GET',
    path: '/api/user/:id',
    access: 'admin',
    /** 0 = no user: rows of channel tests. */
    input: z.object({ id: number }),
    output: userShape,
    summary: { zh: '用户详情', en: 'One user' },
  }),
  endpoint({
    id: 'user.delete',
    method: 'DELETE',
    path: '/api/user/:id',
    access: 'admin',
    input: z.object({ id }),
    output: nothing,
    summary: { zh: '注销用户', en: 'Close a user' },
  }),
] as const;
