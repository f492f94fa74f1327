/** Asks the relays for what they have counted, and has it written. */
import type { Timers } from '../../contract/timers.ts';
import type { TrafficWindow } from '../../contract/traffic.ts';

/** Between two questions; what was counted since the last one is lost when a relay thread or this one dies. */
const trafficMs = 5000;
/** A refused write may have held this thread up for ten seconds, and the next one would again. */
const afterRefusalMs = 60_000;

export interface KeepTrafficDeps {
  readonly recorder: { add(windows: readonly TrafficWindow[]): void; flush(): Promise<void> };
  readonly ask: () => void;
  /** Resolves with false while the tables take nothing. */
  readonly fresh: () => Promise<boolean>;
  readonly timers: Pick<Timers, 'monoNow' | 'every'>;
  /** One refusal of the database is reported, not each. */
  readonly report: (error: unknown) => void;
}

export function keepTraffic({ recorder, ask, fresh, timers, report }: KeepTrafficDeps) {
  let failing = false;
  let notBefore = Number.NEGATIVE_INFINITY;
  const write = () =>
    recorder.flush().then(
      () => {
        failing = false;
      },
      (error: unknown) => {
        if (!failing) report(error);
        failing = true;
        notBefore = timers.monoNow() + afterRefusalMs;
      },
    );
  const flush = async () => {
    // Another process may be writing: whoever waits for it here answers nobody meanwhile.
    if (timers.monoNow() >= notBefore && (await fresh())) await write();
  };
  const look = () => {
    ask();
    void flush();
  };
  const timer = timers.every(look, trafficMs);
  return {
    take(windows: readonly TrafficWindow[]) {
      recorder.add(windows);
      void flush();
    },
    stop(): Promise<void> {
      timer.close();
      return write();
    },
  };
}
