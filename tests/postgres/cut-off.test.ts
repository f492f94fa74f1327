/** A node is cut off from the database while others are not: what is revoked elsewhere meanwhile reaches it, or it stops. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type RedisServer, startRedis } from '../../scripts/servers/redis.ts';
import { type Stretch, startProxy } from './proxy.ts';
import { ask, insist, openSellingSite, type SellingSite, type ServingNode } from './serving.ts';

let site: SellingSite;
let proxy: Stretch;
let redis: RedisServer;
let cutOff: ServingNode;

beforeEach(async () => {
  site = await openSellingSite();
  proxy = await startProxy(site.url);
  redis = await startRedis();
});
afterEach(async () => {
  proxy.thaw();
  await site.close();
  await proxy.stop();
  await redis.stop();
});

const start = (env: Readonly<Record<string, string>> = {}) =>
  site.start({ url: proxy.url, env: { GATEWAY_OUTBOX: join(site.folder(), 'outbox'), ...env } });
const statusOf = async (key: string) => (await cutOff.chat(key, ask)).status;
/** @returns milliseconds until the node refuses the key. */
async function refusedAfter(key: string): Promise<number> {
  const from = performance.now();
  await expect.poll(() => statusOf(key), { timeout: 40_000, interval: 250 }).toBe(503);
  return performance.now() - from;
}
const addKey = async ({ client }: ServingNode, name: string) =>
  (await client.call('token.create', { name, unlimited_quota: true } as never)) as { id: number; key: string };
