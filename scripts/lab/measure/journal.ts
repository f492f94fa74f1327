/**
 * What settlements cost to make durable while others use the ledger too: CPU and bytes written of a billed request, alone, beside
 * 16 streams of 30 seconds (each has its hold renewed), beside ten refused requests a second, and where the client reads its
 * balance after each answer. With `--before BINARY` a build before is measured in the same rounds.
 * `node scripts/launch.mjs lab/measure/journal [--before BINARY] [--rounds 5] [--seconds 2]`. Needs `npm run build`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { cores, cpuMicros, written } from '../../../cli/bench/machine.ts';
import {
  command,
  endAll,
  freePort,
  killAll,
  load,
  ownProgram,
  start,
  waitForResponse,
} from '../../../cli/bench/process.ts';
import { models, type Running, serve, setUp, startUpstreams } from '../../../cli/bench/site.ts';
import { median } from '../../../cli/bench/stats.ts';
import { bodyOf } from '../../../cli/bench/targets.ts';

const valueAfter = (flag: string): string | undefined => {
  const at = process.argv.indexOf(flag);
  return at < 0 ? undefined : process.argv[at + 1];
};
const before = valueAfter('--before');
const rounds = Number(valueAfter('--rounds') ?? 5);
const seconds = Number(valueAfter('--seconds') ?? 2);
const longModel = 'practice-long';
const path = '/v1/chat/completions';

interface Server extends Running {
  readonly name: string;
}

interface Besides {
  readonly name: string;
  /** @returns what ends it. */
  begin(server: Server): () => Promise<void>;
}

const ask = (server: Server, body: string, signal?: AbortSignal): Promise<Response> =>
  fetch(`http://127.0.0.1:${server.port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.site.token}`, 'content-type': 'application/json' },
    body,
    ...(signal === undefined ? {} : { signal }),
  });

/** Streams that each last 30 seconds, begun anew as they end. */
const streams: Besides = {
  name: '16 streams',
  begin(server) {
    const over = new AbortController();
    const one = async (): Promise<void> => {
      while (!over.signal.aborted)
        await ask(server, bodyOf(longModel, true), over.signal)
          .then((response) => response.arrayBuffer())
          .catch(() => null);
    };
    const all = Array.from({ length: 16 }, one);
    return async () => {
      over.abort();
      await Promise.all(all);
    };
  },
};

const refusals: Besides = {
  name: '10 refusals a second',
  begin(server) {
    const timer = setInterval(() => {
      void ask(server, bodyOf('nobody-serves-this', false)).then((response) => response.arrayBuffer());
    }, 100);
    return async () => clearInterval(timer);
  },
};

const alone: Besides = { name: 'alone', begin: () => async () => undefined };

interface Sample {
  readonly requests: number;
  /** Microseconds a request. */
  readonly cpu: number;
  /** Bytes a request. */
  readonly calls: number;
  readonly disk: number;
}

/** @param work @returns how many requests it made. */
async function measured({ child }: Server, work: () => Promise<number>): Promise<Sample> {
  const read = () => ({ cpu: cpuMicros(child.pid) ?? 0, ...(written(child.pid) ?? { calls: 0, disk: 0 }) });
  const begun = read();
  const requests = Math.max(1, await work());
  const ended = read();
  const each = (key: 'cpu' | 'calls' | 'disk'): number => (ended[key] - begun[key]) / requests;
  return { requests, cpu: each('cpu'), calls: each('calls'), disk: each('disk') };
}

const loadOf = async (server: Server, connections: number): Promise<number> => {
  const { requests } = await load({
    port: server.port,
    path,
    token: server.site.token,
    body: bodyOf(models.fast, false),
    headers: '',
    connections,
    seconds,
    once: false,
  });
  return requests;
};

