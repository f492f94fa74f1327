/** Traffic by channel, key and model: windows that several writers add into, and what is read of them. */
import { type Insertable, type RawBuilder, type Selectable, sql } from 'kysely';
import { labelsIn } from '../../server/contract/token-fields.ts';
import { type TrafficCounter, type TrafficSpan, trafficCounters, trafficSpans } from '../../server/contract/traffic.ts';
import type { Database } from '../open.ts';
import type { TrafficTable } from '../schema/tables.ts';
import { deleteInSlices } from '../slices.ts';

export type TrafficRow = Selectable<TrafficTable>;
const trafficKinds = ['all', 'channel', 'model', 'route', 'token', 'use', 'save', 'other'] as const;
export type TrafficKind = (typeof trafficKinds)[number];

/** Which windows of which rows. */
export interface TrafficFilter {
  readonly span: TrafficSpan;
  readonly kind: TrafficKind;
  /** Epoch seconds; the second end is excluded. */
  readonly from: number;
  readonly to: number;
  readonly subjectId?: number | undefined;
  /** All but this one. */
  readonly exceptSubject?: number | undefined;
  readonly userId?: number | undefined;
  readonly part?: string | undefined;
  /** Only these groups. */
  readonly only?: { readonly group: Exclude<TrafficGroup, 'at'>; readonly keys: readonly (number | string)[] };
}

export type TrafficGroup = 'at' | 'subject_id' | 'user_id' | 'part';

/** Counters of one group; columns that it is not grouped by are 0 or ''. */
export type TrafficSum = Readonly<Record<TrafficCounter, number>> & {
  readonly at: number;
  readonly subject_id: number;
  readonly user_id: number;
  readonly part: string;
};

/** Counters of one channel in one window of five minutes. */
export type ChannelWindow = Pick<
  TrafficRow,
  | 'at'
  | 'subject_id'
  | 'attempts'
  | 'failed_upstream'
  | 'failed_rate_limited'
  | 'failed_auth'
  | 'failed_timeout'
  | 'failed_network'
  | 'saved'
  | 'answered'
  | 'streak'
  | 'streak_at'
  | 'failed_at'
  | 'words'
>;

/** Counters of one channel or model in one part of a range. */
export interface TrafficPart {
  readonly subject_id: number;
  /** Name of the model; '' of channels. */
  readonly part: string;
  /** Which part of the range, from 0. */
  readonly bar: number;
  /** For models these are requests. */
  readonly attempts: number;
  readonly failed: number;
  readonly requests: number;
  readonly latency_ms: number;
}

export interface ChannelSpend {
  readonly subject_id: number;
  readonly charge: number;
  /** Of the one day. */
  readonly of_day: number;
  /** The first day with traffic. */
  readonly first: number;
}

export interface FailedShareFilter {
  readonly span: TrafficSpan;
  readonly windows: number;
  readonly from: number;
  readonly to: number;
  readonly percent: number;
  /** Attempts below which nothing is said. */
  readonly attempts: number;
}

export interface FailedShareRow {
  readonly at: number;
  readonly subject_id: number;
  readonly failed: number;
  readonly attempts: number;
}

export interface FailingHourFilter {
  readonly from: number;
  readonly to: number;
  /** So many in a row. */
  readonly streak: number;
  /** So many, where more than half failed. */
  readonly failures: number;
}

export type FailingHour = Pick<TrafficRow, 'at' | 'subject_id' | 'words'>;

/** Attempts that failed, other than for what the request asked. */
const failedColumns = ['upstream', 'rate_limited', 'auth', 'timeout', 'network']
  .map((name) => `failed_${name}`)
  .join(' + ');

/** Rows that are read at most: the latest. */
const maxShares = 10_000;

export interface Named {
  readonly id: number;
  readonly name: string;
  /** Owner of a key. */
  readonly username: string;
}

const key = ['span', 'kind', 'at', 'subject_id', 'user_id', 'part'] as const;
const windowColumns = [
  'at',
  'subject_id',
  'attempts',
  'failed_upstream',
  'failed_rate_limited',
  'failed_auth',
  'failed_timeout',
  'failed_network',
  'saved',
  'answered',
  'streak',
  'streak_at',
  'failed_at',
  'words',
] as const;
/** Rows of one call: a row has some eighty values, and one engine takes 32,766 in a statement. */
export const maxTrafficRows = 300;

