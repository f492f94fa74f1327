/** What a single request may take: its prompt and its longest answer, in tokens. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { BudgetHolder } from '../../server/contract/budgets.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;

beforeEach(async () => {
  upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
  gateway = await createTestGateway({ engine: 'sqlite', quota: 10_000_000 });
  await gateway.channel(upstream.url, { models: 'gpt-4o-mini,gpt-5-mini' });
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const bound = async (holder: BudgetHolder, subject: string | number, amount: number, more: object = {}) => {
  const order = { holder, subject: String(subject), window: 'request', unit: 'tokens', amount, ...more } as const;
  const { budget } = await gateway.services.budgets.set(order);
  await gateway.sync();
  return budget.id;
};
const words = (text: string) => [{ role: 'user', content: text }];
const ask = async (key: string, body: object, path = '/v1/chat/completions') => {
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  const { error } = (await response.json()) as { error?: { code?: string; message?: string } };
  return { status: response.status, code: error?.code, message: error?.message ?? '' };
};
const sent = (): Record<string, unknown> =>
  JSON.parse(upstream.requests.at(-1)?.body.toString() ?? '{}') as Record<string, unknown>;
const plain = { model: 'gpt-4o-mini', messages: words('hi') };

test('a request whose client names a longer answer is refused with both numbers, and one that fits goes as it is', async () => {
  const { key } = await gateway.token();
  await bound('site', '', 1000);
  const { status, code, message } = await ask(key, { ...plain, max_tokens: 1000 });
  expect([status, code]).toEqual([400, 'request_tokens']);
  expect(message).toMatch(/10\d\d tokens.*1000/);
  expect(upstream.requests).toHaveLength(0);
  const fits = { ...plain, max_tokens: 900 };
  expect((await ask(key, fits)).status).toBe(200);
  expect(sent()).toEqual(fits);
  expect((await gateway.services.budgets.list())[0]).toMatchObject({ used: 0, window_at: null, resets: null });
});

test('the longest answer is lowered to what the prompt leaves where the client names none', async () => {
  const { key } = await gateway.token();
  await bound('site', '', 1000);
  expect((await ask(key, plain)).status).toBe(200);
  const { max_tokens: most, ...rest } = sent();
  expect(rest).toEqual(plain);
  expect(Number(most)).toBeGreaterThan(950);
  expect(Number(most)).toBeLessThan(1000);
});

test('several answers share what the prompt leaves', async () => {
  const { key } = await gateway.token();
  await bound('site', '', 1000);
  expect((await ask(key, { ...plain, n: 4 })).status).toBe(200);
  expect(Number(sent().max_tokens)).toBeLessThanOrEqual(250);
  expect(Number(sent().max_tokens)).toBeGreaterThan(230);
});

test('a long prompt is counted before it is refused: its bytes bound it too high', async () => {
  const { key } = await gateway.token();
  await bound('site', '', 1000);
  // 3,600 bytes are 600 tokens and a few.
  const long = { model: 'gpt-4o-mini', messages: words('hello '.repeat(600)) };
  expect((await ask(key, long)).status).toBe(200);
  expect(Number(sent().max_tokens)).toBeGreaterThan(300);
  expect(await ask(key, { model: 'gpt-4o-mini', messages: words('hello '.repeat(1100)) })).toMatchObject({
    status: 400,
    code: 'request_tokens',
  });
});

test('a thinking model is refused where not even a thought fits', async () => {
  const { key } = await gateway.token();
  await bound('site', '', 4000);
  expect(await ask(key, { model: 'gpt-5-mini', messages: words('hi') })).toMatchObject({ code: 'request_tokens' });
  await bound('site', '', 6000);
  expect((await ask(key, { model: 'gpt-5-mini', messages: words('hi') })).status).toBe(200);
  expect(Number(sent().max_completion_tokens)).toBeLessThan(6000);
});

test('no limit is lowered where requests pass through unchanged', async () => {
  await gateway.option('global.pass_through_request_enabled', 'true');
  const { key } = await gateway.token();
  await bound('site', '', 1000);
  expect(await ask(key, plain)).toMatchObject({ code: 'request_tokens' });
});

test('the least of key, user, group and site bounds it, a raise holds until its end, and nothing else is bounded', async () => {
  const { key, id } = await gateway.token();
  const { key: other } = await gateway.token();
  const named = (max_tokens: number) => ({ ...plain, max_tokens });
  await bound('user', gateway.userId, 900);
  await bound('group', 'default', 800);
  await bound('token', id, 500);
  expect(await ask(key, named(600))).toMatchObject({ code: 'request_tokens' });
  expect((await ask(other, named(600))).status).toBe(200);
  expect(await ask(other, named(850))).toMatchObject({ code: 'request_tokens' });
  await bound('token', id, 500, { raise: 200, raise_until: Math.floor(Date.now() / 1000) + 60 });
  expect((await ask(key, named(600))).status).toBe(200);
  await bound('token', id, 500, { raise: 200, raise_until: Math.floor(Date.now() / 1000) - 60 });
  expect(await ask(key, named(600))).toMatchObject({ code: 'request_tokens' });
});

test.each(['money', 'requests'] as const)('a single request is not bounded in %s', async (unit) => {
  const order = { holder: 'site', window: 'request', unit, amount: 5 } as const;
  await expect(gateway.services.budgets.set(order)).rejects.toMatchObject({ code: 'params_invalid' });
});

test('another target of a virtual model is brought within the bound too', async () => {
  await gateway.services.virtualModels.create({
    name: 'smart',
    enabled: true,
    boundary: '',
    description: '',
    targets: [{ model: 'gpt-4o-mini' }, { model: 'gpt-5-mini' }],
  });
  await gateway.sync();
  const { key } = await gateway.token();
  await bound('site', '', 6000);
  upstream.script((response, { body }) => {
    if (String(body).includes('gpt-4o-mini')) sendJson(response, { error: { message: 'down' } }, 503);
    else sendJson(response, completion(10, 5));
  });
  expect((await ask(key, { ...plain, model: 'smart' })).status).toBe(200);
  expect(sent().model).toBe('gpt-5-mini');
  expect(Number(sent().max_completion_tokens ?? sent().max_tokens)).toBeLessThan(6000);
});
