/** A scheduled backup of a running server, made in a thread of its own, and put back. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createSite, type Site } from './support.ts';

let site: Site | null = null;
afterEach(() => site?.close());

test('a running server backs up on order, says so, and what it wrote can be restored', async () => {
  site = createSite();
  await site.setUp('http://127.0.0.1:9');
  const serving = await site.serve();
  const made = JSON.parse(await site.ok(['backup', 'run', '--json'])) as { file: string; place: string; bytes: number };
  const file = join(made.place, made.file);
  expect(existsSync(file)).toBe(true);
  expect(JSON.parse(await site.ok(['backup', 'status', '--json']))).toMatchObject({ file: made.file, error: '' });
  await site.ok(['option', 'set', 'backup_setting.every_hours=24']);
  expect((await site.run(['doctor', '--lang', 'en'])).out).toMatch(/ok\s+backups\s+last 0 h ago/);
  serving.child.kill('SIGTERM');
  await serving.ended();
  await site.ok(['backup', 'restore', file, '--yes']);
  expect(await site.ok(['token', 'list', '-q'])).not.toBe('');
}, 60_000);
