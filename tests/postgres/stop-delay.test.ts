/** A node is taken out behind a balancer that only checks whether each is ready: no request is refused. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startBalancer } from '../../scripts/lab/prove/cluster/balancer.ts';
import { ask, openSellingSite, type SellingSite, type ServingNode } from './serving.ts';

let site: SellingSite;

beforeEach(async () => {
  site = await openSellingSite();
});
afterEach(() => site.close());

const portOf = ({ url }: ServingNode): number => Number(new URL(url).port);
const nameOf = ({ dir }: ServingNode): string => readFileSync(join(dir, 'node'), 'utf8').trim();
/** As another sees it. */
const stateOf = async ({ client }: ServingNode, node: ServingNode) =>
  (await client.call('node.list')).nodes.find(({ name }) => name === nameOf(node))?.state;
const readyOf = async ({ url }: ServingNode): Promise<number> =>
  (await fetch(`${url}/readyz`, { keepalive: false })).status;

/** Asks without a pause, each time over a connection of its own. */
function askThrough(url: string, key: string) {
  const statuses = new Map<number, number>();
  const answers = [0, 0, 0, 0];
  let over = false;
  const headers = { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' };
  const asking = answers.map(async (_, index) => {
    while (!over) {
      const order = { method: 'POST', headers, body: JSON.stringify(ask), keepalive: false };
      const status = await fetch(`${url}/v1/chat/completions`, order).then(
        async (answer) => {
          await answer.arrayBuffer();
          return answer.status;
        },
        () => 0,
      );
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      answers[index] = (answers[index] ?? 0) + 1;
    }
  });
  return {
    /** Each has had so many more answers. */
    more(count: number) {
      const until = answers.map((before) => before + count);
      return expect
        .poll(() => answers.every((got, index) => got >= (until[index] ?? 0)), { timeout: 60_000 })
        .toBe(true);
    },
    async stop() {
      over = true;
      await Promise.all(asking);
      return Object.fromEntries(statuses);
    },
  };
}

test.each(['a signal', 'an order in the books'])('by %s', async (how) => {
  const args = ['--stop-delay', '600'];
  const [stays, goes] = [await site.start(), await site.start({ args })];
  const key = await site.furnish(stays);
  await expect.poll(async () => (await goes.chat(key, ask)).status, { timeout: 60_000 }).toBe(200);
  const balancer = await startBalancer([portOf(stays), portOf(goes)]);
  try {
    await expect.poll(() => balancer.ready().length, { timeout: 60_000 }).toBe(2);
    const asking = askThrough(balancer.url, key);
    await asking.more(5);
    if (how === 'a signal') goes.process.kill('SIGTERM');
    else await stays.client.call('node.drain', { name: nameOf(goes) });
    await expect.poll(() => readyOf(goes), { timeout: 60_000 }).toBe(503);
    await expect.poll(() => stateOf(stays, goes), { timeout: 60_000 }).toBe('draining');
    // Whom the balancer has sent already, or sends still, is served.
    expect((await goes.chat(key, ask)).status).toBe(200);
    await expect.poll(() => balancer.ready(), { timeout: 60_000 }).toEqual([portOf(stays)]);
    // No request waits for the stopping node any more.
    await asking.more(10);
    // The delay is over.
    goes.process.kill('SIGTERM');
    if (how !== 'a signal') {
      // Two signals that come before the first is heard are one.
      expect([await readyOf(goes), await readyOf(goes)]).toEqual([503, 503]);
      goes.process.kill('SIGTERM');
    }
    expect(await goes.process.exited).toBe(143);
    expect(Object.keys(await asking.stop())).toEqual(['200']);
  } finally {
    balancer.stop();
  }
  // It has given back what it had.
  expect(await site.rows("SELECT epoch FROM nodes WHERE state <> 'expired'")).toHaveLength(1);
  expect(await site.rows("SELECT 1 FROM leases JOIN nodes USING (epoch) WHERE state = 'expired'")).toEqual([]);
});
