/** A user as the wire shows it: nothing secret is ever copied. */
import type { UserRow } from '../../../db/repositories/users.ts';
import type { User } from '../../contract/entities.ts';

/** What only the user and those above may know. */
const personal = {
  email: '',
  github_id: '',
  oidc_id: '',
  wechat_id: '',
  telegram_id: '',
  linux_do_id: '',
  aff_code: '',
  setting: '',
};

/** @param reader a `peer` sees nothing personal. */
export function userView(row: UserRow, reader: 'self' | 'peer' = 'self'): User {
  return {
    id: row.id,
    username: row.username,
    display_name: row.display_name,
    role: row.role,
    status: row.status,
    email: row.email,
    github_id: row.github_id,
    oidc_id: row.oidc_id,
    wechat_id: row.wechat_id,
    telegram_id: row.telegram_id,
    linux_do_id: row.linux_do_id,
    quota: row.balance,
    used_quota: row.used_quota,
    request_count: row.request_count,
    group: row.group_name,
    aff_code: row.aff_code ?? '',
    aff_count: row.aff_count,
    aff_quota: row.aff_quota,
    aff_history_quota: row.aff_history_quota,
    inviter_id: row.inviter_id,
    setting: withoutSecret(row.setting),
    DeletedAt: row.deleted_at === null ? null : new Date(row.deleted_at * 1000).toISOString(),
    ...(reader === 'peer' ? personal : {}),
  };
}

/** Settings moved in from elsewhere carry a secret until it is sealed. */
function withoutSecret(setting: string): string {
  if (!setting.includes('webhook_secret')) return setting;
  try {
    const { webhook_secret: _hidden, ...rest } = JSON.parse(setting) as Record<string, unknown>;
    return JSON.stringify(rest);
  } catch {
    return '';
  }
}
