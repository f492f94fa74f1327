/** Users and tokens of a declarative file. */
import type { Database } from '../../../db/open.ts';
import { createTokensRepository, type TokenRow } from '../../../db/repositories/tokens.ts';
import { createUsersRepository } from '../../../db/repositories/users.ts';
import { Role, TokenStatus, UserStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import type { ProvisionChange, ProvisionedToken, ProvisionedUser } from '../../contract/provision.ts';
import { bareKey } from '../../contract/token-key.ts';
import type { Vault } from '../secrets/vault.ts';
import { keyColumns, type TokensService } from '../tokens/service.ts';
import type { Credentials } from '../users/credentials.ts';
import type { Passwords } from '../users/password.ts';
import { checkKnownUsername, checkPassword } from '../users/rules.ts';
import type { UsersService } from '../users/service.ts';
import { asText, changedFields, describeChanges } from './compare.ts';
import { amountOf, expiryOf } from './values.ts';

const passwordless = (username: string) => ({
  zh: `没有密码，无法用密码登录：gateway user passwd ${username}`,
  en: `has no password and cannot log in with one: gateway user passwd ${username}`,
});
const madeKey = { zh: '文件中没有密钥，已生成新的密钥', en: 'the file has no key; a new one was made' };

/** The balance a new user starts with, which the ledger grants once the user is there. */
export interface Grant {
  readonly userId: number;
  readonly quota: number;
}

export async function applyUsers(
  deps: {
    readonly database: Database;
    readonly users: UsersService;
    readonly credentials: Credentials;
    readonly passwords: Passwords;
  },
  expected: readonly ProvisionedUser[],
  quotaPerUnit: number,
): Promise<{ readonly changes: readonly ProvisionChange[]; readonly grants: readonly Grant[] }> {
  const repository = createUsersRepository(deps.database);
  const changes: ProvisionChange[] = [];
  const grants: Grant[] = [];
  for (const user of expected) {
    const name = user.username;
    const fields = {
      display_name: user.display_name,
      group_name: user.group,
      role: user.role === undefined ? undefined : Role[user.role],
      status: user.status === undefined ? undefined : UserStatus[user.status],
    };
    let row = await repository.findByLogin(name);
    const created = row === undefined;
    const quota = user.quota === undefined ? 0 : amountOf('quota', user.quota, quotaPerUnit);
    const password = (user.password ?? '') === '' ? null : (user.password ?? null);
    if (row === undefined) {
      checkKnownUsername(name);
      if (password !== null) checkPassword(password);
      const role = fields.role ?? Role.user;
      const passwordMade = password === null;
      const id = await deps.users.create({
        ...{ username: name, password, passwordMade },
        ...{ displayName: user.display_name ?? name, role, quota: 0 },
      });
      if (quota > 0) grants.push({ userId: id, quota });
      row = await repository.findByLogin(name);
    }
    if (row === undefined) throw new AppError('user_unknown');
    const current = { ...row };
    const changed = changedFields(fields, current);
    if (Object.keys(changed).length > 0) await repository.update(row.id, row.role, changed);
    const newPassword = !created && password !== null && !(await deps.passwords.verify(password, row.password_hash));
    if (newPassword && password !== null) {
      checkPassword(password);
      await deps.credentials.replace(row.id, password);
    }
    const fieldChanges = created
      ? []
      : [...describeChanges(changed, current), ...(newPassword ? ['password: changed'] : [])];
    changes.push({
      action: created ? 'create' : fieldChanges.length > 0 ? 'update' : 'unchanged',
      kind: 'user',
      name,
      fields: fieldChanges,
      ...(created && password === null ? { notes: [passwordless(name)] } : {}),
    });
  }
  return { changes, grants };
}

const lines = (value: string | readonly string[]): string => (typeof value === 'string' ? value : value.join('\n'));
const defined = (value: object) => Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined));

