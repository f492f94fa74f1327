/** What the system reports about processes and cores; null where it reports nothing: then a figure is unknown, not zero. */
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** What is measured runs alone on one core; upstreams and load share the other. */
export const cores = { measured: 0, around: 1 } as const;

/** Processes can be kept on a core of their own. */
export const canPin = Bun.which('taskset') !== null && availableParallelism() > 1;
/** Processes can be read while they run. */
export const canRead = existsSync('/proc/self/stat') && existsSync('/proc/stat');

/** Of the kernel's user interface, whatever it counts with inside. */
const tickMicros = 10_000;

const textAt = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

/** @param text of /proc/PID/stat; the name in brackets may hold anything. @returns microseconds of all threads. */
export function cpuIn(text: string): number | null {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  return Number.isFinite(ticks) ? ticks * tickMicros : null;
}

export const cpuMicros = (pid: number): number | null => cpuIn(textAt(`/proc/${pid}/stat`));

export function residentKb(pid: number): number | null {
  const found = /VmRSS:\s+(\d+)/.exec(textAt(`/proc/${pid}/status`));
  return found === null ? null : Number(found[1]);
}

/** @param text of /proc/stat. @returns microseconds in which the core was busy. */
export function busyIn(text: string, core: number): number | null {
  const line = text.split('\n').find((one) => one.startsWith(`cpu${core} `));
  if (line === undefined) return null;
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line.split(' ').slice(1).map(Number);
  return (user + nice + system + irq + softirq + steal) * tickMicros;
}

export const coreMicros = (core: number): number | null => busyIn(textAt('/proc/stat'), core);
