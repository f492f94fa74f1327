/** Second factors and passkeys of new-api: an account that needed more than a password there never needs less here. */
import type { Insertable } from 'kysely';
import type { SourceRow } from '../../../db/import-source.ts';
import type { createImportTarget } from '../../../db/import-target.ts';
import type { PasskeysTable } from '../../../db/schema/tables.ts';
import type { Vault } from '../secrets/vault.ts';
import type { Reporter } from './report.ts';
import { flagOf, numberOf, type Source, textOf, timeOf } from './source.ts';

/** What an authenticator keeps, as text. */
const base32 = /^[A-Z2-7]{16,}=*$/i;

/** Secrets by user; null = there is one and it cannot be read. */
export function secretsOf(
  source: Source,
): ReadonlyMap<number, { readonly secret: string; readonly at: number } | null> {
  const secrets = new Map<number, { secret: string; at: number } | null>();
  for (const row of source.rows('two_fas')) {
    if (!flagOf(row.is_enabled) || timeOf(row.deleted_at) !== null) continue;
    const secret = textOf(row.secret).replace(/\s/g, '');
    secrets.set(
      numberOf(row.user_id),
      base32.test(secret) ? { secret: secret.toUpperCase(), at: timeOf(row.created_at) ?? 1 } : null,
    );
  }
  return secrets;
}

interface Move {
  readonly source: Source;
  readonly target: ReturnType<typeof createImportTarget>;
  readonly reporter: Reporter;
  readonly vault: Vault;
  /** Names of the people who came. */
  readonly people: ReadonlyMap<number, string>;
}

export async function importSecondFactors(
  { source, target, reporter, vault, people }: Move,
  secrets: ReturnType<typeof secretsOf>,
): Promise<void> {
  const guarded = new Set<number>();
  for (const [userId, found] of secrets) {
    const username = people.get(userId);
    if (username === undefined) continue;
    if (found === null) {
      reporter.skipped('two_fas', username, {
        zh: '密钥无法读取，密码已停用：须通过邮件重置密码，或由管理员设置新密码',
        en: 'its secret cannot be read, so the password no longer opens the account: reset it by mail, or set a new one',
      });
      continue;
    }
    const row = { user_id: userId, enabled_at: found.at, last_step: 0 };
    await target.secondFactor({ ...row, secret_sealed: vault.encrypt('second-factor', found.secret) });
    guarded.add(userId);
    reporter.taken('two_fas');
  }
  for (const row of source.rows('two_fa_backup_codes')) {
    const userId = numberOf(row.user_id);
    const hash = textOf(row.code_hash);
    if (flagOf(row.is_used) || timeOf(row.deleted_at) !== null || !guarded.has(userId)) continue;
    if (!/^\$2[aby]\$/.test(hash)) {
      reporter.skipped('two_fa_backup_codes', people.get(userId) ?? String(userId), {
        zh: '无法校验的备用码',
        en: 'a backup code that cannot be checked here',
      });
      continue;
    }
    await target.recoveryCode({ user_id: userId, code_hash: hash });
    reporter.taken('two_fa_backup_codes');
  }
}

const base64url = (value: unknown): string => Buffer.from(textOf(value), 'base64').toString('base64url');

const transportsOf = (value: unknown): string => {
  try {
    const list: unknown = JSON.parse(textOf(value) || '[]');
    return Array.isArray(list) ? list.filter((one) => typeof one === 'string').join(',') : '';
  } catch {
    return '';
  }
};

const passkeyRow = (row: SourceRow, userId: number, now: number): Insertable<PasskeysTable> => {
  const createdAt = timeOf(row.created_at) ?? now;
  return {
    credential_id: base64url(row.credential_id),
    user_id: userId,
    name: `Passkey ${new Date(createdAt * 1000).toISOString().slice(0, 10)}`,
    public_key: base64url(row.public_key),
    counter: numberOf(row.sign_count),
    transports: transportsOf(row.transports),
    created_at: createdAt,
    last_used_at: timeOf(row.last_used_at) ?? 0,
  };
};

/** @param host name of this site, '' = not set. */
export async function importPasskeys(
  { source, target, reporter, people }: Move,
  { host, now }: { readonly host: string; readonly now: number },
): Promise<void> {
  const rpId = [...source.rows('options')].find(({ key }) => textOf(key) === 'passkey.rp_id');
  const bound = textOf(rpId?.value) || host;
  let taken = 0;
  for (const row of source.rows('passkey_credentials')) {
    const userId = numberOf(row.user_id);
    const username = people.get(userId);
    if (username === undefined || timeOf(row.deleted_at) !== null) continue;
    if (bound !== host) {
      reporter.skipped('passkey_credentials', username, {
        zh: `登记于 ${bound}，与本站的 ServerAddress 不同：须用密码登录后重新登记`,
        en: `registered for ${bound}, which is not the ServerAddress here: log in with the password and register it again`,
      });
      continue;
    }
    await target.passkey(passkeyRow(row, userId, now));
    reporter.taken('passkey_credentials');
    taken++;
  }
  if (taken === 0) return;
  if (host === '')
    reporter.note(
      'passkey_credentials: 通行密钥只在原来的域名下有效，请设置 ServerAddress',
      'passkey_credentials: passkeys work under the name they were registered for: set ServerAddress',
    );
  else
    reporter.note(
      `passkey_credentials: 通行密钥只在域名 ${host} 下有效`,
      `passkey_credentials: passkeys work under the name ${host} alone`,
    );
}
