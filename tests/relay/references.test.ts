/** Clients that name items of earlier responses instead of repeating them, as the ai package does by default. */
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, jsonSchema, type ModelMessage, stepCountIs, streamText, tool } from 'ai';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { AppError } from '../../server/contract/errors.ts';
import { memoryPerByte } from '../../server/relay/intake/body-memory.ts';
import { loadedBody } from '../../server/relay/intake/references.ts';
import { relayRouteFor } from '../../server/relay/intake/routes.ts';
import { aliasOf, type GridTarget } from '../practice/grid/targets.ts';
import { createWorld, gatewayUrl, type World } from '../practice/grid/world.ts';

const targets: readonly GridTarget[] = [
  { double: 'anthropic', model: 'claude-sonnet-4-5-20250929', own: {} },
  { double: 'gemini', model: 'gemini-3-flash-preview', own: {} },
  { double: 'deepseek', model: 'deepseek-v4-pro', own: {} },
  { double: 'ollama', model: 'qwen3', own: {} },
];
const native: GridTarget = { double: 'openai', model: 'gpt-5', own: {} };
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

let world: World;
beforeAll(async () => {
  world = await createWorld([...targets, native]);
});
afterAll(() => world.close());
beforeEach(() => void world.take());

const tools = {
  weather: tool({
    description: 'Tells the weather.',
    inputSchema: jsonSchema<{ city: string }>({
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    }),
    execute: async () => 'sunny',
  }),
};

/** A question with tools in two steps, and one more about its answer. */
async function converse(target: GridTarget, stream: boolean) {
  const openai = createOpenAI({ apiKey: `sk-${world.key}`, baseURL: `${gatewayUrl}/v1`, fetch: world.fetch });
  const messages: ModelMessage[] = [{ role: 'user', content: 'What is the weather?' }];
  const ask = async () => {
    const order = {
      model: openai(aliasOf(target)),
      messages,
      tools,
      stopWhen: stepCountIs(3),
      maxRetries: 0,
      providerOptions: { openai: { reasoningEffort: 'high', reasoningSummary: 'auto', forceReasoning: true } },
    };
    if (!stream) return (await generateText(order)).response.messages;
    const result = streamText({ ...order, onError: ({ error }) => expect(error).toBeUndefined() });
    await result.consumeStream();
    return (await result.response).messages;
  };
  messages.push(...(await ask()), { role: 'user', content: 'And tomorrow?' });
  messages.push(...(await ask()));
  return world.take();
}

describe.each(targets.map((target) => [aliasOf(target), target] as const))('%s', (_, target) => {
  test.each([false, true])(
    'hears again what it said, with the settings of the package (streamed: %s)',
    async (stream) => {
      const exchanges = await converse(target, stream);
      expect(exchanges.map(({ rejected }) => rejected)).toEqual(exchanges.map(() => null));
      const [first, second] = exchanges;
      const last = exchanges.at(-1);
      if (first?.said == null || second?.said == null || last === undefined) throw new Error('no request was sent');
      const received = JSON.stringify(last.body);
      for (const words of second.said.words) expect(received).toContain(JSON.stringify(words).slice(1, -1));
      const thoughts = first.said.thoughts.join('');
      // Gemini never receives its thoughts again.
      if (thoughts !== '' && target.double !== 'gemini')
        expect(JSON.stringify(second.body)).toContain(JSON.stringify(thoughts).slice(1, -1));
      const lost = (await world.dropped()).filter((line) => target.double !== 'gemini' || !line.includes('a thought'));
      expect(lost).toEqual([]);
    },
  );
});

const nameOf = (target: GridTarget | undefined) => (target === undefined ? '' : aliasOf(target));
const model = nameOf(targets[0]);

const responses = (body: object, key = world.key) =>
  world.fetch(`${gatewayUrl}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}` },
    body: JSON.stringify({ model, ...body }),
  });
const itemOf = async (more: object = {}): Promise<string> => {
  const { output } = (await (await responses({ input: 'hi', ...more })).json()) as { output: { id: string }[] };
  world.take();
  return output[0]?.id ?? '';
};
const naming = (id: string) => ({
  input: [
    { role: 'user', content: 'hi' },
    { type: 'item_reference', id },
    { role: 'user', content: 'and?' },
  ],
});

