/** What LiteLLM's rows say that models cost, in dollars, and the ratios that say the same here. */
import { dearest } from '../../contract/pricing/dearest.ts';
import type { Prices } from '../../contract/pricing/price.ts';
import type { PriceOptionKey } from '../../contract/pricing/tables.ts';

type Members = Readonly<Record<string, unknown>>;

/** Members of `litellm_params` and `model_info` that are a price for a token. */
const tokenMembers = {
  input_cost_per_token: 'input',
  output_cost_per_token: 'output',
  cache_read_input_token_cost: 'cacheRead',
  cache_creation_input_token_cost: 'cacheWrite',
  cache_creation_input_token_cost_above_1hr: 'cacheWrite1h',
  input_cost_per_audio_token: 'audioInput',
  output_cost_per_audio_token: 'audioOutput',
  input_cost_per_image_token: 'imageInput',
} as const;
const callMembers = ['input_cost_per_request', 'input_cost_per_query'];
/** `input_cost_per_token_above_200k_tokens`: holds for the whole request where its prompt is longer. */
const longPrompt =
  /^(input_cost_per_token|output_cost_per_token|cache_read_input_token_cost|cache_creation_input_token_cost)_above_(\d+)k_tokens$/;

type Bucket = (typeof tokenMembers)[keyof typeof tokenMembers];
/** Dollars for a token. */
type Dollars = Readonly<Partial<Record<Bucket, number>>>;

interface Tier {
  /** Tokens of the prompt. */
  readonly above: number;
  readonly dollars: Dollars;
}

export interface Price {
  /** Dollars for a request, which are all that it costs; null = it is paid by the token. */
  readonly perCall: number | null;
  readonly dollars: Dollars;
  readonly tiers: readonly Tier[];
}

/** Whether a member is read here. */
export const isPriceMember = (member: string): boolean =>
  Object.hasOwn(tokenMembers, member) || callMembers.includes(member) || longPrompt.test(member);

const dollarsIn = (value: unknown): number | null => {
  if (value === null || value === undefined || value === '' || typeof value === 'boolean') return null;
  const dollars = Number(value);
  return Number.isFinite(dollars) && dollars >= 0 ? dollars : null;
};

/**
 * @param rows `litellm_params` and `model_info`; where both say it, the larger counts.
 * @returns null when they say nothing of a price. Nothing is a price, too.
 */
export function statedPrice(...rows: readonly Members[]): Price | null {
  const dollars: Partial<Record<Bucket, number>> = {};
  const tiers = new Map<number, Partial<Record<Bucket, number>>>();
  let perCall: number | null = null;
  for (const [member, value] of rows.flatMap((row) => Object.entries(row))) {
    const amount = dollarsIn(value);
    if (amount === null) continue;
    if (callMembers.includes(member)) perCall = Math.max(perCall ?? 0, amount);
    const [, plain = member, thousands] = longPrompt.exec(member) ?? [];
    if (!Object.hasOwn(tokenMembers, plain)) continue;
    const bucket = tokenMembers[plain as keyof typeof tokenMembers];
    const above = Number(thousands) * 1000;
    const into = thousands === undefined ? dollars : (tiers.get(above) ?? {});
    into[bucket] = Math.max(into[bucket] ?? 0, amount);
    if (thousands !== undefined) tiers.set(above, into);
  }
  const byToken = Object.keys(dollars).length + tiers.size > 0;
  if (!byToken) return perCall === null ? null : { perCall, dollars: {}, tiers: [] };
  const steps = [...tiers].map(([above, step]) => ({ above, dollars: step }));
  return { perCall: null, dollars, tiers: steps.sort((a, b) => a.above - b.above) };
}

/** Dollars per token that a ratio of 1 stands for. */
const dollarsPerToken = 2e-6;

/** The same of a model that is in the tables here. */
export function listedPrice(listed: Prices): Price {
  const dollarsOf = (prices: Prices): Dollars => {
    const input = prices.modelRatio * dollarsPerToken;
    return {
      input,
      output: input * prices.completionRatio,
      cacheRead: input * prices.cacheRatio,
      cacheWrite: input * prices.cacheWriteRatio,
      cacheWrite1h: input * prices.cacheWrite1hRatio,
      audioInput: input * prices.audioRatio,
      audioOutput: input * prices.audioRatio * prices.audioCompletionRatio,
      imageInput: input * prices.imageRatio,
    };
  };
  const tiers = listed.tiers.map(({ above, prices }) => ({ above, dollars: dollarsOf(prices) }));
  return { perCall: listed.modelPrice, dollars: dollarsOf(listed), tiers: tiers.sort((a, b) => a.above - b.above) };
}

