/** The relay's memory: the published snapshot, indexed for one look-up per question. */
import { ChannelStatus } from '../../contract/enums.ts';
import { mayCostNothing } from '../../contract/pricing-tables.ts';
import { compileSettings, type RelaySettings } from './settings.ts';
import type { ChannelSnapshot, Snapshot, SnapshotDelta, TokenSnapshot, UserSnapshot } from './snapshot.ts';

/** Channels of one priority, highest tier first in `Route`. */
export type PriorityTier = readonly ChannelSnapshot[];
export type Route = readonly PriorityTier[];

export interface RelayState {
  apply(news: Snapshot | SnapshotDelta): void;
  /** Resolves when the first snapshot has been applied. */
  readonly ready: Promise<void>;
  settings(): RelaySettings;
  tokenByHmac(hmac: string): TokenSnapshot | undefined;
  token(id: number): TokenSnapshot | undefined;
  user(id: number): UserSnapshot | undefined;
  channel(id: number): ChannelSnapshot | undefined;
  /** All of them, whatever their status. */
  channels(): Iterable<ChannelSnapshot>;
  /** Enabled channels that serve `model` to `group`, by tiers. */
  route(group: string, model: string): Route;
  /** Some channel is meant to serve `model` to `group`, even if none does at the moment. */
  configured(group: string, model: string): boolean;
  /** Model names some enabled channel serves to `group`. */
  models(group: string): readonly string[];
  /** Some model that `group` is served, '' = any group that may be chosen, has no price for a user of `userGroup`. Decided once for as long as channels and options stay. */
  mayBeFree(group: string, userGroup: string): boolean;
  /** Called with the id of each channel that was edited. */
  onChannel(listener: (id: number) => void): void;
  /** Called after every change. @returns ends it. */
  onNews(listener: () => void): () => void;
  /** Counts up with every change; caches keyed on it. */
  revision(): number;
  /** All of it, for another thread. */
  snapshot(): Snapshot;
  /** Machines that serve the site together, this one among them. */
  nodes(): number;
}

/** Told of every row of a user or token as it comes and goes. */
export interface AccountWatcher {
  seeUser(user: UserSnapshot): void;
  seeToken(token: TokenSnapshot): void;
  forgetUser(id: number): void;
  forgetToken(id: number): void;
}

