/** CLI commands on a site on PostgreSQL, with and without a server on their folder; nodes that are asked to stop. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newestPostgres } from '../../db/schema/migrations.ts';
import { answersAfter, ask, openSellingSite, type SellingSite, type ServingNode } from './serving.ts';

let site: SellingSite;
let node: ServingNode;
let key: string;
/** No server runs on it. */
let idle: string;

beforeAll(async () => {
  site = await openSellingSite();
  idle = site.folder();
  node = await site.start();
  key = await site.furnish(node);
});
afterAll(() => site.close());

const run = async (...args: readonly string[]) => {
  const { code, out, err } = await site.run([...args, '--json', '--yes'], { dir: idle });
  expect([code, err], args.join(' ')).toEqual([0, expect.anything()]);
  return out === '' ? null : JSON.parse(out);
};

test('a command on a folder without a server works on the site, and serving nodes follow what it changes', async () => {
  const made = await run('token', 'create', '--name', 'other');
  await expect
    .poll(async () => (await node.chat(made.key.replace(/^sk-/, ''), ask)).status, { timeout: 60_000 })
    .toBe(200);
  expect(await run('user', 'list')).toHaveLength(1);
  expect(await run('channel', 'list')).toMatchObject([{ name: 'up' }]);
  const reports = (await run('ledger', 'verify')) as readonly { id: string; violations: number }[];
  expect(reports.map(({ id }) => id)).toContain('I12');
  expect(reports.filter(({ violations }) => violations > 0)).toEqual([]);
  const [log] = await site.rows<{ id: number; request_id: string }>('SELECT id, request_id FROM logs WHERE type = 2');
  expect(await run('logs', 'explain', String(log?.id))).toMatchObject({ log: { id: log?.id } });
});

test('a command takes from a balance what lies idle with a serving node, and gives into it', async () => {
  expect((await node.chat(key, ask)).status).toBe(200);
  // What is slow to come back is asked for again.
  await expect
    .poll(() => site.run(['user', 'quota', 'set', 'root', '0', '--yes'], { dir: idle }))
    .toMatchObject({ code: 0 });
  expect(await site.rows('SELECT balance, leased FROM accounts WHERE id = 1')).toEqual([{ balance: 0, leased: 0 }]);
  expect((await node.chat(key, ask)).status).toBe(403);
  await run('user', 'quota', 'add', 'root', '1000');
  await expect.poll(async () => (await node.chat(key, ask)).status, { timeout: 60_000 }).toBe(200);
  // Commands leave no node behind.
  expect(await site.rows("SELECT epoch FROM nodes WHERE state <> 'expired'")).toHaveLength(1);
});

test('a node finds the address of its database in a file, and what its configuration says is set beside nodes that serve', async () => {
  const dir = site.folder();
  const address = join(dir, 'database-url');
  const config = join(dir, 'site.yaml');
  mkdirSync(dir, { recursive: true });
  writeFileSync(address, `${site.url}\n`);
  writeFileSync(config, 'version: 1\noptions:\n  general_setting.trusted_proxies: 172.30.30.0/24\n');
  const env = { DATABASE_URL: '', DATABASE_URL_FILE: address, GATEWAY_CONFIG: config };
  const second = await site.start({ dir, env });
  expect(await run('option', 'get', 'general_setting.trusted_proxies')).toMatchObject({ value: '172.30.30.0/24' });
  expect((await node.chat(key, ask)).status).toBe((await second.chat(key, ask)).status);
  expect(await second.stop()).toBe(0);
  const missing = await site.run(['user', 'list'], { dir, env: { ...env, DATABASE_URL_FILE: join(dir, 'none') } });
  expect([missing.code, missing.err]).toEqual([2, expect.stringContaining('DATABASE_URL_FILE')]);
});

test('an address that is none of ours is said to be that, before anything is opened', async () => {
  const { code, err } = await site.run(['user', 'list', '--database', 'mysql://root@127.0.0.1/x'], { dir: idle });
  expect([code, err]).toEqual([2, expect.stringContaining('postgres://user:password@host:port/database')]);
  const unavailable = await site.run(['user', 'list', '--database', 'postgres://a:b@127.0.0.1:1/x'], { dir: idle });
  expect([unavailable.code, unavailable.err]).toEqual([7, expect.stringContaining('cannot be reached')]);
});

test('the schema is described without changing it', async () => {
  expect(await run('db', 'status')).toMatchObject({
    schema: newestPostgres,
    path: expect.not.stringContaining('password'),
  });
});

test('a node that is to be drained ends what it has open, gives everything back and ends', async () => {
  const other = await site.start();
  const gate = Promise.withResolvers<void>();
  site.upstream.script(answersAfter(gate.promise));
  const before = site.upstream.requests.length;
  const open = other.chat(key, ask).then(({ status }) => status);
  await expect.poll(() => site.upstream.requests.length, { timeout: 60_000 }).toBe(before + 1);
  await site.rows("UPDATE nodes SET state = 'draining' WHERE epoch = (SELECT max(epoch) FROM nodes)");
  // From then on it admits no requests.
  const prompts = () =>
    fetch(`${other.url}/v1/models`, { headers: { authorization: `Bearer sk-${key}` } }).then(
      ({ status }) => status,
      () => 0,
    );
  await expect.poll(prompts, { timeout: 60_000 }).not.toBe(200);
  gate.resolve();
  expect(await open).toBe(200);
  expect(await other.process.exited).toBe(0);
  expect(await site.rows("SELECT epoch FROM nodes WHERE state <> 'expired'")).toHaveLength(1);
  expect(await site.rows('SELECT * FROM leases l JOIN nodes n USING (epoch) WHERE n.state = $$expired$$')).toEqual([]);
});
