import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
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

/** A plain socket: a fetch would read ahead on its own. */
function plainAsk(content: string): Socket {
  const socket = connect(server.port ?? 0, '127.0.0.1');
  const body = JSON.stringify({ model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content }] });
  socket.write(
    `POST / HTTP/1.1\r\nhost: x\r\nauthorization: Bearer sk-${key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  return socket;
}
const frame = (content: string) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;
const mebibyte = 1024 * 1024;

test('a reader that stalls holds the upstream back instead of filling memory', async () => {
  let sent = 0;
  let closed = false;
  const chunk = Buffer.from(frame('x'.repeat(16 * 1024)));
  upstream.script(async (response) => {
    response.on('close', () => {
      closed = true;
    });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    while (!closed && sent < 1024 * mebibyte) {
      sent += chunk.length;
      if (!response.write(chunk)) await new Promise((resolve) => response.once('drain', resolve));
    }
  });
  const socket = plainAsk('hi');
  await once(socket, 'readable');
  socket.pause();
  await Bun.sleep(1500);
  // What left the upstream is all that could have been kept; the process's own size belongs to every test in it.
  expect(sent).toBeLessThan(64 * mebibyte);
  socket.destroy();
  await expect.poll(() => closed, { timeout: 3000 }).toBe(true);
  await expect.poll(() => gateway.relay.open(), { timeout: 3000 }).toBe(0);
  const [log, ...others] = await gateway.logs();
  expect([log?.end_reason, others]).toEqual(['client_gone', []]);
  expect(log?.quota).toBeGreaterThan(0);
  expect(await gateway.verify()).toEqual([]);
});

test('hundreds of clients that leave take their upstreams with them, soon', async () => {
  const leftAt = new Map<string, number>();
  const closedAfter: number[] = [];
  upstream.script((response, { body }) => {
    const name = /client \d+/.exec(body.toString())?.[0] ?? '';
    response.on('close', () => closedAfter.push(performance.now() - (leftAt.get(name) ?? Number.POSITIVE_INFINITY)));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frame('one two three'));
  });
  // Plain sockets: a process may have 256 fetches under way, and the gateway's own are in this one too.
  const clients = await Promise.all(
    Array.from({ length: 200 }, async (_, n) => {
      const name = `client ${n}`;
      const socket = plainAsk(name);
      await once(socket, 'data');
      return { name, socket };
    }),
  );
  for (const { name, socket } of clients) {
    leftAt.set(name, performance.now());
    socket.destroy();
    await Bun.sleep(1);
  }
  await expect.poll(() => closedAfter.length, { timeout: 5000 }).toBe(clients.length);
  await expect.poll(() => gateway.relay.open(), { timeout: 5000 }).toBe(0);
  // The goal, with clients, gateway and upstream on one loop; `scripts/lab/measure/streams.ts` measures 3,000 on the executable.
  const median = closedAfter.sort((a, b) => a - b)[clients.length / 2] ?? 0;
  console.log(`200 clients left: their upstreams were closed after ${median.toFixed(1)} ms (median)`);
  expect(median).toBeLessThan(100);
  await gateway.ledger.drain();
  expect(await gateway.verify()).toEqual([]);
});

test('a reader that stalls again and again leaves nothing behind that grows with the stream', async () => {
  const frames = 3000;
  upstream.script(async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let n = 0; n < frames; n++) {
      if (!response.write(frame('x'.repeat(16 * 1024))))
        await new Promise((resolve) => response.once('drain', resolve));
    }
    response.end(
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`,
    );
  });
  let listeners = 0;
  const added = vi.spyOn(AbortSignal.prototype, 'addEventListener').mockImplementation(function (
    this: AbortSignal,
    ...args
  ) {
    listeners++;
    return EventTarget.prototype.addEventListener.apply(this, args as Parameters<EventTarget['addEventListener']>);
  });
  const socket = plainAsk('stalls');
  let received = 0;
  let tail = '';
  for await (const bytes of socket as AsyncIterable<Buffer>) {
    received += bytes.length;
    tail = (tail + bytes.toString('latin1', Math.max(0, bytes.length - 64))).slice(-64);
    await Bun.sleep(2);
    if (tail.includes('[DONE]')) break;
  }
  added.mockRestore();
  expect(received).toBeGreaterThan(frames * 16 * 1024);
  expect(listeners).toBeLessThan(8);
  const [log] = await gateway.logs();
  // 48 MB of letters without a usage frame: counted soon, by what was kept of them.
  expect(log).toMatchObject({ end_reason: 'completed', usage_source: 'estimated' });
});