/** Columns a token of the file wants. */
const columnsOf = (
  token: ProvisionedToken,
  { vault, quotaPerUnit, madeAt }: { readonly vault: Vault; readonly quotaPerUnit: number; readonly madeAt: number },
) => {
  const key = token.key === undefined ? undefined : bareKey(token.key);
  const models = token.models === undefined ? undefined : asText(token.models);
  return {
    status: token.status === undefined ? undefined : TokenStatus[token.status],
    unlimited: token.quota === undefined ? undefined : Number(token.quota === 'unlimited'),
    quota_limit:
      token.quota === undefined || token.quota === 'unlimited'
        ? undefined
        : amountOf('quota', token.quota, quotaPerUnit),
    expires_at: token.expires === undefined ? undefined : expiryOf(token.expires, madeAt, -1),
    model_limits: models,
    model_limits_enabled: models === undefined ? undefined : Number(models !== ''),
    allow_ips: token.allow_ips === undefined ? undefined : lines(token.allow_ips),
    group_name: token.group,
    rpm_limit: token.rpm_limit,
    tpm_limit: token.tpm_limit,
    concurrency_limit: token.concurrency_limit,
    day_budget: token.day_budget === undefined ? undefined : amountOf('day_budget', token.day_budget, quotaPerUnit),
    month_budget:
      token.month_budget === undefined ? undefined : amountOf('month_budget', token.month_budget, quotaPerUnit),
    key_hmac: key === undefined ? undefined : vault.keyHmac(key),
  };
};

export async function applyTokens(
  deps: {
    readonly database: Database;
    readonly users: UsersService;
    readonly tokens: TokensService;
    readonly vault: Vault;
  },
  expected: readonly ProvisionedToken[],
  {
    label,
    prune,
    quotaPerUnit,
    now,
  }: {
    readonly label: string;
    readonly prune: boolean;
    readonly quotaPerUnit: number;
    /** Epoch seconds. */
    readonly now: number;
  },
): Promise<ProvisionChange[]> {
  const repository = createTokensRepository(deps.database);
  const changes: ProvisionChange[] = [];
  const rest = (await repository.all()).sort((a, b) => a.id - b.id);
  const take = (name: string, owner: number): TokenRow | undefined => {
    const index = rest.findIndex((row) => row.name === name && row.user_id === owner);
    return index < 0 ? undefined : rest.splice(index, 1)[0];
  };
  for (const token of expected) {
    const { name } = token;
    const owner =
      token.owner === undefined ? await deps.users.firstWithRole(Role.root) : await deps.users.findByLogin(token.owner);
    if (owner === undefined && token.owner !== undefined)
      throw new AppError('not_found', { what: `user ${token.owner} (token ${name})` });
    if (owner === undefined) throw new AppError('setup_needed');
    const row = take(name, owner.id);
    const { key_hmac: hmac, ...columns } = columnsOf(token, {
      ...{ vault: deps.vault, quotaPerUnit },
      madeAt: row?.created_at ?? now,
    });
    const secret = token.key === undefined ? {} : keyColumns(token.key, deps.vault);
    if (row === undefined) {
      const { id } = await deps.tokens.create(owner.id, { name });
      await repository.update(id, null, { ...defined(columns), ...secret, managed_by: label }, undefined);
      const notes = token.key === undefined ? { notes: [madeKey] } : {};
      changes.push({ action: 'create', kind: 'token', name, fields: [], ...notes });
      continue;
    }
    const current = { ...row };
    const changed = changedFields(columns, current);
    const newKey = hmac !== undefined && hmac !== row.key_hmac;
    const fieldChanges = [...describeChanges(changed, current), ...(newKey ? ['key: changed'] : [])];
    if (fieldChanges.length > 0)
      await repository.update(row.id, null, { ...changed, ...(newKey ? secret : {}) }, undefined);
    changes.push({
      action: fieldChanges.length > 0 ? 'update' : 'unchanged',
      kind: 'token',
      name,
      fields: fieldChanges,
    });
  }
  for (const row of prune ? rest.filter(({ managed_by }) => managed_by === label) : []) {
    await deps.tokens.remove(row.id, null);
    changes.push({ action: 'delete', kind: 'token', name: row.name, fields: [] });
  }
  return changes;
}
