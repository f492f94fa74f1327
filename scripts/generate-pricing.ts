/**
 * Writes server/contract/pricing/default-prices.json, the prices a site starts with, as a view of the packages' data
 * (server/providers/knowledge/data/models.json) and of scripts/prices; `pricingIsFresh` returns whether it is up to date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { compileTermRules, termRatio } from '../server/contract/pricing/modifiers.ts';
import { allProviders } from '../server/providers/catalogue.ts';
import {
  type DatedPrice,
  type ModelFacts,
  type PriceSet,
  type PriceStep,
  type TierPrice,
  unpackKnowledge,
} from '../server/providers/knowledge/facts.ts';

const root = resolve(import.meta.dirname, '..');
const target = join(root, 'server', 'contract', 'pricing', 'default-prices.json');
const data = (name: string): unknown => JSON.parse(readFileSync(join(root, 'scripts', 'prices', name), 'utf8'));
const knowledge = () =>
  unpackKnowledge(readFileSync(join(root, 'server', 'providers', 'knowledge', 'data', 'models.json'), 'utf8'));

type Ratios = Record<string, number>;
type Tables = Record<string, Record<string, unknown>>;

/** Dollars per million tokens, as the list of June has them. */
interface Cost {
  readonly input: number;
  readonly output: number;
  readonly cache_read?: number;
  readonly cache_write?: number;
  readonly input_audio?: number;
  readonly output_audio?: number;
  readonly tiers?: readonly (Omit<Cost, 'tiers'> & { readonly above: number })[];
}

