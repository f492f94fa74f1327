/** What administrators do with other people's accounts. */

import { randomUUID } from 'node:crypto';
import type { Database } from '../../../db/open.ts';
import {
  createUsersRepository,
  type UserFilter,
  type UserPatch,
  type UserRow,
  type UserSort,
} from '../../../db/repositories/users.ts';
import type { Ledger, LedgerResult } from '../../billing/ledger/commands.ts';
import type { User } from '../../contract/entities.ts';
import { LogType, Role } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { maxQuota } from '../../contract/pricing/charge.ts';
import { storedText } from '../../contract/stored-texts.ts';

import { eventLog, quotaWords } from '../logs/event.ts';
import type { OptionsService } from '../options/service.ts';
import { canActOn, effectOf, type Rank, type UserAction } from './authority.ts';
import type { Credentials } from './credentials.ts';
import type { Passwords } from './password.ts';
import { checkDisplayName, checkPassword, checkUsername } from './rules.ts';
import type { UsersService } from './service.ts';
import { userView } from './wire.ts';

export interface Manager extends Rank {
  readonly userId: number;
  readonly username: string;
}

/** Fields of an edit; absent = unchanged. Everything else of a record that a console sends back is left alone. */
export interface UserEdit {
  readonly username?: string | undefined;
  readonly display_name?: string | undefined;
  /** '' = unchanged. */
  readonly password?: string | undefined;
  readonly group?: string | undefined;
  /** The balance wanted. */
  readonly quota?: number | undefined;
  /** The used quota the editor saw: what was spent since then stays spent. */
  readonly used_quota?: number | undefined;
  /** Added to the balance, may be negative; instead of `quota`. */
  readonly add_quota?: number | undefined;
  /** Why the balance is changed, for the user's log. */
  readonly reason?: string | undefined;
}

const maxReasonLength = 200;

const refusal = ({ reason, detail }: LedgerResult & { readonly status: 'refused' }): AppError => {
  if (reason === 'insufficient') return new AppError('user_insufficient');
  if (reason === 'too_large') return new AppError('balance_too_large', { limit: Number.MAX_SAFE_INTEGER });
  return new AppError('params_invalid', { detail });
};

export type UserManagement = ReturnType<typeof createUserManagement>;

