/** Access tokens with scopes, and the filters a user keeps. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { commaList, id, nothing, number, text } from './fields.ts';

const accessToken = z.object({
  id: z.int(),
  name: z.string(),
  /** Beginning and end of the token. */
  hint: z.string(),
  scopes: z.array(z.string()),
  created_time: z.int(),
  /** 0 = never. */
  last_used_time: z.int(),
  /** -1 = never. */
  expired_time: z.int(),
});

const filterPlaces = ['channels', 'tokens', 'users', 'logs', 'redemptions', 'drawings', 'tasks'] as const;
export type FilterPlace = (typeof filterPlaces)[number];

const filter = z.object({
  id: z.int(),
  place: z.string(),
  name: z.string(),
  /** The query as it stands in the address of the page. */
  query: z.string(),
});

export const accessTokenEndpoints = [
  endpoint({
    id: 'access_token.list',
    method: 'GET',
    path: '/api/access_token/',
    access: 'user',
    input: z.object({}),
    output: z.array(accessToken),
    summary: { zh: '访问令牌列表', en: 'Own access tokens' },
  }),
  endpoint({
    id: 'access_token.create',
    method: 'POST',
    path: '/api/access_token/',
    access: 'user',
    input: z.object({ name: text, scopes: commaList, expired_time: number }),
    output: z.extend(accessToken, { token: z.string() }),
    summary: { zh: '创建带权限范围的访问令牌', en: 'New access token with scopes; shown once' },
  }),
  endpoint({
    id: 'access_token.delete',
    method: 'DELETE',
    path: '/api/access_token/:id',
    access: 'user',
    input: z.object({ id }),
    output: nothing,
    summary: { zh: '删除访问令牌', en: 'Remove an access token' },
  }),
  endpoint({
    id: 'filter.list',
    method: 'GET',
    path: '/api/filter/',
    access: 'user',
    input: z.object({ place: text }),
    output: z.array(filter),
    summary: { zh: '已保存的筛选', en: 'Saved filters' },
  }),
  endpoint({
    id: 'filter.save',
    method: 'POST',
    path: '/api/filter/',
    access: 'user',
    input: z.object({ place: z.enum(filterPlaces), name: text, query: text }),
    output: filter,
    summary: { zh: '保存筛选', en: 'Save a filter; one of the same name is replaced' },
  }),
  endpoint({
    id: 'filter.delete',
    method: 'DELETE',
    path: '/api/filter/:id',
    access: 'user',
    input: z.object({ id }),
    output: nothing,
    summary: { zh: '删除已保存的筛选', en: 'Remove a saved filter' },
  }),
] as const;
