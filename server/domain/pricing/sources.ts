/** Reads price lists of others: our own option maps, what gateways of this family publish, and open lists. */

import { AppError } from '../../contract/errors.ts';
import { bucketOptions } from '../../contract/pricing/bucket.ts';
import type { PriceOptionKey } from '../../contract/pricing/tables.ts';
import { safeText } from '../../contract/safe-text.ts';
import { entriesOf, type OpenList, type RefusedReason, readOpenList } from '../../providers/knowledge/open-lists.ts';

/** Entries a list has for each option; names it does not mention stay as they are. */
export type ImportedPrices = Partial<Record<PriceOptionKey, Readonly<Record<string, unknown>>>>;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Spelling of the published maps -> option. */
const published: Readonly<Record<string, PriceOptionKey>> = {
  model_ratio: 'ModelRatio',
  model_price: 'ModelPrice',
  ...Object.fromEntries(bucketOptions.map(({ key, published: name, field }) => [name ?? field, key])),
};
const own: ReadonlySet<string> = new Set([
  ...Object.values(published),
  'ContextTiers',
  'TierRatio',
  'TierFactors',
  'PriceDates',
  'ToolPrices',
]);

/** A row of a list that is not proposed, and why. */
export interface HeldPrice {
  readonly name: string;
  /** threefold: it moves so much; unit: by tokens here, by the call there, or the reverse; gone: it has no price there any more. */
  readonly reason: RefusedReason | 'threefold' | 'unit';
}

export interface PriceList {
  readonly entries: ImportedPrices;
  readonly held: readonly HeldPrice[];
  /** Names that the list has without a price. */
  readonly gone: readonly string[];
}

/** Twice as much as the largest list, and as much as fits without being noticed. */
const maxCharacters = 32_000_000;
/** Five times what the largest list has. Of a list with our own maps or rows all names are proposed. */
const maxNames = 20_000;

export interface ListReading {
  /** `2026-11-28`, UTC. */
  readonly today: string;
  /** Which models are taken from an open list, which has thousands. */
  readonly isKnown: (model: string) => boolean;
}

/** @throws AppError params_invalid when the text is no price list. */
export function readPriceList(text: string, { today, isKnown }: ListReading): PriceList {
  if (text.length > maxCharacters)
    throw new AppError('params_invalid', { detail: `larger than ${maxCharacters / 1e6} million characters` });
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new AppError('params_invalid', { detail: 'not JSON' }, cause);
  }
  const open = readOpenList(parsed, text, today);
  if (open !== null) return fromOpen(open, isKnown);
  const list = isRecord(parsed) && parsed.data !== undefined ? parsed.data : parsed;
  const found = Array.isArray(list) ? fromRows(list) : isRecord(list) ? fromMaps(list) : {};
  if (Object.keys(found).length === 0) throw new AppError('params_invalid', { detail: 'no prices found' });
  if (Object.values(found).some((map) => Object.keys(map ?? {}).length > maxNames))
    throw new AppError('params_invalid', { detail: `more than ${maxNames} names` });
  return withoutControls(found);
}

function withoutControls(found: ImportedPrices): PriceList {
  const held: HeldPrice[] = [];
  const entries = Object.fromEntries(
    Object.entries(found).map(([key, map]) => [
      key,
      Object.fromEntries(
        Object.entries(map ?? {}).filter(([name]) => {
          const isBad = /\p{Cc}/u.test(name);
          if (isBad) held.push({ name: safeText(name), reason: 'control' });
          return !isBad;
        }),
      ),
    ]),
  );
  return { entries, held, gone: [] };
}

type EntryMaps = Record<string, Record<string, unknown>>;

/** Into the map itself: one that is copied for each name takes a time that grows with the square of the list. */
function put(maps: EntryMaps, key: string, name: string, value: unknown): void {
  maps[key] ??= Object.create(null) as Record<string, unknown>;
  maps[key][name] = value;
}

function fromOpen({ models, refused }: OpenList, isKnown: (model: string) => boolean): PriceList {
  const maps: EntryMaps = {};
  const gone: string[] = [];
  for (const [name, facts] of models) {
    if (!isKnown(name)) continue;
    if (facts === null) gone.push(name);
    else for (const [key, value] of Object.entries(entriesOf(facts))) put(maps, key, name, value);
  }
  if (models.size === 0 && refused.length === 0) throw new AppError('params_invalid', { detail: 'no prices found' });
  const held = refused
    .filter(({ name, reason }) => reason === 'control' || isKnown(name))
    .map(({ name, reason }) => ({ name: safeText(name), reason }));
  return { entries: maps, held, gone };
}

function fromMaps(maps: Readonly<Record<string, unknown>>): ImportedPrices {
  const found: ImportedPrices = {};
  for (const [name, given] of Object.entries(maps)) {
    const key = own.has(name) ? (name as PriceOptionKey) : published[name];
    const map = typeof given === 'string' ? jsonOf(given) : given;
    if (key !== undefined && isRecord(map)) found[key] = map;
  }
  return found;
}

/** Rows of the pricing page: `quota_type` 1 is a price per call. */
function fromRows(rows: readonly unknown[]): ImportedPrices {
  const maps: EntryMaps = {};
  for (const row of rows) {
    if (!isRecord(row) || typeof row.model_name !== 'string') continue;
    if (row.quota_type === 1) put(maps, 'ModelPrice', row.model_name, row.model_price);
    else if (typeof row.model_ratio === 'number') {
      put(maps, 'ModelRatio', row.model_name, row.model_ratio);
      if (typeof row.completion_ratio === 'number') put(maps, 'CompletionRatio', row.model_name, row.completion_ratio);
    }
  }
  return maps;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
