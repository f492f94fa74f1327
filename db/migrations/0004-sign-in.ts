/** Passwords that nobody knows are told apart; people of an OIDC provider are named together with their issuer. */
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // 1 = made for an account that another service vouches for.
  await sql`ALTER TABLE users ADD COLUMN password_made INTEGER NOT NULL DEFAULT 0`.execute(db);
  await sql`ALTER TABLE users ADD COLUMN oidc_issuer TEXT NOT NULL DEFAULT ''`.execute(db);
  // Their issuer was never asked. What is known is where their codes were exchanged; the issuer that answers there takes its place.
  await sql`UPDATE users SET oidc_issuer = 'endpoint:' || coalesce((SELECT value FROM options WHERE key = 'oidc.token_endpoint'), '') WHERE oidc_id <> ''`.execute(
    db,
  );
  await sql`DROP INDEX users_oidc`.execute(db);
  await sql`CREATE UNIQUE INDEX users_oidc ON users (oidc_issuer, oidc_id) WHERE oidc_id <> ''`.execute(db);
}
