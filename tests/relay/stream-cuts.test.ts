/** Streams pass byte for byte, wherever the network cuts them, and cost the same. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { often } from '../support/often.ts';

let gateway: TestGateway;
let key: string;
let chunks: readonly Uint8Array[] = [];

const upstream = async (): Promise<Response> => {
  let next = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = chunks[next++];
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk);
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
};

beforeAll(async () => {
  gateway = await createTestGateway({ upstreamFetch: upstream as unknown as typeof fetch });
  await gateway.channel('http://upstream.test');
  key = (await gateway.token()).key;
});
afterAll(() => gateway.close());

const data = (value: unknown): string => `data: ${JSON.stringify(value)}`;
const delta = (content: string, finish: string | null = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { content }, finish_reason: finish }],
});
const usage = { id: 'c', choices: [], usage: { prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500 } };
const [open = '', close = ''] = JSON.stringify(delta('ends')).split('"index"');

const events = [
  ': 你好',
  data(delta('你好，')),
  'event: vendor\ndata: {"unknown": true}',
  data(delta('the word finish_reason: "finish_reason":"stop", and [DONE]')),
  data(delta('🌍')),
  `data: ${open}\ndata: "index"${close}`,
  ': keep-alive',
  data(delta('', 'stop')),
  data(usage),
  'data: [DONE]',
];

const encoder = new TextEncoder();
const forms: Readonly<Record<string, Uint8Array>> = {
  LF: encoder.encode(events.map((event) => `${event}\n\n`).join('')),
  'CR LF': encoder.encode(events.map((event) => `${event.replaceAll('\n', '\r\n')}\r\n\r\n`).join('')),
  'a byte order mark and both kinds of line end': encoder.encode(
    `\ufeff${events.map((event, at) => `${event}${at % 2 === 0 ? '\n\n' : '\r\n\r\n'}`).join('')}`,
  ),
  'no blank line behind the last event': encoder.encode(events.join('\n\n')),
};

async function relayed(parts: readonly Uint8Array[]): Promise<Buffer> {
  chunks = parts;
  const body = JSON.stringify({
    model: 'gpt-4o-mini',
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'user', content: 'hi' }],
  });
  const response = await gateway.chat(key, body);
  return Buffer.from(await response.arrayBuffer());
}

test.each(Object.entries(forms))(
  'a stream with %s passes byte for byte, cut at each of its bytes',
  async (_name, bytes) => {
    const whole = Buffer.from(bytes);
    const step = often(7, 1);
    for (let at = 1; at < bytes.length; at += step) {
      const got = await relayed([bytes.slice(0, at), bytes.slice(at)]);
      if (!got.equals(whole)) expect([at, got.toString()]).toEqual([at, whole.toString()]);
    }
    const each = await relayed(Array.from(bytes, (byte) => Uint8Array.of(byte)));
    expect(each.toString()).toBe(whole.toString());
    expect(new Set((await gateway.logs()).map(({ quota, end_reason }) => `${quota} ${end_reason}`))).toEqual(
      new Set(['225 completed']),
    );
  },
);

test('a frame of three megabytes passes, among small ones of the same chunk and by itself', async () => {
  const large = `${data(delta('x'.repeat(3 * 1024 * 1024)))}\n\n`;
  const small = (word: string) => `${data(delta(word))}\n\n`;
  const end = `${data(delta('', 'stop'))}\n\n${data(usage)}\n\ndata: [DONE]\n\n`;
  const text = `${small('a')}${small('b')}${large}${small('c')}${large}${end}`;
  const bytes = encoder.encode(text);
  for (const cuts of [[], [bytes.length >> 1], [200, 1000, 70_000, 3_200_000]]) {
    const parts = [0, ...cuts].map((from, index) => bytes.slice(from, cuts[index] ?? bytes.length));
    expect((await relayed(parts)).equals(Buffer.from(bytes))).toBe(true);
    expect((await gateway.logs())[0]).toMatchObject({ quota: 225, end_reason: 'completed' });
  }
});
