import { closeSync, openSync, readdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { streams } from './answers.ts';
import { chat, createSite, type ReceivedStream, type Site } from './support.ts';

let site: Site;
let upstream: Upstream;

beforeEach(async () => {
  upstream = await startUpstream(streams().script);
  site = createSite();
});
afterEach(async () => {
  await site.close();
  await upstream.stop();
});

/** Overwrites the first pages of a table and of its indexes in the file itself. */
async function spoil(file: string, table: string): Promise<void> {
  const { Database } = await import('bun:sqlite');
  const database = new Database(file);
  // The log is folded into the file; then the file is what counts.
  database.run('PRAGMA busy_timeout = 10000');
  database.query('PRAGMA wal_checkpoint(TRUNCATE)').values();
  const roots = database.query('SELECT rootpage FROM sqlite_master WHERE tbl_name = ?').values(table) as [number][];
  const [[size]] = database.query('PRAGMA page_size').values() as [[number]];
  database.close();
  const target = openSync(file, 'r+');
  for (const [page] of roots) writeSync(target, Buffer.alloc(size, 0xa5), 0, size, (page - 1) * size);
  closeSync(target);
}

test('the postings are overwritten while serving: no response ends without its bill, every client gets an error, and a backup brings back what was owed', async () => {
  const key = await site.setUp(upstream.url);
  const database = join(site.dataDir, 'gateway.db');
  const serving = await site.serve();
  const before: ReceivedStream[] = [];
  for (let n = 0; n < 5; n++) before.push(await chat(serving.url, key));
  expect(before.filter(({ whole }) => !whole)).toEqual([]);
  await site.ok(['backup', 'create', join(site.dir, 'site.backup')]);
  await spoil(database, 'postings');
  // Another connection's write makes the ledger's forget the pages it knows.
  await site.ok(['option', 'set', 'Notice=x']);

  const seen: ReceivedStream[] = [];
  const waiting = chat(serving.url, key).then((received) => seen.push(received));
  await expect.poll(() => serving.output(), { timeout: 20_000 }).toContain('paid requests are refused');
  const after: ReceivedStream[] = [];
  for (let n = 0; n < 100; n++) after.push(await chat(serving.url, key));
  expect(after.filter(({ status, retryAfter }) => status !== 503 || retryAfter === null)).toEqual([]);
  const ready = await fetch(`${serving.url}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([503, { ok: false, hindrances: ['storage'] }]);
  expect((await fetch(`${serving.url}/healthz`)).status).toBe(200);

  expect(serving.output().match(/paid requests are refused/g)).toHaveLength(1);
  expect((await site.run(['status'])).out).toMatch(/storage\s.*malformed/);
  const doctor = await site.run(['doctor']);
  expect(doctor.out).toMatch(/fail\s+storage\s.*malformed.*backup restore/);
  expect(doctor.code).toBe(8);

  serving.child.kill('SIGTERM');
  expect(await serving.ended()).toBe(0);
  await waiting;
  // Its bill is in the journal, or beside the database where there was none yet.
  expect(seen).toMatchObject([{ status: 200, whole: true }]);

  const rejected = await site.run(['serve', '--port', '0']);
  expect(rejected.code).toBe(1);
  expect(rejected.err).toMatch(/damaged/);
  expect(rejected.err).toContain('gateway backup restore');

  await site.ok(['backup', 'restore', join(site.dir, 'site.backup'), '--yes']);
  const again = await site.serve();
  expect((await site.charged()).toSorted()).toEqual([...before, ...seen].map(({ id }) => id).toSorted());
  expect(readdirSync(site.dataDir).filter((name) => name.startsWith('gateway.owed'))).toEqual([]);
  again.child.kill('SIGTERM');
  expect(await again.ended()).toBe(0);
  expect((await site.run(['ledger', 'verify'])).code).toBe(0);
});
