/** The declarative file, as it is and as it should be. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { provisionChange } from '../provision.ts';
import { toggle } from './fields.ts';

export const provisionEndpoints = [
  endpoint({
    id: 'provision.export',
    method: 'GET',
    path: '/api/provision/',
    access: 'root',
    /** `balances`: with the balances of users. */
    input: z.object({ balances: toggle }),
    output: z.record(z.string(), z.unknown()),
    summary: { zh: '导出声明式配置', en: 'The site as a declarative file' },
  }),
  endpoint({
    id: 'provision.apply',
    method: 'POST',
    path: '/api/provision/',
    access: 'root',
    input: z.object({ document: z.unknown(), dry_run: toggle, prune: toggle }),
    output: z.array(provisionChange),
    summary: { zh: '应用声明式配置', en: 'Apply a declarative file' },
  }),
  endpoint({
    id: 'provision.diff',
    method: 'POST',
    path: '/api/provision/diff',
    access: 'root',
    input: z.object({ document: z.unknown(), prune: toggle }),
    output: z.array(provisionChange),
    summary: { zh: '比较声明式配置与现状', en: 'What a declarative file would change' },
    mutation: false,
  }),
] as const;
