/** The relay's memory: the published snapshot, indexed for one look-up per question. */

import type { BudgetSnapshot } from '../../contract/budgets.ts';
import { moneyIn, packUsers, type SnapshotPart, type UserPage, userAt, usersIn } from '../../contract/packed-rows.ts';
import { mayCostNothing } from '../../contract/pricing/tables.ts';
import type {
  ChannelSnapshot,
  NodeCount,
  Snapshot,
  SnapshotDelta,
  TokenMoney,
  TokenSnapshot,
  UnknownRights,
  UserSnapshot,
} from '../../contract/snapshot.ts';
import type { UnsupportedOfChannel } from '../../contract/unsupported-members.ts';
import type { VirtualModel } from '../../contract/virtual-models.ts';
import { type Removable, removableNamed, type Without } from '../../providers/knowledge/removable-members.ts';
import { CandidateIndex, type CandidateList, idsOf } from '../../routing/candidates.ts';
import { type Chain, compileChains } from '../../routing/chains.ts';
import { type PlanKey, type RoutePlan, RoutePlans } from '../../routing/plan.ts';
import { RowStore } from './row-store.ts';
import { TokenRow, UserRow } from './rows.ts';
import { compileSettings, type RelaySettings } from './settings.ts';
import { TokenStore } from './token-store.ts';

export interface RelayState {
  /** Keeps users and keys until the snapshot that they are part of is applied. */
  prepare(part: SnapshotPart): void;
  apply(update: Snapshot | SnapshotDelta): void;
  /** Resolves when the first snapshot has been applied. */
  readonly ready: Promise<void>;
  /** A new object after each change of an option, and on the first day of a price. */
  readonly settings: RelaySettings;
  /** By its key or the one before; whether the latter still works is the caller's question. */
  tokenByHmac(hmac: string): TokenSnapshot | undefined;
  token(id: number): TokenSnapshot | undefined;
  user(id: number): UserSnapshot | undefined;
  channel(id: number): ChannelSnapshot | undefined;
  /** Members that its upstream refuses; undefined = none is known. */
  unsupportedOf(channelId: number): Without | undefined;
  /** All of them, whatever their status. */
  channels(): Iterable<ChannelSnapshot>;
  /** Enabled channels that serve `model` to `group`. @param bound those that the key is bound to; absent = it is not. */
  candidates(group: string, model: string, bound?: string): CandidateList<ChannelSnapshot>;
  /** What the configuration says of such requests; null = no channel serves them. */
  plan(key: PlanKey): RoutePlan | null;
  /** The chain that a virtual model stands for; null = none has this name. */
  chain(name: string): Chain | null;
  /** All of them, by name. */
  chains(): ReadonlyMap<string, Chain>;
  /** Some channel is meant to serve `model` to `group`, even if none does at the moment. */
  configured(group: string, model: string): boolean;
  /** Model names some enabled channel serves to `group`. */
  models(group: string): readonly string[];
  /** Some model that `group` is served, '' = any group that may be chosen, has no price for a user of `userGroup`. Decided once for as long as channels and options stay. */
  mayBeFree(group: string, userGroup: string): boolean;
  /** Called with the id of each channel that was edited. */
  onChannel(listener: (id: number) => void): void;
  /** Called after every change. @returns ends it. */
  onUpdate(listener: () => void): () => void;
  /** All of it but users and keys, for another thread. */
  snapshot(): Snapshot;
  /** Users and keys, for another thread: it prepares this part before it applies the snapshot. */
  part(): SnapshotPart;
  /** Machines that serve the site together, this one among them. */
  nodes(): NodeCount;
  /** It has heard neither of the database nor of the others for too long to serve anybody. */
  isIsolated(): boolean;
  /** The database of the site cannot be read at the moment. */
  isAway(): boolean;
  /** The rights of this user and key have changed, or may have, since this machine last read of them. */
  isUnknown(userId: number, tokenId: number): boolean;
}

