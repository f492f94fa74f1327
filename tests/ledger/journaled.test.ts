import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { writeMigrationBackup } from '../../db/database-file.ts';
import { journalFiles } from '../../db/journal/files.ts';
import { newJournal, openJournal, replayFiles, replayNotices } from '../../db/journal/replay.ts';
import { JournaledStore } from '../../db/ledger/sqlite/journaled.ts';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import { openDatabase, type SqliteDatabase } from '../../db/open.ts';
import { newestSqlite } from '../../db/schema/migrations.ts';
import type { LedgerCommand, LedgerResult, MoneyEvent } from '../../server/billing/ledger/commands.ts';
import { LedgerEngine, type StoreHealth } from '../../server/billing/ledger/engine.ts';
import { settlePending } from '../../server/billing/ledger/pending.ts';
import type { LedgerStore } from '../../server/billing/ports.ts';
import type { AppError } from '../../server/contract/errors.ts';
import { restoreBackup } from '../../server/domain/backup/restore.ts';
import { diskFolder } from '../support/disk-folder.ts';
import { turn, VirtualTime } from '../support/virtual-time.ts';
import { MemoryFile } from './journal-cuts.ts';
import {
  addUsers,
  balanceOf,
  breakable,
  deduct,
  grant,
  log,
  openBooks,
  reserve,
  settle,
  violations,
} from './support.ts';

const size = 64 * 1024;

/** Books with a journal, and an engine on them. */
async function opened({
  file = ':memory:',
  bytes = size,
  database,
  change = (store) => store,
}: {
  file?: string;
  bytes?: number;
  database?: SqliteDatabase;
  change?: (store: LedgerStore) => LedgerStore;
} = {}) {
  const books = database ?? (await openBooks(file));
  if (database === undefined) {
    addUsers(books.raw, 1, 2);
    createLedgerStore(books.raw).apply([grant('g', 1, 1000)]);
  }
  const disk = breakable(books.raw);
  const store = change(createLedgerStore(disk.raw));
  const files: [MemoryFile, MemoryFile] = [new MemoryFile(bytes), new MemoryFile(bytes)];
  const time = new VirtualTime();
  const events: MoneyEvent[] = [];
  const rejected: string[] = [];
  const health: StoreHealth[] = [];
  const journaled = new JournaledStore({
    store,
    onBalance: (event) => void events.push(event),
    onRejected: ({ ref }, { status }) => void rejected.push(`${ref} ${status}`),
    wanted: () => undefined,
    timers: time,
  });
  journaled.use(newJournal(files, store));
  const engine = new LedgerEngine({
    store: journaled,
    timers: time,
    onBalance: (event) => void events.push(event),
    onHealth: (one) => void health.push(one),
  });
  const execute = (command: LedgerCommand): Promise<LedgerResult | AppError> =>
    new Promise((resolve) => engine.submit(command, resolve));
  const postings = () =>
    books.raw.prepare<string>("SELECT ref FROM postings WHERE kind = 'settle' ORDER BY id").pluck().all();
  onTestFinished(() => books.close());
  return { books, disk, store, files, time, events, rejected, health, journaled, engine, execute, postings };
}

const done = { status: 'done' };

test('a settlement is acknowledged when the journal has it, and is in the tables a quarter of a second later', async () => {
  const { books, time, execute, postings, journaled } = await opened();
  const results = await Promise.all([execute(settle('a', 1, 5)), execute(settle('b', 1, 7))]);
  expect(results).toEqual([done, done]);
  expect(postings()).toEqual([]);
  await time.advance(249);
  expect(postings()).toEqual([]);
  await time.advance(1);
  expect(postings()).toEqual(['a', 'b']);
  expect(balanceOf(books.raw, 1)).toBe(988);
  expect(journaled.close()).toBe(true);
  expect(violations(books)).toEqual([]);
});

test('a thousand that wait are applied at once, in slices', async () => {
  const { time, execute, postings } = await opened({ bytes: 4 * 1024 * 1024 });
  await Promise.all(Array.from({ length: 1000 }, (_, at) => execute(settle(`r${at}`, 1, 1))));
  time.block(0);
  expect(postings()).toHaveLength(128);
  await time.advance(0);
  expect(postings()).toHaveLength(1000);
});

