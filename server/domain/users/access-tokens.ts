/** Access tokens with a name and scopes, for programs that need less than everything. */
import { randomBytes } from 'node:crypto';
import type { Database } from '../../../db/open.ts';
import { type AccessTokenRow, createAccessTokensRepository } from '../../../db/repositories/access-tokens.ts';
import { AppError } from '../../contract/errors.ts';
import { isScope, type Scope } from '../../contract/scopes.ts';
import { keyHint } from '../secrets/vault.ts';
import { hashSecret } from './service.ts';

const maxNameLength = 40;
const max = 50;
/** Seconds between two notes of use. */
const updateIntervalSeconds = 60;
/** Distinguishes these from API keys and from the one full token of an account. */
const prefix = 'gat_';

export type AccessTokensService = ReturnType<typeof createAccessTokens>;

export function createAccessTokens(deps: { readonly database: Database; readonly now: () => number }) {
  const repository = createAccessTokensRepository(deps.database);
  const seconds = () => Math.floor(deps.now() / 1000);
  const view = (row: AccessTokenRow) => ({
    id: row.id,
    name: row.name,
    hint: row.hint,
    scopes: row.scopes.split(','),
    created_time: row.created_at,
    last_used_time: row.last_used_at,
    expired_time: row.expires_at,
  });

  return {
    list: async (userId: number) => (await repository.list(userId)).map(view),
    /** @returns the token itself too; only its hash is kept. @throws AppError token_name_*, scope_*, token_expiry_invalid, access_token_limit. */
    async create(userId: number, name: string, requested: string, expiresAt: number) {
      if (name.trim() === '') throw new AppError('token_name_required');
      if ([...name.trim()].length > maxNameLength) throw new AppError('token_name_long');
      const scopes = scopesIn(requested);
      if (expiresAt !== -1 && expiresAt <= seconds()) throw new AppError('token_expiry_invalid');
      if ((await repository.count(userId)) >= max) throw new AppError('access_token_limit', { most: max });
      const token = prefix + randomBytes(32).toString('base64url');
      const row = await repository.create({
        user_id: userId,
        name: name.trim(),
        token_hash: hashSecret(token),
        hint: keyHint(token),
        scopes: scopes.join(','),
        created_at: seconds(),
        last_used_at: 0,
        expires_at: expiresAt,
      });
      return { ...view(row), token };
    },
    async remove(id: number, userId: number): Promise<void> {
      if (!(await repository.remove(id, userId))) throw new AppError('not_found', { what: `access token ${id}` });
    },
    /** The owner of a token and what it may do; null = unknown or expired. */
    async holderOf(token: string): Promise<{ readonly userId: number; readonly scopes: readonly string[] } | null> {
      if (!token.startsWith(prefix)) return null;
      const row = await repository.find(hashSecret(token), seconds());
      if (row === undefined) return null;
      if (seconds() - row.last_used_at >= updateIntervalSeconds) await repository.used(row.id, seconds());
      return { userId: row.user_id, scopes: row.scopes.split(',') };
    },
  };
}

/** @throws AppError scope_missing, scope_unknown. */
function scopesIn(text: string): readonly Scope[] {
  const names = [...new Set(text.split(/[\s,]+/).filter((name) => name !== ''))];
  if (names.length === 0) throw new AppError('scope_missing');
  return names.map((name) => {
    if (!isScope(name)) throw new AppError('scope_unknown', { scope: name });
    return name;
  });
}
