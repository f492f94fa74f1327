/** A load generator of raw sockets: as little work of its own as possible, every answer read to its end. */

export interface LoadOrder {
  readonly port: number;
  /** Of the request: `/v1/chat/completions`. */
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
  /** Bytes still to come; -1 while the head is incomplete, -2 for a chunked body. */
  left: number;
  ok: boolean;
  /** What may belong to the next piece: an incomplete head, or the end of a chunked body. */
  rest: Buffer;
}

type Socket = import('bun').Socket<State>;

const nothing = Buffer.alloc(0);
const endOfHead = Buffer.from('\r\n\r\n');
const lastChunk = Buffer.from('0\r\n\r\n');
const done = Buffer.from('data: [DONE]');
/** What still hangs so long after the end is counted, not waited for. */
const timeoutSeconds = 10;

/** @returns the part of the piece behind the head, or null while the head is incomplete. */
function readHead(state: State, piece: Buffer): Buffer | null {
  const all = state.rest.length === 0 ? piece : Buffer.concat([state.rest, piece]);
  const end = all.indexOf(endOfHead);
  if (end < 0) {
    state.rest = all;
    return null;
  }
  const head = all.toString('latin1', 0, end);
  state.ok = head.startsWith('HTTP/1.1 200');
  const length = /content-length: (\d+)/i.exec(head);
  state.left = length === null ? -2 : Number(length[1]);
  state.rest = nothing;
  return all.subarray(end + 4);
}

/** @returns whether the answer is over. */
function isOver(state: State, piece: Buffer, isStream: boolean): boolean {
  const body = state.left === -1 ? readHead(state, piece) : piece;
  if (body === null) return false;
  if (state.left === -2) {
    const end = state.rest.length === 0 ? body : Buffer.concat([state.rest, body]);
    state.rest = end.length > 64 ? end.subarray(-64) : end;
    if (!state.rest.subarray(-5).equals(lastChunk)) return false;
  } else {
    state.rest = body.subarray(-64);
    state.left -= body.length;
    if (state.left > 0) return false;
  }
  if (isStream && !state.rest.includes(done)) state.ok = false;
  return true;
}

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
    state.left = -1;
    state.ok = true;
    state.rest = nothing;
    state.sentAt = performance.now();
    socket.write(payload);
  };
  const received = (socket: Socket, piece: Buffer): void => {
    if (!isOver(socket.data, piece, isStream)) return;
    latencies.push(performance.now() - socket.data.sentAt);
    if (socket.data.ok) good++;
    else failed++;
    if (running && !order.once) {
      send(socket);
      return;
    }
    socket.data.left = 0;
    socket.end();
  };
  const close = (socket: Socket): void => {
    // Closed in the middle of an answer.
    if (socket.data.left !== 0) failed++;
    open--;
    if (open === 0) finish();
  };

  const sockets: Socket[] = [];
  for (let i = 0; i < order.connections; i++) {
    const data: State = { sentAt: 0, left: 0, ok: true, rest: nothing };
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
