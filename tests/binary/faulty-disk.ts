/** A disk that is slow, hangs or is full for the database alone: a library in front of the C library, compiled here and now. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export interface FaultyDisk {
  /** For the process whose disk it is. */
  readonly env: Record<string, string>;
  /** Milliseconds that every sync takes from now on. */
  syncs(ms: number): void;
  /** Every write fails with this number; 0 = none does. */
  writesFail(errno: number): void;
}

export const ENOSPC = 28;
export const EIO = 5;

/** @returns null where there is no compiler. */
export function createFaultyDisk(dir: string): FaultyDisk | null {
  const library = join(dir, 'faulty-disk.so');
  const source = resolve(import.meta.dirname, 'faulty-disk.c');
  const compiled = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl']);
  if (compiled.error !== undefined) return null;
  if (compiled.status !== 0) throw new Error(String(compiled.stderr));
  const orders = join(dir, 'faulty-disk.orders');
  let [syncMs, errno] = [0, 0];
  const write = () => writeFileSync(orders, `${syncMs} ${errno}\n`);
  write();
  return {
    env: { LD_PRELOAD: library, FAULTY_DISK: orders },
    syncs(ms) {
      syncMs = ms;
      write();
    },
    writesFail(number) {
      errno = number;
      write();
    },
  };
}
