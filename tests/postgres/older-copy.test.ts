/** A failover to an older copy of the database: what a client got as a result is in the ledger again, with the rows that belong to it. */
import { join } from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ask, insist, openSellingSite, type SellingSite, type ServingNode } from './serving.ts';

let site: SellingSite;
let name: string;

beforeEach(async () => {
  site = await openSellingSite();
  name = new URL(site.url).pathname.slice(1);
});
afterEach(async () => {
  await site.close();
  await site.administer(`DROP DATABASE IF EXISTS ${name}_lost WITH (FORCE)`);
});

/** No client is connected meanwhile. */
const alone = async (work: () => Promise<unknown>) => {
  await site.administer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
  await site.quiet();
  await work();
  await site.administer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
};
const copy = () => alone(() => site.administer(`CREATE DATABASE ${name}_copy TEMPLATE ${name}`));
/** @param first what is done in the copy before anybody else comes to it. */
const takeOver = (first: () => Promise<unknown> = async () => undefined) =>
  alone(async () => {
    await site.administer(`ALTER DATABASE ${name} RENAME TO ${name}_lost`);
    await site.administer(`ALTER DATABASE ${name}_copy RENAME TO ${name}`);
    await site.administer(`ALTER DATABASE ${name}_lost ALLOW_CONNECTIONS true`);
    await first();
  });

const start = (dir?: string) => {
  const folder = dir ?? site.folder();
  return site.start({ dir: folder, env: { GATEWAY_OUTBOX: join(folder, 'outbox') } });
};
const serves = (node: ServingNode, key: string) =>
  expect.poll(async () => (await node.chat(key, ask)).status, { timeout: 60_000 }).toBe(200);
const order = (tradeNo: string) =>
  site.rows(
    `INSERT INTO top_ups (user_id, trade_no, method, amount, quota, money, currency, created_at) VALUES (1, '${tradeNo}', 'epay', 1, 70000, 730, 'cny', 1)`,
  );
const codes = ({ client }: ServingNode, count: number) =>
  client.call('redemption.create', { name: 'gift', quota: 50_000, count } as never) as Promise<string[]>;
const redeem = async (node: ServingNode, code = '') => {
  const post = (path: string, body: unknown, headers = {}) =>
    fetch(`${node.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const session = await post('/api/user/login', { username: 'root', password: 'password1' });
  const cookie = session.headers.get('set-cookie')?.split(';')[0] ?? '';
  const answer = await post('/api/user/topup', { key: code }, { cookie, 'new-api-user': '1' });
  expect(await answer.json()).toMatchObject({ success: true });
};
const kinds = async () =>
  Object.fromEntries(
    (
      await site.rows<{ kind: string; n: number }>(
        "SELECT kind, count(*) AS n FROM postings WHERE kind IN ('settle', 'redeem', 'topup') GROUP BY kind",
      )
    ).map(({ kind, n }) => [kind, n]),
  );
const violations = async ({ client }: ServingNode) =>
  ((await client.call('ledger.verify')) as readonly { violations: number }[]).filter((one) => one.violations > 0);
const sentAgain = /postings of this node.*sent again/;

test('a redemption and a top-up that were confirmed are in the books again: the code is used, the order is paid, and the next start says nothing of it', async () => {
  const node = await start();
  const key = await site.furnish(node);
  const [code] = await codes(node, 1);
  await order('T1');
  await serves(node, key);
  await copy();
  await serves(node, key);
  await redeem(node, code);
  await node.client.call('wallet.complete', { trade_no: 'T1' } as never);
  await takeOver();
  await expect.poll(node.output, { timeout: 60_000 }).toMatch(sentAgain);
  await serves(node, key);
  await expect.poll(kinds, { timeout: 60_000 }).toEqual({ settle: site.upstream.requests.length, redeem: 1, topup: 1 });
  expect(await site.rows('SELECT status FROM redemptions')).toEqual([{ status: 3 }]);
  expect(await site.rows('SELECT status FROM top_ups')).toEqual([{ status: 'success' }]);
  expect(await violations(node)).toEqual([]);
  await node.stop();
  const next = await start(node.dir);
  await serves(next, key);
  expect(next.output()).not.toMatch(sentAgain);
}, 120_000);

test('a code and an order that the older copy lacks cost no user what they brought', async () => {
  const node = await start();
  const key = await site.furnish(node);
  await serves(node, key);
  await copy();
  await serves(node, key);
  const [code] = await codes(node, 1);
  await order('T1');
  await redeem(node, code);
  await node.client.call('wallet.complete', { trade_no: 'T1' } as never);
  await takeOver();
  await serves(node, key);
  await expect.poll(kinds, { timeout: 60_000 }).toEqual({ settle: site.upstream.requests.length, redeem: 1, topup: 1 });
  expect(await violations(node)).toEqual([]);
}, 120_000);

test('a node that is killed while it sends again goes on after its start, and nothing is missing', async () => {
  const node = await start();
  const key = await site.furnish(node);
  const [code] = await codes(node, 1);
  await order('T1');
  await serves(node, key);
  await copy();
  for (let n = 0; n < 5; n++) expect((await insist(() => node.chat(key, ask))).status).toBe(200);
  await insist(() => node.chat(key, ask));
  await redeem(node, code);
  await node.client.call('wallet.complete', { trade_no: 'T1' } as never);
  const expected = { settle: site.upstream.requests.length, redeem: 1, topup: 1 };
  // Whatever is sent again waits for this lock: it is taken before the node may connect.
  let locker = new Client();
  await takeOver(async () => {
    locker = new Client({ connectionString: site.url });
    await locker.connect();
    await locker.query('BEGIN');
    await locker.query('LOCK TABLE postings IN EXCLUSIVE MODE');
  });
  await expect.poll(node.output, { timeout: 60_000 }).toMatch(sentAgain);
  node.process.kill('SIGKILL');
  await node.process.exited;
  await locker.query('ROLLBACK');
  await locker.end();
  const again = await start(node.dir);
  await expect.poll(kinds, { timeout: 60_000 }).toEqual(expected);
  expect(await site.rows('SELECT status FROM redemptions')).toEqual([{ status: 3 }]);
  expect(await violations(again)).toEqual([]);
}, 120_000);
