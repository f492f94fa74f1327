/** Members that raise the upstream's price: removed and declared, or allowed and priced; every reported usage is billed. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recompute } from '../../server/contract/pricing/charge.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { silentWave } from '../support/recording-parts.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream((response) => sendJson(response, {}));
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

/** Quota of dollars per million tokens times tokens: 500,000 a dollar. */
const dollars = (...lines: readonly (readonly [tokens: number, perMillion: number])[]): number =>
  Math.round(lines.reduce((sum, [tokens, perMillion]) => sum + tokens * perMillion, 0) / 2);

const ask = async (path: string, body: unknown) => {
  const { key } = await gateway.token();
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  const text = await response.text();
  return { status: response.status, text };
};
const lastLog = async () => {
  const [row] = await gateway.logs();
  const other = JSON.parse(row?.other ?? '{}') as Record<string, unknown>;
  // Whatever was charged follows from the row alone.
  expect(recompute(other)?.quota).toBe(row?.quota);
  // To the nearest unit: what is left of one counts with the next request.
  const { carried: _, ...fields } = other;
  return { quota: recompute(fields)?.quota, other, row };
};
const sent = (): Record<string, unknown> =>
  JSON.parse(upstream.requests.at(-1)?.body.toString() ?? '{}') as Record<string, unknown>;

const completion = (more: Record<string, unknown> = {}, usage: Record<string, unknown> = {}) => ({
  id: 'c',
  object: 'chat.completion',
  model: 'gpt-4.1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10_000, completion_tokens: 2_000, total_tokens: 12_000, ...usage },
  ...more,
});
const message = (usage: Record<string, unknown>, more: Record<string, unknown> = {}) => ({
  id: 'msg',
  type: 'message',
  role: 'assistant',
  model: 'claude-opus-4-6',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  usage,
  ...more,
});
const asOpenAi = (fields = {}) => gateway.channel(upstream.url, { models: 'gpt-4.1,gpt-4o-mini,gpt-5.5', ...fields });
const asClaude = (fields = {}) =>
  gateway.channel(upstream.url, { type: 14, models: 'claude-opus-4-6,claude-sonnet-4-6,claude-fable-5', ...fields });
const allowed = { setting: '{"allow_tiers":true}' };
const hello = { messages: [{ role: 'user', content: 'hi' }] };

test('a dearer tier is taken out of the request by default, declared, and nothing else is touched', async () => {
  await asOpenAi();
  upstream.script((response) => sendJson(response, completion({ service_tier: 'default' })));
  const text = '{ "model":"gpt-4.1", "service_tier":"priority",\n "messages":[{"role":"user","content":"hi"}] }';
  expect((await ask('/v1/chat/completions', text)).status).toBe(200);
  expect(upstream.requests.at(-1)?.body.toString()).toBe(
    '{ "model":"gpt-4.1",\n "messages":[{"role":"user","content":"hi"}] }',
  );
  const { quota, other } = await lastLog();
  expect(other.dropped).toEqual(['/service_tier: priority is not allowed by the channel']);
  // gpt-4.1: $2 in, $8 out.
  expect(quota).toBe(dollars([10_000, 2], [2_000, 8]));
});

test('values that cost what nothing costs stay where they are, byte for byte', async () => {
  await asOpenAi();
  upstream.script((response) => sendJson(response, completion()));
  for (const value of ['auto', 'default', 'standard']) {
    const text = `{"model":"gpt-4.1","service_tier":"${value}","messages":[{"role":"user","content":"hi"}]}`;
    await ask('/v1/chat/completions', text);
    expect(upstream.requests.at(-1)?.body.toString()).toBe(text);
    expect((await lastLog()).other.dropped).toBeUndefined();
  }
});

test.each([
  ['priority as the answer says', 'priority', 'priority', dollars([10_000, 3.5], [2_000, 14])],
  ['asked for priority, served as default', 'priority', 'default', dollars([10_000, 2], [2_000, 8])],
  ['an answer that does not say', 'priority', undefined, dollars([10_000, 3.5], [2_000, 14])],
  ['not requested, the project has it by default', undefined, 'priority', dollars([10_000, 3.5], [2_000, 14])],
])(
  'where the channel allows it, a tier costs what the provider takes: %s',
  async (_name, requested, servedTier, expected) => {
    await asOpenAi(allowed);
    upstream.script((response) =>
      sendJson(response, completion(servedTier === undefined ? {} : { service_tier: servedTier })),
    );
    await ask('/v1/chat/completions', {
      model: 'gpt-4.1',
      ...(requested === undefined ? {} : { service_tier: requested }),
      ...hello,
    });
    expect(sent().service_tier).toBe(requested);
    // https://openai.com/api-priority-processing: gpt-4.1 $3.50 in, $14 out.
    expect((await lastLog()).quota).toBe(expected);
  },
);

