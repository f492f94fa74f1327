/** Access tokens with a name and scopes, several per user; filters of tables that users keep; sealed webhook secrets. */
import { type Kysely, sql } from 'kysely';

const statements = [
  `CREATE TABLE access_tokens (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  token_hash TEXT NOT NULL UNIQUE,
  hint TEXT NOT NULL,
  scopes TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL DEFAULT 0,
  expires_at INTEGER NOT NULL DEFAULT -1
) STRICT`,
  'CREATE INDEX access_tokens_user ON access_tokens (user_id)',
  `CREATE TABLE saved_filters (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id INTEGER NOT NULL,
  place TEXT NOT NULL,
  name TEXT NOT NULL,
  query TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (user_id, place, name)
) STRICT`,
  `CREATE TABLE webhook_secrets (
  user_id INTEGER PRIMARY KEY,
  secret_sealed TEXT NOT NULL
) STRICT`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
