/** What a request has its provider do besides running the model is reserved at most and charged: by what the answer reports, else by the most it can be. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { recompute } from '../../server/contract/pricing/charge.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, sendStream, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream((response) => sendJson(response, completion()));
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const completion = (usage: object = {}, more: object = {}) => ({
  id: 'c',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100, ...usage },
  ...more,
});
const response = (output: readonly object[] = [], more: object = {}) => ({
  id: 'resp',
  object: 'response',
  status: 'completed',
  model: 'gpt-4.1',
  output: [...output, { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] }],
  usage: { input_tokens: 1_000, output_tokens: 100, total_tokens: 1_100 },
  ...more,
});
const message = {
  id: 'msg',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 10, output_tokens: 1 },
};
/** gpt-4.1: $2 in, $8 out. */
const tokensOnly = 1_400;
const flat = (dollars: number): number => Math.round(dollars * 500_000);
const hello = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'hi' }] };

const ask = async (path: string, body: unknown) => {
  const { key } = await gateway.token();
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const answer = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  return { status: answer.status, text: await answer.text() };
};
const chat = (more: object) => ask('/v1/chat/completions', { ...hello, ...more });
const channel = (fields: object = {}) => gateway.channel(upstream.url, { models: 'gpt-4.1,gpt-4.1:online', ...fields });
const lastLog = async () => {
  const [row] = await gateway.logs();
  const other = JSON.parse(row?.other ?? '{}') as Record<string, unknown>;
  // Whatever was charged follows from the row alone.
  expect(recompute(other)?.quota).toBe(row?.quota);
  return { quota: row?.quota, other };
};
const sent = (): string => upstream.requests.at(-1)?.body.toString() ?? '';
/** Quota that is set aside while the upstream works. */
const heldFor = async (body: object, answer: object = completion()) => {
  let held = 0;
  const available = () => gateway.balances.account(gateway.userId, 0).available();
  const before = available();
  upstream.script((reply) => {
    held = before - available();
    sendJson(reply, answer);
  });
  await ask('input' in body ? '/v1/responses' : '/v1/chat/completions', body);
  return held;
};

