/**
 * `gateway connect` with the real programs: a home without their files, one with files of its user, one whose files are broken. The
 * programs that run here are asked once; what was there comes back byte for byte. Not part of the tests: it needs the registry (or
 * AGENTS_FOLDER, where the programs lie already).
 * Run: node scripts/launch.mjs lab/agents/connect [NAME,...]
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { type Agent, agents, isSetUpByHand, lineFor } from '../../../server/contract/agents.ts';
import { gatewayIn } from '../../run-gateway.ts';
import { asking, homeEnvironment, programsIn, runFor } from './programs.ts';
import { doneWords, startUpstream } from './upstream.ts';

const main = resolve(import.meta.dirname, '../../../cli/main.ts');
const model = 'show-model';
const question = 'Say that the task is done.';
const limitMs = 60_000;
/** How those are asked that `programs.ts` gives no tools. */
const plainly: Readonly<Record<string, readonly string[]>> = {
  cline: ['--timeout', '50', question],
  continue: ['-p', question],
};

const own = {
  json: '{\n\n  "$schema": "https://example.invalid/mine.json" }\n',
  toml: '# mine\nhide_agent_reasoning = true\n',
  yaml: '# mine\nname: mine\nversion: 1.0.0\nschema: v1\n',
  env: '# mine\nKEEP=1\n',
  text: '// mine\n',
} as const;
const broken = { json: '{ "theme": ', toml: 'model = = 1\n', yaml: 'a: [1\n', env: '\u00ff', text: '' } as const;

const dir = mkdtempSync(join(tmpdir(), 'gateway-connect-'));
const dataDir = join(dir, 'data');
const { start, run } = gatewayIn(dataDir);
const programs = programsIn(process.env.AGENTS_FOLDER ?? join(dir, 'programs'));

/** Of its files: as Latin-1, null = there is none. */
const contentsOf = (home: string, paths: readonly string[]): readonly (string | null)[] =>
  paths.map((path) => (existsSync(join(home, path)) ? readFileSync(join(home, path), 'latin1') : null));

async function walk(agent: Agent, state: 'fresh' | 'existing' | 'broken', seen: { calls: number }): Promise<string> {
  const [home, work] = [join(dir, agent.name, state, 'home'), join(dir, agent.name, state, 'work')];
  for (const folder of [home, work]) mkdirSync(folder, { recursive: true });
  const patches = agent.connects({ url: '', models: [], model: '' }, { key: '' });
  const paths = patches.map(({ paths: [first = ''] }) => first.slice(2));
  for (const [at, { format }] of patches.entries()) {
    if (state === 'fresh') continue;
    const path = join(home, paths[at] ?? '');
    mkdirSync(dirname(path), { recursive: true });
    // It refuses what it does not know.
    const text = agent.name === 'aider' && state === 'existing' ? '# mine\ndark-mode: true\n' : null;
    writeFileSync(path, text ?? (state === 'existing' ? own : broken)[format], 'latin1');
    chmodSync(path, 0o640);
  }
  const before = contentsOf(home, paths);
  if (isSetUpByHand(agent)) return `by hand: ${lineFor(agent)}`;
  const env = { ...homeEnvironment(home, programs.path), GATEWAY_DATA_DIR: dataDir, XDG_STATE_HOME: '' };
  const connect = (...words: string[]) =>
    runFor([process.execPath, main, 'connect', agent.name, ...words], env, work, limitMs);
  const written = await connect('--token', 'good', '--model', model, '--yes');
  const after = contentsOf(home, paths);
  if (state === 'broken') {
    const stays = JSON.stringify(before) === JSON.stringify(after);
    return written.code !== 0 && stays ? `refused (exit ${written.code}), as it was` : `WRONG: exit ${written.code}`;
  }
  if (written.code !== 0) return `WRONG: exit ${written.code}: ${written.words.slice(-200)}`;
  let called = 'does not run here';
  if ((agent.package !== undefined || agent.python !== undefined) && (await programs.install(agent))) {
    seen.calls = 0;
    const words = plainly[agent.name] ?? asking[agent.name]?.(question) ?? [question];
    for (const name of ['source.txt', 'target.txt']) writeFileSync(join(work, name), 'x\n');
    const asked = await runFor([agent.program, ...words], env, work, limitMs);
    const answered = asked.words.includes(doneWords.slice(0, -1));
    called = `${seen.calls} calls, ${answered ? 'answered' : `NO ANSWER: ${asked.words.slice(-300)}`}`;
  }
  // Some write into their own file when they run: it is no longer what was written, and goes back when its user says so.
  const first = await connect('--undo');
  const isOwn = first.code !== 0 && first.words.includes('it was changed since');
  const undone = isOwn ? await connect('--undo', '--force') : first;
  const changed = contentsOf(home, paths).filter((text, at) => text !== before[at]).length;
  return `written, ${called}, ${undone.code === 0 && changed === 0 ? `undone${isOwn ? ' by --force: the program wrote into it' : ''}` : `WRONG: ${changed} not undone: ${undone.words}`}`;
}

const [names = agents.map(({ name }) => name)] = process.argv.slice(2).map((list) => list.split(','));
const upstream = startUpstream(() => ({ source: 'none', target: 'none' }));
const serving: Bun.Subprocess[] = [];
const seen = { calls: 0 };
let gateway = '';
const watch = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  fetch(request) {
    const { pathname, search } = new URL(request.url);
    if (request.method === 'POST') seen.calls++;
    const { method, headers, body } = request;
    return fetch(`${gateway}${pathname}${search}`, { method, headers, body, decompress: false });
  },
});
try {
  if (!(await programs.node())) throw new Error('skipped: npm cannot install node');
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], 'password1');
  const channel = ['channel', 'add', '--type', 'practice', '--name', 'up', '--base-url', upstream.url, '--key-stdin'];
  await run([...channel, '--models', model, '--dialect', 'openai-chat'], 'none');
  await run(['token', 'create', '--name', 'good', '--quota', 'unlimited']);
  const served = start(['serve', '--port', '0']);
  serving.push(served);
  const { value } = await served.stdout.getReader().read();
  gateway = /https?:\/\/\S+/.exec(new TextDecoder().decode(value))?.[0] ?? '';
  writeFileSync(join(dataDir, 'gateway.url'), `http://127.0.0.1:${watch.port}\n`);
  for (const agent of agents.filter(({ name }) => names.includes(name)))
    for (const state of ['fresh', 'existing', 'broken'] as const)
      console.log(`${agent.name} | ${state} | ${await walk(agent, state, seen)}`);
} finally {
  for (const child of serving) {
    child.kill('SIGTERM');
    await child.exited;
  }
  await watch.stop(true);
  await upstream.stop();
  rmSync(dir, { recursive: true, force: true });
}
