/** The site's options. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';

const none = z.object({});
const stored = z.object({ result: z.enum(['updated', 'unchanged']) });

export const optionEndpoints = [
  endpoint({
    id: 'option.list',
    method: 'GET',
    path: '/api/option/',
    access: 'admin',
    input: none,
    output: z.array(z.object({ key: z.string(), value: z.string() })),
    summary: { zh: '配置项', en: 'Options' },
  }),
  endpoint({
    id: 'option.set',
    method: 'PUT',
    path: '/api/option/',
    access: 'admin',
    input: z.object({
      key: z.string(),
      /** Absent = stays as it is: consoles send no value for a secret they do not know. */
      value: z.optional(
        z.pipe(
          z.transform((value) =>
            typeof value === 'boolean' || typeof value === 'number' ? String(value) : (value ?? undefined),
          ),
          z.optional(z.string()),
        ),
      ),
    }),
    output: stored,
    summary: { zh: '修改配置项', en: 'Set an option' },
    demo: 'root',
  }),
  endpoint({
    id: 'option.reset_ratios',
    method: 'POST',
    path: '/api/option/rest_model_ratio',
    // Callers that may edit ModelRatio: the row's own role decides.
    access: 'admin',
    input: none,
    output: z.object({ version: z.int() }),
    summary: {
      zh: '重置模型倍率（仅 ModelRatio）',
      en: 'Reset ModelRatio, and no other price table, to its default',
    },
    demo: 'root',
    done: { zh: '重置模型倍率成功', en: 'Model ratios are reset' },
  }),
  endpoint({
    id: 'option.details',
    method: 'GET',
    path: '/api/option/details',
    access: 'admin',
    input: none,
    output: z.array(z.object({ key: z.string(), value: z.string(), secret: z.boolean(), is_set: z.boolean() })),
    summary: { zh: '配置项及其来源', en: 'Options with their origin; secrets without value' },
  }),
  endpoint({
    id: 'option.reset',
    method: 'POST',
    path: '/api/option/reset',
    access: 'admin',
    input: z.object({ key: z.string() }),
    output: stored,
    summary: { zh: '恢复配置项默认值', en: 'Reset an option to its default' },
    demo: 'root',
  }),
] as const;
