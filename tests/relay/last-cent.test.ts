/** A conversation that its provider has cached goes on with what it will cost, not with what it may: by evidence of our own, within the user's allowance. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { UserSlot } from '../../server/billing/balances/slot.ts';
import { systemTimers } from '../../server/contract/timers.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
/** What the provider has: the text it hashed and its tokens. */
let cached: { readonly text: string; readonly tokens: number }[];
/** It keeps nothing. */
let isLost: boolean;
/** Milliseconds that are added to the clock. */
let laterMs: number;
/** Ends the answers that are under way. */
let opened: Promise<void>;
let statuses: number[];

const model = 'claude-sonnet-4-5';
// Four letters a token, as the provider counts.
const tokensOf = (text: string): number => Math.ceil(text.length / 4);
const words = (letters: number): string =>
  'some words of a long prompt '.repeat(Math.ceil(letters / 28)).slice(0, letters);

interface Body {
  readonly system: readonly { readonly text: string }[];
  readonly messages: readonly { readonly content: string }[];
  readonly max_tokens: number;
  readonly stream?: boolean;
}

/** As a provider does it: the longest beginning that it has is read, the rest up to the mark is written. */
const usageOf = ({ system, messages }: Body) => {
  const marked = system.map(({ text }) => text).join('');
  const rest = messages.map(({ content }) => content).join('');
  const known = isLost ? undefined : cached.find(({ text }) => text === marked);
  const all = tokensOf(marked);
  if (known === undefined) cached.push({ text: marked, tokens: all });
  return {
    input_tokens: tokensOf(rest),
    cache_read_input_tokens: known?.tokens ?? 0,
    cache_creation_input_tokens: known === undefined ? all : 0,
    output_tokens: 20,
  };
};

beforeEach(async () => {
  cached = [];
  isLost = false;
  laterMs = 0;
  statuses = [];
  opened = Promise.resolve();
  upstream = await startUpstream(async (response, { body }) => {
    await opened;
    const status = statuses.shift() ?? 200;
    const request = JSON.parse(String(body)) as Body;
    const usage = usageOf(request);
    if (status !== 200) {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end('{"type":"error","error":{"type":"api_error","message":"broken"}}');
      return;
    }
    const message = { id: 'm', type: 'message', role: 'assistant', model, content: [{ type: 'text', text: 'ok' }] };
    if (request.stream !== true) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ...message, stop_reason: 'end_turn', usage }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = (type: string, members: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
    response.end(
      [
        event('message_start', { message: { ...message, content: [], usage: { ...usage, output_tokens: 1 } } }),
        event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
        event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'ok' } }),
        event('content_block_stop', { index: 0 }),
        event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 20 } }),
        event('message_stop', {}),
      ].join(''),
    );
  });
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

/** 20,000 tokens: written for 37,500 quota, read for 3,000; without evidence 56,250 are held for them. */
const system = (text = words(80_000)) => [{ type: 'text', text, cache_control: { type: 'ephemeral' } }];
const turn = (members: object = {}) => ({
  ...{ model, max_tokens: 100, system: system(), messages: [{ role: 'user', content: 'go on' }] },
  metadata: { user_id: 'a session' },
  ...members,
});

interface Site {
  readonly quota?: number;
  readonly paidIn?: number;
  readonly setting?: string;
  readonly key?: string;
}

/** @returns sends a turn. */
async function begin({ quota = 60_000, paidIn = 2_000_000, setting = '{"trusted_usage":true}', key = 'a' }: Site = {}) {
  const timers = { ...systemTimers, monoNow: () => systemTimers.monoNow() + laterMs };
  gateway = await createTestGateway({ quota, relay: { timers } });
  await gateway.channel(upstream.url, { type: 14, name: 'first', key, models: model, setting, priority: 10 });
  gateway.balances.money.memory.set(gateway.balances.account(gateway.userId, 0).user + UserSlot.paidIn, paidIn);
  const { key: token } = await gateway.token();
  return (body: object = turn(), headers: Record<string, string> = {}) =>
    gateway.send(token, '/v1/messages', body, { headers });
}
const reached = (requests: number) =>
  vi.waitFor(() => expect(upstream.requests).toHaveLength(requests), { timeout: 1000, interval: 5 });
