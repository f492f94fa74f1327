/** Clients that do everything wrong at once: whoever does it right is served all the while, and nothing is left behind. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSite, type Site } from '../support/site.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let site: Site;
let upstream: Upstream;
let key: string;
const sockets: Socket[] = [];
beforeEach(async () => {
  site = await createSite();
  upstream = await startUpstream((response) => sendJson(response, completion(3, 2)));
  await site.gateway.channel(upstream.url);
  key = (await site.gateway.token()).key;
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await expect.poll(() => site.gateway.relay.open()).toBe(0);
  expect(await site.gateway.verify()).toEqual([]);
  expect(site.reported).toEqual([]);
  await site.close();
  await upstream.stop();
});

const open = (): Socket => {
  const socket = connect(site.port, '127.0.0.1');
  socket.on('error', () => undefined);
  sockets.push(socket);
  return socket;
};
const head = (length: number, more = '') =>
  `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-${key}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n${more}\r\n`;
const chat = (more: object = {}) =>
  JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }], ...more });
const asks = async () => {
  const response = await fetch(`${site.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, connection: 'close' },
    body: chat(),
  });
  await response.arrayBuffer();
  return response.status;
};
/** Bytes in, the first line of what comes back out. */
const answerTo = async (bytes: string | Uint8Array): Promise<string> => {
  const socket = open();
  socket.write(bytes);
  const received = await Promise.race([
    once(socket, 'data').then(([chunk]) => String(chunk)),
    once(socket, 'close').then(() => 'closed'),
  ]);
  socket.destroy();
  return received.split('\r\n')[0] ?? '';
};

test('headers and bodies that come byte by byte, and silent connections, delay no other client', async () => {
  for (let n = 0; n < 300; n++) {
    const socket = open();
    if (n % 3 === 0) socket.write(head(5000).slice(0, 20 + n));
    if (n % 3 === 1) socket.write(head(5000) + chat().slice(0, 5));
  }
  for (let n = 0; n < 10; n++) expect(await asks()).toBe(200);
});

test('clients that leave at every moment leave nothing behind', async () => {
  upstream.script(async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'one' } }] })}\n\n`);
    await Bun.sleep(20);
    response.end('data: [DONE]\n\n');
  });
  const whole = head(chat({ stream: true }).length) + chat({ stream: true });
  await Promise.all(
    Array.from({ length: 300 }, async (_, n) => {
      const socket = open();
      await once(socket, 'connect');
      socket.write(whole.slice(0, 1 + ((n * 37) % whole.length)));
      if (n % 2 === 0) socket.write(whole.slice(1 + ((n * 37) % whole.length)));
      await Bun.sleep(n % 40);
      socket.destroy();
    }),
  );
  upstream.script((response) => sendJson(response, completion(3, 2)));
  expect(await asks()).toBe(200);
});

const bomb = (text: string) => head(Buffer.byteLength(text)) + text;
test.each([
  ['arrays in arrays', () => bomb(`{"model":"gpt-4o-mini","messages":${'['.repeat(100_000)}`)],
  [
    'objects in objects',
    () => bomb(`{"model":"gpt-4o-mini","messages":${'{"a":'.repeat(60_000)}1${'}'.repeat(60_000)}}`),
  ],
  [
    'half a million members',
    () => bomb(`{"model":"gpt-4o-mini",${Array.from({ length: 500_000 }, (_, n) => `"a${n}":1`).join(',')}}`),
  ],
  [
    'bytes that are no text',
    () => Buffer.concat([Buffer.from(head(6)), Buffer.from([0x7b, 0xff, 0xfe, 0xc0, 0x80, 0x7d])]),
  ],
  ['no JSON', () => bomb('{"model":')],
  ['nothing', () => bomb('')],
  ['a name that everything has', () => bomb('{"__proto__":{"model":"gpt-4o-mini"}}')],
  ['half a letter', () => bomb('{"model":"\\ud800","messages":[]}')],
  ['a length below zero', () => head(-5) + chat()],
  ['a length that is a word', () => head(Number.NaN) + chat()],
  ['an unknown verb', () => `${head(2).replace('POST', 'BREW')}{}`],
  ['headers without an end', () => `GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(200_000)}\r\n\r\n`],
  ['a header without a name', () => 'GET /v1/models HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n'],
  ['a folded header', () => 'GET /v1/models HTTP/1.1\r\nHost: x\r\nX-A: b\r\n c\r\n\r\n'],
  ['a zero in a header', () => 'GET /v1/models HTTP/1.1\r\nHost: x\r\nX-A: b\0c\r\n\r\n'],
  ['no HTTP at all', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
])(
  '%s: refused, and the next is served',
  async (_name, bytes) => {
    const line = await answerTo(bytes());
    expect(line === 'closed' || /^HTTP\/1\.1 (4\d\d|501)/.test(line), line).toBe(true);
    expect(await asks()).toBe(200);
    expect(({} as { model?: unknown }).model).toBeUndefined();
  },
  20_000,
);
