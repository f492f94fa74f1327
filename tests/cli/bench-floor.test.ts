import { afterEach, expect, test } from 'vitest';
import { Answer } from '../../cli/bench/answer.ts';
import { type FloorKind, serveFloor } from '../../cli/bench/floor.ts';
import { freePort } from '../../cli/bench/process.ts';

const opened: { stop(closesConnections?: boolean): unknown }[] = [];
afterEach(() => {
  for (const server of opened.splice(0)) server.stop(true);
});

/** Echoes the body: whole, in chunks, or without end. */
function startUpstream(): number {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const text = await request.text();
      const { pathname } = new URL(request.url);
      if (pathname === '/empty') return new Response(null, { status: 204, headers: { 'content-length': '0' } });
      if (pathname === '/whole') return new Response(text);
      return new Response(
        new ReadableStream({
          async start(controller) {
            for (const part of [text, 'data: [DONE]\n\n']) {
              controller.enqueue(new TextEncoder().encode(part));
              await Bun.sleep(1);
            }
            if (pathname === '/chunks') controller.close();
          },
        }),
      );
    },
  });
  opened.push(server);
  return server.port ?? 0;
}

function startFloor(kind: FloorKind): string {
  const port = freePort();
  opened.push(...serveFloor([kind, `${port}:${startUpstream()}`]));
  return `http://127.0.0.1:${port}`;
}

test.each(['fetch', 'durable', 'sockets'] as const)(
  'a floor of %s relays whole answers, chunks and nothing, many at once and one after the other',
  async (kind) => {
    const url = startFloor(kind);
    const large = 'x'.repeat(3_000_000);
    const ask = async (path: string, body: string) => (await fetch(url + path, { method: 'POST', body })).text();
    for (const body of ['a', large, 'b']) {
      expect(await ask('/whole', body)).toBe(body);
      expect(await ask('/chunks', body)).toBe(`${body}data: [DONE]\n\n`);
      expect((await fetch(`${url}/empty`, { method: 'POST', body })).status).toBe(204);
    }
    const bodies = Array.from({ length: 40 }, (_, at) => `body ${at}`);
    expect(await Promise.all(bodies.map((body) => ask('/whole', body)))).toEqual(bodies);
  },
);

test('a client of the socket floor that leaves within an answer leaves nothing of it to the next one', async () => {
  const url = startFloor('sockets');
  const abort = new AbortController();
  const response = await fetch(`${url}/endless`, { method: 'POST', body: 'first', signal: abort.signal });
  await response.body?.getReader().read();
  abort.abort();
  for (const body of ['second', 'third'])
    expect(await (await fetch(`${url}/whole`, { method: 'POST', body })).text()).toBe(body);
});

const bytes = (text: string) => Buffer.from(text, 'latin1');

test.each([
  ['HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello', 'hello'],
  ['HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n', ''],
  ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n', '5\r\nhello\r\n0\r\n\r\n'],
])('the end of %j is found however it is cut, and the next one begins', (text, tail) => {
  const answer = new Answer();
  for (let first = 1; first < text.length; first++)
    for (let second = first; second < text.length; second += 7) {
      answer.begin();
      const pieces = [text.slice(0, first), text.slice(first, second), text.slice(second)].filter((one) => one !== '');
      expect(pieces.map((piece) => answer.isOver(bytes(piece)))).toEqual(
        pieces.map((_, at) => at === pieces.length - 1),
      );
      expect(answer.head).toBe(text.slice(0, text.indexOf('\r\n\r\n')));
      expect(tail.endsWith(answer.tail.toString('latin1'))).toBe(true);
    }
});
