/** The rare condition of a rule that has several: a known browser, a newer backup. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeBackup } from '../../db/backup-file.ts';
import { restoreBackup } from '../../server/domain/backup/restore.ts';
import { createThrottle } from '../../server/domain/sessions/throttle.ts';
import { localEphemeralStore } from '../support/memos.ts';
import { openMigrated } from '../support/migrated.ts';

test('a log-in from a known browser forgives nobody’s failed tries but its own', async () => {
  const limits = { seconds: 600, perAddress: 50, perSubject: 50, anonymous: 50, everyone: 50 };
  const throttle = createThrottle('log-ins', limits, { store: localEphemeralStore(), pause: async () => undefined });
  const stranger = { ip: '203.0.113.9', device: '' };
  for (let n = 0; n < 4; n++) await throttle.enter(stranger, 'ann');
  expect(await throttle.anonymousAt('ann')).toBe(4);
  const known = { ip: '203.0.113.9', device: 'ann’s laptop' };
  await throttle.enter(known, 'ann');
  await throttle.succeeded(known, 'ann');
  expect(await throttle.anonymousAt('ann')).toBe(4);
  await throttle.enter(stranger, 'ann');
  await throttle.succeeded(stranger, 'ann');
  expect(await throttle.anonymousAt('ann')).toBe(4);
});

test.each(['packed', 'a plain file'])('a backup of a newer schema is not restored: %s', async (kind) => {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-newer-'));
  try {
    const [source, target, packed] = ['source.db', 'gateway.db', 'a.backup'].map((name) => join(dir, name)) as [
      string,
      string,
      string,
    ];
    const database = await openMigrated(source);
    database.raw.exec("INSERT INTO kysely_migration (name, timestamp) VALUES ('9999_of_tomorrow', '2030-01-01')");
    database.raw.pragma('wal_checkpoint(TRUNCATE)');
    await database.close();
    if (kind === 'packed')
      await writeBackup(packed, source, { schema: '9999_of_tomorrow', version: 'v9', created_at: 1 });
    writeFileSync(target, 'what there is');
    await expect(restoreBackup(kind === 'packed' ? packed : source, target, 'now', undefined)).rejects.toMatchObject({
      code: 'backup_newer',
      params: { schema: '9999_of_tomorrow' },
    });
    expect(readFileSync(target, 'utf8')).toBe('what there is');
    expect(readdirSync(dir).filter((name) => /restoring|before/.test(name))).toEqual([]);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
