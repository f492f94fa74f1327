/** Redemption codes may expire. */
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE redemptions ADD COLUMN expires_at bigint NOT NULL DEFAULT 0`.execute(db);
}
