import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let key: string;
let server: ReturnType<typeof Bun.serve>;
beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream(() => undefined);
  await gateway.channel(upstream.url);
  key = (await gateway.token()).key;
  server = Bun.serve({
    port: 0,
    idleTimeout: 0,
    fetch: (request) => gateway.relay.handle(request, '/v1/chat/completions', { ip: () => '127.0.0.1' }),
  });
});
afterEach(async () => {
  await server.stop(true);
  await gateway.close();
  await upstream.stop();
});

const ask = (signal?: AbortSignal) =>
  fetch(`http://127.0.0.1:${server.port}/`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}` },
    body: JSON.stringify({ model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content: 'hi' }] }),
    ...(signal === undefined ? {} : { signal }),
  });
const frame = (content: string) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;
const mebibyte = 1024 * 1024;

test('a reader that stalls holds the upstream back instead of filling memory', async () => {
  let sent = 0;
  let closed = false;
  const piece = Buffer.from(frame('x'.repeat(16 * 1024)));
  upstream.script(async (response) => {
    response.on('close', () => {
      closed = true;
    });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    while (!closed && sent < 1024 * mebibyte) {
      sent += piece.length;
      if (!response.write(piece)) await new Promise((resolve) => response.once('drain', resolve));
    }
  });
  // A plain socket: a fetch would read ahead on its own.
  const socket = connect(server.port ?? 0, '127.0.0.1');
  const body = JSON.stringify({ model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content: 'hi' }] });
  socket.write(
    `POST / HTTP/1.1\r\nhost: x\r\nauthorization: Bearer sk-${key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await once(socket, 'readable');
  socket.pause();
  await Bun.sleep(1500);
  // What left the upstream is all that could have been kept; the process's own size belongs to every test in it.
  expect(sent).toBeLessThan(64 * mebibyte);
  socket.destroy();
  await expect.poll(() => closed, { timeout: 3000 }).toBe(true);
}, 20_000);

test('hundreds of clients that leave take their upstreams with them, soon', async () => {
  const closedAfter: number[] = [];
  let left = Number.POSITIVE_INFINITY;
  upstream.script((response) => {
    response.on('close', () => closedAfter.push(performance.now() - left));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frame('one two three'));
  });
  const count = 200;
  const leaves = Array.from({ length: count }, () => new AbortController());
  const readers = await Promise.all(
    leaves.map(async ({ signal }) => {
      const reader = (await ask(signal)).body?.getReader();
      await reader?.read();
      return reader;
    }),
  );
  expect(readers).toHaveLength(count);
  left = performance.now();
  for (const leave of leaves) leave.abort();
  await expect.poll(() => closedAfter.length, { timeout: 5000 }).toBe(count);
  await expect.poll(() => gateway.relay.open(), { timeout: 5000 }).toBe(0);
  const median = closedAfter.sort((a, b) => a - b)[count / 2] ?? 0;
  expect(median).toBeLessThan(1000);
  await gateway.ledger.drain();
  expect(await gateway.verify()).toEqual([]);
}, 30_000);
