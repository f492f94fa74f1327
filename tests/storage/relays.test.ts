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

const strike = async (serving: Serving, blow: string): Promise<void> => {
  serving.child.stdin.write(`${blow}\n`);
  await serving.child.stdin.flush();
};
const ends = async (serving: Serving): Promise<void> => {
  serving.child.kill('SIGTERM');
  expect(await serving.ended()).toBe(0);
};
const verified = async () => {
  const { code, out } = await site.run(['ledger', 'verify']);
  expect(code === 0 ? '' : out).toBe('');
};
/** The upstream had spoken, and its words had come through before the end. */
const delivered = (all: readonly ReceivedStream[]): string[] =>
  all.filter(({ text }) => text.includes('one two three')).map(({ id }) => id);
const deaths = (serving: Serving): number => serving.output().match(/relay thread \d died/g)?.length ?? 0;

test.each(['terminate relay1', 'throw relay1'])(
  '%s under load: others serve on, what was delivered is charged once, and the thread is started again',
  async (blow) => {
    const serving = await site.serve(['--relays', '2']);
    const open = Array.from({ length: 12 }, () => chat(serving.url, key, true).catch(() => null));
    await expect.poll(() => upstreamStreams.open(), { timeout: 20_000 }).toBe(12);
    let loading = true;
    const received: (ReceivedStream | null)[] = [];
    const load = Array.from({ length: 8 }, async () => {
      while (loading) received.push(await chat(serving.url, key).catch(() => null));
    });
    await expect.poll(() => received.length, { timeout: 20_000 }).toBeGreaterThan(100);
    await strike(serving, blow);
    await expect.poll(() => deaths(serving), { timeout: 20_000 }).toBe(1);
    const before = received.length;
    await expect.poll(() => received.length, { timeout: 20_000 }).toBeGreaterThan(before + 200);
    loading = false;
    await Promise.all(load);
    upstreamStreams.finish();
    const streamed = await Promise.all(open);
    // A listener that is torn down in the middle of it breaks the connection, or says 503 and nothing else.
    const answers = received.filter(
      (one) => one !== null && !(one.status === 503 && one.text === ''),
    ) as ReceivedStream[];
    const whole = [...answers, ...streamed.filter((one) => one !== null)].filter((one) => one.whole);
    const broken = streamed.filter((one): one is ReceivedStream => one !== null && !one.whole);
    figure(
      `${blow}: ${answers.length} answers, ${received.length - answers.length} broken connections, ${streamed.length} streams of which ${broken.length} were cut off`,
    );
    expect(answers.filter(({ status, whole: isWhole }) => status !== 200 || !isWhole)).toEqual([]);
    // Those of the other thread ended well.
    expect(broken.length).toBeLessThan(12);
    await ends(serving);
    const charged = await site.charged();
    expect(new Set(charged).size).toBe(charged.length);
    const sold = [...whole.map(({ id }) => id), ...delivered(broken)];
    expect(sold.filter((id) => !charged.includes(id))).toEqual([]);
    // A request whose outcome is unknown may have been charged only where it was on its way.
    expect(charged.length - sold.length).toBeLessThanOrEqual(received.length - answers.length + 12);
    await verified();
  },
  120_000,
);

/** Milliseconds after which a thread that stands still is reported here; after twice as many it is replaced. */
const stall = { TEST_STALL_MS: '700' };

test('a relay thread that stands still is reported and replaced; its requests are settled, and the other serves on', async () => {
  const serving = await site.serve(['--relays', '2'], stall);
  const open = Array.from({ length: 8 }, () => chat(serving.url, key, true).catch(() => null));
  await expect.poll(() => upstreamStreams.open(), { timeout: 20_000 }).toBe(8);
  await strike(serving, 'stall relay1');
  await expect.poll(() => deaths(serving), { timeout: 20_000 }).toBe(1);
  expect(serving.output()).toMatch(/relay thread 1 stands still for 1 s.*request_id/);
  expect(serving.output()).toMatch(/relay thread 1 died: it stood still for 1 s at request \d{17}[0-9a-z]{8}/);
  upstreamStreams.finish();
  const streamed = (await Promise.all(open)).filter((one) => one !== null);
  // Whichever thread a request reaches, it is served.
  for (let times = 0; times < 8; times++) expect((await chat(serving.url, key)).status).toBe(200);
  await ends(serving);
  const charged = await site.charged();
  expect(new Set(charged).size).toBe(charged.length);
  expect(delivered(streamed).filter((id) => !charged.includes(id))).toEqual([]);
  await verified();
}, 60_000);

