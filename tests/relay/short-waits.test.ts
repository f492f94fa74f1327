/** Keys that are busy for a moment are waited for, and conversations stay with theirs. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ShortWaits } from '../../server/relay/routing/short-waits.ts';
import { Deadlines } from '../../server/relay/shared/deadline.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';
import { turn, VirtualTime } from '../support/virtual-time.ts';

const model = 'gpt-4o-mini';

let time: VirtualTime;
let gateway: TestGateway;
let upstream: Upstream;
let token: string;
const answer = (response: ServerResponse) => sendJson(response, completion(3, 2));
const busy = (seconds: string) => (response: ServerResponse) =>
  sendJson(response, { error: { message: 'slow' } }, 429, { 'retry-after': seconds });

beforeEach(async () => {
  time = new VirtualTime();
  gateway = await createTestGateway({ relay: { timers: time } });
  upstream = await startUpstream(answer);
  token = (await gateway.token()).key;
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const ask = (content: string, headers: Record<string, string> = {}, signal?: AbortSignal) =>
  gateway.chat(token, { model, messages: [{ role: 'user', content }] }, headers, signal).then(async (response) => {
    await response.text();
    return response.status;
  });
/** Keys in the order in which they were used. */
const used = (): string[] =>
  upstream.requests.map(({ headers }: { headers: IncomingHttpHeaders }) => String(headers.authorization).slice(-2));

test('a request waits for its one key where that is free within three seconds', async () => {
  await gateway.channel(upstream.url);
  upstream.script(busy('2'));
  expect(await ask('first')).toBe(429);
  upstream.script(answer);
  const waiting = ask('second');
  await time.waitsFor(50);
  await time.advance(1900);
  expect(upstream.requests).toHaveLength(1);
  await time.advance(200);
  expect(await waiting).toBe(200);
  expect(upstream.requests).toHaveLength(2);
});

test.each([
  ['it takes longer', '4', '3'],
  ['the operator does not want it', '2', '0'],
])('nothing is waited for where %s', async (_name, seconds, longest) => {
  await gateway.option('general_setting.short_wait_seconds', longest);
  await gateway.channel(upstream.url);
  upstream.script(busy(seconds));
  expect(await ask('first')).toBe(429);
  expect(await ask('second')).toBe(429);
  expect(upstream.requests).toHaveLength(2);
});

test('a request waits for no key where another channel is free', async () => {
  const other = await startUpstream(answer);
  try {
    await gateway.channel(upstream.url, { priority: 5 });
    await gateway.channel(other.url);
    upstream.script(busy('2'));
    expect(await ask('first')).toBe(200);
    expect(await ask('second')).toBe(200);
    expect([upstream.requests.length, other.requests.length]).toEqual([1, 2]);
  } finally {
    await other.stop();
  }
});

test('a client that leaves while it waits is sent nowhere', async () => {
  await gateway.channel(upstream.url);
  upstream.script(busy('2'));
  await ask('first');
  upstream.script(answer);
  const leave = new AbortController();
  const waiting = ask('second', {}, leave.signal).catch(() => 0);
  const account = gateway.balances.account(gateway.userId, 0);
  const all = account.available();
  await expect.poll(() => account.available()).toBeLessThan(all);
  for (let n = 0; n < 60; n++) await turn();
  leave.abort();
  // At once: nothing is held for it while the time goes on.
  await expect.poll(() => account.available()).toBe(all);
  await waiting;
  await expect.poll(() => gateway.relay.open()).toBe(0);
  await time.advance(2100);
  expect(upstream.requests).toHaveLength(1);
});

test('a wait for one channel gets no longer by waits for another, nor longer than it may', async () => {
  const waits = new ShortWaits(new Deadlines(time));
  const over: string[] = [];
  for (let n = 0; n < 100; n++) void waits.start(1, 2000, 3000)?.over.then(() => over.push('first'));
  const late = waits.start(1, 2000, 2999);
  expect(late).toBeNull();
  void waits.start(2, 2000, 3000)?.over.then(() => over.push('second'));
  await time.advance(2060);
  await turn();
  expect(over).toContain('second');
  expect(over.length).toBeLessThan(20);
});

