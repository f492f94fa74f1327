import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { figure } from '../support/figure.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { type Streams, streams } from './answers.ts';
import { chat, createSite, type ReceivedStream, type Serving, type Site } from './support.ts';

let site: Site;
let upstream: Upstream;
let upstreamStreams: Streams;
let key: string;

beforeEach(async () => {
  upstreamStreams = streams();
  upstream = await startUpstream(upstreamStreams.script);
  site = createSite();
  key = await site.setUp(upstream.url);
});
afterEach(async () => {
  await site.close();
  await upstream.stop();
});

const ends = async (serving: Serving): Promise<void> => {
  serving.child.kill('SIGTERM');
  expect(await serving.ended()).toBe(0);
};
const verified = async () => {
  const { code, out } = await site.run(['ledger', 'verify']);
  expect(code === 0 ? '' : out).toBe('');
};
/** Which process has the database open, and as which thread's business. */
const writers = async (serving: readonly Serving[]): Promise<number[]> => {
  const { readdirSync, readlinkSync } = await import('node:fs');
  return serving.map(({ child }) => {
    const files = readdirSync(`/proc/${child.pid}/fd`).map((name) => {
      try {
        return readlinkSync(`/proc/${child.pid}/fd/${name}`);
      } catch {
        return '';
      }
    });
    return files.filter((file) => file.endsWith('gateway.db')).length;
  });
};

test.each([['1'], ['2']])(
  'with %s relays, a new process takes the place of one under load: no request is refused, streams end, all is billed once',
  async (relayThreads) => {
    const first = await site.serve(['--relays', relayThreads]);
    const open = Array.from({ length: 20 }, () => chat(first.url, key, true));
    await expect.poll(() => upstreamStreams.open(), { timeout: 20_000 }).toBe(20);
    let loading = true;
    const received: (ReceivedStream | string)[] = [];
    const load = Array.from({ length: 8 }, async () => {
      while (loading) received.push(await chat(first.url, key).catch((error: unknown) => String(error)));
    });
    await expect.poll(() => received.length, { timeout: 20_000 }).toBeGreaterThan(100);

    const second = await site.serve(['--relays', relayThreads, '--take-over']);
    expect(second.url).toBe(first.url);
    const before = received.length;
    await expect.poll(() => received.length, { timeout: 20_000 }).toBeGreaterThan(before + 200);
    // The first one only ends its streams: the database is the other's alone.
    const [mine, theirs] = await writers([first, second]);
    expect(mine).toBe(0);
    expect(theirs).toBeGreaterThan(0);
    expect(first.child.exitCode).toBe(null);
    loading = false;
    await Promise.all(load);
    upstreamStreams.finish();
    const streamed = await Promise.all(open);
    expect(await first.ended()).toBe(0);
    figure(
      `take-over with ${relayThreads} relays: ${received.length} answers meanwhile, ${streamed.length} streams across it`,
    );

    const answers = [...received, ...streamed];
    expect(answers.filter((one) => typeof one === 'string' || !one.whole)).toEqual([]);
    expect((await chat(second.url, key)).status).toBe(200);
    await ends(second);
    const charged = await site.charged();
    expect(new Set(charged).size).toBe(charged.length);
    expect(charged.length).toBe(answers.length + 1);
    await verified();
  },
  120_000,
);

test('a server that cannot start leaves the place to the one before, which goes on as if nothing had been', async () => {
  const first = await site.serve();
  const open = chat(first.url, key, true);
  await expect.poll(() => upstreamStreams.open(), { timeout: 20_000 }).toBe(1);
  // The database is released by then, and the key that fits is not there.
  const failed = await site.run(['serve', '--take-over'], '', { GATEWAY_SECRET_KEY: 'A'.repeat(43) });
  expect(failed.code).not.toBe(0);
  await expect.poll(() => first.output(), { timeout: 20_000 }).toContain('this one serves on');
  const after = await chat(first.url, key);
  expect(after.status).toBe(200);
  expect(await site.ok(['channel', 'list'])).toContain('up');
  upstreamStreams.finish();
  expect((await open).whole).toBe(true);
  await ends(first);
  expect(await site.charged()).toHaveLength(2);
  await verified();
});

test('a third follows the second while the first still ends its streams', async () => {
  const first = await site.serve();
  const early = chat(first.url, key, true);
  await expect.poll(() => upstreamStreams.open(), { timeout: 20_000 }).toBe(1);
  const second = await site.serve(['--take-over']);
  const later = chat(second.url, key, true);
  await expect.poll(() => upstreamStreams.open(), { timeout: 20_000 }).toBe(2);
  const third = await site.serve(['--take-over']);
  expect(await writers([first, second])).toEqual([0, 0]);
  upstreamStreams.finish();
  expect([(await early).whole, (await later).whole]).toEqual([true, true]);
  expect(await first.ended()).toBe(0);
  expect(await second.ended()).toBe(0);
  await ends(third);
  expect(await site.charged()).toHaveLength(2);
  await verified();
});

