/** The arithmetic of money: one pure function prices a request; the relay, the ledger's check, the console and the CLI all call it. */
import type { Usage, UsagePart } from '../../protocols/canonical.ts';
import { bucketRow, cacheTokensOf, completionTokensOf, type LineKind, promptTokensOf, weightOf } from './bucket.ts';
import {
  addBucketFields,
  billedBuckets,
  bucketFields,
  bucketRatioFields,
  bucketRatiosIn,
  bucketsIn,
  fieldOf,
  type LogFields,
} from './log-fields.ts';
import type { Prices, Surcharge } from './price.ts';
import {
  type Charge,
  chargedOf,
  exactCharge,
  maxQuota,
  oneUnit,
  pricesFor,
  roundedOf,
  roundedUpOf,
  type Share,
  sharesOf,
  toolPrice,
} from './share.ts';
import { quotaPerUnit } from './tables.ts';
import { exactLimit, weightsOf } from './weights.ts';

export { type Charge, chargedOf, completionTokensOf, maxQuota, oneUnit, pricesFor, promptTokensOf, toolPrice };

export interface BillLine {
  readonly kind: LineKind | 'call';
  /** What is special about the line: the call of the model it belongs to, what was read or written but words, or the name of the tool. */
  readonly detail?: string;
  /** Tokens, or calls. */
  readonly tokens: number;
  /** Weight of one token of this kind against an input token; dollars for `call`. */
  readonly ratio: number;
  /** Set where it is not the bill's: another model's, or that of a longer prompt. */
  readonly modelRatio?: number;
}

export interface Quote {
  readonly quota: number;
  /** Part of a unit that earlier requests left and this one was charged with; absent = its sum was rounded half up. */
  readonly carried?: number;
  readonly lines: readonly BillLine[];
}

/** `prompt_tokens` of a log row: without the cache where the dialect counts it beside the prompt, as new-api writes it. */
export const loggedPromptTokens = (usage: Usage): number =>
  promptTokensOf(usage) - (usage.cacheBeside ? cacheTokensOf(usage) : 0);

const hasNone = (record: Readonly<Record<string, unknown>>): boolean => {
  for (const _name in record) return false;
  return true;
};

/** @param sum of weighted tokens, below `exactLimit`. @param unit a power of ten. */
function shortCharge(sum: number, unit: number): Charge {
  const left = sum % unit;
  const whole = (sum - left) / unit;
  if (whole >= maxQuota) return { whole: maxQuota, rest: 0 };
  if (unit <= oneUnit) return { whole, rest: left * (oneUnit / unit) };
  const finer = unit / oneUnit;
  return { whole, rest: (left - (left % finer)) / finer };
}

/** @param sum of weighted tokens, below `exactLimit`. @returns quota, rounded up. */
export function roundUpQuota(sum: number, unit: number): number {
  const left = sum % unit;
  return Math.min(maxQuota, (sum - left) / unit + (left === 0 ? 0 : 1));
}

/**
 * What a usage costs, exact: tokens weighted by kind x model ratio x group ratio, or price x 500000 x group ratio, plus the
 * calls of tools. The formulas are those of new-api.
 */
export function chargeOf(usage: Usage, base: Prices): Charge {
  const prices = base.tiers.length === 0 ? base : pricesFor(base, promptTokensOf(usage));
  if (prices.modelPrice === null && usage.parts === undefined && hasNone(usage.toolCalls)) {
    const weights = weightsOf(prices);
    if (weights !== null) {
      let sum = 0;
      for (const { name, weight } of weights.buckets) sum += usage[name] * weight;
      if (sum > 0 && sum < exactLimit) return shortCharge(sum, weights.unit);
    }
  }
  return exactCharge(sharesOf(usage, base), usage.toolCalls, headOf(usage, base));
}

/** Quota of a usage, rounded half up: where nobody's fractions are carried. */
export const quotaOf = (usage: Usage, base: Prices): number => roundedOf(chargeOf(usage, base));

/** The most quota that a usage can be charged with. */
export const highestQuotaOf = (usage: Usage, base: Prices): number => roundedUpOf(chargeOf(usage, base));

/** The prices a bill is headed with: those of the prompt's size, or of the model where its calls have sizes of their own. */
const headOf = (usage: Usage, base: Prices): Prices =>
  usage.parts === undefined ? pricesFor(base, promptTokensOf(usage)) : base;

/** Quota of a usage with the bill it follows from. */
export function quote(usage: Usage, base: Prices): Quote {
  return quoteOf(sharesOf(usage, base), usage.toolCalls, headOf(usage, base));
}

