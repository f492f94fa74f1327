/** What is counted of traffic: equal to the log, in the window in which a request ended, bounded, with the time of each channel for itself. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  counterAt,
  otherModel,
  otherToken,
  type TrafficCounter,
  trafficCounters,
} from '../../server/contract/traffic.ts';
import { type AttemptSummary, failedAttempt, statusFailure, withKeywords } from '../../server/relay/shared/failure.ts';
import { type EndedTraffic, Traffic } from '../../server/relay/shared/traffic.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { randomOf } from '../support/random.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
beforeAll(async () => {
  gateway = await createTestGateway({ random: randomOf(7) });
  upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

const frame = (choices: readonly object[], usage?: object): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices, ...(usage ? { usage } : {}) })}\n\n`;

/** Answers well, refuses, breaks off, or never ends. */
function scripted(random: () => number) {
  upstream.script((response, { body }) => {
    const { stream = false } = JSON.parse(body.toString()) as { stream?: boolean };
    const drawn = random();
    const refusal = drawn < 0.12 ? 500 : drawn < 0.2 ? 429 : drawn < 0.24 ? 401 : drawn < 0.32 ? 400 : 0;
    if (refusal > 0) return sendJson(response, { error: { message: `no ${refusal}` } }, refusal);
    if (!stream) return sendJson(response, completion(10 + Math.floor(random() * 90), 5, {}));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frame([{ index: 0, delta: { content: 'hello' }, finish_reason: null }]));
    if (drawn < 0.4) return response.destroy();
    if (drawn < 0.5) return;
    response.write(frame([{ index: 0, delta: {}, finish_reason: 'stop' }]));
    return response.end(`${frame([], { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 })}data: [DONE]\n\n`);
  });
}

interface Sums {
  readonly requests: number;
  readonly charge: number;
}

/** By channel or key, and model. */
async function logged(column: 'channel_id' | 'token_id'): Promise<Map<string, Sums>> {
  await gateway.ledger.drain();
  const rows = await gateway.rows<{ owner: number; model: string; requests: number; charge: number }>(
    `SELECT ${column} AS owner, model_name AS model, count(*) AS requests, sum(quota) AS charge FROM logs
      WHERE request_id IS NOT NULL AND end_reason <> 'refused' GROUP BY ${column}, model_name`,
  );
  return new Map(
    rows.map(({ owner, model, requests, charge }) => [
      `${owner} ${model}`,
      { requests: Number(requests), charge: Number(charge) },
    ]),
  );
}

const of = (counts: readonly number[], name: TrafficCounter): number => counts[counterAt(name)] ?? 0;

function counted(rows: readonly (readonly [owner: number, model: string, counts: readonly number[]])[]) {
  const sums = new Map<string, Sums>();
  for (const [owner, model, counts] of rows) {
    const { requests, charge } = sums.get(`${owner} ${model}`) ?? { requests: 0, charge: 0 };
    const sum = { requests: requests + of(counts, 'requests'), charge: charge + of(counts, 'charge') };
    if (sum.requests > 0) sums.set(`${owner} ${model}`, sum);
  }
  return sums;
}

