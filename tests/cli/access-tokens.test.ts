import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRunner, type Runner } from './runner.ts';

let dir: string;
let runner: Runner;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-cli-'));
  runner = createRunner(dir);
  const password = join(dir, 'password');
  writeFileSync(password, 'password1');
  await runner.run(['setup', '--username', 'root', '--password-file', password, '--mode', 'external']);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test('access tokens are made with scopes, listed by their hints and removed', async () => {
  const token = await runner.run(['access-token', 'create', '--name', 'backup', '--scope', 'read', '-q']);
  expect(token).toMatch(/^gat_[\w-]{43}$/);
  const made: { scopes: string[]; expired_time: number } = await runner.json([
    'access-token',
    'create',
    '--name',
    'ci',
    '--scope',
    'channels',
    'logs:read',
    '--expires',
    '30d',
  ]);
  expect(made.scopes).toEqual(['channels', 'logs:read']);
  expect(made.expired_time - Date.now() / 1000).toBeGreaterThan(29 * 86_400);
  const listed = await runner.run(['access-token', 'list']);
  expect(listed).toContain('channels logs:read');
  expect(listed).not.toContain(token);
  await expect(runner.run(['access-token', 'create', '--name', 'x', '--scope', 'all'])).rejects.toMatchObject({
    code: 'scope_unknown',
  });
  await expect(runner.run(['access-token', 'create', '--name', 'x'])).rejects.toMatchObject({ code: 'input_needed' });
  expect(await runner.run(['access-token', 'rm', 'ci', '--dry-run'])).toContain('dry run');
  await runner.run(['access-token', 'rm', 'ci', '1', '--yes']);
  expect(await runner.json(['access-token', 'list'])).toEqual([]);
});
