/** Statements of the API over a file are prepared once, and read as the tables are now. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openDatabase, type SqliteDatabase } from '../../db/open.ts';

let dir: string;
let database: SqliteDatabase;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kept-statements-'));
  database = openDatabase(join(dir, 'one.db'));
  database.raw.exec("CREATE TABLE pairs (name TEXT PRIMARY KEY, value INTEGER); INSERT INTO pairs VALUES ('a', 1)");
});
afterEach(async () => {
  await database.close();
  rmSync(dir, { recursive: true });
});

const rowsOf = async (text: string, ...values: readonly unknown[]) => {
  const chunks = text.split('?');
  return (await sql(Object.assign(chunks, { raw: chunks }), ...values).execute(database.query)).rows;
};

test('the same text is prepared once, and answers each question with its own values, also several at once', async () => {
  const prepare = vi.spyOn(database.raw, 'prepare');
  await rowsOf('INSERT INTO pairs VALUES (?, ?)', 'b', 2);
  await rowsOf('INSERT INTO pairs VALUES (?, ?)', 'c', 3);
  expect(
    await Promise.all(['a', 'c', 'none', 'b'].map((name) => rowsOf('SELECT value FROM pairs WHERE name = ?', name))),
  ).toEqual([[{ value: 1 }], [{ value: 3 }], [], [{ value: 2 }]]);
  expect(prepare).toHaveBeenCalledTimes(2);
});

test('a statement that failed runs again', async () => {
  const insert = (name: string) => rowsOf('INSERT INTO pairs VALUES (?, 5) RETURNING value', name);
  await expect(insert('a')).rejects.toThrow('UNIQUE');
  expect(await insert('d')).toEqual([{ value: 5 }]);
  await expect(insert('d')).rejects.toThrow('UNIQUE');
});

test('columns that this or another connection has added or taken away meanwhile are those that it reads', async () => {
  const all = () => rowsOf('SELECT * FROM pairs');
  expect(await all()).toEqual([{ name: 'a', value: 1 }]);
  database.raw.exec("ALTER TABLE pairs ADD COLUMN more TEXT DEFAULT 'x'");
  expect(await all()).toEqual([{ name: 'a', value: 1, more: 'x' }]);
  const other = openDatabase(join(dir, 'one.db'));
  other.raw.exec('ALTER TABLE pairs DROP COLUMN value');
  await other.close();
  expect(await all()).toEqual([{ name: 'a', more: 'x' }]);
});

test('64 are kept, the one that was used longest ago leaves first, and long ones are not', async () => {
  const ask = (number: number) => rowsOf(`SELECT ${number} AS number`);
  for (let number = 0; number < 64; number++) await ask(number);
  await ask(0);
  await ask(64);
  const prepare = vi.spyOn(database.raw, 'prepare');
  for (const number of [0, 2, 64]) expect(await ask(number)).toEqual([{ number }]);
  expect(prepare).not.toHaveBeenCalled();
  expect(await ask(1)).toEqual([{ number: 1 }]);
  expect(prepare).toHaveBeenCalledTimes(1);
  const long = `SELECT value FROM pairs WHERE name IN (${Array.from({ length: 2000 }, () => "''").join(', ')}, 'a')`;
  for (let time = 0; time < 2; time++) expect(await rowsOf(long)).toEqual([{ value: 1 }]);
  expect(prepare).toHaveBeenCalledTimes(3);
});
