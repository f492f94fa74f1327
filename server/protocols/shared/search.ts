/** What a search on the web is held to, in the words of each dialect: where one has no word for a limit, its loss is listed. */
import type { SearchLimits, Tool } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import { list, number, record, text } from './json.ts';

export const isWebSearch = (name: string): boolean => name.startsWith('web_search');

/** Members of a dialect's search, as they were written. */
interface Written {
  readonly maxUses?: unknown;
  readonly allowedDomains?: unknown;
  readonly blockedDomains?: unknown;
  readonly location?: unknown;
  readonly contextSize?: unknown;
}

const wordsOf = (value: unknown): readonly string[] => list(value).filter((one): one is string => text(one) !== null);

export function searchLimits(written: Written): SearchLimits {
  const maxUses = number(written.maxUses);
  const allowedDomains = wordsOf(written.allowedDomains);
  const blockedDomains = wordsOf(written.blockedDomains);
  const place = Object.entries(record(written.location) ?? {}).filter(
    (entry): entry is [string, string] => entry[0] !== 'type' && text(entry[1]) !== null,
  );
  const contextSize = text(written.contextSize);
  return {
    ...(maxUses === null ? {} : { maxUses }),
    ...(allowedDomains.length === 0 ? {} : { allowedDomains }),
    ...(blockedDomains.length === 0 ? {} : { blockedDomains }),
    ...(place.length === 0 ? {} : { location: Object.fromEntries(place) }),
    ...(contextSize === null ? {} : { contextSize }),
  };
}

export const approximate = (location: SearchLimits['location']): Record<string, unknown> | undefined =>
  location === undefined ? undefined : { type: 'approximate', ...location };

const names: Readonly<Record<keyof SearchLimits, string>> = {
  maxUses: 'max_uses',
  allowedDomains: 'allowed_domains',
  blockedDomains: 'blocked_domains',
  location: 'user_location',
  contextSize: 'search_context_size',
};

/** What an upstream's search reads by default, so that nothing is lost with the word for it. */
const usualContext = 'medium';

/** @param carried the limits that the dialect has a word for. */
export function reportSearchLimits(
  { search }: Tool,
  index: number,
  carried: readonly (keyof SearchLimits)[],
  dropped: Dropped,
): void {
  for (const limit of Object.keys(search ?? {}) as (keyof SearchLimits)[])
    if (!carried.includes(limit) && search?.[limit] !== usualContext)
      dropped.push(`/tools/${index}/${names[limit]}: the upstream's search knows no such limit`);
}
