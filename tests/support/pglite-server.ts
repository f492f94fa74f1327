/** PostgreSQL in this process behind a port, for what opens connections of its own. All of them share one session: one at a time may be in a transaction. */
import { createServer, type Socket } from 'node:net';
import { newLite } from './pglite.ts';

const sslRequest = 80_877_103;
const letter = (text: string): number => text.charCodeAt(0);

/** One message of the protocol. */
const message = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head[0] = letter(type);
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const authenticated = message('R', Buffer.from([0, 0, 0, 0]));
const parameter = (name: string, value: string): Buffer => message('S', Buffer.from(`${name}\0${value}\0`));
const ready = message('Z', Buffer.from('I'));
export const errorMessage = (code: string, text: string, severity = 'FATAL'): Buffer =>
  message('E', Buffer.from(`S${severity}\0V${severity}\0C${code}\0M${text}\0\0`));

/** Whole messages, and what is left. */
function framesOf(bytes: Buffer): { readonly frames: readonly Buffer[]; readonly rest: Buffer } {
  const frames: Buffer[] = [];
  let at = 0;
  while (bytes.length - at >= 5) {
    const length = bytes.readUInt32BE(at + 1) + 1;
    if (bytes.length - at < length) break;
    frames.push(bytes.subarray(at, at + length));
    at += length;
  }
  return { frames, rest: bytes.subarray(at) };
}

export interface LiteServer {
  readonly url: string;
  readonly migrated: Awaited<ReturnType<typeof newLite>>;
  /** What connections say of themselves. */
  readonly names: string[];
  /** New connections get this instead; null = they are let in. */
  refuse(answer: Buffer | null): void;
  /** Notifications do not arrive, as behind a pooler. */
  deafen(is: boolean): void;
  /** A notice goes with the next commit. */
  noticeNext(text: string): void;
  /** Cuts every connection. */
  cut(): void;
  close(): Promise<void>;
}

export async function serveLite(): Promise<LiteServer> {
  const migrated = await newLite();
  const { lite } = migrated;
  const sockets = new Set<Socket>();
  const names: string[] = [];
  let refusal: Buffer | null = null;
  let isDeaf = false;
  let notice = '';
  let turn: Promise<unknown> = Promise.resolve();

  const execute = async (socket: Socket, frames: readonly Buffer[]): Promise<void> => {
    const all = Buffer.concat(frames);
    const answer = framesOf(Buffer.from(await lite.execProtocolRaw(new Uint8Array(all)))).frames;
    for (const one of answer) {
      if (one[0] === letter('A')) {
        if (!isDeaf) for (const other of sockets) other.write(one);
        continue;
      }
      if (notice !== '' && one[0] === letter('C') && one.includes('COMMIT')) {
        socket.write(message('N', Buffer.from(`SWARNING\0VWARNING\0C01000\0M${notice}\0\0`)));
        notice = '';
      }
      socket.write(one);
    }
  };

  const server = createServer((socket) => {
    sockets.add(socket);
    let begun = false;
    let rest: Buffer = Buffer.alloc(0);
    let pending: Buffer[] = [];
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      if (!begun) {
        const length = rest.length < 8 ? Number.POSITIVE_INFINITY : rest.readUInt32BE(0);
        if (rest.length < length) return;
        const startup = rest.subarray(0, length);
        rest = rest.subarray(length);
        if (startup.readUInt32BE(4) === sslRequest) return void socket.write('N');
        const words = startup.subarray(8).toString().split('\0');
        names.push(words[words.indexOf('application_name') + 1] ?? '');
        if (refusal !== null) return void socket.end(refusal);
        begun = true;
        socket.write(
          Buffer.concat([
            authenticated,
            parameter('server_version', '18.0'),
            parameter('client_encoding', 'UTF8'),
            ready,
          ]),
        );
      }
      const { frames, rest: left } = framesOf(rest);
      rest = left;
      for (const frame of frames) {
        if (frame[0] === letter('X')) return void socket.end();
        pending.push(frame);
        if (frame[0] !== letter('S') && frame[0] !== letter('Q')) continue;
        const whole = pending;
        pending = [];
        turn = turn.then(() => execute(socket, whole)).catch(() => socket.destroy());
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `postgres://someone:secret@127.0.0.1:${port}/test?sslmode=disable`,
    migrated,
    names,
    refuse(answer) {
      refusal = answer;
    },
    deafen(is) {
      isDeaf = is;
    },
    noticeNext(text) {
      notice = text;
    },
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await turn;
    },
  };
}
