/** The log. Pages are ordered by time; every filter has an index that ends in the time. */
import { type AliasedRawBuilder, type RawBuilder, type Selectable, type SelectQueryBuilder, sql } from 'kysely';
import { refundRef } from '../../server/billing/ledger/commands.ts';
import { LogType } from '../../server/contract/enum.ts';
import { type NameKind, type Names, nameKinds, otherName, otherText } from '../../server/contract/names.ts';
import { fieldOf, isDescending, type logSorts, type Sort } from '../../server/contract/sort.ts';
import { labelsIn } from '../../server/contract/token-fields.ts';
import type { Database } from '../open.ts';
import type { LogsTable, Schema } from '../schema/tables.ts';
import { createLogFacets } from './log-counts.ts';
import { createLogFilters, type LogFilter, type LogQuery, maxCounted, type NameColumn } from './log-filter.ts';
import { createLogSums, type SumColumn } from './log-sums.ts';

export type LogRow = Selectable<LogsTable> & { channel_name: string | null };

export type LogSort = Sort<(typeof logSorts)[number]>;

/** Place in a walk through the log, oldest first. */
export interface LogCursor {
  readonly createdAt: number;
  readonly id: number;
}

/** What a group of requests cost together. */
export interface LogSum {
  readonly name: string;
  readonly channel_id: number;
  readonly requests: number;
  readonly tokens: number;
  readonly quota: number;
  /** Quota without the group's ratio. */
  readonly list: number;
}

interface LogTotals {
  readonly quota: number;
  readonly requests: number;
  /** Requests that ended without their whole answer. */
  readonly errors: number;
  readonly tokens: number;
}

/** What one model cost on one day. */
export interface LogDay {
  /** Epoch seconds at which the day begins, UTC. */
  readonly day_at: number;
  readonly model: string;
  readonly requests: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly quota: number;
}

/** Columns by which a bill is divided. */
export type LogShareBy = 'user_id' | 'token_id' | 'project_id';

/** What one user, key or project was charged; given back is negative. */
export interface LogShare extends Omit<LogDay, 'day_at' | 'model'> {
  readonly user_id: number;
  readonly id: number;
}

export interface KeyNames {
  readonly name: string;
  /** With commas. */
  readonly labels: string;
}

/** Figures of one account have all that it paid for; those of everybody leave the site's own traffic out. */
const ofEverybody = (filter: LogFilter): LogFilter =>
  filter.userId === undefined && (filter.username ?? '') === '' ? { ...filter, ofUsers: true } : filter;

const sumColumns = { channel: 'channel_id', model: 'model_name', user: 'username' } as const;
export type LogSumBy = keyof typeof sumColumns;

/** Other groupings of requests; they have no list prices. */
export type LogGroupBy = 'token' | 'label' | 'group' | 'tag' | 'hour' | 'day';

/** Requests of one user that have a value in common. */
export interface LogGroup {
  readonly name: string;
  /** '' = of everybody. */
  readonly username: string;
  readonly requests: number;
  readonly tokens: number;
  readonly quota: number;
}

/** Rows that were taken out again leave sums of nothing. */
const charged = sql`HAVING sum(requests) > 0`;
const summed = sql`sum(requests) AS requests, sum(tokens) AS tokens, sum(quota) AS quota`;

/** Names that one query looks up. */
const namesAtOnce = 500;
const noNames: ReadonlyMap<number, Names> = new Map();

