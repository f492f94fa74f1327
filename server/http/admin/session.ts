/** Login, logout, where an account is logged in, and the caller's own account. */
import { AppError } from '../../contract/errors.ts';
import { userView } from '../../domain/users/wire.ts';
import type { Call } from '../call.ts';
import type { HandlersOf } from './handlers-of.ts';
import { loginClientOf, replyLogin } from './login-reply.ts';

const logout = async ({ services, meta, reply }: Call) => {
  if (meta.sessionHash !== null) await services.sessions.logout(meta.sessionHash);
  reply.clearSession();
};

/** Groups everybody may use and the caller's own, with their ratios. */
const usableGroups = async ({ services, actor }: Call<unknown>) => {
  const ratios = services.options.get('GroupRatio');
  const usable = { ...(services.options.get('UserUsableGroups') as Record<string, string>) };
  if (actor.group !== '' && !Object.hasOwn(usable, actor.group)) usable[actor.group] = actor.group;
  return Object.fromEntries(
    Object.entries(usable)
      .filter(([group]) => ratios.has(group))
      .map(([group, desc]) => [group, { desc: String(desc), ratio: ratios.get(group) ?? 1 }]),
  );
};

export const sessionHandlers: HandlersOf<
  | 'session.login'
  | 'session.logout'
  | 'session.logout_post'
  | 'session.list'
  | 'session.end'
  | 'session.end_others'
  | 'user.sessions'
  | 'user.end_sessions'
  | 'user.self'
  | 'user.models'
  | 'user.groups'
  | 'group.usable'
  | 'user.access_token'
> = {
  'session.login': async (call) => {
    const { services, input, meta } = call;
    const loginClient = loginClientOf(meta);
    const user = await services.sessions.identify({
      ...loginClient,
      username: input.username ?? '',
      password: input.password ?? '',
    });
    return replyLogin(await services.loginCompletion.admit(user, loginClient), call);
  },
  'session.logout': logout,
  'session.logout_post': logout,
  'session.list': ({ services, actor, meta }) => services.sessions.list(actor.userId, meta.sessionHash),
  'session.end': ({ services, actor, input }) => services.sessions.end(actor.userId, input.id ?? ''),
  'session.end_others': async ({ services, actor, meta }) => ({
    ended: await services.sessions.endAll(actor.userId, meta.sessionHash ?? ''),
  }),
  'user.sessions': async ({ services, actor, input, meta }) => {
    await services.userManagement.mayRead(actor, input.id);
    return services.sessions.list(input.id, meta.sessionHash);
  },
  'user.end_sessions': async ({ services, actor, input }) => {
    await services.userManagement.mayChange(actor, input.id);
    return { ended: await services.sessions.endAll(input.id, '') };
  },
  'user.self': async ({ services, actor }) => {
    const user = await services.users.find(actor.userId);
    if (user === undefined) throw new AppError('not_found', { what: 'user' });
    return userView(user);
  },
  'user.models': async ({ services }) =>
    [...(await services.channels.enabledModels()), ...(await services.chains.names())].sort(),
  'user.groups': usableGroups,
  'group.usable': usableGroups,
  'user.access_token': ({ services, actor }) => services.users.newAccessToken(actor.userId),
};
