/** Speed of the executable with every bill durable before the last byte, next to the direct way, its own lower tiers and another gateway. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const binary = join(root, 'dist', 'gateway');
const quick = process.argv.includes('--quick');
const rounds = quick ? 1 : 3;
const ports = { upstream: 4019, t1: 4011, t2: 4012, t3: 4013, other: 4014 } as const;
const children: Bun.Subprocess[] = [];

if (!existsSync(binary)) {
  console.error('dist/gateway is missing: npm run build');
  process.exit(1);
}

/** Everything measured runs on core 0, load and upstream on core 1. */
function start(core: number, command: readonly string[], env: Record<string, string> = {}): Bun.Subprocess {
  const child = Bun.spawn(['taskset', '-c', String(core), ...command], {
    env: { ...process.env, ...env },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
  });
  children.push(child);
  return child;
}

async function answers(url: string): Promise<void> {
  for (let i = 0; i < 200; i++) {
    try {
      await fetch(url);
      return;
    } catch {
      await Bun.sleep(50);
    }
  }
  throw new Error(`nothing answers at ${url}`);
}

/** CPU ticks (10 ms) of a process and its threads. */
function ticks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

const residentMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

interface Result {
  readonly rps: number;
  readonly p50: number;
  readonly p99: number;
  readonly failed: number;
}

