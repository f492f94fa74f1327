/**
 * Measures what the parts of the gateway cost: the floor, two reduced relays made of its parts, and the whole gateway.
 *
 *     bun scripts/lab/bench/index.ts [--rounds 3] [--seconds 1.5] [--shapes 'c=1,c=64,64 chunks at once'] [--json FILE]
 *
 * T1 passes bytes with parsing and aborts, T2 adds keys and routing, the gateway is everything with each bill durable before the
 * last byte. All get the same requests in the same rounds, as in `gateway bench`.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cores } from '../../../cli/bench/machine.ts';
import { measureAll, sampling } from '../../../cli/bench/measure.ts';
import { endAll, freePort, killAll, start, waitForResponse } from '../../../cli/bench/process.ts';
import { serve, setUp, startFloor, startUpstreams } from '../../../cli/bench/site.ts';
import { type Shape, shapes, subjectNames, subjectsOf } from '../../../cli/bench/targets.ts';

const args = process.argv.slice(2);
const after = (name: string): string | null => (args.includes(name) ? (args[args.indexOf(name) + 1] ?? null) : null);
const number = (name: string, fallback: number): number => {
  const value = Number(after(name) ?? fallback);
  if (!(value > 0)) throw new Error(`${name} takes a number`);
  return value;
};
const names = after('--shapes')?.split(',') ?? null;
const shapesToRun: readonly Shape[] = shapes.filter(
  ({ name }) => names === null || names.includes(name.replaceAll(',', '')),
);
if (shapesToRun.length === 0)
  throw new Error(`--shapes takes some of ${shapes.map(({ name }) => name.replaceAll(',', '')).join(', ')}`);

const program = [process.execPath, join(import.meta.dirname, '..', '..', '..', 'cli', 'main.ts')];
const dir = mkdtempSync(join(tmpdir(), 'gateway-lab-bench-'));
// Ctrl-C leaves no time to wait.
process.once('exit', () => {
  killAll();
  rmSync(dir, { recursive: true, force: true });
});

const upstreams = await startUpstreams(null);
const gateway = await serve(await setUp(program, join(dir, 'gateway'), upstreams));
const site = await setUp(program, join(dir, 'reduced'), upstreams);
const reduced = async (level: '1' | '2') => {
  const port = freePort();
  const script = join(import.meta.dirname, 'partial-relay.ts');
  const child = start(cores.measured, [process.execPath, script, level, String(port), site.dataDir], {
    BUN_CONFIG_MAX_HTTP_REQUESTS: '65336',
  });
  const readyMs = await waitForResponse(`http://127.0.0.1:${port}/v1/models`);
  return { site, child, port, readyMs };
};
const running = [
  ['T1 bytes, parsing, aborts', await reduced('1')],
  ['T2 + keys and routing', await reduced('2')],
  [subjectNames.gateway, gateway],
] as const;
const floors = [await startFloor(upstreams)];
const targets = subjectsOf({ upstreams, floors, running, rivals: [] });
const table = await measureAll(
  {
    measure: sampling(upstreams, number('--seconds', 1.5)),
    now: () => performance.now(),
    onProgress: (what) => process.stderr.write(`\r\u001b[K${what}`),
  },
  { rounds: number('--rounds', 3), seconds: number('--seconds', 1.5), warmSeconds: 10, shapes: shapesToRun },
  targets,
);
process.stderr.write('\r\u001b[K');
for (const [shape, rows] of Object.entries(table)) {
  console.log(`\n${shape.padEnd(28)}   req/s  CPU us  / floor     p50     p99  failed  noise`);
  const min = rows[subjectNames.floor]?.cpuMicros ?? null;
  for (const [name, row] of Object.entries(rows)) {
    const times = row.cpuMicros === null || min === null ? '' : (row.cpuMicros / min).toFixed(2);
    const cells = [
      row.rps.toFixed(0).padStart(8),
      (row.cpuMicros === null ? '' : row.cpuMicros.toFixed(0)).padStart(8),
      times.padStart(9),
      row.p50.toFixed(2).padStart(8),
      row.p99.toFixed(2).padStart(8),
      String(row.failed).padStart(8),
      `${(row.noise * 100).toFixed(0)} %`.padStart(7),
    ];
    console.log(name.padEnd(28) + cells.join(''));
  }
}
const file = after('--json');
if (file !== null) writeFileSync(file, `${JSON.stringify(table, null, 2)}\n`);
await endAll();
process.exit(0);
