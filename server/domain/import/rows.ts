/** Rows of the new-api and one-api schemas as rows of ours. */
import type { Insertable } from 'kysely';
import type { SourceRow } from '../../../db/import-source.ts';
import type { ChannelsTable, LogsTable, TokensTable, UsersTable } from '../../../db/schema/tables.ts';
import { keysIn } from '../../contract/channel-keys.ts';
import { ChannelStatus, LogType, Role } from '../../contract/enum.ts';
import { namesAccountInOther, namesLoseDots, typeOfFamily } from '../../providers/import-names.ts';
import { issuerAt } from '../oauth/issuer.ts';
import { keyHint, type Vault } from '../secrets/vault.ts';
import { hashSecret } from '../users/service.ts';
import { withHeaderRules } from './header-operations.ts';
import { type Family, flagOf, jsonObjectOf, listOf, numberOf, textOf, timeOf } from './source.ts';

/** 1 is in use, and so is what has none; a 0 is served nowhere in the family. */
export const statusOf = (value: unknown): number => (textOf(value) === '' ? 1 : numberOf(value) || 2);

/**
 * A token that was marked as expired or used up works there only after it is enabled again, whatever its time and
 * quota say since. Where they say the same, it follows from them here too.
 */
function tokenStatusOf(row: SourceRow, now: number): number {
  const status = statusOf(row.status);
  const until = numberOf(row.expired_time);
  const follows =
    (status === 3 && until > 0 && until <= now) ||
    (status === 4 && !flagOf(row.unlimited_quota) && numberOf(row.remain_quota) <= 0);
  return status === 1 || follows ? 1 : 2;
}

/**
 * @param oidcEndpoint token endpoint of the imported settings: the server there vouched for the imported people.
 * @param locked a second factor guarded the account that cannot come along: no password opens it until a new one is set.
 */
export function userRow(row: SourceRow, now: number, oidcEndpoint: string, locked = false): Insertable<UsersTable> {
  const setting = JSON.parse(jsonObjectOf(row.setting) || '{}') as Record<string, unknown>;
  const notified = hasNotices(setting) ? setting : { ...setting, notify_type: 'email' };
  const accessToken = textOf(row.access_token).trim();
  const password = locked ? '' : textOf(row.password);
  return {
    id: numberOf(row.id),
    username: textOf(row.username),
    display_name: textOf(row.display_name),
    password_hash: password,
    // People of other services were given none.
    password_made: Number(password === ''),
    role: Math.min(Role.root, numberOf(row.role) || Role.user),
    status: statusOf(row.status),
    email: textOf(row.email),
    group_name: textOf(row.group) || 'default',
    github_id: textOf(row.github_id),
    oidc_id: textOf(row.oidc_id),
    oidc_issuer: textOf(row.oidc_id) === '' ? '' : issuerAt(oidcEndpoint),
    wechat_id: textOf(row.wechat_id),
    telegram_id: textOf(row.telegram_id),
    linux_do_id: textOf(row.linux_do_id),
    access_token_hash: accessToken === '' ? null : hashSecret(accessToken),
    aff_code: textOf(row.aff_code) || null,
    aff_count: numberOf(row.aff_count),
    aff_quota: 0,
    aff_history_quota: 0,
    inviter_id: numberOf(row.inviter_id),
    setting: Object.keys(setting).length === 0 ? '' : JSON.stringify(notified),
    created_at: timeOf(row.created_at) ?? now,
    deleted_at: timeOf(row.deleted_at),
  };
}

/** Whether notices go here by the way that a user of the source has chosen: none is by mail. */
export function hasNotices({ notify_type: type, webhook_url: url }: Readonly<Record<string, unknown>>): boolean {
  if (type === undefined || type === 'email') return true;
  return type === 'webhook' && typeof url === 'string' && URL.canParse(url) && new URL(url).protocol === 'https:';
}

const familyKey = /^[A-Za-z0-9_-]{8,128}$/;

