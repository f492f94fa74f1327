/** Who is asked next, and how often one request may be tried. */
import type { Health } from '../routing/health.ts';
import type { UpstreamFailure } from '../shared/failure.ts';
import type { ChannelSnapshot } from '../state/snapshot.ts';

export interface Tries {
  /** @param failure of who was asked last. @returns null = nobody is left whom it makes sense to ask. */
  next(failure: UpstreamFailure | null): ChannelSnapshot | null;
  /** @param asked so far. */
  left(asked: number): boolean;
  /** One more, whatever was granted. */
  grant(): void;
  /** Whatever the option says, one bad host or one spent key among others is not the caller's bad luck: one more, once. @param sameAgain another key of the same channel is ready. */
  spare(asked: number, sameAgain: boolean): void;
}

const missing = 404;

/** @param retryTimes null = whoever is left is asked: a refusal there has cost nobody anything. */
export function createTries(
  { condition }: Pick<Health, 'condition'>,
  candidates: readonly ChannelSnapshot[],
  retryTimes: number | null,
): Tries {
  let granted = retryTimes === null ? Number.POSITIVE_INFINITY : Math.max(1, retryTimes + 1);
  let spared = false;
  let turn = 0;
  /** Somebody who is well has not been asked yet. */
  const someoneIsFree = (): boolean => {
    for (let at = turn; at < candidates.length; at++) {
      const other = candidates[at];
      if (other !== undefined && condition(other) === 'up') return true;
    }
    return false;
  };
  /** All were asked, and there are tries left: hosts that stumbled may have caught themselves, those in trouble have not. */
  const mayStandAgain = (channel: ChannelSnapshot, failure: UpstreamFailure | null): boolean =>
    retryTimes !== null &&
    failure?.class === 'host' &&
    failure.reason !== 'timeout' &&
    failure.status !== missing &&
    condition(channel) === 'up';
  return {
    next(failure) {
      const channel = candidates[turn % candidates.length];
      if (channel === undefined || turn >= candidates.length * granted) return null;
      if (turn >= candidates.length && !mayStandAgain(channel, failure)) return null;
      turn++;
      return channel;
    },
    left: (asked) => asked < granted,
    grant: () => void granted++,
    spare(asked, sameAgain) {
      if (asked < granted || spared || !(sameAgain || someoneIsFree())) return;
      spared = true;
      granted++;
    },
  };
}
