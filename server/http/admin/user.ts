/** The caller's own account, and user management. */
import { Role } from '../../contract/enum.ts';
import { lowBalance } from '../../domain/notifications/quota-alerts.ts';
import { keyHint } from '../../domain/secrets/vault.ts';
import { attemptSourceOf, selfOf } from './attempt-limit.ts';
import { labelled } from './audit.ts';
import type { HandlersOf } from './handlers-of.ts';
import { firstPage, pageSize } from './page.ts';

/** Rows of an overview. */
const maxKeys = 100;
const maxAuditRows = 20;

export const userHandlers: HandlersOf<
  | 'user.update_self'
  | 'user.close_self'
  | 'user.access_token_get'
  | 'user.list'
  | 'user.search'
  | 'user.create'
  | 'user.update'
  | 'user.manage'
  | 'user.get'
  | 'user.overview'
  | 'user.delete'
> = {
  'user.update_self': async (call) => {
    const { services, actor, input, meta, reply } = call;
    const editor = { ...(await attemptSourceOf(call)), sessionHash: meta.sessionHash ?? '', fresh: meta.fresh };
    await services.account.update(actor.userId, input, editor);
    // The new password has forgotten every browser; this one is still inside.
    if ((input.password ?? '') !== '' && meta.sessionHash !== null)
      reply.setDevice(services.devices.store(meta.deviceCookie, await selfOf(call)));
  },
  'user.close_self': async ({ services, actor, reply }) => {
    await services.account.close(actor.userId);
    reply.clearSession();
  },
  'user.access_token_get': ({ services, actor }) => services.users.newAccessToken(actor.userId),
  'user.list': ({ services, actor, input }) =>
    services.userManagement.page(actor, {}, firstPage(input.p), pageSize(input.page_size), input.sort),
  'user.search': ({ services, actor, input }) =>
    services.userManagement.page(
      actor,
      {
        keyword: input.keyword,
        group: input.group === 'null' ? '' : input.group,
        role: input.role,
        status: input.status,
      },
      firstPage(input.p),
      pageSize(input.page_size),
      input.sort,
    ),
  'user.create': ({ services, input }) => services.userManagement.create(input),
  'user.update': async ({ services, actor, input, reply }) => {
    const { user, changed } = await services.userManagement.update(actor, input.id, input);
    if (!changed) reply.unchanged();
    return { ...user, result: changed ? 'updated' : 'unchanged' };
  },
  'user.manage': ({ services, actor, input }) => services.userManagement.manage(actor, input.id, input.action),
  'user.get': ({ services, actor, input }) => services.userManagement.get(actor, input.id ?? 0),
  'user.overview': async ({ services, actor, input: { id }, meta }) => {
    const user = await services.userManagement.get(actor, id);
    const { items } = await services.tokens.list(id, 0, maxKeys);
    const keys = items.map((token) => ({ ...token, key: keyHint(token.key) }));
    const sessions = await services.sessions.list(id, null);
    const uses = [
      ...sessions.map(({ last_seen_time: at, ip }) => ({ at, ip })),
      ...keys.map(({ accessed_time: at, last_ip: ip }) => ({ at, ip })),
    ];
    const last = uses.reduce((newest, one) => (one.at > newest.at ? one : newest), { at: 0, ip: '' });
    const audit = async () => {
      const records = await services.audit.ofTarget('user.', String(id), maxAuditRows);
      return records.map((record) => labelled(record, meta.language));
    };
    const isRoot = actor.via === 'local' || actor.role >= Role.root;
    return {
      user,
      keys,
      last_seen_time: last.at,
      last_ip: last.ip,
      last_login_time: Math.max(0, ...sessions.map(({ created_time: at }) => at)),
      low_balance_below: lowBalance(user.setting, services.options),
      audit: isRoot ? await audit() : null,
    };
  },
  'user.delete': ({ services, actor, input }) => services.userManagement.remove(actor, input.id),
};
