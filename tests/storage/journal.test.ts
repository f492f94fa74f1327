import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { streams } from './answers.ts';
import { chat, createSite, type Site } from './support.ts';

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

/** A server whose journal has been written to. @returns what was charged meanwhile. */
async function served() {
  const key = await site.setUp(upstream.url);
  const serving = await site.serve();
  const ids: string[] = [];
  const journal = join(site.dataDir, 'gateway.db.journal-1');
  for (let n = 0; n < 200; n++) {
    ids.push((await chat(serving.url, key)).id);
    if (existsSync(journal) && readFileSync(journal).subarray(0, 6).toString('latin1') === 'GWJRNL') break;
    await Bun.sleep(20);
  }
  return { key, ids, ...serving };
}

test('a caller sees his answer’s log row when he asks for it afterwards', async () => {
  const { url, key, ids } = await served();
  for (let n = 0; n < 5; n++) {
    const { id } = await chat(url, key);
    ids.push(id);
    const response = await fetch(`${url}/api/log/token?key=${key}`);
    expect(response.headers.get('x-ledger-behind')).toBeNull();
    const { data } = (await response.json()) as { data: { request_id?: string; id: number }[] };
    expect(JSON.stringify(data)).toContain(id);
    expect(data).toHaveLength(ids.length);
  }
});

test('a server that is killed before its tables follow has everything in a backup, a restore and at its next start', async () => {
  const { url, key, ids, child, ended } = await served();
  await site.ok(['backup', 'create', join(site.dir, 'site.backup')]);
  const later: string[] = [];
  for (let n = 0; n < 8; n++) later.push((await chat(url, key)).id);
  child.kill('SIGKILL');
  await ended();
  const all = [...ids, ...later].toSorted();
  expect((await site.charged()).length).toBeLessThan(all.length);
  // A command without a server reads it too.
  expect((await site.run(['ledger', 'verify'])).code).toBe(0);
  expect((await site.charged()).toSorted()).toEqual(all);

  const again = await site.serve();
  for (let n = 0; n < 8; n++) all.push((await chat(again.url, key)).id);
  again.child.kill('SIGKILL');
  await again.ended();
  await site.ok(['backup', 'restore', join(site.dir, 'site.backup'), '--yes']);
  expect((await site.charged()).toSorted()).toEqual(ids.toSorted());
  const former = readdirSync(site.dataDir).find((name) => /^gateway\.db\.before-[^.]+$/.test(name)) ?? '';
  const { Database } = await import('bun:sqlite');
  const kept = new Database(join(site.dataDir, former), { readonly: true });
  const refs = kept.query("SELECT ref FROM postings WHERE kind = 'settle'").values() as [string][];
  kept.close();
  expect(refs.map(([ref]) => ref).toSorted()).toEqual(all.toSorted());
  expect(readdirSync(site.dataDir).filter((name) => name.includes('.journal-'))).toEqual([]);
  const restored = await site.serve();
  expect((await chat(restored.url, key)).whole).toBe(true);
  restored.child.kill('SIGTERM');
  expect(await restored.ended()).toBe(0);
  expect((await site.run(['ledger', 'verify'])).code).toBe(0);
});

test('damage in the middle of a journal is refused with words', async () => {
  const { url, key, child, ended } = await served();
  for (let n = 0; n < 12; n++) await chat(url, key);
  child.kill('SIGKILL');
  await ended();
  const { Database } = await import('bun:sqlite');
  const database = new Database(join(site.dataDir, 'gateway.db'));
  // As if the power had taken the tables' last commits.
  database.run("UPDATE meta SET value = '0' WHERE key = 'journal_applied'");
  database.close();
  const { openSync, writeSync, closeSync } = await import('node:fs');
  const file = openSync(join(site.dataDir, 'gateway.db.journal-1'), 'r+');
  writeSync(file, 'x', 600);
  closeSync(file);
  const rejected = await site.run(['serve', '--port', '0']);
  expect(rejected.code).toBe(1);
  expect(rejected.err).toMatch(/journal of the ledger, .+gateway\.db\.journal-1, -2, is damaged: \d+ confirmed/);
});

test('a damaged byte in the last confirmed charge is told by the next start, and by the next command where no server starts', async () => {
  const { url, key, child, ended } = await served();
  const damage = async (id: string) => {
    const { openSync, writeSync, closeSync } = await import('node:fs');
    let found = false;
    for (const end of ['1', '2']) {
      const path = join(site.dataDir, `gateway.db.journal-${end}`);
      const at = readFileSync(path).lastIndexOf(id);
      if (at < 0) continue;
      found = true;
      const file = openSync(path, 'r+');
      writeSync(file, '#', at);
      closeSync(file);
    }
    expect(found).toBe(true);
  };
  const { id } = await chat(url, key);
  child.kill('SIGKILL');
  await ended();
  await damage(id);
  const again = await site.serve();
  expect(again.output()).toContain('the end of the ledger journal is not whole');
  const next = await chat(again.url, key);
  again.child.kill('SIGKILL');
  await again.ended();
  await damage(next.id);
  expect((await site.run(['ledger', 'verify'])).err).toContain('the end of the ledger journal is not whole');
  expect((await site.run(['ledger', 'verify'])).err).toBe('');
});
