/** Virtual models, and what their targets may be: models, channels, groups and prices. */
import { useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { ChainTarget } from '../../../server/contract/virtual-models.ts';
import type { TargetDollars } from '../../components/prices/target-price.tsx';
import type { Option } from '../../components/select.tsx';
import { call } from '../../lib/api.ts';
import { useList, useOptionalRead } from '../../lib/read.ts';
import { useUser } from '../../lib/session.ts';

export interface Market {
  /** Names that a target may have, those of virtual models among them. */
  readonly models: readonly Option[];
  readonly groups: readonly Option[];
  /** Those that serve a model. */
  readonly channelsOf: (model: string) => readonly Option[];
  /** In the group of the target, or the reader's; null = a virtual model, or not known. */
  readonly priceOf: (target: Pick<ChainTarget, 'model' | 'group'>) => TargetDollars | null;
}

export function useVirtualModels() {
  const client = useQueryClient();
  const list = useList({ queryKey: ['virtual-models'], queryFn: () => call('virtual_model.list') });
  return {
    list,
    async refresh() {
      for (const name of ['virtual-models', 'virtual-model-try', 'pricing'])
        await client.invalidateQueries({ queryKey: [name] });
    },
  };
}

export const none: readonly never[] = [];
const digits = 12;

/** @param chains virtual models, which may be targets as well. */
export function useMarket(chains: readonly { readonly name: string }[]): Market {
  const user = useUser();
  const own = user?.group || 'default';
  const table = useOptionalRead({ queryKey: ['model-table'], queryFn: () => call('ratio.models') }).data ?? none;
  const groups = useOptionalRead({ queryKey: ['groups'], queryFn: () => call('group.list') }).data ?? none;
  const ratios = useOptionalRead({ queryKey: ['pricing', user?.id ?? 0], queryFn: () => call('pricing.get') }).data
    ?.group_ratio;
  return useMemo(() => {
    const byName = new Map(table.map((one) => [one.model, one]));
    return {
      models: [...chains, ...table.map(({ model }) => ({ name: model }))].map(({ name }) => [name, name] as const),
      groups: groups.map((name) => [name, name] as const),
      channelsOf: (model) =>
        (byName.get(model)?.channels ?? []).map(({ id, name }) => [String(id), `${name} #${id}`] as const),
      priceOf({ model, group }) {
        const priced = byName.get(model);
        const ratio = ratios?.[group ?? own];
        if (priced === undefined || ratio === undefined) return null;
        const times = (dollars: number | null) =>
          dollars === null ? null : Number((dollars * ratio).toPrecision(digits));
        return { input: times(priced.input), output: times(priced.output), call: times(priced.per_call) };
      },
    };
  }, [table, groups, ratios, chains, own]);
}
