/** Users and tokens of a declarative file. */
import type { Database } from '../../../db/open.ts';
import { createChannelsRepository } from '../../../db/repositories/channels.ts';
import { createTokensRepository, type TokenRow } from '../../../db/repositories/tokens.ts';
import { createUsersRepository } from '../../../db/repositories/users.ts';
import { Role, TokenStatus, UserStatus } from '../../contract/enum.ts';
import { AppError, formatError } from '../../contract/errors.ts';
import { autoGroups, cheapestGroups, namedGroups } from '../../contract/key-groups.ts';
import {
  type ProvisionChange,
  type ProvisionedToken,
  type ProvisionedUser,
  unlimited,
} from '../../contract/provision.ts';
import { labelsIn, tokenIssue } from '../../contract/token-fields.ts';
import { bareKey } from '../../contract/token-key.ts';
import type { OptionsService } from '../options/service.ts';
import type { Vault } from '../secrets/vault.ts';
import { keyColumns, type TokensService } from '../tokens/service.ts';
import type { Credentials } from '../users/credentials.ts';
import type { Passwords } from '../users/password.ts';
import { checkKnownUsername, checkPassword } from '../users/rules.ts';
import type { UsersService } from '../users/service.ts';
import { asText, changedFields, describeChanges } from './compare.ts';
import { amountOf, budgetOf, expiryOf } from './values.ts';

type Note = NonNullable<ProvisionChange['notes']>[number];

const passwordless = (username: string) => ({
  zh: `没有密码，无法用密码登录：gateway user passwd ${username}`,
  en: `has no password and cannot log in with one: gateway user passwd ${username}`,
});
const madeKey = { zh: '文件中没有密钥，由网关生成', en: 'the file has no key; the gateway makes one' };

/** The balance a new user starts with, which the ledger grants once the user is there. */
export interface Grant {
  readonly userId: number;
  readonly quota: number;
}

/** A file may have many users: what is wrong with one says whose it is. @throws AppError input_invalid */
function ofUser(name: string, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'input_invalid') throw error;
    const { zh, en } = error.params;
    throw new AppError('input_invalid', { zh: `用户 ${name}：${zh}`, en: `user ${name}: ${en}` }, error);
  }
}

export async function applyUsers(
  deps: {
    readonly database: Database;
    readonly users: UsersService;
    readonly credentials: Credentials;
    readonly passwords: Passwords;
    readonly options: OptionsService;
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
      ofUser(name, () => checkKnownUsername(name));
      if (password !== null) ofUser(name, () => checkPassword(password));
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
      ofUser(name, () => checkPassword(password));
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
      ...withNotes([
        ...(created && password === null ? [passwordless(name)] : []),
        ...groupNotes(deps.options, user.group),
      ]),
    });
  }
  return { changes, grants };
}

/** A file may come from a site that had the group; requests of one without a ratio are refused. */
function groupNotes(options: OptionsService, group: string | undefined): readonly Note[] {
  const groupRatios = options.get('GroupRatio');
  if (group === undefined || group === '' || groupRatios.has(group)) return [];
  const isWord = group === autoGroups || group === cheapestGroups;
  const missing = isWord ? [] : namedGroups(group).filter((name) => !groupRatios.has(name));
  return missing.map((name) => ({
    zh: `分组 ${name} 没有倍率，其请求会被拒绝`,
    en: `group ${name} has no ratio, so that its requests are refused`,
  }));
}
const withNotes = (notes: readonly Note[]) => (notes.length === 0 ? {} : { notes: [...notes] });

const lines = (value: string | readonly string[]): string => (typeof value === 'string' ? value : value.join('\n'));
/** What a word lifts is stored as nothing, or as 0. */
const limited = (value: string): string => (value === unlimited ? '' : value);
const rateOf = (value: number | typeof unlimited | undefined): number | undefined => (value === unlimited ? 0 : value);
const defined = (value: object) => Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined));

/** @param stored ids of the key; those that are deleted may stay. @throws AppError not_found, name_ambiguous */
function boundChannels(
  { name: token, channels: wanted }: ProvisionedToken,
  stored: string,
  channels: readonly { readonly id: number; readonly name: string }[],
): string | undefined {
  if (wanted === undefined) return undefined;
  if (wanted === unlimited) return '';
  const refs = [wanted].flat().flatMap((one) => String(one).split(','));
  const ids = refs.map((ref) => {
    const name = ref.trim();
    if (/^\d+$/.test(name)) {
      const id = Number(name);
      if (channels.some((channel) => channel.id === id) || stored.split(',').includes(String(id))) return id;
    }
    const named = channels.filter((channel) => channel.name === name);
    const [only] = named;
    const what = `channel ${name} (token ${token})`;
    if (only === undefined) throw new AppError('not_found', { what });
    if (named.length > 1)
      throw new AppError('name_ambiguous', { what, candidates: named.map(({ id }) => id).join(', ') });
    return only.id;
  });
  return [...new Set(ids)].sort((a, b) => a - b).join(',');
}

