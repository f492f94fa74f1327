/** The usage log: pages, statistics, walks through all of it, retention. */
import { type Database, forReading } from '../../../db/open.ts';
import type { LogFilter } from '../../../db/repositories/log-filter.ts';
import { createLogsRepository, type LogCursor, type LogRow, type LogSort } from '../../../db/repositories/logs.ts';
import { deleteInSlices } from '../../../db/slices.ts';
import type { LogCountsView } from '../../contract/endpoints/log.ts';
import { type Log, logShape } from '../../contract/entities.ts';
import { LogType } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { type LogFormat, logHeader, logLine } from '../../contract/log-export.ts';
import { type LogFacet, logFacets } from '../../contract/log-status.ts';
import { isNameKind, type LogGrouping, type Names } from '../../contract/names.ts';
import { recompute } from '../../contract/pricing/charge.ts';
import { noShares, type PurchaseShares } from '../../contract/pricing/purchase.ts';

/** Rows read or deleted at once; between two steps others get their turn. */
const rowsAtOnce = 500;
const yieldToLoop = () => new Promise<void>((resolve) => setImmediate(resolve));
/** Rows of a search, which has no pages. */
const maxFound = 100;
/** Wrong rows that are named. */
const maxExamples = 20;

/** Rows moved in from another product: its formulas are not ours. */
const importedEnd = 'imported';

export interface LogStat {
  readonly quota: number;
  readonly requests: number;
  /** Requests among them that ended without their answer. */
  readonly errors: number;
  readonly refused: number;
  readonly rpm: number;
  readonly tpm: number;
}

