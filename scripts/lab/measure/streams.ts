/**
 * What streams cost while clients come and go: `node scripts/launch.mjs lab/measure/streams [--streams N] [--gigabytes N]`. Needs `npm run build`.
 * Goals: a client that leaves takes its upstream with it within 100 ms and leaves no socket; a reader that stalls holds memory within 64 MB, and everything arrives when it goes on.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { residentKb } from '../../../cli/bench/machine.ts';
import { command, endAll, freePort, start, waitForResponse } from '../../../cli/bench/process.ts';
import { type Goal, isReached, printReport } from '../bench/goal.ts';

const flag = (name: string, fallback: number): number => {
  const at = process.argv.indexOf(name);
  const value = Number(process.argv[at + 1]);
  return at < 0 || !Number.isFinite(value) || value <= 0 ? fallback : value;
};
const streams = flag('--streams', 3000);
const totalBytes = Math.round(flag('--gigabytes', 1) * 1024 ** 3);
const pauseMs = 10_000;
const model = 'practice-small';

const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const frame = (content: string): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

interface Requested {
  text: string;
  /** Which client it is for, -1 = not known yet. */
  id: number;
  /** Bytes of the flood that were not taken yet; null = no flood. */
  left: number | null;
  rest: Buffer;
}

const waiting = new Map<number, () => void>();
/** When the upstream saw the end of each stream, by client. */
const closedAt = new Map<number, number>();
const noBytes = Buffer.alloc(0);
const largeChunk = Buffer.from(chunk(frame('x'.repeat(16 * 1024))));
const endChunk = Buffer.from(
  `${chunk(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`)}0\r\n\r\n`,
);

/** Writes until the socket is full. */
function writeAll(socket: import('bun').Socket<Requested>): void {
  const { data } = socket;
  while (data.left !== null) {
    if (data.rest.length === 0) {
      if (data.left < 0) return;
      data.rest = data.left === 0 ? endChunk : largeChunk;
      data.left = data.left === 0 ? -1 : Math.max(0, data.left - largeChunk.length);
    }
    data.rest = data.rest.subarray(socket.write(data.rest));
    if (data.rest.length > 0) return;
  }
}

/** A plain listener: what is measured is the gateway, and its own clock must not wait behind a server's. */
const upstream = Bun.listen<Requested>({
  hostname: '127.0.0.1',
  port: 0,
  socket: {
    open(socket) {
      socket.data = { text: '', id: -1, left: null, rest: noBytes };
    },
    data(socket, bytes) {
      const { data } = socket;
      data.text += bytes.toString('latin1');
      const requested = /"content":"(\w+) (\d+)"/.exec(data.text);
      if (data.id >= 0 || requested === null) return;
      data.id = Number(requested[2]);
      socket.write(head);
      if (requested[1] === 'flood') {
        data.left = totalBytes;
        writeAll(socket);
      } else socket.write(chunk(frame('one two three')));
    },
    drain: writeAll,
    close({ data }) {
      if (data.id >= 0) closedAt.set(data.id, performance.now());
    },
  },
});

/** A client on a socket of its own, with nothing between it and the kernel. */
function ask(port: number, token: string, words: string): Socket {
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: words }] });
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  return socket;
}

/** Established connections that a process holds. */
function connectionsOf(pid: number): number {
  const own = new Set<string>();
  for (const descriptor of readdirSync(`/proc/${pid}/fd`)) {
    try {
      own.add(readlinkSync(`/proc/${pid}/fd/${descriptor}`));
    } catch {
      // Closed meanwhile.
    }
  }
  return ['tcp', 'tcp6']
    .flatMap((table) => readFileSync(`/proc/${pid}/net/${table}`, 'utf8').trim().split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode]) => state === '01' && own.has(`socket:[${inode}]`)).length;
}

async function settled(read: () => number, target: number, limitMs: number): Promise<number> {
  const until = performance.now() + limitMs;
  while (read() > target && performance.now() < until) await Bun.sleep(20);
  return read();
}

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.POSITIVE_INFINITY;

let next = 0;
/** @param spacingMs between two clients that leave; 0 = all at once. @returns milliseconds until each upstream was closed, sorted. */
async function leave(port: number, token: string, count: number, spacingMs: number): Promise<number[]> {
  const clients = Array.from({ length: count }, () => ({ id: next++, socket: null as Socket | null, leftAt: 0 }));
  for (let from = 0; from < count; from += 100) {
    await Promise.all(
      clients.slice(from, from + 100).map(async (client) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.set(client.id, resolve);
        const socket = ask(port, token, `hold ${client.id}`);
        client.socket = socket;
        let text = '';
        socket.on('data', (bytes: Buffer) => {
          text += bytes.toString('latin1');
          if (text.includes('one two three')) resolve();
        });
        await promise;
      }),
    );
  }
  for (const client of clients) {
    client.leftAt = performance.now();
    client.socket?.destroy();
    if (spacingMs > 0) await Bun.sleep(spacingMs);
  }
  await settled(() => clients.filter(({ id }) => !closedAt.has(id)).length, 0, 10_000);
  return clients.map(({ id, leftAt }) => (closedAt.get(id) ?? Number.POSITIVE_INFINITY) - leftAt).sort((a, b) => a - b);
}

interface StallReport {
  /** Megabytes above what the process had before. */
  readonly stalledMb: number;
  readonly wholeMb: number;
  readonly received: number;
  readonly ended: boolean;
}

async function measureStall(pid: number, port: number, token: string): Promise<StallReport> {
  const before = residentKb(pid) ?? 0;
  let max = before;
  const sampler = setInterval(() => {
    max = Math.max(max, residentKb(pid) ?? 0);
  }, 50);
  const socket = ask(port, token, `flood ${next++}`);
  await new Promise((resolve) => socket.once('readable', resolve));
  await Bun.sleep(pauseMs);
  const stalled = max;
  let received = 0;
  let tail = '';
  const { promise: over, resolve } = Promise.withResolvers<void>();
  socket.on('data', (bytes: Buffer) => {
    received += bytes.length;
    tail = (tail + bytes.subarray(-40).toString('latin1')).slice(-40);
    if (tail.endsWith('0\r\n\r\n')) resolve();
  });
  socket.on('close', () => resolve());
  const timer = setTimeout(resolve, 240_000);
  await over;
  clearTimeout(timer);
  clearInterval(sampler);
  const ended = tail.includes('data: [DONE]');
  socket.destroy();
  return { stalledMb: (stalled - before) / 1024, wholeMb: (max - before) / 1024, received, ended };
}

const binary = resolve(import.meta.dirname, '..', '..', '..', 'dist', 'gateway');
if (!existsSync(binary)) throw new Error('dist/gateway is missing: run npm run build');
const dataDir = mkdtempSync(join(tmpdir(), 'gateway-streams-'));
const run = (args: readonly string[], input?: string) => command([binary], dataDir, args, input);
const goals: Goal[] = [];
const goal = (name: string, value: number, limit: number, unit: string) =>
  goals.push({ name, value, limit, unit, direction: 'at most' });
const min = (name: string, value: number, limit: number, unit: string) =>
  goals.push({ name, value, limit, unit, direction: 'at least' });
try {
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], 'password1');
  const address = ['--base-url', `http://127.0.0.1:${upstream.port}`, '--models', model];
  await run(['channel', 'add', '--type', 'practice', '--name', 'up', ...address, '--key-stdin'], 'k');
  await run(['option', 'set', `ModelRatio=${JSON.stringify({ [model]: 0 })}`]);
  const token = await run(['token', 'create', '--name', 'streams', '--quota', 'unlimited', '-q']);
  const port = freePort();
  const child = start(null, [binary, 'serve', '--port', String(port)], { GATEWAY_DATA_DIR: dataDir });
  await waitForResponse(`http://127.0.0.1:${port}/api/status`, (status) => status === 200);
  const { pid } = child;
  // Once, so that what is made at first use is there.
  await leave(port, token, 50, 0);
  const idle = await settled(() => connectionsOf(pid), 0, 2000);

  const paced = await leave(port, token, streams, 1);
  goal(`${streams} leave one by one: median`, at(paced, 0.5), 100, 'ms');
  goal(`${streams} leave one by one: p95`, at(paced, 0.95), 100, 'ms');
  const burst = await leave(port, token, Math.min(1000, streams), 0);
  goal(`${burst.length} leave at once: median`, at(burst, 0.5), 100, 'ms');
  goal(`${burst.length} leave at once: p95`, at(burst, 0.95), 100, 'ms');
  goal('upstream streams still open', [...paced, ...burst].filter((ms) => !Number.isFinite(ms)).length, 0, 'streams');
  goal('sockets left behind', Math.max(0, (await settled(() => connectionsOf(pid), idle, 5000)) - idle), 0, 'sockets');

  const { stalledMb, wholeMb, received, ended } = await measureStall(pid, port, token);
  goal('memory while the reader stalls', stalledMb, 64, 'MB');
  min('bytes that arrived', received / 1024 ** 2, Math.floor(totalBytes / 1024 ** 2), 'MB');
  min('the end arrived', ended ? 1 : 0, 1, '');
  printReport(goals);
  // No goal: at hundreds of megabytes a second the collector runs behind, what waits for the reader stays a few megabytes.
  console.log(`memory at most until the last byte: ${wholeMb.toFixed(0)} MB above what it was`);
} finally {
  await endAll();
  upstream.stop(true);
  rmSync(dataDir, { recursive: true, force: true });
}
const failed = goals.some((one) => !isReached(one));
process.exit(failed ? 1 : 0);
