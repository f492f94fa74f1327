/** Monthly bills. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { statementShape } from '../statement.ts';
import { number, oneOf, text, toggle } from './fields.ts';

/** Whose: one of `user`, `token` (their numbers) and `tag` (of channels); the caller's own without any. Others' are for administrators. */
const whose = { month: text, user: number, token: number, tag: text };

export const statementEndpoints = [
  endpoint({
    id: 'statement.get',
    method: 'GET',
    path: '/api/statement/',
    access: 'user',
    /** `month` as `2026-11`, the current one without it. `check` recomputes every charge. */
    input: z.object({ ...whose, check: toggle }),
    output: statementShape,
    summary: { zh: '月度账单', en: 'Monthly statement by model and day' },
  }),
  endpoint({
    id: 'statement.export',
    method: 'GET',
    path: '/api/statement/export',
    access: 'user',
    /** `focus` = rows of the FinOps Open Cost and Usage Specification, in dollars; the plain one without it. */
    input: z.object({ ...whose, format: oneOf(['plain', 'focus']) }),
    output: z.unknown(),
    envelope: 'file',
    summary: { zh: '导出月度账单（CSV）', en: 'Monthly statement as CSV' },
  }),
] as const;
