/** What is left and what was needed, as the site shows money. */
import type { ErrorParams } from '../../contract/errors.ts';
import { formatQuota, type MoneyFacts } from '../../contract/pricing/format.ts';

export const shortage = (remain: number, need: number, facts: MoneyFacts): ErrorParams => ({
  remain: formatQuota(remain, facts, 'exact'),
  need: formatQuota(need, facts, 'exact'),
});
