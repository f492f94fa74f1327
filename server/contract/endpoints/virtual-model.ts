/** Virtual models: names that stand for a chain of targets. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { requestClasses, targetFailures } from '../virtual-models.ts';
import { id, nothing, number, oneOf, text, toggle } from './fields.ts';

const names = z.array(z.string());

const chainTargetShape = z.object({
  model: z.string(),
  channel: z.optional(z.int()),
  group: z.optional(z.string()),
  after: z.optional(z.array(z.enum(targetFailures))),
  prompt_over: z.optional(z.int()),
  prompt_up_to: z.optional(z.int()),
  images: z.optional(z.boolean()),
  thinking: z.optional(z.boolean()),
  classes: z.optional(z.array(z.enum(requestClasses))),
  agent_types: z.optional(names),
});

const virtualModelShape = z.object({
  id: z.int(),
  name: z.string(),
  enabled: z.boolean(),
  boundary: z.string(),
  description: z.string(),
  targets: z.array(chainTargetShape),
  created_time: z.int(),
  updated_time: z.int(),
});

/** Members of a target are checked by their own rules, so that an error names the target that is wrong. */
const fields = {
  name: text,
  enabled: toggle,
  boundary: text,
  description: text,
  targets: z.optional(z.array(z.unknown())),
};

/** Dollars in the target's group: per million tokens, or per call. */
const priceShape = z.object({
  input: z.nullable(z.number()),
  output: z.nullable(z.number()),
  call: z.nullable(z.number()),
});

/** What a caller of one group may reach by a name, and at what price. */
export const pricedChainShape = z.object({
  name: z.string(),
  targets: z.array(z.object({ model: z.string(), group: z.string(), price: priceShape })),
});

export const explainedChainShape = z.object({
  name: z.string(),
  group: z.string(),
  boundary: z.string(),
  not_allowed: names,
  targets: z.array(
    z.object({
      model: z.string(),
      group: z.string(),
      channel: z.nullable(z.int()),
      path: names,
      order: z.int(),
      outcome: z.string(),
      price: priceShape,
      channels: z.array(z.object({ channel_id: z.int(), name: z.string() })),
    }),
  ),
});

export const virtualModelEndpoints = [
  endpoint({
    id: 'virtual_model.list',
    method: 'GET',
    path: '/api/virtual_model/',
    access: 'admin',
    input: z.object({}),
    output: z.array(virtualModelShape),
    summary: { zh: '虚拟模型列表', en: 'Virtual models' },
  }),
  endpoint({
    id: 'virtual_model.try',
    method: 'GET',
    path: '/api/virtual_model/try',
    access: 'admin',
    input: z.object({
      name: text,
      group: text,
      token: text,
      prompt_tokens: number,
      images: toggle,
      thinking: toggle,
      class: oneOf(requestClasses),
      agent_type: text,
      failure: oneOf(targetFailures),
      signed_turn: toggle,
    }),
    output: explainedChainShape,
    summary: {
      zh: '试算虚拟模型的路线（不发起调用）',
      en: 'Where a request for a virtual model would go, without a call',
    },
  }),
  endpoint({
    id: 'virtual_model.get',
    method: 'GET',
    path: '/api/virtual_model/:id',
    access: 'admin',
    input: z.object({ id }),
    output: virtualModelShape,
    summary: { zh: '查看虚拟模型', en: 'One virtual model' },
  }),
  endpoint({
    id: 'virtual_model.create',
    method: 'POST',
    path: '/api/virtual_model/',
    access: 'admin',
    input: z.object(fields),
    output: virtualModelShape,
    summary: { zh: '新增虚拟模型', en: 'Add a virtual model' },
  }),
  endpoint({
    id: 'virtual_model.update',
    method: 'PUT',
    path: '/api/virtual_model/',
    access: 'admin',
    input: z.object({ id, ...fields }),
    output: virtualModelShape,
    summary: { zh: '修改虚拟模型', en: 'Change a virtual model' },
  }),
  endpoint({
    id: 'virtual_model.delete',
    method: 'DELETE',
    path: '/api/virtual_model/:id',
    access: 'admin',
    input: z.object({ id }),
    output: nothing,
    summary: { zh: '删除虚拟模型', en: 'Delete a virtual model' },
  }),
] as const;
