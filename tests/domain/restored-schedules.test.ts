/** A backup that is restored mails nothing again that went out after it was made. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { writeMigrationBackup } from '../../db/database-file.ts';
import { migrate } from '../../db/migrate.ts';
import { openDatabase } from '../../db/open.ts';
import { createStatementSchedulesRepository } from '../../db/repositories/statement-schedules.ts';
import { newestSqlite } from '../../db/schema/migrations.ts';
import { restoreBackup } from '../../server/domain/backup/restore.ts';
import { diskFolder } from '../support/disk-folder.ts';

test('statements of periods that ended before the restore are due no more, those that end later are', async () => {
  const folder = diskFolder('restored');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'data', 'gateway.db');
  mkdirSync(join(folder, 'data'));
  const before = openDatabase(file);
  await migrate(before);
  const now = Math.floor(Date.now() / 1000);
  const schedule = { user_id: 1, scope: '{"userId":1}', of_kind: 'user', name: 'ann', every: 'month', email: '' };
  const repository = createStatementSchedulesRepository(before);
  await repository.create({ ...schedule, paused: 0, since: now - 90 * 86_400, created_by: 1, created_at: 1 });
  const copy = join(folder, 'copy.backup');
  const plan = { file: copy, drafts: [`${copy}.copy`, `${copy}.part`] as const, bytes: 0 };
  await writeMigrationBackup(before, plan, { schema: newestSqlite, version: 'v' });
  expect(await repository.due('month', now - 86_400)).toHaveLength(1);
  await before.close();
  await restoreBackup(copy, file, 'stamp', undefined);
  const restored = openDatabase(file);
  onTestFinished(() => restored.close());
  const after = createStatementSchedulesRepository(restored);
  expect(await after.due('month', now - 86_400)).toEqual([]);
  expect(await after.due('month', now + 86_400)).toHaveLength(1);
});
