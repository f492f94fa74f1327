/** Second factors, passkeys, and sign-in with other services. */

import type { UserRow } from '../../../db/repositories/users.ts';
import { AppError } from '../../contract/errors.ts';
import type { Entrance } from '../../domain/sessions/entrance.ts';
import { sessionSeconds, type Visitor } from '../../domain/sessions/service.ts';
import { userView } from '../../domain/users/wire.ts';
import type { Call, CallMeta } from '../call.ts';
import type { HandlersOf } from './handlers-of.ts';

export const visitorOf = (meta: CallMeta): Visitor => ({
  ip: meta.ip,
  userAgent: meta.userAgent,
  previous: meta.sessionHash ?? '',
});

/** Gives the browser its session, or the ticket for the second step. */
export function answerEntrance(entrance: Entrance, { reply }: Pick<Call, 'reply'>) {
  if ('ticket' in entrance) return { require_2fa: true as const, ticket: entrance.ticket };
  reply.setSession(entrance.sessionId, sessionSeconds);
  return userView(entrance.user);
}

const self = async ({ services, actor }: Call<unknown>): Promise<UserRow> => {
  const user = await services.users.find(actor.userId);
  if (user === undefined) throw new AppError('user_unknown');
  return user;
};

export const signInHandlers: HandlersOf<
  | 'second_factor.login'
  | 'second_factor.get'
  | 'second_factor.begin'
  | 'second_factor.enable'
  | 'second_factor.renew'
  | 'second_factor.disable'
  | 'second_factor.reset'
  | 'passkey.list'
  | 'passkey.register_options'
  | 'passkey.register'
  | 'passkey.login_options'
  | 'passkey.login'
  | 'passkey.rename'
  | 'passkey.delete'
  | 'oauth.state'
  | 'oauth.wechat'
  | 'oauth.wechat_bind'
  | 'oauth.telegram_login'
  | 'oauth.telegram_bind'
  | 'oauth.callback'
  | 'oauth.unbind'
  | 'option.oidc_discovery'
> = {
  'second_factor.login': async (call) => {
    const { ticket, code } = call.input;
    const visitor = visitorOf(call.meta);
    return answerEntrance(await call.services.entrance.secondStep(ticket ?? '', code ?? '', visitor), call);
  },
  'second_factor.get': ({ services, actor }) => services.secondFactor.state(actor.userId),
  'second_factor.begin': ({ services, actor }) => services.secondFactor.begin(actor.userId, actor.username),
  'second_factor.enable': async ({ services, actor, input, meta }) => ({
    recovery_codes: await services.secondFactor.enable(actor.userId, input.code ?? '', meta.ip),
  }),
  'second_factor.renew': async ({ services, actor, input, meta }) => ({
    recovery_codes: await services.secondFactor.renewCodes(actor.userId, input.code ?? '', meta.ip),
  }),
  'second_factor.disable': ({ services, actor, input, meta }) =>
    services.secondFactor.disable(actor.userId, input.code ?? '', meta.ip),
  'second_factor.reset': async ({ services, actor, input }) => {
    await services.userManagement.mayChange(actor, input.id);
    await services.secondFactor.reset(input.id);
  },
  'passkey.list': ({ services, actor }) => services.passkeys.list(actor.userId),
  'passkey.register_options': async (call) =>
    call.services.passkeys.registerOptions(await self(call), call.meta.origin),
  'passkey.register': ({ services, actor, input, meta }) =>
    services.passkeys.register(actor.userId, input.ticket ?? '', input.name ?? '', input.response, meta.origin),
  'passkey.login_options': ({ services, meta }) => services.passkeys.loginOptions(meta.origin, meta.ip),
  'passkey.login': async (call) => {
    const user = await call.services.passkeys.login(call.input.ticket ?? '', call.input.response, call.meta.origin);
    return answerEntrance(await call.services.entrance.admit(user, visitorOf(call.meta), true), call);
  },
  'passkey.rename': ({ services, actor, input }) => services.passkeys.rename(input.id, actor.userId, input.name ?? ''),
  'passkey.delete': ({ services, actor, input }) => services.passkeys.remove(input.id, actor.userId),
  'oauth.state': async ({ services, input, reply }) => {
    const state = services.oauth.state(input.aff ?? '');
    reply.setState(state);
    return state;
  },
  'oauth.wechat': async (call) => {
    const user = await call.services.oauth.weChatLogin(call.input.code ?? '');
    return answerEntrance(await call.services.entrance.admit(user, visitorOf(call.meta)), call);
  },
  'oauth.wechat_bind': ({ services, actor, input }) => services.oauth.weChatBind(input.code ?? '', actor.userId),
  'oauth.telegram_login': async (call) => {
    const user = await call.services.oauth.telegramLogin(call.input);
    return answerEntrance(await call.services.entrance.admit(user, visitorOf(call.meta)), call);
  },
  'oauth.telegram_bind': ({ services, actor, input }) => services.oauth.telegramBind(input, actor.userId),
  'oauth.callback': async (call) => {
    const { type, code, state, error, error_description: description } = call.input;
    const outcome = await call.services.oauth.callback(type, {
      code: code ?? '',
      state: state ?? '',
      error: (error ?? '') === '' ? '' : (description ?? error ?? ''),
      stateCookie: call.meta.stateCookie,
      userId: call.actor.userId,
    });
    if (outcome.bound) {
      call.reply.say('bind');
      return undefined;
    }
    return answerEntrance(await call.services.entrance.admit(outcome.user, visitorOf(call.meta)), call);
  },
  'oauth.unbind': ({ services, actor, input, meta }) =>
    services.unbind(actor.userId, input.type, input.password ?? '', meta.ip),
  'option.oidc_discovery': ({ services, input }) => services.discoverOidc(input.url),
};