test('where the only relay is the main thread, the control thread says that it stood still, and that it goes on', async () => {
  const serving = await site.serve(['--relays', '1'], stall);
  expect((await chat(serving.url, key)).status).toBe(200);
  await strike(serving, 'stand 1500');
  await expect.poll(() => serving.output(), { timeout: 20_000 }).toMatch(/relay thread 1 goes on after \d\.\d s/);
  expect(serving.output()).toMatch(/relay thread 1 stands still for 1 s/);
  expect(deaths(serving)).toBe(0);
  expect((await chat(serving.url, key)).status).toBe(200);
  await ends(serving);
  await verified();
}, 60_000);

test('with two relays, changes reach both, a stop ends both, and the status says how many there are', async () => {
  const serving = await site.serve(['--relays', '2']);
  expect(await site.ok(['status'])).toMatch(/relays\s+2/);
  const fresh = await site.ok(['token', 'create', '--name', 'after', '--quota', 'unlimited', '-q']);
  const received = await Promise.all(Array.from({ length: 40 }, () => chat(serving.url, fresh)));
  expect(received.filter(({ status }) => status !== 200)).toEqual([]);
  await site.ok(['token', 'disable', 'after']);
  const after = await Promise.all(Array.from({ length: 40 }, () => chat(serving.url, fresh)));
  expect(after.filter(({ status }) => status !== 401)).toEqual([]);
  const open = Array.from({ length: 6 }, () => chat(serving.url, key, true));
  await expect.poll(() => upstreamStreams.open(), { timeout: 20_000 }).toBe(6);
  serving.child.kill('SIGTERM');
  await Bun.sleep(200);
  serving.child.kill('SIGTERM');
  const answers = await Promise.all(open);
  expect(answers.filter(({ text }) => !text.includes('shutting_down'))).toEqual([]);
  expect(await serving.ended()).toBe(143);
  expect((await site.charged()).toSorted()).toEqual(
    [...received.map(({ id }) => id), ...delivered(answers)].toSorted(),
  );
  await verified();
});

test('a key that the API has created or deleted is known to every relay thread when it answers', async () => {
  const serving = await site.serve(['--relays', '4']);
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  const api = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${serving.url}/api${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const cookie = response.headers.get('set-cookie')?.split(';')[0];
    if (cookie !== undefined) headers.cookie ??= cookie;
    const { success, data } = (await response.json()) as { success: boolean; data: { id: number; key: string } };
    expect(success).toBe(true);
    return data;
  };
  const { id } = await api('POST', '/user/login', { username: 'root', password: 'password1' });
  headers['new-api-user'] = String(id);
  const found: number[] = [];
  for (let round = 0; round < 60; round++) {
    const made = await api('POST', '/token/', { name: `round ${round}`, unlimited_quota: true });
    found.push((await chat(serving.url, `sk-${made.key}`)).status);
    await api('DELETE', `/token/${made.id}`);
    found.push((await chat(serving.url, `sk-${made.key}`)).status);
  }
  expect(found).toEqual(Array.from({ length: 60 }, () => [200, 401]).flat());
  await ends(serving);
});

test('terminate ledger: both relays end their streams, and the next start bills them', async () => {
  const serving = await site.serve(['--relays', '2']);
  const open = Array.from({ length: 8 }, () => chat(serving.url, key, true));
  await expect.poll(() => upstreamStreams.open(), { timeout: 20_000 }).toBe(8);
  await strike(serving, 'terminate ledger');
  expect(await serving.ended()).toBe(11);
  const answers = await Promise.all(open);
  expect(answers.filter(({ text }) => !text.includes('storage_unavailable'))).toEqual([]);
  const again = await site.serve(['--relays', '2']);
  await expect.poll(() => again.output(), { timeout: 20_000 }).toContain('owed by an earlier run: 8 settled');
  await ends(again);
  expect((await site.charged()).toSorted()).toEqual(delivered(answers).toSorted());
  await verified();
});

test('a port that another server has is not shared with it', async () => {
  const serving = await site.serve(['--relays', '2']);
  const { port } = new URL(serving.url);
  const second = createSite();
  await second.setUp(upstream.url);
  const { code, err } = await second.run(['serve', '--port', port, '--relays', '2']);
  expect([code === 0, err.includes(port)]).toEqual([false, true]);
  await second.close();
  await ends(serving);
});

test.each(['0', '9', 'many'])('--relays %s is a usage error', async (count) => {
  expect((await site.run(['serve', '--port', '0', '--relays', count])).code).toBe(2);
});
