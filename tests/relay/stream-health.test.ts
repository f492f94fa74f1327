/** Health looks at the whole answer: a channel that opens streams and breaks them is in trouble like one that opens none. */
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ChannelSnapshot } from '../../server/contract/snapshot.ts';
import { Health } from '../../server/relay/routing/health.ts';
import type { UpstreamFailure } from '../../server/relay/shared/failure.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

const frame = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;
const words = (content: string) => frame({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
const end = frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
const fourChunks = (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const word of ['one ', 'two ', 'three ', 'four ']) response.write(words(word));
};
const wholly = (response: ServerResponse) => {
  fourChunks(response);
  response.end(`${end}data: [DONE]\n\n`);
};
const brokenOff = (response: ServerResponse) => {
  fourChunks(response);
  response.end();
};

let gateway: TestGateway;
let bad: Upstream;
let good: Upstream;
let key: string;
let draw = 0;

beforeEach(async () => {
  draw = 0;
  // In turn the first and the last.
  gateway = await createTestGateway({ random: () => (draw++ % 2 === 0 ? 0.1 : 0.9) });
  bad = await startUpstream(brokenOff);
  good = await startUpstream(wholly);
  key = (await gateway.token()).key;
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await bad.stop();
  await good.stop();
});

const ask = async (content: string, stream = true): Promise<boolean> => {
  const body = { model: 'gpt-4o-mini', stream, messages: [{ role: 'user', content }] };
  const response = await gateway.chat(key, body);
  const text = await response.text();
  return response.status === 200 && !text.includes('"error"') && (!stream || text.includes('[DONE]'));
};

test.each([
  ['distinct conversations leave a channel that breaks every stream', (n: number) => `talk ${n}`],
  ['one conversation leaves a channel that breaks every stream', () => 'the same'],
])('%s', async (_name, content) => {
  const broken = await gateway.channel(bad.url, { name: 'broken' });
  await gateway.channel(good.url, { name: 'sound' });
  const answered: boolean[] = [];
  for (let n = 0; n < 60; n++) answered.push(await ask(content(n)));
  expect(answered.slice(10).filter((one) => !one)).toEqual([]);
  expect(bad.requests.length).toBeLessThanOrEqual(3);
  expect(bad.requests.length + good.requests.length).toBe(60);
  // A single talk leaves at its first break, before anything is known of others.
  const [status] = gateway.relay.channelStatuses([broken], 'gpt-4o-mini');
  expect(['ejected', 'up']).toContain(status?.condition);
});

test('gathered streams that break count as well', async () => {
  const broken = await gateway.channel(bad.url, { type: 199 });
  for (let n = 0; n < 3; n++) expect(await ask(`talk ${n}`, false)).toBe(false);
  expect(gateway.relay.channelStatuses([broken], 'gpt-4o-mini')).toMatchObject([{ condition: 'ejected' }]);
});

test('an error inside of a stream that is the request’s own does not harm its channel', async () => {
  const channel = await gateway.channel(bad.url);
  bad.script((response) => {
    fourChunks(response);
    response.end(frame({ error: { message: 'no', type: 'invalid_request_error', code: 'content_filter' } }));
  });
  for (let n = 0; n < 6; n++) expect(await ask(`talk ${n}`)).toBe(false);
  expect(gateway.relay.channelStatuses([channel], 'gpt-4o-mini')).toMatchObject([{ condition: 'up' }]);
});

test('clients that leave do not harm a channel, and a stream that ended well heals it', async () => {
  const channel = await gateway.channel(bad.url);
  for (let turn = 0; turn < 4; turn++) {
    bad.script(brokenOff);
    await ask(`broken ${turn}`);
    bad.script(wholly);
    expect(await ask(`whole ${turn}`)).toBe(true);
  }
  expect(gateway.relay.channelStatuses([channel], 'gpt-4o-mini')).toMatchObject([{ condition: 'up' }]);
  bad.script((response) => fourChunks(response));
  for (let n = 0; n < 6; n++) {
    const leave = new AbortController();
    const body = { model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content: `leaves ${n}` }] };
    const response = await gateway.chat(key, body, {}, leave.signal);
    await response.body?.getReader().read();
    leave.abort();
    await expect.poll(() => gateway.relay.open()).toBe(0);
  }
  expect(gateway.relay.channelStatuses([channel], 'gpt-4o-mini')).toMatchObject([{ condition: 'up' }]);
});

test('a conversation leaves a channel that refused it, and finds another by itself', async () => {
  bad.script((response) => sendJson(response, { error: { message: 'down' } }, 502));
  good.script((response) => sendJson(response, completion(3, 2)));
  await gateway.channel(bad.url);
  await gateway.channel(good.url);
  const answered: boolean[] = [];
  for (let n = 0; n < 40; n++) answered.push(await ask('the same', false));
  expect(answered.filter((one) => !one)).toEqual([]);
  expect(bad.requests.length + good.requests.length).toBeLessThanOrEqual(44);
});

