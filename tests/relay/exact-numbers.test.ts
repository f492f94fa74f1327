/** Numbers that a double does not hold keep their digits through every translation: ids of many sites are such numbers. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { ExactNumber, parseExact } from '../../server/protocols/shared/json.ts';
import { withLimit } from '../../server/relay/admission/answer-limit.ts';
import { parse } from '../../server/relay/intake/parse.ts';
import { exactBody, type ParsedRequest } from '../../server/relay/intake/parsed-request.ts';
import { readPrompt } from '../../server/relay/intake/prompt.ts';
import { relayRouteFor } from '../../server/relay/intake/routes.ts';
import { answersOf } from '../../server/routing/multipliers.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

const dialects = Object.keys(codecs) as ProtocolId[];
const pairs = dialects.flatMap((client) =>
  dialects.flatMap((upstream) => (client === upstream ? [] : [[client, upstream] as const])),
);
const both = pairs.flatMap(([client, upstream]) => [false, true].map((stream) => [client, upstream, stream] as const));

const values =
  '"a":9007199254740993,"b":[12345678901234567890,-9007199254740993],"c":{"d":0.1234567890123456789,"e":1e400}';
const found = values.replaceAll('"a"', '"found"');
const limits =
  '"minimum":-9007199254740993,"maximum":12345678901234567890,"enum":[9007199254740993,12345678901234567890],"default":0.1234567890123456789';
const schema = `{"type":"object","properties":{"id":{"type":"integer",${limits}}}}`;
const argumentText = JSON.stringify(`{${values}}`);
const result = JSON.stringify(`{${found}}`);
const chatTools = `[{"type":"function","function":{"name":"find","parameters":${schema}}}]`;

/** A conversation with a call, its result, and a tool, as each client writes it. */
const requests: Readonly<Record<ProtocolId, (model: string, stream: boolean) => { path: string; body: string }>> = {
  'openai-chat': (model, stream) => ({
    path: '/v1/chat/completions',
    body: `{"model":"${model}","stream":${stream},"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"find","arguments":${argumentText}}}]},{"role":"tool","tool_call_id":"c1","content":${result}}],"tools":${chatTools}}`,
  }),
  'openai-responses': (model, stream) => ({
    path: '/v1/responses',
    body: `{"model":"${model}","stream":${stream},"input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c1","name":"find","arguments":${argumentText}},{"type":"function_call_output","call_id":"c1","output":${result}}],"tools":[{"type":"function","name":"find","parameters":${schema}}]}`,
  }),
  'anthropic-messages': (model, stream) => ({
    path: '/v1/messages',
    body: `{"model":"${model}","stream":${stream},"max_tokens":100,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"find","input":{${values}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":${result}}]}],"tools":[{"name":"find","input_schema":${schema}}]}`,
  }),
  'gemini-generate': (model, stream) => ({
    path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent' : 'generateContent'}`,
    body: `{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"name":"find","args":{${values}}}}]},{"role":"user","parts":[{"functionResponse":{"name":"find","response":{${found}}}}]}],"tools":[{"functionDeclarations":[{"name":"find","parameters":${schema.replace('"object"', '"OBJECT"').replace('"integer"', '"INTEGER"')}}]}]}`,
  }),
  'ollama-chat': (model, stream) => ({
    path: '/api/chat',
    body: `{"model":"${model}","stream":${stream},"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"find","arguments":{${values}}}}]},{"role":"tool","tool_name":"find","content":${result}}],"tools":${chatTools}}`,
  }),
  'cohere-chat': (model, stream) => ({
    path: '/v2/chat',
    body: `{"model":"${model}","stream":${stream},"messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"find","arguments":${argumentText}}}]},{"role":"tool","tool_call_id":"c1","content":${result}}],"tools":${chatTools}}`,
  }),
};

const sse = (...events: readonly (readonly [string, string])[]): string =>
  events.map(([event, data]) => `${event === '' ? '' : `event: ${event}\n`}data: ${data}\n\n`).join('');
const item = `{"type":"function_call","id":"fc_1","call_id":"c1","name":"find","status":"completed","arguments":${argumentText}}`;
const responseDone = `{"id":"resp_1","status":"completed","output":[${item}],"usage":{"input_tokens":3,"output_tokens":2}}`;
const message = (content: string) =>
  `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[${content}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":2}}`;
const gemini = `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"find","args":{${values}}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2}}`;
const ollama = `{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"find","arguments":{${values}}}}]},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":2}`;
const chatCall = (index: string) =>
  `"tool_calls":[{${index}"id":"c1","type":"function","function":{"name":"find","arguments":${argumentText}}}]`;
const chatUsage = '"usage":{"prompt_tokens":3,"completion_tokens":2}';
const cohereUsage = '"usage":{"tokens":{"input_tokens":3,"output_tokens":2}}';

