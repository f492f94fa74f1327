/** What the kinds of alerts look at, read once for all of them. */
import { type Database, forReading } from '../../../db/open.ts';
import { createAlertsRepository, type ExpiringItem } from '../../../db/repositories/alerts.ts';
import { type CacheRateRow, createCacheRatesRepository } from '../../../db/repositories/cache-rates.ts';
import { type ChannelRow, createChannelsRepository } from '../../../db/repositories/channels.ts';
import { createTrafficRepository } from '../../../db/repositories/traffic.ts';
import { budgetLevels, isPersonal } from '../../contract/budgets.ts';
import { ChannelStatus } from '../../contract/enum.ts';
import { resolvePrices } from '../../contract/pricing/tables.ts';
import { healthyStorage, type RelayStall, type StorageStatus } from '../../contract/storage.ts';
import { minSpan } from '../../contract/traffic.ts';
import { servingPrefix } from '../../providers/import-names.ts';
import type { LeakStop } from '../budgets/leak-stop.ts';
import type { BudgetsService, BudgetView } from '../budgets/service.ts';
import type { ChannelHealthStatus } from '../channels/routes.ts';
import type { OptionsService } from '../options/service.ts';
import type { SchedulesService } from '../statements/schedules.ts';
import { createFailingChannels } from '../traffic/states.ts';
import type { ReadOption } from './alert.ts';
import type { RecentDefects } from './defects.ts';

export interface AlertInputs {
  readonly get: ReadOption;
  /** Epoch seconds. */
  readonly now: number;
  readonly channels: readonly ChannelRow[];
  /** Numbers of enabled channels that the relay does not ask at present. */
  readonly ejected: ReadonlySet<number>;
  /** Words of upstreams of channels whose traffic fails, by number. */
  readonly failing: ReadonlyMap<number, string>;
  readonly unpriced: readonly string[];
  /** Quota of the last hour, and of the mean hour of the week before. */
  readonly spent: number;
  readonly baseline: number;
  readonly expiring: readonly ExpiringItem[];
  /** null = the system does not say. */
  readonly freeBytes: number | null;
  readonly storage: StorageStatus;
  /** Bills came late, or were turned down, within the last hour. */
  readonly isRecent: boolean;
  /** Defects of the program that requests met within the last hour; null = none. */
  readonly defects: RecentDefects | null;
  /** Attempts of channels within the minutes of `alert_setting.failed_minutes`, where more failed than may. */
  readonly failedShares: ReadonlyMap<number, FailedShare>;
  /** Answers of other models than were sent within the last hour, by channel. */
  readonly otherModels: ReadonlyMap<number, { readonly count: number; readonly models: string }>;
  /** How channels with charged requests used caches in the last 24 whole hours, and in the seven days before. */
  readonly cacheUse: ReadonlyMap<number, { readonly last: CacheUse; readonly before: CacheUse }>;
  /** A relay thread that stood still within the last hour; null = none did. */
  readonly stall: RelayStall | null;
  /** The budgets of groups, labels and the site, from the first warning on. */
  readonly budgets: readonly BudgetView[];
  /** Keys that were stopped within the last hour because they may have leaked. */
  readonly frozen: readonly { readonly id: number; readonly name: string; readonly username: string }[];
  /** Statements whose mails failed for good, or whose end nobody saw, within three days. */
  readonly unsent: readonly { readonly id: number; readonly period: string; readonly error: string }[];
  /** Why there is no backup that should be there; null = there is, or none is wanted. */
  readonly backupMissing: string | null;
}

export interface FailedShare {
  readonly failed: number;
  readonly attempts: number;
}

/** What requests found in their provider's cache. */
export type CacheUse = Pick<CacheRateRow, 'requests' | 'input_tokens' | 'cached_tokens'>;

export const noUsage = {
  failing: new Map(),
  failedShares: new Map(),
  otherModels: new Map(),
  cacheUse: new Map(),
  ...{ spent: 0, baseline: 0 },
} satisfies Partial<AlertInputs>;

