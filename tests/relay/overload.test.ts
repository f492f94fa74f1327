/** More comes than can be served: who is let in is served, who is not is told at once and in its own form. */
import { afterEach, expect, test } from 'vitest';
import { overloadLimits } from '../../server/serving/environment.ts';
import { beatMs, createOverload, mostOpenFor } from '../../server/serving/overload.ts';
import { createStarvation } from '../../server/serving/starvation.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway | null = null;
afterEach(async () => {
  await gateway?.close();
  gateway = null;
});

/** A gateway of one core whose clock is counted: a request is read, waits for its upstream and its bill, and each step waits for its turn. */
interface Load {
  /** Of what can be served. */
  readonly factor: number;
  readonly ms: number;
}
const readMs = 0.15;
const stepMs = 0.05;
const refuseMs = 0.05;
const upstreamMs = 50;
const billMs = 2;
const perMs = 1 / (readMs + 2 * stepMs);

function playing() {
  let now = 0;
  let endTurn: () => void = () => undefined;
  const overload = createOverload(
    { delayMs: 30, mostOpen: Number.POSITIVE_INFINITY },
    {
      now: () => now,
      afterTurn: (done) => {
        endTurn = done;
      },
    },
  );
  let pending: { readonly cameAt: number; readonly readyAt: number; readonly billed: boolean }[] = [];
  let open = 0;
  let beatAt = 0;
  let turnMs = 0;
  return ({ factor, ms }: Load) => {
    const answered: { readonly at: number; readonly ms: number }[] = [];
    const refusedAt: number[] = [];
    const began = now;
    let due = 0;
    let came = 0;
    while (now - began < ms) {
      const startedAt = now;
      due += factor * perMs * turnMs;
      const batch = Math.floor(due) - came;
      came += batch;
      for (let n = 0; n < batch; n++) {
        open++;
        if (overload.crowded(open)) {
          open--;
          now += refuseMs;
          refusedAt.push(now - began);
          continue;
        }
        now += readMs;
        pending.push({ cameAt: startedAt - (n / batch) * turnMs, readyAt: now + upstreamMs, billed: false });
      }
      const waiting: typeof pending = [];
      for (const one of pending) {
        if (one.readyAt > startedAt) {
          waiting.push(one);
          continue;
        }
        now += stepMs;
        if (!one.billed) {
          waiting.push({ ...one, billed: true, readyAt: now + billMs });
          continue;
        }
        open--;
        answered.push({ at: now - began, ms: now - one.cameAt });
      }
      pending = waiting;
      endTurn();
      now = Math.max(now, startedAt + 1);
      turnMs = now - startedAt;
      if (now - beatAt < beatMs) continue;
      beatAt = now;
      overload.beat();
    }
    const later = answered.filter(({ at }) => at > 2000).map((one) => one.ms);
    later.sort((a, b) => a - b);
    const p99 = later[Math.floor(later.length * 0.99)] ?? 0;
    return {
      p99,
      served: answered.length / ms / perMs,
      refused: refusedAt.length,
      came,
      lastRefusal: refusedAt.at(-1) ?? 0,
    };
  };
}

test.each([1.2, 3])('R8: %s times as much as can be served: who is let in waits at most twice as long', (factor) => {
  const play = playing();
  const calm = play({ factor: 0.5, ms: 3000 });
  expect(calm.refused).toBe(0);
  const crowd = play({ factor, ms: 4000 });
  expect(crowd.p99).toBeLessThanOrEqual(2 * calm.p99);
  // What refusals leave of the time is used.
  expect(crowd.served).toBeGreaterThan(0.9 * ((1 - factor * perMs * refuseMs) / (1 - perMs * refuseMs)));
  const after = play({ factor: 0.5, ms: 3000 });
  expect(after.lastRefusal).toBeLessThan(2000);
  expect(after.p99).toBeLessThanOrEqual(1.1 * calm.p99);
});

