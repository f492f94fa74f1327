/** API tokens: keys, limits, ownership; rotation, and links that pass a key on. */
import { createHash, randomBytes, randomInt } from 'node:crypto';
import type { Updateable } from 'kysely';
import type { Database } from '../../../db/open.ts';
import { createTokensRepository, type TokenRow, type TokenSort } from '../../../db/repositories/tokens.ts';
import { createUsersRepository } from '../../../db/repositories/users.ts';
import type { TokensTable } from '../../../db/schema/tables.ts';
import { isSignedFor, readAgentToken } from '../../contract/agent-token.ts';
import type { Token } from '../../contract/entities.ts';
import { Role, TokenStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { channelIdsIn } from '../../contract/key-channels.ts';
import { namedGroups, saysOrder } from '../../contract/key-groups.ts';
import { periodStart } from '../../contract/period.ts';
import { budgetNames, labelsIn, rateLimitNames, type TokenLimits, tokenIssue } from '../../contract/token-fields.ts';
import { bareKey, maxTokenNameLength } from '../../contract/token-key.ts';
import type { BudgetDefaults } from '../budgets/defaults.ts';
import { refuseOlderNodes } from '../nodes/older.ts';
import { keyHint, type Vault } from '../secrets/vault.ts';

/** Fields a client may send; absent = unchanged (update) or default (create). */
export interface TokenFields {
  readonly name?: string | undefined;
  readonly remain_quota?: number | undefined;
  readonly unlimited_quota?: boolean | undefined;
  readonly expired_time?: number | undefined;
  readonly model_limits_enabled?: boolean | undefined;
  readonly model_limits?: string | undefined;
  readonly allow_ips?: string | undefined;
  readonly group?: string | undefined;
  readonly status?: number | undefined;
  readonly day_budget?: number | undefined;
  readonly month_budget?: number | undefined;
  readonly rpm_limit?: number | undefined;
  readonly tpm_limit?: number | undefined;
  readonly concurrency_limit?: number | undefined;
  /** Comma separated. */
  readonly labels?: string | undefined;
  /** Ids of channels, comma separated. */
  readonly channels?: string | undefined;
}

/** `agent` = of a program that signed in: nobody sees its key. */
export type TokenKind = 'key' | 'agent';

export interface TokenSearch {
  readonly sort?: TokenSort | undefined;
  /** Part of the name. */
  readonly keyword?: string | undefined;
  /** A whole key, with or without `sk-`. */
  readonly key?: string | undefined;
  readonly status?: number | undefined;
}

const limitNames = [...budgetNames, ...rateLimitNames];

const statuses: ReadonlySet<number> = new Set(Object.values(TokenStatus));
const keyAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const keyLength = 48;
/** Starting quota of a token that names none. As new-api does. */
const defaultQuota = 500_000;
const hourSeconds = 3600;
const daySeconds = 24 * hourSeconds;
/** How long an old key may work after a rotation, and a link wait until it is opened. */
const maxGraceHours = 30 * 24;
const maxLinkHours = 14 * 24;

/** @param owner user id, or null for the operator. */
export function createTokens(deps: {
  readonly database: Database;
  readonly vault: Vault;
  /** Absent = new keys get no budgets. */
  readonly defaults?: BudgetDefaults;
  readonly now: () => number;
}) {
  const repository = createTokensRepository(deps.database);
  const users = createUsersRepository(deps.database);
  /** @param stored of the key, where there is one already. @throws AppError token_channels_node, token_groups_node */
  const checkNodes = async (
    { channels, group }: Pick<TokenFields, 'channels' | 'group'>,
    stored: Pick<TokenRow, 'channels' | 'group_name'> | undefined,
  ): Promise<void> => {
    const ids = channelIdsIn(channels ?? '')?.join(',') ?? '';
    if (ids !== '' && ids !== stored?.channels) await refuseOlderNodes(deps.database, 'token_channels_node');
    if (group !== undefined && group !== stored?.group_name && saysOrder(group))
      await refuseOlderNodes(deps.database, 'token_groups_node');
  };
  const seconds = () => Math.floor(deps.now() / 1000);

  const view = (row: TokenRow): Token => {
    const remain = row.quota_limit - row.used_quota;
    const expired = row.expires_at !== -1 && row.expires_at < seconds();
    const exhausted = row.unlimited === 0 && remain <= 0;
    const enabled = row.status === TokenStatus.enabled;
    return {
      id: row.id,
      user_id: row.user_id,
      ...(row.kind === 'agent' ? { key: '', kind: row.kind } : { key: deps.vault.open('token-key', row.key_sealed) }),
      status: enabled && expired ? TokenStatus.expired : enabled && exhausted ? TokenStatus.exhausted : row.status,
      name: row.name,
      created_time: row.created_at,
      accessed_time: row.accessed_at,
      expired_time: row.expires_at,
      remain_quota: remain,
      unlimited_quota: row.unlimited === 1,
      model_limits_enabled: row.model_limits_enabled === 1,
      model_limits: row.model_limits,
      allow_ips: row.allow_ips,
      used_quota: row.used_quota,
      group: row.group_name,
      day_budget: row.day_budget,
      month_budget: row.month_budget,
      rpm_limit: row.rpm_limit,
      tpm_limit: row.tpm_limit,
      concurrency_limit: row.concurrency_limit,
      day_used: row.day_at === periodStart('day', seconds()) ? row.day_used : 0,
      month_used: row.month_at === periodStart('month', seconds()) ? row.month_used : 0,
      ...(row.old_key_until > seconds()
        ? { old_key_hint: row.old_key_hint, old_key_until: row.old_key_until }
        : { old_key_hint: '', old_key_until: 0 }),
      link_until: row.link_until > seconds() ? row.link_until : 0,
      last_ip: row.last_ip,
      ...(row.labels === '' ? {} : { labels: row.labels }),
      ...(row.channels === '' ? {} : { channels: row.channels }),
      ...(row.frozen_at <= 0 || row.status === TokenStatus.enabled ? {} : { frozen_time: row.frozen_at }),
      DeletedAt: null,
    };
  };

  const find = async (id: number, owner: number | null): Promise<TokenRow> => {
    const row = await repository.find(id, owner);
    if (row === undefined) throw new AppError('not_found', { what: `token ${id}` });
    return row;
  };

  return {
    /** A page, and how many match in all. @param page 0-based. */
    async list(
      owner: number | null,
      page: number,
      size: number,
      { sort, keyword, key = '', status }: TokenSearch = {},
    ): Promise<{ items: Token[]; total: number }> {
      const bare = bareKey(key);
      const filter = {
        owner,
        keyword,
        keyHmac: bare === '' ? undefined : deps.vault.keyHmac(bare),
        state: status === undefined ? undefined : { status, at: seconds() },
      };
      const rows = await repository.list(filter, { offset: page * size, limit: size, sort });
      return { items: rows.map(view), total: await repository.count(filter) };
    },
    /** The token that a key spends from, also the old one after a rotation while it works, and a program's by what the site signed for it. @param key with or without `sk-`. */
    async byKey(key: string): Promise<Token | null> {
      const bare = bareKey(key);
      const signed = readAgentToken(bare);
      if (signed !== null) {
        const named = signed.end > seconds() ? await repository.find(signed.id, null) : undefined;
        return named !== undefined && isSignedFor(deps.vault.keyHmac, signed, named.key_hmac) ? view(named) : null;
      }
      const row = bare === '' ? undefined : await repository.findByKey(deps.vault.keyHmac(bare), seconds());
      return row === undefined ? null : view(row);
    },
    /** By id, or by name among its owner's. @throws AppError not_found */
    async named(name: string, owner: number): Promise<Token> {
      const row = await (/^\d+$/.test(name) ? repository.find(Number(name), null) : repository.findByName(name, owner));
      if (row === undefined) throw new AppError('not_found', { what: `token ${name}` });
      return view(row);
    },
    /** Whether each node keeps to the key's channels and groups. @throws AppError token_channels_node, token_groups_node */
    checkNodes,
    /** Keys that are bound to channels. */
    bound: async (): Promise<Token[]> => (await repository.bound()).map(view),
    /** Keys that are bound to one of the channels. */
    boundTo: async (channels: readonly number[]): Promise<Token[]> => {
      const named = new Set(channels);
      const rows = await repository.bound();
      return rows.filter((row) => channelIdsIn(row.channels)?.some((id) => named.has(id))).map(view);
    },
    get: async (id: number, owner: number | null): Promise<Token> => view(await find(id, owner)),
    /** @param ownKey absent = one is made up. @param most keys of the owner, and new ones a day. @throws AppError token_count, token_name_*, token_expiry_*, token_amount, token_list, token_addresses, token_labels, token_channels*, token_groups_node, params_invalid, conflict. */
    async create(
      owner: number,
      fields: TokenFields,
      ownKey?: string,
      most = Number.POSITIVE_INFINITY,
      kind: TokenKind = 'key',
    ): Promise<Token> {
      checkName(fields.name ?? '');
      checkLimits(fields, null, seconds());
      await checkNodes(fields, undefined);
      const key = ownKey === undefined ? keyColumns(newKey(), deps.vault) : keyColumns(ownKey, deps.vault);
      if (ownKey !== undefined && (await repository.keyTaken(key.key_hmac)))
        throw new AppError('conflict', { what: `key ${key.key_hint}` });
      const count = async (): Promise<number> => {
        if (most === Number.POSITIVE_INFINITY) return 0;
        const { live, made } = await repository.counts(owner, seconds() - daySeconds);
        return Math.max(live, made);
      };
      if ((await count()) >= most) throw new AppError('token_count', { limit: most });
      const [user] = deps.defaults === undefined ? [] : await users.byIds([owner]);
      const budgets = user !== undefined && user.role < Role.admin ? await deps.defaults?.('token') : undefined;
      const row = {
        ...columnsOf(fields),
        user_id: owner,
        name: fields.name ?? '',
        kind,
        ...key,
        status: TokenStatus.enabled,
        created_at: seconds(),
        accessed_at: 0,
        quota_limit: fields.remain_quota ?? defaultQuota,
        used_quota: 0,
        deleted_at: null,
      } as Parameters<typeof repository.create>[0];
      const id = await repository.create(row, budgets);
      // Looked at again, so that of many that come at the same time no more stay.
      if ((await count()) > most) {
        await repository.update(id, owner, { deleted_at: seconds() }, undefined);
        throw new AppError('token_count', { limit: most });
      }
      return view(await find(id, owner));
    },
    async update(id: number, owner: number | null, fields: TokenFields, statusOnly: boolean): Promise<Token> {
      const row = await find(id, owner);
      if (fields.status !== undefined && !statuses.has(fields.status))
        throw new AppError('params_invalid', { detail: 'status' });
      // What follows from quota and time is not stored: whole records that come back say what was shown.
      const follows = (fields.status ?? row.status) >= TokenStatus.expired;
      const status = follows ? (row.status >= TokenStatus.expired ? TokenStatus.enabled : row.status) : fields.status;
      // What was spent before its owner looked at it does not stop it again.
      const thawed = row.frozen_at > 0 && status === TokenStatus.enabled ? { frozen_at: -seconds() } : {};
      if (fields.status === TokenStatus.enabled)
        checkEnable({ ...view(row), ...(statusOnly ? {} : definedOf(fields)) }, seconds());
      if (statusOnly) {
        if (follows && fields.status !== undefined) throw new AppError('params_invalid', { detail: 'status' });
        await repository.update(id, owner, status === undefined ? {} : { status, ...thawed }, undefined);
      } else {
        if (fields.name !== undefined) checkName(fields.name);
        checkLimits(fields, view(row), seconds());
        await checkNodes(fields, row);
        await repository.update(
          id,
          owner,
          { ...columnsOf(fields), ...(status === undefined ? {} : { status, ...thawed }) },
          fields.remain_quota,
        );
      }
      return view(await find(id, owner));
    },
    /**
     * Everything but the key stays. @param graceHours how long the old key still works; 0 = it stops at once. The one before
     * it, and a link that shows it, end in any case. @throws AppError not_found, params_invalid
     */
    async rotate(id: number, owner: number | null, graceHours = 0): Promise<Token> {
      checkHours(graceHours, 0, maxGraceHours);
      const row = await find(id, owner);
      checkHasKey(row);
      const old =
        graceHours === 0
          ? noOldKey
          : {
              old_key_hmac: row.key_hmac,
              old_key_hint: row.key_hint,
              old_key_until: seconds() + graceHours * hourSeconds,
            };
      await repository.update(id, owner, { ...keyColumns(newKey(), deps.vault), ...old, ...noLink }, undefined);
      return view(await find(id, owner));
    },
    /** The key before the last rotation stops working now. @throws AppError not_found */
    async retire(id: number, owner: number | null): Promise<Token> {
      if (!(await repository.update(id, owner, noOldKey, undefined)))
        throw new AppError('not_found', { what: `token ${id}` });
      return view(await find(id, owner));
    },
    /** A secret that shows the key once; an earlier one no longer does. @throws AppError not_found, params_invalid */
    async share(id: number, owner: number | null, hours: number): Promise<{ secret: string; until: number }> {
      checkHours(hours, 1, maxLinkHours);
      checkHasKey(await find(id, owner));
      const secret = randomBytes(24).toString('base64url');
      const until = seconds() + hours * hourSeconds;
      if (!(await repository.update(id, owner, { link_hash: linkHash(secret), link_until: until }, undefined)))
        throw new AppError('not_found', { what: `token ${id}` });
      return { secret, until };
    },
    /** The link shows nothing any more. @throws AppError not_found */
    async unshare(id: number, owner: number | null): Promise<Token> {
      if (!(await repository.update(id, owner, noLink, undefined)))
        throw new AppError('not_found', { what: `token ${id}` });
      return view(await find(id, owner));
    },
    /** Uses the link up. @throws AppError key_link_gone */
    async openShared(secret: string): Promise<Token> {
      const row = await repository.takeLink(linkHash(secret), seconds());
      if (row === undefined) throw new AppError('key_link_gone');
      return view(row);
    },
    /** Ids that are not the owner's are passed over. @returns how many went. */
    async removeMany(ids: readonly number[], owner: number | null): Promise<number> {
      let gone = 0;
      for (const id of new Set(ids))
        if (await repository.update(id, owner, { deleted_at: seconds() }, undefined)) gone += 1;
      return gone;
    },
    async remove(id: number, owner: number | null): Promise<void> {
      if (!(await repository.update(id, owner, { deleted_at: seconds() }, undefined)))
        throw new AppError('not_found', { what: `token ${id}` });
    },
  };
}

export type TokensService = ReturnType<typeof createTokens>;

const newKey = (): string =>
  Array.from({ length: keyLength }, () => keyAlphabet[randomInt(keyAlphabet.length)]).join('');

/** @param given with or without `sk-`. @throws AppError params_invalid */
export function keyColumns(given: string, vault: Vault) {
  const key = bareKey(given);
  if (!/^[\w-]{8,128}$/.test(key)) throw new AppError('params_invalid', { detail: 'token key' });
  return { key_hmac: vault.keyHmac(key), key_sealed: vault.encrypt('token-key', key), key_hint: keyHint(key) };
}

const noOldKey = { old_key_hmac: '', old_key_hint: '', old_key_until: 0 };
const noLink = { link_hash: '', link_until: 0 };
const linkHash = (secret: string): string => createHash('sha256').update(secret).digest('hex');

/** @throws AppError key_hidden for a program that signed in: it renews by itself. */
function checkHasKey({ kind }: Pick<TokenRow, 'kind'>): void {
  if (kind === 'agent') throw new AppError('key_hidden');
}

function checkHours(hours: number, min: number, max: number): void {
  if (!Number.isInteger(hours) || hours < min || hours > max)
    throw new AppError('params_invalid', { detail: `hours: ${min}–${max}` });
}

const definedOf = <T extends object>(value: T): Partial<T> =>
  Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Partial<T>;

function columnsOf(fields: TokenFields): Updateable<TokensTable> {
  return definedOf({
    name: fields.name,
    unlimited: fields.unlimited_quota === undefined ? undefined : Number(fields.unlimited_quota),
    expires_at: fields.expired_time,
    model_limits_enabled: fields.model_limits_enabled === undefined ? undefined : Number(fields.model_limits_enabled),
    model_limits: fields.model_limits,
    allow_ips: fields.allow_ips,
    group_name: fields.group?.includes(',') === true ? namedGroups(fields.group).join(',') : fields.group,
    labels: fields.labels === undefined ? undefined : labelsIn(fields.labels).join(','),
    channels: fields.channels === undefined ? undefined : channelIdsIn(fields.channels)?.join(','),
    ...Object.fromEntries(limitNames.map((name) => [name, fields[name]])),
  });
}

/** @param stored null = a new key. @param now epoch seconds. @throws AppError token_expiry_*, token_amount, token_list, token_addresses, token_labels, token_channels */
function checkLimits(fields: TokenLimits, stored: TokenLimits | null, now: number): void {
  const issue = tokenIssue(fields, stored, now);
  if (issue !== null) throw new AppError(issue.code, issue.params);
}

function checkName(name: string): void {
  if (name.trim() === '') throw new AppError('token_name_required');
  if (Buffer.byteLength(name) > maxTokenNameLength) throw new AppError('token_name_long');
}

function checkEnable(token: Token, now: number): void {
  if (token.expired_time !== -1 && token.expired_time < now) throw new AppError('token_expired_enable');
  if (!token.unlimited_quota && token.remain_quota <= 0) throw new AppError('token_exhausted_enable');
}
