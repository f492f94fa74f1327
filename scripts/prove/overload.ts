/** Three times as much as can be served: how many are turned away, how those fare who are let in, and how soon it is over. */
import type { Goal } from '../bench/goals.ts';
import { double, requestOf, wholeAnswer } from './doubles.ts';
import { atMost, flag, openSite, type ProofSite, share } from './site.ts';

interface Told {
  readonly at: number;
  readonly ms: number;
  readonly status: number;
}
interface Line {
  /** When its request was due; null = it is free. */
  due: number | null;
  text: string;
}

/** Requests at a rate, whatever becomes of those before; each waits for a free connection from the moment it was due. */
async function offer(site: ProofSite, perSecond: number, ms: number): Promise<readonly Told[]> {
  const told: Told[] = [];
  const bytes = requestOf(site.token, 'm', 'hi', false);
  const free: import('bun').Socket<Line>[] = [];
  const waiting: number[] = [];
  const lines = await Promise.all(
    Array.from({ length: 6000 }, () =>
      Bun.connect<Line>({
        hostname: '127.0.0.1',
        port: site.port,
        data: { due: null, text: '' },
        socket: {
          data(socket, piece) {
            const { data } = socket;
            data.text += piece.toString('latin1');
            const end = data.text.indexOf('\r\n\r\n');
            if (end < 0 || data.due === null) return;
            const length = Number(/content-length: *(\d+)/i.exec(data.text)?.[1] ?? 0);
            if (data.text.length < end + 4 + length) return;
            const at = performance.now();
            told.push({ at, ms: at - data.due, status: Number(data.text.slice(9, 12)) });
            data.text = '';
            data.due = null;
            free.push(socket);
          },
          error: () => undefined,
        },
      }),
    ),
  );
  free.push(...lines);
  const began = performance.now();
  let sent = 0;
  for (let now = began; now - began < ms; now = performance.now()) {
    for (const due = Math.floor(((now - began) * perSecond) / 1000); sent < due; sent++) waiting.push(now);
    while (waiting.length > 0) {
      const socket = free.pop();
      if (socket === undefined) break;
      socket.data.due = waiting.shift() ?? now;
      socket.write(bytes);
    }
    await Bun.sleep(2);
  }
  for (let waited = 0; free.length < lines.length && waited < 5000; waited += 20) await Bun.sleep(20);
  for (const socket of lines) socket.terminate();
  return told;
}

const answered = (told: readonly Told[]) => told.filter(({ status }) => status === 200).map(({ ms }) => ms);

/** As many at a time as a busy site has. @returns requests per second. */
async function capacityOf(site: ProofSite, ms: number): Promise<number> {
  let served = 0;
  const bytes = requestOf(site.token, 'm', 'hi', false);
  const sockets = await Promise.all(
    Array.from({ length: 48 }, () =>
      Bun.connect({
        hostname: '127.0.0.1',
        port: site.port,
        socket: {
          data(socket, piece) {
            if (!piece.toString('latin1').startsWith('HTTP/1.1 200')) return;
            served++;
            socket.write(bytes);
          },
          error: () => undefined,
        },
      }),
    ),
  );
  for (const socket of sockets) socket.write(bytes);
  await Bun.sleep(ms);
  for (const socket of sockets) socket.terminate();
  return (served * 1000) / ms;
}

export async function overload(args: readonly string[]): Promise<readonly Goal[]> {
  const seconds = flag(args, '--seconds', 10);
  const upstreamMs = flag(args, '--upstream-ms', 50);
  const upstream = double((socket) => setTimeout(() => socket.write(wholeAnswer), upstreamMs));
  const instant = double((socket) => socket.write(wholeAnswer));
  const site = await openSite([{ name: 'up', url: upstream.url, models: 'm' }]);
  await offer(site, 50, 2000);
  await site.run(['channel', 'edit', 'up', '--base-url', instant.url]);
  const capacity = await capacityOf(site, 4000);
  await site.run(['channel', 'edit', 'up', '--base-url', upstream.url]);
  const calm = answered(await offer(site, capacity * 0.2, 4000));
  const consoles: number[] = [];
  let over = false;
  const looking = (async () => {
    while (!over) {
      const asked = performance.now();
      await fetch(`${site.url}/api/status`).then((response) => response.arrayBuffer());
      consoles.push(performance.now() - asked);
      await Bun.sleep(50);
    }
  })();
  const told = await offer(site, capacity * 3, seconds * 1000);
  over = true;
  await looking;
  const after = await offer(site, capacity * 0.2, 4000);
  const began = (after[0]?.at ?? 0) - (after[0]?.ms ?? 0);
  const lastRefusal = Math.max(0, ...after.filter(({ status }) => status !== 200).map(({ at }) => at - began));
  // The first moments are the ones in which nobody knows yet.
  const settled = told.filter(({ at }) => at - (told[0]?.at ?? 0) > 2000);
  const letIn = answered(settled);
  const shed = settled.length - letIn.length;
  console.log(
    `capacity ${capacity.toFixed(0)} requests/s; offered ${(capacity * 3).toFixed(0)}, answered ${told.length}`,
  );
  console.log(`unloaded p50 ${share(calm, 0.5).toFixed(0)} p99 ${share(calm, 0.99).toFixed(0)} ms`);
  console.log(
    `let in p50 ${share(letIn, 0.5).toFixed(0)} p99 ${share(letIn, 0.99).toFixed(0)} ms; turned away ${((shed / settled.length) * 100).toFixed(0)} %`,
  );
  await site.run(['ledger', 'verify']);
  upstream.stop();
  instant.stop();
  site.signal('SIGTERM');
  await site.ended();
  site.remove();
  return [
    atMost('p99 of who is let in, by unloaded', share(letIn, 0.99) / share(calm, 0.99), 2, 'times'),
    atMost('p99 of the console', share(consoles, 0.99), 300, 'ms'),
    atMost('last refusal after it', lastRefusal, 2000, 'ms'),
  ];
}
