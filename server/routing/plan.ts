/** What follows from the configuration for all requests of one pricing profile for one model: compiled once, looked up by each. */

import { atFactor } from '../contract/pricing/channel-factor.ts';
import { toolPrice } from '../contract/pricing/charge.ts';
import { withModifiers } from '../contract/pricing/modifiers.ts';
import type { Prices } from '../contract/pricing/price.ts';
import { type ReserveSize, reserveEstimate } from '../contract/pricing/reserve.ts';
import { type PriceTables, resolvePrices } from '../contract/pricing/tables.ts';
import type { ChannelSnapshot } from '../contract/snapshot.ts';
import { servingPrefix } from '../providers/import-names.ts';
import { boundTo, type CandidateList, filterCandidates } from './candidates.ts';
import { noFeatures, type RequestedFeatures } from './features.ts';
import { type OfferOptions, Offers } from './offers.ts';

/** What a request is, as far as its plan depends on it. */
export interface PlanKey {
  readonly model: string;
  /** The group whose channels and prices are used, and the user's own. */
  readonly group: string;
  readonly userGroup: string;
  /** A model without a price costs the usual ratio instead of being refused. */
  readonly acceptUnset: boolean;
  /** That the key is bound to (`contract/key-channels.ts`); absent = every channel of the group. */
  readonly channels?: string | undefined;
}

/** The operator's choices that decide a plan: a new object after each change. */
export interface PlanOptions extends OfferOptions {
  readonly priceTables: PriceTables;
}

const none: readonly string[] = [];
const noCalls: Readonly<Record<string, number>> = {};

export class RoutePlan {
  /** null = the model has no price here. */
  readonly prices: Prices | null;
  /** Some channel has more than one. */
  readonly hasSeveralKeys: boolean;
  private readonly ordinary: Prices | null;
  private readonly toolCalls: Readonly<Record<string, number>>;

  constructor(
    readonly key: PlanKey,
    readonly list: CandidateList<ChannelSnapshot>,
    readonly offers: Offers,
    private readonly options: PlanOptions,
    /** The group's list, of which `list` has the channels that the key is bound to. */
    readonly source: CandidateList<ChannelSnapshot> = list,
  ) {
    this.hasSeveralKeys = list.some((tier) => tier.some(({ keys }) => keys.length > 1));
    const prefixes = key.model.includes('/')
      ? servingPrefix(
          key.model,
          list.flat().map(({ type }) => type),
        )
      : none;
    const prices = resolvePrices(options.priceTables, key.model, { ...key, prefixes });
    // Whichever of them serves, no more is charged than was held.
    this.ordinary = prices === null ? null : atFactor(prices, offers.priceFactor || 1);
    this.prices = this.ordinary === null ? null : withModifiers(this.ordinary, offers.surcharges);
    this.toolCalls = this.prices === null ? noCalls : pricedCalls(this.prices, offers.unitsFor(noFeatures));
  }

  /** The plan for some of its channels, which is not kept. */
  filter(test: (channel: ChannelSnapshot) => boolean): RoutePlan {
    const list = filterCandidates(this.list, test);
    return list === this.list ? this : planOfChannels(this.key, list, this.options);
  }

  /** Under the dearest terms that the request can be served under; the bill follows what the response reports. */
  pricesFor(requested: RequestedFeatures): Prices | null {
    if (this.ordinary === null || requested.modifiers.length === 0) return this.prices;
    return withModifiers(this.ordinary, this.offers.surchargesFor(requested));
  }

  /** Calls of tools that have a price, at most. */
  toolCallsFor(requested: RequestedFeatures): Readonly<Record<string, number>> {
    if (this.prices === null || requested.uses.length === 0) return this.toolCalls;
    return this.prices.toolPrices.size === 0 ? noCalls : pricedCalls(this.prices, this.offers.unitsFor(requested));
  }

  /** Quota that a request of this size can cost at most at any of the channels. */
  reserve(size: Omit<ReserveSize, 'toolCalls'>, requested: RequestedFeatures): number {
    const prices = this.pricesFor(requested);
    return prices === null ? 0 : reserveEstimate(prices, { ...size, toolCalls: this.toolCallsFor(requested) });
  }
}

function pricedCalls(prices: Prices, units: Readonly<Record<string, number>> | null): Readonly<Record<string, number>> {
  if (units === null || prices.toolPrices.size === 0) return noCalls;
  return Object.fromEntries(Object.entries(units).filter(([tool]) => toolPrice(prices, tool) !== 0));
}

const maxPlans = 4096;

/** The plans of one relay thread. Users and keys change none of them, a channel those of its own lists, an option all. */
export class RoutePlans {
  private readonly plans = new Map<string, RoutePlan>();
  private offers = new WeakMap<CandidateList<ChannelSnapshot>, Offers>();
  private options: PlanOptions | null = null;
  private latest: RoutePlan | null = null;

  /** @param source the current list of the key's model and group. @returns null = it has no channel, or none that the key is bound to. */
  find(key: PlanKey, source: CandidateList<ChannelSnapshot>, options: PlanOptions): RoutePlan | null {
    if (options !== this.options) {
      this.options = options;
      this.plans.clear();
      this.offers = new WeakMap();
      this.latest = null;
    }
    const { model, group, userGroup, acceptUnset, channels = '' } = key;
    const unbound = `${acceptUnset}\0${group}\0${userGroup}\0${model}`;
    const name = channels === '' ? unbound : `${unbound}\0${channels}`;
    const known = this.plans.get(name);
    if (known?.source === source) {
      // The one used last is last in the map.
      if (known !== this.latest) {
        this.plans.delete(name);
        this.plans.set(name, known);
        this.latest = known;
      }
      return known;
    }
    const list = boundTo(source, channels);
    if (list.length === 0) return null;
    let offers = this.offers.get(list);
    if (offers === undefined) {
      offers = new Offers(list, model, options);
      this.offers.set(list, offers);
    }
    const made = new RoutePlan(key, list, offers, options, source);
    this.plans.delete(name);
    this.plans.set(name, made);
    this.latest = made;
    if (this.plans.size > maxPlans) {
      const oldest = this.plans.keys().next().value;
      if (oldest !== undefined) this.plans.delete(oldest);
    }
    return made;
  }
}

/** For channels that are no list of the configuration: one that is pinned, those that a filter leaves. It is not kept. */
export const planOfChannels = (key: PlanKey, list: CandidateList<ChannelSnapshot>, options: PlanOptions): RoutePlan =>
  new RoutePlan(key, list, new Offers(list, key.model, options), options);
