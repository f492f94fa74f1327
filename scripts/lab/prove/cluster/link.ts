/** A stretch of network to a server, which can fail in the ways in which networks do. */
import { createConnection, createServer, type Socket } from 'node:net';
import { freePort } from '../../../../cli/bench/process.ts';

/** `hole` swallows everything and says nothing, `half` lets questions pass and no answers, `closed` refuses. */
export type LinkState = 'open' | 'hole' | 'half' | 'slow' | 'closed';

export interface Link {
  /** The same address, through here. */
  readonly url: string;
  set(state: LinkState): void;
  /** Cuts the connection on which the next COMMIT comes: before the server has it, or when it has and has answered. Resolves when it is cut, or none came. */
  cutAtCommit(moment: 'before' | 'after'): Promise<void>;
  stop(): void;
}

const slowMs = 120;
const commit = Buffer.from('COMMIT\0');
/** In which a server has written and answered it. */
const committedMs = 300;
const commitTimeoutMs = 10_000;

export async function startLink(target: string): Promise<Link> {
  const to = new URL(target);
  const sockets = new Set<Socket>();
  let state: LinkState = 'open';
  const passes = (isAnswer: boolean) => state === 'open' || state === 'slow' || (state === 'half' && !isAnswer);
  const lost = new WeakSet<Socket>();
  let armed: { readonly moment: 'before' | 'after'; readonly done: () => void } | null = null;
  /** @returns what of it goes on. */
  const cutAt = (chunk: Buffer, from: Socket, other: Socket): Buffer => {
    const place = armed === null ? -1 : chunk.indexOf(commit);
    if (armed === null || place < 0) return chunk;
    const { moment, done } = armed;
    armed = null;
    lost.add(from);
    lost.add(other);
    setTimeout(
      () => {
        from.destroy();
        done();
      },
      moment === 'before' ? 20 : committedMs,
    );
    return moment === 'before' ? chunk.subarray(0, place) : chunk;
  };
  const carry = (from: Socket, other: Socket, isAnswer: boolean) => {
    sockets.add(from);
    const late: { readonly at: number; readonly chunk: Buffer }[] = [];
    const send = () => {
      for (let [first] = late; first !== undefined && first.at <= performance.now(); [first] = late) {
        late.shift();
        if (other.writable) other.write(first.chunk);
      }
      if (late[0] !== undefined) setTimeout(send, Math.max(1, late[0].at - performance.now()));
    };
    from.on('data', (chunk: Buffer) => {
      // Until the connection breaks nothing more comes: a part that is missing would be no network's fault.
      if (!passes(isAnswer)) lost.add(from);
      if (lost.has(from)) return;
      const part = isAnswer ? chunk : cutAt(chunk, from, other);
      late.push({ at: performance.now() + (state === 'slow' ? slowMs : 0), chunk: part });
      if (late.length === 1) send();
    });
    from.on('error', () => other.destroy());
    from.on('close', () => {
      sockets.delete(from);
      other.destroy();
    });
  };
  const server = createServer((near) => {
    if (state === 'closed') return void near.destroy();
    const far = createConnection(Number(to.port), to.hostname);
    carry(near, far, false);
    carry(far, near, true);
  });
  const port = freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const url = new URL(target);
  url.port = String(port);
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    set(next) {
      // Whatever was lost on a connection makes it useless: as after a timeout of the network it is reset.
      if (next === 'closed' || (next === 'open' && (state === 'hole' || state === 'half'))) cut();
      state = next;
    },
    cutAtCommit: (moment) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => {
          armed = null;
          resolve();
        }, commitTimeoutMs);
        armed = {
          moment,
          done() {
            clearTimeout(timer);
            resolve();
          },
        };
      }),
    stop() {
      server.close();
      cut();
    },
  };
}
