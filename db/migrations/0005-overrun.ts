/** What settlements cost beyond a balance lies in an account of its own; balances that went below zero are brought to it. */
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE accounts ADD COLUMN overrun INTEGER NOT NULL DEFAULT 0`.execute(db);
  await sql`INSERT INTO accounts (id) VALUES (-6)`.execute(db);
  await sql`CREATE INDEX postings_overrun ON postings (at) WHERE kind = 'overrun'`.execute(db);
  await sql`INSERT INTO postings (ref, debit, credit, amount, kind, at)
    SELECT 'overrun:upgrade:' || id, -3, id, min(-balance, 1000000000000000), 'overrun', unixepoch()
    FROM accounts WHERE id > 0 AND balance < 0`.execute(db);
  await sql`UPDATE accounts SET balance = balance - (SELECT coalesce(sum(amount), 0) FROM postings WHERE debit = -3)
    WHERE id = -3`.execute(db);
  await sql`UPDATE accounts SET overrun = min(-balance, 1000000000000000), version = version + 1,
      balance = balance + min(-balance, 1000000000000000)
    WHERE id > 0 AND balance < 0`.execute(db);
}