test('R8: what can just be served is not turned away, nor is a crowd that comes once', () => {
  const play = playing();
  expect(play({ factor: 0.9, ms: 3000 }).refused).toBe(0);
  expect(play({ factor: 3, ms: 40 }).refused).toBe(0);
  expect(play({ factor: 0.5, ms: 1000 }).refused).toBe(0);
});

const late = (beatsTogether: number) => {
  let now = 0;
  const overload = createOverload(
    { delayMs: 30, mostOpen: Number.POSITIVE_INFINITY },
    { now: () => now, afterTurn: () => undefined },
  );
  for (let n = 0; n < 10; n++) {
    now += 300;
    for (let beats = 0; beats < beatsTogether; beats++) overload.beat();
  }
  const letIn = (open: number) =>
    Array.from({ length: 1000 }, () => {
      now += 0.1;
      return overload.crowded(open);
    }).filter((crowded) => !crowded).length;
  return { overload, letIn };
};

test('R8: beats that were missed and come together do not hide that the loop is late; few are never a crowd', () => {
  expect(late(2).letIn(5000)).toBeLessThan(30);
  expect(late(2).letIn(64)).toBe(1000);
  // All in time.
  expect(late(15).letIn(5000)).toBe(1000);
});

test('R8: there are never more open than descriptors carry', () => {
  const overload = createOverload({ delayMs: 30, mostOpen: 3 }, { now: () => 0, afterTurn: () => undefined });
  expect([1, 2, 3, 4].map((open) => overload.crowded(open))).toEqual([false, false, false, true]);
  expect([mostOpenFor(256), mostOpenFor(1024), mostOpenFor(null)]).toEqual([96, 480, Number.POSITIVE_INFINITY]);
  expect(overloadLimits({ GATEWAY_SHED_DELAY_MS: '0', GATEWAY_MAX_OPEN: '7' }, 256)).toEqual({
    delayMs: Number.POSITIVE_INFINITY,
    mostOpen: 7,
  });
  expect(overloadLimits({}, 256)).toEqual({ delayMs: 500, mostOpen: 96 });
});

test.each([
  ['/v1/chat/completions', { error: { code: 'overloaded', type: 'api_error' } }],
  ['/v1/messages', { type: 'error', error: { type: 'api_error' } }],
  ['/v1beta/models/gpt-4o-mini:generateContent', { error: { code: 503, status: 'UNAVAILABLE' } }],
  ['/mj/submit/imagine', { type: 'new_api_error' }],
])('R8: %s is told to come back, before anybody looks who it is', async (path, told) => {
  gateway = await createTestGateway({ relay: { crowded: () => true } });
  const request = () => new Request(`http://gateway${path}`, { method: 'POST', body: 'not even JSON' });
  const response = await gateway.relay.handle(request(), path, { ip: () => '127.0.0.1' });
  expect(response.status).toBe(503);
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await response.json()).toMatchObject(told);
  expect(gateway.relay.open()).toBe(0);
  expect(gateway.relay.figures().refusals).toMatchObject({ overloaded: 1 });
  // Asking what there is costs nearly nothing, and a list that is missing stops whole programs.
  const list = await gateway.relay.handle(new Request('http://gateway/v1/models'), '/v1/models', { ip: () => '' });
  expect(list.status).toBe(401);
});

test('R12: that descriptors ran out is said once a minute', () => {
  const said: string[] = [];
  let now = 0;
  const starved = createStarvation(
    (line) => void said.push(line),
    () => now,
    () => {
      throw Object.assign(new Error('EMFILE'), { code: 'EMFILE' });
    },
  );
  expect([starved(), starved(), said.length]).toEqual([true, true, 1]);
  now = 60_000;
  expect([starved(), said.length]).toEqual([true, 2]);
  expect(
    createStarvation(
      () => undefined,
      () => 0,
    )(),
  ).toBe(false);
});
