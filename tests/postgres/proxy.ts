/** A stretch of network between a node and the database: every COMMIT may be late, lost on its way there, or its answer on the way back; or nothing passes. */
import { connect, createServer, type Socket } from 'node:net';

export type Fate = 'passes' | 'late' | 'lost' | 'unanswered';

export interface Stretch {
  /** The same address, through here. */
  readonly url: string;
  /** What becomes of the next COMMIT. */
  next: () => Fate;
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

const commit = 'COMMIT\0';
const lateMs = 30;

/** What a session hears by itself does not pass: messages of type A, of one connection's answers. */
function withoutNotices(): (chunk: Buffer) => Buffer {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    const passed: Buffer[] = [];
    while (rest.length >= 5) {
      const size = 1 + rest.readInt32BE(1);
      if (rest.length < size) break;
      if (rest[0] !== 'A'.charCodeAt(0)) passed.push(rest.subarray(0, size));
      rest = rest.subarray(size);
    }
    return Buffer.concat(passed);
  };
}

/** @param mute as behind a pooler that lends connections by the transaction: NOTIFY is heard by nobody. */
export async function startProxy(url: string, { mute = false } = {}): Promise<Stretch> {
  const to = new URL(url);
  const sockets = new Set<Socket>();
  let frozen = false;
  const server = createServer((client) => {
    const upstream = connect(Number(to.port), to.hostname);
    const heard = mute ? withoutNotices() : (chunk: Buffer) => chunk;
    let isDeaf = false;
    /** What follows a late COMMIT. */
    let behind: Buffer[] | null = null;
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      if (frozen) socket.pause();
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        // Whatever is on its way to the server still arrives.
        if (socket === client && isDeaf) setTimeout(() => upstream.end(), 2 * lateMs);
        else other.destroy();
      });
    }
    const forward = (chunk: Buffer, ms: number) => {
      behind = [chunk];
      setTimeout(() => {
        for (const one of behind ?? []) upstream.write(one);
        behind = null;
      }, ms);
    };
    client.on('data', (chunk: Buffer) => {
      if (behind !== null) return void behind.push(chunk);
      const fate = chunk.toString('latin1').includes(commit) ? proxy.next() : 'passes';
      if (fate === 'lost') client.destroy();
      else if (fate === 'late') forward(chunk, lateMs);
      else if (fate === 'unanswered') {
        isDeaf = true;
        // Committed after the node has given up, as often as before.
        forward(chunk, Math.random() < 0.5 ? 1 : lateMs);
        setTimeout(() => client.destroy(), lateMs / 2);
      } else upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (!isDeaf) client.write(heard(chunk));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const here = new URL(url);
  here.port = String(typeof address === 'object' && address !== null ? address.port : 0);

  const proxy: Stretch = {
    url: here.href,
    next: () => 'passes',
    freeze() {
      frozen = true;
      for (const socket of sockets) socket.pause();
    },
    thaw() {
      frozen = false;
      for (const socket of sockets) socket.resume();
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