test('the bill says which factor held', async () => {
  await asOpenAi(allowed);
  upstream.script((response) => sendJson(response, completion({ service_tier: 'priority' })));
  await ask('/v1/chat/completions', { model: 'gpt-4.1', service_tier: 'priority', ...hello });
  const { other } = await lastLog();
  expect(other.surcharges).toEqual({ 'service_tier:priority': 1.75 });
  expect(recompute(other)?.prices.surcharges).toEqual([{ name: 'service_tier:priority', ratio: 1.75 }]);
});

test('a discount needs the channel’s word, an echo is not enough', async () => {
  await gateway.option('TierRatio', '{"gpt-4.1":{"service_tier:flex":0.5}}');
  const id = await asOpenAi();
  upstream.script((response) => sendJson(response, completion({ service_tier: 'flex' })));
  await ask('/v1/chat/completions', { model: 'gpt-4.1', service_tier: 'flex', ...hello });
  expect(sent().service_tier).toBeUndefined();
  expect((await lastLog()).quota).toBe(dollars([10_000, 2], [2_000, 8]));
  // Nor is it for who asked for nothing.
  await ask('/v1/chat/completions', { model: 'gpt-4.1', ...hello });
  expect((await lastLog()).quota).toBe(dollars([10_000, 2], [2_000, 8]));
  await gateway.services.channels.update(id, allowed);
  await gateway.sync();
  await ask('/v1/chat/completions', { model: 'gpt-4.1', service_tier: 'flex', ...hello });
  expect(sent().service_tier).toBe('flex');
  expect((await lastLog()).quota).toBe(dollars([10_000, 1], [2_000, 4]));
});

test('a tier without a price never goes upstream; one that is reported all the same stands in the row', async () => {
  await asOpenAi(allowed);
  upstream.script((response) => sendJson(response, completion({ service_tier: 'warp' })));
  await ask('/v1/chat/completions', { model: 'gpt-4.1', service_tier: 'warp', ...hello });
  expect(sent().service_tier).toBeUndefined();
  const { other } = await lastLog();
  expect(other.dropped).toEqual(['/service_tier: warp has no price here']);
  expect(other.unpriced).toEqual(['service_tier:warp']);
});

test.each(['Service_Tier', 'serviceTier', 'SERVICE_TIER', '\u017fervice_tier'])(
  'no spelling that an upstream may fold gets past: %s',
  async (name) => {
    await asOpenAi();
    upstream.script((response) => sendJson(response, completion()));
    const { status } = await ask('/v1/chat/completions', { model: 'gpt-4.1', [name]: 'priority', ...hello });
    if (status === 200) expect(Object.keys(sent())).not.toContain(name);
    else expect(upstream.requests).toEqual([]);
  },
);

test('fast speed and a region of Claude: six times, and a tenth more', async () => {
  const id = await asClaude();
  const usage = { input_tokens: 10_000, output_tokens: 1_000, speed: 'fast', inference_geo: 'us' };
  const body = { model: 'claude-opus-4-6', max_tokens: 2_000, speed: 'fast', inference_geo: 'us', ...hello };
  upstream.script((response) => sendJson(response, message({ ...usage, speed: 'standard', inference_geo: 'global' })));
  await ask('/v1/messages', body);
  expect([sent().speed, sent().inference_geo]).toEqual([undefined, undefined]);
  const plain = await lastLog();
  // Opus 4.6: $5 in, $25 out.
  expect(plain.quota).toBe(dollars([10_000, 5], [1_000, 25]));
  expect(plain.other.dropped).toEqual([
    '/speed: fast is not allowed by the channel',
    '/inference_geo: us is not allowed by the channel',
  ]);
  await gateway.services.channels.update(id, allowed);
  await gateway.sync();
  upstream.script((response) => sendJson(response, message(usage)));
  await ask('/v1/messages', body);
  expect([sent().speed, sent().inference_geo]).toEqual(['fast', 'us']);
  // Fast mode $30 in, $150 out; US-only inference 1.1 times that.
  expect((await lastLog()).quota).toBe(dollars([10_000, 33], [1_000, 165]));
});

