/** Bodies under way take a part of the memory: what finds no room is refused before it is read, and every end gives back what it held. */
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { BodyMemory, memoryPerByte, newBodyCells } from '../../server/relay/intake/body-memory.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

const kb = 1024;
const mb = 1024 * kb;

describe('memory of bodies', () => {
  // Two fifths of it are for bodies: 1,000 KB.
  const all = 2500 * kb;
  const some = 1000 * kb;

  test('is shared by all threads, and what a lost thread held is free for its successor', () => {
    const cells = newBodyCells();
    const [one, other] = [new BodyMemory(cells, 0, all), new BodyMemory(cells, 1, all)];
    expect(one.change(1, 0, 0.6 * some)).toBe(true);
    expect(other.change(2, 0, 0.6 * some)).toBe(false);
    expect(other.change(2, 0, 0.4 * some)).toBe(true);
    const successor = new BodyMemory(cells, 0, all);
    expect(successor.change(3, 0, 0.6 * some)).toBe(true);
  });

  test('one user leaves a quarter of it to the others', () => {
    const memory = new BodyMemory(newBodyCells(), 0, all);
    expect(memory.change(1, 0, 0.5 * some)).toBe(true);
    expect(memory.change(1, 0, 0.26 * some)).toBe(false);
    expect(memory.change(2, 0, 0.26 * some)).toBe(true);
    expect(memory.change(1, 0.5 * some, 0)).toBe(true);
    expect(memory.change(1, 0, 0.7 * some)).toBe(true);
  });

  test('the largest body fits when nothing else is there, and a larger one does not', () => {
    const memory = new BodyMemory(newBodyCells(), 0, all);
    expect(memory.change(1, 0, memory.largest * memoryPerByte.json)).toBe(true);
    expect(memory.change(1, memory.largest * memoryPerByte.json, (memory.largest + kb) * memoryPerByte.json)).toBe(
      false,
    );
  });
});

