/** What a server of PostgreSQL answers to nodes in a fixed course of work: beside a file's answers, and against a text that a person has read. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { encryptedSample, keyMark, type Rotate, rotateSecrets } from '../../db/encrypted-columns.ts';
import { postgresStats } from '../../db/ledger/postgres/stats.ts';
import { PostgresLedger, type PostgresLedgerStore } from '../../db/ledger/postgres/store.ts';
import { ledgerStats } from '../../db/ledger/sqlite/stats.ts';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import { migrate } from '../../db/migrate.ts';
import { openDatabase, type SqliteDatabase } from '../../db/open.ts';
import { limitsOn, nodesNow } from '../../db/postgres/account-limits.ts';
import { encryptedSampleOn, keyMarkOn, rotateSecretsOn } from '../../db/postgres/encrypted-columns.ts';
import { rejectLive } from '../../db/postgres/exclusive.ts';
import { createPostgresJobLock } from '../../db/postgres/job-lock.ts';
import { createPostgresKeptItems } from '../../db/postgres/kept-items.ts';
import type { Line, Statement } from '../../db/postgres/line.ts';
import { createMembers } from '../../db/postgres/members.ts';
import { dropMonths, ensureMonths } from '../../db/postgres/months.ts';
import {
  clearLeases,
  earlierEpochs,
  expireNodes,
  noteDraining,
  noteLeft,
  orphans,
  runsElsewhere,
  type SeqMark,
} from '../../db/postgres/nodes.ts';
import type { PostgresDatabase } from '../../db/postgres/open.ts';
import { checkServer, vacuumServer } from '../../db/postgres/server-checks.ts';
import { serverStatus } from '../../db/postgres/server-status.ts';
import type { LedgerCommand } from '../../server/billing/ledger/commands.ts';
import { deduct, grant, log, redeem, refund, reserve, reward, settle, topUp, transfer } from '../ledger/support.ts';
import { expectGolden } from '../support/golden-file.ts';
import { openLite } from '../support/pglite.ts';

const lines: string[] = [];
/** What depends on the hour, or on the server. */
const volatile = new Set(['silent', 'settles', 'ends', 'clockMs', 'bytes']);
const nowSeconds = Date.now() / 1000;

/** Times of this very run, and what a server of another version says, are left out. */
const steady = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value ?? null, (key, one: unknown) => {
      if (volatile.has(key) && one !== null) return 'N';
      if (key === 'version' && /^\d+\.\d+$/.test(String(one))) return 'N';
      return typeof one === 'number' && Math.abs(one - nowSeconds) < 10_000 ? 'now' : one;
    }),
  );

const title = (text: string) => void lines.push('', text);
const result = (value: unknown) => void lines.push(`  = ${JSON.stringify(steady(value))}`);

let database: PostgresDatabase;
let line: Line;

beforeAll(async () => {
  database = await openLite();
  const { pool } = database;
  line = {
    send: async (statements: readonly Statement[]) => {
      const answers = [];
      for (const { text, values } of statements) answers.push(await pool.query(text, values as unknown[]));
      return answers;
    },
    broken: false,
    wasLocal: () => false,
    close: () => undefined,
  };
});
afterAll(() => database.close());

const people = `INSERT INTO users (id, username, password_hash, created_at) VALUES (1, 'u1', 'x', 1), (2, 'u2', 'x', 1), (3, 'u3', 'x', 1);
INSERT INTO accounts (id) VALUES (1), (2), (3);
INSERT INTO tokens (id, user_id, name, key_hmac, key_sealed, key_hint, created_at) VALUES (1, 1, 't', 'h1', 's1', '', 1), (2, 2, 't', 'h2', 's2', '', 1), (3, 3, 't', 'h3', 's3', '', 1);
UPDATE tokens SET unlimited = 0, quota_limit = 5000, day_budget = 4000, month_budget = 4500 WHERE id = 2;
INSERT INTO channels (id, type, name, key_sealed, created_at) VALUES (1, 1, 'c', 's', 1), (2, 1, 'c', '', 1), (3, 1, 'c', 's', 1);
INSERT INTO redemptions (id, user_id, name, key_hmac, key_sealed, status, quota, created_at) VALUES (1, 1, 'n', 'c1', 's1', 1, 70, 1), (2, 1, 'n', 'c2', 's2', 2, 70, 1);
INSERT INTO top_ups (user_id, trade_no, method, amount, quota, money, currency, created_at) VALUES (2, 'o1', 'epay', 1, 90, 730, 'cny', 1);
INSERT INTO callbacks (source, event_id, trade_no, received_at, facts, body) VALUES ('epay', 'e', 'o1', 1, '{}', '')`;