/** A call with such arguments, as each upstream writes it: whole and streamed. */
const answers: Readonly<Record<ProtocolId, readonly [whole: string, streamed: string]>> = {
  'openai-chat': [
    `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":null,${chatCall('')}},"finish_reason":"tool_calls"}],${chatUsage}}`,
    sse(
      ['', `{"id":"x","choices":[{"index":0,"delta":{${chatCall('"index":0,')}},"finish_reason":null}]}`],
      ['', `{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],${chatUsage}}`],
      ['', '[DONE]'],
    ),
  ],
  'openai-responses': [
    responseDone,
    sse(
      ['response.output_item.done', `{"type":"response.output_item.done","output_index":0,"item":${item}}`],
      ['response.completed', `{"type":"response.completed","response":${responseDone}}`],
    ),
  ],
  'anthropic-messages': [
    message(`{"type":"tool_use","id":"c1","name":"find","input":{${values}}}`),
    sse(
      ['message_start', `{"type":"message_start","message":${message('')}}`],
      [
        'content_block_start',
        '{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c1","name":"find","input":{}}}',
      ],
      [
        'content_block_delta',
        `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":${argumentText}}}`,
      ],
      ['content_block_stop', '{"type":"content_block_stop","index":0}'],
      ['message_delta', '{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}'],
      ['message_stop', '{"type":"message_stop"}'],
    ),
  ],
  'gemini-generate': [gemini, sse(['', gemini])],
  'ollama-chat': [ollama, `${ollama}\n`],
  'cohere-chat': [
    `{"id":"x","finish_reason":"TOOL_CALL","message":{"role":"assistant",${chatCall('')}},${cohereUsage}}`,
    sse(
      ['message-start', '{"type":"message-start","id":"x"}'],
      [
        'tool-call-start',
        `{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"c1","type":"function","function":{"name":"find","arguments":${argumentText}}}}}}`,
      ],
      ['tool-call-end', '{"type":"tool-call-end","index":0}'],
      ['message-end', `{"type":"message-end","delta":{"finish_reason":"TOOL_CALL",${cohereUsage}}}`],
    ),
  ],
};

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
let answering: (response: ServerResponse) => void;

