/** One site's money on several nodes, each a process of its own. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';
import { furnish, openServingSite, type ServingNode, type ServingSite } from './serving.ts';

let site: ServingSite;
let upstream: Upstream;
let nodes: ServingNode[];
let key: string;

beforeEach(async () => {
  site = await openServingSite();
  upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
  const first = await site.start();
  key = await furnish(first, upstream.url);
  nodes = [first, await site.start(), await site.start()];
});
afterEach(async () => {
  await upstream.stop();
  await site.close();
});

const ask = { model: 'gpt-4o-mini', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] };
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
/** Of a user of its own, whose balance is so much. */
async function userWith(quota: number): Promise<string> {
  const { client } = nodeOf(0);
  const user = (await client.call(
    'user.create' as never,
    { username: 'poor', password: 'password1', display_name: 'poor' } as never,
  )) as { id: number };
  void user;
  return key;
}

test('what one request costs at most is known', async () => {
  const answer = await nodeOf(0).chat(key, ask);
  expect(answer.status).toBe(200);
  console.log(await balance(1), await site.rows('SELECT * FROM leases'), await site.rows('SELECT quota FROM logs'));
});
