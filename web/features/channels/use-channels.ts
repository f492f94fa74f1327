/** The channels that pass the filters of the address. */

import { useMemo, useState } from 'react';
import type { Channel } from '../../../server/contract/entities.ts';
import { textIn } from '../../../server/contract/language.ts';
import {
  type ChannelTraffic,
  failingFirst,
  stateOf,
  type TrafficRange,
  trafficRanges,
  useChannelTraffic,
} from '../../components/channel-traffic.ts';
import { call } from '../../lib/api.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { type ListState, useHeld, useList, useOptionalRead } from '../../lib/read.ts';
import { type Url, useUrl } from '../../lib/url.ts';
import type { ChannelType } from './channel-form.ts';

const idSortKey = 'id-sort';
const noTypes: readonly ChannelType[] = [];

export interface Channels {
  readonly url: Url;
  readonly types: readonly ChannelType[];
  readonly groups: readonly string[];
  /** undefined = not known yet. */
  readonly all: readonly Channel[] | undefined;
  /** Those of them that pass. */
  readonly channels: readonly Channel[];
  readonly list: ListState;
  /** By channel. */
  readonly traffic: ReadonlyMap<number, ChannelTraffic>;
  /** What the bars and figures are of. */
  readonly range: TrafficRange;
  readonly tagMode: boolean;
  readonly idSort: boolean;
  readonly setIdSort: (on: boolean) => void;
  /** Some filter is on. */
  readonly filtered: boolean;
  /** What decides which of them are shown. */
  readonly scope: string;
}

/** What a kind of channel is called. */
export const typeName = (types: readonly ChannelType[], typeId: number): string => {
  const type = types.find((one) => one.type === typeId);
  return type === undefined ? String(typeId) : textIn(type, currentLanguage());
};

/** Other consoles of this family find the usual models of each type under this key. */
async function loadTypes(): Promise<readonly ChannelType[]> {
  const types = await call('channel.types');
  localStorage.setItem(
    'channel_models',
    JSON.stringify(Object.fromEntries(types.map((one) => [one.type, one.models]))),
  );
  return types;
}

export function useChannels(): Channels {
  const url = useUrl();
  const [idSort, setIdSort] = useState(() => localStorage.getItem(idSortKey) === 'true');
  const [keyword, group, model] = [url.get('q'), url.get('group'), url.get('model')];
  const [status, type, onlyTag] = [url.get('status'), Number(url.get('type')), url.get('tag')];
  const range = trafficRanges.find((one) => one === url.get('range')) ?? '24h';
  const found = useChannelTraffic(range);
  const traffic = useMemo(() => new Map(found.data?.map((one) => [one.id, one])), [found.data]);
  const types = useOptionalRead({
    queryKey: ['channel-types'],
    queryFn: loadTypes,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const held = useHeld(found.isPending || types.isPending);
  const groups = useOptionalRead({ queryKey: ['groups'], queryFn: () => call('group.list') }).data ?? [];
  const list = useList({
    queryKey: ['channels', keyword, group, model, idSort],
    queryFn: () => call('channel.search', { keyword, group, model, id_sort: idSort }),
    refetchInterval: 30_000,
  });
  const all = held ? undefined : list.data;
  const channels = useMemo(() => {
    const found = (all ?? []).filter(
      (channel) =>
        (status === '' || String(channel.status) === status || stateOf(channel, traffic.get(channel.id)) === status) &&
        (type === 0 || channel.type === type) &&
        (onlyTag === '' || channel.tag === onlyTag),
    );
    return idSort ? found : failingFirst(found, traffic);
  }, [all, status, traffic, type, onlyTag, idSort]);
  const filters = [keyword, group, model, status, url.get('type'), onlyTag];
  return {
    url,
    types: types.data ?? noTypes,
    groups,
    all,
    channels,
    list: held ? { ...list, pending: list.failure === null } : list,
    traffic,
    range,
    tagMode: url.get('mode') === 'tag',
    idSort,
    setIdSort: (on) => {
      localStorage.setItem(idSortKey, String(on));
      setIdSort(on);
    },
    filtered: filters.some((value) => value !== ''),
    scope: filters.join('\n'),
  };
}
