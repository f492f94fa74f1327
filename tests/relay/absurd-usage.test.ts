/** Counts of tokens that cannot be are not told: a client of the upstream's own dialect reads 0 in their place, and every other byte as it came. */
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { sharedGateway } from '../support/shared-gateway.ts';
import { sendJson } from '../support/upstream.ts';

const { gateway, upstream, key, row } = await sharedGateway();
const dialects = Object.keys(codecs) as ProtocolId[];

const said = 'I used {"usage": {"prompt_tokens": -5, "eval_count": -5}} of them.';
const words = JSON.stringify(said);

const requests: Readonly<Record<ProtocolId, (stream: boolean) => readonly [path: string, body: object]>> = {
  'openai-chat': (stream) => [
    '/v1/chat/completions',
    {
      stream,
      messages: [{ role: 'user', content: 'hi' }],
      stream_options: stream ? { include_usage: true } : undefined,
    },
  ],
  'openai-responses': (stream) => ['/v1/responses', { stream, input: 'hi' }],
  'anthropic-messages': (stream) => [
    '/v1/messages',
    { stream, max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] },
  ],
  'gemini-generate': (stream) => [
    `/v1beta/models/gemini-generate:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ],
  'ollama-chat': (stream) => ['/api/chat', { stream, messages: [{ role: 'user', content: 'hi' }] }],
  'cohere-chat': (stream) => ['/v2/chat', { stream, messages: [{ role: 'user', content: 'hi' }] }],
};

const sse = (...events: readonly (readonly [string, string])[]): string =>
  events.map(([event, data]) => `${event === '' ? '' : `event: ${event}\n`}data: ${data}\n\n`).join('');
const response = (n: string, output: string) =>
  `{"id":"resp_1","object":"response","status":"completed","output":[${output}],"usage": { "input_tokens": ${n},"input_tokens_details":{"cached_tokens": ${n}},"output_tokens": 20,"cost_in_usd_ticks": 158500000 }}`;
const item = `{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":${words},"annotations":[]}]}`;
const gemini = (n: string, more = '') =>
  `{"candidates":[{"content":{"role":"model","parts":[{"text":${words}}]}${more}}],"usageMetadata":{"promptTokenCount": ${n},"candidatesTokenCount":20,"promptTokensDetails":[{"modality":"TEXT","tokenCount": ${n}}]}}`;
const ollama = (n: string) =>
  `{"model":"m","created_at":"2026-11-30T00:00:00Z","message":{"role":"assistant","content":${words}},"done":true,"done_reason":"stop","total_duration":9000000000,"prompt_eval_count": ${n},"eval_count":20}`;
const message = (n: string, content: string) =>
  `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[${content}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens": ${n},"cache_creation":{"ephemeral_5m_input_tokens": ${n}},"output_tokens":20}}`;
const cohere = (n: string) =>
  `"usage":{"billed_units":{"input_tokens": ${n},"output_tokens":20},"tokens":{"input_tokens": ${n},"output_tokens":20}}`;

/** An answer in each dialect whose prompt had so many tokens: whole and streamed. */
const answers: Readonly<Record<ProtocolId, readonly [whole: (n: string) => string, streamed: (n: string) => string]>> =
  {
    'openai-chat': [
      (n) =>
        `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":${words}},"finish_reason":"stop","usage":{"prompt_tokens": ${n}}}],"usage":{"prompt_tokens": ${n}, "completion_tokens":20,"cost":0.25}}\n`,
      (n) =>
        sse(
          ['', `{"id":"x","choices":[{"index":0,"delta":{"content":${words}},"finish_reason":null}]}`],
          ['', `{"id":"x","choices":[{"index":0,"delta":{"content":${words}},"finish_reason":null}]}`],
          ['', '{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'],
          ['', `{"id":"x","choices":[],"usage":{"prompt_tokens": ${n}, "completion_tokens":20,"cost":0.25}}`],
          ['', '[DONE]'],
        ),
    ],
    'openai-responses': [
      (n) => response(n, item),
      (n) =>
        sse(
          [
            'response.output_item.added',
            `{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","content":[]}}`,
          ],
          [
            'response.output_text.delta',
            `{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":${words}}`,
          ],
          ['response.completed', `{"type":"response.completed","response":${response(n, item)}}`],
        ),
    ],
    'anthropic-messages': [
      (n) => message(n, `{"type":"text","text":${words}}`),
      (n) =>
        sse(
          ['message_start', `{"type":"message_start","message":${message(n, '')}}`],
          ['content_block_start', '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}'],
          [
            'content_block_delta',
            `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":${words}}}`,
          ],
          ['content_block_stop', '{"type":"content_block_stop","index":0}'],
          [
            'message_delta',
            `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens": ${n},"output_tokens":20}}`,
          ],
          ['message_stop', '{"type":"message_stop"}'],
        ),
    ],
    'gemini-generate': [
      (n) => gemini(n, ',"finishReason":"STOP"'),
      // What each frame repeats is known from the first one on.
      (n) => sse(['', gemini(n)], ['', gemini(n)], ['', gemini(n)], ['', gemini(n, ',"finishReason":"STOP"')]),
    ],
    'ollama-chat': [
      (n) => ollama(n),
      (n) => `{"model":"m","message":{"role":"assistant","content":${words}},"done":false}\n${ollama(n)}\n`,
    ],
    'cohere-chat': [
      (n) =>
        `{"id":"x","finish_reason":"COMPLETE","message":{"role":"assistant","content":[{"type":"text","text":${words}}]},${cohere(n)}}`,
      (n) =>
        sse(
          ['message-start', '{"type":"message-start","id":"x","delta":{"message":{"role":"assistant"}}}'],
          [
            'content-start',
            '{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":""}}}}',
          ],
          ['content-delta', `{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":${words}}}}}`],
          ['content-end', '{"type":"content-end","index":0}'],
          ['message-end', `{"type":"message-end","delta":{"finish_reason":"COMPLETE",${cohere(n)}}}`],
        ),
    ],
  };

const kinds = dialects.flatMap((dialect) => [false, true].map((stream) => [dialect, stream] as const));
const absurd = ['-1000', '1e15', '30000000', '"-7"', '1.5', '-0.25'];

async function ask(dialect: ProtocolId, stream: boolean, text: string) {
  await gateway.channel(upstream.url, { type: 199, models: dialect, setting: JSON.stringify({ dialect }) });
  const type = !stream ? 'application/json' : dialect === 'ollama-chat' ? 'application/x-ndjson' : 'text/event-stream';
  upstream.script((answer: ServerResponse) => {
    answer.writeHead(200, { 'content-type': type });
    answer.end(text);
  });
  const [path, body] = requests[dialect](stream);
  const response = await gateway.send(key, path, { model: dialect, ...body });
  const received = await response.text();
  const log = await row();
  return { status: response.status, received, source: log?.usage_source };
}

test.each(kinds)(
  '%s, streamed: %s: what cannot be of its counts is not told, and nobody is charged by it',
  async (dialect, stream) => {
    await gateway.option('SelfUseModeEnabled', 'true');
    const answer = answers[dialect][stream ? 1 : 0];
    for (const count of absurd) {
      const { status, received, source } = await ask(dialect, stream, answer(count));
      expect([count, status]).toEqual([count, 200]);
      expect(received).toBe(answer('0'));
      expect([count, source]).not.toEqual([count, 'reported']);
      for (const { id } of (await gateway.services.channels.list({}, 0, 100)).items)
        await gateway.services.channels.remove(id);
    }
  },
);

test('where more counts cannot be than any upstream states, all that stands with them is taken out', async () => {
  await gateway.channel(upstream.url, { models: 'gpt-4o' });
  const body = (usage: object) => ({
    choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
    usage,
  });
  const counts = Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`${at}_tokens`, -1]));
  upstream.script((response) => sendJson(response, body(counts)));
  const response = await gateway.chat(key, { model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] });
  expect(await response.json()).toEqual(body({}));
  await row();
});

