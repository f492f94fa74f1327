/** What is known of upstreams and models, as requests that arrive there. */
import { expect, test } from 'vitest';
import { ownRows } from '../../server/providers/knowledge/own.ts';
import { targetFor } from '../../server/providers/knowledge/target.ts';
import { hi, providerBench, sendEvents } from '../providers/bench.ts';
import { sendJson } from '../support/upstream.ts';

const bench = providerBench();

const chatAnswer = {
  id: 'c-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
};
const messagesAnswer = {
  id: 'm-1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'yes' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 5, output_tokens: 1 },
};
const print = (answer: unknown) => bench.script((response) => sendJson(response, answer));
const droppedOf = async () => ((await bench.log()).other.dropped ?? []) as string[];

test('the temperature of a chat client does not reach a model that refuses it', async () => {
  const key = await bench.channel('anthropic', 'claude-opus-4-8');
  print(messagesAnswer);
  const response = await bench.post('/v1/chat/completions', key, {
    model: 'claude-opus-4-8',
    messages: hi,
    temperature: 0.2,
    top_p: 0.9,
  });
  expect(response.status).toBe(200);
  expect(bench.sent().body).toEqual({
    model: 'claude-opus-4-8',
    max_tokens: 128_000,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
  });
  expect(await droppedOf()).toEqual(['/temperature: not taken by this model', '/top_p: not taken by this model']);
});

test('a chat client’s own stream reaches Mistral without what it refuses, and is billed by what it reports', async () => {
  const key = await bench.channel('mistral', 'mistral-large-latest');
  const chunk = (delta: object, more: object = {}) => ({
    id: 'c-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'mistral-large-latest',
    choices: [{ index: 0, delta, finish_reason: null, ...more }],
  });
  bench.script((response) =>
    sendEvents(response, [
      chunk({ role: 'assistant', content: 'yes' }),
      {
        ...chunk({ content: '' }, { finish_reason: 'stop' }),
        usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
      },
    ]),
  );
  const requested = {
    model: 'mistral-large-latest',
    stream: true,
    max_completion_tokens: 40,
    seed: 3,
    user: 'ann',
    messages: hi,
  };
  const response = await bench.post('/v1/chat/completions', key, requested);
  expect(await response.text()).toContain('yes');
  expect(bench.sent().body).toEqual({
    model: 'mistral-large-latest',
    stream: true,
    max_tokens: 40,
    random_seed: 3,
    messages: hi,
  });
  expect(await bench.log()).toMatchObject({ prompt_tokens: 7, completion_tokens: 3, usage_source: 'reported' });
  expect(await droppedOf()).toEqual(['/user: not taken by the upstream']);
});

test('a body that Mistral takes as it is passes byte for byte', async () => {
  const key = await bench.channel('mistral', 'mistral-large-latest');
  print(chatAnswer);
  const requested = { temperature: 0.5, model: 'mistral-large-latest', messages: [...hi], safe_prompt: true };
  await bench.post('/v1/chat/completions', key, requested);
  expect(bench.upstream.requests[0]?.body.toString()).toBe(JSON.stringify(requested));
});

const thinkingTurns = [
  { role: 'user', content: 'weather?' },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'I should look', signature: '' },
      { type: 'tool_use', id: 'toolu_01A09q90qw90lq917835lq9', name: 'look', input: {} },
    ],
  },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_01A09q90qw90lq917835lq9', content: 'sun' }] },
];
const agentBody = (model: string) => ({
  model,
  max_tokens: 128_000,
  thinking: { type: 'adaptive' },
  output_config: { effort: 'xhigh' },
  metadata: { user_id: 'device-1' },
  tools: [{ name: 'look', input_schema: { type: 'object' } }],
  messages: thinkingTurns,
});

