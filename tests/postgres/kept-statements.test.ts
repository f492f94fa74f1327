/** A session of one's own parses and plans each statement once; whatever takes them away costs one more try. */
import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Line, openLine } from '../../db/postgres/line.ts';
import { startNode } from '../../db/postgres/nodes.ts';
import { openPostgres } from '../../db/postgres/open.ts';
import { grant, settle } from '../ledger/support.ts';
import { startProxy } from './proxy.ts';
import { openSite, type Site } from './site.ts';

let site: Site;
beforeEach(async () => {
  site = await openSite();
  await site.addUsers(1, 2);
});
afterEach(async () => {
  expect(await site.violations()).toEqual([]);
  await site.drop();
});

const none = (): never => {
  throw new Error('no connection');
};

/** A node with some bills behind it. */
async function sold(isOwn = true) {
  const lines: Line[] = [];
  const { store } = site.node({ opened: (line) => void lines.push(line), isOwn: () => isOwn });
  await store.apply([grant('g1', 1, 1000), grant('g2', 2, 1000)]);
  const settled = async (ref: string) => {
    const { results } = await store.apply([settle(`${ref}1`, 1, 7), settle(`${ref}2`, 2, 8)]);
    expect(results.map(({ status }) => status)).toEqual(['done', 'done']);
  };
  for (let n = 0; n < 8; n++) await settled(`r${n}-`);
  const last = (): Line => lines.at(-1) ?? none();
  return {
    settled,
    lines,
    async query(text: string) {
      const [answer] = await last().send([{ text }]);
      return answer?.rows ?? [];
    },
  };
}

test('each is planned once, whatever its tables held then', async () => {
  const { query } = await sold();
  const kept = await query('SELECT statement, generic_plans, custom_plans FROM pg_prepared_statements');
  expect(kept.length).toBeGreaterThan(15);
  // The node's own beginning comes once.
  const planned = kept
    .filter(({ custom_plans: customPlans }) => customPlans > 0)
    .map(({ statement }) => statement as string);
  expect(planned.filter((text) => !/^(INSERT INTO (nodes|meta)|SELECT run, seq FROM nodes)/.test(text))).toEqual([]);
  const often = kept.filter(({ generic_plans: used }) => used >= 8).map(({ statement }) => statement as string);
  for (const table of ['UPDATE nodes', 'FROM accounts', 'INSERT INTO ends', 'INSERT INTO postings', 'INSERT INTO logs'])
    expect(often.filter((text) => text.includes(table)).length, table).toBeGreaterThan(0);
});

test('what has no index to go by is looked through, and not compiled before', async () => {
  const line = await openLine({ engine: 'postgres', url: site.url });
  const requested = { text: 'EXPLAIN SELECT count(*) FROM users WHERE display_name = $1', values: ['x'] };
  const answers = await line.send([...startNode({ epoch: 1, run: '' }, 1, 15), requested, { text: 'ROLLBACK' }]);
  const plan = (answers.at(-2)?.rows ?? []).map((row) => String(row['QUERY PLAN'])).join('\n');
  expect(plan).toContain('Seq Scan');
  expect(plan).not.toContain('JIT');
  line.close();
});

test('a session that belongs to a pooler keeps none', async () => {
  const { query } = await sold(false);
  expect(await query('SELECT statement FROM pg_prepared_statements')).toEqual([]);
});

test.each([
  ['another session took their place', 'DEALLOCATE ALL'],
  // As a newer version of the schema may.
  ['a column changed its type', 'ALTER TABLE accounts ALTER COLUMN overrun TYPE integer'],
])('%s: the bills are written all the same, once, over the same connection', async (_, text) => {
  const { settled, query, lines } = await sold();
  await query(text);
  await settled('after-');
  await settled('again-');
  expect(lines).toHaveLength(1);
  expect(await query('SELECT count(*)::int AS count FROM ends WHERE asked > 0')).toEqual([{ count: 20 }]);
  expect([await site.balance(1), await site.balance(2)]).toEqual([1000 - 70, 1000 - 80]);
});

test('a pooler admits clients that need nothing of their own session, and no others', async () => {
  const pooler = await startProxy(site.url, { mute: true });
  const place = { engine: 'postgres', url: pooler.url } as const;
  const ask = [{ text: 'SELECT $1::int AS one', values: [1] }];
  const plain = await openLine(place);
  expect((await plain.send(ask))[0]?.rows).toEqual([{ one: 1 }]);
  const database = await openPostgres(place, { connections: 1 });
  await database.close();
  expect(pooler.rejected).toEqual([]);
  const own = await openLine(place, { isOwn: () => true });
  await expect(own.send(ask)).rejects.toThrow();
  const greedy = new Client({ connectionString: pooler.url, idle_in_transaction_session_timeout: 5 });
  greedy.on('error', () => undefined);
  await expect(greedy.connect()).rejects.toThrow();
  expect(pooler.rejected).toEqual([
    expect.stringContaining('statement gateway_'),
    'idle_in_transaction_session_timeout',
  ]);
  for (const line of [plain, own]) line.close();
  await pooler.stop();
});
