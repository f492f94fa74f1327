/** Writes server/contract/pricing/default-prices.json from the facts in scripts/prices; `pricingIsFresh` returns whether it is up to date. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const target = join(root, 'server', 'contract', 'pricing', 'default-prices.json');
const data = (name: string): unknown => JSON.parse(readFileSync(join(root, 'scripts', 'prices', name), 'utf8'));

type Ratios = Record<string, number>;

/** Dollars per million tokens. */
interface Cost {
  readonly input: number;
  readonly output: number;
  readonly cache_read?: number;
  readonly cache_write?: number;
  readonly input_audio?: number;
  readonly output_audio?: number;
  readonly tiers?: readonly {
    readonly above: number;
    readonly input: number;
    readonly output: number;
    readonly cache_read?: number;
    readonly cache_write?: number;
  }[];
}

const rounded = (value: number): number => Number(value.toFixed(6));
const per = (price: number | undefined, base: number | undefined): number | null =>
  price === undefined || base === undefined || base === 0 ? null : rounded(price / base);

/** @returns the text of default-prices.json. */
export function generatePricing(): string {
  const family = data('family-prices.json') as Record<string, Record<string, number | string>>;
  const own = data('own-prices.json') as Record<string, Record<string, Ratios | number>>;
  const { _about, ...providers } = data('model-prices.json') as Record<string, Record<string, Cost>>;
  const tables: Record<string, Record<string, unknown>> = {};
  const table = (name: string): Record<string, unknown> => {
    tables[name] ??= Object.fromEntries(
      Object.entries(family[name] ?? {}).map(([key, value]) => [
        key,
        typeof value === 'number' ? rounded(value) : value,
      ]),
    );
    return tables[name];
  };
  const set = (name: string, model: string, ratio: number | null): void => {
    if (ratio !== null) table(name)[model] = ratio;
  };
  for (const name of ['ModelRatio', 'ModelPrice', 'CompletionRatio', 'CacheRatio', 'CreateCacheRatio']) table(name);
  for (const name of ['ImageRatio', 'AudioRatio', 'AudioCompletionRatio', 'ContextTiers', 'TierRatio', 'ToolPrices'])
    table(name);

  for (const [model, cost] of Object.values(providers).flatMap((models) => Object.entries(models))) {
    set('ModelRatio', model, rounded(cost.input / 2));
    set('CompletionRatio', model, per(cost.output, cost.input));
    // A free cache on a paid model means that the source does not know its price.
    if (cost.cache_read !== 0) set('CacheRatio', model, per(cost.cache_read, cost.input));
    if (cost.cache_write !== 0) set('CreateCacheRatio', model, per(cost.cache_write, cost.input));
    set('AudioRatio', model, per(cost.input_audio, cost.input));
    if (cost.output_audio !== undefined)
      set('AudioCompletionRatio', model, per(cost.output_audio, cost.input_audio ?? cost.input));
    if (cost.tiers !== undefined && cost.input > 0)
      table('ContextTiers')[model] = cost.tiers.map((tier) => tierOf(tier, cost));
  }
  for (const [name, ratios] of Object.entries(own)) Object.assign(table(name), ratios);
  for (const name of ['GroupRatio', 'TopupGroupRatio', 'UserUsableGroups']) table(name);
  return `${JSON.stringify(tables, null, 2)}\n`;
}

/** Factors on the ordinary prices, so that they follow when an operator changes those. */
function tierOf(tier: NonNullable<Cost['tiers']>[number], cost: Cost): Record<string, number> {
  const factors = {
    above: tier.above,
    input: per(tier.input, cost.input),
    output: per(tier.output, cost.output),
    cache_read: per(tier.cache_read, cost.cache_read),
    cache_write: per(tier.cache_write, cost.cache_write),
  };
  return Object.fromEntries(Object.entries(factors).filter((pair): pair is [string, number] => pair[1] !== null));
}

export const pricingIsFresh = (): boolean => generatePricing() === readFileSync(target, 'utf8');

if (import.meta.main) writeFileSync(target, generatePricing());
