/**
 * What a setting costs: two gateways of one build, one of them with more in its environment, get the same requests by turns.
 * Run: node scripts/launch.mjs lab/measure/setting NAME=VALUE... [--rounds 20] [--seconds 2] [--shape c=64] [--before FILE]
 * `{sink}` in a value is the address of a server that accepts everything. Prints CPU per billed request, and the ratio of each round.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { sampling } from '../../../cli/bench/measure.ts';
import { endAll, isCompiled, ownProgram } from '../../../cli/bench/process.ts';
import { models, type Running, serve, setUp, startUpstreams } from '../../../cli/bench/site.ts';
import { median } from '../../../cli/bench/stats.ts';
import { type Shape, type Subject, shapes } from '../../../cli/bench/targets.ts';

const args = process.argv.slice(2);
const flag = (name: string, fallback: string): string => {
  const at = args.indexOf(name);
  return at < 0 ? fallback : (args[at + 1] ?? fallback);
};
const binary = resolve(import.meta.dirname, '..', '..', '..', 'dist', 'gateway');
const program = existsSync(binary) && !isCompiled ? [binary] : ownProgram;
const iterations = Number(flag('--rounds', '20'));
const shape = shapes.find(({ name }) => name === flag('--shape', 'c=64')) as Shape;
const target = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async (request) => {
    await request.arrayBuffer();
    return Response.json({});
  },
});
const env = Object.fromEntries(
  args
    .filter((arg) => /^[A-Z_]+=/.test(arg))
    .map((arg) => [arg.slice(0, arg.indexOf('=')), arg.slice(arg.indexOf('=') + 1)])
    .map(([name = '', value = '']) => [name, value.replace('{sink}', `http://127.0.0.1:${target.port}`)]),
);

const subject = (name: string, { child, site, port }: Running): Subject => ({
  name,
  pid: child.pid,
  token: site.token,
  path: '/v1/chat/completions',
  headers: '',
  port: () => port,
  model: (upstream) => models[upstream],
});
const percentile = (values: readonly number[], part: number): number =>
  values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) * part)] ?? 0;

const dir = mkdtempSync(join(tmpdir(), 'gateway-setting-'));
try {
  const upstreams = await startUpstreams(null);
  const other = args.includes('--before') ? [flag('--before', '')] : program;
  const [plain, set] = [
    subject('without', await serve(await setUp(other, join(dir, 'without'), upstreams))),
    subject('with', await serve(await setUp(program, join(dir, 'with'), upstreams), env)),
  ];
  const measure = sampling(upstreams, Number(flag('--seconds', '2')));
  const cost = async (one: Subject): Promise<number> => (await measure(one, shape)).cpu ?? Number.NaN;
  for (const one of [plain, set, plain, set]) await cost(one);
  const costs: { readonly without: number; readonly with: number }[] = [];
  for (let round = 0; round < iterations; round++) {
    // By turns who comes first: neither always follows the other.
    const first = round % 2 === 0 ? await cost(plain) : 0;
    const second = await cost(set);
    costs.push({ without: round % 2 === 0 ? first : await cost(plain), with: second });
    process.stderr.write(`\r${round + 1}/${iterations}`);
  }
  const ratios = costs.map((one) => one.with / one.without);
  const label = Object.entries(env).map((pair) => pair.join('='));
  console.log(`\n${shape.name} ${label.join(' ')}`);
  console.log(
    `CPU per request, median: ${median(costs.map((one) => one.without)).toFixed(0)} us without, ${median(costs.map((one) => one.with)).toFixed(0)} us with`,
  );
  console.log(
    `with / without: median ${median(ratios).toFixed(3)}, middle half ${percentile(ratios, 0.25).toFixed(3)}-${percentile(ratios, 0.75).toFixed(3)}`,
  );
} finally {
  await endAll();
  void target.stop(true);
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);