/** Everything that the ledger knows, as it comes in from day to day. */
const batches: readonly (readonly LedgerCommand[])[] = [
  [grant('g1', 1, 1000), grant('g2', 2, 10_000), grant('g3', 3, 50), grant('g9', 9, 5)],
  [settle('a', 1, 20), settle('a', 1, 20), settle('a', 1, 21), settle('b', 3, 80), settle('none', 2, 0)],
  [grant('g4', 3, 500), deduct('d1', 1, 30), deduct('d2', 1, 100_000)],
  [
    redeem(1, 2, 70),
    redeem(1, 2, 70),
    redeem(2, 2, 70),
    topUp('o1', 2, 90, 1),
    topUp('o1', 2, 90, 1),
    topUp('o2', 2, 9),
  ],
  [reward(3, 1, 15), reward(2, 1, 0), transfer('n', 1, 6), transfer('m', 1, 1000)],
  [refund('a', 1, 12), refund('a', 1, 12), refund('zz', 1, 1)],
  [reserve('h', 1, 7), reserve('h', 1, 9), reserve('k', 2, 4), { ...reserve('s', 1, 5), house: true }],
  [
    { type: 'note', ref: 'n1', log: { ...log('n1', 1, 0), type: 5 } },
    { type: 'void', ref: 'h', log: { ...log('h', 1, 0), type: 5 } },
    { ...settle('s', 1, 5), house: true },
  ],
  [settle('k', 2, 30), { ...settle('q', 1, 3), tokenId: 0, channelId: 0, log: null }],
  [deduct('d1', 1, 30), grant('g1', 1, 999), grant('most', 1, 9_007_199_254_740_991)],
];

const secrets = `INSERT INTO options (key, value, updated_at) VALUES ('SMTPToken', 'old', 1), ('SystemName', 'site', 1);
INSERT INTO meta (key, value) VALUES ('key_proof', 'old');
UPDATE tokens SET old_key_hmac = 'before', old_key_hint = 'b', old_key_until = 9 WHERE id = 3;
INSERT INTO second_factors (user_id, secret_sealed) VALUES (1, 'f');
INSERT INTO webhook_secrets (user_id, secret_sealed) VALUES (1, 'w')`;

const rotate: Rotate = (purpose, text) => ({ encrypted: `${text} ${purpose}`, hmac: `${purpose} of ${text}` });

const storeOf = (name: string, confirmed: Map<string, readonly LedgerCommand[]>): PostgresLedgerStore => {
  const keyOf = ({ epoch, run, seq }: SeqMark) => `${epoch} ${run} ${seq}`;
  return new PostgresLedger({
    connect: async () => line,
    node: { name, version: '9.9.9', schema: '0001', leaseSeconds: 30 },
    acknowledged: {
      keep: (mark, commands) => void confirmed.set(keyOf(mark), commands),
      discard: (mark) => void confirmed.delete(keyOf(mark)),
      since: () => [],
      markResent: () => undefined,
      marks: () => [{ epoch: 1, run: `run of ${name}`, seq: 999 }],
    },
    onEpoch: (epoch) => void lines.push(`  ${name} is number ${epoch}`),
    onUnlisted: (commands) => void lines.push(`  to be sent again: ${commands.length}`),
    newRun: () => `run of ${name}`,
    now: () => 7000,
  });
};

