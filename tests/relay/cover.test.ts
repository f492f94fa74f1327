/** Streams whose hold grows ahead of what is delivered. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { UserSlot } from '../../server/billing/balances/slot.ts';
import { Evidence } from '../../server/relay/admission/evidence.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
/** Ends the streams that are open. */
let release: () => void;

const frame = (content: string, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`;
const words = 'y'.repeat(2000);

/** @param frames of 2,000 letters, which count as many tokens until they are tokenized. */
const script = (frames: number) => {
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  upstream.script(async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let n = 0; n < frames; n++) {
      response.write(frame(words));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await released;
    const usage = { prompt_tokens: 10, completion_tokens: frames * 2000, total_tokens: 10 + frames * 2000 };
    response.end(`${frame('', 'stop')}data: ${JSON.stringify({ id: 'c', choices: [], usage })}\n\ndata: [DONE]\n\n`);
  });
};

beforeEach(async () => {
  upstream = await startUpstream(() => undefined);
  // Evidence of the dearest prompt: what is held grows with the answer alone.
  vi.spyOn(Evidence.prototype, 'likely').mockImplementation(({ plan, parsed }) => {
    const channel = plan.candidates.at(0);
    if (channel === undefined) return null;
    const { answer } = plan.estimate;
    const mayGrow = parsed.stream && plan.route.offers.stopOnCancel && answer?.model.thinking === false;
    return { size: plan.estimate, channel, key: channel.keys[0] ?? '', mayGrow };
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const ask = { model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content: 'hi' }] };
/** Top-ups so far, as this machine knows them. */
const payIn = (quota: number) =>
  gateway.balances.money.memory.set(gateway.balances.account(gateway.userId, 0).user + UserSlot.paidIn, quota);
/** @param beyond so many balances may be missing. */
const open = async (quota: number, beyond: number, setting = '') => {
  gateway = await createTestGateway({ quota });
  await gateway.channel(upstream.url, { setting });
  await gateway.option('HoldAllowance', String(beyond * quota));
  payIn(beyond * quota);
  return (await gateway.token()).key;
};
/** @returns requests at the upstream, once there are so many and no more come. */
const admitted = async (whole: number): Promise<number> => {
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  while (upstream.requests.length < whole) await turn();
  for (let n = 0; n < 50; n++) await turn();
  return upstream.requests.length;
};
const received = (text: string) => text.split(words).length - 1;

test('with an allowance of three balances, a balance for one longest answer admits four streams unedited; exact, it admits one', async () => {
  // 16,384 tokens at 0.3 and a prompt of some 8.
  for (const [beyond, whole] of [
    [0, 1],
    [3, 4],
  ] as const) {
    const key = await open(5000, beyond);
    script(1);
    upstream.requests.length = 0;
    const body = JSON.stringify(ask);
    const requested = Array.from({ length: 6 }, () => gateway.chat(key, body).then((response) => response.text()));
    expect(await admitted(whole)).toBe(whole);
    release();
    await Promise.all(requested);
    // What comes free is for those that wait: exact, it is no longer enough for a longest answer.
    const unedited = upstream.requests.filter((request) => !request.body.includes('max_tokens'));
    expect([upstream.requests.length, unedited.length]).toEqual([6, beyond === 0 ? 1 : 6]);
    if (beyond === 0) await gateway.close();
  }
});

test('a stream that outgrows its stake is held for ahead, up to the most it may cost', async () => {
  const key = await open(20_000, 3);
  script(8);
  const response = await gateway.chat(key, ask);
  // 4,096 tokens at the start, the most is 16,384.
  expect(20_000 - gateway.balances.account(gateway.userId, 0).available()).toBeLessThan(1300);
  release();
  expect(received(await response.text())).toBe(8);
  expect(await gateway.balance()).toBe(20_000 - 4800);
});

test('an ample balance holds the whole at once, and what is left is never all held', async () => {
  const key = await open(400_000, 3);
  script(1);
  const held: number[] = [];
  const answers: Response[] = [];
  for (let before = 400_000; answers.length < 40; ) {
    answers.push(await gateway.chat(key, ask));
    const available = gateway.balances.account(gateway.userId, 0).available();
    held.push(before - available);
    before = available;
  }
  release();
  for (const answer of answers) expect(received(await answer.text())).toBe(1);
  // 16,384 tokens while that is a sixty-fourth of what is left, then 4,096.
  expect(held[0]).toBeGreaterThan(4900);
  expect(held.at(-1)).toBeLessThan(1300);
  expect(held.filter((quota) => quota > 4900).length).toBeLessThan(20);
});

test.each([
  ['{"drain":true}', true],
  ['{"drain":false}', false],
])('a stream is held for whole where it is read on when its client has left: %s, %s', async (setting, whole) => {
  const key = await open(20_000, 3, setting);
  script(1);
  const response = await gateway.chat(key, ask);
  expect(20_000 - gateway.balances.account(gateway.userId, 0).available() > 4900).toBe(whole);
  release();
  expect(received(await response.text())).toBe(1);
});

test('output that cannot be reserved is not delivered: the stream is cut, and no debt remains', async () => {
  const key = await open(1500, 3);
  script(8);
  release();
  const response = await gateway.chat(key, { ...ask, max_tokens: 16_000 });
  const text = await response.text();
  expect(text).toContain('user_exhausted');
  expect(received(text)).toBeGreaterThan(0);
  expect(received(text)).toBeLessThan(3);
  expect(await gateway.balance()).toBeGreaterThanOrEqual(0);
  expect(gateway.balances.account(gateway.userId, 0).overrun()).toBe(0);
  expect((await gateway.logs())[0]).toMatchObject({ end_reason: 'quota_cut' });
});

test('a stream that costs nothing goes on when its owner owes something in the middle of it', async () => {
  gateway = await createTestGateway({ quota: 1000, limits: { checkpointMs: 0 } });
  await gateway.channel(upstream.url);
  await gateway.option('ModelRatio', '{"gpt-4o-mini":0}');
  script(8);
  const response = await gateway.chat((await gateway.token()).key, ask);
  // Spent on another machine.
  const event = { kind: 'balance', userId: gateway.userId, delta: -2000, overrun: 0, version: 1000 } as const;
  gateway.balances.money.accounts.credit(event);
  release();
  expect(received(await response.text())).toBe(8);
  expect((await gateway.logs())[0]).toMatchObject({ quota: 0, end_reason: 'completed' });
});

test.each([
  ['thinks without showing it', 'gpt-5-mini', {}],
  ['is read to its end when its client has gone', 'gpt-4o-mini', { setting: '{"drain":true}' }],
  ['comes in one piece', 'gpt-4o-mini', { setting: '{"upstream_streams":"never"}' }],
])('a stream whose model %s is held for whole from the start, whatever the allowance', async (_what, model, fields) => {
  const held: number[] = [];
  for (const allowance of ['0', '1000000']) {
    gateway = await createTestGateway({ quota: 1_000_000 });
    await gateway.channel(upstream.url, { models: model, ...fields });
    await gateway.option('HoldAllowance', allowance);
    payIn(1_000_000);
    script(1);
    const response = await gateway.chat((await gateway.token()).key, { ...ask, model });
    held.push(1_000_000 - gateway.balances.account(gateway.userId, 0).available());
    release();
    await response.text();
    if (allowance === '0') await gateway.close();
  }
  expect(held[0]).toBeGreaterThan(4000);
  expect(held[1]).toBe(held[0]);
});

test.each([
  [0, 4],
  [1, 1],
])('a balance whose user owes overrun of %d admits %d streams at once', async (pending, whole) => {
  const key = await open(5000, 3);
  // Another machine has found that the money had been lent; here some is left of it.
  const event = { kind: 'balance', userId: gateway.userId, delta: 0, overrun: pending, version: 1000 } as const;
  gateway.balances.money.accounts.credit(event);
  script(1);
  const body = JSON.stringify(ask);
  const requested = Array.from({ length: 6 }, () => gateway.chat(key, body).then((response) => response.text()));
  expect(await admitted(whole)).toBe(whole);
  release();
  await Promise.all(requested);
});
