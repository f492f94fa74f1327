/** Log rows of what happens outside requests: top-ups, administration, system. */

import type { LogEntry } from '../../billing/ledger/commands.ts';
import { formatUsd } from '../../contract/pricing/charge.ts';
import { formatQuota } from '../../contract/pricing/format.ts';
import type { OptionsService } from '../options/service.ts';

export interface EventDetails {
  readonly type: number;
  /** Epoch seconds. */
  readonly at: number;
  readonly user: { readonly id: number; readonly username: string; readonly group_name: string };
  readonly content: string;
  readonly other?: Readonly<Record<string, unknown>>;
}

export const eventLog = ({ type, at, user, content, other }: EventDetails): LogEntry => ({
  requestId: '',
  createdAt: at,
  type,
  userId: user.id,
  username: user.username,
  tokenId: 0,
  tokenName: '',
  channelId: 0,
  group: user.group_name,
  model: '',
  isStream: false,
  useTime: 0,
  promptTokens: 0,
  completionTokens: 0,
  quota: 0,
  content,
  other: other === undefined ? '' : JSON.stringify(other),
  usageSource: 'none',
  endReason: 'completed',
});

/** Quota as the console shows it, for texts that are not Chinese. */
export const quotaText = (options: OptionsService, quota: number): string =>
  formatQuota(
    quota,
    { inCurrency: options.get('DisplayInCurrencyEnabled'), quotaPerUnit: options.get('QuotaPerUnit') },
    'short',
  );

/** Quota in the words of log rows and messages. */
export const quotaWords = (options: OptionsService, quota: number): string =>
  options.get('DisplayInCurrencyEnabled')
    ? `＄${formatUsd(quota, 6, options.get('QuotaPerUnit'))} 额度`
    : `${quota} 点额度`;
