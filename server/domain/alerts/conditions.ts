/** How each kind of trouble is seen in the facts: one row each. */

import type { AlertKindName } from '../../contract/alert-kinds.ts';
import { budgetLevels } from '../../contract/budgets.ts';
import { hitRateOf } from '../../contract/cache-rates.ts';
import { ChannelStatus, type Text } from '../../contract/enum.ts';
import { formatQuota } from '../../contract/pricing/format.ts';
import { objectIn } from '../../contract/stored-object.ts';
import { amountWords, holderWords, windowWords } from '../budgets/words.ts';
import type { AlertInputs } from './inputs.ts';

export interface Found {
  /** Distinguishes two problems of one kind. */
  readonly subject: string;
  /** What differs by language is given in both. */
  readonly values: Readonly<Record<string, string | number | Text>>;
}

const words = (value: unknown): string => (typeof value === 'string' && value !== '' ? value.slice(0, 300) : '—');
const money = (quota: number, { get }: AlertInputs): string =>
  formatQuota(quota, { inCurrency: get('DisplayInCurrencyEnabled'), quotaPerUnit: get('QuotaPerUnit') });
const daySeconds = 86_400;
/** Below a dollar an hour nothing is unusual. */
const minRequests = 1;
/** Of less than that nobody made use. */
const minHitRate = 0.1;

export const conditions: Readonly<Record<AlertKindName, (inputs: AlertInputs) => readonly Found[]>> = {
  channel_disabled: ({ channels }) =>
    channels
      .filter(({ status }) => status === ChannelStatus.autoDisabled)
      .map(({ id, name, other_info: info }) => ({
        subject: String(id),
        values: { id, name, reason: words(objectIn(info).status_reason) },
      })),
  channel_failing: ({ channels, ejected, failing }) =>
    channels
      .filter(
        ({ id, status, other_info: info }) =>
          status === ChannelStatus.enabled &&
          (ejected.has(id) || failing.has(id) || objectIn(info).test_error !== undefined),
      )
      .map(({ id, name, other_info: info }) => ({
        subject: String(id),
        // Real requests say more than a test.
        values: { id, name, reason: words(failing.get(id) || objectIn(info).test_error) },
      })),
  errors_high: ({ channels, failedShares, get }) => {
    const limit = get('alert_setting.failed_percent');
    if (limit === 0) return [];
    const minutes = get('alert_setting.failed_minutes');
    return channels.flatMap(({ id, name, status }) => {
      const found = failedShares.get(id);
      if (found === undefined || status !== ChannelStatus.enabled) return [];
      const { failed, attempts } = found;
      if (attempts < get('alert_setting.failed_attempts') || failed * 100 <= attempts * limit) return [];
      const percent = ((failed * 100) / attempts).toFixed(1);
      return [{ subject: String(id), values: { id, name, percent, attempts, minutes, limit } }];
    });
  },
  spend_high: (inputs) => {
    const limit = inputs.get('alert_setting.spend_limit');
    if (limit === 0 || inputs.spent <= limit * inputs.get('QuotaPerUnit')) return [];
    return [
      {
        subject: '',
        values: { spent: money(inputs.spent, inputs), limit: money(limit * inputs.get('QuotaPerUnit'), inputs) },
      },
    ];
  },
  spend_unusual: (inputs) => {
    const factor = inputs.get('alert_setting.spend_factor');
    const max = Math.max(inputs.baseline * factor, minRequests * inputs.get('QuotaPerUnit'));
    if (factor === 0 || inputs.baseline === 0 || inputs.spent <= max) return [];
    return [{ subject: '', values: { spent: money(inputs.spent, inputs), usual: money(inputs.baseline, inputs) } }];
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
    expiring.map(({ id, label, expiresAt }) => ({
      subject: id,
      values: { what: label, days: Math.max(0, Math.floor((expiresAt - now) / daySeconds)) },
    })),
  disk_low: ({ freeBytes, get }) => {
    const limit = get('alert_setting.disk_gb');
    if (freeBytes === null || freeBytes >= limit * 1e9) return [];
    return [{ subject: '', values: { free: (freeBytes / 1e9).toFixed(1) } }];
  },
  commits_late: ({ isRecent, storage: { ok, reason, late, refused: rejected, waiting } }) =>
    ok && !isRecent
      ? []
      : [
          {
            subject: '',
            values: { reason: reason === '' ? '—' : reason.slice(0, 300), late: late + rejected, waiting },
          },
        ],
  other_model: ({ channels, otherModels }) =>
    channels.flatMap(({ id, name }) => {
      const found = otherModels.get(id);
      return found === undefined
        ? []
        : [{ subject: String(id), values: { id, name, count: found.count, models: words(found.models) } }];
    }),
  cache_halved: ({ channels, cacheUse, get }) => {
    const least = get('alert_setting.cache_requests');
    if (least === 0) return [];
    return channels.flatMap(({ id, name }) => {
      const found = cacheUse.get(id);
      if (found === undefined) return [];
      const { last, before } = found;
      if (last.requests < least || before.requests < least) return [];
      const [rate, usual] = [hitRateOf(last) ?? 0, hitRateOf(before) ?? 0];
      if (usual < minHitRate || rate * 2 > usual) return [];
      const percent = (share: number): string => (share * 100).toFixed(1);
      const values = { id, name, requests: last.requests, rate: percent(rate), before: percent(usual) };
      return [{ subject: String(id), values }];
    });
  },
  defect: ({ defects }) =>
    defects === null
      ? []
      : [
          {
            subject: '',
            values: { count: defects.count, reason: words(defects.message), request: defects.requestId || '—' },
          },
        ],
  relay_stalled: ({ stall }) =>
    stall === null
      ? []
      : [
          {
            subject: String(stall.thread),
            values: { thread: stall.thread, seconds: Math.round(stall.ms / 1000), request: stall.requestId || '—' },
          },
        ],
  budget_used: (inputs) =>
    inputs.budgets.flatMap((budget) => {
      const { id, used, bound, window_at: at } = budget;
      const percent = budgetLevels.findLast((level) => used * 100 >= bound * level);
      if (percent === undefined) return [];
      const amount = (value: number) => amountWords(budget, value, (quota) => money(quota, inputs));
      const whose = holderWords(budget);
      const values = { whose, window: windowWords[budget.window], percent, used: amount(used), most: amount(bound) };
      return [{ subject: `${id} ${at} ${percent}`, values }];
    }),
  key_frozen: ({ frozen }) =>
    frozen.map(({ id, name, username }) => ({ subject: String(id), values: { id, name, username } })),
  statement_unsent: ({ unsent }) =>
    unsent.map(({ id, period, error }) => ({
      subject: `${id} ${period}`,
      values: { id, period, reason: words(error) },
    })),
  backup_missed: ({ backupMissing }) =>
    backupMissing === null ? [] : [{ subject: '', values: { reason: backupMissing.slice(0, 300) } }],
};
