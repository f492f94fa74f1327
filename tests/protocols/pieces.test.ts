import { expect, test } from 'vitest';
import { codecFor } from '../../server/protocols/registry.ts';
import { unknownTarget } from '../../server/protocols/target.ts';

const told = (from: 'gemini-generate' | 'openai-responses', to: 'anthropic-messages' | 'openai-chat', body: object) => {
  const request = codecFor(from).translation.decodeRequest({ ...body }, { model: 'm', stream: false });
  return codecFor(to).translation.encodeRequest(request, [], unknownTarget);
};

test('a thought that a Gemini client heard in pieces is the one thought that was signed', () => {
  const body = told('gemini-generate', 'anthropic-messages', {
    contents: [
      { role: 'user', parts: [{ text: 'hi' }] },
      {
        role: 'model',
        parts: [
          { text: 'First ', thought: true },
          { text: 'I weigh', thought: true, thoughtSignature: 'sig' },
          { text: 'Hello' },
        ],
      },
      { role: 'user', parts: [{ text: 'on' }] },
    ],
  }) as { messages: { content: unknown }[] };
  expect(body.messages[1]?.content).toEqual([
    { type: 'thinking', thinking: 'First I weigh', signature: 'sig' },
    { type: 'text', text: 'Hello' },
  ]);
});

test('two thoughts that are signed each stay two', () => {
  const parts = ['a', 'b'].map((text) => ({ text, thought: true, thoughtSignature: text }));
  const body = told('gemini-generate', 'anthropic-messages', {
    contents: [
      { role: 'user', parts: [{ text: 'hi' }] },
      { role: 'model', parts },
      { role: 'user', parts: [{ text: 'on' }] },
    ],
  }) as { messages: { content: unknown[] }[] };
  expect(body.messages[1]?.content).toHaveLength(2);
});

test('an item that means nothing to the upstream leaves no empty turn', () => {
  const body = told('openai-responses', 'openai-chat', {
    input: [
      { type: 'item_reference', id: 'rs_1' },
      { role: 'user', content: 'hi' },
    ],
  }) as { messages: unknown[] };
  expect(body.messages).toEqual([{ role: 'user', content: 'hi' }]);
});
