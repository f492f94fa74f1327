import { expect, test } from 'vitest';
import { parseRival, parseRivals } from '../../cli/bench/comparison.ts';
import type { Extras } from '../../cli/bench/extras.ts';
import type { FloorKind } from '../../cli/bench/floor.ts';
import { goalsOf, timesFloor, verdictOf } from '../../cli/bench/goal.ts';
import { busyIn, cpuIn, memoryIn, usedByThreads, writtenIn } from '../../cli/bench/machine.ts';
import { measureAll, warm } from '../../cli/bench/measure.ts';
import { reportLines } from '../../cli/bench/report.ts';
import { median, type Sample, type SampleStats, share, statsOf, type Table } from '../../cli/bench/stats.ts';
import { type Shape, type Subject, shapes, subjectNames, subjectsOf } from '../../cli/bench/targets.ts';
import { orderOf } from '../../cli/commands/bench/bench.ts';

const { direct, floor, durableFloor, socketFloor, gateway, before } = subjectNames;

test.each([
  ['x=http://127.0.0.1:8080/v1,sk-1,gpt-4o,42', [8080, '/v1/chat/completions', 'sk-1', 'gpt-4o', 42]],
  ['x=http://localhost:8080/v1/,sk-1', [8080, '/v1/chat/completions', 'sk-1', '', null]],
  ['x=http://127.0.0.1', [80, '/chat/completions', '-', '', null]],
  ['two words=http://127.0.0.2:1/a/b,,m', [1, '/a/b/chat/completions', '-', 'm', null]],
])('%s is another gateway', (text, expected) => {
  const { port, path, key, model, pid } = parseRival(text);
  expect([port, path, key, model, pid]).toEqual(expected);
});

test.each([
  'x',
  '=http://127.0.0.1/v1',
  'x=nowhere',
  'x=https://127.0.0.1/v1',
  'x=http://example.com/v1',
  'x=http://10.0.0.1/v1',
  'x=http://127.0.0.1/v1,k,m,pid',
  'x=http://127.0.0.1/v1,k,m,0',
  'x=http://127.0.0.1/v1,k,m,1,more',
  'x=http://127.0.0.1/v1,k\r\nhost: y',
])('%s is none: load goes to this machine alone', (text) => {
  expect(() => parseRival(text)).toThrow(expect.objectContaining({ code: 'usage' }));
});

test('headers go to the one they name; names are used once', () => {
  const two = ['a=http://127.0.0.1:1/v1', 'b=http://127.0.0.1:2/v1'];
  const [a, b] = parseRivals(two, ['a=x-one: 1', 'a=x-two: 2'], []);
  expect([a?.headers, b?.headers]).toEqual(['x-one: 1\r\nx-two: 2\r\n', '']);
  for (const headers of [['c=x: 1'], ['a=x'], ['a=x: 1\r\ny: 2']])
    expect(() => parseRivals(two, headers, [])).toThrow(expect.objectContaining({ code: 'usage' }));
  expect(() => parseRivals([...two, 'a=http://127.0.0.1:3/v1'], [], [])).toThrow();
  expect(() => parseRivals(two, [], ['b'])).toThrow();
});

test.each([
  [[], 0],
  [[3], 3],
  [[9, 1, 2], 2],
  [[4, 1, 3, 2], 2.5],
])('the median of %j is %d', (values, expected) => expect(median(values)).toBe(expected));

const sample = (more: Partial<Sample>): Sample => ({
  rps: 100,
  p50: 1,
  p99: 2,
  cpu: 10,
  threads: null,
  written: null,
  requests: 50,
  failed: 0,
  noise: 0,
  ...more,
});

test('disturbed rounds are left out while there are better ones, failures are counted everywhere', () => {
  const samples = [sample({ cpu: 10 }), sample({ cpu: 500, noise: 0.4, failed: 2 }), sample({ cpu: 12 })];
  const stats = statsOf(samples, [sample({ p50: 0.25, p99: 0.5 })]);
  expect(stats).toMatchObject({ cpuMicros: 11, addedP50: 0.75, addedP99: 1.5, requests: 150, failed: 2, noise: 0 });
  expect(statsOf([sample({ cpu: 500, noise: 0.4 })], []).cpuMicros).toBe(500);
  expect(statsOf([sample({ cpu: null })], []).cpuMicros).toBeNull();
});

