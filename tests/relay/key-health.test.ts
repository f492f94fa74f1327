/** What is known of single keys: the rule that takes them out of use, and what is told of them to people, threads and the next start. */
import { beforeEach, expect, test } from 'vitest';
import type { ChannelSnapshot } from '../../server/contract/snapshot.ts';
import { Health } from '../../server/relay/routing/health.ts';
import { createHealthReports, type HealthReport, type KeyReport } from '../../server/relay/routing/health-report.ts';
import { KeyLog, outlasting } from '../../server/relay/routing/key-log.ts';
import type { UpstreamFailure } from '../../server/relay/shared/failure.ts';
import { createHealthBroadcast } from '../../server/threads/control/health-broadcast.ts';
import { readHealth, writeHealth } from '../../server/threads/control/health-file.ts';

const channel = (setting: Record<string, unknown> = {}): ChannelSnapshot => ({
  ...{
    id: 7,
    name: 'c',
    type: 1,
    keys: ['k0', 'k1'],
    keyNames: ['n0', 'n1'],
    baseUrl: '',
    organization: '',
    other: '',
  },
  ...{ models: ['m'], groups: ['default'], priority: 0, weight: 0, status: 1, autoBan: true, tag: '', testModel: '' },
  ...{ modelMapping: {}, statusCodeMapping: {}, paramOverride: {}, setting },
});
const refused = (more: Partial<UpstreamFailure> = {}): UpstreamFailure => ({
  class: 'key',
  status: 401,
  error: { status: 401, type: 't', code: 'c', message: 'wrong key' },
  retryAfter: null,
  reason: 'status',
  ...more,
});
const minute = 60_000;

let now: number;
let health: Health;
let log: KeyLog;
let reported: KeyReport[];
beforeEach(() => {
  now = 1_000_000;
  reported = [];
  log = new KeyLog(
    () => now,
    (word) => reported.push(word),
  );
  health = new Health({ now: () => now, random: () => 0, failure: () => undefined, keys: log });
});
const waits = (at: ChannelSnapshot) => health.keyWaits(at).map(({ waitMs }) => waitMs);
const fail = (at: ChannelSnapshot, more: Partial<UpstreamFailure> = {}) => {
  health.begin(at, 'm', 0);
  health.failed(at, 'm', 0, refused(more));
};
const rule = { off_after: { errors: 3, minutes: 3, half_open_minutes: 20 } };

test('a rule of the channel leaves a key out after so many errors within its time, and tries it once when that is over', () => {
  const at = channel(rule);
  fail(at);
  // Rests so long that three fit within three minutes.
  expect(waits(at)).toEqual([minute, 0]);
  now += minute;
  fail(at);
  expect(waits(at)).toEqual([minute, 0]);
  now += minute;
  fail(at);
  expect(waits(at)).toEqual([20 * minute, 0]);
  now += 20 * minute;
  expect(health.pickKey(at, 'm', 0).index).toBe(0);
  // Half open: one request at a time.
  health.begin(at, 'm', 0);
  expect(health.pickKey(at, 'm', 0).index).toBe(1);
  health.failed(at, 'm', 0, refused());
  expect(waits(at)).toEqual([20 * minute, 0]);
  now += 20 * minute;
  health.begin(at, 'm', 0);
  health.succeeded(at, 'm', 0);
  expect(waits(at)).toEqual([0, 0]);
  // It is counted anew.
  fail(at);
  expect(waits(at)).toEqual([minute, 0]);
});

test('errors of a key that are longer ago than the rule counts are none, and answers between them change nothing', () => {
  const at = channel(rule);
  fail(at);
  now += 3 * minute + 1;
  fail(at);
  now += minute;
  health.succeeded(at, 'm', 0);
  fail(at);
  expect(waits(at)).toEqual([minute, 0]);
  fail(at);
  expect(waits(at)).toEqual([20 * minute, 0]);
});

test('what was under way when a key went out makes its time no longer, and what its upstream asks for may', () => {
  const at = channel(rule);
  for (let n = 0; n < 3; n++) fail(at);
  now += 5 * minute;
  health.failed(at, 'm', 0, refused());
  expect(waits(at)).toEqual([15 * minute, 0]);
  health.failed(at, 'm', 0, refused({ retryAfter: 30 * 60 }));
  expect(waits(at)).toEqual([30 * minute, 0]);
});

test('a key without a rule is tried again after a minute, however often it failed', () => {
  const at = channel();
  for (let n = 0; n < 20; n++) fail(at);
  expect(waits(at)).toEqual([minute, 0]);
});

test('a key that is preferred is taken again when its rest is over, whose turn it may be', () => {
  const at = channel();
  health.failed(at, 'm', 1, refused());
  expect(health.pickKey(at, 'm', 1).index).toBe(0);
  now += minute;
  expect(health.pickKey(at, 'm', 1).index).toBe(1);
  expect(health.pickKey(at, 'm', 1).index).toBe(1);
});

test('a limit for one model is no error of the key', () => {
  const at = channel(rule);
  for (let n = 0; n < 9; n++) fail(at, { status: 429, retryAfter: 1 });
  expect(waits(at)).toEqual([0, 0]);
  expect(health.keyWaits(at)[0]?.models).toEqual([{ model: 'm', waitMs: 1000 }]);
});

