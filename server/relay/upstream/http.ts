/** One call of an upstream over HTTP: the one network wait before an answer. */

import { type OwnShortage, ownShortageIn, shortageSeconds } from '../../contract/own-shortage.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import { secondsIn } from '../../protocols/shared/wait-hint.ts';
import { nativeForm } from '../../routing/endpoint.ts';
import type { Deadlines } from '../shared/deadline.ts';
import { isOurs, readChunk } from '../shared/defect.ts';
import { redacted, statusFailure, type UpstreamFailure, unreachable } from '../shared/failure.ts';
import type { UpstreamCall } from './call.ts';
import { causeOf, codeOf } from './cause.ts';
import { decompressed } from './response-body.ts';
import { askBySocket } from './websocket.ts';

export type UpstreamAnswer =
  | { readonly kind: 'answer'; readonly response: Response; readonly headersMs: number }
  | { readonly kind: 'failure'; readonly failure: UpstreamFailure };

/** Whether this process has nothing left to open a connection with. @param met what the error named. @param waitedMs for which the connection was tried. */
export type Exhausted = (met: OwnShortage | null, waitedMs: number) => boolean;

/** Whether a connection failed for want of something of our own. */
export function isExhaustion(
  exhausted: Exhausted | undefined,
  cause: unknown,
  { url, waitedMs }: { readonly url: string; readonly waitedMs: number },
): boolean {
  const met = ownShortageIn(cause, url);
  return exhausted?.(met, waitedMs) ?? met !== null;
}

export interface DispatchDeps {
  readonly fetch: typeof fetch;
  readonly now: () => number;
  readonly deadlines: Deadlines;
  /** Milliseconds an upstream may take to its first header. */
  readonly headersTimeoutMs: number;
  readonly exhausted?: Exhausted | undefined;
  /** Whether what is leased may be spent still; absent = nothing is leased. */
  readonly isLeaseValid?: (() => boolean) | undefined;
}

export type Dispatch = (call: UpstreamCall, abort: AbortController, firstByteMs?: number) => Promise<UpstreamAnswer>;

/** Error bodies are read no further than this. */
const errorBodyLimit = 64 * 1024;
/** An error's body arrives soon. */
const errorBodyMs = 10_000;
/** An upstream that ends an idle connection in the moment we use it is noticed so soon; a later reset may be the end of real work. */
const reuseMs = 2000;
/** The runtime keeps idle connections so long. */
const keptMs = 5 * 60_000;

const isSocket = /^wss?:/;

/** Ended by its signal, and by nothing that went wrong before. */
const isAbort = (cause: unknown): boolean => cause instanceof DOMException && cause.name === 'AbortError';

/** Why a call ends itself. */
const headersTimeout = new Error('no headers in time');

export class UpstreamHttp {
  /** When each channel answered last: before that no connection of it was kept. */
  private readonly firstByteMs = new Map<number, number>();

  constructor(private readonly deps: DispatchDeps) {}

  readonly dispatch: Dispatch = async (call, abort, firstByteMs = this.deps.headersTimeoutMs) => {
    const { fetch, headersTimeoutMs, now, deadlines, exhausted, isLeaseValid } = this.deps;
    // The machine may have slept since the request was admitted.
    if (isLeaseValid?.() === false) return failed(leaseExpired);
    const incoming = deadlines.start(Math.min(firstByteMs, headersTimeoutMs), () => abort.abort(headersTimeout));
    const requestedMs = now();
    let response: Response | null = null;
    let cause: unknown = null;
    const isSent = !abort.signal.aborted;
    for (const fresh of connections) {
      if (fresh && (response !== null || abort.signal.aborted || !this.wasEnded(cause, call, requestedMs))) break;
      const proxy = proxyOf(call.channel);
      const init = isSocket.test(call.url) ? null : initOf(call, abort.signal, proxy, fresh);
      try {
        response = await (init === null ? askBySocket({ fetch, proxy }, call, abort.signal) : fetch(call.url, init));
      } catch (error) {
        cause = error;
      }
    }
    incoming.end();
    if (response === null) {
      if (abort.signal.reason === headersTimeout) return failed({ ...unreachable, reason: 'timeout' });
      if (!abort.signal.aborted && isExhaustion(exhausted, cause, { url: call.url, waitedMs: now() - requestedMs }))
        return failed(exhaustion);
      const failure: UpstreamFailure = { ...unreachable, error: causeOf(cause, call) };
      return failed(isSent && isAbort(cause) ? { ...failure, sent: true } : failure);
    }
    this.firstByteMs.set(call.channel.id, requestedMs);
    if (response.headers.has('content-encoding')) {
      try {
        response = await decompressed(response);
      } catch (error) {
        if (isOurs(error)) throw error;
        return failed({ ...unreachable, reason: 'broken', error: causeOf((error as Error).cause, call) });
      }
    }
    if (response.status >= 200 && response.status < 300) return { kind: 'answer', response, headersMs: now() };
    const read = deadlines.start(Math.min(headersTimeoutMs, errorBodyMs), () => abort.abort());
    const failure = await readFailure(response, call);
    read.end();
    return failed(failure);
  };

