/** One site's money on several nodes, each a process of its own. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  answers,
  answersAfter,
  ask,
  insist,
  needOf,
  openSellingSite,
  type SellingSite,
  type ServingNode,
  setBalance,
} from './serving.ts';

let site: SellingSite;
let nodes: ServingNode[];
let key: string;

beforeAll(async () => {
  site = await openSellingSite();
  const first = await site.start();
  key = await site.furnish(first);
  nodes = [first, ...(await Promise.all([site.start(), site.start({ args: ['--relays', '2'] })]))];
});
beforeEach(async () => {
  site.upstream.script(answers);
  await setBalance(nodeOf(0), 1_000_000);
});
afterAll(() => site.close());

const nodeOf = (index: number): ServingNode => {
  const node = nodes[index % nodes.length];
  if (node === undefined) throw new Error(`no node ${index}`);
  return node;
};
const balance = async (id: number) =>
  (
    await site.rows<{ balance: number; leased: number; overrun: number }>(
      `SELECT balance, leased, overrun FROM accounts WHERE id = ${id}`,
    )
  )[0];
const violations = async () => {
  const { client } = nodeOf(0);
  const reports = (await client.call('ledger.verify' as never)) as readonly {
    id: string;
    violations: number;
    examples: unknown;
  }[];
  expect(reports.map(({ id }) => id)).toContain('I12');
  return reports.filter((one) => one.violations > 0);
};
/** News of a new key have come to all. */
const known = async (fresh: string) => {
  for (const { url } of nodes)
    await expect
      .poll(
        async () => (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer sk-${fresh}` } })).status,
        {
          timeout: 60_000,
        },
      )
      .toBe(200);
};

test('a balance for ten requests admits ten of 300 over three nodes, the tenth is never refused, and nothing is left over', async () => {
  const { need, cost: quota } = await needOf(site, nodeOf(0), key);
  await setBalance(nodeOf(0), 10 * need);
  const gate = Promise.withResolvers<void>();
  site.upstream.script(answersAfter(gate.promise));
  let rejected = 0;
  const requested = Array.from({ length: 300 }, async (_, n) => {
    const answer = await insist(() => nodeOf(n).chat(key, ask));
    const body = await answer.text();
    if (answer.status !== 200) rejected++;
    return { status: answer.status, body };
  });
  // All decisions are made while the ten that are in hold what they hold.
  await expect.poll(() => rejected, { timeout: 300_000 }).toBe(290);
  gate.resolve();
  const answers = await Promise.all(requested);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
  const refused = answers.filter(({ status }) => status !== 200);
  expect(new Set(refused.map(({ status, body }) => `${status} ${JSON.parse(body).error.code}`))).toEqual(
    new Set(['403 user_exhausted']),
  );
  expect(await balance(1)).toMatchObject({ balance: 10 * need - 10 * quota, overrun: 0 });
  expect(await violations()).toEqual([]);
});

test('quota held by a request on another node is waited for, and served when it ends within two seconds', async () => {
  const { need, cost: quota } = await needOf(site, nodeOf(0), key);
  await setBalance(nodeOf(0), need + quota);
  for (const waits of [nodeOf(1), nodeOf(2)]) {
    const gate = Promise.withResolvers<void>();
    const before = site.upstream.requests.length;
    site.upstream.script(answersAfter(gate.promise));
    const holding = nodeOf(0).chat(key, ask);
    await expect.poll(() => site.upstream.requests.length).toBe(before + 1);
    const waiting = waits.chat(key, ask);
    // It has not reached an upstream, and was not refused, while the other holds the money.
    const early = await Promise.race([waiting.then(({ status }) => status), Bun.sleep(200)]);
    expect([early, site.upstream.requests.length]).toEqual([undefined, before + 1]);
    gate.resolve();
    expect((await holding).status).toBe(200);
    expect((await waiting).status).toBe(200);
    await setBalance(nodeOf(0), need + quota);
  }
  expect(await violations()).toEqual([]);
});

test('exactness 2.2: an administrator takes from a balance what lies idle with other nodes, and no more than that', async () => {
  for (const node of nodes) expect((await node.chat(key, ask)).status).toBe(200);
  const before = await balance(1);
  expect(before?.leased).toBeGreaterThan(0);
  await setBalance(nodeOf(0), 0);
  expect(await balance(1)).toEqual({ balance: 0, leased: 0, overrun: 0 });
  expect((await nodeOf(1).chat(key, ask)).status).toBe(403);
  await setBalance(nodeOf(0), 1000);
  expect((await insist(() => nodeOf(2).chat(key, ask))).status).toBe(200);
  expect(await violations()).toEqual([]);
});

test('the limit of a key holds over all nodes, and billing endpoints return what the ledger says', async () => {
  expect((await nodeOf(0).chat(key, ask)).status).toBe(200);
  const [{ quota } = { quota: 0 }] = await site.rows<{ quota: number }>('SELECT quota FROM logs WHERE type = 2');
  const limited = (await nodeOf(0).client.call('token.create', {
    name: 'limited',
    unlimited_quota: false,
    remain_quota: 40,
  } as never)) as { key: string; id: number };
  await known(limited.key);
  let done = 0;
  for (let n = 0; n < 60; n++) if ((await insist(() => nodeOf(n).chat(limited.key, ask))).status === 200) done++;
  const [token] = await site.rows<{ used_quota: number; leased: number }>(
    `SELECT used_quota, leased FROM tokens WHERE id = ${limited.id}`,
  );
  expect(token?.used_quota).toBe(done * quota);
  expect(token?.used_quota).toBeLessThanOrEqual(40);
  // Nothing is refused that it could carry.
  expect(40 - (token?.used_quota ?? 0)).toBeLessThan(10);
  const billed = await fetch(`${nodeOf(1).url}/v1/dashboard/billing/usage`, {
    headers: { authorization: `Bearer sk-${limited.key}` },
  });
  expect(((await billed.json()) as { total_usage: number }).total_usage).toBeGreaterThan(0);
  expect(await violations()).toEqual([]);
});

test('a key that is used up is what 90 requests at once over three nodes are refused for, and a key without a limit is served meanwhile', async () => {
  await setBalance(nodeOf(0), 500_000_000);
  const counts: Record<string, number> = {};
  for (let round = 0; round < 4; round++) {
    const limited = (await nodeOf(0).client.call('token.create', {
      name: `used up ${round}`,
      unlimited_quota: false,
      remain_quota: 60,
    } as never)) as { key: string; id: number };
    await known(limited.key);
    const requested = Array.from({ length: 90 }, async (_, n) => {
      const free = nodeOf(n).chat(key, ask);
      const answer = await nodeOf(n).chat(limited.key, ask);
      const body = await answer.text();
      const what = answer.status === 200 ? '200' : `${answer.status} ${JSON.parse(body).error.code}`;
      counts[what] = (counts[what] ?? 0) + 1;
      return (await free).status;
    });
    expect(new Set(await Promise.all(requested))).toEqual(new Set([200]));
    const [token] = await site.rows<{ used_quota: number }>(`SELECT used_quota FROM tokens WHERE id = ${limited.id}`);
    expect(token?.used_quota).toBeLessThanOrEqual(60);
  }
  expect(Object.keys(counts).toSorted()).toEqual(['200', '403 token_exhausted']);
  expect(await violations()).toEqual([]);
});

test('a limit that is lowered holds on the nodes that had leased more of it', async () => {
  const limited = (await nodeOf(0).client.call('token.create', {
    name: 'lowered',
    unlimited_quota: false,
    remain_quota: 100_000,
  } as never)) as { key: string; id: number };
  await known(limited.key);
  // Many at once lease for all of them, and use less.
  const many = Array.from({ length: 60 }, (_, n) => insist(() => nodeOf(n).chat(limited.key, ask)));
  for (const answer of await Promise.all(many)) expect(answer.status).toBe(200);
  const leased = async () =>
    (await site.rows<{ leased: number }>(`SELECT leased FROM tokens WHERE id = ${limited.id}`))[0]?.leased;
  expect(await leased()).toBeGreaterThan(0);
  await nodeOf(0).client.call('token.update', { ...limited, remain_quota: 1 } as never);
  await expect.poll(leased, { timeout: 60_000 }).toBe(0);
  for (const node of nodes) expect((await node.chat(limited.key, ask)).status).toBe(403);
});

test('nodes are killed under load and start again: what clients saw is billed, once, and nothing stays leased to the dead', async () => {
  const [{ n: before } = { n: 0 }] = await site.rows<{ n: number }>(
    "SELECT count(*) AS n FROM postings WHERE kind = 'settle'",
  );
  let seen = 0;
  for (let round = 0; round < 3; round++) {
    const victim = nodeOf(1 + (round % 2));
    const requested = Array.from({ length: 60 }, (_, n) =>
      nodeOf(n)
        .chat(key, ask)
        .then(async (answer) => {
          if (answer.status === 200 && (await answer.text()).includes('hello world')) seen++;
        })
        .catch(() => undefined),
    );
    await Promise.race(requested);
    victim.process.kill('SIGKILL');
    await Promise.all(requested);
    await victim.process.exited;
    nodes[nodes.indexOf(victim)] = await site.start({ dir: victim.dir, args: ['--relays', String(1 + (round % 2))] });
  }
  expect(seen).toBeGreaterThan(60);
  const [{ n: after } = { n: 0 }] = await site.rows<{ n: number }>(
    "SELECT count(*) AS n FROM postings WHERE kind = 'settle'",
  );
  expect(after - before).toBeGreaterThanOrEqual(seen);
  expect(after - before).toBeLessThanOrEqual(180);
  expect(await violations()).toEqual([]);
  expect(await site.rows("SELECT l.* FROM leases l JOIN nodes n USING (epoch) WHERE n.state = 'expired'")).toEqual([]);
  expect((await balance(1))?.overrun).toBe(0);
});

test('an idle lease is returned by itself, and a node that stops leaves nothing behind', async () => {
  for (const node of nodes) expect((await node.chat(key, ask)).status).toBe(200);
  expect((await balance(1))?.leased).toBeGreaterThan(0);
  await expect.poll(async () => (await balance(1))?.leased, { timeout: 60_000 }).toBe(0);
  expect((await nodeOf(1).chat(key, ask)).status).toBe(200);
  expect(await nodeOf(1).stop()).toBe(0);
  expect(await balance(1)).toMatchObject({ leased: 0 });
});
