/** How a site follows the prices that gateway ships: names that are new reach it, its own prices stay, and a price that others pay changes only when somebody agrees. */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual as isSame } from 'node:util';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Database } from '../../../db/open.ts';
import { createOptionsRepository } from '../../../db/repositories/options.ts';
import { createPriceVersionsRepository } from '../../../db/repositories/price-versions.ts';
import { optionRow, optionValue } from '../../contract/options.ts';
import { defaultPriceText } from '../../contract/pricing/defaults.ts';
import { matchesPattern, undated } from '../../contract/pricing/modifiers.ts';
import {
  compilePriceTables,
  type PriceOptionKey,
  type PriceTables,
  pricedName,
  priceOptionKeys,
} from '../../contract/pricing/tables.ts';

/** Price maps that packages publish; groups are the site's own. */
export const shippedKeys: readonly PriceOptionKey[] = priceOptionKeys.filter(
  (key) => key !== 'GroupRatio' && key !== 'GroupGroupRatio' && key !== 'QuotaPerUnit',
);

type PriceMap = Readonly<Record<string, unknown>>;
/** Option -> name -> price; an option that is absent has no prices. */
export type PriceMaps = Readonly<Partial<Record<PriceOptionKey, PriceMap>>>;
/** Prices that a newer build has other figures for, as they were kept: null = it was kept without. */
export type KeptPrices = Readonly<Partial<Record<PriceOptionKey, PriceMap>>>;

const mapOf = (text: string): PriceMap | null => {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as PriceMap) : null;
  } catch {
    return null;
  }
};

const textOf = (maps: PriceMaps) => (key: PriceOptionKey) => JSON.stringify(maps[key] ?? {});
const namesOf = (...maps: readonly (PriceMap | undefined)[]) => new Set(maps.flatMap((map) => Object.keys(map ?? {})));