const old = (name: string): RawBuilder<number> => sql`${sql.ref(`traffic.${name}`)}`;
const added = (name: string): RawBuilder<number> => sql`${sql.ref(`excluded.${name}`)}`;

/** Adds the counters; a success resets a streak of failures; the words are those of the last failure. */
const merged = {
  ...(Object.fromEntries(trafficCounters.map((name) => [name, sql`${old(name)} + ${added(name)}`])) as Record<
    TrafficCounter,
    RawBuilder<number>
  >),
  answered: sql<number>`CASE WHEN ${added('answered')} = 1 THEN 1 ELSE ${old('answered')} END`,
  streak: sql<number>`CASE WHEN ${added('answered')} = 1 THEN ${added('streak')} ELSE ${old('streak')} + ${added('streak')} END`,
  streak_at: sql<number>`CASE
    WHEN ${added('answered')} = 1 OR ${old('streak')} = 0 THEN ${added('streak_at')} ELSE ${old('streak_at')} END`,
  failed_at: sql<number>`CASE
    WHEN ${added('failed_at')} >= ${old('failed_at')} THEN ${added('failed_at')} ELSE ${old('failed_at')} END`,
  words: sql<string>`CASE WHEN ${added('failed_at')} >= ${old('failed_at')} THEN ${added('words')} ELSE ${old('words')} END`,
};

const byKey = (one: Insertable<TrafficTable>, other: Insertable<TrafficTable>): number => {
  for (const name of key) {
    if (one[name] < other[name]) return -1;
    if (one[name] > other[name]) return 1;
  }
  return 0;
};

/** The columns that tell the rows of a kind in one window apart. */
const identity: Readonly<Record<TrafficKind, readonly Exclude<TrafficGroup, 'at'>[]>> = {
  all: [],
  channel: ['subject_id'],
  model: ['part'],
  route: ['subject_id', 'part'],
  token: ['subject_id', 'user_id'],
  use: ['subject_id', 'user_id', 'part'],
  save: ['subject_id', 'part'],
  other: ['subject_id', 'part'],
};

/** Each group is one row: nothing is left to add up. */
function isOneRowEach({ kind, subjectId, userId, part }: TrafficFilter, by: readonly TrafficGroup[]): boolean {
  const fixed = { subject_id: subjectId, user_id: userId, part };
  return by.includes('at') && identity[kind].every((name) => by.includes(name) || fixed[name] !== undefined);
}

export type TrafficOrder = 'requests' | 'charge' | 'tokens';

/** The rows that a filter lets through. */
function rowsOf(query: Database['query'], filter: TrafficFilter) {
  const { span, kind, from, to, subjectId, exceptSubject, userId, part, only } = filter;
  return (
    query
      .selectFrom('traffic')
      .where('span', '=', span)
      .where('kind', '=', kind)
      .where('at', '>=', from)
      .where('at', '<', to)
      // Said as the indexes say it.
      .$if(subjectId !== undefined, (q) => q.where('subject_id', '=', subjectId as number))
      .$if(exceptSubject !== undefined, (q) => q.where(sql<boolean>`subject_id <> ${sql.lit(exceptSubject ?? 0)}`))
      .$if(
        subjectId !== undefined &&
          part === undefined &&
          (kind === 'route' || kind === 'use' || kind === 'save' || kind === 'other'),
        (q) => q.where(sql<boolean>`part <> ''`),
      )
      .$if(part !== undefined, (q) => q.where('part', '=', part ?? '').where(sql<boolean>`part <> ''`))
      .$if(userId !== undefined, (q) => q.where('user_id', '=', userId as number).where(sql<boolean>`user_id <> 0`))
      .$if(only !== undefined, (q) => q.where(sql.ref(only?.group ?? 'part'), 'in', only?.keys ?? []))
  );
}

