/** Books on a real server: GATEWAY_TEST_DATABASE=postgres://… names one on which databases may be created. */
import { Client } from 'pg';
import { postgresStats } from '../../db/ledger/postgres/stats.ts';
import { PostgresLedger, type PostgresLedgerStore } from '../../db/ledger/postgres/store.ts';
import { type Line, openLine } from '../../db/postgres/line.ts';
import { migratePostgres } from '../../db/postgres/migrate.ts';
import { openPostgres, type PostgresDatabase } from '../../db/postgres/open.ts';
import type { LedgerCommand } from '../../server/billing/ledger/commands.ts';
import { type InvariantReport, logReport, reportsOf } from '../../server/billing/ledger/verify.ts';
import { recompute } from '../../server/contract/pricing/charge.ts';

const fallback = process.env.GATEWAY_TEST_DATABASE ?? '';
let made = 0;

async function asAdministrator(on: string, text: string): Promise<void> {
  const client = new Client({ connectionString: on });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

export interface Site {
  readonly url: string;
  readonly database: PostgresDatabase;
  rows<Row extends object>(text: string, ...values: readonly unknown[]): Promise<Row[]>;
  /** A node of its own on these books. */
  node(options?: NodeOptions): TestNode;
  addUsers(...ids: readonly number[]): Promise<void>;
  addCode(id: number, quota: number, status?: number): Promise<void>;
  addOrder(tradeNo: string, userId: number, quota: number): Promise<void>;
  balance(id: number): Promise<number>;
  /** Every invariant that does not hold. */
  violations(): Promise<InvariantReport[]>;
  drop(): Promise<void>;
}

export interface NodeOptions {
  /** Where it connects to, default: the server itself. */
  readonly url?: string;
  readonly name?: string;
  readonly broken?: (statement: string) => 'before' | 'after' | null;
  /** Called with each statement. */
  readonly sending?: (statement: string) => void;
  /** All of a transaction is written, and its COMMIT goes when this resolves. */
  readonly committing?: () => Promise<void>;
  readonly onEpoch?: (epoch: number) => void;
  readonly sign?: () => () => void;
  /** A connection of its own to the books, whenever it makes one. */
  readonly opened?: (line: Line) => void;
  /** Whether its session is its own, default: it is. */
  readonly isOwn?: () => boolean;
  /** Whether the disk takes no copy of what is confirmed. */
  readonly full?: () => boolean;
}

export interface TestNode {
  readonly store: PostgresLedgerStore;
  readonly batches: { epoch: number; run: string; seq: number; commands: readonly LedgerCommand[] }[];
  readonly forgotten: LedgerCommand[];
  readonly epochs: number[];
}

/** @param server address of one on which databases may be created. */
export async function openSite(server = fallback): Promise<Site> {
  if (!server.startsWith('postgres')) throw new Error('GATEWAY_TEST_DATABASE names no server');
  const name = `ledger_${process.pid}_${Date.now().toString(36)}_${made++}`;
  await asAdministrator(server, `CREATE DATABASE ${name}`);
  const address = new URL(server);
  address.pathname = `/${name}`;
  const url = address.href;
  const database = await openPostgres({ engine: 'postgres', url }, { connections: 3 });
  await migratePostgres(database);
  const nodes: TestNode[] = [];
  const rows = async <Row extends object>(text: string, ...values: readonly unknown[]): Promise<Row[]> =>
    (await database.pool.query<Row>(text, [...values])).rows;

  return {
    url,
    database,
    rows,
    node(options = {}) {
      const node = openNode(options.url ?? url, options);
      nodes.push(node);
      return node;
    },
    async addUsers(...ids) {
      for (const id of ids) {
        await rows("INSERT INTO users (id, username, password_hash, created_at) VALUES ($1, $2, 'x', 1)", id, `u${id}`);
        await rows('INSERT INTO accounts (id) VALUES ($1)', id);
        await rows(
          "INSERT INTO tokens (id, user_id, name, key_hmac, key_sealed, key_hint, created_at) VALUES ($1, $1, 't', $2, 's', '', 1)",
          id,
          `h${id}`,
        );
        await rows("INSERT INTO channels (id, type, name, key_sealed, created_at) VALUES ($1, 1, 'c', 's', 1)", id);
      }
    },
    async addCode(id, quota, status = 1) {
      await rows(
        "INSERT INTO redemptions (id, user_id, name, key_hmac, key_sealed, status, quota, created_at) VALUES ($1, 1, 'n', $2, 's', $3, $4, 1)",
        id,
        `c${id}`,
        status,
        quota,
      );
    },
    async addOrder(tradeNo, userId, quota) {
      await rows(
        "INSERT INTO top_ups (user_id, trade_no, method, amount, quota, money, currency, created_at) VALUES ($1, $2, 'epay', 1, $3, 730, 'cny', 1)",
        userId,
        tradeNo,
        quota,
      );
    },
    async balance(id) {
      const [row] = await rows<{ balance: number }>(
        `SELECT balance + coalesce((SELECT sum(balance) FROM account_parts WHERE account_id = id), 0) AS balance FROM accounts WHERE id = $1`,
        id,
      );
      return row?.balance ?? 0;
    },
    async violations() {
      const logs = await rows<{ request_id: string; quota: number; other: string }>(
        'SELECT request_id, quota, other FROM logs WHERE type = 2 AND quota > 0',
      );
      const wrong = logs.filter(({ other, quota }) => recompute(JSON.parse(other))?.quota !== quota);
      const names = wrong.map((row) => row.request_id);
      return [...reportsOf(await postgresStats(database)), logReport(logs.length, wrong.length, names)].filter(
        (one) => one.violations > 0,
      );
    },
    async drop() {
      for (const { store } of nodes) store.close();
      await database.close();
      await asAdministrator(server, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

let runs = 0;

type Batch = TestNode['batches'][number];
const isSameBatch = (one: Pick<Batch, 'run' | 'seq'>, other: Pick<Batch, 'run' | 'seq'>): boolean =>
  one.run === other.run && one.seq === other.seq;

function openNode(
  url: string,
  {
    name = 'node',
    broken = () => null,
    sending,
    committing,
    onEpoch,
    sign,
    opened,
    isOwn = () => true,
    full = () => false,
  }: NodeOptions,
): TestNode {
  const batches: TestNode['batches'] = [];
  const forgotten: LedgerCommand[] = [];
  const epochs: number[] = [];
  const store = new PostgresLedger({
    connect: async () => {
      const line = await openLine({ engine: 'postgres', url }, { isOwn });
      opened?.(line);
      return {
        ...line,
        get broken() {
          return line.broken;
        },
        // A connection that breaks on its way there, or on its way back.
        async send(statements) {
          for (const { text } of statements) sending?.(text);
          const fate = statements.map(({ text }) => broken(text)).find((one) => one !== null);
          if (fate === undefined && committing !== undefined && statements.at(-1)?.text === 'COMMIT') {
            const answers = await line.send(statements.slice(0, -1));
            await committing();
            return [...answers, ...(await line.send(statements.slice(-1)))];
          }
          if (fate === undefined) return line.send(statements);
          if (fate === 'after') await line.send(statements);
          line.close();
          throw Object.assign(new Error('connection reset'), { code: 'ECONNRESET' });
        },
      };
    },
    node: { name, version: 'test', schema: '' },
    acknowledged: {
      keep({ epoch, run, seq }, commands) {
        if (full()) throw new Error('the disk is full');
        batches.push({ epoch, run, seq, commands });
      },
      discard: (mark) => void batches.splice(0, batches.length, ...batches.filter((one) => !isSameBatch(one, mark))),
      since: ({ run, seq }) => batches.filter((one) => one.run === run && one.seq > seq).flatMap((one) => one.commands),
      markResent: ({ run, seq }) =>
        void batches.splice(0, batches.length, ...batches.filter((one) => one.run !== run || one.seq <= seq)),
      marks: () => [...new Map(batches.map(({ epoch, run, seq }) => [run, { epoch, run, seq }])).values()],
    },
    onEpoch(epoch) {
      epochs.push(epoch);
      onEpoch?.(epoch);
    },
    onUnlisted(commands, done) {
      forgotten.push(...commands);
      done();
    },
    ...(sign === undefined ? {} : { sign }),
    newRun: () => `${process.pid}-${runs++}`,
    now: () => Math.floor(Date.now() / 1000),
  });
  return { store, batches, forgotten, epochs };
}