test.each([
  ['mistral', 'mistral-large-latest'],
  ['groq', 'qwen/qwen3-32b'],
  ['cerebras', 'gpt-oss-120b'],
  ['deepseek', 'deepseek-v4-pro'],
] as const)('the second turn of an agent at %s', async (slug, model) => {
  const key = await bench.channel(slug, model);
  print(chatAnswer);
  const response = await bench.post('/v1/messages', key, agentBody(model));
  expect(response.status).toBe(200);
  const body = bench.sent().body as Record<string, unknown> & { messages: Record<string, unknown>[] };
  const [, turn, result] = body.messages as [unknown, Record<string, unknown>, Record<string, unknown>];
  const call = (turn.tool_calls as { id: string }[])[0]?.id;
  expect(result.tool_call_id).toBe(call);
  const expected = {
    mistral: { thought: undefined, id: /^[a-zA-Z0-9]{9}$/, effort: undefined, user: undefined, most: 262_144 },
    groq: {
      thought: undefined,
      id: /^toolu_/,
      effort: 'default',
      user: 'user_03204de92e11fc8c528139be41906592',
      most: 40_960,
    },
    cerebras: {
      thought: 'I should look',
      id: /^toolu_/,
      effort: 'high',
      user: 'user_03204de92e11fc8c528139be41906592',
      most: 40_960,
    },
    deepseek: {
      thought: 'I should look',
      id: /^toolu_/,
      effort: 'high',
      user: 'user_03204de92e11fc8c528139be41906592',
      most: 1_048_576,
    },
  }[slug];
  expect(call).toMatch(expected.id);
  expect(turn.reasoning_content ?? turn.reasoning).toBe(expected.thought);
  expect('reasoning_content' in turn).toBe(slug === 'deepseek');
  expect(body.reasoning_effort).toBe(expected.effort);
  expect(body.user).toBe(expected.user);
  expect(body.max_tokens).toBe(Math.min(128_000, expected.most));
  const dropped = await droppedOf();
  expect(dropped.some((loss) => loss.startsWith('/reasoning'))).toBe(true);
  expect(dropped.some((loss) => loss.startsWith('/max_tokens'))).toBe(expected.most < 128_000);
});

test('a Responses client without a limit gets as much as the model writes', async () => {
  const key = await bench.channel('anthropic', 'claude-opus-5-5');
  print(messagesAnswer);
  await bench.post('/v1/responses', key, { model: 'claude-opus-5-5', input: 'hi', reasoning: { effort: 'high' } });
  expect(bench.sent().body).toMatchObject({
    max_tokens: 128_000,
    thinking: { type: 'adaptive' },
    output_config: { effort: 'high' },
  });
  await bench.gateway.option('claude.default_max_tokens', '{"default":9000,"claude-opus-5-5":7000}');
  await bench.post('/v1/responses', key, { model: 'claude-opus-5-5', input: 'hi' });
  expect(bench.sent(1).body.max_tokens).toBe(7000);
});

test('a client that meant another model is fitted to the one it gets, member by member', async () => {
  const key = await bench.channel('anthropic', 'claude-sonnet-4-5', {
    model_mapping: JSON.stringify({ 'claude-sonnet-4-5': 'claude-opus-4-8' }),
  });
  print(messagesAnswer);
  const requested = {
    model: 'claude-sonnet-4-5',
    max_tokens: 20_000,
    temperature: 1,
    thinking: { type: 'enabled', budget_tokens: 10_000 },
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }] }],
    metadata: { user_id: 'u' },
    some_new_member: { kept: true },
  };
  await bench.post('/v1/messages', key, requested);
  const { temperature: _, ...rest } = requested;
  expect(bench.sent().body).toEqual({
    ...rest,
    model: 'claude-opus-4-8',
    thinking: { type: 'adaptive' },
    output_config: { effort: 'high' },
  });
  expect(await droppedOf()).toEqual(['/reasoning: high instead of 10000 tokens']);
});

test('a mapped chat model that takes another name for the limit, and no temperature', async () => {
  const key = await bench.channel('openai', 'gpt-4o', { model_mapping: JSON.stringify({ 'gpt-4o': 'gpt-5' }) });
  print(chatAnswer);
  const requested = { model: 'gpt-4o', messages: hi, max_tokens: 50, temperature: 0.2, logit_bias: { 1: 2 } };
  await bench.post('/v1/chat/completions', key, requested);
  expect(bench.sent().body).toEqual({
    model: 'gpt-5',
    messages: hi,
    max_completion_tokens: 50,
    logit_bias: { 1: 2 },
  });
  expect(await droppedOf()).toEqual(['/temperature: not taken by this model']);
});

test('a mapped model that takes the same changes nothing but the name', async () => {
  const key = await bench.channel('anthropic', 'claude-opus-4-8', {
    model_mapping: JSON.stringify({ 'claude-opus-4-8': 'claude-opus-4-7' }),
  });
  print(messagesAnswer);
  const requested = { model: 'claude-opus-4-8', max_tokens: 999_999, thinking: { type: 'enabled' }, messages: hi };
  await bench.post('/v1/messages', key, requested);
  expect(bench.upstream.requests[0]?.body.toString()).toBe(JSON.stringify({ ...requested, model: 'claude-opus-4-7' }));
});

test('a request that passes through is not touched', async () => {
  const key = await bench.channel('mistral', 'mistral-large-latest', {
    setting: JSON.stringify({ pass_through: true }),
  });
  print(chatAnswer);
  const requested = { model: 'mistral-large-latest', messages: hi, seed: 1, user: 'ann' };
  await bench.post('/v1/chat/completions', key, requested);
  expect(bench.upstream.requests[0]?.body.toString()).toBe(JSON.stringify(requested));
});

