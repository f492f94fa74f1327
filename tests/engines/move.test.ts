/** A site that is moved from a file to a server and back, over whatever server this run has. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import { moveSite } from '../../db/move/move.ts';
import { postgresEnd } from '../../db/move/postgres-end.ts';
import { sqliteEnd } from '../../db/move/sqlite-end.ts';
import { movedTables } from '../../db/move/tables.ts';
import type { SqliteDatabase } from '../../db/open.ts';
import type { PostgresDatabase } from '../../db/postgres/open.ts';
import { addUsers, grant, settle } from '../ledger/support.ts';
import { postgres, rowsOf } from '../support/engines.ts';
import { openMigrated } from '../support/migrated.ts';

const dir = mkdtempSync(join(tmpdir(), 'gateway-move-engine-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const contentOf = ({ raw }: SqliteDatabase, { name, key }: (typeof movedTables)[number]) =>
  raw.prepare<unknown[]>(`SELECT * FROM ${name} ORDER BY ${key.join()}`).raw().all();

test('there and back every row is the same, numbers go on, what was settled counts once, and no other site follows', async () => {
  const from = await openMigrated(join(dir, 'site.db'));
  addUsers(from.raw, 1, 2, 3);
  from.raw.exec('DELETE FROM users WHERE id = 3');
  createLedgerStore(from.raw).apply([grant('g', 1, 50), settle('a', 1, 20), settle('b', 1, 40), settle('c', 2, 0)]);
  const server = (await postgres.open()) as PostgresDatabase;
  from.raw.exec(
    `INSERT INTO budgets (holder, period, unit, amount, created_at, updated_at) VALUES ('site', 'day', 'money', 1, 1, 1);
     INSERT INTO budget_use (budget_id, window_at, used) VALUES (1, 0, 60), (1, 86400, 20)`,
  );
  const there = await moveSite({ from: sqliteEnd(from), to: postgresEnd(server), batch: 2 });
  await expect(moveSite({ from: sqliteEnd(from), to: postgresEnd(server) })).rejects.toMatchObject({
    code: 'move_not_empty',
  });

  const nextOf = async (table: string) =>
    (await rowsOf<{ n: number }>(server, `SELECT nextval(pg_get_serial_sequence('${table}', 'id')) AS n`))[0]?.n;
  // Not the number of the user who is gone.
  expect(await Promise.all(['users', 'channels', 'logs', 'audit'].map(nextOf))).toEqual([4, 4, 4, 1]);
  expect(await rowsOf(server, 'SELECT ref, asked, paid FROM ends ORDER BY ref')).toEqual([
    { ref: 'a', asked: 20, paid: 20 },
    { ref: 'b', asked: 40, paid: 30 },
    { ref: 'c', asked: 0, paid: 0 },
  ]);

  const back = await openMigrated(join(dir, 'back.db'));
  const again = await moveSite({ from: postgresEnd(server), to: sqliteEnd(back), batch: 3 });
  expect(again.tables).toEqual(there.tables);
  for (const table of movedTables) expect(contentOf(back, table), table.name).toEqual(contentOf(from, table));
  await Promise.all([from.close(), server.close(), back.close()]);
});
