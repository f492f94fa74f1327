/**
 * Sums over the log: whole days and hours from the rows that the ledger adds up, what is left at both ends from the log itself.
 * Where those rows cannot know the answer, the log has it all.
 */
import { type RawBuilder, sql } from 'kysely';
import { ownToken } from '../../server/contract/counted.ts';
import { LogType } from '../../server/contract/enum.ts';
import type { NameKind } from '../../server/contract/names.ts';
import { hourlyKinds, sumSpans, sumsFromKey } from '../log-sums.ts';
import type { Database } from '../open.ts';
import { createLogFilters, isPattern, type LogFilter, type LogQuery } from './log-filter.ts';

const [hour, day] = sumSpans;

/** Whole seconds; the second end is excluded. */
interface Range {
  readonly from: number;
  readonly to: number;
}
/** Which rows answer for a range of time. */
interface Sources {
  readonly days: readonly Range[];
  readonly hours: readonly Range[];
  readonly log: readonly Range[];
}

const floor = (at: number, span: number): number => at - (at % span);
const ceil = (at: number, span: number): number => floor(at + span - 1, span);
/** The end of a range without one: more than any time, on the edge of a day. */
const never = floor(Number.MAX_SAFE_INTEGER - day, day);
const notEmpty = ({ from, to }: Range): boolean => from < to;

/** @param begin from when on rows are added up. @param spans those that there are sums of. @returns null = the log alone. */
export function sourcesOf(
  { from = 0, to }: Pick<LogFilter, 'from' | 'to'>,
  begin: number,
  spans: 'both' | 'hours' | 'days',
): Sources | null {
  const end = to === undefined ? never : to + 1;
  const edge = spans === 'days' ? day : hour;
  const first = ceil(Math.max(from, begin), edge);
  const last = floor(end, edge);
  if (first >= last) return null;
  const whole = { from: first, to: last };
  const days = { from: ceil(first, day), to: floor(last, day) };
  const log = [
    { from, to: first },
    { from: last, to: end },
  ].filter(notEmpty);
  if (spans === 'hours' || !notEmpty(days)) return { days: [], hours: [whole], log };
  const hours = [
    { from: first, to: days.from },
    { from: days.to, to: last },
  ].filter(notEmpty);
  return { days: [days], hours, log };
}

const isBlank = (text: string | undefined): boolean => text === undefined || text === '';

/** Whether sums can answer it: only filters that they know, and the type of charges. */
const isAnswerable = (filter: LogFilter): boolean =>
  isBlank(filter.tokenName) &&
  isBlank(filter.tokenLabel) &&
  isBlank(filter.channelName) &&
  filter.channelTag === undefined &&
  isBlank(filter.requestId) &&
  filter.statuses === undefined &&
  isBlank(filter.error) &&
  !isPattern(filter.model) &&
  Object.values(filter.names ?? {}).every(isBlank);

const isOfNamesAlone = (filter: LogFilter): boolean =>
  isAnswerable(filter) &&
  isBlank(filter.model) &&
  isBlank(filter.group) &&
  filter.channel === undefined &&
  filter.tokenId === undefined;

export type SumColumn =
  | 'at'
  | 'username'
  | 'token_id'
  | 'token_name'
  | 'group_name'
  | 'model_name'
  | 'channel_id'
  | 'requests'
  | 'errors'
  | 'tokens'
  | 'quota'
  | 'list';

