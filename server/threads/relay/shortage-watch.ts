/** Whether this process has nothing left to open a connection with; the operator is notified, not once for every request. */
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import type { OwnShortage } from '../../contract/own-shortage.ts';

const quietMs = 60_000;

const lines: Readonly<Record<OwnShortage, string>> = {
  descriptors: 'no descriptor is left for a connection to an upstream: raise the limit of open files (ulimit -n)',
  ports: 'no port is left for a connection to an upstream: widen the range of them (net.ipv4.ip_local_port_range)',
  memory: 'no memory is left for requests: give the process more, or say with GATEWAY_MEMORY_MB how much it may use',
};

export interface ShortageWatch {
  /** Says it once a minute. */
  met(shortage: OwnShortage): void;
  /**
   * Whether a connection failed for want of something of ours. Names that could not be looked up and hosts that were not reached
   * say nothing of it: a try shows it, or others that met it at the same time.
   * @param waitedMs for which the connection was tried.
   */
  isExhausted(met: OwnShortage | null, waitedMs: number): boolean;
}

/** @param now milliseconds that never jump. @param open takes a descriptor and gives it back. */
export function createShortageWatch(print: (line: string) => void, now: () => number, open = touch): ShortageWatch {
  const reportedMs = new Map<OwnShortage, number>();
  let metMs = Number.NEGATIVE_INFINITY;
  const met = (shortage: OwnShortage): void => {
    if (now() - (reportedMs.get(shortage) ?? Number.NEGATIVE_INFINITY) < quietMs) return;
    reportedMs.set(shortage, now());
    print(lines[shortage]);
  };
  const hasDescriptors = (): boolean => {
    try {
      open();
      return true;
    } catch {
      // reason: the system alone.
      return false;
    }
  };
  return {
    met,
    isExhausted(shortage, waitedMs) {
      const found = shortage ?? (hasDescriptors() ? null : 'descriptors');
      if (found === null) return now() - metMs <= waitedMs;
      metMs = now();
      met(found);
      return true;
    },
  };
}

const touch = (): void => closeSync(openSync(devNull, 'r'));