test('a command outside the journal finds everything before it in the tables', async () => {
  const { books, execute, postings, events } = await opened();
  await execute(settle('a', 1, 1500));
  expect(await execute(grant('more', 1, 600))).toEqual(done);
  expect(postings()).toEqual(['a']);
  // The overrun is paid back first: 500 of 600.
  expect(balanceOf(books.raw, 1)).toBe(100);
  expect(events.map((event) => (event.kind === 'balance' ? [event.delta, event.overrun] : null))).toEqual([
    [500, 500],
    [100, -500],
  ]);
  expect(await execute(deduct('too much', 1, 101))).toMatchObject({ status: 'refused', reason: 'insufficient' });
  expect(violations(books)).toEqual([]);
});

test('a repetition of what waits is answered by the tables', async () => {
  const { execute } = await opened();
  await execute(settle('a', 1, 5));
  expect(await execute(settle('a', 1, 5))).toEqual({ status: 'duplicate' });
  await execute(settle('b', 1, 5));
  expect(await execute(settle('b', 1, 6))).toEqual({ status: 'conflict' });
  const both = await Promise.all([execute(settle('c', 1, 5)), execute(settle('c', 1, 5))]);
  expect(both).toEqual([done, { status: 'duplicate' }]);
  const invalid = await Promise.all([
    execute({ ...settle('', 1, 5) }),
    execute(settle('d', 1, -1)),
    execute(reserve('e', 1, 0.5)),
  ]);
  expect(invalid.map((result) => 'status' in result && result.status)).toEqual(['refused', 'refused', 'refused']);
});

test('a settlement that the tables reject after it was acknowledged is reported', async () => {
  const { execute, time, rejected, postings } = await opened();
  await execute(settle('a', 1, 5));
  await time.advance(250);
  expect(await execute(settle('a', 1, 6))).toEqual(done);
  expect(await execute(settle('a', 2, 5))).toEqual({ status: 'conflict' });
  await time.advance(250);
  expect(rejected).toEqual(['a conflict']);
  expect(postings()).toEqual(['a']);
});

test('a note rides with the next batch, and is acknowledged meanwhile', async () => {
  const { books, execute, time } = await opened();
  expect(await execute({ type: 'note', ref: 'n', log: log('n', 1, 0) })).toEqual(done);
  const rows = () => books.raw.prepare('SELECT count(*) FROM logs').pluck().get();
  expect(rows()).toBe(0);
  await time.advance(250);
  expect(rows()).toBe(1);
});

test('a hold and its end in one batch leave no hold', async () => {
  const { books, execute, time } = await opened();
  await Promise.all([execute(reserve('h', 1, 3)), execute(settle('h', 1, 5)), execute(reserve('open', 1, 3))]);
  await time.advance(250);
  expect(books.raw.prepare('SELECT ref FROM holds').pluck().all()).toEqual(['open']);
});

test('while the tables take nothing no paid work is admitted, and what is under way is acknowledged; then all is well', async () => {
  const { disk, execute, time, health, engine, postings, journaled } = await opened();
  await execute(settle('a', 1, 5));
  disk.arm(1);
  await time.advance(250);
  expect(health).toEqual([{ ok: false, reason: 'database or disk is full' }]);
  expect(await execute(settle('b', 1, 5))).toEqual(done);
  const flushed: boolean[] = [];
  journaled.flush((isWhole) => void flushed.push(isWhole));
  expect(flushed).toEqual([false]);
  disk.disarm();
  await time.advance(1000);
  expect(engine.health()).toEqual({ ok: true });
  expect(health.at(-1)).toEqual({ ok: true });
  expect(postings()).toEqual(['a', 'b']);
});

