/** Price maps over time. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { page, priceChangeShape, priceVersionShape } from '../entities.ts';
import { id, number } from './fields.ts';

const changes = z.array(priceChangeShape);
const texts = z.record(z.string(), z.string());

export const ratioEndpoints = [
  endpoint({
    id: 'ratio.history',
    method: 'GET',
    path: '/api/ratio/history',
    access: 'admin',
    input: z.object({ p: number, page_size: number }),
    output: page(priceVersionShape),
    summary: { zh: '倍率修改历史', en: 'Changes of the price tables' },
  }),
  endpoint({
    id: 'ratio.changes',
    method: 'GET',
    path: '/api/ratio/history/:id',
    access: 'admin',
    input: z.object({ id }),
    output: changes,
    summary: { zh: '一次倍率修改的内容', en: 'What one change did, name by name' },
  }),
  endpoint({
    id: 'ratio.unset',
    method: 'GET',
    path: '/api/ratio/unset',
    access: 'admin',
    input: z.object({}),
    output: z.array(z.string()),
    summary: { zh: '未设置倍率的模型', en: 'Models of enabled channels that have neither ratio nor price' },
  }),
  endpoint({
    id: 'ratio.rollback',
    method: 'POST',
    path: '/api/ratio/rollback',
    access: 'admin',
    input: z.object({ version: id }),
    output: z.object({ version: z.int(), changes }),
    summary: { zh: '回退倍率', en: 'Roll back a change of the price tables' },
  }),
  endpoint({
    id: 'ratio.propose',
    method: 'POST',
    path: '/api/ratio/propose',
    access: 'admin',
    input: z.object({ text: z.string() }),
    output: z.object({ changes, values: texts }),
    summary: { zh: '比较外部价格表', en: 'What another price list would change; stores nothing' },
    mutates: false,
  }),
  endpoint({
    id: 'ratio.apply',
    method: 'POST',
    path: '/api/ratio/apply',
    access: 'admin',
    /** What the history says of it; absent = sync. */
    input: z.object({ values: texts, reason: z.optional(z.enum(['set', 'sync'])) }),
    output: z.object({ version: z.int() }),
    summary: { zh: '应用价格表', en: 'Store several price tables at once' },
  }),
  endpoint({
    id: 'ratio.simulate',
    method: 'POST',
    path: '/api/ratio/simulate',
    access: 'admin',
    input: z.object({ since: number, values: texts }),
    output: z.object({
      requests: z.int(),
      before: z.int(),
      after: z.int(),
      models: z.array(z.object({ model: z.string(), requests: z.int(), before: z.int(), after: z.int() })),
    }),
    summary: { zh: '用新倍率重算历史费用', en: 'Price past requests with other price tables' },
    mutates: false,
  }),
] as const;
