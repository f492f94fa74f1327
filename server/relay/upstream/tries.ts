/** Who is asked next, and how often one request may be tried. */

import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { Candidates } from '../../routing/candidates.ts';
import type { Health } from '../routing/health.ts';
import type { UpstreamFailure } from '../shared/failure.ts';

export interface Tries {
  /** @param failure of who was asked last. @returns null = nobody is left whom it makes sense to ask. */
  next(failure: UpstreamFailure | null): ChannelSnapshot | null;
  /** @param asked so far. */
  left(asked: number): boolean;
  /** Each channel had its turn. */
  allAsked(): boolean;
  /** One more, whatever was granted. */
  grant(): void;
  /** Whatever the option says, one bad host or one spent key among others is not the caller's bad luck: one more, once. @param sameAgain another key of the same channel is ready. */
  spare(asked: number, sameAgain: boolean): void;
}

const missing = 404;

/** @param retryTimes null = whoever is left is asked: a refusal there has cost nobody anything. */
export const createTries = (
  health: Pick<Health, 'condition'>,
  candidates: Candidates<ChannelSnapshot>,
  retryTimes: number | null,
): Tries => new RequestTries(health, candidates, retryTimes);

/** A class, for each request has one. */
class RequestTries implements Tries {
  private granted: number;
  private spared = false;
  private turn = 0;

  constructor(
    private readonly health: Pick<Health, 'condition'>,
    private readonly candidates: Candidates<ChannelSnapshot>,
    private readonly retryTimes: number | null,
  ) {
    this.granted = retryTimes === null ? Number.POSITIVE_INFINITY : Math.max(1, retryTimes + 1);
  }

  next(failure: UpstreamFailure | null): ChannelSnapshot | null {
    const { candidates, turn } = this;
    const channel = candidates.at(turn % candidates.length);
    if (channel === undefined || turn >= candidates.length * this.granted) return null;
    if (turn >= candidates.length && !this.mayStandAgain(channel, failure)) return null;
    this.turn++;
    return channel;
  }

  left(asked: number): boolean {
    return asked < this.granted;
  }

  allAsked(): boolean {
    return this.turn >= this.candidates.length;
  }

  grant(): void {
    this.granted++;
  }

  spare(asked: number, sameAgain: boolean): void {
    if (asked < this.granted || this.spared || !(sameAgain || this.someoneIsFree())) return;
    this.spared = true;
    this.granted++;
  }

  /** A healthy channel has not been asked yet. Those are drawn first. */
  private someoneIsFree(): boolean {
    const other = this.turn < this.candidates.length ? this.candidates.at(this.turn) : undefined;
    return other !== undefined && this.health.condition(other) === 'up';
  }

  /** All were asked, and there are tries left: hosts that stumbled may have caught themselves, those in trouble have not. */
  private mayStandAgain(channel: ChannelSnapshot, failure: UpstreamFailure | null): boolean {
    return (
      this.retryTimes !== null &&
      failure?.class === 'host' &&
      failure.reason !== 'timeout' &&
      failure.status !== missing &&
      this.health.condition(channel) === 'up'
    );
  }
}
