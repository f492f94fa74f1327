/** Processes under test: started on a core of their own, ended by their own id, read through /proc. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadOrder, LoadResult } from './load.ts';

/** What is measured runs alone on one core; upstreams and load share the other. */
export const cores = { measured: 0, around: 1 } as const;

const children: Bun.Subprocess[] = [];

/** @param core null = wherever there is room. */
export function start(
  core: number | null,
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Bun.Subprocess {
  const child = Bun.spawn([...(core === null ? [] : ['taskset', '-c', String(core)]), ...command], {
    env: { ...process.env, ...env },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
  });
  children.push(child);
  return child;
}

export async function end(child: Bun.Subprocess): Promise<void> {
  child.kill();
  const late = setTimeout(() => child.kill('SIGKILL'), 5000);
  await child.exited;
  clearTimeout(late);
}

export const endAll = (): Promise<unknown> => Promise.all(children.map(end));

/** @returns milliseconds until the address answered with success. */
export async function answers(url: string, wanted: (status: number) => boolean = () => true): Promise<number> {
  const began = performance.now();
  while (performance.now() - began < 15_000) {
    const status = await fetch(url).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => 0,
    );
    if (status > 0 && wanted(status)) return performance.now() - began;
    await Bun.sleep(3);
  }
  throw new Error(`nothing answers at ${url}`);
}

/** A port nobody listens on right now. */
export function freePort(): number {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } });
  const { port } = probe;
  probe.stop(true);
  return port;
}

/** CPU of a process with all its threads, in microseconds; the kernel counts in ticks of 10 ms. */
export function cpuMicros(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

export const residentKb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);

/** Busy time of a core, in microseconds. */
export function coreMicros(core: number): number {
  const line = readFileSync('/proc/stat', 'utf8')
    .split('\n')
    .find((text) => text.startsWith(`cpu${core} `));
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = (line ?? '')
    .split(' ')
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq + steal) * 10_000;
}

/** @returns the result, with the CPU the generator used in microseconds. */
export async function load(order: LoadOrder): Promise<LoadResult & { readonly cpu: number }> {
  const child = Bun.spawn(
    [
      'taskset',
      '-c',
      String(cores.around),
      process.execPath,
      join(import.meta.dirname, 'load.ts'),
      JSON.stringify(order),
    ],
    { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' },
  );
  children.push(child);
  const text = await new Response(child.stdout).text();
  await child.exited;
  return { ...(JSON.parse(text) as LoadResult), cpu: Number(child.resourceUsage()?.cpuTime.total ?? 0) };
}
