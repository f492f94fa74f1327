/**
 * How fast a log is grouped by who asked, and whether groups come to the unit: `node scripts/launch.mjs lab/measure/names [rows] [--postgres]`.
 * With the flag on a PostgreSQL server of its own. 50 users, 33 sessions each a day with a prompt for each, five end users a session, a helper in one
 * request of four, one conversation of 5,000 requests. Goal of 1,000,000 rows: 200 ms each grouping, 300 ms the page of a conversation and of cache rates.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../../db/migrate.ts';
import { type Database, openDatabase } from '../../../db/open.ts';
import { migratePostgres } from '../../../db/postgres/migrate.ts';
import { openPostgres } from '../../../db/postgres/open.ts';
import { cacheRateKinds } from '../../../server/contract/cache-rates.ts';
import { logGroupings, nameKinds } from '../../../server/contract/names.ts';
import { createCacheRates } from '../../../server/domain/logs/cache-rates.ts';
import { createConversations } from '../../../server/domain/logs/conversation.ts';
import { createLogs } from '../../../server/domain/logs/service.ts';
import { postgresPrograms, startPostgres } from '../../servers/postgres.ts';

const args = process.argv.slice(2);
const rows = Number(args.find((text) => /^\d+$/.test(text)) ?? 1_000_000);
const goalMs = 200;
const pageGoalMs = 300;
const longest = Math.min(5000, rows / 20);
const users = 50;
const end = Math.floor(Date.UTC(2026, 10, 28) / 1000);
const daySeconds = 86_400;
/** All within thirty days. */
const spacing = (30 * daySeconds) / rows;

const facts = {
  ...{
    model_ratio: 1.25,
    model_price: -1,
    completion_ratio: 4,
    group_ratio: 1,
    cache_ratio: 0.5,
    input: 1200,
    output: 80,
  },
  ...{ frt: 640, ms: 2210, reasoning_effort: 'medium', request_path: '/v1/responses', cache_tokens: 1000 },
  admin_info: { use_channel: ['3'], upstream_request_id: 'req_011CSHoEeqs5C35K2UUqR7Fy' },
};
const other = JSON.stringify(facts);
const missed = JSON.stringify({ ...facts, cache_miss: { part: 'system', by: 'client', tokens: 900, lost: 12 } });

/** @param series SQL of the numbers 0 to `rows` - 1, as `i`. */
const fill = (series: string, integer: string): readonly string[] => [
  `INSERT INTO logs (request_id, created_at, type, user_id, username, token_id, token_name, channel_id, group_name, model_name,
     prompt_tokens, completion_tokens, quota, other, end_reason, agent_id, session_id, end_user_id, prompt_id, project_id, subagent_id)
   SELECT 'r' || i, ${end} - CAST(i * ${spacing} AS ${integer}), 2, 1 + i % ${users}, 'user' || (1 + i % ${users}), 1 + i % 200, 'key', 1 + i % 8,
     'default', 'model-' || (i % 12), 1200, 80, 100 + i % 900, CASE WHEN i % 20 = 0 THEN '${missed}' ELSE '${other}' END, 'completed',
     10 + i % 5, CASE WHEN i < ${longest * users} AND i % ${users} = 7 THEN 999 ELSE 1000 + (i / 1000) * ${users} + i % ${users} END, CASE WHEN i % 3 = 0 THEN 500 + i % 250 ELSE 0 END, 100000000 + (i / 1000) * ${users} + i % ${users},
     2000000 + i % 40, CASE WHEN i % 4 = 0 THEN 3000000 + (i / 1000) % 1000 * 3 + i % 3 ELSE 0 END
   FROM ${series}`,
  // As the ledger adds them up.
  ...[3600, 86_400].flatMap((span) => [
    `INSERT INTO log_sums (span, at, user_id, token_id, group_name, model_name, channel_id, writer, username, token_name,
       requests, errors, prompt_tokens, completion_tokens, cached_tokens, quota, list)
     SELECT ${span}, created_at - created_at % ${span}, user_id, token_id, group_name, model_name, channel_id, 0, max(username), max(token_name),
       count(*), 0, sum(prompt_tokens), sum(completion_tokens), count(*) * 1000, sum(quota), sum(quota) FROM logs GROUP BY 2, 3, 4, 5, 6, 7`,
    ...(span === 3600 ? (['agent', 'end_user'] as const) : nameKinds).map(
      (
        kind,
      ) => `INSERT INTO name_sums (span, kind, at, user_id, name_id, writer, requests, prompt_tokens, completion_tokens, cached_tokens, quota)
     SELECT ${span}, '${kind}', created_at - created_at % ${span}, user_id, ${kind}_id, 0, count(*), sum(prompt_tokens), sum(completion_tokens), 0, sum(quota)
       FROM logs WHERE ${kind}_id <> 0 GROUP BY 3, 4, 5`,
    ),
  ]),
  `INSERT INTO meta (key, value) VALUES ('sums_from', '0') ON CONFLICT (key) DO UPDATE SET value = '0'`,
  `INSERT INTO users (username, password_hash, created_at) SELECT 'user' || i, 'x', 1 FROM ${series} WHERE i < ${users}`,
  `INSERT INTO names (id, user_id, kind, text, day) VALUES (999, 8, 'session', 'longest', 1)`,
];