const channel = { id: 1, keys: ['k'], models: ['m'], modelMapping: {}, setting: {} } as unknown as ChannelSnapshot;
const failure: UpstreamFailure = { class: 'host', status: 502, error: null, retryAfter: null, reason: 'status' };
const withClock = () => {
  const clock = { now: 0 };
  const failures: unknown[] = [];
  const health = new Health({ now: () => clock.now, random: () => 0, failure: (one) => void failures.push(one) });
  return { clock, health, troubles: failures };
};

test('a probe whose client left, or that never ended, does not exclude a channel for ever', () => {
  const { clock, health } = withClock();
  for (let n = 0; n < 5; n++) health.failed(channel, 'm', 0, failure);
  clock.now = 30_000;
  health.begin(channel, 'm', 0);
  expect(health.condition(channel, 'm')).toBe('ejected');
  health.released(channel, 'm');
  expect(health.condition(channel, 'm')).toBe('up');
  health.begin(channel, 'm', 0);
  expect(health.condition(channel, 'm')).toBe('ejected');
  clock.now += 60_000;
  expect(health.condition(channel, 'm')).toBe('up');
  // Nothing good was seen of it since: one failure is enough.
  health.failed(channel, 'm', 0, failure);
  expect(health.waitMs(channel, 'm')).toBe(60_000);
});

test('requests under way when a host was ejected do not eject it again', () => {
  const { health, troubles: failures } = withClock();
  for (let n = 0; n < 200; n++) health.failed(channel, 'm', 0, failure);
  expect(health.waitMs(channel, 'm')).toBe(30_000);
  expect(failures).toEqual([]);
});

test('a host that fails every other time is ejected though it never fails in a row; one that fails rarely is not', () => {
  const { health } = withClock();
  for (let n = 0; n < 600; n++) {
    if (n % 20 === 0) health.failed(channel, 'm', 0, failure);
    else health.succeeded(channel, 'm', 0);
  }
  expect(health.condition(channel, 'm')).toBe('up');
  for (let n = 0; n < 40; n++) {
    health.failed(channel, 'm', 0, failure);
    if (health.condition(channel, 'm') === 'up') health.succeeded(channel, 'm', 0);
  }
  expect(health.condition(channel, 'm')).toBe('ejected');
  // One that was under way all the while.
  health.succeeded(channel, 'm', 0);
  expect(health.condition(channel, 'm')).toBe('ejected');
  // The last channel left is tried all the same, and may recover.
  health.begin(channel, 'm', 0);
  health.succeeded(channel, 'm', 0);
  expect(health.condition(channel, 'm')).toBe('up');
});

test('a busy key gives way to another key, a missing model to another channel; a caller’s mistake is returned at once', async () => {
  await gateway.channel(bad.url, {
    priority: 9,
    key: 'sk-first-key\nsk-second-key',
    setting: '{"key_mode":"turn"}',
  });
  await gateway.channel(good.url);
  const failing = (status: number, error: object) => bad.script((response) => sendJson(response, { error }, status));
  good.script((response) => sendJson(response, completion(3, 2)));
  failing(400, { message: 'no', type: 'invalid_request_error' });
  expect(await ask('mistaken', false)).toBe(false);
  expect([bad.requests.length, good.requests.length]).toEqual([1, 0]);
  failing(404, { message: 'no such model' });
  expect(await ask('missing', false)).toBe(true);
  expect([bad.requests.length, good.requests.length]).toEqual([2, 1]);
  let requested = 0;
  bad.script((response) =>
    requested++ === 0 ? sendJson(response, { error: { message: 'slow' } }, 429) : sendJson(response, completion(3, 2)),
  );
  expect(await ask('busy', false)).toBe(true);
  expect([bad.requests.length, good.requests.length]).toEqual([4, 1]);
  expect((await gateway.logs()).filter(({ type }) => type === 2)).toHaveLength(2);
});

test('one extra retry is all there is beyond the configured ones, and a single channel gets none', async () => {
  bad.script((response) => sendJson(response, { error: { message: 'down' } }, 502));
  for (let n = 0; n < 3; n++) await gateway.channel(bad.url);
  expect(await ask('once', false)).toBe(false);
  expect(bad.requests).toHaveLength(2);
});

test('tries that are granted are used up on the one channel there is', async () => {
  await gateway.channel(bad.url);
  await gateway.option('RetryTimes', '2');
  let requested = 0;
  bad.script((response) =>
    requested++ < 2 ? sendJson(response, { error: { message: 'down' } }, 502) : sendJson(response, completion(3, 2)),
  );
  expect(await ask('thrice', false)).toBe(true);
  expect(bad.requests).toHaveLength(3);
  expect((await gateway.logs()).filter(({ type }) => type === 2)).toHaveLength(1);
});

test('no upstream is tried again, and nothing loops, once the client has gone', async () => {
  await gateway.channel(bad.url, { setting: '{"drain":true}' });
  await gateway.option('RetryTimes', '5');
  const leave = new AbortController();
  bad.script((response) => {
    leave.abort();
    setTimeout(() => sendJson(response, { error: { message: 'down' } }, 502), 30);
  });
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'leaves' }] };
  await gateway.chat(key, body, {}, leave.signal).catch(() => null);
  await expect.poll(() => gateway.relay.open()).toBe(0);
  expect(bad.requests).toHaveLength(1);
});
