/** Clients of Cohere's second chat API: translated for other upstreams, passed unchanged to Cohere's own. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;

beforeAll(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream(() => undefined);
  await gateway.channel(upstream.url, { type: 34, models: 'command-a' });
  await gateway.channel(upstream.url, { type: 1, models: 'gpt-4o' });
  await gateway.option('ModelRatio', '{"command-a":1,"gpt-4o":1}');
  key = (await gateway.token()).key;
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

const post = (body: string) =>
  gateway.relay.handle(
    new Request('http://gateway/v2/chat', { method: 'POST', headers: { authorization: `Bearer sk-${key}` }, body }),
    '/v2/chat',
    { ip: () => '127.0.0.1' },
  );
const lastBody = () => String(upstream.requests.at(-1)?.body ?? '');
const event = (type: string, members: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;

test('bytes pass untouched between Cohere’s clients and Cohere, and the bill is read on the way', async () => {
  const stream =
    event('message-start', { id: 'c1', delta: { message: { role: 'assistant', content: [] } } }) +
    event('content-start', { index: 0, delta: { message: { content: { type: 'text', text: '' } } } }) +
    event('content-delta', {
      index: 0,
      delta: { message: { content: { text: 'Hello' } } },
      logprobs: { token_ids: [1] },
    }) +
    event('content-end', { index: 0 }) +
    event('message-end', {
      delta: { finish_reason: 'COMPLETE', usage: { billed_units: { input_tokens: 7, output_tokens: 3 } } },
    });
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(stream);
  });
  const body = '{"model":"command-a", "stream":true,"safety_mode":"OFF","messages":[{"role":"user","content":"hi"}]}';
  const response = await post(body);
  expect(await response.text()).toBe(stream);
  expect(lastBody()).toBe(body);
  expect(upstream.requests.at(-1)?.path).toBe('/v2/chat');
  expect((await gateway.logs())[0]).toMatchObject({
    quota: 7 + 3 * 4,
    prompt_tokens: 7,
    completion_tokens: 3,
    usage_source: 'reported',
  });
});

test('tools, plans and documents reach another upstream, and its calls come back as Cohere’s', async () => {
  const call = { id: 'call_1', type: 'function', function: { name: 'now', arguments: '{"zone":"CET"}' } };
  upstream.script((response) =>
    sendJson(response, {
      id: 'x',
      object: 'chat.completion',
      created: 1,
      model: 'gpt-4o',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Looking', tool_calls: [call] },
          finish_reason: 'tool_calls',
        },
      ],
      usage: { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 },
    }),
  );
  const tool = { name: 'now', description: 'time', parameters: { type: 'object', properties: {} } };
  const response = await post(
    JSON.stringify({
      model: 'gpt-4o',
      max_tokens: 40,
      p: 0.5,
      stop_sequences: ['END'],
      tool_choice: 'REQUIRED',
      tools: [{ type: 'function', function: tool }],
      messages: [
        { role: 'user', content: 'when?' },
        { role: 'assistant', tool_plan: 'I look', tool_calls: [{ ...call, id: 'a' }] },
        { role: 'tool', tool_call_id: 'a', content: [{ type: 'document', document: { data: 'noon' } }] },
      ],
    }),
  );
  expect(await response.json()).toMatchObject({
    finish_reason: 'TOOL_CALL',
    message: { role: 'assistant', tool_plan: 'Looking', tool_calls: [call] },
    usage: { billed_units: { input_tokens: 20, output_tokens: 5 }, tokens: { input_tokens: 20, output_tokens: 5 } },
  });
  expect(JSON.parse(lastBody())).toMatchObject({
    top_p: 0.5,
    stop: ['END'],
    tool_choice: 'required',
    tools: [{ type: 'function', function: tool }],
    messages: [
      { role: 'user' },
      { role: 'assistant', content: 'I look', tool_calls: [{ id: 'a' }] },
      { role: 'tool', tool_call_id: 'a', content: 'noon' },
    ],
  });
});

test('an error is a message, with the request’s id', async () => {
  const response = await post('{"model":"nothing","messages":[]}');
  expect(response.status).toBe(404);
  expect(await response.json()).toEqual({ id: expect.any(String), message: expect.stringContaining('nothing') });
});

test.each([
  '{"model":"gpt-4o","Max_Tokens":5,"messages":[]}',
  '{"model":"gpt-4o","max_tokens":5,"max_tokens":50000,"messages":[]}',
  '{"model":"gpt-4o","thinking":{"token_budget":1,"Token_Budget":90000},"messages":[]}',
])('what another parser could read otherwise is refused: %s', async (body) => {
  expect((await post(body)).status).toBe(400);
});
