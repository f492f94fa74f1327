/** Alerts from a terminal: what is wrong, who would be told, whether it arrives. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRunner } from './runner.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'alerts-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test('open alerts are listed, and a test without a target says so', async () => {
  const { run: all, json } = createRunner(dir);
  const run = (...args: readonly string[]) => all(args);
  const password = join(dir, 'password');
  writeFileSync(password, 'password1');
  await run('setup', '--username', 'root', '--password-file', password);
  await expect(run('alert', 'test')).rejects.toMatchObject({ code: 'alert_targets_unset' });
  expect(await json(['alert', 'list'])).toEqual([]);
  await run('option', 'set', 'alert_setting.disk_gb=99999999');
  expect(await json(['alert', 'list'])).toMatchObject([{ kind: 'disk_low', subject: '', told_at: 0 }]);
  // Nothing listens there, and the guard lets nobody in: the address is not repeated.
  const address = join(dir, 'address');
  writeFileSync(address, 'https://127.0.0.1:9/hush');
  await run('option', 'set', `alert_setting.slack_url=@${address}`);
  const failed = await run('alert', 'test').catch((error: unknown) => error);
  expect(failed).toMatchObject({ code: 'check_failed' });
  expect(String(failed)).not.toContain('hush');
});
