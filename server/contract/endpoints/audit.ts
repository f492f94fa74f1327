/** The audit trail. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { auditShape, page } from '../entities.ts';
import { id, number, text } from './fields.ts';

export const auditEndpoints = [
  endpoint({
    id: 'audit.list',
    method: 'GET',
    path: '/api/audit/',
    access: 'root',
    /** `action`: what the id of the call begins with; `from` and `to`: epoch seconds. */
    input: z.object({
      p: number,
      page_size: number,
      action: text,
      actor: text,
      target: text,
      from: number,
      to: number,
    }),
    output: page(auditShape),
    summary: { zh: '审计日志', en: 'Audit trail' },
  }),
  // Before those with an id, which would take its name for one.
  endpoint({
    id: 'audit.verify',
    method: 'GET',
    path: '/api/audit/verify',
    access: 'root',
    input: z.object({}),
    output: z.object({ checked: z.int(), broken: z.nullable(z.int()) }),
    summary: { zh: '校验审计日志', en: 'Verify the audit trail' },
  }),
  endpoint({
    id: 'audit.get',
    method: 'GET',
    path: '/api/audit/:id',
    access: 'root',
    input: z.object({ id }),
    output: auditShape,
    summary: { zh: '一条审计记录', en: 'One entry of the audit trail' },
  }),
  endpoint({
    id: 'audit.undo',
    method: 'POST',
    path: '/api/audit/:id/undo',
    access: 'root',
    input: z.object({ id }),
    output: z.object({ undone: z.int() }),
    summary: { zh: '撤销一次修改', en: 'Undo one change, where nothing of it has changed since' },
    done: { zh: '已撤销', en: 'Undone' },
  }),
] as const;
