/** Clients that did not ask for thoughts get none, as their own provider has it. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { encoder, meaning, readStream } from '../protocols/support.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, sendStream, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
let answering: (response: ServerResponse) => unknown;

beforeAll(async () => {
  upstream = await startUpstream((response) => answering(response));
  gateway = await createTestGateway();
  await gateway.channel(upstream.url, { type: 199, models: 'm,gpt-5-high', setting: '{"dialect":"openai-chat"}' });
  await gateway.channel(upstream.url, {
    type: 199,
    models: 'shown',
    setting: '{"dialect":"openai-chat","thinking_to_content":true}',
  });
  await gateway.option('SelfUseModeEnabled', 'true');
  key = (await gateway.token()).key;
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

const usage = { prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 };
const chunk = (delta: object, more: object = {}) =>
  encoder.encode(`data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta, ...more }] })}\n\n`);
const answers = {
  false: (response: ServerResponse) =>
    sendJson(response, {
      id: 'x',
      choices: [
        { index: 0, message: { role: 'assistant', content: 'Paris', reasoning_content: 'hm' }, finish_reason: 'stop' },
      ],
      usage,
    }),
  true: (response: ServerResponse) =>
    sendStream(response, [
      chunk({ reasoning_content: 'hm' }),
      chunk({ content: 'Paris' }),
      chunk({}, { finish_reason: 'stop' }),
      encoder.encode(`data: ${JSON.stringify({ id: 'x', choices: [], usage })}\n\ndata: [DONE]\n\n`),
    ]),
};

async function answerTo(client: ProtocolId, path: string, body: object, stream: boolean) {
  answering = answers[`${stream}`];
  const response = await gateway.relay.handle(
    new Request(`http://gateway${path}?alt=sse`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}` },
      body: JSON.stringify({ ...body, ...(client === 'gemini-generate' ? {} : { stream }) }),
    }),
    path,
    { ip: () => '127.0.0.1' },
  );
  const text = await response.text();
  const events = stream
    ? readStream(codecs[client], encoder.encode(text))
    : codecs[client].upstream.decodeResponse(JSON.parse(text));
  const [log] = await gateway.logs();
  const { dropped = [] } = JSON.parse(log?.other ?? '{}') as { dropped?: string[] };
  return { text, content: meaning(events), dropped };
}

const messages = [{ role: 'user', content: 'hi' }];
const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
const geminiPath = (model: string, stream: boolean) =>
  `/v1beta/models/${model}:${stream ? 'streamGenerateContent' : 'generateContent'}`;
const declared = '/reasoning: thoughts that were not asked for are left out';

const requests: readonly (readonly [name: string, client: ProtocolId, body: object, words: boolean])[] = [
  ['Messages, nothing said', 'anthropic-messages', { model: 'm', max_tokens: 9, messages }, false],
  [
    'Messages, off',
    'anthropic-messages',
    { model: 'm', max_tokens: 9, messages, thinking: { type: 'disabled' } },
    false,
  ],
  ['Messages, on', 'anthropic-messages', { model: 'm', max_tokens: 9, messages, thinking: { type: 'adaptive' } }, true],
  [
    'Messages, a budget',
    'anthropic-messages',
    { model: 'm', max_tokens: 2000, messages, thinking: { type: 'enabled', budget_tokens: 1024 } },
    true,
  ],
  ['Responses, nothing said', 'openai-responses', { model: 'm', input: 'hi' }, false],
  ['Responses, an effort', 'openai-responses', { model: 'm', input: 'hi', reasoning: { effort: 'low' } }, false],
  ['Responses, a summary', 'openai-responses', { model: 'm', input: 'hi', reasoning: { summary: 'auto' } }, true],
  ['Gemini, nothing said', 'gemini-generate', { contents }, false],
  [
    'Gemini, thoughts',
    'gemini-generate',
    { contents, generationConfig: { thinkingConfig: { includeThoughts: true } } },
    true,
  ],
  [
    'Gemini, thoughts in the other spelling',
    'gemini-generate',
    { contents, generation_config: { thinking_config: { include_thoughts: true } } },
    true,
  ],
];

test.each(requests)('%s', async (_name, client, body, words) => {
  const path =
    client === 'anthropic-messages' ? '/v1/messages' : client === 'openai-responses' ? '/v1/responses' : null;
  for (const stream of [false, true]) {
    const { text, content, dropped } = await answerTo(client, path ?? geminiPath('m', stream), body, stream);
    expect(content).toMatchObject({ text: 'Paris', thoughts: words ? 'hm' : '', finish: 'stop', output: 9 });
    expect(dropped.includes(declared)).toBe(!words);
    if (client === 'anthropic-messages' && !words) {
      expect(text).not.toContain('thinking');
      if (!stream) expect(JSON.parse(text).content[0]).toEqual({ type: 'text', text: 'Paris' });
    }
  }
});

test('a name that asks for thoughts, and an operator who wants them in the answer, are heard', async () => {
  const requested = { max_tokens: 9000, messages };
  const named = await answerTo('anthropic-messages', '/v1/messages', { ...requested, model: 'gpt-5-high' }, true);
  expect(named.content).toMatchObject({ text: 'Paris', thoughts: 'hm' });
  const visible = await answerTo('anthropic-messages', '/v1/messages', { ...requested, model: 'shown' }, true);
  expect(visible.content.text).toContain('hm');
});

test('the signature that a later turn needs is sent without its thought', () => {
  const gemini = codecs['gemini-generate'].translation.encodeResponse(
    [
      { type: 'reasoning-start', index: 0 },
      { type: 'reasoning-end', index: 0, signature: 's', redacted: null, origin: 'gemini-generate' },
      { type: 'reasoning-start', index: 1 },
      { type: 'reasoning-end', index: 1, signature: null, redacted: null },
      { type: 'finish', reason: { unified: 'stop', raw: null } },
    ],
    { model: 'm', responseId: 'r', created: 1, includeUsage: false },
  );
  expect(gemini).toMatchObject({ candidates: [{ content: { parts: [{ text: '', thoughtSignature: 's' }] } }] });
  expect((gemini as { candidates: { content: { parts: unknown[] } }[] }).candidates[0]?.content.parts).toHaveLength(1);
});
