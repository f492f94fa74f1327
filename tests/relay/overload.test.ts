/** Load shedding: admitted requests are served, and the others are rejected at once and in their own form. */
import { afterEach, expect, test } from 'vitest';
import { AppError } from '../../server/contract/errors.ts';
import { systemTimers } from '../../server/contract/timers.ts';
import { plainPath } from '../../server/relay/intake/routes.ts';
import { clientError, refusalFor } from '../../server/relay/shared/render-error.ts';
import { sealed } from '../../server/relay/shared/safe-headers.ts';
import { overloadLimits } from '../../server/threads/relay/environment.ts';
import { createOverload, maxOpenFor } from '../../server/threads/relay/load-shedding.ts';
import { createRequestQueue } from '../../server/threads/relay/request-queue.ts';
import { figure } from '../support/figure.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream } from '../support/upstream.ts';

const peer = { ip: () => '127.0.0.1' };
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
const refuseMs = 0.02;
/** To be put into the line. */
const waitMs = 0.02;
const upstreamMs = 50;
const billMs = 2;
const perMs = 1 / (readMs + 2 * stepMs);

/** The clock of the simulation: beats come when they are due, all that were missed as one. */
function createBeats() {
  let beat: (() => void) | null = null;
  let everyMs = 0;
  let lastAt = 0;
  return {
    every(run: () => void, ms: number) {
      beat = run;
      everyMs = ms;
      return () => {
        beat = null;
      };
    },
    at(now: number) {
      if (beat === null || now - lastAt < everyMs) return;
      lastAt = now;
      beat();
    },
    rests: () => beat === null,
  };
}

const shipped = overloadLimits({}, null).delayMs;

/** What is to be called between turns. */
function createTurns() {
  let waiting: (() => unknown)[] = [];
  return {
    after: (run: () => unknown) => void waiting.push(run),
    async end() {
      const now = waiting;
      waiting = [];
      for (const run of now) await run();
    },
  };
}

/** The console is open: it sends a request every so often, which is read in one turn and answered in the next. */
const checkEveryMs = 50;

/** The ledger: it collects while it commits, and shares the core with the relay. */
function createBills(eachMs: number) {
  let collected: { readonly since: number; readonly settled: () => void }[] = [];
  let committing: typeof collected = [];
  let doneAt = 0;
  return {
    give: (now: number, settled: () => void) => void collected.push({ since: now, settled }),
    waitedMs: (now: number) => now - (committing[0]?.since ?? collected[0]?.since ?? now),
    turn(now: number) {
      if (committing.length > 0 && now < doneAt) return;
      const done = committing;
      committing = collected;
      collected = [];
      doneAt = now + billMs + committing.length * eachMs;
      for (const { settled } of done) settled();
    },
  };
}

function playing({ delayMs = shipped, eachBillMs = 0 } = {}) {
  let now = 0;
  let open = 0;
  const turns = createTurns();
  const beats = createBeats();
  const bills = createBills(eachBillMs);
  const overload = createOverload(
    { delayMs, maxOpen: Number.POSITIVE_INFINITY },
    {
      now: () => now,
      afterTurn: turns.after,
      open: () => open,
      billMs: () => bills.waitedMs(now),
      every: beats.every,
    },
  );
  let pending: { readonly cameAt: number; readonly readyAt: number }[] = [];
  let turnMs = 0;
  const play = async ({ factor, ms }: Load) => {
    const answered: { readonly cameAt: number; readonly ms: number }[] = [];
    const rejectedAt: number[] = [];
    const looks: number[] = [];
    let looking: number[] = [];
    const started = now;
    let due = 0;
    let came = 0;
    let looked = 0;
    const begin = (cameAt: number) => {
      now += readMs;
      pending.push({ cameAt, readyAt: now + upstreamMs });
    };
    const meet = (cameAt: number) => {
      open++;
      if (overload.isOverloaded(open)) {
        open--;
        now += refuseMs;
        rejectedAt.push(now - started);
        return;
      }
      const turn = overload.wait();
      if (turn === null) return begin(cameAt);
      now += waitMs;
      void turn.then(() => begin(cameAt));
    };
    const settled = (cameAt: number) => () => {
      now += stepMs;
      open--;
      answered.push({ cameAt: cameAt - started, ms: now - cameAt });
    };
    while (now - started < ms) {
      const startedAt = now;
      const received = looking;
      looking = [];
      for (const to = Math.floor((now - started) / checkEveryMs); looked < to; looked++)
        looking.push(started + (looked + 1) * checkEveryMs);
      due += factor * perMs * turnMs;
      const batch = Math.floor(due) - came;
      came += batch;
      for (let n = 0; n < batch; n++) meet(startedAt - (n / batch) * turnMs);
      const ready = pending.filter(({ readyAt }) => readyAt <= startedAt);
      pending = pending.filter(({ readyAt }) => readyAt > startedAt);
      for (const { cameAt } of ready) {
        now += stepMs;
        bills.give(now, settled(cameAt));
      }
      bills.turn(now);
      await turns.end();
      now = Math.max(now, startedAt + 1);
      for (const sentAt of received) looks.push(now - sentAt);
      turnMs = now - startedAt;
      beats.at(now);
    }
    // In the first moments the overload is unknown, and requests admitted then are still served.
    const later = answered.filter(({ cameAt }) => cameAt > 3000).map((one) => one.ms);
    return {
      p99: p99Of(later),
      console: p99Of(looks),
      served: answered.length / ms / perMs,
      refused: rejectedAt.length,
      came,
      firstRefusal: rejectedAt[0] ?? Number.POSITIVE_INFINITY,
      lastRefusal: rejectedAt.at(-1) ?? 0,
    };
  };
  return { play, rests: beats.rests };
}