export function createRelayState(accounts: AccountWatcher): RelayState {
  const users = new Map<number, UserSnapshot>();
  const tokens = new Map<number, TokenSnapshot>();
  const hmacs = new Map<string, TokenSnapshot>();
  const channels = new Map<number, ChannelSnapshot>();
  const options = new Map<string, string>();
  let settings = compileSettings(options);
  let routes = new Map<string, Map<string, Route>>();
  let resting = new Map<string, Set<string>>();
  /** By user's group, then group. */
  const free = new Map<string, Map<string, boolean>>();
  let revision = 0;
  let seq = 0;
  let nodes = 1;
  const listeners: ((id: number) => void)[] = [];
  const watchers = new Set<() => void>();
  const { promise: ready, resolve: arrived } = Promise.withResolvers<void>();

  const setToken = (token: TokenSnapshot) => {
    const old = tokens.get(token.id);
    if (old !== undefined) hmacs.delete(old.keyHmac);
    tokens.set(token.id, token);
    hmacs.set(token.keyHmac, token);
    accounts.seeToken(token);
  };
  const removeToken = (id: number) => {
    const old = tokens.get(id);
    if (old !== undefined) hmacs.delete(old.keyHmac);
    tokens.delete(id);
    accounts.forgetToken(id);
  };
  const setUser = (user: UserSnapshot) => {
    users.set(user.id, user);
    accounts.seeUser(user);
  };

  return {
    ready,
    apply(news) {
      revision++;
      seq = news.seq;
      nodes = news.nodes ?? nodes;
      if (news.kind === 'snapshot') {
        users.clear();
        tokens.clear();
        hmacs.clear();
        channels.clear();
        options.clear();
      } else {
        for (const id of news.removed.users) {
          users.delete(id);
          accounts.forgetUser(id);
        }
        for (const id of news.removed.tokens) removeToken(id);
        for (const id of news.removed.channels) channels.delete(id);
      }
      for (const user of news.users) setUser(user);
      for (const token of news.tokens) setToken(token);
      for (const channel of news.channels) {
        channels.set(channel.id, channel);
        for (const listener of listeners) listener(channel.id);
      }
      for (const [key, value] of Object.entries(news.options)) {
        if (value === null) options.delete(key);
        else options.set(key, value);
      }
      if (news.kind === 'snapshot' || Object.keys(news.options).length > 0) {
        settings = compileSettings(options);
        free.clear();
      }
      const rerouted = news.channels.length > 0 || (news.kind === 'delta' && news.removed.channels.length > 0);
      if (news.kind === 'snapshot' || rerouted) {
        routes = buildRoutes(channels.values());
        resting = restingModels(channels.values());
        free.clear();
      }
      if (news.kind === 'snapshot') arrived();
      for (const watcher of watchers) watcher();
    },
    settings: () => settings,
    tokenByHmac: (hmac) => hmacs.get(hmac),
    token: (id) => tokens.get(id),
    user: (id) => users.get(id),
    channel: (id) => channels.get(id),
    channels: () => channels.values(),
    route: (group, model) => routes.get(group)?.get(model) ?? [],
    configured: (group, model) => routes.get(group)?.has(model) === true || resting.get(group)?.has(model) === true,
    mayBeFree(group, userGroup) {
      const own = free.get(userGroup) ?? new Map<string, boolean>();
      free.set(userGroup, own);
      const known = own.get(group);
      if (known !== undefined) return known;
      const groups = group === '' ? [userGroup, ...settings.usableGroups] : [group];
      const found = groups.some((name) =>
        mayCostNothing(settings.priceTables, routes.get(name)?.keys() ?? [], { group: name, userGroup }),
      );
      own.set(group, found);
      return found;
    },
    models: (group) => [...(routes.get(group)?.keys() ?? [])],
    onChannel: (listener) => void listeners.push(listener),
    onNews(listener) {
      watchers.add(listener);
      return () => void watchers.delete(listener);
    },
    revision: () => revision,
    snapshot: () => ({
      kind: 'snapshot',
      seq,
      users: [...users.values()],
      tokens: [...tokens.values()],
      channels: [...channels.values()],
      options: Object.fromEntries(options),
      nodes,
    }),
    nodes: () => nodes,
  };
}

function buildRoutes(channels: Iterable<ChannelSnapshot>): Map<string, Map<string, Route>> {
  const flat = new Map<string, Map<string, ChannelSnapshot[]>>();
  for (const channel of channels) {
    if (channel.status !== ChannelStatus.enabled) continue;
    for (const group of channel.groups) {
      const models = flat.get(group) ?? new Map<string, ChannelSnapshot[]>();
      flat.set(group, models);
      for (const model of channel.models) {
        const list = models.get(model);
        if (list === undefined) models.set(model, [channel]);
        else list.push(channel);
      }
    }
  }
  const routes = new Map<string, Map<string, Route>>();
  for (const [group, models] of flat) {
    routes.set(group, new Map([...models].map(([model, list]) => [model, tiersOf(list)])));
  }
  return routes;
}

/** Models of channels that are switched off. */
function restingModels(channels: Iterable<ChannelSnapshot>): Map<string, Set<string>> {
  const resting = new Map<string, Set<string>>();
  for (const channel of channels) {
    if (channel.status === ChannelStatus.enabled) continue;
    for (const group of channel.groups) {
      const models = resting.get(group) ?? new Set<string>();
      resting.set(group, models);
      for (const model of channel.models) models.add(model);
    }
  }
  return resting;
}

function tiersOf(channels: readonly ChannelSnapshot[]): Route {
  const tiers = new Map<number, ChannelSnapshot[]>();
  for (const channel of channels) {
    const tier = tiers.get(channel.priority);
    if (tier === undefined) tiers.set(channel.priority, [channel]);
    else tier.push(channel);
  }
  return [...tiers].sort(([a], [b]) => b - a).map(([, tier]) => tier);
}
