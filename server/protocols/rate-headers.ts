/** How the limits of a caller stand, as headers of an answer: the site's own, never those of an upstream. */
import type { RateUse } from '../contract/snapshot.ts';
import type { ProtocolId } from './canonical.ts';
import { codecFor } from './registry.ts';

/** Go's way of writing a span, as OpenAI does. Source: https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers */
function spanOf(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

/** @param nowMs of the wall clock; null = not known. */
export function rateHeaders(
  protocol: ProtocolId,
  uses: readonly RateUse[],
  nowMs: number | null,
): Readonly<Record<string, string>> {
  const own = codecFor(protocol).definition.rateHeaders;
  if (own !== undefined) return own(uses, nowMs);
  const headers: Record<string, string> = {};
  for (const { kind, limit, remaining, resetMs } of uses) {
    headers[`x-ratelimit-limit-${kind}`] = String(limit);
    headers[`x-ratelimit-remaining-${kind}`] = String(remaining);
    headers[`x-ratelimit-reset-${kind}`] = spanOf(resetMs);
  }
  return headers;
}
