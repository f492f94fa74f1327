/**
 * What Claude Code asks of a gateway that it is signed in to, and how it is told of budgets. Source: the gateway that comes with
 * Claude Code 2.1.332 (`claude gateway`, and what it says of itself under `/protocol`).
 */
import { createHash } from 'node:crypto';
import { shareOf, tightestOf } from '../../contract/key-budgets.ts';
import type { BudgetKind, BudgetUse } from '../../contract/snapshot.ts';
import type { RefusalReason } from '../codec.ts';
import type { BudgetRules, GatewayPath, GatewayRules, ModelOffer } from '../definition.ts';

const paths: ReadonlyMap<string, GatewayPath> = new Map([
  ['/managed/settings', 'settings'],
  ['/api/oauth/usage', 'usage'],
  ['/v1/metrics', 'sink'],
  ['/v1/logs', 'sink'],
  ['/v1/traces', 'sink'],
  // Claude Desktop asks it for its configuration; none is kept here.
  ['/user/bootstrap', 'absent'],
]);

/** From here on it warns. */
const thresholds = [0.95, 0.75] as const;
const centsInDollar = 100;
/** It says how long a period is, and knows none of what has no end. */
const groups: Readonly<Record<BudgetKind, string>> = {
  '5h': 'daily',
  day: 'daily',
  week: 'monthly',
  month: 'monthly',
  total: 'monthly',
  key: 'monthly',
  balance: 'monthly',
};
const periods: Readonly<Partial<Record<RefusalReason, string>>> = { day: 'daily', month: 'monthly' };

/** In hundredths; a whole one means that nothing is left. */
const utilizationOf = (budget: BudgetUse): number => {
  const share = shareOf(budget);
  return share >= 1 ? 1 : Math.min(0.99, Math.round(share * 100) / 100);
};

const name = (of: string): string => `anthropic-ratelimit-unified-${of}`;

const resetHeaders = (resets: number | null): Record<string, string> =>
  resets === null ? {} : { [name('reset')]: String(resets), [name('overage-reset')]: String(resets) };

function headers(budgets: readonly BudgetUse[]): Record<string, string> {
  const tightest = tightestOf(budgets);
  if (tightest === null) return {};
  const share = shareOf(tightest);
  const threshold = thresholds.find((one) => share >= one);
  const status = threshold === undefined ? 'allowed' : 'allowed_warning';
  return {
    [name('status')]: status,
    [name('representative-claim')]: 'overage',
    [name('overage-status')]: status,
    // This answer was served: it is not over.
    [name('overage-utilization')]: String(Math.min(0.99, utilizationOf(tightest))),
    ...(threshold === undefined ? {} : { [name('overage-surpassed-threshold')]: String(threshold) }),
    ...resetHeaders(tightest.resets),
  };
}

/** Without `representative-claim` and `overage-status`, at which it says something else than the message. @param resetsAt epoch seconds, null = never. */
export const spentHeaders = (reason: RefusalReason, resetsAt: number | null): Record<string, string> => ({
  [name('status')]: 'rejected',
  [name('overage-utilization')]: '1',
  [name('overage-surpassed-threshold')]: '1',
  [name('overage-disabled-reason')]: 'org_spend_cap_reached',
  ...(periods[reason] === undefined ? {} : { [name('overage-period')]: periods[reason] }),
  ...resetHeaders(resetsAt),
});

/** JSON with sorted members and without blanks, of which it computes the checksum again. */
const canonical = (value: unknown): string =>
  Array.isArray(value)
    ? `[${value.map(canonical).join(',')}]`
    : typeof value === 'object' && value !== null
      ? `{${Object.entries(value)
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([member, of]) => `${JSON.stringify(member)}:${canonical(of)}`)
          .join(',')}}`
      : JSON.stringify(value);

export const budgets: BudgetRules = { kinds: 'all', headers };

export const gateway: GatewayRules = {
  paths,
  settings(models, environment, id) {
    // Variables open a question whose usual answer ends the program: none are sent unless the operator set some.
    const hasEnvironment = Object.keys(environment).length > 0;
    const settings = { availableModels: models, ...(hasEnvironment ? { env: environment } : {}) };
    const checksum = `sha256:${createHash('sha256').update(canonical(settings)).digest('hex')}`;
    const hex = createHash('sha256').update(`managed settings of ${id}`).digest('hex');
    const uuid = [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `5${hex.slice(13, 16)}`,
      `8${hex.slice(17, 20)}`,
      hex.slice(20, 32),
    ];
    return { body: { uuid: uuid.join('-'), checksum, settings }, etag: `"${checksum}"` };
  },
  usage(every, spent, perUnit) {
    // It shows dollars.
    const all = every.filter(({ unit }) => unit === undefined);
    const tightest = tightestOf(all);
    const cents = (quota: number): number => Math.floor((quota * centsInDollar) / perUnit);
    const percent = (budget: BudgetUse): number => Math.round(utilizationOf(budget) * 100);
    return {
      extra_usage: {
        is_enabled: true,
        monthly_limit: tightest === null ? null : cents(tightest.limit),
        used_credits: cents(tightest === null ? spent : tightest.used),
        utilization: tightest === null ? null : percent(tightest),
        currency: 'USD',
      },
      limits: all.map((budget) => ({
        kind: 'spend',
        group: groups[budget.kind],
        percent: percent(budget),
        resets_at: budget.resets === null ? null : new Date(budget.resets * 1000).toISOString(),
        severity: shareOf(budget) >= 0.95 ? 'critical' : shareOf(budget) >= 0.75 ? 'warning' : 'normal',
        is_active: budget === tightest,
      })),
    };
  },
};

/** Longest line that its list of models shows. */
const maxDescription = 100;
const dollars = (amount: number): string => `$${Number(amount.toFixed(amount < 1 ? 4 : 2))}`;

/** What stands beside a model's name: "$2.50 / $10 per M, OpenAI". */
export function descriptionOf({ price, provider }: ModelOffer): string {
  const cost =
    price === null
      ? []
      : 'call' in price
        ? [`${dollars(price.call)} per call`]
        : [`${dollars(price.input)} / ${dollars(price.output)} per M`];
  if (price?.least !== undefined) cost[0] = `up to ${cost[0]}`;
  return [...cost, ...(provider === '' ? [] : [provider])].join(', ').slice(0, maxDescription);
}
