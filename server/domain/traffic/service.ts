/** Traffic over a range: in steps that fit it, by channel, model, key or the labels of keys. */
import { type Database, forReading } from '../../../db/open.ts';
import {
  createTrafficRepository,
  type TrafficFilter,
  type TrafficKind,
  type TrafficOrder,
  type TrafficSum,
} from '../../../db/repositories/traffic.ts';
import { edgesOf, type NamedRange, namedRanges, ownToken, stepOf } from '../../contract/counted.ts';
import { AppError } from '../../contract/errors.ts';
import type { TrafficSpan } from '../../contract/traffic.ts';
import { type Counters, statsOf, sumOf, type TrafficStats } from './stats.ts';

const spans = { '5m': 300, '1h': 3600, '1d': 86_400 } as const;
const maxSteps = 1500;
const defaultSeries = 100;
const maxSeries = 1000;

export interface TrafficQuery {
  readonly range?: NamedRange | undefined;
  readonly start_timestamp?: number | undefined;
  readonly end_timestamp?: number | undefined;
  readonly step?: keyof typeof spans | undefined;
  readonly by?: 'none' | 'channel' | 'model' | 'token' | 'label' | 'user' | undefined;
  readonly channel?: number | undefined;
  readonly model?: string | undefined;
  readonly token?: number | undefined;
  /** Each step for itself, and not the sums alone. */
  readonly points?: boolean | undefined;
  readonly limit?: number | undefined;
  /** Of which the largest series have the most; requests without it. */
  readonly order?: TrafficOrder | undefined;
}

export interface TrafficSeries {
  /** The id of the channel, the user or the key; 0 where it is neither, -1 = keys without room of their own. */
  readonly id: number;
  readonly name: string;
  /** Owner of the key, for administrators. */
  readonly username: string;
  readonly total: TrafficStats;
  readonly points: readonly (TrafficStats & { readonly at: number })[];
}

export interface TrafficAnswer {
  /** Epoch seconds, at the edges of steps. */
  readonly from: number;
  readonly to: number;
  /** Seconds. */
  readonly step: number;
  readonly total: TrafficStats;
  readonly series: readonly TrafficSeries[];
}

interface Selection {
  readonly kind: TrafficKind;
  readonly group: 'subject_id' | 'user_id' | 'part' | null;
  readonly filter: Pick<TrafficFilter, 'subjectId' | 'part' | 'userId' | 'exceptSubject'>;
}

/** Which rows answer: those of exactly what is asked for, so that as few as possible are added up. @throws AppError params_invalid */
function selectionOf({ by = 'none', channel, model = '', token }: TrafficQuery, userId: number | null): Selection {
  const part = model === '' ? undefined : model;
  const ofChannel = channel !== undefined || by === 'channel';
  const ofToken = token !== undefined || by === 'token' || by === 'label' || by === 'user' || userId !== null;
  // No row is of a channel and of a key.
  if (ofChannel && ofToken)
    throw new AppError('params_invalid', { detail: userId === null ? 'channel, token' : 'channel' });
  const group = by === 'none' ? null : by === 'model' ? 'part' : by === 'user' ? 'user_id' : 'subject_id';
  const withModel = by === 'model' || part !== undefined;
  // Who asks for everybody's traffic does not ask for the site's own.
  const filter = { part, ...(userId === null ? {} : { userId }) };
  const foreign = userId === null && token === undefined ? { exceptSubject: ownToken } : {};
  if (ofChannel) return { kind: withModel ? 'route' : 'channel', group, filter: { ...filter, subjectId: channel } };
  if (ofToken) return { kind: withModel ? 'use' : 'token', group, filter: { ...filter, ...foreign, subjectId: token } };
  return { kind: withModel ? 'model' : 'all', group, filter };
}

/** A key with two labels counts in both. */
function byLabel(
  rows: readonly TrafficSum[],
  labels: ReadonlyMap<number, readonly string[]>,
): ReadonlyMap<string, readonly TrafficSum[]> {
  const found = new Map<string, TrafficSum[]>();
  for (const row of rows)
    for (const label of labels.get(row.subject_id) ?? []) {
      const own = found.get(label);
      if (own === undefined) found.set(label, [row]);
      else own.push(row);
    }
  for (const [label, own] of found) {
    const steps = Map.groupBy(own, ({ at }) => at);
    found.set(
      label,
      [...steps.values()].flatMap((of) => (of[0] === undefined ? [] : [{ ...of[0], ...sumOf(of) }])),
    );
  }
  return found;
}

export type TrafficService = ReturnType<typeof createTraffic>;