describe('searches that a member of a chat asks for', () => {
  test.each([
    ['web_search_options', { web_search_options: { search_context_size: 'high' } }, 'web_search_options', 1, 0.025],
    ['a plugin', { plugins: [{ id: 'web' }] }, 'web_plugin', 5, 0.02],
    ['a plugin with more results', { plugins: [{ id: 'web', max_results: 10 }] }, 'web_plugin', 10, 0.04],
    ['the same twice', { plugins: [{ id: 'web' }, { id: 'web', max_results: 10 }] }, 'web_plugin', 10, 0.04],
    ['enable_search', { enable_search: true }, 'enable_search', 1, 0.01],
    ['a search of results', { search_parameters: { mode: 'on' } }, 'live_search', 20, 0.5],
    ['a search of few results', { search_parameters: { max_search_results: 2 } }, 'live_search', 2, 0.05],
    ['web_search', { web_search: { enable: true } }, 'web_search', 1, 0.01],
    ['connectors', { connectors: [{ id: 'web-search' }] }, 'web_search', 1, 0.01],
    ['a tool', { tools: [{ type: 'web_search', web_search: { enable: true } }] }, 'web_search', 1, 0.01],
    [
      'a function of the provider',
      { tools: [{ type: 'builtin_function', function: { name: '$web_search' } }] },
      'builtin_web_search',
      1,
      0.005,
    ],
    ['a wrapper', { extra_body: { enable_search: true } }, 'enable_search', 1, 0.01],
    ['a wrapper in a wrapper', { vendor: { extra: { plugins: ['web'] } } }, 'web_plugin', 5, 0.02],
  ])('%s: charged where the answer says nothing of it', async (_name, members, tool, calls, dollars) => {
    await channel();
    expect((await chat(members)).status).toBe(200);
    expect(JSON.parse(sent())).toMatchObject(members);
    const { quota, other } = await lastLog();
    expect(quota).toBe(tokensOnly + flat(dollars));
    expect(other.tools).toEqual({ [tool]: { calls, price: dollars / calls } });
  });

  test.each([
    ['the suffix of a model', { model: 'gpt-4.1:online' }],
    ['an escaped name', `{"model":"gpt-4.1","messages":[],"plug\\u0069ns":[{"id":"web"}]}`],
    ['another spelling', { Plugins: [{ ID: 'web' }] }],
    ['another spelling in a wrapper', { extra_body: { PlugIns: [{ Id: 'WEB' }] } }],
  ])('%s asks for it as well', async (_name, request) => {
    await channel();
    await gateway.option('ModelRatio', '{"gpt-4.1":1,"gpt-4.1:online":1}');
    const { status } = await (typeof request === 'string' ? ask('/v1/chat/completions', request) : chat(request));
    // A name that only some would read so is refused like every billed name.
    if (status === 400) return expect(upstream.requests).toHaveLength(0);
    expect((await lastLog()).other.tools).toEqual({ web_plugin: { calls: 5, price: 0.004 } });
  });

  test.each([
    ['switched off', { enable_search: false, search_parameters: { mode: 'off' }, web_search: { enable: false } }],
    ['null', { web_search_options: null, plugins: null }],
    [
      'words of a conversation',
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'x', plugins: ['web'] }] }] },
    ],
    ['schemas', { response_format: { type: 'json_schema', json_schema: { schema: { enable_search: true } } } }],
    [
      'functions',
      { tools: [{ type: 'function', function: { name: 'web_search', parameters: { plugins: ['web'] } } }] },
    ],
  ])('%s asks for nothing', async (_name, members) => {
    await channel();
    expect((await chat(members)).status).toBe(200);
    expect((await lastLog()).quota).toBe(tokensOnly);
  });

  test.each([
    ['as often as it searched', { enable_search: true }, { plugins: { search: { count: 3 } } }, { enable_search: 3 }],
    ['not at all', { search_parameters: {} }, { num_sources_used: 0 }, undefined],
    ['by its sources', { search_parameters: {} }, { num_sources_used: 4 }, { live_search: 4 }],
    [
      'by what it found',
      { plugins: [{ id: 'web', max_results: 3 }] },
      { server_tool_use: { web_search_requests: 2 } },
      { web_plugin: 6 },
    ],
    [
      'by the search of the answer',
      { web_search_options: {} },
      { search_context_size: 'low' },
      { 'search_request-low': 1 },
    ],
  ])('what the answer reports is charged: %s', async (_name, members, usage, expected) => {
    await channel();
    upstream.script((reply) => sendJson(reply, completion(usage)));
    await chat(members);
    const { tools } = (await lastLog()).other as { tools?: Record<string, { calls: number }> };
    expect(tools && Object.fromEntries(Object.entries(tools).map(([tool, { calls }]) => [tool, calls]))).toEqual(
      expected,
    );
  });

  test('the most it can be is held', async () => {
    await channel();
    const plain = await heldFor({ ...hello, max_tokens: 1 });
    const searching = await heldFor({ ...hello, max_tokens: 1, plugins: [{ id: 'web', max_results: 10 }] });
    expect(searching - plain).toBeGreaterThanOrEqual(flat(0.04));
  });

  test('a tool that is not sent to another dialect costs nothing', async () => {
    await gateway.channel(upstream.url, { type: 14, models: 'gpt-4.1' });
    upstream.script((reply) =>
      sendJson(reply, {
        id: 'msg',
        type: 'message',
        role: 'assistant',
        content: [{ type: 'text', text: 'hi' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 1_000, output_tokens: 100 },
      }),
    );
    await chat({ enable_search: true });
    const { quota, other } = await lastLog();
    expect(quota).toBe(tokensOnly);
    expect(other.dropped).toEqual(['/enable_search: not known to the upstream']);
  });

  test('an administrator sets the price', async () => {
    await channel();
    await gateway.option('ToolPrices', '{"enable_search":0.5,"enable_search:gpt-4*":0.002}');
    await chat({ enable_search: true });
    expect((await lastLog()).quota).toBe(tokensOnly + flat(0.002));
  });
});

