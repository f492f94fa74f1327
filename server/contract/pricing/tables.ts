/** Price maps of the options, compiled for look-ups, and the prices of one model that follow from them. */
import { bucketOptions, ratio, ratioRows, ratiosOf, type TableName } from './bucket.ts';
import { ratioOf } from './decimal.ts';
import { compileTermRules, matchesPattern, type TermRule, tiersOf, undated } from './modifiers.ts';
import type { ContextTier, Prices, Ratios } from './price.ts';

/** Quota of one dollar. */
export const quotaPerUnit = 500_000;
/** Ratio of a model that has none, where unset models are accepted. As new-api does. */
const unsetModelRatio = 37.5;

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
  /** Epoch milliseconds of the next day on which one of the prices changes, Infinity = none is known. */
  readonly changesAt: number;
}

/** Option keys the tables are compiled from. */
export const priceOptionKeys = [
  'ModelRatio',
  'ModelPrice',
  ...bucketOptions.map(({ key }) => key),
  'ContextTiers',
  'TierRatio',
  'TierFactors',
  'PriceDates',
  'ToolPrices',
  'GroupRatio',
  'GroupGroupRatio',
  'QuotaPerUnit',
] as const;
export type PriceOptionKey = (typeof priceOptionKeys)[number];

interface CompiledTables {
  /** The texts of `priceOptionKeys`, in their order. */
  readonly texts: readonly string[];
  readonly madeAt: number;
  readonly tables: PriceTables;
}

/** The last ones asked for: other options change without prices, and what was resolved from the same prices is kept. */
let recent: readonly CompiledTables[] = [];
const maxRecent = 4;

/**
 * The same object is given for the same texts on the same day.
 * @param text stored text of an option; malformed JSON and entries that are no ratio count as absent.
 * @param now epoch milliseconds: whose day decides between prices with dates.
 */
export function compilePriceTables(text: (key: PriceOptionKey) => string, now: number): PriceTables {
  const asked = priceOptionKeys.map(text);
  const known = recent.find(
    ({ texts: made, madeAt, tables }) =>
      madeAt <= now && now < tables.changesAt && made.every((one, index) => one === asked[index]),
  );
  if (known !== undefined) return known.tables;
  const tables = compile(text, now);
  recent = [{ texts: asked, madeAt: now, tables }, ...recent.slice(0, maxRecent - 1)];
  return tables;
}

function compile(text: (key: PriceOptionKey) => string, now: number): PriceTables {
  const dated = datesIn(text('PriceDates'), now);
  const ratios = (key: PriceOptionKey): Ratios => inForce(key, compiled(text(key)), dated);
  return {
    modelRatio: ratios('ModelRatio'),
    modelPrice: ratios('ModelPrice'),
    ...bucketTables(ratios),
    tiers: new Map(Object.entries(recordOf(text('ContextTiers'))).map(([model, list]) => [model, tiersOf(list)])),
    termRules: compileTermRules(termsInForce(recordOf(text('TierRatio')), dated), recordOf(text('TierFactors'))),
    toolPrices: ratios('ToolPrices'),
    groupRatio: ratios('GroupRatio'),
    groupGroupRatio: new Map(
      Object.entries(recordOf(text('GroupGroupRatio'))).map(([userGroup, map]) => [userGroup, ratiosIn(map)]),
    ),
    quotaPerUnit: ratioOf(text('QuotaPerUnit')) ?? quotaPerUnit,
    changesAt: dated.changesAt,
  };
}

/** A price that holds on this day, by model, the earliest first. */
interface DatesInForce {
  readonly models: readonly (readonly [model: string, row: Readonly<Record<string, unknown>>])[];
  readonly changesAt: number;
}

const dayMs = 86_400_000;
const dayOf = (value: unknown): number => (typeof value === 'string' ? Date.parse(`${value}T00:00:00Z`) : Number.NaN);

function datesIn(text: string, now: number): DatesInForce {
  const models: [string, Readonly<Record<string, unknown>>][] = [];
  let changesAt = Number.POSITIVE_INFINITY;
  for (const [model, list] of Object.entries(recordOf(text))) {
    const rows = Array.isArray(list) ? list.filter(isRecord) : [];
    for (const row of rows.toSorted((one, other) => dayOf(one.from) - dayOf(other.from))) {
      const from = dayOf(row.from);
      // The last day is itself part of it.
      const end = row.until === undefined ? Number.POSITIVE_INFINITY : dayOf(row.until) + dayMs;
      for (const change of [from, end]) if (change > now) changesAt = Math.min(changesAt, change);
      if (from <= now && now < end) models.push([model, row]);
    }
  }
  return { models, changesAt };
}

