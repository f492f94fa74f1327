/**
 * Which channels may serve a model to a group, and in what order a request tries them.
 * Pure: the relay passes in how its channels are doing, `route explain` the same or nothing.
 */
import { ChannelStatus } from '../contract/enum.ts';

/** What routing looks at. */
export interface Routable {
  readonly id: number;
  readonly status: number;
  readonly priority: number;
  readonly weight: number;
  readonly models: readonly string[];
  readonly groups: readonly string[];
}

/** Enabled channels that serve one model to one group, by priority, the highest first; inside a tier by id. Never changed: a change makes a new one. */
export type CandidateList<C> = readonly (readonly C[])[];

/** @param channels that serve the model to the group, ascending ids. */
export function candidateList<C extends Routable>(channels: readonly C[]): CandidateList<C> {
  const tiers = new Map<number, C[]>();
  let tier: C[] = [];
  let priority = Number.NaN;
  for (const channel of channels) {
    if (channel.priority !== priority) {
      priority = channel.priority;
      tier = tiers.get(priority) ?? [];
      tiers.set(priority, tier);
    }
    tier.push(channel);
  }
  return [...tiers].sort(([a], [b]) => b - a).map(([, tier]) => tier);
}

const noop: CandidateList<never> = [];

/** @returns the same list where all pass. */
export function filterCandidates<C>(list: CandidateList<C>, test: (channel: C) => boolean): CandidateList<C> {
  if (list.every((tier) => tier.every(test))) return list;
  return list.map((tier) => tier.filter(test)).filter(({ length }) => length > 0);
}

/** @param channels as `contract/key-channels.ts` stores them. @returns ascending. */
export const idsOf = (channels: string): readonly number[] => channels.split(',').map(Number);

/** @param channels that a key is bound to, as `contract/key-channels.ts` says; '' = it is not. */
export function boundTo<C extends { readonly id: number }>(list: CandidateList<C>, channels: string): CandidateList<C> {
  if (channels === '') return list;
  const ids = new Set(idsOf(channels));
  return filterCandidates(list, ({ id }) => ids.has(id));
}

/** The channels of one model in one group. */
interface Pair<C> {
  /** Ascending ids. */
  readonly enabled: C[];
  /** Those that would serve it if they were enabled. */
  readonly disabled: Set<number>;
  /** null = the pair has changed since it was made. */
  list: CandidateList<C> | null;
}

/** Every channel under each of its models and groups. A changed channel costs its own pairs, whatever else there is. */
export class CandidateIndex<C extends Routable> {
  private readonly channels = new Map<number, C>();
  private readonly groups = new Map<string, Map<string, Pair<C>>>();

  /** Adds or replaces one. @returns whether a group gained or lost a model. */
  set(channel: C): boolean {
    const before = this.channels.get(channel.id);
    if (before !== undefined && this.replace(before, channel)) return false;
    const lost = before === undefined ? null : this.take(before);
    this.channels.set(channel.id, channel);
    let gained = false;
    for (const group of channel.groups)
      for (const model of channel.models) {
        const pair = this.pairFor(group, model);
        if (channel.status !== ChannelStatus.enabled) {
          pair.disabled.add(channel.id);
          continue;
        }
        if (pair.enabled.length === 0 && lost?.delete(pair) !== true) gained = true;
        insert(pair.enabled, channel);
        pair.list = null;
      }
    if (before !== undefined) this.prune(before);
    return gained || (lost !== null && lost.size > 0);
  }

  /** @returns whether a group lost a model. */
  delete(id: number): boolean {
    const channel = this.channels.get(id);
    if (channel === undefined) return false;
    this.channels.delete(id);
    const lost = this.take(channel);
    this.prune(channel);
    return lost.size > 0;
  }

  clear(): void {
    this.channels.clear();
    this.groups.clear();
  }

  get(id: number): C | undefined {
    return this.channels.get(id);
  }

  /** Whatever their status. */
  all(): Iterable<C> {
    return this.channels.values();
  }

