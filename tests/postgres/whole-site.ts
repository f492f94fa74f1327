/** A site with everything in it that repositories can write, and what the ledger alone does. */
import { listening } from '../engines/recording.ts';
import { fillLog, keysAndChannels, paper, people, signingIn, start } from '../engines/walk.ts';
import { openMigrated } from '../support/migrated.ts';

export async function makeSite(file: string): Promise<string> {
  const database = await openMigrated(file);
  const { repositories } = listening(database);
  for (const walk of [people, signingIn, keysAndChannels, paper]) await walk(repositories);
  await fillLog(database, 'usage_hours');
  database.raw.exec(`UPDATE accounts SET balance = 9007199254740991, used_quota = 5, version = 3 WHERE id = 1;
    UPDATE accounts SET balance = -7 WHERE id = -1;
    INSERT INTO accounts (id, balance) VALUES (-1001, 5);
    INSERT INTO holds VALUES ('open', 2, 1, 1, 10, 4, 6, ${start}, '{}');
    INSERT INTO meta VALUES ('ledger_epoch', '6');
    INSERT INTO recovery_codes VALUES (2, 'code');
    INSERT INTO second_factors VALUES (2, 'sealed', 1, 1);
    INSERT INTO postings (ref, debit, credit, amount, kind, at) VALUES ('20260601req1', 2, -2, 50, 'settle', ${start}), ('old', 2, -2, 9, 'settle', 1);
    UPDATE logs SET content = 'a' || char(0) || 'b' WHERE id = 3;
    DELETE FROM price_versions;`);
  await database.close();
  return file;
}
