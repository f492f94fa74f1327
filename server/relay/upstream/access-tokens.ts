/** Tokens that keys buy from their providers: fetched once, shared, renewed before they expire. */
import { AppError } from '../../contract/errors.ts';
import { shortageSeconds } from '../../contract/own-shortage.ts';
import type { AuthInput } from '../../providers/adapter.ts';
import { type Exhausted, isExhaustion } from './http.ts';

/** Renewed so long before the end. */
const marginSeconds = 300;

export function createAccessTokens(deps: {
  readonly fetch: typeof fetch;
  readonly now: () => number;
  readonly exhausted?: Exhausted | undefined;
}): AuthInput['token'] {
  const kept = new Map<string, { readonly token: Promise<string>; until: number }>();
  return (order) => {
    const known = kept.get(order.id);
    if (known !== undefined && known.until > deps.now()) return known.token;
    const buy = async (): Promise<string> => {
      const sent = { method: 'POST', headers: order.headers, body: order.body, redirect: 'manual' } as const;
      const answer = await answerOf(deps, order.url, sent);
      const found = answer === null ? null : order.read(answer);
      // An answer of another form names no token either: nobody but the key's owner can tell why.
      if (found === null) throw new AppError('upstream_key');
      entry.until = deps.now() + Math.max(60, found.seconds - marginSeconds) * 1000;
      return found.token;
    };
    const token = buy();
    // Others wait for the one that is being fetched.
    const entry = { token, until: Number.POSITIVE_INFINITY };
    kept.set(order.id, entry);
    // reason: whoever asked for it gets the error; here it is only forgotten.
    token.catch(() => kept.delete(order.id));
    return token;
  };
}

/** Statuses of a seller that is well and knows the key, and cannot sell now: too early, too fast. */
const passing: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * @returns what the seller answered; null = it refused the key.
 * @throws AppError overloaded: it could not be asked for want of something of our own; upstream_unreachable: it could not be reached,
 * or could not sell.
 */
async function answerOf(
  { fetch, now, exhausted }: Parameters<typeof createAccessTokens>[0],
  url: string,
  sent: RequestInit,
): Promise<unknown> {
  const askedMs = now();
  let response: Response;
  try {
    response = await fetch(url, sent);
    if (response.ok) return await response.json();
  } catch (cause) {
    if (isExhaustion(exhausted, cause, { url, waitedMs: now() - askedMs }))
      throw new AppError('overloaded', { seconds: shortageSeconds }, cause);
    // reason: network and JSON of the seller alone.
    throw new AppError('upstream_unreachable', {}, cause);
  }
  void response.body?.cancel().catch(() => undefined);
  if (response.status >= 500 || passing.has(response.status))
    throw new AppError('upstream_unreachable', {}, new Error(`HTTP ${response.status}`));
  return null;
}
