import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import { ReserveSpace, reservedFileSize } from '../../server/app/reserve-space.ts';
import { pendingFiles, settlePending, writePending } from '../../server/billing/ledger/pending.ts';
import { recover } from '../../server/billing/ledger/recovery.ts';
import { diskFolder } from '../support/disk-folder.ts';
import { addUsers, balanceOf, grant, openBooks, reserve, settle, violations } from './support.ts';

let dir: string;
beforeEach(() => {
  dir = diskFolder('owed');
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

test('owed rows go to the next place when the first is full, and are settled once whatever of them was written before', async () => {
  const { database, store } = await state();
  const places = [{ dir: join(dir, 'not there'), name: 'gateway.owed-' }, place('other')];
  const [path = ''] = await writePending(places, '1', [settle('a', 1, 10), settle('b', 1, 20), reserve('c', 1, 5)]);
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
  const [path = ''] = await writePending(places, '1', [settle('a', 1, 10), settle('b', 1, 20)]);
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

/** A folder that takes no new file under the name that is tried first, with reserved files of so many bytes. */
const fullPlace = (name: string, ...sizes: readonly number[]) => {
  const made = { ...place(name), reserve: 'gateway.reserve-' };
  // Where something stands already nothing is created, as on a full disk.
  mkdirSync(join(made.dir, 'gateway.owed-1.jsonl.part'));
  for (const [at, size] of sizes.entries())
    writeFileSync(join(made.dir, `gateway.reserve-${at + 1}`), 'x'.repeat(size), { mode: 0o600 });
  return made;
};
const linesIn = (paths: readonly string[]) =>
  paths
    .flatMap((path) => readFileSync(path, 'utf8').trim().split('\n'))
    .map((line) => (JSON.parse(line) as { ref: string }).ref);

test('lines take the blocks of reserved files where there is no room, whole lines in each, and the next start settles them', async () => {
  const { database, store } = await state();
  const length = `${JSON.stringify(settle('a', 1, 10))}\n`.length;
  const places = [fullPlace('full', 2 * length + 5, 4 * length)];
  const inode = statSync(join(dir, 'full', 'gateway.reserve-1')).ino;
  const paths = await writePending(
    places,
    '1',
    ['a', 'b', 'c'].map((ref) => settle(ref, 1, 10)),
  );
  expect(paths.map((path) => statSync(path).size)).toEqual([2 * length, length]);
  expect(statSync(paths[0] ?? '').ino).toBe(inode);
  expect(linesIn(paths)).toEqual(['a', 'b', 'c']);
  expect(settlePending(store, places)).toMatchObject({ settled: 3, rejected: [] });
  expect(readdirSync(join(dir, 'full'))).toEqual(['gateway.owed-1.jsonl.part']);
  expect(violations(database)).toEqual([]);
  await database.close();
});

test('rows beyond the reserved files go to the next place', async () => {
  const length = `${JSON.stringify(settle('a', 1, 10))}\n`.length;
  const places = [fullPlace('full', length), place('other')];
  const paths = await writePending(
    places,
    '1',
    ['a', 'b', 'c'].map((ref) => settle(ref, 1, 10)),
  );
  expect(paths).toEqual([join(dir, 'full', 'gateway.owed-1-1.jsonl'), join(dir, 'other', 'gateway.owed-1.jsonl')]);
  expect(linesIn(paths)).toEqual(['a', 'b', 'c']);
});

test('a reserved file that is taken meanwhile, or is smaller than a line, is passed over', async () => {
  const length = `${JSON.stringify(settle('a', 1, 10))}\n`.length;
  const places = [fullPlace('full', 3, 2 * length)];
  const [path = ''] = await writePending(places, '1', [settle('a', 1, 10)]);
  expect(linesIn([path])).toEqual(['a']);
});

test('the room of a reserved file that holds no line is taken by a file of its own', async () => {
  const places = [fullPlace('full', 3)];
  const paths = await writePending(places, '1', [settle('a', 1, 10)]);
  expect(paths).toEqual([join(dir, 'full', 'gateway.owed-1-1.jsonl')]);
  expect(linesIn(paths)).toEqual(['a']);
});

test('no reserve is written where it would end with the process: in memory, or where earlier builds wrote', async () => {
  if (process.platform !== 'linux') return;
  const memory = mkdtempSync('/dev/shm/owed-');
  try {
    const places = [
      { dir: memory, name: 'gateway.owed-', writes: 'persistent' as const },
      { ...place('former'), writes: 'never' as const },
    ];
    await expect(writePending(places, '1', [settle('a', 1, 10)])).rejects.toThrow(/may end with the process/);
    expect([readdirSync(memory), readdirSync(join(dir, 'former'))]).toEqual([[], []]);
    writeFileSync(join(dir, 'former', 'gateway.owed-1.jsonl'), '', { mode: 0o600 });
    expect(pendingFiles(places)).toEqual([join(dir, 'former', 'gateway.owed-1.jsonl')]);
  } finally {
    rmSync(memory, { recursive: true });
  }
});

test('a folder on a disk of its own takes them where the first takes none', async () => {
  const other = { ...place('other'), writes: 'persistent' as const };
  const paths = await writePending([{ dir: join(dir, 'not there'), name: 'x-' }, other], '1', [settle('a', 1, 10)]);
  expect(paths).toEqual([join(dir, 'other', 'gateway.owed-1.jsonl')]);
});

test('reserved space follows the requests under way and is made again when it was taken', async () => {
  const outbox = { ...place('own'), reserve: 'gateway.reserve-' };
  const printed: string[] = [];
  let open = 0;
  const space = new ReserveSpace({ outbox, relayThreads: 2, open: () => open, print: (line) => printed.push(line) });
  const files = () => readdirSync(outbox.dir).sort();
  await space.refill();
  expect(files()).toEqual(['gateway.reserve-1', 'gateway.reserve-2', 'gateway.reserve-3']);
  expect(statSync(join(outbox.dir, 'gateway.reserve-1'))).toMatchObject({ size: reservedFileSize });
  expect(statSync(join(outbox.dir, 'gateway.reserve-1')).mode & 0o777).toBe(0o600);
  open = 33;
  await space.refill();
  expect(files()).toHaveLength(5);
  open = 0;
  rmSync(join(outbox.dir, 'gateway.reserve-2'));
  await space.refill();
  expect(files()).toHaveLength(5);
  expect(printed).toEqual([]);
});

test('a disk without room for it is reported once, and again when there is some', async () => {
  const outbox = { dir: join(dir, 'later'), name: 'gateway.owed-', reserve: 'gateway.reserve-' };
  const printed: string[] = [];
  const space = new ReserveSpace({ outbox, relayThreads: 1, open: () => 0, print: (line) => printed.push(line) });
  await space.refill();
  await space.refill();
  expect(printed).toEqual([expect.stringContaining('no room could be reserved')]);
  place('later');
  await space.refill();
  expect(printed).toEqual([expect.any(String), expect.stringContaining('is there again')]);
});
