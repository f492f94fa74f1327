/**
 * What the log knows of who asked, of real programs that nobody configured for it: agent, session, question, project and helper of each
 * row, two sessions of each program. Not part of the tests: it needs the registry; AGENTS_FOLDER keeps the programs for the next run.
 * Run: node scripts/launch.mjs lab/agents/names [--gateway dist/gateway] [NAME...]
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agents } from '../../../server/contract/agents.ts';
import { gatewayIn } from '../../run-gateway.ts';
import { asking, homeEnvironment, programsIn, runFor, takeProxyAway } from './programs.ts';
import { startUpstream, type Task } from './upstream.ts';

/** What each speaks by itself. */
const models: Readonly<Record<string, string>> = {
  claude: 'model-of-anthropic-messages',
  codex: 'model-of-openai-responses',
  gemini: 'model-of-gemini-generate',
  opencode: 'model-of-openai-chat',
  qwen: 'model-of-openai-chat',
};
const limitMs = 120_000;
const sessions = 2;

const dir = mkdtempSync(join(tmpdir(), 'gateway-names-'));
const dataDir = join(dir, 'data');
const at = process.argv.indexOf('--gateway');
const { program, start, run } = gatewayIn(dataDir, at < 0 ? undefined : process.argv[at + 1]);
const programs = programsIn(process.env.AGENTS_FOLDER ?? join(dir, 'programs'));
const named = process.argv.slice(2).filter((word) => word in models);

let task: Task = { source: '', target: '' };
const upstream = startUpstream(() => task);

interface Row {
  readonly token_name: string;
  readonly names?: Readonly<Record<string, string>>;
}

/** One question in folders of its own. @returns the code with which it ended. */
async function ask(name: string, session: number): Promise<number | null> {
  const place = join(dir, `${name}-${session}`);
  const [home, work] = [join(place, 'home'), join(place, `project-${session}`)];
  for (const folder of [home, work]) mkdirSync(folder, { recursive: true });
  task = { source: join(work, 'source.txt'), target: join(work, 'target.txt') };
  writeFileSync(task.source, 'a secret\n');
  const prompt = `Read the file ${task.source} and write what is in it to ${task.target}.`;
  const env = { ...homeEnvironment(home, programs.path), GATEWAY_DATA_DIR: dataDir };
  takeProxyAway(name, home, env);
  const command = [...program, 'exec', '--token', name, '--model', models[name] ?? '', '--', name];
  return (await runFor([...command, ...(asking[name]?.(prompt) ?? [])], env, work, limitMs)).code;
}

/** How many rows have it, and how many values there are. */
function count(rows: readonly Row[], kind: string): string {
  const found = rows.flatMap(({ names }) => names?.[kind] ?? []);
  return found.length === 0 ? '-' : `${found.length} of ${rows.length}, ${new Set(found).size} different`;
}

let isRight = true;
let served: Bun.Subprocess<'ignore', 'pipe', 'inherit'> | null = null;
try {
  if (!(await programs.node())) throw new Error('skipped: npm cannot install node');
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], 'password1');
  for (const model of new Set(Object.values(models))) {
    const dialect = model.replace('model-of-', '');
    const channel = ['channel', 'add', '--type', 'practice', '--name', dialect, '--base-url', upstream.url];
    await run([...channel, '--key-stdin', '--models', model, '--dialect', dialect], 'none');
  }
  served = start(['serve', '--port', '0']);
  await served.stdout.getReader().read();
  for (const agent of agents.filter(({ name }) => (named.length > 0 ? named.includes(name) : name in models))) {
    const { name } = agent;
    if (!(await programs.install(agent))) throw new Error(`${name} cannot be installed`);
    await run(['token', 'create', '--name', name, '--quota', 'unlimited']);
    const codes: (number | null)[] = [];
    for (let session = 0; session < sessions; session++) codes.push(await ask(name, session));
    const rows = JSON.parse(await run(['logs', 'list', '--token', name, '--limit', '100', '--json'])) as Row[];
    const asked = new Set(rows.flatMap(({ names }) => names?.session ?? [])).size;
    const all = rows.length > 0 && rows.every(({ names }) => names?.agent !== undefined && names.session !== undefined);
    isRight &&= all && asked >= sessions;
    const words = ['agent', 'session', 'prompt', 'project', 'subagent'].map((kind) => `${kind} ${count(rows, kind)}`);
    const agentNames = [...new Set(rows.map(({ names }) => names?.agent ?? '?'))].join(', ');
    console.log(
      `${all ? 'found  ' : 'MISSING'}  ${name} (${agentNames}), exit ${codes.join(', ')}: ${words.join('; ')}`,
    );
  }
} finally {
  served?.kill('SIGTERM');
  await served?.exited;
  await upstream.stop();
  rmSync(dir, { recursive: true, force: true });
}
process.exitCode = isRight ? 0 : 1;
