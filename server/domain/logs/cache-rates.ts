/** How much of their prompts requests found in their provider's cache, by channel, key, agent, model or day. */
import { type Database, forReading } from '../../../db/open.ts';
import {
  type CacheRateColumn,
  type CacheRateRow,
  createCacheRatesRepository,
} from '../../../db/repositories/cache-rates.ts';
import type { LogFilter } from '../../../db/repositories/log-filter.ts';
import { createLogsRepository } from '../../../db/repositories/logs.ts';
import type { CacheRateBy, CacheRates } from '../../contract/cache-rates.ts';

const columns: Readonly<Record<CacheRateBy, CacheRateColumn>> = {
  channel: 'channel_id',
  key: 'token_id',
  agent: 'agent_id',
  model: 'model_name',
  day: 'day',
};
/** Groups of an answer: those that read most; days are few. */
const maxRates = 500;

export function createCacheRates({ database }: { readonly database: Database }) {
  const repository = createCacheRatesRepository(forReading(database));
  const logs = createLogsRepository(forReading(database));

  const namesOf = async (found: readonly CacheRateRow[], by: CacheRateBy): Promise<(row: CacheRateRow) => string> => {
    if (by === 'day') return ({ key }) => new Date(Number(key) * 1000).toISOString().slice(0, 10);
    if (by === 'channel') {
      const names = await logs.channelNames();
      return ({ key }) => names.get(String(key)) ?? '';
    }
    if (by === 'key') {
      const names = await logs.keysNamed(found.map(({ key }) => Number(key)));
      return ({ key }) => names.get(Number(key))?.name ?? '';
    }
    if (by === 'model') return ({ key }) => String(key);
    const texts = await logs.textsOf(found.map(({ user_id, key }) => [user_id, Number(key)]));
    const names = new Map(found.map((row, at) => [row, texts[at] ?? '']));
    return (row) => (Number(row.key) === 0 ? '' : (names.get(row) ?? ''));
  };

  /** @param filter its type is that of charges. */
  return async (filter: LogFilter, by: CacheRateBy): Promise<CacheRates> => {
    const found = await repository.rates(filter, columns[by]);
    const name = await namesOf(found, by);
    const rates = new Map<string, CacheRates[number]>();
    for (const row of found) {
      const id = by === 'channel' || by === 'key' ? Number(row.key) : 0;
      // One agent of several users is one: its name says what it is, not whose.
      const key = `${id} ${name(row)}`;
      const known = rates.get(key);
      rates.set(key, {
        id,
        name: name(row),
        requests: row.requests + (known?.requests ?? 0),
        input_tokens: row.input_tokens + (known?.input_tokens ?? 0),
        cached_tokens: row.cached_tokens + (known?.cached_tokens ?? 0),
        missed: row.missed + (known?.missed ?? 0),
        lost: row.lost + (known?.lost ?? 0),
        sampled: row.sampled,
      });
    }
    const order =
      by === 'day'
        ? (one: CacheRates[number], other: CacheRates[number]) => one.name.localeCompare(other.name)
        : (one: CacheRates[number], other: CacheRates[number]) => other.input_tokens - one.input_tokens;
    return [...rates.values()].sort(order).slice(0, maxRates);
  };
}

export type CacheRatesService = ReturnType<typeof createCacheRates>;
