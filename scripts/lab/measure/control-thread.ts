/** How long the console waits while long reads and upkeep run: `node scripts/launch.mjs lab/measure/control-thread [rows]`, against dist/gateway. Goal: p99 of `/api/status` 60 ms. */
import { join } from 'node:path';
import { sql } from 'kysely';
import { openDatabase } from '../../../db/open.ts';
import { createTrafficRepository } from '../../../db/repositories/traffic.ts';
import { createLogs } from '../../../server/domain/logs/service.ts';
import { createSandbox, freePort, setUp } from '../../../tests/binary/support.ts';
import { fillLog } from './long-log.ts';

const rows = Number(process.argv[2] ?? 500_000);
const goalMs = 60;
const day = 86_400;
const now = Math.floor(Date.now() / 1000);
const begin = now - 30 * day;

const sandbox = createSandbox();
let fits = true;

/** @returns p99 and the longest of the waits, milliseconds. */
function summary(waits: readonly number[]) {
  const sorted = [...waits].sort((one, other) => one - other);
  return { p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0, max: sorted.at(-1) ?? 0 };
}
function say(name: string, ms: number, waits: readonly number[]): void {
  const { p99, max } = summary(waits);
  if (p99 > goalMs) fits = false;
  console.log(
    `${name.padEnd(34)} ${ms.toFixed(0).padStart(6)} ms; meanwhile ${String(waits.length).padStart(4)} answers, p99 ${p99.toFixed(0).padStart(5)} ms, longest ${max.toFixed(0).padStart(5)} ms${p99 > goalMs ? '   TOO SLOW' : ''}`,
  );
}

/** Asks for the status again and again until the work is done. */
async function beside(url: string, work: Promise<unknown>): Promise<number[]> {
  const waits: number[] = [];
  let isOver = false;
  void work.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const begun = performance.now();
    await (await fetch(`${url}/api/status`)).arrayBuffer();
    waits.push(performance.now() - begun);
    await Bun.sleep(5);
  }
  return waits;
}

/** How late a timer of 1 ms is while something runs on this thread. */
async function latenessDuring(work: () => Promise<unknown>): Promise<number[]> {
  const waits: number[] = [];
  let before = performance.now();
  const timer = setInterval(() => {
    waits.push(performance.now() - before);
    before = performance.now();
  }, 1);
  await work();
  waits.push(performance.now() - before);
  clearInterval(timer);
  return waits;
}

try {
  const upstream = await sandbox.start(['mock-upstream', '--port', String(freePort())]);
  await setUp(sandbox, upstream.line);
  const file = join(sandbox.dataDir, 'gateway.db');
  const database = openDatabase(file);
  database.raw.pragma('synchronous = OFF');
  await fillLog(database, { rows, begin, seconds: now - begin });
  // Two days of five-minute windows beyond what is kept, with 200 keys each.
  const old = sql`WITH RECURSIVE w(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM w WHERE i < 576), k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < 200)
    INSERT INTO traffic (span, kind, at, subject_id, user_id, part) SELECT 300, 'use', ${sql.lit(now - 30 * day)} / 300 * 300 + w.i * 300, k.i, 1, 'm' FROM w, k`;
  await old.execute(database.query);
  database.raw.pragma('wal_checkpoint(TRUNCATE)');
  console.log(`${rows} rows`);

  const { line } = await sandbox.start(['serve', '--port', String(freePort())]);
  const url = line.replace('URL: ', '');
  const entered = await fetch(`${url}/api/user/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url },
    body: JSON.stringify({ username: 'root', password: 'password1' }),
  });
  const cookie = entered.headers
    .getSetCookie()
    .map((one) => one.split(';', 1)[0])
    .join('; ');
  const { data } = (await entered.json()) as { data: { id: number } };
  const get = async (path: string): Promise<void> => {
    const answer = await fetch(url + path, { headers: { cookie, 'new-api-user': String(data.id) } });
    const { success, message } = (await answer.json()) as { success: boolean; message: string };
    if (!success) throw new Error(`${path}: ${message}`);
  };
  const month = `start_timestamp=${begin}&end_timestamp=${now}`;
  const calls: Readonly<Record<string, string>> = {
    'sums by model, a month': `/api/log/stat/by?by=model&${month}`,
    'sums by user, a month': `/api/log/stat/by?by=user&${month}`,
    'sums of a month': `/api/log/stat?${month}`,
    'counts of a month': `/api/log/facets?${month}`,
    'a page of the log': `/api/log/?p=0&${month}`,
    'hours of a month': `/api/data/?${month}`,
    'statement of a user': `/api/statement/?user_id=107`,
    traffic: '/api/traffic/?range=30d&by=model',
  };
  for (const [name, path] of Object.entries(calls)) {
    const begun = performance.now();
    const work = get(path);
    const waits = await beside(url, work);
    await work;
    say(name, performance.now() - begun, waits);
  }

  database.raw.pragma('synchronous = FULL');
  const upkeep: Readonly<Record<string, () => Promise<unknown>>> = {
    'windows of traffic that are old': () =>
      createTrafficRepository(database).deleteOld({ 300: now - 2 * day, 3600: 0, 86400: 0 }),
    'rows of the log that are old': () => createLogs({ database, now: Date.now }).prune(begin + day),
  };
  for (const [name, work] of Object.entries(upkeep)) {
    const begun = performance.now();
    const waits: number[] = [];
    const status = beside(
      url,
      latenessDuring(work).then((late) => void waits.push(...late)),
    );
    const answers = await status;
    say(name, performance.now() - begun, waits);
    say('  the status of the server', performance.now() - begun, answers);
  }
  await database.close();
} finally {
  await sandbox.close();
}
process.exitCode = fits ? 0 : 1;
