/** What a failure speaks of: one model of a channel, one key, or the host; and what is forgotten first. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { ChannelFailure } from '../../server/contract/channel-failure.ts';
import type { ChannelSnapshot } from '../../server/contract/snapshot.ts';
import { Health } from '../../server/relay/routing/health.ts';
import { joinedHealth } from '../../server/relay/routing/health-report.ts';
import type { UpstreamFailure } from '../../server/relay/shared/failure.ts';
import { createHealthFile, keptHealth, readHealth, writeHealth } from '../../server/threads/control/health-file.ts';

const channel = (more: Partial<ChannelSnapshot> = {}): ChannelSnapshot =>
  ({ id: 1, keys: ['k0'], models: ['a', 'b', 'c'], modelMapping: {}, setting: {}, ...more }) as ChannelSnapshot;
const failure = (more: Partial<UpstreamFailure> = {}): UpstreamFailure => ({
  class: 'host',
  status: 500,
  error: null,
  retryAfter: null,
  reason: 'status',
  ...more,
});
const timeout = failure({ status: null, reason: 'timeout' });
const missing = failure({ status: 404 });
const refused = failure({ status: null, reason: 'unreachable' });
const limited = failure({ class: 'key', status: 429 });

let now: number;
let failures: ChannelFailure[];
let health: Health;
beforeEach(() => {
  now = 1_000_000;
  failures = [];
  health = new Health({ now: () => now, random: () => 0, failure: (one) => failures.push(one) });
});
const kept = () => joinedHealth([...health.remembered()]);
const times = (count: number, act: (n: number) => void) => {
  for (let n = 0; n < count; n++) act(n);
};

test.each([
  ['500', failure(), 'ejected'],
  ['404', missing, 'ejected'],
  ['a timeout', timeout, 'ejected'],
  ['a broken stream', failure({ status: 200, reason: 'broken' }), 'ejected'],
  ['429', limited, 'cooling'],
] as const)(
  'a hundred times %s of one model changes nothing for another, and disables nothing',
  (_name, one, condition) => {
    const at = channel();
    times(100, (n) => {
      health.failed(at, 'a', 0, one);
      health.succeeded(at, 'b', 0);
      now += n * 100;
    });
    health.failed(at, 'a', 0, one);
    expect([health.condition(at, 'a'), health.condition(at, 'b'), health.condition(at, null)]).toEqual([
      condition,
      'up',
      'up',
    ]);
    expect([health.waitMs(at, 'b'), health.waitMs(at, null), failures]).toEqual([0, 0, []]);
  },
);

test('names that lead to one model upstream share its state', () => {
  const at = channel({ modelMapping: { a: 'x', b: 'x', c: 'y' } });
  times(5, () => health.failed(at, 'a', 0, failure()));
  expect(['a', 'b', 'c'].map((model) => health.condition(at, model))).toEqual(['ejected', 'ejected', 'up']);
});

test('five refused connections eject the host with all its models, an answer between them starts anew', () => {
  const models = Array.from({ length: 300 }, (_, n) => `m${n}`);
  const at = channel({ models });
  times(4, (n) => health.failed(at, models[n] ?? '', 0, refused));
  times(12, (n) => health.failed(at, models[10 + n] ?? '', 0, [missing, limited][n % 2] ?? missing));
  times(4, (n) => health.failed(at, models[n] ?? '', 0, refused));
  expect(health.condition(at, 'm299')).toBe('up');
  health.failed(at, 'm4', 0, refused);
  expect(models.every((model) => health.condition(at, model) === 'ejected')).toBe(true);
  expect(health.waitMs(at, 'm299')).toBe(30_000);
  now += 30_000;
  health.begin(at, 'm7', 0);
  health.succeeded(at, 'm7', 0);
  expect(health.condition(at, 'm299')).toBe('up');
});

test.each([
  ['500', failure()],
  ['timeouts', timeout],
])('a host with 300 models that answers %s alone is out after three of them', (_name, one) => {
  const models = Array.from({ length: 300 }, (_, n) => `m${n}`);
  const at = channel({ models });
  let calls = 0;
  while (health.condition(at, models[calls] ?? '') === 'up') health.failed(at, models[calls++] ?? '', 0, one);
  expect(calls).toBe(3);
  expect(health.condition(at, 'm299')).toBe('ejected');
});

test('three failing models of seven eject nothing else, of six they eject the host, and what was tried a minute ago does not count', () => {
  const models = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  const at = channel({ models });
  const tryOthers = (count: number) => times(count, (n) => health.succeeded(at, models[3 + n] ?? '', 0));
  tryOthers(4);
  times(3, (n) => health.failed(at, models[n] ?? '', 0, failure()));
  expect(health.condition(at, 'h')).toBe('up');
  now += 61_000;
  tryOthers(3);
  times(2, (n) => health.failed(at, models[n] ?? '', 0, failure()));
  expect(health.condition(at, 'h')).toBe('up');
  health.failed(at, 'c', 0, failure());
  expect(health.condition(at, 'h')).toBe('ejected');
});

const [mallory, ann, bob] = [7, 8, 9];
const failAs = (at: ChannelSnapshot, by: number, models: string, one = failure()) => {
  for (const model of models) health.failed(at, model, 0, one, by);
};
test.each([
  ['one user alone, at every model', [[mallory, 'abcdefgh']], 'up'],
  [
    'one user, and another whose one request failed',
    [
      [mallory, 'abcdefgh'],
      [ann, 'h'],
    ],
    'up',
  ],
  [
    'one user, and another at models of whom the first one failed at too',
    [
      [mallory, 'abc'],
      [ann, 'abc'],
    ],
    'ejected',
  ],
  [
    'two users at models of their own',
    [
      [mallory, 'abc'],
      [ann, 'def'],
    ],
    'ejected',
  ],
  [
    'three users, of whom two met two models',
    [
      [mallory, 'ab'],
      [ann, 'cd'],
      [bob, 'e'],
    ],
    'ejected',
  ],
  [
    'three users, of whom one met half of the models',
    [
      [mallory, 'abc'],
      [ann, 'd'],
      [bob, 'e'],
    ],
    'up',
  ],
  ['an operator alone', [[0, 'abc']], 'ejected'],
] as const)('a host is ejected for what fails whoever is left out: %s', (_name, failing, condition) => {
  const at = channel({ models: [...'abcdefghx'] });
  for (const one of [failure(), timeout]) {
    health.reset(1);
    for (const [by, models] of failing) failAs(at, by, models, one);
    expect(health.condition(at, 'x')).toBe(condition);
  }
});

test('a model that answered since its user failed at it says nothing of the host any more', () => {
  const at = channel({ models: [...'abcdx'] });
  failAs(at, mallory, 'abc');
  for (const model of 'ab') health.succeeded(at, model, 0);
  failAs(at, ann, 'abc');
  expect(health.condition(at, 'x')).toBe('up');
  failAs(at, bob, 'ab');
  expect(health.condition(at, 'x')).toBe('ejected');
});

test('nobody alone keeps a host out that may be tried again', () => {
  const at = channel({ models: [...'abcx'] });
  const probes = (by: number) => {
    health.begin(at, 'x', 0);
    health.failed(at, 'x', 0, failure(), by);
    return health.condition(at, 'a');
  };
  failAs(at, 0, 'abc');
  now += 30_000;
  expect([probes(mallory), probes(mallory), probes(ann), health.waitMs(at, 'a')]).toEqual([
    'up',
    'up',
    'ejected',
    60_000,
  ]);
  now += 60_000;
  expect([probes(mallory), probes(0), health.waitMs(at, 'a')]).toEqual(['up', 'ejected', 90_000]);
  now += 90_000;
  expect(probes(mallory)).toBe('up');
  health.begin(at, 'a', 0);
  health.succeeded(at, 'a', 0);
  expect(probes(ann)).toBe('up');
});

test('a connection that broke over what one user sent is held against the model, a refused one against the host', () => {
  const at = channel({ models: [...'abcx'] });
  const broken = { status: null, type: null, message: '', code: 'ECONNRESET' };
  const reset = failure({ status: null, reason: 'unreachable', error: broken });
  times(20, () => failAs(at, mallory, 'abc', reset));
  expect([...'ax'].map((model) => health.condition(at, model))).toEqual(['ejected', 'up']);
  // Taken in turn: five that follow upon another's.
  times(2, () => [ann, mallory].map((by) => failAs(at, by, 'x', reset)));
  expect(health.condition(at, 'x')).toBe('ejected');
  health.reset(1);
  const unsent = { ...reset, error: { ...broken, code: 'ECONNREFUSED' } };
  times(5, () => failAs(at, mallory, 'a', unsent));
  expect(health.condition(at, 'x')).toBe('ejected');
});

test('missing and limited models are no evidence against a host', () => {
  const models = ['a', 'b', 'c', 'd'];
  const at = channel({ models });
  for (const model of ['a', 'b', 'c']) {
    health.failed(at, model, 0, missing);
    health.failed(at, model, 0, limited);
  }
  expect(health.condition(at, 'd')).toBe('up');
});

test('a client’s mistake ends a probe and harms nothing', () => {
  const at = channel();
  times(5, () => health.failed(at, 'a', 0, failure()));
  now += 30_000;
  health.begin(at, 'a', 0);
  expect(health.condition(at, 'a')).toBe('ejected');
  health.failed(at, 'a', 0, failure({ class: 'client', status: 400 }));
  expect([health.condition(at, 'a'), health.condition(at, 'b')]).toEqual(['up', 'up']);
});

test('a wrong key waits for every model, a limited one for its model alone', () => {
  const at = channel({ keys: ['k0', 'k1'] });
  health.failed(at, 'a', 0, limited);
  expect([health.pickKey(at, 'a').index, health.condition(at, 'a')]).toEqual([1, 'up']);
  expect(new Set([health.pickKey(at, 'b').index, health.pickKey(at, 'b').index])).toEqual(new Set([0, 1]));
  health.failed(at, 'a', 1, failure({ class: 'key', status: 401 }));
  expect(failures).toMatchObject([{ keyIndex: 1, lastKey: true, kind: 'key' }]);
  expect([health.condition(at, 'a'), health.condition(at, 'b')]).toEqual(['cooling', 'up']);
  expect(health.pickKey(at, 'b').index).toBe(0);
  expect(health.hasSpareKey(at, 'a')).toBe(false);
  expect(health.hasSpareKey(at, 'b')).toBe(true);
});

test.each([
  ['a key', { refusal: { reason: 'spent' } as UpstreamFailure['refusal'] }],
  ['a key at one model', {}],
])('%s that is spent for days is looked at once an hour, at most seven days', (_name, more) => {
  const at = channel();
  const spent = failure({ class: 'key', status: 429, retryAfter: 30 * 86_400, ...more });
  health.failed(at, 'a', 0, spent);
  expect(health.waitMs(at, 'a')).toBe(3_600_000);
  now += 3_600_000;
  expect(health.condition(at, 'a')).toBe('up');
  health.begin(at, 'a', 0);
  expect(health.condition(at, 'a')).toBe('cooling');
  health.failed(at, 'a', 0, spent);
  expect(health.waitMs(at, 'a')).toBe(3_600_000);
  now += 7 * 86_400_000;
  health.begin(at, 'a', 0);
  // It is over by itself: nobody has to look first.
  expect(health.condition(at, 'a')).toBe('up');
});

test('a channel whose models all fail their probes is reported, one of which another model answers is not', () => {
  const alone = channel({ models: ['a', 'b'] });
  const probeAll = () => {
    times(5, () => health.failed(alone, 'a', 0, failure()));
    times(5, () => {
      now += 301_000;
      health.begin(alone, 'a', 0);
      health.failed(alone, 'a', 0, failure());
    });
  };
  probeAll();
  expect(failures.map(({ kind }) => kind)).toEqual(['host']);
  health.reset(1);
  failures.length = 0;
  times(5, () => health.failed(alone, 'a', 0, failure()));
  times(5, () => {
    now += 150_000;
    health.succeeded(alone, 'b', 0);
    now += 151_000;
    health.begin(alone, 'a', 0);
    health.failed(alone, 'a', 0, failure());
  });
  expect(failures).toEqual([]);
});

test('the pair of 20,000 that failed longest ago is forgotten first', () => {
  const models = Array.from({ length: 100 }, (_, n) => `m${n}`);
  const channels = Array.from({ length: 201 }, (_, n) => channel({ id: n + 1, models }));
  const [first] = channels as [ChannelSnapshot];
  times(5, () => health.failed(first, 'm0', 0, failure()));
  times(5, () => health.failed(first, 'm1', 0, missing));
  for (const at of channels.slice(1)) for (const model of models) health.failed(at, model, 0, missing);
  expect(kept().pairs).toHaveLength(6 * 20_000);
  expect([health.condition(first, 'm0'), health.condition(first, 'm1')]).toEqual(['up', 'up']);
  // Nothing of it is left that a reset had to look for.
  health.reset(1);
  expect(kept().pairs).toHaveLength(6 * 20_000);
});

/** The wall clock and the monotonic one of a process. */
const clockAt = (wall: number, mono: number) => ({ now: () => wall, monoNow: () => mono });

