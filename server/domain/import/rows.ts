/** Rows of the new-api and one-api schemas as rows of ours. */
import type { Insertable } from 'kysely';
import type { SourceRow } from '../../../db/import-source.ts';
import type { ChannelsTable, LogsTable, TokensTable, UsersTable } from '../../../db/schema.ts';
import { LogType, Role } from '../../contract/enums.ts';
import { namesLoseDots, typeOfFamily } from '../../providers/import-names.ts';
import { issuerAt } from '../oauth/issuer.ts';
import { keyHint, type Vault } from '../secrets/vault.ts';
import { hashSecret } from '../users/service.ts';
import { deletedAt, type Family, flagOf, jsonObjectOf, listOf, numberOf, textOf } from './source.ts';

const statusOf = (value: unknown): number => numberOf(value) || 1;

/** @param oidcEndpoint token endpoint of the imported settings: whoever answers there vouched for the imported people. */
export function userRow(row: SourceRow, now: number, oidcEndpoint: string): Insertable<UsersTable> {
  const accessToken = textOf(row.access_token).trim();
  return {
    id: numberOf(row.id),
    username: textOf(row.username),
    display_name: textOf(row.display_name),
    password_hash: textOf(row.password),
    // People of other services were given none.
    password_made: Number(textOf(row.password) === ''),
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
    setting: jsonObjectOf(row.setting),
    created_at: now,
    deleted_at: deletedAt(row.deleted_at),
  };
}

const familyKey = /^[A-Za-z0-9_-]{8,128}$/;

/** @returns null when the row has no key that a client could send. */
export function tokenRow(row: SourceRow, vault: Vault): Insertable<TokensTable> | null {
  const key = textOf(row.key).trim();
  if (!familyKey.test(key)) return null;
  const models = listOf(row.model_limits ?? row.models);
  const limited = row.model_limits_enabled === undefined ? models !== '' : flagOf(row.model_limits_enabled);
  return {
    id: numberOf(row.id),
    user_id: numberOf(row.user_id),
    name: textOf(row.name),
    key_hmac: vault.keyHmac(key),
    key_sealed: vault.seal('token-key', key),
    key_hint: keyHint(key),
    // Expired and exhausted follow from time and quota.
    status: numberOf(row.status) === 2 ? 2 : 1,
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
    deleted_at: deletedAt(row.deleted_at),
  } as Insertable<TokensTable>;
}

/** One-api keeps in `config` what we keep in `other`. */
function otherOf(row: SourceRow): string {
  const other = textOf(row.other);
  if (other !== '' || textOf(row.config) === '') return other;
  const config = JSON.parse(jsonObjectOf(row.config) || '{}') as Record<string, string>;
  return config.api_version || config.region || config.library_id || config.plugin || '';
}

/** New-api has kept dots in the names of deployments since this time, for channels made from then on; one-api never does. */
const dotsKeptFrom = Date.UTC(2025, 4, 10) / 1000;

/** What the other gateway did to names in secret stands in the mapping here. */
function mappingOf(row: SourceRow, family: Family, type: number): string {
  const told = jsonObjectOf(row.model_mapping);
  const dotted = listOf(row.models)
    .split(',')
    .filter((name) => name.includes('.'));
  const tookDots = family === 'one-api' || numberOf(row.created_time) < dotsKeptFrom;
  if (!namesLoseDots(type) || !tookDots || dotted.length === 0) return told;
  const mapping = JSON.parse(told || '{}') as Record<string, string>;
  const names = Object.fromEntries(dotted.map((name) => [name, (mapping[name] ?? name).replaceAll('.', '')]));
  return JSON.stringify({ ...mapping, ...names });
}

/** @returns null when nothing here speaks to that provider. */
export function channelRow(row: SourceRow, family: Family, vault: Vault): Insertable<ChannelsTable> | null {
  const type = typeOfFamily(family, numberOf(row.type));
  if (type === null) return null;
  const key = textOf(row.key).trim();
  return {
    id: numberOf(row.id),
    type,
    name: textOf(row.name),
    key_sealed: vault.seal('channel-key', key),
    key_hint: keyHint(key),
    organization: textOf(row.open_ai_organization),
    test_model: textOf(row.test_model),
    status: statusOf(row.status),
    weight: Math.max(0, numberOf(row.weight)),
    priority: numberOf(row.priority),
    created_at: numberOf(row.created_time),
    test_at: numberOf(row.test_time),
    response_time_ms: numberOf(row.response_time),
    base_url: textOf(row.base_url).replace(/\/+$/, ''),
    other: otherOf(row),
    balance: Number(row.balance) || 0,
    balance_updated_at: numberOf(row.balance_updated_time),
    models: listOf(row.models),
    group_name: listOf(row.group) || 'default',
    used_quota: 0,
    model_mapping: mappingOf(row, family, type),
    status_code_mapping: jsonObjectOf(row.status_code_mapping),
    param_override: jsonObjectOf(row.param_override),
    setting: jsonObjectOf(row.setting),
    auto_ban: row.auto_ban === null || row.auto_ban === undefined ? 1 : numberOf(row.auto_ban),
    other_info: textOf(row.other_info),
    tag: textOf(row.tag),
    max_input_tokens: numberOf(row.max_input_tokens),
  } as Insertable<ChannelsTable>;
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
