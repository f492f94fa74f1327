/** What the shell offers behind the words that stand there. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { complete } from '../../cli/completion.ts';
import { printError } from '../../cli/errors.ts';
import { AppError } from '../../server/contract/errors.ts';
import { logGroupings } from '../../server/contract/names.ts';
import { createRunner } from './runner.ts';

let dir: string;
let env: Record<string, string>;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'complete-'));
  const runner = createRunner(dir);
  const file = join(dir, 'secret');
  writeFileSync(file, 'password1\n');
  await runner.run(['setup', '--username', 'root', '--password-file', file]);
  const channel = ['--type', 'practice', '--name', 'main', '--tag', 'east', '--models', 'm-1', '--key-file', file];
  await runner.run(['channel', 'add', ...channel]);
  await runner.run(['backup', 'create']);
  env = { GATEWAY_DATA_DIR: join(dir, 'data') };
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test.each([
  [['channel', 'edit', '--tag', ''], ['east']],
  [['logs', 'list', '--model', ''], ['m-1']],
  [['logs', 'list', '--type', 'c'], ['consume']],
  [['channel', 'add', '--type', 'pract'], ['practice']],
  [['logs', 'stat', '--by', ''], logGroupings.map((by) => by.replace('_', '-')).sort()],
  [['--json', 'channel', 'get', ''], ['main']],
  [['--lang', 'zh', 'channel', 'en'], ['enable']],
  [
    ['--output', 'js'],
    ['json', 'jsonl'],
  ],
  [['channel', 'get', '-o', 'y'], ['yaml']],
  [['help', 'exit'], ['exit-codes']],
  [
    ['service', 'print', ''],
    ['container', 'launchd', 'systemd'],
  ],
  [['connect', 'cla'], ['claude']],
  [['connect', '--br'], ['--browser']],
  [['token', 'print', '--for', 'cod'], ['codex']],
  [
    ['program', ''],
    ['list', 'rm'],
  ],
  [['route', 'explain', ''], ['m-1']],
])('%j', async (words, offered) => expect(await complete(words, env)).toEqual(offered));

test('backups that lie in the data directory are offered to restore, and one that is named before the command is read', async () => {
  const found = await complete(['backup', 'restore', ''], env);
  expect(found).toHaveLength(1);
  expect(found[0]).toMatch(/\.backup$/);
  expect(await complete(['--data-dir', join(dir, 'data'), 'channel', 'get', ''], {})).toEqual(['main']);
});

test.each([
  [{ code: 'ENOENT', path: 'list.json' }, 5, 'list.json'],
  [{ code: 'EISDIR', path: '/etc' }, 2, 'it is a directory'],
  [{ code: 'EACCES', path: '/root/x' }, 2, 'permission denied'],
])('a file that cannot be read is named in words: %j', (error, exit, words) => {
  let said = '';
  const how = { json: false, debug: false, color: false };
  expect(printError(Object.assign(new Error('raw'), error), 'en', how, (text) => (said += text))).toBe(exit);
  expect(said).toContain(words);
  expect(said).not.toContain('raw');
});

test('that a file differs from the site is no error', () => {
  let said = '';
  const how = { json: false, debug: false, color: false };
  expect(printError(new AppError('differences', { count: 1 }), 'en', how, (text) => (said += text))).toBe(10);
  expect(said).toBe('Differences found: 1\n');
});
