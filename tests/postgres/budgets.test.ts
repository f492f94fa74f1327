/** What a key may use by day and by month, kept by two nodes together. */
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
/** What a request holds, and what it costs. */
let need: number;
let cost: number;

const nodeOf = (index: number): ServingNode => {
  const node = nodes[index % nodes.length];
  if (node === undefined) throw new Error(`no node ${index}`);
  return node;
};

beforeAll(async () => {
  site = await openSellingSite();
  const first = await site.start();
  const key = await site.furnish(first);
  nodes = [first, await site.start({ args: ['--relays', '2'] })];
  ({ need, cost } = await needOf(site, first, key));
  await setBalance(first, 1_000_000);
});
beforeEach(() => site.upstream.script(answers));
afterAll(() => site.close());

const keyWith = async (fields: object): Promise<{ readonly id: number; readonly key: string }> => {
  const token = (await nodeOf(0).client.call('token.create', {
    name: 'budget',
    unlimited_quota: true,
    ...fields,
  } as never)) as { id: number; key: string };
  const models = { headers: { authorization: `Bearer sk-${token.key}` } };
  for (const { url } of nodes)
    await expect.poll(async () => (await fetch(`${url}/v1/models`, models)).status, { timeout: 60_000 }).toBe(200);
  return token;
};
const violations = async () =>
  ((await nodeOf(0).client.call('ledger.verify')) as readonly { violations: number }[]).filter(
    (one) => one.violations > 0,
  );

test.each(['day', 'month'] as const)(
  'a budget by %s for ten requests lets in as many of 40 over two nodes as it carries, says so to the others, and is new on both with the next',
  async (period) => {
    const budget = 10 * need;
    const { id, key } = await keyWith({ [`${period}_budget`]: budget });
    const used = async () => {
      const [row] = await site.rows<{ used: number }>(`SELECT ${period}_used AS used FROM tokens WHERE id = ${id}`);
      return row?.used ?? 0;
    };
    const gate = Promise.withResolvers<void>();
    let admitted = 0;
    const afterwards = answersAfter(gate.promise);
    site.upstream.script((response, received) => {
      admitted++;
      return afterwards(response, received);
    });
    let rejected = 0;
    const requested = Array.from({ length: 40 }, async (_, n) => {
      const answer = await insist(() => nodeOf(n).chat(key, ask));
      const { error } = (await answer.json()) as { error?: { code: string } };
      if (answer.status !== 200) rejected++;
      return { status: answer.status, code: error?.code, waits: Number(answer.headers.get('retry-after')) };
    });
    // All decisions are made while those that are in hold what they hold.
    await expect.poll(() => rejected + admitted, { timeout: 300_000 }).toBe(40);
    // Near the limit a prompt is counted, and what is counted holds less: more than ten may get in, and all of it is leased.
    expect(admitted).toBeGreaterThanOrEqual(10);
    const [leased] = await site.rows<{ sum: string }>(
      `SELECT sum(amount) AS sum FROM leases WHERE kind = 'token' AND subject = ${id}`,
    );
    expect(Number(leased?.sum)).toBeLessThanOrEqual(budget);
    gate.resolve();
    const first = admitted;
    const answers = await Promise.all(requested);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(first);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(new Set(refused.map(({ status, code }) => `${status} ${code}`))).toEqual(
      new Set([`429 token_budget_${period}`]),
    );
    for (const { waits } of refused) expect(waits).toBeGreaterThan(0);
    expect(await used()).toBe(first * cost);

    let more = 0;
    for (let n = 0; n < 60; n++) if ((await insist(() => nodeOf(n).chat(key, ask))).status === 200) more++;
    expect(await used()).toBe((first + more) * cost);
    // To the last request that it could carry, and none beyond.
    expect(await used()).toBeLessThanOrEqual(budget);
    expect(budget - (await used())).toBeLessThan(need);

    await site.rows(`UPDATE tokens SET ${period}_at = ${period}_at - 86400 WHERE id = ${id}`);
    // That there was nothing is remembered for a moment.
    for (const node of nodes)
      await expect.poll(async () => (await node.chat(key, ask)).status, { timeout: 60_000 }).toBe(200);
    expect(await used()).toBe(nodes.length * cost);
    expect(await violations()).toEqual([]);
  },
);

test('a budget is set while a key is in use without one: what is spent from then on is within it, on both nodes', async () => {
  const { id, key } = await keyWith({});
  for (const node of nodes) expect((await node.chat(key, ask)).status).toBe(200);
  await nodeOf(0).client.call('token.update', { id, day_budget: 2 * cost + need } as never);
  const leased = async () => {
    const answers = await Promise.all(nodes.map((node) => node.chat(key, ask)));
    return answers.map(({ status }) => status);
  };
  await expect.poll(leased, { timeout: 60_000 }).toEqual([429, 429]);
  const [row] = await site.rows<{ used: number }>(`SELECT day_used AS used FROM tokens WHERE id = ${id}`);
  expect(row?.used).toBeGreaterThan(2 * cost);
  expect(await violations()).toEqual([]);
});

test('agents hear on each node what the whole site has used of a budget', async () => {
  const { id, key } = await keyWith({ day_budget: 20 * need });
  await nodeOf(0).client.call('option.set', { key: 'agents.sign_in', value: 'true' } as never);
  for (let n = 0; n < 4; n++) expect((await nodeOf(n).chat(key, ask)).status).toBe(200);
  const [row] = await site.rows<{ used: number }>(`SELECT day_used AS used FROM tokens WHERE id = ${id}`);
  expect(row?.used).toBe(4 * cost);
  const percent = ((4 * cost) / (20 * need)) * 100;
  const headers = { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' };
  for (const { url } of nodes) {
    const usage = async () => {
      const answer = await fetch(`${url}/api/oauth/usage`, { headers });
      return answer.ok
        ? ((await answer.json()) as { limits: { percent: number }[] }).limits[0]?.percent
        : answer.status;
    };
    await expect.poll(usage, { timeout: 30_000 }).toBe(Math.round(percent));
  }
  const told = async (url: string) => {
    const body = JSON.stringify({ model: ask.model, input: 'hi', max_output_tokens: 16 });
    const answer = await fetch(`${url}/v1/responses`, { method: 'POST', headers, body });
    await answer.text();
    return Number(answer.headers.get('x-codex-primary-used-percent'));
  };
  // The first answer may come before the site was asked.
  for (const { url } of nodes)
    await expect.poll(() => told(url), { timeout: 30_000 }).toBeGreaterThanOrEqual(Math.floor(percent));
});
