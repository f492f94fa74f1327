/** What the kinds of alerts would have looked at in a range that is over, from what is stored: the same conditions judge it. */
import { type Database, forReading } from '../../../db/open.ts';
import { createAlertsRepository } from '../../../db/repositories/alerts.ts';
import { type CacheRateRow, createCacheRatesRepository } from '../../../db/repositories/cache-rates.ts';
import { type ChannelRow, createChannelsRepository } from '../../../db/repositories/channels.ts';
import { createTrafficRepository } from '../../../db/repositories/traffic.ts';
import type { AlertKindName } from '../../contract/alert-kinds.ts';
import { alertRule } from '../../contract/alert-rules.ts';
import { healthyStorage } from '../../contract/storage.ts';
import { minSpan, type TrafficSpan } from '../../contract/traffic.ts';
import type { LeakStop } from '../budgets/leak-stop.ts';
import type { SchedulesService } from '../statements/schedules.ts';
import { failuresInARow, minFailures } from '../traffic/states.ts';
import type { ReadOption } from './alert.ts';
import { type AlertInputs, type CacheUse, noUsage } from './inputs.ts';

/** What was there at one time. */
export interface Moment {
  /** Epoch seconds. */
  readonly at: number;
  /** Seconds until the next one that could have followed; 0 = each is of its own. */
  readonly step: number;
  readonly inputs: Partial<Omit<AlertInputs, 'get' | 'now'>>;
  /** Minutes that the rule looks at here, where its own windows are no longer kept. */
  readonly minutes?: string;
}

export interface PastRange {
  /** Epoch seconds; `to` is now. */
  readonly from: number;
  readonly to: number;
  /** With the values that are tried. */
  readonly get: ReadOption;
}

export interface AlertPastDeps {
  readonly database: Database;
  readonly leakStop: Pick<LeakStop, 'stoppedSince'>;
  readonly schedules: Pick<SchedulesService, 'troubles'>;
  /** What is there now. @param withUsage false = without what is added up of traffic and the log. */
  readonly inputs: (withUsage?: boolean) => Promise<AlertInputs>;
}

const hourSeconds = 3600;
const daySeconds = 86_400;
const weekHours = 7 * 24;

/** Nothing to say. */
export const quietInputs: Omit<AlertInputs, 'get' | 'now'> = {
  channels: [],
  ejected: new Set(),
  ...noUsage,
  unpriced: [],
  expiring: [],
  freeBytes: null,
  storage: healthyStorage,
  isRecent: false,
  defects: null,
  stall: null,
  ...{ budgets: [], frozen: [], unsent: [] },
  backupMissing: null,
};

const hourOf = (at: number): number => at - (at % hourSeconds);

