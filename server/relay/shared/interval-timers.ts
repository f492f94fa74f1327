/** Regular looks at many things: one timer for each interval, however many look. */
import type { Timer, Timers } from '../../contract/timers.ts';

export interface Looking {
  check(): void;
}

interface Beat {
  readonly all: Set<Looking>;
  readonly timer: Timer;
}

export class IntervalTimers {
  private readonly beats = new Map<number, Beat>();

  constructor(private readonly timers: Pick<Timers, 'every'>) {}

  /** One looks every `ms`, the first time after at most so long. */
  add(ms: number, one: Looking): void {
    const known = this.beats.get(ms);
    if (known === undefined) this.begin(ms, one);
    else known.all.add(one);
  }

  private begin(ms: number, one: Looking): void {
    const all = new Set([one]);
    const look = () => {
      for (const each of all) each.check();
    };
    const timer = this.timers.every(look, ms);
    this.beats.set(ms, { all, timer });
  }

  remove(ms: number, one: Looking): void {
    const beat = this.beats.get(ms);
    if (beat === undefined) return;
    beat.all.delete(one);
    if (beat.all.size > 0) return;
    beat.timer.close();
    this.beats.delete(ms);
  }
}
