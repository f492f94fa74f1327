/** Pieces of an answer put together. */
import { expect, test } from 'vitest';
import { type ChatAnswer, withChunk } from '../../web/lib/chat-stream.ts';

const empty: ChatAnswer = {
  ...{ text: '', thinking: '', calls: [], tokensIn: null, tokensOut: null, firstMs: null, ms: 0, requestId: 'r' },
};
type Chunk = Parameters<typeof withChunk>[1];
const put = (chunks: readonly (readonly [Chunk, number])[]): ChatAnswer =>
  chunks.reduce((answer, [chunk, ms]) => withChunk(answer, chunk, ms), empty);

test('the first token is the first word or thought, not the opening of the stream', () => {
  const answer = put([
    [{ choices: [{ delta: { content: '' } }] }, 80],
    [{ choices: [{ delta: { reasoning_content: 'hm' } }] }, 120],
    [{ choices: [{ delta: { content: 'He' } }] }, 300],
    [{ choices: [{ delta: { content: 'llo' } }] }, 400],
    [{ choices: [], usage: { prompt_tokens: 12, completion_tokens: 5 } }, 410],
  ]);
  expect(answer).toMatchObject({ text: 'Hello', thinking: 'hm', firstMs: 120, ms: 410, tokensIn: 12, tokensOut: 5 });
});

test('calls of tools are put together by their place', () => {
  const { calls } = put([
    [
      { choices: [{ delta: { tool_calls: [{ index: 0, id: 'a', function: { name: 'look', arguments: '{"q' } }] } }] },
      1,
    ],
    [{ choices: [{ delta: { tool_calls: [{ index: 1, id: 'b', function: { name: 'add', arguments: '{}' } }] } }] }, 2],
    [{ choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: '":1}' } }] } }] }, 3],
  ]);
  expect(calls).toEqual([
    { id: 'a', name: 'look', arguments: '{"q":1}' },
    { id: 'b', name: 'add', arguments: '{}' },
  ]);
});
