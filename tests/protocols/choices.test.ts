/** What a choice of tools, an order for JSON and a wish without a place become in another dialect, row by row. */
import { expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecFor } from '../../server/protocols/registry.ts';
import { unknownTarget } from '../../server/protocols/target.ts';

const translated = (from: ProtocolId, to: ProtocolId, body: Record<string, unknown>) => {
  const dropped: string[] = [];
  const request = codecFor(from).translation.decodeRequest(body, { model: 'm', stream: false });
  return { body: codecFor(to).translation.encodeRequest(request, dropped) as Record<string, unknown>, dropped };
};

const functionTool = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } };
const responses = (more: Record<string, unknown>) => ({ input: 'hi', tools: [functionTool], ...more });
const chat = (more: Record<string, unknown>) => ({
  messages: [{ role: 'user', content: 'hi' }],
  tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }],
  ...more,
});

test.each([
  ['auto', { type: 'auto' }],
  ['none', { type: 'none' }],
  ['required', { type: 'any' }],
  [
    { type: 'function', name: 'f' },
    { type: 'tool', name: 'f' },
  ],
  [{ type: 'allowed_tools', mode: 'auto', tools: [] }, { type: 'auto' }],
  [{ type: 'allowed_tools', mode: 'required', tools: [] }, { type: 'any' }],
  [{ type: 'allowed_tools', mode: 'other', tools: [] }, undefined],
  [{ type: 'something', mode: 'required' }, undefined],
  ['whatever', undefined],
])('responses’ choice %j is messages’ %j', (choice, expected) => {
  expect(
    translated('openai-responses', 'anthropic-messages', responses({ tool_choice: choice })).body.tool_choice,
  ).toEqual(expected);
});

test.each([
  [undefined, undefined, undefined],
  [undefined, false, { type: 'auto', disable_parallel_tool_use: true }],
  [undefined, true, undefined],
  ['auto', undefined, { type: 'auto' }],
  ['auto', false, { type: 'auto', disable_parallel_tool_use: true }],
  ['none', false, { type: 'none' }],
  ['required', undefined, { type: 'any' }],
  ['required', false, { type: 'any', disable_parallel_tool_use: true }],
  [{ type: 'function', function: { name: 'f' } }, false, { type: 'tool', name: 'f', disable_parallel_tool_use: true }],
])('chat’s choice %j with parallel calls %j is messages’ %j', (choice, parallel, expected) => {
  const requested = chat({
    ...(choice === undefined ? {} : { tool_choice: choice }),
    ...(parallel === undefined ? {} : { parallel_tool_calls: parallel }),
  });
  const { body, dropped } = translated('openai-chat', 'anthropic-messages', requested);
  expect(body.tool_choice).toEqual(expected);
  expect(dropped.filter((loss) => loss.startsWith('/tool_choice'))).toEqual([]);
});

test.each([
  ['required', { type: 'any' }],
  [
    { type: 'function', function: { name: 'f' } },
    { type: 'tool', name: 'f' },
  ],
])('a tool that must be called is forced instead of thinking, and that is declared: %j', (choice, expected) => {
  const requested = chat({ tool_choice: choice, reasoning_effort: 'high', max_tokens: 8000 });
  const { body, dropped } = translated('openai-chat', 'anthropic-messages', requested);
  expect(body.thinking).toBeUndefined();
  expect(body.tool_choice).toEqual(expected);
  expect(dropped).toContain('/reasoning: no tool can be forced while thinking, and one is');
  const free = translated('openai-chat', 'anthropic-messages', chat({ tool_choice: 'auto', reasoning_effort: 'high' }));
  expect(free.dropped.filter((loss) => loss.startsWith('/tool_choice'))).toEqual([]);
});

