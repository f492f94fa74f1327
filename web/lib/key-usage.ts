/** What a key has spent of what it may. Pure. */
import type { Token } from '../../server/contract/entities.ts';

/** Until when a key may spend its amount: for good, a day, a month; none = it has no amount. */
export const spendWindows = ['total', 'day', 'month', 'none'] as const;
export type SpendWindow = (typeof spendWindows)[number];

export function spendOf(token: Pick<Token, 'unlimited_quota' | 'day_budget' | 'month_budget'> | null): SpendWindow {
  if (token === null || !token.unlimited_quota) return 'total';
  return token.day_budget > 0 ? 'day' : token.month_budget > 0 ? 'month' : 'none';
}

type Limits = Pick<
  Token,
  'unlimited_quota' | 'remain_quota' | 'used_quota' | 'day_budget' | 'month_budget' | 'day_used' | 'month_used'
>;

export interface KeyUsage {
  readonly spend: SpendWindow;
  /** Quota. */
  readonly used: number;
  /** Quota; 0 = none. */
  readonly limit: number;
}

export function keyUsage(key: Limits): KeyUsage {
  const spend = spendOf(key);
  const all: Readonly<Record<SpendWindow, readonly [number, number]>> = {
    total: [key.used_quota, key.remain_quota + key.used_quota],
    day: [key.day_used, key.day_budget],
    month: [key.month_used, key.month_budget],
    none: [key.used_quota, 0],
  };
  const [used, limit] = all[spend];
  return { spend, used, limit };
}
