/** The end of a stream waits for its bill whatever the upstream ends with, and what was held comes back whole. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { UserSlot } from '../../server/billing/balances/slot.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { VirtualTime } from '../support/virtual-time.ts';

let gateway: TestGateway;
let upstream: Upstream;
let time: VirtualTime;
const commitPingMs = 5000;

beforeEach(async () => {
  time = new VirtualTime();
  gateway = await createTestGateway({ engine: 'sqlite', limits: { commitPingMs }, relay: { timers: time } });
  upstream = await startUpstream(() => undefined);
  await gateway.channel(upstream.url);
});
afterEach(async () => {
  // A test that failed must not leave the ledger waiting.
  gateway.raw().pragma('query_only = OFF');
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const frame = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
const delta = (content: string) => frame({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
const stop = frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
const usage = (output: number) =>
  frame({ choices: [], usage: { prompt_tokens: 10, completion_tokens: output, total_tokens: 10 + output } });
const requested = { model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content: 'hi' }] };

const listening = (key: string) => {
  const received = { text: '', ended: false };
  const over = gateway.chat(key, requested).then(async (response) => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) received.text += decoder.decode(chunk, { stream: true });
    received.ended = true;
  });
  return { received, over };
};

/** Top-ups so far, as this machine knows them. */
const payIn = (quota: number) =>
  gateway.balances.money.memory.set(gateway.balances.account(gateway.userId, 0).user + UserSlot.paidIn, quota);

test.each([
  ['said why it stopped and left its last frame out', stop + usage(3), 'completed'],
  ['reported its usage alone', usage(3), 'upstream_broken'],
  ['ended as it should', `${stop}${usage(3)}data: [DONE]\n\n`, 'completed'],
])('an upstream that %s: the stream stays open until the bill is written', async (_name, ending, reason) => {
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(delta('hello') + ending);
  });
  const { key } = await gateway.token();
  gateway.raw().pragma('query_only = ON');
  const { received, over } = listening(key);
  const pings = () => received.text.match(/^: /gm)?.length ?? 0;
  const isSeen = async () => {
    await time.advance(commitPingMs);
    return received.ended || pings() > 2;
  };
  await expect.poll(isSeen, { timeout: 10_000, interval: 2 }).toBe(true);
  expect(received.ended).toBe(false);
  gateway.raw().pragma('query_only = OFF');
  await over;
  expect((await gateway.logs())[0]).toMatchObject({ prompt_tokens: 10, completion_tokens: 3, end_reason: reason });
});

test('a hold that grew with its stream is given back whole', async () => {
  payIn(1_000_000);
  const { id, key } = await gateway.token();
  const words = 'word '.repeat(6000);
  const { promise, resolve } = Promise.withResolvers<() => void>();
  upstream.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(delta('begin'));
    resolve(() => {
      for (let n = 0; n < 10; n++) response.write(delta(words));
    });
    finish = () => response.end(`${stop}${usage(60_000)}data: [DONE]\n\n`);
  });
  let finish: () => void = () => undefined;
  const available = () => gateway.balances.account(gateway.userId, id).available();
  const whole = available();
  const { received, over } = listening(key);
  await expect.poll(() => received.text).toContain('begin');
  const atFirst = whole - available();
  (await promise)();
  await expect.poll(() => received.text.length, { timeout: 10_000 }).toBeGreaterThan(290_000);
  expect(whole - available()).toBeGreaterThan(atFirst);
  finish();
  await over;
  const [log] = await gateway.logs();
  expect(log).toMatchObject({ completion_tokens: 60_000 });
  expect(whole - available()).toBe(log?.quota ?? 0);
  expect(gateway.balances.account(gateway.userId, 0).limits().limit).toBe(whole);
});