export function createLogs(deps: { readonly database: Database; readonly now: () => number }) {
  const repository = createLogsRepository(deps.database);
  const sums = createLogsRepository(forReading(deps.database));

  const views = async (rows: readonly LogRow[], full: boolean): Promise<Log[]> => {
    const names = await repository.namesOf(rows);
    return rows.map((row) => logView(row, names.get(row.id), full));
  };

  /** Every row, oldest first, some at a time. */
  async function* walk(filter: LogFilter): AsyncGenerator<LogRow[]> {
    let cursor: LogCursor = { createdAt: -1, id: 0 };
    for (;;) {
      const rows = await repository.walk(filter, cursor, rowsAtOnce);
      const last = rows.at(-1);
      if (last === undefined) return;
      yield rows;
      if (rows.length < rowsAtOnce) return;
      cursor = { createdAt: last.created_at, id: last.id };
      await yieldToLoop();
    }
  }

  /** What models with a share of their own cost more, or less, than their channel's: by channel and value. */
  const correctionsOf = async (
    filter: LogFilter,
    by: 'channel' | 'user',
    shares: PurchaseShares,
  ): Promise<ReadonlyMap<string, number>> => {
    const differenceOf = (channelId: number, model: string): number =>
      (shares.of(channelId, model) ?? 0) - (shares.ofChannel(channelId) ?? 0);
    const apart = (await sums.totals(filter, 'model')).filter(
      ({ channel_id: id, name }) => differenceOf(id, name) !== 0 && !name.includes('%'),
    );
    const corrections = new Map<string, number>();
    for (const model of new Set(apart.map(({ name }) => name)))
      for (const { channel_id: id, name, list } of await sums.totals({ ...filter, model }, by)) {
        const key = `${id} ${name}`;
        corrections.set(key, (corrections.get(key) ?? 0) + list * differenceOf(id, model));
      }
    return corrections;
  };

  return {
    /** @param page 1-based. @param full false hides what only operators may see. */
    async page(filter: LogFilter, page: number, size: number, full: boolean, sort?: LogSort) {
      const [rows, total] = await Promise.all([
        repository.list(filter, (page - 1) * size, size, sort),
        repository.count(filter),
      ]);
      return { items: await views(rows, full), page, page_size: size, total };
    },
    /** The newest rows that a word names: by their type, user, token, model or request. */
    async search(keyword: string, filter: LogFilter, full: boolean): Promise<Log[]> {
      const word = keyword.trim();
      const kinds: readonly LogFilter[] =
        word === ''
          ? [{}]
          : /^\d$/.test(word)
            ? [{ type: Number(word) }]
            : [{ username: word }, { tokenName: word }, { model: word }, { requestId: word }];
      const found = await Promise.all(kinds.map((kind) => repository.list({ ...kind, ...filter }, 0, maxFound)));
      const rows = new Map(found.flat().map((row) => [row.id, row]));
      const newest = [...rows.values()].sort((one, other) => other.created_at - one.created_at || other.id - one.id);
      return views(newest.slice(0, maxFound), full);
    },
    /** Quota, requests and refused ones of the range, counted as `contract/counted.ts` says; requests and tokens of the last minute. */
    async stat(filter: LogFilter): Promise<LogStat> {
      const minute = Math.floor(deps.now() / 1000) - 60;
      const [range, unserved, recent] = await Promise.all([
        sums.stat(filter),
        sums.unserved(filter),
        sums.stat({ ...filter, from: minute, to: undefined }),
      ]);
      const { failed, refused } = unserved;
      const requests = range.requests + failed;
      const errors = range.errors + failed;
      return { quota: range.quota, requests, errors, refused, rpm: recent.requests, tpm: recent.tokens };
    },
    /**
     * How many rows there are over time and by what they say; each kind of value is counted as if nothing were chosen of it.
     * @param limit values of each kind. @param full false hides what only operators may see.
     */
    async facets(filter: LogFilter, limit: number, full: boolean): Promise<LogCountsView> {
      const kinds = full ? logFacets : ownFacets;
      const filtered = kinds.filter((by) => hasFilter[by](filter));
      const now = Math.floor(deps.now() / 1000);
      const to = filter.to ?? now;
      const count = (one: LogFilter, by: readonly LogFacet[]) => sums.counts(one, { by, stepOf, now: to });
      const main = await count(
        filter,
        kinds.filter((by) => !filtered.includes(by)),
      );
      const values = [...main.values];
      // From the same beginning: without a range the rows of another filter may begin earlier.
      for (const by of filtered) values.push(...(await count({ ...filter, ...open[by] }, [by])).values);
      const names = full ? await repository.channelNames() : new Map<string, string>();
      const buckets = Array.from({ length: Math.max(1, Math.ceil((to - main.from + 1) / main.step)) }, (_, at) => ({
        at: main.from + at * main.step,
        ok: 0,
        errors: 0,
      }));
      for (const { bucket, rows, errors } of main.buckets) {
        const one = buckets[bucket];
        if (one !== undefined) [one.ok, one.errors] = [rows - errors, errors];
      }
      const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
      return {
        from: main.from,
        to,
        step: main.step,
        total: sum(main.buckets.map(({ rows }) => rows)),
        errors: sum(main.buckets.map(({ errors }) => errors)),
        sampled: main.isSample,
        buckets,
        facets: kinds.map((by) => {
          const all = values.filter((one) => one.by === by);
          const rest = all.slice(limit);
          return {
            by,
            values: all.slice(0, limit).map(({ value, rows }) => ({
              value,
              name: by === 'channel' ? (names.get(value) ?? '') : value,
              count: rows,
            })),
            more: { values: rest.length, count: sum(rest.map(({ rows }) => rows)) },
          };
        }),
      };
    },
    /** Part of the range's quota that went beyond balances. */
    overrun: (filter: LogFilter): Promise<number> => sums.overrun(filter),
    /** Rows newer than an id, oldest first; with id -1 the newest `limit` rows. */
    async tail(after: number, type: number | undefined, limit: number): Promise<Log[]> {
      const rows =
        after < 0 ? (await repository.list({ type }, 0, limit)).reverse() : await repository.after(after, type, limit);
      return views(rows, true);
    },
    /** Requests that were charged, for pricing them again. */
    charges: (filter: LogFilter): AsyncIterable<LogRow[]> => walk({ ...filter, type: LogType.consume }),
    /** The whole log as text, piece by piece. @param full false hides what only operators may see. @param quotaPerUnit quota that is worth a dollar. */
    async *export(filter: LogFilter, format: LogFormat, full: boolean, quotaPerUnit: number): AsyncGenerator<string> {
      // Spreadsheets take a file without the mark for one of another alphabet.
      yield `${format === 'csv' ? '\uFEFF' : ''}${logHeader(format)}`;
      for await (const rows of walk(filter))
        yield (await views(rows, full)).map((row) => logLine(format, row, quotaPerUnit)).join('');
    },
    /** One step of an export whose caller keeps the position. @param after `<time>-<id>` of the last row, '' = from the beginning. */
    async step(filter: LogFilter, after: string, limit: number): Promise<{ items: Log[]; next: string }> {
      const [createdAt = -1, id = 0] = after === '' ? [] : after.split('-').map(Number);
      const rows = await repository.walk(filter, { createdAt, id }, limit);
      const last = rows.at(-1);
      const next = last === undefined || rows.length < limit ? '' : `${last.created_at}-${last.id}`;
      return { items: await views(rows, true), next };
    },
    /** Recomputes every charge of the range from its own row. */
    async verify(filter: LogFilter): Promise<LogCheck> {
      const wrong: LogCheck['wrong'][number][] = [];
      let checked = 0;
      let unequal = 0;
      for await (const rows of walk({ ...filter, type: LogType.consume })) {
        for (const row of rows) {
          if (row.quota === 0 || row.end_reason === importedEnd) continue;
          checked++;
          const expected = expectedQuota(row.other);
          if (expected === row.quota) continue;
          unequal++;
          if (wrong.length < maxExamples) wrong.push({ id: row.id, quota: row.quota, expected });
        }
      }
      return { checked, unequal, wrong };
    },
    prepare: repository.prepare,
    /** Deletes rows before a time in slices. @returns how many. */
    async prune(before: number): Promise<number> {
      const dropped = await repository.dropWhole(before);
      return dropped + (await deleteInSlices((limit) => repository.deleteSome(before, limit)));
    },
    /**
     * What requests with one value cost together, and brought in. @param shares what the site pays.
     * @param limit groups at most, where clients make as many as they like.
     */
    async breakdown(
      filter: LogFilter,
      by: LogGrouping,
      shares: PurchaseShares = noShares,
      limit = 500,
    ): Promise<LogBreakdown[]> {
      if (by !== 'channel' && by !== 'model' && by !== 'user') {
        const found = isNameKind(by) ? await sums.namedGroups(filter, by, limit) : await sums.groups(filter, by, limit);
        return found.map((group) => ({ ...group, cost: null }));
      }
      const groups = new Map<string, LogBreakdown>();
      const corrections = by === 'model' || !shares.hasModels ? noCorrections : await correctionsOf(filter, by, shares);
      for (const sum of await sums.totals(filter, by)) {
        const known = groups.get(sum.name) ?? {
          name: sum.name,
          username: '',
          requests: 0,
          tokens: 0,
          quota: 0,
          cost: 0,
        };
        const share = by === 'model' ? shares.of(sum.channel_id, sum.name) : shares.ofChannel(sum.channel_id);
        const correction = corrections.get(`${sum.channel_id} ${sum.name}`) ?? 0;
        groups.set(sum.name, {
          name: sum.name,
          username: '',
          requests: known.requests + sum.requests,
          tokens: known.tokens + sum.tokens,
          quota: known.quota + sum.quota,
          cost:
            known.cost === null || share === undefined ? null : known.cost + Math.round(sum.list * share + correction),
        });
      }
      return [...groups.values()].sort((one, other) => other.quota - one.quota);
    },
    /** @param ref row id or request id. @param owner whose row it must be, without what only operators may see; absent = anybody's. */
    async get(ref: string, owner?: number): Promise<Log> {
      const row = await repository.find(ref);
      if (row === undefined || (owner !== undefined && row.user_id !== owner))
        throw new AppError('not_found', { what: `log ${ref}` });
      const [view] = await views([row], owner === undefined);
      return view ?? logView(row, undefined, false);
    },
  };
}

