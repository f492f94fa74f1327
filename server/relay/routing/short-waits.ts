/** Requests that wait for a key to be free again, where that takes a moment: an attempt now would be refused, and its client would wait longer. */
import type { Deadlines } from '../shared/deadline.ts';

/** More find no key either when their time comes. */
const maxWaiting = 256;
/** Between two that wait for the same moment. */
const apartMs = 10;

export class ShortWaits {
  private waiting = 0;

  constructor(private readonly deadlines: Deadlines) {}

  /** @returns null = too many wait already. */
  start(ms: number): Promise<void> | null {
    if (this.waiting >= maxWaiting) return null;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.deadlines.start(ms + this.waiting * apartMs, () => {
      this.waiting--;
      resolve();
    });
    this.waiting++;
    return promise;
  }
}