test('a request cannot name other models to be served by', async () => {
  const id = await asOpenAi();
  upstream.script((response) => sendJson(response, completion()));
  const body = {
    model: 'gpt-4o-mini',
    models: ['gpt-5.5'],
    fallback_models: ['gpt-5.5'],
    fallbacks: [{ model: 'gpt-5.5' }],
    ...hello,
  };
  await ask('/v1/chat/completions', body);
  expect(Object.keys(sent())).toEqual(['model', 'messages']);
  await gateway.services.channels.update(id, allowed);
  await gateway.sync();
  await ask('/v1/chat/completions', body);
  // No answer of this dialect says which model it came from, and what each took.
  expect(Object.keys(sent())).toEqual(['model', 'messages']);
});

test('a tier that a translation cannot carry is not charged', async () => {
  await asOpenAi(allowed);
  upstream.script((response) => sendJson(response, completion()));
  await gateway.option('TierRatio', '{"gpt-4.1":{"speed:fast":6,"service_tier:priority":1.75}}');
  await ask('/v1/messages', { model: 'gpt-4.1', max_tokens: 2_000, speed: 'fast', ...hello });
  expect(sent().speed).toBeUndefined();
  expect((await lastLog()).quota).toBe(dollars([10_000, 2], [2_000, 8]));
});

test('a pass-through channel passes what has a price, and the operator’s own override is charged', async () => {
  const id = await asOpenAi({ setting: '{"pass_through":true}' });
  upstream.script((response) => sendJson(response, completion()));
  await ask('/v1/chat/completions', { model: 'gpt-4.1', service_tier: 'priority', speed: 'warp', ...hello });
  expect([sent().service_tier, sent().speed]).toEqual(['priority', undefined]);
  expect((await lastLog()).quota).toBe(dollars([10_000, 3.5], [2_000, 14]));
  await gateway.services.channels.update(id, { setting: '', param_override: '{"service_tier":"priority"}' });
  await gateway.sync();
  await ask('/v1/chat/completions', { model: 'gpt-4.1', service_tier: 'default', ...hello });
  expect(sent().service_tier).toBe('priority');
  expect((await lastLog()).quota).toBe(dollars([10_000, 3.5], [2_000, 14]));
});

test('dearer terms of the operator’s own override are held for', async () => {
  const id = await asOpenAi();
  const heldNow = async () => {
    let held = 0;
    const available = () => gateway.balances.account(gateway.userId, 0).available();
    const before = available();
    upstream.script((response) => {
      held = before - available();
      sendJson(response, completion());
    });
    await ask('/v1/chat/completions', { model: 'gpt-4.1', max_tokens: 1000, ...hello });
    return held;
  };
  const fallback = await heldNow();
  await gateway.services.channels.update(id, { param_override: '{"service_tier":"priority"}' });
  await gateway.sync();
  expect((await heldNow()) / fallback).toBeCloseTo(1.75, 2);
});

test('in a stream the tier is read where it is reported', async () => {
  await asOpenAi(allowed);
  upstream.script((response) => {
    const chunk = (more: object) =>
      response.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', ...more })}\n\n`);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    chunk({ choices: [{ index: 0, delta: { content: 'hi' } }], service_tier: 'priority' });
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], service_tier: 'priority' });
    const usage = { prompt_tokens: 10_000, completion_tokens: 2_000, total_tokens: 12_000 };
    chunk({ choices: [], usage, service_tier: 'priority' });
    response.end('data: [DONE]\n\n');
  });
  await ask('/v1/chat/completions', { model: 'gpt-4.1', stream: true, service_tier: 'priority', ...hello });
  expect((await lastLog()).quota).toBe(dollars([10_000, 3.5], [2_000, 14]));
});