test('requests and charges by channel, key and model are those of the log, whatever ended them', async () => {
  const random = randomOf(41);
  await gateway.option('RetryTimes', '2');
  const models = 'gpt-4o-mini,gpt-4o';
  for (const name of ['one', 'two', 'three']) await gateway.channel(upstream.url, { name, models });
  const tokens = [await gateway.token({ name: 'a' }), await gateway.token({ name: 'b' })];
  scripted(random);
  const ask = async (): Promise<void> => {
    const token = tokens[Math.floor(random() * 2)];
    const stream = random() < 0.6;
    const abort = new AbortController();
    const body = {
      model: random() < 0.5 ? 'gpt-4o' : 'gpt-4o-mini',
      stream,
      messages: [{ role: 'user', content: 'hi' }],
    };
    const response = await gateway.chat(token?.key ?? '', body, {}, abort.signal);
    const reader = response.body?.getReader();
    await reader?.read();
    // What never ends is left by its client.
    const rest = (async () => {
      while (reader !== undefined && !(await reader.read()).done);
    })().catch(() => undefined);
    if ((await Promise.race([rest.then(() => 'over'), Bun.sleep(50)])) === 'over') return;
    abort.abort();
    await reader?.cancel().catch(() => undefined);
  };
  const windows = [];
  for (let round = 0; round < 30; round++) {
    await Promise.all([ask(), ask(), ask(), ask()]);
    // Asked for in the middle, as the control thread does.
    if (round % 7 === 0) windows.push(...gateway.relay.takeTraffic());
  }
  await expect.poll(() => gateway.relay.open()).toBe(0);
  windows.push(...gateway.relay.takeTraffic());
  const routes = windows.flatMap((one) => one.routes);
  const callers = windows.flatMap((one) => one.callers);
  expect(counted(routes)).toEqual(await logged('channel_id'));
  expect(counted(callers.map(([, token, model, counts]) => [token, model, counts]))).toEqual(await logged('token_id'));
  const total = (name: TrafficCounter) => callers.reduce((sum, [, , , counts]) => sum + of(counts, name), 0);
  const ends = await gateway.rows<{ end: string; n: number }>(
    'SELECT end_reason AS "end", count(*) AS n FROM logs WHERE request_id IS NOT NULL GROUP BY end_reason',
  );
  const endsOf = (reason: string) => Number(ends.find(({ end }) => end === reason)?.n ?? 0);
  expect(total('requests')).toBe(120);
  expect(total('error_client_left')).toBe(endsOf('client_gone'));
  const errors = trafficCounters.filter((name) => name.startsWith('error_'));
  expect(errors.reduce((sum, name) => sum + total(name), 0)).toBe(120 - endsOf('completed'));
  // The run had some of each.
  for (const name of ['retried', 'saved', 'error_client_left', 'failed_upstream', 'failed_rate_limited'] as const)
    expect([name, total(name) > 0]).toEqual([name, true]);
  const saves = windows.flatMap((one) => one.saves).reduce((sum, [, , count]) => sum + count, 0);
  expect(saves).toBe(routes.reduce((sum, [, , counts]) => sum + of(counts, 'saved'), 0));
});

const failed = (channelId: number, status: number, ms: number, message = 'no'): AttemptSummary => ({
  channelId,
  name: `channel ${channelId}`,
  failed: failedAttempt(statusFailure(status, { status, message, type: null, code: null }, null), ms),
});
const served = (channelId: number): AttemptSummary => ({ channelId, name: `channel ${channelId}`, failed: null });
const request: EndedTraffic = {
  own: false,
  sentModel: 'm',
  otherModel: null,
  model: 'm',
  channelId: 2,
  userId: 5,
  tokenId: 7,
  endReason: 'completed',
  inputTokens: 10,
  cachedTokens: 4,
  outputTokens: 50,
  charged: 33,
  streamed: true,
  tried: [served(2)],
  ms: 1500,
  firstByteMs: 500,
  endedMs: 1_000_000_000,
};

test('an attempt fails by what the upstream means: a spent account that answers 400 does, a caller’s mistake does not', () => {
  const traffic = new Traffic();
  const words = { status: 400, type: null, code: null, message: 'Your credit balance is too low to access the API.' };
  const spent = statusFailure(400, words, null);
  const tried = [
    // As the operator's words have it.
    {
      ...failed(1, 400, 10),
      failed: failedAttempt(
        withKeywords(spent, ['credit balance'], () => 'hello'),
        10,
      ),
    },
    { ...failed(1, 503, 10), failed: failedAttempt({ ...spent, class: 'client', reason: 'invalid' }, 10) },
    failed(1, 400, 10, 'temperature must be a number'),
    failed(1, 503, 10),
    failed(1, 429, 10),
  ];
  for (const one of tried) traffic.ended({ ...request, endReason: 'upstream_failed', channelId: 1, tried: [one] });
  const [window] = traffic.take();
  const counts = window?.routes.find(([channel]) => channel === 1)?.[2] ?? [];
  const names = ['auth', 'invalid', 'upstream', 'rate_limited'] as const;
  expect(names.map((name) => of(counts, `failed_${name}`))).toEqual([1, 2, 1, 1]);
  expect(of(counts, 'attempts')).toBe(5);
});

