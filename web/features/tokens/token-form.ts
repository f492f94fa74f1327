/** A token as it is typed, and as it is sent. */
import { parseNumber } from '../../../server/contract/amount.ts';
import type { Token } from '../../../server/contract/entities.ts';
import type { MoneyDetails } from '../../../server/contract/pricing/format.ts';
import { budgetNames, maxRateLimit, rateLimitNames } from '../../../server/contract/token-fields.ts';
import { moneyIn, moneyOf, numberIn, valueIn } from '../../components/amount.ts';
import { expiryIn, expiryText } from '../../lib/expiry.ts';
import { type SpendWindow, spendOf } from '../../lib/key-usage.ts';
import { namesIn } from './key-summary.tsx';

/** Empty = no limit. */
type LimitName = (typeof budgetNames)[number] | (typeof rateLimitNames)[number];
/** A limit is no limit where it is left empty, never where it is zero. */
export const limitBounds = { integer: true, min: 1, max: maxRateLimit } as const;
export const budgetBounds = { min: 1 } as const;

export interface TokenForm {
  readonly name: string;
  readonly amount: string;
  readonly spend: SpendWindow;
  /** Empty = never. */
  readonly expires: string;
  /** Empty = all. */
  readonly models: readonly string[];
  readonly ips: string;
  readonly group: string;
  /** Comma separated. */
  readonly labels: string;
  /** Ids; empty = all. */
  readonly channels: readonly string[];
  /** How many are made at once. */
  readonly count: number;
  readonly limits: Readonly<Record<LimitName, string>>;
}

/** What was overdrawn may stay so. */
export const amountBounds = (token: Token | null, spend: SpendWindow) =>
  spend === 'total' ? { min: Math.min(0, token?.remain_quota ?? 0) } : budgetBounds;

/** Quota; null = there is no such limit. */
function amountOf(token: Token | null): number | null {
  if (token === null) return null;
  const { remain_quota: total, day_budget: day, month_budget: month } = token;
  return { total, day, month, none: null }[spendOf(token)];
}

/** Epoch seconds; -1 = never. */
export const expiryAt = (token: Token | null): number => token?.expired_time ?? -1;

/** @param details null = not known yet; what is in money is filled in when it is. */
export const formOf = (token: Token | null, details: MoneyDetails | null): TokenForm => ({
  name: token?.name ?? '',
  amount: details === null ? '' : moneyIn(amountOf(token) ?? details.quotaPerUnit, details),
  spend: spendOf(token),
  expires: expiryText(expiryAt(token)),
  models: token?.model_limits_enabled ? namesIn(token.model_limits) : [],
  ips: token?.allow_ips ?? '',
  group: token?.group ?? '',
  labels: token?.labels ?? '',
  channels: namesIn(token?.channels ?? ''),
  count: 1,
  limits: Object.fromEntries([
    ...budgetNames.map((name) => [name, details === null || !token?.[name] ? '' : moneyIn(token[name], details)]),
    ...rateLimitNames.map((name) => [name, token?.[name] ? numberIn(token[name]) : '']),
  ]) as TokenForm['limits'],
});

/** Of a form whose fields can all be read. @param token as it was opened; null = a new one. */
export function fieldsOf(form: TokenForm, token: Token | null, details: MoneyDetails) {
  const { name, amount, spend, models, ips, group, labels, channels, limits } = form;
  const before = formOf(token, details);
  // The remaining amount goes down while the form is open: an amount that was not edited is not sent back.
  const untouched = token !== null && amount === before.amount && spend === before.spend;
  const quota = spend === 'none' ? 0 : valueIn(moneyOf(amount, details, amountBounds(token, spend)));
  const budget = (window: 'day' | 'month') =>
    spend === window ? quota : valueIn(moneyOf(limits[`${window}_budget`], details, budgetBounds), 0);
  return {
    name,
    ...(spend !== 'total' || untouched ? {} : { remain_quota: quota }),
    unlimited_quota: spend !== 'total',
    expired_time: expiryIn(form.expires, expiryAt(token)),
    model_limits_enabled: models.length > 0,
    model_limits: models.join(','),
    allow_ips: ips,
    group,
    // Those of others than administrators stay as they are.
    ...(labels === before.labels ? {} : { labels }),
    ...(channels.join() === before.channels.join() ? {} : { channels: channels.join() }),
    day_budget: budget('day'),
    month_budget: budget('month'),
    ...Object.fromEntries(rateLimitNames.map((limit) => [limit, valueIn(parseNumber(limits[limit], limitBounds), 0)])),
  };
}
