/** Which rows of the log a filter means, and the index that finds them. */
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { ownMember } from '../../server/contract/counted.ts';
import { LogType } from '../../server/contract/enum.ts';
import { attemptsMember, endReasonsOf, errorStatuses, type LogStatus } from '../../server/contract/log-status.ts';
import { type NameKind, nameKinds, otherName, otherText } from '../../server/contract/names.ts';
import type { Dialect } from '../dialect.ts';
import { keysLabelled } from '../labels.ts';
import type { Database } from '../open.ts';
import type { LogsTable, Schema } from '../schema/tables.ts';

export interface LogFilter {
  readonly userId?: number | undefined;
  readonly type?: number | undefined;
  readonly username?: string | undefined;
  readonly tokenName?: string | undefined;
  /** Beside the name, whose index it needs. */
  readonly tokenId?: number | undefined;
  /** Whole label of a key, as it is now. */
  readonly tokenLabel?: string | undefined;
  /** Whole name; `%` matches anything. */
  readonly model?: string | undefined;
  readonly channel?: number | undefined;
  /** Part of a channel's present name. */
  readonly channelName?: string | undefined;
  /** Whole tag of a channel, as it is now. */
  readonly channelTag?: string | undefined;
  readonly group?: string | undefined;
  readonly requestId?: string | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Any of them. */
  readonly statuses?: readonly LogStatus[] | undefined;
  /** The error of the row: a code, or a reason with its status. */
  readonly error?: string | undefined;
  /** Without the site's own traffic: `isOwnTraffic`. */
  readonly ofUsers?: boolean | undefined;
  /** Names that clients give their requests: each has to match. */
  readonly names?: Readonly<Partial<Record<NameKind, string>>> | undefined;
  /** Requests that were served after a failed attempt count as `retried`; otherwise as `succeeded`. */
  readonly retries?: boolean | undefined;
}

/** Totals beyond this are not counted: the number would cost more than it is worth. */
export const maxCounted = 10_000;

/** Column and value of a filter; `isNotSuccess` is none, and stands for an index. */
type Equal = readonly [keyof LogsTable | 'exceptional', string | number];
/** Everything but plain successes, in the form of its index. */
export const isNotSuccess = (dialect: Dialect) =>
  sql<boolean>`(logs.type <> 2 OR logs.end_reason NOT IN ('completed', 'imported', '') OR ${dialect.position(sql`logs.other`, sql.lit(attemptsMember))} > 0)`;

/** More would let one query be built in exponentially many ways. */
const maxWildcards = 4;
export const isPattern = (model: string | undefined): boolean => model?.includes('%') === true;
const patternOf = (model: string): string => {
  const parts = model.replace(/[\\_]/g, '\\$&').split(/%+/);
  return parts.length > maxWildcards + 1 ? `${parts.slice(0, maxWildcards).join('%')}%` : parts.join('%');
};

export type NameColumn = `${NameKind}_id`;
type NameNumbers = readonly (readonly [NameColumn, readonly number[]])[];
/** Users with one name of the same kind. */
const maxNamed = 1000;

interface LogEnd {
  readonly id: number;
  readonly created_at: number;
}
interface LogEnds {
  readonly first: LogEnd;
  readonly last: LogEnd;
}

export type LogQuery<O> = SelectQueryBuilder<Schema, 'logs', O>;

