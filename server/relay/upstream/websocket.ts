/** Upstreams that answer over a socket: the request is its first message, each answer becomes an event of an ordinary stream. */
import { AppError } from '../../contract/errors.ts';
import type { UpstreamCall } from './call.ts';

export interface SocketDeps {
  readonly fetch: typeof fetch;
  /** Proxy of the channel; null = none. */
  readonly proxy: string | null;
}

const encoder = new TextEncoder();
const normalClosure = 1000;

/** Types know no headers and no proxy of a socket. */
export const openSocket = (
  url: string,
  options: { readonly headers?: Readonly<Record<string, string>>; readonly proxy?: string },
): WebSocket => new WebSocket(url, options as unknown as string[]);

/** @returns a stream of events; where the upstream refuses the socket, the answer it gives to a plain request instead; null = out of reach. */
export async function askBySocket(deps: SocketDeps, call: UpstreamCall, signal: AbortSignal): Promise<Response | null> {
  const options = deps.proxy === null ? {} : { proxy: deps.proxy };
  const socket = openSocket(call.url, options);
  let over = false;
  let finish: (failed: boolean) => void = () => undefined;
  const end = (failed: boolean) => {
    if (over) return;
    over = true;
    signal.removeEventListener('abort', aborted);
    finish(failed);
    socket.close(normalClosure);
  };
  const aborted = () => end(true);
  signal.addEventListener('abort', aborted, { once: true });
  if (!(await opened(socket))) {
    end(false);
    return signal.aborted ? null : refusal(deps, { ...call, headers: {} }, signal);
  }
  const reader = call.upstream.reader();
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      finish = (failed) => (failed ? controller.error(new Error('aborted')) : controller.close());
      socket.addEventListener('close', () => end(false));
      socket.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
        if (over || typeof data !== 'string') return;
        // A line break in JSON is a blank.
        const line = data.replace(/[\r\n]+/g, ' ');
        controller.enqueue(encoder.encode(`data: ${line}\n\n`));
        reader.feed({ event: '', data: line });
        if (reader.frameKind === 'terminal') end(false);
      });
    },
    cancel() {
      finish = () => undefined;
      end(false);
    },
  });
  socket.send(call.body as string);
  return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
}

export const opened = (socket: WebSocket): Promise<boolean> =>
  new Promise((resolve) => {
    socket.addEventListener('open', () => resolve(true), { once: true });
    socket.addEventListener('error', () => resolve(false), { once: true });
    socket.addEventListener('close', () => resolve(false), { once: true });
  });

async function reached(fetch: SocketDeps['fetch'], url: string, options: RequestInit): Promise<Response> {
  try {
    return await fetch(url, options);
  } catch (cause) {
    throw new AppError('upstream_unreachable', {}, cause);
  }
}

/** A refused handshake gives no reason; a plain request to the same address does. @throws AppError upstream_unreachable. */
export async function refusal(deps: SocketDeps, call: UpstreamCall, signal: AbortSignal): Promise<Response | null> {
  const { headers } = call;
  const options = {
    headers,
    signal,
    redirect: 'manual',
    ...(deps.proxy === null ? {} : { proxy: deps.proxy }),
  } as RequestInit;
  const response = await reached(deps.fetch, call.url.replace(/^ws/, 'http'), options);
  // 400 and 426 only mean that a socket is required; any other status is the refusal itself.
  const rejection = response.status >= 400 && response.status !== 400 && response.status !== 426;
  if (rejection) return response;
  void response.body?.cancel();
  return null;
}