export function createUserManagement(deps: {
  readonly database: Database;
  readonly ledger: Ledger;
  readonly users: UsersService;
  readonly credentials: Credentials;
  readonly passwords: Passwords;
  readonly options: OptionsService;
  /** Epoch milliseconds. */
  readonly now: () => number;
}) {
  const repository = createUsersRepository(deps.database);
  const seconds = () => Math.floor(deps.now() / 1000);

  const find = async (id: number): Promise<UserRow> => {
    const row = await repository.find(id);
    if (row === undefined) throw new AppError('user_unknown');
    return row;
  };

  const moveQuota = async (actor: Manager, target: UserRow, delta: number, reason: string) => {
    const after = target.balance + delta;
    const row = eventLog({
      type: LogType.manage,
      at: seconds(),
      user: target,
      content: storedText(reason === '' ? 'quotaMoved' : 'quotaMovedFor', {
        before: quotaWords(deps.options, target.balance),
        after: quotaWords(deps.options, after),
        reason,
      }),
      other: {
        quota_before: target.balance,
        quota_after: after,
        quota_delta: delta,
        ...(reason === '' ? {} : { reason }),
        admin_info: { admin_id: actor.userId, admin_username: actor.username },
      },
    });
    // More than one posting may carry goes in several; the first brings the log row.
    const size = Math.abs(delta);
    for (let done = 0; done < size; done += maxQuota) {
      const result = await deps.ledger.execute({
        type: delta > 0 ? 'grant' : 'deduct',
        ref: `admin:${randomUUID()}`,
        userId: target.id,
        amount: Math.min(maxQuota, size - done),
        at: seconds(),
        log: done === 0 ? row : null,
      });
      if (result.status === 'refused') throw refusal(result);
    }
  };

  /** Signed change of the balance an edit asks for. */
  const deltaOf = (edit: UserEdit, row: UserRow): number => {
    if (edit.add_quota !== undefined) return edit.add_quota;
    if (edit.quota === undefined) return 0;
    const spentSince = edit.used_quota === undefined ? 0 : Math.max(0, row.used_quota - edit.used_quota);
    return edit.quota - spentSince - row.balance;
  };

  return {
    /** Everybody, without what is personal about those the actor may not act on. @param page 1-based. */
    async page(actor: Manager, filter: UserFilter, page: number, size: number, sort?: UserSort) {
      const searchableEmails = actor.role >= Role.root ? undefined : { id: actor.userId, below: actor.role };
      const { rows, total } = await repository.page({ ...filter, searchableEmails }, (page - 1) * size, size, sort);
      const inviters = new Set(rows.map(({ inviter_id: id }) => id).filter((id) => id !== 0));
      const names = new Map(
        (inviters.size === 0 ? [] : await repository.byIds([...inviters])).map((row) => [row.id, row.username]),
      );
      const items = rows.map((row): User => {
        const view = userView(row, row.id === actor.userId || canActOn(actor, row) ? 'self' : 'peer');
        const inviter = names.get(row.inviter_id);
        return inviter === undefined ? view : { ...view, inviter_name: inviter };
      });
      return { items, page, page_size: size, total };
    },
    /** @throws AppError user_unknown, user_rank_read. */
    async get(actor: Manager, id: number): Promise<User> {
      const row = await find(id);
      if (row.id !== actor.userId && !canActOn(actor, row)) throw new AppError('user_rank_read');
      return userView(row);
    },
    /** @throws AppError user_unknown, user_rank_read. */
    async mayRead(actor: Manager, id: number): Promise<void> {
      const row = await find(id);
      if (id !== actor.userId && !canActOn(actor, row)) throw new AppError('user_rank_read');
    },
    /** @throws AppError user_unknown, user_rank_update. */
    async mayChange(actor: Manager, id: number): Promise<void> {
      if (!canActOn(actor, await find(id))) throw new AppError('user_rank_update');
    },
    /** An ordinary user without quota. @throws AppError credentials_empty, input_invalid, username_taken. */
    async create(fields: Pick<UserEdit, 'username' | 'display_name' | 'password'>): Promise<User> {
      if ((fields.username ?? '').trim() === '' || (fields.password ?? '') === '')
        throw new AppError('credentials_empty');
      const username = checkUsername(fields.username ?? '');
      checkPassword(fields.password ?? '');
      const displayName = checkDisplayName(fields.display_name ?? '');
      const id = await deps.users.create({
        username,
        password: fields.password ?? '',
        displayName: displayName === '' ? username : displayName,
        role: Role.user,
        quota: 0,
      });
      return userView(await find(id));
    },
    /** Another password is a reset: it ends all that opened the account. @throws AppError user_unknown, user_rank_update, user_own_password, input_invalid, username_taken, not_found, user_insufficient. */
    async update(
      actor: Manager,
      id: number,
      edit: UserEdit,
    ): Promise<{ readonly user: User; readonly changed: boolean }> {
      const row = await find(id);
      if (!canActOn(actor, row)) throw new AppError('user_rank_update');
      // Here the present password is not asked for.
      if (id === actor.userId && (edit.password ?? '') !== '') throw new AppError('user_own_password');
      const username =
        edit.username === undefined || edit.username === row.username ? row.username : checkUsername(edit.username);
      if (username !== row.username && (await repository.nameTaken(username, id))) throw new AppError('username_taken');
      const group = (edit.group ?? '').trim() === '' ? row.group_name : (edit.group ?? '').trim();
      if (group !== row.group_name && !deps.options.get('GroupRatio').has(group))
        throw new AppError('not_found', { what: `group ${group}` });
      const newPassword = edit.password ?? '';
      if (newPassword !== '') checkPassword(newPassword);
      // Setting the same password again ends no login.
      const resets = newPassword !== '' && !(await deps.passwords.verify(newPassword, row.password_hash));
      const delta = deltaOf(edit, row);
      if (!Number.isSafeInteger(delta)) throw new AppError('params_invalid', { detail: 'quota' });
      if (row.balance + delta < 0) throw new AppError('user_insufficient');
      if (row.balance + delta > Number.MAX_SAFE_INTEGER)
        throw new AppError('balance_too_large', { limit: Number.MAX_SAFE_INTEGER });
      const patch: UserPatch = {
        username,
        display_name: edit.display_name === undefined ? row.display_name : checkDisplayName(edit.display_name),
        group_name: group,
      };
      const renamed =
        patch.username !== row.username ||
        patch.display_name !== row.display_name ||
        patch.group_name !== row.group_name;
      if (renamed && !(await repository.update(id, row.role, patch))) throw new AppError('user_changed_meanwhile');
      if (resets) await deps.credentials.replace(id, newPassword);
      if (delta !== 0) await moveQuota(actor, row, delta, (edit.reason ?? '').trim().slice(0, maxReasonLength));
      const changed = renamed || resets || delta !== 0;
      return { user: userView(changed ? await find(id) : row), changed };
    },
    /** @throws AppError user_unknown and what effectOf throws. */
    async manage(actor: Manager, id: number, action: UserAction): Promise<{ role: number; status: number }> {
      const row = await find(id);
      const { closes = false, ...patch } = effectOf(action, actor, row);
      const done = closes
        ? await repository.close(id, row.role, seconds())
        : await repository.update(id, row.role, patch);
      if (!done) throw new AppError('user_changed_meanwhile');
      return { role: patch.role ?? row.role, status: patch.status ?? row.status };
    },
    /** Closes the account for good. @throws AppError user_unknown, user_rank_delete, user_root_delete. */
    async remove(actor: Manager, id: number): Promise<void> {
      const row = await find(id);
      if (!canActOn(actor, row)) throw new AppError('user_rank_delete');
      if (row.role >= Role.root) throw new AppError('user_root_delete');
      if (!(await repository.close(id, row.role, seconds()))) throw new AppError('user_changed_meanwhile');
    },
  };
}
