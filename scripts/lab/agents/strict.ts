/**
 * Real programs through a gateway of these sources, or through an executable, at strict doubles of the providers that they are used
 * with: is the first turn answered, are two calls of tools made and the file really written, and what was refused, in whose words?
 * Doubles refuse what reports and documents say (`tests/doubles`), never what the gateway's own rows say. Everything stays on this
 * machine: the providers' hosts are one server here, and the programs' way out leads nowhere. AGENTS_FOLDER keeps the programs for the
 * next run.
 * Run: node scripts/launch.mjs lab/agents/strict [--gateway dist/gateway] [--programs A,B] [--providers A,B] [--turns N [--compact]]
 *   [--jobs N] [--loud]
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareRun } from '../../../cli/parts/agent-run.ts';
import { type Agent, agents } from '../../../server/contract/agents.ts';
import { createDouble, type Exchange } from '../../../tests/doubles/serve.ts';
import { doubles } from '../../../tests/doubles/table.ts';
import { pageOf, planTask, type Task } from '../../../tests/doubles/task.ts';
import { gatewayIn } from '../../run-gateway.ts';
import { asking, type Ended, homeEnvironment, programsIn, runFor } from './programs.ts';
import { type StrictProvider, strictProviders } from './providers.ts';

const after = (name: string): string | undefined => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
};
const selected = (name: string): ((one: string) => boolean) => {
  const names = after(name)?.split(',');
  return (one) => names === undefined || names.includes(one);
};
const turns = Number(after('--turns') ?? 2);
const jobs = Number(after('--jobs') ?? 2);
const limitMs = 60_000 + turns * 5000;

/** One program at one provider. */
interface Round {
  readonly task: Task;
  readonly exchanges: Exchange[];
}

interface Cell {
  readonly program: string;
  readonly provider: string;
  readonly first: boolean;
  readonly done: boolean;
  readonly ended: Ended;
  /** Calls of tools that were answered, and whether the conversation was made short in between. */
  readonly calls: number;
  readonly shortened: boolean;
  /** Rules and words of what was refused, each once. */
  readonly refusals: readonly string[];
}

const dir = mkdtempSync(join(tmpdir(), 'gateway-strict-'));
const dataDir = join(dir, 'data');
const programs = programsIn(process.env.AGENTS_FOLDER ?? join(dir, 'programs'));
const rounds: Round[] = [];

/** Folders carry the number of their round, and every prompt names its folder. */
const roundOf = (text: string): Round | undefined => rounds[Number(/round-(\d+)/.exec(text)?.[1] ?? -1)];

/** All providers behind one proxy: the host that was asked says who answers. */
function startProviders() {
  const running = new Map(
    doubles.map((double) => [
      double.name,
      createDouble(double, {
        now: Date.now,
        plan: (heard, body, text, callId) =>
          planTask(
            roundOf(text)?.task ?? { source: '', target: '', reads: 0, grows: false, calls: 1, shortened: false },
            heard,
            body,
            text,
            callId,
          ),
        onExchange: (exchange) => void roundOf(exchange.text)?.exchanges.push(exchange),
      }),
    ]),
  );
  const hosts = new Map(strictProviders.map(({ address, double }) => [new URL(address).host, double] as const));
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const double = running.get(hosts.get(new URL(request.url).host) ?? '');
      return double === undefined ? new Response('nobody lives here', { status: 502 }) : double.handle(request);
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) };
}

async function runCell(agent: Agent, provider: StrictProvider, url: string, key: string): Promise<Cell> {
  const number = rounds.length;
  const place = join(dir, `round-${number}`);
  const [home, work] = [join(place, 'home'), join(place, 'work')];
  for (const folder of [home, work]) mkdirSync(folder, { recursive: true });
  const secret = `secret-${String.fromCharCode(...Array.from({ length: 8 }, () => 97 + Math.floor(Math.random() * 26)))}`;
  const task: Task = {
    source: join(work, 'source.txt'),
    target: join(work, 'target.txt'),
    reads: turns - 1,
    grows: process.argv.includes('--compact'),
    calls: 0,
    shortened: false,
  };
  const round: Round = { task, exchanges: [] };
  rounds.push(round);
  for (let call = 0; call < task.reads; call++) writeFileSync(pageOf(task, call), `${secret}\n`);
  const prompt = `Read the file ${task.source} and write what is in it to ${task.target}.`;
  const model = provider.alias ?? provider.model;
  const run = prepareRun(agent, { url, key, models: [model], model }, home);
  const words = asking[agent.name]?.(prompt) ?? [prompt];
  const env = { ...homeEnvironment(home, programs.path), ...run.environment };
  const shortening = task.grows && agent.name === 'codex' ? ['-c', 'model_auto_compact_token_limit=80000'] : [];
  const command = [agent.program, ...run.arguments, ...shortening, ...words];
  const ended = await runFor(command, env, work, limitMs);
  // Asked once, it never makes a conversation short by itself.
  if (task.grows && agent.name === 'claude')
    await runFor([agent.program, ...run.arguments, '--continue', '-p', '/compact'], env, work, limitMs);
  run.close();
  const { exchanges } = round;
  const wrote = existsSync(task.target) && readFileSync(task.target, 'utf8').includes(secret);
  const refusals = exchanges.flatMap(({ rejected, path }) =>
    rejected === null
      ? []
      : [`${rejected.refusal.status} ${rejected.rule} (${path}): ${rejected.refusal.message.slice(0, 200)}`],
  );
  return {
    program: agent.name,
    provider: provider.name,
    first: exchanges.some(
      ({ rejected, said }) => rejected === null && said !== null && (said.calls.length > 0 || wrote),
    ),
    done: wrote && ended.code === 0,
    ended,
    calls: task.calls,
    shortened: task.shortened,
    refusals: [...new Set(refusals)],
  };
}

