/** Price maps over time. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { page, priceChangeShape, priceVersionShape } from '../entities.ts';
import { id, number } from './fields.ts';
import { barShape } from './traffic.ts';

const changes = z.array(priceChangeShape);
const texts = z.record(z.string(), z.string());

const dollars = z.nullable(z.number());
const price = z.number().check(z.gte(0), z.lte(1_000_000_000));
/** Dollars without a group's ratio: per call, or per million tokens; null = none. */
const modelPrices = z.record(
  z.string().check(z.minLength(1), z.maxLength(256)),
  z.nullable(
    z.union([
      z.object({ per_call: price }),
      z.object({ input: price, output: z.optional(price), cached: z.optional(z.nullable(price)) }),
    ]),
  ),
);
const maxNames = 2000;
const names = z.array(z.string().check(z.minLength(1), z.maxLength(256))).check(z.minLength(1), z.maxLength(maxNames));
const proposalSource = z.enum(['shipped', 'list']);
/** Dollars per million tokens or per call, without a group's ratio. */
const prices = { input: dollars, output: dollars, cached: dollars, per_call: dollars };
const facts = {
  model: z.string(),
  maker: z.nullable(z.object({ zh: z.string(), en: z.string() })),
  context: z.nullable(z.int()),
  longest: z.nullable(z.int()),
  takes: z.array(z.string()),
  /** Day on which its maker takes it away; absent = none is known. */
  retired: z.optional(z.string()),
  ...prices,
};

export const ratioEndpoints = [
  endpoint({
    id: 'ratio.models',
    method: 'GET',
    path: '/api/ratio/models',
    access: 'admin',
    input: z.object({}),
    output: z.array(
      z.object({
        ...facts,
        groups: z.array(z.string()),
        channels: z.array(
          z.object({
            id: z.int(),
            name: z.string(),
            priority: z.int(),
            input: dollars,
            output: dollars,
            per_call: dollars,
          }),
        ),
        /** At the channels that are tried first, the dearest of them. */
        cost_input: dollars,
        cost_output: dollars,
        /** The requests of seven days. */
        requests: z.int(),
        tokens_in: z.int(),
        tokens_out: z.int(),
        charge: z.int(),
        /** The bars of 24 hours. */
        bars: z.array(barShape),
        suggestion: z.nullable(z.object({ like: z.string(), input: dollars, output: dollars, per_call: dollars })),
      }),
    ),
    summary: { zh: '模型的价格、成本、渠道与用量', en: 'Models with price, cost, channels and use' },
  }),
  endpoint({
    id: 'ratio.set',
    method: 'PUT',
    path: '/api/ratio/models',
    access: 'admin',
    input: z.object({ models: modelPrices }),
    output: z.object({ version: z.nullable(z.int()), changes }),
    summary: { zh: '设置模型价格', en: 'Set prices of single models in dollars' },
  }),
  endpoint({
    id: 'ratio.facts',
    method: 'POST',
    path: '/api/ratio/facts',
    access: 'admin',
    input: z.object({ models: z.array(z.string()).check(z.maxLength(maxNames)) }),
    output: z.array(z.object(facts)),
    summary: { zh: '任意模型的价格与能力', en: 'What is known of models by their names' },
    mutation: false,
  }),
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
    id: 'ratio.model_history',
    method: 'GET',
    path: '/api/ratio/models/history',
    access: 'admin',
    input: z.object({ model: z.string().check(z.minLength(1), z.maxLength(256)) }),
    /** Newest first, among the last hundred changes of price tables; `id` is that of the version. */
    output: z.array(
      z.object({
        id: z.int(),
        created_time: z.int(),
        actor: z.string(),
        /** set, reset, sync, rollback <id> */
        reason: z.string(),
        before: z.object(prices),
        after: z.object(prices),
      }),
    ),
    summary: { zh: '一个模型的价格变化', en: 'What one model cost before and after each change' },
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
    /** careful: a price that moves threefold, disappears or changes its unit is held back. */
    input: z.object({ text: z.string(), careful: z.optional(z.boolean()) }),
    output: z.object({ changes, values: texts, held: z.array(z.object({ name: z.string(), reason: z.string() })) }),
    summary: { zh: '比较外部价格表', en: 'What another price list would change; stores nothing' },
    mutation: false,
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
    id: 'ratio.proposals',
    method: 'GET',
    path: '/api/ratio/proposals',
    access: 'admin',
    input: z.object({}),
    output: z.array(
      z.object({
        source: proposalSource,
        /** Address of the list; '' = of this build. */
        from: z.string(),
        /** Epoch seconds of the figures. */
        at: z.int(),
        changes,
        held: z.array(z.object({ name: z.string(), reason: z.string() })),
        error: z.string(),
      }),
    ),
    summary: { zh: '等待确认的价格', en: 'Prices of this build and of the scheduled list that wait for a word' },
  }),
  endpoint({
    id: 'ratio.apply_proposal',
    method: 'POST',
    path: '/api/ratio/proposals/apply',
    access: 'admin',
    /** `names`: of models or tools; absent = all. `at`: of the figures that were looked at; others are refused. */
    input: z.object({ source: proposalSource, names: z.optional(names), at: z.optional(z.int()) }),
    output: z.object({ version: z.int(), changes }),
    summary: { zh: '应用等待确认的价格', en: 'Store proposed prices' },
  }),
  endpoint({
    id: 'ratio.reject_proposal',
    method: 'POST',
    path: '/api/ratio/proposals/reject',
    access: 'admin',
    input: z.object({ source: proposalSource, names: z.optional(names), at: z.optional(z.int()) }),
    output: z.object({ rejected: z.int() }),
    summary: { zh: '保留现有价格', en: 'Keep the prices in force; the same figures are not proposed again' },
  }),
  endpoint({
    id: 'ratio.simulate',
    method: 'POST',
    path: '/api/ratio/simulate',
    access: 'admin',
    /** `models`: prices of single models, as in ratio.set. */
    input: z.object({ since: number, values: z.optional(texts), models: z.optional(modelPrices) }),
    output: z.object({
      requests: z.int(),
      before: z.int(),
      after: z.int(),
      models: z.array(z.object({ model: z.string(), requests: z.int(), before: z.int(), after: z.int() })),
    }),
    summary: { zh: '用新倍率重算历史费用', en: 'Price past requests with other price tables' },
    mutation: false,
  }),
] as const;