test('another thread counts on where this one stands', () => {
  const at = channel(rule);
  const words: Parameters<Health['receive']>[0][] = [];
  const one = new Health({
    now: () => now,
    random: () => 0,
    failure: () => undefined,
    changed: (word) => words.push(word),
  });
  one.failed(at, 'm', 0, refused());
  one.failed(at, 'm', 0, refused());
  for (const word of words) health.receive(word);
  health.failed(at, 'm', 0, refused());
  expect(waits(at)).toEqual([20 * minute, 0]);
});

test('what an upstream said of a key is kept until it takes it, and its last use from time to time', () => {
  const at = channel();
  health.succeeded(at, 'm', 1);
  expect(log.of(7, 'n1')).toEqual({ usedAt: now, errorAt: 0, error: '', isRefused: false });
  now += 1000;
  health.succeeded(at, 'm', 1);
  expect(reported.map(({ usedAt }) => usedAt)).toEqual([now - 1000]);
  now += minute;
  health.succeeded(at, 'm', 1);
  expect(reported).toHaveLength(2);
  fail(at);
  const error = 'HTTP 401 · c · wrong key';
  expect(log.of(7, 'n0')).toEqual({ usedAt: now, errorAt: now, error, isRefused: true });
  expect(reported.at(-1)).toMatchObject({ name: 'n0', isRefused: true, error });
  health.succeeded(at, 'm', 0);
  expect(reported.at(-1)).toMatchObject({ name: 'n0', isRefused: false, error });
  fail(at, { status: 429, error: null });
  expect(log.of(7, 'n0')).toMatchObject({ error: 'HTTP 429 · status', isRefused: false });
  // A host that fails says nothing of the key but that it was used.
  now += 1000;
  health.failed(at, 'm', 1, refused({ class: 'host', status: 500 }));
  expect(log.of(7, 'n1')).toEqual({ usedAt: now, errorAt: 0, error: '', isRefused: false });
});

test('a channel with one key writes nothing down', () => {
  const { keyNames: _, ...at } = { ...channel(), keys: ['k0'] };
  health.succeeded(at, 'm', 0);
  health.failed(at, 'm', 0, refused());
  expect([reported, log.namesOf(7)]).toEqual([[], []]);
});

test('keys of the channel that was met first leave when there are very many', () => {
  const names = Array.from({ length: 20_000 }, (_, at) => `n${at}`);
  for (let index = 0; index < names.length; index++) log.succeeded({ ...channel(), keyNames: names }, index);
  log.succeeded({ ...channel(), id: 8 }, 0);
  expect([log.namesOf(7).length, log.namesOf(8)]).toEqual([0, ['n0']]);
  // As many as a file keeps, the latest.
  for (let index = 0; index < 3000; index++) {
    now++;
    log.succeeded({ ...channel(), id: 9, keyNames: names }, index);
  }
  const kept = outlasting([...log.remembered()].flat());
  expect([kept.length, kept.some(({ name }) => name === 'n999'), kept[0]?.name]).toEqual([2000, false, 'n2999']);
});

const word: KeyReport = { channelId: 7, name: 'n0', usedAt: 5, errorAt: 4, error: 'no', isRefused: true };

test('other threads and other nodes hear of a key what this one knows; the later word holds', () => {
  const sent: HealthReport[] = [];
  const done: (() => void)[] = [];
  const reports = createHealthReports(
    (report) => sent.push(report),
    (_ms, flush) => done.push(flush),
  );
  reports.key({ ...word, error: 'before' });
  reports.key(word);
  for (const flush of done.splice(0)) flush();
  expect(sent).toEqual([{ channels: [], pairs: [], served: [], kept: [], keys: [word] }]);
  const payloads: string[] = [];
  const node = (from: string) =>
    createHealthBroadcast({
      from,
      notify: async (payload) => void payloads.push(payload),
      monoNow: () => now,
      wait: (_ms, flush) => done.push(flush),
    });
  node('a').broadcast(sent[0] as HealthReport);
  for (const flush of done.splice(0)) flush();
  const heard = payloads.flatMap((payload) => node('b').receive(payload)?.keys ?? []);
  expect(heard).toEqual([word]);
  log.receive(word);
  log.receive({ ...word, usedAt: 3, errorAt: 2, error: 'long ago', isRefused: false });
  expect(log.of(7, 'n0')).toEqual({ usedAt: 5, errorAt: 4, error: 'no', isRefused: true });
});

test('the file for the next start has the words, and what is none of ours is left out', () => {
  const clock = { now: () => 1_700_000_000_000, monoNow: () => now };
  const text = writeHealth({ channels: [], pairs: new Float64Array(), keys: [word] }, clock);
  expect(readHealth(text, clock)?.keys).toEqual([word]);
  for (const wrong of [
    { channelId: 'x' },
    { name: 1 },
    { usedAt: -1 },
    { errorAt: 'x' },
    { error: 1 },
    { isRefused: 1 },
  ])
    expect(
      readHealth(text.replace(JSON.stringify(word), JSON.stringify({ ...word, ...wrong })), clock)?.keys,
    ).toBeUndefined();
  const damaged = JSON.stringify({ ...JSON.parse(text), keys: [{ ...word, error: 1 }, word] });
  expect(readHealth(damaged, clock)?.keys).toEqual([word]);
  expect(log.takeChanged()).toBe(false);
  log.receive(word);
  expect([log.takeChanged(), log.takeChanged()]).toEqual([true, false]);
});