function quoteOf(
  shares: readonly Share[],
  toolCalls: Usage['toolCalls'],
  head: Prices,
  carried: number | null = null,
): Quote {
  const charge = exactCharge(shares, toolCalls, head);
  const lines = linesOf(shares, toolCalls, head);
  return { quota: quotaWith(charge, carried), lines, ...(carried === null ? {} : { carried }) };
}

/** @param carried part of a unit that a row says was carried; null = charges were rounded half up then. */
const quotaWith = (charge: Charge, carried: number | null): number =>
  carried === null ? roundedOf(charge) : chargedOf(charge.whole, charge.rest, Math.round(carried * oneUnit));

/** What the request of a log row costs by other prices, with what was carried then. */
export const quotaAgain = (usage: Usage, base: Prices, fields: LogFields): number =>
  quotaWith(chargeOf(usage, base), carriedIn(fields));

function linesOf(shares: readonly Share[], toolCalls: Usage['toolCalls'], head: Prices): BillLine[] {
  const lines: BillLine[] = [];
  let called = false;
  for (const { counts, prices, label } of shares) {
    const other = prices.modelRatio === head.modelRatio ? {} : { modelRatio: prices.modelRatio };
    const add = (kind: BillLine['kind'], tokens: number, ratio: number, detail?: string) => {
      const words = [label, detail].filter((word) => typeof word === 'string');
      if (tokens > 0)
        lines.push({ kind, tokens, ratio, ...(words.length === 0 ? {} : { detail: words.join(', ') }), ...other });
    };
    if (prices.modelPrice !== null) {
      if (prices === head && called) continue;
      called ||= prices === head;
      const detail = label === null ? {} : { detail: label };
      lines.push({ kind: 'call', tokens: prices.priceFactor, ratio: prices.modelPrice, ...detail });
      continue;
    }
    for (const { name, tokens } of billedBuckets(counts)) {
      const { kind, detail } = bucketRow(name).line;
      add(kind, tokens, weightOf(prices, name), detail);
    }
  }
  for (const [tool, calls] of Object.entries(toolCalls))
    if (calls > 0) lines.push({ kind: 'call', tokens: calls, ratio: toolPrice(head, tool), detail: tool });
  return lines;
}

/** The facts a log row keeps in `other`: names of the wire contract, and enough to recompute the charge. */
export function priceFields(usage: Usage, base: Prices): Record<string, unknown> {
  const prices = headOf(usage, base);
  const fields: Record<string, unknown> = {
    model_ratio: prices.modelRatio,
    model_price: prices.modelPrice ?? -1,
    group_ratio: prices.groupRatio,
  };
  addBucketFields(fields, usage, prices);
  if (usage.cacheBeside) fields.claude = true;
  if (base.listedAs !== undefined) fields.priced_as = base.listedAs;
  if (prices.channel !== undefined) fields.channel_factor = prices.channel.factor;
  if (prices.userGroupRatio !== null) fields.user_group_ratio = prices.userGroupRatio;
  if (prices !== base) fields.tier_above = tierOf(base, prices);
  if (prices.priceFactor !== 1) fields.price_factor = prices.priceFactor;
  if (prices.quotaPerUnit !== quotaPerUnit) fields.quota_per_unit = prices.quotaPerUnit;
  if (prices.surcharges !== undefined)
    fields.surcharges = Object.fromEntries(prices.surcharges.map(({ name, ratio }) => [name, ratio]));
  if (usage.parts !== undefined) fields.iterations = sharesOf(usage, base).map(iterationFields(usage.parts, base));
  return hasNone(usage.toolCalls) && base.unpriced === undefined ? fields : withTools(fields, usage, base, prices);
}

const tierOf = (base: Prices, prices: Prices): number | undefined =>
  base.tiers.find((tier) => tier.prices === prices)?.above;

function withTools(
  fields: Record<string, unknown>,
  usage: Usage,
  base: Prices,
  prices: Prices,
): Record<string, unknown> {
  const tools = Object.entries(usage.toolCalls).filter(([, calls]) => calls > 0);
  if (tools.length > 0) {
    fields.tools = Object.fromEntries(tools.map(([tool, calls]) => [tool, { calls, price: toolPrice(prices, tool) }]));
  }
  const unpriced = [
    ...(base.unpriced ?? []),
    ...tools.filter(([tool]) => !prices.toolPrices.has(tool)).map(([tool]) => `tool:${tool}`),
  ];
  if (unpriced.length > 0) fields.unpriced = unpriced;
  return fields;
}

