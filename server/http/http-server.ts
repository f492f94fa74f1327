/** The one listener clients reach: relay paths are served here, the console's files too, everything else is forwarded to the control thread. */
import type { Server, ServerWebSocket } from 'bun';
import { isConsolePage } from '../contract/console-pages.ts';
import { AppError, type ErrorCode, type ErrorParams, formatError } from '../contract/errors.ts';
import { languageFor } from '../contract/language.ts';
import type { Conversation } from '../relay/endpoints/realtime/conversation.ts';
import type { Peer } from '../relay/intake/parsed-request.ts';
import { forgivenPath, plainPath, relayRouteFor } from '../relay/intake/routes.ts';
import type { Relay } from '../relay/relay.ts';
import { basePathHeader, withoutBasePath } from './base-path.ts';
import { bodyLimit } from './body-limit.ts';
import { clientAddress } from './client-ip.ts';
import type { Connections } from './connections.ts';
import { isOpenToPages, isPreflight, openToPages, preflightAnswer } from './cross-origin.ts';
import { createForwarding, createOpenRequests, forwardedFrom, passRequest } from './forward.ts';
import { acceptForwarded, isForwardedSocket, openForwarded } from './forwarded-socket.ts';
import { isProbe, probe } from './health-checks.ts';
import { pathKindOf } from './path-kind.ts';
import { isReach, Reach } from './reach.ts';
import { cameOverTls, strictTransport } from './transport-security.ts';

export interface HttpServerOptions {
  readonly host: string;
  readonly port: number;
  /** Others listen on it, too. */
  readonly shared?: boolean;
  /** Socket on which requests that still reach the server before this one are accepted, too. */
  readonly forwardedSocket?: string;
  /** Path under which a proxy serves the site, '' = none. */
  readonly basePath?: string;
  readonly relay: Relay;
  /** Whether paid requests are taken. */
  readonly mayServe: () => boolean;
  /** The database is away, and what is leased covers no request. */
  readonly isOutOfLeases?: () => boolean;
  /** Milliseconds for which requests are served from leases; null = the database is read. */
  readonly leasesMs?: () => number | null;
  /** Unix socket of the control thread's forwarded listener. */
  readonly controlSocket: string;
  /** Whether a proxy at this address may say who it calls for. */
  readonly isTrustedProxy: (address: string) => boolean;
  /** Host of the site's own https address, '' = none. */
  readonly secureHost?: () => string;
  /** Time limits of connections, and how many there may be. */
  readonly connections: Connections;
  /** Answers console files; null when the path is not one of them. */
  readonly consoleAsset: (request: Request, path: string) => Response | null;
}

export interface HttpServer {
  readonly port: number;
  /** From here on /readyz asks balancers to send no requests, and every response ends its connection; requests that still come are served. */
  leave(): void;
  /** What the relay does not take is refused. */
  drain(): void;
  /** New connections wait. Resolves when the API has answered the requests before. */
  pause(): Promise<void>;
  /** They go to that socket, where another server hears them; null = they are served here. */
  forwardTo(endpoint: string | null): void;
  /** Those that are being answered by another server. */
  forwarded(): number;
  /** Waits for open requests, at most `graceMs`, then closes. */
  stop(graceMs: number): Promise<void>;
}

/** Larger bodies are cut off by the listener itself; the relay's own, smaller limit gives the readable error. */
const hardBodyLimit = 256 * 1024 * 1024;
/** Sound comes in frames of a megabyte and more. */
const frameLimit = 16 * 1024 * 1024;

/** Without a host that can be one, the runtime gives only the path: no part of it may be taken for the whole. */
const isHostless = (url: string): boolean => url.startsWith('/');

/** The path of a request's URL without building a URL object. */
export function pathOf(url: string): string {
  const start = isHostless(url) ? 0 : url.indexOf('/', 8);
  if (start < 0) return '/';
  const query = url.indexOf('?', start);
  return query < 0 ? url.slice(start) : url.slice(start, query);
}

