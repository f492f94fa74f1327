/** Monthly bills. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { shareKinds, statementShape, statementSharesShape } from '../statement.ts';
import { scheduleEvery, scheduleShape } from '../statement-schedule.ts';
import { id, number, oneOf, text, toggle } from './fields.ts';

/**
 * Whose: one of `user`, `token` (their numbers), `tag` (of channels), `label` (of keys) and `project`; a label or a project may be
 * limited to a `user`. The caller's own without any. Others' are for administrators, and a tag's.
 */
export const whose = { month: text, user: number, token: number, tag: text, label: text, project: text };

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
  endpoint({
    id: 'statement.shares',
    method: 'GET',
    path: '/api/statement/shares',
    access: 'user',
    /** Without `user` everybody's for administrators, the caller's own for others. By key without `by`. */
    input: z.object({ month: text, user: number, by: oneOf(shareKinds) }),
    output: statementSharesShape,
    summary: { zh: '按用户、令牌、标签或项目划分的月度费用', en: 'A month by user, key, label or project' },
  }),
  endpoint({
    id: 'statement.schedules',
    method: 'GET',
    path: '/api/statement/schedule',
    access: 'user',
    /** Those to the caller, and those that he made. `all` = of everybody, for administrators. */
    input: z.object({ all: toggle }),
    output: z.array(scheduleShape),
    summary: { zh: '定时发送的账单邮件', en: 'Statements by mail' },
  }),
  endpoint({
    id: 'statement.schedule',
    method: 'POST',
    path: '/api/statement/schedule',
    access: 'user',
    /** Whose statement as `statement.get` takes it. `to`: user who gets it, and `email`: another address, for administrators. */
    input: z.object({ ...whose, every: oneOf(scheduleEvery), to: number, email: text }),
    output: z.object({ id: z.int() }),
    summary: { zh: '定时用邮件发送账单', en: 'Mail a statement each month or week' },
  }),
  endpoint({
    id: 'statement.edit_schedule',
    method: 'PUT',
    path: '/api/statement/schedule/:id',
    access: 'user',
    /** What is absent stays. What was not sent while it was paused is not sent later. */
    input: z.object({ id, paused: toggle, every: oneOf(scheduleEvery), email: text }),
    output: z.unknown(),
    summary: { zh: '修改或暂停账单邮件', en: 'Change, pause or resume a statement by mail' },
  }),
  endpoint({
    id: 'statement.delete_schedule',
    method: 'DELETE',
    path: '/api/statement/schedule/:id',
    access: 'user',
    input: z.object({ id }),
    output: z.unknown(),
    summary: { zh: '停止账单邮件', en: 'Delete a statement by mail' },
  }),
] as const;
