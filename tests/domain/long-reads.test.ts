/** Sums over a large log are read in a thread of their own, and old rows are deleted in slices: the console is answered meanwhile. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { forReading, type SqliteDatabase } from '../../db/open.ts';
import { createTrafficRepository } from '../../db/repositories/traffic.ts';
import { createLogs } from '../../server/domain/logs/service.ts';
import { Reader, readingWith } from '../../server/threads/reader/reader.ts';
import type { FromReader, ToReader } from '../../server/threads/reader/worker.ts';
import { openMigrated } from '../support/migrated.ts';
import { VirtualTime } from '../support/virtual-time.ts';

let folder: string;
let database: SqliteDatabase;
let time: VirtualTime;
const readers: Reader[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-reads-'));
  database = await openMigrated(join(folder, 'gateway.db'));
  time = new VirtualTime();
});
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.end();
  await database.close();
  rmSync(folder, { recursive: true });
});

/** @param spawn absent = the real thread. */
function readerOf(spawn?: () => Worker): Reader {
  const deps = { file: database.place.file, nativeBinding: undefined, timers: time };
  const reader = new Reader(spawn === undefined ? deps : { ...deps, spawn });
  readers.push(reader);
  return reader;
}

/** Stands in for a thread: the test answers what it was asked. */
class Thread extends EventTarget {
  readonly asked: ToReader[] = [];
  isEnded = false;
  onmessage: ((event: MessageEvent<FromReader>) => void) | null = null;
  postMessage(message: ToReader): void {
    this.asked.push(message);
  }
  answer(message: FromReader): void {
    this.onmessage?.(new MessageEvent('message', { data: message }));
  }
  terminate(): void {
    this.isEnded = true;
  }
}
const standIns = () => {
  const threads: Thread[] = [];
  const reader = readerOf(() => {
    const thread = new Thread();
    threads.push(thread);
    return thread as unknown as Worker;
  });
  return { threads, reader };
};

test('the reader sees what was committed a moment ago, answers each with its own rows, and writes nothing', async () => {
  const reading = readingWith(readerOf());
  const { query } = database;
  await query.insertInto('meta').values({ key: 'one', value: '1' }).execute();
  const read = (key: string) => reading.selectFrom('meta').select('value').where('key', '=', key).execute();
  expect(await Promise.all([read('one'), read('two')])).toEqual([[{ value: '1' }], []]);
  await query.insertInto('meta').values({ key: 'two', value: '2' }).execute();
  expect(await read('two')).toEqual([{ value: '2' }]);
  await expect(reading.deleteFrom('meta').returning('key').execute()).rejects.toMatchObject({
    code: 'SQLITE_READONLY',
  });
  await expect(sql`SELECT a FROM nowhere`.execute(reading)).rejects.toThrow('no such table');
});

test('sums of the log are read by the reader alone, and pages are not', async () => {
  const reader = readerOf();
  const read = vi.spyOn(reader, 'read');
  const prepare = vi.spyOn(database.raw, 'prepare');
  const isSum = (text: string): boolean => text.includes('sum(');
  const logs = createLogs({ database: { ...database, reading: readingWith(reader) }, now: time.now });
  expect((await logs.page({}, 1, 10, true)).items).toEqual([]);
  expect(read).not.toHaveBeenCalled();
  await Promise.all([logs.stat({}), logs.breakdown({}, 'model'), logs.overrun({})]);
  expect(read.mock.calls.filter(([text]) => isSum(text)).length).toBeGreaterThanOrEqual(5);
  await logs.facets({}, 5, true);
  expect(prepare.mock.calls.filter(([text]) => isSum(text))).toEqual([]);
});

test('a read that waits is told when its reader ends', async () => {
  const { reader, threads } = standIns();
  const reads = Promise.allSettled(['one', 'two'].map((text) => reader.read(text, [])));
  reader.end();
  const told = { reason: { code: 'shutting_down' } };
  expect(await reads).toMatchObject([told, told]);
  expect([threads.length, threads[0]?.asked.length, threads[0]?.isEnded]).toEqual([1, 2, true]);
});

