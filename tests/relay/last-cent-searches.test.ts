/** A conversation that may search the web goes on with what its provider has cached, as others do: what a search may read and cost is held besides. */
import { afterEach, expect, test } from 'vitest';
import { UserSlot } from '../../server/billing/balances/slot.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
/** As they were sent. */
let bodies: Readonly<Record<string, unknown>>[];
/** Searches that the next answer makes. */
let searches: number;
/** Pieces of the next answer that is streamed, each when it is asked for. */
let pieces: (() => Promise<string>)[];

afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
});

const model = 'gpt-5';
const long = 'some words of a long prompt '.repeat(2858);
let tokens = 20_000;

async function begin() {
  bodies = [];
  tokens = 20_000;
  searches = 0;
  pieces = [];
  const upstreamFetch = async (_url: string, init?: { readonly body?: unknown }) => {
    const { body } = init ?? {};
    bodies.push(JSON.parse(typeof body === 'string' ? body : Buffer.from(body as Uint8Array).toString()));
    const cached = bodies.length === 1 ? 0 : tokens - (tokens % 128);
    const message = { id: 'm', type: 'message', role: 'assistant', status: 'completed', content: [] };
    const made = Array.from({ length: searches }, (_, at) => ({
      ...{ id: `ws_${at}`, type: 'web_search_call', status: 'completed' },
      action: { type: 'search', query: 'words' },
    }));
    const whole = {
      ...{ id: 'r', object: 'response', created_at: 1, model, status: 'completed', output: [...made, message] },
      usage: {
        ...{ input_tokens: tokens + 100, output_tokens: 20, total_tokens: tokens + 120 },
        ...{ input_tokens_details: { cached_tokens: cached }, output_tokens_details: { reasoning_tokens: 0 } },
      },
    };
    if (bodies.at(-1)?.stream !== true) return Response.json(whole);
    async function* frames() {
      for (const piece of pieces)
        yield frame({ type: 'response.output_text.delta', output_index: 0, item_id: 'm', delta: await piece() });
      yield frame({ type: 'response.completed', response: whole });
    }
    return new Response(frames() as unknown as ReadableStream, { headers: { 'content-type': 'text/event-stream' } });
  };
  const frame = (event: { readonly type: string; readonly [member: string]: unknown }) =>
    new TextEncoder().encode(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  gateway = await createTestGateway({
    ...{ quota: 2_000_000, limits: { checkpointMs: 0 } },
    upstreamFetch: upstreamFetch as unknown as typeof fetch,
  });
  await gateway.channel('', { type: 1, models: model });
  const { memory } = gateway.balances.money;
  const { user } = gateway.balances.account(gateway.userId, 0);
  memory.set(user + UserSlot.paidIn, 2_000_000);
  const { key } = await gateway.token();
  const input = [long, 'go on'].map((content) => ({ role: 'user', content }));
  const body = { model, input, max_output_tokens: 200, tools: [{ type: 'web_search' }] };
  return {
    turn: (members: object = {}) => gateway.send(key, '/v1/responses', { ...body, ...members }),
    leave: (quota: number) => memory.set(user + UserSlot.balance, quota),
  };
}

// A turn costs 1,250 for what is cached and 1,000 for its answer at most; a search 5,000, 10,000 tokens that it reads: 6,250, and
// what is cached once more.
const forOneSearch = 16_000;

test('a search goes on where the cached prompt and one search can be paid for, and no further one is allowed', async () => {
  const { turn, leave } = await begin();
  // The first one writes, and is not told so; the second reads.
  for (let times = 0; times < 2; times++) expect((await turn()).status).toBe(200);
  await gateway.ledger.drain();
  leave(forOneSearch);
  // How many calls it allows is no part of its prompt.
  expect((await turn({ max_tool_calls: 3 })).status).toBe(200);
  expect(bodies.map(({ max_tool_calls: calls }) => calls)).toEqual([undefined, undefined, 1]);
  await gateway.ledger.drain();
  leave(2000);
  expect((await turn()).status).toBe(429);
});

test('the cached prompt is held for once more, because it is read again after a search', async () => {
  const { turn, leave } = await begin();
  for (let times = 0; times < 2; times++) expect((await turn()).status).toBe(200);
  await gateway.ledger.drain();
  // Enough for one search and a short answer, were the prompt read once.
  leave(13_300);
  expect((await turn()).status).toBe(429);
});

test('a prompt that nothing is known of is held for at its full price, and so is one after a search that ran', async () => {
  const { turn, leave } = await begin();
  leave(forOneSearch);
  expect((await turn()).status).toBe(429);
  leave(2_000_000);
  expect((await turn()).status).toBe(200);
  searches = 1;
  expect((await turn()).status).toBe(200);
  await gateway.ledger.drain();
  leave(forOneSearch);
  expect((await turn()).status).toBe(429);
  expect(bodies).toHaveLength(2);
});

test('the cached prompt is not proven where a tool reads without a bound', async () => {
  const { turn, leave } = await begin();
  const tools = [{ type: 'web_search' }, { type: 'mcp', server_label: 's', server_url: 'https://mcp.example' }];
  for (let times = 0; times < 2; times++) expect((await turn({ tools })).status).toBe(200);
  await gateway.ledger.drain();
  leave(forOneSearch);
  expect((await turn({ tools })).status).toBe(429);
});

test('a stream that may search is not cut while what it owes is its cached prompt at the price of the cache, and holds for what it delivers', async () => {
  const { turn, leave } = await begin();
  // Four times as long: 50,000 at its full price, 5,000 from the cache and as much once more.
  const input = [long.repeat(4), 'go on'].map((content) => ({ role: 'user', content }));
  tokens = 80_000;
  for (let times = 0; times < 2; times++) expect((await turn({ input })).status).toBe(200);
  await gateway.ledger.drain();
  leave(30_000);
  const available = () => gateway.balances.account(gateway.userId, 0).available();
  const held: number[] = [];
  const piece = (delta: string) => async () => {
    // What was delivered before is looked at.
    await new Promise((done) => setImmediate(done));
    held.push(30_000 - available());
    return delta;
  };
  pieces = ['some ', 'words '.repeat(100), 'of it'].map(piece);
  const text = await (await turn({ input, stream: true, max_output_tokens: 1000 })).text();
  expect(text).toContain('response.completed');
  expect(bodies.at(-1)?.max_tool_calls).toBe(1);
  for (const hold of held) {
    // Both readings of the prompt, and the search with what it finds.
    expect(hold).toBeGreaterThan(2 * 5000 + 11_250);
    expect(hold).toBeLessThanOrEqual(30_000);
  }
  expect(held.at(-1)).toBeGreaterThanOrEqual(held[0] ?? 0);
  await gateway.ledger.drain();
  expect((await gateway.logs())[0]?.end_reason).not.toBe('quota_cut');
});
