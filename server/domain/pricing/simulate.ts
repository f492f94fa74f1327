/** Prices past requests again: what they would have cost with other price maps. */

import { atFactor } from '../../contract/pricing/channel-factor.ts';
import { billedUsage, loggedPrices, quotaAgain } from '../../contract/pricing/charge.ts';
import { withModifiers, withSteps } from '../../contract/pricing/modifiers.ts';
import type { Prices } from '../../contract/pricing/price.ts';
import { compilePriceTables, type PriceOptionKey, resolvePrices } from '../../contract/pricing/tables.ts';
import type { Usage } from '../../protocols/canonical.ts';

export interface PastCharge {
  readonly model_name: string;
  readonly group_name: string;
  readonly quota: number;
  readonly other: string;
}

export interface ModelCost {
  readonly model: string;
  readonly requests: number;
  readonly before: number;
  readonly after: number;
}

export interface Simulation {
  add(charge: PastCharge): void;
  /** The models with the largest difference first. */
  result(): {
    readonly requests: number;
    readonly before: number;
    readonly after: number;
    readonly models: ModelCost[];
  };
}

/**
 * @param changed options that are given another text; everything else is as `text` says.
 * @param now epoch milliseconds: whose day decides between prices with dates.
 */
export function createSimulation(
  changed: ReadonlySet<string>,
  text: (key: PriceOptionKey) => string,
  now: number,
): Simulation {
  const tables = compilePriceTables(text, now);
  const groupsChange = changed.has('GroupRatio') || changed.has('GroupGroupRatio');
  const models = new Map<string, ModelCost>();

  /** The group's ratio of the day stays unless it is what is changed; the user's own group is not in the log. */
  const pricesNow = (charge: PastCharge, then: Prices): Prices | null => {
    const { group_name: group, model_name: model } = charge;
    const prices = resolvePrices(tables, model, { group, userGroup: '', acceptUnset: true });
    if (prices === null) return null;
    const ratio = groupsChange ? {} : { groupRatio: then.groupRatio };
    const now: Prices = {
      ...prices,
      ...ratio,
      priceFactor: then.priceFactor,
      tiers: prices.tiers.map((tier) => ({ ...tier, prices: { ...tier.prices, ...ratio } })),
    };
    return withModifiers(
      groupsChange ? atFactor(now, then.channel?.factor ?? 1) : now,
      (then.surcharges ?? []).map((one) => withSteps(tables.termRules, model, one)),
    );
  };
  const othersIn = (usage: Usage, group: string): Pick<Prices, 'others'> => {
    const others = new Map<string, Prices>();
    for (const { model } of usage.parts ?? []) {
      const found = model === null ? null : resolvePrices(tables, model, { group, userGroup: '' });
      if (model !== null && found !== null) others.set(model, found);
    }
    return others.size === 0 ? {} : { others };
  };

  return {
    add(charge) {
      const details = JSON.parse(charge.other === '' ? '{}' : charge.other) as Record<string, unknown>;
      const then = loggedPrices(details);
      if (then === null) return;
      const now = pricesNow(charge, then);
      if (now === null) return;
      const usage = billedUsage(details);
      const known = models.get(charge.model_name);
      models.set(charge.model_name, {
        model: charge.model_name,
        requests: (known?.requests ?? 0) + 1,
        before: (known?.before ?? 0) + charge.quota,
        after: (known?.after ?? 0) + quotaAgain(usage, { ...now, ...othersIn(usage, charge.group_name) }, details),
      });
    },
    result() {
      const all = [...models.values()].sort(
        (one, other) => Math.abs(other.after - other.before) - Math.abs(one.after - one.before),
      );
      const sum = (of: (model: ModelCost) => number) => all.reduce((total, model) => total + of(model), 0);
      return {
        requests: sum((model) => model.requests),
        before: sum((model) => model.before),
        after: sum((model) => model.after),
        models: all,
      };
    },
  };
}