/** Clients of this dialect try again at once after 403: `protocols/refusals.ts`. */
const refused = 429;
const left = () => gateway.balances.account(gateway.userId, 0).available();
const moneyOf = async (userId: number) => {
  const [money] = await gateway.rows<{ readonly balance: number; readonly overrun: number }>(
    'SELECT balance, overrun FROM accounts WHERE id = ?',
    userId,
  );
  return { balance: money?.balance ?? 0, overrun: money?.overrun ?? 0 };
};
/** So much of the balance is spent elsewhere. */
const leave = (quota: number) => {
  const account = gateway.balances.account(gateway.userId, 0);
  account.settle({ reserved: 0, charged: account.available() - quota });
};

test.each([false, true])('a cached conversation goes on with some of what it costs; streamed: %s', async (stream) => {
  const send = await begin();
  await (await send(turn({ stream }))).text();
  leave(5000);
  const response = await send(turn({ stream }));
  expect([response.status, (await response.text()).includes('ok')]).toEqual([200, true]);
  expect(JSON.parse(String(upstream.requests[1]?.body)).max_tokens).toBe(100);
  // 20,000 tokens read, 2 and 20 more.
  expect(left()).toBe(5000 - 3153);
});

test.each<[string, Site, object]>([
  ['nothing was paid in', { paidIn: 0 }, {}],
  ['the channel is not trusted', { setting: '{"trusted_usage":false}' }, {}],
  ['the channel is at an address of the operator and nobody said that it is trusted', { setting: '' }, {}],
  ['the prompt differs in its first letter', {}, { system: system(`x${words(79_999)}`) }],
  ['the prompt differs in its last letter', {}, { system: system(`${words(79_999)}x`) }],
  ['there are tools now', {}, { tools: [{ name: 'look', input_schema: { type: 'object' } }] }],
  ['it thinks now', {}, { thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 2048 }],
  ['it goes by another name', {}, { metadata: { user_id: 'another session' } }],
])('all that it may cost is held where %s', async (_name, site, members) => {
  const send = await begin(site);
  await (await send()).text();
  leave(5000);
  const response = await send(turn(members));
  expect([response.status, await response.json()]).toMatchObject([refused, { type: 'error' }]);
  expect(upstream.requests).toHaveLength(1);
});

test('a beta that no earlier turn asked for makes it another prompt, whose cache is not known', async () => {
  const send = await begin();
  await (await send()).text();
  leave(5000);
  expect((await send(turn(), { 'anthropic-beta': 'context-1m-2025-08-07' })).status).toBe(refused);
  expect((await send()).status).toBe(200);
});

test('evidence lasts as long as the cache: five minutes from when the turn was sent', async () => {
  const send = await begin();
  await (await send()).text();
  leave(5000);
  laterMs = 290_000;
  expect((await send()).status).toBe(200);
  leave(5000);
  // The second turn was read from the cache and lives as long again.
  laterMs = 580_000;
  expect((await send()).status).toBe(200);
  leave(5000);
  laterMs = 880_001;
  expect((await send()).status).toBe(refused);
});

test('ten parallel answers on a balance for ten are served, and what they cost leaves nothing owed', async () => {
  const first = 37_653;
  const send = await begin({ quota: first + 10 * 3900 });
  await (await send()).text();
  const responses = Array.from({ length: 10 }, () => send());
  expect((await Promise.all(responses)).map(({ status }) => status)).toEqual(Array(10).fill(200));
  expect(left()).toBe(10 * (3900 - 3153));
});

test('of ten streams at once, each waits for what the others hold beyond their price: nine fit behind the one that begins', async () => {
  const send = await begin({ quota: 400_000 });
  const request = turn({ stream: true, max_tokens: 8192 });
  await (await send(request)).text();
  // Each begins with 4,096 tokens of an answer that may have 8,192, and costs a tenth of that.
  leave(9 * 3200 + 34_500);
  const texts = await Promise.all(Array.from({ length: 10 }, async () => (await send(request)).text()));
  expect(texts.map((text) => text.includes('message_stop'))).toEqual(Array(10).fill(true));
});

