/**
 * Speed of the executable with every bill durable before the last byte, next to the direct way, the bare relay that is
 * the floor of this runtime, its own lower tiers and another gateway. Flags: --quick (one short round), --rounds N,
 * --seconds S per measurement, --alone (no comparison), --before FILE (an older build, measured in the same rounds).
 * Ends with one line of JSON.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  command,
  gateway,
  isCompiled,
  models,
  type Program,
  type Running,
  type Site,
  serve,
  setUp,
  startComparison,
  startFloor,
  startUpstreams,
  type Tier,
  type Upstreams,
} from './bench/gateway.ts';
import {
  answers,
  coreMicros,
  cores,
  cpuMicros,
  end,
  endAll,
  freePort,
  load,
  residentKb,
  start,
} from './bench/process.ts';
import { type Figures, type Goal, jsonOf, median, printGoals, printTable, type Table } from './bench/report.ts';

const flag = (name: string, fallback: number): number => {
  const at = process.argv.indexOf(name);
  const value = Number(process.argv[at + 1]);
  return at < 0 || !Number.isFinite(value) || value <= 0 ? fallback : value;
};
const textFlag = (name: string): string | null => {
  const at = process.argv.indexOf(name);
  return at < 0 ? null : (process.argv[at + 1] ?? null);
};
const isQuick = process.argv.includes('--quick');
const rounds = flag('--rounds', isQuick ? 1 : 3);
/** The build to compare with; null = none. */
const before = textFlag('--before');
const seconds = flag('--seconds', isQuick ? 0.8 : 1.5);
/** Nothing is measured again after this. */
const budgetMs = isQuick ? 40_000 : 150_000;
/** Samples in which others took more of a core are left out as long as there are better ones. */
const quietShare = 0.1;
const began = performance.now();

interface Subject {
  readonly name: string;
  readonly pid: number | null;
  readonly token: string;
  readonly port: (upstream: Shape['upstream']) => number;
  readonly headers: (upstream: Shape['upstream']) => string;
}

const floorName = 'floor: bare relay';
const durable = 'T3 + durable bill';
const beforeName = 'T3 of the build before';

const shapes = [
  { name: 'c=1', connections: 1, stream: false, upstream: 'fast' },
  { name: 'c=16', connections: 16, stream: false, upstream: 'fast' },
  { name: 'c=64', connections: 64, stream: false, upstream: 'fast' },
  { name: '64 chunks at once', connections: 16, stream: true, upstream: 'fast' },
  { name: '64 chunks, translated', connections: 16, stream: true, upstream: 'told' },
  { name: '64 chunks, 1 ms apart', connections: 64, stream: true, upstream: 'paced' },
] as const;
type Shape = (typeof shapes)[number];

const bodyOf = (model: string, stream: boolean): string =>
  JSON.stringify({ model, ...(stream ? { stream: true } : {}), messages: [{ role: 'user', content: 'hello' }] });

interface Sample {
  readonly rps: number;
  readonly p50: number;
  readonly p99: number;
  readonly cpu: number;
  readonly requests: number;
  readonly failed: number;
  readonly noise: number;
}

async function measure(subject: Subject, shape: Shape, upstream: number): Promise<Sample> {
  const startedAt = performance.now();
  const busyBefore = [coreMicros(cores.measured), coreMicros(cores.around)] as const;
  const before = [subject.pid === null ? 0 : cpuMicros(subject.pid), cpuMicros(upstream)] as const;
  const { cpu: loadCpu, ...result } = await load({
    port: subject.port(shape.upstream),
    token: subject.token,
    body: bodyOf(models[shape.upstream], shape.stream),
    headers: subject.headers(shape.upstream),
    connections: shape.connections,
    seconds,
    once: false,
  });
  const used = (subject.pid === null ? 0 : cpuMicros(subject.pid)) - before[0];
  const around = cpuMicros(upstream) - before[1] + loadCpu;
  const micros = (performance.now() - startedAt) * 1000;
  const others = Math.max(
    coreMicros(cores.measured) - busyBefore[0] - used,
    coreMicros(cores.around) - busyBefore[1] - around,
  );
  return { ...result, cpu: used / Math.max(1, result.requests), noise: Math.max(0, others / micros) };
}

