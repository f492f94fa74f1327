/** The arithmetic of money: one pure function prices a request; the relay, the ledger's check, the console and the CLI all call it. */
import type { Buckets, Usage, UsagePart } from '../protocols/canonical.ts';
import type { Prices, Surcharge } from './prices.ts';
import { timesScaled } from './pricing-decimal.ts';
import { exactQuota, mostQuota, pricesFor, promptTokensOf, type Share, sharesOf } from './pricing-shares.ts';
import { quotaPerUnit } from './pricing-tables.ts';
import { exactLimit, weightsOf } from './pricing-weights.ts';

export { mostQuota, pricesFor, promptTokensOf };

export interface BillLine {
  readonly kind: 'input' | 'cache_read' | 'cache_write' | 'cache_write_1h' | 'output' | 'call';
  /** What is special about the line: the call of the model it belongs to, `audio`, `image`, or the name of the tool. */
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
  readonly lines: readonly BillLine[];
}

/** `prompt_tokens` of a log row: without the cache where the dialect counts it beside the prompt, as new-api writes it. */
export const loggedPromptTokens = (usage: Usage): number =>
  promptTokensOf(usage) - (usage.cacheBeside ? usage.cacheRead + usage.cacheWrite5m + usage.cacheWrite1h : 0);

const hasNone = (record: Readonly<Record<string, unknown>>): boolean => {
  for (const _name in record) return false;
  return true;
};

/**
 * Quota of a usage: tokens weighted by kind x model ratio x group ratio, or price x 500000 x group ratio, plus the
 * calls of tools, exact, rounded half up once. The formulas are those of new-api.
 */
export function quotaOf(usage: Usage, base: Prices): number {
  const prices = base.tiers.length === 0 ? base : pricesFor(base, promptTokensOf(usage));
  if (prices.modelPrice === null && usage.parts === undefined && hasNone(usage.toolCalls)) {
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
        return Math.min(mostQuota, (doubled - (doubled % (2 * weights.unit))) / (2 * weights.unit));
      }
    }
  }
  return exactQuota(sharesOf(usage, base), usage.toolCalls, headOf(usage, base));
}

/** The prices a bill is headed with: those of the prompt's size, or of the model where its calls have sizes of their own. */
const headOf = (usage: Usage, base: Prices): Prices =>
  usage.parts === undefined ? pricesFor(base, promptTokensOf(usage)) : base;

/** Quota of a usage with the bill it follows from. */
export function quote(usage: Usage, base: Prices): Quote {
  return quoteOf(sharesOf(usage, base), usage.toolCalls, headOf(usage, base));
}

const quoteOf = (shares: readonly Share[], toolCalls: Usage['toolCalls'], head: Prices): Quote => ({
  quota: exactQuota(shares, toolCalls, head),
  lines: linesOf(shares, toolCalls, head),
});

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
    add('input', counts.input, 1);
    add('cache_read', counts.cacheRead, prices.cacheRatio);
    add('cache_write', counts.cacheWrite5m, prices.cacheWriteRatio);
    add('cache_write_1h', counts.cacheWrite1h, prices.cacheWrite1hRatio);
    add('input', counts.audioInput, prices.audioRatio, 'audio');
    add('input', counts.imageInput, prices.imageRatio, 'image');
    add('output', counts.output + counts.reasoning, prices.completionRatio);
    add(
      'output',
      counts.audioOutput,
      Number(timesScaled(prices.audioRatio, prices.audioCompletionRatio)) / 1e6,
      'audio',
    );
  }
  for (const [tool, calls] of Object.entries(toolCalls))
    if (calls > 0) lines.push({ kind: 'call', tokens: calls, ratio: head.toolPrices.get(tool) ?? 0, detail: tool });
  return lines;
}

/** The facts a log row keeps in `other`: names of the wire contract, and enough to recompute the charge. */
export function priceFacts(usage: Usage, base: Prices): Record<string, unknown> {
  const prices = headOf(usage, base);
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
  if (usage.cacheBeside) facts.claude = true;
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
    // Pictures read, in the wire contract's name for them.
    facts.image_output = usage.imageInput;
    facts.image_ratio = prices.imageRatio;
  }
  if (prices !== base) facts.tier_above = base.tiers.find((tier) => tier.prices === prices)?.above;
  if (prices.priceFactor !== 1) facts.price_factor = prices.priceFactor;
  if (prices.quotaPerUnit !== quotaPerUnit) facts.quota_per_unit = prices.quotaPerUnit;
  if (prices.surcharges !== undefined)
    facts.surcharges = Object.fromEntries(prices.surcharges.map(({ name, ratio }) => [name, ratio]));
  if (usage.parts !== undefined) facts.iterations = sharesOf(usage, base).map(iterationFacts(usage.parts, base));
  const tools = Object.entries(usage.toolCalls).filter(([, calls]) => calls > 0);
  if (tools.length > 0) {
    facts.tools = Object.fromEntries(
      tools.map(([tool, calls]) => [tool, { calls, price: prices.toolPrices.get(tool) ?? 0 }]),
    );
  }
  const unpriced = [
    ...(base.unpriced ?? []),
    ...tools.filter(([tool]) => !prices.toolPrices.has(tool)).map(([tool]) => `tool:${tool}`),
  ];
  if (unpriced.length > 0) facts.unpriced = unpriced;
  return facts;
}

