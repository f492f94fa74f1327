/** What an answer says, or a request asks it to say, never makes cheaper what was done: recordings, the best of several, sound, choices. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { silentWave } from '../support/recording-parts.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;

beforeAll(async () => {
  upstream = await startUpstream(() => undefined);
  gateway = await createTestGateway({ quota: 100_000_000 });
  await gateway.option('ModelRatio', '{"own":1,"whisper-1":1,"gemini-2.5-flash":1}');
  await gateway.option('CompletionRatio', '{"own":1}');
  await gateway.option('ModelPrice', '{"called":0.002}');
  await gateway.channel(upstream.url, { models: 'own,called,whisper-1' });
  await gateway.channel(upstream.url, { type: 24, models: 'gemini-2.5-flash' });
  ({ key } = await gateway.token());
});
afterAll(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

/** @returns the row of the request. */
async function ask(path: string, body: object | FormData) {
  const response = await gateway.send(key, path, body);
  await response.text();
  return gateway.lastLog();
}

test.each<readonly [string, object, number]>([
  ['a duration', { duration: 30 }, 500],
  ['a duration in quotes', { duration: '30.0' }, 500],
  ['seconds in the usage', { usage: { type: 'duration', seconds: 30 } }, 500],
  ['none', {}, 1000],
  ['a duration of zero', { duration: 0 }, 1000],
  ['an empty duration', { duration: '' }, 1000],
  ['a duration that is no number', { duration: false }, 1000],
  ['zero seconds in the usage', { usage: { type: 'duration', seconds: 0 } }, 1000],
  ['zero seconds beside a duration', { duration: 30, usage: { seconds: 0 } }, 500],
  ['a duration of zero beside seconds', { duration: 0, usage: { seconds: 30 } }, 500],
  ['fewer seconds than the duration', { duration: 30, usage: { seconds: 1 } }, 500],
])('a recording of a minute whose transcript states %s', async (_name, stated, tokens) => {
  upstream.script((response) => sendJson(response, { text: 'hello', ...stated }));
  const form = new FormData();
  form.append('model', 'whisper-1');
  form.append('response_format', 'verbose_json');
  form.append('file', new File([silentWave(60, 8000)], 'minute.wav'));
  expect(await ask('/v1/audio/transcriptions', form)).toMatchObject({ prompt_tokens: tokens, quota: tokens });
});

test.each<readonly [string, readonly string[], number]>([
  ['in order', ['00:00:05,000', '00:01:09,000'], 70],
  ['the last one early', ['00:01:09,000', '00:00:05,000'], 70],
  ['hours', ['01:00:00,000', '00:00:05,000'], 3601],
  ['none', [], 1],
])('subtitles are as long as the last moment that they name: %s', async (_name, ends, seconds) => {
  const lines = ends.map((end, at) => `${at + 1}\n00:00:00,000 --> ${end}\nhi\n`);
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.end(lines.join('\n') || 'hi');
  });
  const form = new FormData();
  form.append('model', 'whisper-1');
  form.append('response_format', 'srt');
  form.append('file', new File([silentWave(1, 8000)], 'second.wav'));
  expect(await ask('/v1/audio/transcriptions', form)).toMatchObject({
    prompt_tokens: Math.round((seconds / 60) * 1000),
  });
});

const texts = (count: number) => ({
  id: 'cmpl',
  object: 'text_completion',
  choices: Array.from({ length: count }, (_, index) => ({ index, text: 'a b c d e f g h i j', finish_reason: 'stop' })),
});

test.each<readonly [string, object, number, number]>([
  ['one of twenty', { best_of: 20 }, 1, 20],
  ['two of twenty', { best_of: 20, n: 2 }, 2, 20],
  ['one of twenty for each of three prompts', { prompt: ['x', 'y', 'z'], best_of: 20 }, 3, 60],
  ['all that were written', { n: 2 }, 2, 2],
  ['fewer than were asked for', { n: 4 }, 1, 1],
  ['none more than could be asked for', { best_of: 3 }, 2, 3],
])('the best of completions by the call, in one piece: %s', async (_name, more, delivered, calls) => {
  upstream.script((response) => sendJson(response, texts(delivered)));
  expect(await ask('/v1/completions', { model: 'called', prompt: 'x', ...more })).toMatchObject({
    quota: calls * 1000,
  });
});

