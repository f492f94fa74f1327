/**
 * Many large bodies at once in little memory: each is served or refused with 503, the process lives and its books agree.
 * The kernel's own limit is used where this user may make a cgroup; elsewhere only the figures are shown.
 */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { residentKb } from '../../../cli/bench/machine.ts';
import type { Goal } from '../bench/goal.ts';
import { wholeAnswer } from './double.ts';
import { flag, maxGoal, minGoal, openSite, type ProbeSite } from './site.ts';

const mb = 1024 * 1024;

/** Folder of a new group and the names of its limit, in the second or the first version of the interface. */
const interfaces = [
  { root: '/sys/fs/cgroup', is: '/sys/fs/cgroup/cgroup.controllers', limit: 'memory.max' },
  { root: '/sys/fs/cgroup/memory', is: '/sys/fs/cgroup/memory/cgroup.procs', limit: 'memory.limit_in_bytes' },
] as const;

/** @returns runs what it is given within the limit; null = no group can be made here. */
function memoryGroup(limitMb: number): { readonly prefix: readonly string[]; remove(): void } | null {
  const found = interfaces.find(({ is }) => existsSync(is));
  if (found === undefined) return null;
  const folder = `${found.root}/gateway-proof-${process.pid}`;
  try {
    mkdirSync(folder);
    writeFileSync(`${folder}/${found.limit}`, String(limitMb * mb));
  } catch {
    return null;
  }
  return {
    prefix: ['sh', '-c', `echo $$ > ${folder}/cgroup.procs && exec "$@"`, 'sh'],
    remove: () => rmdirSync(folder),
  };
}

const chat = (bytes: number): string =>
  JSON.stringify({ model: 'm', max_tokens: 4, messages: [{ role: 'user', content: 'x y '.repeat(bytes / 4) }] });

interface Burst {
  readonly statuses: Record<string, number>;
  readonly mostMb: number;
  readonly seconds: number;
}

async function burst(site: ProbeSite, body: string, count: number): Promise<Burst> {
  let mostKb = 0;
  const sampling = setInterval(() => {
    mostKb = Math.max(mostKb, residentKb(site.pid()) ?? 0);
  }, 20);
  const started = performance.now();
  const statuses: Record<string, number> = {};
  await Promise.all(
    Array.from({ length: count }, async () => {
      const status = await fetch(`${site.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${site.token}`, 'content-type': 'application/json' },
        body,
      }).then(
        async (response) => {
          await response.arrayBuffer();
          const retry = response.headers.get('retry-after');
          return response.status === 503 && retry === null ? '503 without Retry-After' : String(response.status);
        },
        (error: unknown) => `broken (${(error as { code?: string }).code})`,
      );
      statuses[status] = (statuses[status] ?? 0) + 1;
    }),
  );
  clearInterval(sampling);
  return { statuses, mostMb: mostKb / 1024, seconds: (performance.now() - started) / 1000 };
}

export async function largeBodies(args: readonly string[]): Promise<readonly Goal[]> {
  const limitMb = flag(args, '--memory', 512);
  const body = chat(flag(args, '--size', 4) * mb);
  const waitMs = flag(args, '--upstream', 200);
  const upstream = Bun.listen<{ left: number }>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open: (socket) => {
        socket.data = { left: 0 };
      },
      // Counts what comes and keeps nothing of it.
      data(socket, bytes) {
        const { data } = socket;
        if (data.left === 0) {
          const head = bytes.toString('latin1');
          const end = head.indexOf('\r\n\r\n');
          data.left = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0) + end + 4;
        }
        data.left -= bytes.length;
        if (data.left === 0) setTimeout(() => socket.write(wholeAnswer), waitMs);
      },
      error: () => undefined,
    },
  });
  const goals: Goal[] = [];
  for (const count of [1, 60, 300]) {
    const group = args.includes('--free') ? null : memoryGroup(limitMb);
    const channel = { name: 'up', url: `http://127.0.0.1:${upstream.port}`, models: 'm' };
    const site = await openSite([channel], ['--relays', String(flag(args, '--relays', 1))], {}, null, group?.prefix);
    let ended = false;
    void site.ended().then(() => {
      ended = true;
    });
    const beforeMb = (residentKb(site.pid()) ?? 0) / 1024;
    const { statuses, mostMb, seconds } = await burst(site, body, count);
    await Bun.sleep(500);
    const isAlive =
      !ended &&
      (await fetch(`${site.url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ));
    if (isAlive) site.signal('SIGTERM');
    await site.ended();
    const verified = await site.run(['ledger', 'verify']).then(
      () => true,
      () => false,
    );
    console.log(
      `${count} bodies of ${(body.length / mb).toFixed(0)} MB in ${group === null ? 'no group' : `${limitMb} MB`}: ${JSON.stringify(statuses)}, ${seconds.toFixed(1)} s, ${beforeMb.toFixed(0)} MB before, ${mostMb.toFixed(0)} MB at most, ${isAlive ? 'lives' : 'DEAD'}, books ${verified ? 'agree' : 'DIFFER'}`,
    );
    const answered = (statuses['200'] ?? 0) + (statuses['503'] ?? 0);
    goals.push(
      minGoal(`${count} bodies: served or 503`, answered, count, ''),
      minGoal(`${count} bodies: at least one is served`, statuses['200'] ?? 0, 1, ''),
      minGoal(`${count} bodies: the process lives and its books agree`, isAlive && verified ? 1 : 0, 1, ''),
      maxGoal(`${count} bodies: most memory`, mostMb, limitMb, 'MB'),
    );
    site.remove();
    group?.remove();
  }
  upstream.stop(true);
  return goals;
}
