/** The models of the site with their prices, and how administrators change them. */
import { useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { optionRow } from '../../../server/contract/options.ts';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { type ListState, useList } from '../../lib/read.ts';
import { isAdmin, useUser } from '../../lib/session.ts';
import { offerUndo } from '../../lib/undo.ts';
import type { PricePart } from './model-columns.tsx';
import { type AdminModel, adminViewsOf, type ModelView, viewsOf } from './model-rows.ts';
import type { PriceList } from './price-rows.ts';
import type { Prices } from './simulate.tsx';

const none: readonly AdminModel[] = [];

export interface Models extends ListState {
  /** The public list; undefined = not known yet. */
  readonly list: PriceList | undefined;
  readonly views: readonly ModelView[];
  /** Priced or not; [] for everybody but administrators. */
  readonly all: readonly AdminModel[];
  readonly admin: boolean;
  /** The reader may change prices. */
  readonly mayPrice: boolean;
  readonly group: string;
  readonly ratio: number;
}

/** @param group '' = the reader's own. */
export function useModels(group: string): Models {
  const user = useUser();
  const admin = isAdmin(user);
  const list = useList({ queryKey: ['pricing', user?.id ?? 0], queryFn: () => call('pricing.get') });
  const table = useList({
    queryKey: ['model-table'],
    queryFn: () => call('ratio.models'),
    enabled: admin,
    refetchInterval: 300_000,
  });
  const groupName = group || user?.group || 'default';
  const ratio = list.data?.group_ratio[groupName] ?? 1;
  const all = (admin ? table.data : undefined) ?? none;
  const views = useMemo(
    () =>
      admin
        ? adminViewsOf(all, groupName, ratio, list.data)
        : list.data === undefined
          ? []
          : viewsOf(list.data, groupName),
    [admin, all, groupName, ratio, list.data],
  );
  return {
    pending: list.pending || (admin && table.pending),
    failure: list.failure ?? (admin ? table.failure : null),
    list: list.data,
    views,
    all,
    admin,
    mayPrice: admin && (user?.role ?? 0) >= optionRow('ModelRatio').role,
    group: groupName,
    ratio,
  };
}

/** A price with one part changed; the others stay as many dollars as they are. */
export function priceWith({ admin }: ModelView, part: PricePart, dollars: number): Prices[string] {
  if (part === 'perCall') return { per_call: dollars };
  const { input = null, output = null, cached = null } = admin ?? {};
  const now = { input: input ?? 0, output: output ?? input ?? 0, ...(cached === null ? {} : { cached }) };
  return { ...now, [part]: dollars };
}

export function usePricing() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const refresh = async () => {
    for (const name of ['pricing', 'model-table', 'model-facts', 'ratio'])
      await client.invalidateQueries({ queryKey: [name] });
  };
  return {
    refresh,
    /** One save is one version, to be put back as one. */
    async store(models: Prices): Promise<boolean> {
      let version: number | null = null;
      const ok = await attempt(async () => {
        version = (await call('ratio.set', { models })).version;
      });
      await refresh();
      const kept = version;
      if (ok && kept !== null)
        offerUndo({
          back: () => call('ratio.rollback', { version: kept }),
          done: t('pricing.stored', { count: Object.keys(models).length }),
          refresh,
        });
      return ok;
    },
  };
}
