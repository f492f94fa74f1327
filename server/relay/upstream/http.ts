import { createDeadlines } from '../shared/deadlines.ts';
import { classify, redact, type UpstreamFailure, unreachable } from '../shared/failure.ts';
import type { ChannelSnapshot } from '../state/snapshot.ts';
import type { UpstreamCall } from './call.ts';
import { askBySocket } from './websocket.ts';

export type UpstreamAnswer =
  | { readonly kind: 'answer'; readonly response: Response; readonly headersMs: number }
  | { readonly kind: 'failure'; readonly failure: UpstreamFailure };

export interface DispatchDeps {
  readonly fetch: typeof fetch;
  readonly now: () => number;
  /** Milliseconds an upstream may take to its first header. */
  readonly headersTimeoutMs: number;
}

/** Error bodies are read no further than this. */
const errorBodyLimit = 64 * 1024;
/** What an error has to say is said soon. */
const errorBodyMs = 10_000;

export function createDispatch(
  deps: DispatchDeps,
): (call: UpstreamCall, abort: AbortController) => Promise<UpstreamAnswer> {
  const headerLimits = createDeadlines(250);
  return async (call, abort) => {
    let timedOut = false;
    const arrived = headerLimits.start(deps.headersTimeoutMs, () => {
      timedOut = true;
      abort.abort();
    });
    let response: Response | null;
    try {
      response = /^wss?:/.test(call.url)
        ? await askBySocket({ fetch: deps.fetch, proxy: proxyOf(call.channel).proxy ?? null }, call, abort.signal)
        : await deps.fetch(call.url, {
            method: call.body === null ? 'GET' : 'POST',
            headers: call.headers,
            body: call.body,
            signal: abort.signal,
            redirect: 'manual',
            // Bytes pass as they are; inflating would also open the door to gzip bombs.
            decompress: false,
            timeout: false,
            ...proxyOf(call.channel),
          } as RequestInit);
    } catch {
      response = null;
    } finally {
      arrived();
    }
    if (response === null) return failed(timedOut ? { ...unreachable, reason: 'timeout' } : unreachable);
    if (response.status >= 200 && response.status < 300) {
      return { kind: 'answer', response, headersMs: deps.now() };
    }
    const told = headerLimits.start(Math.min(deps.headersTimeoutMs, errorBodyMs), () => abort.abort());
    const failure = await readFailure(response, call);
    told();
    return failed(failure);
  };
}

/** A channel may be reached through a proxy of its own. */
export const proxyOf = ({ setting }: ChannelSnapshot): { readonly proxy?: string } =>
  typeof setting.proxy === 'string' && setting.proxy !== '' ? { proxy: setting.proxy } : {};

const failed = (failure: UpstreamFailure): UpstreamAnswer => ({ kind: 'failure', failure });

export async function readFailure(response: Response, call: UpstreamCall): Promise<UpstreamFailure> {
  const text = await readLimited(response, errorBodyLimit);
  const mapped = Number(call.channel.statusCodeMapping[String(response.status)]);
  const status = Number.isInteger(mapped) && mapped >= 400 && mapped < 600 ? mapped : response.status;
  const decoded = call.upstream.decodeError(status, text);
  const error = { ...decoded, message: redact(decoded.message, [...call.channel.keys, call.channel.baseUrl]) };
  const wait = Number(response.headers.get('retry-after'));
  return {
    class: classify(status, error),
    status,
    error,
    retryAfter: Number.isFinite(wait) && wait > 0 ? wait : null,
    reason: 'status',
  };
}

/** Reads at most `limit` bytes as text and drops the connection when more would come. */
export async function readLimited(response: Response, limit: number): Promise<string> {
  if (response.body === null) return '';
  const reader = response.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    while (size < limit) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
      size += value.length;
    }
  } catch {
    // What arrived before the break is all there is to know.
  }
  void reader.cancel().catch(() => undefined);
  return Buffer.concat(chunks).subarray(0, limit).toString('utf8');
}