async function fastestOf(work: () => Promise<unknown>): Promise<number> {
  let fastest = Number.POSITIVE_INFINITY;
  for (let times = 0; times < 3; times++) {
    const started = performance.now();
    await work();
    fastest = Math.min(fastest, performance.now() - started);
  }
  return fastest;
}

async function measurePages(database: Database): Promise<void> {
  const conversation = createConversations({ database });
  const cacheRates = createCacheRates({ database });
  const line = (name: string, ms: number): void =>
    console.log(`${ms.toFixed(0).padStart(7)} ms  ${name}  ${ms > pageGoalMs ? 'ABOVE THE GOAL' : ''}`);
  const { requests } = await conversation('longest', {});
  line(`conversation of ${requests} requests`, await fastestOf(() => conversation('longest', {})));
  for (const by of cacheRateKinds) {
    const month = { from: end - 29 * daySeconds - 1234, to: end - 777 };
    line(`cache rates of 29 days by ${by}`, await fastestOf(() => cacheRates(month, by)));
    line(`cache rates of a day by ${by}`, await fastestOf(() => cacheRates({ ...month, from: end - daySeconds }, by)));
  }
  line('cache rates without a range', await fastestOf(() => cacheRates({}, 'channel')));
  line('cache rates of a user', await fastestOf(() => cacheRates({ userId: 8 }, 'key')));
}

async function measure(database: Database, vacuum: () => unknown): Promise<boolean> {
  await vacuum();
  const logs = createLogs({ database, now: () => end * 1000 });
  // Begins and ends within an hour, as what people choose does.
  const filter = { from: end - 29 * daySeconds - 1234, to: end - 777 };
  const whole = (await logs.stat(filter)).quota;
  let isRight = true;
  for (const by of logGroupings) {
    const fastest = await fastestOf(() => logs.breakdown(filter, by, undefined));
    const found = await logs.breakdown(filter, by, undefined, 10_000_000);
    const sum = found.reduce((all, { quota }) => all + quota, 0);
    const groups = found.length;
    const isWhole = sum === whole;
    isRight &&= isWhole || by === 'subagent' || by === 'end_user';
    const verdict = fastest > goalMs ? 'ABOVE THE GOAL' : '';
    console.log(
      `${fastest.toFixed(0).padStart(7)} ms  ${String(groups).padStart(7)} groups  ${by}  ${isWhole ? 'all' : 'a part'}  ${verdict}`,
    );
  }
  await measurePages(database);
  return isRight;
}

if (args.includes('--postgres')) {
  const programs = postgresPrograms();
  if (programs === null) throw new Error('no PostgreSQL is installed here');
  const server = await startPostgres(programs);
  const database = await openPostgres({ engine: 'postgres', url: server.url });
  await migratePostgres(database);
  for (const statement of fill(`(SELECT generate_series(0, ${rows - 1}) AS i) AS n`, 'bigint'))
    await database.pool.query(statement);
  const isRight = await measure(database, () => database.pool.query('VACUUM ANALYZE'));
  await database.close();
  server.remove();
  if (!isRight) process.exitCode = 1;
} else {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-names-'));
  const database = openDatabase(join(dir, 'names.db'));
  await migrate(database);
  database.raw.pragma('synchronous = OFF');
  const series = `(WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows - 1}) SELECT i FROM n)`;
  for (const statement of fill(series, 'INTEGER')) database.raw.exec(statement);
  const isRight = await measure(database, () => database.raw.pragma('wal_checkpoint(TRUNCATE)'));
  await database.close();
  rmSync(dir, { recursive: true });
  if (!isRight) process.exitCode = 1;
}
