/** Forms: what they say is read whole, wherever it stands, before anything is paid or goes up. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;

beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream((response) => sendJson(response, { text: 'hi', data: [{ url: 'x' }] }));
  await gateway.option('ModelRatio', '{"cheap":1,"whisper-1":15}');
  await gateway.option('ModelPrice', '{"gpt-image-1":0.02}');
  key = (await gateway.token()).key;
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const mark = 'xxMARKxx';
const part = (headers: string, value: string) =>
  `--${mark}\r\nContent-Disposition: form-data; ${headers}\r\n\r\n${value}\r\n`;
const field = (name: string, value: string) => part(`name="${name}"`, value);
const file = (name: string, value: string) => part(`name="${name}"; filename="a.wav"`, value);
const end = `--${mark}--\r\n`;
const large = 'x'.repeat(9 << 20);
const models = 'cheap,whisper-1,gpt-image-1';

/** In pieces of 64 KiB, as they come from a socket. */
function piecesOf(text: string): ReadableStream<Uint8Array> {
  const bytes = Buffer.from(text, 'latin1');
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(new Uint8Array(bytes.subarray(at, at + 65_536)));
      at += 65_536;
    },
  });
}

const ask = (path: string, body: string) =>
  gateway.relay.handle(
    new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}`, 'content-type': `multipart/form-data; boundary=${mark}` },
      body: piecesOf(body),
    }),
    path,
    { ip: () => '127.0.0.1' },
  );
const transcribe = (body: string) => ask('/v1/audio/transcriptions', body);
const codeOf = async (response: Response) => ((await response.json()) as { error: { code: string } }).error.code;

describe('a fault behind 9 MiB', () => {
  const faults: Readonly<Record<string, string>> = {
    'a second model': field('model', 'dear') + end,
    'a second model, named with a token': part('name=model', 'dear') + end,
    'a second recording': file('file', 'y') + end,
    'a part with two names': part('name="x"; name="model"', 'dear') + end,
    'no end': '',
    'a boundary inside': `--${mark}`,
  };
  test.each(Object.entries(faults))('%s is found before anything goes up', async (_, rest) => {
    const id = await gateway.channel(upstream.url, { models });
    const before = await gateway.balance();
    const response = await transcribe(field('model', 'cheap') + file('file', large) + rest);
    expect(response.status).toBe(400);
    expect(await codeOf(response)).toBe('body_invalid');
    expect(upstream.requests).toHaveLength(0);
    expect(await gateway.balance()).toBe(before);
    expect(gateway.relay.channelStatuses([id])).toEqual([{ condition: 'up', waitMs: 0 }]);
    expect(gateway.relay.open()).toBe(0);
    expect(await gateway.verify()).toEqual([]);
  });

  test('a field that pictures are priced by is read wherever it stands', async () => {
    await gateway.channel(upstream.url, { models });
    const before = await gateway.balance();
    const body = field('model', 'gpt-image-1') + file('image', large) + field('n', '3') + end;
    upstream.script((response) => sendJson(response, { created: 1 }));
    expect((await ask('/v1/images/edits', body)).status).toBe(200);
    // 0.02 dollars each.
    expect(before - (await gateway.balance())).toBe(30_000);
    expect(upstream.requests[0]?.body.toString('latin1')).toBe(body);
    const twice = body.replace(end, field('n', '1') + end);
    expect((await ask('/v1/images/edits', twice)).status).toBe(400);
    expect(upstream.requests).toHaveLength(1);
  });

  test('a whole form passes byte for byte', async () => {
    await gateway.channel(upstream.url, { models });
    const body = field('model', 'cheap') + file('file', large) + field('language', 'de') + end;
    expect((await transcribe(body)).status).toBe(200);
    expect(upstream.requests[0]?.body.equals(Buffer.from(body, 'latin1'))).toBe(true);
  });
});

test('the recording that is paid for is the one that is sent', async () => {
  await gateway.channel(upstream.url, { models });
  const before = await gateway.balance();
  // 160,000 bytes in no known format are 214 s at the least rate that speech takes, of 1000 tokens a minute.
  const decoys = file('note', 'x'.repeat(100)) + field('model', 'cheap') + file('other', large);
  expect((await transcribe(decoys + file('file', 'x'.repeat(160_000)) + end)).status).toBe(200);
  expect(before - (await gateway.balance())).toBe(3567);
});

test('the model we assume is the model we ask for', async () => {
  await gateway.channel(upstream.url, { models });
  expect((await transcribe(file('file', 'x') + end)).status).toBe(200);
  const form = await new Response(new Uint8Array(upstream.requests[0]?.body ?? []), {
    headers: { 'content-type': upstream.requests[0]?.headers['content-type'] ?? '' },
  }).formData();
  expect([...form.entries()].map(([name, value]) => [name, typeof value === 'string' ? value : 'file'])).toEqual([
    ['model', 'whisper-1'],
    ['file', 'file'],
  ]);
});

test('the model we assume is put before an empty line that was in front of the first boundary', async () => {
  await gateway.channel(upstream.url, { models });
  expect((await transcribe(`\r\n${file('file', 'x')}${end}`)).status).toBe(200);
  const own = '--xxMARKxx\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n--xxMARKxx\r\n';
  expect(upstream.requests[0]?.body.toString()).toMatch(new RegExp(`^${own}`));
});

test('a mapped model keeps a part that names its length true', async () => {
  await gateway.channel(upstream.url, { models, model_mapping: '{"cheap":"a-longer-name"}' });
  const form = `--${mark}\r\nContent-Disposition: form-data; name="model"\r\nContent-Length: 5\r\n\r\ncheap\r\n`;
  expect((await transcribe(form + file('file', 'x') + end)).status).toBe(200);
  const sent = upstream.requests[0]?.body.toString() ?? '';
  expect(sent).toContain('\r\n\r\na-longer-name\r\n');
  expect(sent).not.toContain('Content-Length');
});

test.each(['x', '-1', '1.5', '10000', ''])(
  'a number of pictures that is none is refused by its name: %j',
  async (n) => {
    const response = await ask(
      '/v1/images/edits',
      field('model', 'gpt-image-1') + field('n', n) + file('image', 'x') + end,
    );
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    expect([response.status, error.code]).toEqual([400, 'body_invalid']);
    expect(error.message).toContain('n must be a whole number');
    expect(upstream.requests).toHaveLength(0);
  },
);

test('an empty line in front of the first boundary is no part of the form', async () => {
  await gateway.channel(upstream.url, { models });
  expect((await transcribe(`\r\n${field('model', 'cheap')}${file('file', 'x')}${end}`)).status).toBe(200);
  expect((await transcribe(`\r\r${field('model', 'cheap')}${file('file', 'x')}${end}`)).status).toBe(400);
});

test('a field that a reader could take for another is refused with both names', async () => {
  await gateway.channel(upstream.url, { models });
  const response = await transcribe(field('model', 'cheap') + field('Model', 'gpt') + file('file', 'x') + end);
  const { error } = (await response.json()) as { error: { message: string } };
  expect(response.status).toBe(400);
  expect(error.message).toContain('"Model" could be read as model');
});

test('a name that is none is shown as far as anybody reads it', async () => {
  const response = await transcribe(field('model', `a\u0001${'b'.repeat(300)}`) + file('file', 'x') + end);
  const { error } = (await response.json()) as { error: { message: string } };
  expect(response.status).toBe(400);
  expect(error.message).toContain(`"a\\u0001${'b'.repeat(98)}" is no name of a model`);
});

test('a part without a name: the error says what it needs', async () => {
  const part = `--${mark}\r\nContent-Disposition: attachment; name="model"\r\n\r\ncheap\r\n`;
  const response = await transcribe(part + file('file', 'x') + end);
  const { error } = (await response.json()) as { error: { message: string } };
  expect(response.status).toBe(400);
  expect(error.message).toContain('needs a Content-Disposition of the form: form-data; name="..."');
});