/** @throws the listener's error (EADDRINUSE, EACCES). */
export function openHttpServer(options: HttpServerOptions): HttpServer {
  const { connections, basePath = '' } = options;
  let leaving = false;
  let draining = false;
  /** Sockets whose conversation another server holds. */
  const bridged = new Set<{ end(): void }>();
  const openRequests = createOpenRequests();
  const reach = new Reach();
  const handlers = {
    maxRequestBodySize: hardBodyLimit,
    fetch(request: Request, listener: Server<Conversation>): Response | Promise<Response | undefined> {
      // The process that handed it over watches its connection.
      if (listener === inner) listener.timeout(request, 0);
      else if (basePath !== '') {
        // Links of a page at `/ai` would lead to its neighbours.
        if (isRead(request) && pathOf(request.url) === basePath) return movedTo(`${basePath}/`);
        // The same object, because the listener knows its connection by it.
        Object.defineProperty(request, 'url', { value: withoutBasePath(request.url, basePath) });
      }
      return forwarding.passed(request, listener, serve);
    },
    websocket: {
      // Seconds. The listener asks before: only who does not answer is gone.
      idleTimeout: 120,
      maxPayloadLength: frameLimit,
      open: (socket: ServerWebSocket<Conversation>) => socket.data.open(socket),
      message: (socket: ServerWebSocket<Conversation>, data: string | Buffer<ArrayBuffer>) => socket.data.message(data),
      drain: (socket: ServerWebSocket<Conversation>) => socket.data.drain?.(),
      close: (socket: ServerWebSocket<Conversation>) => socket.data.close(),
    },
    error: () =>
      new Response('{"success":false,"message":"Internal server error"}', {
        status: 500,
        headers: { 'content-type': 'application/json' },
      }),
  };
  const addressOf = (request: Request, listener: Server<Conversation>): string =>
    listener === inner ? forwardedFrom(request) : (listener.requestIP(request)?.address ?? '');
  /** Another server hears of a refusal in the first frame. */
  const answered = (request: Request, listener: Server<Conversation>, opening: Promise<Conversation | Response>) =>
    listener === inner && isForwardedSocket(request) ? acceptForwarded(opening) : opening;
  /** The first server that forwards it has its connection. */
  const watchedHere = (request: Request, listener: Server<Conversation>): Request =>
    listener === inner || isHostless(request.url) ? request : connections.begin(request, true);
  const pass = async (
    request: Request,
    listener: Server<Conversation>,
    endpoint: string,
  ): Promise<Response | undefined> => {
    listener.timeout(request, 0);
    const path = forgivenPath(pathOf(request.url));
    const address = addressOf(request, listener);
    const unreachable = () => refused(options.relay, request, path, new AppError('shutting_down', { seconds: 1 }));
    if (!isRealtime(request, path) && !isResponsesSocket(request, path))
      return passRequest(watchedHere(request, listener), address, endpoint).catch(unreachable);
    const opening = openForwarded(request, { address, endpoint, bridged }).catch(unreachable);
    return upgrade(listener, request, connections, answered(request, listener, opening));
  };
  const forwarding = createForwarding(pass);
  const serve = (request: Request, listener: Server<Conversation>): Response | Promise<Response | undefined> => {
    const path = forgivenPath(pathOf(request.url));
    const direct = () => addressOf(request, listener);
    const peer = {
      ip: () => clientAddress(direct(), request.headers.get('x-forwarded-for'), options.isTrustedProxy),
    };
    if (isProbe(path)) return probed(request, path);
    // Health probes may come without a Host header; every other request needs one.
    if (isHostless(request.url)) return new Response(null, { status: 400, headers: { connection: 'close' } });
    const place = pathKindOf(path);
    const isOpen = isOpenToPages(request, place, path);
    if (isOpen && isPreflight(request)) return parting(preflightAnswer(request));
    const respond = isOpen ? openToPages : asItIs;
    if (draining) return rejected(options.relay, request, path, peer).then(respond);
    // Coding agents check that a server responds before they log in.
    if (path === '/api/hello') return parting(new Response(null));
    if (isReach(path)) {
      const isTrusted = options.isTrustedProxy(direct());
      const isForwarded = request.headers.has('x-forwarded-for');
      const facts = {
        forwarded: isForwarded ? (isTrusted ? 'believed' : 'untrusted') : 'none',
        secure: isSecure(request, direct()),
      } as const;
      const going = connections.begin(request);
      return closing(going, reach.answer(going, facts));
    }
    if (isRealtime(request, path)) {
      const opening = options.relay.realtime(request, peer);
      return upgrade(listener, request, connections, answered(request, listener, opening));
    }
    if (isResponsesSocket(request, path)) {
      const opening = options.relay.responsesSocket(request, path, peer);
      return upgrade(listener, request, connections, answered(request, listener, opening));
    }
    if (place === 'relay') {
      const rejection = options.relay.reject(request, path, peer);
      if (rejection !== null) return parting(respond(rejection));
    }
    // A page is no answer to a socket: programs would take it for one that opened.
    if (place === 'relay' || (place === 'console' && isWebSocket(request))) {
      const going = connections.begin(request);
      return closing(going, options.relay.handle(going, path, peer), respond);
    }
    if (place === 'nowhere') return unknownRoute(request, path);
    const secure = isSecure(request, direct());
    if (place === 'console') {
      const asset = options.consoleAsset(request, path);
      if (secure) asset?.headers.set(strictTransport.name, strictTransport.value);
      if (asset !== null) return parting(asset);
      if (isRead(request) && !isConsolePage(path)) return parting(unknownRoute(request, path));
    }
    const going = connections.begin(request);
    const undeclaredProxy = request.headers.has('x-forwarded-for') && !options.isTrustedProxy(direct()) ? direct() : '';
    return closing(going, openRequests.during(forward(going, { ip: peer.ip(), secure, undeclaredProxy }, options)));
  };

  const isSecure = (request: Request, address: string): boolean =>
    cameOverTls({
      host: request.headers.get('host'),
      scheme: request.headers.get('x-forwarded-proto'),
      trusted: options.isTrustedProxy(address),
      secureHost: options.secureHost?.() ?? '',
    });

  const probed = (request: Request, path: string): Response => {
    const input = {
      storage: !options.mayServe(),
      leases: options.isOutOfLeases?.() === true,
      leasesMs: options.leasesMs?.() ?? null,
      draining: leaving,
    };
    return parting(probe(path, request.method, input));
  };

  /** Keep-alive connections get `connection: close`: the next one may reach another process, and the stop would wait for them. */
  const parting = (response: Response): Response => {
    if (leaving) response.headers.set('connection', 'close');
    return response;
  };

  const closing = (request: Request, answer: Promise<Response>, respond = asItIs): Promise<Response> =>
    answer.then((response) => {
      connections.onResponse(request);
      return parting(respond(response));
    });

  const server: Server<Conversation> = Bun.serve<Conversation>({
    ...handlers,
    hostname: options.host,
    port: options.port,
    reusePort: options.shared ?? false,
    idleTimeout: connections.idleSeconds,
  });
  const { forwardedSocket = '' } = options;
  // Before the port is published: connections that are handed over find a listener.
  const inner = forwardedSocket === '' ? null : Bun.serve<Conversation>({ ...handlers, unix: forwardedSocket });
  connections.watch(server, options.isTrustedProxy);
  const pendingRequests = () => server.pendingRequests + (inner?.pendingRequests ?? 0);
  return {
    port: server.port ?? options.port,
    leave() {
      leaving = true;
      options.relay.endSockets();
    },
    drain() {
      leaving = true;
      draining = true;
    },
    pause() {
      forwarding.pause();
      return openRequests.none();
    },
    forwardTo: forwarding.forwardTo,
    forwarded: () => (forwarding.isOver() ? pendingRequests() + bridged.size : 0),
    async stop(graceMs) {
      leaving = true;
      draining = true;
      const deadline = performance.now() + graceMs;
      const busy = () => options.relay.open() > 0 || pendingRequests() > 0;
      while (busy() && performance.now() < deadline) await Bun.sleep(10);
      connections.stop();
      for (const socket of bridged) socket.end();
      // Refuses new connections; its promise would also wait for idle keep-alive ones.
      void server.stop(false);
      // The last bytes are handed to the sockets, and read, before a close may overtake them.
      await Bun.sleep(lastBytesMs);
      void server.stop(true);
      // Another server forwards to it as long as this one lives.
      if (!forwarding.isOver()) void inner?.stop(true);
    },
  };
}

