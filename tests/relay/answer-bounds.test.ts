/** What an answer may write at most is held for, whichever member of the request says so, and whatever a translation makes of it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

const message = {
  id: 'msg',
  type: 'message',
  role: 'assistant',
  model: 'claude-haiku-4-5',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 10, output_tokens: 1 },
};
const models = ['gpt-4o', 'own', 'claude-haiku-4-5', 'claude-haiku-4-5-thinking'];

let gateway: TestGateway;
let upstream: Upstream;
let held = 0;
const open = async (quota: number) => {
  gateway = await createTestGateway({ quota });
  upstream.script((response, { path }) => {
    held = quota - gateway.balances.account(gateway.userId, 0).available();
    sendJson(response, path.includes('messages') ? message : completion(10, 1));
  });
  await gateway.channel(upstream.url, { models: 'gpt-4o,own' });
  await gateway.channel(upstream.url, { type: 14, models: 'claude-haiku-4-5,claude-haiku-4-5-thinking' });
  const ones = JSON.stringify(Object.fromEntries(models.map((model) => [model, 1])));
  await gateway.option('ModelRatio', ones);
  await gateway.option('CompletionRatio', ones);
};
beforeEach(async () => {
  upstream = await startUpstream(() => undefined);
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const ask = async (path: string, body: object) => {
  const { key } = await gateway.token();
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  await response.text();
  expect(response.status).toBe(200);
  return JSON.parse(upstream.requests.at(-1)?.body.toString() ?? '{}') as Record<string, unknown>;
};
const chat = '/v1/chat/completions';
const hello = { messages: [{ role: 'user', content: 'hi' }] };

describe('a second member cannot say more than is held for', () => {
  test.each<readonly [object, number]>([
    [{ model: 'gpt-4o', max_tokens: 16, max_completion_tokens: -1 }, 16_384],
    [{ model: 'gpt-4o', max_tokens: -1, max_completion_tokens: 16 }, 16_384],
    [{ model: 'own', max_tokens: 1, n_predict: 100_000 }, 100_000],
    [{ model: 'own', max_tokens: 1, n_predict: -1 }, 32_768],
    [{ model: 'own', max_tokens: 1, num_predict: 30_000 }, 30_000],
    [{ model: 'own', max_tokens: 1, max_new_tokens: 30_000 }, 30_000],
    [{ model: 'own', max_tokens: 1, max_output_tokens: 30_000 }, 30_000],
    [{ model: 'own', max_tokens: 1, extra_body: { max_tokens: 30_000 } }, 30_000],
    [{ model: 'own', max_tokens: 1_000, extra_body: { n: 8 } }, 8_000],
  ])('%j', async (body, tokens) => {
    await open(1_000_000);
    await ask(chat, { ...hello, ...body });
    expect(held).toBeGreaterThanOrEqual(tokens);
  });

  test('and it is lowered with the first where less can be paid', async () => {
    await open(4_000);
    const sent = await ask(chat, {
      ...hello,
      model: 'own',
      max_tokens: 20_000,
      n_predict: 100_000,
      extra_body: { max_new_tokens: 50_000, note: 1 },
    });
    const { max_tokens: limit } = sent;
    expect(limit).toBeLessThan(4_000);
    expect(sent).toMatchObject({ n_predict: limit, extra_body: { max_new_tokens: limit, note: 1 } });
  });
});

test.each([{}, { n: 2 }])(
  'as many answers are held for as the operator’s parameters order, whatever %j says',
  async (more) => {
    await open(1_000_000);
    await gateway.channel(upstream.url, { models: 'own', param_override: '{"n":5}', priority: 9 });
    const sent = await ask(chat, { ...hello, model: 'own', max_tokens: 1000, ...more });
    expect(sent).toMatchObject({ n: 5, max_tokens: 1000 });
    expect([held >= 5000, held < 6000]).toEqual([true, true]);
  },
);

test('modalities that are no words ask for no sound', async () => {
  await open(1_000_000);
  for (const key of ['AudioRatio', 'AudioCompletionRatio']) await gateway.option(key, '{"gpt-4o":20}');
  const heldFor = async (modalities: unknown) => {
    await ask(chat, { ...hello, model: 'gpt-4o', max_tokens: 16, modalities });
    return held;
  };
  for (const silent of [[1, null, {}], 5, ['text']]) expect(await heldFor(silent)).toBeLessThan(300);
  for (const loud of [[1, 'audio'], 'Audio']) expect(await heldFor(loud)).toBeGreaterThan(16 * 400);
});

describe('a translation asks for no longer answer than is held for', () => {
  const claude = { ...hello, model: 'claude-haiku-4-5', max_tokens: 16 };
  const gemini = (thinkingConfig: object) => ({
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    generationConfig: { maxOutputTokens: 16, thinkingConfig },
  });
  test.each<readonly [string, object]>([
    [chat, { ...claude, reasoning_effort: 'ultra' }],
    [chat, { ...claude, reasoning_effort: 5, reasoning: { effort: 'high' } }],
    [chat, { ...claude, thinking: { type: 'enabled' } }],
    [chat, { ...claude, thinking: { type: 'enabled', budget_tokens: '20000' } }],
    [chat, { ...claude, thinking: { type: 'enabled', budget_tokens: -1 } }],
    [chat, { ...claude, max_tokens: 3_000, thinking: { type: 'enabled' } }],
    [chat, { ...claude, model: 'claude-haiku-4-5-thinking' }],
    [
      '/v1/responses',
      { model: 'claude-haiku-4-5', input: 'hi', max_output_tokens: 16, reasoning: { effort: 'ultra' } },
    ],
    ['/v2/chat', { ...claude, thinking: { type: 'enabled', token_budget: 20_000 } }],
    ['/api/chat', { ...hello, model: 'claude-haiku-4-5', stream: false, think: 'high', options: { num_predict: 16 } }],
    ['/v1beta/models/claude-haiku-4-5:generateContent', gemini({ thinkingBudget: 20_000 })],
    ['/v1beta/models/claude-haiku-4-5:generateContent', gemini({ thinkingBudget: -1 })],
    ['/v1beta/models/claude-haiku-4-5:generateContent', gemini({ thinkingLevel: 'high' })],
  ])('%s %j', async (path, body) => {
    await open(1_000_000);
    const { max_tokens: limit } = await ask(path, body);
    expect(limit).toBeGreaterThan(0);
    expect(held).toBeGreaterThanOrEqual(Number(limit));
  });

  test('nor than could be paid where the provider decides how much is thought', async () => {
    await open(4_300);
    const { max_tokens: limit } = await ask(chat, { ...claude, max_tokens: 8_000, thinking: { type: 'enabled' } });
    expect(held).toBeGreaterThanOrEqual(Number(limit));
  });
});
