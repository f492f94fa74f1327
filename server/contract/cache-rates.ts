/** Hit rates of providers' caches: how much of their prompts requests found there. */
import * as z from 'zod/mini';

export const cacheRateKinds = ['channel', 'key', 'agent', 'model', 'day'] as const;
export type CacheRateBy = (typeof cacheRateKinds)[number];
/** Which channel served is the operator's to know. */
export const ownCacheRateKinds = ['key', 'agent', 'model', 'day'] as const satisfies readonly CacheRateBy[];

const int = z.int();
export const cacheRatesShape = z.array(
  z.object({
    /** Id of the channel or key; else 0. */
    id: int,
    /** Days as `2026-11-03` (UTC); empty = no agent was named, or it is gone. */
    name: z.string(),
    requests: int,
    /** All tokens of prompts; those among them that a cache had. */
    input_tokens: int,
    cached_tokens: int,
    /** Requests whose cache should have had more (`cache_miss` of the row), and the quota that this cost. */
    missed: int,
    lost: int,
    /** The log is long: the figures are estimates from some of its rows. */
    sampled: z.boolean(),
  }),
);
export type CacheRates = z.infer<typeof cacheRatesShape>;

/** From 0 to 1; null = there were no prompts. */
export const hitRateOf = ({
  input_tokens: input,
  cached_tokens: cached,
}: Pick<CacheRates[number], 'input_tokens' | 'cached_tokens'>): number | null =>
  input <= 0 ? null : Math.min(1, cached / input);