const answerLast = (thread: Thread | undefined, n: number): void => {
  const asked = thread?.asked.at(-1);
  thread?.answer({ kind: 'rows', id: asked?.kind === 'read' ? asked.id : 0, rows: [{ n }] });
};

test('a read that takes half a minute is given up with words, and those behind it are read by another thread', async () => {
  const { threads, reader } = standIns();
  const long = reader.read('long', []).catch((error: unknown) => error);
  time.jump(1000);
  const behind = reader.read('behind', [7]);
  expect(threads[0]?.asked).toHaveLength(2);
  time.jump(29_000);
  expect(await long).toMatchObject({ code: 'read_too_long', params: { seconds: 30 } });
  expect(threads[0]?.isEnded).toBe(true);
  expect(threads[1]?.asked).toMatchObject([{ kind: 'open' }, { kind: 'read', sql: 'behind', parameters: [7] }]);
  // It has half a minute of its own.
  time.jump(29_000);
  answerLast(threads[1], 1);
  expect(await behind).toEqual([{ n: 1 }]);
});

test('a read that waited half a minute is told, and disturbs no other', async () => {
  const { threads, reader } = standIns();
  const first = reader.read('first', []);
  time.jump(20_000);
  const second = reader.read('second', []);
  const third = reader.read('third', []).catch((error: unknown) => error);
  answerLast(threads[0], 1);
  expect(await first).toEqual([{ n: 1 }]);
  time.jump(10_000);
  expect(threads[0]?.asked.at(-1)).toMatchObject({ sql: 'second' });
  time.jump(19_000);
  const fourth = reader.read('fourth', []);
  time.jump(1000);
  expect(await third).toMatchObject({ code: 'read_too_long' });
  // The second has had its half minute, too.
  await expect(second).rejects.toMatchObject({ code: 'read_too_long' });
  answerLast(threads[1], 4);
  expect(await fourth).toEqual([{ n: 4 }]);
  expect(threads).toHaveLength(2);
});

test('a thread that dies fails what it was reading, and one that has nothing to do for a minute ends', async () => {
  const { threads, reader } = standIns();
  const lost = reader.read('lost', []);
  threads[0]?.dispatchEvent(new ErrorEvent('error', { message: 'Error: gone' }));
  await expect(lost).rejects.toMatchObject({
    code: 'thread_died',
    params: { thread: 'reader', reason: 'Error: gone' },
  });
  const read = reader.read('one', []);
  const [thread] = threads.slice(1);
  thread?.answer({ kind: 'rows', id: 2, rows: [] });
  await read;
  time.jump(59_000);
  const again = reader.read('two', []);
  time.jump(2000);
  expect(thread?.isEnded).toBe(false);
  thread?.answer({ kind: 'rows', id: 3, rows: [] });
  await again;
  time.jump(60_000);
  expect(thread?.isEnded).toBe(true);
});

test('without a reader the same database answers', () => {
  expect(forReading(database)).toBe(database);
});

test('old windows of traffic go in slices, between which others have their turn; the others stay', async () => {
  const { query } = database;
  const fill = (span: number, kind: string, at: number, count: number) =>
    sql`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
      INSERT INTO traffic (span, kind, at, subject_id, user_id, part) SELECT ${span}, ${kind}, ${at}, i, 0, 'm' FROM n`.execute(
      query,
    );
  // One window alone is more than a slice.
  await fill(300, 'use', 300, 4000);
  await fill(300, 'use', 600, 10);
  await fill(300, 'route', 300, 10);
  await fill(3600, 'use', 3600, 10);
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  count();
  await createTrafficRepository(database).deleteOld({ 300: 600, 3600: 3600, 86400: 0 });
  isOver = true;
  const left = await query
    .selectFrom('traffic')
    .select((eb) => ['span', 'kind', 'at', eb.fn.countAll<number>().as('n')])
    .groupBy(['span', 'kind', 'at'])
    .orderBy('span')
    .execute();
  expect(left).toEqual([
    { span: 300, kind: 'use', at: 600, n: 10 },
    { span: 3600, kind: 'use', at: 3600, n: 10 },
  ]);
  expect(turns).toBeGreaterThan(2);
});
