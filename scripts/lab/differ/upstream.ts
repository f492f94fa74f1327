/** A scripted upstream on plain sockets: it replies by the mark in a request and keeps every byte of it. */
import { createServer, type Socket } from 'node:net';
import { type Case, markIn, type Reply } from './case.ts';
import { dialectOf, isStreamed, writeReply } from './wire.ts';

export interface Received {
  /** Method, path and version. */
  readonly line: string;
  /** As they came, in their order. */
  readonly headers: readonly string[];
  readonly body: string;
  /** What was sent back. */
  readonly sent: string;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: readonly Buffer[];
  readonly isBroken: boolean;
}

const errorBody = (status: number, path: string): string =>
  dialectOf(path) === 'anthropic-messages'
    ? JSON.stringify({ type: 'error', error: { type: 'api_error', message: `Upstream says ${status} case` } })
    : JSON.stringify({
        error: { message: `Upstream says ${status}`, type: 'upstream_error', code: `e${status}`, param: null },
      });

const chunksOf = (frames: readonly string[], size: number): Buffer[] => {
  if (size === 0) return frames.map((frame) => Buffer.from(frame));
  const whole = Buffer.from(frames.join(''));
  return Array.from({ length: Math.ceil(whole.length / size) }, (_, index) =>
    whole.subarray(index * size, (index + 1) * size),
  );
};

function answerTo({ modelOutput, recorded, variant, chunks }: Reply, path: string, body: string): Answer {
  const defaults = { 'x-request-id': 'upstream-request-1', 'openai-processing-ms': '12' };
  if (variant.kind === 'status')
    return {
      status: variant.status,
      headers: { 'content-type': 'application/json', ...defaults, ...variant.headers },
      chunks: [Buffer.from(errorBody(variant.status, path))],
      isBroken: false,
    };
  if (variant.kind === 'garbage')
    return {
      status: variant.status,
      headers: { 'content-type': 'text/html' },
      chunks: [Buffer.from(variant.text)],
      isBroken: false,
    };
  const fitsIn =
    recorded !== null && recorded.dialect === dialectOf(path) && recorded.streamed === isStreamed(path, body);
  const written = fitsIn
    ? { contentType: recorded.contentType, frames: recorded.body.split(/(?<=\n\n)/), errorFrame: null }
    : writeReply(modelOutput, path, body);
  let frames = [...written.frames];
  const streamed = frames.length > 1;
  const part = (share: number) => frames.slice(0, Math.max(1, Math.floor(frames.length * share)));
  let isBroken = false;
  switch (variant.kind) {
    case 'cut': {
      const whole = frames.join('');
      frames = [whole.slice(0, Math.floor(whole.length * variant.share))];
      isBroken = true;
      break;
    }
    case 'short':
      if (streamed) frames = part(variant.share);
      break;
    case 'error frame':
      if (written.errorFrame !== null && streamed) frames = [...part(variant.share), written.errorFrame];
      break;
    case 'pings':
      if (written.contentType === 'text/event-stream') frames = frames.flatMap((frame) => [': ping\n\n', frame]);
      break;
    case 'windows lines':
      if (written.contentType === 'text/event-stream') frames = frames.map((frame) => frame.replaceAll('\n', '\r\n'));
      break;
    case 'unknown members':
      frames = frames.map((frame) => frame.replace(/\{(?=")/, '{"x_unknown":{"a":[1,1.50,"é"]},'));
      break;
    case 'last frame twice':
      if (streamed) frames.push(frames.at(-1) ?? '');
      break;
    default:
      break;
  }
  return {
    status: 200,
    headers: { 'content-type': written.contentType, ...defaults },
    chunks: chunksOf(frames, chunks),
    isBroken,
  };
}

const breakMs = 250;

async function send(socket: Socket, { status, headers, chunks, isBroken }: Answer): Promise<void> {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.write(`HTTP/1.1 ${status} Reply\r\n${lines.join('\r\n')}\r\ntransfer-encoding: chunked\r\n\r\n`);
  for (const chunk of chunks) {
    if (chunk.length === 0) continue;
    if (socket.destroyed) return;
    socket.write(Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]));
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (isBroken) {
    // Without the last chunk, and not before all bytes have been read: how many of them a broken connection loses depends on chance.
    await Bun.sleep(breakMs);
    socket.end();
  } else socket.write('0\r\n\r\n');
}

const pollPaths = /^\/(?:mj\/task|suno\/fetch)/;

/** @returns the end of a chunked body that begins at `from`, with its bytes; null = it is not whole yet. */
function chunkedBody(bytes: Buffer, from: number): { readonly body: Buffer; readonly end: number } | null {
  const parts: Buffer[] = [];
  let at = from;
  for (;;) {
    const line = bytes.indexOf('\r\n', at);
    if (line < 0) return null;
    const size = Number.parseInt(bytes.subarray(at, line).toString('latin1'), 16);
    const next = line + 2 + size + 2;
    if (bytes.length < next) return null;
    if (size === 0) return { body: Buffer.concat(parts), end: next };
    parts.push(bytes.subarray(line + 2, line + 2 + size));
    at = next;
  }
}

export async function startUpstream(caseOf: (id: number) => Case | undefined) {
  const received = new Map<number, Received[]>();
  const unmarked: Received[] = [];
  const handle = (socket: Socket, head: string, bytes: Buffer) => {
    const [line = '', ...headers] = head.split('\r\n');
    const body = bytes.toString('utf8');
    const path = line.split(' ')[1] ?? '';
    const id = markIn(body) ?? markIn(path);
    const played = id === null ? undefined : caseOf(id);
    if (id === null || played === undefined) {
      // Unfinished tasks are asked about by the clock.
      if (!pollPaths.test(path)) unmarked.push({ line, headers, body, sent: '' });
      void send(socket, {
        status: 404,
        headers: { 'content-type': 'application/json' },
        chunks: [Buffer.from('{"error":{"message":"no case"}}')],
        isBroken: false,
      });
      return;
    }
    const list = received.get(id) ?? [];
    received.set(id, list);
    const reply = played.responses[Math.min(list.length, played.responses.length - 1)];
    if (reply === undefined) return;
    const answer = answerTo(reply, path, body);
    const sent = [...Object.values(answer.headers), Buffer.concat(answer.chunks).toString('utf8')].join('\n');
    list.push({ line, headers, body, sent });
    void send(socket, answer);
  };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    let buffered: Buffer = Buffer.alloc(0);
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      buffered = Buffer.concat([buffered, chunk]);
      for (;;) {
        const end = buffered.indexOf('\r\n\r\n');
        if (end < 0) return;
        const head = buffered.subarray(0, end).toString('latin1');
        const from = end + 4;
        if (/^transfer-encoding:.*chunked/im.test(head)) {
          const whole = chunkedBody(buffered, from);
          if (whole === null) return;
          buffered = buffered.subarray(whole.end);
          handle(socket, head, whole.body);
          continue;
        }
        const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
        if (buffered.length < from + length) return;
        const body = buffered.subarray(from, from + length);
        buffered = buffered.subarray(from + length);
        handle(socket, head, body);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    port,
    /** What came for a case, in order; it is forgotten. */
    take(id: number): readonly Received[] {
      const list = received.get(id) ?? [];
      received.delete(id);
      return list;
    },
    /** What named no case. */
    unmarked,
    stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

export type Upstream = Awaited<ReturnType<typeof startUpstream>>;
