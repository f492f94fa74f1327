/** How fast the log answers when it is long: `node scripts/launch.mjs lab/measure/logs [rows] [--postgres]`. With the flag on a PostgreSQL server of its own: instead of the ledger's inserts the console's sums and what retention drops. Goals: first page of any filter within 150 ms, sums of a month within 2 s (of everything 10 s), inserts not 20 % slower than into a log of 100,000 rows. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLedgerStore } from '../../../db/ledger/sqlite/store.ts';
import { migrate } from '../../../db/migrate.ts';
import { type Database, openDatabase } from '../../../db/open.ts';
import { monthOf } from '../../../db/postgres/months.ts';
import { openPostgres, type PostgresDatabase } from '../../../db/postgres/open.ts';
import type { LogFilter } from '../../../db/repositories/log-filter.ts';
import { createUsageRepository } from '../../../db/repositories/usage.ts';
import type { Settle } from '../../../server/billing/ledger/commands.ts';
import { createLogs } from '../../../server/domain/logs/service.ts';
import { fillServer } from '../../servers/fill-logs.ts';
import { postgresPrograms, startPostgres } from '../../servers/postgres.ts';
import { models, other, settlementOf, start, users } from '../../servers/settlements.ts';

const args = process.argv.slice(2);
const onPostgres = args.includes('--postgres');
const rows = Number(args.find((text) => /^\d+$/.test(text)) ?? (onPostgres ? 10_000_000 : 5_000_000));
const goalMs = 150;
/** Sums over many rows are no lists. */
const goalStatsMs = 2000;
const goalTotalMs = 10_000;
const goalRetentionMs = 10_000;
const maxSlowdown = 0.2;
const batch = 200;
/** Rows of one sample, and how many samples are taken of each. */
const sample = 5000;
const samples = 21;
/** Rows of the log that is compared with. */
const recent = 100_000;
const daySeconds = 86_400;
/** Ten requests a second; on a server so many that they fill a year. */
const perSecond = onPostgres ? rows / (365 * daySeconds) : 10;
const timeOf = (index: number): number => start + Math.floor(index / perSecond);

const command = (index: number): Settle => settlementOf(index, timeOf(index));

const dir = mkdtempSync(join(tmpdir(), 'gateway-logs-'));

/** Books with `count` log rows. */
async function ledgerOf(name: string, count: number) {
  const database = openDatabase(join(dir, `${name}.db`));
  await migrate(database);
  const { raw } = database;
  // As the ledger's own thread.
  raw.pragma('wal_autocheckpoint = 4000');
  raw.transaction(() => {
    for (let id = 1; id <= users; id++) {
      raw
        .prepare("INSERT INTO users (id, username, password_hash, created_at) VALUES (?, ?, 'x', 1)")
        .run(id, `user${id}`);
      raw.prepare('INSERT INTO accounts (id) VALUES (?)').run(id);
    }
  })();
  const store = createLedgerStore(raw);
  store.nextEpoch();
  let next = 0;
  /** @returns settlements per second, as the ledger commits them. */
  const insert = (more: number): number => {
    const started = performance.now();
    for (const end = next + more; next < end; next += batch)
      store.apply(Array.from({ length: batch }, (_, step) => command(next + step)));
    return more / ((performance.now() - started) / 1000);
  };
  // Quickly: only how the file looks afterwards matters.
  raw.pragma('synchronous = OFF');
  insert(count);
  raw.pragma('synchronous = FULL');
  store.checkpoint('TRUNCATE');
  return { database, insert };
}

/** Milliseconds of the fastest of three: what else the machine does is not the question. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  let fastest = Number.POSITIVE_INFINITY;
  for (let times = 0; times < 3; times++) {
    const started = performance.now();
    await work();
    fastest = Math.min(fastest, performance.now() - started);
  }
  return fastest;
}

const middleOf = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Asks for the first page of many filters. @returns the slowest, in milliseconds. */
async function measurePages(database: Database): Promise<number> {
  const logs = createLogs({ database, now: Date.now });
  const end = timeOf(rows);
  const middle = { from: timeOf(rows / 2), to: timeOf(rows / 2) + 3600 };
  const filters: Readonly<Record<string, LogFilter>> = {
    nothing: {},
    'last day': { from: end - 86_400, to: end + 3600 },
    'an hour long ago': middle,
    type: { type: 5 },
    'type consume, long ago': { type: 2, ...middle },
    user: { username: 'user7' },
    'rare user': { username: `user${users}` },
    nobody: { username: 'nobody' },
    own: { userId: 7 },
    'own, long ago': { userId: 7, ...middle },
    'own token': { userId: 7, tokenName: 'default' },
    token: { tokenName: 'default' },
    'rare token': { tokenName: 'rare-token' },
    'no such token': { tokenName: 'none' },
    model: { model: 'gpt-4o' },
    'model, long ago': { model: 'gpt-4o', ...middle },
    'rare model': { model: 'rare-model' },
    'no such model': { model: 'none' },
    channel: { channel: 3 },
    group: { group: 'default' },
    'rare group': { group: 'rare' },
    'request id': { requestId: command(rows / 2).ref },
    'rare model of a channel': { model: 'rare-model', channel: 8 },
    'user and model': { username: 'user7', model: 'gpt-4o' },
    'errors of a user': { type: 5, username: 'user7' },
    'errors of a model in an hour': { type: 5, model: 'gpt-4o', ...middle },
    'group and rare model': { group: 'default', model: 'rare-model' },
    'rare group and model': { group: 'rare', model: 'gpt-4o' },
  };
  let slowest = 0;
  for (const [name, filter] of Object.entries(filters)) {
    let total = 0;
    const ms = await timed(async () => {
      ({ total } = await logs.page(filter, 1, 100, true));
    });
    slowest = Math.max(slowest, ms);
    console.log(
      `${ms.toFixed(1).padStart(8)} ms  ${String(total).padStart(6)}  ${name}${ms > goalMs ? '   TOO SLOW' : ''}`,
    );
  }
  return slowest;
}