beforeAll(async () => {
  upstream = await startUpstream((response) => answering(response));
  gateway = await createTestGateway();
  for (const dialect of dialects)
    await gateway.channel(upstream.url, { type: 199, models: dialect, setting: JSON.stringify({ dialect }) });
  await gateway.option('SelfUseModeEnabled', 'true');
  key = (await gateway.token()).key;
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

const ask = (path: string, body: string) =>
  gateway.relay.handle(
    new Request(`http://gateway${path}?alt=sse`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}` },
      body,
    }),
    path,
    { ip: () => '127.0.0.1' },
  );

const exchange = async (client: ProtocolId, model: ProtocolId, stream: boolean) => {
  const [whole, streamed] = answers[model];
  answering = (response) => {
    const lines = model === 'ollama-chat' ? 'application/x-ndjson' : 'text/event-stream';
    response.writeHead(200, { 'content-type': stream ? lines : 'application/json' });
    response.end(stream ? streamed : whole);
  };
  const { path, body } = requests[client](model, stream);
  const response = await ask(path, body);
  const answer = await response.text();
  expect([response.status, answer]).toEqual([200, answer]);
  const sent = upstream.requests.at(-1)?.body.toString('utf8') ?? '';
  return { sent: unescaped(sent), answer: unescaped(answer) };
};

/** Arguments are text in some dialects and objects in the others: what both have in common. */
const unescaped = (text: string): string => text.replaceAll('\\', '');

test.each(both)('%s client, %s upstream, stream %s: numbers keep their digits', async (client, model, stream) => {
  const { sent, answer } = await exchange(client, model, stream);
  for (const digits of [values, found, limits]) expect(sent).toContain(digits);
  expect(answer).toContain(values);
});

test('a request that is rewritten in its own dialect keeps them too', async () => {
  await gateway.channel(upstream.url, { type: 33, key: 'key|us-east-1', models: 'claude-sonnet-4-5' });
  answering = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(answers['anthropic-messages'][0]);
  };
  const { path, body } = requests['anthropic-messages']('claude-sonnet-4-5', false);
  const response = await ask(path, body);
  expect(await response.text()).toContain(values);
  const sent = unescaped(upstream.requests.at(-1)?.body.toString('utf8') ?? '');
  for (const digits of [values, found, limits]) expect(sent).toContain(digits);
});

test('a member of which a part is not taken keeps the digits of the rest', async () => {
  await gateway.channel(upstream.url, { type: 101, models: 'refuses-thoughts' });
  answering = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(answers['openai-chat'][0]);
  };
  const { path, body } = requests['openai-chat']('refuses-thoughts', false);
  const thought = body
    .replace('"content":null', '"content":null,"reasoning_content":"hm"')
    .replace(argumentText, `{${values}}`);
  await ask(path, thought);
  const sent = upstream.requests.at(-1)?.body.toString('utf8');
  expect(sent).not.toContain('reasoning_content');
  expect(sent).toContain(`"arguments":{${values}}`);
});

const parsedOf = (
  path: string,
  body: string,
  more: Partial<Parameters<typeof parse>[2]> = {},
): Promise<ParsedRequest> => {
  const matched = relayRouteFor(path);
  if (matched === undefined) throw new Error('no such route');
  const request = new Request(`http://gateway${path}`, { method: 'POST', body });
  return parse(request, matched, { requestId: 'r', startedMs: 0, bodyLimit: 1e6, ...more });
};

test('what prices and limits a request reads every number as one', async () => {
  const parsed = await parsedOf(
    '/v1/chat/completions',
    '{"model":"m","messages":[],"n":10.00000000000000000000,"max_tokens":12345678901234567890,"metadata":{"id":12345678901234567890}}',
  );
  expect(answersOf('chat', parsed.body)).toBe(10);
  expect(parsed.body.max_tokens).toBe(Number('12345678901234567890'));
  const exact = exactBody(parsed);
  expect([exact.n, exact.max_tokens]).toEqual([10, Number('12345678901234567890')]);
  expect(JSON.stringify(exact.metadata)).toBe('{"id":12345678901234567890}');
});

test('a shorter limit that is written beside them leaves them alone', async () => {
  const config = `{"responseSchema":${schema},"maxOutputTokens":500}`;
  const parsed = await parsedOf('/v1beta/models/m:generateContent', `{"contents":[],"generationConfig":${config}}`);
  const limited = withLimit(parsed, 100, {
    output: 1000,
    context: 1000,
    thinking: false,
    countable: true,
    picture: 5000,
    smallPicture: 5000,
    known: true,
  });
  expect(limited?.json?.text).toBe(`{"contents":[],"generationConfig":${config.replace('500', '100')}}`);
  expect(limited?.body.generationConfig).toMatchObject({ maxOutputTokens: 100 });
});

test('items that are put in their places leave the numbers beside them alone', async () => {
  const id = 'msg_20260101000000000abcdefgh_0';
  const tools = `[{"type":"function","name":"find","parameters":${schema}}]`;
  const { json } = await parsedOf(
    '/v1/responses',
    `{"model":"m","input":[{"type":"item_reference","id":"${id}"}],"tools":${tools}}`,
    {
      loadItems: async () =>
        new Map([[id, `{"type":"message","role":"user","content":"${values.replaceAll('"', '')}"}`]]),
    },
  );
  expect(json?.text).toContain(limits);
});

test.each([
  ['[1.0,1.50,1e3,9007199254740992,0.30000000000000004]', false],
  ['[9007199254740993]', true],
  ['[-0.1234567890123456789]', true],
  ['[1e400]', true],
  ['[1e-400]', true],
  ['[12000000000000000000000]', true],
  ['{"id":"12345678901234567890","text":" 12345678901234567890, 1e400 "}', false],
])('%s holds what a double alters: %s', (source, holds) => {
  const read = parseExact(source);
  const values = Array.isArray(read) ? read : Object.values(read as object);
  expect(values.some((value) => value instanceof ExactNumber)).toBe(holds);
  if (holds) expect(JSON.stringify(read)).toBe(source);
  else expect(read).toEqual(JSON.parse(source));
});

test('an argument that comes alone keeps its digits', () => {
  const reader = codecs['gemini-generate'].upstream.reader();
  const call =
    '{"name":"find","willContinue":false,"partialArgs":[{"jsonPath":"$.id","numberValue":9007199254740993}]}';
  const events = reader.feed({ event: '', data: `{"candidates":[{"content":{"parts":[{"functionCall":${call}}]}}]}` });
  expect(events).toContainEqual(expect.objectContaining({ arguments: '{"id":9007199254740993}' }));
});

test.each<readonly [string, object]>([
  ['of a message', { messages: [{ role: 'user', content: 'hi', weight: 1e20 }] }],
  ['of a schema', { messages: [], tools: [{ type: 'function', function: { parameters: { maximum: 1e20 } } }] }],
  ['of a list', { messages: [{ role: 'user', content: ['hi', 1e20] }] }],
])('a number %s that is written in full where the request is translated counts in full', (_what, body) => {
  expect(readPrompt(body as never).growth).toBe('100000000000000000000'.length - '1e20'.length);
});
