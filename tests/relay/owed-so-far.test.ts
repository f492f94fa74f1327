/** What a crash charges for an answer that is under way: as much as if it had broken off there. */
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Row } from '../../server/billing/balances/open-requests.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { silentWave } from '../support/recording-parts.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;

beforeEach(async () => {
  upstream = await startUpstream((response) => response.end());
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const day = 86_400_000;

/** @param models of the channel. @param checkpointMs between notes. */
const open = async (models: string, checkpointMs: number) => {
  gateway = await createTestGateway({ limits: { checkpointMs } });
  await gateway.channel(upstream.url, { models });
  // Whole units: no fraction is rounded or carried.
  await gateway.option('ModelRatio', JSON.stringify({ 'gpt-4o-mini': 100, 'tts-1': 100, 'whisper-1': 100 }));
  ({ key } = await gateway.token());
};
const observed = async () => {
  await gateway.ledger.drain();
  return (await gateway.rows<{ observed: number }>('SELECT observed FROM holds'))[0]?.observed ?? 0;
};
/** @returns what is charged when the upstream breaks off. */
const breakOff = async () => {
  upstreamEnd?.destroy();
  await expect.poll(async () => (await gateway.logs()).length).toBe(1);
  return (await gateway.logs())[0]?.quota ?? 0;
};
let upstreamEnd: ServerResponse | null = null;
/** Sends the first piece and keeps the rest. */
const begin = (type: string, piece: string) =>
  upstream.script((response) => {
    upstreamEnd = response;
    response.writeHead(200, { 'content-type': type });
    response.write(piece);
  });
/** The client reads whatever comes. */
const send = async (path: string, body: unknown) => {
  const response = await gateway.send(key, path, body);
  void response.text().catch(() => '');
};
const frame = (content: string) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;
const question = (content: string) => ({
  ...{ model: 'gpt-4o-mini', stream: true, max_tokens: 4000 },
  messages: [{ role: 'user', content }],
});

test('a chat’s words and prompt are counted, not bounded by their length, and later words are added', async () => {
  await open('gpt-4o-mini', 0);
  begin('text/event-stream', frame('Nevertheless, international organisations '));
  const prompt = 'Notwithstanding the aforementioned considerations, '.repeat(200);
  await send('/v1/chat/completions', question(prompt));
  await expect.poll(observed).toBeGreaterThan(0);
  const first = await observed();
  upstreamEnd?.write(frame('recommend simplification'));
  await expect.poll(observed).toBeGreaterThan(first);
  const noted = await observed();
  expect(await breakOff()).toBe(noted);
});

test('a part of a prompt that is too long to be counted repeatedly is counted', async () => {
  await open('gpt-4o-mini', 0);
  begin('text/event-stream', frame('one'));
  await send('/v1/chat/completions', question('some more words '.repeat(20_000)));
  await expect.poll(observed).toBeGreaterThan(0);
  const noted = await observed();
  const charged = await breakOff();
  expect(noted / charged).toBeGreaterThan(0.99);
  expect(noted / charged).toBeLessThan(1.01);
});

test('the prompt tokens that the upstream has reported count', async () => {
  await open('gpt-4o-mini', 0);
  const usage = { prompt_tokens: 777, completion_tokens: 1, total_tokens: 778 };
  begin('text/event-stream', `data: ${JSON.stringify({ choices: [], usage })}\n\n${frame('one two three four')}`);
  await send('/v1/chat/completions', question('hi'));
  await expect.poll(observed).toBeGreaterThan(77_700);
  const noted = await observed();
  expect(await breakOff()).toBe(noted);
});

const recording = (form: Readonly<Record<string, string>>) => {
  const sent = new FormData();
  sent.set('file', new File([silentWave(60)], 'a.wav'));
  for (const [name, value] of Object.entries({ model: 'whisper-1', ...form })) sent.set(name, value);
  return sent;
};
const speech = { model: 'tts-1', voice: 'alloy', input: 'x'.repeat(1000) };

test.each([
  ['speech', '/v1/audio/speech', () => speech, 'audio/mpeg', 'sound of some length'],
  [
    'subtitles of a recording',
    '/v1/audio/transcriptions',
    () => recording({ response_format: 'vtt' }),
    'text/vtt',
    'WEBVTT\n\n',
  ],
  [
    'a transcript in pieces',
    '/v1/audio/transcriptions',
    () => recording({ stream: 'true' }),
    'text/event-stream',
    'data: {"type":"transcript.text.delta","delta":"one"}\n\n',
  ],
])('%s is written down with its first piece', async (_what, path, body, type, piece) => {
  await open('tts-1,whisper-1', day);
  begin(type, piece);
  await send(path, body());
  await expect.poll(observed).toBeGreaterThan(0);
  const noted = await observed();
  expect(await breakOff()).toBe(noted);
});

test.each([
  ['a chat', '/v1/chat/completions', question('hi'), 'text/event-stream', frame('one')],
  ['speech', '/v1/audio/speech', speech, 'audio/mpeg', 'sound of some length'],
])(
  'with %s that is under way is written down which channel serves it, and its factor',
  async (_what, path, body, type, piece) => {
    gateway = await createTestGateway({ limits: { checkpointMs: day } });
    const fields = { models: 'gpt-4o-mini,tts-1', setting: '{"channel_factor":0.25}' };
    const id = await gateway.channel(upstream.url, fields);
    ({ key } = await gateway.token());
    const rows = vi.spyOn(gateway.balances.money.open, 'begin');
    const served = () => [Row.channelId, Row.channelFactor].map((cell) => rows.mock.results[0]?.value?.cells[cell]);
    begin(type, piece);
    await send(path, body);
    await expect.poll(served, { timeout: 3000 }).toEqual([id, 0.25]);
    await breakOff();
  },
);
