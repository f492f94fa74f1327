import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;

beforeEach(async () => {
  upstream = await startUpstream((response) => sendJson(response, completion(1000, 500)));
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const ask = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };
const open = async (quota?: number) => {
  gateway = await createTestGateway(quota === undefined ? {} : { quota });
  await gateway.channel(upstream.url);
};
const errorOf = async (response: Response) => ({
  status: response.status,
  code: ((await response.json()) as { error?: { code?: string } }).error?.code,
  waits: Number(response.headers.get('retry-after')),
});

test('a token’s daily budget: 225 a call, so the third is too much; the answer says when to come back', async () => {
  await open();
  const { key } = await gateway.token({ day_budget: 400 });
  expect((await gateway.chat(key, ask)).status).toBe(200);
  expect((await gateway.chat(key, ask)).status).toBe(200);
  const rejected = await errorOf(await gateway.chat(key, ask));
  expect(rejected).toMatchObject({ status: 429, code: 'token_budget_day' });
  expect(rejected.waits).toBeGreaterThan(0);
  expect(rejected.waits).toBeLessThanOrEqual(86_400);
  await gateway.ledger.drain();
  expect((await gateway.services.tokens.list(null, 0, 10)).items[0]).toMatchObject({ day_used: 450, day_budget: 400 });
});

test('a token’s monthly budget is refused by its own name', async () => {
  await open();
  const { key } = await gateway.token({ month_budget: 400 });
  for (const _ of [1, 2]) expect((await gateway.chat(key, ask)).status).toBe(200);
  expect(await errorOf(await gateway.chat(key, ask))).toMatchObject({ status: 429, code: 'token_budget_month' });
});

test('requests per minute of a token, and what a refusal does not count', async () => {
  await open();
  const { key } = await gateway.token({ rpm_limit: 1 });
  expect((await gateway.chat(key, ask)).status).toBe(200);
  expect(await errorOf(await gateway.chat(key, ask))).toMatchObject({ status: 429, code: 'limit_rpm' });
  expect(upstream.requests).toHaveLength(1);
});

test('a place is free again after an answer, and after a failure', async () => {
  await open();
  const { key } = await gateway.token({ concurrency_limit: 1 });
  const [one, two] = await Promise.all([gateway.chat(key, ask), gateway.chat(key, ask)]);
  await Promise.all([one.text(), two.text()]);
  expect([one.status, two.status].sort()).toEqual([200, 429]);
  upstream.script((response) => sendJson(response, { error: { message: 'no' } }, 500));
  for (let n = 0; n < 3; n++) expect((await gateway.chat(key, ask)).status).toBe(502);
});

test('a caller rejected for lack of money counts at no other machine of the site either', async () => {
  const messages: string[] = [];
  const visit = {
    reserve: () => null,
    ended: () => void messages.push('ended'),
    rates: () => [],
    rollBack: () => void messages.push('withdrawn'),
  };
  gateway = await createTestGateway({
    quota: 0,
    relay: { rates: { enter: async () => visit, enterTarget: async () => null } },
  });
  await gateway.channel(upstream.url);
  const { key } = await gateway.token();
  expect(await errorOf(await gateway.chat(key, ask))).toMatchObject({ status: 403, code: 'user_exhausted' });
  expect(messages).toEqual(['withdrawn']);
});

test('a caller rejected for lack of money takes no slot and counts in no window', async () => {
  await open(0);
  await gateway.option('ModelRequestRateLimitEnabled', 'true');
  await gateway.option('ModelRequestRateLimitCount', '1');
  const { key } = await gateway.token({ concurrency_limit: 1, rpm_limit: 1, tpm_limit: 20, day_budget: 1000 });
  for (let n = 0; n < 3; n++)
    expect(await errorOf(await gateway.chat(key, ask))).toMatchObject({ status: 403, code: 'user_exhausted' });
  await gateway.call('user.update', { id: gateway.userId, add_quota: 1_000_000 });
  expect((await gateway.chat(key, ask)).status).toBe(200);
});

test('the site’s rule counts failed requests', async () => {
  await open();
  for (const [key, value] of [
    ['ModelRequestRateLimitEnabled', 'true'],
    ['ModelRequestRateLimitCount', '2'],
  ] as const)
    await gateway.option(key, value);
  const { key } = await gateway.token();
  upstream.script((response) => sendJson(response, { error: { message: 'no' } }, 400));
  for (let n = 0; n < 2; n++) expect((await gateway.chat(key, ask)).status).toBe(400);
  expect(await errorOf(await gateway.chat(key, ask))).toMatchObject({ status: 429, code: 'limit_requests' });
});

test.each([
  [{ max_tokens: 100_000 }, (body: Record<string, number>) => body.max_tokens],
  [{ max_completion_tokens: 50_000, n: 2 }, (body: Record<string, number>) => (body.max_completion_tokens ?? 0) * 2],
])('%j is lowered to what can be paid for, and nothing else is changed', async (limit, requested) => {
  await open(1000);
  const { key } = await gateway.token();
  const body = `{"model":"gpt-4o-mini",  "messages":[{"role":"user","content":"hi"}],${JSON.stringify(limit).slice(1, -1)}, "x": 1}`;
  expect((await gateway.chat(key, body)).status).toBe(200);
  const sent = JSON.parse(upstream.requests[0]?.body.toString() ?? '{}') as Record<string, number>;
  // Half of 1000 quota pays for 500 / 0.075 / 4 output tokens, less the prompt.
  expect(requested(sent)).toBeGreaterThan(1600);
  expect(requested(sent)).toBeLessThanOrEqual(1666);
  expect(upstream.requests[0]?.body.toString()).toContain('"model":"gpt-4o-mini",  "messages":[');
});

test('whole answers say what they cost, when the operator wants it', async () => {
  await open();
  const { key } = await gateway.token();
  expect((await gateway.chat(key, ask)).headers.has('x-gateway-quota')).toBe(false);
  await gateway.option('general_setting.cost_header_enabled', 'true');
  const { headers } = await gateway.chat(key, ask);
  expect([headers.get('x-gateway-quota'), headers.get('x-gateway-cost-usd')]).toEqual(['225', '0.000450']);
  upstream.script((response) => sendJson(response, { error: { message: 'no' } }, 400));
  expect((await gateway.chat(key, ask)).headers.has('x-gateway-quota')).toBe(false);
});

test('a caller without money for an answer gets an error that says so', async () => {
  await open(3);
  const { key } = await gateway.token();
  expect(await errorOf(await gateway.chat(key, { ...ask, max_tokens: 1000 }))).toMatchObject({
    status: 403,
    code: 'user_exhausted',
  });
});
