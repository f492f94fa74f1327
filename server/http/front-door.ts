/** The one listener clients reach: relay paths are served here, the console's files too, everything else is forwarded to the control thread. */
import type { Server, ServerWebSocket } from 'bun';
import { AppError, formatError } from '../contract/errors.ts';
import type { Peer } from '../relay/exchange.ts';
import type { Conversation } from '../relay/realtime/conversation.ts';
import type { Relay } from '../relay/relay.ts';
import { clientAddress } from './client-ip.ts';
import { placeOf } from './places.ts';
import { cameOverTls, strictTransport } from './transport-security.ts';

export interface FrontDoorOptions {
  readonly host: string;
  readonly port: number;
  readonly relay: Relay;
  /** Unix socket of the control thread's forwarded listener. */
  readonly controlSocket: string;
  /** Whether a proxy at this address may say who it calls for. */
  readonly trustsProxy: (address: string) => boolean;
  /** Host of the site's own https address, '' = none. */
  readonly secureHost?: () => string;
  /** Answers console files; null when the path is not one of them. */
  readonly consoleAsset: (request: Request, path: string) => Response | null;
}

export interface FrontDoor {
  readonly port: number;
  /** From here on every answer ends its connection; what the relay does not take is refused. */
  drain(): void;
  /** Waits for open requests, at most `graceMs`, then closes. */
  stop(graceMs: number): Promise<void>;
}

/** Larger bodies are cut off by the listener itself; the relay's own, smaller limit gives the readable error. */
const hardBodyLimit = 256 * 1024 * 1024;
/** Sound comes in frames of a megabyte and more. */
const frameLimit = 16 * 1024 * 1024;

/** The path of a request's URL without building a URL object. */
export function pathOf(url: string): string {
  const start = url.indexOf('/', 8);
  if (start < 0) return '/';
  const query = url.indexOf('?', start);
  return query < 0 ? url.slice(start) : url.slice(start, query);
}

/** @throws the listener's error (EADDRINUSE, EACCES). */
export function openFrontDoor(options: FrontDoorOptions): FrontDoor {
  let draining = false;
  const server: Server<Conversation> = Bun.serve<Conversation>({
    hostname: options.host,
    port: options.port,
    // The listener would cut a quiet stream after 10 s; the relay keeps limits of its own.
    idleTimeout: 0,
    maxRequestBodySize: hardBodyLimit,
    fetch(request, listener) {
      const path = pathOf(request.url);
      const direct = () => listener.requestIP(request)?.address ?? '';
      const peer = {
        ip: () => clientAddress(direct(), request.headers.get('x-forwarded-for'), options.trustsProxy),
      };
      // Coding agents look whether anybody is there before they log in.
      if (draining) return turnedAway(options.relay, request, path, peer);
      if (path === '/api/hello') return new Response(null);
      if (isRealtime(request, path)) return upgrade(listener, request, options.relay.realtime(request, peer));
      const place = placeOf(path);
      if (place === 'relay') return closing(options.relay.handle(request, path, peer));
      if (place === 'nowhere') return unknownRoute(request.method, path);
      const secure = cameOverTls({
        host: request.headers.get('host'),
        scheme: request.headers.get('x-forwarded-proto'),
        trusted: options.trustsProxy(direct()),
        secureHost: options.secureHost?.() ?? '',
      });
      if (place === 'console') {
        const asset = options.consoleAsset(request, path);
        if (secure) asset?.headers.set(strictTransport.name, strictTransport.value);
        if (asset !== null) return asset;
      }
      return forward(request, peer.ip(), secure, options.controlSocket);
    },
    websocket: {
      idleTimeout: 0,
      maxPayloadLength: frameLimit,
      open: (socket) => socket.data.open(socket),
      message: (socket, data) => socket.data.message(data),
      close: (socket: ServerWebSocket<Conversation>) => socket.data.close(),
    },
    error: () =>
      new Response('{"success":false,"message":"Internal server error"}', {
        status: 500,
        headers: { 'content-type': 'application/json' },
      }),
  });

  /** While draining, keep-alive connections are told to end, or the stop would wait for them. */
  const closing = async (answer: Promise<Response>): Promise<Response> => {
    const response = await answer;
    if (draining) response.headers.set('connection', 'close');
    return response;
  };

  return {
    port: server.port ?? options.port,
    drain() {
      draining = true;
    },
    async stop(graceMs) {
      draining = true;
      const late = performance.now() + graceMs;
      const busy = () => options.relay.open() > 0 || server.pendingRequests > 0;
      while (busy() && performance.now() < late) await Bun.sleep(10);
      // Refuses new connections; its promise would also wait for idle keep-alive ones.
      void server.stop(false);
      // The last bytes are handed to the sockets, and read, before a close may overtake them.
      await Bun.sleep(lastBytesMs);
      void server.stop(true);
    },
  };
}

