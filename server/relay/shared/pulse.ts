/** Regular looks at many things: one timer for each interval, however many look. */

export interface Pulse {
  /** Calls `look` every `ms`, the first time after at most so long. @returns ends it. */
  every(ms: number, look: () => void): () => void;
}

interface Beat {
  readonly looks: Set<() => void>;
  readonly timer: ReturnType<typeof setInterval>;
}

export function createPulse(): Pulse {
  const beats = new Map<number, Beat>();

  const begin = (ms: number): Beat => {
    const looks = new Set<() => void>();
    const timer = setInterval(() => {
      for (const look of looks) look();
    }, ms);
    const beat = { looks, timer };
    beats.set(ms, beat);
    return beat;
  };

  return {
    every(ms, look) {
      const beat = beats.get(ms) ?? begin(ms);
      beat.looks.add(look);
      return () => {
        beat.looks.delete(look);
        if (beat.looks.size > 0 || beats.get(ms) !== beat) return;
        clearInterval(beat.timer);
        beats.delete(ms);
      };
    },
  };
}
