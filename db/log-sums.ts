/** Columns that the sums of the log are kept by. */
import type { NameKind } from '../server/contract/names.ts';

/** Seconds of a sum: hours and days of UTC. */
export const sumSpans = [3600, 86_400] as const;

/** Names whose sums are kept by the hour too: the others are many, and seldom last for days. */
export const hourlyKinds: ReadonlySet<NameKind> = new Set<NameKind>(['agent', 'end_user']);

/** Row of `meta` with the first second from which on every row is added up. */
export const sumsFromKey = 'sums_from';