/** A user with balance, and a key. */
async function addUser({ client }: ServingNode, username: string) {
  const { id } = (await client.call('user.create', { username, password: 'password1' } as never)) as { id: number };
  await client.call('user.update', { id, quota: 10_000_000 } as never);
  const { key } = (await client.call('token.create', {
    name: 't',
    unlimited_quota: true,
    owner: String(id),
  } as never)) as {
    key: string;
  };
  return { id, key };
}
/** Logs in at a node. */
async function openAccount({ url }: ServingNode, username: string, id: number) {
  const post = await fetch(`${url}/api/user/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password: 'password1' }),
  });
  const session = { cookie: (post.headers.get('set-cookie') ?? '').split(';')[0] ?? '', 'new-api-user': String(id) };
  const made = await fetch(`${url}/api/user/token`, { method: 'POST', headers: session });
  const { data } = (await made.json()) as { data: string };
  const token = { authorization: `Bearer ${data}`, 'new-api-user': String(id) };
  const look = (headers: Record<string, string>) =>
    fetch(`${url}/api/user/self`, { headers, signal: AbortSignal.timeout(5000) }).then(
      ({ status }) => status,
      () => 0,
    );
  return { opens: () => Promise.all([look(session), look(token)]) };
}
/** Served again and again, out of what was leased when it was in use. */
const warm = async (...keys: string[]) => {
  for (const key of keys) {
    const answers = await Promise.all(Array.from({ length: 10 }, () => insist(() => cutOff.chat(key, ask))));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  }
};
/** What a node reports of itself every few seconds: the changes before are not posted again for its sake. */
const allSayTheyReadEverything = () =>
  expect
    .poll(() => site.rows('SELECT 1 FROM nodes HAVING min(follows) > (SELECT max(xact) FROM changes)'), {
      timeout: 10_000,
    })
    .toHaveLength(1);
/** A lease that is used up is no answer to the question. */
const isServed = (key: string) => expect.poll(() => statusOf(key), { timeout: 3000 }).toBe(200);

test('over Redis a deleted and a disabled key are refused within seconds, others are served, and all is well when it is back', async () => {
  const env = { REDIS_URL: redis.url };
  cutOff = await start(env);
  const key = await site.furnish(cutOff);
  const other = await site.start({ env });
  const [gone, off] = [await addKey(other, 'gone'), await addKey(other, 'off')];
  await warm(key, gone.key, off.key);
  // What changed in the last second counts as unread.
  await Bun.sleep(1500);
  proxy.freeze();
  await Bun.sleep(1500);
  for (const one of [key, gone.key, off.key]) await isServed(one);
  await other.client.call('token.delete', { id: gone.id } as never);
  const deleted = await refusedAfter(gone.key);
  await other.client.call('token.update', { id: off.id, status: 2 } as never);
  const disabled = await refusedAfter(off.key);
  expect(Math.max(deleted, disabled)).toBeLessThan(5000);
  await isServed(key);
  proxy.thaw();
  await expect.poll(() => statusOf(gone.key), { timeout: 60_000 }).toBe(401);
  await expect.poll(() => statusOf(off.key), { timeout: 60_000 }).toBe(401);
  await expect.poll(() => statusOf(key), { timeout: 60_000 }).toBe(200);
});

test('over Redis a ban reaches a node that is cut off, and after a reset neither session nor access token opens the account there', async () => {
  const env = { REDIS_URL: redis.url };
  cutOff = await start(env);
  const key = await site.furnish(cutOff);
  const other = await site.start({ env });
  const banned = await addUser(other, 'banned');
  const reset = await addUser(other, 'reset');
  await warm(key, banned.key, reset.key);
  const account = await openAccount(cutOff, 'reset', reset.id);
  expect(await account.opens()).toEqual([200, 200]);
  await Bun.sleep(1500);
  proxy.freeze();
  await Bun.sleep(1500);
  for (const one of [key, banned.key, reset.key]) await isServed(one);
  await other.client.call('user.update', { id: reset.id, password: 'password2' } as never);
  await other.client.call('user.manage', { id: banned.id, action: 'disable' } as never);
  expect(await refusedAfter(banned.key)).toBeLessThan(5000);
  // Both are looked up in the database each time.
  expect(await account.opens()).not.toContain(200);
  // A reset ends no key.
  for (const one of [key, reset.key]) await isServed(one);
  proxy.thaw();
  await expect.poll(() => statusOf(banned.key), { timeout: 60_000 }).toBe(403);
  await expect.poll(account.opens, { timeout: 60_000 }).toEqual([401, 401]);
  await expect.poll(() => statusOf(reset.key), { timeout: 60_000 }).toBe(200);
});

test('what was changed while no other node was there reaches a node that is cut off as soon as one starts', async () => {
  const env = { REDIS_URL: redis.url };
  cutOff = await start(env);
  const key = await site.furnish(cutOff);
  const other = await site.start({ env });
  const gone = await addKey(other, 'gone');
  await warm(key, gone.key);
  await allSayTheyReadEverything();
  await other.stop('SIGKILL');
  proxy.freeze();
  await Bun.sleep(1500);
  // As a command of the terminal does it.
  await site.rows(`DELETE FROM tokens WHERE id = ${gone.id}`);
  await isServed(gone.key);
  await site.start({ env });
  expect(await refusedAfter(gone.key)).toBeLessThan(5000);
  await isServed(key);
  proxy.thaw();
  await expect.poll(() => statusOf(gone.key), { timeout: 60_000 }).toBe(401);
});

test('what was changed while no other node was there reaches a node that was cut off before it said how far it has read', async () => {
  const env = { REDIS_URL: redis.url };
  cutOff = await start(env);
  await site.furnish(cutOff);
  const gone = await addKey(cutOff, 'gone');
  await warm(gone.key);
  await Bun.sleep(1500);
  proxy.freeze();
  await site.rows("UPDATE nodes SET follows = '0'");
  await Bun.sleep(1500);
  await site.rows(`DELETE FROM tokens WHERE id = ${gone.id}`);
  await isServed(gone.key);
  await site.start({ env });
  expect(await refusedAfter(gone.key)).toBeLessThan(5000);
});

test('a node that reaches neither database nor Redis stops after the seconds that were set, and says so to the balancer', async () => {
  cutOff = await start({ GATEWAY_ALONE_SECONDS: '4' });
  const key = await site.furnish(cutOff);
  await warm(key);
  proxy.freeze();
  await isServed(key);
  const ready = async () => (await fetch(`${cutOff.url}/readyz`)).status;
  const from = performance.now();
  expect(await ready()).toBe(200);
  await expect.poll(ready, { timeout: 20_000, interval: 50 }).toBe(503);
  const stopped = performance.now() - from;
  expect(stopped).toBeGreaterThan(3000);
  expect(stopped).toBeLessThan(10_000);
  const refused = await cutOff.chat(key, ask);
  expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining('cut off from the database')]);
  proxy.thaw();
  await expect.poll(() => statusOf(key), { timeout: 60_000 }).toBe(200);
  await expect.poll(ready, { timeout: 60_000 }).toBe(200);
});
