/** Says where a request for a virtual model would go and what each target costs, with the relay's own walk and without a call. */
import type { createChannelsRepository } from '../../../db/repositories/channels.ts';
import { ChannelStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { atFactor, channelFactorIn } from '../../contract/pricing/channel-factor.ts';
import { completionPriceOf, priceOfRatio } from '../../contract/pricing/format.ts';
import { type PriceTables, resolvePrices } from '../../contract/pricing/tables.ts';
import { objectIn } from '../../contract/stored-object.ts';
import type { TargetFailure, VirtualModel } from '../../contract/virtual-models.ts';
import { servingPrefix } from '../../providers/import-names.ts';
import { barrierTo, type Chain, ChainWalk, compileChains, type Leaf, type RequestFacts } from '../../routing/chains.ts';

export interface ChainExplanationDeps {
  readonly channels: Pick<ReturnType<typeof createChannelsRepository>, 'all'>;
  readonly virtualModels: () => Promise<readonly VirtualModel[]>;
  readonly priceTables: () => PriceTables;
  /** Models without a price are served all the same. */
  readonly acceptsUnset: () => boolean;
  readonly mayUse: (userGroup: string, group: string) => boolean;
}

/** A request that is thought of. */
export interface ThoughtRequest extends RequestFacts {
  readonly name: string;
  /** The group of the key. */
  readonly group: string;
  readonly userGroup: string;
  /** Models of the key's list; null = all. */
  readonly models: readonly string[] | null;
  /** The channels that the key is bound to; null = all. */
  readonly channels: readonly number[] | null;
  /** How each target fails. */
  readonly failure: TargetFailure;
  readonly signedTurn: boolean;
}

/** Dollars in the target's group: per million tokens, or per call. null = none. */
export interface TargetPrice {
  readonly input: number | null;
  readonly output: number | null;
  readonly call: number | null;
}

const noPrice: TargetPrice = { input: null, output: null, call: null };

export function createChainExplanation(deps: ChainExplanationDeps) {
  const chainNamed = async (name: string): Promise<Chain | null> =>
    compileChains(await deps.virtualModels()).get(name) ?? null;

  /** What enabled channels serve, and at what price for users of a group. */
  const marketFor = async (userGroup: string, channels: readonly number[] | null) => {
    const rows = (await deps.channels.all()).filter(
      ({ id, status }) => status === ChannelStatus.enabled && channels?.includes(id) !== false,
    );
    const tables = deps.priceTables();
    const servingOf = (leaf: Leaf, used: string) =>
      rows.filter(
        (row) =>
          (leaf.channel === null || row.id === leaf.channel) &&
          listed(row.models).includes(leaf.model) &&
          listed(row.group_name).includes(used),
      );
    const pricesOf = (leaf: Leaf, used: string) => {
      const types = servingOf(leaf, used).map(({ type }) => type);
      const prefixes = servingPrefix(leaf.model, types);
      const acceptUnset = deps.acceptsUnset();
      const prices = resolvePrices(tables, leaf.model, { group: used, userGroup, prefixes, acceptUnset });
      const factors = servingOf(leaf, used).map(({ setting }) => channelFactorIn(objectIn(setting)));
      return prices === null || factors.length === 0 ? prices : atFactor(prices, Math.max(...factors));
    };
    const priceOf = (leaf: Leaf, used: string): TargetPrice => {
      const prices = pricesOf(leaf, used);
      if (prices === null) return noPrice;
      const ratio = prices.groupRatio;
      if (prices.modelPrice !== null) return { ...noPrice, call: prices.modelPrice * ratio };
      const { modelRatio, completionRatio } = prices;
      return {
        ...noPrice,
        input: priceOfRatio(modelRatio, ratio),
        output: completionPriceOf(modelRatio, completionRatio, ratio),
      };
    };
    return { servingOf, pricesOf, priceOf };
  };
  const callerIn = (group: string, userGroup: string) => ({
    group,
    mayUse: (other: string) => deps.mayUse(userGroup, other),
    pinnedChannel: null,
  });

  return {
    chainNamed,
    /** Names of the virtual models that are enabled. */
    names: async (): Promise<readonly string[]> => [...compileChains(await deps.virtualModels()).keys()],
    /** What a user may reach by each name; those that nobody serves are left out. @param userGroup '' = not logged in. */
    async priced(userGroup: string) {
      const chains = [...compileChains(await deps.virtualModels()).values()];
      const group = userGroup || 'default';
      if (chains.length === 0 || !deps.mayUse(userGroup, group)) return [];
      const { servingOf, priceOf } = await marketFor(group, null);
      const caller = callerIn(group, group);
      return chains.flatMap(({ name, leaves }) => {
        const targets = leaves
          .filter((leaf) => barrierTo(leaf, caller) === null)
          .map((leaf) => ({ leaf, group: leaf.group ?? group }))
          .filter((target) => servingOf(target.leaf, target.group).length > 0)
          .map((target) => ({
            model: target.leaf.model,
            group: target.group,
            price: priceOf(target.leaf, target.group),
          }));
        return targets.length === 0 ? [] : [{ name, targets }];
      });
    },
    /** @throws AppError not_found */
    async explain(requested: ThoughtRequest) {
      const { name, group, userGroup, models, channels, failure, signedTurn } = requested;
      const chain = await chainNamed(name);
      if (chain === null) throw new AppError('not_found', { what: `virtual model ${name}` });
      const { servingOf, pricesOf, priceOf } = await marketFor(userGroup, channels);
      const caller = callerIn(group, userGroup);
      const walk = new ChainWalk(chain, caller, requested, 0, signedTurn);
      const order = new Map<Leaf, number>();
      for (let leaf = walk.next(); leaf !== null; leaf = walk.next()) {
        const used = walk.groupOf(leaf);
        if (servingOf(leaf, used).length === 0) walk.failed('no_model');
        else if (pricesOf(leaf, used) === null) walk.skipped('no_price');
        else {
          order.set(leaf, order.size + 1);
          walk.failed(failure);
        }
      }
      const reachable = new Set(walk.reachable);
      const forbidden =
        models === null
          ? []
          : [name, ...[...reachable].map(({ model }) => model)].filter((model) => !models.includes(model));
      return {
        name,
        group,
        boundary: chain.boundary,
        /** Why the key's model list refuses the name: models that it lacks. */
        not_allowed: [...new Set(forbidden)],
        targets: walk.steps().map(({ leaf, group: used, outcome, failure: met }) => ({
          model: leaf.model,
          group: used,
          channel: leaf.channel,
          path: leaf.levels.map(({ model }) => model),
          /** 1 = first; 0 = not tried. */
          order: order.get(leaf) ?? 0,
          outcome: order.has(leaf) ? ('tried' as const) : met === 'no_model' ? ('no_channel' as const) : outcome,
          price: priceOf(leaf, used),
          channels: servingOf(leaf, used).map(({ id, name: called }) => ({ channel_id: id, name: called })),
        })),
      };
    },
  };
}

const listed = (list: string): readonly string[] => list.split(',').map((one) => one.trim());

export type ChainExplanation = ReturnType<typeof createChainExplanation>;
