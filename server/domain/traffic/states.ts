/** How each channel is doing, from its traffic: serving, slow, failing, standby, idle or disabled. */
import { type Database, forReading } from '../../../db/open.ts';
import { createChannelsRepository } from '../../../db/repositories/channels.ts';
import { type ChannelWindow, createTrafficRepository, type TrafficSum } from '../../../db/repositories/traffic.ts';
import { pauseFor } from '../../../db/slices.ts';
import { ChannelStatus } from '../../contract/enum.ts';
import { objectIn } from '../../contract/stored-object.ts';
import { type ChannelState, percentileOf } from '../../contract/traffic.ts';
import type { OptionsService } from '../options/service.ts';
import { barsOf, minSlowMs, type PeriodBar, type PeriodRange, periodOf, slowFactor } from './period.ts';
import { failedOf, histogramOf, histograms } from './stats.ts';

export interface ChannelHealth {
  readonly id: number;
  readonly name: string;
  readonly state: ChannelState;
  /** Disabled by the gateway, not by a person. */
  readonly auto_disabled: boolean;
  /** Epoch seconds; 0 = unknown. Of what is failing, or was disabled automatically. */
  readonly since: number;
  /** Attempts that failed since then. */
  readonly failed: number;
  /** Requests among them that another channel served. */
  readonly saved: number;
  readonly saved_by: readonly { readonly id: number; readonly name: string; readonly requests: number }[];
  /** What the upstream said last, as the log has it. */
  readonly words: string;
  /** Milliseconds within the last hour and in the week before; null = too few requests. */
  readonly p95: number | null;
  readonly usual_p95: number | null;
  readonly requests_per_minute: number;
  /** Quota of this day, UTC. */
  readonly charged_today: number;
  /** US dollars; null = it was never asked for. */
  readonly balance: number | null;
  /** At what the last week was charged; null = the balance is unknown, or nothing is used of it. */
  readonly balance_lasts_days: number | null;
  /** The period of the range that is asked for. */
  readonly period: ChannelPeriod | null;
}

export interface ChannelPeriod {
  readonly attempts: number;
  readonly failed: number;
  /** Milliseconds: the median until the first token, and what 95 % of the requests took at most. */
  readonly first_token: number | null;
  readonly p95: number | null;
  /** The oldest first. */
  readonly bars: readonly PeriodBar[];
}

const hourSeconds = 3600;
const daySeconds = 86_400;
/** Windows of five minutes are kept for a day at least. */
const windowSeconds = 2 * daySeconds;
/** One after the other is no chance any more; fewer where most of what was sent there failed. */
export const failuresInARow = 5;
export const minFailures = 3;
const minRecent = 20;
const minBaseline = 50;
const weekDays = 7;
const standbySeconds = 15 * 60;
/** Pairs of a channel's groups and models, or bars, that are looked at in a turn; some milliseconds. */
const sliceUnits = 10_000;
/** The state of a channel counts as so many. */
const stateUnits = 20;
/** Channels whose bars are read together. */
const barChannels = 400;

const mostlyFailed = (window: ChannelWindow): boolean => 2 * failedOf(window) > window.attempts;

/** The run of failures that goes on at the end of a channel's windows; null = it answers. @param windows newest first. */
export function failingRun(windows: readonly ChannelWindow[]): { since: number; failed: number; saved: number } | null {
  const [newest] = windows;
  if (newest === undefined) return null;
  let inARow = 0;
  for (const { streak, answered } of windows) {
    inARow += streak;
    if (answered === 1) break;
  }
  const run: ChannelWindow[] = [];
  for (const window of windows) {
    if (window.answered === 1 && !mostlyFailed(window)) break;
    run.push(window);
  }
  const failed = run.reduce((sum, window) => sum + failedOf(window), 0);
  const failing = inARow >= failuresInARow || (mostlyFailed(newest) && failed >= minFailures);
  if (!failing) return null;
  // The window before may have ended with the first failures.
  const tail = windows[run.length];
  const before = tail?.streak ?? 0;
  const first = run.at(-1);
  const since =
    before > 0
      ? (tail?.streak_at ?? 0)
      : first?.answered === 1 || !first?.streak_at
        ? (first?.at ?? newest.at)
        : first.streak_at;
  const saved = run.reduce((sum, window) => sum + window.saved, 0) + Math.min(before, tail?.saved ?? 0);
  // Tests fail without being attempts of the users.
  return { since, failed: Math.max(failed + before, inARow), saved };
}

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

type StateRow = Awaited<ReturnType<ReturnType<typeof createChannelsRepository>['states']>>[number];

/** Whoever else waits for this thread gets a turn between two slices, however many channels there are. */
class Turns {
  #left = sliceUnits;