const p99Of = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.99)] ?? 0;
};

test.each([1.2, 1.5, 2, 3])(
  'as it is shipped, %s times as much as can be served: who is let in waits at most twice as long',
  async (factor) => {
    const { play } = playing();
    const calm = await play({ factor: 0.5, ms: 4000 });
    expect(calm.refused).toBe(0);
    const crowd = await play({ factor, ms: 6000 });
    figure(
      `${factor} x capacity: first refusal after ${crowd.firstRefusal.toFixed(0)} ms, ${((crowd.refused / crowd.came) * 100).toFixed(0)} % turned away, p99 ${crowd.p99.toFixed(0)} ms against ${calm.p99.toFixed(0)} unloaded, ${(crowd.served * 100).toFixed(0)} % of capacity served, console p99 ${crowd.console.toFixed(0)} ms`,
    );
    // From the first moment on.
    expect(crowd.console).toBeLessThanOrEqual(300);
    expect(crowd.firstRefusal).toBeLessThan(2000);
    expect(crowd.p99).toBeLessThanOrEqual(2 * calm.p99);
    // What refusals leave of the time is used.
    expect(crowd.served).toBeGreaterThan(0.9 * ((1 - factor * perMs * refuseMs) / (1 - perMs * refuseMs)));
    const after = await play({ factor: 0.5, ms: 4000 });
    figure(`${factor} x capacity: last refusal ${after.lastRefusal.toFixed(0)} ms after it`);
    expect(after.lastRefusal).toBeLessThan(2000);
    expect(after.p99).toBeLessThanOrEqual(1.1 * calm.p99);
  },
);

test.each([0.3, 0.4])(
  'bills of %s ms each that wait are a queue as well, however seldom the loop is late',
  async (eachBillMs) => {
    const { play } = playing({ eachBillMs });
    const calm = await play({ factor: 0.3, ms: 4000 });
    expect(calm.refused).toBe(0);
    const crowd = await play({ factor: 3, ms: 8000 });
    figure(
      `3 x capacity, bills of ${eachBillMs} ms: p99 ${crowd.p99.toFixed(0)} ms against ${calm.p99.toFixed(0)} unloaded, ${(crowd.served * 100).toFixed(0)} % of capacity served`,
    );
    expect(crowd.p99).toBeLessThanOrEqual(2 * calm.p99);
    // Of what the ledger can do.
    expect(crowd.served).toBeGreaterThan(0.7 / eachBillMs / perMs);
    const after = await play({ factor: 0.5, ms: 4000 });
    figure(`bills of ${eachBillMs} ms: last refusal ${after.lastRefusal.toFixed(0)} ms after it`);
    expect(after.lastRefusal).toBeLessThan(2000);
  },
);