test('kept health puts the next process in the same state, whatever its monotonic clock says', () => {
  const at = channel({ keys: ['k0', 'k1'] });
  times(5, () => health.failed(at, 'a', 0, failure()));
  health.failed(at, 'b', 0, limited);
  health.failed(at, 'c', 1, failure({ class: 'key', status: 402, retryAfter: 86_400 }));
  const text = writeHealth(kept(), clockAt(1.7e12, now));
  const next = new Health({ now: () => 500, random: () => 0, failure: () => undefined });
  // It starts four seconds later.
  const report = readHealth(text, clockAt(1.7e12 + 4000, 500));
  for (const word of report?.channels ?? []) next.receive(word);
  for (const word of report?.pairs ?? []) next.receivePair(word);
  for (const model of ['a', 'b', 'c', null])
    expect([next.condition(at, model), next.waitMs(at, model)]).toEqual([
      health.condition(at, model),
      Math.max(0, health.waitMs(at, model) - 4000),
    ]);
  expect([next.condition(at, 'a'), next.condition(at, 'b')]).toEqual(['ejected', 'cooling']);
});

test('a file of nonsense is no reason not to start', () => {
  const clock = clockAt(1.7e12, 500);
  const good = JSON.parse(writeHealth(kept(), clock)) as Record<string, unknown>;
  const bad = { channelId: 1, coolUntil: ['x'], spentUntil: [], failures: 0, ejections: 0, ejectedUntil: 0, share: 0 };
  const late = [2 ** 32, 1, 1, 1e300, 0, 0];
  for (const text of [
    '',
    '[]',
    'null',
    '{"format":2,"channels":[],"pairs":[]}',
    JSON.stringify({ ...good, pairs: ['1'] }),
  ])
    expect(readHealth(text, clock)).toBeNull();
  expect(readHealth(JSON.stringify({ ...good, channels: [null, bad], pairs: late }), clock)).toEqual({
    channels: [],
    pairs: [],
    served: [],
    kept: [],
  });
});

