/** Tokens that keys buy from their providers: fetched once, shared, renewed before they expire. */
import { AppError } from '../../contract/errors.ts';
import type { AuthInput } from '../../providers/adapter.ts';

/** Renewed so long before the end. */
const marginSeconds = 300;

export function createAccessTokens(deps: {
  readonly fetch: typeof fetch;
  readonly now: () => number;
}): AuthInput['token'] {
  const kept = new Map<string, { readonly token: Promise<string>; until: number }>();
  return (order) => {
    const known = kept.get(order.id);
    if (known !== undefined && known.until > deps.now()) return known.token;
    const buy = async (): Promise<string> => {
      const response = await deps.fetch(order.url, {
        method: 'POST',
        headers: order.headers,
        body: order.body,
        redirect: 'manual',
      });
      const found = response.ok ? order.read(await response.json()) : null;
      if (found === null) throw new AppError('upstream_key');
      entry.until = deps.now() + Math.max(60, found.seconds - marginSeconds) * 1000;
      return found.token;
    };
    const token = buy();
    // Others wait for the one that is being fetched.
    const entry = { token, until: Number.POSITIVE_INFINITY };
    kept.set(order.id, entry);
    token.catch(() => kept.delete(order.id));
    return token;
  };
}