/** Called for every row of a user or token as it comes and goes, and keeps none of these objects. Absent = another thread sees to them. */
export interface AccountWatcher {
  observeUser?(user: UserSnapshot): void;
  observeToken?(token: TokenMoney): void;
  evictUser?(id: number): void;
  evictToken?(id: number): void;
  /** All there are, whenever one has changed. */
  observeBudgets(budgets: readonly BudgetSnapshot[]): void;
}

/** @param now epoch milliseconds. */
export function createRelayState(accounts: AccountWatcher, now: () => number): RelayState {
  const users = new RowStore<UserSnapshot, UserPage>((page, row) => new UserRow(userAt(page, row)), packUsers);
  const tokens = new TokenStore();
  /** Of a snapshot that is still to come. */
  let prepared: SnapshotPart[] = [];
  const channels = new CandidateIndex<ChannelSnapshot>();
  const plans = new RoutePlans();
  const unsupported = new Map<
    number,
    { readonly rows: UnsupportedOfChannel; readonly without: Without; readonly until: number }
  >();
  const options = new Map<string, string>();
  let virtualModels: readonly VirtualModel[] = [];
  let chains: ReadonlyMap<string, Chain> = new Map();
  const budgets = new Map<number, BudgetSnapshot>();
  /** By user's group, then group. */
  const free = new Map<string, Map<string, boolean>>();
  let seq = 0;
  let nodes: NodeCount = { live: 1, recent: 1 };
  let unknown: UnknownRights | undefined;
  let unknownUsers: ReadonlySet<number> = new Set();
  let unknownTokens: ReadonlySet<number> = new Set();
  const listeners: ((id: number) => void)[] = [];
  const watchers = new Set<() => void>();
  const { promise: ready, resolve: incoming } = Promise.withResolvers<void>();

  const setToken = (token: TokenRow) => {
    tokens.set(token);
    accounts.observeToken?.(token);
  };
  const setUser = (user: UserRow) => {
    users.set(user);
    accounts.observeUser?.(user);
  };
  const addPart = (part: SnapshotPart) => {
    for (const page of part.users) {
      users.add(page);
      if (accounts.observeUser !== undefined) for (const user of usersIn(page)) accounts.observeUser(user);
    }
    for (const [at, page] of part.tokens.entries()) {
      tokens.add(page);
      if (accounts.observeToken === undefined) continue;
      const money = part.money[at];
      if (money === undefined) throw new Error('keys came without what they may use');
      for (const token of moneyIn(page, money)) accounts.observeToken(token);
    }
  };

  /** Expired refusals are left out, and the rest is looked at again when the next one expires. */
  const setUnsupported = (rows: UnsupportedOfChannel) => {
    unsupported.delete(rows.channelId);
    const seconds = now() / 1000;
    const current = rows.members.filter(({ expiresAt }) => expiresAt === 0 || expiresAt > seconds);
    const without = new Map<string, Removable[]>();
    for (const { model, member } of current) {
      const removable = removableNamed(member);
      if (removable === null) continue;
      const known = without.get(model);
      if (known === undefined) without.set(model, [removable]);
      else known.push(removable);
    }
    const ends = current.flatMap(({ expiresAt }) => (expiresAt === 0 ? [] : [expiresAt * 1000]));
    if (without.size > 0)
      unsupported.set(rows.channelId, { rows, without, until: Math.min(...ends, Number.POSITIVE_INFINITY) });
  };

  const state: RelayState & { settings: RelaySettings } = {
    ready,
    settings: compileSettings(options, now()),
    prepare(part) {
      if (part.isFirst) prepared = [];
      prepared.push(part);
    },
    apply(update) {
      seq = update.seq;
      nodes = update.nodes ?? nodes;
      if (update.unknown !== undefined) {
        unknown = update.unknown;
        unknownUsers = new Set(unknown.users);
        unknownTokens = new Set(unknown.tokens);
      }
      if (update.kind === 'snapshot') {
        users.clear();
        tokens.clear();
        channels.clear();
        unsupported.clear();
        options.clear();
        prepared.forEach(addPart);
        prepared = [];
      } else {
        for (const id of update.removed.users) {
          users.delete(id);
          accounts.evictUser?.(id);
        }
        for (const id of update.removed.tokens) {
          tokens.delete(id);
          accounts.evictToken?.(id);
        }
        for (const id of update.removed.channels) {
          if (channels.delete(id)) free.clear();
          unsupported.delete(id);
        }
      }
      for (const user of update.users) setUser(new UserRow(user));
      for (const token of update.tokens) setToken(new TokenRow(token));
      for (const channel of update.channels) {
        if (channels.set(channel)) free.clear();
        for (const listener of listeners) listener(channel.id);
      }
      for (const rows of update.unsupported ?? []) setUnsupported(rows);
      for (const [key, value] of Object.entries(update.options)) {
        if (value === null) options.delete(key);
        else options.set(key, value);
      }
      if (update.virtualModels !== undefined || update.kind === 'snapshot') {
        virtualModels = update.virtualModels ?? [];
        chains = compileChains(virtualModels);
      }
      if (update.kind === 'snapshot' || update.budgets !== undefined || update.budgetsGone !== undefined) {
        if (update.kind === 'snapshot') budgets.clear();
        else for (const id of update.budgetsGone ?? []) budgets.delete(id);
        for (const budget of update.budgets ?? []) budgets.set(budget.id, budget);
        accounts.observeBudgets([...budgets.values()]);
      }
      if (update.kind === 'snapshot' || Object.keys(update.options).length > 0) {
        state.settings = compileSettings(options, now());
        free.clear();
      }
      if (update.kind === 'snapshot') incoming();
      for (const watcher of watchers) watcher();
    },
    tokenByHmac: (hmac) => tokens.byHash(hmac),
    token: (id) => tokens.get(id),
    user: (id) => users.get(id),
    channel: (id) => channels.get(id),
    unsupportedOf(channelId) {
      const known = unsupported.size === 0 ? undefined : unsupported.get(channelId);
      if (known === undefined || now() < known.until) return known?.without;
      setUnsupported(known.rows);
      return unsupported.get(channelId)?.without;
    },
    channels: () => channels.all(),
    candidates: (group, model, bound = '') =>
      bound === '' ? channels.list(group, model) : channels.listAmong(group, model, idsOf(bound)),
    plan(key) {
      if (now() >= state.settings.priceTables.changesAt) {
        state.settings = compileSettings(options, now());
        free.clear();
      }
      return plans.find(key, channels.list(key.group, key.model), state.settings);
    },
    chain: (name) => (chains.size === 0 ? null : (chains.get(name) ?? null)),
    chains: () => chains,
    configured: (group, model) => channels.isConfigured(group, model),
    mayBeFree(group, userGroup) {
      const own = free.get(userGroup) ?? new Map<string, boolean>();
      free.set(userGroup, own);
      const known = own.get(group);
      if (known !== undefined) return known;
      const groups = group === '' ? [userGroup, ...state.settings.usableGroups] : [group];
      const found = groups.some((name) =>
        mayCostNothing(state.settings.priceTables, channels.models(name), { group: name, userGroup }),
      );
      own.set(group, found);
      return found;
    },
    models: (group) => channels.models(group),
    onChannel: (listener) => void listeners.push(listener),
    onUpdate(listener) {
      watchers.add(listener);
      return () => void watchers.delete(listener);
    },
    snapshot: () => ({
      kind: 'snapshot',
      seq,
      users: [],
      tokens: [],
      channels: [...channels.all()],
      options: Object.fromEntries(options),
      ...(unsupported.size === 0 ? {} : { unsupported: [...unsupported.values()].map(({ rows }) => rows) }),
      ...(virtualModels.length === 0 ? {} : { virtualModels }),
      ...(budgets.size === 0 ? {} : { budgets: [...budgets.values()] }),
      nodes,
      ...(unknown === undefined ? {} : { unknown }),
    }),
    part: () => ({ kind: 'part', isFirst: true, users: users.pages(), tokens: tokens.pages(), money: [] }),
    nodes: () => nodes,
    isIsolated: () => unknown?.all === true,
    isAway: () => unknown?.away === true,
    isUnknown: (userId, tokenId) =>
      unknown !== undefined && (unknown.all || unknownUsers.has(userId) || unknownTokens.has(tokenId)),
  };
  return state;
}
