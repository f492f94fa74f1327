/** Pages of tokens are counted and skipped in the index alone: tokens that were deleted are not in it. */
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`DROP INDEX tokens_user`.execute(db);
  await sql`CREATE INDEX tokens_live ON tokens (user_id, id) WHERE deleted_at IS NULL`.execute(db);
}
