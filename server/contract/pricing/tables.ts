/** Price maps of the options, compiled for look-ups, and the prices of one model that follow from them. */
import { bucketOptions, ratio, ratioRows, ratiosOf, type TableName } from './bucket.ts';
import { ratioOf } from './decimal.ts';
import { compileTermRules, matchesPattern, type TermRule } from './modifiers.ts';
import type { Prices, Ratios } from './price.ts';

/** Quota of one dollar. */
export const quotaPerUnit = 500_000;
/** Ratio of a model that has none, where unset models are accepted. As new-api does. */
const unsetModelRatio = 37.5;

/** Above so many prompt tokens the whole request costs more: factors on the model's ordinary prices. */
export interface ContextTier {
  readonly above: number;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** Price maps of one option revision. */
export interface PriceTables extends Readonly<Record<TableName, Ratios>> {
  readonly modelRatio: Ratios;
  /** Dollars per call; wins over the ratio. */
  readonly modelPrice: Ratios;
  readonly tiers: ReadonlyMap<string, readonly ContextTier[]>;
  /** Factors of service tiers, speeds and regions. */
  readonly termRules: readonly TermRule[];
  /** Dollars per call, by `tool` or `tool:model`; the model may end in `*`. */
  readonly toolPrices: Ratios;
  readonly groupRatio: Ratios;
  /** User group -> used group -> ratio that replaces the group's. */
  readonly groupGroupRatio: ReadonlyMap<string, Ratios>;
  readonly quotaPerUnit: number;
}

/** Option keys the tables are compiled from. */
export const priceOptionKeys = [
  'ModelRatio',
  'ModelPrice',
  ...bucketOptions.map(({ key }) => key),
  'ContextTiers',
  'TierRatio',
  'ToolPrices',
  'GroupRatio',
  'GroupGroupRatio',
  'QuotaPerUnit',
] as const;
export type PriceOptionKey = (typeof priceOptionKeys)[number];

/** @param text stored text of an option; malformed JSON and entries that are no ratio count as absent. */
export function compilePriceTables(text: (key: PriceOptionKey) => string): PriceTables {
  const ratios = (key: PriceOptionKey): Ratios => compiled(text(key));
  return {
    modelRatio: ratios('ModelRatio'),
    modelPrice: ratios('ModelPrice'),
    ...bucketTables(ratios),
    tiers: new Map(Object.entries(recordOf(text('ContextTiers'))).map(([model, list]) => [model, tiersOf(list)])),
    termRules: compileTermRules(recordOf(text('TierRatio'))),
    toolPrices: ratios('ToolPrices'),
    groupRatio: ratios('GroupRatio'),
    groupGroupRatio: new Map(
      Object.entries(recordOf(text('GroupGroupRatio'))).map(([userGroup, map]) => [userGroup, ratiosIn(map)]),
    ),
    quotaPerUnit: ratioOf(text('QuotaPerUnit')) ?? quotaPerUnit,
  };
}

const bucketTables = (ratios: (key: PriceOptionKey) => Ratios): Record<TableName, Ratios> =>
  Object.fromEntries(bucketOptions.map(({ key, table }) => [table, ratios(key)])) as Record<TableName, Ratios>;

/** Texts of price options seldom change, and never all at once. */
const texts = new Map<string, Ratios>();

function compiled(text: string): Ratios {
  const known = texts.get(text);
  if (known !== undefined) return known;
  const made = ratiosIn(recordOf(text));
  if (texts.size >= 64) texts.clear();
  texts.set(text, made);
  return made;
}

function recordOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const ratiosIn = (map: unknown): Ratios =>
  new Map(
    Object.entries(isRecord(map) ? map : {}).flatMap(([name, value]) => {
      const ratio = ratioOf(value);
      return ratio === null ? [] : [[name, ratio] as const];
    }),
  );

/** Factors that are missing follow the input's. The longest prompts come first. */
function tiersOf(list: unknown): readonly ContextTier[] {
  if (!Array.isArray(list)) return [];
  return list
    .flatMap((item): ContextTier[] => {
      if (!isRecord(item)) return [];
      const above = ratioOf(item.above);
      const input = ratioOf(item.input);
      if (above === null || input === null || input === 0) return [];
      const factor = (name: string): number => ratioOf(item[name]) ?? input;
      return [
        {
          above,
          input,
          output: factor('output'),
          cacheRead: factor('cache_read'),
          cacheWrite: factor('cache_write'),
        },
      ];
    })
    .sort((a, b) => b.above - a.above);
}

export interface ResolveOptions {
  readonly group: string;
  readonly userGroup: string;
  /** Unset models cost `unsetModelRatio` instead of being refused. */
  readonly acceptUnset?: boolean;
}

/** Prices already resolved, by model, then by groups. */
const resolved = new WeakMap<PriceTables, Map<string, Map<string, Prices>>>();
/** Where unset models are accepted, clients choose the names that get in. */
const maxModels = 5000;

/** @returns null when the model has neither ratio nor price. The same object is given for the same question. */
export function resolvePrices(tables: PriceTables, model: string, options: ResolveOptions): Prices | null {
  const { group, userGroup } = options;
  const name = listedName(model);
  const isPriced = tables.modelRatio.has(name) || tables.modelPrice.has(name);
  if (!isPriced && options.acceptUnset !== true) return null;
  let models = resolved.get(tables);
  if (models === undefined || models.size > maxModels) {
    models = new Map();
    resolved.set(tables, models);
  }
  let groups = models.get(name);
  if (groups === undefined) {
    groups = new Map();
    models.set(name, groups);
  }
  const key = group === userGroup ? group : `${userGroup}\n${group}`;
  const known = groups.get(key);
  if (known !== undefined) return known;
  const prices = pricesOf(tables, name, group, userGroup);
  groups.set(key, prices);
  return prices;
}

/** Whether a call of one of these models can have no price. */
export function mayCostNothing(
  tables: PriceTables,
  models: Iterable<string>,
  { group, userGroup }: Pick<ResolveOptions, 'group' | 'userGroup'>,
): boolean {
  const groupRatio = tables.groupGroupRatio.get(userGroup)?.get(group) ?? tables.groupRatio.get(group) ?? 1;
  if (groupRatio === 0 || tables.quotaPerUnit === 0) return true;
  for (const model of models) {
    const name = listedName(model);
    if ((tables.modelPrice.get(name) ?? tables.modelRatio.get(name)) === 0) return true;
  }
  return false;
}

const gizmo = /^(gpt-4o?)-gizmo-.*/;
/** Name under which a model's prices are listed. */
export const listedName = (model: string): string =>
  model.startsWith('gpt-4') ? model.replace(gizmo, '$1-gizmo-*') : model;

function pricesOf(tables: PriceTables, name: string, group: string, userGroup: string): Prices {
  const price = tables.modelPrice.get(name) ?? null;
  const userGroupRatio = tables.groupGroupRatio.get(userGroup)?.get(group) ?? null;
  const base: Prices = {
    modelRatio: price === null ? (tables.modelRatio.get(name) ?? unsetModelRatio) : 0,
    modelPrice: price,
    priceFactor: 1,
    ...ratiosOf(name, (of) => (of in tables ? tables[of as TableName].get(name) : undefined)),
    groupRatio: userGroupRatio ?? tables.groupRatio.get(group) ?? 1,
    userGroupRatio,
    tiers: [],
    toolPrices: toolPricesOf(tables, name),
    quotaPerUnit: tables.quotaPerUnit,
    ...(price === null && !tables.modelRatio.has(name) ? { unpriced: [`model:${name}`] } : {}),
  };
  const tiers = price === null ? (tables.tiers.get(name) ?? []) : [];
  return tiers.length === 0
    ? base
    : { ...base, tiers: tiers.map((tier) => ({ above: tier.above, prices: tiered(base, tier) })) };
}

/** Ratios are relative to the input's price, which the tier raises too. */
const tiered = (base: Prices, tier: ContextTier): Prices => ({
  ...base,
  modelRatio: ratio(base.modelRatio * tier.input),
  ...Object.fromEntries(
    ratioRows.flatMap(({ name, tier: factor }) =>
      factor === undefined ? [] : [[name, ratio((base[name] * tier[factor]) / tier.input)]],
    ),
  ),
});

/** A price for `tool:model` wins over the one for `tool`; of patterns that match, the longest wins. */
function toolPricesOf(tables: PriceTables, name: string): Ratios {
  const own = new Map<string, number>();
  const particular = new Map<string, number>();
  for (const [key, price] of tables.toolPrices) {
    const at = key.indexOf(':');
    const tool = at < 0 ? key : key.slice(0, at);
    const pattern = at < 0 ? '*' : key.slice(at + 1);
    const weight = pattern.endsWith('*') ? pattern.length : Number.POSITIVE_INFINITY;
    if (!matchesPattern(pattern, name) || weight < (particular.get(tool) ?? 0)) continue;
    particular.set(tool, weight);
    own.set(tool, price);
  }
  return own;
}