const verdictOf = ({ first, done, ended, refusals, calls, shortened }: Cell): string => {
  const steps = turns === 2 ? '' : `${calls} calls, ${shortened ? '' : 'not '}made short, `;
  const seconds = `${steps}${ended.seconds.toFixed(0)} s`;
  if (done) return refusals.length === 0 ? `done ${seconds}` : `done, refused ${seconds}`;
  return first ? `first only ${seconds}` : `REFUSED ${seconds}`;
};

const serving: Bun.Subprocess[] = [];
const upstreams = startProviders();
try {
  if (!(await programs.node())) throw new Error('skipped: npm cannot install node');
  const chosen: Agent[] = [];
  for (const agent of agents.filter(({ name }) => selected('--programs')(name)))
    if (await programs.install(agent)) chosen.push(agent);
    else console.log(`${agent.name}: skipped, it cannot be installed`);
  const providers = strictProviders.filter(({ name }) => selected('--providers')(name));
  process.env.HTTP_PROXY = upstreams.url;
  process.env.http_proxy = upstreams.url;
  process.env.NO_PROXY = '127.0.0.1,localhost';
  process.env.no_proxy = '127.0.0.1,localhost';
  const { start, run } = gatewayIn(dataDir, after('--gateway'));
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], 'password1');
  for (const { name, double, address, model, alias, key = 'sk-practice' } of providers) {
    const type = doubles.find((one) => one.name === double)?.slug ?? double;
    await run(
      [
        ...['channel', 'add', '--type', type, '--name', name, '--base-url', address, '--key-stdin'],
        ...['--models', alias ?? model],
        ...(alias === undefined ? [] : ['--mapping', JSON.stringify({ [alias]: model })]),
      ],
      key,
    );
  }
  const created = await run(['token', 'create', '--name', 'good', '--quota', 'unlimited', '--json']);
  const key = /sk-[A-Za-z0-9]+/.exec(created)?.[0] ?? '';
  const served = start(['serve', '--port', '0']);
  serving.push(served);
  const { value } = await served.stdout.getReader().read();
  const url = /https?:\/\/[^\s/]+/.exec(new TextDecoder().decode(value))?.[0] ?? '';

  const queue = chosen.flatMap((agent) => providers.map((provider) => [agent, provider] as const));
  const cells: Cell[] = [];
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const cell = await runCell(...next, url, key);
      cells.push(cell);
      console.log(
        `${cell.program} at ${cell.provider}: ${verdictOf(cell)}${cell.refusals.map((one) => `\n    ${one}`).join('')}`,
      );
      if (!cell.done && (process.argv.includes('--loud') || cell.refusals.length === 0))
        console.log(`    exit ${cell.ended.code}: ${cell.ended.words.trim().slice(-1500).replaceAll('\n', '\n    ')}`);
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));

  const header = ['provider', ...chosen.map(({ name }) => name)];
  const table = [
    header,
    ...providers.map(({ name }) => [
      name,
      ...chosen.map((agent) => {
        const cell = cells.find(({ program, provider }) => program === agent.name && provider === name);
        return cell === undefined ? '-' : verdictOf(cell);
      }),
    ]),
  ];
  const widths = header.map((_, at) => Math.max(...table.map((row) => (row[at] ?? '').length)));
  console.log('');
  for (const row of table) console.log(row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  '));
  const good = cells.filter(({ done, refusals }) => done && refusals.length === 0);
  console.log(
    `\n${cells.length} cells, ${good.length} done and nothing refused, ${cells.filter(({ first }) => first).length} past their first turn`,
  );
  process.exitCode = good.length === cells.length ? 0 : 1;
} finally {
  for (const child of serving) {
    child.kill('SIGTERM');
    await child.exited;
  }
  await upstreams.stop();
  rmSync(dir, { recursive: true, force: true });
}
