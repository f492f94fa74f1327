/** Ten thousand connections that send nothing and five thousand clients that leave in the middle of it: new requests are served meanwhile, and afterwards nothing is left of them. */
import { Database } from 'bun:sqlite';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { residentKb } from '../../../cli/bench/machine.ts';
import { openDescriptors } from '../../../server/http/descriptors.ts';
import type { Goal } from '../bench/goal.ts';
import { ask, chunk, double, frame, lastFrames, requestOf, streamHead, wholeAnswer } from './double.ts';
import { descriptorsOf, flag, maxGoal, minGoal, openSite, type ProbeSite, share } from './site.ts';

/** This process, and the gateway, need some for themselves. */
const spareFiles = 500;
const atOnce = 200;
/** So few that admission lets all of them in. */
const leaveAtOnce = 50;
const wordMs = 100;
const settleMs = 60_000;

/** @returns how many can be had. */
async function connections(site: ProbeSite, count: number): Promise<Socket[]> {
  const open: Socket[] = [];
  while (open.length < count) {
    const batch = await Promise.all(
      Array.from({ length: Math.min(atOnce, count - open.length) }, () => {
        const { promise, resolve } = Promise.withResolvers<Socket | null>();
        const socket = connect(site.port, '127.0.0.1', () => resolve(socket));
        socket.on('error', () => resolve(null));
        return promise;
      }),
    );
    const made = batch.filter((socket) => socket !== null);
    open.push(...made);
    if (made.length < batch.length) break;
  }
  return open;
}

/** Leaves after the first word, or before there is one. */
async function leave(site: ProbeSite, n: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const socket = connect(site.port, '127.0.0.1', () => {
    socket.write(requestOf(site.token, 'm', `leaves ${n}`, true));
    if (n % 5 === 0) setImmediate(() => socket.destroy());
  });
  socket.on('data', () => socket.destroy());
  socket.on('error', () => resolve());
  socket.on('close', () => resolve());
  await promise;
}

const state = (site: ProbeSite) => ({ descriptors: descriptorsOf(site.pid()), kb: residentKb(site.pid()) ?? 0 });

/** Waits until it has come back, or no longer comes. */
async function until(isSo: () => boolean): Promise<void> {
  for (const end = performance.now() + settleMs; !isSo() && performance.now() < end; ) await Bun.sleep(200);
}

/** What the database says of those who left. */
function ended(dataDir: string): { readonly rows: number; readonly holds: number } {
  const database = new Database(join(dataDir, 'gateway.db'), { readonly: true });
  const count = (query: string) => Number(Object.values(database.query(query).get() as Record<string, number>)[0]);
  const found = {
    rows: count("SELECT COUNT(*) FROM logs WHERE model_name = 'm'"),
    holds: count('SELECT COUNT(*) FROM holds'),
  };
  database.close();
  return found;
}

async function serveAll(site: ProbeSite, count: number, answers: number[]): Promise<number> {
  let good = 0;
  for (let n = 0; n < count; n++) {
    const startedAt = performance.now();
    if ((await ask(site, 'plain', `newcomer ${n}`, n % 2 === 0)).status === 200) good++;
    answers.push(performance.now() - startedAt);
  }
  return good;
}

export async function manyUsers(args: readonly string[]): Promise<readonly Goal[]> {
  const limit = openDescriptors()?.limit ?? 1024;
  const count = flag(args, '--idle', 10_000);
  const aborts = flag(args, '--aborts', 5000);
  const newClients = flag(args, '--newcomers', 50);
  const idle = Math.min(count, Math.max(0, limit - spareFiles));
  if (idle < count)
    console.log(
      `${limit} descriptors can be had here: ${idle} idle connections instead of ${count} (raise ulimit -Hn)`,
    );
  const speaking = double((socket) => {
    socket.write(streamHead + chunk(frame('word ')));
    const timer = setInterval(() => {
      if (socket.readyState !== 1) return clearInterval(timer);
      socket.write(chunk(frame('word ')));
    }, wordMs);
  });
  const plain = double((socket, body) =>
    socket.write(
      body.includes('"stream":true')
        ? `${streamHead}${chunk(frame('word '))}${chunk(lastFrames)}0\r\n\r\n`
        : wholeAnswer,
    ),
  );
  const site = await openSite([
    { name: 'speaking', url: speaking.url, models: 'm' },
    { name: 'plain', url: plain.url, models: 'plain' },
  ]);
  const answers: number[] = [];
  await serveAll(site, newClients, answers);
  const quiet = descriptorsOf(site.pid());
  // A first wave fills what is kept on purpose.
  await Promise.all(Array.from({ length: leaveAtOnce }, (_, n) => leave(site, n)));
  await until(() => descriptorsOf(site.pid()) <= quiet + atOnce / 10);
  const before = state(site);

  const open = await connections(site, idle);
  const held = state(site);
  const besideIdle = await serveAll(site, newClients, answers);
  for (const socket of open) socket.destroy();
  await until(() => descriptorsOf(site.pid()) <= before.descriptors + atOnce / 10);
  const afterIdle = state(site);

  let left = 0;
  const leaving = Array.from({ length: leaveAtOnce }, async () => {
    while (left < aborts) await leave(site, left++);
  });
  const besideAborts = await serveAll(site, newClients, answers);
  await Promise.all(leaving);
  await until(() => descriptorsOf(site.pid()) <= before.descriptors + atOnce / 10);
  const after = state(site);
  site.signal('SIGTERM');
  const code = await site.ended();
  // Ends with an error where anything does not add up.
  await site.run(['ledger', 'verify']);
  const { rows, holds } = ended(site.dataDir);
  console.log(
    `${open.length} idle connections: ${((held.kb - before.kb) / Math.max(1, open.length)).toFixed(1)} KB each`,
  );
  console.log(
    `descriptors ${before.descriptors} before, ${held.descriptors} with them, ${afterIdle.descriptors} without, ${after.descriptors} after ${left} that left`,
  );
  console.log(
    `RSS ${[before, held, afterIdle, after].map(({ kb }) => (kb / 1024).toFixed(0)).join(', ')} MB; new requests p99 ${share(answers, 0.99).toFixed(0)} ms; ${speaking.requested()} of those who left had reached the upstream, ${rows} have a row; exit code ${code}`,
  );
  speaking.stop();
  plain.stop();
  site.remove();
  return [
    minGoal('idle connections', open.length, idle, 'connections'),
    minGoal('new requests served beside them', besideIdle, newClients, 'requests'),
    minGoal('new requests served beside clients that leave', besideAborts, newClients, 'requests'),
    maxGoal('descriptors that stay', after.descriptors - before.descriptors, atOnce / 10, ''),
    maxGoal('memory that stays', (after.kb - before.kb) / 1024, 100, 'MB'),
    minGoal('reached the upstream, and were settled or voided', rows, speaking.requested(), 'requests'),
    maxGoal('holds that stay', holds, 0, ''),
    maxGoal('exit code', code, 0, ''),
  ];
}
