/** The arithmetic of money: one pure function prices a request; the relay, the ledger's check, the console and the CLI all call it. */
import type { Usage } from '../protocols/canonical.ts';
import { completionRatioFor } from './completion-rules.ts';

/** Quota of one dollar. */
export const quotaPerUnit = 500_000;
/** Ratio of a model that has none, where unset models are accepted. Source: backend-reference 4.2. */
export const unsetModelRatio = 37.5;

type Ratios = ReadonlyMap<string, number>;

/** Price maps of one option revision, ready for look-ups. */
export interface PriceTables {
  readonly modelRatio: Ratios;
  /** Dollars per call; wins over the ratio. */
  readonly modelPrice: Ratios;
  readonly completionRatio: Ratios;
  readonly cacheRatio: Ratios;
  readonly cacheWriteRatio: Ratios;
  readonly groupRatio: Ratios;
  /** User group -> used group -> ratio that replaces the group's. */
  readonly groupGroupRatio: ReadonlyMap<string, Ratios>;
}

/** Everything that decides a price, and nothing else: enough to recompute it from a log row. */
export interface Prices {
  readonly modelRatio: number;
  /** Dollars per call, null = by tokens. */
  readonly modelPrice: number | null;
  readonly completionRatio: number;
  readonly cacheRatio: number;
  readonly cacheWriteRatio: number;
  readonly cacheWrite1hRatio: number;
  readonly groupRatio: number;
  /** Set when the user's group has a ratio of its own for the used group; then it is the group ratio. */
  readonly userGroupRatio: number | null;
}

export interface BillLine {
  readonly kind: 'input' | 'cache_read' | 'cache_write' | 'cache_write_1h' | 'output' | 'call';
  readonly tokens: number;
  /** Weight of one token of this kind against an input token; dollars for `call`. */
  readonly ratio: number;
}

export interface Quote {
  readonly quota: number;
  readonly lines: readonly BillLine[];
}

const scale = 1_000_000n;
const scaled = new Map<number, bigint>();

/** A ratio as an integer, six decimals, rounded half up. */
export function toScaled(ratio: number): bigint {
  const known = scaled.get(ratio);
  if (known !== undefined) return known;
  const [whole = '0', fraction = ''] = decimal(ratio).split('.');
  const digits = fraction.padEnd(7, '0');
  const value = BigInt(whole) * scale + BigInt(digits.slice(0, 6)) + (digits.charCodeAt(6) >= 53 ? 1n : 0n);
  if (scaled.size < 10_000) scaled.set(ratio, value);
  return value;
}

/** Plain decimal notation, never an exponent. Ratios are not negative. */
const decimal = (value: number): string => (String(value).includes('e') ? value.toFixed(9) : String(value));

const roundedDivision = (value: bigint, by: bigint): number => Number((value + by / 2n) / by);

export interface ResolveOptions {
  readonly group: string;
  readonly userGroup: string;
  /** Unset models cost `unsetModelRatio` instead of being refused. */
  readonly acceptUnset: boolean;
}

const gizmo = /^(gpt-4o?)-gizmo-.*/;

/** @returns null when the model has neither ratio nor price. */
export function resolvePrices(tables: PriceTables, model: string, options: ResolveOptions): Prices | null {
  const name = model.replace(gizmo, '$1-gizmo-*');
  const price = tables.modelPrice.get(name) ?? null;
  const ratio = tables.modelRatio.get(name) ?? (options.acceptUnset ? unsetModelRatio : undefined);
  if (price === null && ratio === undefined) return null;
  const userGroupRatio = tables.groupGroupRatio.get(options.userGroup)?.get(options.group) ?? null;
  const write = tables.cacheWriteRatio.get(name) ?? 1.25;
  return {
    modelRatio: price === null ? (ratio ?? 0) : 0,
    modelPrice: price,
    completionRatio: completionRatioFor(name, tables.completionRatio.get(name)),
    cacheRatio: tables.cacheRatio.get(name) ?? 1,
    cacheWriteRatio: write,
    // An hour's cache costs 1.6 times what five minutes cost (2 against 1.25 times the input price).
    cacheWrite1hRatio: write * 1.6,
    groupRatio: userGroupRatio ?? tables.groupRatio.get(options.group) ?? 1,
    userGroupRatio,
  };
}

/**
 * Quota of a usage: tokens weighted by kind x model ratio x group ratio, or price x 500000 x group ratio,
 * in integers, rounded half up. Source of the formulas: specification 002 section 9, backend-reference 4.4.
 */