export function createLogSums(database: Database) {
  const { query, dialect } = database;
  const { plan, userIdOf } = createLogFilters(database);

  const inLog: Readonly<Record<SumColumn, RawBuilder<unknown>>> = {
    at: sql`logs.created_at`,
    username: sql`logs.username`,
    token_id: sql`logs.token_id`,
    token_name: sql`logs.token_name`,
    group_name: sql`logs.group_name`,
    model_name: sql`logs.model_name`,
    channel_id: sql`logs.channel_id`,
    requests: sql`1`,
    errors: sql`CASE WHEN logs.end_reason IN ('completed', 'imported', '') THEN 0 ELSE 1 END`,
    tokens: sql`logs.prompt_tokens + logs.completion_tokens`,
    quota: sql`logs.quota`,
    list: sql`logs.quota * 1.0 / nullif(${dialect.jsonNumber('logs.other', 'group_ratio')}, 0)`,
  };
  const inSums = (column: SumColumn): RawBuilder<unknown> => {
    if (column === 'token_id')
      return sql`CASE WHEN token_id = ${sql.lit(ownToken)} THEN 0 ELSE token_id END AS token_id`;
    return column === 'tokens' ? sql`prompt_tokens + completion_tokens AS tokens` : sql.ref(column);
  };

  const begin = async (): Promise<number> => {
    const row = await query.selectFrom('meta').select('value').where('key', '=', sumsFromKey).executeTakeFirst();
    return row === undefined ? Number.POSITIVE_INFINITY : Number(row.value);
  };

  const sourcesFor = async (filter: LogFilter, spans: 'both' | 'hours' | 'days'): Promise<Sources | null> => {
    const from = await begin();
    return Number.isFinite(from) ? sourcesOf(filter, from, spans) : null;
  };

  const ofUser = async (filter: LogFilter): Promise<RawBuilder<unknown>[]> => {
    const named = await userIdOf(filter);
    return [filter.userId, named].flatMap((id) => (id === undefined ? [] : [sql`user_id = ${id}`]));
  };

  const inTime = (span: number, { from, to }: Range): RawBuilder<unknown> =>
    sql`span = ${sql.lit(span)} AND at >= ${sql.lit(from)} AND at < ${sql.lit(to)}`;

  /** Parts of one table. @param part rows of a span. @param ofLog rows of the log in a range. */
  const joined = async (
    sources: Sources,
    part: (span: number, range: Range) => RawBuilder<unknown>,
    ofLog: (filter: Pick<LogFilter, 'from' | 'to'>) => Promise<RawBuilder<unknown>>,
  ): Promise<RawBuilder<unknown>> => {
    const parts = [
      ...sources.days.map((range) => part(day, range)),
      ...sources.hours.map((range) => part(hour, range)),
    ];
    for (const { from, to } of sources.log) {
      const rows = await ofLog({ from: from === 0 ? undefined : from, to: to === never ? undefined : to - 1 });
      parts.push(sql`SELECT * FROM ${rows} AS part`);
    }
    return sql`(${sql.join(parts, sql` UNION ALL `)}) AS parts`;
  };

  const tableInLog = async (filter: LogFilter, columns: readonly SumColumn[]): Promise<RawBuilder<unknown>> =>
    (await plan({ ...filter, type: LogType.consume }))(
      query.selectFrom('logs').select(columns.map((name) => inLog[name].as(name))) as LogQuery<unknown>,
    ) as unknown as RawBuilder<unknown>;

  const namesInLog = async (filter: LogFilter, kind: NameKind): Promise<RawBuilder<unknown>> => {
    const column = `logs.${kind}_id` as const;
    return (await plan({ ...filter, type: LogType.consume }))(
      query
        .selectFrom('logs')
        .select([
          sql`${sql.ref(column)}`.as('id'),
          'logs.user_id',
          inLog.requests.as('requests'),
          inLog.tokens.as('tokens'),
          'logs.quota',
        ])
        .where(sql<boolean>`${sql.ref(column)} <> 0`) as unknown as LogQuery<unknown>,
    ) as unknown as RawBuilder<unknown>;
  };

  return {
    /**
     * @param spans 'hours' = days would not do. @returns a table of these columns, whose rows add up to the charged requests of the filter.
     */
    async table(
      filter: LogFilter,
      columns: readonly SumColumn[],
      spans: 'both' | 'hours' = 'both',
    ): Promise<RawBuilder<unknown>> {
      const sources = isAnswerable(filter) ? await sourcesFor(filter, spans) : null;
      if (sources === null) return sql`${await tableInLog(filter, columns)} AS parts`;
      const equal: readonly (readonly [string, string | number | undefined])[] = [
        ['model_name', filter.model],
        ['group_name', filter.group],
        ['channel_id', filter.channel],
      ];
      const conditions = [
        ...(await ofUser(filter)),
        ...equal.flatMap(([column, value]) =>
          value === undefined || value === '' ? [] : [sql`${sql.ref(column)} = ${value}`],
        ),
        ...(filter.tokenId === undefined ? [] : [sql`token_id IN (${sql.join(tokensOf(filter.tokenId))})`]),
        ...(filter.ofUsers === true ? [sql`token_id <> ${sql.lit(ownToken)}`] : []),
      ];
      const selected = sql.join(columns.map(inSums));
      return joined(
        sources,
        (span, range) =>
          sql`SELECT ${selected} FROM log_sums WHERE ${sql.join([inTime(span, range), ...conditions], sql` AND `)}`,
        (range) => tableInLog({ ...filter, ...range }, columns),
      );
    },
    /** The same by one kind of name: id, user_id, requests, tokens, quota. */
    async names(filter: LogFilter, kind: NameKind): Promise<RawBuilder<unknown>> {
      const sources = isOfNamesAlone(filter) ? await sourcesFor(filter, hourlyKinds.has(kind) ? 'both' : 'days') : null;
      if (sources === null) return sql`${await namesInLog(filter, kind)} AS parts`;
      const conditions = [sql`kind = ${sql.lit(kind)}`, ...(await ofUser(filter))];
      return joined(
        sources,
        (span, range) => sql`SELECT name_id AS id, user_id, requests, prompt_tokens + completion_tokens AS tokens, quota
          FROM name_sums WHERE ${sql.join([inTime(span, range), ...conditions], sql` AND `)}`,
        (range) => namesInLog({ ...filter, ...range }, kind),
      );
    },
  };
}

/** Keys under which rows of that key are added up. */
const tokensOf = (tokenId: number): readonly number[] => (tokenId === 0 ? [0, ownToken] : [tokenId]);