test('all that open requests may cost stays within the balance and the allowance', async () => {
  const send = await begin({ paidIn: 100_000 });
  await (await send()).text();
  leave(30_000);
  const gate = Promise.withResolvers<void>();
  opened = gate.promise;
  // 56,500 each: two fit into 130,000.
  const responses = Array.from({ length: 3 }, () => send());
  await reached(3);
  expect(upstream.requests).toHaveLength(3);
  gate.resolve();
  expect((await Promise.all(responses)).map(({ status }) => status)).toEqual([200, 200, 200]);
});

test('a user with debts holds all that a request may cost', async () => {
  const send = await begin();
  await (await send()).text();
  leave(5000);
  const { memory } = gateway.balances.money;
  const slot = gateway.balances.account(gateway.userId, 0).user + UserSlot.overrun;
  memory.set(slot, 1);
  expect((await send()).status).toBe(refused);
  memory.set(slot, 0);
  expect((await send()).status).toBe(200);
});

describe.each([false, true])('a provider lost its cache, and all is billed at full price; streamed: %s', (stream) => {
  test.each<[string, { readonly quota: number; readonly most: number; readonly paidIn: number; readonly fit: number }]>(
    [
      ['who paid in less than the option', { quota: 60_000, most: 1_000_000, paidIn: 100_000, fit: 3 }],
      ['who paid in more than the option', { quota: 60_000, most: 150_000, paidIn: 2_000_000, fit: 4 }],
      ['who has little left', { quota: 5000, most: 1_000_000, paidIn: 2_000_000, fit: 1 }],
      ['who was given everything', { quota: 130_000, most: 1_000_000, paidIn: 0, fit: 2 }],
      ['whose site holds exactly', { quota: 130_000, most: 0, paidIn: 2_000_000, fit: 2 }],
    ],
  )('%s owes his allowance at most, and nobody else pays', async (_name, { quota, most, paidIn, fit }) => {
    const send = await begin({ quota: 200_000, paidIn });
    await gateway.option('HoldAllowance', String(most));
    const other = await gateway.services.users.create({
      ...{ username: 'other', password: 'password1', displayName: '', role: 1, quota: 777_777 },
    });
    await (await send(turn({ stream }))).text();
    await gateway.ledger.drain();
    const { balance } = await moneyOf(gateway.userId);
    await gateway.ledger.execute({
      ...{ type: 'deduct', ref: 'deduct:spent', userId: gateway.userId, amount: balance - quota, at: 1, log: null },
    });
    expect(left()).toBe(quota);
    const allowance = Math.min(most, paidIn);
    for (let round = 0; round < 2; round++) {
      const earlier = upstream.requests.length;
      // Each costs 37,653 where it was expected to cost 3,153: the provider knows it no more, nor what it is told now.
      isLost = true;
      const gate = Promise.withResolvers<void>();
      opened = gate.promise;
      const responses = Array.from({ length: 20 }, async () => {
        const response = await send(turn({ stream }));
        return { status: response.status, text: await response.text() };
      });
      if (round === 0) await reached(earlier + fit);
      gate.resolve();
      const statuses = (await Promise.all(responses)).map(({ status }) => status);
      expect(new Set(statuses).isSubsetOf(new Set([200, refused]))).toBe(true);
      await gateway.ledger.drain();
      const { balance, overrun } = await moneyOf(gateway.userId);
      expect(overrun).toBeLessThanOrEqual(allowance);
      expect(balance).toBeGreaterThanOrEqual(0);
      if (round === 0) expect(overrun > 0).toBe(allowance > 0);
      // Who owes is served no more than he can pay for.
      else if (allowance > 0) expect(upstream.requests).toHaveLength(earlier);
    }
    expect(await moneyOf(other)).toEqual({ balance: 777_777, overrun: 0 });
  });
});

