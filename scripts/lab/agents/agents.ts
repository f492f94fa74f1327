/**
 * The real programs through the gateway: installed from npm and PyPI, given a task of two tools on every kind of upstream, and led into
 * what goes wrong, with the seconds until they give up. Not part of the tests: it needs the registry.
 * Run: node scripts/launch.mjs lab/agents/agents [NAME...]
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { prepareRun } from '../../../cli/parts/agent-run.ts';
import { agents } from '../../../server/contract/agents.ts';
import { gatewayIn } from '../../run-gateway.ts';
import { asking, type Ended, homeEnvironment, programsIn, runFor } from './programs.ts';
import { startUpstream, type Task } from './upstream.ts';

const root = resolve(import.meta.dirname, '..', '..', '..');
const main = join(root, 'cli', 'main.ts');
const dialects = ['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini-generate'] as const;
const limitMs = 120_000;

/** Codex has its conversation made short as soon as it has said anything; under its maker's name it asks for that upstream. */
const compacting = ['-c', 'model_auto_compact_token_limit=50', '-c', 'model_providers.gateway.name="OpenAI"'];

const dir = mkdtempSync(join(tmpdir(), 'gateway-agents-'));
const dataDir = join(dir, 'data');
const { start, run } = gatewayIn(dataDir);
const programs = programsIn(process.env.AGENTS_FOLDER ?? join(dir, 'programs'));

const wrong = 'sk-no-such-key';
let url = '';
let round = 0;
let task: Task = { source: '', target: '' };

/** One question to one program, in folders of its own. */
async function ask(
  name: string,
  token: string,
  model: string,
  more: readonly string[] = [],
): Promise<Ended & { readonly wrote: boolean }> {
  const place = join(dir, `round-${++round}`);
  const [home, work] = [join(place, 'home'), join(place, 'work')];
  for (const folder of [home, work]) mkdirSync(folder, { recursive: true });
  const secret = `secret-${String.fromCharCode(...Array.from({ length: 8 }, () => 97 + Math.floor(Math.random() * 26)))}`;
  task = { source: join(work, 'source.txt'), target: join(work, 'target.txt') };
  writeFileSync(task.source, `${secret}\n`);
  const prompt = `Read the file ${task.source} and write what is in it to ${task.target}.`;
  const words = [...more, ...(asking[name]?.(prompt) ?? [prompt])];
  const env = { ...homeEnvironment(home, programs.path), GATEWAY_DATA_DIR: dataDir };
  const agent = agents.find((one) => one.name === name);
  if (token === wrong && agent !== undefined) {
    // `exec` itself would find that there is no such token.
    const run = prepareRun(agent, { url, key: wrong, models: [model], model }, home);
    const ended = await runFor([name, ...run.arguments, ...words], { ...env, ...run.environment }, work, limitMs);
    run.close();
    return { ...ended, wrote: false };
  }
  const command = [process.execPath, main, 'exec', '--token', token, '--model', model, '--', name, ...words];
  const ended = await runFor(command, env, work, limitMs);
  const wrote = existsSync(task.target) && readFileSync(task.target, 'utf8').includes(secret);
  return { ...ended, wrote };
}

const ansiColors = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');
/** Ours where it shows them, else its own. */
function lastWords(words: string): string {
  const lines = words.replace(ansiColors, '').trim().split('\n');
  for (const words of [/does not exist|Invalid API key|run out of quota/, /not_found|quota|40[134]/i])
    for (const line of lines.toReversed()) {
      const at = line.search(words);
      if (at >= 0) return line.slice(Math.max(0, at - 60), at + 100).trim();
    }
  return (lines.at(-1) ?? '').trim().slice(0, 160);
}