test('there is something to keep after a change alone', () => {
  const at = channel();
  expect(health.takeChanged()).toBe(false);
  health.succeeded(at, 'a', 0);
  expect(health.takeChanged()).toBe(false);
  health.failed(at, 'a', 0, failure());
  expect([health.takeChanged(), kept().pairs.length]).toEqual([true, 6]);
  expect(health.takeChanged()).toBe(false);
});

test('no piece of what is kept holds many, and what fails between pieces neither ends nor lengthens them', () => {
  const models = Array.from({ length: 100 }, (_, n) => `m${n}`);
  const channels = Array.from({ length: 600 }, (_, n) => channel({ id: n + 1, models }));
  for (const at of channels.slice(0, 50)) for (const model of models) health.failed(at, model, 0, missing);
  for (const at of channels.slice(50)) times(4, () => health.failed(at, 'm0', 0, refused));
  const pieces = [];
  for (const piece of health.remembered()) {
    pieces.push(piece);
    // The first ones become the last ones.
    for (const model of models) health.failed(channels[0] as ChannelSnapshot, model, 0, missing);
  }
  expect(Math.max(...pieces.map(({ pairs }) => pairs.length))).toBe(6 * 1000);
  expect(Math.max(...pieces.map(({ channels: of }) => of.length))).toBe(250);
  const { pairs, channels: of } = joinedHealth(pieces);
  const ids = new Set(Array.from({ length: pairs.length / 6 }, (_, n) => pairs[6 * n]));
  expect([ids.size, of.length]).toEqual([5000, 550]);
});

