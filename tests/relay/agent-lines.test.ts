/** A line that changes with every request and stands first would empty every prompt cache but its maker's. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { unreadAgentLines } from '../../server/providers/knowledge/agent-lines.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;

beforeEach(async () => {
  upstream = await startUpstream((response) => sendJson(response, { error: { message: 'enough', type: 'x' } }, 400));
  gateway = await createTestGateway();
  await gateway.option('SelfUseModeEnabled', 'true');
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const line = (version: string, cch: string) =>
  `x-anthropic-billing-header: cc_version=2.1.329.${version}; cc_entrypoint=cli; cch=${cch};`;
const instructions = { type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral' } };
const bodyOf = (system: unknown) => ({
  model: 'm',
  max_tokens: 9,
  system,
  messages: [{ role: 'user', content: 'hi' }],
});

async function sentFor(system: unknown): Promise<string> {
  const { key } = await gateway.token();
  const request = new Request('http://gateway/v1/messages?beta=true', {
    method: 'POST',
    headers: { 'x-api-key': `sk-${key}` },
    body: JSON.stringify(bodyOf(system)),
  });
  await gateway.relay.handle(request, '/v1/messages', { ip: () => '127.0.0.1' });
  return upstream.requests.at(-1)?.body.toString() ?? '';
}

const dialects: readonly ProtocolId[] = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'gemini-generate',
  'cohere-chat',
  'ollama-chat',
];

test.each(dialects)('two turns with different suffixes are the same bytes for an upstream of %s', async (dialect) => {
  await gateway.channel(upstream.url, { type: 199, models: 'm', setting: JSON.stringify({ dialect }) });
  const first = await sentFor([{ type: 'text', text: line('0a8', '36ee5') }, instructions]);
  const second = await sentFor([{ type: 'text', text: line('0f7', '0aaa9') }, instructions]);
  expect(first).toContain('You are an agent.');
  expect(first).not.toContain('billing-header');
  expect(second).toBe(first);
  const [log] = await gateway.logs();
  expect(log?.other).not.toBe('');
});

test('as a text of several lines, and where nothing else is said', async () => {
  await gateway.channel(upstream.url, { type: 14, models: 'm' });
  expect(await sentFor(`${line('0a8', '1')}\nYou are an agent.`)).toBe(JSON.stringify(bodyOf('You are an agent.')));
  const { system: _, ...alone } = bodyOf(null);
  expect(await sentFor([{ type: 'text', text: line('0a8', '1') }])).toBe(JSON.stringify(alone));
});

test('a text that only mentions the line stays', async () => {
  await gateway.channel(upstream.url, { type: 14, models: 'm' });
  for (const system of [
    [instructions, { type: 'text', text: line('0a8', '1') }],
    [{ type: 'text', text: `${line('0a8', '1')}\nis what an agent writes first.` }],
    `What is ${line('0a8', '1')}?`,
  ])
    expect(await sentFor(system)).toBe(JSON.stringify(bodyOf(system)));
});

test('its maker gets it', () => {
  expect(unreadAgentLines('anthropic-messages', 'https://api.anthropic.com')).toEqual([]);
  expect(unreadAgentLines('anthropic-messages', 'https://api.anthropic.com.example.net')).toHaveLength(1);
  expect(unreadAgentLines('anthropic-messages', 'https://bedrock-runtime.us-east-1.amazonaws.com')).toHaveLength(1);
});
