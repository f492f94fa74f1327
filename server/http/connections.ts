/**
 * How long connections may do nothing, and how many one caller may have. The listener closes those that are silent
 * between requests; a request that is being answered is exempt, so that a silent stream lives; one whose body has
 * stalled is not. When descriptors run short, connections without a request go first.
 */
import type { RequestWatch } from '../relay/admission/observer.ts';
import type { Descriptors } from './descriptors.ts';

export interface ConnectionLimits {
  /** Seconds a connection may be silent between requests, 8 to 255: the listener's clock ticks every 4. Headers get 12. */
  readonly idleSeconds: number;
  /** Within this time a body must arrive, or a long one make progress. Milliseconds. */
  readonly bodyMs: number;
  /** Connections of one caller; null = a quarter of the descriptors. */
  readonly perAddress: number | null;
}

export const defaultConnectionLimits: ConnectionLimits = { idleSeconds: 120, bodyMs: 30_000, perAddress: null };

/** The listener's side, as far as it is needed here. */
export interface Listener {
  readonly port: number | undefined;
  timeout(request: Request, seconds: number): void;
  requestIP(request: Request): { readonly port: number } | null;
}

export interface Connections extends RequestWatch {
  readonly idleSeconds: number;
  /**
   * Must be called for every request, before anything waits. @param isForwarded another server answers it: nobody reports
   * that its body is there, and its connection ends with the response. @returns the request to go on with.
   */
  begin(request: Request, isForwarded?: boolean): Request;
  /** For answers that are handed over in one piece; one that lasts stays. */
  onResponse(request: Request): void;
  /** A request that becomes a socket: the connection is in use until the returned function is called. */
  reserve(request: Request): () => void;
  /** Ports, on the other side, of connections in use, and whether their request has arrived. */
  busy(): Map<number, boolean>;
  /** One look at everything; `watch` calls it by itself. */
  check(): Promise<void>;
  watch(listener: Listener, isExempt: (address: string) => boolean): void;
  stop(): void;
}

interface Open {
  /** The listener's own, which its time limit hangs on. */
  readonly request: Request;
  readonly startedMs: number;
  received: boolean;
  unlimited: boolean;
  /** The listener's limit is off. */
  hasNoTimeout: boolean;
  /** Nothing more has come although we ask for it. */
  waiting: boolean;
  /** Bytes so far, and those at the beginning of the current span of time. */
  bytes: number;
  seenBytes: number;
  seenMs: number;
}

/** From here on, and where no length is declared, a body is timed as it comes: it may take long while data keeps coming. */
const longBody = 64 * 1024;
/** A body that comes slower than this is not coming. Bytes per second. */
const minBytesPerSecond = 256;
const checkMs = 1000;
const loopback = /^(127\.|0:0:0:0:0:0:0:1$)/;

/**
 * @param descriptors null where another thread looks after all connections.
 * @param now milliseconds that never jump.
 * @param otherThreads connections in use in other threads.
 */
