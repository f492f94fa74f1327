/** What nodes tell each other, for those who hear no NOTIFY: a few seconds of it, which a crash of the server may forget. */
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`CREATE UNLOGGED TABLE node_messages (
    text text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`.execute(db);
}