async function measureAll(
  subjects: readonly Subject[],
  pids: Readonly<Record<Shape['upstream'], number>>,
): Promise<Table> {
  const samples = new Map<string, Sample[]>();
  const key = (shape: Shape, subject: Subject) => `${shape.name}|${subject.name}`;
  const warm = shapes.filter((shape) => shape.connections > 1 && shape.upstream === 'fast');
  for (const shape of warm) for (const subject of subjects) await measure(subject, shape, pids[shape.upstream]);
  const quiet = (list: readonly Sample[]) => list.filter((sample) => sample.noise < quietShare);
  // Interleaved, so that all share the machine's good and bad moments; what others disturbed is measured again.
  for (let round = 0; round < rounds * 3; round++) {
    for (const shape of shapes) {
      for (const subject of subjects) {
        const list = samples.get(key(shape, subject)) ?? [];
        if (round >= rounds && (quiet(list).length >= rounds || performance.now() - began > budgetMs)) continue;
        list.push(await measure(subject, shape, pids[shape.upstream]));
        samples.set(key(shape, subject), list);
      }
    }
  }
  const of = (shape: Shape, subject: Subject, field: keyof Sample): number => {
    const all = samples.get(key(shape, subject)) ?? [];
    return median((quiet(all).length > 0 ? quiet(all) : all).map((sample) => sample[field]));
  };
  const sum = (shape: Shape, subject: Subject, field: keyof Sample): number =>
    (samples.get(key(shape, subject)) ?? []).reduce((total, sample) => total + sample[field], 0);
  const [direct] = subjects;
  if (direct === undefined) return {};
  const figures = (shape: Shape, subject: Subject): Figures => ({
    rps: of(shape, subject, 'rps'),
    cpuMicros: subject.pid === null ? null : of(shape, subject, 'cpu'),
    p50: of(shape, subject, 'p50'),
    p99: of(shape, subject, 'p99'),
    addedP50: of(shape, subject, 'p50') - of(shape, direct, 'p50'),
    addedP99: of(shape, subject, 'p99') - of(shape, direct, 'p99'),
    requests: sum(shape, subject, 'requests'),
    failed: sum(shape, subject, 'failed'),
    noise: of(shape, subject, 'noise'),
  });
  return Object.fromEntries(
    shapes.map((shape) => [
      shape.name,
      Object.fromEntries(subjects.map((subject) => [subject.name, figures(shape, subject)])),
    ]),
  );
}

/** Many streams open at once in a process that has done little else, so that no earlier growth hides what they need. */
async function openStreams(fresh: Running): Promise<{ count: number; stuck: number; kbEach: number; p99: number }> {
  const count = 2000;
  const order = { port: fresh.port, token: fresh.token, headers: '' };
  await load({ ...order, body: bodyOf(models.fast, true), connections: 64, seconds: 1, once: false });
  const before = residentKb(fresh.child.pid);
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, residentKb(fresh.child.pid));
  }, 50);
  const slow = bodyOf(models.slow, true);
  const result = await load({ ...order, body: slow, connections: count, seconds: 30, once: true });
  clearInterval(watch);
  return { count, stuck: count - result.good, kbEach: (most - before) / count, p99: result.p99 };
}

async function startTimes(site: Site, existingMs: number): Promise<Record<string, number>> {
  const time = async (args: readonly string[]): Promise<number> => {
    const taken: number[] = [];
    for (let i = 0; i < 11; i++) {
      const at = performance.now();
      await command(site, args);
      taken.push(performance.now() - at);
    }
    return median(taken);
  };
  const empty = mkdtempSync(join(tmpdir(), 'gateway-start-'));
  const port = freePort();
  const child = start(null, [...gateway, 'serve', '--port', String(port)], { GATEWAY_DATA_DIR: empty });
  const freshMs = await answers(`http://127.0.0.1:${port}/api/status`, (status) => status === 200);
  await end(child);
  rmSync(empty, { recursive: true, force: true });
  return {
    version: await time(['--version']),
    tokenList: await time(['token', 'list']),
    serveFresh: freshMs,
    serveExisting: existingMs,
  };
}

interface Measured {
  readonly upstreams: Upstreams;
  readonly floor: Awaited<ReturnType<typeof startFloor>>;
  readonly running: readonly (readonly [name: string, Running])[];
  readonly other: { readonly child: Bun.Subprocess; readonly port: number } | null;
}

function subjectsOf({ upstreams, floor, running, other }: Measured) {
  const bare = { token: '-', headers: () => '' };
  const subjects: Subject[] = [
    { ...bare, name: 'direct', pid: null, port: (upstream) => upstreams.ports[upstream] },
    { ...bare, name: floorName, pid: floor.child.pid, port: (upstream) => floor.ports[upstream] },
    ...running.map(([name, { child, token, port }]) => ({
      name,
      pid: child.pid,
      token,
      port: () => port,
      headers: () => '',
    })),
  ];
  if (other !== null)
    subjects.push({
      name: '@portkey-ai/gateway',
      pid: other.child.pid,
      token: 'sk-x',
      port: () => other.port,
      headers: (upstream) =>
        `x-portkey-provider: openai\r\nx-portkey-custom-host: http://127.0.0.1:${upstreams.ports[upstream]}/v1\r\n`,
    });
  return subjects;
}

const least = (name: string, value: number, limit: number, unit: string): Goal => ({
  name,
  value,
  limit,
  unit,
  direction: 'at least',
});
const most = (name: string, value: number, limit: number, unit: string): Goal => ({
  name,
  value,
  limit,
  unit,
  direction: 'at most',
});

