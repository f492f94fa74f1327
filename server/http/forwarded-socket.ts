/**
 * A realtime socket whose connection is the old server's and whose conversation is the new one's. The old server opens a
 * socket to the new one first, so that its client gets a refusal as a response; then frames pass both ways unchanged.
 */
import { closeSync, constants, openSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { ClientSocket, Conversation } from '../relay/endpoints/realtime/conversation.ts';
import { openSocket } from '../relay/upstream/websocket.ts';
import { forwardedHeaders, targetOf } from './forward.ts';

/** The forwarding server reads the first frame as what became of the request. */
const marker = 'x-gateway-handed-socket';
export const isForwardedSocket = (request: Request): boolean => request.headers.has(marker);

/** First frame of a socket that a server forwards. */
interface Verdict {
  readonly gateway: 'forwarded';
  /** null = the conversation is open. */
  readonly refused: {
    readonly status: number;
    readonly headers: readonly (readonly [string, string])[];
    readonly body: string;
  } | null;
}

const goingAway = 1001;
const normal = 1000;
const policyViolation = 1008;
/** Those of one connection alone, and of the handshake. */
const ownHeaders = [
  'connection',
  'upgrade',
  'content-length',
  'transfer-encoding',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-extensions',
];

/** The new server's side: the socket is accepted in any case, and its first frame says what became of the request. */
export async function acceptForwarded(opening: Promise<Conversation | Response>): Promise<Conversation> {
  const opened = await opening;
  const verdict = (refused: Verdict['refused']) => JSON.stringify({ gateway: 'forwarded', refused } satisfies Verdict);
  if (opened instanceof Response) {
    const text = verdict({ status: opened.status, headers: [...opened.headers], body: await opened.text() });
    return {
      protocol: '',
      open(client) {
        client.send(text);
        client.close(policyViolation);
      },
      message: () => undefined,
      close: () => undefined,
    };
  }
  return {
    protocol: opened.protocol,
    open(client) {
      client.send(verdict(null));
      opened.open(client);
    },
    message: (data) => opened.message(data),
    drain: () => opened.drain?.(),
    close: () => opened.close(),
  };
}

export interface ForwardedSocketOrder {
  /** The address of the client. */
  readonly address: string;
  /** Socket of the new server. */
  readonly endpoint: string;
  /** Those that are open. */
  readonly bridged: Set<{ end(): void }>;
}

/** The old server's side. @returns the conversation over there, or its refusal. @throws Error where the other is out of reach. */
export async function openForwarded(
  request: Request,
  { address, endpoint, bridged }: ForwardedSocketOrder,
): Promise<Conversation | Response> {
  const headers = forwardedHeaders(request, address);
  for (const name of ownHeaders) headers.delete(name);
  headers.set(marker, '1');
  const { url, opened } = addressable(endpoint, targetOf(request));
  const socket = openSocket(url, { headers: Object.fromEntries(headers) });
  socket.addEventListener('close', opened);
  socket.addEventListener('open', opened);
  socket.binaryType = 'arraybuffer';
  const conversation = new ForwardedSocket(socket, bridged);
  const refusal = await conversation.verdict;
  return refusal === null ? conversation : refusal;
}

/** Letters that a socket's address takes as they are; of another directory's the descriptor is named. */
const plain = /^[\w./-]+$/;

function addressable(endpoint: string, target: string): { readonly url: string; readonly opened: () => void } {
  if (plain.test(endpoint)) return { url: `ws+unix://${endpoint}:${target}`, opened: () => undefined };
  const directory = openSync(dirname(endpoint), constants.O_RDONLY | constants.O_DIRECTORY);
  let isOpen = true;
  return {
    url: `ws+unix:///proc/self/fd/${directory}/${basename(endpoint)}:${target}`,
    opened() {
      if (isOpen) closeSync(directory);
      isOpen = false;
    },
  };
}

class ForwardedSocket implements Conversation {
  protocol = '';
  /** The refusal, null = there is a conversation. @throws Error where the other server is out of reach. */
  readonly verdict: Promise<Response | null>;
  readonly #socket: WebSocket;
  readonly #bridged: ForwardedSocketOrder['bridged'];
  #client: ClientSocket | null = null;
  /** Frames from before the client's socket was open, and how the other side ended. */
  readonly #early: (string | ArrayBuffer)[] = [];
  #ended: { readonly code: number; readonly reason: string } | null = null;

  constructor(socket: WebSocket, bridged: ForwardedSocketOrder['bridged']) {
    this.#socket = socket;
    this.#bridged = bridged;
    const { promise, resolve, reject } = Promise.withResolvers<Response | null>();
    this.verdict = promise;
    let isKnown = false;
    socket.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (isKnown) return this.#take(data);
      isKnown = true;
      this.protocol = socket.protocol;
      const verdict = verdictIn(data);
      // A build from before this one says nothing of its own.
      if (verdict === null) this.#take(data);
      const refused = verdict?.refused ?? null;
      if (refused === null) {
        bridged.add(this);
        return resolve(null);
      }
      const { status, headers, body } = refused;
      const response = new Response(body, { status, headers: headers as [string, string][] });
      response.headers.set('connection', 'close');
      resolve(response);
    });
    socket.addEventListener('error', () => reject(new Error('the server that took over is out of reach')));
    socket.addEventListener('close', ({ code, reason }) => {
      reject(new Error('the server that took over is out of reach'));
      this.#close(code, reason);
    });
  }

  open(client: ClientSocket): void {
    this.#client = client;
    for (const data of this.#early.splice(0)) this.#take(data);
    if (this.#ended !== null) this.#close(this.#ended.code, this.#ended.reason);
  }

  message(data: string | Uint8Array): void {
    if (this.#socket.readyState === WebSocket.OPEN)
      this.#socket.send(typeof data === 'string' ? data : new Uint8Array(data));
  }

  /** The client left. */
  close(): void {
    this.#bridged.delete(this);
    this.#socket.close();
  }

  /** This process ends. */
  end(): void {
    this.#close(goingAway, 'shutting_down');
    this.#socket.close();
  }

  #take(data: string | ArrayBuffer): void {
    if (this.#client === null) this.#early.push(data);
    // A client that reads nothing any more: the rest would have a gap.
    else if (this.#client.send(typeof data === 'string' ? data : new Uint8Array(data)) === 0) {
      this.#client.close(policyViolation);
      this.close();
    }
  }

  #close(code: number, reason: string): void {
    this.#bridged.delete(this);
    this.#ended = { code, reason };
    // Codes of 1005 and 1006 say that none came; they may not be sent.
    if (code === 1005) this.#client?.close(normal);
    else if (code === 1006) this.#client?.close(goingAway, 'shutting_down');
    else this.#client?.close(code, reason);
  }
}

function verdictIn(data: string | ArrayBuffer): Verdict | null {
  if (typeof data !== 'string' || !data.startsWith('{"gateway":"forwarded"')) return null;
  return JSON.parse(data) as Verdict;
}
