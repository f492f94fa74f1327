/** Moving in from another gateway onto PostgreSQL: all of it or nothing, while no node lives. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import BetterSqlite from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ask, openSellingSite, type SellingSite } from './serving.ts';

let site: SellingSite;
beforeEach(async () => {
  site = await openSellingSite();
});
afterEach(() => site.close());

const tokenKey = 'A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0U1v2W3x4';

/** @returns a database as new-api leaves it. */
function oldSite(folder: string): string {
  const file = join(folder, 'old.db');
  const raw = new BetterSqlite(file);
  raw.exec(`
    CREATE TABLE users (id, username, password, display_name, role, status, email, quota, used_quota, request_count, "group");
    INSERT INTO users VALUES (1, 'root', '', 'Root', 100, 1, '', 900000, 100000, 12, 'default'), (2, 'ann', '', 'Ann', 1, 1, 'a@b.c', 500000, 3000, 7, 'default');
    CREATE TABLE tokens (id, user_id, key, status, name, created_time, expired_time, remain_quota, unlimited_quota, used_quota);
    INSERT INTO tokens VALUES (4, 2, '${tokenKey}', 1, 'laptop', 1700000000, -1, 0, 1, 2500);
    CREATE TABLE channels (id, type, key, name, status, base_url, models, "group", used_quota);
    INSERT INTO channels VALUES (6, 1, 'sk-canary-upstream', 'main', 1, '${site.upstream.url}', 'gpt-4o-mini', 'default', 60000);
    CREATE TABLE options (key, value);
    INSERT INTO options VALUES ('SystemName', 'Old site');
    CREATE TABLE logs (id, user_id, created_at, type, content, username, token_name, model_name, quota);
    INSERT INTO logs VALUES (1, 2, 1700000000, 2, 'c', 'ann', 'laptop', 'gpt-4o-mini', 3000), (2, 2, 1, 2, 'c', 'ann', 'laptop', 'gpt-4o-mini', 0);`);
  raw.close();
  return file;
}
const rowsIn = async (table: string): Promise<number> =>
  (await site.rows<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`))[0]?.n ?? -1;
const empty = async () =>
  expect(await Promise.all(['users', 'channels', 'postings', 'logs'].map(rowsIn))).toEqual([0, 0, 0, 0]);

test('a site moves in whole: refused while a node lives, undone when it fails, and only into a place without one', async () => {
  const dir = site.folder();
  const node = await site.start({ dir });
  const file = oldSite(dir);
  await node.client.call('option.set', { key: 'Footer', value: 'kept' } as never);
  const other = site.folder();
  const run = (...args: readonly string[]) =>
    site.run(['import', 'new-api', file, '--json', '--yes', '--database', site.url, ...args], { dir: other });

  const dry = await run('--dry-run');
  expect([dry.code, dry.err]).toEqual([0, '']);
  const counts = { users: { taken: 2 }, tokens: { taken: 1 }, channels: { taken: 1 }, logs: { taken: 2 } };
  expect(JSON.parse(dry.out)).toMatchObject({ dry_run: true, counts });
  const rejected = await run();
  expect([rejected.code, rejected.err]).toEqual([6, expect.stringContaining('are running')]);
  expect(await node.stop()).toBe(0);
  await empty();

  await site.rows(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'full'; END $$`);
  await site.rows('CREATE TRIGGER refuse BEFORE INSERT ON logs_rest FOR EACH ROW EXECUTE FUNCTION refuse()');
  expect((await run()).code).not.toBe(0);
  await empty();
  expect(await site.rows("SELECT value FROM options WHERE key = 'Footer'")).toEqual([{ value: 'kept' }]);
  await site.rows('DROP TRIGGER refuse ON logs_rest');

  const done = await run();
  expect([done.code, done.err]).toEqual([0, '']);
  expect(JSON.parse(done.out)).toMatchObject({ counts, quota: { source: 1_503_000, imported: 1_503_000 } });
  expect(await site.rows('SELECT key, value FROM options ORDER BY key')).toEqual([
    { key: 'Footer', value: 'kept' },
    { key: 'SystemName', value: 'Old site' },
  ]);
  expect(await site.rows("SELECT to_regclass('move_cursor')::text AS moving")).toEqual([{ moving: null }]);
  const verified = await site.run(['ledger', 'verify', '--json'], { dir: other });
  expect([verified.code, verified.err]).toEqual([0, '']);

  const again = await site.start({ dir });
  expect((await again.chat(tokenKey, ask)).status).toBe(200);
  expect(site.upstream.requests.at(-1)?.headers.authorization).toBe('Bearer sk-canary-upstream');
  expect(await again.stop()).toBe(0);
  const twice = await run();
  expect([twice.code, twice.err]).toEqual([6, expect.stringContaining('empty')]);
});

test('channels and prices of LiteLLM join a site that is served, and its nodes know them at once', async () => {
  const node = await site.start();
  const key = await site.furnish(node);
  const file = join(node.dir, 'config.yaml');
  writeFileSync(
    file,
    `model_list:
  - model_name: gpt-of-elsewhere
    litellm_params: { model: openai/gpt-of-elsewhere, api_key: sk-elsewhere, api_base: "${site.upstream.url}" }
    model_info: { input_cost_per_token: 0.000002, output_cost_per_token: 0.000004 }
`,
  );
  const dir = site.folder();
  const dry = await site.run(['import', 'litellm', file, '--dry-run', '--json', '--database', site.url], { dir });
  expect([dry.code, dry.err]).toEqual([0, '']);
  expect(await rowsIn('channels')).toBe(1);
  const done = await site.run(['import', 'litellm', file, '--json', '--yes', '--database', site.url], { dir });
  expect([done.code, done.err]).toEqual([0, '']);
  expect(await rowsIn('channels')).toBe(2);
  const chat = () => node.chat(key, { ...ask, model: 'gpt-of-elsewhere' }).then(({ status }) => status);
  await expect.poll(chat, { timeout: 60_000 }).toBe(200);
  expect(site.upstream.requests.at(-1)?.headers.authorization).toBe('Bearer sk-elsewhere');
});
