/**
 * Calls to addresses that users choose, sent through a worker of the operator's: the receiver sees the worker's address, never this one.
 * What the guard refuses by its looks is refused before the worker is asked; a name is resolved where the worker runs.
 */
import { isIP } from 'node:net';
import { AppError } from '../contract/errors.ts';
import { isPublicAddress } from './addresses.ts';
import type { Fetch } from './guard.ts';

export interface Worker {
  /** '' = there is none, and calls go out from here. */
  readonly url: string;
  readonly key: string;
}

export interface WorkerRequest {
  /** Read at every call: the settings may change. */
  readonly worker: () => Worker;
  /** Calls that no worker carries. */
  readonly direct: Fetch;
  /** Calls to the worker itself, which the operator chose. */
  readonly fetch: Fetch;
  readonly schemes: readonly string[];
}

const timeoutMs = 20_000;

export function createWorkerFetch({ worker, direct, fetch, schemes }: WorkerRequest): Fetch {
  return async (address, init = {}) => {
    const { url, key } = worker();
    if (url === '') return direct(address, init);
    const target = URL.canParse(address) ? new URL(address) : null;
    const literal = target?.hostname.replace(/^\[|\]$/g, '') ?? '';
    const isHidden = isIP(literal) !== 0 && !isPublicAddress(literal);
    if (target === null || !schemes.includes(target.protocol) || target.username !== '' || isHidden)
      throw new AppError('address_forbidden', { host: target?.hostname ?? address.slice(0, 100) });
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        url: target.href,
        key,
        method: init.method ?? 'GET',
        headers: Object.fromEntries(new Headers(init.headers)),
        ...(typeof init.body === 'string' ? { body: jsonOr(init.body) } : {}),
      }),
      signal: init.signal ?? AbortSignal.timeout(timeoutMs),
    });
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      throw new AppError('address_redirects', { host: new URL(url).host });
    }
    return response;
  };
}

/** Workers of this family take the body as JSON. */
function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
