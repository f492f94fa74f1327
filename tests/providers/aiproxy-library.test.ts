import { expect, test } from 'vitest';
import { sendJson } from '../support/upstream.ts';
import { chatOf, chunksOf, hi, providerBench, sendEvents, textOfMember } from './bench.ts';

const bench = providerBench();
const model = 'gpt-3.5-turbo';
const documents = [{ title: 'Manual', url: 'https://docs.example/manual' }];
const citation = { url: 'https://docs.example/manual', title: 'Manual' };

test('a question to the library that the channel names, an answer with its documents', async () => {
  const key = await bench.channel('aiproxy-library', model, { other: 'lib-7' });
  bench.script((response) => sendJson(response, { success: true, answer: 'hello', documents }));
  const { choices } = await chatOf(await bench.gateway.chat(key, { model, messages: hi }));
  expect(choices[0].message).toMatchObject({
    content: 'hello',
    annotations: [{ type: 'url_citation', url_citation: citation }],
  });
  expect(bench.sent().path).toBe('/api/library/ask');
  expect(bench.sent().headers.authorization).toBe('Bearer sk-upstream-secret-key');
  expect(bench.sent().body).toEqual({ model, query: 'hi', stream: false, libraryId: 'lib-7' });
});

test('the same as a stream', async () => {
  const key = await bench.channel('aiproxy-library', model, { other: 'lib-7' });
  bench.script((response) =>
    sendEvents(response, [
      { content: 'hel', finish: false, model },
      { content: 'lo', finish: false, model, documents },
      { content: '', finish: true, model },
    ]),
  );
  const chunks = await chunksOf(await bench.gateway.chat(key, { model, messages: hi, stream: true }));
  expect(textOfMember(chunks, 'content')).toBe('hello');
  expect(JSON.stringify(chunks)).toContain('"url":"https://docs.example/manual"');
  expect(bench.sent().body.stream).toBe(true);
  expect(await bench.log()).toMatchObject({ end_reason: 'completed', usage_source: 'estimated' });
});

test('a refusal inside of a 200', async () => {
  const key = await bench.channel('aiproxy-library', model);
  bench.script((response) => sendJson(response, { success: false, errCode: 1001, message: 'no such library' }));
  expect((await bench.gateway.chat(key, { model, messages: hi })).status).toBe(502);
  expect(await bench.log()).toMatchObject({ type: 5, quota: 0 });
});

test('a refusal without a word is a refusal', async () => {
  const key = await bench.channel('aiproxy-library', model);
  bench.script((response) => sendJson(response, { success: false, errCode: 1001 }));
  expect((await bench.gateway.chat(key, { model, messages: hi })).status).toBe(502);
  expect(JSON.stringify(await bench.log())).toContain('the library failed');
});
