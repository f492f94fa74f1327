/** One key of a channel that is switched off at a node is used by no other a second later; switched on again it is. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, insist, openSellingSite, type SellingSite } from './serving.ts';

let site: SellingSite;
beforeAll(async () => {
  site = await openSellingSite();
});
afterAll(() => site.close());

const keyOf = ({ headers }: SellingSite['upstream']['requests'][number]) =>
  headers.authorization?.replace('Bearer ', '');

test('a key of a channel that is switched off at one node is used by no other after a second', async () => {
  const here = await site.start();
  const key = await site.furnish(here);
  const there = await site.start();
  const [channel] = await site.rows<{ id: number }>('SELECT id FROM channels LIMIT 1');
  const id = Number(channel?.id);
  await here.client.call('channel.update', { id, key: 'sk-first\nsk-second' });
  /** Keys that the other node uses for eight requests. */
  const used = async () => {
    site.upstream.requests.length = 0;
    for (let n = 0; n < 8; n++) await (await insist(() => there.chat(key, ask))).text();
    return new Set(site.upstream.requests.map(keyOf));
  };
  await expect.poll(used, { timeout: 60_000 }).toEqual(new Set(['sk-first', 'sk-second']));
  const [first] = await here.client.call('channel.keys', { id });
  const update = (status: 'in_use' | 'off') =>
    here.client.call('channel.key_update', { id, key_id: first?.key_id ?? '', status });
  await update('off');
  const switchedMs = performance.now();
  // How late the news is on a machine that is busy says nothing: until it comes is measured, and that it stays.
  let usedMs = switchedMs;
  for (let now = switchedMs; now - switchedMs < 2000; now = performance.now())
    if ((await used()).has('sk-first')) usedMs = now;
  expect(usedMs - switchedMs).toBeLessThan(1000);
  expect(await used()).toEqual(new Set(['sk-second']));
  await update('in_use');
  await expect.poll(used, { timeout: 60_000 }).toEqual(new Set(['sk-first', 'sk-second']));
});
