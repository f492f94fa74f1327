/** Sign-in and binding with other services. The same way in serves both: who is logged in binds, who is not logs in or registers. */
import { randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import type { Database } from '../../../db/open.ts';
import { createUsersRepository, type IdentityColumn, type UserRow } from '../../../db/repositories/users.ts';
import { Role } from '../../contract/enums.ts';
import { AppError } from '../../contract/errors.ts';
import type { AffiliateService } from '../affiliate/service.ts';
import type { OptionsService } from '../options/service.ts';
import { createTickets } from '../sessions/tickets.ts';
import { longestUsername } from '../users/rules.ts';
import type { UsersService } from '../users/service.ts';
import { exchangeCode, type Fetch } from './exchange.ts';
import { type CodeProviderId, codeProviders, type Profile } from './providers.ts';
import { telegramId } from './telegram.ts';

const stateMs = 10 * 60_000;
const patienceMs = 10_000;
const nameTries = 20;

/** `user` = log this one in. */
export type Outcome = { readonly bound: true } | { readonly bound: false; readonly user: UserRow };

export interface Callback {
  readonly code: string;
  readonly state: string;
  /** What the service says went wrong, '' = nothing. */
  readonly error: string;
  /** The browser's own copy of the state. */
  readonly stateCookie: string;
  /** 0 = nobody is logged in. */
  readonly userId: number;
}

export type OAuthService = ReturnType<typeof createOAuth>;

export function createOAuth(deps: {
  readonly database: Database;
  readonly options: OptionsService;
  readonly users: UsersService;
  readonly affiliate: AffiliateService;
  readonly fetch: Fetch;
  /** Epoch milliseconds. */
  readonly now: () => number;
}) {
  const { options, users } = deps;
  const repository = createUsersRepository(deps.database);
  const states = createTickets<{ readonly affCode: string }>(stateMs, deps.now);

  const freeName = async (wanted: string, prefix: string): Promise<string> => {
    const plain = [...wanted.replace(/[^\p{L}\p{N}_.-]/gu, '')].slice(0, longestUsername).join('');
    if (plain !== '' && !(await repository.nameTaken(plain, 0))) return plain;
    for (let attempt = 0; attempt < nameTries; attempt++) {
      const name = `${prefix}${randomInt(10_000 * 10 ** Math.min(attempt, 4))}`;
      if (!(await repository.nameTaken(name, 0))) return name;
    }
    throw new AppError('username_taken');
  };

  const register = async (column: IdentityColumn, prefix: string, profile: Profile, affCode: string) => {
    if (!(await users.rootExists())) throw new AppError('setup_needed');
    if (!options.get('RegisterEnabled')) throw new AppError('register_closed');
    const username = await freeName(profile.username, prefix);
    const email = profile.email !== '' && !(await repository.emailTaken(profile.email, 0)) ? profile.email : '';
    const id = await users.create({
      username,
      // Nobody knows it: the way in is the other service, or a reset by mail.
      password: randomBytes(32).toString('base64url'),
      displayName: [...profile.displayName].slice(0, 20).join(''),
      role: Role.user,
      quota: 0,
      email,
      inviterId: await deps.affiliate.inviterOf(affCode),
      identity: { column, id: profile.id },
    });
    await deps.affiliate.welcome({ id, username, group_name: 'default' });
    const user = await users.find(id);
    if (user === undefined) throw new AppError('user_unknown');
    return user;
  };

  const bind = async (column: IdentityColumn, name: string, identity: string, userId: number): Promise<void> => {
    const owner = await repository.findByIdentity(column, identity);
    if (owner !== undefined && owner.id !== userId) throw new AppError('oauth_taken', { name });
    await repository.setIdentity(userId, column, identity);
  };

  const enter = async (column: IdentityColumn, prefix: string, profile: Profile, affCode: string): Promise<UserRow> => {
    const owner = await repository.findByIdentity(column, profile.id);
    if (owner === undefined) return register(column, prefix, profile, affCode);
    if (owner.deleted_at !== null) throw new AppError('user_closed');
    return owner;
  };

  const weChatId = async (code: string): Promise<string> => {
    if (!options.get('WeChatAuthEnabled')) throw new AppError('oauth_off', { name: '微信', en: 'WeChat' });
    if (code === '') throw new AppError('params_invalid', { detail: 'code' });
    const url = `${options.get('WeChatServerAddress')}/api/wechat/user?${new URLSearchParams({ code })}`;
    const answer = await deps
      .fetch(url, {
        headers: { authorization: options.get('WeChatServerToken') },
        signal: AbortSignal.timeout(patienceMs),
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

  const telegramPerson = (fields: Readonly<Record<string, string | undefined>>): string => {
    if (!options.get('TelegramOAuthEnabled')) throw new AppError('oauth_off', { name: 'Telegram', en: 'Telegram' });
    const id = telegramId(fields, options.get('TelegramBotToken'), Math.floor(deps.now() / 1000));
    if (id === null) throw new AppError('oauth_invalid');
    return id;
  };

  return {
    /** Goes into the address of the other service and, as a cookie, into the browser that asked. */
    state: (affCode: string): string => states.issue({ affCode }),
    /** @throws AppError oauth_*, setup_needed, register_closed, user_closed. */
    async callback(id: CodeProviderId, given: Callback): Promise<Outcome> {
      const { name, column, prefix, enabled, exchange } = codeProviders[id];
      if (given.error !== '') throw new AppError('oauth_refused', { detail: given.error.slice(0, 200) });
      const known = states.take(given.state);
      if (known === null || !same(given.state, given.stateCookie)) throw new AppError('oauth_state');
      if (!options.get(enabled)) throw new AppError('oauth_off', { name, en: name });
      if (given.code === '') throw new AppError('params_invalid', { detail: 'code' });
      const profile = await exchangeCode(given.code, name, exchange(options), deps.fetch);
      if (given.userId === 0) return { bound: false, user: await enter(column, prefix, profile, known.affCode) };
      await bind(column, name, profile.id, given.userId);
      return { bound: true };
    },
    async weChatLogin(code: string): Promise<UserRow> {
      const id = await weChatId(code);
      return enter('wechat_id', 'wechat_', { id, username: '', displayName: '', email: '' }, '');
    },
    async weChatBind(code: string, userId: number): Promise<void> {
      await bind('wechat_id', '微信', await weChatId(code), userId);
    },
    /** Only for accounts that bound it before. @throws AppError oauth_*, user_closed. */
    async telegramLogin(fields: Readonly<Record<string, string | undefined>>): Promise<UserRow> {
      const owner = await repository.findByIdentity('telegram_id', telegramPerson(fields));
      if (owner === undefined) throw new AppError('telegram_unbound');
      if (owner.deleted_at !== null) throw new AppError('user_closed');
      return owner;
    },
    async telegramBind(fields: Readonly<Record<string, string | undefined>>, userId: number): Promise<void> {
      await bind('telegram_id', 'Telegram', telegramPerson(fields), userId);
    },
  };
}

const same = (one: string, other: string): boolean => {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length > 0 && left.length === right.length && timingSafeEqual(left, right);
};
