import { existsSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { figure } from '../support/figure.ts';
import { createFaultyDisk, EIO, ENOSPC, type FaultyDisk } from './faulty-disk.ts';
import { createSandbox, freePort, type Sandbox, setUp } from './support.ts';

let sandbox: Sandbox;
let key: string;
/** null where there is no compiler: then the doubles of tests/ledger are all there is. */
let disk: FaultyDisk | null;

beforeEach(async () => {
  sandbox = createSandbox();
  disk = createFaultyDisk(sandbox.dir);
  if (disk === null) console.log('no C compiler: slow and full disks are played at the driver alone, see tests/ledger');
  const upstream = await sandbox.start(['mock-upstream', '--port', String(freePort())]);
  key = await setUp(sandbox, upstream.line);
});
afterEach(() => sandbox.close());

interface Heard {
  readonly status: number;
  readonly id: string;
  readonly whole: boolean;
  readonly retryAfter: string | null;
}

async function chat(url: string, stream: boolean): Promise<Heard> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'practice-small', stream, messages: [{ role: 'user', content: 'hi' }] }),
  });
  const text = await response.text();
  const end = stream ? text.endsWith('data: [DONE]\n\n') && !text.includes('"error"') : text.endsWith('}');
  return {
    status: response.status,
    id: response.headers.get('x-oneapi-request-id') ?? '',
    whole: response.status === 200 && end,
    retryAfter: response.headers.get('retry-after'),
  };
}

/** Several clients ask again and again until they are told to leave. */
function load(url: string) {
  const seen = new Set<string>();
  let over = false;
  const clients = Array.from({ length: 6 }, async (_, index) => {
    while (!over) {
      const received = await chat(url, index % 2 === 0).catch(() => null);
      if (received === null) {
        await Bun.sleep(5);
        continue;
      }
      if (received.whole) seen.add(received.id);
      if (received.status === 503) await Bun.sleep(20);
    }
  });
  return {
    seen,
    async end() {
      over = true;
      await Promise.all(clients);
    },
  };
}

const serve = async () => {
  const { line, child } = await sandbox.start(['serve', '--port', String(freePort())], disk?.env ?? {});
  let said = '';
  void (async () => {
    for await (const chunk of child.stderr) said += new TextDecoder().decode(chunk);
  })();
  return { url: line.replace('URL: ', ''), child, said: () => said };
};
const refusals = ({ said }: { said(): string }) => said().match(/paid requests are refused/g)?.length ?? 0;
const killed = async (child: Bun.Subprocess) => {
  child.kill('SIGKILL');
  await child.exited;
};

/** Starts once more, so that what a crash left is settled. @returns ids of what was charged. */
async function charges(): Promise<Set<string>> {
  disk?.syncs(0);
  disk?.writesFail(0);
  const { child } = await serve();
  child.kill('SIGTERM');
  expect(await child.exited).toBe(0);
  expect((await sandbox.run(['ledger', 'verify'])).code).toBe(0);
  const { Database } = await import('bun:sqlite');
  const database = new Database(`${sandbox.dataDir}/gateway.db`, { readonly: true });
  const found = database.query("SELECT ref FROM postings WHERE kind = 'settle'").values() as [string][];
  database.close();
  expect(new Set(found.map(([ref]) => ref)).size).toBe(found.length);
  return new Set(found.map(([ref]) => ref));
}

/** Both files are there, and one of them is written to. */
const hasJournal = (): boolean => {
  const file = `${sandbox.dataDir}/gateway.db.journal-1`;
  return existsSync(file) && readFileSync(file).subarray(0, 6).toString() === 'GWJRNL';
};

const lost = (seen: ReadonlySet<string>, charged: ReadonlySet<string>) => [...seen].filter((ref) => !charged.has(ref));

test.each([0, 20, 100, 400])('a sync of %i ms: kill -9 loses no charge whose end was seen', async (ms) => {
  if (disk === null) return;
  const rounds = 3;
  const seen = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    disk.syncs(ms);
    const { url, child } = await serve();
    const clients = load(url);
    await expect.poll(() => clients.seen.size, { timeout: 30_000 }).toBeGreaterThan(10);
    await Bun.sleep(Math.random() * 3 * ms);
    await killed(child);
    await clients.end();
    for (const ref of clients.seen) seen.add(ref);
    disk.syncs(0);
  }
  const charged = await charges();
  figure(`sync ${ms} ms, ${rounds} kills: ${seen.size} ends seen, ${lost(seen, charged).length} lost`);
  expect(lost(seen, charged)).toEqual([]);
});

test('a sync that hangs: admission stops after a second with Retry-After, no stream ends, service resumes by itself, kill -9 loses nothing', async () => {
  if (disk === null) return;
  const first = await serve();
  const clients = load(first.url);
  await expect.poll(() => clients.seen.size, { timeout: 30_000 }).toBeGreaterThan(10);
  disk.syncs(15_000);
  await expect.poll(() => refusals(first), { timeout: 10_000 }).toBe(1);
  const before = clients.seen.size;
  for (let n = 0; n < 50; n++)
    expect(await chat(first.url, n % 2 === 0)).toMatchObject({ status: 503, retryAfter: '5' });
  expect(clients.seen.size).toBe(before);
  const status = await sandbox.run(['status']);
  expect(status.out).toMatch(/storage\s+the disk does not confirm/);
  disk.syncs(0);
  await expect.poll(() => clients.seen.size, { timeout: 10_000 }).toBeGreaterThan(before + 20);
  expect(first.said()).toMatch(/storage writes again/);
  disk.syncs(15_000);
  await expect.poll(() => refusals(first), { timeout: 10_000 }).toBe(2);
  await killed(first.child);
  await clients.end();
  const charged = await charges();
  figure(`hanging disk: ${clients.seen.size} ends seen, ${lost(clients.seen, charged).length} lost`);
  expect(lost(clients.seen, charged)).toEqual([]);
});

