/** Stage 2: whose request it is and whether this key may make it. Reads memory only. */
import { timingSafeEqual } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import { Role, TokenStatus, UserStatus } from '../../contract/enums.ts';
import { AppError } from '../../contract/errors.ts';
import type { TokenSnapshot } from '../../contract/snapshot.ts';
import { shortage } from '../shared/shortage.ts';
import type { RelaySettings } from '../state/settings.ts';
import type { RelayState } from '../state/state.ts';
import { readCredential } from './credentials.ts';
import type { Peer, Principal } from './inquiry.ts';

export interface AuthoriseDeps {
  readonly state: RelayState;
  /** HMAC under which tokens are looked up. */
  readonly keyHmac: (key: string) => string;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export interface Authorise {
  /** Key, owner, expiry, address and group. @throws AppError token_*, user_disabled, ip_not_allowed, group_*, channel_pin_*. */
  identify(request: Request, peer: Peer): Principal;
  /** Whose key it is, whatever it may; null = nobody's. */
  ownerOf(request: Request): Pick<Principal, 'user' | 'token'> | null;
  /** The same caller as the memory knows them now. @throws AppError as `identify` does. */
  renew(principal: Principal, peer: Peer): Principal;
  /** What only this gateway can put into an address it gives to a channel's upstream. */
  proofOf(channelId: number): string;
  provesChannel(channelId: number, proof: string): boolean;
  /** The key's own model list, on the name the client sent. @throws AppError model_not_allowed. */
  allowModel(principal: Principal, model: string): void;
}

/** Presented keys whose HMAC is remembered; the map is a cache of a pure function and holds no rights. */
const rememberedKeys = 10_000;

export function createAuthorise(deps: AuthoriseDeps): Authorise {
  const { state } = deps;
  const hmacs = new Map<string, string>();
  const addressLists = new WeakMap<TokenSnapshot, BlockList>();
  const modelSets = new WeakMap<TokenSnapshot, ReadonlySet<string>>();

  const hmacOf = (key: string): string => {
    const known = hmacs.get(key);
    if (known !== undefined) return known;
    if (hmacs.size >= rememberedKeys) hmacs.clear();
    const hmac = deps.keyHmac(key);
    hmacs.set(key, hmac);
    return hmac;
  };

  const proofOf = (channelId: number): string => deps.keyHmac(`notify:${channelId}`).slice(0, 32);

  const checkAddress = (token: TokenSnapshot, peer: Peer) => {
    if (token.allowIps.length === 0) return;
    const list = addressLists.get(token) ?? compileAddresses(token.allowIps);
    addressLists.set(token, list);
    const ip = peer.ip().replace(/^::ffff:(?=\d+\.)/, '');
    const family = isIP(ip);
    if (family === 0 || !list.check(ip, family === 4 ? 'ipv4' : 'ipv6')) throw new AppError('ip_not_allowed');
  };

  const groupFor = (token: TokenSnapshot, userGroup: string): string => {
    if (token.group === '' || token.group === userGroup) return userGroup;
    const settings = state.settings();
    if (!settings.usableGroups.has(token.group)) throw new AppError('group_disabled', { group: token.group });
    if (!settings.groupRatios.has(token.group)) throw new AppError('group_deprecated', { group: token.group });
    return token.group;
  };

  /** @throws AppError token_*, user_disabled, ip_not_allowed, group_*. */
  const standing = (token: TokenSnapshot | undefined, peer: Peer) => {
    if (token === undefined) throw new AppError('token_invalid');
    checkStatus(token, deps.now() / 1000, state.settings());
    const user = state.user(token.userId);
    if (user === undefined) throw new AppError('token_invalid');
    if (user.status !== UserStatus.enabled) throw new AppError('user_disabled');
    checkAddress(token, peer);
    return { user, token, group: groupFor(token, user.group) };
  };

  return {
    identify(request, peer) {
      const credential = readCredential(request);
      if (credential === null) throw new AppError('token_missing');
      const plain = state.tokenByHmac(hmacOf(credential.key));
      const pin = plain === undefined ? credential.pinned : null;
      const token = pin === null ? plain : state.tokenByHmac(hmacOf(pin.key));
      const found = standing(token, peer);
      return { ...found, pinnedChannel: pin === null ? null : pinned(pin.channelId, found.user.role) };
    },
    ownerOf(request) {
      const credential = readCredential(request);
      if (credential === null) return null;
      const { key, pinned: pin } = credential;
      const token = state.tokenByHmac(hmacOf(key)) ?? (pin === null ? undefined : state.tokenByHmac(hmacOf(pin.key)));
      const user = token === undefined ? undefined : state.user(token.userId);
      return token === undefined || user === undefined ? null : { user, token };
    },
    renew: (principal, peer) => ({
      ...principal,
      ...standing(state.tokenByHmac(principal.token?.keyHmac ?? ''), peer),
    }),
    proofOf,
    provesChannel(channelId, proof) {
      const right = Buffer.from(proofOf(channelId));
      const given = Buffer.from(proof);
      return given.length === right.length && timingSafeEqual(given, right);
    },
    allowModel({ token }, model) {
      if (token === null || token.modelLimits === null) return;
      const set = modelSets.get(token) ?? new Set(token.modelLimits);
      modelSets.set(token, set);
      if (!set.has(model)) throw new AppError('model_not_allowed', { model });
    },
  };
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

/** Entries that are no address or range are ignored, but a list of only such entries admits nobody. */
function compileAddresses(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', prefix] = entry.trim().split('/');
    const family = isIP(address);
    if (family === 0) continue;
    const type = family === 4 ? 'ipv4' : 'ipv6';
    const bits = Number(prefix);
    if (prefix === undefined) list.addAddress(address, type);
    else if (Number.isInteger(bits) && bits >= 0 && bits <= (family === 4 ? 32 : 128))
      list.addSubnet(address, bits, type);
  }
  return list;
}
