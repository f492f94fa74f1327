/** Regular looks at many things: one timer for each interval, however many look. */

export interface Looking {
  check(): void;
}

interface Beat {
  readonly all: Set<Looking>;
  readonly timer: ReturnType<typeof setInterval>;
}

export class IntervalTimers {
  private readonly beats = new Map<number, Beat>();

  /** One looks every `ms`, the first time after at most so long. */
  add(ms: number, one: Looking): void {
    const known = this.beats.get(ms);
    if (known !== undefined) {
      known.all.add(one);
      return;
    }
    const all = new Set([one]);
    const timer = setInterval(() => {
      for (const each of all) each.check();
    }, ms);
    this.beats.set(ms, { all, timer });
  }

  remove(ms: number, one: Looking): void {
    const beat = this.beats.get(ms);
    if (beat === undefined) return;
    beat.all.delete(one);
    if (beat.all.size > 0) return;
    clearInterval(beat.timer);
    this.beats.delete(ms);
  }
}
