/** Responses that differ from their dialect's form reach clients in that form. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const listed = {
  role: 'assistant',
  content: [
    { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
    { type: 'text', text: 'hi' },
  ],
  tool_calls: [{ id: 'abcdefghi', function: { name: 'f', arguments: '{}' } }],
};
const tagged = { role: 'assistant', content: '<think>\nhm</think>\n\n{"a":1}' };

beforeAll(async () => {
  upstream = await startUpstream((response, { body }) => {
    const { model } = JSON.parse(body.toString('utf8')) as { model: string };
    const message = model.startsWith('sonar') ? tagged : listed;
    sendJson(response, {
      id: 'x',
      object: 'chat.completion',
      created: 1,
      model,
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage,
      own: 'member',
    });
  });
  gateway = await createTestGateway();
  await gateway.channel(upstream.url, { type: 42, models: 'mistral-large-latest' });
  await gateway.channel(upstream.url, { type: 27, models: 'sonar-reasoning-pro' });
  await gateway.option('SelfUseModeEnabled', 'true');
  key = (await gateway.token()).key;
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

test('the upstream’s own id of an answer stays', async () => {
  const body = { model: 'mistral-large-latest', messages: [{ role: 'user', content: 'hi' }] };
  expect((await answerTo(body)).id).toBe('x');
});

async function answerTo(
  body: object,
): Promise<{ id: string; choices: readonly { message: Record<string, unknown> }[]; own?: string }> {
  const path = '/v1/chat/completions';
  const response = await gateway.relay.handle(
    new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], ...body }),
    }),
    path,
    { ip: () => '127.0.0.1' },
  );
  expect(response.status).toBe(200);
  return (await response.json()) as Awaited<ReturnType<typeof answerTo>>;
}

test('calls without a type and thoughts in lists are written as chat completions have them', async () => {
  const { choices } = await answerTo({ model: 'mistral-large-latest' });
  expect(choices[0]?.message).toEqual({
    role: 'assistant',
    content: 'hi',
    refusal: null,
    reasoning_content: 'hm',
    tool_calls: [{ id: 'abcdefghi', type: 'function', function: { name: 'f', arguments: '{}' } }],
  });
});

test('several choices pass unchanged: only one can be translated', async () => {
  const { own } = await answerTo({ model: 'mistral-large-latest', n: 2 });
  expect(own).toBe('member');
});

test('a client that asked for JSON gets no thought in front of it, another one gets the bytes', async () => {
  const structured = await answerTo({ model: 'sonar-reasoning-pro', response_format: { type: 'json_schema' } });
  expect(structured.choices[0]?.message).toMatchObject({ content: '{"a":1}', reasoning_content: 'hm' });
  const plain = await answerTo({ model: 'sonar-reasoning-pro' });
  expect(plain.choices[0]?.message).toEqual(tagged);
  expect(plain.own).toBe('member');
});
