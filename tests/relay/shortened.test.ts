/** What is written into a request that cannot be carried as it is, in each dialect, and what is refused instead. */
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ChannelFields } from '../../server/domain/channels/service.ts';
import { promptBound, readPrompt } from '../../server/relay/intake/prompt.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { randomOf } from '../support/random.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;

beforeEach(async () => {
  upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const words = [{ role: 'user', content: 'hi' }];
const open = async (quota: number, fields: ChannelFields = {}) => {
  gateway = await createTestGateway({ quota });
  await gateway.channel(upstream.url, { models: 'gpt-4o-mini,gpt-5-mini,own', ...fields });
};
const ask = async (path: string, body: unknown): Promise<{ status: number; text: string }> => {
  const { key } = await gateway.token();
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  return { status: response.status, text: await response.text() };
};
const sent = (): Record<string, unknown> =>
  JSON.parse(upstream.requests.at(-1)?.body.toString() ?? '{}') as Record<string, unknown>;

describe('a limit is written where none was named and the balance has less than the model’s longest answer', () => {
  test.each([
    // Half of 1,000 quota at 0.3 a token, and at 1 a token where the floor of 4,096 would not fit.
    ['/v1/chat/completions', { model: 'gpt-4o-mini', messages: words }, {}, 'max_tokens', 1000, 1640],
    ['/v1/completions', { model: 'gpt-4o-mini', prompt: 'hi' }, {}, 'max_tokens', 1000, 1640],
    ['/v1/responses', { model: 'gpt-4o-mini', input: 'hi' }, {}, 'max_output_tokens', 1000, 1640],
    // Thinking models get their floor, in the member that they know.
    ['/v1/chat/completions', { model: 'gpt-5-mini', messages: words }, {}, 'max_completion_tokens', 5000, 4096],
    [
      '/v1/messages',
      { model: 'claude-3-haiku', messages: words },
      { type: 14, models: 'claude-3-haiku' },
      'max_tokens',
      1000,
      780,
    ],
  ] as const)('%s %j', async (path, body, fields, member, quota, limit) => {
    await open(quota, { ...fields });
    await gateway.option('ModelRatio', '{"gpt-4o-mini":0.075,"gpt-5-mini":0.125,"claude-3-haiku":0.125}');
    await ask(path, body);
    const { [member]: written, ...rest } = sent();
    expect(rest).toEqual(body);
    expect(Math.abs(Number(written) - limit)).toBeLessThan(40);
  });

  test('Gemini, with the settings it came with', async () => {
    await open(5500, { type: 24, models: 'gemini-2.5-flash' });
    const body = {
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      generationConfig: { temperature: 0.5, thinkingConfig: { thinkingBudget: 20_000 } },
    };
    await ask('/v1beta/models/gemini-2.5-flash:generateContent', body);
    expect(sent()).toEqual({
      ...body,
      generationConfig: { temperature: 0.5, maxOutputTokens: 4096, thinkingConfig: { thinkingBudget: 2048 } },
    });
  });

  test('not in a request that fits: its bytes stay as they are', async () => {
    await open(6000);
    const body = '{"model":"gpt-4o-mini",  "messages":[{"role":"user","content":"hi"}]}';
    expect((await ask('/v1/chat/completions', body)).status).toBe(200);
    expect(upstream.requests[0]?.body.toString()).toBe(body);
  });
});

test.each([
  // 30,000 tokens fit into half of 18,000 quota at 0.3 a token, and into half of 90,000 at 1.5.
  ['no longer than the model is known to write', 'gpt-4o-mini', 18_000, 16_384],
  ['as long as the balance allows where the model is unknown', 'own', 90_000, 30_000],
])('a wish that cannot be carried becomes %s', async (_name, name, quota, expected) => {
  await open(quota);
  await gateway.option('ModelRatio', '{"gpt-4o-mini":0.075,"own":1.5}');
  await ask('/v1/chat/completions', { model: name, messages: words, max_tokens: 10_000_000 });
  // The prompt takes a little of it.
  expect(Number(sent().max_tokens) / expected).toBeCloseTo(1, 2);
});

test('a thought stays shorter than the answer it belongs to', async () => {
  await open(90_000, { type: 14, models: 'claude-sonnet-4-5' });
  const thinking = { type: 'enabled', budget_tokens: 100_000 };
  await ask('/v1/messages', { model: 'claude-sonnet-4-5', messages: words, max_tokens: 128_000, thinking });
  const { max_tokens: limit, thinking: sentThinking } = sent() as {
    max_tokens: number;
    thinking: { budget_tokens: number };
  };
  expect(limit).toBeGreaterThan(4096);
  expect(sentThinking.budget_tokens).toBe(Math.floor(limit / 2));
});

test('a thought that a translation adds does not raise the limit that was written', async () => {
  await open(50_000, { type: 14, models: 'claude-sonnet-4-5' });
  await ask('/v1/chat/completions', { model: 'claude-sonnet-4-5', messages: words, reasoning_effort: 'high' });
  const { max_tokens: limit, thinking } = sent() as { max_tokens: number; thinking: { budget_tokens: number } };
  expect(limit * 7.5).toBeLessThan(50_000);
  expect(thinking.budget_tokens).toBeLessThan(limit);
});

test.each([
  ['the channel', { setting: '{"pass_through":true}' }, {}],
  ['the site', {}, { 'global.pass_through_request_enabled': 'true' }],
  ['an override of the limit', { param_override: '{"max_tokens":9000}' }, {}],
])('%s passes on what it likes: refused instead of edited', async (_name, fields, options) => {
  await open(1000, fields);
  for (const [key, value] of Object.entries(options)) await gateway.option(key, String(value));
  const { status, text } = await ask('/v1/chat/completions', { model: 'gpt-4o-mini', messages: words });
  expect([status, text]).toEqual([403, expect.stringContaining('user_exhausted')]);
  expect(upstream.requests).toHaveLength(0);
});

test('below the floor of a thinking model it is refused, although a shorter answer could be paid', async () => {
  await open(4000);
  expect((await ask('/v1/chat/completions', { model: 'gpt-5-mini', messages: words })).status).toBe(403);
  // Who asks for less than the floor gets it.
  const body = { model: 'gpt-5-mini', messages: words, max_completion_tokens: 1000 };
  expect((await ask('/v1/chat/completions', body)).status).toBe(200);
  expect(sent()).toEqual(body);
});

test('wishes beyond all numbers are wishes like others', async () => {
  await open(1000);
  for (const limit of ['1e308', '-1e308', '999999999999999999999999'])
    expect(
      (
        await ask(
          '/v1/chat/completions',
          `{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}],"max_tokens":${limit},"n":1}`,
        )
      ).status,
    ).toBe(200);
  const body = `{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}],"max_tokens":1e308,"n":128}`;
  expect((await ask('/v1/chat/completions', body)).status).toBeLessThan(500);
});

test('an honest answer that costs more than was foreseen leaves the balance at nothing and the books in order', async () => {
  await open(1000);
  upstream.script((response) => sendJson(response, completion(12_000, 1000)));
  expect((await ask('/v1/chat/completions', { model: 'gpt-4o-mini', messages: words })).status).toBe(200);
  expect(await gateway.balance()).toBe(0);
  const reports = await gateway.services.verifyLedger();
  expect(reports.find(({ id }) => id === 'I6')).toMatchObject({
    violations: 0,
    note: { en: 'overrun 200 in all, 200 not paid back' },
  });
  expect(await gateway.services.logs.overrun({})).toBe(200);
  expect(await gateway.services.logs.overrun({ model: 'other' })).toBe(0);
  const [row] = await gateway.logs();
  expect(row?.quota).toBe(1200);
  expect(JSON.parse(row?.other ?? '{}')).toMatchObject({ overrun: 200 });
  // The next credit pays it back, and the relay knows.
  await gateway.call('user.update', { id: gateway.userId, add_quota: 5000 });
  expect(await gateway.balance()).toBe(4800);
  expect([
    gateway.balances.account(gateway.userId, 0).available(),
    gateway.balances.account(gateway.userId, 0).overrun(),
  ]).toEqual([4800, 0]);
});

test('an administrator cannot push a balance beyond what a number can say, and can set a large one back', async () => {
  await open(0);
  const max = Number.MAX_SAFE_INTEGER;
  const { display_name: before } = (await gateway.call('user.get', { id: gateway.userId })) as { display_name: string };
  await gateway.call('user.update', { id: gateway.userId, quota: max });
  expect(await gateway.balance()).toBe(max);
  await expect(gateway.call('user.update', { id: gateway.userId, add_quota: 1 })).rejects.toMatchObject({
    code: 'balance_too_large',
  });
  await gateway.call('user.update', { id: gateway.userId, quota: 7 });
  const change = { id: gateway.userId, add_quota: -8, display_name: 'Another' };
  await expect(gateway.call('user.update', change)).rejects.toMatchObject({ code: 'user_insufficient' });
  expect(await gateway.call('user.get', { id: gateway.userId })).toMatchObject({ quota: 7, display_name: before });
  await gateway.call('user.update', { id: gateway.userId, add_quota: -7 });
  expect(await gateway.balance()).toBe(0);
});

describe('self-use mode', () => {
  test('the owner’s requests are on the house, counted as used, and refused for no balance', async () => {
    await open(0);
    await gateway.option('SelfUseModeEnabled', 'true');
    const body = '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}]}';
    upstream.script((response) => sendJson(response, completion(1000, 500)));
    expect((await ask('/v1/chat/completions', body)).status).toBe(200);
    expect(upstream.requests[0]?.body.toString()).toBe(body);
    expect(await gateway.balance()).toBe(0);
    const user = await gateway.services.users.find(gateway.userId);
    expect([user?.used_quota, gateway.balances.account(gateway.userId, 0).limits().used]).toEqual([225, 225]);
    expect((await gateway.logs())[0]?.quota).toBe(225);
  });

  test('a key’s limit still counts', async () => {
    await open(0);
    await gateway.option('SelfUseModeEnabled', 'true');
    const { key } = await gateway.token({ unlimited_quota: false, remain_quota: 3 });
    const response = await gateway.chat(key, { model: 'gpt-4o-mini', messages: words });
    expect([response.status, await response.text()]).toEqual([403, expect.stringContaining('token_exhausted')]);
  });
});

describe('no tokenizer makes more of a prompt than its bound', () => {
  const random = randomOf(11);
  const among = (list: readonly string[]) => list[Math.floor(random() * list.length)] ?? '';
  const text = (one: () => string) => Array.from({ length: 200 + Math.floor(random() * 400) }, one).join('');
  const emoji = ['🙂', '👩‍👩‍👧‍👦', '🏳️‍🌈', '🇨🇭', '𝕬', '🫨'];
  test.each([
    ['emoji', () => among(emoji)],
    ['Chinese', () => String.fromCharCode(0x4e00 + Math.floor(random() * 0x5000))],
    ['rare characters', () => String.fromCodePoint(0x20000 + Math.floor(random() * 0xa000))],
    ['code', () => among(['const x = ', '=>', '\n\t\t', '{', '};', 'awaitAll(', '0x7f', '===', '\\"'])],
    ['base64', () => Buffer.from([random() * 256, random() * 256, random() * 256]).toString('base64')],
    ['control characters', () => String.fromCharCode(Math.floor(random() * 32))],
    ['words', () => among(['the ', 'Größe ', 'مرحبا ', 'สวัสดี', 'привет '])],
  ])('%s', async (_name, one) => {
    await open(0);
    for (let round = 0; round < 40; round++) {
      const content = text(one);
      const body = {
        model: 'm',
        messages: [{ role: 'user', content }],
        tools: [{ function: { name: content.slice(0, 60) } }],
      };
      const counted =
        countTokens(content, { allowedSpecial: 'all' }) + countTokens(content.slice(0, 60), { allowedSpecial: 'all' });
      // As clients write JSON: with every character as it is, and with escapes.
      const plain = JSON.stringify(body);
      const escaped = plain.replace(/[^\0-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
      for (const json of [plain, escaped])
        expect(promptBound(readPrompt(body), body, Buffer.byteLength(json))).toBeGreaterThanOrEqual(counted);
    }
  });
});