/** Many streams begin on a machine that is slow because others keep it busy; all of them could be carried. */
async function beginning(delayMs: number, { slow, withinMs }: { readonly slow: number; readonly withinMs: number }) {
  const count = 200;
  const framesEach = 20;
  const paceMs = 50;
  let now = 0;
  const turns = createTurns();
  const beats = createBeats();
  let waiting = 0;
  let streams: { next: number; left: number }[] = [];
  const overload = createOverload(
    { delayMs, maxOpen: Number.POSITIVE_INFINITY },
    {
      now: () => now,
      afterTurn: turns.after,
      open: () => streams.length + waiting,
      billMs: () => 0,
      every: beats.every,
    },
  );
  let rejected = 0;
  const begin = () => {
    now += (readMs + 2 * stepMs) * slow;
    streams.push({ next: now + upstreamMs, left: framesEach });
  };
  const meet = () => {
    if (overload.isOverloaded(streams.length + waiting + 1)) {
      now += refuseMs * slow;
      rejected++;
      return;
    }
    const turn = overload.wait();
    if (turn === null) return begin();
    now += waitMs * slow;
    waiting++;
    void turn.then(() => {
      waiting--;
      begin();
    });
  };
  for (let came = 0; came < count || streams.length + waiting > 0; ) {
    const startedAt = now;
    for (const due = Math.floor(count * Math.min(1, now / withinMs)); came < due; came++) meet();
    for (const stream of streams) {
      if (stream.next > startedAt) continue;
      now += stepMs * slow;
      stream.next += paceMs;
      stream.left--;
    }
    streams = streams.filter(({ left }) => left > 0);
    await turns.end();
    now = Math.max(now, startedAt + 1);
    beats.at(now);
  }
  return rejected;
}

const slowly = [1, 4, 8, 12].flatMap((slow) => [50, 500, 1500].map((withinMs) => ({ slow, withinMs })));

test.each(slowly)(
  'as it is shipped, 200 streams within $withinMs ms on a machine $slow times as slow all begin',
  async (load) => {
    expect(await beginning(shipped, load)).toBe(0);
  },
);

test('with a shorter delay allowed the slow machine refuses requests it could serve, with a longer one it notices the crowd too late', async () => {
  const rejected = await Promise.all(slowly.map((load) => beginning(100, load)));
  expect(rejected.some((count) => count > 0)).toBe(true);
  const { play } = playing({ delayMs: 500 });
  await play({ factor: 0.5, ms: 3000 });
  expect((await play({ factor: 1.2, ms: 6000 })).firstRefusal).toBeGreaterThan(2000);
});

test('a load that can just be served, or a crowd that comes once, is not refused; and then the clock rests', async () => {
  const { play, rests } = playing();
  expect(rests()).toBe(true);
  expect((await play({ factor: 0.9, ms: 3000 })).refused).toBe(0);
  expect(rests()).toBe(false);
  expect((await play({ factor: 3, ms: 40 })).refused).toBe(0);
  expect((await play({ factor: 0.5, ms: 1000 })).refused).toBe(0);
  await play({ factor: 0, ms: 500 });
  expect(rests()).toBe(true);
  // Having rested, it notices as soon as before.
  expect((await play({ factor: 3, ms: 4000 })).firstRefusal).toBeLessThan(2000);
  await play({ factor: 0, ms: 8000 });
  expect(rests()).toBe(true);
});

const lateBeats = (beatsTogether: number) => {
  let now = 0;
  let beat: () => void = () => undefined;
  const overload = createOverload(
    { delayMs: 30, maxOpen: Number.POSITIVE_INFINITY },
    {
      now: () => now,
      afterTurn: () => undefined,
      open: () => 5000,
      billMs: () => 0,
      every: (run) => {
        beat = run;
        return () => undefined;
      },
    },
  );
  overload.isOverloaded(1);
  for (let n = 0; n < 10; n++) {
    now += 300;
    for (let beats = 0; beats < beatsTogether; beats++) beat();
  }
  const letIn = (open: number) =>
    Array.from({ length: 1000 }, () => {
      now += 0.1;
      return overload.isOverloaded(open);
    }).filter((isOverloaded) => !isOverloaded).length;
  return { letIn };
};

test('beats that were missed and come together do not hide that the loop is late; few are never a crowd', () => {
  expect(lateBeats(2).letIn(5000)).toBeLessThan(30);
  expect(lateBeats(2).letIn(64)).toBe(1000);
  // All in time.
  expect(lateBeats(15).letIn(5000)).toBe(1000);
});

test('the line is taken up in its order, for so long in each turn, while all others have theirs', async () => {
  let now = 0;
  const turns = createTurns();
  const line = createRequestQueue({ now: () => now, afterTurn: turns.after });
  const taken: number[] = [];
  const join = (n: number) =>
    void line.join().then(() => {
      taken.push(n);
      now += 4;
    });
  expect(line.waitedMs()).toBe(0);
  for (let n = 0; n < 5; n++) join(n);
  now = 7;
  expect([line.length(), line.waitedMs()]).toEqual([5, 7]);
  await turns.end();
  expect(taken).toEqual([0, 1, 2]);
  join(5);
  now += 100;
  expect([line.length(), line.waitedMs()]).toEqual([3, 119]);
  await turns.end();
  await turns.end();
  expect(taken).toEqual([0, 1, 2, 3, 4, 5]);
  expect([line.length(), line.waitedMs()]).toEqual([0, 0]);
  // And starts again.
  join(6);
  await turns.end();
  expect(taken.at(-1)).toBe(6);
});

