/** An upstream that reports an error inside of its stream: the client reads why, and the log has all of it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { scenarios } from '../protocols/scenarios.ts';
import { streamOf } from '../protocols/support.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { heardOf } from '../support/heard.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
const dialects = Object.keys(codecs) as ProtocolId[];

beforeAll(async () => {
  upstream = await startUpstream(() => undefined);
  gateway = await createTestGateway();
  for (const dialect of dialects)
    await gateway.channel(upstream.url, { type: 199, models: dialect, setting: JSON.stringify({ dialect }) });
  await gateway.channel(upstream.url, { type: 101, models: 'groq' });
  await gateway.channel(upstream.url, { type: 20, models: 'openrouter' });
  await gateway.option(
    'ModelRatio',
    JSON.stringify(Object.fromEntries([...dialects, 'groq', 'openrouter'].map((model) => [model, 1]))),
  );
  key = (await gateway.token()).key;
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

const hello = [{ role: 'user', content: 'hi' }];
const requests: Readonly<Record<ProtocolId, (model: string, stream: boolean) => readonly [string, object]>> = {
  'openai-chat': (model, stream) => ['/v1/chat/completions', { model, stream, messages: hello }],
  'openai-responses': (model, stream) => ['/v1/responses', { model, stream, input: 'hi' }],
  'anthropic-messages': (model, stream) => ['/v1/messages', { model, stream, max_tokens: 9, messages: hello }],
  'gemini-generate': (model, stream) => [
    `/v1beta/models/${model}:${stream ? 'streamGenerateContent' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ],
  'ollama-chat': (model, stream) => ['/api/chat', { model, stream, messages: hello }],
  'cohere-chat': (model, stream) => ['/v2/chat', { model, stream, messages: hello }],
};

async function send(client: ProtocolId, model: string, stream = true) {
  const [path, body] = requests[client](model, stream);
  const request = new Request(`http://gateway${path}?alt=sse`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'accept-language': 'en' },
    body: JSON.stringify(body),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  const { text } = await heardOf(response);
  const row = (await gateway.logs())[0];
  const other = JSON.parse(String(row?.other)) as { admin_info: { attempts?: { message: string; status: number }[] } };
  return { status: response.status, text, row, attempts: other.admin_info.attempts };
}

const reason = 'Tool choice is required, but model did not call a tool';
const words = `${reason}, says bob@example.com of org-AbCdEf123456`;

const reported: Readonly<Record<ProtocolId, string>> = {
  'openai-chat': `event: error\ndata: ${JSON.stringify({ error: { message: words, type: 'server_error', code: 'x' } })}\n\n`,
  'openai-responses': `event: response.failed\ndata: ${JSON.stringify({ type: 'response.failed', response: { id: 'r', status: 'failed', error: { code: 'server_error', message: words } } })}\n\n`,
  'anthropic-messages': `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type: 'api_error', message: words } })}\n\n`,
  'gemini-generate': `data: ${JSON.stringify({ error: { code: 500, status: 'INTERNAL', message: words } })}\n\n`,
  'ollama-chat': `${JSON.stringify({ error: words })}\n`,
  'cohere-chat': `event: message-end\ndata: ${JSON.stringify({ type: 'message-end', delta: { error: words, finish_reason: 'ERROR' } })}\n\n`,
};

function beginning(dialect: ProtocolId): string {
  const frames = streamOf(codecs[dialect], scenarios['plain text'] ?? [])
    .split('\n\n')
    .filter((frame) => frame !== '');
  const text = frames.slice(0, frames.findIndex((frame) => frame.includes('world')) + 1).map((frame) => `${frame}\n\n`);
  return dialect === 'ollama-chat' ? text.join('').replaceAll('data: ', '').replaceAll('\n\n', '\n') : text.join('');
}

const answering = (dialect: ProtocolId, text: string) =>
  upstream.script((response) => {
    const type = dialect === 'ollama-chat' ? 'application/x-ndjson' : 'text/event-stream';
    response.writeHead(200, { 'content-type': type });
    response.end(text);
  });

const pairs = dialects.flatMap((client) => dialects.map((dialect) => [client, dialect] as const));

function holdsReason({ text, attempts, row }: Awaited<ReturnType<typeof send>>): void {
  expect(text).toContain(reason);
  for (const hidden of ['bob@', 'org-AbC']) expect(text).not.toContain(hidden);
  expect(attempts?.at(-1)?.message).toContain(words);
  expect(row?.content ?? '').not.toContain('bob@');
}

test.each(pairs)('%s client, %s upstream: the reason of an error after the first text', async (client, dialect) => {
  answering(dialect, beginning(dialect) + reported[dialect]);
  const result = await send(client, dialect);
  expect(result.status).toBe(200);
  expect(result.text).toContain('world');
  holdsReason(result);
  expect(result.row).toMatchObject({ type: 2, end_reason: 'upstream_broken' });
});

test.each(pairs)('%s client, %s upstream: the reason of an error before the first text', async (client, dialect) => {
  answering(dialect, reported[dialect]);
  const result = await send(client, dialect);
  expect(result.status).toBe(502);
  holdsReason(result);
});

test.each(pairs)('%s client that wants one piece, %s upstream: the reason of an error', async (client, dialect) => {
  answering(dialect, beginning(dialect) + reported[dialect]);
  const result = await send(client, dialect, false);
  expect(result.status).toBe(502);
  expect(result.text).not.toContain('world');
  holdsReason(result);
});

test('an error event of the Responses API that is no failed response holds its reason too', async () => {
  const event = { type: 'error', code: 'server_error', message: words, param: null };
  answering('openai-responses', `${beginning('openai-responses')}event: error\ndata: ${JSON.stringify(event)}\n\n`);
  holdsReason(await send('openai-chat', 'openai-responses'));
});

// As in recordings of these providers.
test('Groq’s error after a stream was opened is the caller’s to read, with its status', async () => {
  const error = { message: reason, type: 'invalid_request_error', code: 'tool_use_failed', status_code: 400 };
  answering('openai-chat', `${beginning('openai-chat')}event: error\ndata: ${JSON.stringify({ error })}\n\n`);
  const { text, attempts } = await send('openai-chat', 'groq');
  expect(text).toContain(`"type":"invalid_request_error","param":null,"code":"tool_use_failed"`);
  expect(text).toContain(reason);
  expect(attempts?.at(-1)).toMatchObject({ status: 400, message: reason });
});

test('OpenRouter’s error chunk holds a status, and the words of the provider behind it', async () => {
  const raw = JSON.stringify({ error: { message: 'Token limit reached' } });
  const error = { code: 400, message: 'Provider returned error', metadata: { raw, provider_name: 'X' } };
  const chunk = {
    id: 'g',
    choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
    error,
  };
  answering('openai-chat', `${beginning('openai-chat')}data: ${JSON.stringify(chunk)}\n\n`);
  const { text, attempts } = await send('anthropic-messages', 'openrouter');
  expect(text).toContain('Provider returned error: Token limit reached');
  expect(attempts?.at(-1)).toMatchObject({ status: 400 });
});

test('a stream that is cut says so, and its row has an attempt that broke', async () => {
  answering('openai-chat', beginning('openai-chat'));
  const { text, attempts } = await send('openai-chat', 'openai-chat');
  expect(text).toContain('connection dropped');
  expect(attempts).toMatchObject([{ status: 200, reason: 'broken' }]);
});
