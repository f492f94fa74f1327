/** Second factors, passkeys, and sign-in with other services. */
import type { Call } from '../call.ts';
import { attemptSourceOf, needFresh, selfOf } from './attempt-limit.ts';
import type { HandlersOf } from './handlers-of.ts';
import { loginClientOf, replyLogin, replySession } from './login-reply.ts';

/** The browser that comes back from another service. */
const callbackContext = ({ actor, meta }: Pick<Call, 'actor' | 'meta'>) => ({
  ip: meta.ip,
  userId: actor.userId,
  fresh: meta.fresh,
  stateCookie: meta.stateCookie,
});

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
  | 'oauth.begin'
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
    const loginClient = loginClientOf(call.meta);
    return replySession(await call.services.loginCompletion.secondStep(ticket ?? '', code ?? '', loginClient), call);
  },
  'second_factor.get': ({ services, actor }) => services.secondFactor.state(actor.userId),
  'second_factor.begin': async (call) => {
    needFresh(call);
    return call.services.secondFactor.begin(call.actor.userId, call.actor.username);
  },
  'second_factor.enable': async (call) => {
    const { services, actor, input } = call;
    return {
      recovery_codes: await services.secondFactor.enable(actor.userId, input.code ?? '', await attemptSourceOf(call)),
    };
  },
  'second_factor.renew': async (call) => {
    const { secondFactor } = call.services;
    const codes = await secondFactor.renewCodes(call.actor.userId, call.input.code ?? '', await attemptSourceOf(call));
    return { recovery_codes: codes };
  },
  'second_factor.disable': async (call) =>
    call.services.secondFactor.disable(call.actor.userId, call.input.code ?? '', await attemptSourceOf(call)),
  'second_factor.reset': async ({ services, actor, input }) => {
    await services.userManagement.mayChange(actor, input.id);
    await services.secondFactor.reset(input.id);
  },
  'passkey.list': ({ services, actor }) => services.passkeys.list(actor.userId),
  'passkey.register_options': async (call) => {
    needFresh(call);
    return call.services.passkeys.registerOptions(await selfOf(call), call.meta.origin);
  },
  'passkey.register': ({ services, actor, input, meta }) =>
    services.passkeys.register(
      actor.userId,
      { ticket: input.ticket ?? '', name: input.name ?? '', response: input.response },
      meta.origin,
    ),
  'passkey.login_options': ({ services, meta }) => services.passkeys.loginOptions(meta.origin, meta.ip),
  'passkey.login': async (call) => {
    const user = await call.services.passkeys.login(call.input.ticket ?? '', call.input.response, call.meta.origin);
    return replySession(await call.services.loginCompletion.open(user, loginClientOf(call.meta)), call);
  },
  'passkey.rename': ({ services, actor, input }) => services.passkeys.rename(input.id, actor.userId, input.name ?? ''),
  'passkey.delete': ({ services, actor, input }) => services.passkeys.remove(input.id, actor.userId),
  'oauth.state': async ({ services, actor, meta, input, reply }) => {
    const traveller = { userId: actor.userId, fresh: meta.fresh, affCode: input.aff ?? '' };
    const { state, cookie } = services.oauth.state(traveller);
    reply.setState(cookie);
    return state;
  },
  'oauth.begin': async (call) => {
    const { services, actor, meta, input, reply } = call;
    if (input.bind === true) needFresh(call);
    const traveller = { userId: actor.userId, fresh: meta.fresh, affCode: input.aff ?? '' };
    const { url, cookie } = services.oauth.begin(input.type, traveller);
    reply.setState(cookie);
    return { url };
  },
  'oauth.wechat': async (call) => {
    const user = await call.services.oauth.weChatLogin(call.input.code ?? '', call.input.aff ?? '', call.meta.ip);
    return replyLogin(await call.services.loginCompletion.admit(user, loginClientOf(call.meta)), call);
  },
  'oauth.wechat_bind': (call) => call.services.oauth.weChatBind(call.input.code ?? '', callbackContext(call)),
  'oauth.telegram_login': async (call) => {
    const { state = '', ...fields } = call.input;
    const user = await call.services.oauth.telegramLogin(fields, state, callbackContext(call));
    return replyLogin(await call.services.loginCompletion.admit(user, loginClientOf(call.meta)), call);
  },
  'oauth.telegram_bind': async (call) => {
    const { state = '', ...fields } = call.input;
    await call.services.oauth.telegramBind(fields, state, callbackContext(call));
  },
  'oauth.callback': async (call) => {
    const { type, code, state, error, error_description: description } = call.input;
    const outcome = await call.services.oauth.callback(type, {
      code: code ?? '',
      state: state ?? '',
      error: (error ?? '') === '' ? '' : (description ?? error ?? ''),
      ...callbackContext(call),
    });
    if (outcome.bound) {
      call.reply.message('bind');
      return undefined;
    }
    return replyLogin(await call.services.loginCompletion.admit(outcome.user, loginClientOf(call.meta)), call);
  },
  'oauth.unbind': async (call) =>
    call.services.disconnect(
      call.actor.userId,
      call.input.type,
      call.input.password ?? '',
      await attemptSourceOf(call),
    ),
  'option.oidc_discovery': ({ services, input }) => services.discoverOidc(input.url),
};
