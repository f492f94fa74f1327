/** Before an attempt at a target that may cost more than what a request was let in with, all of that is held; where it cannot be, the target is skipped. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLeasedBalances } from '../../server/billing/leases/leased-balance.ts';
import type { LeaseSource } from '../../server/relay/admission/lease-client.ts';
import { RequestSender } from '../../server/relay/upstream/attempt.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
/** Quota that the request costs at most at channels of that name; others cost what was held for. */
let prices: Record<string, number>;
/** What was available while an upstream had the request, in order. */
let available: number[];
/** What other machines can lend. */
let free: number;

const leaseSource: LeaseSource = {
  acquire(to, _more, more) {
    const amount = Math.min(free, more);
    free -= amount;
    const { accounts, memory } = gateway.balances.money;
    createLeasedBalances({ accounts, memory }).addLease({ kind: 'account', userId: to.userId, id: to.userId }, amount);
    return Promise.resolve(amount < more ? 'exhausted' : 'granted');
  },
  limits: async () => ({ limit: 0, used: 0 }),
  funds: async () => ({ balance: 0, limit: null, used: 0, dayUsed: 0, monthUsed: 0 }),
};

const left = () => gateway.balances.account(gateway.userId, 0).available();
const answer = {
  ...{ id: 'c', object: 'chat.completion' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};

beforeEach(async () => {
  prices = {};
  available = [];
  free = 0;
  vi.spyOn(
    RequestSender.prototype as unknown as { maxAt(channel: { readonly name: string }): number },
    'maxAt',
  ).mockImplementation(({ name }) => prices[name] ?? 0);
  upstream = await startUpstream((response, request) => {
    available.push(left());
    const isBroken = request.headers.authorization === 'Bearer broken';
    response.writeHead(isBroken ? 500 : 200, { 'content-type': 'application/json' });
    response.end(isBroken ? '{}' : JSON.stringify(answer));
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const begin = async (quota: number, options: Parameters<typeof createTestGateway>[0] = {}) => {
  gateway = await createTestGateway({ quota, ...options });
  await gateway.option('general_setting.route_trace_enabled', 'true');
};
const ask = { model: 'gpt-4o-mini', max_tokens: 1000, messages: [{ role: 'user', content: 'hi' }] };
const adminInfo = async () => JSON.parse(String((await gateway.logs())[0]?.other)).admin_info;

test('a target that may cost more than there is is skipped, and named in the trace and the row; the next one serves', async () => {
  await begin(10_000);
  const dear = await gateway.channel(upstream.url, { name: 'dear', priority: 10 });
  const cheap = await gateway.channel(upstream.url, { name: 'cheap' });
  prices = { dear: 10_001 };
  const response = await gateway.chat((await gateway.token()).key, ask);
  expect(response.status).toBe(200);
  expect(response.headers.get('x-gateway-trace')).toMatch(
    new RegExp(`; tried=${cheap}; skipped=${dear} user_exhausted$`),
  );
  expect(upstream.requests).toHaveLength(1);
  expect(await adminInfo()).toEqual({
    use_channel: [String(cheap)],
    skipped: [{ channel: dear, name: 'dear', max: 10_001, code: 'user_exhausted' }],
  });
  expect(await gateway.balance()).toBe(10_000 - 2);
});

test('a coverable target is held for before the attempt, its hold is kept for the next one and ends with the request', async () => {
  await begin(10_000);
  await gateway.channel(upstream.url, { name: 'dear', priority: 10, key: 'broken' });
  await gateway.channel(upstream.url, { name: 'cheap' });
  prices = { dear: 10_000, cheap: 5 };
  expect((await gateway.chat((await gateway.token()).key, ask)).status).toBe(200);
  expect(available).toEqual([0, 0]);
  expect(left()).toBe(10_000 - 2);
});

test('a target that costs no more than was held asks for nothing', async () => {
  await begin(10_000);
  await gateway.channel(upstream.url, { name: 'dear' });
  prices = { dear: 1 };
  expect((await gateway.chat((await gateway.token()).key, ask)).status).toBe(200);
  expect(available[0]).toBeGreaterThan(9000);
});

test('a request whose targets cannot be covered is refused with the sum that would do, and nothing is sent or kept', async () => {
  await begin(10_000);
  await gateway.channel(upstream.url, { name: 'dear' });
  prices = { dear: 1_000_000 };
  const response = await gateway.chat((await gateway.token()).key, ask);
  expect([response.status, ((await response.json()) as { error: { code: string; message: string } }).error]).toEqual([
    403,
    expect.objectContaining({ code: 'user_exhausted', message: expect.stringMatching(/0\.02.*2\.0/) }),
  ]);
  expect(upstream.requests).toHaveLength(0);
  expect(left()).toBe(10_000);
});

test('a failure of a target before it is what the caller is told, when the dearer one cannot be covered', async () => {
  await begin(10_000);
  await gateway.channel(upstream.url, { name: 'cheap', priority: 10, key: 'broken' });
  await gateway.channel(upstream.url, { name: 'dear' });
  prices = { dear: 1_000_000 };
  expect((await gateway.chat((await gateway.token()).key, ask)).status).toBeGreaterThanOrEqual(500);
});

test.each([
  ['token_exhausted', { unlimited_quota: false, remain_quota: 5000 }],
  ['token_budget_day', { day_budget: 5000 }],
])("the key's own limits hold for the dearer target too: %s", async (code, fields) => {
  await begin(100_000);
  await gateway.channel(upstream.url, { name: 'dear', priority: 10 });
  await gateway.channel(upstream.url, { name: 'cheap' });
  const { key } = await gateway.token(fields);
  prices = { dear: 5000 };
  expect((await gateway.chat(key, ask)).headers.get('x-gateway-trace')).not.toContain('skipped');
  prices = { dear: 5001 };
  expect((await gateway.chat(key, ask)).headers.get('x-gateway-trace')).toContain(code);
});

test('quota on other machines is asked for first, and a target is skipped only where they have too little', async () => {
  for (const [elsewhere, isSkipped] of [
    [50_000, false],
    [5000, true],
  ] as const) {
    free = elsewhere;
    await begin(0, { leased: true, relay: { leaseSource } });
    await gateway.channel(upstream.url, { name: 'dear', priority: 10 });
    await gateway.channel(upstream.url, { name: 'cheap' });
    prices = { dear: 20_000 };
    const response = await gateway.chat((await gateway.token()).key, ask);
    expect(response.status).toBe(200);
    expect(response.headers.get('x-gateway-trace')?.includes('skipped')).toBe(isSkipped);
    if (!isSkipped) await gateway.close();
  }
});
