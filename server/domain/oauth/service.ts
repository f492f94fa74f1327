/** Sign-in and binding with other services. The same way in serves both: who is logged in binds, who is not logs in or registers. */
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';
import type { Database } from '../../../db/open.ts';
import { createUsersRepository, type Identity, type UserRow } from '../../../db/repositories/users.ts';
import { AppError } from '../../contract/errors.ts';
import type { AffiliateService } from '../affiliate/service.ts';
import type { OptionsService } from '../options/service.ts';
import type { Vault } from '../secrets/vault.ts';
import type { SignUps } from '../sessions/sign-ups.ts';
import type { UsersService } from '../users/service.ts';
import { exchangeCode, type Fetch } from './exchange.ts';
import { issuerAt } from './issuer.ts';
import { createLoginFlows } from './login-flow.ts';
import { type CodeProviderId, codeProviders } from './providers.ts';
import { createSignUp, type NewUser } from './sign-up.ts';
import { createUsedSignatures, type TelegramFields, telegramId } from './telegram.ts';

const timeoutMs = 10_000;

/** `user` = log this one in. */
export type SignInResult = { readonly bound: true } | { readonly bound: false; readonly user: UserRow };

/** Who comes back. */
export interface CallbackContext {
  readonly ip: string;
  /** 0 = not logged in. */
  readonly userId: number;
  /** The session was opened a moment ago. */
  readonly fresh: boolean;
  /** What the browser took along, '' = nothing. */
  readonly stateCookie: string;
}

export interface Callback extends CallbackContext {
  readonly code: string;
  readonly state: string;
  /** What the service says went wrong, '' = nothing. */
  readonly error: string;
}

export type OAuthService = ReturnType<typeof createOAuth>;

