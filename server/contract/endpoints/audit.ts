/** The audit trail. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { auditShape, page } from '../entities.ts';
import { number } from './fields.ts';

export const auditEndpoints = [
  endpoint({
    id: 'audit.list',
    method: 'GET',
    path: '/api/audit/',
    access: 'root',
    input: z.object({ p: number, page_size: number }),
    output: page(auditShape),
    summary: { zh: '审计日志', en: 'Audit trail' },
  }),
  endpoint({
    id: 'audit.verify',
    method: 'GET',
    path: '/api/audit/verify',
    access: 'root',
    input: z.object({}),
    output: z.object({ checked: z.int(), broken: z.nullable(z.int()) }),
    summary: { zh: '校验审计日志', en: 'Verify the audit trail' },
  }),
] as const;
