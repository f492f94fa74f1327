/** Reads price lists of others: our own option maps, and what gateways of this family publish. */

import { AppError } from '../../contract/errors.ts';
import { bucketOptions } from '../../contract/pricing/bucket.ts';
import type { PriceOptionKey } from '../../contract/pricing/tables.ts';

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
const own: ReadonlySet<string> = new Set([...Object.values(published), 'ContextTiers', 'TierRatio', 'ToolPrices']);

/** @throws AppError params_invalid when the text is no price list. */
export function readPriceList(text: string): ImportedPrices {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new AppError('params_invalid', { detail: 'not JSON' }, cause);
  }
  const list = isRecord(parsed) && parsed.data !== undefined ? parsed.data : parsed;
  const found = Array.isArray(list) ? fromRows(list) : isRecord(list) ? fromMaps(list) : {};
  if (Object.keys(found).length === 0) throw new AppError('params_invalid', { detail: 'no prices found' });
  return found;
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
  const maps: Record<string, Record<string, unknown>> = {};
  const put = (key: PriceOptionKey, model: string, value: unknown) => {
    maps[key] = { ...maps[key], [model]: value };
  };
  for (const row of rows) {
    if (!isRecord(row) || typeof row.model_name !== 'string') continue;
    if (row.quota_type === 1) put('ModelPrice', row.model_name, row.model_price);
    else if (typeof row.model_ratio === 'number') {
      put('ModelRatio', row.model_name, row.model_ratio);
      if (typeof row.completion_ratio === 'number') put('CompletionRatio', row.model_name, row.completion_ratio);
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