const dir = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
let failed = true;
try {
  if (!isCompiled) console.log('dist/gateway is missing (npm run build): measuring the sources instead');
  const upstreams = await startUpstreams();
  const begin = async (name: string, program: Program, tier: Tier): Promise<[string, Running]> => {
    const site = { program, dataDir: join(dir, name) };
    return [name, await serve(site, await setUp(site, upstreams), tier)];
  };
  const measured = await begin(durable, gateway, 3);
  const [, t3] = measured;
  const running = [
    await begin('T1 relay only', gateway, 1),
    await begin('T2 + keys and routing', gateway, 2),
    measured,
    ...(before === null ? [] : [await begin(beforeName, [before], 3)]),
  ];
  const floor = await startFloor(upstreams);
  const other = process.argv.includes('--alone') ? null : await startComparison();
  const subjects = subjectsOf({ upstreams, floor, running, other });
  const table = await measureAll(subjects, upstreams.pids);
  printTable(table);

  const rssMb = residentKb(t3.child.pid) / 1024;
  const ended = [...running.map(([, one]) => one), floor, ...(other === null ? [] : [other])];
  for (const { child } of ended) await end(child);
  const verified = await command(t3.site, ['ledger', 'verify', '--json']).then(
    () => true,
    () => false,
  );
  const again = await serve(t3.site, t3.token, 3);
  const streams = await openStreams(again);
  await end(again.child);
  const times = await startTimes(t3.site, again.readyMs);

  const at = (shape: Shape['name'], subject: string = durable) => table[shape]?.[subject];
  const cpuAgainst = (shape: Shape['name'], subject: string): number =>
    (at(shape)?.cpuMicros ?? 0) / Math.max(1, at(shape, subject)?.cpuMicros ?? 0);
  const ratio = (at('c=64')?.cpuMicros ?? 0) / Math.max(1, at('c=64', 'T1 relay only')?.cpuMicros ?? 0);
  console.log(`\nprice of billing, T3/T1 CPU at c=64: ${ratio.toFixed(2)}`);
  console.log(`ledger after the load: ${verified ? 'clean' : 'VIOLATIONS'}`);
  console.log(`open streams: ${streams.count}, stuck ${streams.stuck}, p99 ${(streams.p99 / 1000).toFixed(1)} s`);
  const addedP99 = Math.max(at('c=1')?.addedP99 ?? 0, at('c=16')?.addedP99 ?? 0);
  const goals: Goal[] = [
    least('req/s at c=64', at('c=64')?.rps ?? 0, 12_000, 'req/s'),
    least('req/s at c=16', at('c=16')?.rps ?? 0, 8000, 'req/s'),
    most('CPU per request at c=64', at('c=64')?.cpuMicros ?? 0, 80, 'us'),
    most('CPU per request at c=64 / floor', cpuAgainst('c=64', floorName), 2.8, ''),
    most('CPU per request at c=16 / floor', cpuAgainst('c=16', floorName), 3.6, ''),
    most('CPU per stream, chunks at once', at('64 chunks at once')?.cpuMicros ?? 0, 450, 'us'),
    most('CPU per stream, translated', at('64 chunks, translated')?.cpuMicros ?? 0, 700, 'us'),
    most('CPU per stream, chunks apart', at('64 chunks, 1 ms apart')?.cpuMicros ?? 0, 450, 'us'),
    most('added p50 at c=1', at('c=1')?.addedP50 ?? 0, 0.8, 'ms'),
    most('added p50 at c=16', at('c=16')?.addedP50 ?? 0, 1.5, 'ms'),
    most('added p99 at c=1 and c=16', addedP99, 5, 'ms'),
    most('resident memory after the load', rssMb, 150, 'MB'),
    most('memory per open stream', streams.kbEach, 64, 'KB'),
    most('stuck streams', streams.stuck, 0, ''),
    most('--version', times.version ?? 0, 60, 'ms'),
    most('token list', times.tokenList ?? 0, 80, 'ms'),
    most('serve ready, new data directory', times.serveFresh ?? 0, 400, 'ms'),
    most('serve ready, one core, used directory', times.serveExisting ?? 0, 400, 'ms'),
  ];
  printGoals(goals);
  if (before !== null) {
    console.log('\nCPU per request against the build before');
    for (const { name } of shapes)
      console.log(`${name.padEnd(24)}${(cpuAgainst(name, beforeName) * 100).toFixed(0)} %`);
  }
  const seen = Object.values(table).flatMap((rows) => Object.values(rows));
  const noise = Math.max(0, ...seen.map((row) => row.noise));
  if (noise >= quietShare)
    console.log(`\nOther processes used up to ${(noise * 100).toFixed(0)} % of a core: run again on a quiet machine.`);
  console.log(
    `\n${jsonOf({ compiled: isCompiled, rounds, seconds, table, ratio, rssMb, streams, times, verified }, goals)}`,
  );
  failed = !verified;
} finally {
  await endAll();
  rmSync(dir, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);
