/** The step `authenticate`: finds the caller's key, and decides whose request it is and whether this key may make it. Reads memory only. */
import { timingSafeEqual } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import { type AgentToken, isSignedFor, readAgentToken } from '../../contract/agent-token.ts';
import { Role, TokenStatus, UserStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { groupOrder, isGroupOrder } from '../../contract/key-groups.ts';
import { isNetwork } from '../../contract/networks.ts';
import type { TokenSnapshot } from '../../contract/snapshot.ts';
import { reasonText } from '../../contract/storage-reasons.ts';
import { bareKey } from '../../contract/token-key.ts';
import { shortage } from '../shared/quota-numbers.ts';
import type { RelaySettings } from '../state/settings.ts';
import type { RelayState } from '../state/state.ts';
import type { Peer, Principal } from './parsed-request.ts';

export interface AuthorizeDeps {
  readonly state: RelayState;
  /** HMAC under which tokens are looked up. */
  readonly keyHmac: (key: string) => string;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Where a client of any dialect puts its key; all places are equal: same limits, same log. @returns null = the request carries none. An empty place counts as none. */
function presentedKey({ headers, url }: Request): string | null {
  const authorization = headers.get('authorization')?.replace(bearer, '').trim();
  return (
    (authorization === 'midjourney-proxy' ? null : authorization) ||
    headers.get('x-api-key') ||
    headers.get('x-goog-api-key') ||
    headers.get('api-key') ||
    headers.get('mj-api-secret') ||
    keyInSocketProtocol(headers.get('sec-websocket-protocol')) ||
    keyInQuery(url) ||
    null
  );
}

const bearer = /^bearer(\s+|$)/i;
const socketKeyPrefix = 'openai-insecure-api-key.';

function keyInSocketProtocol(header: string | null): string | null {
  if (header === null) return null;
  for (const item of header.split(',')) {
    const name = item.trim();
    if (name.startsWith(socketKeyPrefix)) return name.slice(socketKeyPrefix.length);
  }
  return null;
}

function keyInQuery(url: string): string | null {
  const start = url.indexOf('?');
  if (start < 0 || !url.includes('key=', start)) return null;
  return new URLSearchParams(url.slice(start + 1)).get('key');
}

export interface Credential {
  /** The key without `sk-`. */
  readonly key: string;
  /** How else it may be meant: a key and the channel an administrator pinned with `sk-KEY-CHANNEL`. */
  readonly pinned: { readonly key: string; readonly channelId: string } | null;
}

function credentialOf(presented: string): Credential {
  const key = bareKey(presented);
  // Keys of people's own making may hold dashes themselves.
  const dash = key.lastIndexOf('-');
  return { key, pinned: dash < 0 ? null : { key: key.slice(0, dash), channelId: key.slice(dash + 1) } };
}

/** @returns null when the request carries no key at all. */
export function readCredential(request: Request): Credential | null {
  const presented = presentedKey(request);
  return presented === null ? null : credentialOf(presented);
}

/** Under what a presented key may be known. */
interface KeyHmacs {
  readonly hmac: string;
  readonly pinned: { readonly hmac: string; readonly channelId: string } | null;
}

/** Presented keys whose HMACs are remembered; the map is a cache of a pure function and holds no rights. */
const maxCachedKeys = 10_000;
const maxCachedLength = 512;

type Caller = Pick<Principal, 'user' | 'group' | 'groups'> & { readonly token: TokenSnapshot };

export class Authorize {
  private readonly hmacs = new Map<string, KeyHmacs>();
  private readonly addressLists = new WeakMap<TokenSnapshot, BlockList>();
  private readonly modelSets = new WeakMap<TokenSnapshot, ReadonlySet<string>>();

  constructor(private readonly deps: AuthorizeDeps) {}

  /**
   * Key, owner, expiry, address and group.
   * @param spent whether a key that is used up will do.
   * @throws AppError token_*, user_disabled, ip_not_allowed, group_*, channel_pin_*.
   */
  identify(request: Request, peer: Peer, spent = false): Principal {
    const presented = presentedKey(request);
    if (presented === null) throw new AppError('token_missing');
    const signed = readAgentToken(presented);
    if (signed !== null) {
      const caller = this.callerOf(this.signedRow(signed), peer, spent);
      // The row is as it should be, so that a revocation is told before the hour that is over.
      if (signed.end <= this.deps.now() / 1000) throw new AppError('token_expired');
      return { ...caller, keyHmac: caller.token.keyHmac, pinnedChannel: null };
    }
    const { hmac, pinned: pin } = this.hmacs.get(presented) ?? this.hmacsOf(presented);
    const plain = this.tokenOf(hmac);
    if (plain !== undefined || pin === null) {
      const { user, token, group, groups } = this.callerOf(plain, peer, spent);
      const known = { user, token, group, keyHmac: hmac, pinnedChannel: null };
      return groups === undefined ? known : { ...known, groups };
    }
    const caller = this.callerOf(this.tokenOf(pin.hmac), peer, spent);
    return { ...caller, keyHmac: pin.hmac, pinnedChannel: pinned(pin.channelId, caller.user.role) };
  }

  /** Whose key it is, whatever it may; null = unknown. */
  ownerOf(request: Request): Pick<Principal, 'user' | 'token'> | null {
    const { state } = this.deps;
    const presented = presentedKey(request);
    if (presented === null) return null;
    const signed = readAgentToken(presented);
    if (signed !== null) {
      const row = this.signedRow(signed);
      const owner = row === undefined ? undefined : state.user(row.userId);
      return row === undefined || owner === undefined ? null : { user: owner, token: row };
    }
    const { hmac, pinned: pin } = this.hmacs.get(presented) ?? this.hmacsOf(presented);
    const token = this.tokenOf(hmac) ?? (pin === null ? undefined : this.tokenOf(pin.hmac));
    const user = token === undefined ? undefined : state.user(token.userId);
    return token === undefined || user === undefined ? null : { user, token };
  }

  /** The same caller as the memory knows them now. @throws AppError as `identify` does. */
  renew(principal: Principal, peer: Peer): Principal {
    const { groups, ...caller } = this.callerOf(this.tokenOf(principal.keyHmac), peer);
    // A conversation that goes on stays in the group that it began in.
    const stays = principal.groups === undefined && groups?.includes(principal.group) === true;
    const { group } = stays ? principal : caller;
    return { ...principal, ...caller, group, ...(groups === undefined || stays ? {} : { groups }) };
  }

  /** The row that a program's signed token names; undefined = there is none, or this site did not sign it. */
  private signedRow(signed: AgentToken): TokenSnapshot | undefined {
    const row = this.deps.state.token(signed.id);
    return row !== undefined && isSignedFor(this.deps.keyHmac, signed, row.keyHmac) ? row : undefined;
  }

  /** By its key, or by the one before it as long as that works. */
  private tokenOf(hmac: string): TokenSnapshot | undefined {
    const { state, now } = this.deps;
    const token = state.tokenByHmac(hmac);
    if (token === undefined || token.keyHmac === hmac) return token;
    return token.oldKey !== null && token.oldKey.until > now() / 1000 ? token : undefined;
  }

  /** A proof that only this gateway can put into an address it gives to a channel's upstream. */
  proofOf(channelId: number): string {
    return this.deps.keyHmac(`notify:${channelId}`).slice(0, 32);
  }

  provesChannel(channelId: number, proof: string): boolean {
    const right = Buffer.from(this.proofOf(channelId));
    const actual = Buffer.from(proof);
    return actual.length === right.length && timingSafeEqual(actual, right);
  }

  /** The key's own model list, on the name the client sent. @throws AppError model_not_allowed. */
  allowModel({ token }: Principal, model: string): void {
    if (token === null || token.modelLimits === null) return;
    const set = this.modelSets.get(token) ?? new Set(token.modelLimits);
    this.modelSets.set(token, set);
    if (!set.has(model)) throw new AppError('model_not_allowed', { model });
  }

  private hmacsOf(presented: string): KeyHmacs {
    const { keyHmac } = this.deps;
    const { key, pinned: pin } = credentialOf(presented);
    const found: KeyHmacs = {
      hmac: keyHmac(key),
      pinned: pin === null ? null : { hmac: keyHmac(pin.key), channelId: pin.channelId },
    };
    if (presented.length > maxCachedLength) return found;
    if (this.hmacs.size >= maxCachedKeys) this.hmacs.clear();
    this.hmacs.set(presented, found);
    return found;
  }

  /** @throws AppError token_*, user_disabled, ip_not_allowed, group_*. */
  private callerOf(token: TokenSnapshot | undefined, peer: Peer, spent = false): Caller {
    if (token === undefined) throw new AppError('token_invalid');
    const { state, now } = this.deps;
    const settings = state.settings;
    const isSpent = spent && token.status === TokenStatus.exhausted;
    checkStatus(isSpent ? { ...token, status: TokenStatus.enabled } : token, now() / 1000, settings);
    const user = state.user(token.userId);
    if (user === undefined) throw new AppError('token_invalid');
    if (state.isUnknown(user.id, token.id))
      throw new AppError('storage_unavailable', { reason: reasonText('cut_off'), seconds: 1 });
    if (user.status !== UserStatus.enabled) throw new AppError('user_disabled');
    if (token.allowIps.length > 0) this.checkAddress(token, peer);
    const { group } = token;
    if (group === '' || group === user.group) return { user, token, group: user.group };
    if (isGroupOrder(group, settings)) return { user, token, ...orderedGroups(group, user.group, settings) };
    if (!settings.usableGroups.has(group)) throw new AppError('group_disabled', { group });
    if (!settings.groupRatios.has(group)) throw new AppError('group_deprecated', { group });
    return { user, token, group };
  }

  private checkAddress(token: TokenSnapshot, peer: Peer): void {
    const list = this.addressLists.get(token) ?? compileAddresses(token.allowIps);
    this.addressLists.set(token, list);
    const ip = peer.ip().replace(/^::ffff:(?=\d+\.)/, '');
    const family = isIP(ip);
    if (family === 0 || !list.check(ip, family === 4 ? 'ipv4' : 'ipv6')) throw new AppError('ip_not_allowed');
  }
}

/** By settings, then by what the key says and the group of its user. */
const orders = new WeakMap<RelaySettings, Map<string, readonly string[]>>();
const maxOrders = 10_000;

/** @throws AppError group_disabled. */
function orderedGroups(text: string, userGroup: string, settings: RelaySettings): Pick<Principal, 'group' | 'groups'> {
  const known = orders.get(settings) ?? new Map<string, readonly string[]>();
  if (known.size >= maxOrders) known.clear();
  orders.set(settings, known);
  const name = `${userGroup}\0${text}`;
  const groups = known.get(name) ?? groupOrder(text, userGroup, settings);
  known.set(name, groups);
  const [group] = groups;
  if (group === undefined) throw new AppError('group_disabled', { group: text });
  return groups.length === 1 ? { group } : { group, groups };
}

function checkStatus(token: TokenSnapshot, now: number, settings: RelaySettings): void {
  if (token.status === TokenStatus.expired) throw new AppError('token_expired');
  if (token.status === TokenStatus.exhausted) throw new AppError('token_exhausted', shortage(0, 1, settings));
  if (token.status !== TokenStatus.enabled) throw new AppError('token_disabled');
  if (token.expiresAt !== -1 && token.expiresAt < now) throw new AppError('token_expired');
}

function pinned(text: string, role: number): number {
  if (role < Role.admin) throw new AppError('channel_pin_forbidden');
  const id = Number(text);
  if (!Number.isSafeInteger(id) || id <= 0) throw new AppError('channel_pin_unknown');
  return id;
}

/** Entries that are no address or range are ignored, but a list of only such entries admits no address. */
function compileAddresses(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', prefix] = entry.trim().split('/');
    // An entry that was stored before it was checked may be neither: `10.0.0.0/` is no way in for everybody.
    if (!isNetwork(entry.trim())) continue;
    const type = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    if (prefix === undefined) list.addAddress(address, type);
    else list.addSubnet(address, Number(prefix), type);
  }
  return list;
}
