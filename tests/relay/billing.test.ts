/** What old clients ask about an account, for the key or for its user, in dollars or in quota. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
beforeEach(async () => {
  gateway = await createTestGateway({ quota: 5_000_000 });
  upstream = await startUpstream((response) =>
    sendJson(response, {
      choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1000, completion_tokens: 0, total_tokens: 1000 },
    }),
  );
  await gateway.channel(upstream.url);
  await gateway.option('ModelRatio', '{"gpt-4o-mini":250}');
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const ask = async (path: string, key: string, method = 'GET') => {
  const request = new Request(`http://gateway${path}`, { method, headers: { authorization: `Bearer sk-${key}` } });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};
const spend = async (key: string) =>
  expect((await gateway.chat(key, { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] })).status).toBe(
    200,
  );

test('the key’s own quota in dollars, with and without the version in the path', async () => {
  const { key } = await gateway.token({ unlimited_quota: false, remain_quota: 1_000_000, expired_time: 4_000_000_000 });
  await spend(key);
  for (const base of ['/v1/dashboard/billing', '/dashboard/billing']) {
    expect(await ask(`${base}/subscription`, key)).toEqual({
      status: 200,
      body: {
        object: 'billing_subscription',
        has_payment_method: true,
        soft_limit_usd: 2,
        hard_limit_usd: 2,
        system_hard_limit_usd: 2,
        access_until: 4_000_000_000,
      },
    });
    expect(await ask(`${base}/usage/`, key)).toEqual({ status: 200, body: { object: 'list', total_usage: 50 } });
  }
});

test('the user’s account where the option says so, in quota where no currency is shown; a key without end', async () => {
  const { key } = await gateway.token();
  await spend(key);
  expect((await ask('/v1/dashboard/billing/subscription', key)).body).toMatchObject({ hard_limit_usd: 100_000_000 });
  await gateway.option('DisplayTokenStatEnabled', 'false');
  expect((await ask('/v1/dashboard/billing/subscription', key)).body).toMatchObject({
    hard_limit_usd: 10,
    access_until: 0,
  });
  await gateway.option('DisplayInCurrencyEnabled', 'false');
  expect((await ask('/v1/dashboard/billing/subscription', key)).body).toMatchObject({ hard_limit_usd: 5_000_000 });
  expect((await ask('/v1/dashboard/billing/usage', key)).body).toEqual({ object: 'list', total_usage: 25_000_000 });
});

test('a missing key or another method gets an error in OpenAI’s form', async () => {
  expect(await ask('/v1/dashboard/billing/usage', 'nobody')).toMatchObject({
    status: 401,
    body: { error: { code: 'token_invalid' } },
  });
  const { key } = await gateway.token();
  expect((await ask('/dashboard/billing/usage', key, 'POST')).status).toBe(405);
});