/** Whose bare names are what they sell under; of a name that several have, the first one's price holds. */
const makers = [
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

const tableNames = [
  'ModelRatio',
  'ModelPrice',
  'CompletionRatio',
  'CacheRatio',
  'CreateCacheRatio',
  'CreateCache1hRatio',
  'CreateCache12hRatio',
  'ImageRatio',
  'AudioRatio',
  'AudioCompletionRatio',
  'VideoRatio',
  'ContextTiers',
  'TierRatio',
  'TierFactors',
  'PriceDates',
  'ToolPrices',
] as const;

const rounded = (value: number): number => Number(value.toFixed(6));
const per = (price: number | undefined, base: number | undefined): number | undefined =>
  price === undefined || base === undefined || base === 0 ? undefined : rounded(price / base);
const known = (values: Readonly<Record<string, number | undefined>>): Ratios =>
  Object.fromEntries(Object.entries(values).filter((pair): pair is [string, number] => pair[1] !== undefined));
/** Dollars of a ratio of 1. */
const unit = 2;

/** What answers are paid by: pictures where the model draws. */
const answerPrice = ({ kind }: Pick<ModelFacts, 'kind'>, { output, image_out: drawn }: PriceSet): number | undefined =>
  kind.startsWith('image') && drawn !== undefined ? Math.max(drawn, output ?? 0) : output;

/** Option -> ratio, of one price. */
const ratiosOf = (facts: Pick<ModelFacts, 'kind'>, price: PriceSet): Ratios =>
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
const withoutFollowing = ({ CreateCache1hRatio: hour, CreateCache12hRatio: half, ...ratios }: Ratios): Ratios => {
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

const stepsOf = (facts: ModelFacts, steps: readonly PriceStep[], ordinary: PriceSet): readonly Ratios[] =>
  steps.flatMap((step) =>
    step.input === undefined || ordinary.input === undefined
      ? []
      : [{ above: step.above, ...factorsOf(facts, step, ordinary) }],
  );

/** `service_tier:priority`; a speed names itself. */
const termOf = (tier: string): string => (tier.includes(':') ? tier : `service_tier:${tier}`);

/** Of a tier that is not one factor: that of the ordinary price, then those of longer prompts on their own prices. */
function tierFactors(facts: ModelFacts, tier: Exclude<TierPrice, number>): readonly Ratios[] {
  const { price = {}, steps = [] } = facts;
  const base = { above: 0, ...factorsOf(facts, tier.price, price) };
  const longer = (tier.steps ?? []).flatMap((step) => {
    const ordinary = steps.find(({ above }) => Math.abs(above - step.above) <= 1);
    return ordinary === undefined ? [] : [{ above: ordinary.above, ...factorsOf(facts, step, ordinary) }];
  });
  return [base, ...longer];
}

function dateOf(facts: ModelFacts, dated: DatedPrice, ordinary: Ratios): Record<string, unknown> {
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

/** Names of our lists that no maker sells under, with the dearest of the providers that list them. */
function listed(models: Readonly<Record<string, Readonly<Record<string, ModelFacts>>>>): Map<string, ModelFacts> {
  const found = new Map<string, ModelFacts>();
  for (const { slug, models: names } of allProviders) {
    for (const name of names) {
      const facts = models[slug]?.[name];
      const before = found.get(name)?.price?.input ?? 0;
      if (facts?.price?.input !== undefined && facts.price.input > before) found.set(name, facts);
    }
  }
  return found;
}

/** @returns the text of default-prices.json. */
export function generatePricing(): string {
  const family = data('family-prices.json') as Record<string, Record<string, number | string>>;
  const own = data('own-prices.json') as Tables;
  const { _about, ...providers } = data('model-prices.json') as Record<string, Record<string, Cost>>;
  const { models } = knowledge();
  const tables: Tables = {};
  const table = (name: string): Record<string, unknown> => {
    tables[name] ??= Object.fromEntries(
      Object.entries(family[name] ?? {}).map(([key, value]) => [
        key,
        typeof value === 'number' ? rounded(value) : value,
      ]),
    );
    return tables[name];
  };
  for (const name of tableNames) table(name);
  const setAll = (model: string, ratios: Ratios): void => {
    for (const [key, ratio] of Object.entries(ratios)) table(key)[model] = ratio;
  };

  for (const [model, cost] of Object.values(providers).flatMap((rows) => Object.entries(rows)))
    addOfJune(model, cost, setAll, table('ContextTiers'));
  for (const [name, ratios] of Object.entries(own)) Object.assign(table(name), ratios);

  const rules = compileTermRules(table('TierRatio'));
  const done = new Set<string>();
  const add = (model: string, facts: ModelFacts): void => {
    const { price, each = {} } = facts;
    if (done.has(model) || model.startsWith('practice')) return;
    done.add(model);
    if (price?.input === undefined) {
      const drawn = facts.kind.startsWith('image') ? each.picture : undefined;
      if (drawn !== undefined && table('ModelRatio')[model] === undefined) table('ModelPrice')[model] = rounded(drawn);
      return;
    }
    const ratios = ratiosOf(facts, price);
    if (ratios.ModelRatio === 0) return;
    delete table('ModelPrice')[model];
    delete table('ContextTiers')[model];
    setAll(model, withoutFollowing(ratios));
    const steps = stepsOf(facts, facts.steps ?? [], price);
    if (steps.length > 0) table('ContextTiers')[model] = steps;
    const terms: Ratios = {};
    const factors: Record<string, readonly Ratios[]> = {};
    for (const [tier, value] of Object.entries(facts.tiers ?? {})) {
      const [member = '', ...rest] = termOf(tier).split(':');
      if (typeof value !== 'number') factors[termOf(tier)] = tierFactors(facts, value);
      else if (termRatio(rules, [model], member, rest.join(':')) !== value) terms[termOf(tier)] = rounded(value);
    }
    if (Object.keys(terms).length > 0)
      table('TierRatio')[model] = { ...(table('TierRatio')[model] as Ratios | undefined), ...terms };
    if (Object.keys(factors).length > 0) table('TierFactors')[model] = factors;
    const dates = (facts.dates ?? []).map((dated) => dateOf(facts, dated, ratios));
    if (dates.length > 0) table('PriceDates')[model] = dates;
  };
  for (const maker of makers) for (const [model, facts] of Object.entries(models[maker] ?? {})) add(model, facts);
  for (const [model, facts] of listed(models)) add(model, facts);
  for (const name of ['GroupRatio', 'TopupGroupRatio', 'UserUsableGroups']) table(name);
  return textOf(tables);
}

function addOfJune(
  model: string,
  cost: Cost,
  setAll: (model: string, ratios: Ratios) => void,
  steps: Record<string, unknown>,
): void {
  // A free cache on a paid model means that the source does not know its price.
  const price = known({
    input: cost.input,
    output: cost.output,
    cache_read: cost.cache_read || undefined,
    write_5m: cost.cache_write || undefined,
    audio_in: cost.input_audio,
    audio_out: cost.output_audio,
  });
  setAll(model, { ...ratiosOf({ kind: 'chat' }, price), ModelRatio: rounded(cost.input / unit) });
  if (cost.tiers === undefined || cost.input === 0) return;
  steps[model] = cost.tiers.map((tier) => ({
    above: tier.above,
    ...known({
      input: per(tier.input, cost.input),
      output: per(tier.output, cost.output),
      cache_read: per(tier.cache_read, cost.cache_read),
      cache_write: per(tier.cache_write, cost.cache_write),
    }),
  }));
}

/** One line a name: what a new set of data changes is read in a diff. */
function textOf(tables: Tables): string {
  const lines = Object.entries(tables).map(([name, entries]) => {
    const rows = Object.entries(entries).map(([key, value]) => `    ${JSON.stringify(key)}: ${JSON.stringify(value)}`);
    return `  ${JSON.stringify(name)}: {${rows.length === 0 ? '' : `\n${rows.join(',\n')}\n  `}}`;
  });
  return `{\n${lines.join(',\n')}\n}\n`;
}

export const pricingIsFresh = (): boolean => generatePricing() === readFileSync(target, 'utf8');
export const writePricing = (): void => writeFileSync(target, generatePricing());

if (import.meta.main) writePricing();