export function createTrafficRepository({ query }: Database) {
  return {
    /**
     * Adds at most `maxTrafficRows` to those that are there, in one order for all writers, so that none waits for another in a circle.
     * @param mark names the writer and this work of his, which is done once: its end may be unknown when a connection breaks.
     */
    add: (rows: readonly Insertable<TrafficTable>[], mark: { writer: string; work: string }): Promise<void> =>
      query.transaction().execute(async (transaction) => {
        const name = `traffic:${mark.writer}`;
        const done = await transaction
          .insertInto('meta')
          .values({ key: name, value: mark.work })
          .onConflict((conflict) =>
            conflict.column('key').doUpdateSet({ value: mark.work }).where(sql<boolean>`meta.value <> ${mark.work}`),
          )
          .executeTakeFirst();
        if ((done.numInsertedOrUpdatedRows ?? 0n) === 0n) return;
        await transaction
          .insertInto('traffic')
          .values(rows.toSorted(byKey))
          .onConflict((conflict) => conflict.columns(key).doUpdateSet(merged))
          .execute();
      }),
    /** @param places address by key. */
    usedFrom: async (places: ReadonlyMap<number, string>): Promise<void> => {
      for (const [id, ip] of places)
        await query
          .updateTable('tokens')
          .set({ last_ip: ip })
          .where('id', '=', id)
          .where('last_ip', '<>', ip)
          .execute();
    },
    /** The earliest first, where times are apart. @param counters of these alone; the others are absent. */
    totals: async (
      filter: TrafficFilter,
      by: readonly TrafficGroup[],
      counters: readonly TrafficCounter[] = trafficCounters,
    ): Promise<TrafficSum[]> => {
      const rows = await (isOneRowEach(filter, by)
        ? rowsOf(query, filter).select(by).select(counters).orderBy('at').execute()
        : rowsOf(query, filter)
            .select(by)
            .select((eb) => counters.map((name) => eb.fn.sum<number>(name).as(name)))
            .$if(by.length > 0, (q) => q.groupBy(by))
            .$if(by.includes('at'), (q) => q.orderBy('at'))
            .execute());
      return (rows as unknown as Partial<TrafficSum>[]).map(
        (row) => ({ at: 0, subject_id: 0, user_id: 0, part: '', ...row }) as TrafficSum,
      );
    },
    /** The groups with the most of something, which alone is added up: all counters of many keys take their time. */
    top: async (
      filter: TrafficFilter,
      {
        by,
        order,
        limit,
      }: { readonly by: Exclude<TrafficGroup, 'at'>; readonly order: TrafficOrder; readonly limit: number },
    ): Promise<(number | string)[]> => {
      const measure =
        order === 'tokens' ? sql<number>`sum(tokens_in + tokens_out)` : sql<number>`sum(${sql.ref(order)})`;
      const rows = await rowsOf(query, filter)
        .select(by)
        // Requests that were turned away before their model was known have none.
        .$if(by === 'part', (q) => q.where('part', '<>', ''))
        .groupBy(by)
        .orderBy(measure, 'desc')
        .orderBy(sql`sum(attempts)`, 'desc')
        .orderBy(by)
        .limit(limit)
        .execute();
      return (rows as unknown as Readonly<Record<string, number | string>>[]).map((row) => row[by] ?? 0);
    },
    /** Newest first. @param channelId of all without it. */
    windows: (span: TrafficSpan, from: number, channelId?: number): Promise<ChannelWindow[]> =>
      query
        .selectFrom('traffic')
        .select(windowColumns)
        .where('span', '=', span)
        .where('kind', '=', 'channel')
        .where('at', '>=', from)
        // A test is no attempt for a user, and says how the channel does.
        .where(sql<boolean>`(attempts > 0 OR answered > 0 OR streak > 0)`)
        .$if(channelId !== undefined, (q) => q.where('subject_id', '=', channelId as number))
        .orderBy('at', 'desc')
        .orderBy('subject_id')
        .execute(),
    /** The newest of each channel. */
    newestWindows: (span: TrafficSpan, from: number): Promise<ChannelWindow[]> =>
      query
        .selectFrom((rows) =>
          rows
            .selectFrom('traffic')
            .select(windowColumns)
            .select(sql<number>`row_number() OVER (PARTITION BY subject_id ORDER BY at DESC)`.as('nth'))
            .where('span', '=', span)
            .where('kind', '=', 'channel')
            .where('at', '>=', from)
            .where(sql<boolean>`(attempts > 0 OR answered > 0 OR streak > 0)`)
            .as('newest'),
        )
        .select(windowColumns)
        .where('nth', '=', 1)
        .execute(),
    /** What each channel was charged: from a day on, and on another one alone. */
    spend: ({ from, day }: { readonly from: number; readonly day: number }): Promise<ChannelSpend[]> =>
      query
        .selectFrom('traffic')
        .select((eb) => [
          'subject_id',
          eb.fn.sum<number>('charge').as('charge'),
          eb.fn.sum<number>(sql`CASE WHEN at = ${sql.lit(day)} THEN charge ELSE 0 END`).as('of_day'),
          eb.fn.min<number>('at').as('first'),
        ])
        .where('span', '=', 86_400)
        .where('kind', '=', 'channel')
        .where('at', '>=', from)
        .where('at', '<=', day)
        .groupBy('subject_id')
        .execute(),
    /** Channels that kept failing, or mostly failed, in their newest window: one of five minutes, or of an hour where there is none of these. */
    suspects: ({ minutesFrom, hoursFrom }: { readonly minutesFrom: number; readonly hoursFrom: number }) => {
      const failed = sql.raw(failedColumns);
      return query
        .selectFrom((rows) =>
          rows
            .selectFrom('traffic')
            .select([
              'subject_id',
              'words',
              sql<number>`row_number() OVER (PARTITION BY subject_id ORDER BY span, at DESC)`.as('nth'),
              sql<boolean>`(streak <> 0 OR 2 * (${failed}) > attempts)`.as('fails'),
            ])
            .where('kind', '=', 'channel')
            .where((eb) =>
              eb.or([
                eb.and([eb('span', '=', 300), eb('at', '>=', minutesFrom)]),
                eb.and([eb('span', '=', 3600), eb('at', '>=', hoursFrom)]),
              ]),
            )
            .where(sql<boolean>`(attempts > 0 OR answered > 0 OR streak > 0)`)
            .as('newest'),
        )
        .select(['subject_id', 'words'])
        .where('nth', '=', 1)
        .where(sql<boolean>`fails`)
        .orderBy('subject_id')
        .execute();
    },
    /** How a range of hours went, in parts of `width` seconds. @param from edge of an hour. @param subjectIds of these alone. */
    parts: (
      kind: 'channel' | 'model',
      { from, to, width }: { readonly from: number; readonly to: number; readonly width: number },
      subjectIds?: readonly number[],
    ): Promise<TrafficPart[]> => {
      const what = kind === 'channel' ? 'failed' : 'error';
      const failed = sql.raw(
        ['upstream', 'rate_limited', 'auth', 'timeout', 'network'].map((name) => `${what}_${name}`).join(' + '),
      );
      return query
        .selectFrom('traffic')
        .select((eb) => [
          'subject_id',
          'part',
          sql<number>`CAST((at - ${sql.lit(from)}) / ${sql.lit(width)} AS INTEGER)`.as('bar'),
          eb.fn.sum<number>(kind === 'channel' ? 'attempts' : 'requests').as('attempts'),
          eb.fn.sum<number>(sql`${failed}`).as('failed'),
          eb.fn.sum<number>('requests').as('requests'),
          eb.fn.sum<number>('latency_ms').as('latency_ms'),
        ])
        .where('span', '=', 3600)
        .where('kind', '=', kind)
        .where('at', '>=', from)
        .where('at', '<', to)
        .$if(subjectIds !== undefined, (q) => q.where('subject_id', 'in', subjectIds ?? []))
        .groupBy(['subject_id', 'part', 'bar'])
        .execute();
    },
    /**
     * Of each window, channels of which more failed than may, counted with the windows before.
     * @param windows so many together. @param from begins of windows.
     */
    failedShares: async ({
      span,
      windows,
      from,
      to,
      percent,
      attempts,
    }: FailedShareFilter): Promise<FailedShareRow[]> => {
      const over = sql.raw(
        `OVER (PARTITION BY subject_id ORDER BY at RANGE BETWEEN ${Math.trunc((windows - 1) * span)} PRECEDING AND CURRENT ROW)`,
      );
      const failed = sql.raw(failedColumns);
      const latest = await query
        .selectFrom((rows) =>
          rows
            .selectFrom('traffic')
            .select([
              'at',
              'subject_id',
              sql<number>`CAST(sum(${failed}) ${over} AS BIGINT)`.as('failed'),
              sql<number>`CAST(sum(attempts) ${over} AS BIGINT)`.as('attempts'),
            ])
            .where('span', '=', span)
            .where('kind', '=', 'channel')
            .where('at', '>=', from - (windows - 1) * span)
            .where('at', '<', to)
            .as('sums'),
        )
        .selectAll()
        .where('sums.at', '>=', from)
        .where('sums.attempts', '>=', attempts)
        .where(sql<boolean>`sums.failed * 100.0 > sums.attempts * CAST(${percent} AS REAL)`)
        .orderBy('sums.at', 'desc')
        .orderBy('sums.subject_id', 'desc')
        .limit(maxShares)
        .execute();
      return latest.reverse();
    },
    /** Hours in which a channel kept failing, by the hour alone. */
    failingHours: async ({ from, to, streak, failures }: FailingHourFilter): Promise<FailingHour[]> => {
      const failed = sql.raw(failedColumns);
      const latest = await query
        .selectFrom('traffic')
        .select(['at', 'subject_id', 'words'])
        .where('span', '=', 3600)
        .where('kind', '=', 'channel')
        .where('at', '>=', from)
        .where('at', '<', to)
        .where(sql<boolean>`(streak >= ${streak} OR (${failed} >= ${failures} AND 2 * (${failed}) > attempts))`)
        .orderBy('at', 'desc')
        .orderBy('subject_id', 'desc')
        .limit(maxShares)
        .execute();
      return latest.reverse();
    },
    channelNames: async (ids: readonly number[]): Promise<Named[]> => {
      const rows = await query
        .selectFrom('channels')
        .select(['id', 'name'])
        .where('id', 'in', ids)
        .orderBy('id')
        .execute();
      return rows.map((row) => ({ ...row, username: '' }));
    },
    userNames: async (ids: readonly number[]): Promise<Named[]> => {
      const rows = await query
        .selectFrom('users')
        .select(['id', 'username'])
        .where('id', 'in', ids)
        .orderBy('id')
        .execute();
      return rows.map((row) => ({ ...row, name: row.username }));
    },
    /** Deleted keys keep their names. */
    /** Labels of the keys that have any. */
    tokenLabels: async (): Promise<ReadonlyMap<number, readonly string[]>> => {
      const rows = await query.selectFrom('tokens').select(['id', 'labels']).where('labels', '<>', '').execute();
      return new Map(rows.map(({ id, labels }) => [id, labelsIn(labels)]));
    },
    tokenNames: (ids: readonly number[]): Promise<Named[]> =>
      query
        .selectFrom('tokens')
        .innerJoin('users', 'users.id', 'tokens.user_id')
        .select(['tokens.id', 'tokens.name', 'users.username'])
        .where('tokens.id', 'in', ids)
        .orderBy('tokens.id')
        .execute(),
    /** Deletes windows that began before a time of their span, in slices. */
    deleteOld: async (before: Readonly<Record<TrafficSpan, number>>): Promise<void> => {
      const columns = sql.join(key.map((name) => sql.ref(name)));
      for (const span of trafficSpans)
        for (const kind of trafficKinds)
          await deleteInSlices(async (limit) => {
            const old = query
              .selectFrom('traffic')
              .select(key)
              .where('span', '=', span)
              .where('kind', '=', kind)
              .where('at', '<', before[span])
              .orderBy('at')
              .limit(limit);
            const { numAffectedRows } = await sql`DELETE FROM traffic WHERE (${columns}) IN ${old}`.execute(query);
            return Number(numAffectedRows ?? 0n);
          });
    },
  };
}