test('no request waits while the loop comes round; earlier requests are not overtaken', async () => {
  let now = 0;
  let beat: () => void = () => undefined;
  const turns = createTurns();
  const overload = createOverload(
    { delayMs: 150, maxOpen: Number.POSITIVE_INFINITY },
    {
      now: () => now,
      afterTurn: turns.after,
      open: () => 1,
      billMs: () => 0,
      every(run) {
        beat = run;
        return () => undefined;
      },
    },
  );
  const meet = () => {
    expect(overload.isOverloaded(1)).toBe(false);
    return overload.wait();
  };
  expect(meet()).toBe(null);
  now += 30;
  expect(meet()).toBe(null);
  now += 1;
  const first = meet();
  expect(first).not.toBe(null);
  beat();
  const second = meet();
  expect(second).not.toBe(null);
  await turns.end();
  await Promise.all([first, second]);
  expect(meet()).toBe(null);
});

test('a queued request counts as open from its arrival, and is rejected when the server stops meanwhile', async () => {
  let take: () => void = () => undefined;
  let now = Date.now();
  const upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
  gateway = await createTestGateway({
    relay: {
      timers: { ...systemTimers, now: () => now },
      wait: () =>
        new Promise<void>((resolve) => {
          take = resolve;
        }),
    },
  });
  await gateway.channel(upstream.url, { models: 'gpt-4o-mini' });
  const { key } = await gateway.token();
  const ask = () => gateway?.chat(key, { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] });
  const served = ask();
  await expect.poll(() => gateway?.relay.open()).toBe(1);
  now += 7000;
  take();
  expect((await served)?.status).toBe(200);
  expect(await gateway.logs()).toMatchObject([{ use_time: 7 }]);
  const stopped = ask();
  await expect.poll(() => gateway?.relay.open()).toBe(1);
  gateway.relay.close(new AppError('shutting_down'));
  take();
  expect((await stopped)?.status).toBe(503);
  expect(gateway.relay.open()).toBe(0);
  expect(upstream.requests).toHaveLength(1);
  await upstream.stop();
});

test.each([
  ['in every turn', 1],
  ['in one of many turns, some', 25],
])('a few who come late %s do not keep it busy for ever', async (_how, every) => {
  let now = 0;
  let beat: () => void = () => undefined;
  const turns = createTurns();
  const overload = createOverload(
    { delayMs: 150, maxOpen: Number.POSITIVE_INFINITY },
    {
      now: () => now,
      afterTurn: turns.after,
      open: () => 5000,
      billMs: () => 0,
      every(run) {
        beat = run;
        return () => undefined;
      },
    },
  );
  overload.isOverloaded(1);
  for (let n = 0; n < 3; n++) {
    now += 300;
    beat();
  }
  const started = now;
  const rejectedAt: number[] = [];
  for (let turn = 0; turn < 300; turn++) {
    for (let n = 0; n < 30; n++) {
      if (turn % every === 0 && n === 30 - every) now += 5;
      if (overload.isOverloaded(5000)) rejectedAt.push(now - started);
    }
    await turns.end();
    now += 15;
    beat();
  }
  expect(rejectedAt.length).toBeGreaterThan(0);
  expect(rejectedAt.at(-1)).toBeLessThan(2000);
});

test('there are never more open than descriptors carry', () => {
  const overload = createOverload(
    { delayMs: 30, maxOpen: 3 },
    { now: () => 0, afterTurn: () => undefined, open: () => 0, billMs: () => 0, every: () => () => undefined },
  );
  expect([1, 2, 3, 4].map((open) => overload.isOverloaded(open))).toEqual([false, false, false, true]);
  expect([maxOpenFor(256), maxOpenFor(1024), maxOpenFor(null)]).toEqual([96, 480, Number.POSITIVE_INFINITY]);
  expect(overloadLimits({ GATEWAY_SHED_DELAY_MS: '0', GATEWAY_MAX_OPEN: '7' }, 256)).toEqual({
    delayMs: Number.POSITIVE_INFINITY,
    maxOpen: 7,
  });
  expect(overloadLimits({}, 256)).toEqual({ delayMs: 150, maxOpen: 96 });
});