test.each([
  [280, 100, 2.8],
  [280, 0, null],
  [null, 100, null],
  [280, undefined, null],
])('%s of %s is %s', (one, other, expected) => expect(share(one, other)).toBe(expected));

test('the kernel reports CPU in hundredths of a second, names of processes may hold anything', () => {
  const fields = ['S', ...Array(10).fill('0'), '150', '50', '0', '0'].join(' ');
  expect(cpuIn(`4711 (odd) name)) ${fields}`)).toBe(2_000_000);
  expect(cpuIn('')).toBeNull();
  const stat = 'cpu  9 9 9 9\ncpu0 100 20 30 5000 7 1 2 3 0 0\ncpu10 1 1 1 1 1 1 1 1\n';
  expect(busyIn(stat, 0)).toBe(1_560_000);
  expect(busyIn(stat, 1)).toBeNull();
});

test('a process has memory of its own and pages of files, and writes to files and to disks', () => {
  const status =
    'Name:\tgateway\nVmHWM:\t  300000 kB\nVmRSS:\t  112640 kB\nRssAnon:\t   49152 kB\nRssFile:\t   63488 kB\nThreads:\t23\n';
  expect(memoryIn(status)).toEqual({ residentMb: 110, anonymousMb: 48, threads: 23 });
  for (const part of ['VmRSS: 5 kB', 'RssAnon: 5 kB', 'Threads: 5'])
    expect(memoryIn(status.replace(new RegExp(`${part.split(':')[0]}:.*\n`), '')), part).toBeNull();
  const io = 'rchar: 9\nwchar: 7000\nsyscr: 1\nsyscw: 1\nread_bytes: 3\nwrite_bytes: 4096\ncancelled_write_bytes: 0\n';
  expect(writtenIn(io)).toEqual({ calls: 7000, disk: 4096 });
  expect(writtenIn('wchar: 1\n')).toBeNull();
  expect(writtenIn('write_bytes: 1\n')).toBeNull();
});

test('bytes written per request are the median, and unknown without a sample', () => {
  const at = (calls: number) => sample({ written: { calls, disk: 2 * calls } });
  expect(statsOf([at(3), at(9), at(4), sample({})], []).written).toEqual({ calls: 4, disk: 8 });
  expect(statsOf([sample({})], []).written).toBeNull();
});

test('CPU by thread is that between two readings, of one name added up; small shares are one', () => {
  const at = (...rows: [number, string, number][]) => new Map(rows.map(([id, name, micros]) => [id, { name, micros }]));
  const before = at([1, 'main', 100], [2, 'Worker', 10], [3, 'gone', 5]);
  const after = at([1, 'main', 150], [2, 'Worker', 20], [4, 'Worker', 7], [5, 'small', 1]);
  expect(usedByThreads(before, after)).toEqual({ main: 50, Worker: 17, small: 1 });
  expect(usedByThreads(null, after)).toBeNull();
  const taken: readonly Record<string, number>[] = [
    { Worker: 30, main: 60, small: 1, tiny: 1 },
    { Worker: 20, main: 80, small: 1 },
    { Worker: 25, main: 70, small: 1, tiny: 1 },
  ];
  const samples = taken.map((threads) => sample({ threads }));
  const { threadMicros } = statsOf([...samples, sample({})], []);
  expect(Object.entries(threadMicros)).toEqual([
    ['main', 70],
    ['Worker', 25],
    ['other', 2],
  ]);
  expect(statsOf([sample({})], []).threadMicros).toEqual({});
});

const subject = (name: string): Subject => ({
  name,
  pid: 1,
  token: '-',
  path: '/',
  headers: '',
  port: () => 1,
  model: (upstream) => (name === 'rival' && upstream !== 'fast' ? null : 'm'),
});
const [one] = shapes;