  list(group: string, model: string): CandidateList<C> {
    const pair = this.groups.get(group)?.get(model);
    if (pair === undefined) return noop;
    pair.list ??= candidateList(pair.enabled);
    return pair.list;
  }

  /** Of these channels alone, however many others there are. @param ids ascending. */
  listAmong(group: string, model: string, ids: readonly number[]): CandidateList<C> {
    const enabled = this.groups.get(group)?.get(model)?.enabled ?? [];
    if (enabled.length === 0) return noop;
    const found: C[] = [];
    for (const id of ids) {
      const channel = enabled[placeOf(enabled, id)];
      if (channel?.id === id) found.push(channel);
    }
    return candidateList(found);
  }

  /** Some channel is meant to serve it, even if none is enabled. */
  isConfigured(group: string, model: string): boolean {
    const pair = this.groups.get(group)?.get(model);
    return pair !== undefined && (pair.enabled.length > 0 || pair.disabled.size > 0);
  }

  /** Names of models that an enabled channel serves to the group. */
  models(group: string): string[] {
    const names: string[] = [];
    for (const [model, { enabled }] of this.groups.get(group) ?? []) if (enabled.length > 0) names.push(model);
    return names;
  }

  private pairFor(group: string, model: string): Pair<C> {
    let models = this.groups.get(group);
    if (models === undefined) {
      models = new Map();
      this.groups.set(group, models);
    }
    let pair = models.get(model);
    if (pair === undefined) {
      pair = { enabled: [], disabled: new Set(), list: null };
      models.set(model, pair);
    }
    return pair;
  }

  /** A channel that serves what it served stays in its places. @returns false = it does not. */
  private replace(before: C, channel: C): boolean {
    const { enabled } = ChannelStatus;
    if (before.status !== enabled || channel.status !== enabled) return false;
    if (!isSame(before.models, channel.models) || !isSame(before.groups, channel.groups)) return false;
    this.channels.set(channel.id, channel);
    for (const group of channel.groups)
      for (const model of channel.models) {
        const pair = this.pairFor(group, model);
        pair.enabled[placeOf(pair.enabled, channel.id)] = channel;
        pair.list = null;
      }
    return true;
  }

  /** Takes a channel out of all its pairs. @returns those that no channel serves any more. */
  private take(channel: C): Set<Pair<C>> {
    const empty = new Set<Pair<C>>();
    for (const group of channel.groups)
      for (const model of channel.models) {
        const pair = this.groups.get(group)?.get(model);
        if (pair === undefined) continue;
        pair.disabled.delete(channel.id);
        const place = placeOf(pair.enabled, channel.id);
        if (pair.enabled[place] !== channel) continue;
        pair.enabled.splice(place, 1);
        pair.list = null;
        if (pair.enabled.length === 0) empty.add(pair);
      }
    return empty;
  }

  /** Forgets the pairs of a former channel that no channel has any more. */
  private prune(former: C): void {
    for (const group of former.groups) {
      const models = this.groups.get(group);
      if (models === undefined) continue;
      for (const model of former.models) {
        const pair = models.get(model);
        if (pair !== undefined && pair.enabled.length === 0 && pair.disabled.size === 0) models.delete(model);
      }
      if (models.size === 0) this.groups.delete(group);
    }
  }
}

const isSame = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((one, at) => one === others[at]);