export function quote(usage: Usage, prices: Prices): Quote {
  const group = toScaled(prices.groupRatio);
  if (prices.modelPrice !== null) {
    const quota = roundedDivision(toScaled(prices.modelPrice) * BigInt(quotaPerUnit) * group, scale * scale);
    return { quota, lines: [{ kind: 'call', tokens: 1, ratio: prices.modelPrice }] };
  }
  const lines: BillLine[] = [];
  let weighted = 0n;
  const add = (kind: BillLine['kind'], tokens: number, ratio: number) => {
    if (tokens <= 0) return;
    lines.push({ kind, tokens, ratio });
    weighted += BigInt(tokens) * toScaled(ratio);
  };
  add('input', usage.input + usage.audioInput + usage.imageInput, 1);
  add('cache_read', usage.cacheRead, prices.cacheRatio);
  add('cache_write', usage.cacheWrite5m, prices.cacheWriteRatio);
  add('cache_write_1h', usage.cacheWrite1h, prices.cacheWrite1hRatio);
  add('output', usage.output + usage.reasoning + usage.audioOutput, prices.completionRatio);
  const exact = weighted * toScaled(prices.modelRatio) * group;
  if (exact === 0n && lines.length > 0 && prices.modelRatio > 0 && prices.groupRatio > 0) return { quota: 1, lines };
  return { quota: roundedDivision(exact, scale * scale * scale), lines };
}

/** What a request may cost at most: the bound of its prompt plus all the output it may ask for. */
export function holdEstimate(
  prices: Prices,
  size: { readonly promptTokens: number; readonly maxTokens: number },
): number {
  return quote({ ...noUsage, input: size.promptTokens, output: size.maxTokens }, prices).quota;
}

const noUsage: Usage = {
  input: 0,
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  audioInput: 0,
  imageInput: 0,
  output: 0,
  reasoning: 0,
  audioOutput: 0,
  toolCalls: {},
  raw: null,
};

/** The facts a log row keeps in `other`: names of the wire contract, and enough to recompute the charge. */
export function priceFacts(usage: Usage, prices: Prices): Record<string, unknown> {
  const facts: Record<string, unknown> = {
    model_ratio: prices.modelRatio,
    model_price: prices.modelPrice ?? -1,
    completion_ratio: prices.completionRatio,
    group_ratio: prices.groupRatio,
    cache_tokens: usage.cacheRead,
    cache_ratio: prices.cacheRatio,
    input: usage.input + usage.audioInput + usage.imageInput,
    output: usage.output + usage.reasoning + usage.audioOutput,
  };
  if (prices.userGroupRatio !== null) facts.user_group_ratio = prices.userGroupRatio;
  if (usage.cacheWrite5m + usage.cacheWrite1h > 0) {
    facts.cache_creation_tokens = usage.cacheWrite5m + usage.cacheWrite1h;
    facts.cache_creation_ratio = prices.cacheWriteRatio;
    facts.cache_write_1h = usage.cacheWrite1h;
    facts.cache_creation_1h_ratio = prices.cacheWrite1hRatio;
  }
  if (usage.reasoning > 0) facts.reasoning_tokens = usage.reasoning;
  if (usage.audioInput > 0) facts.audio_input = usage.audioInput;
  if (usage.audioOutput > 0) facts.audio_output = usage.audioOutput;
  return facts;
}

/** Recomputes a charge from a log row's `other` alone. @returns null when the row carries no price (error rows). */
export function recompute(other: Readonly<Record<string, unknown>>): (Quote & { readonly prices: Prices }) | null {
  const number = (key: string): number => (typeof other[key] === 'number' ? other[key] : 0);
  if (typeof other.model_ratio !== 'number' || typeof other.input !== 'number') return null;
  const write1h = number('cache_write_1h');
  const prices: Prices = {
    modelRatio: other.model_ratio,
    modelPrice: number('model_price') >= 0 && other.model_price !== undefined ? number('model_price') : null,
    completionRatio: number('completion_ratio'),
    cacheRatio: number('cache_ratio'),
    cacheWriteRatio: number('cache_creation_ratio'),
    cacheWrite1hRatio: number('cache_creation_1h_ratio'),
    groupRatio: number('group_ratio'),
    userGroupRatio: typeof other.user_group_ratio === 'number' ? other.user_group_ratio : null,
  };
  const usage: Usage = {
    ...noUsage,
    input: number('input'),
    output: number('output'),
    cacheRead: number('cache_tokens'),
    cacheWrite5m: number('cache_creation_tokens') - write1h,
    cacheWrite1h: write1h,
  };
  return { ...quote(usage, prices), prices };
}

/** Dollars with as many decimals as asked, never an exponent. */
export const formatUsd = (quota: number, decimals = 6): string => (quota / quotaPerUnit).toFixed(decimals);