test('before another channel is tried all that the request may cost is held; where that is too much, it is not tried', async () => {
  for (const [quota, isTried] of [
    [60_000, true],
    [20_000, false],
  ] as const) {
    const send = await begin({ quota: 200_000 });
    await gateway.option('RetryTimes', '3');
    await gateway.channel(upstream.url, { type: 14, name: 'second', key: 'b', models: model });
    upstream.requests.length = 0;
    await (await send()).text();
    leave(quota);
    statuses = isTried ? [500, 200] : [500, 500, 500, 500];
    const response = await send();
    expect(response.status === 200).toBe(isTried);
    expect(upstream.requests.some(({ headers }) => headers['x-api-key'] === 'b')).toBe(isTried);
    if (!isTried) {
      const skipped = JSON.parse(String((await gateway.lastLog())?.other)).admin_info.skipped;
      expect(skipped).toMatchObject([{ name: 'second', code: 'user_exhausted' }]);
    }
    if (isTried) await gateway.close();
  }
});

test.each([
  ['grows with what is delivered', false, {}, '{"trusted_usage":true}'],
  ['thinks without showing all of it', true, { thinking: { type: 'enabled', budget_tokens: 1024 } }, undefined],
  ['is read to its end when its client has gone', true, {}, '{"trusted_usage":true,"drain":true}'],
])('of a cached turn whose stream %s all of the answer is held: %s', async (_name, isWhole, members, setting) => {
  const send = await begin({ quota: 300_000, setting });
  const request = turn({ stream: true, max_tokens: 10_000, ...members });
  await (await send(request)).text();
  const gate = Promise.withResolvers<void>();
  opened = gate.promise;
  const before = left();
  const response = send(request);
  await reached(2);
  // 20,000 tokens read, and 10,000 at 7.5.
  const held = before - left();
  expect([held >= 78_000, held < 85_000]).toEqual([isWhole, true]);
  gate.resolve();
  expect((await response).status).toBe(200);
  await (await response).text();
});

test('an answer that does not fit is made shorter, and the evidence still counts', async () => {
  const send = await begin({ quota: 200_000 });
  await (await send(turn({ max_tokens: 10_000 }))).text();
  leave(50_000);
  const response = await send(turn({ max_tokens: 10_000 }));
  expect(response.status).toBe(200);
  const { max_tokens: limit } = JSON.parse(String(upstream.requests[1]?.body));
  expect(limit).toBeGreaterThanOrEqual(4096);
  expect(limit).toBeLessThan(6000);
  expect(left()).toBe(50_000 - 3153);
});

test('the cache of one target of a virtual model says nothing of the next one’s', async () => {
  const other = 'claude-haiku-4-5';
  const send = await begin();
  await gateway.channel(upstream.url, { type: 14, models: other, setting: '{"trusted_usage":true}' });
  await gateway.services.virtualModels.create({ name: 'coder', targets: [{ model }, { model: other }] });
  await gateway.sync();
  await (await send(turn({ model: 'coder' }))).text();
  // Too little for the first target, and more than enough for the second if that had read the prompt before.
  leave(2000);
  expect((await send(turn({ model: 'coder' }))).status).toBe(refused);
  expect(upstream.requests).toHaveLength(1);
});

test.each([
  ['whose prompt its provider may read once more', { context_management: { edits: [{ type: 'compact_20260112' }] } }],
  ['that may search', { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 1 }] }],
])('all is held of a turn %s', async (_name, members) => {
  const send = await begin({ quota: 2_000_000 });
  await (await send(turn(members))).text();
  leave(20_000);
  expect((await send(turn(members))).status).toBe(refused);
  await (await send()).text();
  expect(upstream.requests).toHaveLength(1);
});

test('an answer is made as short as its key’s limit affords, whatever the balance does', async () => {
  const send = await begin({ quota: 2_000_000 });
  await (await send()).text();
  const { key } = await gateway.token({ unlimited_quota: false, remain_quota: 200_000 });
  const body = turn({ max_tokens: 30_000 });
  expect((await gateway.send(key, '/v1/messages', body)).status).toBe(200);
  const { max_tokens: limit } = JSON.parse(String(upstream.requests[1]?.body));
  // Half of the limit, less the prompt at its full price, at 7.5 a token.
  expect(limit).toBeGreaterThanOrEqual(4096);
  expect(limit).toBeLessThan(8000);
});
