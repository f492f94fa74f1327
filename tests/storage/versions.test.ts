import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Migrator } from 'kysely/migration';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { schemaOf } from '../../db/maintenance.ts';
import { migrate, migrations } from '../../db/migrate.ts';
import { openDatabase } from '../../db/open.ts';
import { restoreBackup } from '../../server/domain/backup/restore.ts';
import { addUsers, balanceOf, openBooks } from '../ledger/support.ts';
import { createTestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream } from '../support/upstream.ts';
import { createSite } from './support.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'versions-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const [first = '', second = ''] = Object.keys(migrations).sort();
const newest = Object.keys(migrations).sort().at(-1) ?? '';

test('R18: a database of a newer version is refused with both versions, and says what helps', async () => {
  const database = await openBooks(join(dir, 'gateway.db'));
  database.raw.prepare("INSERT INTO kysely_migration (name, timestamp) VALUES ('9999-later', 'now')").run();
  await expect(migrate(database)).rejects.toMatchObject({
    code: 'database_newer',
    params: { schema: '9999-later', newest },
    message: expect.stringContaining('gateway backup restore'),
  });
  await database.close();
});

test('R18: before a migration the database is copied aside under both versions, the copy can be restored, and two are kept', async () => {
  const file = join(dir, 'gateway.db');
  const old = openDatabase(file);
  const migrator = new Migrator({ db: old.query, provider: { getMigrations: async () => migrations } });
  expect((await migrator.migrateTo(second)).error).toBeUndefined();
  addUsers(old.raw, 1);
  const backups = join(dir, 'backups');
  await migrate(old);
  expect(readdirSync(backups)).toEqual([`before-${newest}-from-${second}.db`]);
  expect(await migrate(old)).toEqual([]);
  for (const schema of [first, 'a', 'b']) {
    const { copyAside } = await import('../../db/maintenance.ts');
    copyAside(old, schema, newest);
  }
  expect(readdirSync(backups)).toHaveLength(2);
  await old.close();

  const copy = join(dir, 'copy.db');
  const again = openDatabase(copy);
  await new Migrator({ db: again.query, provider: { getMigrations: async () => migrations } }).migrateTo(second);
  addUsers(again.raw, 7);
  await migrate(again);
  await again.close();
  const [kept = ''] = readdirSync(backups).filter((name) => name.includes(second));
  const restored = await restoreBackup(join(backups, kept), file, 'stamp', undefined);
  expect(restored.header.schema).toBe(second);
  const back = openDatabase(file);
  expect(schemaOf(back)).toBe(second);
  expect(balanceOf(back.raw, 7)).toBe(0);
  await back.close();
});

test('R18: a backup restored without its key is told at the restore and at the start, and no other key is made', async () => {
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
      const refused = await site.run(args, '', elsewhere);
      expect(refused.code).toBe(1);
      expect(refused.err).toMatch(/secret\.key is missing/);
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

test('R18: a wall clock that is put back a day does not keep a key cooling', async () => {
  const gateway = await createTestGateway();
  const upstream = await startUpstream((response) => sendJson(response, {}, 429, { 'retry-after': '1' }));
  try {
    const channel = await gateway.channel(upstream.url);
    const { key } = await gateway.token();
    await gateway.chat(key, { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] });
    expect(gateway.relay.standings([channel])[0]?.condition).toBe('cooling');
    const wall = Date.now();
    vi.spyOn(Date, 'now').mockImplementation(() => wall - 86_400_000);
    await expect
      .poll(() => gateway.relay.standings([channel])[0], { timeout: 5000 })
      .toEqual({ condition: 'up', waitMs: 0 });
  } finally {
    vi.restoreAllMocks();
    await gateway.close();
    await upstream.stop();
  }
});
