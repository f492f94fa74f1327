/** Defects of the program that requests of this process met within the last hour. */
export interface RecentDefects {
  readonly count: number;
  /** Request id of the latest one. */
  readonly requestId: string;
  readonly message: string;
}

const hourMs = 3_600_000;
/** More in an hour are counted as so many. */
const maxKept = 10_000;

/** @param now epoch milliseconds. */
export function createDefectCount(now: () => number) {
  let times: number[] = [];
  let latest = { requestId: '', message: '' };
  return {
    note(requestId: string, message: string): void {
      latest = { requestId, message };
      if (times.length < maxKept) times.push(now());
    },
    recent(): RecentDefects | null {
      times = times.filter((at) => now() - at < hourMs);
      return times.length === 0 ? null : { count: times.length, ...latest };
    },
  };
}
