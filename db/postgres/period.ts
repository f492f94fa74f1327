import type { Period } from '../../server/contract/period.ts';

/** Epoch seconds: when the period began that is under way by the database's clock, in UTC. */
export const startOf = (period: Period): string =>
  `extract(epoch FROM date_trunc('${period}', statement_timestamp() AT TIME ZONE 'UTC'))::bigint`;