test.each([
  ['/v1/chat/completions', { error: { code: 'overloaded', type: 'api_error' } }],
  ['/v1/messages', { type: 'error', error: { type: 'api_error' } }],
  ['/v1beta/models/gpt-4o-mini:generateContent', { error: { code: 503, status: 'UNAVAILABLE' } }],
  ['/mj/submit/imagine', { type: 'new_api_error' }],
])('%s is rejected with a time to retry, before its key is looked up', async (path, message) => {
  gateway = await createTestGateway({ relay: { isOverloaded: () => true } });
  const { relay } = gateway;
  const request = new Request(`http://gateway${path}`, { method: 'POST', body: 'not even JSON' });
  // Orders of tasks and questions about them have similar paths: an order is rejected one step later.
  const response = relay.reject(request, path, peer) ?? (await relay.handle(request, path, peer));
  expect(response.status).toBe(503);
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await response.json()).toMatchObject(message);
  expect(request.bodyUsed).toBe(false);
  expect(relay.open()).toBe(0);
  expect(relay.stats().refusals).toMatchObject({ overloaded: 1 });
});

test('asking what there is costs nearly nothing, and a list that is missing stops whole programs', async () => {
  gateway = await createTestGateway({ relay: { isOverloaded: () => true } });
  const ask = (path: string) => gateway?.relay.reject(new Request(`http://gateway${path}`), path, peer);
  expect(['/v1/models', '/v1beta/models', '/v1/dashboard/billing/usage', '/mj/task/1/fetch'].map(ask)).toEqual([
    null,
    null,
    null,
    null,
  ]);
  const list = await gateway.relay.handle(new Request('http://gateway/v1/models'), '/v1/models', peer);
  expect(list.status).toBe(401);
});

test('a newcomer who is let in is asked about once', async () => {
  const requested: number[] = [];
  gateway = await createTestGateway({
    relay: {
      isOverloaded: (open) => {
        requested.push(open);
        return false;
      },
    },
  });
  const path = '/v1/chat/completions';
  const request = new Request(`http://gateway${path}`, { method: 'POST', body: '{}' });
  expect(gateway.relay.reject(request, path, peer)).toBe(null);
  await gateway.relay.handle(request, path, peer);
  expect(requested).toEqual([1]);
});

/** Secrets and models stand in addresses; languages and dialects have forms of their own. */
const tellings = [
  ['/v1/chat/completions', '', {}],
  ['/v1/chat/completions', '', { 'accept-language': 'zh-CN,zh;q=0.9' }],
  ['/openai/v1/responses', '', { 'accept-language': 'en' }],
  ['/v1/messages', '', {}],
  ['/api/chat', '', {}],
  ['/v1beta/models/gpt-4o-mini:streamGenerateContent', '', {}],
  ['/v1beta/models/gpt-4o-mini:streamGenerateContent', '?alt=sse&key=secret', {}],
] as const;

test.each(tellings)('%s%s %o: thousands get the same answer as a single request', async (path, query, headers) => {
  gateway = await createTestGateway({ relay: { isOverloaded: () => true } });
  const ids = new Set<string>();
  for (let n = 0; n < 7; n++) {
    const request = new Request(`http://gateway${path}${query}`, { method: 'POST', headers, body: '{}' });
    const response = gateway.relay.reject(request, path, peer);
    const requestId = response?.headers.get('x-oneapi-request-id') ?? '';
    const seconds = (n % 3) + 1;
    const shown = clientError(new AppError('overloaded', { seconds }), requestId);
    const language = (headers as Record<string, string>)['accept-language']?.startsWith('zh') === true ? 'zh' : 'en';
    const alone = sealed(
      refusalFor(request, plainPath(path), { clientError: shown, retryAfter: seconds, language, showsBudgets: true }),
    );
    expect(response?.status).toBe(alone.status);
    expect(Object.fromEntries(response?.headers ?? [])).toEqual(Object.fromEntries(alone.headers));
    expect(await response?.text()).toBe(await alone.text());
    ids.add(requestId);
  }
  expect(ids.size).toBe(7);
});

test('the id of a rejected request is found in the log', async () => {
  gateway = await createTestGateway({ relay: { isOverloaded: () => true } });
  const path = '/v1/chat/completions';
  const { key } = await gateway.token({ name: 'mine' });
  const headers = { authorization: `Bearer sk-${key}` };
  const response = gateway.relay.reject(new Request(`http://gateway${path}`, { method: 'POST', headers }), path, peer);
  const requestId = response?.headers.get('x-oneapi-request-id');
  expect(await gateway.logs()).toMatchObject([{ request_id: requestId, type: 5, end_reason: 'refused' }]);
});
