/** Forms of an answer that an upstream has no member for, and answers whose words stand for something else. */
import { describe, expect, test } from 'vitest';
import type { ChatEvent, Message, ProtocolId } from '../../server/protocols/canonical.ts';
import { codecFor } from '../../server/protocols/registry.ts';
import { collect } from '../../server/protocols/shared/blocks.ts';
import { inWords } from '../../server/protocols/shared/format-words.ts';
import { writtenTool } from '../../server/protocols/shared/model-limits.ts';
import { taggedThoughts } from '../../server/protocols/shared/tagged-thoughts.ts';
import { writtenCall } from '../../server/protocols/shared/written-call.ts';
import { converse } from '../../server/providers/adapters/converse.ts';
import { targetFor } from '../../server/providers/knowledge/target.ts';

const schema = { type: 'object', properties: { days: { type: 'integer' } }, required: ['days'] };
const format = { type: 'schema', name: 'trip', schema, strict: true } as const;
const text = (words: string) => ({ type: 'text', text: words }) as const;

function request(messages: readonly Message[]) {
  const decoded = codecFor('openai-chat').translation.decodeRequest({ messages: [] }, { model: 'm', stream: false });
  return { ...decoded, messages, responseFormat: format };
}

function requested(dialect: ProtocolId, [provider, model]: readonly [string, string], body: object) {
  const dropped: string[] = [];
  const decoded = codecFor('openai-chat').translation.decodeRequest(
    { messages: [{ role: 'user', content: 'hi' }], ...body },
    { model, stream: false },
  );
  const made = codecFor(dialect).translation.encodeRequest(decoded, dropped, targetFor(provider, model));
  return { made, dropped, words: JSON.stringify(made.messages) + JSON.stringify(made.system ?? '') };
}
const schemaRequest = { response_format: { type: 'json_schema', json_schema: { name: 'trip', schema } } };

describe('a schema that no member takes', () => {
  test('stands behind the instructions, so that what comes before them stays cached', () => {
    const encoded = inWords(
      request([
        { role: 'system', parts: [text('be brief')] },
        { role: 'user', parts: [text('hi')] },
      ]),
      format,
    );
    expect(encoded.messages[0]?.parts).toEqual([
      text('be brief'),
      text(`Answer with JSON only that matches this JSON schema: ${JSON.stringify(schema)}`),
    ]);
    expect(encoded.messages[1]?.parts).toEqual([text('hi')]);
  });

  test('stands behind the first turn where there are none, at the same place in every turn', () => {
    const first = request([{ role: 'user', parts: [text('hi')] }]);
    const later = request([
      ...first.messages,
      { role: 'assistant', parts: [text('yes')] },
      { role: 'user', parts: [text('and?')] },
    ]);
    expect(inWords(first, format).messages[0]).toEqual(inWords(later, format).messages[0]);
    expect(inWords(later, format).messages).toHaveLength(3);
    expect(inWords(request([]), format).messages).toHaveLength(1);
  });

  test.each([
    ['anthropic-messages', ['anthropic', 'claude-3-5-sonnet-20241022'], 'output_config', undefined],
    ['anthropic-messages', ['vertex', 'claude-sonnet-4-5@20250929'], 'output_config', undefined],
    ['openai-chat', ['deepseek', 'deepseek-chat'], 'response_format', { type: 'json_object' }],
    ['openai-chat', ['groq', 'llama-3.3-70b-versatile'], 'response_format', { type: 'json_object' }],
  ] as const)('is put into words for %s at %s, and declared', (dialect, place, member, expected) => {
    const { made, dropped, words } = requested(dialect, place, schemaRequest);
    expect(made[member]).toEqual(expected);
    expect(words).toContain('days');
    expect(words.match(/Answer with JSON/g)).toHaveLength(1);
    expect(dropped.filter((loss) => loss.startsWith('/response_format'))).toHaveLength(1);
  });

  test('is put into words where the wire knows no form at all', () => {
    const dropped: string[] = [];
    const made = converse.encodeRequest(request([{ role: 'user', parts: [text('hi')] }]), dropped);
    expect(JSON.stringify(made)).toContain('days');
    expect(dropped).toEqual(['/response_format: asked for in words']);
  });

  test('Anthropic’s models are asked in words for JSON without a schema, and by a member where there is one', () => {
    const plain = requested('anthropic-messages', ['anthropic', 'claude-opus-4-8'], {
      response_format: { type: 'json_object' },
    });
    expect(plain.words).toContain('Answer with JSON only.');
    const newer = requested('anthropic-messages', ['anthropic', 'claude-opus-4-8'], schemaRequest);
    expect(newer.words).not.toContain('Answer with JSON');
    expect(newer.made.output_config).toEqual({
      format: { type: 'json_schema', schema: { ...schema, additionalProperties: false } },
    });
  });
});

