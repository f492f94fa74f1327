/** A token as it is typed, and as it is sent. */
import { parseNumber } from '../../../server/contract/amounts.ts';
import type { Token } from '../../../server/contract/entities.ts';
import type { MoneyFacts } from '../../../server/contract/pricing/format.ts';
import { moneyIn, moneyOf, numberIn, valueIn } from '../../components/amount.ts';
import { expiryIn, expiryText } from '../../lib/expiry.ts';

/** Empty = no limit. */
export const budgetNames = ['day_budget', 'month_budget'] as const;
export const rateNames = ['rpm_limit', 'tpm_limit', 'concurrency_limit'] as const;
type LimitName = (typeof budgetNames)[number] | (typeof rateNames)[number];
/** A limit is no limit where it is left empty, never where it is zero. */
export const limitTerms = { integer: true, min: 1, max: 999_999_999_999 } as const;
export const budgetBounds = { min: 1 } as const;

export interface TokenForm {
  readonly name: string;
  readonly quota: string;
  readonly unlimited: boolean;
  /** Empty = never. */
  readonly expires: string;
  readonly models: string;
  readonly ips: string;
  readonly group: string;
  /** How many are made at once. */
  readonly count: number;
  readonly limits: Readonly<Record<LimitName, string>>;
}

/** What was overdrawn may stay so. */
export const quotaBounds = (token: Token | null) => ({ min: Math.min(0, token?.remain_quota ?? 0) });

/** Epoch seconds; -1 = never. */
export const expiryAt = (token: Token | null): number => token?.expired_time ?? -1;

/** @param facts null = not known yet; what is in money is filled in when it is. */
export const formOf = (token: Token | null, facts: MoneyFacts | null): TokenForm => ({
  name: token?.name ?? '',
  quota: facts === null ? '' : moneyIn(token?.remain_quota ?? facts.quotaPerUnit, facts),
  unlimited: token?.unlimited_quota ?? false,
  expires: expiryText(expiryAt(token)),
  models: token?.model_limits ?? '',
  ips: token?.allow_ips ?? '',
  group: token?.group ?? '',
  count: 1,
  limits: Object.fromEntries([
    ...budgetNames.map((name) => [name, facts === null || !token?.[name] ? '' : moneyIn(token[name], facts)]),
    ...rateNames.map((name) => [name, token?.[name] ? numberIn(token[name]) : '']),
  ]) as TokenForm['limits'],
});

/** Of a form whose fields can all be read. @param token as it was opened; null = a new one. */
export function fieldsOf(form: TokenForm, token: Token | null, facts: MoneyFacts) {
  const { name, quota, unlimited, models, ips, group, limits } = form;
  // What is left goes down while the form is open: an amount that nobody touched is not sent back.
  const untouched = token !== null && quota === formOf(token, facts).quota;
  return {
    name,
    ...(unlimited || untouched ? {} : { remain_quota: valueIn(moneyOf(quota, facts, quotaBounds(token))) }),
    unlimited_quota: unlimited,
    expired_time: expiryIn(form.expires, expiryAt(token)),
    model_limits_enabled: models.trim() !== '',
    model_limits: models,
    allow_ips: ips,
    group,
    ...Object.fromEntries([
      ...budgetNames.map((limit) => [limit, valueIn(moneyOf(limits[limit], facts, budgetBounds), 0)]),
      ...rateNames.map((limit) => [limit, valueIn(parseNumber(limits[limit], limitTerms), 0)]),
    ]),
  };
}
