/** The database is away for a while, or comes back as an older copy: what clients get meanwhile, and what the books say in the end. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Stretch, startProxy } from './proxy.ts';
import { answersAfter, ask, insist, openSellingSite, type SellingSite, type ServingNode } from './serving.ts';

let site: SellingSite;
let proxy: Stretch;

beforeEach(async () => {
  site = await openSellingSite();
  proxy = await startProxy(site.url);
});
afterEach(async () => {
  proxy.thaw();
  await site.close();
  await proxy.stop();
});

const billed = async () =>
  (await site.rows<{ n: number }>("SELECT count(*) AS n FROM postings WHERE kind = 'settle'"))[0]?.n;
const violations = async ({ client }: ServingNode) =>
  ((await client.call('ledger.verify')) as readonly { violations: number }[]).filter((one) => one.violations > 0);
/** Many at once lease for all of them, and use less. */
const warm = async (node: ServingNode, key: string) => {
  const before = site.upstream.requests.length;
  const answers = await Promise.all(Array.from({ length: 30 }, () => insist(() => node.chat(key, ask))));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  // Where commits are slow, ends wait in the outbox.
  await expect.poll(billed, { timeout: 60_000 }).toBe(before + answers.length);
};

test('the database hangs: requests go on within what is leased, their ends are durable nearby, and all is billed when it is back', async () => {
  const node = await site.start({ url: proxy.url, env: { GATEWAY_OUTBOX: join(site.folder(), 'outbox') } });
  const key = await site.furnish(node);
  await warm(node, key);
  const before = (await billed()) ?? 0;
  proxy.freeze();
  for (let n = 0; n < 3; n++) expect((await insist(() => node.chat(key, ask))).status).toBe(200);
  expect(await billed()).toBe(before);
  // Its leases end before others may take them.
  await expect.poll(async () => (await node.chat(key, ask)).status, { timeout: 60_000 }).toBe(503);
  const rejected = await node.chat(key, ask);
  expect([rejected.status, rejected.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  proxy.thaw();
  await expect.poll(async () => (await node.chat(key, ask)).status, { timeout: 60_000 }).toBe(200);
  const delivered = site.upstream.requests.length;
  await expect.poll(billed, { timeout: 60_000 }).toBe(delivered);
  expect(await violations(node)).toEqual([]);
});

test('after one single request of an ample balance and limit the database may hang: the next are served, and the node says for how long', async () => {
  const env = { GATEWAY_OUTBOX: join(site.folder(), 'outbox') };
  const node = await site.start({ url: proxy.url, env });
  await site.furnish(node);
  const { key } = (await node.client.call('token.create', {
    name: 'limited',
    unlimited_quota: false,
    remain_quota: 10_000_000,
  } as never)) as { key: string };
  expect((await node.chat(key, ask)).status).toBe(200);
  proxy.freeze();
  for (let round = 0; round < 10; round++) {
    const answers = await Promise.all(Array.from({ length: 10 }, () => insist(() => node.chat(key, ask))));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  }
  const ready = async () => (await (await fetch(`${node.url}/readyz`)).json()) as { leases?: { seconds: number } };
  await expect.poll(async () => (await ready()).leases?.seconds, { timeout: 20_000 }).toBeGreaterThan(0);
  expect(await ready()).toEqual({ ok: true, leases: { seconds: expect.any(Number) } });
  proxy.thaw();
  await expect.poll(ready, { timeout: 60_000 }).toEqual({ ok: true });
  await expect.poll(billed, { timeout: 60_000 }).toBe(site.upstream.requests.length);
  expect(await violations(node)).toEqual([]);
});

test('the database is gone: users with a lease are served and the node is ready until leases end, the others get an error to retry, in words of ours', async () => {
  const env = { GATEWAY_OUTBOX: join(site.folder(), 'outbox'), GATEWAY_LEASE_SECONDS: '10' };
  const node = await site.start({ url: proxy.url, env });
  const key = await site.furnish(node);
  // Nothing was ever asked for with this one: its limit is leased nowhere.
  const idle = (await node.client.call('token.create', {
    name: 'idle',
    unlimited_quota: false,
    remain_quota: 1_000_000,
  } as never)) as { key: string };
  await warm(node, key);
  await expect
    .poll(() => node.client.call('node.list').then(({ nodes }) => nodes[0]?.lease_seconds), { timeout: 60_000 })
    .toBe(10);
  const found = JSON.parse((await site.run(['doctor', '--json'], { dir: node.dir, env })).out) as {
    check: string;
    detail: string;
  }[];
  expect(found.find(({ check }) => check === 'leases')?.detail).toMatch(/ 10 s$/);
  const before = (await billed()) ?? 0;
  await proxy.stop();
  const ready = async () => (await fetch(`${node.url}/readyz`)).status;
  // Found out by the first that needs it.
  const rejected = await node.chat(idle.key, ask);
  expect([rejected.status, rejected.headers.get('retry-after'), rejected.headers.get('x-should-retry')]).toEqual([
    503,
    '5',
    'true',
  ]);
  const { message } = ((await rejected.json()) as { error: { message: string } }).error;
  expect(message).toContain('the database cannot be reached');
  expect(message).not.toMatch(/ECONN|terminated|timeout|127\.0\.0\.1/i);
  expect([(await node.chat(key, ask)).status, await ready()]).toEqual([200, 200]);
  expect(node.output()).toMatch(/the database cannot be reached \(.+\); requests go on within what is leased, for 7 s/);
  await expect.poll(async () => (await node.chat(key, ask)).status, { timeout: 60_000 }).toBe(503);
  await expect.poll(ready, { timeout: 60_000 }).toBe(503);
  expect((await node.chat(key, ask)).headers.get('retry-after')).toBe('5');
  expect(await billed()).toBe(before);
});

test('exactness 5: without a durable folder a response waits for its bill, and new requests get an error to retry', async () => {
  const node = await site.start({ url: proxy.url });
  const key = await site.furnish(node);
  await warm(node, key);
  proxy.freeze();
  let over = false;
  const waiting = node.chat(key, ask).then(async (answer) => {
    await answer.text();
    over = true;
    return answer.status;
  });
  await expect.poll(async () => (await node.chat(key, ask)).status, { timeout: 60_000 }).toBe(503);
  expect(over).toBe(false);
  proxy.thaw();
  expect(await waiting).toBe(200);
  await expect.poll(async () => (await node.chat(key, ask)).status, { timeout: 60_000 }).toBe(200);
  expect(await billed()).toBe(site.upstream.requests.length);
});

test('a node that is killed while the database hangs ships what it owes when it starts again', async () => {
  const outbox = join(site.folder(), 'outbox');
  const node = await site.start({ url: proxy.url, env: { GATEWAY_OUTBOX: outbox } });
  const key = await site.furnish(node);
  await warm(node, key);
  const before = (await billed()) ?? 0;
  proxy.freeze();
  for (let n = 0; n < 3; n++) expect((await insist(() => node.chat(key, ask))).status).toBe(200);
  node.process.kill('SIGKILL');
  await node.process.exited;
  expect(await billed()).toBe(before);
  proxy.thaw();
  const again = await site.start({ dir: node.dir, env: { GATEWAY_OUTBOX: outbox } });
  await expect.poll(billed, { timeout: 60_000 }).toBe(before + 3);
  expect(await violations(again)).toEqual([]);
  // What the dead had leased is free at once: it was this very node.
  const [account] = await site.rows<{ leased: number }>('SELECT leased FROM accounts WHERE id = 1');
  expect(account).toEqual({ leased: 0 });
});

test('exactness 4: a database that comes back as an older copy gets what it has forgotten, and nothing twice', async () => {
  const node = await site.start({ url: proxy.url, env: { GATEWAY_OUTBOX: join(site.folder(), 'outbox') } });
  const key = await site.furnish(node);
  await warm(node, key);
  const name = new URL(site.url).pathname.slice(1);
  const alone = async (work: () => Promise<unknown>) => {
    proxy.freeze();
    await site.quiet();
    await work();
    proxy.thaw();
  };
  await alone(() => site.administer(`CREATE DATABASE ${name}_copy TEMPLATE ${name}`));
  await expect.poll(async () => (await node.chat(key, ask)).status, { timeout: 60_000 }).toBe(200);
  await warm(node, key);
  const before = site.upstream.requests.length;
  // As when a copy that lagged behind comes to power.
  await alone(async () => {
    await site.administer(`ALTER DATABASE ${name} RENAME TO ${name}_lost`);
    await site.administer(`ALTER DATABASE ${name}_copy RENAME TO ${name}`);
  });
  await expect.poll(billed, { timeout: 60_000 }).toBeGreaterThanOrEqual(before);
  await expect.poll(async () => (await node.chat(key, ask)).status, { timeout: 60_000 }).toBe(200);
  await expect.poll(billed, { timeout: 60_000 }).toBe(site.upstream.requests.length);
  expect(await violations(node)).toEqual([]);
  expect(await site.rows('SELECT overrun FROM accounts WHERE overrun <> 0')).toEqual([]);
  await site.administer(`DROP DATABASE ${name}_lost WITH (FORCE)`);
});

test('a node that sleeps for longer than its leases live wakes up: it spends nothing of them, and what it had open is billed whole', async () => {
  const [node, other] = await Promise.all([site.start(), site.start()]);
  const key = await site.furnish(node);
  await warm(node, key);
  const gate = Promise.withResolvers<void>();
  site.upstream.script(answersAfter(gate.promise));
  const open = Array.from({ length: 3 }, () => node.chat(key, ask).then(({ status }) => status));
  await expect.poll(() => site.upstream.requests.length, { timeout: 60_000 }).toBe(33);
  node.process.kill('SIGSTOP');
  gate.resolve();
  await expect
    .poll(() => site.rows("SELECT epoch FROM nodes WHERE state = 'expired'"), { timeout: 60_000 })
    .toHaveLength(1);
  // What it had and nothing held is another's by now.
  expect((await other.chat(key, ask)).status).toBe(200);
  node.process.kill('SIGCONT');
  expect(await Promise.all(open)).toEqual([200, 200, 200]);
  await expect.poll(async () => (await node.chat(key, ask)).status, { timeout: 60_000 }).toBe(200);
  await expect.poll(billed, { timeout: 60_000 }).toBe(site.upstream.requests.length);
  expect(await violations(node)).toEqual([]);
  expect(await site.rows('SELECT overrun FROM accounts WHERE overrun <> 0')).toEqual([]);
});

test('the database restarts under load: no request is lost, none is billed twice', async () => {
  const node = await site.start({ env: { GATEWAY_OUTBOX: join(site.folder(), 'outbox') } });
  const key = await site.furnish(node);
  await warm(node, key);
  for (let round = 0; round < 4; round++) {
    const requested = Array.from({ length: 20 }, () => node.chat(key, ask));
    await site.administer(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${new URL(site.url).pathname.slice(1)}'`,
    );
    for (const answer of await Promise.all(requested)) expect([200, 503]).toContain(answer.status);
  }
  await expect.poll(async () => (await node.chat(key, ask)).status, { timeout: 60_000 }).toBe(200);
  await expect.poll(billed, { timeout: 60_000 }).toBe(site.upstream.requests.length);
  expect(await violations(node)).toEqual([]);
});
