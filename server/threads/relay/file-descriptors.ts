/** Whether this process has no file descriptor left for a connection; the operator is notified, not once for every request. */
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

const quietMs = 60_000;

/** @param now milliseconds that never jump. @param open takes a descriptor and gives it back. */
export function createExhaustionWatch(print: (line: string) => void, now: () => number, open = touch): () => boolean {
  let reportedMs = Number.NEGATIVE_INFINITY;
  return () => {
    try {
      open();
      return false;
    } catch {
      // reason: the system alone.
      if (now() - reportedMs >= quietMs) {
        reportedMs = now();
        print('no descriptor is left for a connection to an upstream: raise the limit of open files (ulimit -n)');
      }
      return true;
    }
  };
}

const touch = (): void => closeSync(openSync(devNull, 'r'));
