/**
 * What arrives here of a request: for `gateway doctor --url`, which asks from outside what a proxy in between does to
 * streams, long silences, bodies, headers and paths. Anybody may ask, so it names nothing of this site, and few may wait at once.
 */
import { AppError, formatError } from '../contract/errors.ts';
import { languageFor } from '../contract/language.ts';
import { reachHeaders, reachPath } from '../contract/reach.ts';
import { sleep, systemTimers, type Timers } from '../contract/timers.ts';

export const isReach = (path: string): boolean => path === reachPath || path.startsWith(`${reachPath}/`);

/** Answers that wait or are streamed, in one relay thread. */
const maxOpen = 16;
/** Longest silence before an answer. */
const maxSilentMs = 300_000;
const maxPieces = 20;
const maxEveryMs = 2000;
/** Bytes of a body that are counted. */
const maxBody = 32 * 1024 * 1024;

export interface ReachFacts {
  /** Host that is not of our proxies wrote X-Forwarded-For. */
  readonly forwarded: 'none' | 'untrusted' | 'believed';
  /** What is believed of the scheme that the client used. */
  readonly secure: boolean;
}

const headers = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

/** A number of the query within its bounds; 0 = absent or none. */
function bounded(query: URLSearchParams, name: string, most: number): number {
  const value = Number(query.get(name) ?? 0);
  return Number.isFinite(value) ? Math.min(most, Math.max(0, value)) : 0;
}

/** @returns bytes that came, at most `maxBody`. */
async function received(body: ReadableStream<Uint8Array> | null): Promise<number> {
  let bytes = 0;
  const reader = body?.getReader();
  while (reader !== undefined && bytes < maxBody) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.length;
  }
  await reader?.cancel();
  return bytes;
}

/** Answers of one listener, which counts those that last. */
export class Reach {
  #open = 0;
  readonly #timers: Timers;

  constructor(timers: Timers = systemTimers) {
    this.#timers = timers;
  }

  /** `?silent=` milliseconds before the answer; `?pieces=` of a stream, one `&every=` milliseconds; the body is counted. */
  async answer(request: Request, facts: ReachFacts): Promise<Response> {
    const start = request.url.indexOf('/', 8);
    const target = start < 0 ? '/' : request.url.slice(start);
    const query = new URLSearchParams(target.slice(target.indexOf('?') + 1));
    const silentMs = bounded(query, 'silent', maxSilentMs);
    const pieces = Math.floor(bounded(query, 'pieces', maxPieces));
    const lasts = silentMs > 0 || pieces > 0 || request.body !== null;
    if (lasts && this.#open >= maxOpen) return busy(request);
    if (lasts) this.#open++;
    let isOpen = lasts;
    const end = (): void => {
      if (isOpen) this.#open--;
      isOpen = false;
    };
    if (pieces > 0) return this.#stream(pieces, bounded(query, 'every', maxEveryMs), end);
    try {
      const bytes = await received(request.body);
      if (silentMs > 0) await this.#silence(silentMs, request.signal);
      return this.#echo(request, target, { bytes, ...facts });
    } finally {
      end();
    }
  }

  /** Ends early where the client has left. */
  #silence(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#timers.set(resolve, ms);
      signal.addEventListener('abort', () => {
        timer.close();
        resolve();
      });
    });
  }

  #echo(request: Request, target: string, facts: ReachFacts & { readonly bytes: number }): Response {
    return Response.json(
      {
        gateway: true,
        now: this.#timers.now(),
        once: crypto.randomUUID(),
        method: request.method,
        target,
        host: request.headers.get('host') ?? '',
        scheme: request.headers.get('x-forwarded-proto') ?? '',
        headers: reachHeaders.filter((name) => request.headers.has(name)),
        ...facts,
      },
      { headers },
    );
  }

  /** With the headers of every other stream: what a proxy does to this one it does to those. */
  #stream(pieces: number, everyMs: number, end: () => void): Response {
    const timers = this.#timers;
    const encoder = new TextEncoder();
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (sent > 0) await sleep(timers, everyMs);
        sent++;
        controller.enqueue(encoder.encode(`data: {"piece":${sent}}\n\n`));
        if (sent < pieces) return;
        end();
        controller.close();
      },
      cancel: end,
    });
    return new Response(body, {
      headers: {
        ...headers,
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store, no-transform',
        'x-accel-buffering': 'no',
      },
    });
  }
}

function busy(request: Request): Response {
  const { code, params, row } = new AppError('overloaded', { seconds: 5 });
  const message = formatError(code, params, languageFor(request.headers.get('accept-language'), undefined));
  return Response.json(
    { success: false, message, code },
    { status: row.status, headers: { ...headers, 'retry-after': '5' } },
  );
}