const noCorrections: ReadonlyMap<string, number> = new Map();

const ownFacets = ['status', 'error', 'model', 'token', 'group'] as const satisfies readonly LogFacet[];
const hasFilter: Readonly<Record<LogFacet, (filter: LogFilter) => boolean>> = {
  status: ({ statuses }) => statuses !== undefined,
  error: ({ error = '' }) => error !== '',
  model: ({ model = '' }) => model !== '',
  token: ({ tokenName = '' }) => tokenName !== '',
  group: ({ group = '' }) => group !== '',
  user: ({ username = '' }) => username !== '',
  channel: ({ channel, channelName = '' }) => channel !== undefined || channelName !== '',
};
/** A filter without what was chosen of a kind. */
const open: Readonly<Record<LogFacet, Partial<LogFilter>>> = {
  status: { statuses: undefined },
  error: { error: undefined },
  model: { model: undefined },
  token: { tokenName: undefined, tokenId: undefined },
  group: { group: undefined },
  user: { username: undefined },
  channel: { channel: undefined, channelName: undefined },
};
/** Lengths of a bucket, in seconds. */
const steps = [1, 5, 10, 30, 60, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];
// A day has 96 quarters of an hour, and its ends lie on steps of their own.
const maxBuckets = 100;
const stepOf = (seconds: number): number =>
  steps.find((step) => seconds <= step * maxBuckets) ?? Math.ceil(seconds / maxBuckets / 86_400) * 86_400;

export interface LogCheck {
  readonly checked: number;
  readonly unequal: number;
  /** The first few; `expected` null = the row names no price. */
  readonly wrong: readonly { readonly id: number; readonly quota: number; readonly expected: number | null }[];
}

export interface LogBreakdown {
  readonly name: string;
  /** '' = the value is the same whose request it was. */
  readonly username: string;
  readonly requests: number;
  readonly tokens: number;
  readonly quota: number;
  /** Quota the requests cost the operator; null = not known for every channel. */
  readonly cost: number | null;
}

function expectedQuota(other: string): number | null {
  try {
    return recompute(JSON.parse(other) as Record<string, unknown>)?.quota ?? null;
  } catch {
    return null;
  }
}

export type LogsService = ReturnType<typeof createLogs>;

const wireFields = Object.keys(logShape.shape) as (keyof Log)[];

/** A row as the wire has it: other names where they differ, everything else as it is stored. */
function logView(row: LogRow, names: Names | undefined, full: boolean): Log {
  const log: Log = {
    ...row,
    names,
    request_id: row.request_id ?? '',
    is_stream: row.is_stream === 1,
    channel: full ? row.channel_id : 0,
    channel_name: full ? (row.channel_name ?? '') : '',
    group: row.group_name,
    other: full ? row.other : withoutAdminInfo(row.other),
  };
  // A newer node of the same database may have given the row more columns.
  return Object.fromEntries(wireFields.map((name) => [name, log[name]])) as unknown as Log;
}

function withoutAdminInfo(other: string): string {
  if (!other.includes('admin_info')) return other;
  const { admin_info: _hidden, ...rest } = JSON.parse(other) as Record<string, unknown>;
  return JSON.stringify(rest);
}