export function createTraffic(deps: { readonly database: Database; readonly now: () => number }) {
  const repository = createTrafficRepository(forReading(deps.database));

  const rangeOf = (query: TrafficQuery) => {
    const now = Math.floor(deps.now() / 1000);
    const end = query.end_timestamp || now;
    const start = query.start_timestamp || end - namedRanges[query.range ?? '24h'];
    const step: TrafficSpan = query.step === undefined ? stepOf(end - start) : spans[query.step];
    const { from, to } = edgesOf(start, end, step);
    if (end <= start || from < 0) throw new AppError('params_invalid', { detail: 'start_timestamp, end_timestamp' });
    if ((to - from) / step > maxSteps) throw new AppError('params_invalid', { detail: 'step' });
    return { from, to, step };
  };

  const namesOf = async (by: TrafficQuery['by'], ids: readonly number[], userId: number | null) => {
    if (ids.length === 0) return new Map<number, { name: string; username: string }>();
    const read = { channel: repository.channelNames, user: repository.userNames, token: repository.tokenNames };
    const rows = await read[by === 'channel' || by === 'user' ? by : 'token'](ids);
    return new Map(rows.map(({ id, name, username }) => [id, { name, username: userId === null ? username : '' }]));
  };

  /** Of all groups together, from the rows of which there are the fewest. */
  const wholeOf = async (
    query: TrafficQuery,
    userId: number | null,
    range: Pick<TrafficFilter, 'span' | 'from' | 'to'>,
  ) => {
    const { kind, filter } = selectionOf({ ...query, by: query.by === 'channel' ? 'channel' : 'none' }, userId);
    return sumOf(await repository.totals({ ...range, kind, ...filter }, []));
  };

  /** @param userId of whose keys alone; null = an administrator asks. @throws AppError params_invalid */
  return async (query: TrafficQuery, userId: number | null): Promise<TrafficAnswer> => {
    const { by = 'none' } = query;
    const { from, to, step } = rangeOf(query);
    const { kind, group, filter } = selectionOf(query, userId);
    const withPoints = query.points ?? true;
    const { order = 'requests' } = query;
    const range = { span: step, from, to };
    const requested = { ...range, kind, ...filter };
    const limit = Math.min(Math.max(1, query.limit ?? defaultSeries), maxSeries);
    // Channels are few, and so are the models of one or of a key: finding the largest of them first would read their rows twice.
    const few = by === 'channel' || (by === 'model' && filter.subjectId !== undefined);
    const ranked = group !== null && !few;
    // Keys that have none are in the whole alone.
    const labels = by === 'label' ? await repository.tokenLabels() : null;
    const keys =
      labels !== null
        ? [...labels.keys()]
        : ranked
          ? await repository.top(requested, { by: group, order, limit })
          : null;
    // Of nothing nothing is asked.
    const among = group === null || keys === null ? {} : { only: { group, keys } };
    const rows =
      keys?.length === 0
        ? []
        : await repository.totals({ ...requested, ...among }, [
            ...(group === null ? [] : [group]),
            ...(withPoints ? (['at'] as const) : []),
          ]);
    const groups =
      labels === null ? Map.groupBy(rows, (row: TrafficSum) => row[group ?? 'subject_id']) : byLabel(rows, labels);
    const found = [...groups].map(([key, own]) => ({ key, own, sum: withPoints ? sumOf(own) : (own[0] as Counters) }));
    const rankOf = ({ sum }: (typeof found)[number]): number =>
      order === 'tokens' ? sum.tokens_in + sum.tokens_out : sum[order];
    found.sort((a, b) => rankOf(b) - rankOf(a) || b.sum.attempts - a.sum.attempts || (a.key < b.key ? -1 : 1));
    const visible = found.slice(0, limit);
    const whole = labels === null && (keys === null || found.length < limit);
    const total = whole ? sumOf(found.map(({ sum }) => sum)) : await wholeOf(query, userId, range);
    const ids =
      group === 'subject_id' || group === 'user_id'
        ? visible.flatMap(({ key }) => (typeof key === 'number' && key > 0 ? [key] : []))
        : [];
    const names = await namesOf(by, ids, userId);
    return {
      ...{ from, to, step },
      total: statsOf(total),
      series: visible.map(({ key, own, sum }) => ({
        id: typeof key === 'number' ? key : 0,
        name: typeof key === 'string' ? key : (names.get(key)?.name ?? ''),
        username: typeof key === 'number' ? (names.get(key)?.username ?? '') : '',
        total: statsOf(sum),
        points: withPoints ? own.map((row) => ({ at: row.at, ...statsOf(row) })) : [],
      })),
    };
  };
}
