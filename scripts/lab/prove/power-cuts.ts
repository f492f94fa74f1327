/**
 * The power fails while a gateway serves, again and again: `prove power-cuts [--cuts 60] [--seed N] [--only machine,node]`. One
 * run is recorded with `strace`; each cut is a moment of it, with a disk that lacks what was not synced by then. A server is
 * started on that disk, and every answer that a client had whole at that moment has to be in the books. `machine` has one
 * file; `node` is one of several on PostgreSQL, whose database is away, so that its charges are on its own disk alone.
 */
import { cpSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { command, end, freePort, start, waitForResponse } from '../../../cli/bench/process.ts';
import { openDatabase } from '../../../db/open.ts';
import { postgresPrograms, startPostgres } from '../../servers/postgres.ts';
import type { Goal } from '../bench/goal.ts';
import { processesOf } from './cluster/failures.ts';
import { startLink } from './cluster/link.ts';
import type { Account } from './cluster/people.ts';
import { createRandom, type Random } from './cluster/random.ts';
import { ask, createDatabase, moveToServer, prepareFile, program } from './cluster/site.ts';
import { askOnce } from './cluster/traffic.ts';
import { createDisk, type RecordedDisk } from './power-cuts/disk.ts';
import { readRecording, recorder } from './power-cuts/recording.ts';
import { flag, maxGoal, minGoal } from './site.ts';

/** One answer that a client had whole. */
interface Seen {
  readonly ref: string;
  readonly cost: number;
  /** Epoch seconds, never too early. */
  readonly at: number;
}

interface Charged {
  readonly ref: string;
  readonly amount: number;
  readonly rows: number;
}

/** Where a cut can be looked at: at any time between `from` and `to`. */
interface Recorded {
  readonly disk: RecordedDisk;
  readonly seen: readonly Seen[];
  /** Epoch seconds. */
  readonly from: number;
  readonly to: number;
  /** Starts a server on that folder. @returns what is charged when everything that it found has arrived. @throws Error when it does not start. */
  look(dir: string, expected: readonly Seen[]): Promise<{ charges: readonly Charged[]; sound: boolean }>;
}

const people = Array.from({ length: 4 }, (_, n) => ({ name: `rich${n}`, balance: 10_000_000_000 }));
const clients = 2;
/** Of a client between two requests, at most; with the database away more would use its leases up. */
const pauseMs = { machine: 60, node: 400 };
const outageMs = 10_000;
const warmMs = 4000;
const settleMs = 30_000;
/** A correction bears the name of what it corrects. */
const chargesQuery = (base: string) => `SELECT ${base} AS ref,
    sum(CASE WHEN credit = -2 THEN amount ELSE -amount END) AS amount,
    count(*) FILTER (WHERE kind = 'settle' AND ref NOT LIKE '%#%') AS rows
  FROM postings WHERE credit = -2 OR debit = -2 GROUP BY 1`;

function startClients(url: string, accounts: readonly Account[], random: Random, pause: number) {
  const seen: Seen[] = [];
  let over = false;
  const client = async (account: Account) => {
    while (!over) {
      const one = await askOnce(url, account, {
        stream: random.share() < 0.5,
        content: `question ${random.whole(1, 999)}`,
      });
      // The clock has milliseconds.
      if (one.whole) seen.push({ ref: one.ref, cost: one.cost, at: (Date.now() + 1) / 1000 });
      await Bun.sleep(random.whole(0, pause));
    }
  };
  const going = accounts.flatMap((account) => Array.from({ length: clients }, () => client(account)));
  return {
    seen,
    stop() {
      over = true;
      return Promise.all(going);
    },
  };
}

/** A server that is recorded. @param folder of the recording and the copy of what was there before. */
async function record(dataDir: string, folder: string, env: Readonly<Record<string, string>>) {
  const [base, threads] = [join(folder, 'before'), join(folder, 'recording')];
  mkdirSync(threads);
  cpSync(dataDir, base, { recursive: true, filter: (path) => !path.endsWith('.sock') });
  const port = freePort();
  const log = openSync(join(folder, 'recorded.log'), 'a');
  const serve = [...recorder(threads), ...program, 'serve', '--port', String(port)];
  const child = start(null, serve, { GATEWAY_DATA_DIR: dataDir, ...env }, log);
  await waitForResponse(`http://127.0.0.1:${port}/readyz`, (status) => status === 200);
  return {
    url: `http://127.0.0.1:${port}`,
    async killed(): Promise<RecordedDisk> {
      // The recorder ends with what it recorded.
      for (const pid of processesOf(child.pid).slice(1)) process.kill(pid, 'SIGKILL');
      await child.exited;
      return createDisk(base, readRecording(threads, dataDir));
    },
  };
}

/** @returns the server's address. @throws Error with its last words. */
async function serveOn(dir: string, env: Readonly<Record<string, string>>) {
  const log = join(dir, '..', 'started.log');
  const port = freePort();
  const output = openSync(log, 'w');
  const child = start(null, [...program, 'serve', '--port', String(port)], { GATEWAY_DATA_DIR: dir, ...env }, output);
  const gone = child.exited.then(() => false);
  const up = waitForResponse(`http://127.0.0.1:${port}/readyz`, (status) => status === 200).then(
    () => true,
    () => false,
  );
  if (await Promise.race([gone, up])) return child;
  await end(child);
  throw new Error(readFileSync(log, 'utf8').slice(-1500));
}

async function recordMachine(folder: string, random: Random): Promise<Recorded> {
  const { dataDir, accounts } = await prepareFile(folder, { accounts: people });
  const { url, killed } = await record(dataDir, folder, {});
  const traffic = startClients(url, accounts, random, pauseMs.machine);
  await Bun.sleep(1000);
  const from = Date.now() / 1000;
  await Bun.sleep(outageMs);
  const to = Date.now() / 1000;
  await traffic.stop();
  return {
    ...{ disk: await killed(), seen: traffic.seen, from, to },
    async look(dir) {
      await end(await serveOn(dir, {}));
      const database = await openDatabase({ engine: 'sqlite', file: join(dir, 'gateway.db') });
      try {
        const base = "CASE instr(ref, '#') WHEN 0 THEN ref ELSE substr(ref, 1, instr(ref, '#') - 1) END";
        const charges = database.raw.prepare<Charged>(chargesQuery(base)).all();
        return { charges, sound: await isSound(dir, {}) };
      } finally {
        await database.close();
      }
    },
  };
}

const isSound = (dir: string, env: Readonly<Record<string, string>>): Promise<boolean> =>
  command(['env', ...Object.entries(env).map(([name, value]) => `${name}=${value}`), ...program], dir, [
    'ledger',
    'verify',
  ]).then(
    () => true,
    (error: unknown) => {
      console.log(String(error));
      return false;
    },
  );

async function recordNode(folder: string, random: Random, server: string): Promise<Recorded> {
  const site = await createDatabase(server);
  const { dataDir, key, accounts } = await prepareFile(folder, { accounts: people });
  await moveToServer(dataDir, site);
  const dir = join(folder, 'node');
  mkdirSync(dir, { mode: 0o700 });
  cpSync(key, join(dir, 'secret.key'));
  const envOf = (url: string, of: string) => ({ DATABASE_URL: url, GATEWAY_OUTBOX: of });
  // Its first start makes its files.
  await end(await serveOn(dir, envOf(site, dir)));
  const link = await startLink(site);
  const { url, killed } = await record(dir, folder, envOf(link.url, dir));
  const traffic = startClients(url, accounts, random, pauseMs.node);
  await Bun.sleep(warmMs);
  link.set('closed');
  const from = Date.now() / 1000;
  await Bun.sleep(outageMs);
  const to = Date.now() / 1000;
  await traffic.stop();
  const disk = await killed();
  link.stop();
  let made = 0;
  return {
    ...{ disk, seen: traffic.seen, from, to },
    async look(copy, expected) {
      const name = `cut${++made}`;
      await ask(server, `CREATE DATABASE ${name} TEMPLATE site`);
      const own = new URL(server);
      own.pathname = `/${name}`;
      const env = envOf(own.href, copy);
      try {
        const child = await serveOn(copy, env);
        let charges: Charged[] = [];
        for (const over = performance.now() + settleMs; performance.now() < over; await Bun.sleep(100)) {
          charges = await ask<Charged>(own.href, chargesQuery("split_part(ref, '#', 1)"));
          const found = new Set(charges.map(({ ref }) => ref));
          if (expected.every(({ ref }) => found.has(ref))) break;
        }
        await end(child);
        return { charges, sound: await isSound(copy, env) };
      } finally {
        await ask(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      }
    },
  };
}

async function cutsOf(name: string, folder: string, recorded: Recorded, cuts: number, random: Random): Promise<Goal[]> {
  const { disk, seen, from, to, look } = recorded;
  const count = {
    started: 0,
    acknowledged: 0,
    lately: 0,
    missing: 0,
    doubled: 0,
    unsound: 0,
    unsynced: 0,
    lacking: 0,
    names: 0,
  };
  for (let n = 0; n < cuts; n++) {
    const at = from + random.share() * (to - from);
    const dir = join(folder, `cut-${n}`, 'data');
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const { unsynced, missing, names } = disk.stateAt(at, random, dir);
    count.unsynced += unsynced;
    count.lacking += missing;
    count.names += names;
    const expected = seen.filter((one) => one.at <= at);
    count.acknowledged += expected.length;
    count.lately += expected.filter((one) => one.at > from).length;
    try {
      const { charges, sound } = await look(dir, expected);
      count.started++;
      const byRef = new Map(charges.map((charge) => [charge.ref, charge]));
      const lost = expected.filter(({ ref, cost }) => byRef.get(ref)?.amount !== cost);
      if (lost.length > 0) console.log(`${name}: cut ${n} at ${at}: ${JSON.stringify(lost.slice(0, 3))}`);
      count.missing += lost.length;
      count.doubled += charges.filter(({ rows }) => rows > 1).length;
      if (!sound) count.unsound++;
    } catch (error) {
      console.log(`${name}: cut ${n} at ${at}: ${error}`);
    }
    rmSync(join(folder, `cut-${n}`), { recursive: true, force: true });
    if ((n + 1) % 10 === 0) console.log(`${name}: ${n + 1} of ${cuts} cuts`);
  }
  console.log(
    `${name}: ${seen.length} answers in all; in ${cuts} cuts ${count.acknowledged} acknowledged, ${count.lately} of them while the cuts were drawn; ${count.unsynced} writes not synced, ${count.lacking} of them missing at least in part, ${count.names} names not durable`,
  );
  return [
    minGoal(`${name}: starts after a cut`, count.started, cuts, ''),
    minGoal(`${name}: answers acknowledged before a cut`, count.lately, cuts, ''),
    minGoal(`${name}: writes that a cut took away`, count.lacking, 1, ''),
    maxGoal(`${name}: acknowledged charges missing`, count.missing, 0, ''),
    maxGoal(`${name}: charges doubled`, count.doubled, 0, ''),
    maxGoal(`${name}: ledgers that do not add up`, count.unsound, 0, ''),
  ];
}

export async function powerCuts(args: readonly string[]): Promise<readonly Goal[]> {
  const seed = flag(args, '--seed', 1 + Math.floor(Math.random() * 1_000_000));
  const cuts = flag(args, '--cuts', 60);
  const at = args.indexOf('--only');
  const parts = at < 0 ? ['machine', 'node'] : (args[at + 1] ?? '').split(',');
  if (Bun.which('strace') === null) throw new Error('strace is not installed (Debian: apt-get install strace)');
  const bin = postgresPrograms();
  const goals: Goal[] = [];
  for (const name of parts) {
    const random = createRandom(seed);
    const folder = mkdtempSync(join(tmpdir(), 'gateway-power-'));
    const database = name !== 'node' || bin === null ? null : await startPostgres(bin);
    console.log(`== ${name}, seed ${seed}`);
    try {
      if (name === 'node' && database === null) throw new Error('PostgreSQL is not installed');
      const recorded = await (database === null
        ? recordMachine(folder, random)
        : recordNode(folder, random, database.url));
      goals.push(...(await cutsOf(name, folder, recorded, cuts, random)));
    } finally {
      database?.remove();
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return goals;
}
