/** iFlytek's frames and requests, member by member. */
import { expect, test } from 'vitest';
import type { ChatRequest } from '../../server/protocols/canonical.ts';
import { sparkWire } from '../../server/providers/adapters/spark-wire.ts';

const { encodeRequest, upstream } = sparkWire;
const send = (...frames: readonly object[]) => {
  const reader = upstream.reader();
  return frames.flatMap((frame) => reader.feed({ event: '', data: JSON.stringify(frame) }));
};
const usage = (text: unknown) => ({ header: { code: 0, status: 2 }, payload: { usage: { text } } });

test.each([
  [{ prompt_tokens: 3, completion_tokens: 4 }, [3, 4]],
  [{ prompt_tokens: 1, completion_tokens: 0 }, [1, 0]],
  [{ prompt_tokens: 0, completion_tokens: 1 }, [0, 1]],
  [{ prompt_tokens: 0, completion_tokens: 0 }, null],
  [{}, null],
  [null, null],
])('the counts %j are believed as %j', (text, expected) => {
  const reported = send(usage(text)).find((event) => event.type === 'usage');
  expect(reported?.type === 'usage' ? [reported.usage.input, reported.usage.output] : null).toEqual(expected);
});

test.each([
  [10013, 400, 'content_policy_violation'],
  [10014, 400, 'content_policy_violation'],
  [10019, 400, 'content_policy_violation'],
  [10007, 429, null],
  [10015, 401, null],
  [10016, 401, null],
  [10163, 400, null],
  [10313, 401, null],
  [10907, 400, null],
  [11200, 401, null],
  [11201, 429, null],
  [11202, 429, null],
  [11203, 429, null],
  [99999, 502, null],
])('the code %d is status %d', (code, status, type) => {
  expect(send({ header: { code, message: 'no' } })).toEqual([
    { type: 'error', error: { status, type, code: String(code), message: 'no' } },
  ]);
  expect(send({ header: { code } })).toMatchObject([{ error: { message: 'the model failed' } }]);
});

test('words of one frame are joined, calls without arguments get empty ones', () => {
  const text = [{ content: 'a', reasoning_content: 't' }, { content: 'b' }, { function_call: { name: 'f' } }];
  const events = send({ header: { code: 0, status: 1 }, payload: { choices: { text } } });
  expect(events.flatMap((event) => (event.type === 'text-delta' ? [event.text] : []))).toEqual(['ab']);
  expect(events.flatMap((event) => (event.type === 'reasoning-delta' ? [event.text] : []))).toEqual(['t']);
  expect(events.find((event) => event.type === 'tool-call-delta')).toMatchObject({ arguments: '{}' });
});

test('a request: speakers, what calls and results become, what has no name there', () => {
  const dropped: string[] = [];
  const message = (role: string, ...parts: object[]) => ({ role, parts });
  const text = (words: string) => ({ type: 'text', text: words });
  const request = {
    messages: [
      message('system', text('s')),
      message('developer', text('d')),
      message('user', text('u'), { type: 'image' }, text('v')),
      message('assistant', { type: 'reasoning', text: 'r' }, { type: 'tool-call', name: 'f', arguments: '{}' }),
      message('tool', { type: 'tool-result', content: [text('seen'), { type: 'image' }] }),
      message('assistant', { type: 'reasoning', text: 'r' }),
    ],
    tools: [
      { kind: 'function', name: 'f', description: 'does', schema: { type: 'object', properties: {} } },
      { kind: 'custom', name: 'own' },
    ],
    toolChoice: null,
    topP: 0.5,
    stop: ['END'],
    temperature: 0.1,
    topK: 3,
    maxTokens: 9,
    user: 'u'.repeat(40),
  } as unknown as ChatRequest;
  const body = encodeRequest(request, dropped) as {
    header: unknown;
    parameter: unknown;
    payload: { message: unknown; functions?: { text: { name: string }[] } };
  };
  expect(body.header).toEqual({ uid: 'u'.repeat(32) });
  expect(body.parameter).toEqual({ chat: { temperature: 0.1, top_k: 3, max_tokens: 9 } });
  expect(body.payload.message).toEqual({
    text: [
      { role: 'system', content: 's' },
      { role: 'system', content: 'd' },
      { role: 'user', content: 'u\nv' },
      { role: 'assistant', content: '{"name":"f","arguments":"{}"}' },
      { role: 'user', content: 'seen' },
    ],
  });
  expect(body.payload.functions?.text.map(({ name }) => name)).toEqual(['f']);
  expect(dropped).toEqual([
    '/tools/1: own cannot be sent to the upstream',
    '/top_p: not known to the upstream',
    '/stop: not known to the upstream',
    '/messages/2: image cannot be sent to the upstream',
  ]);
  const plain = { ...request, toolChoice: 'none', topP: null, stop: [], user: null } as unknown as ChatRequest;
  const none = encodeRequest(plain, []) as typeof body;
  expect([none.header, none.payload.functions]).toEqual([{}, undefined]);
});