/** Asks for an answer, then for what is left, one after the other. */
async function readingBalance(server: Server, reads: boolean): Promise<number> {
  const until = performance.now() + seconds * 1000;
  const headers = { authorization: `Bearer ${server.site.token}` };
  let requests = 0;
  let last = -1;
  while (performance.now() < until) {
    await (await ask(server, bodyOf(models.fast, false))).arrayBuffer();
    requests++;
    if (!reads) continue;
    const answer = await fetch(`http://127.0.0.1:${server.port}/api/usage/token/`, { headers });
    const { data } = (await answer.json()) as { data: { total_used: number } };
    if (!(data.total_used > last))
      throw new Error(`${server.name} does not show what was just spent: ${last}, ${data.total_used}`);
    last = data.total_used;
  }
  return requests;
}

const dir = mkdtempSync(join(tmpdir(), 'gateway-journal-'));
process.once('exit', () => {
  killAll();
  rmSync(dir, { recursive: true, force: true });
});
const upstreams = await startUpstreams(null);
const longPort = freePort();
start(cores.around, [
  ...ownProgram,
  'mock-upstream',
  '--port',
  String(longPort),
  '--chunks',
  '240',
  '--tokens-per-second',
  '8',
]);
await waitForResponse(`http://127.0.0.1:${longPort}/v1/models`);

const programs: [string, string][] = [['this build', resolve(valueAfter('--gateway') ?? 'dist/gateway')]];
if (before !== undefined) programs.push(['build before', resolve(before)]);
const servers: Server[] = [];
for (const [name, program] of programs) {
  const site = await setUp([program], join(dir, name.replace(' ', '-')), upstreams);
  const address = ['--base-url', `http://127.0.0.1:${longPort}`, '--models', longModel];
  await command(
    site.program,
    site.dataDir,
    ['channel', 'add', '--type', 'practice', '--name', 'long', ...address, '--key-stdin'],
    'k',
  );
  await command(site.program, site.dataDir, [
    'option',
    'set',
    `ModelRatio=${JSON.stringify(Object.fromEntries([...Object.values(models), longModel].map((model) => [model, 1])))}`,
  ]);
  servers.push({ ...(await serve(site)), name });
}

interface Row {
  readonly name: string;
  run(server: Server): Promise<number>;
  readonly besides: Besides;
}
const rows: Row[] = [
  ...[alone, streams, refusals].flatMap((besides) =>
    [1, 16].map((connections) => ({
      name: `c=${connections}, ${besides.name}`,
      run: (server: Server) => loadOf(server, connections),
      besides,
    })),
  ),
  { name: 'one client', run: (server) => readingBalance(server, false), besides: alone },
  { name: 'one client that reads its balance', run: (server) => readingBalance(server, true), besides: alone },
];

console.log(
  `${'medians of '.concat(String(rounds)).padEnd(36)}${'requests'.padStart(9)}${'CPU us'.padStart(8)}${'written KB'.padStart(12)}${'to disk'.padStart(9)}`,
);
for (const row of rows) {
  const samples = new Map<string, Sample[]>();
  for (let round = 0; round <= rounds; round++)
    for (const server of servers) {
      const end = row.besides.begin(server);
      // Streams need a moment to be under way.
      if (row.besides !== alone) await Bun.sleep(500);
      const sample = await measured(server, () => row.run(server));
      await end();
      // The first round warms.
      if (round > 0) samples.set(server.name, [...(samples.get(server.name) ?? []), sample]);
    }
  for (const [name, of] of samples) {
    const middle = (key: keyof Sample): number => median(of.map((sample) => sample[key])) ?? 0;
    console.log(
      `${`${row.name}: ${name}`.padEnd(52)}${middle('requests').toFixed(0).padStart(7)}${middle('cpu').toFixed(0).padStart(8)}${(middle('calls') / 1024).toFixed(1).padStart(8)}${(middle('disk') / 1024).toFixed(1).padStart(8)}`,
    );
  }
}
for (const { child } of servers) {
  child.kill();
  await child.exited;
}
for (const { site, name } of servers) {
  await command(site.program, site.dataDir, ['ledger', 'verify', '--json']);
  console.log(`${name}: ledger verify clean`);
}
await endAll();
process.exit(0);
