/** Prices of the packages as the options have them: ratios on the input's price, factors of steps and tiers, rows with dates. */
import type { DatedPrice, ModelFacts, PriceSet, PriceStep, TierPrice } from './facts.ts';

export type Ratios = Record<string, number>;

/** Whose bare names are what they sell under; of a name that several have, the first one's price holds. */
export const makers = [
  'openai',
  'anthropic',
  'gemini',
  'xai',
  'deepseek',
  'moonshot',
  'zhipu-v4',
  'minimax',
  'ali',
  'mistral',
  'cohere',
  'perplexity',
  'jina',
  'groq',
  'cerebras',
  'volcengine',
  'tencent',
] as const;

export const rounded = (value: number): number => Number(value.toFixed(6));
export const per = (price: number | undefined, base: number | undefined): number | undefined =>
  price === undefined || base === undefined || base === 0 ? undefined : rounded(price / base);
export const known = (values: Readonly<Record<string, number | undefined>>): Ratios =>
  Object.fromEntries(Object.entries(values).filter((pair): pair is [string, number] => pair[1] !== undefined));
/** Dollars of a ratio of 1. */
export const unit = 2;

/** What answers are paid by: pictures where the model draws. */
const answerPrice = ({ kind }: Pick<ModelFacts, 'kind'>, { output, image_out: drawn }: PriceSet): number | undefined =>
  kind.startsWith('image') && drawn !== undefined ? Math.max(drawn, output ?? 0) : output;

/** Option -> ratio, of one price. */
export const ratiosOf = (facts: Pick<ModelFacts, 'kind'>, price: PriceSet): Ratios =>
  known({
    ModelRatio: per(price.input, unit),
    CompletionRatio: per(answerPrice(facts, price), price.input),
    CacheRatio: per(price.cache_read, price.input),
    CreateCacheRatio: per(price.write_5m, price.input),
    CreateCache1hRatio: per(price.write_1h, price.input),
    CreateCache12hRatio: per(price.write_12h, price.input),
    ImageRatio: per(price.image_in, price.input),
    AudioRatio: per(price.audio_in, price.input),
    AudioCompletionRatio: per(price.audio_out, price.audio_in ?? price.input),
    VideoRatio: per(price.video_in, price.input),
  });

/** A longer life that costs what it usually does follows the short one, also where an operator changes that. */
export const withoutFollowing = ({
  CreateCache1hRatio: hour,
  CreateCache12hRatio: half,
  ...ratios
}: Ratios): Ratios => {
  const short = ratios.CreateCacheRatio ?? usualWrite;
  return known({
    ...ratios,
    CreateCache1hRatio: hour === rounded(short * hourAgainstShort) ? undefined : hour,
    CreateCache12hRatio: half === rounded(short * halfDayAgainstShort) ? undefined : half,
  });
};
/** As bucket.ts has them where no table says. */
const usualWrite = 1.25;
const hourAgainstShort = 1.6;
const halfDayAgainstShort = 2;

/** Factors on the ordinary prices, so that they follow when an operator changes those. */
const factorsOf = (facts: Pick<ModelFacts, 'kind'>, price: PriceSet, ordinary: PriceSet): Ratios =>
  known({
    input: per(price.input, ordinary.input),
    output: per(answerPrice(facts, price), answerPrice(facts, ordinary)),
    cache_read: per(price.cache_read, ordinary.cache_read),
    cache_write: per(price.write_5m, ordinary.write_5m),
  });

export const stepsOf = (facts: ModelFacts, steps: readonly PriceStep[], ordinary: PriceSet): readonly Ratios[] =>
  steps.flatMap((step) =>
    step.input === undefined || ordinary.input === undefined
      ? []
      : [{ above: step.above, ...factorsOf(facts, step, ordinary) }],
  );

/** `service_tier:priority`; a speed names itself. */
export const termOf = (tier: string): string => (tier.includes(':') ? tier : `service_tier:${tier}`);

/** Of a tier that is not one factor: that of the ordinary price, then those of longer prompts on their own prices. */
export function tierFactors(facts: ModelFacts, tier: Exclude<TierPrice, number>): readonly Ratios[] {
  const { price = {}, steps = [] } = facts;
  const base = { above: 0, ...factorsOf(facts, tier.price, price) };
  const longer = (tier.steps ?? []).flatMap((step) => {
    const ordinary = steps.find(({ above }) => Math.abs(above - step.above) <= 1);
    return ordinary === undefined ? [] : [{ above: ordinary.above, ...factorsOf(facts, step, ordinary) }];
  });
  return [base, ...longer];
}

export function dateOf(facts: ModelFacts, dated: DatedPrice, ordinary: Ratios): Record<string, unknown> {
  const changed = Object.entries(ratiosOf(facts, { ...facts.price, ...dated.price })).filter(
    ([key, ratio]) => ordinary[key] !== ratio,
  );
  const tiers = Object.entries(dated.tiers ?? {}).flatMap(([tier, factor]) => {
    const before = facts.tiers?.[tier];
    return typeof factor === 'number' && typeof before === 'number' ? [{ name: termOf(tier), factor, before }] : [];
  });
  const replaced = Object.fromEntries(
    changed.flatMap(([key]) => (ordinary[key] === undefined ? [] : [[key, ordinary[key]]])),
  );
  const map = (of: 'factor' | 'before') => Object.fromEntries(tiers.map((tier) => [tier.name, tier[of]]));
  return {
    from: dated.from,
    ...(dated.until === undefined ? {} : { until: dated.until }),
    ...Object.fromEntries(changed),
    ...(tiers.length === 0 ? {} : { TierRatio: map('factor') }),
    replaces: { ...replaced, ...(tiers.length === 0 ? {} : { TierRatio: map('before') }) },
  };
}