export function createOAuth(deps: {
  readonly database: Database;
  readonly options: OptionsService;
  readonly users: UsersService;
  readonly affiliate: AffiliateService;
  readonly vault: Vault;
  readonly store: EphemeralStore;
  /** New accounts of one network. */
  readonly signUps: SignUps;
  readonly fetch: Fetch;
  /** Epoch milliseconds. */
  readonly now: () => number;
}) {
  const { options } = deps;
  const repository = createUsersRepository(deps.database);
  const loginFlows = createLoginFlows(options, deps);
  const signUp = createSignUp(deps);
  const signatures = createUsedSignatures(deps.store, deps.now);
  const seconds = () => Math.floor(deps.now() / 1000);

  const ownerOf = async (identity: Identity): Promise<UserRow | undefined> => {
    const owner = await repository.findByIdentity(identity);
    if (owner !== undefined || identity.column !== 'oidc_id') return owner;
    // Bound before issuers were asked for, at the endpoint that has just named this one.
    const early = { ...identity, issuer: issuerAt(options.get('oidc.token_endpoint')) };
    const person = await repository.findByIdentity(early);
    if (person !== undefined) await repository.setIdentity(person.id, identity);
    return person;
  };

  /** @throws AppError oauth_taken, login_again_needed when a stolen session would be made to last. */
  const bind = async (identity: Identity, name: string, userId: number, fresh: boolean): Promise<void> => {
    const owner = await ownerOf(identity);
    if (owner !== undefined && owner.id !== userId) throw new AppError('oauth_taken', { name });
    if (owner === undefined && !fresh) throw new AppError('login_again_needed');
    await repository.setIdentity(userId, identity);
  };

  const enter = async (newUser: NewUser): Promise<UserRow> => {
    const owner = await ownerOf(newUser.identity);
    if (owner === undefined) return signUp.register(newUser);
    if (owner.deleted_at !== null) throw new AppError('user_closed');
    await signUp.keepEmail(owner, newUser.email);
    return owner;
  };

  const weChatId = async (code: string): Promise<string> => {
    if (!options.get('WeChatAuthEnabled')) throw new AppError('oauth_off', { name: '微信', en: 'WeChat' });
    if (code === '') throw new AppError('params_invalid', { detail: 'code' });
    const url = `${options.get('WeChatServerAddress')}/api/wechat/user?${new URLSearchParams({ code })}`;
    const answer = await deps
      .fetch(url, {
        headers: { authorization: options.get('WeChatServerToken') },
        signal: AbortSignal.timeout(timeoutMs),
        redirect: 'error',
      })
      .then((response) => response.json() as Promise<{ success?: unknown; data?: unknown }>)
      .catch((error: unknown) => {
        throw new AppError('oauth_unreachable', { name: '微信' }, error);
      });
    if (answer.success !== true || typeof answer.data !== 'string' || answer.data === '')
      throw new AppError('code_wrong');
    return answer.data;
  };

  /** A signature logs in or binds only once, even when a third person has read it. */
  const onceSigned = async <T>(given: TelegramFields, act: (identity: Identity) => Promise<T>): Promise<T> => {
    if (!options.get('TelegramOAuthEnabled')) throw new AppError('oauth_off', { name: 'Telegram', en: 'Telegram' });
    const id = telegramId(given, options.get('TelegramBotToken'), seconds());
    if (id === null || !(await signatures.claim(given))) throw new AppError('oauth_invalid');
    try {
      return await act({ column: 'telegram_id', id, issuer: '' });
    } catch (error) {
      await signatures.release(given);
      throw error;
    }
  };

  return {
    state: loginFlows.state,
    begin: loginFlows.begin,
    /** @throws AppError oauth_*, setup_needed, register_closed, email_*, user_closed, login_again_needed. */
    async callback(id: CodeProviderId, given: Callback): Promise<SignInResult> {
      const { name, column, prefix, enabled, exchange } = codeProviders[id];
      if (given.error !== '') throw new AppError('oauth_refused', { detail: given.error.slice(0, 200) });
      const journey = await loginFlows.arrive(id, given.state, given.stateCookie);
      // Another user has logged in, or this one out, in this browser meanwhile.
      if (journey.userId !== given.userId) throw new AppError('oauth_state');
      if (!options.get(enabled)) throw new AppError('oauth_off', { name, en: name });
      if (given.code === '') throw new AppError('params_invalid', { detail: 'code' });
      const { verifier, nonce, affCode } = journey;
      const returned = { code: given.code, verifier, nonce, now: seconds() };
      const profile = await exchangeCode(name, exchange(options), returned, deps.fetch);
      const identity = { column, id: profile.id, issuer: profile.issuer };
      if (given.userId === 0) {
        const user = await enter({ ...profile, identity, service: name, prefix, affCode, ip: given.ip });
        return { bound: false, user };
      }
      const self = await ownerOf(identity);
      // The person has proved once more who it is.
      if (self?.id === given.userId) return { bound: false, user: self };
      await bind(identity, name, given.userId, journey.fresh || given.fresh);
      const user = await repository.find(given.userId);
      if (user !== undefined) await signUp.keepEmail(user, profile.email);
      return { bound: true };
    },
    /** @param affCode invitation code, '' = none. */
    async weChatLogin(code: string, affCode: string, ip: string): Promise<UserRow> {
      const identity = { column: 'wechat_id', id: await weChatId(code), issuer: '' } as const;
      const noop = { username: '', displayName: '', email: '' };
      return enter({ ...noop, identity, service: '微信', prefix: 'wechat_', affCode, ip });
    },
    async weChatBind(code: string, { userId, fresh }: CallbackContext): Promise<void> {
      if (!fresh) throw new AppError('login_again_needed');
      await bind({ column: 'wechat_id', id: await weChatId(code), issuer: '' }, '微信', userId, fresh);
    },
    /**
     * Only for accounts that bound it before.
     * @param state of the way there; '' = a widget of another console, which has none. @throws AppError oauth_*, user_closed.
     */
    async telegramLogin(fields: TelegramFields, state: string, { stateCookie }: CallbackContext): Promise<UserRow> {
      if (state !== '') await loginFlows.arrive('telegram', state, stateCookie);
      return onceSigned(fields, async (identity) => {
        const owner = await repository.findByIdentity(identity);
        if (owner === undefined) throw new AppError('telegram_unbound');
        if (owner.deleted_at !== null) throw new AppError('user_closed');
        return owner;
      });
    },
    /**
     * A link that carries another person's signature must not bind that person to the user who opens it: a page of ours has the state
     * of its login there, and the widget of another console sends the header of its user, which no link can carry.
     * @param state '' = such a widget. @throws AppError oauth_*, login_again_needed.
     */
    async telegramBind(fields: TelegramFields, state: string, context: CallbackContext): Promise<void> {
      const journey = state === '' ? null : await loginFlows.arrive('telegram', state, context.stateCookie);
      if (journey !== null && journey.userId !== context.userId) throw new AppError('oauth_state');
      const fresh = journey?.fresh === true || context.fresh;
      await onceSigned(fields, (identity) => bind(identity, 'Telegram', context.userId, fresh));
    },
  };
}
