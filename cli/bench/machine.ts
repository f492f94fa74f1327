/** What the system reports about processes and cores; null where it reports nothing: then a figure is unknown, not zero. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
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

/** Microseconds that each thread has used so far, by its number. */
export type ThreadTimes = ReadonlyMap<number, { readonly name: string; readonly micros: number }>;

/** null where the system reports nothing; a thread that ends meanwhile is left out. */
export function threadTimes(pid: number): ThreadTimes | null {
  const folder = `/proc/${pid}/task`;
  if (!existsSync(folder)) return null;
  const times = new Map<number, { readonly name: string; readonly micros: number }>();
  for (const thread of readdirSync(folder).map(Number)) {
    const nanos = /^\d+/.exec(textAt(`${folder}/${thread}/schedstat`))?.[0];
    if (nanos === undefined) continue;
    const name = thread === pid ? 'main' : textAt(`${folder}/${thread}/comm`).trim();
    times.set(thread, { name, micros: Number(nanos) / 1000 });
  }
  return times.size === 0 ? null : times;
}

/** @returns microseconds between two readings, by name: threads of one name are added up. */
export function usedByThreads(before: ThreadTimes | null, after: ThreadTimes | null): Record<string, number> | null {
  if (before === null || after === null) return null;
  const used: Record<string, number> = {};
  for (const [thread, { name, micros }] of after)
    used[name] = (used[name] ?? 0) + micros - (before.get(thread)?.micros ?? 0);
  return used;
}

const numberIn = (text: string, name: string): number | null => {
  const found = new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text);
  return found === null ? null : Number(found[1]);
};

export const residentKb = (pid: number): number | null => numberIn(textAt(`/proc/${pid}/status`), 'VmRSS');

export interface Memory {
  readonly residentMb: number;
  /** What the process has for itself; the rest are pages of files, the executable first, that others may share. */
  readonly anonymousMb: number;
  readonly threads: number;
}

/** @param text of /proc/PID/status. */
export function memoryIn(text: string): Memory | null {
  const resident = numberIn(text, 'VmRSS');
  const anonymous = numberIn(text, 'RssAnon');
  const threads = numberIn(text, 'Threads');
  return resident === null || anonymous === null || threads === null
    ? null
    : { residentMb: resident / 1024, anonymousMb: anonymous / 1024, threads };
}

export const memoryOf = (pid: number): Memory | null => memoryIn(textAt(`/proc/${pid}/status`));

/** Bytes that a process has written so far. */
export interface Written {
  /** With system calls that write files; what goes to sockets is mostly not among it. */
  readonly calls: number;
  /** To be written to a disk; 0 on a file system in memory. */
  readonly disk: number;
}

/** @param text of /proc/PID/io, which only its owner may read. */
export function writtenIn(text: string): Written | null {
  const calls = numberIn(text, 'wchar');
  const disk = numberIn(text, 'write_bytes');
  return calls === null || disk === null ? null : { calls, disk };
}

export const written = (pid: number): Written | null => writtenIn(textAt(`/proc/${pid}/io`));

/** @param text of /proc/stat. @returns microseconds in which the core was busy. */
export function busyIn(text: string, core: number): number | null {
  const line = text.split('\n').find((one) => one.startsWith(`cpu${core} `));
  if (line === undefined) return null;
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line.split(' ').slice(1).map(Number);
  return (user + nice + system + irq + softirq + steal) * tickMicros;
}

export const coreMicros = (core: number): number | null => busyIn(textAt('/proc/stat'), core);
