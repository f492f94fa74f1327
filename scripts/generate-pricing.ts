/**
 * Writes server/contract/pricing/default-prices.json, the prices a site starts with, as a view of the packages' data
 * (server/providers/knowledge/data/models.json) and of scripts/prices; `pricingIsFresh` returns whether it is up to date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { compileTermRules, termRatio } from '../server/contract/pricing/modifiers.ts';
import { type ModelFacts, unpackKnowledge } from '../server/providers/knowledge/facts.ts';
import {
  dateOf,
  known,
  makers,
  per,
  type Ratios,
  ratiosOf,
  rounded,
  stepsOf,
  termOf,
  tierFactors,
  unit,
  withoutFollowing,
} from '../server/providers/knowledge/price-view.ts';
import { shippedLists } from './generate-model-lists.ts';

const root = resolve(import.meta.dirname, '..');
const target = join(root, 'server', 'contract', 'pricing', 'default-prices.json');
const data = (name: string): unknown => JSON.parse(readFileSync(join(root, 'scripts', 'prices', name), 'utf8'));
const knowledge = () =>
  unpackKnowledge(readFileSync(join(root, 'server', 'providers', 'knowledge', 'data', 'models.json'), 'utf8'));

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

/** Names of our lists, former ones too, that no maker sells under, with the dearest of the providers that list them. */
function listed(models: Readonly<Record<string, Readonly<Record<string, ModelFacts>>>>): Map<string, ModelFacts> {
  const found = new Map<string, ModelFacts>();
  for (const [slug, names] of shippedLists()) {
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
  const { date, models } = knowledge();
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
  return textOf(date, tables);
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
function textOf(date: string, tables: Tables): string {
  const lines = Object.entries(tables).map(([name, entries]) => {
    const rows = Object.entries(entries).map(([key, value]) => `    ${JSON.stringify(key)}: ${JSON.stringify(value)}`);
    return `  ${JSON.stringify(name)}: {${rows.length === 0 ? '' : `\n${rows.join(',\n')}\n  `}}`;
  });
  return `{\n  "date": ${JSON.stringify(date)},\n${lines.join(',\n')}\n}\n`;
}

export const pricingIsFresh = (): boolean => generatePricing() === readFileSync(target, 'utf8');
export const writePricing = (): void => writeFileSync(target, generatePricing());

if (import.meta.main) writePricing();