test.each([
  [
    { thinkingSwitch: 'thinking' as const, thinkingByDefault: true },
    { thinking: { type: 'disabled' }, tool_choice: 'required' },
  ],
  [{}, { tool_choice: 'required' }],
  [{ thinkingByDefault: true }, { reasoning_effort: 'high', tool_choice: 'auto' }],
  [{ thinkingRequired: true }, { reasoning_effort: 'high', tool_choice: 'auto' }],
])('so it is at a chat upstream, where its thinking can be switched off: %j', (more, expected) => {
  const target = {
    ...unknownTarget,
    thinking: 'effort' as const,
    unsupportedWithThinking: new Set(['forcedToolChoice' as const]),
  };
  const requested = chat({ tool_choice: 'required', reasoning_effort: 'high' });
  const request = codecFor('openai-chat').translation.decodeRequest(requested, { model: 'm', stream: false });
  const dropped: string[] = [];
  const { thinking, reasoning_effort, tool_choice } = codecFor('openai-chat').translation.encodeRequest(
    request,
    dropped,
    { ...target, ...more },
  ) as Record<string, unknown>;
  expect({ thinking, reasoning_effort, tool_choice }).toEqual({
    thinking: undefined,
    reasoning_effort: undefined,
    ...expected,
  });
  expect(dropped).toHaveLength(1);
});

test('the schema that a call must follow reaches messages too', () => {
  const closed = { type: 'object', properties: {}, additionalProperties: false };
  const strict = (value: boolean, parameters: object = closed) =>
    translated('openai-chat', 'anthropic-messages', {
      ...chat({}),
      tools: [{ type: 'function', function: { name: 'f', parameters, strict: value } }],
    });
  expect(strict(true)).toMatchObject({ body: { tools: [{ name: 'f', strict: true }] }, dropped: [] });
  expect((strict(false).body.tools as object[])[0]).not.toHaveProperty('strict');
  for (const rejected of [{ type: 'object' }, { ...closed, properties: { n: { type: 'integer', minimum: 1 } } }]) {
    const { body, dropped } = strict(true, rejected);
    expect((body.tools as object[])[0]).not.toHaveProperty('strict');
    expect(dropped).toEqual(['/tools/0/strict: this schema cannot be enforced by the upstream']);
  }
});

test.each([
  [{ store: false }, false],
  [{}, false],
  [{ store: true }, true],
])('notes on an answer go to chat only where it is kept: %j', (more, sent) => {
  const { body } = translated('openai-responses', 'openai-chat', {
    model: 'm',
    input: 'hi',
    metadata: { a: 'b' },
    ...more,
  });
  expect('metadata' in body).toBe(sent);
});

test.each([
  [{ response_format: { type: 'json_object' } }, ['/response_format: JSON is asked for in words']],
  [{ response_format: { type: 'text' } }, []],
  [
    {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'a', schema: { type: 'object', properties: { b: { type: 'string' } } } },
      },
    },
    [],
  ],
  [{ n: 2 }, ['/n: one answer only']],
  [{ n: 1 }, []],
  [{ seed: 0 }, ['/seed: not known to the upstream']],
  [{ presence_penalty: 0.5 }, ['/presence_penalty: not known to the upstream']],
  [{ frequency_penalty: 0 }, ['/frequency_penalty: not known to the upstream']],
])('what messages has no place for is declared: %j', (more, expected) => {
  const { dropped } = translated('openai-chat', 'anthropic-messages', chat(more));
  expect(
    dropped.filter((loss) => /^\/(response_format|n|seed|presence_penalty|frequency_penalty):/.test(loss)),
  ).toEqual(expected);
});

test.each([
  [{ type: 'json_object' }, { type: 'json_object' }],
  [
    { type: 'json_schema', name: 'a', schema: { type: 'object' }, strict: true },
    { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' }, strict: true } },
  ],
  [
    { type: 'json_schema', schema: { type: 'object' } },
    { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } },
  ],
  [{ type: 'text' }, undefined],
  [{ type: 'other', schema: {} }, undefined],
])('responses’ format %j is chat’s %j', (format, expected) => {
  const { body } = translated('openai-responses', 'openai-chat', responses({ text: { format } }));
  expect(body.response_format).toEqual(expected);
});