const asItIs = (response: Response): Response => response;

/** In the language that the caller names, else in English: nothing is known here of what its user saved. */
const errorText = (request: Request, code: ErrorCode, params: ErrorParams = {}): string =>
  formatError(code, params, languageFor(request.headers.get('accept-language'), undefined));

const lastBytesMs = 50;
const shuttingDown = new AppError('shutting_down', { seconds: 5 });

/** The listener stays until the last stream has ended, so that new requests get 503 with Retry-After instead of a refused connection. */
async function rejected(relay: Relay, request: Request, path: string, peer: Peer): Promise<Response> {
  if (pathKindOf(path) !== 'relay') return refused(relay, request, path, shuttingDown);
  const response = await relay.handle(request, path, peer);
  response.headers.set('connection', 'close');
  return response;
}

/** What a request gets that is served neither here nor elsewhere: in the words and the form of its caller. */
function refused(relay: Relay, request: Request, path: string, reason: AppError): Response {
  const { code, params, row } = reason;
  const retryAfter = String(params.seconds ?? 1);
  const response =
    pathKindOf(path) === 'relay'
      ? relay.refusal(request, path, reason)
      : new Response(JSON.stringify({ success: false, message: errorText(request, code), code }), {
          status: row.status,
          headers: { 'content-type': 'application/json; charset=utf-8', 'retry-after': retryAfter },
        });
  response.headers.set('connection', 'close');
  return response;
}