interface Following {
  /** What an earlier build shipped, which the site has followed so far. */
  readonly base: PriceMaps;
  readonly shipped: PriceMaps;
  /** What is in force; a map that cannot be read is absent and stays as it is. */
  readonly inForce: PriceMaps;
  readonly kept: KeptPrices;
  /** Nobody but the operator pays. */
  readonly isSelfUse: boolean;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Whether requests could be priced by this entry although nobody asked for it. */
function concerns(before: PriceTables, own: ReadonlySet<string>, isSelfUse: boolean) {
  const isPriced = (name: string): boolean => {
    if (isSelfUse) return own.has(name);
    return own.has(name) || pricedName(before, name, [name.slice(0, Math.max(0, name.indexOf('/')))]) !== null;
  };
  const priced = isSelfUse ? [...own] : [...before.modelRatio.keys(), ...before.modelPrice.keys()];
  return (key: PriceOptionKey, entry: string): boolean => {
    if (key === 'ToolPrices') {
      if (isSelfUse) return false;
      const at = entry.indexOf(':');
      return at < 0 || priced.some((name) => matchesPattern(entry.slice(at + 1), name));
    }
    if (entry.endsWith('*')) return priced.some((name) => matchesPattern(entry, name));
    // Factors of a name hold for the same name with a date too.
    const isFactor = key === 'TierRatio' || key === 'TierFactors';
    return isPriced(entry) || (isFactor && priced.some((name) => undated(name) === entry));
  };
}

/** The maps that hold from now on, and the prices that newer figures are waiting for. */
export function followShipped({ base, shipped, inForce, kept, isSelfUse, now }: Following): {
  readonly maps: PriceMaps;
  readonly kept: KeptPrices;
} {
  const isOwn = (key: PriceOptionKey, name: string): boolean => !isSame(inForce[key]?.[name], base[key]?.[name]);
  const own = new Set<string>();
  for (const key of ['ModelRatio', 'ModelPrice'] as const)
    for (const name of namesOf(inForce[key], base[key])) if (isOwn(key, name)) own.add(name);
  const concerned = concerns(compilePriceTables(textOf(inForce), now), own, isSelfUse);
  const maps: Partial<Record<PriceOptionKey, PriceMap>> = {};
  const stillKept: Partial<Record<PriceOptionKey, Record<string, unknown>>> = {};
  for (const key of shippedKeys) {
    const current = inForce[key];
    if (current === undefined) continue;
    const [before, fresh] = [base[key] ?? {}, shipped[key] ?? {}];
    const made: Record<string, unknown> = {};
    for (const name of namesOf(fresh, current, before)) {
      const [was, will] = [current[name], fresh[name]];
      const isFollowed = !isOwn(key, name);
      const stays = !isFollowed || will === undefined || isSame(was, will);
      const waits = !stays && ((was !== undefined && !isSelfUse) || concerned(key, name));
      const value = stays || waits ? was : will;
      if (value !== undefined) made[name] = value;
      const earlier = kept[key]?.[name];
      const waited = earlier !== undefined && isSame(earlier, was ?? null) && will !== undefined && !isSame(was, will);
      if (waits || waited) stillKept[key] = { ...stillKept[key], [name]: was ?? null };
    }
    maps[key] = made;
  }
  return { maps, kept: stillKept };
}

const packed = (maps: PriceMaps): string => deflateRawSync(JSON.stringify(maps)).toString('base64');
const unpacked = (text: string): PriceMaps =>
  JSON.parse(inflateRawSync(Buffer.from(text, 'base64')).toString('utf8')) as PriceMaps;

const shippedMaps = (): PriceMaps =>
  Object.fromEntries(shippedKeys.map((key) => [key, mapOf(defaultPriceText(key)) ?? {}]));
const digestOf = (maps: PriceMaps): string => createHash('sha256').update(JSON.stringify(maps)).digest('base64url');

const digestKey = 'shipped_prices_digest';
const mapsKey = 'shipped_prices';
/** Prices that newer figures are waiting for. */
export const keptPricesKey = 'kept_prices';

/** What the first build shipped: sites of that time recorded nothing. */
const firstMaps = async (): Promise<PriceMaps> =>
  (await import('./first-prices.json', { with: { type: 'json' } })).default as PriceMaps;

/** Versions that kept the prices of an earlier build as its default say them in full: the default is another one now. */
async function spelledOut(
  database: Database,
  base: PriceMaps,
  shipped: PriceMaps,
): Promise<ReadonlyMap<number, string>> {
  const moved = shippedKeys.filter((key) => !isSame(base[key] ?? {}, shipped[key] ?? {}));
  const made = new Map<number, string>();
  for (const { id, options } of await createPriceVersionsRepository(database).since(0)) {
    const kept = { ...mapOf(options) };
    const named = moved.filter((key) => kept[key] === null);
    for (const key of named) kept[key] = JSON.stringify(base[key] ?? {});
    if (named.length > 0) made.set(id, JSON.stringify(kept));
  }
  return made;
}

/**
 * Lets a site follow what this build ships, once per build; what was in force before becomes a version.
 * @param now epoch milliseconds. @returns whether a price is another one now.
 */
export async function followShippedPrices(database: Database, now: number, shipped = shippedMaps()): Promise<boolean> {
  const repository = createOptionsRepository(database);
  const digest = digestOf(shipped);
  const known = await repository.meta(digestKey);
  if (known === digest) return false;
  const claim = { key: digestKey, before: known ?? null, after: digest };
  const record = new Map([[mapsKey, packed(shipped)]]);
  const seconds = Math.floor(now / 1000);
  if (known === undefined && (await repository.meta('setup_at')) === undefined) {
    await repository.changeOnce(claim, { texts: new Map(), meta: record, version: null }, seconds);
    return false;
  }
  const recorded = await repository.meta(mapsKey);
  const base = recorded === undefined ? await firstMaps() : unpacked(recorded);
  const stored = await repository.all();
  const inForce: Partial<Record<PriceOptionKey, PriceMap>> = {};
  for (const key of shippedKeys) {
    const text = stored.get(key);
    const map = text === undefined ? (base[key] ?? {}) : optionRow(key).kind.check(text) === null ? mapOf(text) : null;
    if (map !== null) inForce[key] = map;
  }
  const isSelfUse = optionValue(stored, 'SelfUseModeEnabled');
  const earlier = keptIn(await repository.meta(keptPricesKey));
  const { maps, kept } = followShipped({ base, shipped, inForce, kept: earlier, isSelfUse, now });
  const texts = new Map<string, string | null>();
  const changed: Record<string, string> = {};
  for (const key of shippedKeys) {
    const [map, before] = [maps[key], inForce[key]];
    if (map === undefined) continue;
    const isShipped = isSame(map, shipped[key] ?? {});
    if (stored.has(key) ? isShipped || !isSame(map, before) : !isShipped)
      texts.set(key, isShipped ? null : JSON.stringify(map));
    if (!isSame(map, before)) changed[key] = JSON.stringify(before);
  }
  const isChanged = Object.keys(changed).length > 0;
  const version = isChanged ? { actor: '', reason: 'shipped', kept: JSON.stringify(changed) } : null;
  record.set(keptPricesKey, JSON.stringify(kept));
  const versions = await spelledOut(database, base, shipped);
  return (await repository.changeOnce(claim, { texts, meta: record, version, versions }, seconds)) && isChanged;
}

export const keptIn = (text: string | undefined): KeptPrices =>
  text === undefined ? {} : (JSON.parse(text) as KeptPrices);