/** Stands before the gateway and notes when it first refused. */
function startWatch(target: string) {
  let rejectedAt: number | null = null;
  let requested = 0;
  let lastRequested: number | null = null;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const response = await fetch(`${target}${pathname}${search}`, {
        method: request.method,
        headers: request.headers,
        body: request.body,
        decompress: false,
      });
      if (request.method === 'POST') {
        requested++;
        lastRequested = performance.now();
      }
      if (request.method === 'POST' && response.status >= 400) rejectedAt ??= performance.now();
      return response;
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    reset() {
      rejectedAt = null;
      requested = 0;
    },
    /** Seconds since the first refusal, those in which it still asked, and the requests so far. */
    since: () => ({
      seconds: rejectedAt === null ? Number.NaN : (performance.now() - rejectedAt) / 1000,
      trying: Math.max(0, ((lastRequested ?? 0) - (rejectedAt ?? 0)) / 1000),
      asked: requested,
    }),
    stop: () => server.stop(true),
  };
}

const selected = process.argv.slice(2);
const upstream = startUpstream(() => task);
const serving: Bun.Subprocess[] = [];
const cleanup: (() => Promise<void>)[] = [];
try {
  if (!(await programs.node())) throw new Error('skipped: npm cannot install node');
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], 'password1');
  for (const dialect of dialects)
    await run(
      [
        'channel',
        'add',
        '--type',
        'practice',
        '--name',
        dialect,
        '--base-url',
        upstream.url,
        '--key-stdin',
        '--models',
        `model-of-${dialect}`,
        '--dialect',
        dialect,
      ],
      'none',
    );
  for (const [name, quota] of [
    ['good', 'unlimited'],
    ['poor', '0'],
  ] as const)
    await run(['token', 'create', '--name', name, '--quota', quota]);
  const served = start(['serve', '--port', '0']);
  serving.push(served);
  const { value } = await served.stdout.getReader().read();
  const watch = startWatch(/https?:\/\/\S+/.exec(new TextDecoder().decode(value))?.[0] ?? '');
  url = watch.url;
  cleanup.push(watch.stop);
  writeFileSync(join(dataDir, 'gateway.url'), `${url}\n`);

  const table: string[][] = [['program', ...dialects, 'unknown model', 'no quota', 'wrong key']];
  for (const agent of agents) {
    const { name } = agent;
    if (selected.length > 0 && !selected.includes(name)) continue;
    if (!(await programs.install(agent))) {
      console.log(`${name}: skipped, it cannot be installed`);
      continue;
    }
    const row = [name];
    for (const dialect of process.env.AGENTS_REFUSALS === undefined ? dialects : []) {
      const { code, wrote, seconds, words } = await ask(name, 'good', `model-of-${dialect}`);
      const good = wrote && code === 0;
      row.push(`${good ? 'done' : 'FAILED'} ${seconds.toFixed(1)} s`);
      if (!good || process.env.AGENTS_LOUD !== undefined)
        console.log(`--- ${name} ${dialect}: exit ${code}\n${words.slice(-3000)}`);
    }
    for (const dialect of name === 'codex' ? dialects : []) {
      const { code, words } = await ask(name, 'good', `model-of-${dialect}`, compacting);
      const result = words.includes('context compacted') ? 'compacted, and went on' : 'NOT compacted';
      console.log(`${name}, a long conversation on ${dialect}: ${result}, exit ${code}`);
    }
    for (const [token, model] of [
      ['good', 'nobody-has-it'],
      ['poor', 'model-of-openai-chat'],
      [wrong, 'model-of-openai-chat'],
    ] as const) {
      watch.reset();
      const { code, seconds, words } = await ask(name, token, model);
      const result = watch.since();
      row.push(
        `${result.seconds.toFixed(1)} s, ${result.asked} asked, the last after ${result.trying.toFixed(1)} s, exit ${code}`,
      );
      console.log(`${name}, ${token} key, ${model}: ${seconds.toFixed(1)} s in all: ${lastWords(words)}`);
    }
    table.push(row);
  }
  const widths = (table[0] ?? []).map((_, at) => Math.max(...table.map((row) => (row[at] ?? '').length)));
  for (const row of table) console.log(row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  '));
} finally {
  for (const child of serving) {
    child.kill('SIGTERM');
    await child.exited;
  }
  for (const stop of cleanup) await stop();
  await upstream.stop();
  rmSync(dir, { recursive: true, force: true });
}
