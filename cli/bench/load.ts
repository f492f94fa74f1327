/** A load generator of raw sockets: as little work of its own as possible, every answer read to its end. */
import { Answer } from './answer.ts';

export interface LoadOrder {
  readonly port: number;
  /** The path of the request: `/v1/chat/completions`. */
  readonly path: string;
  readonly token: string;
  readonly body: string;
  /** Header lines, each ending in CRLF. */
  readonly headers: string;
  readonly connections: number;
  readonly seconds: number;
  /** One request a connection. */
  readonly once: boolean;
}

export interface LoadResult {
  /** Answers that ended, good or bad. */
  readonly requests: number;
  readonly good: number;
  /** Refused, broken off, or a stream without its end. */
  readonly failed: number;
  readonly rps: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

interface State {
  sentAt: number;
  /** An answer is on its way. */
  waits: boolean;
  readonly answer: Answer;
}

type Socket = import('bun').Socket<State>;

const done = Buffer.from('data: [DONE]');
/** What still hangs so long after the end is counted, not waited for. */
const timeoutSeconds = 10;

/** It was not refused, and a stream has its end. */
const isGood = ({ head, tail }: Answer, isStream: boolean): boolean =>
  head.startsWith('HTTP/1.1 200') && (!isStream || tail.includes(done));

export async function generateLoad(order: LoadOrder): Promise<LoadResult> {
  const isStream = order.body.includes('"stream":true');
  const payload = Buffer.from(
    `POST ${order.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${order.token}\r\nContent-Type: application/json\r\n${order.headers}Content-Length: ${Buffer.byteLength(order.body)}\r\n\r\n${order.body}`,
  );
  const latencies: number[] = [];
  let failed = 0;
  let good = 0;
  let open = 0;
  let running = true;
  const { promise: over, resolve: finish } = Promise.withResolvers<void>();

  const send = (socket: Socket): void => {
    const state = socket.data;
    state.answer.begin();
    state.waits = true;
    state.sentAt = performance.now();
    socket.write(payload);
  };
  const received = (socket: Socket, piece: Buffer): void => {
    const { answer, sentAt } = socket.data;
    if (!answer.isOver(piece)) return;
    latencies.push(performance.now() - sentAt);
    if (isGood(answer, isStream)) good++;
    else failed++;
    if (running && !order.once) {
      send(socket);
      return;
    }
    socket.data.waits = false;
    socket.end();
  };
  const close = (socket: Socket): void => {
    // Closed in the middle of an answer.
    if (socket.data.waits) failed++;
    open--;
    if (open === 0) finish();
  };

  const sockets: Socket[] = [];
  for (let i = 0; i < order.connections; i++) {
    const data: State = { sentAt: 0, waits: false, answer: new Answer() };
    const connecting = { hostname: '127.0.0.1', port: order.port, data, socket: { data: received, close } };
    sockets.push(await Bun.connect<State>(connecting));
    open++;
  }
  const began = performance.now();
  for (const socket of sockets) send(socket);
  const stop = setTimeout(() => {
    running = false;
  }, order.seconds * 1000);
  const hopeless = setTimeout(finish, (order.once ? order.seconds : order.seconds + timeoutSeconds) * 1000);
  await over;
  clearTimeout(stop);
  clearTimeout(hopeless);
  const seconds = (performance.now() - began) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return {
    requests: latencies.length,
    good,
    failed: failed + open,
    rps: latencies.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
  };
}