test.each(['write', 'sync'] as const)(
  'a journal whose %s fails acknowledges nothing, stops paid work, and goes on in the other file',
  async (kind) => {
    const { files, execute, time, health, engine, postings } = await opened();
    await execute(settle('a', 1, 5));
    for (const file of files)
      file.fault = (at) => {
        if (at === kind) throw new Error('EIO: i/o error');
      };
    let answered = false;
    const pending = execute(settle('b', 1, 5)).then((result) => {
      answered = true;
      return result;
    });
    await turn();
    await turn();
    expect(health).toEqual([{ ok: false, reason: 'EIO: i/o error' }]);
    const refused = execute(grant('later', 1, 5));
    await time.advance(100);
    expect(await refused).toMatchObject({ code: 'storage_unavailable' });
    expect(answered).toBe(false);
    for (const file of files) file.fault = () => undefined;
    await time.advance(1000);
    expect(await pending).toEqual(done);
    expect(engine.health()).toEqual({ ok: true });
    await time.advance(1000);
    expect(postings()).toEqual(['a', 'b']);
  },
);

test('another connection that writes holds nobody up, and is reported after ten seconds', async () => {
  const folder = diskFolder('journaled');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'gateway.db');
  const { execute, time, health, postings } = await opened({ file });
  const other = openDatabase(file);
  onTestFinished(() => other.close());
  await execute(settle('a', 1, 5));
  other.raw.exec('BEGIN IMMEDIATE');
  await time.advance(5000);
  expect(await execute(settle('b', 1, 5))).toEqual(done);
  expect([health, postings()]).toEqual([[], []]);
  await time.advance(6000);
  expect(health).toEqual([{ ok: false, reason: 'what is confirmed does not reach the database' }]);
  expect(await execute(settle('c', 1, 5))).toEqual(done);
  other.raw.exec('COMMIT');
  await time.advance(1500);
  expect(health.at(-1)).toEqual({ ok: true });
  expect(postings()).toEqual(['a', 'b', 'c']);
});

test('while another connection writes, a full journal and a look at storage wait for it a moment at a time, and report it; then all is well', async () => {
  let busyMs = Number.NaN;
  let isLocked = false;
  const waits: number[] = [];
  const whileFree = <T>(work: () => T): T => {
    if (!isLocked) return work();
    waits.push(busyMs);
    throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' });
  };
  const { books, execute, time, health, engine, postings } = await opened({
    bytes: 4096,
    change: (store) => ({
      ...store,
      commits(durable, ms) {
        busyMs = ms;
        store.commits(durable, ms);
      },
      apply: (commands, journaled) => whileFree(() => store.apply(commands, journaled)),
      probe: () => whileFree(store.probe),
    }),
  });
  expect(await execute(settle('first', 1, 1))).toEqual(done);
  isLocked = true;
  const answered: string[] = ['first'];
  const refs = Array.from({ length: 40 }, (_, at) => `r${at}`);
  for (const ref of refs) {
    void execute(settle(ref, 1, 1)).then(() => answered.push(ref));
    await turn();
    await turn();
  }
  await time.advance(5000);
  expect(answered.length).toBeGreaterThan(5);
  expect(answered.length).toBeLessThan(refs.length);
  expect(health).toEqual([{ ok: false, reason: 'database is locked' }]);
  expect(Math.max(...waits)).toBe(250);
  expect(books.raw.pragma('busy_timeout', { simple: true })).toBe(busyMs);
  isLocked = false;
  await time.advance(2000);
  expect(engine.health()).toEqual({ ok: true });
  expect(answered.toSorted()).toEqual(['first', ...refs].toSorted());
  // Other work waits as long as it always did, and the looks that follow its refusal do not.
  isLocked = true;
  waits.length = 0;
  const refused = execute(grant('later', 1, 5));
  await time.advance(3000);
  expect(await refused).toMatchObject({ code: 'storage_unavailable' });
  expect(waits[0]).toBe(10_000);
  expect(Math.max(...waits.slice(1))).toBe(250);
  isLocked = false;
  await time.advance(2000);
  expect(postings().toSorted()).toEqual(answered.toSorted());
});

