/** Models that a request lets work on its answer are the caller's choice as much as the one it names: the key must allow them, the site must sell them, and they are held for. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ChannelFields } from '../../server/domain/channels/service.ts';
import type { TokenFields } from '../../server/domain/tokens/service.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

const quota = 100_000_000;
const answer = {
  id: 'msg',
  type: 'message',
  role: 'assistant',
  model: 'claude-haiku-4-5',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 10, output_tokens: 1 },
};
let gateway: TestGateway;
let upstream: Upstream;
let held = 0;
beforeEach(async () => {
  gateway = await createTestGateway({ quota });
  upstream = await startUpstream((response) => {
    held = quota - gateway.balances.account(gateway.userId, 0).available();
    sendJson(response, answer);
  });
  await gateway.option('ModelRatio', '{"claude-haiku-4-5":0.5,"claude-opus-4-6":2.5,"unsold":1}');
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const claude = (fields: ChannelFields = {}) =>
  gateway.channel(upstream.url, { type: 14, models: 'claude-haiku-4-5,claude-opus-4-6,unpriced', ...fields });
const ask = async (body: object, fields: TokenFields = {}, path = '/v1/messages') => {
  const { key } = await gateway.token(fields);
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'claude-haiku-4-5',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'words '.repeat(1000) }],
      ...body,
    }),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  return { status: response.status, text: await response.text() };
};
const adviser = (model: string, more: object = {}) => ({
  tools: [{ type: 'advisor_20260301', name: 'advisor', model, ...more }],
});
const fallback = (model: string) => ({ fallbacks: [{ model }] });
const allowsTerms = { setting: '{"allow_tiers":true}' };
const haikuOnly = { model_limits_enabled: true, model_limits: 'claude-haiku-4-5' };

describe.each([
  ['an adviser', adviser],
  ['a fallback', fallback],
])('%s', (_name, members) => {
  test('must be among the models of the key', async () => {
    await claude(allowsTerms);
    const { status, text } = await ask(members('claude-opus-4-6'), haikuOnly);
    expect([status, text]).toEqual([404, expect.stringContaining('claude-opus-4-6')]);
    expect(upstream.requests).toHaveLength(0);
    expect((await ask({}, haikuOnly)).status).toBe(200);
  });

  test('must be sold by the site, at a price', async () => {
    await claude(allowsTerms);
    for (const model of ['unsold', 'unpriced']) {
      const { status, text } = await ask(members(model));
      expect([status, text]).toEqual([expect.any(Number), expect.stringContaining(model)]);
      expect(status).toBeGreaterThanOrEqual(400);
    }
    expect(upstream.requests).toHaveLength(0);
  });

  test('is held for at its own price', async () => {
    await claude(allowsTerms);
    await ask({});
    const plain = held;
    expect((await ask(members('claude-opus-4-6'))).status).toBe(200);
    // Opus costs five times as much, and reads the same at least once.
    expect(held).toBeGreaterThan(5 * plain);
  });
});

test('an adviser reads as often as the request lets it', async () => {
  await claude();
  await ask(adviser('claude-opus-4-6', { max_uses: 1 }));
  const once = held;
  await ask(adviser('claude-opus-4-6', { max_uses: 10 }));
  expect(held).toBeGreaterThan(8 * once);
});

test('an adviser writes as much as the request lets it', async () => {
  await claude();
  await ask(adviser('claude-opus-4-6', { max_uses: 1 }));
  const usual = held;
  await ask(adviser('claude-opus-4-6', { max_uses: 1, max_tokens: 60_000 }));
  // Opus costs 2.5 a token that it reads, and five times that for one that it writes.
  expect(held - usual).toBeGreaterThan(50_000 * 12.5);
});

const searching = { type: 'web_search_20250305', name: 'web_search', max_uses: 5 };
const picture = {
  type: 'image',
  source: {
    type: 'base64',
    media_type: 'image/png',
    data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  },
};
const heldFor = async (body: object) => {
  expect((await ask(body)).status).toBe(200);
  return held;
};

test('a fallback that takes the request over reads it again after each search', async () => {
  await claude(allowsTerms);
  const messages = (count: number) => [{ role: 'user', content: 'words '.repeat(count) }];
  /** What it adds for 5,000 words more. */
  const added = async (members: object) => {
    const more: number[] = [];
    for (const count of [1000, 6000]) {
      const both = await heldFor({ ...members, ...fallback('claude-opus-4-6'), messages: messages(count) });
      more.push(both - (await heldFor({ ...members, messages: messages(count) })));
    }
    return (more[1] ?? 0) - (more[0] ?? 0);
  };
  const once = await added({});
  expect(once).toBeGreaterThan(5000);
  expect((await added({ tools: [searching] })) / once).toBeCloseTo(6, 1);
});

test('an adviser reads a picture once a call, however often searches have it read again', async () => {
  await claude();
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'look' }, picture] }];
  const advice = adviser('claude-opus-4-6', { max_uses: 1 }).tools;
  /** What the picture adds to what the adviser adds. */
  const added = async (tools: readonly object[]) => {
    const withPicture =
      (await heldFor({ tools: [...tools, ...advice], messages })) - (await heldFor({ tools, messages }));
    const plain = [{ role: 'user', content: [{ type: 'text', text: 'look' }] }];
    return (
      withPicture -
      ((await heldFor({ tools: [...tools, ...advice], messages: plain })) - (await heldFor({ tools, messages: plain })))
    );
  };
  const once = await added([]);
  expect(once).toBeGreaterThan(100);
  expect(Math.abs((await added([searching])) - once)).toBeLessThan(once / 10);
});

test('a member that is not sent upstream needs no right', async () => {
  await claude();
  expect((await ask(fallback('claude-opus-4-6'), haikuOnly)).status).toBe(200);
  expect(JSON.parse(upstream.requests[0]?.body.toString() ?? '')).not.toHaveProperty('fallbacks');
});

test('a list of models goes to no upstream whose answers do not name each one’s share', async () => {
  await gateway.channel(upstream.url, { models: 'claude-haiku-4-5', ...allowsTerms });
  upstream.script((response) =>
    sendJson(response, {
      id: 'c',
      object: 'chat.completion',
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
  );
  expect((await ask({ fallbacks: ['claude-opus-4-6'] }, {}, '/v1/chat/completions')).status).toBe(200);
  expect(JSON.parse(upstream.requests[0]?.body.toString() ?? '')).not.toHaveProperty('fallbacks');
});
