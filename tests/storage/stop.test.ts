import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { dataDirFiles, lockOwner } from '../../server/app/data-dir.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';
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

const opened = async (url: string, count: number) => {
  const open = Array.from({ length: count }, () => chat(url, key, true));
  await expect.poll(() => upstreamStreams.open()).toBe(count);
  return open;
};

test('while open streams end, new requests get an error to retry, in the own protocol and with the connection closed', async () => {
  const serving = await site.serve(['--grace', '60']);
  const open = await opened(serving.url, 3);
  serving.child.kill('SIGTERM');
  const rejected = async (path: string, body: unknown = {}) => {
    const response = await fetch(`${serving.url}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': key, authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    });
    const { status, headers } = response;
    const details = { status, wait: Number(headers.get('retry-after')), connection: headers.get('connection') };
    return { ...details, body: (await response.json()) as Record<string, unknown> };
  };
  const gone = { status: 503, wait: 5, connection: 'close' };
  await expect.poll(async () => (await rejected('/v1/chat/completions')).status).toBe(503);
  expect(await rejected('/v1/chat/completions')).toMatchObject({
    ...gone,
    body: { error: { code: 'shutting_down', type: 'api_error' } },
  });
  expect(await rejected('/v1/messages')).toMatchObject({
    ...gone,
    body: { type: 'error', error: { type: 'api_error' } },
  });
  expect(await rejected('/v1beta/models/gemini-2.0-flash:generateContent')).toMatchObject({
    ...gone,
    body: { error: { code: 503 } },
  });
  expect(await rejected('/api/user/login')).toMatchObject({ ...gone, body: { success: false, code: 'shutting_down' } });
  const ready = await fetch(`${serving.url}/readyz`);
  expect([ready.status, ready.headers.get('connection'), await ready.json()]).toEqual([
    503,
    'close',
    { ok: false, hindrances: ['draining'] },
  ]);
  upstreamStreams.finish();
  const answers = await Promise.all(open);
  expect(answers.filter(({ whole }) => !whole)).toEqual([]);
  expect(await serving.ended()).toBe(0);
  expect((await site.charged()).toSorted()).toEqual(answers.map(({ id }) => id).toSorted());
});

const cutShort = async (answers: readonly ReceivedStream[]) => {
  for (const { text, whole } of answers) {
    expect(whole).toBe(false);
    expect(text).toContain('one two three');
    expect(text).toContain('shutting_down');
  }
  expect((await site.charged()).toSorted()).toEqual(answers.map(({ id }) => id).toSorted());
  expect((await site.run(['ledger', 'verify'])).code).toBe(0);
};

test("at the grace's end open streams get an error frame and are billed for what was delivered", async () => {
  const serving = await site.serve([], { GATEWAY_GRACE: '1' });
  const open = await opened(serving.url, 20);
  serving.child.kill('SIGTERM');
  const answers = await Promise.all(open);
  expect(await serving.ended()).toBe(0);
  await cutShort(answers);
});

test('a second signal ends 300 open streams with an error frame, all billed, within seconds', async () => {
  const serving = await site.serve(['--grace', '600']);
  const open = await opened(serving.url, 300);
  serving.child.kill('SIGTERM');
  // What is asked before the signal has been heard is served and billed: this is not.
  await expect.poll(async () => (await fetch(`${serving.url}/readyz`)).status).toBe(503);
  const second = performance.now();
  serving.child.kill('SIGTERM');
  const answers = await Promise.all(open);
  expect(await serving.ended()).toBe(143);
  console.log(`300 streams ended ${Math.round(performance.now() - second)} ms after the second signal`);
  await cutShort(answers);
});

test.each(['-1', '601', 'soon'])('a grace of %s is a usage error', async (grace) => {
  const ran = await site.run(['serve', '--grace', grace, '--port', '0']);
  expect(ran.code).toBe(2);
  expect(ran.err).toContain('--grace');
});

test.each(['1', '2'])(
  'before it stops it goes on serving with %s relays, while balancers are sent elsewhere',
  async (relayThreads) => {
    const serving = await site.serve(['--stop-delay', '600', '--relays', relayThreads]);
    const ready = () => fetch(`${serving.url}/readyz`);
    expect((await ready()).status).toBe(200);
    serving.child.kill('SIGTERM');
    await expect.poll(async () => (await ready()).status).toBe(503);
    expect(await (await ready()).json()).toEqual({ ok: false, hindrances: ['draining'] });
    const whole = chat(serving.url, key, true);
    await expect.poll(() => upstreamStreams.open()).toBe(1);
    upstreamStreams.finish();
    expect(await whole).toMatchObject({ status: 200, whole: true });
    for (const path of ['/', '/api/status', '/v1/models', '/api/hello']) {
      const { status, headers } = await fetch(`${serving.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
      expect([path, status, headers.get('connection')]).toEqual([path, 200, 'close']);
    }
    // A second signal does not wait for balancers.
    serving.child.kill('SIGTERM');
    expect(await serving.ended()).toBe(143);
  },
);

test('when the delay is over it stops by itself', async () => {
  const serving = await site.serve([], { GATEWAY_STOP_DELAY: '1' });
  const startedAt = performance.now();
  serving.child.kill('SIGTERM');
  expect(await serving.ended()).toBe(0);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(1000);
});

test('a delay that is none is a usage error', async () => {
  const ran = await site.run(['serve', '--stop-delay', 'soon', '--port', '0']);
  expect([ran.code, ran.err]).toEqual([2, expect.stringContaining('--stop-delay')]);
});

/** @returns a stream that was open when the signals came. */
const signalled = async (serving: Serving, signals: readonly NodeJS.Signals[]) => {
  const streams = await opened(serving.url, 1);
  for (const signal of signals) serving.child.kill(signal);
  return streams;
};

test('started by nohup, a server outlives the end of its terminal', async () => {
  const serving = await site.serve([], {}, ['nohup']);
  const [open] = await signalled(serving, ['SIGHUP']);
  expect((await chat(serving.url, key)).status).toBe(200);
  upstreamStreams.finish();
  expect((await open)?.whole).toBe(true);
  serving.child.kill('SIGTERM');
  expect(await serving.ended()).toBe(0);
});

test('a service is asked to reload or to reopen its logs: it says that there is nothing to do, and breaks no request', async () => {
  const serving = await site.serve([], {}, ['setsid']);
  const signals = ['SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const;
  const [open] = await signalled(serving, signals);
  for (const signal of signals) await expect.poll(serving.output).toContain(`${signal}: nothing to reload`);
  expect((await chat(serving.url, key)).status).toBe(200);
  upstreamStreams.finish();
  expect((await open)?.whole).toBe(true);
  serving.child.kill('SIGTERM');
  expect(await serving.ended()).toBe(0);
});

/** A server on a terminal of its own. @returns its address, and a promise of its end. */
async function onTerminal(more: Readonly<Record<string, string>> = {}) {
  const command = `${process.execPath} ${resolve(import.meta.dirname, 'serve-child.ts')} serve --port 0`;
  const fixed = { HOME: site.dir, GATEWAY_DATA_DIR: site.dataDir, BUN_CONFIG_MAX_HTTP_REQUESTS: '65336' };
  const child = Bun.spawn(['script', '-qec', command, '/dev/null'], {
    env: { ...process.env, ...fixed, ...more },
    ...{ stdin: 'pipe', stdout: 'ignore', stderr: 'pipe' },
  });
  const address = join(site.dataDir, 'gateway.url');
  await expect.poll(() => existsSync(address), { timeout: 20_000 }).toBe(true);
  return { child, url: readFileSync(address, 'utf8').trim(), pid: lockOwner(dataDirFiles(site.dataDir)) ?? 0 };
}

test('when its terminal is gone a server ends what is open, and ends with 129, so that a supervisor starts it again', async () => {
  const { child, url, pid } = await onTerminal();
  const [open] = await opened(url, 1);
  process.kill(pid, 'SIGHUP');
  await expect.poll(async () => (await fetch(`${url}/readyz`)).status).toBe(503);
  upstreamStreams.finish();
  expect((await open)?.whole).toBe(true);
  expect(await child.exited).toBe(129);
  expect(await site.charged()).toHaveLength(1);
});

test('a server that is said to be detached outlives its terminal', async () => {
  const { child, url, pid } = await onTerminal({ GATEWAY_DETACHED: '1' });
  process.kill(pid, 'SIGHUP');
  process.kill(pid, 'SIGUSR1');
  expect((await chat(url, key)).status).toBe(200);
  process.kill(pid, 'SIGTERM');
  expect(await child.exited).toBe(0);
});

test('a health check by the executable: ready, draining, gone', async () => {
  const check = async () => {
    const { code, out, err } = await site.run(['service', 'check']);
    return [code, out.trim() || err.split('\n')[0]];
  };
  const serving = await site.serve(['--grace', '60']);
  expect(await check()).toEqual([0, 'ready']);
  const [open] = await opened(serving.url, 1);
  serving.child.kill('SIGTERM');
  await expect.poll(async () => (await fetch(`${serving.url}/readyz`)).status).toBe(503);
  const requested = await site.run(['service', 'check'], '', { GATEWAY_PORT: new URL(serving.url).port });
  expect([requested.code, requested.err]).toEqual([8, expect.stringContaining('draining')]);
  upstreamStreams.finish();
  expect((await open)?.whole).toBe(true);
  expect(await serving.ended()).toBe(0);
  const gone = await site.run(['service', 'check'], '', { GATEWAY_PORT: new URL(serving.url).port });
  expect([gone.code, gone.err]).toEqual([7, expect.stringContaining('127.0.0.1')]);
});

test.each([
  ['1', 'stop'],
  ['2', 'stop'],
  ['1', 'take-over'],
  ['2', 'take-over'],
])('what %s relay threads know of upstreams outlasts a %s', async (threads, how) => {
  const first = await site.serve(['--relays', threads]);
  upstream.script((response) => sendJson(response, { error: { message: 'down' } }, 500));
  const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] });
  const headers = { authorization: `Bearer ${key}` };
  const ask = () => fetch(`${first.url}/v1/chat/completions`, { method: 'POST', headers, body });
  for (let n = 0; n < 10; n++) expect((await ask()).status).toBe(502);
  const explained = async () => {
    const { channels } = JSON.parse(await site.ok(['route', 'explain', 'gpt-4o-mini', '--json'])) as {
      channels: { condition: string; wait_ms: number }[];
    };
    return channels[0];
  };
  expect(await explained()).toMatchObject({ condition: 'ejected' });
  if (how === 'take-over') {
    await site.serve(['--relays', threads, '--take-over']);
    expect(await first.ended()).toBe(0);
  } else {
    first.child.kill('SIGTERM');
    expect(await first.ended()).toBe(0);
    await site.serve(['--relays', threads]);
  }
  expect(statSync(join(site.dataDir, 'health.json')).mode & 0o077).toBe(0);
  const after = await explained();
  expect(after?.condition).toBe('ejected');
  expect(after?.wait_ms).toBeGreaterThan(0);
  expect(after?.wait_ms).toBeLessThan(30_000);
});
