/** Login, logout and the caller's own account. */
import { AppError } from '../../contract/errors.ts';
import { userView } from '../../domain/users/wire.ts';
import type { Call } from '../call.ts';
import type { HandlersOf } from './handlers-of.ts';
import { answerEntrance, visitorOf } from './sign-in.ts';

const logout = async ({ services, meta, reply }: Call) => {
  if (meta.sessionHash !== null) await services.sessions.logout(meta.sessionHash);
  reply.clearSession();
};

/** Groups everybody may use and the caller's own, with their ratios. */
const usableGroups = async ({ services, actor }: Call<unknown>) => {
  const ratios = services.options.get('GroupRatio');
  const usable = { ...(services.options.get('UserUsableGroups') as Record<string, string>) };
  if (actor.group !== '' && usable[actor.group] === undefined) usable[actor.group] = actor.group;
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
  | 'user.self'
  | 'user.models'
  | 'user.groups'
  | 'group.usable'
  | 'user.access_token'
> = {
  'session.login': async (call) => {
    const { services, input, meta } = call;
    const visitor = visitorOf(meta);
    const user = await services.sessions.identify({
      ...visitor,
      username: input.username ?? '',
      password: input.password ?? '',
    });
    return answerEntrance(await services.entrance.admit(user, visitor), call);
  },
  'session.logout': logout,
  'session.logout_post': logout,
  'user.self': async ({ services, actor }) => {
    const user = await services.users.find(actor.userId);
    if (user === undefined) throw new AppError('not_found', { what: 'user' });
    return userView(user);
  },
  'user.models': ({ services }) => services.channels.enabledModels(),
  'user.groups': usableGroups,
  'group.usable': usableGroups,
  'user.access_token': ({ services, actor }) => services.users.newAccessToken(actor.userId),
};
