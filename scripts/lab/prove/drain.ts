/** A restart behind a TCP proxy while hundreds of streams are open: what breaks, which responses new requests get, and whether everything is paid. */
import type { Goal } from '../bench/goal.ts';
import { ask, chunk, double, frame, lastFrames, requestOf, streamHead } from './double.ts';
import { flag, maxGoal, minGoal, openSite } from './site.ts';

const wordMs = 250;
const probeMs = 100;

/** Passes connections to a server that is ready; while none is, they wait. */
function openProxy(target: number, isReady: () => boolean) {
  interface Side {
    other: import('bun').Socket<Side> | null;
    early: Buffer[];
  }
  const send = (side: import('bun').Socket<Side> | null, early: Buffer[], bytes: Buffer) => {
    if (side === null) early.push(Buffer.from(bytes));
    else side.write(bytes);
  };
  const listener = Bun.listen<Side>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      async open(client) {
        client.data = { other: null, early: [] };
        const { data } = client;
        while (data.other === null) {
          while (!isReady()) await Bun.sleep(20);
          data.other = await Bun.connect<Side>({
            hostname: '127.0.0.1',
            port: target,
            data: { other: client, early: [] },
            socket: {
              data: (server, bytes) => void server.data.other?.write(bytes),
              close: (server) => void server.data.other?.end(),
              error: () => undefined,
            },
          }).catch(() => null);
          if (data.other === null) await Bun.sleep(20);
        }
        for (const bytes of data.early.splice(0)) data.other.write(bytes);
      },
      data: ({ data }, bytes) => send(data.other, data.early, bytes),
      close: ({ data }) => void data.other?.end(),
      error: () => undefined,
    },
  });
  return { port: listener.port, stop: () => listener.stop(true) };
}

interface Counts {
  whole: number;
  broken: number;
  started: number;
}

/** One stream to its end. */
async function receive(port: number, request: string, counts: Counts): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let text = '';
  let seen = false;
  let over = false;
  const end = (well: boolean) => {
    if (over) return;
    over = true;
    if (well) counts.whole++;
    else counts.broken++;
    resolve();
  };
  await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      open: (socket) => void socket.write(request),
      data(socket, bytes) {
        if (!seen) counts.started++;
        seen = true;
        text = (text + bytes.toString('latin1')).slice(-400);
        if (!text.endsWith('0\r\n\r\n')) return;
        end(text.includes('[DONE]') && !text.includes('"error"'));
        socket.end();
      },
      close: () => end(false),
      error: () => undefined,
    },
  });
  await promise;
}

/** Asks again and again over connections of its own. */
function startProbe(url: string, token: string, codes: Map<string, number>) {
  let over = false;
  const headers = { authorization: `Bearer ${token}`, connection: 'close' };
  const running = (async () => {
    while (!over) {
      const code = await fetch(url, { headers }).then(
        ({ status }) => String(status),
        () => 'broken',
      );
      codes.set(code, (codes.get(code) ?? 0) + 1);
      await Bun.sleep(probeMs);
    }
  })();
  return {
    stop(): Promise<void> {
      over = true;
      return running;
    },
  };
}

export async function drain(args: readonly string[]): Promise<readonly Goal[]> {
  const streams = flag(args, '--streams', 500);
  const lastWordMs = flag(args, '--seconds', 10) * 1000;
  let ending = Number.POSITIVE_INFINITY;
  const upstream = double((socket) => {
    socket.write(streamHead);
    const timer = setInterval(() => {
      if (performance.now() < ending) return void socket.write(chunk(frame('word ')));
      clearInterval(timer);
      socket.write(`${chunk(lastFrames)}0\r\n\r\n`);
    }, wordMs);
  });
  const site = await openSite([{ name: 'up', url: upstream.url, models: 'm' }], ['--grace', '120']);
  let ready = true;
  const proxy = openProxy(site.port, () => ready);
  const watching = setInterval(() => {
    void fetch(`${site.url}/readyz`).then(
      ({ status }) => {
        ready = status === 200;
      },
      () => {
        ready = false;
      },
    );
  }, 50);

  const counts = { whole: 0, broken: 0, started: 0 };
  const open = Array.from({ length: streams }, (_, n) =>
    receive(proxy.port, requestOf(site.token, 'm', `stream ${n}`, true), counts),
  );
  while (counts.started < streams) await Bun.sleep(20);

  const codes = new Map<string, number>();
  const probe = startProbe(`http://127.0.0.1:${proxy.port}/v1/models`, site.token, codes);
  await Bun.sleep(1000);
  const signalled = performance.now();
  site.signal('SIGTERM');
  ending = signalled + lastWordMs;
  await Promise.all(open);
  const code = await site.ended();
  const gone = performance.now();
  await site.again();
  const gapMs = performance.now() - gone;
  ready = true;
  await ask({ url: `http://127.0.0.1:${proxy.port}`, token: site.token }, 'm', 'after', true).then(({ status }) =>
    codes.set(`first stream after: ${status}`, 1),
  );
  await probe.stop();
  clearInterval(watching);
  // Ends with an error where anything does not add up.
  await site.run(['ledger', 'verify']);
  const rows = JSON.parse(
    await site.run(['logs', 'list', '--type', 'consume', '--limit', '1000', '--json']),
  ) as unknown;
  const settled = (JSON.stringify(rows).match(/"end_reason":"completed"/g) ?? []).length;
  console.log(`responses to new requests: ${[...codes].map(([code, count]) => `${code} x${count}`).join(', ')}`);
  console.log(
    `exit code ${code}; last stream to exit ${(gone - signalled - lastWordMs).toFixed(0)} ms, restart ${gapMs.toFixed(0)} ms`,
  );
  proxy.stop();
  upstream.stop();
  site.signal('SIGTERM');
  await site.ended();
  site.remove();
  return [
    minGoal('streams that ended whole', counts.whole, streams, 'streams'),
    maxGoal('streams that broke', counts.broken, 0, 'streams'),
    minGoal('streams that are paid', settled, streams, 'rows'),
    maxGoal('new requests whose connection broke', codes.get('broken') ?? 0, 0, 'requests'),
  ];
}
