/** Headers of an answer: what a client may see of the upstream's, and our own. */
import { formatUsd } from '../../contract/quota.ts';
import type { Reshape } from '../../protocols/codec.ts';
import type { Exchange } from '../admission/exchange.ts';
import { shownType } from '../shared/sealed.ts';
import type { Outcome } from '../upstream/try-channels.ts';

/** Upstream headers a client may see; the rest tells who the upstream is or how its account stands. */
export const shownHeaders = ['content-type', 'openai-version', 'openai-processing-ms', 'x-request-id'] as const;

export const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'x-accel-buffering': 'no',
} as const;

export const streamHeadersOf = (shape: Reshape | null) =>
  shape === null ? streamHeaders : { ...streamHeaders, 'content-type': shape.contentType };

export const shownFrom = (response: Response): Record<string, string> => {
  const headers: Record<string, string> = {};
  for (const name of shownHeaders) {
    const value = response.headers.get(name);
    if (value !== null) headers[name] = name === 'content-type' ? shownType(value) : value;
  }
  return headers;
};

export const ownHeaders = (
  { inquiry, plan, charge }: Exchange,
  outcome: Pick<Outcome, 'tried'>,
): Record<string, string> => {
  const headers: Record<string, string> = { 'x-oneapi-request-id': inquiry.requestId };
  if (plan.showCost && charge.charged !== null) {
    headers['x-gateway-quota'] = String(charge.charged);
    headers['x-gateway-cost-usd'] = formatUsd(charge.charged, 6, plan.prices.quotaPerUnit);
  }
  if (plan.trace !== null) {
    const asked = outcome.tried.map(({ channelId }) => channelId);
    headers['x-gateway-trace'] = `${plan.trace}; tried=${asked.join(',')}`;
  }
  return headers;
};
