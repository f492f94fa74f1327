/** Accounts: creation, passwords, access tokens. */
import { createHash, randomBytes } from 'node:crypto';
import type { Database } from '../../../db/open.ts';
import { createUsersRepository, type Identity, identityColumns, type UserRow } from '../../../db/repositories/users.ts';
import type { Ledger } from '../../billing/ledger/commands.ts';
import { Role, UserStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import type { BudgetDefaults } from '../budgets/defaults.ts';
import type { Passwords } from './password.ts';

export interface NewUser {
  readonly username: string;
  /** null = none: no password opens the account. */
  readonly password: string | null;
  readonly displayName: string;
  readonly role: number;
  /** Quota to start with, 0 = none. */
  readonly quota: number;
  readonly email?: string;
  /** 0 = none. */
  readonly inviterId?: number;
  /** Who another service says it is. */
  readonly identity?: Identity;
  /** The password is random and was never shown. */
  readonly passwordMade?: boolean;
}

export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex');

export type UsersService = ReturnType<typeof createUsers>;

export function createUsers(deps: {
  readonly database: Database;
  readonly ledger: Ledger;
  readonly passwords: Passwords;
  /** Absent = new users get no budgets. */
  readonly defaults?: BudgetDefaults;
  readonly now: () => number;
}) {
  const repository = createUsersRepository(deps.database);
  const seconds = () => Math.floor(deps.now() / 1000);
  /** Once per user, however often it is asked for. @throws AppError params_invalid when the ledger refuses. */
  const startingQuota = async (id: number, quota: number): Promise<void> => {
    const result = await deps.ledger.execute({
      type: 'grant',
      ref: `setup:${id}`,
      userId: id,
      amount: quota,
      at: seconds(),
      log: null,
    });
    if (result.status === 'refused') throw new AppError('params_invalid', { detail: result.detail });
  };

  return {
    startingQuota,
    find: repository.find,
    findByLogin: repository.findByLogin,
    rootExists: repository.rootExists,
    firstWithRole: repository.firstWithRole,
    count: repository.count,
    findByAccessToken: (token: string): Promise<UserRow | undefined> => repository.findByAccessToken(hashSecret(token)),
    /** @throws AppError username_taken, budget_many. */
    async create(user: NewUser): Promise<number> {
      if (await repository.nameTaken(user.username, 0)) throw new AppError('username_taken');
      const budgets = user.role < Role.admin ? await deps.defaults?.('user') : undefined;
      const row = {
        username: user.username,
        display_name: user.displayName,
        password_hash: user.password === null ? '' : await deps.passwords.hash(user.password),
        role: user.role,
        status: UserStatus.enabled,
        email: user.email ?? '',
        group_name: 'default',
        github_id: '',
        oidc_id: '',
        wechat_id: '',
        telegram_id: '',
        linux_do_id: '',
        password_made: Number(user.passwordMade ?? false),
        ...(user.identity === undefined ? {} : identityColumns(user.identity)),
        access_token_hash: null,
        aff_code: null,
        aff_count: 0,
        aff_quota: 0,
        aff_history_quota: 0,
        inviter_id: user.inviterId ?? 0,
        gift_waits: 0,
        setting: '',
        created_at: seconds(),
        deleted_at: null,
      };
      const id = await repository.create(row, budgets).catch(async (error: unknown) => {
        // Another request took the name while this password was hashed.
        throw (await repository.nameTaken(user.username, 0)) ? new AppError('username_taken', {}, error) : error;
      });
      if (user.quota > 0) await startingQuota(id, user.quota);
      return id;
    },
    /** Replaces the full-access token. @returns the new one; only its hash is kept. */
    async newAccessToken(id: number): Promise<string> {
      const token = randomBytes(24).toString('base64url');
      await repository.setAccessToken(id, hashSecret(token));
      return token;
    },
    /** A token of the caller's own making. @returns false when it is the present one. @throws AppError params_invalid */
    async setAccessToken(user: UserRow, token: string): Promise<boolean> {
      if (!/^[\w.-]{16,256}$/.test(token)) throw new AppError('params_invalid', { detail: 'access token' });
      const hash = hashSecret(token);
      if (user.access_token_hash === hash) return false;
      await repository.setAccessToken(user.id, hash);
      return true;
    },
  };
}
