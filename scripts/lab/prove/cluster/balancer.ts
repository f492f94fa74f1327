/** A TCP balancer as operators put before several machines: asks each whether it is ready, gives connections out in turn, knows nothing of what passes. */
import { connect, createServer, type Socket } from 'node:net';

export interface Balancer {
  readonly url: string;
  /** Who is given connections now. */
  ready(): readonly number[];
  /** As operators do before they stop a machine. */
  leaveOut(port: number, out: boolean): void;
  stop(): void;
}

const everyMs = 200;
/** On a busy machine a process that is well may be slow. */
const timeoutMs = 4000;

const isReady = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(timeoutMs), keepalive: false }).then(
    async (response) => {
      await response.arrayBuffer();
      return response.status === 200;
    },
    () => false,
  );

const connectTo = (port: number): Promise<Socket | null> => {
  const { promise, resolve } = Promise.withResolvers<Socket | null>();
  const socket = connect(port, '127.0.0.1', () => resolve(socket));
  socket.setTimeout(timeoutMs, () => resolve(null));
  socket.once('error', () => resolve(null));
  return promise;
};

export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const ready = new Set<number>();
  const out = new Set<number>();
  const checking = new Set<number>();
  const open = new Set<Socket>();
  let turn = 0;
  const check = async (port: number) => {
    if (checking.has(port)) return;
    checking.add(port);
    if ((await isReady(port)) && !out.has(port)) ready.add(port);
    else ready.delete(port);
    checking.delete(port);
  };
  const timer = setInterval(() => {
    for (const port of ports) void check(port);
  }, everyMs);
  const next = async (): Promise<Socket | null> => {
    for (let attempts = 0; attempts < ports.length; attempts++) {
      const candidates = ports.filter((port) => ready.has(port));
      const port = candidates[turn++ % Math.max(1, candidates.length)];
      if (port === undefined) return null;
      const socket = await connectTo(port);
      if (socket !== null) return socket;
      ready.delete(port);
    }
    return null;
  };
  const server = createServer({ pauseOnConnect: true }, async (client) => {
    open.add(client);
    client.on('error', () => client.destroy());
    client.on('close', () => open.delete(client));
    const upstream = await next();
    if (upstream === null || client.destroyed) {
      upstream?.destroy();
      return void client.destroy();
    }
    upstream.setTimeout(0);
    upstream.on('error', () => client.destroy());
    // An end in order comes through the pipe, behind the last byte.
    upstream.on('close', (broken) => void (broken && client.destroy()));
    client.on('close', () => upstream.destroy());
    client.pipe(upstream);
    upstream.pipe(client);
    client.resume();
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    ready: () => [...ready],
    leaveOut(which, isOut) {
      if (isOut) out.add(which);
      else out.delete(which);
      if (isOut) ready.delete(which);
    },
    stop() {
      clearInterval(timer);
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
