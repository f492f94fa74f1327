/**
 * What a start takes, and the memory of an idle server, in folders of several kinds: `node scripts/launch.mjs lab/measure/start
 * [--rows 2000000] [--keys 100000] [--users 50000] [--channels 5000] [--rounds 3] [--first 12] [--kinds few,keys] [--programs A,B]`, against
 * dist/gateway; with several programs, one after the other in each round, on copies of a folder that the first one made. Linux.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { sql } from 'kysely';
import { cpuMicros, memoryOf } from '../../../cli/bench/machine.ts';
import { median } from '../../../cli/bench/stats.ts';
import { type Database, openDatabase } from '../../../db/open.ts';
import { freePort } from '../../../tests/binary/support.ts';
import { fillLog } from './long-log.ts';

const flag = (name: string, preset: string): string => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? preset : (process.argv[at + 1] ?? preset);
};
const count = (name: string, preset: number): number => Number(flag(name, String(preset)));
const programs = flag('programs', resolve(import.meta.dirname, '../../../dist/gateway')).split(',');
const rounds = count('rounds', 3);
/** The allocator gives pages back after a second, the collector later. */
const idleSeconds = count('idle', 12);
/** An end is clean where somebody has looked through the file: 1 s in 100,000 rows of the log. */
const firstSeconds = count('first', idleSeconds);

const numbers = (upTo: number) =>
  sql`(WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${sql.lit(upTo)}) SELECT i FROM numbers)`;
const hex = sql`lower(hex(randomblob(32)))`;

const fillKeys = (database: Database, keys: number) =>
  sql`INSERT INTO tokens (user_id, name, key_hmac, key_sealed, key_hint, created_at, unlimited)
    SELECT 1, 'key ' || i, ${hex}, 'x', 'abc…wxyz', 1, 1 FROM ${numbers(keys)}`.execute(database.query);

async function fillUsers(database: Database, users: number) {
  await sql`INSERT INTO users (id, username, password_hash, created_at) SELECT 100 + i, 'user' || i, 'x', 1 FROM ${numbers(users)}`.execute(
    database.query,
  );
  await sql`INSERT OR IGNORE INTO accounts (id, balance) SELECT 100 + i, 1000000 FROM ${numbers(users)}`.execute(
    database.query,
  );
}

const fillChannels = (database: Database, channels: number) =>
  sql`INSERT INTO channels (type, name, key_sealed, base_url, models, created_at)
    SELECT type, 'channel ' || i, key_sealed, base_url, 'model-' || i, 1 FROM channels, ${numbers(channels)} WHERE id = 1`.execute(
    database.query,
  );

const now = Math.floor(Date.now() / 1000);
const kinds: Readonly<Record<string, (database: Database) => Promise<unknown>>> = {
  few: async () => undefined,
  rows: (database) =>
    fillLog(database, { rows: count('rows', 2_000_000), begin: now - 30 * 86_400, seconds: 30 * 86_400 }),
  keys: (database) => fillKeys(database, count('keys', 100_000)),
  users: (database) => fillUsers(database, count('users', 50_000)),
  channels: (database) => fillChannels(database, count('channels', 5000)),
};

interface Figures {
  /** Milliseconds from the beginning of the process: a relay would take requests, the API has answered. */
  readonly relay: number;
  readonly api: number;
  /** Processor milliseconds of all threads until the relay was ready. */
  readonly cpu: number;
  /** Megabytes when the relay was ready, and idle. */
  readonly ready: number;
  readonly idle: number;
  readonly anonymous: number;
}

function run(program: string, dataDir: string, args: readonly string[], input: string): void {
  const env = { TERM: 'dumb', LANG: 'C', GATEWAY_DATA_DIR: dataDir };
  const { exitCode, stderr } = Bun.spawnSync([program, ...args], { env, stdin: Buffer.from(input) });
  if (exitCode !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
}

async function answers(url: string, begun: number): Promise<number> {
  for (;;) {
    const response = await fetch(url).catch(() => null);
    await response?.arrayBuffer();
    if (response?.ok === true) return performance.now() - begun;
    if (performance.now() - begun > 60_000) throw new Error(`${url}: not ready within a minute`);
    await Bun.sleep(2);
  }
}

async function measure(program: string, dataDir: string, seconds: number): Promise<Figures> {
  const port = freePort();
  const begun = performance.now();
  const child = Bun.spawn([program, 'serve', '--port', String(port)], {
    env: { TERM: 'dumb', LANG: 'C', GATEWAY_DATA_DIR: dataDir },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  try {
    const relay = await answers(`http://127.0.0.1:${port}/readyz`, begun);
    const cpu = (cpuMicros(child.pid) ?? Number.NaN) / 1000;
    const ready = memoryOf(child.pid)?.residentMb ?? Number.NaN;
    const api = await answers(`http://127.0.0.1:${port}/api/status`, begun);
    await Bun.sleep(seconds * 1000);
    const idle = memoryOf(child.pid);
    return { relay, api, cpu, ready, idle: idle?.residentMb ?? Number.NaN, anonymous: idle?.anonymousMb ?? Number.NaN };
  } finally {
    child.kill('SIGTERM');
    await child.exited;
  }
}

const middle = (figures: readonly Figures[], name: keyof Figures): string =>
  median(figures.map((one) => one[name])).toFixed(0);

for (const kind of flag('kinds', Object.keys(kinds).join(',')).split(',')) {
  const folders = mkdtempSync(join(tmpdir(), 'gateway-start-'));
  try {
    const made = join(folders, 'made');
    run(programs[0] ?? '', made, ['setup', '--username', 'root', '--password-stdin'], 'password1\n');
    const channel = ['--type', 'practice', '--name', 'practice', '--base-url', 'http://127.0.0.1:9'];
    run(programs[0] ?? '', made, ['channel', 'add', ...channel, '--key-stdin'], 'sk-practice\n');
    const database = openDatabase(join(made, 'gateway.db'));
    database.raw.pragma('synchronous = OFF');
    await kinds[kind]?.(database);
    // The feed says what is new; all of it is in the first reading.
    database.raw.exec('DELETE FROM changes');
    await database.close();
    const sites = programs.map((program, at) => {
      const folder = join(folders, String(at));
      cpSync(made, folder, { recursive: true });
      return { program, folder, figures: [] as Figures[] };
    });
    // The first start of a folder may bring it up to date, and has no clean end behind it.
    for (let round = -1; round < rounds; round++)
      for (const { program, folder, figures } of sites) {
        const found = await measure(program, folder, round < 0 ? firstSeconds : idleSeconds);
        if (round >= 0) figures.push(found);
      }
    for (const { program, figures } of sites)
      console.log(
        `${kind.padEnd(9)} ${program}: relay ready after ${middle(figures, 'relay')} ms (${middle(figures, 'cpu')} of processor time), API ${middle(figures, 'api')} ms; RSS ${middle(figures, 'ready')} MB then, ${middle(figures, 'idle')} MB idle, RssAnon ${middle(figures, 'anonymous')} MB`,
      );
  } finally {
    rmSync(folders, { recursive: true, force: true });
  }
}
