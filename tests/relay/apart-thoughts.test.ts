/** Where no limit of the answer counts the thought before it, the thought is held for besides, and asked to be shorter where the balance is small. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { providerBySlug } from '../../server/providers/catalogue.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, sendStream, startUpstream, type Upstream } from '../support/upstream.ts';

const models = ['qwen3.5-plus', 'qwen-plus', 'qwen3.7-plus', 'qwen3-8b', 'qwen-max', 'grok-4'];
const ones = JSON.stringify(Object.fromEntries(models.map((model) => [model, 1])));
const chat = '/v1/chat/completions';

const frames = [
  {
    id: 'c',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: 'stop' }],
  },
  {
    id: 'c',
    object: 'chat.completion.chunk',
    choices: [],
    usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 },
  },
]
  .map((frame) => `data: ${JSON.stringify(frame)}\n\n`)
  .concat('data: [DONE]\n\n')
  .join('');

let gateway: TestGateway;
let upstream: Upstream;
let held = 0;
beforeEach(async () => {
  upstream = await startUpstream(() => undefined);
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const open = async (provider: string, quota = 10_000_000) => {
  gateway = await createTestGateway({ quota });
  upstream.script((response, { body }) => {
    held = quota - gateway.balances.account(gateway.userId, 0).available();
    const { stream } = JSON.parse(body.toString()) as { stream?: boolean };
    if (stream === true) void sendStream(response, [Buffer.from(frames)]);
    else sendJson(response, completion(10, 1));
  });
  await gateway.channel(upstream.url, { type: providerBySlug(provider)?.type ?? 0, models: models.join(',') });
  await gateway.option('ModelRatio', ones);
  await gateway.option('CompletionRatio', ones);
};
const send = async (body: object, path: string) => {
  const { key } = await gateway.token();
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], max_tokens: 16, ...body }),
  });
  return gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
};
const ask = async (body: object, path = chat) => {
  const response = await send(body, path);
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  return JSON.parse(upstream.requests.at(-1)?.body.toString() ?? '{}') as Record<string, unknown>;
};

test.each<readonly [string, object, number]>([
  ['ali', { model: 'qwen3.5-plus' }, 81_920],
  ['ali', { model: 'qwen3.7-plus' }, 262_144],
  ['ali', { model: 'qwen-plus', enable_thinking: true }, 81_920],
  ['ali', { model: 'qwen-plus', extra_body: { enable_thinking: true } }, 81_920],
  ['ali', { model: 'qwen3.5-plus', thinking_budget: 4000 }, 4000],
  ['ali', { model: 'qwen3.5-plus', thinking_budget: 4000, extra_body: { thinking_budget: 9000 } }, 9000],
  ['ali', { model: 'qwen3.5-plus', extra_body: { thinking_budget: 4000 } }, 81_920],
  ['ali', { model: 'qwen3.5-plus', thinking_budget: -1 }, 81_920],
  ['ali', { model: 'qwen3.5-plus', thinking: { type: 'disabled' } }, 81_920],
  ['siliconflow', { model: 'qwen3-8b' }, 32_768],
  ['xai', { model: 'grok-4', thinking_budget: 1 }, 32_768],
])('%s %j', async (provider, body, tokens) => {
  await open(provider);
  await ask(body);
  expect(held).toBeGreaterThanOrEqual(tokens);
  expect(held).toBeLessThan(tokens + 2000);
});

test.each<readonly [string, object]>([
  ['ali', { model: 'qwen3.5-plus', enable_thinking: false }],
  ['ali', { model: 'qwen-plus' }],
  ['ali', { model: 'qwen-max' }],
  ['custom', { model: 'qwen3.5-plus' }],
])('nothing is held for a thought that is none, or that the limit counts: %s %j', async (provider, body) => {
  await open(provider);
  await ask(body);
  expect(held).toBeLessThan(2000);
});

test('a translated request thinks as long', async () => {
  await open('ali');
  await ask({ model: 'qwen3.5-plus' }, '/v1/messages');
  expect(held).toBeGreaterThanOrEqual(81_920);
});

test('with a small balance a shorter answer and a shorter thought are asked for', async () => {
  await open('ali', 20_000);
  const sent = await ask({ model: 'qwen3.5-plus', max_tokens: 8000 });
  expect(held).toBeLessThanOrEqual(20_000);
  expect(sent.thinking_budget).toBeGreaterThanOrEqual(1024);
  expect(Number(sent.thinking_budget) + Number(sent.max_tokens)).toBeLessThanOrEqual(held);
});

test('a thought is not shortened beside a second member that might win', async () => {
  await open('ali', 20_000);
  const body = { model: 'qwen3.5-plus', thinking_budget: 80_000, extra_body: { thinking_budget: 80_000 } };
  expect((await send(body, chat)).status).toBe(403);
  expect(upstream.requests).toEqual([]);
});
