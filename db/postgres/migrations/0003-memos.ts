/** What lives for minutes and every node has to know; on SQLite it lies in the memory of the one process. */
import { type Kysely, sql } from 'kysely';

const statements = [
  // In no log: nobody who guesses makes a disk wait. After a crash of the server it is empty, as a process is that starts anew.
  `CREATE UNLOGGED TABLE memos (
  purpose text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  holder text COLLATE "C" NOT NULL DEFAULT '',
  value text COLLATE "C" NOT NULL DEFAULT '',
  count bigint NOT NULL DEFAULT 0,
  until_ms bigint NOT NULL,
  PRIMARY KEY (purpose, key, holder)
)`,
  'CREATE INDEX memos_until ON memos (until_ms)',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
