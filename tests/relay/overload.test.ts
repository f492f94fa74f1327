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

/** A loop that is late by so much, for so long. */
const play = (overload: ReturnType<typeof createOverload>, clock: { now: number }, lateMs: number, spanMs: number) => {
  for (const end = clock.now + spanMs; clock.now < end; ) {
    clock.now += beatMs + lateMs;
    overload.beat();
  }
};
const letIn = (overload: ReturnType<typeof createOverload>, open: number) =>
  Array.from({ length: 1000 }, () => overload.crowded(open)).filter((crowded) => !crowded).length;

test('R8: a loop that is late all the time lets fewer in, and all again within two seconds', () => {
  const clock = { now: 0 };
  const overload = createOverload({ delayMs: 40, mostOpen: Number.POSITIVE_INFINITY }, () => clock.now);
  play(overload, clock, 10, 1000);
  expect(letIn(overload, 5000)).toBe(1000);
  play(overload, clock, 60, 1000);
  expect(letIn(overload, 5000)).toBeLessThan(300);
  play(overload, clock, 60, 20_000);
  expect(letIn(overload, 5000)).toBeGreaterThanOrEqual(49);
  // Few are no crowd, whoever makes the machine slow.
  expect(letIn(overload, 64)).toBe(1000);
  play(overload, clock, 0, 2000);
  expect(letIn(overload, 5000)).toBe(1000);
});

test('R8: beats that were missed and come together do not hide that the loop is late', () => {
  const clock = { now: 0 };
  const overload = createOverload({ delayMs: 40, mostOpen: Number.POSITIVE_INFINITY }, () => clock.now);
  for (let n = 0; n < 10; n++) {
    clock.now += 300;
    overload.beat();
    overload.beat();
  }
  expect(letIn(overload, 5000)).toBeLessThan(100);
});

test('R8: one pause is no overload', () => {
  const clock = { now: 0 };
  const overload = createOverload({ delayMs: 40, mostOpen: Number.POSITIVE_INFINITY }, () => clock.now);
  for (let n = 0; n < 50; n++) {
    play(overload, clock, 500, 1);
    play(overload, clock, 0, 400);
  }
  expect(letIn(overload, 5000)).toBe(1000);
});

test('R8: there are never more open than descriptors carry', () => {
  const overload = createOverload({ delayMs: 40, mostOpen: 3 }, () => 0);
  expect([1, 2, 3, 4].map((open) => overload.crowded(open))).toEqual([false, false, false, true]);
  expect([mostOpenFor(256), mostOpenFor(1024), mostOpenFor(null)]).toEqual([96, 480, Number.POSITIVE_INFINITY]);
  expect(overloadLimits({ GATEWAY_SHED_DELAY_MS: '0', GATEWAY_MAX_OPEN: '7' }, 256)).toEqual({
    delayMs: Number.POSITIVE_INFINITY,
    mostOpen: 7,
  });
  expect(overloadLimits({}, 256)).toEqual({ delayMs: 40, mostOpen: 96 });
});

test.each([
  ['/v1/chat/completions', { error: { code: 'overloaded', type: 'api_error' } }],
  ['/v1/messages', { type: 'error', error: { type: 'api_error' } }],
  ['/v1beta/models/gpt-4o-mini:generateContent', { error: { code: 503, status: 'UNAVAILABLE' } }],
  ['/mj/submit/imagine', { type: 'new_api_error' }],
])('R8: %s is told to come back, before anybody looks who it is', async (path, told) => {
  gateway = await createTestGateway({ crowded: () => true });
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
