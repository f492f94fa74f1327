/** The price list that everybody may read: models of enabled channels in the groups the reader may use. */

import { endpointTypesOf } from '../../contract/endpoint-types.ts';
import { ChannelStatus } from '../../contract/enum.ts';
import { channelFactorIn } from '../../contract/pricing/channel-factor.ts';
import { resolvePrices } from '../../contract/pricing/tables.ts';
import { servingPrefix } from '../../providers/import-names.ts';
import type { ChannelsService } from '../channels/service.ts';
import type { OptionsService } from '../options/service.ts';
import { detailsOf, type ModelDetails } from './models.ts';

/** Of the channels that serve a model to a group. */
export interface FactorRange {
  readonly least: number;
  readonly most: number;
}

/** What serves a model: by group the factors of its channels, and their types. */
interface Served {
  readonly groups: Map<string, FactorRange>;
  readonly types: Set<number>;
}

export interface PriceListItem {
  readonly model_name: string;
  /** 1 = per call, 0 = per token. */
  readonly quota_type: number;
  readonly model_ratio: number;
  readonly model_price: number;
  readonly completion_ratio: number;
  readonly cache_ratio: number;
  readonly enable_groups: readonly string[];
  readonly channel_factors?: Readonly<Record<string, FactorRange>>;
  readonly owner_by: string;
  readonly supported_endpoint_types: readonly string[];
  readonly maker: ModelDetails['maker'];
  readonly context: number | null;
  readonly longest: number | null;
  readonly takes: readonly string[];
  readonly retired?: string;
}

export function createPriceList(deps: { readonly options: OptionsService; readonly channels: ChannelsService }) {
  const { options } = deps;

  const served = async (): Promise<ReadonlyMap<string, Served>> => {
    const models = new Map<string, Served>();
    for (const channel of await deps.channels.all()) {
      if (channel.status !== ChannelStatus.enabled) continue;
      const factor = channelFactorIn(channel.setting);
      for (const model of channel.models) {
        const row: Served = models.get(model) ?? { groups: new Map(), types: new Set() };
        for (const group of channel.groups) {
          const { least, most } = row.groups.get(group) ?? { least: factor, most: factor };
          row.groups.set(group, { least: Math.min(least, factor), most: Math.max(most, factor) });
        }
        row.types.add(channel.type);
        models.set(model, row);
      }
    }
    return models;
  };

  return {
    /** @param userGroup the reader's own group, '' = not logged in. */
    async read(userGroup: string) {
      const tables = options.priceTables();
      const ratios = options.get('GroupRatio');
      const usable: Record<string, string> = Object.fromEntries(
        Object.entries(options.get('UserUsableGroups') as Record<string, string>).filter(([group]) =>
          ratios.has(group),
        ),
      );
      if (userGroup !== '' && !Object.hasOwn(usable, userGroup)) usable[userGroup] = userGroup;
      const ratioOf = (group: string): number =>
        tables.groupGroupRatio.get(userGroup)?.get(group) ?? tables.groupRatio.get(group) ?? 1;
      const acceptUnset = options.get('SelfUseModeEnabled');
      const data = [...(await served())].flatMap(([model, { groups, types }]): PriceListItem[] => {
        const enabled = [...groups.keys()].filter((group) => Object.hasOwn(usable, group)).sort();
        const prefixes = servingPrefix(model, types);
        const prices = resolvePrices(tables, model, { group: 'default', userGroup: '', acceptUnset, prefixes });
        if (enabled.length === 0 || prices === null) return [];
        const factors = [...groups].filter(
          ([group, { most, least }]) => enabled.includes(group) && (most !== 1 || least !== 1),
        );
        const { maker, context, longest, takes, retired } = detailsOf(tables, model, prefixes);
        return [
          {
            model_name: model,
            quota_type: prices.modelPrice === null ? 0 : 1,
            model_ratio: prices.modelRatio,
            model_price: prices.modelPrice ?? 0,
            completion_ratio: prices.completionRatio,
            cache_ratio: prices.cacheRatio,
            enable_groups: enabled,
            ...(factors.length === 0 ? {} : { channel_factors: Object.fromEntries(factors) }),
            owner_by: '',
            supported_endpoint_types: endpointTypesOf(model),
            ...{ maker, context, longest, takes },
            ...(retired === undefined ? {} : { retired }),
          },
        ];
      });
      return {
        success: true as const,
        message: '',
        data: data.sort((one, other) => one.model_name.localeCompare(other.model_name)),
        group_ratio: Object.fromEntries(Object.keys(usable).map((group) => [group, ratioOf(group)])),
        usable_group: usable,
      };
    },
  };
}