/** What a row leaves out is as in the list: an output alone has a price, and its input has the list's. */
export const completed = (stated: Price, listed: Price | null): Price =>
  listed === null || stated.perCall !== null || stated.dollars.input !== undefined
    ? stated
    : { ...stated, dollars: { ...listed.dollars, ...stated.dollars } };

/**
 * One name has one price here, whichever of its rows serves: of several the dearest, token by token.
 * @returns null when some are paid by the call and others by the token.
 */
export function dearestPrice(prices: readonly Price[]): Price | null {
  const [first, ...others] = prices;
  if (first === undefined || others.length === 0) return first ?? null;
  const calls = prices.flatMap(({ perCall }) => (perCall === null ? [] : [perCall]));
  if (calls.length === prices.length) return { perCall: Math.max(...calls), dollars: {}, tiers: [] };
  if (calls.length > 0) return null;
  const most = (all: readonly Dollars[]): Dollars =>
    Object.fromEntries(
      Object.values(tokenMembers).flatMap((bucket) => {
        if (all.every((dollars) => dollars[bucket] === undefined)) return [];
        const readings = all.map((dollars, at) => ({ value: amountOf(dollars, bucket), place: `row ${at}` }));
        return [[bucket, dearest(readings, 0)]];
      }),
    );
  const steps = [...new Set(prices.flatMap(({ tiers }) => tiers.map(({ above }) => above)))];
  return {
    perCall: null,
    dollars: most(prices.map(({ dollars }) => dollars)),
    tiers: steps
      .sort((a, b) => a - b)
      .map((above) => ({ above, dollars: most(prices.map((price) => dollarsAbove(price, above))) })),
  };
}

/** What a row does not say of the cache costs what is read without one. */
const amountOf = (dollars: Dollars, bucket: Bucket): number =>
  dollars[bucket] ?? (bucket.startsWith('cache') ? (dollars.input ?? 0) : 0);
const dollarsAbove = ({ dollars, tiers }: Price, above: number): Dollars => ({
  ...dollars,
  ...tiers.findLast((tier) => tier.above <= above)?.dollars,
});

export const isSamePrice = (one: Price, other: Price): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Entries of the price options; undefined = there shall be none. */
export type PriceEntries = Readonly<Partial<Record<PriceOptionKey, unknown>>>;

/** A price that is small is not nothing. */
const decimals = (value: number): number => (value === 0 ? 0 : Math.max(1e-6, Number(value.toFixed(6))));

/** @returns null when it cannot be written: all other prices are multiples of the input's, and that is 0 or unknown. */
export function priceEntries({ perCall, dollars, tiers }: Price): PriceEntries | null {
  if (perCall !== null) return { ModelPrice: decimals(perCall) };
  const { input } = dollars;
  if (input === undefined) return null;
  const free = { ModelPrice: undefined, ContextTiers: undefined };
  if (input === 0) {
    const all = [dollars, ...tiers.map((tier) => tier.dollars)].flatMap((some) => Object.values(some));
    return all.every((amount) => amount === 0) ? { ...free, ModelRatio: 0 } : null;
  }
  const of = (amount: number | undefined, base: number | undefined): number | undefined =>
    amount === undefined || base === undefined || base === 0 ? undefined : decimals(amount / base);
  const ratios: readonly (readonly [PriceOptionKey, number | undefined])[] = [
    ['CompletionRatio', of(dollars.output, input)],
    ['CacheRatio', of(dollars.cacheRead, input)],
    ['CreateCacheRatio', of(dollars.cacheWrite, input)],
    ['CreateCache1hRatio', of(dollars.cacheWrite1h, input)],
    ['AudioRatio', of(dollars.audioInput, input)],
    ['AudioCompletionRatio', of(dollars.audioOutput, dollars.audioInput ?? input)],
    ['ImageRatio', of(dollars.imageInput, input)],
  ];
  return {
    ...free,
    ModelRatio: decimals(input / dollarsPerToken),
    ...Object.fromEntries(ratios.filter(([, ratio]) => ratio !== undefined)),
    ...(tiers.length === 0 ? {} : { ContextTiers: tiers.map((tier) => tierEntry(dollars, tier)) }),
  };
}

/** Factors on the prices of a short prompt; what a step does not say costs the same in a long one. */
function tierEntry(dollars: Dollars, { above, dollars: step }: Tier) {
  const factor = (bucket: Bucket): number | undefined => {
    const base = dollars[bucket];
    return base === undefined || base === 0 ? undefined : decimals((step[bucket] ?? base) / base);
  };
  const [output, read, write] = [factor('output'), factor('cacheRead'), factor('cacheWrite')];
  return {
    above,
    input: factor('input') ?? 1,
    ...(output === undefined ? {} : { output }),
    ...(read === undefined ? {} : { cache_read: read }),
    ...(write === undefined ? {} : { cache_write: write }),
  };
}