test('a request counts in the five minutes in which it ended, whenever it is asked about', () => {
  const traffic = new Traffic();
  traffic.ended({ ...request, endedMs: 1_199_999 });
  traffic.ended({ ...request, endedMs: 1_200_000 });
  expect(traffic.take().map(({ at, callers }) => [at, of(callers[0]?.[3] ?? [], 'requests')])).toEqual([
    [900, 1],
    [1200, 1],
  ]);
  expect(traffic.take()).toEqual([]);
});

test('a channel that served in place of another is not charged with the time that the other took', () => {
  const traffic = new Traffic();
  traffic.ended({ ...request, tried: [failed(1, 503, 1200), served(2)], firstByteMs: 1300 });
  const [window] = traffic.take();
  const caller = window?.callers[0]?.[3] ?? [];
  expect([of(caller, 'latency_ms'), of(caller, 'first_ms'), of(caller, 'saved')]).toEqual([1500, 1300, 1]);
  const routes = new Map(window?.routes.map(([id, , counts]) => [id, counts]));
  const two = routes.get(2) ?? [];
  expect([of(two, 'requests'), of(two, 'latency_ms'), of(two, 'first_ms'), of(two, 'attempts')]).toEqual([
    1, 300, 100, 1,
  ]);
  const one = routes.get(1) ?? [];
  expect([of(one, 'requests'), of(one, 'failed_upstream'), of(one, 'saved')]).toEqual([0, 1, 1]);
  expect(window?.saves).toEqual([[1, 2, 1]]);
});

test('a success resets the streak of failures; the next streak keeps the upstream’s last words', () => {
  const traffic = new Traffic();
  const failing = (at: number, status: number, words: string): EndedTraffic => ({
    ...request,
    endReason: 'upstream_failed',
    tried: [failed(1, status, 5, words)],
    channelId: 1,
    endedMs: at * 1000,
  });
  traffic.ended(failing(1000, 500, 'early'));
  traffic.ended({ ...request, channelId: 1, tried: [served(1)], endedMs: 1_001_000 });
  traffic.ended(failing(1002, 401, 'Incorrect API key'));
  traffic.ended(failing(1003, 401, 'Incorrect API key provided'));
  // What the request itself brought about is no failure of the channel.
  traffic.ended(failing(1004, 400, 'bad request'));
  expect(traffic.take()[0]?.streaks).toEqual([
    {
      channelId: 1,
      succeeded: true,
      failures: 2,
      since: 1002,
      lastAt: 1003,
      words: '401 Incorrect API key provided',
    },
  ]);
});

test('models and keys beyond the room share one series, and nothing is lost of the sums', () => {
  const traffic = new Traffic();
  const many = 25_000;
  for (let n = 0; n < many; n++)
    traffic.ended({ ...request, model: `m${n}`, tokenId: n + 1, channelId: n + 1, tried: [served(n + 1)] });
  const [window] = traffic.take();
  expect(window?.routes.length).toBeLessThanOrEqual(20_001);
  expect(window?.callers.length).toBeLessThanOrEqual(20_001);
  expect(window?.callers.reduce((sum, [, , , counts]) => sum + of(counts, 'requests'), 0)).toBe(many);
  expect(window?.callers.find(([, token]) => token === otherToken)?.[2]).toBe(otherModel);
});

test('requests that are turned away are counted apart, for the key that sent them', () => {
  const traffic = new Traffic();
  traffic.rejected({ userId: 5, tokenId: 7, own: false, nowMs: 1_000_000 });
  const [, , model, counts] = traffic.take()[0]?.callers[0] ?? [0, 0, '', []];
  expect([model, of(counts, 'refused'), of(counts, 'requests')]).toEqual(['', 1, 0]);
});
