/** How long the log's counts take when it is long: `node scripts/launch.mjs lab/measure/log-counts [rows] [--postgres]`. Goal: 300 ms over 1,000,000 rows for every filter. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { migrate } from '../../../db/migrate.ts';
import { type Database, openDatabase } from '../../../db/open.ts';
import { migratePostgres } from '../../../db/postgres/migrate.ts';
import { ensureMonths } from '../../../db/postgres/months.ts';
import { openPostgres } from '../../../db/postgres/open.ts';
import type { LogFilter } from '../../../db/repositories/log-filter.ts';
import { createLogs } from '../../../server/domain/logs/service.ts';
import { postgresPrograms, startPostgres } from '../../servers/postgres.ts';

const args = process.argv.slice(2);
const rows = Number(args.find((text) => /^\d+$/.test(text)) ?? 1_000_000);
const goalMs = 300;
const end = 1_795_000_000;
const seconds = 30 * 86_400;
const begin = end - seconds;

/** 500 users, 20 models, 40 channels; 3 in 100 fail, 2 were retried, 1 is refused. Facts as long as those of a real row. */
async function fill({ query, engine }: Database): Promise<void> {
  const numbers =
    engine === 'postgres'
      ? sql`SELECT i FROM generate_series(0::bigint, ${sql.lit(rows - 1)}) AS numbers(i)`
      : sql`SELECT i FROM (WITH RECURSIVE numbers(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${sql.lit(rows - 1)}) SELECT i FROM numbers) AS numbers`;
  const facts = `"model_ratio":1.25,"model_price":-1,"completion_ratio":4,"group_ratio":1,"cache_tokens":0,"cache_ratio":0.5,"input":1000,"output":200,"frt":350,"ms":2100,"price_note":"${'x'.repeat(150)}"`;
  const attempts =
    '"admin_info":{"use_channel":["1","2"],"attempts":[{"channel":1,"name":"one","reason":"status","status":429,"ms":310},{"channel":2,"name":"two"}]}';
  await query
    .insertInto('users')
    .values(
      Array.from({ length: 500 }, (_, at) => ({
        id: at + 1,
        username: `user${at + 1}`,
        password_hash: 'x',
        created_at: 1,
      })) as never,
    )
    .execute();
  await sql`INSERT INTO logs (request_id, created_at, type, user_id, username, token_id, token_name, channel_id, group_name, model_name,
      is_stream, use_time, prompt_tokens, completion_tokens, quota, content, other, usage_source, end_reason)
    SELECT 'req' || i, ${sql.lit(begin)} + i * ${sql.lit(seconds)} / ${sql.lit(rows)}, CASE WHEN i % 100 < 4 THEN 5 ELSE 2 END,
      1 + i % 500, 'user' || (1 + i % 500), 1 + i % 1500, 'key' || (i % 30), 1 + i % 40, CASE i % 7 WHEN 0 THEN 'vip' ELSE 'default' END,
      'model-' || (i % 20), 1, 2, 1000, 200, 2250, '',
      CASE WHEN i % 100 < 3 THEN ${sql.lit(`{${facts},"failure":"status 429",${attempts}}`)}
        WHEN i % 100 = 3 THEN '{"refused":"model_forbidden","status":403}'
        WHEN i % 100 < 6 THEN ${sql.lit(`{${facts},${attempts}}`)}
        ELSE ${sql.lit(`{${facts},"admin_info":{"use_channel":["1"]}}`)} END, 'reported',
      CASE WHEN i % 100 < 3 THEN 'upstream_failed' WHEN i % 100 = 3 THEN 'refused' ELSE 'completed' END
    FROM (${numbers}) AS numbered`.execute(query);
}

const filters: Readonly<Record<string, LogFilter>> = {
  everything: {},
  '30 days': { from: begin, to: end },
  '7 days': { from: end - 7 * 86_400, to: end },
  day: { from: end - 86_400, to: end },
  model: { model: 'model-3', from: begin, to: end },
  'part of a model': { model: '%-3%', from: begin, to: end },
  user: { username: 'user7', from: begin, to: end },
  own: { userId: 7, from: begin, to: end },
  channel: { channel: 4, from: begin, to: end },
  group: { group: 'default', from: begin, to: end },
  failed: { statuses: ['failed'], from: begin, to: end },
  'failed or retried of a model': { statuses: ['failed', 'retried'], model: 'model-1', from: begin, to: end },
  error: { error: 'model_forbidden', from: begin, to: end },
  succeeded: { statuses: ['succeeded'], from: begin, to: end },
  'group, model and token': { group: 'default', model: 'model-3', tokenName: 'key3', from: begin, to: end },
};

const sum = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000;

async function measure(database: Database): Promise<boolean> {
  const logs = createLogs({ database, now: () => end * 1000 });
  let slowest = 0;
  // A file is read by this process alone: its own time leaves out what else the machine does.
  const clock = database.engine === 'postgres' ? () => performance.now() : () => sum(process.cpuUsage());
  const fastestOf = async (work: () => Promise<unknown>): Promise<number> => {
    let fastest = Number.POSITIVE_INFINITY;
    for (let times = 0; times < 3; times++) {
      const began = clock();
      await work();
      fastest = Math.min(fastest, clock() - began);
    }
    return fastest;
  };
  for (const [name, filter] of Object.entries(filters)) {
    const selected = { ...filter, retries: true };
    let shown = '';
    const ms = await fastestOf(async () => {
      const { total, errors, sampled } = await logs.facets(selected, 10, true);
      shown = `${sampled ? '≈' : ' '}${total} rows, ${errors} errors`;
    });
    const page = await fastestOf(() => logs.page(selected, 1, 50, true));
    slowest = Math.max(slowest, ms);
    console.log(
      `${ms.toFixed(0).padStart(6)} ms counts, ${page.toFixed(0).padStart(5)} ms list  ${name}: ${shown}${ms > goalMs ? '   TOO SLOW' : ''}`,
    );
  }
  return slowest <= goalMs;
}

async function onFile(): Promise<boolean> {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-facets-'));
  try {
    const database = openDatabase(join(dir, 'gateway.db'));
    await migrate(database);
    database.raw.pragma('synchronous = OFF');
    await fill(database);
    const fits = await measure(database);
    await database.close();
    return fits;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function onServer(): Promise<boolean> {
  const bin = postgresPrograms();
  if (bin === null) throw new Error('PostgreSQL is not installed');
  const server = await startPostgres(bin, 'max_wal_size = 4GB');
  try {
    const database = await openPostgres({ engine: 'postgres', url: server.url });
    await migratePostgres(database);
    await ensureMonths(database.query, begin, end);
    await fill(database);
    await sql`VACUUM ANALYZE logs`.execute(database.query);
    const fits = await measure(database);
    await database.close();
    return fits;
  } finally {
    server.remove();
  }
}

process.exitCode = (await (args.includes('--postgres') ? onServer() : onFile())) ? 0 : 1;
