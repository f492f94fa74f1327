/** Figures of traffic over several relay threads, a thread that is replaced, and a restart: equal to the log. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { randomOf } from '../support/random.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';
import { chat, createSite, type Serving, type Site } from './support.ts';

let site: Site;
let upstream: Upstream;
let key: string;

beforeEach(async () => {
  const random = randomOf(11);
  upstream = await startUpstream((response) => {
    if (random() < 0.2) return sendJson(response, { error: { message: 'not this one' } }, 400);
    return sendJson(response, completion(10 + Math.floor(random() * 50), 5));
  });
  site = createSite();
  key = await site.setUp(upstream.url);
});
afterEach(async () => {
  await site.close();
  await upstream.stop();
});

interface Sums {
  readonly requests: number;
  readonly charge: number;
}

async function read(text: string): Promise<Sums> {
  const { Database } = await import('bun:sqlite');
  const database = new Database(join(site.dataDir, 'gateway.db'), { readonly: true });
  try {
    return database.query(text).get() as Sums;
  } finally {
    database.close();
  }
}
const logged = () =>
  read(
    "SELECT count(*) AS requests, coalesce(sum(quota), 0) AS charge FROM logs WHERE end_reason IN ('completed', 'upstream_failed')",
  );
const counted = (kind: string, span: number) =>
  read(
    `SELECT coalesce(sum(requests), 0) AS requests, coalesce(sum(charge), 0) AS charge FROM traffic WHERE kind = '${kind}' AND span = ${span}`,
  );
const ends = async (serving: Serving): Promise<void> => {
  serving.child.kill('SIGTERM');
  expect(await serving.ended()).toBe(0);
};
const load = (serving: Serving, count: number) =>
  Promise.all(Array.from({ length: count }, () => chat(serving.url, key)));

/** Both are read beside the server: the tables follow the journal. */
const agree = async (requests: number) => {
  const [sums, rows] = [await counted('all', 300), await logged()];
  return sums.requests === requests && rows.requests === requests && sums.charge === rows.charge;
};

test('requests and charges are those of the log after a thread was replaced and the server restarted', async () => {
  const first = await site.serve(['--relays', '2']);
  await load(first, 50);
  // What is written while the server runs does not wait for its end.
  await expect.poll(() => agree(50), { timeout: 20_000 }).toBe(true);
  await load(first, 30);
  first.child.stdin.write('terminate control\n');
  await first.child.stdin.flush();
  await expect.poll(() => first.output().includes('the control thread died'), { timeout: 20_000 }).toBe(true);
  await load(first, 30);
  await expect.poll(() => agree(110), { timeout: 30_000 }).toBe(true);
  await load(first, 20);
  await ends(first);
  const second = await site.serve(['--relays', '2']);
  await load(second, 40);
  await ends(second);
  const all = await logged();
  expect(all.requests).toBe(170);
  for (const kind of ['all', 'channel', 'model', 'route', 'token', 'use'])
    for (const span of [300, 3600, 86_400]) expect([kind, span, await counted(kind, span)]).toEqual([kind, span, all]);
}, 120_000);
