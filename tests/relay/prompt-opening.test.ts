/** What of a request a provider's cache hashes, and where it is asked for one. */
import { expect, test } from 'vitest';
import { openingOf } from '../../server/relay/admission/prompt-opening.ts';
import type { ParsedRequest } from '../../server/relay/intake/parsed-request.ts';

type Body = ParsedRequest['body'];
const opening = (protocol: ParsedRequest['protocol'], body: Body, headers: Record<string, string> = {}) =>
  openingOf(
    { protocol, operation: 'chat', body, request: new Request('http://gateway/v1', { method: 'POST', headers }) },
    ['served'],
  );
const ephemeral = { cache_control: { type: 'ephemeral' } };
const text = (words: string, more = {}) => ({ type: 'text', text: words, ...more });
const claude: Body = {
  model: 'claude-opus-4-5',
  max_tokens: 1000,
  system: [text('You are an agent.', ephemeral)],
  tools: [{ name: 'read', input_schema: {} }],
  messages: [
    { role: 'user', content: [text('one'), text('two', ephemeral)] },
    { role: 'assistant', content: 'three' },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'four' }] },
  ],
};
const same = (one: ReturnType<typeof opening>, other: ReturnType<typeof opening>) =>
  JSON.stringify([one?.head, one?.parts.map((part) => part.text)]) ===
  JSON.stringify([other?.head, other?.parts.map((part) => part.text)]);

test('Messages: blocks in order, marks where they are asked for, in the head and behind blocks', () => {
  const found = opening('anthropic-messages', claude);
  expect(found?.parts.map((part) => part.text)).toEqual([
    '{"role":"user"}{"type":"text","text":"one"}',
    '{"type":"text","text":"two"}',
    '{"role":"assistant"}{"type":"text","text":"three"}',
    '{"role":"user"}{"type":"tool_result","tool_use_id":"t","content":"four"}',
  ]);
  expect(found?.marks).toEqual([0, 2]);
  expect(opening('anthropic-messages', { ...claude, ...ephemeral })?.marks).toEqual([0, 2, 4]);
  expect(opening('anthropic-messages', { ...claude, system: 'x', messages: ['one'] })).toMatchObject({ marks: [] });
});

test('marks that move and a text that becomes a block change nothing that is hashed', () => {
  const moved: Body = {
    ...claude,
    system: [text('You are an agent.')],
    messages: [
      { role: 'user', content: [text('one', ephemeral), text('two')] },
      { role: 'assistant', content: [text('three', ephemeral)] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'four', ...ephemeral }] },
    ],
  };
  const found = opening('anthropic-messages', moved);
  expect(same(found, opening('anthropic-messages', claude))).toBe(true);
  expect(found?.marks).toEqual([1, 3, 4]);
});

test.each<readonly [string, Body, Record<string, string>]>([
  ['the model', { ...claude, model: 'claude-opus-5' }, {}],
  ['the system', { ...claude, system: [text('You are an agent!')] }, {}],
  ['a tool', { ...claude, tools: [{ name: 'write', input_schema: {} }] }, {}],
  ['the choice of tools', { ...claude, tool_choice: { type: 'any' } }, {}],
  ['a thought', { ...claude, thinking: { type: 'enabled', budget_tokens: 2000 } }, {}],
  ['a member that nobody knows', { ...claude, speed: 'fast' }, {}],
  ['a beta', claude, { 'anthropic-beta': 'context-1m-2025-08-07' }],
  ['a role', { ...claude, messages: [{ role: 'assistant', content: [text('one'), text('two')] }] }, {}],
])('%s is hashed', (_name, body, headers) => {
  expect(same(opening('anthropic-messages', body, headers), opening('anthropic-messages', claude))).toBe(false);
});

test('members that say how to answer, and who asks, are not hashed', () => {
  const other = { ...claude, max_tokens: 5, temperature: 1, stream: true, metadata: { user_id: 'u' } };
  const found = opening('anthropic-messages', other, { 'user-agent': 'other' });
  expect(same(found, opening('anthropic-messages', claude))).toBe(true);
});

test('a text is as long as its bytes at most; pictures, files and unknown parts have no bound', () => {
  const most = (content: unknown) =>
    opening('anthropic-messages', { ...claude, messages: [{ role: 'user', content }] })?.parts[0]?.most;
  expect(most('é')).toBe(Buffer.byteLength('{"role":"user"}{"type":"text","text":"é"}') + 16);
  expect(most([{ type: 'tool_result', tool_use_id: 't', content: [text('words')] }])).toBeLessThan(200);
  for (const block of [
    { type: 'image', source: { type: 'url', url: 'https://example.com/x.png' } },
    { type: 'tool_result', tool_use_id: 't', content: [{ type: 'image', source: {} }] },
    { type: 'document', source: { type: 'file', file_id: 'f' } },
    { type: 'new_kind' },
  ])
    expect(most([block])).toBe(Number.POSITIVE_INFINITY);
});

test('OpenAI: messages are hashed whole and cached without being asked for it', () => {
  const chat = opening('openai-chat', {
    model: 'gpt-5',
    temperature: 1,
    messages: [
      { role: 'system', content: 'a' },
      { role: 'user', content: 'b' },
    ],
  });
  expect(chat).toMatchObject({ head: ['served', 'model', '"gpt-5"'], marks: null });
  expect(chat?.parts.map((part) => part.text)).toEqual([
    '{"role":"system","content":"a"}',
    '{"role":"user","content":"b"}',
  ]);
  const responses = opening('openai-responses', { model: 'gpt-5', instructions: 'i', input: 'words' });
  expect(responses).toMatchObject({ head: ['served', 'model', '"gpt-5"', 'instructions', '"i"'], marks: null });
  expect(responses?.parts.map((part) => part.text)).toEqual(['"words"']);
});

test.each<readonly [string, ParsedRequest['protocol'], Body]>([
  ['an earlier response', 'openai-responses', { input: 'x', previous_response_id: 'resp_1' }],
  ['a kept conversation', 'openai-responses', { input: 'x', conversation: 'conv_1' }],
  ['a kept prompt', 'openai-responses', { input: 'x', prompt: { id: 'p' } }],
  ['a container', 'anthropic-messages', { ...claude, container: 'c' }],
  ['no messages', 'anthropic-messages', { ...claude, messages: undefined }],
  ['a dialect whose caches are not known', 'gemini-generate', { contents: [] }],
])('nothing is known of a request that names %s', (_name, protocol, body) => {
  expect(opening(protocol, body)).toBe(null);
});

test.each<readonly [string, ParsedRequest['protocol'], Body]>([
  ['Responses', 'openai-responses', { input: 'x', previous_response_id: null, conversation: null, prompt: null }],
  ['Messages', 'anthropic-messages', { ...claude, container: null }],
])('%s: a member that is null names nothing', (_name, protocol, body) => {
  expect(opening(protocol, body)?.parts.length).toBeGreaterThan(0);
});
