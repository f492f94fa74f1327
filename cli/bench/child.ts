/** The parts of `gateway bench` that run in processes of their own, so that each one's CPU is counted by itself: `__bench <part> ...`. */
import { serveFloor } from './floor.ts';
import { generateLoad, type LoadOrder } from './load.ts';
import { keepOrder } from './process-group.ts';

/** An internal verb, not a command: no user types it. */
export const childVerb = '__bench';

/** @returns the exit code. */
export async function runChild([part, ...rest]: readonly string[], write: (text: string) => void): Promise<number> {
  if (part === 'floor') {
    serveFloor(rest);
    await new Promise<never>(() => undefined);
  }
  if (part === 'keeper') {
    await keepOrder(process.stdin, (pid, signal) => process.kill(pid, signal));
    return 0;
  }
  if (part !== 'load') return 2;
  write(`${JSON.stringify(await generateLoad(JSON.parse(rest[0] ?? '{}') as LoadOrder))}\n`);
  return 0;
}