describe('tools of a response', () => {
  const respond = (tools: readonly object[], output: readonly object[] = [], more: object = {}) => {
    upstream.script((reply) => sendJson(reply, response(output, more)));
    return ask('/v1/responses', { model: 'gpt-4.1', input: 'hi', tools });
  };

  test.each([
    ['1g', 0.03],
    ['4g', 0.12],
    ['16g', 0.48],
    ['64g', 1.92],
    ['64G', 1.92],
    ['unheard', 1.92],
  ])('a container of %s costs what its memory costs', async (memory_limit, dollars) => {
    await channel();
    const tools = [{ type: 'code_interpreter', container: { type: 'auto', memory_limit } }];
    await respond(tools, [{ type: 'code_interpreter_call', container_id: 'cntr_1' }]);
    expect((await lastLog()).quota).toBe(tokensOnly + flat(dollars));
    await respond(tools);
    expect((await lastLog()).quota).toBe(tokensOnly);
  });

  test('a container’s memory is held for', async () => {
    await channel();
    const body = (memory_limit: string) => ({
      model: 'gpt-4.1',
      input: 'hi',
      max_output_tokens: 1,
      tools: [{ type: 'shell', environment: { type: 'container_auto', memory_limit } }],
    });
    expect((await heldFor(body('64g'), response())) - (await heldFor(body('16g'), response()))).toBeGreaterThanOrEqual(
      flat(1.92 - 0.48) - 10,
    );
  });

  test('a tool that no row knows goes out as it is, is held for and charged as the dearest, and stands in the row', async () => {
    await channel();
    const tools = [{ type: 'teleport', to: 'Mars' }];
    await respond(tools, [{ type: 'teleport_call' }, { type: 'teleport_call' }]);
    expect(JSON.parse(sent())).toMatchObject({ tools });
    const { quota, other } = await lastLog();
    expect(quota).toBe(tokensOnly + 2 * flat(0.05));
    expect(other.unpriced).toEqual(['tool:teleport']);
    const body = { model: 'gpt-4.1', input: 'hi', max_output_tokens: 1 };
    const plain = await heldFor(body, response());
    expect((await heldFor({ ...body, tools }, response())) - plain).toBeGreaterThanOrEqual(flat(5 * 0.05));
  });

  test('a chat’s tool that no row knows is charged once, for no answer would say', async () => {
    await channel();
    await chat({ tools: [{ type: 'teleport' }] });
    const { quota, other } = await lastLog();
    expect(quota).toBe(tokensOnly + flat(0.05));
    expect(other.unpriced).toEqual(['tool:teleport']);
  });

  test('more tools of the provider than a bill has room for are refused', async () => {
    await channel();
    const { status } = await respond(Array.from({ length: 129 }, (_, at) => ({ type: `teleport${at}` })));
    expect(status).toBe(400);
    expect(upstream.requests).toHaveLength(0);
  });

  test('tools that the client runs cost nothing', async () => {
    await channel();
    const tools = ['local_shell', 'apply_patch', 'computer_use_preview', 'custom', 'namespace', 'tool_search', 'mcp'];
    await respond(tools.map((type) => ({ type, name: type })));
    expect((await lastLog()).quota).toBe(tokensOnly);
  });

  test('searches that were seen before the client left are charged', async () => {
    await channel();
    const events = [
      { type: 'response.created', response: { id: 'resp', model: 'gpt-4.1' } },
      { type: 'response.output_item.done', output_index: 0, item: { type: 'web_search_call', id: 'ws_1' } },
      { type: 'response.output_item.done', output_index: 1, item: { type: 'web_search_call', id: 'ws_2' } },
      { type: 'response.output_text.delta', output_index: 2, content_index: 0, delta: 'four words were said' },
    ];
    upstream.script((reply) =>
      sendStream(
        reply,
        events.map((event) => Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)),
      ),
    );
    await ask('/v1/responses', { model: 'gpt-4.1', input: 'hi', stream: true, tools: [{ type: 'web_search' }] });
    const { tools } = (await lastLog()).other;
    expect(tools).toEqual({ web_search: { calls: 2, price: 0.01 } });
  });
});

