import { beforeEach, expect, test, vi } from 'vitest';
import type { ChannelFailure } from '../../server/contract/channel-failure.ts';
import type { ChannelSnapshot } from '../../server/contract/snapshot.ts';
import { createAffinity } from '../../server/relay/routing/affinity.ts';
import { Health } from '../../server/relay/routing/health.ts';
import { createHealthReports, type HealthReport, type PairReport } from '../../server/relay/routing/health-report.ts';
import type { UpstreamFailure } from '../../server/relay/shared/failure.ts';
import { candidatesOf, mapModel } from '../../server/routing/candidates.ts';

const channel = (id: number, more: Partial<ChannelSnapshot> = {}): ChannelSnapshot => ({
  id,
  name: `c${id}`,
  type: 1,
  keys: ['k0'],
  baseUrl: '',
  organization: '',
  other: '',
  models: ['m'],
  groups: ['default'],
  priority: 0,
  weight: 0,
  status: 1,
  autoBan: true,
  tag: '',
  testModel: '',
  modelMapping: {},
  statusCodeMapping: {},
  paramOverride: {},
  setting: {},
  ...more,
});
const failure = (more: Partial<UpstreamFailure>): UpstreamFailure => ({
  class: 'host',
  status: 500,
  error: null,
  retryAfter: null,
  reason: 'status',
  ...more,
});

let now: number;
let failures: ChannelFailure[];
let health: Health;
beforeEach(() => {
  now = 1_000_000;
  failures = [];
  health = new Health({ now: () => now, random: () => 0, failure: (trouble) => failures.push(trouble) });
});

test('five failures of a host in a row eject it, one probe tries it again', () => {
  const a = channel(1);
  for (let n = 0; n < 4; n++) health.failed(a, 'm', 0, failure({}));
  expect(health.condition(a, 'm')).toBe('up');
  health.failed(a, 'm', 0, failure({}));
  expect(health.condition(a, 'm')).toBe('ejected');
  expect(health.waitMs(a, 'm')).toBe(30_000);
  now += 30_001;
  expect(health.condition(a, 'm')).toBe('up');
  health.begin(a, 'm', 0);
  expect(health.condition(a, 'm')).toBe('ejected');
  health.failed(a, 'm', 0, failure({}));
  expect(health.waitMs(a, 'm')).toBe(60_000);
  now += 60_001;
  health.begin(a, 'm', 0);
  health.succeeded(a, 'm', 0);
  expect(health.condition(a, 'm')).toBe('up');
  expect(health.waitMs(a, 'm')).toBe(0);
});

test('a success between failures resets the count, a client mistake does not count', () => {
  const a = channel(1);
  for (let n = 0; n < 20; n++) {
    for (let m = 0; m < 4; m++) health.failed(a, 'm', 0, failure({}));
    for (let m = 0; m < 12; m++) health.succeeded(a, 'm', 0);
    health.failed(a, 'm', 0, failure({ class: 'client', status: 400 }));
  }
  expect(health.condition(a, 'm')).toBe('up');
});

test('after a success five failures eject a host again, no more and no fewer', () => {
  const a = channel(1);
  health.failed(a, 'm', 0, failure({}));
  for (let n = 0; n < 60; n++) health.succeeded(a, 'm', 0);
  for (let n = 0; n < 4; n++) health.failed(a, 'm', 0, failure({}));
  expect(health.condition(a, 'm')).toBe('up');
  health.failed(a, 'm', 0, failure({}));
  expect(health.condition(a, 'm')).toBe('ejected');
});

test('a host that keeps failing its probes is reported once', () => {
  const a = channel(1);
  for (let n = 0; n < 5; n++) health.failed(a, 'm', 0, failure({}));
  for (let n = 0; n < 8; n++) {
    now += 600_000;
    health.begin(a, 'm', 0);
    health.failed(a, 'm', 0, failure({}));
  }
  expect(failures.map(({ kind }) => kind)).toEqual(['host']);
});

test.each([
  ['Retry-After', { retryAfter: 7 }, 7000],
  ['none', {}, 10_000],
  ['an absurd one', { retryAfter: 1e9 }, 3_600_000],
])('429 with %s cools the key down and is no trouble', (_name, more, wait) => {
  const a = channel(1);
  health.failed(a, 'm', 0, failure({ class: 'key', status: 429, ...more }));
  expect(health.condition(a, 'm')).toBe('cooling');
  expect(health.waitMs(a, 'm')).toBe(wait);
  expect(failures).toEqual([]);
});

test('drawn keys have each its share', () => {
  const a = channel(1, { keys: ['k0', 'k1', 'k2', 'k3'], setting: { key_mode: 'random' } });
  let drawn = 0;
  const drawing = new Health({ now: () => now, random: () => drawn, failure: () => undefined });
  const keyAt = (chance: number) => {
    drawn = chance;
    return drawing.pickKey(a, 'm').key;
  };
  expect([0, 0.24, 0.25, 0.5, 0.99].map(keyAt)).toEqual(['k0', 'k0', 'k1', 'k2', 'k3']);
});

