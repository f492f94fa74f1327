/** Models that the reader may use, with their price, how long they take and what a usual request of theirs costs. */
import { useMemo } from 'react';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { autoGroups, cheapestGroups, namedGroups } from '../../../server/contract/key-groups.ts';
import { completionPriceOf, priceOfRatio } from '../../../server/contract/pricing/format.ts';
import { call } from '../../lib/api.ts';
import { useOptionalRead } from '../../lib/read.ts';
import { isAdmin, useUser } from '../../lib/session.ts';

export interface ModelDetails {
  readonly name: string;
  /** Dollars per million input and output tokens, or for each call; '' = not known. */
  readonly price: string;
  /** Milliseconds of half of the requests; null = there were none. */
  readonly ms: number | null;
  readonly requests: number;
  /** Quota. */
  readonly charge: number;
}

const dollars = (value: number): string => `$${value < 0.01 && value > 0 ? value : value.toFixed(2)}`;

/** @returns '' = which one it is follows from the site, or is the account's. */
const firstGroup = (group: string): string =>
  group === autoGroups || group === cheapestGroups ? '' : (namedGroups(group)[0] ?? '');

/** Stable while they are. @param group of the key; '' = the reader's own. @returns undefined while the models are not known. */
export function useModelDetails(group: string): readonly ModelDetails[] | undefined {
  const user = useUser();
  const names = useOptionalRead({ queryKey: ['own-models'], queryFn: () => call('user.models') }).data;
  const prices = useOptionalRead({ queryKey: ['pricing', user?.id ?? 0], queryFn: () => call('pricing.get') }).data;
  const traffic = useOptionalRead({
    queryKey: ['model-traffic'],
    queryFn: () =>
      call(isAdmin(user) ? 'traffic.all' : 'traffic.self', { range: '30d', by: 'model', points: false, limit: 1000 }),
  }).data;
  return useMemo(
    () => names && detailsOf(names, prices, traffic, firstGroup(group) || (user?.group ?? '')),
    [names, prices, traffic, group, user?.group],
  );
}

function detailsOf(
  names: readonly string[],
  prices: OutputOf<EndpointOf<'pricing.get'>> | undefined,
  traffic: OutputOf<EndpointOf<'traffic.all'>> | undefined,
  group: string,
): readonly ModelDetails[] {
  const ratio = prices?.group_ratio[group] ?? 1;
  const priced = new Map(prices?.data.map((item) => [item.model_name, item]));
  const used = new Map(traffic?.series.map(({ name, total }) => [name, total]));
  return names.map((name) => {
    const item = priced.get(name);
    const total = used.get(name);
    const price =
      item === undefined
        ? ''
        : item.quota_type === 1
          ? dollars(item.model_price * ratio)
          : `${dollars(priceOfRatio(item.model_ratio, ratio))} / ${dollars(completionPriceOf(item.model_ratio, item.completion_ratio, ratio))}`;
    return {
      name,
      price,
      ms: total?.latency.p50 ?? null,
      requests: total?.requests ?? 0,
      charge: total?.charge ?? 0,
    };
  });
}

/** @param selected empty = all. @returns how many usual requests an amount pays for; null = there were none to go by. */
export function requestsFor(
  quota: number,
  details: readonly ModelDetails[],
  selected: readonly string[],
): number | null {
  const some = details.filter(({ name }) => selected.length === 0 || selected.includes(name));
  const requests = some.reduce((sum, one) => sum + one.requests, 0);
  const charge = some.reduce((sum, one) => sum + one.charge, 0);
  return charge <= 0 ? null : Math.floor((quota * requests) / charge);
}