async function load(
  port: number,
  token: string,
  connections: number,
  requests: number,
  stream: boolean,
): Promise<Result> {
  const body = JSON.stringify({
    model: 'practice-small',
    ...(stream ? { stream: true } : {}),
    messages: [{ role: 'user', content: 'hello' }],
  });
  const options = JSON.stringify({
    host: '127.0.0.1',
    port,
    path: '/v1/chat/completions',
    token,
    body,
    connections,
    requests,
  });
  const child = Bun.spawn(['taskset', '-c', '1', process.execPath, join(root, 'scripts/bench/load.ts'), options], {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const text = await new Response(child.stdout).text();
  await child.exited;
  return JSON.parse(text) as Result;
}

async function cli(dataDir: string, args: readonly string[], input = ''): Promise<string> {
  const child = Bun.spawn([binary, ...args], {
    env: { ...process.env, GATEWAY_DATA_DIR: dataDir },
    stdin: new Blob([input]),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const out = await new Response(child.stdout).text();
  if ((await child.exited) !== 0)
    throw new Error(`gateway ${args.join(' ')}: ${await new Response(child.stderr).text()}`);
  return out.trim();
}

async function startTier(
  dir: string,
  tier: 1 | 2 | 3,
  port: number,
): Promise<{ child: Bun.Subprocess; token: string; dataDir: string }> {
  const dataDir = join(dir, `tier${tier}`);
  await cli(dataDir, ['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], 'password1');
  await cli(
    dataDir,
    [
      'channel',
      'add',
      '--type',
      'practice',
      '--name',
      'practice',
      '--base-url',
      `http://127.0.0.1:${ports.upstream}`,
      '--key-stdin',
    ],
    'k',
  );
  const token = await cli(dataDir, ['token', 'create', '--name', 'bench', '--quota', 'unlimited', '-q']);
  const child = start(0, [binary, 'serve', '--port', String(port)], {
    GATEWAY_DATA_DIR: dataDir,
    GATEWAY_BENCH_TIER: String(tier),
  });
  await answers(`http://127.0.0.1:${port}/api/status`);
  return { child, token, dataDir };
}

/** The comparison, installed beside the build with scripts off. */
function otherGateway(): string | null {
  const home = join(root, '.cache', 'bench');
  const entry = join(home, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  if (existsSync(entry)) return entry;
  mkdirSync(home, { recursive: true });
  writeFileSync(
    join(home, 'package.json'),
    JSON.stringify({
      private: true,
      dependencies: {
        '@portkey-ai/gateway': '1.15.2',
        hono: '4.9.7',
        '@hono/node-server': '1.13.5',
        '@hono/node-ws': '1.2.0',
      },
    }),
  );
  Bun.spawnSync(['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'], { cwd: home });
  return existsSync(entry) ? entry : null;
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

async function startTimes(dataDir: string): Promise<Record<string, number>> {
  const time = async (args: readonly string[]) => {
    const taken: number[] = [];
    for (let i = 0; i < 15; i++) {
      const began = performance.now();
      await cli(dataDir, args);
      taken.push(performance.now() - began);
    }
    return median(taken);
  };
  const fresh = mkdtempSync(join(tmpdir(), 'gateway-start-'));
  const began = performance.now();
  const child = Bun.spawn([binary, 'serve', '--port', '4020'], {
    env: { ...process.env, GATEWAY_DATA_DIR: fresh },
    stdout: 'ignore',
    stderr: 'ignore',
  });
  for (;;) {
    const ok = await fetch('http://127.0.0.1:4020/api/status').then(
      (response) => response.ok,
      () => false,
    );
    if (ok) break;
    await Bun.sleep(3);
  }
  const ready = performance.now() - began;
  child.kill();
  await child.exited;
  rmSync(fresh, { recursive: true });
  return {
    '--version ms': await time(['--version']),
    'token list ms': await time(['token', 'list']),
    'serve ready ms (fresh)': ready,
  };
}

async function openStreams(count: number, pid: number, token: string): Promise<Record<string, number>> {
  const before = residentMb(pid);
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, residentMb(pid));
  }, 100);
  const done = await Promise.all(
    Array.from({ length: count }, async () => {
      const response = await fetch(`http://127.0.0.1:${ports.t3}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: '{"model":"practice-slow","stream":true,"messages":[{"role":"user","content":"hi"}]}',
      });
      return (await response.text()).endsWith('data: [DONE]\n\n');
    }),
  );
  clearInterval(watch);
  return { streams: count, ended: done.filter(Boolean).length, 'KB each': ((most - before) * 1024) / count };
}

const dir = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
try {
  start(1, [binary, 'mock-upstream', '--port', String(ports.upstream), '--chunks', '64']);
  start(1, [binary, 'mock-upstream', '--port', '4018', '--chunks', '40', '--tokens-per-second', '8']);
  const [t1, t2, t3] = [
    await startTier(dir, 1, ports.t1),
    await startTier(dir, 2, ports.t2),
    await startTier(dir, 3, ports.t3),
  ];
  const entry = otherGateway();
  const other = entry === null ? null : start(0, ['node', entry, `--port=${ports.other}`, '--headless']);
  if (other !== null) await answers(`http://127.0.0.1:${ports.other}/`);

  const subjects = [
    { name: 'direct', port: ports.upstream, token: '-', pid: 0 },
    { name: 'T1 relay only', port: ports.t1, token: t1.token, pid: t1.child.pid },
    { name: 'T2 + keys, routing', port: ports.t2, token: t2.token, pid: t2.child.pid },
    { name: 'T3 + durable bill', port: ports.t3, token: t3.token, pid: t3.child.pid },
    ...(other === null ? [] : [{ name: '@portkey-ai/gateway', port: ports.other, token: 'sk-x', pid: other.pid }]),
  ];
  const shapes = [
    { name: 'c=1', connections: 1, requests: 2000, stream: false },
    { name: 'c=16', connections: 16, requests: 20_000, stream: false },
    { name: 'c=64', connections: 64, requests: 20_000, stream: false },
    { name: 'stream', connections: 16, requests: 3000, stream: true },
  ];
  const seen = new Map<string, { rps: number[]; p50: number[]; p99: number[]; cpu: number[]; failed: number }>();
  for (const subject of subjects)
    await load(subject.port, subject.token, 64, subject.name.startsWith('@') ? 2000 : 15_000, false);
  for (let round = 0; round < rounds; round++) {
    for (const shape of shapes) {
      for (const subject of subjects) {
        const requests = subject.name.startsWith('@') ? Math.ceil(shape.requests / 10) : shape.requests;
        const before = subject.pid === 0 ? 0 : ticks(subject.pid);
        const result = await load(subject.port, subject.token, shape.connections, requests, shape.stream);
        const used = subject.pid === 0 ? 0 : ((ticks(subject.pid) - before) * 10_000) / requests;
        const key = `${subject.name}|${shape.name}`;
        const row = seen.get(key) ?? { rps: [], p50: [], p99: [], cpu: [], failed: 0 };
        row.rps.push(result.rps);
        row.p50.push(result.p50);
        row.p99.push(result.p99);
        row.cpu.push(used);
        row.failed += result.failed;
        seen.set(key, row);
      }
    }
  }
  const of = (subject: string, shape: string) => {
    const row = seen.get(`${subject}|${shape}`);
    return {
      rps: median(row?.rps ?? []),
      p50: median(row?.p50 ?? []),
      p99: median(row?.p99 ?? []),
      cpu: median(row?.cpu ?? []),
      failed: row?.failed ?? 0,
    };
  };
  for (const shape of shapes) {
    console.log(`\n${shape.name}${' '.repeat(20)}req/s   CPU us   added p50   added p99  failed`);
    const direct = of('direct', shape.name);
    for (const { name } of subjects) {
      const row = of(name, shape.name);
      console.log(
        `${name.padEnd(22)}${row.rps.toFixed(0).padStart(8)}${row.cpu.toFixed(0).padStart(9)}${(row.p50 - direct.p50).toFixed(2).padStart(9)} ms${(row.p99 - direct.p99).toFixed(2).padStart(9)} ms${String(row.failed).padStart(8)}`,
      );
    }
  }
  const price = of('T3 + durable bill', 'c=64').cpu / Math.max(1, of('T1 relay only', 'c=64').cpu);
  console.log(`\nprice of billing, T3/T1 CPU at c=64: ${price.toFixed(2)}`);
  console.log(`RSS T3: ${residentMb(t3.child.pid).toFixed(0)} MB`);
  await cli(
    t3.dataDir,
    [
      'channel',
      'add',
      '--type',
      'practice',
      '--name',
      'slow',
      '--models',
      'practice-slow',
      '--base-url',
      'http://127.0.0.1:4018',
      '--key-stdin',
    ],
    'k',
  );
  await Bun.sleep(400);
  console.log('open streams:', JSON.stringify(await openStreams(2000, t3.child.pid, t3.token)));
  console.log(
    'ledger verify:',
    (await cli(t3.dataDir, ['ledger', 'verify'])).split('\n').every((line) => line.includes('\tok\t'))
      ? 'clean'
      : 'VIOLATIONS',
  );
  console.log('start:', JSON.stringify(await startTimes(t3.dataDir)));
} finally {
  for (const child of children) child.kill();
  await Promise.all(children.map((child) => child.exited));
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);
