/** Requests whose price is known before they run: pictures, speech, recordings, drawings, songs. And an upstream that makes them. */
import { chunk, riff, waveFormat } from '../../support/recording-parts.ts';

/** What is sent, and the quota it costs at most. */
export interface Order {
  readonly path: string;
  readonly type: string;
  readonly bytes: Buffer;
  readonly need: number;
}

const json = (path: string, body: unknown, need: number): Order => ({
  path,
  type: 'application/json',
  bytes: Buffer.from(JSON.stringify(body)),
  need,
});

/** Bytes of a second: a poor recording, but a true one. */
const rate = 800;

/** A RIFF file of so many seconds. */
const wave = (seconds: number): Buffer =>
  riff('RIFF', waveFormat({ rate, bits: 8 }), chunk('data', Buffer.alloc(Math.round(seconds * rate), 128)));

/** Whisper's price: 15 a token, 1,000 tokens a minute. */
const minuteOf = (seconds: number): number => Math.round((Math.ceil(seconds) / 60) * 1000) * 15;

const boundary = 'mixture-of-requests';
const field = (name: string, value: string): string =>
  `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;

function recording(random: () => number, mark: string): Order {
  const seconds = 0.2 + random() ** 3 * 100;
  const format = ['json', 'verbose_json', 'srt', 'text'][Math.floor(random() * 4)] ?? 'json';
  const bytes = Buffer.concat([
    Buffer.from(field('model', 'whisper-1') + field('prompt', mark) + field('response_format', format)),
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n`),
    Buffer.from('Content-Type: audio/wav\r\n\r\n'),
    wave(seconds),
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  const path = random() < 0.5 ? '/v1/audio/transcriptions' : '/v1/audio/translations';
  return { path, type: `multipart/form-data; boundary=${boundary}`, bytes, need: minuteOf(seconds) };
}

/** A request of one of these kinds, with its mark in the words. @param words begin with the mark. */
export function mediaOrder(random: () => number, mark: string, words: string): Order {
  switch (Math.floor(random() * 7)) {
    case 0:
    case 1:
      return json('/v1/audio/speech', { model: 'tts-1', input: words, voice: 'alloy' }, [...words].length * 7.5);
    case 2:
    case 3:
    case 4:
      return recording(random, mark);
    case 5:
      return json('/mj/submit/imagine', { prompt: words }, 50_000);
    default:
      return json('/suno/submit/music', { mv: 'chirp-v4', prompt: words }, 50_000);
  }
}

let works = 0;

/** @returns null for requests of other kinds. */
export function mediaAnswer(url: string, body: Buffer): Response | null {
  if (url.includes('/audio/speech'))
    return new Response(Buffer.alloc(2000), { headers: { 'content-type': 'audio/mpeg' } });
  if (url.includes('/mj/')) return Response.json({ code: 1, description: 'queued', result: `mj-${++works}` });
  if (url.includes('/suno/')) return Response.json({ code: 'success', data: `song-${++works}` });
  if (!url.includes('/audio/')) return null;
  const data = body.indexOf('data', body.indexOf('RIFF'));
  const seconds = body.readUInt32LE(data + 4) / rate;
  const format = /name="response_format"\r\n\r\n(\w+)/.exec(body.toString('latin1'))?.[1];
  const whole = Math.ceil(seconds);
  if (format === 'srt') {
    const clock = `${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`;
    return new Response(`1\n00:00:00,000 --> 00:${clock},000\nwords\n`, { headers: { 'content-type': 'text/plain' } });
  }
  if (format === 'text') return new Response('words\n', { headers: { 'content-type': 'text/plain' } });
  return Response.json(
    format === 'verbose_json'
      ? { task: 'transcribe', duration: seconds, text: 'words' }
      : { text: 'words', usage: { type: 'duration', seconds: whole } },
  );
}
