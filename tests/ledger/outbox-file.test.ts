/** What a node keeps for books that it cannot reach, in files of its own. */
import { closeSync, existsSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type DamagedFile, openAcknowledgedFile, openOutboxFile } from '../../db/outbox-file.ts';
import { diskFolder } from '../support/disk-folder.ts';
import { settle } from './support.ts';

let dir: string;
let file: string;
beforeEach(() => {
  dir = diskFolder('outbox');
  file = join(dir, 'node.outbox');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('owed rows stay in order until they are removed, and numbers are never given again', () => {
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

/** Bytes that no page of a database has, from one place to another, written into the file as it is. */
function damage(path: string, from: number, to = statSync(path).size): void {
  const bytes = Buffer.alloc(Math.min(to, statSync(path).size) - from, 0xa5);
  const opened = openSync(path, 'r+');
  writeSync(opened, bytes, 0, bytes.length, from);
  closeSync(opened);
}

test('copies that are damaged are set aside and begun anew at the start: no database, a damaged page', () => {
  const found: DamagedFile[] = [];
  const mark = (seq: number) => ({ epoch: 3, run: 'x', seq });
  const opened = () => openAcknowledgedFile(file, undefined, undefined, (damaged) => found.push(damaged));
  writeFileSync(file, Buffer.alloc(20_000, 0xa5), { mode: 0o600 });
  let kept = opened();
  expect(found).toMatchObject([{ path: `${file}.damaged-1`, read: 0 }]);
  expect(readFileSync(`${file}.damaged-1`)).toEqual(Buffer.alloc(20_000, 0xa5));
  for (let seq = 1; seq <= 200; seq++) kept.insert(mark(seq), seq, [settle(`r${seq}`, 1, 1)]);
  kept.close();
  damage(file, 3 * 4096, 5 * 4096);
  kept = opened();
  expect(found[1]).toMatchObject({ path: `${file}.damaged-2`, detail: expect.stringContaining('age') });
  expect(kept.marks()).toEqual([]);
  kept.insert(mark(1), 1, [settle('a', 1, 1)]);
  expect(kept.since(mark(0)).map(({ ref }) => ref)).toEqual(['a']);
  kept.close();
  expect(opened().marks()).toEqual([mark(1)]);
  expect(found).toHaveLength(2);
});

test('copies that are damaged while a node runs are set aside, and the batch in hand is kept in the new file', () => {
  const found: DamagedFile[] = [];
  const mark = (seq: number) => ({ epoch: 3, run: 'x', seq });
  const kept = openAcknowledgedFile(file, undefined, undefined, (damaged) => found.push(damaged));
  const long = { ...settle('r', 1, 1), model: 'm'.repeat(20_000) };
  // More than the driver keeps in memory.
  for (let seq = 1; seq <= 400; seq++) kept.insert(mark(seq), seq, [long]);
  for (const path of [file, `${file}-wal`]) damage(path, 0);
  expect(kept.since(mark(0))).toEqual([]);
  expect(found).toMatchObject([{ path: `${file}.damaged-1` }]);
  kept.insert(mark(401), 401, [settle('a', 1, 1)]);
  expect(kept.marks()).toEqual([mark(401)]);
  kept.close();
});

test('an outbox that is damaged keeps what can be read on both sides of the damage', () => {
  const found: DamagedFile[] = [];
  const refs = Array.from({ length: 400 }, (_, at) => `r${at}`);
  const outbox = openOutboxFile(file);
  outbox.insert(refs.map((ref) => settle(ref, 1, 10)));
  outbox.close();
  const size = statSync(file).size;
  damage(file, Math.floor(size / 2 / 4096) * 4096, Math.floor(size / 2 / 4096 + 2) * 4096);
  const again = openOutboxFile(file, undefined, (damaged) => found.push(damaged));
  const [{ path = '', read = 0 } = {}] = found;
  expect(found).toHaveLength(1);
  expect(existsSync(path)).toBe(true);
  const left = again.after(0, 1000).map(({ command }) => JSON.parse(command).ref as string);
  expect(left).toHaveLength(read);
  expect(left.slice(0, 100)).toEqual(refs.slice(0, 100));
  expect(left.slice(-100)).toEqual(refs.slice(-100));
  expect(read).toBeGreaterThan(350);
  again.close();
});

test('an outbox that is no database at all is set aside, and the node starts with an empty one', () => {
  const found: DamagedFile[] = [];
  writeFileSync(file, Buffer.alloc(9000, 0xa5), { mode: 0o600 });
  const outbox = openOutboxFile(file, undefined, (damaged) => found.push(damaged));
  expect([outbox.count(), found]).toMatchObject([0, [{ path: `${file}.damaged-1`, read: 0 }]]);
  expect(outbox.insert([settle('a', 1, 10)])).toEqual([1]);
  outbox.close();
});

test('a file that is not damaged is not set aside', () => {
  const first = openOutboxFile(file);
  first.insert([settle('a', 1, 10)]);
  expect(() => openOutboxFile(file, undefined, () => expect.unreachable())).toThrow(
    expect.objectContaining({ code: 'SQLITE_BUSY' }),
  );
  first.close();
  expect(existsSync(`${file}.damaged-1`)).toBe(false);
});