describe('members that choose who serves it', () => {
  test.each([
    ['provider', { provider: { order: ['dear'] } }, 'provider.order'],
    ['a wrapper', { extra_body: { provider: { sort: 'throughput' } } }, 'extra_body.provider.sort'],
  ])('%s: refused by name, unless a channel allows it', async (_name, members, named) => {
    const id = await channel();
    const { status, text } = await chat(members);
    expect(status).toBe(400);
    expect(text).toContain(named);
    expect(upstream.requests).toHaveLength(0);
    await gateway.services.channels.update(id, { setting: '{"allow_tiers":true}' });
    await gateway.sync();
    expect((await chat(members)).status).toBe(200);
    expect(JSON.parse(sent())).toMatchObject(members);
  });

  test.each([
    ['vllm', 109, true],
    ['OpenRouter', 20, false],
    ['an address of the operator’s', 8, false],
    ['a maker’s API behind such an address', 43, false],
  ])('%s: read where somebody chooses among hosts alone', async (_name, type, isServed) => {
    await channel({ type });
    expect((await chat({ provider: { order: ['dear'] } })).status).toBe(isServed ? 200 : 400);
    expect(upstream.requests).toHaveLength(isServed ? 1 : 0);
  });

  test('a translation leaves it out', async () => {
    await gateway.channel(upstream.url, { type: 14, models: 'gpt-4.1' });
    const answer = { type: 'message', content: [{ type: 'text', text: 'hi' }], stop_reason: 'end_turn' };
    upstream.script((reply) => sendJson(reply, { ...answer, usage: { input_tokens: 3, output_tokens: 2 } }));
    expect((await chat({ provider: { order: ['dear'] } })).status).toBe(200);
    expect(sent()).not.toContain('dear');
    expect((await lastLog()).other.dropped).toContain('/provider: not known to the upstream');
  });

  test('the channel that does not read the tool serves', async () => {
    await channel({ type: 20, priority: 5 });
    const id = await channel({ type: 109 });
    expect((await chat({ provider: { order: ['dear'] } })).status).toBe(200);
    expect((await lastLog()).other.admin_info).toMatchObject({ use_channel: [String(id)] });
  });

  test('members that only keep data private pass', async () => {
    await channel();
    expect((await chat({ provider: { data_collection: 'deny', zdr: true } })).status).toBe(200);
  });
});

describe('what an answer holds and its client has no place for', () => {
  const hologram = { type: 'hologram', depth: 1 };
  const events = [
    { type: 'message_start', message: { id: 'msg_1', model: 'm', usage: { input_tokens: 3, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: hologram },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: 'hi' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'glow_delta' } },
    { type: 'content_block_stop', index: 1 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
    { type: 'message_stop' },
  ];
  const listed = (...kinds: string[]) => kinds.map((kind) => `/output: ${kind} has no place in the client's format`);

  test('stands in the log, streamed and whole, and costs nothing besides', async () => {
    await gateway.channel(upstream.url, { type: 14, models: 'gpt-4.1' });
    upstream.script((reply) =>
      sendStream(
        reply,
        events.map((event) => Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)),
      ),
    );
    expect((await chat({ stream: true })).text).toContain('hi');
    const streamed = await lastLog();
    expect(streamed.other.dropped).toEqual(listed('hologram', 'glow_delta'));
    upstream.script((reply) =>
      sendJson(reply, {
        ...{ type: 'message', content: [hologram, { type: 'text', text: 'hi' }], stop_reason: 'end_turn' },
        usage: { input_tokens: 3, output_tokens: 2 },
      }),
    );
    expect((await chat({})).text).toContain('hi');
    const whole = await lastLog();
    expect([whole.other.dropped, whole.quota]).toEqual([listed('hologram'), streamed.quota]);
  });
});

describe('terms within a wrapper', () => {
  test.each([
    ['extra_body', { extra_body: { service_tier: 'priority', keep: 1 } }, '/extra_body/service_tier'],
    ['another spelling', { extra_body: { Service_Tier: 'priority', keep: 1 } }, '/extra_body/Service_Tier'],
    ['deeper', { options: { openai: { serviceTier: 'priority' }, keep: 1 } }, '/options/openai/serviceTier'],
  ])('%s: taken out and declared', async (_name, members, path) => {
    await channel();
    expect((await chat(members)).status).toBe(200);
    expect(sent()).not.toContain('priority');
    expect(sent()).toContain('"keep":1');
    expect((await lastLog()).other.dropped).toEqual([`${path}: priority is not allowed by the channel`]);
  });

  test('allowed, they stay and are charged', async () => {
    await channel({ setting: '{"allow_tiers":true}' });
    await chat({ extra_body: { service_tier: 'priority' } });
    expect(sent()).toContain('"extra_body":{"service_tier":"priority"}');
    expect((await lastLog()).other.surcharges).toEqual({ 'service_tier:priority': 1.75 });
  });
});