describe('an item that is not kept', () => {
  const rejected = async (answer: Response, id: string) => {
    expect(answer.status).toBe(400);
    expect(answer.headers.get('x-should-retry')).toBe('false');
    const { error } = (await answer.json()) as { error: { code: string; message: string } };
    expect(error.code).toBe('item_reference_not_found');
    expect(error.message).toContain(id);
    expect(world.take()).toEqual([]);
  };

  test('an unknown item is refused, never dropped', async () => {
    const id = 'msg_20260101000000000abcdefgh_0';
    await rejected(await responses(naming(id)), id);
  });

  test('is refused where another upstream made it', async () => {
    await rejected(await responses(naming('msg_68a1b2c3')), 'msg_68a1b2c3');
  });

  test('store: false keeps nothing', async () => {
    const id = await itemOf({ store: false });
    await rejected(await responses(naming(id)), id);
  });

  test('an item of another user is unknown', async () => {
    const id = await itemOf();
    const { services } = world.gateway;
    const other = await services.users.create({
      username: 'other',
      password: 'password1',
      displayName: '',
      role: 1,
      quota: 1_000_000_000,
    });
    const { key } = await services.tokens.create(other, { name: 't', unlimited_quota: true });
    await world.gateway.sync();
    await rejected(await responses(naming(id), key), id);
    expect((await responses(naming(id))).status).toBe(200);
  });

  test('no response is kept where the operator keeps none', async () => {
    await world.gateway.option('ResponseItemDays', '0');
    const id = await itemOf();
    await rejected(await responses(naming(id)), id);
    await world.gateway.option('ResponseItemDays', '30');
  });
});

test('goes on at other upstreams than the one that made it, at those of its own dialect, too', async () => {
  const id = await itemOf();
  for (const target of [targets[2], native]) {
    const answer = await responses({ ...naming(id), model: nameOf(target) });
    const [exchange] = world.take();
    expect(exchange?.rejected).toBeNull();
    expect(answer.status).toBe(200);
    expect(JSON.stringify(exchange?.body)).toContain('assistant');
    expect(JSON.stringify(exchange?.body)).not.toContain('item_reference');
  }
});

test('a short request cannot name more than a long one may hold', async () => {
  const id = 'msg_20260101000000000abcdefgh_0';
  const matched = relayRouteFor('/v1/responses');
  if (matched === undefined) throw new Error('no such route');
  const loadItems = async () => new Map([[id, JSON.stringify({ id, type: 'message', content: 'x'.repeat(1000) })]]);
  const named = (times: number) =>
    loadedBody(
      matched.route,
      { body: { input: Array.from({ length: times }, () => ({ type: 'item_reference', id })) }, json: null },
      { loadItems, bodyLimit: 5000, received: 0 },
    );
  expect(await named(4)).not.toBeNull();
  await expect(named(5)).rejects.toMatchObject({ code: 'body_too_large' });
  await expect(named(10_001)).rejects.toMatchObject({ code: 'body_invalid' });
});

describe('memory of what a short request names', () => {
  const id = 'msg_20260101000000000abcdefgh_0';
  const loadItems = async () => new Map([[id, JSON.stringify({ id, type: 'message', content: 'x'.repeat(10_000) })]]);
  const size = JSON.stringify({ id, type: 'message', content: 'x'.repeat(10_000) }).length;
  const named = (times: number, received: number, holdMemory: (bytes: number) => void) => {
    const matched = relayRouteFor('/v1/responses');
    if (matched === undefined) throw new Error('no such route');
    const input = Array.from({ length: times }, () => ({ type: 'item_reference', id }));
    return loadedBody(
      matched.route,
      { body: { input }, json: null },
      { loadItems, bodyLimit: 10_000_000, holder: { holdMemory }, received },
    );
  };

  test('is held together with the body, each time that an item is named', async () => {
    const held: number[] = [];
    await named(7, 3000, (bytes) => held.push(bytes));
    expect(held).toEqual([(7 * size + 3000) * memoryPerByte.json]);
  });

  test.each([
    ['a few items are not held for', 6, 0, 0],
    ['a few items are held for beside a long body', 1, 60_000, 1],
  ])('%s', async (_, times, received, holds) => {
    const held: number[] = [];
    await named(times, received, (bytes) => held.push(bytes));
    expect(held).toHaveLength(holds);
  });

  test('a request whose items do not fit into memory is refused', async () => {
    const full = () => {
      throw new AppError('overloaded');
    };
    await expect(named(7, 0, full)).rejects.toMatchObject({ code: 'overloaded' });
  });
});

test('restored items are part of the prompt that is held for', async () => {
  const id = await itemOf();
  const counted = async (body: object) => {
    const answer = await world.fetch(`${gatewayUrl}/v1/responses/input_tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${world.key}` },
      body: JSON.stringify({ model, ...body }),
    });
    return ((await answer.json()) as { input_tokens: number }).input_tokens;
  };
  const bare = await counted({
    input: [
      { role: 'user', content: 'hi' },
      { role: 'user', content: 'and?' },
    ],
  });
  expect(await counted(naming(id))).toBeGreaterThan(bare);
});
