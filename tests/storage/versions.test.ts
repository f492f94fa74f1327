import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { planCopy, schemaOf, writeMigrationBackup } from '../../db/database-file.ts';
import { migrate } from '../../db/migrate.ts';
import { openDatabase } from '../../db/open.ts';
import { newestSqlite as newest, sqliteMigrations } from '../../db/schema/migrations.ts';
import { restoreBackup } from '../../server/domain/backup/restore.ts';
import { addUsers, balanceOf, openBooks } from '../ledger/support.ts';
import { createTestGateway } from '../support/gateway.ts';
import { openOld } from '../support/old-schema.ts';
import { sendJson, startUpstream } from '../support/upstream.ts';
import { createSite } from './support.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'versions-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const [first = '', second = '', third = ''] = sqliteMigrations.map(({ name }) => name);

test('a database of a newer version is refused with both versions, and says what helps', async () => {
  const database = await openBooks(join(dir, 'gateway.db'));
  database.raw.prepare("INSERT INTO kysely_migration (name, timestamp) VALUES ('9999-later', 'now')").run();
  await expect(migrate(database)).rejects.toMatchObject({
    code: 'database_newer',
    params: { schema: '9999-later', newest },
    message: expect.stringContaining('gateway backup restore'),
  });
  await database.close();
});

const copiesIn = (folder: string) => readdirSync(join(folder, 'backups')).sort();

/** As the first build reads it: a line that says what follows, then the database, byte for byte. */
function readAsFirstBuild(file: string): { readonly header: Record<string, unknown>; readonly database: Buffer } {
  const bytes = readFileSync(file);
  const end = bytes.indexOf('\n');
  const line = bytes.toString('utf8', 0, end);
  expect(line.startsWith('GATEWAY-BACKUP ')).toBe(true);
  const header = JSON.parse(line.slice('GATEWAY-BACKUP '.length)) as Record<string, unknown>;
  const database = bytes.subarray(end + 1);
  expect(header).toMatchObject({
    format: 1,
    bytes: database.length,
    sha256: createHash('sha256').update(database).digest('hex'),
  });
  return { header, database };
}

test('before a migration the database is copied aside as a backup that the build before it reads, and two copies are kept', async () => {
  const file = join(dir, 'gateway.db');
  const old = openOld(file, second);
  addUsers(old.raw, 7);
  const steps: string[] = [];
  await migrate(old, {
    version: 'v9',
    report: (step) => steps.push(step.kind === 'apply' ? `${step.at}/${step.of}` : step.kind),
  });
  const name = `before-${newest}-from-${second}.backup`;
  expect(copiesIn(dir)).toEqual([name]);
  const missing = sqliteMigrations.length - 2;
  expect(steps).toEqual(['copy', ...Array.from({ length: missing }, (_, at) => `${at + 1}/${missing}`), 'done']);
  const { header, database } = readAsFirstBuild(join(dir, 'backups', name));
  expect(header).toMatchObject({ schema: second, version: 'v9' });
  const plain = join(dir, 'plain.db');
  writeFileSync(plain, database);
  const inside = openDatabase(plain, { readonly: true });
  expect([schemaOf(inside), balanceOf(inside.raw, 7)]).toEqual([second, 0]);
  await inside.close();

  expect(await migrate(old)).toEqual([]);
  await old.close();
  const restored = await restoreBackup(join(dir, 'backups', name), file, 'stamp', undefined);
  expect(restored.header).toMatchObject({ schema: second, version: 'v9' });

  const again = openDatabase(file);
  for (const schema of [first, 'a', 'b'])
    await writeMigrationBackup(again, planCopy(again, schema, newest), { schema, version: '' });
  expect(copiesIn(dir)).toHaveLength(2);
  await again.close();
});

/** Every row of every table, by the columns that the oldest of the two schemas has. */
function rowsOf(file: string, columns: ReadonlyMap<string, readonly string[]> | null) {
  const database = openDatabase(file, { readonly: true });
  const { raw } = database;
  const found = new Map<string, readonly string[]>();
  const rows: Record<string, unknown[]> = {};
  const tables = raw
    .prepare<string>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%_migration%'")
    .pluck()
    .all();
  for (const table of tables.filter((one) => columns === null || columns.has(one))) {
    const names =
      columns?.get(table) ?? raw.prepare<string>(`SELECT name FROM pragma_table_info('${table}')`).pluck().all();
    found.set(table, names);
    // The account of what settlements cost beyond a balance came with a later schema.
    const own = table === 'accounts' ? 'WHERE id <> -6' : '';
    rows[table] = raw.prepare(`SELECT ${names.join()} FROM ${table} ${own} ORDER BY ${names.join()}`).all();
  }
  void database.close();
  return { columns: found, rows };
}

const moments = ['copy', 'apply 1', 'apply 2', `apply ${sqliteMigrations.length - 3}`, 'done'];