test('keys take turns, those that cool down are left out, the channel waits only when all do', () => {
  const a = channel(1, { keys: ['k0', 'k1', 'k2'] });
  expect([1, 2, 3, 4].map(() => health.pickKey(a, 'm').key)).toEqual(['k0', 'k1', 'k2', 'k0']);
  health.failed(a, 'm', 1, failure({ class: 'key', status: 401 }));
  expect(failures).toMatchObject([{ keyIndex: 1, lastKey: false, status: 401 }]);
  expect(new Set([1, 2, 3, 4].map(() => health.pickKey(a, 'm').index))).toEqual(new Set([0, 2]));
  expect(health.hasSpareKey(a, 'm')).toBe(true);
  expect(health.condition(a, 'm')).toBe('up');
  health.failed(a, 'm', 0, failure({ class: 'key', status: 429, retryAfter: 5 }));
  health.failed(a, 'm', 2, failure({ class: 'key', status: 401 }));
  expect(failures.at(-1)).toMatchObject({ keyIndex: 2, lastKey: true });
  expect(health.condition(a, 'm')).toBe('cooling');
  expect(health.hasSpareKey(a, 'm')).toBe(false);
  // The one that is ready first.
  expect(health.pickKey(a, 'm').index).toBe(0);
  health.reset(1);
  expect(health.condition(a, 'm')).toBe('up');
});

function choose(route: readonly (readonly ChannelSnapshot[])[], random = () => 0.5, preferred: number | null = null) {
  const candidates = candidatesOf(route, 'm', random, health, preferred);
  return Array.from({ length: candidates.length }, (_, at) => candidates.at(at)?.id);
}

test('channels in trouble come last, the one that is ready first before the others', () => {
  const [a, b, c] = [channel(1, { priority: 5 }), channel(2, { priority: 5 }), channel(3)];
  health.failed(a, 'm', 0, failure({ class: 'key', status: 429, retryAfter: 60 }));
  expect(choose([[a, b], [c]])).toEqual([2, 3, 1]);
  health.failed(b, 'm', 0, failure({ class: 'key', status: 429, retryAfter: 5 }));
  expect(choose([[a, b], [c]])).toEqual([3, 2, 1]);
});

test('a conversation stays with its channel within the first sound tier', () => {
  const tier = [channel(1), channel(2), channel(3)];
  expect(choose([tier, [channel(4)]], () => 0, 3)).toEqual([3, 1, 2, 4]);
  expect(choose([tier, [channel(4)]], () => 0, 4)[0]).toBe(1);
});

test('inside a tier the chance follows weight + 10', () => {
  const tier = [channel(1, { weight: 0 }), channel(2, { weight: 30 })];
  const seen = Array.from({ length: 1000 }, (_, n) => choose([tier], () => (n + 0.5) / 1000)[0]);
  expect(seen.filter((id) => id === 1)).toHaveLength(200);
});

test.each([
  [{ a: 'b', b: 'c' }, 'c'],
  [{ a: 'a' }, 'a'],
  [{ a: 'b', b: 'a' }, 'b'],
  [{}, 'a'],
  [{ a: '' }, 'a'],
])('the mapping %j leads to %s', (mapping, end) => {
  expect(mapModel(mapping as Record<string, string>, 'a')).toBe(end);
});

test('what one thread learns of channels and conversations reaches the others in one report', () => {
  const reported: HealthReport[] = [];
  let due = (): void => undefined;
  const reports = createHealthReports(
    (report) => void reported.push(structuredClone(report)),
    (_ms, done) => {
      due = done;
    },
  );
  const one = new Health({
    now: () => now,
    random: () => 0,
    failure: () => undefined,
    changed: reports.channel,
    pairChanged: reports.pair,
  });
  const remembering = createAffinity(() => now, reports);
  const a = channel(1);
  for (let n = 0; n < 5; n++) one.failed(a, 'm', 0, failure({}));
  for (let n = 0; n < 3; n++) remembering.store('talk', 7);
  remembering.storeItem('resp_1', { channelId: 7, ownerId: 2 });
  due();
  expect(reported).toHaveLength(1);
  const there = createAffinity(() => now);
  for (const report of reported) {
    for (const word of report.channels) health.receive(word);
    for (const word of report.pairs) health.receivePair(word);
    there.receive(report);
  }
  expect([health.condition(a, 'm'), health.waitMs(a, 'm')]).toEqual(['ejected', 30_000]);
  expect([there.find('talk')?.channelId, there.kept('resp_1')]).toMatchObject([7, { channelId: 7, ownerId: 2 }]);
  // A fact is not reported again before others may have forgotten it.
  due = () => undefined;
  remembering.store('talk', 7);
  due();
  expect(reported).toHaveLength(1);
  now += 30_001;
  one.begin(a, 'm', 0);
  one.succeeded(a, 'm', 0);
  one.succeeded(a, 'm', 0);
  due();
  for (const word of reported[1]?.pairs ?? []) health.receivePair(word);
  expect([reported.length, health.condition(a, 'm'), health.waitMs(a, 'm')]).toEqual([2, 'up', 0]);
});

test('failures that an answer ended on one thread count no longer on another', () => {
  const report = vi.fn((word: PairReport) => health.receivePair(word));
  const one = new Health({ now: () => now, random: () => 0, failure: () => undefined, pairChanged: report });
  const a = channel(1);
  for (let n = 0; n < 4; n++) one.failed(a, 'm', 0, failure({}));
  one.succeeded(a, 'm', 0);
  expect(report).toHaveBeenCalledTimes(5);
  health.failed(a, 'm', 0, failure({}));
  expect(health.condition(a, 'm')).toBe('up');
});

test.each([
  [429, 0.001, 1000],
  [429, 0, 1000],
  [401, 0, 1000],
  [429, 2.5, 2500],
  [429, null, 10_000],
  [401, null, 60_000],
])('a key refused with %i that is to wait %o seconds waits %i ms', (status, retryAfter, waitMs) => {
  const a = channel(1);
  health.failed(a, 'm', 0, failure({ class: 'key', status, retryAfter }));
  expect(health.waitMs(a, 'm')).toBe(waitMs);
  expect(health.condition(a, 'm')).toBe('cooling');
});