/** @returns null when the row has no key that a client could send. */
export function tokenRow(row: SourceRow, vault: Vault, now: number): Insertable<TokensTable> | null {
  const key = textOf(row.key).trim();
  if (!familyKey.test(key)) return null;
  const models = listOf(row.model_limits ?? row.models);
  const limited = row.model_limits_enabled === undefined ? models !== '' : flagOf(row.model_limits_enabled);
  return {
    id: numberOf(row.id),
    user_id: numberOf(row.user_id),
    name: textOf(row.name),
    key_hmac: vault.keyHmac(key),
    key_sealed: vault.encrypt('token-key', key),
    key_hint: keyHint(key),
    status: tokenStatusOf(row, now),
    created_at: numberOf(row.created_time),
    accessed_at: numberOf(row.accessed_time),
    expires_at: numberOf(row.expired_time) || -1,
    unlimited: Number(flagOf(row.unlimited_quota)),
    quota_limit: Math.max(0, numberOf(row.remain_quota)),
    used_quota: 0,
    model_limits_enabled: Number(limited),
    model_limits: models,
    allow_ips: textOf(row.allow_ips ?? row.subnet)
      .replaceAll(',', '\n')
      .trim(),
    group_name: textOf(row.group),
    deleted_at: timeOf(row.deleted_at),
  } as Insertable<TokensTable>;
}

/** One-api's `config`; its members that are no text say nothing. */
const configOf = (row: SourceRow): ((member: string) => string) => {
  const config = new Map(Object.entries(JSON.parse(jsonObjectOf(row.config) || '{}') as object));
  return (member) => {
    const value: unknown = config.get(member);
    return typeof value === 'string' ? value.trim() : '';
  };
};

/** One-api keeps in `config` what we keep in `other`. */
function otherOf(row: SourceRow, type: number): string {
  const other = textOf(row.other);
  const config = configOf(row);
  if (other !== '') return other;
  return (
    config('api_version') ||
    config('region') ||
    config('library_id') ||
    config('plugin') ||
    (namesAccountInOther(type) ? config('user_id') : '')
  );
}

/** One-api keeps the parts of these keys in `config`, and reads them there, not in the key. */
function keyTextOf(row: SourceRow): string {
  const config = configOf(row);
  const parts = [config('ak'), config('sk'), config('region')];
  if (parts.every((part) => part !== '')) return parts.join('|');
  return config('vertex_ai_adc') || textOf(row.key).trim();
}

/** New-api has kept dots in the names of deployments since this time, for channels made from then on; one-api never does. */
const dottedNamesFrom = Date.UTC(2025, 4, 10) / 1000;

/** What the other gateway did to names in secret stands in the mapping here. */
function mappingOf(row: SourceRow, family: Family, type: number): string {
  const mapped = jsonObjectOf(row.model_mapping);
  const dotted = listOf(row.models)
    .split(',')
    .filter((name) => name.includes('.'));
  const tookDots = family === 'one-api' || numberOf(row.created_time) < dottedNamesFrom;
  if (!namesLoseDots(type) || !tookDots || dotted.length === 0) return mapped;
  const mapping = JSON.parse(mapped || '{}') as Record<string, string>;
  const names = Object.fromEntries(dotted.map((name) => [name, (mapping[name] ?? name).replaceAll('.', '')]));
  return JSON.stringify({ ...mapping, ...names });
}

interface Keys {
  readonly used: readonly string[];
  /** Those that were out of use while others of the channel were not. */
  readonly unused: readonly string[];
  /** How several take turns; undefined = there is one. */
  readonly mode: 'random' | 'turn' | undefined;
  /** Every key was out of use, and so is the channel. */
  readonly dead: boolean;
}

/** New-api keeps the states of a channel's keys by their place in the list. */
function keysOf(row: SourceRow): Keys {
  const text = keyTextOf(row);
  const info = JSON.parse(jsonObjectOf(row.channel_info) || '{}') as {
    readonly is_multi_key?: boolean;
    readonly multi_key_mode?: string;
    readonly multi_key_status_list?: Readonly<Record<string, number>> | null;
  };
  if (info.is_multi_key !== true) return { used: keysIn(text), unused: [], mode: undefined, dead: false };
  const keys = keysIn(text);
  const isUsed = (_key: string, index: number): boolean => (info.multi_key_status_list?.[index] ?? 1) === 1;
  const used = keys.filter(isUsed);
  return {
    used: used.length === 0 ? keys : used,
    unused: used.length === 0 ? [] : keys.filter((key, index) => !isUsed(key, index)),
    mode: info.multi_key_mode === 'random' ? 'random' : 'turn',
    dead: keys.length > 0 && used.length === 0,
  };
}