export function createLogFilters({ query, dialect }: Database) {
  const ended = (status: (typeof errorStatuses)[number]) =>
    sql`WHEN logs.end_reason IN (${sql.join(endReasonsOf[status].map((reason) => sql.lit(reason)))}) THEN ${sql.lit(status)}`;
  /** `statusOf` as SQL. @param retries whether a row may say that it was retried. */
  const statusSql = (
    retries: boolean,
  ): RawBuilder<LogStatus> => sql<LogStatus>`CASE ${sql.join(errorStatuses.map(ended), sql` `)}
    WHEN logs.type = 5 THEN 'failed' WHEN logs.type NOT IN (0, 2) THEN 'event'
    ${retries ? sql`WHEN ${dialect.position(sql`logs.other`, sql.lit(attemptsMember))} > 0 THEN 'retried'` : sql``}
    ELSE 'succeeded' END`;
  /** '' = nothing went wrong, or no reason was recorded. */
  const errorSql: RawBuilder<string> = sql<string>`CASE WHEN logs.end_reason NOT IN ('completed', 'imported', '')
    THEN coalesce(${dialect.jsonText('logs.other', 'refused')}, ${dialect.jsonText('logs.other', 'failure')}, '') ELSE '' END`;

  /** Equality conditions of a filter, those that usually leave the fewest rows first. @param userId of the name in the filter. */
  const equalities = (filter: LogFilter, userId: number | undefined, numbers: NameNumbers, rare = false): Equal[] => {
    const session = numbers.find(([column, ids]) => column === 'session_id' && ids.length === 1)?.[1][0];
    const plain = !rare && (filter.statuses?.includes('succeeded') ?? true) && (filter.error ?? '') === '';
    const possible: readonly (readonly [Equal[0], string | number | undefined])[] = [
      ['request_id', filter.requestId],
      ['session_id', session],
      ['exceptional', plain ? undefined : 1],
      ['user_id', filter.userId],
      ['user_id', userId],
      ['token_name', filter.tokenName],
      ['channel_id', filter.channel],
      ['model_name', isPattern(filter.model) ? undefined : filter.model],
      ['group_name', filter.group],
      ['type', filter.type],
    ];
    return possible.flatMap(([column, value]): Equal[] =>
      value === undefined || value === '' ? [] : [[column, value]],
    );
  };

  /** By the user's number: names change, and the index is there already. 0 = no user. */
  const userIdOf = async (filter: LogFilter): Promise<number | undefined> => {
    const { username } = filter;
    if (username === undefined || username === '') return undefined;
    const user = await query.selectFrom('users').select('id').where('username', '=', username).executeTakeFirst();
    return user?.id ?? 0;
  };

  const channelsNamed = ({ channelName = '' }: LogFilter) =>
    query
      .selectFrom('channels')
      .select('channels.id')
      .where(dialect.like('channels.name', `%${channelName.replace(/[\\%_]/g, '\\$&')}%`, '\\'));

  /** Numbers of the names in a filter, by their columns; no number = nobody was ever called so. */
  const numbersOf = async ({ names = {}, userId }: LogFilter): Promise<NameNumbers> => {
    const found: [NameColumn, readonly number[]][] = [];
    for (const kind of nameKinds) {
      const text = names[kind];
      if (text === undefined || text === '') continue;
      const rows = await query
        .selectFrom('names')
        .select('id')
        .where('kind', '=', kind)
        .where('text', '=', text)
        .$if(userId !== undefined, (one) => one.where('user_id', '=', userId as number))
        .limit(maxNamed)
        .execute();
      const ids = rows.map(({ id }) => id);
      found.push([`${kind}_id`, text === otherText ? [...ids, otherName] : ids]);
    }
    return found;
  };

  const named = <O>(q: LogQuery<O>, numbers: NameNumbers): LogQuery<O> => {
    let filtered = q;
    for (const [column, ids] of numbers)
      filtered = filtered.where(
        ids.length === 0
          ? sql<boolean>`1 = 0`
          : sql<boolean>`${dialect.withoutIndex(`logs.${column}`)} IN (${sql.join(ids)})`,
      );
    return filtered;
  };

  const inTime = <O>(q: LogQuery<O>, filter: LogFilter): LogQuery<O> =>
    q
      .$if(filter.from !== undefined, (one) => one.where('logs.created_at', '>=', filter.from as number))
      .$if(filter.to !== undefined, (one) => one.where('logs.created_at', '<=', filter.to as number));

  const inRange = <O>(q: LogQuery<O>, filter: LogFilter): LogQuery<O> =>
    inTime(q, filter)
      .$if(filter.ofUsers === true, (one) =>
        one.where(
          sql<boolean>`NOT (logs.token_id = 0 AND ${dialect.position(sql`logs.other`, sql.lit(ownMember))} > 0)`,
        ),
      )
      .$if(filter.tokenId !== undefined, (one) => one.where('logs.token_id', '=', filter.tokenId as number))
      .$if((filter.tokenLabel ?? '') !== '', (one) =>
        one
          .where(sql<boolean>`logs.user_id IN (${keysLabelled(dialect, 'user_id', filter.tokenLabel ?? '')})`)
          .where(sql<boolean>`logs.token_id IN (${keysLabelled(dialect, 'id', filter.tokenLabel ?? '')})`),
      )
      .$if((filter.channelName ?? '') !== '', (one) => one.where('logs.channel_id', 'in', channelsNamed(filter)))
      .$if(filter.statuses !== undefined, (one) =>
        one.where(sql<boolean>`${statusSql(filter.retries === true)} IN (${sql.join(filter.statuses ?? [])})`),
      )
      .$if((filter.error ?? '') !== '', (one) => one.where(sql<boolean>`${errorSql} = ${filter.error}`))
      .$if(filter.channelTag !== undefined, (one) =>
        one.where(
          'logs.channel_id',
          'in',
          query
            .selectFrom('channels')
            .select('channels.id')
            .where('channels.tag', '=', filter.channelTag ?? ''),
        ),
      )
      .$if(isPattern(filter.model), (one) =>
        one.where(dialect.like('logs.model_name', patternOf(filter.model ?? ''), '\\')),
      );

  /** Only the leading column's index is to be used. */
  const where = <O>(q: LogQuery<O>, equal: readonly Equal[], lead: Equal | undefined): LogQuery<O> => {
    let filtered = q;
    for (const one of equal) {
      if (one[0] === 'exceptional') {
        if (one === lead) filtered = filtered.where(isNotSuccess(dialect));
        continue;
      }
      const name = `logs.${one[0]}`;
      const column = one === lead ? sql.ref(name) : dialect.withoutIndex(name);
      filtered = filtered.where(sql<boolean>`${column} = ${one[1]}`);
      // Written in the form of the index.
      if (one === lead && one[0] === 'type') filtered = filtered.where(sql<boolean>`logs.type <> 2`);
      if (one === lead && one[0] === 'session_id') filtered = filtered.where(sql<boolean>`logs.session_id <> 0`);
    }
    return filtered;
  };

  /** Rows of the range on one index, counted up to a limit. */
  const countOn = async (filter: LogFilter, lead: Equal | undefined, limit: number): Promise<number> => {
    const some = where(
      inTime(query.selectFrom('logs').select('logs.id'), filter),
      lead === undefined ? [] : [lead],
      lead,
    );
    const { n } = await query
      .selectFrom(some.limit(limit).as('some'))
      .select((eb) => eb.fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow();
    return n;
  };

  /** The equality that leaves the fewest rows: SQLite knows only averages, and the rare value of a common column is what people look for. */
  const rarest = async (filter: LogFilter, equal: readonly Equal[], limit = maxCounted): Promise<Equal | undefined> => {
    // All types but that of charges are few and have an index of their own.
    const candidates = equal.filter(([column, value]) => column !== 'type' || value !== LogType.consume);
    let best = candidates[0];
    if (candidates.length < 2) return best;
    let fewest = Number.POSITIVE_INFINITY;
    for (const candidate of candidates) {
      const n = await countOn(filter, candidate, Math.min(fewest, limit));
      if (n < fewest) [best, fewest] = [candidate, n];
    }
    return best;
  };

  /** All conditions of a filter, on the index that helps most. */
  const plan = async (filter: LogFilter) => {
    const numbers = await numbersOf(filter);
    const equal = equalities(filter, await userIdOf(filter), numbers);
    const lead = await rarest(filter, equal);
    return <O>(q: LogQuery<O>): LogQuery<O> => where(named(inRange(q, filter), numbers), equal, lead);
  };

  /**
   * The same, and how many rows its index leaves to look at.
   * @param limit beyond it rows are not counted.
   * @param rare everything but plain successes.
   */
  const sized = async (filter: LogFilter, limit: number, rare = false) => {
    const numbers = await numbersOf(filter);
    const equal = equalities(filter, await userIdOf(filter), numbers, rare);
    const lead = await rarest(filter, equal, limit);
    return {
      rows: await countOn(filter, lead, limit),
      narrow: <O>(q: LogQuery<O>): LogQuery<O> =>
        where(named(inRange(q, filter), numbers), equal, lead).$if(rare, (one) => one.where(isNotSuccess(dialect))),
      /** On no index of the log. */
      filtered: <O>(q: LogQuery<O>): LogQuery<O> => where(named(inRange(q, filter), numbers), equal, undefined),
    };
  };

  const endOf = async (filter: LogFilter, direction: 'asc' | 'desc'): Promise<LogEnd | undefined> =>
    inTime(query.selectFrom('logs').select(['id', 'created_at']), { from: filter.from, to: filter.to })
      .orderBy('created_at', direction)
      .orderBy('id', direction)
      .limit(1)
      .executeTakeFirst();
  /** The oldest row of its time, and the newest. */
  const endsOf = async (filter: LogFilter): Promise<LogEnds | null> => {
    const [first, last] = [await endOf(filter, 'asc'), await endOf(filter, 'desc')];
    return first === undefined || last === undefined ? null : { first, last };
  };

  /** Some `checked` rows of the log, evenly between two of them, whatever they say. @returns with how many of the log each stands for. */
  const spread = ({ first, last }: LogEnds, checked: number) => {
    const ids = { first: Math.min(first.id, last.id), last: Math.max(first.id, last.id) };
    const weight = Math.max(1, Math.ceil((ids.last - ids.first + 1) / checked));
    const some = dialect.spread({ ...ids, step: weight }, first.created_at, last.created_at).as('logs');
    return { rows: query.selectFrom(some) as unknown as LogQuery<unknown>, weight };
  };

  return { plan, sized, endsOf, spread, numbersOf, named, userIdOf, channelsNamed, statusSql, errorSql };
}