test('a course of work', async () => {
  for (const one of people.split(';\n')) await database.pool.query(one);
  const confirmed = new Map<string, readonly LedgerCommand[]>();
  const one = storeOf('one', confirmed);
  const two = storeOf('two', confirmed);
  const file = openDatabase(':memory:');
  await migrate(file);
  for (const text of people.split(';\n')) file.raw.exec(text);
  const inFile = createLedgerStore(file.raw);
  for (const [index, commands] of batches.entries()) {
    title(`batch ${index + 1}: ${commands.map(({ type, ref }) => `${type} ${ref}`).join(', ')}`);
    const outcome = await one.apply(commands);
    result(outcome);
    expect(outcome.results, `batch ${index + 1}`).toEqual(inFile.apply(commands).results);
  }
  title('what both engines have then');
  await sameBooks(file);

  title('what was settled for a node that is gone, and for nobody');
  result(await one.apply([{ ...settle('p', 2, 25), provisional: true }]));
  result(await one.apply([settle('p', 2, 40), settle('p', 2, 40), { type: 'void', ref: 'h', log: null }]));

  title('leases');
  await two.probe();
  const acquire = { type: 'acquire', account: 2, token: 2, need: 100, tokenNeed: 100, use: 900, nodes: 2 } as const;
  const epochs = [one.epoch(), two.epoch()] as const;
  result(await one.move([acquire, { ...acquire, account: 1, token: 0, tokenNeed: 0, need: 50 }], epochs[0]));
  result(await two.move([acquire, { ...acquire, account: 3, token: 3, need: 100_000, tokenNeed: 0 }], epochs[1]));
  result(
    await two.move(
      [
        { ...acquire, need: 90_000, partial: true },
        { ...acquire, need: 0, tokenNeed: 3 },
      ],
      epochs[1],
    ),
  );
  result(await one.move([{ type: 'give-back', kind: 'account', subject: 2, amount: 60 }], epochs[0]));
  result(await one.move([{ type: 'give-back', kind: 'token', subject: 2, amount: 60_000 }, acquire], epochs[0]));
  const least = { ...acquire, account: 3, token: 0, need: 1, tokenNeed: 0, use: 0 };
  result(await one.move([least], epochs[0]));
  result(await one.move([{ type: 'give-back', kind: 'account', subject: 3, amount: 1 }], epochs[0]));
  await expect(one.move([acquire], epochs[1])).rejects.toThrow();
  result(
    await two.apply([
      { ...settle('w', 2, 60), epoch: epochs[1] },
      { ...reserve('x', 2, 11), epoch: epochs[1] },
    ]),
  );
  result(await one.apply([{ ...settle('v', 2, 30_000), epoch: epochs[0] }, settle('y', 1, 4)]));
  result(await one.apply([{ ...settle('own', 1, 5), house: true, epoch: epochs[0] }]));
  result(await limitsOn(line, 2, null));
  result(await limitsOn(line, 2, 2));
  result(await nodesNow(line, epochs[1]));
  result(await runsElsewhere(line, 'nobody'));

  title('a node that drains, dies and is settled for');
  const members = createMembers(database);
  await noteDraining(line, epochs[1]);
  await members.report('two', '700', '{"lease_seconds":30}');
  result(await members.sharing());
  result(await members.drain('one'));
  result(await members.drain('nobody'));
  await database.pool.query(`UPDATE nodes SET expires_at = now() - interval '1 day' WHERE epoch = ${epochs[1]}`);
  result(await expireNodes(line));
  result(await earlierEpochs(line, 'two', 99));
  result(await orphans(line));
  result(await orphans(line, 5, [epochs[1]]));
  result(await one.apply([{ ...settle('x', 2, 11), provisional: true, epoch: epochs[1] }]));
  await clearLeases(line);
  await noteLeft(line, epochs[1]);
  await expect(two.probe()).rejects.toThrow();
  result(await members.list());
  result(await members.find('two'));
  await members.deleteOld('two', false);
  await members.deleteOld('two', true);
  await members.sweep();
  result(await members.list());
  await expect(rejectLive(database.pool as never, 'db')).rejects.toMatchObject({ code: 'nodes_live' });
  result(await expireNodes(line, [epochs[0]]));

  title('jobs');
  for (const owner of ['one', 'two'])
    result(await createPostgresJobLock(database, owner).take('sweep', 60_000, async () => undefined));

  title('kept answers');
  const clock = { at: 1_000_000 };
  const kept = createPostgresKeptItems(database, () => clock.at, { perUser: 10, inAll: 15, owners: 1 });
  for (const user of [1, 2]) {
    await kept.keepItems(
      user,
      [
        { id: 'a', sealed: '12345678' },
        { id: 'b', sealed: '1234' },
        { id: 'b', sealed: '123' },
      ],
      3,
    );
    clock.at += 60_000;
  }
  await kept.keepOwners([1, 2].map((id) => ({ id: `r${id}`, ownerId: id, channelId: 7 })));
  result(await kept.keptItems(2, ['a', 'b']));
  result(await kept.ownersOf(['r1', 'r2']));
  clock.at += 60_000;
  await kept.sweepItems(2);
  result(await kept.keptItems(2, ['a', 'b']));

  title('months of the log');
  await ensureMonths(database.query, Date.UTC(2024, 10, 5) / 1000, Date.UTC(2025, 0, 1) / 1000);
  await database.pool.query(
    `INSERT INTO logs (request_id, created_at, type, user_id) VALUES ('old', ${Date.UTC(2024, 10, 9) / 1000}, 2, 1)`,
  );
  result(await dropMonths(database.query, Date.UTC(2024, 11, 31) / 1000));
  result(await dropMonths(database.query, Date.UTC(2024, 10, 1) / 1000));

  title('another master key');
  for (const text of secrets.split(';\n')) {
    await database.pool.query(text);
    file.raw.exec(text);
  }
  // What was in use before is of no use any more.
  const secretTables = {
    options: 'SELECT key, value FROM options ORDER BY key',
    meta: "SELECT key, value FROM meta WHERE key IN ('key_proof', 'master_key') ORDER BY key",
    tokens: 'SELECT id, key_sealed, key_hmac, old_key_hmac, old_key_hint, old_key_until FROM tokens ORDER BY id',
    channels: 'SELECT id, key_sealed FROM channels ORDER BY id',
    codes: 'SELECT id, key_sealed, key_hmac FROM redemptions ORDER BY id',
    factors: 'SELECT user_id, secret_sealed FROM second_factors ORDER BY user_id',
    webhooks: 'SELECT user_id, secret_sealed FROM webhook_secrets ORDER BY user_id',
  };
  result(await encryptedSampleOn(database));
  expect(encryptedSample(file)).toEqual(await encryptedSampleOn(database));
  expect([await keyMarkOn(database), keyMark(file)]).toEqual(['', '']);
  const count = await rotateSecretsOn(database, 'mark', rotate);
  result(count);
  expect(rotateSecrets(file, 'mark', rotate)).toBe(count);
  expect([await keyMarkOn(database), keyMark(file)]).toEqual(['mark', 'mark']);
  await sameRows(file, secretTables);

  title('how it is');
  const status = await serverStatus(database, Date.now(), async () => true);
  result({ ...status, clockLeadMs: Math.round(status.clockLeadMs / 60_000) });
  result((await checkServer(database)).problems);
  await vacuumServer(database);
  expectGolden('tests/engines/outlines/node-talk.txt', lines);
});