const iterationFacts =
  (parts: readonly UsagePart[], base: Prices) =>
  ({ counts, prices }: Share, index: number): Record<string, unknown> => {
    const part = parts[index];
    const amounts = {
      cache_tokens: counts.cacheRead,
      cache_creation_tokens: counts.cacheWrite5m + counts.cacheWrite1h,
      cache_write_1h: counts.cacheWrite1h,
      audio_input: counts.audioInput,
      audio_output: counts.audioOutput,
      image_output: counts.imageInput,
    };
    return {
      type: part?.kind,
      ...(part?.model === null ? {} : { model: part?.model }),
      input: counts.input,
      output: counts.output + counts.reasoning,
      ...Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount > 0)),
      ...(prices === base ? {} : { prices: ownFacts(prices) }),
    };
  };

const ownFacts = (prices: Prices): Record<string, number> => ({
  model_ratio: prices.modelRatio,
  model_price: prices.modelPrice ?? -1,
  completion_ratio: prices.completionRatio,
  cache_ratio: prices.cacheRatio,
  cache_creation_ratio: prices.cacheWriteRatio,
  cache_creation_1h_ratio: prices.cacheWrite1hRatio,
  audio_ratio: prices.audioRatio,
  audio_completion_ratio: prices.audioCompletionRatio,
  image_ratio: prices.imageRatio,
  group_ratio: prices.groupRatio,
  price_factor: prices.priceFactor,
});

type Facts = Readonly<Record<string, unknown>>;

const factOf = (facts: Facts, key: string, absent = 0): number => {
  const value = facts[key];
  return typeof value === 'number' ? value : absent;
};
const toolsOf = (facts: Facts) =>
  Object.entries((facts.tools ?? {}) as Record<string, { readonly calls: number; readonly price: number }>);
const iterationsOf = (facts: Facts): readonly Facts[] =>
  Array.isArray(facts.iterations) ? (facts.iterations as readonly Facts[]) : [];
const surchargesOf = (facts: Facts): readonly Surcharge[] =>
  Object.entries((facts.surcharges ?? {}) as Record<string, number>).map(([name, ratio]) => ({ name, ratio }));

/** The prices a log row was charged by. @returns null when it carries none (error rows). */
export function loggedPrices(facts: Facts): Prices | null {
  if (typeof facts.model_ratio !== 'number' || typeof facts.input !== 'number') return null;
  const surcharges = surchargesOf(facts);
  return {
    ...ratiosIn(facts),
    userGroupRatio: typeof facts.user_group_ratio === 'number' ? facts.user_group_ratio : null,
    tiers: [],
    toolPrices: new Map(toolsOf(facts).map(([tool, { price }]) => [tool, price])),
    quotaPerUnit: factOf(facts, 'quota_per_unit', quotaPerUnit),
    ...(surcharges.length === 0 ? {} : { surcharges }),
  };
}

function ratiosIn(facts: Facts) {
  const completionRatio = factOf(facts, 'completion_ratio');
  return {
    modelRatio: factOf(facts, 'model_ratio'),
    modelPrice: factOf(facts, 'model_price', -1) < 0 ? null : factOf(facts, 'model_price'),
    completionRatio,
    cacheRatio: factOf(facts, 'cache_ratio'),
    cacheWriteRatio: factOf(facts, 'cache_creation_ratio'),
    cacheWrite1hRatio: factOf(facts, 'cache_creation_1h_ratio'),
    imageRatio: factOf(facts, 'image_ratio', 1),
    audioRatio: factOf(facts, 'audio_ratio', 1),
    audioCompletionRatio: factOf(facts, 'audio_completion_ratio', completionRatio),
    groupRatio: factOf(facts, 'group_ratio'),
    priceFactor: factOf(facts, 'price_factor', 1),
  };
}

function bucketsIn(facts: Facts): Buckets {
  const write1h = factOf(facts, 'cache_write_1h');
  return {
    input: factOf(facts, 'input'),
    output: factOf(facts, 'output'),
    reasoning: 0,
    cacheRead: factOf(facts, 'cache_tokens'),
    cacheWrite5m: factOf(facts, 'cache_creation_tokens') - write1h,
    cacheWrite1h: write1h,
    audioInput: factOf(facts, 'audio_input'),
    audioOutput: factOf(facts, 'audio_output'),
    // Older rows called them what they are.
    imageInput: factOf(facts, 'image_output', factOf(facts, 'image_input')),
  };
}

/** The usage a log row was charged for. */
export function billedUsage(facts: Facts): Usage {
  const parts = iterationsOf(facts).map((part) => ({
    ...bucketsIn(part),
    kind: String(part.type),
    model: typeof part.model === 'string' ? part.model : null,
  }));
  return {
    ...bucketsIn(facts),
    raw: null,
    toolCalls: Object.fromEntries(toolsOf(facts).map(([tool, { calls }]) => [tool, calls])),
    ...(parts.length === 0 ? {} : { parts }),
    ...(facts.claude === true ? { cacheBeside: true } : {}),
  };
}

/** Recomputes a charge from a log row's `other` alone. @returns null when the row carries no price. */
export function recompute(facts: Facts): (Quote & { readonly prices: Prices }) | null {
  const prices = loggedPrices(facts);
  if (prices === null) return null;
  const usage = billedUsage(facts);
  const iterations = iterationsOf(facts);
  const shares = sharesOf(usage, prices).map((share, index): Share => {
    const own = iterations[index]?.prices;
    const model = usage.parts?.[index]?.model ?? null;
    return typeof own !== 'object' || own === null
      ? share
      : {
          ...share,
          prices: { ...prices, ...ratiosIn(own as Facts) },
          label: `${share.label}${model === null ? '' : ` ${model}`}`,
        };
  });
  return { ...quoteOf(shares, usage.toolCalls, prices), prices };
}

/** Dollars with as many decimals as asked, never an exponent. */
export const formatUsd = (quota: number, decimals = 6, perUnit = quotaPerUnit): string =>
  (quota / perUnit).toFixed(decimals);
