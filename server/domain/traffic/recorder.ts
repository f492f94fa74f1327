/** Gathers what relays have counted and adds it to the database: windows of five minutes, hours and days at once. */
import { randomUUID } from 'node:crypto';
import type { Database } from '../../../db/open.ts';
import {
  createTrafficRepository,
  maxTrafficRows,
  type TrafficKind,
  type TrafficRow,
} from '../../../db/repositories/traffic.ts';
import { pauseFor } from '../../../db/slices.ts';
import { ownToken } from '../../contract/counted.ts';
import {
  type FailureStreak,
  type TrafficCounter,
  type TrafficWindow,
  trafficCounters,
  trafficSpans,
} from '../../contract/traffic.ts';
import type { OptionsService } from '../options/service.ts';

type Counters = Record<TrafficCounter, number>;

/** Rows that wait while the database is away; beyond that the shortest windows are given up, hours and days stay. */
const maxWaiting = 200_000;
const hourSeconds = 3600;
const daySeconds = 86_400;

export interface RecorderDeps {
  readonly database: Database;
  readonly options: OptionsService;
  /** Name of this node; '' where there is one. */
  readonly node: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export class TrafficRecorder {
  private readonly repository: ReturnType<typeof createTrafficRepository>;
  private readonly run = randomUUID();
  private waiting = new Map<string, TrafficRow>();
  /** By key. */
  private places = new Map<number, string>();
  /** Under way: it is tried again under the same name until it is known to be there. */
  private batch: { readonly rows: readonly TrafficRow[]; readonly work: string } | null = null;
  private works = 0;
  private flushing: Promise<void> | null = null;

  constructor(private readonly deps: RecorderDeps) {
    this.repository = createTrafficRepository(deps.database);
  }

  add(windows: readonly TrafficWindow[]): void {
    for (const { at, routes, callers, streaks, saves, others = [], places } of windows) {
      for (const [tokenId, ip] of places) if (ip !== '') this.places.set(tokenId, ip);
      for (const [channelId, model, counts] of routes) {
        this.count('route', at, { subjectId: channelId, part: model }, counts);
        this.count('channel', at, { subjectId: channelId }, counts);
      }
      for (const [userId, tokenId, model, counts] of callers) {
        this.count('use', at, { subjectId: tokenId, userId, part: model }, counts);
        this.count('token', at, { subjectId: tokenId, userId }, counts);
        if (tokenId === ownToken) continue;
        if (model !== '') this.count('model', at, { part: model }, counts);
        this.count('all', at, {}, counts);
      }
      for (const streak of streaks) this.streak(at, streak);
      for (const [failed, servedBy, requests] of saves)
        for (const row of this.rows('save', at, { subjectId: failed, part: String(servedBy) }))
          row.requests += requests;
      for (const [channelId, models, requests] of others)
        for (const row of this.rows('other', at, { subjectId: channelId, part: models })) row.requests += requests;
    }
    if (this.waiting.size <= maxWaiting) return;
    for (const [key, { span }] of this.waiting) if (span === trafficSpans[0]) this.waiting.delete(key);
  }

  /** Writes all that waits, in pieces between which others can write. @throws what the database throws; nothing is lost with it. */
  flush(): Promise<void> {
    this.flushing ??= this.write().finally(() => {
      this.flushing = null;
    });
    return this.flushing;
  }

  /** Deletes what is older than the operator keeps. */
  deleteOld(): Promise<void> {
    const { options, now } = this.deps;
    const at = Math.floor(now() / 1000);
    return this.repository.deleteOld({
      300: at - options.get('traffic_setting.minute_hours') * hourSeconds,
      3600: at - options.get('traffic_setting.hour_days') * daySeconds,
      86400: at - options.get('traffic_setting.day_days') * daySeconds,
    });
  }

  private async write(): Promise<void> {
    const { places } = this;
    this.places = new Map();
    // Not worth a second try: the next request brings it again.
    await this.repository.usedFrom(places);
    for (;;) {
      this.batch ??= this.next();
      if (this.batch === null) return;
      const { rows, work } = this.batch;
      const begun = performance.now();
      await this.repository.add(rows, { writer: this.deps.node, work });
      this.batch = null;
      if (this.waiting.size > 0) await pauseFor(performance.now() - begun);
    }
  }

  private next(): TrafficRecorder['batch'] {
    if (this.waiting.size === 0) return null;
    const rows: TrafficRow[] = [];
    for (const [key, row] of this.waiting) {
      this.waiting.delete(key);
      rows.push(row);
      if (rows.length === maxTrafficRows) break;
    }
    this.works++;
    return { rows, work: `${this.run}:${this.works}` };
  }

  private count(kind: TrafficKind, at: number, of: RowOf, counts: readonly number[]): void {
    for (const row of this.rows(kind, at, of))
      for (const [index, name] of trafficCounters.entries()) row[name] += Math.round(counts[index] ?? 0);
  }

  private streak(at: number, { channelId, succeeded, failures, since, lastAt, words }: FailureStreak): void {
    for (const row of this.rows('channel', at, { subjectId: channelId })) {
      if (succeeded || row.streak === 0) row.streak_at = since;
      row.streak = succeeded ? failures : row.streak + failures;
      if (succeeded) row.answered = 1;
      if (lastAt < row.failed_at || lastAt === 0) continue;
      row.failed_at = lastAt;
      row.words = words;
    }
  }

  /** One for each span. */
  private rows(kind: TrafficKind, at: number, { subjectId = 0, userId = 0, part = '' }: RowOf): TrafficRow[] {
    return trafficSpans.map((span) => {
      const begins = at - (at % span);
      const key = `${span} ${kind} ${begins} ${subjectId} ${userId} ${part}`;
      const known = this.waiting.get(key);
      if (known !== undefined) return known;
      const row: TrafficRow = {
        ...{ span, kind, at: begins, subject_id: subjectId, user_id: userId, part },
        ...{ answered: 0, streak: 0, streak_at: 0, failed_at: 0, words: '' },
        ...nothing,
      };
      this.waiting.set(key, row);
      return row;
    });
  }
}

interface RowOf {
  readonly subjectId?: number;
  readonly userId?: number;
  readonly part?: string;
}

const nothing = Object.fromEntries(trafficCounters.map((name) => [name, 0])) as Counters;