test('a file holds the pieces of one report, whole', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-health-'));
  try {
    const clock = clockAt(1.7e12, 0);
    const file = createHealthFile(join(dir, 'health'), clock);
    const piece = (id: number, isFirst: boolean, isLast: boolean, thread?: number) =>
      file.keep({ channels: [], pairs: new Float64Array([2 ** 32 * id, 1, 0, 0, 0, 0]), isFirst, isLast }, thread);
    piece(1, true, false);
    await file.done();
    expect(keptHealth(join(dir, 'health'), clock)).toBeNull();
    // The thread was replaced.
    piece(2, true, false);
    piece(3, false, true);
    await file.done();
    const kept = () => keptHealth(join(dir, 'health'), clock)?.pairs.map(({ id }) => id / 2 ** 32);
    expect(kept()).toEqual([2, 3]);
    // Two threads that stop at the same time.
    piece(4, true, false, 1);
    piece(5, true, false, 2);
    piece(6, false, true, 1);
    await file.done();
    expect(kept()).toEqual([4, 6]);
    piece(7, false, true, 2);
    await file.done();
    expect(kept()).toEqual([5, 7]);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

const ruled = (rule: unknown) => channel({ setting: { off_after: rule } });
const rule = { errors: 3, minutes: 10, half_open_minutes: 2 };

test('a rule of the channel counts errors by time, whatever is answered between, and says when a model is tried again', () => {
  const at = ruled(rule);
  health.failed(at, 'a', 0, failure());
  times(50, () => health.succeeded(at, 'a', 0));
  health.failed(at, 'a', 0, failure());
  // The first is longer ago than the rule counts.
  now += 10 * 60_000 + 1;
  times(2, () => {
    health.failed(at, 'a', 0, failure());
    health.succeeded(at, 'a', 0);
  });
  expect(health.condition(at, 'a')).toBe('up');
  health.failed(at, 'a', 0, failure());
  expect([health.condition(at, 'a'), health.waitMs(at, 'a'), health.condition(at, 'b')]).toEqual([
    'ejected',
    120_000,
    'up',
  ]);
  now += 120_000;
  // Half open: one request at a time, and its failure closes it for as long again.
  health.begin(at, 'a', 0);
  expect(health.condition(at, 'a')).toBe('ejected');
  health.failed(at, 'a', 0, failure());
  expect(health.waitMs(at, 'a')).toBe(120_000);
  now += 120_000;
  health.begin(at, 'a', 0);
  health.succeeded(at, 'a', 0);
  times(2, () => health.failed(at, 'a', 0, failure()));
  expect(health.condition(at, 'a')).toBe('up');
});

test.each([
  ['no object', 5],
  ['no errors', { minutes: 10, half_open_minutes: 2 }],
  ['no time', { errors: 3, half_open_minutes: 2 }],
  ['no end', { errors: 3, minutes: 10 }],
  ['nought', { ...rule, errors: 0 }],
])('a rule with %s is none', (_name, wrong) => {
  const at = ruled(wrong);
  times(4, () => health.failed(at, 'a', 0, failure()));
  expect(health.condition(at, 'a')).toBe('up');
  health.failed(at, 'a', 0, failure());
  expect(health.waitMs(at, 'a')).toBe(30_000);
});