test('a subject is warm when a span costs hardly less than the one before, or after the longest time', async () => {
  const spans = async (costs: readonly number[], maxLength: number): Promise<number> => {
    let requested = 0;
    const measure = async () => sample({ cpu: costs[Math.min(requested++, costs.length - 1)] ?? 0 });
    await warm({ measure, now: () => requested * 1000, onProgress: () => undefined }, subject('s'), one, maxLength);
    return requested;
  };
  expect(await spans([242, 200, 169, 165], 10)).toBe(4);
  expect(await spans([100, 100], 10)).toBe(2);
  expect(await spans([1000, 800, 600, 400, 200, 100, 50], 4)).toBe(4);
});

test('everybody gets the same rounds, disturbed samples are taken once more, a rival where its model leads', async () => {
  const calls: string[] = [];
  let at = 0;
  const measure = async ({ name }: Subject, shape: Shape) => {
    calls.push(`${name} ${shape.name}`);
    at += 1;
    return sample({ noise: name === 'noisy' ? 0.5 : 0 });
  };
  const plan = { rounds: 2, seconds: 1, warmSeconds: 0, shapes: [shapes[0], shapes[5]] };
  const subjects = [subject('direct'), subject('noisy'), subject('rival')] as const;
  const table = await measureAll({ measure, now: () => at, onProgress: () => undefined }, plan, subjects);
  expect(calls.slice(0, 5)).toEqual([
    'direct c=1',
    'noisy c=1',
    'rival c=1',
    'direct 64 chunks, 1 ms apart',
    'noisy 64 chunks, 1 ms apart',
  ]);
  expect(calls.filter((call) => call === 'noisy c=1')).toHaveLength(6);
  expect(calls.filter((call) => call === 'rival c=1')).toHaveLength(2);
  expect(Object.keys(table['64 chunks, 1 ms apart'] ?? {})).toEqual(['direct', 'noisy']);
});

const row = (cpuMicros: number | null, more: Partial<SampleStats> = {}): SampleStats => ({
  rps: 1,
  cpuMicros,
  threadMicros: {},
  p50: 1,
  p99: 1,
  addedP50: 0,
  addedP99: 0,
  written: null,
  requests: 1,
  failed: 0,
  noise: 0,
  ...more,
});
const extras: Extras = {
  idle: { residentMb: 99, anonymousMb: 43, threads: 21 },
  loaded: { residentMb: 151, anonymousMb: 90, threads: 24 },
  streams: { count: 2000, stuck: 0, kbEach: 48, p99: 5000 },
  times: { version: 1, tokenList: 1, fresh: { relayMs: 101, apiMs: 200 }, used: { relayMs: 100, apiMs: 201 } },
};
const table: Table = {
  'c=1': {
    [durableFloor]: row(50),
    [gateway]: row(60, { addedP99: 3.1, written: { calls: 3072, disk: 0 } }),
    [before]: row(100),
  },
  'c=16': { [floor]: row(100), [gateway]: row(360, { addedP50: 1.2 }) },
  'c=64': {
    [direct]: row(null),
    [floor]: row(100),
    [socketFloor]: row(70),
    [gateway]: row(281, { threadMicros: { main: 150, Worker: 100, other: 31 } }),
  },
  '64 chunks at once': {
    [floor]: row(15),
    [gateway]: row(70),
    [before]: row(100),
  },
  '64 chunks, 1 ms apart': { [gateway]: row(81), [before]: row(100) },
};

test('the goals and what became of them', () => {
  const verdicts = Object.fromEntries(goalsOf(table, extras, true).map((goal) => [goal.name, verdictOf(goal)]));
  expect(verdicts).toEqual({
    'CPU, c=1 / floor: durable': 'missed',
    'CPU, c=16 / floor: fetch': 'missed',
    'CPU, c=64 / floor: fetch': 'missed',
    'CPU, 64 chunks at once / floor: fetch': 'missed',
    'CPU, 64 chunks, 1 ms apart / floor: fetch': 'unknown',
    'written per request at c=1': 'reached',
    'added p50 at c=16': 'reached',
    'added p99 at c=1': 'missed',
    'CPU against the build before, c=1': 'reached',
    'CPU against the build before, 64 chunks at once': 'reached',
    'CPU against the build before, 64 chunks, 1 ms apart': 'missed',
    'resident memory, idle': 'reached',
    'of it the process has for itself (RssAnon)': 'missed',
    'resident memory after the load': 'missed',
    'memory per open stream, 2000 open': 'reached',
    'stuck streams': 'reached',
    'relay ready, fresh data directory': 'missed',
    'API ready, fresh data directory': 'reached',
    'relay ready, used data directory': 'reached',
    'API ready, used data directory': 'missed',
  });
  expect(timesFloor(table)).toBeCloseTo(2.81, 3);
});