export interface AlertInputsDeps {
  readonly database: Database;
  readonly options: OptionsService;
  readonly statusOf?: (ids: readonly number[], model?: string | null) => Promise<readonly ChannelHealthStatus[]>;
  readonly storage?: () => StorageStatus;
  readonly defects?: () => RecentDefects | null;
  readonly stall?: () => RelayStall | null;
  /** Free bytes of the disk with the data folder. */
  readonly freeBytes: () => number | null;
  /** When the certificate of an address expires, epoch seconds; null = it is not known. */
  readonly certificateEnd: (url: string) => Promise<number | null>;
  readonly budgets: Pick<BudgetsService, 'nearlyUsed'>;
  readonly leakStop: Pick<LeakStop, 'stoppedSince'>;
  readonly schedules: Pick<SchedulesService, 'troubles'>;
  readonly backupMissing: () => string | null;
  readonly report: (error: unknown) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

const ejectedCondition = 'ejected';
const daySeconds = 86_400;
const hourSeconds = 3600;

export function createAlertInputs(deps: AlertInputsDeps) {
  const { options } = deps;
  const channelRows = createChannelsRepository(deps.database);
  const repository = createAlertsRepository(deps.database);
  const failing = createFailingChannels(deps);
  const traffic = createTrafficRepository(forReading(deps.database));
  const cacheRates = createCacheRatesRepository(forReading(deps.database));
  /** A certificate is looked at once a day. */
  const certificate = { url: '', lookedAt: 0, end: null as number | null };

  /** The counts only grow. */
  const failures = { count: 0, at: 0 };
  const isRecentFailure = ({ late: ends, refused: rejected }: StorageStatus, now: number): boolean => {
    if (ends + rejected > failures.count) failures.at = now;
    failures.count = ends + rejected;
    return failures.at > 0 && now - failures.at < hourSeconds;
  };

  const unpricedOf = (channels: readonly ChannelRow[]): string[] => {
    if (options.get('SelfUseModeEnabled')) return [];
    const tables = options.priceTables();
    const models = new Map<string, Set<number>>();
    for (const { status, type, models: list } of channels) {
      if (status !== ChannelStatus.enabled) continue;
      for (const name of list.split(',')) {
        const types = models.get(name.trim()) ?? new Set();
        models.set(name.trim(), types.add(type));
      }
    }
    models.delete('');
    const everyone = { group: 'default', userGroup: 'default' };
    return [...models].flatMap(([model, types]) =>
      resolvePrices(tables, model, { ...everyone, prefixes: servingPrefix(model, types) }) === null ? [model] : [],
    );
  };
  const ejectedOf = async (ids: readonly number[]): Promise<ReadonlySet<number>> => {
    const found = (await deps.statusOf?.(ids)) ?? [];
    return new Set(ids.filter((_, at) => found[at]?.condition === ejectedCondition));
  };
  const otherModelsOf = async (now: number): Promise<AlertInputs['otherModels']> => {
    const rows = await traffic.totals({ span: 300, kind: 'other', from: now - hourSeconds, to: now + 1 }, [
      'subject_id',
      'part',
    ]);
    const found = new Map<number, { count: number; models: string }>();
    for (const { subject_id: id, part, requests } of [...rows].sort((a, b) => b.requests - a.requests)) {
      const known = found.get(id);
      found.set(id, {
        count: (known?.count ?? 0) + requests,
        models: known === undefined ? part : known.models,
      });
    }
    return found;
  };
  const failedSharesOf = async (now: number): Promise<AlertInputs['failedShares']> => {
    const percent = options.get('alert_setting.failed_percent');
    if (percent === 0) return new Map();
    const minutes = Number(options.get('alert_setting.failed_minutes'));
    const attempts = options.get('alert_setting.failed_attempts');
    // The window under way, and the last whole one.
    const from = now - (now % minSpan) - minSpan;
    const rows = await traffic.failedShares({
      span: minSpan,
      windows: minutes / 5,
      from,
      to: now + 1,
      percent,
      attempts,
    });
    return new Map(rows.map(({ subject_id: id, failed, attempts: all }) => [id, { failed, attempts: all }]));
  };
  const cacheUseAt = async (end: number): Promise<AlertInputs['cacheUse']> => {
    const usedIn = (from: number, to: number) => cacheRates.rates({ from, to: to - 1 }, 'channel_id');
    const before = new Map((await usedIn(end - 8 * daySeconds, end - daySeconds)).map((row) => [row.key, row]));
    return new Map(
      (await usedIn(end - daySeconds, end)).flatMap((last) => {
        const earlier = before.get(last.key);
        return earlier === undefined ? [] : [[Number(last.key), { last, before: earlier }] as const];
      }),
    );
  };
  /** Read once an hour, and where that fails not again before the next: it goes through the log of eight days, and the others are told without it. */
  const cacheUse = { hour: -1, off: true, found: new Map() as AlertInputs['cacheUse'] };
  const kept = (error: unknown): AlertInputs['cacheUse'] => {
    deps.report(error);
    return cacheUse.found;
  };
  const cacheUseOf = async (now: number): Promise<AlertInputs['cacheUse']> => {
    const hour = Math.floor(now / hourSeconds);
    const muted: ReadonlySet<string> = new Set(options.get('alert_setting.muted'));
    const off = options.get('alert_setting.cache_requests') === 0 || muted.has('cache_halved');
    if (cacheUse.hour === hour && cacheUse.off === off) return cacheUse.found;
    [cacheUse.hour, cacheUse.off] = [hour, off];
    if (off) cacheUse.found = new Map();
    else cacheUse.found = await cacheUseAt(hour * hourSeconds).catch(kept);
    return cacheUse.found;
  };
  const siteCertificate = async (now: number): Promise<ExpiringItem[]> => {
    const url = options.get('ServerAddress');
    if (!url.startsWith('https://')) return [];
    if (certificate.url !== url || now - certificate.lookedAt >= daySeconds) {
      certificate.url = url;
      certificate.lookedAt = now;
      certificate.end = await deps.certificateEnd(url).catch(() => null);
    }
    return certificate.end === null
      ? []
      : [{ label: new URL(url).host, id: 'certificate', expiresAt: certificate.end }];
  };

  /** What is added up of traffic and the log, which takes its time where there are many channels. */
  const usage = async (now: number, enabled: readonly number[]) => ({
    failing: await failing(new Set(enabled)),
    ...(await repository.spend(now)),
    failedShares: await failedSharesOf(now),
    otherModels: await otherModelsOf(now),
    cacheUse: await cacheUseOf(now),
  });

  /** @param withUsage false = without what rules look at whose past is stored: a preview of another rule waits for none of it. */
  return async (withUsage = true): Promise<AlertInputs> => {
    const now = Math.floor(deps.now() / 1000);
    const channels = await channelRows.all();
    const enabled = channels.filter(({ status }) => status === ChannelStatus.enabled).map(({ id }) => id);
    const storage = deps.storage?.() ?? healthyStorage;
    const stall = deps.stall?.() ?? null;
    const days = options.get('alert_setting.expiry_days');
    const until = now + days * daySeconds;
    const expiring = days === 0 ? [] : [...(await repository.expiring(now, until)), ...(await siteCertificate(now))];
    return {
      get: options.get,
      now,
      channels,
      ejected: await ejectedOf(enabled),
      ...(withUsage ? await usage(now, enabled) : noUsage),
      unpriced: unpricedOf(channels),
      expiring: expiring.filter(({ expiresAt }) => expiresAt <= until),
      freeBytes: deps.freeBytes(),
      storage,
      isRecent: isRecentFailure(storage, now),
      defects: deps.defects?.() ?? null,
      stall: stall !== null && now - stall.at < hourSeconds ? stall : null,
      budgets: (await deps.budgets.nearlyUsed(budgetLevels[0])).filter(({ holder }) => !isPersonal(holder)),
      frozen: await deps.leakStop.stoppedSince(now - hourSeconds),
      unsent: await deps.schedules.troubles(),
      backupMissing: deps.backupMissing(),
    };
  };
}