test("another process holds the database's write lock: ends go on for ten seconds, then admission stops; kill -9 meanwhile loses no charge whose end was seen", async () => {
  const first = await serve();
  const clients = load(first.url);
  await expect.poll(() => clients.seen.size, { timeout: 30_000 }).toBeGreaterThan(10);
  await expect.poll(hasJournal, { timeout: 30_000 }).toBe(true);
  const { Database } = await import('bun:sqlite');
  const other = new Database(`${sandbox.dataDir}/gateway.db`);
  other.run('PRAGMA busy_timeout = 10000');
  other.run('BEGIN IMMEDIATE');
  const before = clients.seen.size;
  await expect.poll(() => clients.seen.size, { timeout: 9000 }).toBeGreaterThan(before + 20);
  expect(refusals(first)).toBe(0);
  await expect.poll(() => refusals(first), { timeout: 20_000 }).toBe(1);
  expect(await chat(first.url, false)).toMatchObject({ status: 503, retryAfter: '5' });
  // What comes first after ten seconds: the look at what waits, or a command that goes to the tables at once.
  expect(first.said()).toMatch(/what is confirmed does not reach the database|database is locked/);
  other.run('ROLLBACK');
  const stopped = clients.seen.size;
  await expect.poll(() => clients.seen.size, { timeout: 15_000 }).toBeGreaterThan(stopped + 20);
  other.run('BEGIN IMMEDIATE');
  const again = clients.seen.size;
  await expect.poll(() => clients.seen.size, { timeout: 9000 }).toBeGreaterThan(again + 5);
  await killed(first.child);
  other.run('ROLLBACK');
  other.close();
  await clients.end();
  const charged = await charges();
  figure(`locked database: ${clients.seen.size} ends seen, ${lost(clients.seen, charged).length} lost`);
  expect(lost(clients.seen, charged)).toEqual([]);
}, 120_000);

test.each([
  ['ENOSPC', ENOSPC],
  ['EIO', EIO],
])(
  '%s: refused from the first failed commit on, said everywhere, kill -9 at once loses nothing, SIGTERM ends and keeps what is owed',
  async (_name, errno) => {
    if (disk === null) return;
    const first = await serve();
    let clients = load(first.url);
    await expect.poll(() => clients.seen.size, { timeout: 30_000 }).toBeGreaterThan(10);
    disk.writesFail(errno);
    await Bun.sleep(700);
    await killed(first.child);
    await clients.end();
    const seen = new Set(clients.seen);
    disk.writesFail(0);

    const second = await serve();
    clients = load(second.url);
    await expect.poll(() => clients.seen.size, { timeout: 30_000 }).toBeGreaterThan(10);
    await expect.poll(hasJournal, { timeout: 30_000 }).toBe(true);
    disk.writesFail(errno);
    await expect.poll(() => second.said(), { timeout: 10_000 }).toMatch(/paid requests are refused/);
    expect(await chat(second.url, false)).toMatchObject({ status: 503, retryAfter: '5' });
    const doctor = await sandbox.run(['doctor']);
    expect(doctor.out).toMatch(/fail\s+storage\s/);
    expect((await sandbox.run(['status'])).out).toMatch(/storage\s+(database or disk is full|disk I\/O error)/);
    const reportedAt = performance.now();
    second.child.kill('SIGTERM');
    expect(await second.child.exited).toBe(0);
    expect(performance.now() - reportedAt).toBeLessThan(30_000);
    await clients.end();
    for (const ref of clients.seen) seen.add(ref);
    // What was under way is in the journal, whose blocks are there.
    const charged = await charges();
    figure(`${_name}: ${seen.size} ends seen, ${lost(seen, charged).length} lost`);
    expect(lost(seen, charged)).toEqual([]);
  },
  120_000,
);

test('in a folder that cannot be written, verify, status and logs read what is there, and nothing is changed', async () => {
  const { url, child } = await serve();
  expect((await chat(url, false)).whole).toBe(true);
  child.kill('SIGTERM');
  expect(await child.exited).toBe(0);
  await sandbox.shell('chmod 755 . && chmod -R a+rX,a-w data');
  // The super-user may write everywhere, so that somebody else looks.
  const as = process.getuid?.() === 0 ? 'setpriv --reuid=65534 --regid=65534 --clear-groups ' : '';
  const run = (args: string) => sandbox.shell(`GATEWAY_DATA_DIR=$PWD/data HOME=/nonexistent ${as}./gateway ${args}`);
  const verified = await run('ledger verify');
  expect(verified.out).toContain('I11');
  expect(verified.code).toBe(0);
  expect((await run('status')).out).toMatch(/channels\s+1/);
  expect((await run('logs list --json')).out).toContain('practice-small');
  const rejected = await run('token create --name no');
  expect(rejected.code).not.toBe(0);
  expect(rejected.err).toMatch(/cannot be used/);
  await sandbox.shell('chmod -R u+w data');
});
