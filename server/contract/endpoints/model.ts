/** What is known of models. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { number, text } from './fields.ts';

const sourced = { source: z.string(), assumed: z.boolean() };

export const modelEndpoints = [
  endpoint({
    id: 'model.explain',
    method: 'GET',
    path: '/api/models/explain',
    access: 'admin',
    /** At a channel, or at a provider by its slug. */
    input: z.object({ model: z.string(), channel: number, provider: text }),
    output: z.object({
      model: z.string(),
      upstream_model: z.string(),
      provider: z.string(),
      facts: z.array(z.object({ member: z.string(), value: z.unknown(), ...sourced })),
      rules: z.array(
        z.object({ dialect: z.string(), member: z.string(), kind: z.string(), value: z.unknown(), ...sourced }),
      ),
    }),
    summary: { zh: '某处已知的模型能力与来源', en: 'What is known of a model at a channel or provider, with sources' },
  }),
  endpoint({
    id: 'model.takes',
    method: 'GET',
    path: '/api/user/models/takes',
    access: 'user',
    input: z.object({ model: z.string() }),
    output: z.object({
      /** Tokens; null = nothing is known. */
      output_cap: z.nullable(z.int()),
      input_limit: z.nullable(z.int()),
      /** Words for how long it thinks; null = it takes none, or nothing is known. */
      efforts: z.nullable(z.array(z.string())),
      /** Parameters it refuses. */
      refuses: z.array(z.string()),
      /** Kinds of input besides text; null = nothing is known. */
      inputs: z.nullable(z.array(z.string())),
    }),
    summary: { zh: '模型接受哪些参数', en: 'Which parameters a model takes' },
  }),
] as const;
