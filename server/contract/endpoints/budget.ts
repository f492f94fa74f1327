/** Budgets of keys and their end users, users, groups, labels of keys and the site. */
import * as z from 'zod/mini';
import { budgetHolders, budgetUnits, budgetWindows } from '../budgets.ts';
import { endpoint } from '../endpoint.ts';
import { id, nothing, number, oneOf, text } from './fields.ts';

const budgetShape = z.object({
  id: z.int(),
  holder: z.enum(budgetHolders),
  subject: z.string(),
  name: z.string(),
  window: z.enum(budgetWindows),
  unit: z.enum(budgetUnits),
  amount: z.int(),
  zone: z.string(),
  raise: z.int(),
  raise_until: z.int(),
  bound: z.int(),
  used: z.int(),
  window_at: z.nullable(z.int()),
  resets: z.nullable(z.int()),
  created_time: z.int(),
  updated_time: z.int(),
});

export const budgetEndpoints = [
  endpoint({
    id: 'budget.list',
    method: 'GET',
    path: '/api/budget/',
    access: 'admin',
    input: z.object({ holder: oneOf(budgetHolders), subject: text }),
    output: z.array(budgetShape),
    summary: { zh: '预算列表', en: 'Budgets' },
  }),
  endpoint({
    id: 'budget.get',
    method: 'GET',
    path: '/api/budget/:id',
    access: 'admin',
    input: z.object({ id }),
    output: budgetShape,
    summary: { zh: '查看预算', en: 'One budget' },
  }),
  endpoint({
    id: 'budget.set',
    method: 'PUT',
    path: '/api/budget/',
    access: 'admin',
    input: z.object({
      holder: oneOf(budgetHolders),
      subject: text,
      window: oneOf(budgetWindows),
      unit: oneOf(budgetUnits),
      amount: number,
      zone: text,
      raise: number,
      raise_until: number,
    }),
    output: budgetShape,
    summary: { zh: '设置一个对象在一个时段内的预算', en: "Set a holder's budget for a window" },
  }),
  endpoint({
    id: 'budget.reset',
    method: 'POST',
    path: '/api/budget/:id/reset',
    access: 'admin',
    input: z.object({ id }),
    output: budgetShape,
    summary: { zh: '将当前时段的用量清零', en: 'Take off what was used in the current window' },
  }),
  endpoint({
    id: 'budget.delete',
    method: 'DELETE',
    path: '/api/budget/:id',
    access: 'admin',
    input: z.object({ id }),
    output: nothing,
    summary: { zh: '删除预算', en: 'Delete a budget' },
  }),
] as const;
