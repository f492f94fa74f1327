/** Counts rows of the log by time and by the values of their columns. Large logs are sampled, and each sampled row counts for those passed over. */
import { type RawBuilder, sql } from 'kysely';
import { errorStatuses, type LogFacet } from '../../server/contract/log-status.ts';
import type { Database } from '../open.ts';
import { createLogFilters, isNotSuccess, type LogFilter, type LogQuery } from './log-filter.ts';

export interface LogCounts {
  /** Epoch seconds of the first bucket's beginning, and seconds of each. */
  readonly from: number;
  readonly step: number;
  /** The numbers are estimates. */
  readonly isSample: boolean;
  /** By number of the bucket; those without rows are absent. */
  readonly buckets: readonly { readonly bucket: number; readonly rows: number; readonly errors: number }[];
  readonly values: readonly { readonly by: LogFacet; readonly value: string; readonly rows: number }[];
}

export interface LogCountsQuery {
  readonly by: readonly LogFacet[];
  /** Seconds of a bucket for a range of so many seconds. */
  readonly stepOf: (seconds: number) => number;
  /** Epoch seconds, where the filter has no end. */
  readonly now: number;
  /** Approximate number of rows that are read for one answer. */
  readonly checkedRows?: number;
}

interface Counted {
  readonly kind: LogFacet | 'bucket';
  readonly value: string;
  readonly n: number;
  readonly errors: number;
}

export function createLogFacets(database: Database) {
  const { query, dialect } = database;
  const { sized, endsOf, spread, statusSql, errorSql } = createLogFilters(database);
  const columns: Readonly<Record<Exclude<LogFacet, 'status'>, RawBuilder<unknown>>> = {
    error: errorSql,
    model: sql`logs.model_name`,
    token: sql`logs.token_name`,
    group: sql`logs.group_name`,
    user: sql`logs.username`,
    channel: sql`logs.channel_id`,
  };

  return async (filter: LogFilter, { by, stepOf, now, checkedRows = 10_000 }: LogCountsQuery): Promise<LogCounts> => {
    const ends = await endsOf(filter);
    const from = filter.from ?? ends?.first.created_at ?? now;
    const step = stepOf(Math.max(1, (filter.to ?? now) - from));
    if (ends === null) return { from, step, isSample: false, buckets: [], values: [] };

    const rowsOf = (q: LogQuery<unknown>, weight: number) =>
      q.select([
        sql<number>`${sql.lit(weight)}`.as('weight'),
        sql<number>`(logs.created_at - ${sql.lit(from)}) / ${sql.lit(step)}`.as('bucket'),
        statusSql(filter.retries === true).as('status'),
        ...by.flatMap((one) => (one === 'status' ? [] : [columns[one].as(one)])),
      ]);
    const { rows, narrow, filtered } = await sized(filter, checkedRows + 1);
    const all = query.selectFrom('logs') as LogQuery<unknown>;
    const isSample = rows > checkedRows;
    const parts: RawBuilder<unknown>[] = [];
    const part = (q: LogQuery<unknown>, weight: number) => sql`SELECT * FROM ${rowsOf(q, weight)} AS part`;
    if (!isSample) parts.push(part(narrow(all), 1));
    else {
      const { rows: some, weight } = spread(ends, checkedRows);
      const seen = filtered(some);
      // Errors are rare and looked for: all of them are counted where that can be done.
      const rare = await sized(filter, checkedRows + 1, true);
      const whole = rare.rows <= checkedRows;
      parts.push(
        part(whole ? seen.where(sql<boolean>`NOT ${isNotSuccess(dialect)}`) : seen, weight),
        ...(whole ? [part(rare.narrow(all), 1)] : []),
      );
    }
    const failed = sql`CASE WHEN status IN (${sql.join(errorStatuses.map((status) => sql.lit(status)))}) THEN weight ELSE 0 END`;
    const groups = [
      sql`SELECT 'bucket' AS kind, CAST(bucket AS TEXT) AS value, sum(weight) AS n, sum(${failed}) AS errors FROM seen GROUP BY bucket`,
      ...by.map(
        (one) =>
          sql`SELECT ${sql.lit(one)}, CAST(${sql.ref(one)} AS TEXT), sum(weight), 0 FROM seen GROUP BY ${sql.ref(one)}`,
      ),
    ];
    const counted = await sql<Counted>`WITH seen AS MATERIALIZED (${sql.join(parts, sql` UNION ALL `)})
      ${sql.join(groups, sql` UNION ALL `)}`.execute(query);
    const ordered = counted.rows
      .filter(({ kind, value }) => kind === 'bucket' || (value !== '' && (kind !== 'channel' || value !== '0')))
      .sort((one, other) => other.n - one.n || (one.value < other.value ? -1 : 1));
    return {
      from,
      step,
      isSample,
      buckets: ordered.flatMap(({ kind, value, n, errors }) =>
        kind === 'bucket' ? [{ bucket: Number(value), rows: n, errors }] : [],
      ),
      values: ordered.flatMap(({ kind, value, n }) => (kind === 'bucket' ? [] : [{ by: kind, value, rows: n }])),
    };
  };
}
