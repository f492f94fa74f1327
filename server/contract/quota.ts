/** The arithmetic of money: one pure function prices a request; the relay, the ledger's check, the console and the CLI all call it. */
import type { Usage } from '../protocols/canonical.ts';
import { roundedDivision, scale, timesScaled, toScaled } from './pricing-decimal.ts';
import { type Prices, quotaPerUnit } from './pricing-tables.ts';
import { bucketWeights, exactLimit, weightsOf } from './pricing-weights.ts';

export interface BillLine {
  readonly kind: 'input' | 'cache_read' | 'cache_write' | 'cache_write_1h' | 'output' | 'call';
  /** What is special about the line: `audio`, `image`, or the name of the tool that was called. */
  readonly detail?: string;
  /** Tokens, or calls. */
  readonly tokens: number;
  /** Weight of one token of this kind against an input token; dollars for `call`. */
  readonly ratio: number;
}

export interface Quote {
  readonly quota: number;
  readonly lines: readonly BillLine[];
}

/** Everything the model read. */
export const promptTokensOf = (usage: Usage): number =>
  usage.input + usage.cacheRead + usage.cacheWrite5m + usage.cacheWrite1h + usage.audioInput + usage.imageInput;

/** The prices that hold for a prompt of this size. */
export function pricesFor(prices: Prices, promptTokens: number): Prices {
  for (const tier of prices.tiers) if (promptTokens > tier.above) return tier.prices;
  return prices;
}

/** In the order of `bucketWeights`. */
const tokensOf = (usage: Usage): number[] => [
  usage.input,
  usage.cacheRead,
  usage.cacheWrite5m,
  usage.cacheWrite1h,
  usage.audioInput,
  usage.imageInput,
  usage.output + usage.reasoning,
  usage.audioOutput,
];

const hasNone = (record: Readonly<Record<string, unknown>>): boolean => {
  for (const _name in record) return false;
  return true;
};

/**
 * Quota of a usage: tokens weighted by kind x model ratio x group ratio, or price x 500000 x group ratio, plus the
 * calls of tools, exact, rounded half up once. Source of the formulas: specification 002 section 9, backend-reference 4.4.
 */
export function quotaOf(usage: Usage, base: Prices): number {
  const prices = base.tiers.length === 0 ? base : pricesFor(base, promptTokensOf(usage));
  if (prices.modelPrice === null && hasNone(usage.toolCalls)) {
    const weights = weightsOf(prices);
    if (weights !== null) {
      const sum =
        usage.input * weights.input +
        usage.cacheRead * weights.cacheRead +
        usage.cacheWrite5m * weights.cacheWrite5m +
        usage.cacheWrite1h * weights.cacheWrite1h +
        usage.audioInput * weights.audioInput +
        usage.imageInput * weights.imageInput +
        (usage.output + usage.reasoning) * weights.output +
        usage.audioOutput * weights.audioOutput;
      if (sum > 0 && sum < exactLimit) {
        const doubled = 2 * sum + weights.unit;
        return (doubled - (doubled % (2 * weights.unit))) / (2 * weights.unit);
      }
    }
  }
  return exactQuota(usage, prices);
}

/** The same in whole numbers of any size. */
function exactQuota(usage: Usage, prices: Prices): number {
  const group = toScaled(prices.groupRatio);
  const perUnit = toScaled(prices.quotaPerUnit) * group;
  // Everything over 10^24.
  let sum = 0n;
  let tokens = 0;
  if (prices.modelPrice !== null) {
    sum += toScaled(prices.modelPrice) * toScaled(prices.priceFactor) * perUnit;
  } else {
    const price = toScaled(prices.modelRatio) * group * scale;
    const weights = bucketWeights(prices);
    tokensOf(usage).forEach((count, index) => {
      tokens += count;
      sum += BigInt(count) * (weights[index] ?? 0n) * price;
    });
  }
  for (const [tool, calls] of Object.entries(usage.toolCalls)) {
    sum += BigInt(calls) * toScaled(prices.toolPrices.get(tool) ?? 0) * perUnit * scale;
  }
  if (sum === 0n && tokens > 0 && prices.modelRatio > 0 && prices.groupRatio > 0) return 1;
  return Number(roundedDivision(sum, scale ** 4n));
}