describe('requests', () => {
  let gateway: TestGateway;
  let upstream: Upstream;
  let cells: SharedArrayBuffer;
  let key: string;
  /** Kilobytes that bodies hold. */
  const held = () => new Int32Array(cells).reduce((sum, one) => sum + one, 0);

  beforeEach(async () => {
    cells = newBodyCells();
    upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
    // For bodies 4 MB, of one user 3 MB: 600 KB of JSON.
    gateway = await createTestGateway({ limits: { billMs: 1 }, relay: { bodies: new BodyMemory(cells, 0, 10 * mb) } });
    await gateway.channel(upstream.url, { models: 'gpt-4o-mini,whisper-1,text-embedding-3-small' });
    key = (await gateway.token()).key;
  });
  afterEach(async () => {
    expect(held()).toBe(0);
    expect(gateway.relay.open()).toBe(0);
    expect(await gateway.verify()).toEqual([]);
    await gateway.close();
    await upstream.stop();
  });

  const hello = 'x y '.repeat(100 * kb);
  const chat = (more: object = {}) => ({
    model: 'gpt-4o-mini',
    max_tokens: 5,
    messages: [{ role: 'user', content: hello }],
    ...more,
  });
  let read = 0;
  /** A body that is made as it is asked for. */
  const post = (path: string, body: string | Uint8Array, headers: Record<string, string> = {}) => {
    const bytes = Buffer.from(body);
    read = 0;
    const pieces = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (read >= bytes.length) return controller.close();
          const piece = new Uint8Array(bytes.subarray(read, read + 64 * kb));
          read += piece.length;
          controller.enqueue(piece);
        },
      },
      { highWaterMark: 0 },
    );
    const request = new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json', ...headers },
      body: pieces,
    });
    return gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  };
  const sized = (body: string) => ({ 'content-length': String(Buffer.byteLength(body)) });

  /** Runs while one body of 400 KB is at the upstream, and returns its own outcome. */
  async function beside<T>(run: () => Promise<T>): Promise<T> {
    const arrived = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    upstream.script(async (response) => {
      arrived.resolve();
      await released.promise;
      sendJson(response, completion(10, 5));
    });
    const first = gateway.send(key, '/v1/chat/completions', chat());
    await arrived.promise;
    expect(held()).toBeGreaterThan(400 * memoryPerByte.json);
    const outcome = await run().finally(released.resolve);
    expect((await first).status).toBe(200);
    await (await first).text();
    return outcome;
  }

  test.each([
    ['/v1/chat/completions', chat()],
    ['/v1/messages', chat()],
    ['/v1/responses', { model: 'gpt-4o-mini', input: hello }],
    ['/v1beta/models/gpt-4o-mini:generateContent', { contents: [{ role: 'user', parts: [{ text: hello }] }] }],
    ['/v1/messages/count_tokens', chat()],
  ])('%s: what finds no room is refused with 503 and Retry-After before it is read', async (path, body) => {
    const text = JSON.stringify(body);
    const refused = await beside(() => post(path, text, sized(text)));
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(read).toBe(0);
    const row = (await gateway.logs()).find(({ quota }) => quota === 0);
    expect(row?.content).toContain('busy');
    upstream.script((response) => sendJson(response, completion(10, 5)));
    const again = await post(path, text, sized(text));
    await again.text();
    expect(again.status).toBe(200);
  });

  test('a body that does not say its length is refused where room ends, and read no further', async () => {
    const refused = await beside(() => post('/v1/chat/completions', JSON.stringify(chat())));
    expect(refused.status).toBe(503);
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThan(300 * kb);
  });

  test('a small body is served however full it is', async () => {
    const small = JSON.stringify(chat({ messages: [{ role: 'user', content: 'hi' }] }));
    const { promise, resolve } = Promise.withResolvers<number>();
    await beside(async () => {
      const pending = post('/v1/chat/completions', small, sized(small));
      // Both wait at the upstream.
      void pending.then(async (response) => {
        await response.text();
        resolve(response.status);
      });
    });
    expect(await promise).toBe(200);
  });

  test('a packed body holds what it is unpacked', async () => {
    const packed = gzipSync(JSON.stringify(chat()));
    const headers = { 'content-encoding': 'gzip', 'content-length': String(packed.length) };
    const refused = await beside(() => post('/v1/chat/completions', packed, headers));
    expect(refused.status).toBe(503);
  });

  test('small packed bodies are served many at a time, as small plain ones are', async () => {
    const packed = gzipSync(JSON.stringify(chat({ messages: [{ role: 'user', content: 'hi' }] })));
    const headers = { 'content-encoding': 'gzip', 'content-length': String(packed.length) };
    upstream.script((response) => sendJson(response, completion(10, 5)));
    const path = '/v1/chat/completions';
    const send = () => {
      const request = new Request(`http://gateway${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json', ...headers },
        body: packed,
      });
      return gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
    };
    const responses = await Promise.all(Array.from({ length: 5 }, send));
    for (const response of responses) await response.text();
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });

  test('orders of work count for the user who orders, not for all of them together', async () => {
    await gateway.option('DrawingEnabled', 'true');
    const change = vi.spyOn(BodyMemory.prototype, 'change');
    const text = JSON.stringify({ prompt: hello });
    await (await post('/mj/submit/imagine', text, sized(text))).text();
    expect(change.mock.calls.length).toBeGreaterThan(1);
    expect(change.mock.calls.map(([userId]) => userId)).not.toContain(0);
    change.mockRestore();
  });

  test('a client that declares a length and sends nothing holds nothing', async () => {
    let end: () => void = () => undefined;
    const silent = new ReadableStream<Uint8Array>({
      start: (controller) => {
        end = () => controller.error(new Error('gone'));
      },
    });
    const path = '/v1/chat/completions';
    const headers = { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' };
    const request = new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-length': String(600 * kb) },
      body: silent,
    });
    const pending = gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
    await expect.poll(() => gateway.relay.open()).toBe(1);
    expect(held()).toBe(0);
    const text = JSON.stringify(chat());
    upstream.script((response) => sendJson(response, completion(10, 5)));
    const other = await post(path, text, sized(text));
    await other.text();
    expect(other.status).toBe(200);
    end();
    expect((await pending).status).toBe(400);
  });

  test('a recording holds less for each of its bytes', async () => {
    expect(memoryPerByte.form).toBeLessThan(memoryPerByte.json);
    const part = (headers: string, value: string) =>
      `--b\r\nContent-Disposition: form-data; ${headers}\r\n\r\n${value}\r\n`;
    const file = part('name="file"; filename="a.mp3"', 'x'.repeat(250 * kb));
    const form = `${part('name="model"', 'whisper-1')}${file}--b--\r\n`;
    const headers = { ...sized(form), 'content-type': 'multipart/form-data; boundary=b' };
    upstream.script((response) => sendJson(response, { text: 'hi' }));
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, held());
    }, 1);
    const response = await post('/v1/audio/transcriptions', form, headers);
    await response.text();
    clearInterval(watch);
    expect(response.status).toBe(200);
    expect(most).toBeLessThan(300 * memoryPerByte.form);
  });

  test('a body that never fits is too large', async () => {
    const text = JSON.stringify(chat({ user: 'x'.repeat(mb) }));
    const refused = await post('/v1/chat/completions', text, sized(text));
    expect(refused.status).toBe(413);
    expect(read).toBe(0);
  });

  test.each<[string, number, () => Promise<Response>]>([
    [
      'its balance',
      403,
      async () => {
        key = (await gateway.token({ unlimited_quota: false, remain_quota: 20 })).key;
        return post('/v1/chat/completions', JSON.stringify(chat()), sized(JSON.stringify(chat())));
      },
    ],
    ['its model', 404, () => post('/v1/chat/completions', JSON.stringify(chat({ model: 'none' })))],
    ['what it says', 400, () => post('/v1/chat/completions', `${JSON.stringify(chat())}}`)],
    [
      'its upstream',
      502,
      () => {
        upstream.script((response) => response.destroy());
        return post('/v1/chat/completions', JSON.stringify(chat()));
      },
    ],
  ])('what is refused for %s holds nothing', async (_, status, run) => {
    const response = await run();
    await response.text();
    expect(read).toBeGreaterThan(0);
    expect(response.status).toBe(status);
  });

  test('a stream holds it to its end, and a client that leaves gives it back', async () => {
    upstream.script((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n');
    });
    const response = await post('/v1/chat/completions', JSON.stringify(chat({ stream: true })));
    const reader = response.body?.getReader();
    await reader?.read();
    expect(held()).toBeGreaterThan(400 * memoryPerByte.json);
    await reader?.cancel();
    await expect.poll(held).toBe(0);
  });
});