/** What a price with a date follows: it holds where nobody has set another price in the meantime. */
const follows = (row: Readonly<Record<string, unknown>>, key: string, before: unknown): boolean => {
  const replaced = isRecord(row.replaces) ? row.replaces[key] : undefined;
  return replaced === undefined || before === ratioOf(replaced);
};

function inForce(key: PriceOptionKey, ratios: Ratios, { models }: DatesInForce): Ratios {
  let made: Map<string, number> | null = null;
  for (const [model, row] of models) {
    const ratio = ratioOf(row[key]);
    if (ratio === null || !follows(row, key, (made ?? ratios).get(model))) continue;
    made ??= new Map(ratios);
    made.set(model, ratio);
  }
  return made ?? ratios;
}

function termsInForce(
  table: Readonly<Record<string, unknown>>,
  { models }: DatesInForce,
): Readonly<Record<string, unknown>> {
  let made = table;
  for (const [model, row] of models) {
    if (!isRecord(row.TierRatio)) continue;
    const before = isRecord(made[model]) ? made[model] : {};
    const replaced = isRecord(row.replaces) && isRecord(row.replaces.TierRatio) ? row.replaces.TierRatio : {};
    const terms = Object.entries(row.TierRatio).filter(
      ([term]) => replaced[term] === undefined || ratioOf(before[term]) === ratioOf(replaced[term]),
    );
    made = { ...made, [model]: { ...before, ...Object.fromEntries(terms) } };
  }
  return made;
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

export interface ResolveOptions {
  readonly group: string;
  readonly userGroup: string;
  /** Unset models cost `unsetModelRatio` instead of being refused. */
  readonly acceptUnset?: boolean;
  /** What the provider that serves is called in front of a model's name, without the slash. */
  readonly prefixes?: readonly string[];
}

/** Prices already resolved, by model, then by groups. */
const resolved = new WeakMap<PriceTables, Map<string, Map<string, Prices>>>();
/** Where unset models are accepted, clients choose the names that get in. */
const maxModels = 5000;

/** @returns null when the model has neither ratio nor price. The same object is given for the same question. */
export function resolvePrices(tables: PriceTables, model: string, options: ResolveOptions): Prices | null {
  const { group, userGroup } = options;
  const row = pricedName(tables, model, options.prefixes ?? noPrefixes);
  if (row === null && options.acceptUnset !== true) return null;
  const listed = listedName(model);
  const name = row ?? listed;
  let models = resolved.get(tables);
  if (models === undefined || models.size > maxModels) {
    models = new Map();
    resolved.set(tables, models);
  }
  const question = name === listed ? name : `${listed}\n${name}`;
  let groups = models.get(question);
  if (groups === undefined) {
    groups = new Map();
    models.set(question, groups);
  }
  const key = group === userGroup ? group : `${userGroup}\n${group}`;
  const known = groups.get(key);
  if (known !== undefined) return known;
  const own = pricesOf(tables, name, group, userGroup);
  const prices = name === listed ? own : { ...own, listedAs: name };
  groups.set(key, prices);
  return prices;
}

const noPrefixes: readonly string[] = [];

/**
 * The name in the tables that has a model's price: its own; else without its date, or without the name of the provider that
 * serves. Other endings (`:free`, `-fast`, `-pro`) are other models. @returns null when none has.
 */
export function pricedName(
  { modelRatio, modelPrice }: Pick<PriceTables, 'modelRatio' | 'modelPrice'>,
  model: string,
  prefixes: readonly string[],
): string | null {
  const name = listedName(model);
  if (modelRatio.has(name) || modelPrice.has(name)) return name;
  const at = name.indexOf('/');
  const bare = at > 0 && prefixes.includes(name.slice(0, at)) ? name.slice(at + 1) : name;
  for (const one of [undated(name), bare, undated(bare)])
    if (one !== name && (modelRatio.has(one) || modelPrice.has(one))) return one;
  return null;
}

/** Factor of a group's prices for users of another. */
export const groupRatioFor = (
  { groupGroupRatio, groupRatio }: Pick<PriceTables, 'groupGroupRatio' | 'groupRatio'>,
  userGroup: string,
  group: string,
): number => groupGroupRatio.get(userGroup)?.get(group) ?? groupRatio.get(group) ?? 1;

/** Whether a call of one of these models can have no price. */
export function mayCostNothing(
  tables: PriceTables,
  models: Iterable<string>,
  { group, userGroup }: Pick<ResolveOptions, 'group' | 'userGroup'>,
): boolean {
  const groupRatio = groupRatioFor(tables, userGroup, group);
  if (groupRatio === 0 || tables.quotaPerUnit === 0) return true;
  for (const model of models) {
    // Whoever serves it: the answer may only be too careful.
    const name = pricedName(tables, model, [model.slice(0, Math.max(0, model.indexOf('/')))]);
    if (name !== null && (tables.modelPrice.get(name) ?? tables.modelRatio.get(name)) === 0) return true;
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