/** Quota of a usage with the bill it follows from. */
export function quote(usage: Usage, base: Prices): Quote {
  const prices = pricesFor(base, promptTokensOf(usage));
  return { quota: quotaOf(usage, base), lines: linesOf(usage, prices) };
}

function linesOf(usage: Usage, prices: Prices): BillLine[] {
  const lines: BillLine[] = [];
  const add = (kind: BillLine['kind'], tokens: number, ratio: number, detail?: string) => {
    if (tokens > 0) lines.push({ kind, tokens, ratio, ...(detail === undefined ? {} : { detail }) });
  };
  if (prices.modelPrice === null) {
    add('input', usage.input, 1);
    add('cache_read', usage.cacheRead, prices.cacheRatio);
    add('cache_write', usage.cacheWrite5m, prices.cacheWriteRatio);
    add('cache_write_1h', usage.cacheWrite1h, prices.cacheWrite1hRatio);
    add('input', usage.audioInput, prices.audioRatio, 'audio');
    add('input', usage.imageInput, prices.imageRatio, 'image');
    add('output', usage.output + usage.reasoning, prices.completionRatio);
    add(
      'output',
      usage.audioOutput,
      Number(timesScaled(prices.audioRatio, prices.audioCompletionRatio)) / 1e6,
      'audio',
    );
  } else {
    add('call', prices.priceFactor, prices.modelPrice);
  }
  for (const [tool, calls] of Object.entries(usage.toolCalls))
    add('call', calls, prices.toolPrices.get(tool) ?? 0, tool);
  return lines;
}

/**
 * What a request may cost at most: the bound of its prompt plus all the output it may ask for. Rounded like the charge,
 * so that a hold never falls short of a charge within its bounds (backend-reference 4.3 rounds down and leaves the prompt out).
 */
