/** A streamed response ends at a word of the operator's list: reported in the client's dialect, billed as far as it was delivered. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createWordWatch } from '../../server/relay/delivery/stop-words.ts';
import { deliveredTextOf } from '../../server/relay/shared/delivered-text.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendStream, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;

const chunk = (content: string, finish: string | null = null) =>
  `data: ${JSON.stringify({
    ...{ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o' },
    choices: [{ index: 0, delta: { content }, finish_reason: finish }],
  })}\n\n`;
const usage = `data: ${JSON.stringify({
  ...{ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o', choices: [] },
  usage: { prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500 },
})}\n\n`;
const event = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const item = { id: 'm', type: 'message', role: 'assistant', status: 'in_progress', content: [] };
/** The same in the dialect of responses, which this upstream speaks as well. */
const asResponse = (chunks: readonly string[]): readonly string[] => [
  event('response.created', { response: { id: 'r', object: 'response', status: 'in_progress', output: [] } }),
  event('response.output_item.added', { output_index: 0, item }),
  ...chunks.map((delta) =>
    event('response.output_text.delta', { item_id: 'm', output_index: 0, content_index: 0, delta }),
  ),
  event('response.completed', {
    response: {
      ...{ id: 'r', object: 'response', status: 'completed', output: [] },
      usage: { input_tokens: 1000, output_tokens: 500, total_tokens: 1500 },
    },
  }),
];
/** What the upstream says, piece by piece. */
const upstreamSends = (...chunks: readonly string[]) =>
  upstream.script((response, { path }) => {
    const frames = path.endsWith('/responses')
      ? asResponse(chunks)
      : [...chunks.map((piece) => chunk(piece)), chunk('', 'stop'), usage, 'data: [DONE]\n\n'];
    return sendStream(
      response,
      frames.map((text) => new TextEncoder().encode(text)),
    );
  });

beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream(() => undefined);
  await gateway.channel(upstream.url, { type: 1, models: 'gpt-4o' });
  await gateway.option('ModelRatio', '{"gpt-4o":1}');
  await gateway.option('SensitiveWords', 'Forbidden\n禁词');
  await gateway.option('StopOnSensitiveEnabled', 'true');
  ({ key } = await gateway.token());
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const messages = [{ role: 'user', content: 'hi' }];
const dialects: Readonly<Record<string, readonly [path: string, body: object, expected: RegExp]>> = {
  chat: ['/v1/chat/completions', { messages }, /"error":\{"message":"The response was stopped/],
  completions: ['/v1/completions', { prompt: 'hi' }, /"error":\{"message":"The response was stopped/],
  messages: ['/v1/messages', { messages, max_tokens: 100 }, /event: error\ndata: \{"type":"error"/],
  responses: ['/v1/responses', { input: 'hi' }, /event: error\n|"type":"(error|response\.failed)"/],
  gemini: [
    '/v1beta/models/gpt-4o:streamGenerateContent?alt=sse',
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
    /"error":\{"code":400/,
  ],
  ollama: ['/api/chat', { messages }, /"error":"The response was stopped/],
};

const ask = async (dialect: string): Promise<string> => {
  const [path, body] = dialects[dialect] ?? ['', {}];
  const request = new Request(`http://gateway.example${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json', 'accept-language': 'en' },
    body: JSON.stringify({ model: 'gpt-4o', stream: true, ...body }),
  });
  const response = await gateway.relay.handle(request, new URL(request.url).pathname, { ip: () => '127.0.0.1' });
  // Some dialects break the connection off behind an error.
  const reader = response.body?.getReader();
  let text = '';
  const decoder = new TextDecoder();
  try {
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read())
      text += decoder.decode(read.value, { stream: true });
  } catch {
    // What came is what counts.
  }
  return text;
};

test.each(Object.keys(dialects))('%s: a word in pieces ends the stream before it is whole', async (dialect) => {
  upstreamSends('All is ', 'well, for', 'BID', 'den fruit', ' is sweet');
  const text = await ask(dialect);
  expect(text).toContain('well, for');
  expect(text).toContain('BID');
  expect(text).not.toContain('den fruit');
  expect(text).not.toContain('sweet');
  expect(text).toMatch(dialects[dialect]?.[2] ?? /never/);
  const [log] = await gateway.logs();
  // Two words and a half, not the five hundred of the whole answer.
  expect(log).toMatchObject({ end_reason: 'word_cut' });
  expect(log?.completion_tokens).toBeGreaterThan(0);
  expect(log?.completion_tokens).toBeLessThan(10);
  expect(await gateway.verify()).toEqual([]);
});

test('a word at the very beginning is not delivered either', async () => {
  upstreamSends('这是禁词。', 'more');
  const text = await ask('chat');
  expect(text).not.toContain('禁词');
  expect(text).toContain('answer_stopped');
  expect((await gateway.logs())[0]).toMatchObject({ end_reason: 'word_cut', completion_tokens: 0 });
});

test('an answer is not stopped where no word is found, nor where the option is off', async () => {
  upstreamSends('All is for', 'bid', 'ding');
  expect(await ask('chat')).toContain('[DONE]');
  expect((await gateway.logs())[0]).toMatchObject({ end_reason: 'completed', completion_tokens: 500 });
  await gateway.option('StopOnSensitiveEnabled', 'false');
  upstreamSends('the forbidden fruit');
  expect(await ask('chat')).toContain('the forbidden fruit');
  await gateway.option('StopOnSensitiveEnabled', 'true');
  await gateway.option('CheckSensitiveEnabled', 'false');
  expect(await ask('chat')).toContain('the forbidden fruit');
});

test('the watch reads every text once, and there is none without words', () => {
  expect(createWordWatch([])).toBe(null);
  const watch = createWordWatch(['ab', 'xyz']);
  const texts: string[] = [];
  const isListening = (text: string) => {
    texts.push(text);
    return watch?.(deliveredTextOf(texts));
  };
  expect(['x', 'y', 'a', 'xa', 'x', 'y', 'z'].map(isListening)).toEqual([
    false,
    false,
    false,
    false,
    false,
    false,
    true,
  ]);
  expect(isListening('A')).toBe(false);
  expect(isListening('B')).toBe(true);
});
