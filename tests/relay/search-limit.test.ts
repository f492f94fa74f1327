/** Searches of a provider are limited to what the balance carries, where their own host heeds a limit; other tools hold what they held. */
import { afterEach, expect, test } from 'vitest';
import type { ChannelFields } from '../../server/domain/channels/service.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
/** What the upstream was sent, and what was held meanwhile. */
let sent: { readonly body: Record<string, unknown>; readonly text: string; readonly held: number }[];

const message = {
  id: 'msg',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 10, output_tokens: 1 },
};
const response = {
  id: 'resp',
  object: 'response',
  status: 'completed',
  output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] }],
  usage: { input_tokens: 10, output_tokens: 1, total_tokens: 11 },
};

/** A unit for each token, and 5,000 for a search. */
const start = async (quota: number, fields: ChannelFields) => {
  sent = [];
  gateway = await createTestGateway({
    quota,
    upstreamFetch: (async (url: string | URL, init?: RequestInit) => {
      const text = await new Response(init?.body as BodyInit).text();
      const held = quota - gateway.balances.account(gateway.userId, 0).available();
      sent.push({ text, body: JSON.parse(text), held });
      return Response.json(String(url).includes('/messages') ? message : response);
    }) as typeof fetch,
  });
  await gateway.channel('', { models: 'gpt-4.1,gpt-4', ...fields });
  await gateway.option('ModelRatio', '{"gpt-4.1":1,"gpt-4":1}');
  await gateway.option('CompletionRatio', '{"gpt-4.1":1,"gpt-4":1}');
  await gateway.option('ToolPrices', '{"web_search":0.01}');
};
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
});

const anthropic = { type: 14 };
const openai = { type: 1 };
const search = { type: 'web_search_20250305', name: 'web_search' };
const own = { name: 'mine', input_schema: { type: 'object', properties: { n: { maximum: 1.0e2 } } } };
const messages = async (tools: readonly object[], more: object = {}) => {
  const { key } = await gateway.token();
  const body = { model: 'gpt-4.1', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }], tools, ...more };
  return gateway.send(key, '/v1/messages', body);
};
const responses = async (tools: readonly object[], more: object = {}) => {
  const { key } = await gateway.token();
  return gateway.send(key, '/v1/responses', { model: 'gpt-4.1', input: 'hi', max_output_tokens: 100, tools, ...more });
};

/** Tokens and fee of one search. What was found is read again after each further one. */
const each = 15_000;
const two = 3 * 10_000 + 2 * 5000;
const five = 15 * 10_000 + 5 * 5000;

test('a balance that does not carry five searches has as many as leave half of it, and holds for these', async () => {
  await start(1_000_000, anthropic);
  await messages([own, search]);
  expect(sent[0]?.body.tools).toEqual([own, search]);
  expect(sent[0]?.held).toBeGreaterThan(five);
  expect(sent[0]?.held).toBeLessThan(1.04 * five);
  await gateway.close();
  await start(2.2 * two, anthropic);
  expect((await messages([own, search])).status).toBe(200);
  expect(sent[0]?.body).toMatchObject({ max_tokens: 100, tools: [own, { ...search, max_uses: 2 }] });
  expect(sent[0]?.held).toBeGreaterThan(two);
  expect(sent[0]?.held).toBeLessThan(1.1 * two);
});

test('the request that is limited keeps every byte of its other members, and what its tools say', async () => {
  await start(1.5 * each, anthropic);
  const { key } = await gateway.token();
  const before =
    '{ "model":"gpt-4.1","max_tokens" : 100,"x":1.0e2,"messages":[{"role":"user","content":"h\\u0069"}],"tools":';
  const tools = `[{"name":"mine","input_schema":{"type":"object","maximum":12345678901234567890}},{"type":"${search.type}","name":"web_search"}]`;
  await gateway.send(key, '/v1/messages', `${before}${tools}}`);
  expect(sent[0]?.text).toBe(`${before}${tools.slice(0, -2)},"max_uses":1}]}`);
});

test('a limit of the client that is lower stays, and lowers no hold', async () => {
  await start(1.2 * five, anthropic);
  await messages([{ ...search, max_uses: 1 }]);
  expect(sent[0]?.held).toBeGreaterThan(five);
  await gateway.close();
  await start(2.2 * two, anthropic);
  await messages([{ ...search, max_uses: 1 }]);
  expect(sent[0]?.body.tools).toEqual([{ ...search, max_uses: 1 }]);
  expect(sent[0]?.held).toBeGreaterThan(two);
});