export function holdEstimate(
  prices: Prices,
  size: { readonly promptTokens: number; readonly maxTokens: number },
): number {
  return quotaOf({ ...noUsage, input: size.promptTokens, output: size.maxTokens }, prices);
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
export function priceFacts(usage: Usage, base: Prices): Record<string, unknown> {
  const promptTokens = promptTokensOf(usage);
  const prices = pricesFor(base, promptTokens);
  const facts: Record<string, unknown> = {
    model_ratio: prices.modelRatio,
    model_price: prices.modelPrice ?? -1,
    completion_ratio: prices.completionRatio,
    group_ratio: prices.groupRatio,
    cache_tokens: usage.cacheRead,
    cache_ratio: prices.cacheRatio,
    input: usage.input,
    output: usage.output + usage.reasoning,
  };
  if (prices.userGroupRatio !== null) facts.user_group_ratio = prices.userGroupRatio;
  if (usage.cacheWrite5m + usage.cacheWrite1h > 0) {
    facts.cache_creation_tokens = usage.cacheWrite5m + usage.cacheWrite1h;
    facts.cache_creation_ratio = prices.cacheWriteRatio;
    if (usage.cacheWrite1h > 0) {
      facts.cache_write_1h = usage.cacheWrite1h;
      facts.cache_creation_1h_ratio = prices.cacheWrite1hRatio;
    }
  }
  if (usage.reasoning > 0) facts.reasoning_tokens = usage.reasoning;
  if (usage.audioInput + usage.audioOutput > 0) {
    facts.audio = true;
    facts.audio_input = usage.audioInput;
    facts.audio_output = usage.audioOutput;
    facts.text_input = usage.input;
    facts.text_output = usage.output + usage.reasoning;
    facts.audio_ratio = prices.audioRatio;
    facts.audio_completion_ratio = prices.audioCompletionRatio;
  }
  if (usage.imageInput > 0) {
    facts.image = true;
    facts.image_input = usage.imageInput;
    facts.image_ratio = prices.imageRatio;
  }
  if (prices !== base) facts.tier_above = base.tiers.find((tier) => tier.prices === prices)?.above;
  if (prices.priceFactor !== 1) facts.price_factor = prices.priceFactor;
  if (prices.quotaPerUnit !== quotaPerUnit) facts.quota_per_unit = prices.quotaPerUnit;
  const tools = Object.entries(usage.toolCalls).filter(([, calls]) => calls > 0);
  if (tools.length > 0) {
    facts.tools = Object.fromEntries(
      tools.map(([tool, calls]) => [tool, { calls, price: prices.toolPrices.get(tool) ?? 0 }]),
    );
  }
  return facts;
}

type Facts = Readonly<Record<string, unknown>>;

const factOf = (facts: Facts, key: string, absent = 0): number => {
  const value = facts[key];
  return typeof value === 'number' ? value : absent;
};
const toolsOf = (facts: Facts) =>
  Object.entries((facts.tools ?? {}) as Record<string, { readonly calls: number; readonly price: number }>);

/** The prices a log row was charged by. @returns null when it carries none (error rows). */
export function loggedPrices(facts: Facts): Prices | null {
  if (typeof facts.model_ratio !== 'number' || typeof facts.input !== 'number') return null;
  const completionRatio = factOf(facts, 'completion_ratio');
  return {
    modelRatio: facts.model_ratio,
    modelPrice: factOf(facts, 'model_price', -1) < 0 ? null : factOf(facts, 'model_price'),
    priceFactor: factOf(facts, 'price_factor', 1),
    completionRatio,
    cacheRatio: factOf(facts, 'cache_ratio'),
    cacheWriteRatio: factOf(facts, 'cache_creation_ratio'),
    cacheWrite1hRatio: factOf(facts, 'cache_creation_1h_ratio'),
    imageRatio: factOf(facts, 'image_ratio', 1),
    audioRatio: factOf(facts, 'audio_ratio', 1),
    audioCompletionRatio: factOf(facts, 'audio_completion_ratio', completionRatio),
    groupRatio: factOf(facts, 'group_ratio'),
    userGroupRatio: typeof facts.user_group_ratio === 'number' ? facts.user_group_ratio : null,
    tiers: [],
    toolPrices: new Map(toolsOf(facts).map(([tool, { price }]) => [tool, price])),
    quotaPerUnit: factOf(facts, 'quota_per_unit', quotaPerUnit),
  };
}

/** The usage a log row was charged for. */
export function billedUsage(facts: Facts): Usage {
  const write1h = factOf(facts, 'cache_write_1h');
  return {
    ...noUsage,
    input: factOf(facts, 'input'),
    output: factOf(facts, 'output'),
    cacheRead: factOf(facts, 'cache_tokens'),
    cacheWrite5m: factOf(facts, 'cache_creation_tokens') - write1h,
    cacheWrite1h: write1h,
    audioInput: factOf(facts, 'audio_input'),
    audioOutput: factOf(facts, 'audio_output'),
    imageInput: factOf(facts, 'image_input'),
    toolCalls: Object.fromEntries(toolsOf(facts).map(([tool, { calls }]) => [tool, calls])),
  };
}

/** Recomputes a charge from a log row's `other` alone. @returns null when the row carries no price. */
export function recompute(facts: Facts): (Quote & { readonly prices: Prices }) | null {
  const prices = loggedPrices(facts);
  return prices === null ? null : { ...quote(billedUsage(facts), prices), prices };
}

/** Dollars with as many decimals as asked, never an exponent. */
export const formatUsd = (quota: number, decimals = 6, perUnit = quotaPerUnit): string =>
  (quota / perUnit).toFixed(decimals);
