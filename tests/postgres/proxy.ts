/** A stretch of network between a node and the database: every COMMIT may be late, lost on its way there, or its answer on the way back; or nothing passes. */
import { connect, createServer, type Socket } from 'node:net';

export type Fate = 'passes' | 'late' | 'lost' | 'unanswered';

export interface Stretch {
  /** The same address, through here. */
  readonly url: string;
  /** What was asked for and is not available here. */
  readonly rejected: readonly string[];
  /** What becomes of the next COMMIT. */
  next: () => Fate;
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

const commit = 'COMMIT\0';
const delayMs = 30;

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

/** What PgBouncer accepts with its usual settings; it rejects clients that ask for more. */
const accepted = ['user', 'database', 'application_name', 'client_encoding', 'datestyle', 'timezone'];
const protocol = 196_608;

/** @returns what a session's own words ask for that a pooler which lends connections by the transaction cannot give. */
function beyondTransactions(): (chunk: Buffer) => string | null {
  let rest = Buffer.alloc(0);
  let isIn = false;
  const opening = (): string | null | undefined => {
    const size = rest.readInt32BE(0);
    if (rest.length < size) return undefined;
    const [words, version] = [rest.toString('utf8', 8, size - 1).split('\0'), rest.readInt32BE(4)];
    rest = rest.subarray(size);
    isIn = version === protocol;
    const names = isIn ? words.filter((_, index) => index % 2 === 0 && words[index] !== '') : [];
    return names.find((name) => !accepted.includes(name.toLowerCase())) ?? null;
  };
  const message = (): string | null | undefined => {
    const size = rest.length < 5 ? Number.POSITIVE_INFINITY : 1 + rest.readInt32BE(1);
    if (rest.length < size) return undefined;
    const [type, name] = [String.fromCharCode(rest[0] ?? 0), rest.toString('utf8', 5, rest.indexOf(0, 5))];
    rest = rest.subarray(size);
    // A statement with a name is another session's the next time.
    return type === 'P' && name !== '' ? `statement ${name}` : null;
  };
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5) {
      const found = isIn ? message() : opening();
      if (found !== null) return found ?? null;
    }
    return null;
  };
}

/** @param mute as behind a pooler that lends connections by the transaction: NOTIFY reaches no one, and what needs a session is refused. */
export async function startProxy(url: string, { mute = false } = {}): Promise<Stretch> {
  const to = new URL(url);
  const sockets = new Set<Socket>();
  const rejected: string[] = [];
  let frozen = false;
  const server = createServer((client) => {
    const upstream = connect(Number(to.port), to.hostname);
    const beyond = mute ? beyondTransactions() : () => null;
    const received = mute ? withoutNotices() : (chunk: Buffer) => chunk;
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
        if (socket === client && isDeaf) setTimeout(() => upstream.end(), 2 * delayMs);
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
      const wrong = beyond(chunk);
      if (wrong !== null) {
        rejected.push(wrong);
        return void client.destroy();
      }
      if (behind !== null) return void behind.push(chunk);
      const fate = chunk.toString('latin1').includes(commit) ? proxy.next() : 'passes';
      if (fate === 'lost') client.destroy();
      else if (fate === 'late') forward(chunk, delayMs);
      else if (fate === 'unanswered') {
        isDeaf = true;
        // Committed after the node has given up, as often as before.
        forward(chunk, Math.random() < 0.5 ? 1 : delayMs);
        setTimeout(() => client.destroy(), delayMs / 2);
      } else upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (!isDeaf) client.write(received(chunk));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const here = new URL(url);
  here.port = String(typeof address === 'object' && address !== null ? address.port : 0);

  const proxy: Stretch = {
    url: here.href,
    rejected,
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
