import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type KyselyPlugin, sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../db/open.ts';
import { createChannelStates } from '../../server/domain/traffic/states.ts';
import { openMigrated } from '../support/migrated.ts';

function file(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-states-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'gateway.db');
}

const channels = 1000;
const models = 20;
const today = 20_000 * 86_400;
const now = today + 12 * 3600;

/** Each channel was busy in every window of a week, in two groups. */
async function busySite(): Promise<Database> {
  const database = await openMigrated(file());
  const numbers = (upTo: number) =>
    `(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${upTo}) SELECT i FROM n)`;
  const names = Array.from({ length: models }, (_, at) => `m${at}`).join(',');
  const windows = (span: number, from: number, count: number) => `
    INSERT INTO traffic (span, kind, at, subject_id, user_id, part, attempts, requests, charge, answered, latency_ms, latency_3)
      SELECT ${span}, 'channel', ${from} + (w.i - 1) * ${span}, c.i, 0, '', 2, 2, 10, 1, 800, 2
      FROM ${numbers(channels)} AS c, ${numbers(count)} AS w;`;
  database.raw.exec(`
    INSERT INTO channels (type, name, key_sealed, models, group_name, priority, created_at)
      SELECT 1, 'c' || i, 'x', '${names}', 'default,vip', i % 2, 1 FROM ${numbers(channels)};
    ${windows(300, now - 3600, 12)}${windows(3600, now - 24 * 3600, 25)}${windows(86_400, today - 7 * 86_400, 8)}`);
  return database;
}

test('with many channels the reader adds up, hands over a row for each, and others get their turns', async () => {
  const database = await busySite();
  const reads: { rows: number; cells: number }[] = [];
  const counted: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      reads.push({
        rows: result.rows.length,
        cells: result.rows.reduce((sum, row) => sum + Object.keys(row).length, 0),
      });
      return result;
    },
  };
  const never: KyselyPlugin = {
    transformQuery: () => {
      throw new Error('a read of the control thread');
    },
    transformResult: async ({ result }) => result,
  };
  const { query } = database;
  const site = { ...database, query: query.withPlugin(never), reading: query.withPlugin(counted) } as Database;
  const options = { get: () => 500_000 } as unknown as Parameters<typeof createChannelStates>[0]['options'];
  const states = createChannelStates({ database: site, options, now: () => now * 1000 });

  let turns = 0;
  let isDone = false;
  const turn = () => {
    turns++;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  const found = await states('24h');
  isDone = true;

  expect(found).toHaveLength(channels);
  expect(found[0]).toMatchObject({
    ...{ id: 1, name: 'c1', state: 'serving', failed: 0, requests_per_minute: 0.4, charged_today: 10 },
    ...{ p95: expect.any(Number), usual_p95: null, saved_by: [], words: '' },
    period: { attempts: 50, failed: 0, p95: expect.any(Number) },
  });
  expect(found[0]?.period?.bars).toHaveLength(25);
  // One row of a channel, or the bars of four hundred.
  expect(Math.max(...reads.map(({ rows }) => rows))).toBe(400 * 25);
  expect(reads.filter(({ rows }) => rows > channels)).toHaveLength(Math.ceil(channels / 400));
  expect(Math.max(...reads.map(({ cells }) => cells / channels))).toBeLessThan(75);
  // Pairs of groups and models twice, bars, and states: ten thousand in a turn.
  const work = 2 * channels * 2 * models + channels * 25 + channels * 20;
  expect(turns).toBeGreaterThanOrEqual(Math.floor(work / 10_000) - 1);
  await database.close();
});

test('a channel is charged per day what it was since its first day', async () => {
  const database = await openMigrated(file());
  await sql`INSERT INTO channels (id, type, name, key_sealed, models, group_name, created_at, balance, balance_updated_at)
    VALUES (1, 1, 'new', 'x', 'm', 'default', 1, 8, 1), (2, 1, 'idle', 'x', 'm', 'default', 1, 8, 1)`.execute(
    database.query,
  );
  const spent = (at: number, charge: number) =>
    sql`INSERT INTO traffic (span, kind, at, subject_id, user_id, part, attempts, charge)
      VALUES (86400, 'channel', ${at}, 1, 0, '', 1, ${charge})`.execute(database.query);
  await spent(today - 8 * 86_400, 9_000_000);
  await spent(today - 86_400, 500_000);
  await spent(today, 250_000);
  const options = { get: () => 500_000 } as unknown as Parameters<typeof createChannelStates>[0]['options'];
  const [one, two] = await createChannelStates({ database, options, now: () => now * 1000 })();
  // $1.50 within a day and a half.
  expect([one?.charged_today, one?.balance_lasts_days]).toEqual([250_000, 8]);
  expect([two?.charged_today, two?.balance_lasts_days, two?.period]).toEqual([0, null, null]);
  await database.close();
});