  /** @param units what is done at once. */
  async take(units: number): Promise<void> {
    this.#left -= units;
    if (this.#left > 0) return;
    await pauseFor(0);
    this.#left = sliceUnits;
  }
}

/** Channels of which each model in each group has another one in front. */
async function standbys(
  enabled: readonly StateRow[],
  failing: ReadonlySet<number>,
  turns: Turns,
): Promise<ReadonlySet<number>> {
  const highest = new Map<string, number>();
  const pairs = ({ models, group_name: groups }: StateRow): string[] =>
    listOf(groups).flatMap((group) => listOf(models).map((model) => `${group}\n${model}`));
  for (const row of enabled) {
    if (failing.has(row.id)) continue;
    const own = pairs(row);
    for (const pair of own) highest.set(pair, Math.max(highest.get(pair) ?? row.priority, row.priority));
    await turns.take(own.length);
  }
  const found = new Set<number>();
  for (const row of enabled) {
    const own = pairs(row);
    if (own.every((pair) => (highest.get(pair) ?? row.priority) > row.priority)) found.add(row.id);
    await turns.take(own.length);
  }
  return found;
}

export interface StatesDeps {
  readonly database: Database;
  readonly options: Pick<OptionsService, 'get'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * What `createChannelStates` calls failing, without the figures of all others: these take their time where there are many channels.
 * @returns the words of their upstreams, by number.
 */
export function createFailingChannels({ database, now: nowMs }: Pick<StatesDeps, 'database' | 'now'>) {
  const repository = createTrafficRepository(forReading(database));
  return async (among: ReadonlySet<number>): Promise<ReadonlyMap<number, string>> => {
    const now = Math.floor(nowMs() / 1000);
    const hours = now - daySeconds;
    const found = new Map<number, string>();
    for (const { subject_id: id, words } of await repository.suspects({
      minutesFrom: now - hourSeconds,
      hoursFrom: hours,
    })) {
      if (!among.has(id) || failingRun(await repository.windows(300, now - windowSeconds, id)) === null) continue;
      found.set(id, words || (await repository.windows(hourSeconds, hours, id))[0]?.words || '');
    }
    return found;
  };
}

export type ChannelStates = ReturnType<typeof createChannelStates>;

export function createChannelStates({ database, options, now: nowMs }: StatesDeps) {
  // Where there are thousands of channels their sums take longer than this thread may.
  const reading = forReading(database);
  const repository = createTrafficRepository(reading);
  const channels = createChannelsRepository(reading);

  /** The newest of each channel, and where that fails those of two days. */
  const windowsOf = async (now: number) => {
    const byId = (rows: readonly ChannelWindow[]) => new Map(rows.map((row) => [row.subject_id, row]));
    const recent = byId(await repository.newestWindows(300, now - hourSeconds));
    const day = byId(await repository.newestWindows(hourSeconds, now - daySeconds));
    const newest = new Map([...day, ...recent]);
    const suspected = [...newest].filter(([, window]) => window.streak !== 0 || mostlyFailed(window));
    const runs = await Promise.all(
      suspected.map(async ([id]) => [id, failingRun(await repository.windows(300, now - windowSeconds, id))] as const),
    );
    return { recent, day, runs: new Map(runs.flatMap(([id, run]) => (run === null ? [] : [[id, run] as const]))) };
  };

  const histogramsOf = async (span: 300 | 86_400, from: number, to: number) => {
    const counters = ['requests', 'attempts', 'latency_ms', ...histograms.latency] as const;
    const rows = await repository.totals({ span, kind: 'channel', from, to }, ['subject_id'], counters);
    return new Map(rows.map((row) => [row.subject_id, row]));
  };

  const savedBy = async (id: number, since: number, now: number, names: ReadonlyMap<number, string>) => {
    const from = since - (since % 300);
    const rows = await repository.totals({ span: 300, kind: 'save', from, to: now + 1, subjectId: id }, ['part']);
    return rows
      .map(({ part, requests }) => ({ id: Number(part), name: names.get(Number(part)) ?? '', requests }))
      .sort((a, b) => b.requests - a.requests);
  };

  /** Quota of a day, by channel: the mean of the last week, or of as much of it as there is. */
  const spendOf = async (today: number, now: number) => {
    const rows = await repository.spend({ from: today - weekDays * daySeconds, day: today });
    return new Map(
      rows.map(({ subject_id: id, charge, of_day: charged, first }) => [
        id,
        { today: charged, daily: charge / Math.max(1, (now - first) / daySeconds) },
      ]),
    );
  };

  /** By channel; those without traffic have none. */
  const periodsOf = async (range: PeriodRange, now: number, week: ReadonlyMap<number, TrafficSum>, turns: Turns) => {
    const period = periodOf(range, now);
    const span = range === '24h' ? hourSeconds : daySeconds;
    const from = period.from - (period.from % span);
    const counters = [...histograms.first, ...histograms.latency];
    const sums = await repository.totals({ span, kind: 'channel', from, to: period.to }, ['subject_id'], counters);
    const found = new Map<number, ChannelPeriod>();
    for (let at = 0; at < sums.length; at += barChannels) {
      const some = sums.slice(at, at + barChannels);
      const rows = await repository.parts(
        'channel',
        period,
        some.map(({ subject_id: id }) => id),
      );
      const parts = Map.groupBy(rows, (row) => row.subject_id);
      for (const sum of some) {
        const usual = week.get(sum.subject_id);
        const usualMs = usual === undefined || usual.requests < minBaseline ? null : usual.latency_ms / usual.requests;
        const bars = barsOf(period, parts.get(sum.subject_id) ?? [], usualMs);
        found.set(sum.subject_id, {
          attempts: bars.reduce((all, bar) => all + bar.attempts, 0),
          failed: bars.reduce((all, bar) => all + bar.failed, 0),
          first_token: percentileOf(histogramOf(sum, 'first'), 0.5),
          p95: percentileOf(histogramOf(sum, 'latency'), 0.95),
          bars,
        });
        await turns.take(bars.length);
      }
    }
    return found;
  };

  /** @param range what the figures of the period are of; without it there are none. @returns every channel. */
  return async (range?: PeriodRange): Promise<ChannelHealth[]> => {
    const now = Math.floor(nowMs() / 1000);
    const today = now - (now % daySeconds);
    const turns = new Turns();
    const rows = await channels.states();
    const names = new Map(rows.map(({ id, name }) => [id, name]));
    const { recent, day, runs } = await windowsOf(now);
    const lastHour = await histogramsOf(300, now - hourSeconds, now + 1);
    const week = await histogramsOf(daySeconds, today - weekDays * daySeconds, today);
    const spend = await spendOf(today, now);
    const periods = range === undefined ? null : await periodsOf(range, now, week, turns);
    const waiting = await standbys(
      rows.filter(({ status }) => status === ChannelStatus.enabled),
      new Set(runs.keys()),
      turns,
    );
    const perUnit = options.get('QuotaPerUnit');

    const stateOf = async (row: StateRow): Promise<ChannelHealth> => {
      const { id, name, status, balance, balance_updated_at: balanceAt, other_info: info } = row;
      const run = runs.get(id) ?? null;
      const timed = (found: Map<number, Parameters<typeof histogramOf>[0]>, min: number): number | null => {
        const one = found.get(id);
        return one === undefined || one.requests < min ? null : percentileOf(histogramOf(one, 'latency'), 0.95);
      };
      const p95 = timed(lastHour, minRecent);
      const baseline = timed(week, minBaseline);
      const slow = p95 !== null && baseline !== null && p95 >= minSlowMs && p95 >= slowFactor * baseline;
      const lately = (recent.get(id)?.at ?? 0) > now - standbySeconds - 300;
      const disabled = status !== ChannelStatus.enabled;
      const state: ChannelState = disabled
        ? 'disabled'
        : run !== null
          ? 'failing'
          : slow
            ? 'slow'
            : waiting.has(id) && !lately
              ? 'standby'
              : day.has(id) || recent.has(id)
                ? 'serving'
                : 'idle';
      const at = Number(objectIn(info).status_time);
      const failing = state === 'failing' ? run : null;
      const used = spend.get(id);
      const known = balanceAt > 0;
      const daily = (used?.daily ?? 0) / perUnit;
      return {
        ...{ id, name, state, p95, usual_p95: baseline },
        auto_disabled: status === ChannelStatus.autoDisabled,
        period: periods?.get(id) ?? null,
        since: failing !== null ? failing.since : disabled && Number.isFinite(at) ? at : 0,
        failed: failing?.failed ?? 0,
        saved: failing?.saved ?? 0,
        saved_by: failing === null ? [] : await savedBy(id, failing.since, now, names),
        words: failing === null ? '' : recent.get(id)?.words || day.get(id)?.words || '',
        requests_per_minute: Math.round(((lastHour.get(id)?.attempts ?? 0) / 60) * 10) / 10,
        charged_today: used?.today ?? 0,
        balance: known ? balance : null,
        balance_lasts_days: known && daily > 0 ? Math.max(0, Math.round((balance / daily) * 10) / 10) : null,
      };
    };
    const states: ChannelHealth[] = [];
    for (const row of rows) {
      states.push(await stateOf(row));
      await turns.take(stateUnits);
    }
    return states;
  };
}