export function createConnections(
  limits: ConnectionLimits,
  descriptors: Descriptors | null,
  now: () => number,
  otherThreads: () => Promise<Iterable<readonly [number, boolean]>> = () => Promise.resolve([]),
): Connections {
  const open = new Map<Request, Open>();
  /** Ports, on the other side, of sockets. */
  const held = new Set<number>();
  /** When connections were first seen, by descriptor and port. */
  let known = new Map<string, number>();
  let listener: Listener | null = null;
  let exempt: (address: string) => boolean = () => false;
  let timer: ReturnType<typeof setInterval> | undefined;
  const limit = descriptors?.limit ?? Number.POSITIVE_INFINITY;
  const perAddress = limits.perAddress ?? Math.floor(limit / 4);
  /** Kept free: a relayed request needs a connection of its own, one for the API two. */
  const spare = Math.min(128, Math.floor(limit / 8));
  const liftMs = (limits.idleSeconds * 1000) / 3;

  /** Counts what arrives. When the gateway itself stops reading, the sender is not blamed. */
  const watched = (request: Request, body: ReadableStream<Uint8Array>, one: Open): Request => {
    one.waiting = false;
    const reader = body.getReader();
    const counted = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          one.waiting = true;
          const { done, value } = await reader.read();
          one.waiting = false;
          if (done) {
            one.received = true;
            return controller.close();
          }
          one.bytes += value.length;
          controller.enqueue(value);
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
    const { method, headers, signal } = request;
    return new Request(request.url, { method, headers, signal, body: counted });
  };

  const hasStalled = (one: Open, at: number): boolean => {
    const span = at - one.seenMs;
    if (one.waiting && span < limits.bodyMs) return false;
    const came = one.bytes - one.seenBytes;
    one.seenMs = at;
    one.seenBytes = one.bytes;
    return one.waiting && came < (minBytesPerSecond * span) / 1000;
  };

  const checkRequests = (at: number): void => {
    for (const one of open.values()) {
      if (!one.received && hasStalled(one, at)) listener?.timeout(one.request, 1);
      else if (!one.hasNoTimeout && at - one.startedMs >= liftMs) {
        one.hasNoTimeout = true;
        listener?.timeout(one.request, 0);
      }
    }
  };

  const busy = (): Map<number, boolean> => {
    const ports = new Map<number, boolean>([...held].map((port) => [port, true]));
    for (const one of open.values()) ports.set(listener?.requestIP(one.request)?.port ?? 0, one.received);
    return ports;
  };

  const checkConnections = async (at: number): Promise<void> => {
    if (descriptors === null || listener?.port === undefined) return;
    const used = await descriptors.used();
    if (used !== null && used.length < Math.min(perAddress, limit / 2)) return known.clear();
    const others = await otherThreads();
    const inUse = new Map([...busy(), ...others]);
    const callers = new Map<string, { descriptor: number; rank: number; since: number }[]>();
    const seen = new Map<string, number>();
    const free = new Set<string>();
    for (const one of descriptors.inbound(listener.port, used)) {
      const key = `${one.descriptor}:${one.port}`;
      const since = known.get(key) ?? at;
      seen.set(key, since);
      const received = inUse.get(one.port);
      const mine = callers.get(one.caller) ?? [];
      mine.push({ descriptor: one.descriptor, since, rank: received === undefined ? 0 : received ? 2 : 1 });
      callers.set(one.caller, mine);
      if (loopback.test(one.address) || exempt(one.address)) free.add(one.caller);
    }
    known = seen;
    let short = (used?.length ?? limit) - (limit - spare);
    const end = (list: { descriptor: number; rank: number; since: number }[], count: number): void => {
      // Without a request first, then those still sending one, the oldest first; what is being answered stays.
      const idle = list.filter((one) => one.rank < 2).sort((a, b) => a.rank - b.rank || a.since - b.since);
      for (const one of idle.slice(0, Math.max(0, count))) {
        descriptors.end(one.descriptor);
        list.splice(list.indexOf(one), 1);
        short--;
      }
    };
    for (const [caller, list] of callers) if (!free.has(caller)) end(list, list.length - perAddress);
    // The address with the most connections loses one first.
    for (const list of [...callers.values()].sort((a, b) => b.length - a.length)) end(list, short);
  };

  let looking = false;
  const check = async (): Promise<void> => {
    const at = now();
    checkRequests(at);
    if (looking) return;
    looking = true;
    await checkConnections(at).finally(() => {
      looking = false;
    });
  };

  const over = (request: Request): void => {
    const one = open.get(request);
    if (one === undefined) return;
    open.delete(request);
    // What was lifted would stay lifted for whatever comes next on this connection.
    if (one.hasNoTimeout) listener?.timeout(one.request, limits.idleSeconds);
  };

  return {
    idleSeconds: limits.idleSeconds,
    begin(request, isForwarded = false) {
      const at = now();
      const length = request.headers.get('content-length');
      const one: Open = {
        request,
        startedMs: at,
        received: false,
        unlimited: false,
        hasNoTimeout: false,
        waiting: true,
        bytes: 0,
        seenBytes: 0,
        seenMs: at,
      };
      if (length === null ? request.body === null : length === '0') one.received = true;
      let going = request;
      const isTimed = isForwarded || length === null || Number(length) > longBody;
      if (!one.received && isTimed && request.body !== null) going = watched(request, request.body, one);
      open.set(going, one);
      return going;
    },
    onReceived(request) {
      const one = open.get(request);
      if (one !== undefined) one.received = true;
    },
    onStreaming(request) {
      const one = open.get(request);
      if (one !== undefined) one.unlimited = true;
    },
    over,
    reserve(request) {
      open.delete(request);
      const port = listener?.requestIP(request)?.port ?? 0;
      held.add(port);
      return () => void held.delete(port);
    },
    onResponse(request) {
      if (open.get(request)?.unlimited !== true) over(request);
    },
    busy,
    check,
    watch(served, isExempt) {
      listener = served;
      exempt = isExempt;
      timer = setInterval(() => void check(), Math.min(checkMs, liftMs, limits.bodyMs));
      timer.unref();
    },
    stop: () => clearInterval(timer),
  };
}