test.each<readonly [string, object]>([
  ['beside it alone', { best_of: 20, extra_body: { n: 20 } }],
  ['in the request, and less beside it', { best_of: 20, n: 20, extra_body: { n: 1 } }],
  ['beside it, and less in the request', { best_of: 20, n: 1, extra_body: { n: 20 } }],
])('a number of completions makes the best of several no cheaper: %s', async (_name, more) => {
  upstream.script((response) => sendJson(response, texts(1)));
  const row = await ask('/v1/completions', { model: 'own', prompt: 'x', ...more });
  expect(row).toMatchObject({ completion_tokens: 200, usage_source: 'estimated' });
});

const frame = (body: object): string => `data: ${JSON.stringify({ id: 'c', ...body })}\n\n`;
const sound = (bytes: number) => ({ audio: { id: 'a', data: Buffer.alloc(bytes).toString('base64') } });
const spoken = {
  model: 'own',
  stream: true,
  modalities: ['text', 'audio'],
  messages: [{ role: 'user', content: 'hi' }],
};

test.each(['pcm16', 'pcm;rate=999999', 'raw;rate=48000', 'L16; Rate=96000'])(
  'a rate that a request asks for makes sound no shorter: %s',
  async (format) => {
    upstream.script((response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(frame({ choices: [{ index: 0, delta: sound(48_000) }] }));
      response.end(`${frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}data: [DONE]\n\n`);
    });
    const row = await ask('/v1/chat/completions', { ...spoken, audio: { voice: 'x', format } });
    // A second.
    expect(row).toMatchObject({ completion_tokens: 20, usage_source: 'estimated' });
  },
);

test('an answer with sound that breaks off costs no less than it had reported', async () => {
  upstream.script((response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const usage = { prompt_tokens: 10, completion_tokens: 5000, total_tokens: 5010 };
    response.write(frame({ choices: [{ index: 0, delta: { content: 'hi' } }], usage }));
    response.end(frame({ choices: [{ index: 0, delta: sound(4800) }] }));
  });
  const row = await ask('/v1/chat/completions', { ...spoken, audio: { voice: 'x', format: 'pcm16' } });
  expect(row).toMatchObject({ end_reason: 'upstream_broken', usage_source: 'partial', completion_tokens: 5000 });
  expect(JSON.parse(row?.other ?? '{}')).toMatchObject({ output: 4998 });
});

test.each<readonly [string, readonly number[], number | null, number]>([
  ['a short choice that ends behind a long one', [1000, 5], null, 1000],
  ['a short choice that ends before a long one', [5, 1000], null, 1000],
  ['the total of all behind their ends', [1000, 5], 1005, 1005],
  ['a lower total behind all ends, which is a correction', [1000, 5], 900, 900],
])('usage with the end of each of two choices: %s', async (_name, counts, total, expected) => {
  upstream.script((response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const index of [0, 1]) response.write(frame({ choices: [{ index, delta: { content: 'hi' } }] }));
    for (const [index, completion_tokens] of counts.entries())
      response.write(
        frame({
          choices: [{ index, delta: {}, finish_reason: 'stop' }],
          usage: { prompt_tokens: 10, completion_tokens },
        }),
      );
    if (total !== null) response.write(frame({ choices: [], usage: { prompt_tokens: 10, completion_tokens: total } }));
    response.end('data: [DONE]\n\n');
  });
  const body = { model: 'own', n: 2, stream: true, messages: [{ role: 'user', content: 'hi' }] };
  expect(await ask('/v1/chat/completions', body)).toMatchObject({ completion_tokens: expected });
});

test.each<readonly [string, object[], number]>([
  ['behind a longer one', [{ index: 1, finishReason: 'STOP' }], 1000],
  ['behind all', [], 5],
])(
  'usage of Gemini that is lower with the end of another candidate, or without one: %s',
  async (_n, last, expected) => {
    upstream.script((response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const said = (index: number) => ({ index, content: { role: 'model', parts: [{ text: 'hi' }] } });
      const counted = (candidatesTokenCount: number) => ({ promptTokenCount: 10, candidatesTokenCount });
      response.write(frame({ candidates: [said(0), said(1)] }));
      response.write(frame({ candidates: [{ index: 0, finishReason: 'STOP' }], usageMetadata: counted(1000) }));
      response.end(frame({ candidates: last, usageMetadata: counted(5) }));
    });
    const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
    const path = '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse';
    expect(await ask(path, { contents, generationConfig: { candidateCount: 2 } })).toMatchObject({
      completion_tokens: expected,
    });
  },
);
