/** A token as it is typed, and as it is sent. */
import type { Token } from '../../../server/contract/entities.ts';
import { dateTime, parseDateTime } from '../../lib/format.ts';

export const limitNames = ['day_budget', 'month_budget', 'rpm_limit', 'tpm_limit', 'concurrency_limit'] as const;

export interface TokenForm {
  readonly name: string;
  readonly quota: string;
  readonly unlimited: boolean;
  readonly expires: string;
  readonly models: string;
  readonly ips: string;
  readonly group: string;
  /** How many are made at once. */
  readonly count: number;
  readonly limits: Readonly<Record<(typeof limitNames)[number], string>>;
}

/** @param unit what a new token starts with. */
export const formOf = (token: Token | null, unit: number): TokenForm => ({
  name: token?.name ?? '',
  quota: String(token?.remain_quota ?? unit),
  unlimited: token?.unlimited_quota ?? false,
  expires: token === null || token.expired_time === -1 ? '-1' : dateTime(token.expired_time),
  models: token?.model_limits ?? '',
  ips: token?.allow_ips ?? '',
  group: token?.group ?? '',
  count: 1,
  limits: Object.fromEntries(limitNames.map((limit) => [limit, String(token?.[limit] ?? 0)])) as TokenForm['limits'],
});

/** @returns null when the time of expiry cannot be read. */
export function fieldsOf({ name, quota, unlimited, expires, models, ips, group, limits }: TokenForm) {
  const at = parseDateTime(expires);
  if (at === null) return null;
  return {
    name,
    remain_quota: Number.parseInt(quota, 10) || 0,
    unlimited_quota: unlimited,
    expired_time: at,
    model_limits_enabled: models.trim() !== '',
    model_limits: models,
    allow_ips: ips,
    group,
    ...Object.fromEntries(limitNames.map((limit) => [limit, Math.max(0, Number.parseInt(limits[limit], 10) || 0)])),
  };
}
