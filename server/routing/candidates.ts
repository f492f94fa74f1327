/**
 * Which channels may serve a model to a group, and in what order a request tries them.
 * Pure: the relay passes in how its channels are doing, `route explain` the same or nothing.
 */
import { ChannelStatus } from '../contract/enums.ts';

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
  for (const channel of channels) {
    const tier = tiers.get(channel.priority);
    if (tier === undefined) tiers.set(channel.priority, [channel]);
    else tier.push(channel);
  }
  return [...tiers].sort(([a], [b]) => b - a).map(([, tier]) => tier);
}

const nobody: CandidateList<never> = [];

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
    if (pair === undefined) return nobody;
    pair.list ??= candidateList(pair.enabled);
    return pair.list;
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

  /** Takes a channel out of all its pairs. @returns those that nobody serves any more. */
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

/** A channel that names a model twice stands there once. */
function insert<C extends Routable>(channels: C[], channel: C): void {
  const last = channels.at(-1);
  if (last === undefined || last.id < channel.id) {
    channels.push(channel);
    return;
  }
  const place = placeOf(channels, channel.id);
  if (channels[place] !== channel) channels.splice(place, 0, channel);
}

/** Added to every weight so that channels of weight 0 still receive some traffic. As new-api does. */
const smoothing = 10;

/** `cooling`: each of its keys has to wait. `ejected`: its host failed again and again. */
export type Condition = 'up' | 'cooling' | 'ejected';

/** What the moment adds to a list: asked for each request, never kept. */
export interface LiveState<C> {
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly condition: (channel: C) => Condition;
  /** Milliseconds until a channel in trouble is tried before others again. */
  readonly waitMs: (channel: C) => number;
  /** Channel that served this conversation; goes first within the first tier that has a healthy channel. */
  readonly preferred: () => number | null;
}

/** @returns each channel once, in the order they are tried: tier by tier, inside a tier by weighted chance; those in trouble come last. */
export function orderCandidates<C extends Routable>(list: CandidateList<C>, live: LiveState<C>): C[] {
  const [only] = list;
  if (list.length === 1 && only?.length === 1) return [...only];
  const order: C[] = [];
  const troubled: C[] = [];
  for (const tier of list) {
    const healthy = tier.filter((channel) => live.condition(channel) === 'up' || !troubled.push(channel));
    const first = order.length === 0;
    const drawn = healthy.length > 1 ? drawByWeight(healthy, live.random) : healthy;
    order.push(...(first && drawn.length > 1 ? preferring(drawn, live.preferred()) : drawn));
  }
  if (troubled.length > 1) troubled.sort((a, b) => live.waitMs(a) - live.waitMs(b));
  order.push(...troubled);
  return order;
}

function drawByWeight<C extends Routable>(tier: readonly C[], random: () => number): C[] {
  const drawn: C[] = [];
  const rest = [...tier];
  while (rest.length > 0) {
    const total = rest.reduce((sum, channel) => sum + channel.weight + smoothing, 0);
    let pick = random() * total;
    const found = rest.findIndex((channel) => {
      pick -= channel.weight + smoothing;
      return pick < 0;
    });
    drawn.push(...rest.splice(found < 0 ? rest.length - 1 : found, 1));
  }
  return drawn;
}

function preferring<C extends Routable>(channels: readonly C[], id: number | null): readonly C[] {
  const preferred = id === null ? undefined : channels.find((channel) => channel.id === id);
  return preferred === undefined ? channels : [preferred, ...channels.filter((channel) => channel !== preferred)];
}

/** Chance of a channel to be tried first within its tier, 0 to 1. */
export const shareOf = (channel: Routable, tier: readonly Routable[]): number =>
  (channel.weight + smoothing) / tier.reduce((sum, other) => sum + other.weight + smoothing, 0);

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

/** The order of one request as a header line: ids only, for the names of channels are the operator's business. */
export function traceOf<C extends Routable>(list: CandidateList<C>, order: readonly C[], live: LiveState<C>): string {
  const preferred = live.preferred();
  const tierOf = new Map(list.flatMap((tier) => tier.map((channel) => [channel.id, tier] as const)));
  const steps = order.map((channel) => {
    const { id, priority } = channel;
    const tier = tierOf.get(id);
    if (tier === undefined) return String(id);
    const condition = live.condition(channel);
    const marks = [condition === 'up' ? '' : condition, id === preferred ? 'same-conversation' : '']
      .filter((mark) => mark !== '')
      .join('+');
    return `${id} p${priority} ${Math.round(shareOf(channel, tier) * 100)}%${marks === '' ? '' : ` ${marks}`}`;
  });
  return `order=${steps.join(' > ')}`;
}
