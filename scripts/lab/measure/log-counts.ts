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
import { fillLog } from './long-log.ts';

const args = process.argv.slice(2);
const rows = Number(args.find((text) => /^\d+$/.test(text)) ?? 1_000_000);
const goalMs = 300;
const end = 1_795_000_000;
const seconds = 30 * 86_400;
const begin = end - seconds;

const filters: Readonly<Record<string, LogFilter>> = {
  everything: {},
  '30 days': { from: begin, to: end },
  '7 days': { from: end - 7 * 86_400, to: end },
  day: { from: end - 86_400, to: end },
  model: { model: 'model-3', from: begin, to: end },
  'part of a model': { model: '%-3%', from: begin, to: end },
  user: { username: 'user7', from: begin, to: end },
  own: { userId: 107, from: begin, to: end },
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
    await fillLog(database, { rows, begin, seconds });
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
    await fillLog(database, { rows, begin, seconds });
    await sql`VACUUM ANALYZE logs`.execute(database.query);
    const fits = await measure(database);
    await database.close();
    return fits;
  } finally {
    server.remove();
  }
}

process.exitCode = (await (args.includes('--postgres') ? onServer() : onFile())) ? 0 : 1;
