/**
 * Records sessions of real agents, each in a home of its own, against a model on this machine that reads one file after another:
 * what `lab/prove/last-cent --recording FILE` makes its turns from. Prompts are their makers' own, so the file stays outside of the
 * repository. It needs the registry. Run: [AGENTS_FOLDER=F] node scripts/launch.mjs lab/agents/record FILE [--turns 200] [NAME...]
 */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { prepareRun } from '../../../cli/parts/agent-run.ts';
import { agents } from '../../../server/contract/agents.ts';
import { numberFlag } from '../prove/planted/flags.ts';
import { asking, homeEnvironment, programsIn, runFor, takeProxyAway } from './programs.ts';
import { reading, resultsIn, startUpstream } from './upstream.ts';

const models: Readonly<Record<string, string>> = {
  claude: 'claude-sonnet-4-5',
  codex: 'gpt-5',
  opencode: 'gpt-5',
  qwen: 'gpt-5',
};
const files = 12;
const limitMs = 180_000;

const [file = '', ...words] = process.argv.slice(2);
const root = resolve(import.meta.dirname, '..', '..', '..');
if (file === '' || resolve(file).startsWith(`${root}/`)) throw new Error('a file outside of the repository is needed');
const named = words.filter((word) => word in models);
const least = numberFlag('turns', 200);
const dir = mkdtempSync(join(tmpdir(), 'gateway-record-'));
const programs = programsIn(process.env.AGENTS_FOLDER ?? join(dir, 'programs'));

let paths: readonly string[] = [];
let session = 0;
let program = '';
let turns = 0;
const upstream = startUpstream(() => ({ source: '', target: '' }), {
  // Titles and summaries are asked for without tools.
  next: (request) => {
    const path = paths[resultsIn(request).length];
    return path === undefined || request.toolChoice === 'none' ? null : reading(request, path);
  },
  received: (received) => {
    turns++;
    appendFileSync(file, `${JSON.stringify({ session, program, ...received })}\n`);
  },
});

try {
  if (!(await programs.node())) throw new Error('npm cannot install node');
  writeFileSync(file, '');
  const chosen = agents.filter(({ name }) => (named.length > 0 ? named.includes(name) : name in models));
  for (const agent of chosen)
    if (!(await programs.install(agent))) throw new Error(`${agent.name} cannot be installed`);
  while (turns < least) {
    const before = turns;
    for (const agent of chosen) {
      program = agent.name;
      const place = join(dir, `session-${++session}`);
      const [home, work] = [join(place, 'home'), join(place, 'work')];
      for (const folder of [home, work]) mkdirSync(folder, { recursive: true });
      paths = Array.from({ length: files }, (_, at) => join(work, `notes-${at}.txt`));
      for (const [at, path] of paths.entries())
        writeFileSync(path, `${`line of session ${session}, file ${at}\n`.repeat(10 + ((at * 7 + session) % 40))}`);
      const prompt = `Read the files ${paths.join(', ')} one after another, then say what they have in common.`;
      const settings = { url: upstream.url, key: 'sk-recorded', models: [], model: models[program] ?? '' };
      const run = prepareRun(agent, settings, home);
      const command = [program, ...run.arguments, ...(asking[program]?.(prompt) ?? [prompt])];
      const begun = turns;
      const env = { ...homeEnvironment(home, programs.path), ...run.environment };
      takeProxyAway(program, home, env);
      const { code, seconds, words: said } = await runFor(command, env, work, limitMs);
      run.close();
      console.log(`${program}: ${turns - begun} requests in ${seconds.toFixed(1)} s, exit ${code}`);
      if (code !== 0 || turns === begun) console.log(said.slice(-2000));
    }
    if (turns === before) throw new Error('nobody asks');
  }
  console.log(`${turns} requests of ${session} sessions in ${file}`);
} finally {
  await upstream.stop();
  rmSync(dir, { recursive: true, force: true });
}
