/** API tokens of the caller; the operator on the local socket reaches everybody's. */

import type { Token } from '../../contract/entities.ts';
import { Role, TokenStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { channelIdsIn, maxKeyChannels } from '../../contract/key-channels.ts';
import { autoGroups, cheapestGroups, isGroupOrder, maxKeyGroups, namedGroups } from '../../contract/key-groups.ts';
import { scopesAllow } from '../../contract/scopes.ts';
import { labelsIn } from '../../contract/token-fields.ts';
import { keyHint } from '../../domain/secrets/vault.ts';
import type { Actor, Call } from '../call.ts';
import { auditCall } from './audit-call.ts';
import type { HandlersOf } from './handlers-of.ts';
import { pageSize } from './page.ts';

const defaultLinkHours = 24;
/** Rows of a search that names no size. */
const maxFound = 100;

const ownerOf = (actor: Actor): number | null => (actor.via === 'local' ? null : actor.userId);
/** A caller who may only read does not get the keys, which spend. */
const visibleTo = (actor: Actor) =>
  actor.scopes === undefined || scopesAllow(actor.scopes, { id: 'token.create' }, true)
    ? (token: Token): Token => token
    : (token: Token): Token => ({ ...token, key: keyHint(token.key) });

/** Commands on the machine act as the first administrator. */
export async function creator({ actor, services }: Pick<Call<unknown>, 'actor' | 'services'>): Promise<number> {
  if (actor.via !== 'local') return actor.userId;
  const root = await services.users.firstWithRole(Role.root);
  if (root === undefined) throw new AppError('setup_needed');
  return root.id;
}

/** @param named `self`, a user's id, or nothing. @returns null when nothing is named. @throws AppError params_invalid, not_found */
async function namedOwner(call: Pick<Call<unknown>, 'actor' | 'services'>, named: string | undefined) {
  if (named === undefined || named === '') return null;
  if (named === 'self') return creator(call);
  const user = /^\d+$/.test(named) ? await call.services.users.find(Number(named)) : undefined;
  if (call.actor.via !== 'local' && user?.id !== call.actor.userId)
    throw new AppError('params_invalid', { detail: 'owner' });
  if (user === undefined) throw new AppError('not_found', { what: `user ${named}` });
  return user.id;
}

/** A group that its user may not use would be refused with every request. @throws AppError token_group */
async function checkGroup({
  actor,
  services,
  input,
}: Call<{ readonly id?: number; readonly group?: string | undefined }>) {
  const { group = '', id } = input;
  const usable = services.options.get('UserUsableGroups');
  const groupRatios = services.options.get('GroupRatio');
  const mayUse = (name: string): boolean =>
    name === actor.group || Object.hasOwn(usable, name) || (actor.via === 'local' && groupRatios.has(name));
  if (group === '' || mayUse(group)) return;
  if (isGroupOrder(group, { groupRatios })) {
    const named = namedGroups(group);
    const isWord = group === autoGroups || group === cheapestGroups;
    if (isWord || (named.length > 0 && named.length <= maxKeyGroups && named.every(mayUse))) return;
  }
  // What was allowed once may be sent back unchanged.
  if (id !== undefined && (await services.tokens.get(id, ownerOf(actor))).group === group) return;
  throw new AppError('token_group', { group });
}

/** What a label bounds is shared by all keys that have it: its owner neither joins nor leaves by himself. @throws AppError role_too_low */
async function checkLabels({
  actor,
  services,
  input,
}: Call<{ readonly id?: number; readonly labels?: string | undefined }>) {
  const { labels, id } = input;
  if (labels === undefined || actor.via === 'local' || actor.role >= Role.admin) return;
  const stored = id === undefined ? '' : ((await services.tokens.get(id, ownerOf(actor))).labels ?? '');
  if (labelsIn(labels).join(',') !== stored) throw new AppError('role_too_low');
}

/** Which channels there are is the operator's business: administrators bind keys to them, as they alone name one in a key. @throws AppError role_too_low, not_found */
async function checkChannels({
  actor,
  services,
  input,
}: Call<{ readonly id?: number; readonly channels?: string | undefined }>) {
  const { channels, id } = input;
  if (channels === undefined) return;
  const stored = id === undefined ? '' : ((await services.tokens.get(id, ownerOf(actor))).channels ?? '');
  const ids = channelIdsIn(channels) ?? [];
  if (ids.join(',') === stored) return;
  if (actor.via !== 'local' && actor.role < Role.admin) throw new AppError('role_too_low');
  // Those that were deleted since may stay.
  const known = new Set(channelIdsIn(stored));
  const fresh = ids.filter((one) => !known.has(one));
  if (fresh.length === 0 || ids.length > maxKeyChannels) return;
  const present = new Set(await services.channels.ids());
  const missing = fresh.find((one) => !present.has(one));
  if (missing !== undefined) throw new AppError('not_found', { what: `channel ${missing}` });
}

export const tokenHandlers: HandlersOf<
  | 'token.list'
  | 'token.search'
  | 'token.get'
  | 'token.create'
  | 'token.update'
  | 'token.key'
  | 'token.rotate'
  | 'token.retire'
  | 'token.share'
  | 'token.unshare'
  | 'token.open_shared'
  | 'token.bound'
  | 'token.delete'
  | 'token.delete_many'
  | 'chat.open'
> = {
  'token.list': async (call) => {
    const { services, input, actor, reply } = call;
    const { items, total } = await services.tokens.list(
      (await namedOwner(call, input.owner)) ?? ownerOf(actor),
      Math.max(0, input.p ?? 0),
      pageSize(input.size),
      { sort: input.sort, status: input.status },
    );
    reply.header('X-Total-Count', String(total));
    return items.map(visibleTo(actor));
  },
  'token.search': async ({ services, input, actor, reply }) => {
    const { keyword, token, sort, status } = input;
    const size = pageSize(input.size ?? maxFound);
    const search = { keyword, key: token, sort, status };
    const { items, total } = await services.tokens.list(ownerOf(actor), Math.max(0, input.p ?? 0), size, search);
    reply.header('X-Total-Count', String(total));
    return items.map(visibleTo(actor));
  },
  'token.get': async ({ services, input, actor }) =>
    visibleTo(actor)(await services.tokens.get(input.id, ownerOf(actor))),
  'token.create': async (call) => {
    const { key, owner, ...fields } = call.input;
    if (key !== undefined && call.actor.role < Role.admin) throw new AppError('role_too_low');
    await checkGroup(call);
    await checkLabels(call);
    await checkChannels(call);
    const most = call.actor.role >= Role.admin ? 0 : call.services.options.get('token_setting.max_user_tokens');
    const of = (await namedOwner(call, owner)) ?? (await creator(call));
    const isAutomatic = (fields.group ?? '') === '' && call.services.options.get('DefaultUseAutoGroup');
    const group = isAutomatic ? { group: autoGroups } : {};
    return call.services.tokens.create(of, { ...fields, ...group }, key, most === 0 ? undefined : most);
  },
  'token.update': async (call) => {
    const { services, input, actor } = call;
    if (input.status_only !== true) {
      await checkGroup(call);
      await checkLabels(call);
      await checkChannels(call);
    }
    return services.tokens.update(input.id, ownerOf(actor), input, input.status_only ?? false);
  },
  'token.key': async ({ services, input, actor }) => {
    const { key, kind } = await services.tokens.get(input.id, ownerOf(actor));
    if (kind !== undefined) throw new AppError('key_hidden');
    return { key };
  },
  'token.rotate': ({ services, input, actor }) =>
    services.tokens.rotate(input.id, ownerOf(actor), input.grace_hours ?? 0),
  'token.retire': ({ services, input, actor }) => services.tokens.retire(input.id, ownerOf(actor)),
  'token.share': async (call) => {
    const { services, input, actor } = call;
    const { secret, until } = await services.tokens.share(input.id, ownerOf(actor), input.hours ?? defaultLinkHours);
    // A user's own calls are not in the trail; who gave a key away is.
    await auditCall(call, 'token.share', input);
    // Behind the mark: browsers keep it out of what they send, proxies out of their logs.
    return { path: `/key#${secret}`, until };
  },
  'token.unshare': ({ services, input, actor }) => services.tokens.unshare(input.id, ownerOf(actor)),
  'token.open_shared': async ({ services, input, meta }) => {
    const token = await services.tokens.openShared(input.secret);
    await services.audit.record({
      action: 'token.open_shared',
      actorId: 0,
      actor: '',
      ip: meta.ip,
      input: { id: token.id, name: token.name },
    });
    const { name, key, expired_time, remain_quota, unlimited_quota, day_budget, month_budget } = token;
    const { model_limits_enabled, model_limits, allow_ips } = token;
    return {
      ...{ name, key, expired_time, remain_quota, unlimited_quota, day_budget, month_budget },
      ...{ model_limits_enabled, model_limits, allow_ips },
    };
  },
  'token.bound': async ({ services, input }) => {
    const disabled = await services.channels.ids(true);
    const channels = input.disabled === true ? disabled : channelIdsIn(input.channels ?? '');
    if (channels === null) throw new AppError('params_invalid', { detail: 'channels' });
    const known = await services.channels.ids();
    const left = new Set(known.filter((id) => !channels.includes(id)));
    const enabled = new Set(known.filter((id) => !disabled.includes(id)));
    const tokens =
      input.all === true
        ? (await services.tokens.bound()).filter(({ status }) => status === TokenStatus.enabled)
        : await services.tokens.boundTo(channels);
    return tokens.map(({ id, name, user_id, channels: bound }) => {
      const own = channelIdsIn(bound ?? '') ?? [];
      return {
        ...{ id, name, user_id },
        others: own.filter((one) => left.has(one)),
        enabled: own.filter((one) => enabled.has(one)),
      };
    });
  },
  'token.delete': ({ services, input, actor }) => services.tokens.remove(input.id, ownerOf(actor)),
  'token.delete_many': ({ services, input, actor }) => services.tokens.removeMany(input.ids, ownerOf(actor)),
  'chat.open': ({ services, input, actor }) => services.chatLinks.open(actor.userId, input.index),
};