/** Where the id is, or belongs, among ascending ids. */
function placeOf(channels: readonly Routable[], id: number): number {
  let from = 0;
  let to = channels.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((channels[middle] as Routable).id < id) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** A channel that names a model twice is listed once. */
function insert<C extends Routable>(channels: C[], channel: C): void {
  const last = channels.at(-1);
  if (last === undefined || last.id < channel.id) {
    channels.push(channel);
    return;
  }
  const place = placeOf(channels, channel.id);
  if (channels[place] !== channel) channels.splice(place, 0, channel);
}

/** How channels of one priority share requests. */
export interface WeightOptions {
  /** The chance is the weight: 0 gets nothing beside others that are ready. */
  readonly plainWeights: boolean;
}

/** Added to every weight so that channels of weight 0 still receive some traffic. As new-api does. */
const smoothing = 10;
const familyWeights: WeightOptions = { plainWeights: false };

/** `cooling`: each of its keys has to wait. `ejected`: the model there, or its host, failed again and again. */
export type Condition = 'up' | 'cooling' | 'ejected';

/** Health of the channels for a model: read at the moment a channel is drawn, never kept. */
export interface ChannelHealth<C> {
  condition(channel: C, model: string): Condition;
  /** Milliseconds until a channel in trouble is tried before others again. */
  waitMs(channel: C, model: string): number;
}

/** Channels in the order in which one request tries them. */
export interface Candidates<C> {
  readonly length: number;
  at(index: number): C | undefined;
  filter(test: (channel: C) => boolean): Candidates<C>;
}

/** @param preferred the channel that served this conversation; it goes first within the first tier that has a healthy channel. */
export const candidatesOf = <C extends Routable>(
  list: CandidateList<C>,
  model: string,
  random: () => number,
  health: ChannelHealth<C>,
  preferred: number | null,
  options: WeightOptions = familyWeights,
): Candidates<C> => {
  const [only] = list;
  if (list.length === 1 && only?.length === 1) return only;
  return new PickedCandidates(list, model, random, health, preferred, options);
};

/** Tier by tier, inside a tier by weighted random choice; unhealthy channels come last. Each is drawn on demand: most requests need the first alone. */
class PickedCandidates<C extends Routable> implements Candidates<C> {
  readonly length: number;
  private readonly picked: C[] = [];
  private tier = 0;

  constructor(
    private readonly list: CandidateList<C>,
    private readonly model: string,
    private readonly random: () => number,
    private readonly health: ChannelHealth<C>,
    private readonly preferred: number | null,
    private readonly options: WeightOptions,
  ) {
    let length = 0;
    for (const { length: own } of list) length += own;
    this.length = length;
  }

  at(index: number): C | undefined {
    while (this.picked.length <= index) {
      const channel = this.next();
      if (channel === null) return undefined;
      this.picked.push(channel);
    }
    return this.picked[index];
  }

  filter(test: (channel: C) => boolean): Candidates<C> {
    const list = filterCandidates(this.list, test);
    return candidatesOf(list, this.model, this.random, this.health, this.preferred, this.options);
  }

  private next(): C | null {
    for (; this.tier < this.list.length; this.tier++) {
      const channel = this.pickFrom(this.list[this.tier] as readonly C[]);
      if (channel !== null) return channel;
    }
    return this.soonest();
  }

  private isReady(channel: C): boolean {
    return !this.picked.includes(channel) && this.health.condition(channel, this.model) === 'up';
  }

  /** One guess among all of the tier; where it does not meet a ready channel, one among those that are ready: together the chance of each is its weight's share of the ready ones. */
  private pickFrom(tier: readonly C[]): C | null {
    const { preferred, picked } = this;
    if (preferred !== null && picked.length === 0) {
      const channel = tier[placeOf(tier, preferred)];
      if (channel?.id === preferred && this.isReady(channel) && this.mayBePreferred(channel, tier)) return channel;
    }
    const { sums, added } = sumsOf(tier, this.options);
    if (tier.length > 1) {
      const guess = tier[placeIn(sums, this.random() * (sums.at(-1) ?? 0))];
      if (guess !== undefined && this.isReady(guess)) return guess;
    }
    let total = 0;
    let count = 0;
    let last: C | null = null;
    for (const channel of tier) {
      if (!this.isReady(channel)) continue;
      total += channel.weight + added;
      count++;
      last = channel;
    }
    if (last === null || count === 1) return last;
    // Those of weight 0 are left alone: each has the same chance.
    const each = total === 0 ? 1 : added;
    if (total === 0) total = count;
    let pick = this.random() * total;
    for (const channel of tier) {
      if (!this.isReady(channel)) continue;
      pick -= channel.weight + each;
      if (pick < 0) return channel;
    }
    return last;
  }

  /** One without a weight is left as soon as others may serve: nobody could empty it otherwise. */
  private mayBePreferred(channel: C, tier: readonly C[]): boolean {
    if (channel.weight > 0 || !this.options.plainWeights) return true;
    return !tier.some((other) => other.weight > 0 && this.isReady(other));
  }

  /** Of those in trouble the one that is out of it first. */
  private soonest(): C | null {
    let found: C | null = null;
    let min = Number.POSITIVE_INFINITY;
    for (const tier of this.list)
      for (const channel of tier) {
        if (this.picked.includes(channel)) continue;
        const wait = this.health.waitMs(channel, this.model);
        if (found !== null && wait >= min) continue;
        found = channel;
        min = wait;
      }
    return found;
  }
}

interface Weights {
  readonly plain: boolean;
  /** To each of them. */
  readonly added: number;
  /** Running sums. */
  readonly sums: Float64Array;
}

/** Of tiers. */
const weights = new WeakMap<readonly Routable[], Weights>();

function sumsOf(tier: readonly Routable[], { plainWeights: plain }: WeightOptions): Weights {
  const known = weights.get(tier);
  if (known?.plain === plain) return known;
  const added = plain && tier.some(({ weight }) => weight > 0) ? 0 : smoothing;
  const sums = new Float64Array(tier.length);
  let sum = 0;
  for (const [index, { weight }] of tier.entries()) {
    sum += weight + added;
    sums[index] = sum;
  }
  const made = { plain, added, sums };
  weights.set(tier, made);
  return made;
}

/** Index of the first sum above the mark. */
function placeIn(sums: Float64Array, mark: number): number {
  let from = 0;
  let to = sums.length - 1;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((sums[middle] ?? 0) > mark) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** Chance of a channel to be tried first within its tier, 0 to 1. */
export function shareOf(channel: Routable, tier: readonly Routable[], options: WeightOptions = familyWeights): number {
  const { sums, added } = sumsOf(tier, options);
  return (channel.weight + added) / (sums.at(-1) ?? 1);
}

/** Follows a channel's model mapping to its end; a chain that comes back to a name already seen stops there. */
export function mapModel(mapping: Readonly<Record<string, unknown>>, model: string): string {
  if (!Object.hasOwn(mapping, model)) return model;
  const seen = new Set([model]);
  let name = model;
  for (;;) {
    const next = Object.hasOwn(mapping, name) ? mapping[name] : undefined;
    if (typeof next !== 'string' || next === '' || seen.has(next)) return name;
    seen.add(next);
    name = next;
  }
}

/** So many steps are named in a header line; servers and proxies refuse lines of some kilobytes. */
const maxTraced = 100;

/** The order of one request as a header line: ids only, for the names of channels are the operator's business. */
export function traceOf<C extends Routable>(
  list: CandidateList<C>,
  model: string,
  order: Candidates<C>,
  health: ChannelHealth<C>,
  preferred: number | null,
  options: WeightOptions = familyWeights,
): string {
  const tierOf = new Map(list.flatMap((tier) => tier.map((channel) => [channel.id, tier] as const)));
  const steps: string[] = [];
  for (let at = 0; at < Math.min(order.length, maxTraced); at++) {
    const channel = order.at(at);
    if (channel === undefined) break;
    const { id, priority } = channel;
    const tier = tierOf.get(id);
    if (tier === undefined) {
      steps.push(String(id));
      continue;
    }
    const condition = health.condition(channel, model);
    const marks = [condition === 'up' ? '' : condition, id === preferred ? 'same-conversation' : '']
      .filter((mark) => mark !== '')
      .join('+');
    steps.push(
      `${id} p${priority} ${Math.round(shareOf(channel, tier, options) * 100)}%${marks === '' ? '' : ` ${marks}`}`,
    );
  }
  const more = order.length - steps.length;
  return `order=${steps.join(' > ')}${more > 0 ? ` > and ${more} more` : ''}`;
}