export function createLogsRepository(database: Database) {
  const { query, dialect } = database;
  const { plan, numbersOf, named, userIdOf, channelsNamed } = createLogFilters(database);
  const sums = createLogSums(database);

  const sortColumns: Readonly<Record<Exclude<(typeof logSorts)[number], 'created_at'>, RawBuilder<unknown>>> = {
    model_name: sql`lower(logs.model_name)`,
    // Rows of whole seconds are older than those that say milliseconds.
    duration: sql`coalesce(${dialect.jsonNumber('logs.other', 'ms')}, logs.use_time * 1000)`,
    prompt_tokens: sql`logs.prompt_tokens`,
    completion_tokens: sql`logs.completion_tokens`,
    quota: sql`logs.quota`,
  };

  const rows = () =>
    query
      .selectFrom('logs')
      .selectAll('logs')
      .select((eb) =>
        eb.selectFrom('channels').select('name').whereRef('channels.id', '=', 'logs.channel_id').as('channel_name'),
      ) as unknown as SelectQueryBuilder<Schema, 'logs', LogRow>;

  const groupColumns: Readonly<
    Record<
      LogGroupBy,
      {
        readonly name: RawBuilder<unknown>;
        readonly key: RawBuilder<unknown>;
        readonly columns: readonly SumColumn[];
        readonly owner: RawBuilder<unknown>;
      }
    >
  > = {
    token: {
      ...{ name: sql`max(token_name)`, key: sql`token_id`, owner: sql`max(username)` },
      columns: ['token_id', 'token_name', 'username'],
    },
    // The same of keys' labels.
    label: { name: sql`CAST(token_id AS TEXT)`, key: sql`token_id`, columns: ['token_id'], owner: sql`''` },
    group: { name: sql`group_name`, key: sql`group_name`, columns: ['group_name'], owner: sql`''` },
    // Its channels' tags are looked up once and not for each row.
    tag: { name: sql`CAST(channel_id AS TEXT)`, key: sql`channel_id`, columns: ['channel_id'], owner: sql`''` },
    hour: { name: sql`CAST(at - at % 3600 AS TEXT)`, key: sql`1`, columns: ['at'], owner: sql`''` },
    day: { name: sql`CAST(at - at % 86400 AS TEXT)`, key: sql`1`, columns: ['at'], owner: sql`''` },
  };

  /** @param pairs user and number. @returns the text; '' = it is not known. */
  const textsOf = async (pairs: readonly (readonly [number, number])[]) => {
    const texts = new Map<string, string>();
    const users = [...new Set(pairs.map(([user]) => user))];
    const ids = [...new Set(pairs.map(([, id]) => id))].filter((id) => id > otherName);
    for (let from = 0; from < ids.length; from += namesAtOnce)
      for (const row of await query
        .selectFrom('names')
        .select(['user_id', 'id', 'text'])
        .where('user_id', 'in', users)
        .where('id', 'in', ids.slice(from, from + namesAtOnce))
        .execute())
        texts.set(`${row.user_id} ${row.id}`, row.text);
    return (user: number, id: number): string => (id === otherName ? otherText : (texts.get(`${user} ${id}`) ?? ''));
  };

  const tagsOfChannels = async () => {
    const channels = await query.selectFrom('channels').select(['id', 'tag']).execute();
    return new Map(channels.map(({ id, tag }) => [String(id), [tag]]));
  };
  const labelsOfTokens = async () => {
    const tokens = await query.selectFrom('tokens').select(['id', 'labels']).where('labels', '<>', '').execute();
    return new Map(tokens.map(({ id, labels }) => [String(id), labelsIn(labels)]));
  };

  /** @param groups by the id of what has the names; '' = it has none. One with several counts in each. @returns the dearest first. */
  const byNamesOf = (groups: readonly LogGroup[], names: ReadonlyMap<string, readonly string[]>): LogGroup[] => {
    const found = new Map<string, LogGroup>();
    for (const group of groups)
      for (const name of names.get(group.name) ?? ['']) {
        const known = found.get(name);
        found.set(name, {
          ...{ name, username: '' },
          requests: group.requests + (known?.requests ?? 0),
          tokens: group.tokens + (known?.tokens ?? 0),
          quota: group.quota + (known?.quota ?? 0),
        });
      }
    return [...found.values()].sort((one, other) => other.quota - one.quota);
  };

  const usersOf = async (ids: readonly number[]): Promise<ReadonlyMap<number, string>> =>
    ids.length === 0
      ? new Map()
      : new Map(
          (
            await query
              .selectFrom('users')
              .select(['id', 'username'])
              .where('id', 'in', [...new Set(ids)])
              .execute()
          ).map(({ id, username }) => [id, username]),
        );

  /** A column of the refunded request, in a query over refunds: their rows have no names. */
  const chargeOf = (column: NameColumn) =>
    sql<number>`(SELECT ${sql.ref(`charged.${column}`)} FROM logs AS charged WHERE charged.request_id = substr(logs.request_id, ${sql.lit(refundRef('').length + 1)}))`;

  /** Refunds of failed work; names are those of the request that failed. */
  const refunded = async <O>(
    { names, ...filter }: LogFilter,
    selected: readonly AliasedRawBuilder<unknown, string>[],
  ) => {
    const narrow = await plan({ ...filter, type: LogType.system });
    let found = narrow(
      query
        .selectFrom('logs')
        .innerJoin('postings', 'postings.ref', 'logs.request_id')
        .where('postings.kind', '=', 'refund')
        .select(selected) as unknown as SelectQueryBuilder<Schema, 'logs', O>,
    );
    for (const [column, ids] of await numbersOf({ ...filter, names }))
      found = found.where(
        ids.length === 0 ? sql<boolean>`1 = 0` : sql<boolean>`${chargeOf(column)} IN (${sql.join(ids)})`,
      );
    return found;
  };

  return {
    counts: createLogFacets(database),
    /** By id as text. */
    channelNames: async (): Promise<Map<string, string>> =>
      new Map(
        (await query.selectFrom('channels').select(['id', 'name']).execute()).map(({ id, name }) => [String(id), name]),
      ),
    /** @param sort newest first without it, and among equals. */
    list: async (
      filter: LogFilter,
      offset: number,
      limit: number,
      sort: LogSort = '-created_at',
    ): Promise<LogRow[]> => {
      const direction = isDescending(sort) ? 'desc' : 'asc';
      const field = fieldOf(sort);
      const narrow = await plan(filter);
      if (field === 'created_at')
        return narrow(rows())
          .orderBy('logs.created_at', direction)
          .orderBy('logs.id', direction)
          .limit(limit)
          .offset(offset)
          .execute();
      // Only numbers are sorted: whole rows would be copied by the sort.
      const ids = (
        await narrow(query.selectFrom('logs').select('logs.id'))
          .orderBy(sortColumns[field], direction)
          .orderBy('logs.created_at', 'desc')
          .orderBy('logs.id', 'desc')
          .limit(limit)
          .offset(offset)
          .execute()
      ).map(({ id }) => id);
      if (ids.length === 0) return [];
      const found = new Map((await rows().where('logs.id', 'in', ids).execute()).map((row) => [row.id, row]));
      return ids.flatMap((id) => found.get(id) ?? []);
    },
    count: async (filter: LogFilter): Promise<number> => {
      const limited = (await plan(filter))(query.selectFrom('logs').select('logs.id')).limit(maxCounted);
      const { n } = await query
        .selectFrom(limited.as('some'))
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .executeTakeFirstOrThrow();
      return n;
    },
    after: (id: number, type: number | undefined, limit: number): Promise<LogRow[]> =>
      rows()
        .$if(type !== undefined, (q) => q.where(sql<boolean>`${dialect.withoutIndex('logs.type')} = ${type}`))
        .where('logs.id', '>', id)
        .orderBy('logs.id')
        .limit(limit)
        .execute(),
    find: (ref: string): Promise<LogRow | undefined> =>
      rows()
        .where((eb) => (/^\d{1,12}$/.test(ref) ? eb('logs.id', '=', Number(ref)) : eb('logs.request_id', '=', ref)))
        .executeTakeFirst(),
    /** Rows after a place in the walk, oldest first. */
    walk: async (filter: LogFilter, after: LogCursor, limit: number): Promise<LogRow[]> =>
      (await plan(filter))(rows())
        .where(sql<boolean>`(logs.created_at, logs.id) > (${after.createdAt}, ${after.id})`)
        .orderBy('logs.created_at')
        .orderBy('logs.id')
        .limit(limit)
        .execute(),
    /** Makes room for the rows to come, where that is not the table's own affair. */
    prepare: async (): Promise<void> => dialect.months?.prepare(query),
    /** Drops what can be dropped whole of the rows before a time. @returns how many rows. */
    dropWhole: async (before: number): Promise<number> => (await dialect.months?.drop(query, before)) ?? 0,
    /** Deletes some of the rows before a time, the oldest first. @returns how many. */
    deleteSome: async (before: number, limit: number): Promise<number> =>
      Number(
        (
          await query
            .deleteFrom('logs')
            .where('id', 'in', (eb) =>
              eb.selectFrom('logs').select('id').where('created_at', '<', before).orderBy('created_at').limit(limit),
            )
            .executeTakeFirst()
        ).numDeletedRows,
      ),
    totals: async (filter: LogFilter, by: LogSumBy): Promise<LogSum[]> => {
      const column = sumColumns[by];
      const columns = [column, 'requests', 'tokens', 'quota', 'list'] as const;
      const table = await sums.table(ofEverybody(filter), by === 'channel' ? columns : [...columns, 'channel_id']);
      return (
        await sql<LogSum>`SELECT CAST(${sql.ref(column)} AS TEXT) AS name, channel_id, ${summed}, coalesce(sum(list), 0) AS list
          FROM ${table} GROUP BY 1, 2 ${charged}`.execute(query)
      ).rows;
    },
    /** The dearest first, hours and days in their order. */
    groups: async (filter: LogFilter, by: LogGroupBy, limit: number): Promise<LogGroup[]> => {
      const isTime = by === 'hour' || by === 'day';
      const names = by === 'tag' ? await tagsOfChannels() : by === 'label' ? await labelsOfTokens() : null;
      const tail = names === null ? sql` LIMIT ${limit}` : sql``;
      const { name, key, columns, owner } = groupColumns[by];
      const read = [...columns, 'requests', 'tokens', 'quota'] as const;
      const table = await sums.table(ofEverybody(filter), read, by === 'hour' ? 'hours' : 'both');
      const found = await sql<LogGroup>`SELECT ${name} AS name, ${owner} AS username, ${summed}
        FROM ${table} GROUP BY ${key} ${charged} ORDER BY ${isTime ? sql`1` : sql`sum(quota) DESC`}${tail}`.execute(
        query,
      );
      return names === null ? found.rows : byNamesOf(found.rows, names).slice(0, limit);
    },
    /** By a name that clients give: each user's for himself, the dearest first; requests without one are not among them. */
    namedGroups: async (filter: LogFilter, kind: NameKind, limit: number): Promise<LogGroup[]> => {
      const table = await sums.names(filter, kind);
      const { rows } = await sql<
        Omit<LogGroup, 'name' | 'username'> & { readonly id: number; readonly user_id: number }
      >`SELECT id, user_id, ${summed} FROM ${table} GROUP BY id, user_id ${charged} ORDER BY sum(quota) DESC LIMIT ${limit}`.execute(
        query,
      );
      const texts = await textsOf(rows.map(({ id, user_id }) => [user_id, id]));
      const users = await usersOf(rows.map(({ user_id }) => user_id));
      return rows.map(({ id, user_id, ...sums }) => ({
        name: texts(user_id, id),
        username: users.get(user_id) ?? '',
        ...sums,
      }));
    },
    /** Names in rows, by row id; rows without a name are not among them. */
    namesOf: async (found: readonly LogRow[]): Promise<ReadonlyMap<number, Names>> => {
      const called = found.filter((row) => nameKinds.some((kind) => row[`${kind}_id`] !== 0));
      if (called.length === 0) return noNames;
      const texts = await textsOf(
        called.flatMap((row) => nameKinds.map((kind): readonly [number, number] => [row.user_id, row[`${kind}_id`]])),
      );
      return new Map(
        called.map((row) => [
          row.id,
          Object.fromEntries(
            nameKinds.flatMap((kind) => {
              const id = row[`${kind}_id`];
              return id === 0 ? [] : [[kind, texts(row.user_id, id)]];
            }),
          ),
        ]),
      );
    },
    days: async (filter: LogFilter): Promise<LogDay[]> =>
      (await plan({ ...filter, type: LogType.consume }))(
        query
          .selectFrom('logs')
          .select([
            sql<number>`logs.created_at - logs.created_at % 86400`.as('day_at'),
            'logs.model_name as model',
            sql<number>`count(*)`.as('requests'),
            sql<number>`sum(logs.prompt_tokens)`.as('prompt_tokens'),
            sql<number>`sum(logs.completion_tokens)`.as('completion_tokens'),
            sql<number>`sum(logs.quota)`.as('quota'),
          ]) as unknown as SelectQueryBuilder<Schema, 'logs', LogDay>,
      )
        .groupBy([sql`1`, 'logs.model_name'])
        .orderBy(sql`1`)
        .orderBy('logs.model_name')
        .execute(),
    /** Refunds of failed work, by the day of the refund and its model; `quota` is positive. */
    refunds: async (filter: LogFilter): Promise<Pick<LogDay, 'day_at' | 'model' | 'quota'>[]> =>
      (
        await refunded<Pick<LogDay, 'day_at' | 'model' | 'quota'>>(filter, [
          sql<number>`logs.created_at - logs.created_at % 86400`.as('day_at'),
          sql<string>`logs.model_name`.as('model'),
          sql<number>`sum(postings.amount)`.as('quota'),
        ])
      )
        .groupBy([sql`1`, 'logs.model_name'])
        .orderBy(sql`1`)
        .orderBy('logs.model_name')
        .execute(),
    /** Charges and refunds of each user, key or project: two rows, in no order. */
    shares: async (filter: LogFilter, by: LogShareBy): Promise<LogShare[]> => {
      const none = sql<number>`0`;
      const chargedTo = (await plan({ ...filter, type: LogType.consume }))(
        query
          .selectFrom('logs')
          .select([
            'logs.user_id',
            sql<number>`${sql.ref(`logs.${by}`)}`.as('id'),
            sql<number>`count(*)`.as('requests'),
            sql<number>`sum(logs.prompt_tokens)`.as('prompt_tokens'),
            sql<number>`sum(logs.completion_tokens)`.as('completion_tokens'),
            sql<number>`sum(logs.quota)`.as('quota'),
          ]) as unknown as SelectQueryBuilder<Schema, 'logs', LogShare>,
      );
      const givenBack = await refunded<LogShare>(filter, [
        sql<number>`logs.user_id`.as('user_id'),
        sql<number>`${by === 'project_id' ? sql`coalesce(${chargeOf('project_id')}, 0)` : sql.ref(`logs.${by}`)}`.as(
          'id',
        ),
        none.as('requests'),
        none.as('prompt_tokens'),
        none.as('completion_tokens'),
        sql<number>`-sum(postings.amount)`.as('quota'),
      ]);
      const grouped = [sql`1`, sql`2`];
      return [...(await chargedTo.groupBy(grouped).execute()), ...(await givenBack.groupBy(grouped).execute())];
    },
    /** Names by the user's number and their own, in this order; '' = it is not known. */
    textsOf: async (pairs: readonly (readonly [number, number])[]): Promise<readonly string[]> => {
      const text = await textsOf(pairs);
      return pairs.map(([user, id]) => text(user, id));
    },
    /** Users' names by number. */
    usersOf,
    /** Names of keys, deleted ones too, by number. */
    keysNamed: async (ids: readonly number[]): Promise<ReadonlyMap<number, KeyNames>> => {
      const found = new Map<number, KeyNames>();
      for (let from = 0; from < ids.length; from += namesAtOnce)
        for (const { id, ...names } of await query
          .selectFrom('tokens')
          .select(['id', 'name', 'labels'])
          .where('id', 'in', ids.slice(from, from + namesAtOnce))
          .execute())
          found.set(id, names);
      return found;
    },
    /** Requests that were admitted and got nothing that is charged, and those that were turned away before: a row stands for the like of it that went unwritten too. */
    unserved: async (filter: LogFilter): Promise<{ failed: number; refused: number }> => {
      const narrow = await plan({ ...ofEverybody(filter), type: LogType.error });
      const ofRefused = (value: RawBuilder<number>) =>
        sql<number>`coalesce(sum(CASE WHEN logs.end_reason = 'refused' THEN ${value} ELSE 0 END), 0)`;
      const unwritten = sql<number>`coalesce(${dialect.jsonNumber('logs.other', 'skipped')}, 0)`;
      const found = await narrow(
        query
          .selectFrom('logs')
          .select((eb) => [
            eb.fn.countAll<number>().as('all'),
            ofRefused(sql<number>`1`).as('rows'),
            ofRefused(unwritten).as('unwritten'),
          ]),
      ).executeTakeFirstOrThrow();
      return { failed: found.all - found.rows, refused: found.rows + Number(found.unwritten) };
    },
    /** Requests that were charged, free ones too. */
    stat: async (filter: LogFilter): Promise<LogTotals> => {
      const columns = ['quota', 'requests', 'errors', 'tokens'] as const;
      const table = await sums.table(ofEverybody(filter), columns);
      const { rows } = await sql<LogTotals>`SELECT ${sql.join(
        columns.map((name) => sql`coalesce(sum(${sql.ref(name)}), 0) AS ${sql.ref(name)}`),
      )} FROM ${table}`.execute(query);
      return rows[0] ?? { quota: 0, requests: 0, errors: 0, tokens: 0 };
    },
    /** What the requests of the range cost beyond their users' balances. */
    overrun: async (filter: LogFilter): Promise<number> => {
      const userId = filter.userId ?? (await userIdOf(filter));
      const numbers = await numbersOf(filter);
      const { amount } = await query
        .selectFrom('postings')
        // The posting's ref is `overrun:` and the request's id.
        .leftJoin('logs', (join) => join.on(sql<boolean>`logs.request_id = substr(postings.ref, 9)`))
        .where(sql<boolean>`postings.kind = 'overrun'`)
        .$if(filter.from !== undefined, (one) => one.where('postings.at', '>=', filter.from as number))
        .$if(filter.to !== undefined, (one) => one.where('postings.at', '<=', filter.to as number))
        .$if(userId !== undefined, (one) => one.where('postings.credit', '=', userId as number))
        .$if(filter.channel !== undefined, (one) => one.where('postings.channel_id', '=', filter.channel as number))
        .$if((filter.channelName ?? '') !== '', (one) => one.where('postings.channel_id', 'in', channelsNamed(filter)))
        .$if(filter.tokenId !== undefined, (one) => one.where('logs.token_id', '=', filter.tokenId as number))
        .$if((filter.model ?? '') !== '', (one) => one.where('logs.model_name', '=', filter.model ?? ''))
        .$if((filter.tokenName ?? '') !== '', (one) => one.where('logs.token_name', '=', filter.tokenName ?? ''))
        .$if((filter.group ?? '') !== '', (one) => one.where('logs.group_name', '=', filter.group ?? ''))
        .$if((filter.requestId ?? '') !== '', (one) => one.where('logs.request_id', '=', filter.requestId ?? ''))
        .$if(numbers.length > 0, (one) => named(one as unknown as LogQuery<unknown>, numbers) as unknown as typeof one)
        .select((eb) => eb.fn.coalesce(eb.fn.sum<number>('postings.amount'), eb.lit(0)).as('amount'))
        .executeTakeFirstOrThrow();
      return amount;
    },
  };
}