/** Members that are called otherwise here. */
function settingOf(row: SourceRow, mode: Keys['mode']): string {
  const text = jsonObjectOf(row.setting);
  const headers = JSON.parse(jsonObjectOf(row.header_override) || '{}') as Record<string, unknown>;
  const { pass_through_body_enabled: passes, ...setting } = JSON.parse(text || '{}') as Record<string, unknown>;
  const ours = {
    ...setting,
    ...(passes === true ? { pass_through: true } : {}),
    ...(mode === undefined ? {} : { key_mode: mode }),
    ...(Object.keys(headers).length === 0 ? {} : { header_override: headers }),
  };
  return Object.keys(ours).length === 0 ? '' : JSON.stringify(ours);
}

/**
 * @returns the channel, and one more, out of use, with the keys that were; null when nothing here speaks to that provider.
 */
export function channelRows(
  source: SourceRow,
  family: Family,
  vault: Vault,
): readonly [Insertable<ChannelsTable>, ...Insertable<ChannelsTable>[]] | null {
  const row = withHeaderRules(source);
  const type = typeOfFamily(family, numberOf(row.type));
  if (type === null) return null;
  const keys = keysOf(row);
  const made = channelRow(row, family, type, keys.mode);
  const channel = keys.dead ? { ...made, status: ChannelStatus.disabled } : made;
  const sealed = (list: readonly string[]) => {
    const text = list.join('\n');
    return { key_sealed: vault.encrypt('channel-key', text), key_hint: keyHint(text) };
  };
  const first = { ...channel, ...sealed(keys.used) } as Insertable<ChannelsTable>;
  if (keys.unused.length === 0) return [first];
  const { id: _, ...rest } = channel;
  const name = `${channel.name}_disabled`;
  return [
    first,
    { ...rest, ...sealed(keys.unused), name, status: ChannelStatus.disabled } as Insertable<ChannelsTable>,
  ];
}

function channelRow(row: SourceRow, family: Family, type: number, mode: Keys['mode']) {
  return {
    id: numberOf(row.id),
    type,
    name: textOf(row.name),
    organization: textOf(row.open_ai_organization),
    test_model: textOf(row.test_model),
    status: statusOf(row.status),
    weight: Math.max(0, numberOf(row.weight)),
    priority: numberOf(row.priority),
    created_at: numberOf(row.created_time),
    test_at: numberOf(row.test_time),
    response_time_ms: numberOf(row.response_time),
    base_url: textOf(row.base_url).replace(/\/+$/, ''),
    other: otherOf(row, type),
    balance: Number(row.balance) || 0,
    balance_updated_at: numberOf(row.balance_updated_time),
    models: listOf(row.models),
    group_name: listOf(row.group) || 'default',
    used_quota: 0,
    model_mapping: mappingOf(row, family, type),
    status_code_mapping: jsonObjectOf(row.status_code_mapping),
    param_override: jsonObjectOf(row.param_override),
    setting: settingOf(row, mode),
    auto_ban: row.auto_ban === undefined ? 1 : numberOf(row.auto_ban),
    other_info: textOf(row.other_info),
    tag: textOf(row.tag),
    max_input_tokens: numberOf(row.max_input_tokens),
  };
}

/** Marked as imported: prices of another product's formulas are not recomputed. */
export function logRow(row: SourceRow, family: Family): Insertable<LogsTable> {
  const type = numberOf(row.type);
  return {
    request_id: null,
    created_at: numberOf(row.created_at),
    type: family === 'one-api' && type === LogType.error ? LogType.system : type,
    user_id: numberOf(row.user_id),
    username: textOf(row.username),
    token_id: numberOf(row.token_id),
    token_name: textOf(row.token_name),
    channel_id: numberOf(row.channel_id),
    group_name: textOf(row.group),
    model_name: textOf(row.model_name),
    is_stream: Number(flagOf(row.is_stream)),
    use_time: numberOf(row.use_time) || Math.round(numberOf(row.elapsed_time) / 1000),
    prompt_tokens: numberOf(row.prompt_tokens),
    completion_tokens: numberOf(row.completion_tokens),
    quota: numberOf(row.quota),
    content: textOf(row.content),
    other: jsonObjectOf(row.other),
    usage_source: 'none',
    end_reason: 'imported',
  };
}