const start: ChatEvent = { type: 'response-start', id: null, model: 'm', created: 1 };
const finish: ChatEvent = { type: 'finish', reason: { unified: 'stop', raw: 'stop' } };
const spoken = (...chunks: readonly string[]): readonly ChatEvent[] => [
  start,
  { type: 'text-start', index: 0 },
  ...chunks.map((chunk) => ({ type: 'text-delta', index: 0, text: chunk }) as const),
  { type: 'text-end', index: 0 },
  finish,
];

describe('thoughts between marks', () => {
  const partsOf = (...chunks: readonly string[]) =>
    collect(spoken(...chunks).flatMap(taggedThoughts())).parts.map((part) =>
      part.type === 'text' || part.type === 'reasoning' ? [part.type, part.text] : [part.type],
    );
  const whole = '<think>\nFirst < I think.</think>\n\n{"a": "</think>"}';

  test('become thoughts however the pieces fall', () => {
    const expected = [
      ['reasoning', 'First < I think.'],
      ['text', '{"a": "</think>"}'],
    ];
    expect(partsOf(whole)).toEqual(expected);
    for (let at = 1; at < whole.length; at++) expect(partsOf(whole.slice(0, at), whole.slice(at))).toEqual(expected);
    expect(partsOf(...whole)).toEqual(expected);
  });

  test('other words stay what they are, and a thought that never ends is one', () => {
    expect(partsOf('  <thin', 'g> is a word')).toEqual([['text', '  <thing> is a word']]);
    expect(partsOf('<th')).toEqual([['text', '<th']]);
    expect(partsOf('<think>cut o')).toEqual([['reasoning', 'cut o']]);
    expect(partsOf('plain')).toEqual([['text', 'plain']]);
  });
});

describe('a tool that must be called, at a model without tools', () => {
  const tools = [{ type: 'function', function: { name: 'plan', parameters: schema } }];
  const sonar = ['perplexity', 'sonar'] as const;

  test('is asked for as the form of the answer, and what is written becomes the call', () => {
    const choice = { type: 'function', function: { name: 'plan' } };
    const { made, dropped } = requested('openai-chat', sonar, { tools, tool_choice: choice });
    expect(made).not.toHaveProperty('tools');
    expect(made.response_format).toMatchObject({ type: 'json_schema', json_schema: { schema } });
    expect(dropped).toEqual([
      '/tools: not taken by this model',
      '/tool_choice: the arguments of plan are asked for as the answer',
    ]);
    const { parts, finish: end } = collect(spoken('{"days"', ':3}').flatMap(writtenCall('plan', 'call_1')));
    expect(parts).toEqual([{ type: 'tool-call', id: 'call_1', name: 'plan', arguments: '{"days":3}' }]);
    expect(end.unified).toBe('tool_calls');
  });

  test('none of several, none that is only offered', () => {
    const decoded = (body: object) =>
      codecFor('openai-chat').translation.decodeRequest({ messages: [], ...body }, { model: 'sonar', stream: false });
    const target = targetFor(...sonar);
    expect(writtenTool(decoded({ tools, tool_choice: 'required' }), target)?.name).toBe('plan');
    expect(writtenTool(decoded({ tools }), target)).toBeUndefined();
    expect(writtenTool(decoded({ tools: [...tools, ...tools], tool_choice: 'required' }), target)).toBeUndefined();
    expect(writtenTool(decoded({ tools, tool_choice: 'required' }), targetFor('openai', 'gpt-5'))).toBeUndefined();
  });
});
