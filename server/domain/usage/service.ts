/** Usage by the hour, for the dashboard; days and weeks are the reader's own, so the console adds them up. */
import { type Database, forReading } from '../../../db/open.ts';
import { createUsageRepository, type UsageFilter } from '../../../db/repositories/usage.ts';
import { AppError } from '../../contract/errors.ts';

/** A month and the hour in which it is asked for. */
const maxSelfSeconds = 31 * 86_400 + 3600;
const daySeconds = 86_400;
const maxRows = 200_000;

export interface UsageRange {
  readonly start_timestamp?: number | undefined;
  readonly end_timestamp?: number | undefined;
}

export type UsageService = ReturnType<typeof createUsage>;

export function createUsage(deps: { readonly database: Database; readonly now: () => number }) {
  const repository = createUsageRepository(forReading(deps.database));
  const rangeOf = ({ start_timestamp: start, end_timestamp: end }: UsageRange) => {
    const to = end || Math.floor(deps.now() / 1000) + 3600;
    return { from: start || to - daySeconds, to };
  };
  const read = async (filter: UsageFilter) =>
    (await repository.hours(filter, maxRows)).map(({ hour_at, tokens, ...rest }, index) => ({
      id: index + 1,
      ...rest,
      created_at: hour_at,
      token_used: tokens,
    }));
  return {
    all: (range: UsageRange, username: string) => read({ ...rangeOf(range), username }),
    /** Channels are the operator's business. @throws AppError range_too_long */
    async self(range: UsageRange, userId: number) {
      const { from, to } = rangeOf(range);
      if (to - from > maxSelfSeconds) throw new AppError('range_too_long');
      return (await read({ from, to, userId })).map((row) => ({ ...row, channel_id: 0 }));
    },
  };
}