/** Columns a token of the file wants. */
const columnsOf = (
  token: ProvisionedToken,
  {
    vault,
    quotaPerUnit,
    madeAt,
    channels,
  }: {
    readonly vault: Vault;
    readonly quotaPerUnit: number;
    readonly madeAt: number;
    readonly channels: string | undefined;
  },
) => {
  const key = token.key === undefined ? undefined : bareKey(token.key);
  const models = token.models === undefined ? undefined : limited(asText(token.models));
  const budget = (name: 'day_budget' | 'month_budget') =>
    token[name] === undefined ? undefined : budgetOf(name, token[name], quotaPerUnit);
  return {
    status: token.status === undefined ? undefined : TokenStatus[token.status],
    unlimited: token.quota === undefined ? undefined : Number(token.quota === unlimited),
    quota_limit:
      token.quota === undefined || token.quota === unlimited ? undefined : amountOf('quota', token.quota, quotaPerUnit),
    expires_at: token.expires === undefined ? undefined : expiryOf(token.expires, madeAt, -1),
    model_limits: models,
    model_limits_enabled: models === undefined ? undefined : Number(models !== ''),
    allow_ips: token.allow_ips === undefined ? undefined : limited(lines(token.allow_ips)),
    group_name: token.group,
    rpm_limit: rateOf(token.rpm_limit),
    tpm_limit: rateOf(token.tpm_limit),
    concurrency_limit: rateOf(token.concurrency_limit),
    day_budget: budget('day_budget'),
    month_budget: budget('month_budget'),
    labels: token.labels === undefined ? undefined : labelsIn(asText(token.labels)).join(','),
    channels,
    key_hmac: key === undefined ? undefined : vault.keyHmac(key),
  };
};

/** The same rules as for a key that is made or changed by itself. A file may outlive the end that it names. @throws AppError params_invalid */
function checkColumns(name: string, columns: Partial<TokenRow>, row: TokenRow | undefined, now: number): void {
  const { expires_at: expired_time, model_limits, allow_ips, labels, channels } = row ?? {};
  const stored = { expired_time, model_limits, allow_ips, labels, channels };
  const issue = tokenIssue({ ...columns, expired_time: columns.expires_at }, stored, now);
  if (issue === null) return;
  const [zh, en] = [formatError(issue.code, issue.params, 'zh'), formatError(issue.code, issue.params, 'en')];
  throw new AppError('params_invalid', {
    detail: `token ${name}`,
    detail_zh: `令牌 ${name}：${zh}`,
    detail_en: `token ${name}: ${en}`,
  });
}

export async function applyTokens(
  deps: {
    readonly database: Database;
    readonly users: UsersService;
    readonly tokens: TokensService;
    readonly vault: Vault;
    readonly options: OptionsService;
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
  // A file that names a program's row would give it a key that somebody knows.
  const rest = (await repository.all()).filter(({ kind }) => kind !== 'agent').sort((a, b) => a.id - b.id);
  const take = (name: string, owner: number): TokenRow | undefined => {
    const index = rest.findIndex((row) => row.name === name && row.user_id === owner);
    return index < 0 ? undefined : rest.splice(index, 1)[0];
  };
  // Those of the file are there already.
  const channels = expected.some((token) => token.channels !== undefined)
    ? await createChannelsRepository(deps.database).all()
    : [];
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
      channels: boundChannels(token, row?.channels ?? '', channels),
    });
    checkColumns(name, columns, row, now);
    await deps.tokens.checkNodes({ channels: columns.channels, group: columns.group_name }, row);
    const groups = groupNotes(deps.options, token.group);
    const secret = token.key === undefined ? {} : keyColumns(token.key, deps.vault);
    if (row === undefined) {
      const { id } = await deps.tokens.create(owner.id, { name });
      await repository.update(id, null, { ...defined(columns), ...secret, managed_by: label }, undefined);
      const notes = [...(token.key === undefined ? [madeKey] : []), ...groups];
      changes.push({ action: 'create', kind: 'token', name, fields: [], ...withNotes(notes) });
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
      ...withNotes(groups),
    });
  }
  for (const row of prune ? rest.filter(({ managed_by }) => managed_by === label) : []) {
    await deps.tokens.remove(row.id, null);
    changes.push({ action: 'delete', kind: 'token', name: row.name, fields: [] });
  }
  return changes;
}
