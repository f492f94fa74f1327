import { expect, test } from 'vitest';
import type { MadeItem } from '../../server/protocols/codec.ts';
import { codecFor } from '../../server/protocols/registry.ts';
import { unknownTarget } from '../../server/protocols/target.ts';

const turn = { role: 'user', parts: [{ text: 'hi' }] };
const received = (parts: readonly object[]) =>
  codecFor('gemini-generate').translation.decodeRequest(
    { contents: [turn, { role: 'model', parts }, turn] },
    { model: 'm', stream: false },
  ).messages[1]?.parts;

test('a thought that a Gemini client heard in pieces is the one thought that was signed', () => {
  const chunks = [
    { text: 'First ', thought: true },
    { text: 'I weigh', thought: true, thoughtSignature: 'sig' },
    { text: 'Hello' },
  ];
  expect(received(chunks)).toMatchObject([
    { type: 'reasoning', text: 'First I weigh' },
    { type: 'text', text: 'Hello' },
  ]);
});

test('the pieces of a Gemini answer are the one text that was said', () => {
  const chunks = [{ text: 'I will ' }, { text: 'look' }, { functionCall: { name: 'f', args: {} } }, { text: 'Well' }];
  expect(received(chunks)).toMatchObject([
    { type: 'text', text: 'I will look' },
    { type: 'tool-call', name: 'f' },
    { type: 'text', text: 'Well' },
  ]);
});

test('two thoughts that are signed each stay two', () => {
  const parts = ['a', 'b'].map((text) => ({ text, thought: true, thoughtSignature: text }));
  expect(received(parts)).toHaveLength(2);
});

test('an item that means nothing to the upstream leaves no empty turn', () => {
  const request = codecFor('openai-responses').translation.decodeRequest(
    {
      input: [
        { type: 'web_search_call', id: 'ws_1', status: 'completed' },
        { role: 'user', content: 'hi' },
      ],
    },
    { model: 'm', stream: false },
  );
  const body = codecFor('openai-chat').translation.encodeRequest(request, [], unknownTarget);
  expect(body.messages).toEqual([{ role: 'user', content: 'hi' }]);
});

/** @returns a writer of a response, and what of it can be named as far as it came. */
function responding() {
  let made: () => readonly MadeItem[] = () => [];
  const writer = codecFor('openai-responses').translation.writer({
    model: 'm',
    responseId: '20260101000000000abcdefgh',
    created: 0,
    includeUsage: false,
    made: (items) => {
      made = items;
    },
  });
  return { writer, made: () => made() };
}

test('what a response was about to say when it broke off can be named as far as it came, but for a call', () => {
  const { writer, made } = responding();
  writer.write({ type: 'reasoning-start', index: 0 });
  writer.write({ type: 'reasoning-delta', index: 0, text: 'hm' });
  writer.write({ type: 'reasoning-end', index: 0, signature: null, redacted: null });
  writer.write({ type: 'text-start', index: 1 });
  writer.write({ type: 'text-delta', index: 1, text: 'I will' });
  writer.write({ type: 'tool-call-start', index: 2, id: 'call_1', name: 'f' });
  expect(made()).toMatchObject([
    { id: 'rs_20260101000000000abcdefgh_0', item: { summary: [{ text: 'hm' }] } },
    { id: 'msg_20260101000000000abcdefgh_1', item: { status: 'incomplete', content: [{ text: 'I will' }] } },
  ]);
});

test('a thought that broke off can be named as far as it came; only words have probabilities', () => {
  const { writer, made } = responding();
  writer.write({ type: 'reasoning-start', index: 0 });
  writer.write({ type: 'reasoning-delta', index: 0, text: 'hm' });
  expect(made()).toMatchObject([{ item: { type: 'reasoning', summary: [{ text: 'hm' }] } }]);
  writer.write({ type: 'reasoning-end', index: 0, signature: null, redacted: null });
  writer.write({ type: 'text-start', index: 1 });
  expect(writer.write({ type: 'text-delta', index: 1, text: 'I' })).toContain('"logprobs":[]');
  expect(writer.write({ type: 'refusal-delta', text: 'No' })).not.toContain('logprobs');
});
