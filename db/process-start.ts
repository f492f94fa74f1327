/** When a process began, so that a reused number is not taken for the same process. */
import { readFileSync } from 'node:fs';

/** @returns field 22 of the process table: clock ticks since boot. Empty where there is no such process or table. */
export function processStart(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}