test('a search that takes nearly all shortens the answer besides; a refusal names what one search and the shortest answer take', async () => {
  await start(each + 2000, anthropic);
  expect((await messages([search], { max_tokens: 4000 })).status).toBe(200);
  expect(sent[0]?.body.tools).toEqual([{ ...search, max_uses: 1 }]);
  expect(sent[0]?.body.max_tokens).toBeLessThan(300);
  await gateway.close();
  await start(1000, anthropic);
  await gateway.option('DisplayInCurrencyEnabled', 'false');
  const refused = await messages([search]);
  expect(refused.status).toBe(429);
  const need = Number(/([\d,.]+) needed/.exec((await refused.json()).error.message)?.[1]?.replaceAll(',', ''));
  expect(need).toBeGreaterThan(each);
  await gateway.close();
  await start(need, anthropic);
  expect((await messages([search])).status).toBe(200);
  await gateway.close();
  await start(need - 1, anthropic);
  expect((await messages([search])).status).toBe(429);
});

test('Responses are limited by the number of calls of the whole request', async () => {
  await start(2.2 * two, openai);
  expect((await responses([{ type: 'web_search' }])).status).toBe(200);
  expect(sent[0]?.body).toMatchObject({ max_tool_calls: 2, tools: [{ type: 'web_search' }] });
  expect(sent[0]?.held).toBeLessThan(1.1 * two);
  await responses([{ type: 'web_search' }], { max_tool_calls: 1 });
  expect(sent[1]?.body.max_tool_calls).toBe(1);
});

test('a window that is smaller than what is looked up bounds each reading of it, and fewer are asked for as elsewhere', async () => {
  // Five fees, and 8,192 tokens to read after each.
  const all = 6 * 8192 + 5 * 5000;
  await start(Math.ceil(1.1 * all), anthropic);
  expect((await messages([search], { model: 'gpt-4' })).status).toBe(200);
  expect(sent[0]?.body.tools).toEqual([search]);
  expect(sent[0]?.held).toBeGreaterThan(5 * 8192 + 5 * 5000);
  expect(sent[0]?.held).toBeLessThan(all + 200);
  await gateway.close();
  await start(2 * each, anthropic);
  expect((await messages([search], { model: 'gpt-4' })).status).toBe(200);
  expect(sent[0]?.body.tools).toEqual([{ ...search, max_uses: 1 }]);
});

const long = 'word '.repeat(20_000);
const longTurn = { messages: [{ role: 'user', content: long }] };
const server = [{ type: 'url', url: 'https://x.example', name: 'x' }];
const fetching = { type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 12 };
const remote = { type: 'mcp', server_label: 'x', server_url: 'https://x.example' };
const picture = { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } };
test.each<readonly [string, number, ChannelFields, () => Promise<Response>]>([
  ['as many searches as its tool names', 12, anthropic, () => messages([{ ...search, max_uses: 12 }], longTurn)],
  ['five where none are named', 5, anthropic, () => messages([search], longTurn)],
  [
    'those of two searches',
    8 + 5,
    anthropic,
    () =>
      messages(
        [
          { ...search, max_uses: 8 },
          { ...search, name: 'other' },
        ],
        longTurn,
      ),
  ],
  ['pages that are fetched', 12, anthropic, () => messages([fetching], longTurn)],
  ['five calls of a server of the caller\u2019s', 5, openai, () => responses([remote], { input: long })],
  [
    'as many calls as the request names for all its tools',
    12,
    openai,
    () => responses([{ type: 'web_search' }], { input: long, max_tool_calls: 12 }),
  ],
  [
    'so many in another spelling',
    12,
    openai,
    () => responses([{ type: 'web_search' }, { type: 'file_search' }], { input: long, maxToolCalls: 12 }),
  ],
])('a prompt is held for once more after each call: %s', async (_name, calls, fields, asked) => {
  await start(10_000_000, fields);
  expect((await asked()).status).toBe(200);
  // What was found by then is read each time as well, a thousand tokens a call.
  expect(sent[0]?.held).toBeGreaterThan((calls + 1) * 20_000 + (calls * (calls + 1) * 1000) / 2);
  // All that they may find is a part of it: no more than if each had found a tenth of the window.
  expect(sent[0]?.held).toBeLessThan((calls + 1) * (110_000 + 1_047_576 / 5));
});

/** Held for the same request with these tools. */
const heldFor = async (tools: readonly object[], more: object = {}): Promise<number> => {
  await messages(tools, { ...longTurn, ...more });
  return sent.at(-1)?.held ?? 0;
};

test('a tool without a bound lowers nothing of what many searches are held for', async () => {
  await start(500_000_000, anthropic);
  const many = { ...search, max_uses: 300 };
  const alone = await heldFor([many]);
  // More than a window in all, which is what a server takes once.
  expect(alone).toBeGreaterThan(2 * 1_047_576 + 301 * 20_000);
  expect(await heldFor([many], { mcp_servers: server })).toBeGreaterThan(alone);
  expect(await heldFor([many, fetching])).toBeGreaterThan(alone);
});

