/** What a request may cost at most, from what is known before it runs. */
import type { Usage } from '../protocols/canonical.ts';
import type { Prices } from './prices.ts';
import { pricesFor, quotaOf } from './quota.ts';

/** How large a request can become, in tokens. What is absent is nothing. */
export interface HoldSize {
  /** Words of the prompt. */
  readonly promptTokens: number;
  /** Pictures and sound of the prompt, which have prices of their own. */
  readonly images?: number;
  readonly audio?: number;
  /** The prompt may be written to a cache that lives 5 minutes or an hour. */
  readonly caches?: CacheLife;
  /** All that may be written. */
  readonly maxTokens: number;
  /** The answer may be spoken. */
  readonly speaks?: boolean;
  /** Calls of tools that are paid by the call. */
  readonly toolCalls?: Readonly<Record<string, number>>;
}

export type CacheLife = 'none' | '5m' | '1h';

const noTools: Readonly<Record<string, number>> = {};

/**
 * The whole prompt at the dearest price that may apply, and all the output. Rounded like the charge, so that a hold never
 * falls short of a charge within its bounds (new-api rounds down and leaves the prompt out).
 */
export function holdEstimate(base: Prices, size: HoldSize): number {
  const { promptTokens, images = 0, audio = 0, caches = 'none', maxTokens, speaks = false } = size;
  const prices = base.tiers.length === 0 ? base : pricesFor(base, promptTokens + images + audio);
  const words = dearestInput(prices, caches);
  // A picture or sound that the upstream reports as words costs what words cost.
  const asImages = images > 0 && prices.imageRatio > 1;
  const asAudio = audio > 0 && prices.audioRatio > 1;
  const told = promptTokens + (asImages ? 0 : images) + (asAudio ? 0 : audio);
  const spoken = speaks && prices.audioRatio * prices.audioCompletionRatio > prices.completionRatio;
  const usage: Usage = {
    input: words === 'input' ? told : 0,
    cacheRead: words === 'cacheRead' ? told : 0,
    cacheWrite5m: words === 'cacheWrite5m' ? told : 0,
    cacheWrite1h: words === 'cacheWrite1h' ? told : 0,
    audioInput: asAudio ? audio : 0,
    imageInput: asImages ? images : 0,
    output: spoken ? 0 : maxTokens,
    reasoning: 0,
    audioOutput: spoken ? maxTokens : 0,
    toolCalls: size.toolCalls ?? noTools,
    raw: null,
  };
  return quotaOf(usage, base);
}

function dearestInput(prices: Prices, caches: CacheLife): 'input' | 'cacheRead' | 'cacheWrite5m' | 'cacheWrite1h' {
  const most = Math.max(
    1,
    prices.cacheRatio,
    caches === 'none' ? 0 : prices.cacheWriteRatio,
    caches === '1h' ? prices.cacheWrite1hRatio : 0,
  );
  if (most === 1) return 'input';
  if (most === prices.cacheRatio) return 'cacheRead';
  return caches === '1h' && most === prices.cacheWrite1hRatio ? 'cacheWrite1h' : 'cacheWrite5m';
}
