/** A socket to an upstream that stays open for a conversation. */
import type { Timers } from '../../contract/timers.ts';
import { isOurs } from '../shared/defect.ts';
import { type UpstreamFailure, unreachable } from '../shared/failure.ts';
import type { UpstreamCall } from './call.ts';
import { type Exhausted, exhaustion, isExhaustion, proxyOf, readFailure } from './http.ts';
import { opened, openSocket, refusal } from './websocket.ts';

export interface Line {
  readonly socket: WebSocket;
  /** Messages that arrived before there was a listener: a greeting may come together with the handshake. */
  readonly greeting: (string | ArrayBuffer)[];
}

export interface ConnectDeps {
  readonly fetch: typeof fetch;
  readonly timers: Pick<Timers, 'set' | 'now'>;
  readonly exhausted?: Exhausted | undefined;
  /** Milliseconds an upstream may take to agree. */
  readonly connectMs: number;
}

export type Connect = (call: UpstreamCall, abort: AbortController) => Promise<Line | UpstreamFailure>;

export const createConnect =
  (deps: ConnectDeps): Connect =>
  async (call, abort) => {
    const proxy = proxyOf(call.channel);
    const socket = openSocket(call.url, proxy === null ? { headers: call.headers } : { headers: call.headers, proxy });
    socket.binaryType = 'arraybuffer';
    const greeting: Line['greeting'] = [];
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => void greeting.push(data);
    const close = () => socket.close();
    abort.signal.addEventListener('abort', close, { once: true });
    const startedMs = deps.timers.now();
    const missed = (cause: unknown): UpstreamFailure =>
      !abort.signal.aborted &&
      isExhaustion(deps.exhausted, cause, { url: call.url, waitedMs: deps.timers.now() - startedMs })
        ? exhaustion
        : unreachable;
    const timer = deps.timers.set(() => abort.abort(), deps.connectMs);
    try {
      if (await opened(socket)) return { socket, greeting };
      if (abort.signal.aborted) return { ...unreachable, reason: 'timeout' };
      const response = await refusal({ fetch: deps.fetch, proxy }, call, abort.signal);
      return response === null ? missed(null) : await readFailure(response, call);
    } catch (error) {
      if (isOurs(error)) throw error;
      return missed(error);
    } finally {
      timer.close();
      abort.signal.removeEventListener('abort', close);
    }
  };