test('a full journal is emptied into the tables, and used again from its beginning', async () => {
  const { books, execute, postings, journaled, store } = await opened({ bytes: 4096 });
  for (let at = 0; at < 40; at++) expect(await execute(settle(`r${at}`, 1, 1))).toEqual(done);
  expect(postings().length).toBeGreaterThan(30);
  expect(journaled.close()).toBe(true);
  expect(postings()).toHaveLength(40);
  expect(store.journal().applied).toBe(40);
  expect(violations(books)).toEqual([]);
});

test('more than a file holds goes to the tables at once', async () => {
  const { execute, postings } = await opened({ bytes: 4096 });
  await Promise.all(Array.from({ length: 20 }, (_, at) => execute(settle(`r${at}`, 1, 1))));
  expect(postings()).toHaveLength(20);
});

test.each([
  ['four times what the batch before took', 3, 12],
  ['at most 20 ms', 6, 20],
  ['nothing where it took nothing', 0, 0],
])(
  'readers see what was acknowledged before they came; those that come later share a batch, which waits %s',
  async (_, tookMs, pauseMs) => {
    let time: VirtualTime | null = null;
    const { execute, postings, journaled, ...books } = await opened({
      change: (store) => ({
        ...store,
        apply: (commands, through) => {
          if (commands.length > 0) time?.jump(tookMs);
          return store.apply(commands, through);
        },
      }),
    });
    time = books.time;
    const flushed: string[] = [];
    const read = (name: string) =>
      journaled.flush((isWhole) => void flushed.push(`${name} ${isWhole} ${postings().length}`));
    read('first');
    await execute(settle('a', 1, 5));
    read('second');
    await time.advance(0);
    expect(flushed).toEqual(['first true 0', 'second true 1']);
    await execute(settle('b', 1, 5));
    read('third');
    read('fourth');
    if (pauseMs > 0) {
      await time.advance(pauseMs - 1);
      expect(flushed).toHaveLength(2);
    }
    await time.advance(1);
    expect(flushed).toEqual(['first true 0', 'second true 1', 'third true 2', 'fourth true 2']);
  },
);

test('a batch of several slices is waited for by what all of them took', async () => {
  let time: VirtualTime | null = null;
  const { execute, postings, journaled, ...books } = await opened({
    bytes: 4 * 1024 * 1024,
    change: (store) => ({
      ...store,
      apply: (commands, through) => {
        if (commands.length > 0) time?.jump(2);
        return store.apply(commands, through);
      },
    }),
  });
  time = books.time;
  await Promise.all(Array.from({ length: 200 }, (_, at) => execute(settle(`r${at}`, 1, 1))));
  journaled.flush(() => undefined);
  await time.advance(2);
  expect(postings()).toHaveLength(200);
  await execute(settle('late', 1, 1));
  journaled.flush(() => undefined);
  await time.advance(15);
  expect(postings()).toHaveLength(200);
  await time.advance(1);
  expect(postings()).toHaveLength(201);
});

test('a row that the schema rejects stops paid work by its name, and the next start goes on without it', async () => {
  const folder = diskFolder('journaled');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'gateway.db');
  const first = await opened({ file });
  first.books.raw.exec(
    "CREATE TRIGGER bad BEFORE INSERT ON postings WHEN new.ref = 'bad' BEGIN SELECT raise(ABORT, 'no'); END",
  );
  for (const ref of ['a', 'bad', 'c']) expect(await first.execute(settle(ref, 1, 5))).toEqual(done);
  await first.time.advance(300);
  expect(first.health).toEqual([{ ok: false, reason: 'bad: no' }]);
  expect(first.postings()).toEqual(['a']);
  expect(await first.execute(grant('later', 1, 5))).toMatchObject({ code: 'storage_unavailable' });
  expect(first.journaled.close()).toBe(false);
  layDown(file, first.files);
  const { replayed, journal } = openJournal(file, createLedgerStore(first.books.raw));
  journal?.close();
  expect(replayed.rejected).toEqual(['bad: no']);
  expect(replayed.settled).toBe(1);
  expect(first.postings()).toEqual(['a', 'c']);
  const [name = ''] = readdirSync(folder).filter((one) => one.endsWith('.refused'));
  expect(JSON.parse(readFileSync(join(folder, name), 'utf8'))).toMatchObject({ type: 'settle', ref: 'bad' });
  const again = openJournal(file, createLedgerStore(first.books.raw));
  again.journal?.close();
  expect(again.replayed).toMatchObject({ settled: 0, rejected: [] });
});

