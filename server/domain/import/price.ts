/** What models cost at the source, built-in prices included, against what they cost here; and how the source's are kept. */
import { Role } from '../../contract/enum.ts';
import { listedName, resolvePrices } from '../../contract/pricing/tables.ts';
import type { OptionsService } from '../options/service.ts';
import builtIn from './family-prices.json' with { type: 'json' };
import type { Family } from './source.ts';

/** Ratios as both products count them: 1 = $2 for a million input tokens; the others are multiples of it. */
export interface ModelPrice {
  /** Dollars for a call; null = by the token. */
  readonly perCall: number | null;
  readonly ratio: number;
  readonly completion: number;
  /** null = not compared. */
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
  /** Long prompts cost more. */
  readonly tiers: boolean;
}

export interface PriceDifference {
  readonly model: string;
  /** null = the source's built-in price is not known here. */
  readonly there: ModelPrice | null;
  /** null = none, so that the model is refused. */
  readonly here: ModelPrice | null;
}

type Table = Readonly<Record<string, unknown>>;
/** The map that an option of the source holds, null where it was never changed. */
export type SourceOption = (key: string) => Table | null;

/** Model names are user input: `constructor` is no entry. */
const memberOf = (table: Table | null | undefined, name: string): unknown =>
  table !== null && table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined;

const entry = (table: Table | null | undefined, name: string): number | undefined => {
  const value = memberOf(table, name);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
};

/** One-api counts what draws in pictures: a ratio is a thousandth of what one costs. */
const isImageModel = /^(dall-e|cogview|wanx|ali-stable-diffusion)/;
/** What one-api charges for a name that it does not know. */
const oneApiUnknown = 30;

const completionOf = (family: Family, name: string, set: number | undefined): number => {
  for (const [pattern, ratio, when] of builtIn[family].completions as [string, number, string][])
    if (new RegExp(pattern).test(name)) return when === 'always' && !name.includes('/') ? ratio : (set ?? ratio);
  return set ?? 1;
};

/** A budget of thought in the name has the price of all budgets. */
const withoutBudget = (name: string): string =>
  name.replace(/^(gemini-2\.5-(?:flash-lite|flash|pro)).*-thinking-.*$/, '$1-thinking-*');

/** By the name of the option that replaces a table. */
const builtInTables = (family: keyof typeof builtIn): Readonly<Record<string, Table>> =>
  builtIn[family] as unknown as Record<string, Table>;

/** @returns 'unset' when new-api refuses the model, 'unknown' when its built-in price is not known here. */
function sourcePrice(family: Family, option: SourceOption, model: string): ModelPrice | 'unset' | 'unknown' {
  if (family === 'one-api') {
    const name = /^(qwen|command)-.*-internet$/.test(model) ? model.replace(/-internet$/, '') : model;
    const { ModelRatio, CompletionRatio } = builtInTables('one-api');
    const known = entry(option('ModelRatio'), name) ?? entry(ModelRatio, name);
    if (known === undefined && name.includes('/')) return 'unknown';
    const ratio = known ?? oneApiUnknown;
    const completion = completionOf(
      family,
      name,
      entry(option('CompletionRatio'), name) ?? entry(CompletionRatio, name),
    );
    const perCall = isImageModel.test(name) ? ratio / 500 : null;
    return { perCall, ratio, completion, cacheRead: null, cacheWrite: null, tiers: false };
  }
  const name = withoutBudget(listedName(model));
  // Its ratios do not count there; the expression is not computed here.
  if (memberOf(option('billing_setting.billing_mode'), name) === 'tiered_expr') return 'unknown';
  const own = builtInTables('new-api');
  const value = (key: string): number | undefined => entry(option(key) ?? own[key], name);
  const perCall = value('ModelPrice') ?? null;
  const ratio = value('ModelRatio');
  if (perCall === null && ratio === undefined) return 'unset';
  return {
    perCall,
    ratio: ratio ?? 0,
    completion: completionOf(family, name, value('CompletionRatio')),
    cacheRead: value('CacheRatio') ?? 1,
    cacheWrite: value('CreateCacheRatio') ?? 1.25,
    tiers: false,
  };
}

const group = { group: 'default', userGroup: 'default' };

const isClose = (a: number | null, b: number | null): boolean =>
  a === null || b === null ? a === b : Math.abs(a - b) <= 1e-5 * Math.max(1, Math.abs(a));

const same = (there: ModelPrice, here: ModelPrice): boolean =>
  isClose(there.perCall, here.perCall) &&
  (there.perCall !== null ||
    (isClose(there.ratio, here.ratio) &&
      (there.ratio === 0 ||
        (isClose(there.completion, here.completion) &&
          (there.cacheRead === null || isClose(there.cacheRead, here.cacheRead)) &&
          (there.cacheWrite === null || isClose(there.cacheWrite, here.cacheWrite)) &&
          there.tiers === here.tiers))));

/**
 * @param models names as clients write them, with the name that the source charges by.
 * @param options with the source's own settings already in them.
 */
export function priceDifferences(
  family: Family,
  option: SourceOption,
  models: ReadonlyMap<string, string>,
  options: OptionsService,
): PriceDifference[] {
  const tables = options.priceTables();
  return [...models].sort().flatMap(([model, charged]): PriceDifference[] => {
    const prices = resolvePrices(tables, model, group);
    const here: ModelPrice | null =
      prices === null
        ? null
        : {
            perCall: prices.modelPrice,
            ratio: prices.modelRatio,
            completion: prices.completionRatio,
            cacheRead: prices.cacheRatio,
            cacheWrite: prices.cacheWriteRatio,
            tiers: prices.tiers.length > 0,
          };
    const there = sourcePrice(family, option, charged);
    if (there === 'unset') return [];
    if (there === 'unknown') return [{ model, there: null, here }];
    return here !== null && same(there, here) ? [] : [{ model, there, here }];
  });
}

/** Writes the source's prices of these models into the options. */
export async function keepPrices(differences: readonly PriceDifference[], options: OptionsService): Promise<void> {
  const rows = differences.flatMap(({ model, there }) => (there === null ? [] : [{ name: listedName(model), there }]));
  const write = async (
    key: 'ModelRatio' | 'ModelPrice' | 'CompletionRatio' | 'CacheRatio' | 'CreateCacheRatio' | 'ContextTiers',
    read: (price: ModelPrice) => number | null | undefined,
  ): Promise<void> => {
    const map = new Map(Object.entries(JSON.parse(options.text(key) || '{}') as Record<string, unknown>));
    for (const { name, there } of rows) {
      const value = read(there);
      if (value === null) map.delete(name);
      else if (value !== undefined) map.set(name, Number(value.toFixed(6)));
    }
    const text = JSON.stringify(Object.fromEntries(map));
    if (text !== JSON.stringify(JSON.parse(options.text(key) || '{}')))
      await options.set(key, text, Role.root, 'import');
  };
  const byToken = (price: ModelPrice, value: number | null): number | undefined =>
    price.perCall === null && value !== null ? value : undefined;
  await write('ModelPrice', (price) => price.perCall);
  await write('ModelRatio', (price) => byToken(price, price.ratio));
  await write('CompletionRatio', (price) => byToken(price, price.completion));
  await write('CacheRatio', (price) => byToken(price, price.cacheRead));
  await write('CreateCacheRatio', (price) => byToken(price, price.cacheWrite));
  await write('ContextTiers', (price) => (price.tiers ? undefined : null));
}
