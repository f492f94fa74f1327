import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { freePort } from '../../cli/bench/process.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { type Streams, streams } from './answers.ts';
import { chat, createSite, type ReceivedStream, type Site } from './support.ts';

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

const rejected = (received: ReceivedStream | null) =>
  received === null || (received.status === 503 && received.retryAfter !== null);

test.each(['throw ledger', 'terminate ledger'])(
  '%s: nothing more is sold, open streams end with an error frame and are billed, the process ends with its code and one line why',
  async (blow) => {
    const serving = await site.serve();
    const before = await chat(serving.url, key);
    expect(before.status).toBe(200);
    const open = [1, 2, 3].map(() => chat(serving.url, key, true));
    await expect.poll(() => upstreamStreams.open(), { timeout: 10_000 }).toBe(3);
    serving.child.stdin.write(`${blow}\n`);
    await serving.child.stdin.flush();
    await expect.poll(() => serving.output(), { timeout: 10_000 }).toContain('(ledger) died');
    const after: (ReceivedStream | null)[] = [];
    for (let n = 0; n < 100; n++) after.push(await chat(serving.url, key).catch(() => null));
    expect(await serving.ended()).toBe(11);
    expect(after.filter((received) => !rejected(received))).toEqual([]);
    const answers = await Promise.all(open);
    for (const { text, whole } of answers) {
      expect(whole).toBe(false);
      expect(text).toContain('one two three');
      expect(text).toContain('storage_unavailable');
    }
    expect(serving.output().match(/thread of the server \(ledger\) died: .+/g)?.length).toBeGreaterThan(0);
    expect(await site.charged()).toEqual([before.id]);

    const again = await site.serve();
    await expect.poll(() => again.output(), { timeout: 10_000 }).toContain('owed by an earlier run: 3 settled');
    expect((await site.charged()).toSorted()).toEqual([before.id, ...answers.map(({ id }) => id)].toSorted());
    expect((await chat(again.url, key)).status).toBe(200);
    again.child.kill('SIGTERM');
    expect(await again.ended()).toBe(0);
    expect((await site.run(['ledger', 'verify'])).code).toBe(0);
  },
  60_000,
);

test('a server that is alone relays and bills before its console is put together, and the first request of that waits for it', async () => {
  const port = freePort();
  const hold = join(site.dir, 'go-on');
  const started = site.serve(['--port', String(port)], { TEST_HOLD_FILE: hold });
  const url = `http://127.0.0.1:${port}`;
  const ready = () =>
    fetch(`${url}/readyz`).then(
      ({ status }) => status,
      () => 0,
    );
  await expect.poll(ready, { timeout: 10_000 }).toBe(200);
  const answer = await chat(url, key);
  expect([answer.status, answer.whole]).toEqual([200, true]);
  const console_ = fetch(`${url}/api/status`).then(({ status }) => status);
  expect(await Promise.race([console_, chat(url, key).then(({ status }) => `relayed ${status}`)])).toBe('relayed 200');
  writeFileSync(hold, '');
  expect(await console_).toBe(200);
  const serving = await started;
  expect(serving.url).toBe(url);
  serving.child.kill('SIGTERM');
  expect(await serving.ended()).toBe(0);
  expect(await site.charged()).toContain(answer.id);
});

test.each(['throw control', 'terminate control'])(
  '%s: the relay serves on, the thread is started again and the console is back',
  async (blow) => {
    const serving = await site.serve();
    expect((await chat(serving.url, key)).status).toBe(200);
    for (let death = 1; death <= 2; death++) {
      serving.child.stdin.write(`${blow}\n`);
      await serving.child.stdin.flush();
      await expect.poll(() => serving.output().match(/control thread died/g)?.length, { timeout: 10_000 }).toBe(death);
      const after: ReceivedStream[] = [];
      for (let n = 0; n < 50; n++) after.push(await chat(serving.url, key));
      expect(after.filter(({ status }) => status !== 200)).toEqual([]);
      await expect.poll(async () => (await fetch(`${serving.url}/api/status`)).status, { timeout: 20_000 }).toBe(200);
    }
    // Changes reach the relay again, and money moves through the new line to the ledger.
    const fresh = await site.ok(['token', 'create', '--name', 'after', '--quota', 'unlimited', '-q']);
    expect((await chat(serving.url, fresh)).status).toBe(200);
    const [code = ''] = (await site.ok(['redemption', 'create', '--quota', '1000', '--count', '1', '-q'])).split('\n');
    expect(code).not.toBe('');
    serving.child.kill('SIGTERM');
    expect(await serving.ended()).toBe(0);
    expect(await site.charged()).toHaveLength(102);
    expect((await site.run(['ledger', 'verify'])).code).toBe(0);
  },
  60_000,
);

test('a control thread that dies again and again ends the process with its code', async () => {
  const serving = await site.serve();
  const blows = setInterval(() => {
    serving.child.stdin.write('terminate control\n');
    void serving.child.stdin.flush();
  }, 100);
  expect(await serving.ended()).toBe(11);
  clearInterval(blows);
  expect(serving.output()).toMatch(/thread of the server \(control\) died/);
});