const lastBytesMs = 50;
const retrySeconds = '5';

/** The listener stays until the last stream has ended, so that whoever comes meanwhile is told to come back instead of finding nobody. */
async function turnedAway(relay: Relay, request: Request, path: string, peer: Peer): Promise<Response> {
  const response =
    placeOf(path) === 'relay'
      ? await relay.handle(request, path, peer)
      : new Response(
          path === '/readyz'
            ? '{"ok":false}'
            : JSON.stringify({
                success: false,
                message: '服务正在关闭 / The server is shutting down',
                code: 'shutting_down',
              }),
          { status: 503, headers: { 'content-type': 'application/json; charset=utf-8', 'retry-after': retrySeconds } },
        );
  response.headers.set('connection', 'close');
  return response;
}

const isRealtime = (request: Request, path: string): boolean =>
  path === '/v1/realtime' && request.headers.get('upgrade')?.toLowerCase() === 'websocket';

/** The upstream is reached first, so that a refusal still has a status. */
async function upgrade(
  listener: Server<Conversation>,
  request: Request,
  wanted: Promise<Conversation | Response>,
): Promise<Response | undefined> {
  const conversation = await wanted;
  if (conversation instanceof Response) return conversation;
  const headers: Record<string, string> =
    conversation.protocol === '' ? {} : { 'sec-websocket-protocol': conversation.protocol };
  if (listener.upgrade(request, { data: conversation, headers })) return undefined;
  conversation.close();
  return new Response(null, { status: 400 });
}

/** Never a page: a program that mistyped its address must not take HTML for an answer. */
function unknownRoute(method: string, path: string): Response {
  const { row, params } = new AppError('route_unknown', { method, path });
  return Response.json(
    {
      success: false,
      message: `${formatError('route_unknown', params, 'zh')} / ${formatError('route_unknown', params, 'en')}`,
      code: 'route_unknown',
      params,
    },
    { status: row.status, headers: { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } },
  );
}

/** Hands a request to the control thread; headers of the inner border are ours alone to set. */
async function forward(request: Request, ip: string, secure: boolean, socket: string): Promise<Response> {
  const headers = new Headers(request.headers);
  for (const name of [...headers.keys()]) if (name.startsWith('x-gateway-')) headers.delete(name);
  // Two that agree are one (RFC 9112 6.3), and are told as "5, 5"; those that disagree the listener itself refuses.
  const length = headers.get('content-length');
  if (length?.includes(',')) headers.set('content-length', length.split(',', 1)[0] ?? '');
  headers.set('x-gateway-client-ip', ip);
  if (secure) headers.set('x-gateway-tls', '1');
  const start = request.url.indexOf('/', 8);
  const target = `http://control${start < 0 ? '/' : request.url.slice(start)}`;
  const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
  try {
    return await fetch(target, {
      unix: socket,
      method: request.method,
      headers,
      body: hasBody ? request.body : null,
      redirect: 'manual',
      decompress: false,
      signal: request.signal,
    } as RequestInit);
  } catch {
    return new Response(
      JSON.stringify({ success: false, message: '服务暂不可用 / The service is not available', code: 'internal' }),
      {
        status: 503,
        headers: { 'content-type': 'application/json; charset=utf-8' },
      },
    );
  }
}
