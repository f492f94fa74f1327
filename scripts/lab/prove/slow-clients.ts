/** Clients that ask for a fast stream and read nothing: what each of them costs. */
import { connect } from 'node:net';
import { residentKb } from '../../../cli/bench/machine.ts';
import type { Goal } from '../bench/goal.ts';
import { chunk, double, frame, requestOf, streamHead } from './double.ts';
import { flag, maxGoal, openSite } from './site.ts';

export async function slowClients(args: readonly string[]): Promise<readonly Goal[]> {
  const readers = flag(args, '--readers', 200);
  const seconds = flag(args, '--seconds', 10);
  const piece = Buffer.from(chunk(frame('x'.repeat(flag(args, '--frame', 256)))).repeat(50));
  let poured = 0;
  const upstream = double(async (socket) => {
    socket.write(streamHead);
    let rest = piece;
    // A full socket is asked again a little later: that it takes nothing is what is looked at.
    while (socket.readyState === 1) {
      const taken = socket.write(rest);
      if (taken < 0) return;
      poured += taken;
      rest = taken < rest.length ? rest.subarray(taken) : piece;
      await Bun.sleep(taken === 0 ? 50 : 1);
    }
  });
  const site = await openSite([{ name: 'up', url: upstream.url, models: 'm' }]);
  const before = residentKb(site.pid()) ?? 0;
  let max = before;
  const sampling = setInterval(() => {
    max = Math.max(max, residentKb(site.pid()) ?? 0);
  }, 100);
  const sockets = Array.from({ length: readers }, (_, n) => {
    const socket = connect(site.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(requestOf(site.token, 'm', `reader ${n}`, true));
    return socket;
  });
  await Bun.sleep(seconds * 1000);
  clearInterval(sampling);
  for (const socket of sockets) socket.destroy();
  await Bun.sleep(3000);
  const after = residentKb(site.pid()) ?? 0;
  console.log(
    `${readers} readers: ${(before / 1024).toFixed(0)} MB before, ${(max / 1024).toFixed(0)} at most, ${(after / 1024).toFixed(0)} after; upstreams gave ${(poured / readers / 1024).toFixed(0)} KB each`,
  );
  upstream.stop();
  site.signal('SIGKILL');
  await site.ended();
  site.remove();
  return [maxGoal('memory for each stalled reader', (max - before) / readers, 300, 'KB')];
}