test('an opening makes the tables durable before the journal says that it holds nothing more', async () => {
  const { execute, time, store, files, postings } = await opened();
  await execute(settle('a', 1, 5));
  await time.advance(250);
  expect(postings()).toEqual(['a']);
  const steps: string[] = [];
  for (const file of files) file.written = () => void steps.push('journal');
  const { replayed, journal } = replayFiles(files, 'gateway.db', {
    ...store,
    apply(commands, journaled) {
      steps.push(`tables ${commands.length} ${journaled}`);
      return store.apply(commands, journaled);
    },
  });
  expect(replayed).toMatchObject({ settled: 0, isTorn: false });
  expect(steps).toEqual(['tables 0 1', 'journal']);
  expect(journal?.last).toBe(1);
  // Closed: nothing is written the next time.
  replayFiles(files, 'gateway.db', { ...store, apply: () => expect.fail('nothing is to be written') });
});

test('a journal of another database is refused, and moved aside where the database never had one', async () => {
  const { execute, files, books } = await opened();
  await execute(settle('a', 1, 5));
  const other = await openBooks();
  onTestFinished(() => other.close());
  const stranger = createLedgerStore(other.raw);
  expect(replayFiles(files, '/nowhere/gateway.db', stranger)).toMatchObject({
    journal: null,
    replayed: { settled: 0 },
  });
  expect(() => replayFiles(files, '/nowhere/gateway.db', stranger)).toThrow(
    expect.objectContaining({ code: 'journal_foreign' }),
  );
  expect(books.raw.prepare("SELECT count(*) FROM postings WHERE ref = 'a'").pluck().get()).toBe(0);
});

/** Beside the database, as the disk has them. */
function layDown(file: string, files: readonly MemoryFile[]): void {
  for (const [at, path] of journalFiles(file).entries()) {
    const bytes = Buffer.alloc(8 * 1024 * 1024);
    files[at]?.read().copy(bytes);
    writeFileSync(path, bytes, { mode: 0o600 });
  }
}

test('a damaged byte in the last confirmed batch is told at the next start, and so is one in a header; a whole journal says nothing', async () => {
  const flipped = async (at: (frames: Buffer) => number) => {
    const { execute, files, store } = await opened();
    for (const ref of ['a', 'b', 'c']) await execute(settle(ref, 1, 5));
    const bytes = files[0].read();
    const place = at(bytes);
    if (place >= 0) bytes[place] = (bytes[place] ?? 0) ^ 1;
    files[0].become(bytes);
    const { replayed } = replayFiles(files, '/nowhere/gateway.db', store);
    return { settled: replayed.settled, notices: replayNotices(replayed) };
  };
  expect(await flipped(() => -1)).toEqual({ settled: 3, notices: [] });
  const said = [{ zh: expect.any(String), en: expect.stringContaining('not whole') }];
  expect(await flipped((bytes) => bytes.lastIndexOf('"ref":"c"') + 8)).toEqual({ settled: 2, notices: said });
  expect(await flipped(() => 20)).toEqual({ settled: 3, notices: said });
});

test('confirmed charges of a file that is gone are refused with words, and those that an older copy of the database lacks are told', async () => {
  const { execute, files, store, time } = await opened({ bytes: 4096 });
  for (let at = 0; at < 8; at++) await execute(settle(`r${at}`, 1, 1));
  const last = files.map((file) => file.read().includes('"ref":"r7"'));
  const older = files[last.indexOf(false)];
  expect(older?.read().includes('"ref":"r0"')).toBe(true);
  older?.become(Buffer.alloc(4096));
  expect(() => replayFiles(files, '/nowhere/gateway.db', store)).toThrow(
    expect.objectContaining({ code: 'journal_damaged' }),
  );
  // Once they are in the tables, durable, the file is not needed.
  await time.advance(300);
  for (let at = 8; at < 24; at++) await execute(settle(`r${at}`, 1, 1));
  const copy = { ...store, journal: () => ({ ...store.journal(), applied: 0 }) };
  const { replayed } = replayFiles(files, '/nowhere/gateway.db', copy);
  expect(replayed.missing).toBeGreaterThan(0);
  expect(replayNotices(replayed).map(({ en }) => en)).toEqual([expect.stringContaining('older copy')]);
});

