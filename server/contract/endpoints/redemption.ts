/** Redemption codes. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { page, redemptionShape, redemptionStates } from '../entities.ts';
import { redemptionSorts } from '../sort.ts';
import { id, nothing, number, oneOf, sortBy, text, toggle } from './fields.ts';

const pagination = { p: number, page_size: number, sort: sortBy(redemptionSorts) };
const state = oneOf(redemptionStates);
const fields = { name: text, quota: number, expired_time: number };

export const redemptionEndpoints = [
  endpoint({
    id: 'redemption.list',
    method: 'GET',
    path: '/api/redemption/',
    access: 'admin',
    input: z.object({ ...pagination, status: state }),
    output: page(redemptionShape),
    summary: { zh: '兑换码列表', en: 'Redemption codes' },
  }),
  endpoint({
    id: 'redemption.search',
    method: 'GET',
    path: '/api/redemption/search',
    access: 'admin',
    input: z.object({ keyword: text, ...pagination, status: state }),
    output: page(redemptionShape),
    summary: { zh: '搜索兑换码', en: 'Search redemption codes by id or name' },
  }),
  endpoint({
    id: 'redemption.get',
    method: 'GET',
    path: '/api/redemption/:id',
    access: 'admin',
    input: z.object({ id }),
    output: redemptionShape,
    summary: { zh: '兑换码详情', en: 'One redemption code' },
  }),
  endpoint({
    id: 'redemption.create',
    method: 'POST',
    path: '/api/redemption/',
    access: 'admin',
    input: z.object({ ...fields, count: number }),
    output: z.array(z.string()),
    summary: { zh: '批量创建兑换码', en: 'Create redemption codes' },
  }),
  endpoint({
    id: 'redemption.update',
    method: 'PUT',
    path: '/api/redemption/',
    access: 'admin',
    input: z.object({ id, status_only: toggle, ...fields, status: number }),
    output: redemptionShape,
    summary: { zh: '修改兑换码', en: 'Change a redemption code' },
  }),
  endpoint({
    id: 'redemption.delete_invalid',
    method: 'DELETE',
    path: '/api/redemption/invalid',
    access: 'admin',
    input: z.object({}),
    output: z.int(),
    summary: { zh: '删除失效的兑换码', en: 'Delete used, disabled and expired redemption codes' },
  }),
  endpoint({
    id: 'redemption.delete',
    method: 'DELETE',
    path: '/api/redemption/:id',
    access: 'admin',
    input: z.object({ id }),
    output: nothing,
    summary: { zh: '删除兑换码', en: 'Delete a redemption code' },
  }),
  endpoint({
    id: 'redemption.redeem',
    method: 'POST',
    path: '/api/user/topup',
    access: 'user',
    input: z.object({ key: text }),
    output: z.int(),
    summary: { zh: '使用兑换码', en: 'Redeem a code' },
  }),
] as const;
