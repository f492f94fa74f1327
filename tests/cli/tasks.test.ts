import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../db/open.ts';
import { createRunner, type Runner } from './runner.ts';

let dir: string;
let runner: Runner;
let secret: string;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-works-'));
  runner = createRunner(dir);
  secret = join(dir, 'secret');
  writeFileSync(secret, 'password1');
  await runner.run(['setup', '--username', 'root', '--password-file', secret, '--mode', 'self']);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const fill = async () => {
  const database = openDatabase(join(dir, 'data', 'gateway.db'));
  const now = Math.floor(Date.now() / 1000);
  await database.query
    .insertInto('drawing_tasks')
    .values([
      { user_id: 1, mj_id: 'old', action: 'IMAGINE', status: 'SUCCESS', submit_ms: (now - 86_400) * 1000 },
      { user_id: 1, mj_id: 'fresh', action: 'UPSCALE', status: 'FAILURE', submit_ms: now * 1000 },
    ] as never)
    .execute();
  await database.query
    .insertInto('tasks')
    .values([
      {
        user_id: 1,
        task_id: 'song',
        platform: 'suno',
        status: 'SUCCESS',
        submit_at: now,
        created_at: now,
        updated_at: now,
      },
      {
        user_id: 1,
        task_id: 'lost',
        platform: 'suno',
        status: 'FAILURE',
        submit_at: now,
        created_at: now,
        updated_at: now,
      },
    ] as never)
    .execute();
  await database.close();
};

test('drawings and tasks are listed, newest first, narrowed by time and state', async () => {
  await fill();
  expect(await runner.run(['drawing', 'list', '-q'])).toBe('fresh\nold');
  expect(await runner.run(['drawing', 'list', '--since', '1h', '-q'])).toBe('fresh');
  expect(await runner.run(['drawing', 'list', '--id', 'old', '-q'])).toBe('old');
  expect(await runner.run(['task', 'list', '--status', 'FAILURE', '-q'])).toBe('lost');
});

test('a limit above the size of a page gives so many rows', async () => {
  const database = openDatabase(join(dir, 'data', 'gateway.db'));
  const many = Array.from({ length: 130 }, (_, number) => number);
  await database.query
    .insertInto('drawing_tasks')
    .values(
      many.map((number) => ({ user_id: 1, mj_id: `d${number}`, action: 'IMAGINE', submit_ms: number + 1 })) as never,
    )
    .execute();
  await database.query
    .insertInto('top_ups')
    .values(
      many.map((number) => ({
        ...{ user_id: 1, trade_no: `t${number}`, method: 'stripe', amount: 1, quota: 1, money: 100 },
        ...{ currency: 'USD', status: 'pending', created_at: number + 1 },
      })) as never,
    )
    .execute();
  await database.close();
  const lines = async (...words: string[]) => (await runner.run([...words, '-q'])).split('\n').length;
  expect(await lines('drawing', 'list', '--limit', '120')).toBe(120);
  expect(await lines('payment', 'list', '--limit', '120')).toBe(120);
  expect(await lines('payment', 'list')).toBe(20);
});

test('a route is explained with shares, and says when there is none', async () => {
  for (const [name, weight] of [
    ['one', '3'],
    ['two', '1'],
  ] as const)
    await runner.run([
      'channel',
      'add',
      '--type',
      'openai',
      '--name',
      name,
      '--models',
      'gpt-4o',
      '--weight',
      weight,
      '--key-file',
      secret,
    ]);
  const found = (await runner.json(['route', 'explain', 'gpt-4o'])) as { channels: { name: string; share: number }[] };
  expect(found.channels.map(({ name }) => name).sort()).toEqual(['one', 'two']);
  expect(found.channels.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 5);
  await expect(runner.run(['route', 'explain', 'nobody-serves-me'])).rejects.toMatchObject({ code: 'check_failed' });
});