test.each([
  ['for those before it', 1, [0, 0, 0]],
  ['no longer at the second signal, and what they have open is billed', 2, [0, 0, 143]],
])(
  'the newest server that must stop waits %s',
  async (_, signals, codes) => {
    const first = await site.serve();
    const early = chat(first.url, key, true);
    await expect.poll(() => upstreamStreams.open(), { timeout: 20_000 }).toBe(1);
    const second = await site.serve(['--take-over']);
    const later = chat(second.url, key, true);
    await expect.poll(() => upstreamStreams.open(), { timeout: 20_000 }).toBe(2);
    const third = await site.serve(['--take-over']);
    await expect.poll(() => second.output(), { timeout: 20_000 }).toContain('another process serves from here on');
    third.child.kill('SIGTERM');
    await expect.poll(() => third.output(), { timeout: 20_000 }).toContain('still ends what it has open');
    expect(upstreamStreams.open()).toBe(2);
    if (signals === 2) third.child.kill('SIGTERM');
    else upstreamStreams.finish();
    const isWhole = signals === 1;
    expect([(await early).whole, (await later).whole]).toEqual([isWhole, isWhole]);
    expect([await first.ended(), await second.ended(), await third.ended()]).toEqual(codes);
    expect(await site.charged()).toHaveLength(2);
    await verified();
  },
  120_000,
);

/** A connection that is kept from before a take-over, over which raw requests go. */
interface KeptConnection {
  /** @returns what comes within the connection until `isWhole` or its end. */
  ask(request: string, isWhole: (text: string) => boolean): Promise<string>;
}

async function keptConnection(url: string, key: string): Promise<KeptConnection> {
  const socket = await new Promise<Socket>((resolve) => {
    const one = connect(Number(new URL(url).port), '127.0.0.1', () => resolve(one));
  });
  socket.on('error', () => undefined);
  const ask: KeptConnection['ask'] = (request, isWhole) =>
    new Promise((resolve) => {
      let text = '';
      const end = () => resolve(text);
      socket.on('data', (bytes: Buffer) => {
        text += bytes.toString('latin1');
        if (isWhole(text)) end();
      });
      if (socket.closed) return end();
      socket.once('close', end);
      socket.write(request);
    });
  await ask(`GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`, (text) =>
    text.includes('"data"'),
  );
  return { ask };
}

const streamRequest = (key: string): string => {
  const body = '{"model":"gpt-4o-mini","stream":true,"messages":[{"role":"user","content":"hi"}]}';
  return `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};
const socketRequest = (key: string): string =>
  `GET /v1/realtime?model=gpt-4o-mini HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`;

test.each([['1'], ['2']])(
  'with %s relays, streams and sockets that begin over connections of the first server after the third one has come are served to their end',
  async (relayThreads) => {
    const first = await site.serve(['--relays', relayThreads]);
    const early = chat(first.url, key, true);
    await expect.poll(() => upstreamStreams.open(), { timeout: 20_000 }).toBe(1);
    const kept = await Promise.all(Array.from({ length: 6 }, () => keptConnection(first.url, key)));
    const [socketConnection, ...streamConnections] = kept;
    const second = await site.serve(['--relays', relayThreads, '--take-over']);
    const third = await site.serve(['--relays', relayThreads, '--take-over']);
    const later = streamConnections.map((one) => one.ask(streamRequest(key), (text) => text.endsWith('0\r\n\r\n')));
    // The upstream of these tests offers no sockets: what it says to one comes as a response, with words.
    const refused = await socketConnection?.ask(socketRequest(key), (text) => text.includes('request id'));
    expect(refused).toMatch(/^HTTP\/1\.1 50\d [\s\S]*"error":\{[\s\S]*request id/);
    await expect.poll(() => upstreamStreams.open(), { timeout: 20_000 }).toBe(1 + later.length);
    // Longer than the second one stays for what it serves itself.
    await expect.poll(() => second.output(), { timeout: 20_000 }).toContain('another process serves from here on');
    await Bun.sleep(3000);
    upstreamStreams.finish();
    for (const text of await Promise.all(later)) expect(text).toMatch(/^HTTP\/1\.1 200 [\s\S]*data: \[DONE\]/);
    expect((await early).whole).toBe(true);
    expect([await first.ended(), await second.ended()]).toEqual([0, 0]);
    await ends(third);
    const charged = await site.charged();
    expect([charged.length, new Set(charged).size]).toEqual([6, 6]);
    await verified();
  },
  120_000,
);

test('a port that another server has is not shared with it, with one relay either', async () => {
  const serving = await site.serve();
  const other = createSite();
  await other.setUp(upstream.url);
  const { code, err } = await other.run(['serve', '--port', new URL(serving.url).port]);
  expect([code, err]).toEqual([6, expect.stringMatching(/already in use|已被占用/)]);
  await other.close();
});

test('a new process that dies after it has taken over: the old one ends at once with a failure code, and all is billed after the next start', async () => {
  const first = await site.serve();
  const open = chat(first.url, key, true).catch(() => null);
  await expect.poll(() => upstreamStreams.open(), { timeout: 20_000 }).toBe(1);
  const second = await site.serve(['--take-over']);
  await expect.poll(() => first.output(), { timeout: 20_000 }).toContain('another process serves from here on');
  const answered = await chat(second.url, key);
  expect(answered.status).toBe(200);
  second.child.kill('SIGKILL');
  expect(await first.ended()).not.toBe(0);
  await open;
  const third = await site.serve();
  expect((await chat(third.url, key)).status).toBe(200);
  await ends(third);
  // The stream that was cut is billed as far as it had come.
  const charged = await site.charged();
  expect([charged.length, new Set(charged).size]).toEqual([3, 3]);
  await verified();
}, 120_000);
