/** Which change is on in this thread: as the running test file wrote it down for its process and the programs it starts. */
import { appendFileSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export interface Switch {
  /** The number of the change, -1 for none. */
  on: number;
  readonly test: string;
  /** Where the changes that are reached are noted; null = they are not recorded. */
  readonly reached: string | null;
  /** While modules are loaded, as opposed to tests that run. */
  loading: boolean;
  readonly seen: Set<number>;
}

declare global {
  var gatewaySwitch: Switch | undefined;
}

const root = resolve(import.meta.dirname, '..', '..', '..');

export const switchPath = (dir: string, pid: number): string => join(dir, `switch-${pid}.json`);

function written(): Switch {
  for (const pid of [process.pid, process.ppid]) {
    try {
      const { on, test, reached } = JSON.parse(readFileSync(switchPath(root, pid), 'utf8')) as Switch;
      return { on, test, reached, loading: false, seen: new Set() };
    } catch {
      // Another process, then, or none.
    }
  }
  return { on: -1, test: '', reached: null, loading: false, seen: new Set() };
}

export function isOn(number: number): boolean {
  globalThis.gatewaySwitch ??= written();
  const state = globalThis.gatewaySwitch;
  if (state.reached !== null && !state.seen.has(number)) {
    state.seen.add(number);
    appendFileSync(state.reached, `${JSON.stringify([state.test, number, state.loading])}\n`);
  }
  return number === state.on;
}
