/** Requests that wait for a key to be free again, where that takes a moment: an attempt now would be refused, and its client would wait longer. */
import type { Deadline, Deadlines } from '../shared/deadline.ts';

/** More find no key either when their time comes. */
const maxWaiting = 256;
/** Between two that wait for the same channel. */
const apartMs = 10;

export class ShortWait {
  private readonly settled = Promise.withResolvers<void>();
  /** Its time has come, or it was ended before. */
  readonly over = this.settled.promise;
  private readonly deadline: Deadline;

  constructor(
    private readonly waits: ShortWaits,
    private readonly channelId: number,
    deadlines: Deadlines,
    ms: number,
  ) {
    this.deadline = deadlines.start(ms, this.end);
  }

  /** Gives its place back; later calls do nothing. */
  readonly end = (): void => {
    if (!this.waits.leave(this, this.channelId)) return;
    this.deadline.end();
    this.settled.resolve();
  };
}

export class ShortWaits {
  private readonly waiting = new Set<ShortWait>();
  /** How many wait for each channel. */
  private readonly lines = new Map<number, number>();

  constructor(private readonly deadlines: Deadlines) {}

  /** @param ms until a key is free. @param longestMs with those that came before. @returns null = it takes longer, or too many wait already. */
  start(channelId: number, ms: number, longestMs: number): ShortWait | null {
    const ahead = this.lines.get(channelId) ?? 0;
    const inAll = ms + ahead * apartMs;
    if (this.waiting.size >= maxWaiting || inAll > longestMs) return null;
    const wait = new ShortWait(this, channelId, this.deadlines, inAll);
    this.waiting.add(wait);
    this.lines.set(channelId, ahead + 1);
    return wait;
  }

  /** @returns false when it has left before. */
  leave(wait: ShortWait, channelId: number): boolean {
    if (!this.waiting.delete(wait)) return false;
    const left = (this.lines.get(channelId) ?? 1) - 1;
    if (left === 0) this.lines.delete(channelId);
    else this.lines.set(channelId, left);
    return true;
  }
}
