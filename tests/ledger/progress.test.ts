/** What a damaged log loses is noticed at the next start. */
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import { openDatabase } from '../../db/open.ts';
import { createProgress, progressFile } from '../../server/billing/ledger/progress.ts';
import { diskFolder } from '../support/disk-folder.ts';
import { openMigrated } from '../support/migrated.ts';

let dir: string;
beforeEach(() => {
  dir = diskFolder('progress');
});
afterEach(() => rmSync(dir, { recursive: true }));

const grant = (n: number) => ({ type: 'grant', ref: `g${n}`, userId: 1, amount: 5, at: 1, log: null }) as const;

test('a flipped byte in the middle of the log is reported with the number of missing postings', async () => {
  const file = join(dir, 'gateway.db');
  const database = await openMigrated(file);
  database.raw.exec('INSERT INTO accounts (id) VALUES (1)');
  database.raw.pragma('wal_checkpoint(TRUNCATE)');
  const store = createLedgerStore(database.raw);
  const progress = createProgress(file, store, () => 1000);
  expect(progress.missing()).toBeNull();
  for (let n = 0; n < 40; n++) store.apply([grant(n)]);
  const whole = store.lastPosting();
  expect(whole).toBeGreaterThanOrEqual(40);
  progress.note();
  expect(progress.missing()).toBeNull();

  const copy = join(dir, 'copy.db');
  copyFileSync(file, copy);
  const log = readFileSync(`${file}-wal`);
  const at = Math.floor(log.length / 2);
  log[at] = (log[at] ?? 0) ^ 0xff;
  writeFileSync(`${copy}-wal`, log);
  copyFileSync(progressFile(file), progressFile(copy));
  const damaged = openDatabase(copy, {});
  const left = createLedgerStore(damaged.raw);
  expect(left.lastPosting()).toBeLessThan(whole);
  expect(createProgress(copy, left, () => 2000).missing()).toEqual({ postings: whole - left.lastPosting(), at: 1000 });
  await damaged.close();
  await database.close();
});

test('an unreadable note is ignored', () => {
  const file = join(dir, 'gateway.db');
  for (const text of ['', '{', '{"last":"x","at":1}', '{"last":"5","at":1}', '{"last":5,"at":"1"}', '[]']) {
    writeFileSync(progressFile(file), text);
    expect(createProgress(file, { lastPosting: () => 0 }, () => 1).missing()).toBeNull();
  }
});