test('a place that was given back is free, once', async () => {
  const waits = new ShortWaits(new Deadlines(time));
  const all = Array.from({ length: 256 }, () => waits.start(1, 100, 9000));
  expect(waits.start(1, 100, 9000)).toBeNull();
  all[0]?.end();
  all[0]?.end();
  await all[0]?.over;
  expect([waits.start(1, 100, 9000), waits.start(1, 100, 9000)].map((wait) => wait === null)).toEqual([false, true]);
});

test('a place that is given back shortens later waits, at its channel alone', () => {
  const waits = new ShortWaits(new Deadlines(time));
  const start = (channelId: number, longestMs: number) => waits.start(channelId, 0, longestMs);
  const [first] = [start(7, 0), start(7, 10), start(7, 20), start(2, 0)];
  expect(start(7, 20)).toBeNull();
  first?.end();
  expect(start(2, 0)).toBeNull();
  expect(start(7, 20)).not.toBeNull();
});

test('256 wait at most, one after the other', async () => {
  const waits = new ShortWaits(new Deadlines(time));
  const order: number[] = [];
  for (let n = 0; n < 256; n++) void waits.start(1, 100, 9000)?.over.then(() => order.push(n));
  expect(waits.start(1, 100, 9000)).toBeNull();
  await time.advance(1000);
  await turn();
  expect(order.length).toBeGreaterThan(50);
  expect(order.length).toBeLessThan(150);
  expect(waits.start(1, 100, 9000)).not.toBeNull();
  await time.advance(3000);
  await turn();
  expect(order).toEqual(order.toSorted((a, b) => a - b));
  expect(order).toHaveLength(256);
});

const keys = { key: 'sk-upstream-k1\nsk-upstream-k2', setting: '{"key_mode":"turn"}' };
const session = { 'x-session-id': 'mine' };

test('a named conversation stays with its key, others take the keys in turn', async () => {
  await gateway.channel(upstream.url, keys);
  for (let n = 0; n < 4; n++) expect(await ask(`talk ${n}`, session)).toBe(200);
  expect(new Set(used())).toEqual(new Set(['k1']));
  for (let n = 0; n < 4; n++) expect(await ask('the same')).toBe(200);
  expect(used().slice(4).toSorted()).toEqual(['k1', 'k1', 'k2', 'k2']);
});

test('a conversation whose key is limited goes on with another, and returns when it is free', async () => {
  await gateway.channel(upstream.url, keys);
  await ask('one', session);
  let limited = true;
  upstream.script((response) => {
    if (limited) busy('40')(response);
    else answer(response);
    limited = false;
  });
  expect(await ask('two', session)).toBe(200);
  expect(await ask('three', session)).toBe(200);
  expect(used()).toEqual(['k1', 'k1', 'k2', 'k2']);
  await time.advance(41_000);
  expect(await ask('four', session)).toBe(200);
  expect(await ask('five', session)).toBe(200);
  expect(used().slice(4)).toEqual(['k1', 'k1']);
});

test('a conversation returns to the channel that it had to leave, once that answers others again', async () => {
  const other = await startUpstream(answer);
  try {
    await gateway.channel(upstream.url, { name: 'first', priority: 5 });
    await gateway.channel(other.url, { name: 'second', priority: 5 });
    for (let n = 0; n < 2; n++) await ask('talk', session);
    const [warm, cold] = upstream.requests.length > 0 ? [upstream, other] : [other, upstream];
    expect([warm.requests.length, cold.requests.length]).toEqual([2, 0]);
    warm.script(busy('20'));
    expect(await ask('talk', session)).toBe(200);
    warm.script(answer);
    expect(await ask('talk', session)).toBe(200);
    expect([warm.requests.length, cold.requests.length]).toEqual([3, 2]);
    await time.advance(31_000);
    expect(await ask('talk', session)).toBe(200);
    expect([warm.requests.length, cold.requests.length]).toEqual([4, 2]);
  } finally {
    await other.stop();
  }
});
