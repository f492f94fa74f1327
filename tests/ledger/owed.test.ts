import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import { pendingFiles, settlePending, writePending } from '../../server/billing/ledger/pending.ts';
import { recover } from '../../server/billing/ledger/recovery.ts';
import { addUsers, balanceOf, grant, openBooks, reserve, settle, violations } from './support.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'owed-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const place = (name: string) => {
  mkdirSync(join(dir, name), { recursive: true });
  return { dir: join(dir, name), name: 'gateway.owed-' };
};
const state = async () => {
  const database = await openBooks();
  addUsers(database.raw, 1);
  const store = createLedgerStore(database.raw);
  store.apply([grant('g', 1, 1000)]);
  return { database, store };
};

test('what is owed goes to the next place when the first is full, and is settled once whatever of it was written before', async () => {
  const { database, store } = await state();
  const places = [{ dir: join(dir, 'not there'), name: 'gateway.owed-' }, place('other')];
  const path = await writePending(places, '1', [settle('a', 1, 10), settle('b', 1, 20), reserve('c', 1, 5)]);
  expect(path).toBe(join(dir, 'other', 'gateway.owed-1.jsonl'));
  expect(readFileSync(path, 'utf8').trim().split('\n')).toHaveLength(3);
  store.apply([settle('a', 1, 10)]);
  expect(settlePending(store, places)).toEqual({ settled: 1, files: [path], rejected: [], kept: [] });
  expect(recover(store)).toMatchObject({ settled: 1 });
  expect(balanceOf(database.raw, 1)).toBe(1000 - 10 - 20 - 5);
  expect(readdirSync(join(dir, 'other'))).toEqual([]);
  expect(settlePending(store, places).files).toEqual([]);
  expect(violations(database)).toEqual([]);
  await database.close();
});

test('a settlement that the rules reject is reported and its line is kept', async () => {
  const { database, store } = await state();
  const places = [place('one')];
  const path = await writePending(places, '1', [settle('a', 1, 10), settle('b', 1, 20)]);
  store.apply([settle('b', 1, 7)]);
  expect(settlePending(store, places)).toEqual({
    settled: 1,
    files: [path],
    rejected: ['b: conflict'],
    kept: [`${path}.refused`],
  });
  expect(pendingFiles(places)).toEqual([]);
  await database.close();
});

test('a file that others could have written is not read', () => {
  const one = place('one');
  const path = join(one.dir, 'gateway.owed-1.jsonl');
  writeFileSync(path, '', { mode: 0o600 });
  expect(pendingFiles([one])).toEqual([path]);
  chmodSync(path, 0o666);
  expect(pendingFiles([one])).toEqual([]);
});
