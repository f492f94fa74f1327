/** A site with many log rows moved to PostgreSQL and back by the command itself, killed in the middle on both ways: `node scripts/launch.mjs lab/measure/move [rows]`. Ends with the hashes of both ways compared. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createLedgerStore } from '../../../db/ledger/sqlite/store.ts';
import { migrate } from '../../../db/migrate.ts';
import { openDatabase } from '../../../db/open.ts';
import { postgresPrograms, startPostgres } from '../../servers/postgres.ts';
import { settlementOf, start, users } from '../../servers/settlements.ts';

const rows = Number(process.argv[2] ?? 1_000_000);
const batch = 1000;
const root = resolve(import.meta.dirname, '..', '..', '..');
const dir = mkdtempSync(join(tmpdir(), 'gateway-move-'));
const minutes = (began: number): string => `${((performance.now() - began) / 60_000).toFixed(2)} min`;

/** Books as the ledger writes them, ten requests a minute. */
async function fill(folder: string): Promise<void> {
  mkdirSync(folder);
  const database = openDatabase(join(folder, 'gateway.db'));
  await migrate(database);
  const { raw } = database;
  raw.pragma('synchronous = OFF');
  const user = raw.prepare("INSERT INTO users (id, username, password_hash, created_at) VALUES (?, ?, 'x', 1)");
  const account = raw.prepare('INSERT INTO accounts (id) VALUES (?)');
  for (let id = 1; id <= users; id++) {
    user.run(id, `user${id}`);
    account.run(id);
  }
  const store = createLedgerStore(raw);
  store.nextEpoch();
  for (let id = 1; id <= users; id++)
    store.apply([{ type: 'grant', ref: `grant:${id}`, userId: id, amount: 1e12, at: start, log: null }]);
  for (let first = 0; first < rows; first += batch)
    store.apply(
      Array.from({ length: Math.min(batch, rows - first) }, (_, step) =>
        settlementOf(first + step, start + (first + step) * 6),
      ),
    );
  store.checkpoint('TRUNCATE');
  await database.close();
}

interface MoveResult {
  readonly rows: number;
  readonly resumes: number;
  readonly tables: readonly { readonly name: string; readonly rows: number; readonly hash: string }[];
}

const started = (...args: string[]) =>
  Bun.spawn([process.execPath, join(root, 'cli/main.ts'), 'db', 'move', ...args, '--yes', '--json'], {
    stdout: 'pipe',
    stderr: 'pipe',
  });

/** Kills the command when half of the log is there. */
async function runAndKill(...args: string[]): Promise<void> {
  const child = started(...args);
  let said = '';
  for await (const chunk of child.stderr) {
    said += new TextDecoder().decode(chunk);
    if (/copied logs (?:[5-9]\d)%/.test(said)) break;
  }
  child.kill('SIGKILL');
  await child.exited;
}

async function moveDatabase(...args: string[]): Promise<MoveResult> {
  const child = started(...args);
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(err.slice(-2000));
  return JSON.parse(out) as MoveResult;
}

async function roundTrip(url: string): Promise<boolean> {
  const [site, back] = [join(dir, 'site'), join(dir, 'back')];
  let began = performance.now();
  await fill(site);
  console.log(`a site with ${rows} log rows, made in ${minutes(began)}`);
  began = performance.now();
  await runAndKill(url, '--data-dir', site);
  console.log(`to PostgreSQL, killed in the middle of the log after ${minutes(began)}`);
  began = performance.now();
  const there = await moveDatabase(url, '--data-dir', site);
  console.log(
    `run again: ${there.rows} rows moved and compared in ${minutes(began)}, ${there.resumes} were there already`,
  );
  began = performance.now();
  await runAndKill('--back', url, '--data-dir', back);
  console.log(`back, killed in the middle of the log after ${minutes(began)}`);
  began = performance.now();
  const again = await moveDatabase('--back', url, '--data-dir', back);
  console.log(
    `run again: ${again.rows} rows moved and compared in ${minutes(began)}, ${again.resumes} were there already`,
  );
  const differing = there.tables.filter(
    ({ name, hash }) => again.tables.find((one) => one.name === name)?.hash !== hash,
  );
  for (const { name, rows: count, hash } of there.tables) if (count > 0) console.log(`  ${hash}  ${count}  ${name}`);
  console.log(`${there.tables.length} tables, ${differing.length} with another hash`);
  return differing.length === 0 && there.resumes > 0 && again.resumes > 0;
}

const bin = postgresPrograms();
if (bin === null) throw new Error('PostgreSQL is not installed');
const server = await startPostgres(bin);
try {
  process.exitCode = (await roundTrip(server.url)) ? 0 : 1;
} finally {
  server.remove();
  rmSync(dir, { recursive: true, force: true });
}
