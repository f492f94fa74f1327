import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PracticeUpstream, startPracticeUpstream } from '../../server/practice/upstream.ts';

let upstream: PracticeUpstream;
beforeAll(() => {
  upstream = startPracticeUpstream({ port: 0, chunks: 3 });
});
afterAll(() => upstream.stop());

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(upstream.url + path, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) });
const chat = (model: string, more: object = {}, headers: Record<string, string> = {}, query = '') =>
  post(`/v1/chat/completions${query}`, { model, messages: [{ role: 'user', content: 'hi' }], ...more }, headers);
const wordsOf = (stream: string): number => stream.split('"content":"practice "').length - 1;

test('the same request gets the same answer, with usage', async () => {
  const one = await (await chat('practice-small')).text();
  expect(await (await chat('practice-small')).text()).toBe(one);
  expect(JSON.parse(one).usage.completion_tokens).toBe(3);
});

test.each([
  ['the model’s name', () => chat('practice-small@chunks=5', { stream: true })],
  ['the query', () => chat('practice-small@chunks=9', { stream: true }, {}, '?chunks=5')],
  ['a header', () => chat('practice-small', { stream: true }, { 'x-practice-chunks': '5' }, '?chunks=9')],
])('knobs can be turned by %s', async (_way, ask) => {
  expect(wordsOf(await (await ask()).text())).toBe(5);
});

test('knobs that make no sense change nothing', async () => {
  const answer = await chat('practice-small@chunks=-4,latency=x,error-status=9000', { stream: true });
  expect(answer.status).toBe(200);
  expect(wordsOf(await answer.text())).toBe(3);
});

test.each([
  ['/v1/chat/completions', { stream: true }, 503],
  ['/v1/responses', {}, 429],
  ['/v1/messages', {}, 500],
  ['/v1/embeddings', {}, 401],
])('%s fails with the status that the model’s name orders', async (path, more, status) => {
  const answer = await post(path, { model: `m@error-rate=1,error-status=${status}`, input: 'x', ...more });
  expect(answer.status).toBe(status);
});

test('a share of errors is the same share every time', async () => {
  const statuses: number[] = [];
  for (let i = 0; i < 8; i++) statuses.push((await chat('practice-small@error-rate=0.25')).status);
  expect(statuses.filter((status) => status === 500)).toHaveLength(2);
});

test('usage is left out where the model’s name says so', async () => {
  expect(JSON.parse(await (await chat('practice-small@no-usage')).text()).usage).toBeUndefined();
  const requested = { stream: true, stream_options: { include_usage: true } };
  expect(await (await chat('practice-small', requested)).text()).toContain('"usage"');
  expect(await (await chat('practice-small@no-usage', requested)).text()).not.toContain('"usage"');
});

test('a stream that breaks off', async () => {
  const answer = await chat('practice-small@cut-after=2', { stream: true });
  let text = '';
  const read = async () => {
    for await (const chunk of answer.body ?? []) text += new TextDecoder().decode(chunk);
  };
  await expect(read()).rejects.toThrow();
  expect(wordsOf(text)).toBe(2);
  expect(text).not.toContain('[DONE]');
});

test('an answer comes as late and as fast as the model’s name says', async () => {
  const started = performance.now();
  const answer = await chat('practice-small@latency=60,tokens-per-second=50,chunks=4', { stream: true });
  expect(performance.now() - started).toBeGreaterThanOrEqual(55);
  expect(wordsOf(await answer.text())).toBe(4);
  expect(performance.now() - started).toBeGreaterThanOrEqual(55 + 4 * 18);
});

test('a request that it does not understand is refused', async () => {
  expect((await post('/v1/chat/completions', '{')).status).toBe(400);
  expect((await post('/v1/chat/completions', 'null')).status).toBe(400);
  expect((await post('/v1/nothing', {})).status).toBe(404);
  expect((await fetch(`${upstream.url}/v1/models`)).status).toBe(200);
});
