/** While another server takes over, new connections wait; then requests that still come over connections of this one are forwarded to the other, whole, and their responses ask the client to reconnect. */
import type { Server } from 'bun';

/** The client address that the forwarding server reports. Only the process's owner can write to the socket that it comes by. */
const callerHeader = 'x-gateway-handed-from';
export const forwardedFrom = (request: Request): string => request.headers.get(callerHeader) ?? '';

export interface Forwarding {
  pause(): void;
  /** @param endpoint socket of the other server; null = it did not come, and this one serves on. */
  forwardTo(endpoint: string | null): void;
  /** There is another. */
  isOver(): boolean;
  /** A request on its way to where it is served now. */
  passed<Data>(
    request: Request,
    listener: Server<Data>,
    serve: (request: Request, listener: Server<Data>) => Response | Promise<Response | undefined>,
  ): Response | Promise<Response | undefined>;
}

export function createForwarding(): Forwarding {
  let target: PromiseWithResolvers<string | null> | null = null;
  let over = false;
  return {
    pause() {
      target = Promise.withResolvers();
    },
    forwardTo(endpoint) {
      over = endpoint !== null;
      target?.resolve(endpoint);
      if (endpoint === null) target = null;
    },
    isOver: () => over,
    passed(request, listener, serve) {
      if (target === null) return serve(request, listener);
      return target.promise.then((endpoint) =>
        endpoint === null ? serve(request, listener) : pass(request, listener, endpoint),
      );
    },
  };
}

/** How many of a kind wait for an answer. */
export function createOpenRequests() {
  let count = 0;
  let waiting: (() => void)[] = [];
  return {
    during<T>(work: Promise<T>): Promise<T> {
      count++;
      return work.finally(() => {
        count--;
        if (count > 0) return;
        for (const resolve of waiting) resolve();
        waiting = [];
      });
    },
    none: (): Promise<void> => (count === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}

async function pass(request: Request, listener: Server<unknown>, endpoint: string): Promise<Response> {
  listener.timeout(request, 0);
  const headers = new Headers(request.headers);
  headers.set(callerHeader, listener.requestIP(request)?.address ?? '');
  // Both are those of the body as it is sent now.
  headers.delete('content-length');
  headers.delete('transfer-encoding');
  const { method, body, signal } = request;
  const start = request.url.startsWith('/') ? 0 : request.url.indexOf('/', 8);
  try {
    const response = await fetch(`http://door${start < 0 ? '/' : request.url.slice(start)}`, {
      unix: endpoint,
      method,
      headers,
      body,
      redirect: 'manual',
      decompress: false,
      signal,
    } as RequestInit);
    response.headers.set('connection', 'close');
    return response;
  } catch {
    return new Response(null, { status: 503, headers: { 'retry-after': '1', connection: 'close' } });
  }
}