  /** Nothing came back over a connection that had been idle: it was closed before the request arrived. */
  private wasEnded(error: unknown, call: UpstreamCall, requestedMs: number): boolean {
    if (codeOf(error) !== 'ECONNRESET' || call.once === true) return false;
    const now = this.deps.now();
    return (
      now - requestedMs < reuseMs && now - (this.firstByteMs.get(call.channel.id) ?? Number.NEGATIVE_INFINITY) < keptMs
    );
  }
}

function initOf(call: UpstreamCall, signal: AbortSignal, proxy: string | null, fresh: boolean): BunFetchRequestInit {
  const init: BunFetchRequestInit = {
    method: call.body === null ? 'GET' : 'POST',
    headers: nativeForm(call.headers),
    body: call.body,
    signal,
    redirect: 'manual',
    // Bytes pass as they are; what is compressed all the same is unpacked within bounds.
    decompress: false,
    timeout: false,
    // A call that may be sent only once gets a connection that the peer cannot have closed yet.
    keepalive: !fresh && call.once !== true,
  };
  if (proxy !== null) init.proxy = proxy;
  return init;
}

/** A kept connection, then one of its own. */
const connections = [false, true] as const;

/** Our own shortage: no channel is to blame, and no other one could be reached either. */
export const exhaustion: UpstreamFailure = {
  class: 'ours',
  status: null,
  error: null,
  retryAfter: shortageSeconds,
  reason: 'starved',
};

const leaseExpired: UpstreamFailure = { ...exhaustion, reason: 'untenured' };

/** A channel may be reached through a proxy of its own; null = it is not. */
export const proxyOf = ({ setting: { proxy } }: ChannelSnapshot): string | null =>
  typeof proxy === 'string' && proxy !== '' ? proxy : null;

const failed = (failure: UpstreamFailure): UpstreamAnswer => ({ kind: 'failure', failure });

export async function readFailure(response: Response, call: UpstreamCall): Promise<UpstreamFailure> {
  const text = await readLimited(response, errorBodyLimit);
  const mapped = Number(call.channel.statusCodeMapping[String(response.status)]);
  const status = Number.isInteger(mapped) && mapped >= 400 && mapped < 600 ? mapped : response.status;
  const decoded = call.upstream.decodeError(status, text);
  return statusFailure(status, redacted(decoded, call.channel), retryAfterIn(response.headers, response.status));
}

/** Limits that a response may name apart, with when each is whole again. Source: https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers */
const limits = ['-requests', '-tokens', '-input-tokens', '-output-tokens', ''];
/** A limit may be free long before it is whole. */
const maxResetSeconds = 300;

/** Seconds, milliseconds, a date as seen from the upstream's own clock, or where a limit is used up when that is whole again. */
export function retryAfterIn(headers: Headers, status: number): number | null {
  const ms = Number(headers.get('retry-after-ms') ?? headers.get('x-ms-retry-after-ms') ?? Number.NaN);
  if (ms > 0 && Number.isFinite(ms)) return ms / 1000;
  const stated = headers.get('retry-after');
  const wait = stated === null ? null : waitOf(stated, headers);
  if (wait !== null || status !== 429) return wait;
  let longest: number | null = null;
  for (const limit of limits)
    for (const prefix of ['x-ratelimit', 'anthropic-ratelimit']) {
      const [remaining, reset] = ['remaining', 'reset'].map(
        (word) => headers.get(`${prefix}-${word}${limit}`) ?? headers.get(`${prefix}${limit}-${word}`),
      );
      if (reset == null || Number(remaining ?? 0) > 0) continue;
      const seconds = waitOf(reset, headers);
      if (seconds !== null) longest = Math.min(maxResetSeconds, Math.max(longest ?? 0, seconds));
    }
  return longest;
}

/** Numbers from here on are points in time, in seconds and in milliseconds. */
const [epochSeconds, epochMs] = [1e9, 1e12];

function waitOf(stated: string, headers: Headers): number | null {
  const span = secondsIn(stated);
  if (span !== null && span < epochSeconds) return span;
  const until = span === null ? Date.parse(stated) : span < epochMs ? span * 1000 : span;
  const wait = (until - Date.parse(headers.get('date') ?? '')) / 1000;
  return Number.isFinite(wait) && wait > 0 ? wait : null;
}

/** Reads at most `limit` bytes as text and drops the connection when more would come. */
async function readLimited(response: Response, limit: number): Promise<string> {
  if (response.body === null) return '';
  const reader = response.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    while (size < limit) {
      const { done, value } = await readChunk(reader);
      if (done) break;
      chunks.push(value);
      size += value.length;
    }
  } catch (error) {
    // The bytes before the break are all there is to know.
    if (isOurs(error)) throw error;
  }
  void reader.cancel().catch(() => undefined);
  return Buffer.concat(chunks).subarray(0, limit).toString('utf8');
}