/** The books of a file and of a server after the same work. */
async function sameBooks(file: SqliteDatabase): Promise<void> {
  const { wrongLeases, leases, ...stats } = await postgresStats(database);
  expect(stats).toEqual(ledgerStats(file.raw));
  expect([wrongLeases, leases]).toEqual([[], 0]);
  await sameRows(file, {
    accounts:
      'SELECT id, balance, used_quota, request_count, version, overrun FROM accounts WHERE id > 0 OR id < -1000 ORDER BY id',
    tokens: 'SELECT id, used_quota, accessed_at, day_used, day_at, month_used, month_at FROM tokens ORDER BY id',
    postings: 'SELECT ref, debit, credit, amount, kind, token_id, channel_id, at FROM postings ORDER BY ref',
    logs: 'SELECT request_id, type, user_id, quota, content, other, usage_source, end_reason FROM logs ORDER BY request_id',
    holds: 'SELECT ref, user_id, token_id, channel_id, estimate, observed, at, log FROM holds ORDER BY ref',
    codes: 'SELECT id, status, redeemed_at, used_user_id FROM redemptions ORDER BY id',
    orders: 'SELECT trade_no, status, paid_at FROM top_ups ORDER BY id',
    callbacks: 'SELECT outcome FROM callbacks ORDER BY id',
    invitations: 'SELECT id, aff_quota, aff_history_quota, aff_count FROM users ORDER BY id',
  });
}

async function sameRows(file: SqliteDatabase, tables: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(tables)) {
    const { rows } = await database.pool.query(text);
    lines.push(`  ${name}`, ...rows.map((row) => `    ${JSON.stringify(row)}`));
    expect(rows, name).toEqual(file.raw.prepare(text).all());
  }
}