test('an operator’s rule is followed by the next request', async () => {
  const key = await bench.channel('openai', 'my-model-7');
  print(chatAnswer);
  const requested = {
    model: 'my-model-7',
    max_tokens: 50_000,
    temperature: 0.5,
    messages: [{ role: 'user', content: 'hi' }],
  };
  await bench.post('/v1/messages', key, requested);
  expect(bench.sent().body).toMatchObject({ max_tokens: 50_000, temperature: 0.5 });
  await bench.gateway.option(
    'model_rules',
    JSON.stringify([{ models: '^my-model', provider: 'openai', outputCap: 8192, refuses: ['temperature'] }]),
  );
  await bench.post('/v1/messages', key, requested);
  expect(bench.sent(1).body).toMatchObject({ max_tokens: 8192 });
  expect(bench.sent(1).body).not.toHaveProperty('temperature');
  expect(await droppedOf()).toEqual([
    '/temperature: not taken by this model',
    '/max_tokens: 8192 are the most that this model writes',
  ]);
});

test('an operator’s pattern decides whatever name a client thinks of, and one that cannot says nothing', () => {
  const rules = [
    { models: '^(?:(a+)+b|a+)$', outputCap: 5 },
    { models: '^a(?!b)', outputCap: 6 },
  ];
  const rows = ownRows(rules);
  expect(rows.map(({ outputCap }) => outputCap)).toEqual([5]);
  expect(targetFor('openai', 'A'.repeat(60).toLowerCase(), rows).outputCap).toBe(5);
  expect(targetFor('openai', `${'a'.repeat(60)}c`, rows).outputCap).not.toBe(5);
});

test.each([
  ['openai', 'gpt-5-high', { model: 'gpt-5', reasoning_effort: 'high' }],
  ['xai', 'grok-3-mini-beta-low', { model: 'grok-3-mini-beta', reasoning_effort: 'low' }],
  ['openrouter', 'openai/o3-mini-high', { model: 'openai/o3-mini-high' }],
  ['openai', 'my-model-high', { model: 'my-model-high' }],
])('%s: what the name %s wishes for', async (slug, model, expected) => {
  const key = await bench.channel(slug, model);
  print(chatAnswer);
  await bench.post('/v1/chat/completions', key, { model, messages: hi });
  expect(bench.sent().body).toEqual({ ...expected, messages: hi });
});

const listed = async (path: string, key: string, headers: Record<string, string> = {}) => {
  const request = new Request(`http://gateway${path}`, { headers: { authorization: `Bearer sk-${key}`, ...headers } });
  return (await (await bench.gateway.relay.handle(request, path, { ip: () => '127.0.0.1' })).json()) as Record<
    string,
    readonly Record<string, unknown>[]
  >;
};

test('lists of models have the limits of each, and none for unknown models', async () => {
  await bench.channel('gemini', 'gemini-2.5-pro,gemini-2.0-flash');
  const key = await bench.channel('anthropic', 'claude-sonnet-4-5,nobody-knows-me', {
    model_mapping: JSON.stringify({ 'claude-sonnet-4-5': 'claude-opus-4-8' }),
  });
  const { models } = await listed('/v1beta/models', key);
  const limitsOf = (name: string) => {
    const { inputTokenLimit, outputTokenLimit, thinking } =
      models?.find((card) => card.name === `models/${name}`) ?? {};
    return [inputTokenLimit, outputTokenLimit, thinking];
  };
  expect(limitsOf('gemini-2.5-pro')).toEqual([1_048_576, 65_536, true]);
  expect(limitsOf('gemini-2.0-flash')).toEqual([1_048_576, 8192, false]);
  // As the channel calls it.
  expect(limitsOf('claude-sonnet-4-5')).toEqual([1_000_000, 128_000, true]);
  expect(limitsOf('nobody-knows-me')).toEqual([undefined, undefined, undefined]);
  const chat = (await listed('/v1/models', key)).data;
  expect(chat).toContainEqual(
    expect.objectContaining({ id: 'gemini-2.0-flash', context_length: 1_048_576, max_completion_tokens: 8192 }),
  );
  expect(chat?.find(({ id }) => id === 'nobody-knows-me')).not.toHaveProperty('context_length');
  const messages = (await listed('/v1/models', key, { 'anthropic-version': '2023-06-01' })).data;
  expect(messages).toContainEqual(
    expect.objectContaining({ id: 'claude-sonnet-4-5', max_input_tokens: 1_000_000, max_tokens: 128_000 }),
  );
});
