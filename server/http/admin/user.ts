/** The caller's own account, and user management. */
import { guesserOf, selfOf } from './guesser.ts';
import type { HandlersOf } from './handlers-of.ts';
import { firstPage, pageSize } from './paging.ts';

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
  | 'user.delete'
> = {
  'user.update_self': async (call) => {
    const { services, actor, input, meta, reply } = call;
    const editor = { ...(await guesserOf(call)), sessionHash: meta.sessionHash ?? '', fresh: meta.fresh };
    await services.account.update(actor.userId, input, editor);
    // The new password has forgotten every browser; this one is still inside.
    if ((input.password ?? '') !== '' && meta.sessionHash !== null)
      reply.setDevice(services.devices.remember(meta.deviceCookie, await selfOf(call)));
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
      { keyword: input.keyword, group: input.group === 'null' ? '' : input.group },
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
  'user.delete': ({ services, actor, input }) => services.userManagement.remove(actor, input.id),
};
