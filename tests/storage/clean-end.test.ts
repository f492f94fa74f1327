/** A start looks through the whole file before it writes to it, unless the server that had it ended in order. */
import {
  appendFileSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { takeCleanEnd, writeCleanEnd } from '../../db/clean-end.ts';
import { startDatabaseCheck } from '../../server/threads/database-check/thread.ts';
import { createSite, type Site } from './support.ts';

let site: Site;
let database: string;
let note: string;

beforeEach(async () => {
  site = createSite();
  await site.setUp('http://127.0.0.1:9');
  database = join(site.dataDir, 'gateway.db');
  note = `${database}.clean`;
});
afterEach(() => site.close());

const ended = async (signal: 'SIGTERM' | 'SIGKILL') => {
  const serving = await site.serve();
  expect(existsSync(note)).toBe(false);
  serving.child.kill(signal);
  await serving.ended();
  return serving;
};

/** On a busy machine one may be stopped while it looks through the file: then nothing is said. */
const endedInOrder = () =>
  expect
    .poll(async () => {
      await ended('SIGTERM');
      return existsSync(note);
    })
    .toBe(true);

test('a server that ends in order says so, a command in between keeps it, and one that is killed says nothing', async () => {
  await endedInOrder();
  await site.ok(['option', 'set', 'Notice=x']);
  expect(existsSync(note)).toBe(true);
  await ended('SIGKILL');
  expect(existsSync(note)).toBe(false);
  // What was not known to be sound stays so.
  await site.ok(['option', 'set', 'Notice=y']);
  expect(existsSync(note)).toBe(false);
});

test('the note is true of the file as it was left alone, and is gone once it was read', async () => {
  await endedInOrder();
  const text = readFileSync(note, 'utf8');
  expect(takeCleanEnd(database)).toBe(true);
  expect(existsSync(note)).toBe(false);
  expect(takeCleanEnd(database)).toBe(false);
  for (const touch of [
    () => writeFileSync(note, text.slice(0, 9)),
    () => utimesSync(database, 1, 1),
    () => appendFileSync(database, Buffer.alloc(1)),
    () => writeFileSync(`${database}-wal`, 'x'),
  ]) {
    writeFileSync(note, text);
    touch();
    expect(takeCleanEnd(database)).toBe(false);
    expect(existsSync(note)).toBe(false);
  }
  // A log that lies beside the file belongs to what the note is true of.
  writeCleanEnd(database);
  appendFileSync(`${database}-wal`, 'x');
  expect([existsSync(note), takeCleanEnd(database)]).toEqual([true, false]);
});

test('a server that ends while somebody reads the file, as the look through it does, says that it ended in order; what is written then makes it untrue', async () => {
  await endedInOrder();
  const { Database } = await import('bun:sqlite');
  const serving = await site.serve();
  const reader = new Database(database);
  reader.run('BEGIN');
  reader.query('SELECT count(*) FROM users').get();
  serving.child.kill('SIGTERM');
  await serving.ended();
  expect([existsSync(note), statSync(`${database}-wal`).size > 0]).toEqual([true, true]);
  const text = readFileSync(note, 'utf8');
  expect(takeCleanEnd(database)).toBe(true);
  writeFileSync(note, text);
  reader.run('ROLLBACK');
  reader.run("UPDATE users SET display_name = 'another' WHERE id = 1");
  expect(takeCleanEnd(database)).toBe(false);
  reader.close();
});

test('a file that is damaged is not opened after a crash; after an end in order its damage is found while it serves, and sells nothing', async () => {
  await endedInOrder();
  const { Database } = await import('bun:sqlite');
  const opened = new Database(database);
  const [[root]] = opened.query("SELECT rootpage FROM sqlite_master WHERE name = 'redemptions'").values() as [[number]];
  const [[size]] = opened.query('PRAGMA page_size').values() as [[number]];
  opened.close();
  const target = openSync(database, 'r+');
  writeSync(target, Buffer.alloc(size, 0xa5), 0, size, (root - 1) * size);
  closeSync(target);
  const rejected = await site.run(['serve', '--port', '0']);
  expect([rejected.code, rejected.err]).toEqual([1, expect.stringContaining('damaged')]);

  writeCleanEnd(database);
  const serving = await site.serve();
  const ready = async () => (await fetch(`${serving.url}/readyz`)).status;
  await expect.poll(ready).toBe(503);
  serving.child.kill('SIGTERM');
  await serving.ended();
  expect(existsSync(note)).toBe(false);
});

test('a look that was stopped says that nobody has looked', async () => {
  const order = { file: database, nativeBinding: undefined };
  const stopped = startDatabaseCheck(order);
  stopped.stop();
  expect([await stopped.quick, stopped.hasLooked()]).toEqual([[], false]);
  const ended = startDatabaseCheck(order);
  expect([await ended.quick, ended.hasLooked()]).toEqual([[], true]);
  ended.stop();
  const fresh = startDatabaseCheck({ ...order, file: `${database}.none` });
  expect([await fresh.full, fresh.hasLooked()]).toEqual([[], true]);
});