test('each call that a request allows may be of the tool that finds most', async () => {
  await start(500_000_000, openai);
  const most = async (tools: readonly object[]) => {
    await responses(tools, { input: long, max_tool_calls: 12 });
    return sent.at(-1)?.held ?? 0;
  };
  const files = { type: 'file_search', max_num_results: 50 };
  expect(await most([files, { type: 'web_search' }])).toBeGreaterThanOrEqual(await most([files]));
});

test('all the calls that a request allows may be of one priced tool, beside tools of as many calls', async () => {
  await start(500_000_000, openai);
  // Fifteen calls as they are.
  const tools = [{ type: 'web_search' }, remote, remote];
  const held = async (more: object) => {
    await responses(tools, more);
    return sent.at(-1)?.held ?? 0;
  };
  const more = (await held({ max_tool_calls: 12 })) - (await held({}));
  expect(more).toBeGreaterThanOrEqual((12 - 5) * 5000);
  // And the letters that say so, as often as they are read.
  expect(more).toBeLessThan((12 - 5) * 5000 + 1000);
});

test('a picture of the prompt is held for once more after each call too', async () => {
  await start(10_000_000, anthropic);
  const withPicture = { messages: [{ role: 'user', content: [picture] }] };
  for (const tools of [[], [search]]) for (const more of [{}, withPicture]) await messages(tools, more);
  const [plain = 0, pictured = 0, searched = 0, both = 0] = sent.map(({ held }) => held);
  expect(pictured).toBeGreaterThan(plain);
  expect(both - searched).toBeGreaterThanOrEqual(5.9 * (pictured - plain));
});

test('a number of calls where nothing is looked up holds nothing', async () => {
  await start(10_000_000, openai);
  await responses([], { max_tool_calls: 100 });
  expect(sent[0]?.held).toBeLessThan(2000);
});

test('where a request names many searches, it asks for as many as the balance carries', async () => {
  await start(1_000_000, anthropic);
  expect((await messages([{ ...search, max_uses: 100 }], longTurn)).status).toBe(200);
  const [tool] = (sent[0]?.body.tools ?? []) as readonly { readonly max_uses: number }[];
  expect(tool?.max_uses).toBeGreaterThan(2);
  expect(tool?.max_uses).toBeLessThan(20);
  expect(sent[0]?.held).toBeLessThanOrEqual(1_000_000);
  expect(sent[0]?.held).toBeGreaterThan(((tool?.max_uses ?? 0) + 1) * 20_000);
});

const fetched = { type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 1, max_content_tokens: 100 };
test.each<readonly [string, ChannelFields, () => Promise<Response>]>([
  [
    'the host is not the provider\u2019s own',
    { ...anthropic, base_url: 'http://proxy.test' },
    () => messages([search]),
  ],
  ['the host is another provider\u2019s', { type: 43 }, () => messages([search])],
  ['the channel passes bodies through', { ...anthropic, setting: '{"pass_through":true}' }, () => messages([search])],
  ['the operator overrides the tools', { ...anthropic, param_override: '{"tools":[]}' }, () => messages([search])],
  ['the request is translated', anthropic, () => responses([{ type: 'web_search' }])],
  ['there are two searches', anthropic, () => messages([search, { ...search, name: 'other' }])],
  ['its limit stands in two spellings', anthropic, () => messages([{ ...search, maxUses: 1 }])],
  ['its limit is no number', anthropic, () => messages([{ ...search, max_uses: '1' }])],
  ['its limit is below one', anthropic, () => messages([{ ...search, max_uses: 0 }])],
  ['its type stands in two spellings', anthropic, () => messages([{ ...search, Type: 'web_search_x' }])],
  ['another tool is sold by the call', openai, () => responses([{ type: 'web_search' }, { type: 'image_generation' }])],
  ['a wrapper holds tools', anthropic, () => messages([search], { extra_body: { tools: [search] } })],
  [
    'a turn adds a tool',
    anthropic,
    () => messages([search], { messages: [{ role: 'user', content: [{ tool: { definition: search } }] }] }),
  ],
  ['a page is fetched, whatever its limits say', anthropic, () => messages([fetched])],
  ['a page is fetched besides', anthropic, () => messages([search, fetched])],
  ['a server of the caller\u2019s is asked besides', anthropic, () => messages([search], { mcp_servers: server })],
  [
    'the prompt may be read again',
    anthropic,
    () => messages([search], { context_management: { edits: [{ type: 'compact_20260112' }] } }),
  ],
  [
    'a server of the caller\u2019s is asked',
    openai,
    () => responses([{ type: 'mcp', server_label: 'x', server_url: 'https://x.example' }], { max_tool_calls: 1 }),
  ],
  [
    'the limit of calls stands in two spellings',
    openai,
    () => responses([{ type: 'web_search' }], { maxToolCalls: 9 }),
  ],
])('today\u2019s hold stays where %s', async (_name, fields, asked) => {
  await start(4.2 * each, fields);
  const answer = await asked();
  expect([403, 429]).toContain(answer.status);
  expect(sent).toEqual([]);
});
