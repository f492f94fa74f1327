/** Items of answers in their file: whose they are, how long, how many, and after a restart. */
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createKeptItems } from '../../db/kept-items.ts';
import { type Database, openDatabase } from '../../db/open.ts';

const dayMs = 86_400_000;
let dir: string;
let database: Database;
let now: number;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-items-'));
  database = openDatabase(join(dir, 'gateway.db'));
  now = 1_000_000;
});
afterEach(async () => {
  await database.close();
  rmSync(dir, { recursive: true, force: true });
});

const open = (limits?: Parameters<typeof createKeptItems>[2]) => createKeptItems(database, () => now, limits);
const item = (id: string, size = 10) => ({ id, sealed: 'x'.repeat(size) });

test('stay through a restart, in a file that only its owner reads', async () => {
  const first = open();
  expect(existsSync(join(dir, 'answers.db'))).toBe(false);
  await first.keepItems(1, [item('a'), item('b')], 30);
  first.closeItems();
  const second = open();
  expect(await second.keptItems(1, ['b', 'a', 'c'])).toHaveLength(2);
  expect(await second.keptItems(2, ['a', 'b'])).toEqual([]);
  expect(statSync(join(dir, 'answers.db')).mode & 0o077).toBe(0);
  second.closeItems();
});

test('end with their days', async () => {
  const items = open();
  await items.keepItems(1, [item('a')], 2);
  now += 2 * dayMs - 1;
  expect(await items.keptItems(1, ['a'])).toHaveLength(1);
  now += 1;
  expect(await items.keptItems(1, ['a'])).toEqual([]);
  items.closeItems();
});

test('the oldest items of a user with many go first, and then of all', async () => {
  const items = open({ perUser: 25, inAll: 45, owners: 3 });
  const keep = async (user: number, id: string) => {
    now += 60_000;
    await items.keepItems(user, [item(id)], 30);
  };
  for (const id of ['a', 'b', 'c']) await keep(1, id);
  expect((await items.keptItems(1, ['a', 'b', 'c'])).map(({ id }) => id).toSorted()).toEqual(['b', 'c']);
  for (const user of [2, 3]) for (const id of ['d', 'e']) await keep(user, id);
  expect(await items.keptItems(1, ['b', 'c'])).toEqual([]);
  expect(await items.keptItems(2, ['d', 'e'])).toHaveLength(2);
  items.closeItems();
});

test('the operator may allow fewer days afterwards, or none', async () => {
  const items = open();
  await items.sweepItems(30);
  expect(existsSync(join(dir, 'answers.db'))).toBe(false);
  await items.keepItems(1, [item('a')], 30);
  await items.sweepItems(30);
  expect(await items.keptItems(1, ['a'])).toHaveLength(1);
  await items.sweepItems(0);
  expect(await items.keptItems(1, ['a'])).toEqual([]);
  items.closeItems();
});

test('owners stay through a restart and thirty days, the last word holds, the newest are kept', async () => {
  const first = open({ perUser: 25, inAll: 45, owners: 3 });
  expect(await first.ownersOf(['a'])).toEqual([]);
  await first.keepOwners([{ id: 'a', ownerId: 1, channelId: 2 }]);
  first.closeItems();
  const items = open({ perUser: 25, inAll: 45, owners: 3 });
  expect(await items.ownersOf(['a', 'b'])).toEqual([{ id: 'a', ownerId: 1, channelId: 2 }]);
  await items.keepOwners([{ id: 'a', ownerId: 3, channelId: 4 }]);
  expect(await items.ownersOf(['a'])).toEqual([{ id: 'a', ownerId: 3, channelId: 4 }]);
  // Thinking better of items is no word about owners.
  await items.sweepItems(0);
  now += 30 * dayMs - 1;
  expect(await items.ownersOf(['a'])).toHaveLength(1);
  now += 1;
  expect(await items.ownersOf(['a'])).toEqual([]);
  for (const id of ['b', 'c', 'd', 'e']) {
    now += 60_000;
    await items.keepOwners([{ id, ownerId: 1, channelId: 1 }]);
  }
  expect((await items.ownersOf(['a', 'b', 'c', 'd', 'e'])).map(({ id }) => id).toSorted()).toEqual(['c', 'd', 'e']);
  items.closeItems();
});