test.each(moments)(
  'killed at "%s" of a migration: nothing is half done, the next start ends it, and the way back is there by name',
  async (moment) => {
    const site = createSite();
    try {
      const file = join(site.dataDir, 'gateway.db');
      mkdirSync(site.dataDir, { recursive: true });
      const old = openOld(file, third);
      for (const id of [1, 2, 3]) addUsers(old.raw, id);
      await old.close();
      const before = rowsOf(file, null);

      const started = async (killedAt: string) => {
        const program = join(import.meta.dirname, 'migrate-child.ts');
        const child = Bun.spawn([process.execPath, program, file, killedAt], { stderr: 'pipe' });
        return [await child.exited, await new Response(child.stderr).text()];
      };
      expect(await started(moment)).toEqual([137, '']);
      const between = openDatabase(file, { readonly: true });
      expect(schemaOf(between)).toBe(moment === 'done' ? newest : third);
      await between.close();
      expect(rowsOf(file, before.columns).rows).toEqual(before.rows);

      expect(await started('never')).toEqual([0, '']);
      expect(rowsOf(file, before.columns).rows).toEqual(before.rows);
      const name = `before-${newest}-from-${third}.backup`;
      expect(copiesIn(site.dataDir)).toEqual([name]);
      const listed = JSON.parse(await site.ok(['backup', 'list', '--json'])) as unknown[];
      expect(listed).toEqual([
        expect.objectContaining({
          file: join(site.dataDir, 'backups', name),
          schema: third,
          before_upgrade_to: newest,
        }),
      ]);
      const status = JSON.parse(await site.ok(['db', 'status', '--json'])) as Record<string, unknown>;
      expect(status).toMatchObject({ schema: newest, copy_before_upgrade: name, copy_schema: third });
      expect(status.copy_made_at).toBeGreaterThan(1_700_000_000);

      await site.ok(['backup', 'restore', name, '--yes']);
      expect(rowsOf(file, null)).toEqual(before);
      readAsFirstBuild(join(site.dataDir, 'backups', name));
    } finally {
      await site.close();
    }
  },
);

test('a migration that fails in its middle leaves nothing of itself, nor of those before it', async () => {
  const file = join(dir, 'gateway.db');
  const database = openOld(file, third);
  // Where the fifth migration wants to put an account of its own.
  database.raw.prepare('INSERT INTO accounts (id) VALUES (-6)').run();
  const before = rowsOf(file, null);
  await expect(migrate(database)).rejects.toThrow(/UNIQUE/);
  expect(schemaOf(database)).toBe(third);
  expect(rowsOf(file, null)).toEqual(before);
  database.raw.prepare('DELETE FROM accounts WHERE id = -6').run();
  expect(await migrate(database)).not.toEqual([]);
  expect(schemaOf(database)).toBe(newest);
  await database.close();
});

test('a start that upgrades says so: what it copies, what it applies, and the way back, in both languages', async () => {
  for (const [lang, words] of [
    ['en', ['copied to', 'applying', 'gateway backup restore before-']],
    ['zh', ['复制', '正在应用', 'gateway backup restore before-']],
  ] as const) {
    const site = createSite();
    try {
      mkdirSync(site.dataDir, { recursive: true });
      await openOld(join(site.dataDir, 'gateway.db'), third).close();
      const serving = await site.serve(['--lang', lang]);
      for (const word of words) expect(serving.output()).toContain(word);
    } finally {
      await site.close();
    }
  }
});

test('a backup restored without its key is reported at the restore and at the start, and no other key is made', async () => {
  const site = createSite();
  const upstream = await startUpstream((response) => sendJson(response, {}));
  try {
    await site.setUp(upstream.url);
    await site.ok(['backup', 'create', join(site.dir, 'site.backup')]);
    const elsewhere = { GATEWAY_DATA_DIR: join(site.dir, 'elsewhere') };
    const restored = await site.run(['backup', 'restore', join(site.dir, 'site.backup'), '--yes'], '', elsewhere);
    expect(restored.code).toBe(0);
    expect(restored.err).toMatch(/secret\.key is missing/);
    for (const args of [['serve', '--port', '0'], ['status']]) {
      const rejected = await site.run(args, '', elsewhere);
      expect(rejected.code).toBe(1);
      expect(rejected.err).toMatch(/secret\.key is missing/);
    }
    expect(readdirSync(join(site.dir, 'elsewhere'))).not.toContain('secret.key');
    const other = await site.run(['serve', '--port', '0'], '', {
      ...elsewhere,
      GATEWAY_SECRET_KEY: 'another key altogether',
    });
    expect(other.code).toBe(1);
    expect(other.err).toMatch(/does not belong to this database/);
  } finally {
    await site.close();
    await upstream.stop();
  }
});

test('a wall clock that is put back a day does not keep a key cooling', async () => {
  const gateway = await createTestGateway();
  const upstream = await startUpstream((response) => sendJson(response, {}, 429, { 'retry-after': '1' }));
  try {
    const channel = await gateway.channel(upstream.url);
    const { key } = await gateway.token();
    await gateway.chat(key, { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] });
    expect(gateway.relay.channelStatuses([channel], 'gpt-4o-mini')[0]?.condition).toBe('cooling');
    const wall = Date.now();
    vi.spyOn(Date, 'now').mockImplementation(() => wall - 86_400_000);
    await expect
      .poll(() => gateway.relay.channelStatuses([channel], 'gpt-4o-mini')[0], { timeout: 5000 })
      .toEqual({ condition: 'up', waitMs: 0 });
  } finally {
    vi.restoreAllMocks();
    await gateway.close();
    await upstream.stop();
  }
});
