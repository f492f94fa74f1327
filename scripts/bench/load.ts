/** Load generator: keep-alive sockets that send one prepared request after the other. Prints one JSON line. */
export {};

interface LoadOptions {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly token: string;
  readonly body: string;
  readonly connections: number;
  readonly requests: number;
}

const options = JSON.parse(process.argv[2] ?? '{}') as LoadOptions;
const payload = Buffer.from(
  `POST ${options.path} HTTP/1.1\r\nHost: ${options.host}\r\nAuthorization: Bearer ${options.token}\r\nContent-Type: application/json\r\nx-portkey-provider: openai\r\nx-portkey-custom-host: http://127.0.0.1:4019/v1\r\nContent-Length: ${Buffer.byteLength(options.body)}\r\n\r\n${options.body}`,
);

let sent = 0;
let finished = 0;
let failed = 0;
const latencies: number[] = [];
const { promise: over, resolve } = Promise.withResolvers<void>();
const lastChunk = Buffer.from('0\r\n\r\n');

interface State {
  startedAt: number;
  /** Bytes still to come, or -1 while the head is incomplete, or -2 for a chunked body. */
  left: number;
  head: Buffer;
  tail: Buffer;
}

type Socket = import('bun').Socket<State>;

function next(socket: Socket): void {
  if (sent >= options.requests) {
    socket.end();
    return;
  }
  sent++;
  socket.data.startedAt = performance.now();
  socket.data.left = -1;
  socket.data.head = Buffer.alloc(0);
  socket.write(payload);
}

function done(socket: Socket): void {
  latencies.push(performance.now() - socket.data.startedAt);
  finished++;
  if (finished + failed >= options.requests) resolve();
  next(socket);
}

function received(socket: Socket, data: Buffer): void {
  const state = socket.data;
  let body = data;
  if (state.left === -1) {
    state.head = state.head.length === 0 ? data : Buffer.concat([state.head, data]);
    const end = state.head.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = state.head.toString('latin1', 0, end);
    if (!head.startsWith('HTTP/1.1 200')) failed++;
    const length = /content-length: (\d+)/i.exec(head);
    body = state.head.subarray(end + 4);
    state.left = length === null ? -2 : Number(length[1]);
    state.tail = Buffer.alloc(0);
  }
  if (state.left === -2) {
    state.tail = Buffer.concat([state.tail, body]).subarray(-5);
    if (state.tail.equals(lastChunk)) done(socket);
    return;
  }
  state.left -= body.length;
  if (state.left <= 0) done(socket);
}

const began = performance.now();
for (let i = 0; i < options.connections; i++) {
  await Bun.connect<State>({
    hostname: options.host,
    port: options.port,
    data: { startedAt: 0, left: -1, head: Buffer.alloc(0), tail: Buffer.alloc(0) },
    socket: {
      open: next,
      data: received,
      close() {
        if (finished + failed < options.requests && sent >= options.requests) resolve();
      },
      error() {
        failed++;
      },
    },
  });
}
await over;
const seconds = (performance.now() - began) / 1000;
latencies.sort((a, b) => a - b);
const at = (share: number): number =>
  latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
console.log(JSON.stringify({ rps: finished / seconds, p50: at(0.5), p99: at(0.99), finished, failed }));
process.exit(0);
