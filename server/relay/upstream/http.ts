/** One call of an upstream over HTTP: the one network wait before an answer. */

import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import { createDeadlines } from '../shared/deadlines.ts';
import { redacted, statusFailure, type UpstreamFailure, unreachable } from '../shared/failure.ts';
import type { UpstreamCall } from './call.ts';
import { causeOf, codeOf } from './cause.ts';
import { unpacked } from './response-body.ts';
import { askBySocket } from './websocket.ts';

export type UpstreamAnswer =
  | { readonly kind: 'answer'; readonly response: Response; readonly headersMs: number }
  | { readonly kind: 'failure'; readonly failure: UpstreamFailure };

export interface DispatchDeps {
  readonly fetch: typeof fetch;
  readonly now: () => number;
  /** Milliseconds an upstream may take to its first header. */
  readonly headersTimeoutMs: number;
  /** This process has nothing left to open a connection with. */
  readonly starved?: (() => boolean) | undefined;
  /** Whether what is leased may be spent still; absent = nothing is leased. */
  readonly tenured?: (() => boolean) | undefined;
}

export type Dispatch = (call: UpstreamCall, abort: AbortController, firstByteMs?: number) => Promise<UpstreamAnswer>;

/** Error bodies are read no further than this. */
const errorBodyLimit = 64 * 1024;
/** What an error has to say is said soon. */
const errorBodyMs = 10_000;
/** An upstream that ends an idle connection in the moment we use it is noticed so soon; a later reset may be the end of real work. */
const reuseMs = 2000;
/** The runtime keeps idle connections so long. */
const keptMs = 5 * 60_000;
/** Seconds after which descriptors may have come free. */
const starvedSeconds = 2;

const isSocket = /^wss?:/;

export function createDispatch(deps: DispatchDeps): Dispatch {
  const headerLimits = createDeadlines(250);
  /** When each channel answered last: before that no connection of it was kept. */
  const answeredMs = new Map<number, number>();
  const ask = (call: UpstreamCall, { signal }: AbortController, fresh: boolean): Promise<Response | null> => {
    const through = proxyOf(call.channel);
    if (isSocket.test(call.url)) return askBySocket({ fetch: deps.fetch, proxy: through.proxy ?? null }, call, signal);
    return deps.fetch(call.url, {
      method: call.body === null ? 'GET' : 'POST',
      headers: call.headers,
      body: call.body,
      signal,
      redirect: 'manual',
      // Bytes pass as they are; what is compressed all the same is unpacked within bounds.
      decompress: false,
      timeout: false,
      // What may be sent but once gets a connection that nobody can have ended yet.
      keepalive: !fresh && call.once !== true,
      ...through,
    } as RequestInit);
  };
  /** Nothing came back over a connection that had been idle: it was ended before it was asked. */
  const wasEnded = (error: unknown, call: UpstreamCall, askedMs: number): boolean => {
    if (codeOf(error) !== 'ECONNRESET' || call.once === true || call.body instanceof ReadableStream) return false;
    const now = deps.now();
    return now - askedMs < reuseMs && now - (answeredMs.get(call.channel.id) ?? Number.NEGATIVE_INFINITY) < keptMs;
  };
  return async (call, abort, firstByteMs = deps.headersTimeoutMs) => {
    // The machine may have slept since the request was let in.
    if (deps.tenured?.() === false) return failed(untenured);
    let timedOut = false;
    const arrived = headerLimits.start(Math.min(firstByteMs, deps.headersTimeoutMs), () => {
      timedOut = true;
      abort.abort();
    });
    const askedMs = deps.now();
    let response: Response | null = null;
    let cause: unknown = null;
    for (const fresh of connections) {
      if (fresh && (response !== null || abort.signal.aborted || !wasEnded(cause, call, askedMs))) break;
      try {
        response = await ask(call, abort, fresh);
      } catch (error) {
        cause = error;
      }
    }
    arrived.end();
    if (response === null) {
      if (timedOut) return failed({ ...unreachable, reason: 'timeout' });
      if (!abort.signal.aborted && deps.starved?.() === true) return failed(starvation);
      return failed({ ...unreachable, error: causeOf(cause, call) });
    }
    answeredMs.set(call.channel.id, askedMs);
    if (response.headers.has('content-encoding')) {
      try {
        response = await unpacked(response);
      } catch (error) {
        return failed({ ...unreachable, reason: 'broken', error: causeOf(error, call) });
      }
    }
    if (response.status >= 200 && response.status < 300) {
      return { kind: 'answer', response, headersMs: deps.now() };
    }
    const told = headerLimits.start(Math.min(deps.headersTimeoutMs, errorBodyMs), () => abort.abort());
    const failure = await readFailure(response, call);
    told.end();
    return failed(failure);
  };
}

/** A kept connection, then one of its own. */
const connections = [false, true] as const;

/** Our own shortage: no channel is to blame, and no other one could be reached either. */
const starvation: UpstreamFailure = {
  class: 'ours',
  status: null,
  error: null,
  retryAfter: starvedSeconds,
  reason: 'starved',
};

const untenured: UpstreamFailure = { ...starvation, reason: 'untenured' };

/** A channel may be reached through a proxy of its own. */
export const proxyOf = ({ setting }: ChannelSnapshot): { readonly proxy?: string } =>
  typeof setting.proxy === 'string' && setting.proxy !== '' ? { proxy: setting.proxy } : {};

const failed = (failure: UpstreamFailure): UpstreamAnswer => ({ kind: 'failure', failure });

export async function readFailure(response: Response, call: UpstreamCall): Promise<UpstreamFailure> {
  const text = await readLimited(response, errorBodyLimit);
  const mapped = Number(call.channel.statusCodeMapping[String(response.status)]);
  const status = Number.isInteger(mapped) && mapped >= 400 && mapped < 600 ? mapped : response.status;
  const decoded = call.upstream.decodeError(status, text);
  return statusFailure(status, redacted(decoded, call.channel), retryAfterIn(response.headers));
}

/** Seconds, or a date as seen from the upstream's own clock. */
function retryAfterIn(headers: Headers): number | null {
  const given = headers.get('retry-after');
  if (given === null) return null;
  const seconds = Number(given);
  const wait = Number.isNaN(seconds) ? (Date.parse(given) - Date.parse(headers.get('date') ?? '')) / 1000 : seconds;
  return Number.isFinite(wait) && wait > 0 ? wait : null;
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