test('Gemini’s tier, in the request and in the answer', async () => {
  await gateway.channel(upstream.url, { type: 24, models: 'gemini-2.5-flash', ...allowed });
  upstream.script((response) =>
    sendJson(response, {
      candidates: [{ content: { parts: [{ text: 'hi' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 10_000, candidatesTokenCount: 1_000, trafficType: 'ON_DEMAND_PRIORITY' },
    }),
  );
  const path = '/v1beta/models/gemini-2.5-flash:generateContent';
  await ask(path, { contents: [{ parts: [{ text: 'hi' }] }], serviceTier: 'SERVICE_TIER_PRIORITY' });
  expect(sent().serviceTier).toBe('SERVICE_TIER_PRIORITY');
  // $0.30 and $2.50; priority 1.8 times that.
  expect((await lastLog()).quota).toBe(dollars([10_000, 0.54], [1_000, 4.5]));
});

test('a channel of one region is charged as one', async () => {
  await gateway.option('TierRatio', '{"gpt-4.1":{"region:eu":1.1}}');
  await asOpenAi({ setting: '{"region":"eu"}' });
  upstream.script((response) => sendJson(response, completion()));
  await ask('/v1/chat/completions', { model: 'gpt-4.1', ...hello });
  expect((await lastLog()).quota).toBe(dollars([10_000, 2.2], [2_000, 8.8]));
});

test('the hold covers the dearest terms', async () => {
  await asOpenAi(allowed);
  const held: number[] = [];
  upstream.script((response) => {
    held.push(1_000_000_000 - gateway.balances.account(gateway.userId, 0).available());
    sendJson(response, completion({ service_tier: 'priority' }));
  });
  await ask('/v1/chat/completions', { model: 'gpt-4.1', max_tokens: 2_000, ...hello });
  const ordinary = await lastLog();
  await ask('/v1/chat/completions', { model: 'gpt-4.1', max_tokens: 2_000, service_tier: 'priority', ...hello });
  const [plain = 0, dear = 0] = held;
  // The balance is less by the first charge; the prompt is bounded by its bytes, and the second names a tier.
  expect((dear - (ordinary.quota ?? 0)) / plain).toBeCloseTo(1.75, 1);
});

test('`speed` of speech is the pace of the voice', async () => {
  await gateway.channel(upstream.url, { models: 'tts-1' });
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' });
    response.end('x');
  });
  await ask('/v1/audio/speech', { model: 'tts-1', input: 'hello', voice: 'alloy', speed: 1.5 });
  expect(sent().speed).toBe(1.5);
});

const compacted = {
  input_tokens: 682,
  output_tokens: 1_320,
  iterations: [
    { type: 'compaction', input_tokens: 60_385, output_tokens: 592 },
    { type: 'message', input_tokens: 682, output_tokens: 1_320 },
  ],
};

test('every iteration of an answer is billed and shown', async () => {
  await asClaude();
  upstream.script((response) => sendJson(response, message(compacted)));
  await ask('/v1/messages', { model: 'claude-opus-4-6', max_tokens: 2_000, ...hello });
  const { quota, other, row } = await lastLog();
  expect(quota).toBe(dollars([60_385 + 682, 5], [592 + 1_320, 25]));
  expect([row?.prompt_tokens, row?.completion_tokens]).toEqual([61_067, 1_912]);
  expect(recompute(other)?.lines).toEqual([
    { kind: 'input', tokens: 60_385, ratio: 1, detail: '1. compaction' },
    { kind: 'output', tokens: 592, ratio: 5, detail: '1. compaction' },
    { kind: 'input', tokens: 682, ratio: 1, detail: '2. message' },
    { kind: 'output', tokens: 1_320, ratio: 5, detail: '2. message' },
  ]);
});

test('in a stream the iterations come with the end', async () => {
  await asClaude();
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = (data: { type: string; [name: string]: unknown }) =>
      response.write(`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
    event({ type: 'message_start', message: message({ input_tokens: 682, output_tokens: 1 }, { content: [] }) });
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
    event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } });
    event({ type: 'content_block_stop', index: 0 });
    event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: compacted });
    event({ type: 'message_stop' });
    response.end();
  });
  await ask('/v1/messages', { model: 'claude-opus-4-6', max_tokens: 2_000, stream: true, ...hello });
  expect((await lastLog()).quota).toBe(dollars([61_067, 5], [1_912, 25]));
});

test('an adviser’s work costs what the adviser’s model costs', async () => {
  await asClaude();
  upstream.script((response) =>
    sendJson(
      response,
      message({
        input_tokens: 2_414,
        output_tokens: 3_200,
        iterations: [
          { type: 'message', input_tokens: 1_051, output_tokens: 35 },
          { type: 'advisor_message', model: 'claude-opus-4-6', input_tokens: 2_728, output_tokens: 874 },
          { type: 'message', input_tokens: 1_363, output_tokens: 3_165 },
        ],
      }),
    ),
  );
  await ask('/v1/messages', { model: 'claude-sonnet-4-6', max_tokens: 4_000, ...hello });
  const { quota, other } = await lastLog();
  // Sonnet 4.6: $3 and $15; Opus 4.6: $5 and $25.
  expect(quota).toBe(dollars([2_414, 3], [3_200, 15], [2_728, 5], [874, 25]));
  expect(recompute(other)?.lines).toContainEqual({
    kind: 'input',
    tokens: 2_728,
    ratio: 1,
    detail: '2. advisor_message claude-opus-4-6',
    modelRatio: 2.5,
  });
});

test('more cached than there is to read is cut to the prompt; the totals hold', async () => {
  await asOpenAi();
  const usage = {
    prompt_tokens: 30,
    completion_tokens: 16,
    total_tokens: 46,
    prompt_tokens_details: { cached_tokens: 64 },
  };
  upstream.script((response) => sendJson(response, completion({}, usage)));
  await ask('/v1/chat/completions', { model: 'gpt-4.1', ...hello });
  const { quota, row } = await lastLog();
  expect([row?.prompt_tokens, row?.completion_tokens, row?.usage_source]).toEqual([30, 16, 'reported']);
  // Cached input of gpt-4.1: $0.50.
  expect(quota).toBe(dollars([30, 0.5], [16, 8]));
});

const responses = (output: unknown[], more: Record<string, unknown> = {}) => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'gpt-4.1',
  output: [...output, { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] }],
  usage: { input_tokens: 1_000, output_tokens: 100, total_tokens: 1_100 },
  ...more,
});
const tokensOnly = dollars([1_000, 2], [100, 8]);
/** Quota of dollars. */
const flat = (amount: number): number => Math.round(amount * 500_000);

test.each([
  ['two searches', [{ type: 'web_search_call' }, { type: 'web_search_call' }], flat(0.02)],
  ['a search in files', [{ type: 'file_search_call' }], flat(0.0025)],
  [
    'one container, used twice',
    [
      { type: 'code_interpreter_call', container_id: 'cntr_1' },
      { type: 'code_interpreter_call', container_id: 'cntr_1' },
    ],
    flat(0.03),
  ],
  [
    'a shell of the provider’s, and one of the client’s',
    [
      { type: 'shell_call', environment: { type: 'container_reference', container_id: 'cntr_2' } },
      { type: 'shell_call', environment: { type: 'local' } },
      { type: 'local_shell_call' },
    ],
    flat(0.03),
  ],
  [
    'a picture',
    [{ type: 'image_generation_call', quality: 'medium', size: '1024x1024', status: 'completed' }],
    flat(0.042),
  ],
  [
    'what the client runs',
    [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }, { type: 'mcp_call' }],
    0,
  ],
])('tools of a response: %s', async (_name, output, extra) => {
  await asOpenAi();
  upstream.script((response) => sendJson(response, responses(output)));
  await ask('/v1/responses', { model: 'gpt-4.1', input: 'hi' });
  expect((await lastLog()).quota).toBe(tokensOnly + extra);
});

test('a drawing model’s tokens are charged at its own prices', async () => {
  await asOpenAi();
  const image_gen = {
    input_tokens: 300,
    input_tokens_details: { image_tokens: 200, text_tokens: 100 },
    output_tokens: 1_056,
  };
  upstream.script((response) =>
    sendJson(
      response,
      responses([{ type: 'image_generation_call', quality: 'medium', size: '1024x1024' }], {
        tools: [{ type: 'image_generation', model: 'gpt-image-1' }],
        tool_usage: { image_gen, web_search: { num_requests: 0 } },
      }),
    ),
  );
  await ask('/v1/responses', { model: 'gpt-4.1', input: 'hi' });
  // gpt-image-1: text in $5, pictures in $10, pictures out $40.
  expect((await lastLog()).quota).toBe(dollars([1_000, 2], [100, 8], [100, 5], [200, 10], [1_056, 40]));
});

test('tools without a price are charged as the dearest and stand in the row', async () => {
  await asOpenAi();
  upstream.script((response) => sendJson(response, responses([{ type: 'teleport_call' }])));
  await ask('/v1/responses', { model: 'gpt-4.1', input: 'hi' });
  const { quota, other } = await lastLog();
  expect(quota).toBe(tokensOnly + flat(0.05));
  expect(other.unpriced).toEqual(['tool:teleport']);
});

test('xAI’s own count of what its agents did', async () => {
  await gateway.option('ModelRatio', '{"grok-4":1.5}');
  await gateway.option('CompletionRatio', '{"grok-4":5}');
  await gateway.channel(upstream.url, { models: 'grok-4' });
  const details = { web_search_calls: 3, x_search_calls: 2, code_interpreter_calls: 1, mcp_calls: 4 };
  upstream.script((response) =>
    sendJson(response, completion({}, { num_server_side_tools_used: 10, server_side_tool_usage_details: details })),
  );
  await ask('/v1/chat/completions', { model: 'grok-4', ...hello });
  // docs.x.ai/developers/pricing: $5 for a thousand of each; grok-4 $3 and $15.
  expect((await lastLog()).quota).toBe(dollars([10_000, 3], [2_000, 15]) + flat(6 * 0.005));
});

test.each([
  ['gemini-2.5-flash', 0.035, dollars([1_000, 0.3], [100, 2.5])],
  ['gemini-3-pro-preview', 3 * 0.014, dollars([1_000, 2], [100, 12])],
])('grounding is sold by the prompt or by the query: %s', async (model, price, tokens) => {
  await gateway.channel(upstream.url, { type: 24, models: model });
  upstream.script((response) =>
    sendJson(response, {
      candidates: [
        {
          content: { parts: [{ text: 'hi' }] },
          finishReason: 'STOP',
          groundingMetadata: { webSearchQueries: ['a', 'b', 'c'], groundingChunks: [{ maps: { placeId: 'x' } }] },
        },
      ],
      usageMetadata: { promptTokenCount: 1_000, candidatesTokenCount: 100 },
    }),
  );
  await ask(`/v1beta/models/${model}:generateContent`, { contents: [{ parts: [{ text: 'hi' }] }] });
  // Maps: $25 for a thousand grounded prompts.
  expect((await lastLog()).quota).toBe(Math.round(tokens + price * 500_000 + 0.025 * 500_000));
});

test('a second of speech costs a second', async () => {
  await gateway.channel(upstream.url, { models: 'whisper-1' });
  upstream.script((response) => sendJson(response, { text: 'hi' }));
  const { key } = await gateway.token();
  const form = new FormData();
  form.set('model', 'whisper-1');
  form.set('file', new Blob([silentWave(1)]), 'a.wav');
  const path = '/v1/audio/transcriptions';
  const headers = { authorization: `Bearer sk-${key}` };
  const request = new Request(`http://gateway${path}`, { method: 'POST', headers, body: form });
  await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  // A thousand tokens a minute, rounded to the token: 17 at ratio 15.
  expect((await lastLog()).quota).toBe(255);
});

test('rows of Claude say so, and their prompt is without the cache', async () => {
  await asClaude();
  const usage = {
    input_tokens: 100,
    cache_read_input_tokens: 1_000,
    cache_creation_input_tokens: 400,
    output_tokens: 50,
  };
  upstream.script((response) => sendJson(response, message(usage)));
  await ask('/v1/messages', { model: 'claude-opus-4-6', max_tokens: 100, ...hello });
  const { quota, other, row } = await lastLog();
  expect([other.claude, row?.prompt_tokens, other.cache_tokens, other.cache_creation_tokens]).toEqual([
    true,
    100,
    1_000,
    400,
  ]);
  // As the family's console adds it up: prompt + cache x ratio + creation x ratio, then output.
  const n = (name: string) => Number(other[name]);
  const family =
    (Number(row?.prompt_tokens) +
      n('cache_tokens') * n('cache_ratio') +
      n('cache_creation_tokens') * n('cache_creation_ratio')) *
      n('model_ratio') *
      n('group_ratio') +
    Number(row?.completion_tokens) * n('model_ratio') * n('completion_ratio') * n('group_ratio');
  expect(quota).toBe(Math.round(family));
  expect(quota).toBe(dollars([100, 5], [1_000, 0.5], [400, 6.25], [50, 25]));
});