test('a journal that is moved aside is named, and an earlier one stays', async () => {
  const folder = diskFolder('journaled');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'gateway.db');
  const { execute, files } = await opened();
  await execute(settle('a', 1, 5));
  layDown(file, files);
  writeFileSync(join(folder, 'gateway.db.journal-1.foreign'), 'earlier');
  const books = await openBooks(file);
  const { replayed } = openJournal(file, createLedgerStore(books.raw));
  await books.close();
  expect(replayNotices(replayed).map(({ en }) => en)).toEqual([
    expect.stringContaining(`${file}.journal-1.foreign-2, ${file}.journal-2.foreign`),
  ]);
  expect(readFileSync(join(folder, 'gateway.db.journal-1.foreign'), 'utf8')).toBe('earlier');
});

test('while the tables take nothing, notes beyond a bound are dropped, and settlements are not', async () => {
  const { books, disk, execute, time, journaled } = await opened();
  const note = (ref: string) => ({ type: 'note' as const, ref, log: log(ref, 1, 0) });
  await execute(settle('a', 1, 5));
  disk.arm(1);
  await time.advance(250);
  expect(await execute(note('dropped'))).toEqual(done);
  expect(await execute(settle('b', 1, 5))).toEqual(done);
  disk.disarm();
  await time.advance(1000);
  for (let at = 0; at < 5_010; at += 1000)
    journaled.apply(Array.from({ length: 1000 }, (_, index) => note(`n${at + index}`)));
  expect(await execute(settle('c', 1, 5))).toEqual(done);
  journaled.flushNow();
  const rows = books.raw.prepare<string>('SELECT request_id FROM logs').pluck().all();
  expect(rows).not.toContain('dropped');
  expect(rows).toEqual(expect.arrayContaining(['a', 'b', 'c', 'n0']));
  expect(rows).toHaveLength(5003);
});

test('the copy before a migration takes along what only the journal has, and a restore owes it', async () => {
  const folder = diskFolder('journaled');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'gateway.db');
  const { execute, files, time, books } = await opened({ file });
  await execute(settle('before', 1, 5));
  await time.advance(250);
  await execute(settle('after', 1, 7));
  layDown(file, files);
  const copy = join(folder, 'copy.backup');
  const plan = { file: copy, drafts: [`${copy}.copy`, `${copy}.part`] as const, bytes: 0 };
  await writeMigrationBackup(books, plan, { schema: newestSqlite, version: 'v' });
  const target = join(folder, 'restored', 'gateway.db');
  mkdirSync(join(folder, 'restored'));
  await restoreBackup(copy, target, 'stamp', undefined);
  const names = readdirSync(join(folder, 'restored'));
  expect(names.toSorted()).toEqual(['gateway.db', 'gateway.owed-packed-stamp.jsonl']);
  const restored = openDatabase(target);
  onTestFinished(() => restored.close());
  const report = settlePending(createLedgerStore(restored.raw), [
    { dir: join(folder, 'restored'), name: 'gateway.owed-' },
  ]);
  expect(report).toMatchObject({ settled: 1, rejected: [] });
  expect(balanceOf(restored.raw, 1)).toBe(988);
  expect(restored.raw.prepare("SELECT key FROM meta WHERE key LIKE 'journal%'").pluck().all()).toEqual([]);
  expect(violations(restored)).toEqual([]);
});