const isRealtime = (request: Request, path: string): boolean => path === '/v1/realtime' && isWebSocket(request);

const isResponsesSocket = (request: Request, path: string): boolean =>
  isWebSocket(request) && relayRouteFor(plainPath(path))?.route.path === '/v1/responses';

const isWebSocket = (request: Request): boolean => request.headers.get('upgrade')?.toLowerCase() === 'websocket';

/** The upstream is reached first, so that a refusal still has a status. */
async function upgrade(
  listener: Server<Conversation>,
  request: Request,
  connections: Connections,
  pending: Promise<Conversation | Response>,
): Promise<Response | undefined> {
  const release = connections.reserve(request);
  const conversation = await pending;
  if (conversation instanceof Response) {
    release();
    return conversation;
  }
  const headers: Record<string, string> =
    conversation.protocol === '' ? {} : { 'sec-websocket-protocol': conversation.protocol };
  const data: Conversation = {
    protocol: conversation.protocol,
    open: (client) => conversation.open(client),
    message: (frame) => conversation.message(frame),
    drain: () => conversation.drain?.(),
    close() {
      release();
      conversation.close();
    },
  };
  if (listener.upgrade(request, { data, headers })) return undefined;
  data.close();
  return new Response(null, { status: 400 });
}

const movedTo = (location: string): Response => new Response(null, { status: 308, headers: { location } });

const isRead = ({ method }: Request): boolean => method === 'GET' || method === 'HEAD';

/** Never a page: a program that mistyped its address must not take HTML for an answer. */
function unknownRoute(request: Request, path: string): Response {
  const { row, params } = new AppError('route_unknown', { method: request.method, path });
  return Response.json(
    {
      success: false,
      message: errorText(request, 'route_unknown', params),
      code: 'route_unknown',
      params,
    },
    { status: row.status, headers: { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } },
  );
}

/** Taken in whole before the API's thread is bothered, so that one that never ends holds one descriptor and not three. A byte too many is enough for the API to refuse it. */
async function bodyOf(request: Request): Promise<Uint8Array<ArrayBuffer> | null> {
  if (request.body === null) return null;
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = request.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  while (size <= bodyLimit) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    size += value.length;
  }
  return new Uint8Array(Buffer.concat(chunks).subarray(0, bodyLimit + 1));
}

/** Hands a request to the control thread; headers of the inner border are ours alone to set. */
async function forward(
  request: Request,
  { ip, secure, undeclaredProxy }: { readonly ip: string; readonly secure: boolean; readonly undeclaredProxy: string },
  { controlSocket, connections, basePath = '' }: HttpServerOptions,
): Promise<Response> {
  const headers = new Headers(request.headers);
  for (const name of [...headers.keys()]) if (name.startsWith('x-gateway-')) headers.delete(name);
  headers.set('x-gateway-client-ip', ip);
  if (basePath !== '') headers.set(basePathHeader, basePath);
  if (secure) headers.set('x-gateway-tls', '1');
  if (undeclaredProxy !== '') headers.set('x-gateway-undeclared-proxy', undeclaredProxy);
  const start = request.url.indexOf('/', 8);
  const target = `http://control${start < 0 ? '/' : request.url.slice(start)}`;
  // Both are those of the body as it is sent now; two lengths that agree are one (RFC 9112 6.3), those that disagree the listener refuses.
  headers.delete('content-length');
  headers.delete('transfer-encoding');
  try {
    const body = request.method === 'GET' || request.method === 'HEAD' ? null : await bodyOf(request);
    connections.onReceived(request);
    return await fetch(target, {
      unix: controlSocket,
      method: request.method,
      headers,
      body,
      redirect: 'manual',
      decompress: false,
      signal: request.signal,
    } as RequestInit);
  } catch {
    return new Response(
      JSON.stringify({ success: false, message: errorText(request, 'unavailable'), code: 'internal' }),
      {
        status: 503,
        headers: { 'content-type': 'application/json; charset=utf-8' },
      },
    );
  }
}