/** What the console adds up above its lists and on its first page. @returns whether each was in time. */
async function measureStats(database: Database): Promise<boolean> {
  const end = timeOf(rows);
  const logs = createLogs({ database, now: () => end * 1000 });
  const usage = createUsageRepository(database);
  const last = (days: number): LogFilter => ({ from: end - days * daySeconds, to: end + 3600 });
  const stats: Readonly<Record<string, () => Promise<unknown>>> = {
    'figures of today': () => logs.stat(last(1)),
    'figures of a week': () => logs.stat(last(7)),
    'figures of a month': () => logs.stat(last(30)),
    'figures of everything': () => logs.stat({}),
    'figures of a user': () => logs.stat({ userId: 7 }),
    'figures of a model in a week': () => logs.stat({ model: 'gpt-4o', ...last(7) }),
    'a week by channel': () => logs.breakdown(last(7), 'channel'),
    'a week by model': () => logs.breakdown(last(7), 'model'),
    'hours of a user in a month': () => usage.hours({ from: end - 30 * daySeconds, to: end, userId: 7 }, 10_000),
    'hours of everybody in a day': () => usage.hours({ from: end - daySeconds, to: end }, 10_000),
  };
  let inTime = true;
  for (const [name, ask] of Object.entries(stats)) {
    const ms = await timed(ask);
    const isSlow = ms > (name === 'figures of everything' ? goalTotalMs : goalStatsMs);
    inTime &&= !isSlow;
    console.log(`${ms.toFixed(1).padStart(8)} ms  ${name}${isSlow ? '   TOO SLOW' : ''}`);
  }
  return inTime;
}

/** Whole months go at once, and the next list is as fast. */
async function measureRetention(database: PostgresDatabase): Promise<boolean> {
  const logs = createLogs({ database, now: Date.now });
  const before = monthOf(start + 90 * daySeconds).from;
  const started = performance.now();
  const removed = await logs.prune(before);
  const ms = performance.now() - started;
  const [left] = (
    await database.pool.query<{ n: number }>('SELECT count(*) AS n FROM logs WHERE created_at < $1', [before])
  ).rows;
  console.log(`${ms.toFixed(1).padStart(8)} ms  ${removed} rows dropped with their months, ${left?.n} left`);
  return left?.n === 0 && ms <= goalRetentionMs;
}

async function onFile(): Promise<boolean> {
  const smallLedger = await ledgerOf('young', recent);
  const { database, insert } = await ledgerOf('gateway', rows);
  // What the system still has to write from the filling would slow down what is measured.
  Bun.spawnSync(['sync']);
  // In turns, so that what else the machine does slows down both.
  const turns = Array.from({ length: samples }, () => [smallLedger.insert(sample), insert(sample)] as const);
  const slower = 1 - middleOf(turns.map(([first, last]) => last / first));
  const [first, last] = [middleOf(turns.map(([one]) => one)), middleOf(turns.map(([, other]) => other))];
  console.log(
    `${rows} rows; inserts ${Math.round(first)}/s into a young log, ${Math.round(last)}/s into this one: ${(slower * 100).toFixed(0)} % slower`,
  );
  await smallLedger.database.close();
  const slowest = await measurePages(database);
  await database.close();
  return slowest <= goalMs && slower <= maxSlowdown;
}

/** The same rows spread over a year, made by the server itself. */
async function onServer(): Promise<boolean> {
  const bin = postgresPrograms();
  if (bin === null) throw new Error('PostgreSQL is not installed');
  const server = await startPostgres(bin, 'max_wal_size = 4GB');
  try {
    const database = await openPostgres({ engine: 'postgres', url: server.url });
    const started = performance.now();
    await fillServer(database, { rows, from: start, perSecond, other, users, models });
    console.log(`${rows} rows on PostgreSQL, filled in ${((performance.now() - started) / 60_000).toFixed(1)} min`);
    const slowest = await measurePages(database);
    const stats = await measureStats(database);
    const drops = await measureRetention(database);
    await database.close();
    return slowest <= goalMs && stats && drops;
  } finally {
    server.remove();
  }
}

try {
  process.exitCode = (await (onPostgres ? onServer() : onFile())) ? 0 : 1;
} finally {
  rmSync(dir, { recursive: true, force: true });
}
