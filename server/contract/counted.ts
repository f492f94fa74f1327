/**
 * What counts as a request, and where a range of time begins: one answer for the overview, the log, channels, models, the
 * API and the terminal. Pure.
 *
 * A request is what a user's client sent and what was admitted; its attempts are the calls of upstreams made for it, and a
 * channel is judged by these. What was turned away before admission is counted as refused, beside the requests. The site's
 * own traffic is none of its users': tests of channels, and what an administrator tries in the playground. It has rows in
 * the log, and is in the figures of the account that paid for it, but in none that are about everybody.
 *
 * A range named by its length reaches from the last edge before it up to the edge after now, so it holds at least what its
 * name says and the step under way. Edges are those of the windows that traffic is kept in.
 */
import { Role } from './enum.ts';

/** The playground uses no key. @param role as in `Role`. */
export const isOwnTraffic = ({
  tokenId,
  userId,
  role,
}: {
  readonly tokenId: number;
  /** 0 = the test of a channel. */
  readonly userId: number;
  readonly role: number;
}): boolean => tokenId === 0 && (userId === 0 || role >= Role.admin);

/** The key that own traffic is counted under. */
export const ownToken = -2;

/** As the relay writes it into a row of the log; inside a text of the row its quotes would be escaped. */
export const ownMember = '"own":true';

const daySeconds = 86_400;

/** Ranges by their names, in seconds. */
export const namedRanges = {
  '15m': 900,
  '1h': 3600,
  '6h': 6 * 3600,
  '24h': daySeconds,
  '7d': 7 * daySeconds,
  '30d': 30 * daySeconds,
  '90d': 90 * daySeconds,
} as const;
export type NamedRange = keyof typeof namedRanges;

const fiveMinutesUpTo = 6 * 3600;
const hoursUpTo = 8 * daySeconds;

/** Seconds of the windows that a range of so many seconds is counted in. */
export const stepOf = (seconds: number): 300 | 3600 | 86_400 =>
  seconds <= fiveMinutesUpTo ? 300 : seconds <= hoursUpTo ? 3600 : daySeconds;

export interface Edges {
  /** Epoch seconds on the edges of steps; the second is excluded. */
  readonly from: number;
  readonly to: number;
  /** Seconds. */
  readonly step: number;
}

/** @param start epoch seconds. @param end epoch seconds; the step that it lies in counts. */
export const edgesOf = (start: number, end: number, step: number = stepOf(end - start)): Edges => ({
  from: start - (start % step),
  to: end - (end % step) + step,
  step,
});

/** @param now epoch seconds. */
export const edgesOfNamed = (range: NamedRange, now: number): Edges => edgesOf(now - namedRanges[range], now);
