/** Requests on Bedrock's Converse wire, checked by the rules of AWS's reference. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ChatRequest, ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { withinLimits } from '../../server/protocols/shared/model-limits.ts';
import { unknownTarget } from '../../server/protocols/target.ts';
import { encodeRequest } from '../../server/providers/adapters/converse-request.ts';
import { relayRouteFor } from '../../server/relay/intake/routes.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

type Block = Record<string, { toolUseId?: string; content?: unknown[] } | string | undefined>;
interface Sent {
  messages: { role: string; content: Block[] }[];
  inferenceConfig: Record<string, unknown>;
  toolConfig?: { tools: { toolSpec: { name: string } }[]; toolChoice?: unknown };
}

const decode = (body: Record<string, unknown>, dialect: ProtocolId = 'openai-chat'): ChatRequest =>
  codecs[dialect].translation.decodeRequest({ model: 'amazon.nova-pro-v1:0', ...body }, { model: 'm', stream: false });
const encode = (request: ChatRequest) => {
  const dropped: string[] = [];
  return { body: encodeRequest(withinLimits(request, unknownTarget, dropped), dropped) as unknown as Sent, dropped };
};

const user = { role: 'user', content: 'hi' };
const called = (id = 't1') => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'now', arguments: '{}' } }],
});

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html and its refusals. */
function refusals({ messages, toolConfig }: Sent): string[] {
  const faults: string[] = [];
  const blocks = messages.flatMap(({ content }) => content);
  const usesTools = blocks.some((block) => 'toolUse' in block || 'toolResult' in block);
  if (usesTools && toolConfig === undefined)
    faults.push('The toolConfig field must be defined when using toolUse and toolResult content blocks.');
  if (toolConfig?.tools.length === 0) faults.push('toolConfig.tools: minimum 1');
  for (const [at, { role, content }] of messages.entries()) {
    if (content.length === 0) faults.push('The content field is empty');
    if (role === messages[at - 1]?.role) faults.push('roles must alternate');
    for (const block of content) {
      if (typeof block.text === 'string' && block.text.trim() === '') faults.push('The text field is blank');
      const result = block.toolResult as { content?: unknown[] } | undefined;
      if (result !== undefined && (result.content ?? []).length === 0) faults.push('toolResult.content is empty');
    }
    const calls = content.flatMap(({ toolUse }) => (toolUse as { toolUseId?: string } | undefined)?.toolUseId ?? []);
    const results = (messages[at + 1]?.content ?? []).flatMap(
      ({ toolResult }) => (toolResult as { toolUseId?: string } | undefined)?.toolUseId ?? [],
    );
    if (calls.some((id) => !results.includes(id))) faults.push('Expected toolResult blocks for the following Ids');
  }
  return faults;
}

test('members without a place on the wire are declared, each by its name', () => {
  const { dropped } = encode(
    decode({
      messages: [user],
      response_format: { type: 'json_object' },
      seed: 1,
      presence_penalty: 0.1,
      frequency_penalty: 0.2,
      top_k: 3,
      reasoning_effort: 'high',
      n: 2,
      user: 'u',
      logit_bias: { 1: 1 },
      parallel_tool_calls: false,
    }),
  );
  for (const member of 'response_format seed presence_penalty frequency_penalty top_k reasoning n user logit_bias parallel_tool_calls'.split(
    ' ',
  ))
    expect(dropped.map((line) => line.split(':')[0])).toContain(`/${member}`);
});

test('tools are sent beside a history that has calls, even if the request has none', () => {
  const history = [user, called(), { role: 'tool', tool_call_id: 't1', content: '' }, user];
  const tools = [{ type: 'function', function: { name: 'now', parameters: { type: 'object' } } }];
  for (const more of [{}, { tools, tool_choice: 'none' }, { tools }]) {
    const { body } = encode(decode({ messages: history, ...more }));
    expect(refusals(body)).toEqual([]);
    expect(body.toolConfig?.tools.map(({ toolSpec }) => toolSpec.name)).toEqual(['now']);
  }
  expect(encode(decode({ messages: [user], tools, tool_choice: 'none' })).body.toolConfig).toBeUndefined();
});

test('a lost result is reported as lost, and results come first', () => {
  const { body } = encode(decode({ messages: [user, called(), user] }));
  expect(refusals(body)).toEqual([]);
  expect(Object.keys(body.messages[2]?.content[0] ?? {})).toEqual(['toolResult']);
});

let gateway: TestGateway;
let upstream: Upstream;
beforeAll(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream((response) =>
    sendJson(response, {
      output: { message: { role: 'assistant', content: [{ text: 'hi' }] } },
      stopReason: 'end_turn',
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    }),
  );
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

test('no limit is made up for a request that names none', async () => {
  await gateway.channel(upstream.url, { type: 33, models: 'amazon.nova-pro-v1:0', key: 'A|S|us-east-1' });
  await gateway.option('ModelRatio', JSON.stringify({ 'amazon.nova-pro-v1:0': 1 }));
  const { key } = await gateway.token();
  const response = await gateway.chat(key, { model: 'amazon.nova-pro-v1:0', messages: [user] });
  expect(response.status).toBe(200);
  const sent = JSON.parse(upstream.requests[0]?.body.toString('utf8') ?? '{}') as Sent;
  expect(sent.inferenceConfig).toEqual({});
});

const folder = resolve(import.meta.dirname, '../../../shared/client-captures');
const recorded = (existsSync(folder) ? readdirSync(folder) : []).flatMap((file) => {
  if (!file.endsWith('.json')) return [];
  const { url, body } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { url?: string; body?: unknown };
  const route = relayRouteFor(String(url).split('?')[0] ?? '')?.route;
  if (route?.operation !== 'chat' || typeof body !== 'object' || body === null) return [];
  return [[file, route.protocol, body as Record<string, unknown>] as const];
});

test('recorded requests of real clients are not refused', () => {
  const rejected = recorded.flatMap(([file, dialect, body]) =>
    refusals(encode(decode(body, dialect)).body).map((error) => `${file}: ${error}`),
  );
  expect(rejected).toEqual([]);
});

test('a call at the end of a conversation gets an error as its result', () => {
  const { body } = encode(decode({ messages: [user, called('a')] }));
  expect(refusals(body)).toEqual([]);
  expect(body.messages.at(-1)).toMatchObject({
    role: 'user',
    content: [{ toolResult: { toolUseId: 'a', status: 'error' } }],
  });
});
