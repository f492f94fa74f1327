/** What a client sees while the end of its answer waits for the bill. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';
import { VirtualTime } from '../support/virtual-time.ts';

let gateway: TestGateway;
let upstream: Upstream;
let time: VirtualTime;
const commitPingMs = 5000;
let key: string;

const fast = { timeout: 10_000, interval: 2 };
const frame = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;

beforeEach(async () => {
  time = new VirtualTime();
  gateway = await createTestGateway({ engine: 'sqlite', limits: { commitPingMs }, relay: { timers: time } });
  upstream = await startUpstream((response, { body }) => {
    if (!body.toString().includes('"stream":true')) return sendJson(response, completion(1000, 500));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frame({ choices: [{ index: 0, delta: { content: 'hello' }, finish_reason: null }] }));
    response.write(frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
    response.write(frame({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 } }));
    response.end('data: [DONE]\n\n');
  });
  await gateway.channel(upstream.url);
  ({ key } = await gateway.token());
});
afterEach(async () => {
  // A test that failed must not leave the ledger waiting.
  pragma('query_only = OFF');
  await gateway.close();
  await upstream.stop();
});

/** A ping later. */
const later = async <T>(look: () => T): Promise<T> => {
  await time.advance(commitPingMs);
  return look();
};
const pragma = (text: string) => gateway.raw().pragma(text);
const listening = (stream: boolean, headers: Record<string, string> = {}) => {
  const received = { text: '', ended: false, status: 0 };
  const over = gateway
    .chat(key, { model: 'gpt-4o-mini', stream, messages: [{ role: 'user', content: 'hi' }] }, headers)
    .then(async (response) => {
      received.status = response.status;
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) received.text += decoder.decode(chunk, { stream: true });
      received.ended = true;
    });
  return { received, over };
};

test('a stream gets signs of life and not its last frame, which comes with the commit', async () => {
  pragma('query_only = ON');
  const { received, over } = listening(true);
  await expect.poll(() => later(() => received.text.match(/^: /gm)?.length ?? 0), fast).toBeGreaterThan(1);
  expect(received.text).toContain('hello');
  expect(received.text).not.toContain('[DONE]');
  pragma('query_only = OFF');
  await over;
  expect(received.text.endsWith('data: [DONE]\n\n')).toBe(true);
  expect(await gateway.verify()).toEqual([]);
});

test('a whole answer goes ahead but for its last byte', async () => {
  pragma('query_only = ON');
  const { received, over } = listening(false);
  await expect.poll(() => later(() => received.text.length), fast).toBeGreaterThan(0);
  expect(received.status).toBe(200);
  expect(() => JSON.parse(received.text)).toThrow();
  pragma('query_only = OFF');
  await over;
  expect(JSON.parse(received.text)).toEqual(completion(1000, 500));
  expect((await gateway.logs())[0]).toMatchObject({ quota: 225 });
});

test('exactness 6: ending the requests of a dead thread finds each one until its bill is written', async () => {
  const { open } = gateway.balances.money;
  await listening(false).over;
  const rows = open.free();
  pragma('query_only = ON');
  const { received, over } = listening(false);
  await expect.poll(() => later(() => received.text.length), fast).toBeGreaterThan(0);
  expect(open.free()).toBe(rows - 1);
  pragma('query_only = OFF');
  await over;
  expect(open.free()).toBe(rows);
});

test('an operator who prefers speed sets a limit to the wait for a bill; ends before their bill are counted', async () => {
  const quick = await createTestGateway({ engine: 'sqlite', limits: { maxCommitWaitMs: 50 } });
  await quick.channel(upstream.url);
  const token = await quick.token();
  quick.raw().pragma('query_only = ON');
  const response = await quick.chat(token.key, { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] });
  expect(response.status).toBe(200);
  expect(quick.relay.unbilled()).toEqual({ late: 1, rejected: 0 });
  quick.raw().pragma('query_only = OFF');
  expect(await quick.verify()).toEqual([]);
  await quick.close();
});

test('a settlement that the rules turn down is not passed over in silence', async () => {
  const { relay } = gateway;
  // Another charge took the request's name before: the same reference with another amount is a conflict.
  const settled = gateway.ledger.execute;
  gateway.ledger.execute = (command) =>
    command.type === 'settle' && command.amount > 0
      ? settled({ ...command, amount: command.amount + 1, log: null }).then(() => settled(command))
      : settled(command);
  await listening(false).over;
  expect(relay.unbilled()).toEqual({ late: 0, rejected: 1 });
});