test.each(kinds)('%s, streamed: %s: counts that can be pass as they came', async (dialect, stream) => {
  const answer = answers[dialect][stream ? 1 : 0]('1000');
  expect(await ask(dialect, stream, answer)).toEqual({ status: 200, received: answer, source: 'reported' });
});

test.each([
  [
    '/v1/embeddings',
    { input: 'hi' },
    '{"object":"list","data":[{"object":"embedding","index":0,"embedding":[-0.5,12345678.5]}],"usage":{"prompt_tokens": N,"total_tokens": N}}',
  ],
  [
    '/v1/rerank',
    { query: 'hi', documents: ['a', 'b'] },
    '{"id":"x","results":[{"index":0,"relevance_score":0.5}],"meta":{"billed_units":{"search_units": N},"tokens":{"input_tokens": N}}}',
  ],
  [
    '/v1/completions',
    { prompt: 'hi' },
    '{"id":"x","object":"text_completion","choices":[{"text":"hello","index":0,"finish_reason":"stop"}],"usage":{"prompt_tokens": N,"completion_tokens":2}}',
  ],
] as const)('an answer of %s tells no count that cannot be', async (path, body, answer) => {
  await gateway.channel(upstream.url, { models: 'gpt-4o', ...(path === '/v1/rerank' ? { type: 38 } : {}) });
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(answer.replaceAll('N', '-1000'));
  });
  const response = await gateway.send(key, path, { model: 'gpt-4o', ...body });
  expect([response.status, await response.text()]).toEqual([200, answer.replaceAll('N', '0')]);
  await row();
});