export function createAlertPast(deps: AlertPastDeps) {
  const reading = forReading(deps.database);
  const traffic = createTrafficRepository(reading);
  const alerts = createAlertsRepository(reading);
  const cacheRates = createCacheRatesRepository(reading);
  const channelRows = createChannelsRepository(deps.database);

  /** Of rows of channels, one moment for each time, with the channels that are among them. */
  const momentsOf = async <Row extends { readonly at: number; readonly subject_id: number }>(
    rows: readonly Row[],
    { span, to }: { readonly span: TrafficSpan; readonly to: number },
    inputsOf: (rows: readonly Row[]) => Moment['inputs'],
  ): Promise<Moment[]> => {
    if (rows.length === 0) return [];
    const channels = new Map((await channelRows.all()).map((row): [number, ChannelRow] => [row.id, row]));
    return [...Map.groupBy(rows, ({ at }) => at)].map(([at, same]) => ({
      at: Math.min(at + span, to),
      step: span,
      inputs: { channels: same.flatMap(({ subject_id: id }) => channels.get(id) ?? []), ...inputsOf(same) },
    }));
  };

  const failedShares = async ({ from, to, get }: PastRange): Promise<Moment[]> => {
    const percent = get('alert_setting.failed_percent');
    if (percent === 0) return [];
    const attempts = get('alert_setting.failed_attempts');
    const of = async (span: TrafficSpan, windows: number, start: number, end: number) =>
      momentsOf(
        await traffic.failedShares({ span, windows, from: start, to: end, percent, attempts }),
        { span, to },
        (rows) => ({ failedShares: new Map(rows.map((row) => [row.subject_id, row])) }),
      );
    const fine = fineFrom(get, { from, to });
    const coarse = await of(hourSeconds, 1, hourOf(from), fine);
    const windows = (Number(get('alert_setting.failed_minutes')) * 60) / minSpan;
    return [...coarse.map((one) => ({ ...one, minutes: '60' })), ...(await of(minSpan, windows, fine, to))];
  };

  const failing = async ({ from, to }: PastRange): Promise<Moment[]> =>
    momentsOf(
      await traffic.failingHours({ from: hourOf(from), to, streak: failuresInARow, failures: minFailures }),
      { span: hourSeconds, to },
      (rows) => ({ failing: new Map(rows.map(({ subject_id: id, words }) => [id, words])) }),
    );

  const spends = async ({ from, to }: PastRange): Promise<Moment[]> => {
    const first = hourOf(from);
    const rows = await alerts.spendByHour(first - (weekHours + 1) * hourSeconds, to);
    const quotaAt = new Map(rows.map(({ hour_at: at, quota }) => [at, quota]));
    const moments: Moment[] = [];
    for (let hour = first; hour < to; hour += hourSeconds) {
      const [since, until] = [hour - (weekHours + 1) * hourSeconds, hour - hourSeconds];
      const week = rows.filter(({ hour_at: at }) => at >= since && at < until);
      const hours = (until - (week[0]?.hour_at ?? until)) / hourSeconds;
      // As when it is looked at: before a day nothing is known to be usual.
      const baseline = hours < 24 ? 0 : week.reduce((sum, { quota }) => sum + quota, 0) / hours;
      const inputs = { spent: quotaAt.get(hour) ?? 0, baseline };
      moments.push({ at: Math.min(hour + hourSeconds, to), step: hourSeconds, inputs });
    }
    return moments;
  };

  const otherModels = async ({ from, to }: PastRange): Promise<Moment[]> =>
    momentsOf(
      await traffic.totals({ span: hourSeconds, kind: 'other', from: hourOf(from), to }, ['at', 'subject_id', 'part']),
      { span: hourSeconds, to },
      (rows) => {
        const found = new Map<number, { count: number; models: string }>();
        for (const { subject_id: id, part, requests } of rows.toSorted((a, b) => b.requests - a.requests)) {
          const known = found.get(id);
          found.set(id, { count: (known?.count ?? 0) + requests, models: known?.models ?? part });
        }
        return { otherModels: found };
      },
    );

  /** Once a day, counted back from the last whole hour: each row of the log is read once. */
  const cacheUse = async ({ from, to }: PastRange): Promise<Moment[]> => {
    const channels = await channelRows.all();
    const last = hourOf(to);
    const count = Math.round((last - from) / daySeconds);
    const days: ReadonlyMap<number, CacheUse>[] = [];
    for (let back = count + 6; back >= 0; back--) {
      const end = last - back * daySeconds;
      const rows = await cacheRates.rates({ from: end - daySeconds, to: end - 1 }, 'channel_id');
      days.push(new Map(rows.map((row: CacheRateRow) => [Number(row.key), row])));
    }
    return Array.from({ length: count }, (_, at): Moment => {
      const week = days.slice(at, at + 7);
      const use = [...(days[at + 7] ?? new Map<number, CacheUse>())].map(
        ([id, day]) => [id, { last: day, before: sumOf(week.flatMap((one) => one.get(id) ?? [])) }] as const,
      );
      return {
        at: last - (count - 1 - at) * daySeconds,
        step: daySeconds,
        inputs: { channels, cacheUse: new Map(use) },
      };
    });
  };

  const expiring = async ({ from, to, get }: PastRange): Promise<Moment[]> => {
    const lead = get('alert_setting.expiry_days') * daySeconds;
    if (lead === 0) return [];
    const found = await alerts.expiring(from + lead, to + lead);
    return found.map((one) => ({ at: one.expiresAt - lead, step: 0, inputs: { expiring: [one] } }));
  };

  const frozen = async ({ from }: PastRange): Promise<Moment[]> =>
    (await deps.leakStop.stoppedSince(from)).map((one) => ({ at: one.frozen_at, step: 0, inputs: { frozen: [one] } }));

  const unsent = async ({ from }: PastRange): Promise<Moment[]> =>
    (await deps.schedules.troubles(from)).map((one) => ({ at: one.at, step: 0, inputs: { unsent: [one] } }));

  const readers: Readonly<Partial<Record<AlertKindName, (range: PastRange) => Promise<Moment[]>>>> = {
    channel_failing: failing,
    errors_high: failedShares,
    spend_high: spends,
    spend_unusual: spends,
    expiring,
    other_model: otherModels,
    cache_halved: cacheUse,
    key_frozen: frozen,
    statement_unsent: unsent,
  };

  return {
    /** The earliest first; what is not kept is looked at now. */
    async moments(kind: AlertKindName, range: PastRange): Promise<readonly Moment[]> {
      const read = alertRule(kind).past === 'stored' ? readers[kind] : undefined;
      if (read === undefined) return [{ at: range.to, step: 0, inputs: await deps.inputs(false) }];
      return (await read(range)).toSorted((one, other) => one.at - other.at);
    },
    /** From when on its windows are as fine as the rule says; before that they are of an hour. 0 = all are as fine. */
    coarseUntil(kind: AlertKindName, range: PastRange): number {
      // A run of failures is looked for within each hour alone.
      if (kind === 'channel_failing') return range.to;
      const fine = kind === 'errors_high' ? fineFrom(range.get, range) : 0;
      return fine > range.from ? fine : 0;
    },
  };
}

/** Windows of five minutes are kept for so long. */
function fineFrom(get: ReadOption, { from, to }: { readonly from: number; readonly to: number }): number {
  const kept = hourOf(to - get('traffic_setting.minute_hours') * hourSeconds) + hourSeconds;
  return Math.max(hourOf(from), kept);
}

const sumOf = (days: readonly CacheUse[]): CacheUse => ({
  requests: days.reduce((sum, { requests }) => sum + requests, 0),
  input_tokens: days.reduce((sum, { input_tokens: tokens }) => sum + tokens, 0),
  cached_tokens: days.reduce((sum, { cached_tokens: tokens }) => sum + tokens, 0),
});
