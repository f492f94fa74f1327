/** While another server takes over, new connections wait; then requests that still come over connections of this one are forwarded to the other, whole, and their responses ask the client to reconnect. */
import type { Server } from 'bun';

/** The client address that the forwarding server reports. Only the process's owner can write to the socket that it comes by. */
const callerHeader = 'x-gateway-handed-from';
export const forwardedFrom = (request: Request): string => request.headers.get(callerHeader) ?? '';

type Serve<Data> = (request: Request, listener: Server<Data>) => Response | Promise<Response | undefined>;

/** Sends a request to the other server's socket. @returns its answer, undefined where the request became a socket. */
type Pass<Data> = (request: Request, listener: Server<Data>, endpoint: string) => Promise<Response | undefined>;

export interface Forwarding<Data> {
  pause(): void;
  /** @param endpoint socket of the other server, which may be followed by a third; null = it did not come, and this one serves on. */
  forwardTo(endpoint: string | null): void;
  /** There is another. */
  isOver(): boolean;
  /** A request on its way to where it is served now. */
  passed(request: Request, listener: Server<Data>, serve: Serve<Data>): Response | Promise<Response | undefined>;
}

export function createForwarding<Data>(pass: Pass<Data>): Forwarding<Data> {
  let target: PromiseWithResolvers<string | null> | null = null;
  let over = false;
  return {
    pause() {
      target = Promise.withResolvers();
    },
    forwardTo(endpoint) {
      over = endpoint !== null;
      target?.resolve(endpoint);
      target = endpoint === null ? null : Promise.withResolvers();
      target?.resolve(endpoint);
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

/** Those of the client, and its address. */
export function forwardedHeaders(request: Request, address: string): Headers {
  const headers = new Headers(request.headers);
  headers.set(callerHeader, address);
  return headers;
}

/** Path and query. */
export function targetOf({ url }: Request): string {
  const start = url.startsWith('/') ? 0 : url.indexOf('/', 8);
  return start < 0 ? '/' : url.slice(start);
}

/** @param address of the client. @throws what fetch throws where the other server is out of reach. */
export async function passRequest(request: Request, address: string, endpoint: string): Promise<Response> {
  const headers = forwardedHeaders(request, address);
  // Both are those of the body as it is sent now.
  headers.delete('content-length');
  headers.delete('transfer-encoding');
  const { method, body, signal } = request;
  const response = await fetch(`http://door${targetOf(request)}`, {
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
}