describe('what the provider gives the model to read is held for', () => {
  const claude = () => gateway.channel(upstream.url, { type: 14, models: 'gpt-4.1' });
  const heldAt = async (path: string, more: object): Promise<number> => {
    let held = 0;
    const available = () => gateway.balances.account(gateway.userId, 0).available();
    const before = available();
    upstream.script((reply) => {
      held = before - available();
      sendJson(reply, {});
    });
    const said = path === '/v1/responses' ? { input: 'hi', max_output_tokens: 16 } : { ...hello, max_tokens: 16 };
    await ask(path, { model: 'gpt-4.1', ...said, ...more });
    return held;
  };

  test.each<readonly [string, object, number]>([
    ['/v1/responses', { tools: [{ type: 'web_search' }] }, 50_000],
    ['/v1/responses', { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }, 50_000],
    ['/v1/responses', { tools: [{ type: 'mcp', server_label: 'x', server_url: 'https://x.example' }] }, 1_000_000],
    ['/v1/chat/completions', { plugins: [{ id: 'web' }] }, 50_000],
    ['/v1/messages', { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 20 }] }, 200_000],
    ['/v1/messages', { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] }, 1_000_000],
    ['/v1/messages', { mcp_servers: [{ type: 'url', url: 'https://x.example', name: 'x' }] }, 1_000_000],
  ])('%s %j', async (path, more, tokens) => {
    await (path === '/v1/messages' ? claude() : channel());
    // Two dollars a million: a quota a token.
    expect((await heldAt(path, more)) - (await heldAt(path, {}))).toBeGreaterThanOrEqual(tokens);
  });

  test.each([
    ['/v1/responses', 'web_search'],
    ['/v1/chat/completions', 'web_search'],
    ['/v1/messages', 'web_search_20250305'],
  ])('and no less of it by a limit that not every host heeds: %s', async (path, type) => {
    await (path === '/v1/messages' ? claude() : channel());
    const usual = await heldAt(path, { tools: [{ type, name: 'web_search' }] });
    const limited = await heldAt(path, { tools: [{ type, name: 'web_search', max_uses: 1 }] });
    expect(limited).toBeGreaterThanOrEqual(usual);
  });

  test.each([
    ['gpt-5.4', '/v1/responses', { type: 'web_search' }],
    ['gpt-5-codex', '/v1/responses', { type: 'web_search' }],
    ['claude-sonnet-4-5', '/v1/messages', { type: 'web_search_20250305', name: 'web_search', max_uses: 8 }],
    ['claude-opus-4-6', '/v1/messages', { type: 'web_search_20250305', name: 'web_search', max_uses: 8 }],
  ])(
    'an agent that may always search works with a dollar, at the provider’s own address: %s',
    async (model, path, tool) => {
      await gateway.close();
      const answer = path === '/v1/messages' ? message : response();
      const upstreamFetch = (async () => Response.json(answer)) as unknown as typeof fetch;
      gateway = await createTestGateway({ quota: flat(1), upstreamFetch });
      await gateway.channel('', { type: path === '/v1/messages' ? 14 : 1, models: model });
      const words = 'word '.repeat(10_000);
      const said =
        path === '/v1/messages'
          ? { max_tokens: 32_000, messages: [{ role: 'user', content: words }] }
          : { input: words };
      expect((await ask(path, { model, ...said, tools: [tool] })).status).toBe(200);
    },
  );

  test('a summary of the conversation reads all of it again', async () => {
    await claude();
    const messages = [{ role: 'user', content: 'words '.repeat(20_000) }];
    const plain = await heldAt('/v1/messages', { messages });
    const context_management = { edits: [{ type: 'compact_20260112' }] };
    expect(await heldAt('/v1/messages', { messages, context_management })).toBeGreaterThan(1.9 * plain);
  });

  test('what the client runs, and what leaves the prompt shorter, is not', async () => {
    await claude();
    const plain = await heldAt('/v1/messages', {});
    const edits = [{ type: 'clear_tool_uses_20250919' }, { type: 'clear_thinking_20251015', keep: 'all' }];
    const more = { context_management: { edits }, tools: [{ name: 'x', input_schema: { type: 'object' } }] };
    expect((await heldAt('/v1/messages', more)) - plain).toBeLessThan(2_000);
  });
});
