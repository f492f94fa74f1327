/** What is left and what was needed, as the site shows money. */
import type { ErrorParams } from '../../contract/errors.ts';
import { formatQuota, type MoneyDetails } from '../../contract/pricing/format.ts';

export const shortage = (remain: number, need: number, details: MoneyDetails): ErrorParams => ({
  remain: formatQuota(remain, details, 'exact'),
  need: formatQuota(need, details, 'exact'),
});