const iterationFields =
  (parts: readonly UsagePart[], base: Prices) =>
  ({ counts, prices }: Share, index: number): Record<string, unknown> => {
    const part = parts[index];
    return {
      type: part?.kind,
      ...(part?.model === null ? {} : { model: part?.model }),
      ...bucketFields(counts, null),
      ...(prices === base ? {} : { prices: ownFields(prices) }),
    };
  };

const ownFields = (prices: Prices): Record<string, number> => ({
  model_ratio: prices.modelRatio,
  model_price: prices.modelPrice ?? -1,
  ...bucketRatioFields(prices),
  group_ratio: prices.groupRatio,
  price_factor: prices.priceFactor,
});

const toolsOf = (fields: LogFields) =>
  Object.entries((fields.tools ?? {}) as Record<string, { readonly calls: number; readonly price: number }>);
const iterationsOf = (fields: LogFields): readonly LogFields[] =>
  Array.isArray(fields.iterations) ? (fields.iterations as readonly LogFields[]) : [];
const surchargesOf = (fields: LogFields): readonly Surcharge[] =>
  Object.entries((fields.surcharges ?? {}) as Record<string, number>).map(([name, ratio]) => ({ name, ratio }));

/** The prices a log row was charged by. @returns null when it carries none (error rows). */
export function loggedPrices(fields: LogFields): Prices | null {
  if (typeof fields.model_ratio !== 'number' || typeof fields.input !== 'number') return null;
  const surcharges = surchargesOf(fields);
  const own = ratiosIn(fields);
  const factor = fieldOf(fields, 'channel_factor', 1);
  return {
    ...own,
    ...(factor === 1 ? {} : { channel: { factor, groupRatio: Math.round((own.groupRatio / factor) * 1e6) / 1e6 } }),
    userGroupRatio: typeof fields.user_group_ratio === 'number' ? fields.user_group_ratio : null,
    tiers: [],
    toolPrices: new Map(toolsOf(fields).map(([tool, { price }]) => [tool, price])),
    quotaPerUnit: fieldOf(fields, 'quota_per_unit', quotaPerUnit),
    ...(surcharges.length === 0 ? {} : { surcharges }),
  };
}

const ratiosIn = (fields: LogFields) => ({
  modelRatio: fieldOf(fields, 'model_ratio'),
  modelPrice: fieldOf(fields, 'model_price', -1) < 0 ? null : fieldOf(fields, 'model_price'),
  ...bucketRatiosIn(fields),
  groupRatio: fieldOf(fields, 'group_ratio'),
  priceFactor: fieldOf(fields, 'price_factor', 1),
});

/** The usage a log row was charged for. */
export function billedUsage(fields: LogFields): Usage {
  const parts = iterationsOf(fields).map((part) => ({
    ...bucketsIn(part),
    kind: String(part.type),
    model: typeof part.model === 'string' ? part.model : null,
  }));
  return {
    ...bucketsIn(fields),
    raw: null,
    toolCalls: Object.fromEntries(toolsOf(fields).map(([tool, { calls }]) => [tool, calls])),
    ...(parts.length === 0 ? {} : { parts }),
    ...(fields.claude === true ? { cacheBeside: true } : {}),
  };
}

/** The field that says what earlier requests left of a unit. Rows without it were rounded half up. */
const carriedIn = ({ carried }: LogFields): number | null =>
  typeof carried === 'number' && carried >= 0 && carried < 1 ? carried : null;

/** Recomputes a charge from a log row's `other` alone. @returns null when the row carries no price. */
export function recompute(fields: LogFields): (Quote & { readonly prices: Prices }) | null {
  const prices = loggedPrices(fields);
  if (prices === null) return null;
  const usage = billedUsage(fields);
  const iterations = iterationsOf(fields);
  const shares = sharesOf(usage, prices).map((share, index): Share => {
    const own = iterations[index]?.prices;
    const model = usage.parts?.[index]?.model ?? null;
    return typeof own !== 'object' || own === null
      ? share
      : {
          ...share,
          prices: { ...prices, ...ratiosIn(own as LogFields) },
          label: `${share.label}${model === null ? '' : ` ${model}`}`,
        };
  });
  return { ...quoteOf(shares, usage.toolCalls, prices, carriedIn(fields)), prices };
}

/** Dollars with as many decimals as asked, never an exponent. */
export const formatUsd = (quota: number, decimals = 6, perUnit = quotaPerUnit): string =>
  (quota / perUnit).toFixed(decimals);
