/** The public price list as rows of one group. Pure. */
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';

export type PriceList = OutputOf<EndpointOf<'pricing.get'>>;
export type PriceItem = PriceList['data'][number];

export interface PriceRow extends PriceItem {
  readonly id: number;
  readonly available: boolean;
  /** Dollars per call, or per million input and output tokens, in this group. */
  readonly price: number | null;
  readonly input: number | null;
  readonly output: number | null;
}

/** Six decimals, for reference only. */
const rounded = (value: number): number => Number(value.toFixed(6));

/** What channels of a group multiply prices by. */
export type FactorRange = NonNullable<PriceItem['channel_factors']>[string];
const noFactor: FactorRange = { least: 1, most: 1 };
export const factorsIn = (item: Pick<PriceItem, 'channel_factors'> | undefined, group: string): FactorRange =>
  item?.channel_factors?.[group] ?? noFactor;

/** Of the dearest channel: a request costs no more. */
export const mostFactor = (item: PriceItem, group: string): number => factorsIn(item, group).most;

/** Models the group can use first; then per token before per call, gpt first, then the alphabet. */
export function rowsFor(list: PriceList, group: string, search: string): readonly PriceRow[] {
  const groupRatio = list.group_ratio[group] ?? 1;
  const needle = search.trim().toLowerCase();
  const matches = (name: string): boolean => {
    let at = 0;
    for (const character of needle) {
      at = name.indexOf(character, at) + 1;
      if (at === 0) return false;
    }
    return true;
  };
  return list.data
    .filter(({ model_name: name }) => matches(name.toLowerCase()))
    .map((item, index): PriceRow => {
      const perCall = item.quota_type === 1;
      const ratio = groupRatio * mostFactor(item, group);
      return {
        ...item,
        id: index + 1,
        available: item.enable_groups.includes(group),
        price: perCall ? rounded(item.model_price * ratio) : null,
        input: perCall ? null : rounded(item.model_ratio * 2 * ratio),
        output: perCall ? null : rounded(item.model_ratio * 2 * item.completion_ratio * ratio),
      };
    })
    .sort(
      (one, other) =>
        Number(other.available) - Number(one.available) ||
        one.quota_type - other.quota_type ||
        Number(other.model_name.startsWith('gpt')) - Number(one.model_name.startsWith('gpt')) ||
        one.model_name.localeCompare(other.model_name),
    );
}