test('a restore over a database of another schema keeps its journal beside it', async () => {
  const folder = diskFolder('journaled');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'gateway.db');
  const { execute, files, books } = await opened({ file });
  const copy = join(folder, 'copy.backup');
  const plan = { file: copy, drafts: [`${copy}.copy`, `${copy}.part`] as const, bytes: 0 };
  await writeMigrationBackup(books, plan, { schema: newestSqlite, version: 'v' });
  await execute(settle('a', 1, 5));
  layDown(file, files);
  books.raw.prepare('DELETE FROM kysely_migration WHERE name = ?').run(newestSqlite);
  await restoreBackup(copy, file, 'stamp', undefined);
  const names = readdirSync(folder).filter((name) => name.includes('journal-'));
  expect(names.toSorted()).toEqual(['gateway.db.before-stamp.journal-1', 'gateway.db.before-stamp.journal-2']);
});

test.each(['a batch', 'other work'] as const)(
  'after a sync of the tables failed under %s, no later sync counts until a checkpoint is whole: the journal keeps what it has, and other work waits',
  async (kind) => {
    let fails = false;
    let isWhole = false;
    const checkpoints: boolean[] = [];
    const { execute, files, time, health, engine } = await opened({
      change: (store) => ({
        ...store,
        apply(commands, journaled) {
          if (fails) throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' });
          return store.apply(commands, journaled);
        },
        checkpoint() {
          checkpoints.push(isWhole);
          return isWhole;
        },
      }),
    });
    await execute(settle('a', 1, 5));
    if (kind === 'other work') await time.advance(300);
    fails = true;
    if (kind === 'a batch') await time.advance(250);
    else {
      const refused = execute(grant('g', 1, 5));
      await turn();
      expect(await refused).toMatchObject({ code: 'storage_unavailable' });
    }
    expect(health.at(-1)).toMatchObject({ ok: false });
    fails = false;
    await time.advance(50);
    const refused = execute(grant('later', 1, 5));
    await time.advance(50);
    expect(await refused).toMatchObject({ code: 'storage_unavailable' });
    expect(checkpoints.length).toBeGreaterThan(0);
    expect(files.some((file) => file.read().includes('"ref":"a"'))).toBe(true);
    isWhole = true;
    await time.advance(3000);
    expect(engine.health()).toEqual({ ok: true });
    expect(await execute(grant('again', 1, 5))).toEqual(done);
    expect(checkpoints.at(-1)).toBe(true);
    const count = checkpoints.length;
    expect(await execute(grant('more', 1, 5))).toEqual(done);
    expect(checkpoints).toHaveLength(count);
  },
);

test('an opening whose tables cannot be written to their file leaves the journal open', async () => {
  const { execute, files, store } = await opened();
  await execute(settle('a', 1, 5));
  const refuses = { ...store, checkpoint: () => false };
  expect(replayFiles(files, 'gateway.db', refuses).replayed.settled).toBe(1);
  let writes = 0;
  const apply: LedgerStore['apply'] = (...order) => {
    writes++;
    return store.apply(...order);
  };
  replayFiles(files, 'gateway.db', { ...store, apply });
  expect(writes).toBe(1);
  replayFiles(files, 'gateway.db', { ...store, apply: () => expect.fail('nothing is to be written') });
});

test('a restore beside a journal of another site charges nobody for it: it stays beside the former database', async () => {
  const folder = diskFolder('journaled');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'gateway.db');
  const own = await openBooks(file);
  createLedgerStore(own.raw).journal();
  const copy = join(folder, 'copy.backup');
  const plan = { file: copy, drafts: [`${copy}.copy`, `${copy}.part`] as const, bytes: 0 };
  await writeMigrationBackup(own, plan, { schema: newestSqlite, version: 'v' });
  await own.close();
  const other = await opened();
  await other.execute(settle('theirs', 1, 5));
  layDown(file, other.files);
  await restoreBackup(copy, file, 'stamp', undefined);
  const names = readdirSync(folder).filter((name) => name.includes('journal') || name.includes('owed'));
  expect(names.toSorted()).toEqual(['gateway.db.before-stamp.journal-1', 'gateway.db.before-stamp.journal-2']);
});
