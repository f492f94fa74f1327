/** What a node keeps for books that it cannot reach, in files of its own. */
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openAcknowledgedFile, openOutboxFile } from '../../db/outbox-file.ts';
import { settle } from './support.ts';

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'outbox-'));
  file = join(dir, 'node.outbox');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('what is owed is kept in order until it is removed, and numbers are never given again', () => {
  const outbox = openOutboxFile(file);
  expect(outbox.insert([settle('a', 1, 10), settle('b', 1, 20)])).toEqual([1, 2]);
  expect(outbox.after(0, 1).map(({ command }) => JSON.parse(command).ref)).toEqual(['a']);
  expect(outbox.after(1, 9).map(({ number }) => number)).toEqual([2]);
  outbox.remove([1, 2]);
  expect(outbox.count()).toBe(0);
  outbox.close();
  const again = openOutboxFile(file);
  expect(again.insert([settle('c', 1, 30)])).toEqual([3]);
  expect(again.count()).toBe(1);
  again.close();
});

test('a file is appended to, belongs to one process and to its user alone', () => {
  const outbox = openOutboxFile(file);
  outbox.insert([settle('a', 1, 10)]);
  // Writing a page twice and removing a journal for each batch costs three waits for the disk.
  expect(existsSync(`${file}-wal`)).toBe(true);
  expect(existsSync(`${file}-journal`)).toBe(false);
  expect(statSync(file).mode & 0o077).toBe(0);
  expect(() => openOutboxFile(file)).toThrow(expect.objectContaining({ code: 'SQLITE_BUSY' }));
  outbox.close();
});

test('acknowledged batches are known by run and number, the later ones of a run can be taken back', () => {
  const mark = (run: string, seq: number) => ({ epoch: 3, run, seq });
  const kept = openAcknowledgedFile(file);
  expect(kept.newest()).toBe(0);
  kept.insert(mark('x', 1), 100, [settle('a', 1, 1)]);
  kept.insert(mark('x', 2), 101, [settle('b', 1, 1), settle('c', 1, 1)]);
  kept.insert(mark('y', 1), 90, [settle('d', 1, 1)]);
  expect(kept.newest()).toBe(101);
  expect(kept.since(mark('x', 1)).map(({ ref }) => ref)).toEqual(['b', 'c']);
  expect(kept.marks()).toEqual([mark('x', 2), mark('y', 1)]);
  kept.removeSince(mark('x', 1));
  expect(kept.marks()).toEqual([mark('x', 1), mark('y', 1)]);
  kept.deleteBefore(100);
  expect(kept.marks()).toEqual([mark('x', 1)]);
  kept.check();
  kept.remove(mark('x', 1));
  expect(kept.marks()).toEqual([]);
  kept.close();
});
