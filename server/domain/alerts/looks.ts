/** How each kind of trouble is seen in the facts: one row each. */

import type { AlertKindName } from '../../contract/alert-kinds.ts';
import { ChannelStatus } from '../../contract/enums.ts';
import { formatQuota } from '../../contract/pricing/format.ts';
import type { AlertFacts } from './facts.ts';

export interface Found {
  /** Tells one trouble of a kind from another. */
  readonly subject: string;
  readonly values: Readonly<Record<string, string | number>>;
}

const infoOf = (text: string): Readonly<Record<string, unknown>> => {
  try {
    return Object(JSON.parse(text || '{}')) as Record<string, unknown>;
  } catch {
    return {};
  }
};
const words = (value: unknown): string => (typeof value === 'string' && value !== '' ? value.slice(0, 300) : '—');
const money = (quota: number, { get }: AlertFacts): string =>
  formatQuota(quota, { inCurrency: get('DisplayInCurrencyEnabled'), quotaPerUnit: get('QuotaPerUnit') });
const daySeconds = 86_400;
/** Below a dollar an hour nothing is unusual. */
const leastUnusual = 1;

export const looks: Readonly<Record<AlertKindName, (facts: AlertFacts) => readonly Found[]>> = {
  channel_disabled: ({ channels }) =>
    channels
      .filter(({ status }) => status === ChannelStatus.autoDisabled)
      .map(({ id, name, other_info: info }) => ({
        subject: String(id),
        values: { id, name, reason: words(infoOf(info).status_reason) },
      })),
  channel_failing: ({ channels, ejected, failing }) =>
    channels
      .filter(
        ({ id, status, other_info: info }) =>
          status === ChannelStatus.enabled &&
          (ejected.has(id) || failing.has(id) || infoOf(info).test_error !== undefined),
      )
      .map(({ id, name, other_info: info }) => ({
        subject: String(id),
        // Real requests say more than a test.
        values: { id, name, reason: words(failing.get(id) || infoOf(info).test_error) },
      })),
  spend_high: (facts) => {
    const limit = facts.get('alert_setting.spend_limit');
    if (limit === 0 || facts.spent <= limit * facts.get('QuotaPerUnit')) return [];
    return [
      {
        subject: '',
        values: { spent: money(facts.spent, facts), limit: money(limit * facts.get('QuotaPerUnit'), facts) },
      },
    ];
  },
  spend_unusual: (facts) => {
    const factor = facts.get('alert_setting.spend_factor');
    const most = Math.max(facts.usual * factor, leastUnusual * facts.get('QuotaPerUnit'));
    if (factor === 0 || facts.usual === 0 || facts.spent <= most) return [];
    return [{ subject: '', values: { spent: money(facts.spent, facts), usual: money(facts.usual, facts) } }];
  },
  model_unpriced: ({ unpriced }) => unpriced.map((model) => ({ subject: model, values: { model } })),
  balance_low: ({ channels, get }) => {
    const limit = get('alert_setting.balance_limit');
    return channels
      .filter(
        ({ status, balance, balance_updated_at: at }) =>
          limit > 0 && status === ChannelStatus.enabled && at > 0 && balance < limit,
      )
      .map(({ id, name, balance }) => ({ subject: String(id), values: { id, name, balance, limit } }));
  },
  expiring: ({ expiring, now }) =>
    expiring.map(({ id, what, expiresAt }) => ({
      subject: id,
      values: { what, days: Math.max(0, Math.floor((expiresAt - now) / daySeconds)) },
    })),
  disk_low: ({ freeBytes, get }) => {
    const limit = get('alert_setting.disk_gb');
    if (freeBytes === null || freeBytes >= limit * 1e9) return [];
    return [{ subject: '', values: { free: (freeBytes / 1e9).toFixed(1) } }];
  },
  commits_late: ({ lately, storage: { ok, reason, late, refused, waiting } }) =>
    ok && !lately
      ? []
      : [
          {
            subject: '',
            values: { reason: reason === '' ? '—' : reason.slice(0, 300), late: late + refused, waiting },
          },
        ],
  backup_missed: ({ backupMissing }) =>
    backupMissing === null ? [] : [{ subject: '', values: { reason: backupMissing.slice(0, 300) } }],
};