test('a goal is unknown where the machine reports nothing, and unmeasured goals have none', () => {
  const dark = { 'c=64': { [floor]: row(null), [gateway]: row(null) } };
  const silent = { ...extras, idle: null };
  expect(goalsOf(dark, null, true).map(verdictOf)).toEqual(['unknown']);
  expect(goalsOf({}, silent, false).map(verdictOf)).toEqual([
    ...['unknown', 'unknown', 'missed', 'reached', 'reached', 'missed', 'reached', 'reached', 'missed'],
  ]);
});

test.each([
  ['en', 'times the floor', 'no /proc here', 'run again on a quiet machine'],
  ['zh', '裸转发的几倍', '没有 /proc', '请在空闲的机器上再测一次'],
])('the report for people in %s', (language, ...words) => {
  const bench = {
    compiled: true,
    rounds: 1,
    seconds: 1,
    before: true,
    machine: { canPin: false, canRead: false },
    table: { ...table, 'c=16': { [gateway]: row(360, { noise: 0.5 }) } },
    timesFloor: null,
    extras,
    verified: true,
    goals: goalsOf(table, extras, true),
  };
  const text = reportLines(bench, (zh, en) => (language === 'zh' ? zh : en)).join('\n');
  for (const word of words) expect(text).toContain(word);
  expect(text).toMatch(/CPU, c=64 \/ floor: fetch +2\.81 +at most 2\.8 +MISSED by 0 %/);
  expect(text).toMatch(/c=64 +2\.81 +4\.01 +\?\n/);
  expect(text).toContain('main 150, Worker 100, other 31');
  expect(text).toMatch(/64 chunks at once +70 %/);
  expect(text).toMatch(/RSS 99 MB, RssAnon 43 MB, 21 (threads|个线程)/);
  expect(text).toMatch(/RSS 151 MB, RssAnon 90 MB, 24 (threads|个线程)/);
});

test('a rival has its own way; its CPU may be unknown', () => {
  const ports = { fast: 1, paced: 2, slow: 3, translated: 1 };
  const upstreams = { ports, pids: ports };
  const rivals = [parseRival('x=http://127.0.0.1:9/v1,k,m'), parseRival('y=http://127.0.0.1:9/v1,k')];
  const floorOf = (kind: FloorKind, pid: number) => ({ kind, child: { pid } as Bun.Subprocess, ports });
  const measured = { upstreams, floors: [floorOf('fetch', 7), floorOf('sockets', 8)], running: [], rivals };
  const [first, bare, sockets, x, y] = subjectsOf(measured);
  expect([first.pid, bare?.pid, sockets?.pid, x?.pid]).toEqual(['none', 7, 8, 'unknown']);
  expect([bare?.name, sockets?.name]).toEqual([floor, socketFloor]);
  expect([x?.model('fast'), x?.model('paced'), x?.model('translated')]).toEqual(['m', null, null]);
  expect([y?.model('fast'), y?.model('paced'), y?.model('translated')]).toEqual([
    'practice-small',
    'practice-large',
    null,
  ]);
});

test('what is asked on the command line', () => {
  expect(orderOf({})).toMatchObject({ rounds: 3, seconds: 1.5, warmSeconds: 10, streams: 2000, extras: true });
  expect(orderOf({ quick: true, rounds: '2' })).toMatchObject({ rounds: 2, seconds: 0.8, streams: 200 });
  expect(orderOf({ shapes: 'c=1,64 chunks at once', extras: false }).shapes.map(({ name }) => name)).toEqual([
    'c=1',
    '64 chunks at once',
  ]);
  for (const flags of [{ rounds: '0' }, { rounds: '1.5' }, { seconds: 'x' }, { shapes: 'c=2' }, { upstreamPort: '-1' }])
    expect(() => orderOf(flags)).toThrow(expect.objectContaining({ code: 'usage' }));
  expect(() => orderOf({ before: '/no/such/build' })).toThrow(expect.objectContaining({ code: 'not_found' }));
});
