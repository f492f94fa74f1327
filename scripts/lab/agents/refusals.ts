/**
 * What the real agents do when the gateway itself refuses them: calls they make, seconds from the first refusal until they end, and
 * the words they print, for each reason that has a row in `server/protocols/refusals.ts`. Not part of the tests: it needs the
 * registry (or AGENTS_FOLDER, where the programs lie already) and some minutes.
 * Run: node scripts/launch.mjs lab/agents/refusals [NAME,...] [REASON,...]
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareRun } from '../../../cli/parts/agent-run.ts';
import { agents } from '../../../server/contract/agents.ts';
import { gatewayIn } from '../../run-gateway.ts';
import { homeEnvironment, programsIn, runFor } from './programs.ts';
import { startUpstream } from './upstream.ts';

const asked: Readonly<Record<string, readonly string[]>> = {
  claude: ['-p', 'say hi'],
  codex: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', 'say hi'],
  opencode: ['run', 'say hi'],
  gemini: ['-p', 'say hi', '--yolo'],
  qwen: ['-p', 'say hi', '--yolo'],
};

const model = 'show-model';
/** A program that has not ended by then goes on for ever, as far as its user can tell. */
const limitMs = 100_000;

interface Reason {
  /** Flags of its key. */
  readonly flags: readonly string[];
  /** Calls that are made before, so that the next one is one too many. */
  readonly callsBefore?: number;
  /** What is done to the key afterwards. */
  readonly after?: readonly string[];
}

const poor = 'poor';
const reasons: Readonly<Record<string, Reason>> = {
  balance: { flags: ['--quota', 'unlimited', '--user', poor] },
  limit: { flags: ['--quota', '1'] },
  day: { flags: ['--quota', 'unlimited', '--day-budget', '1'] },
  rate: { flags: ['--quota', 'unlimited', '--rpm', '5'], callsBefore: 5 },
  model: { flags: ['--quota', 'unlimited', '--models', 'another-model'] },
  key: { flags: ['--quota', 'unlimited'], after: ['token', 'disable'] },
};

const lists = process.argv.slice(2).map((list) => list.split(','));
const [names = Object.keys(asked), wanted = Object.keys(reasons)] = lists;

const dir = mkdtempSync(join(tmpdir(), 'gateway-refusals-'));
const { start, run } = gatewayIn(join(dir, 'data'));
const programs = programsIn(process.env.AGENTS_FOLDER ?? join(dir, 'programs'));
const keyOf = (reason: string): string => `sk-${reason.padEnd(48, '0')}`;

/** Stands before the gateway and notes what is refused. */
function startWatch(target: string) {
  let calls: string[] = [];
  let begun = 0;
  let refusedAt: number | null = null;
  let said = '';
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
      if (request.method !== 'POST') return response;
      calls.push(`${response.status} at ${((performance.now() - begun) / 1000).toFixed(1)}`);
      if (response.status >= 400 && refusedAt === null) {
        refusedAt = performance.now();
        said = `${response.status} ${(await response.clone().text()).slice(0, 400)}`;
      }
      return response;
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    reset() {
      calls = [];
      begun = performance.now();
      refusedAt = null;
      said = '';
    },
    seen: () => ({ calls, said, seconds: refusedAt === null ? null : (performance.now() - refusedAt) / 1000 }),
    stop: () => server.stop(true),
  };
}

const escapes = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[A-Za-z]`, 'g');
/** The line in which a program says why it ends: with our words where it prints them. @param said the refusal. */
function wordsOf(text: string, said: string): string {
  const lines = text
    .replace(escapes, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('['));
  const ours = /"message":"([^"$(]{8,40})/.exec(said)?.[1]?.trim() ?? '';
  const printed = ours === '' ? undefined : lines.find((line) => line.includes(ours));
  if (printed !== undefined) return printed.slice(Math.max(0, printed.indexOf(ours) - 40)).slice(0, 260);
  const found = lines.filter((line) => /error|quota|limit|budget|balance|key|model|4\d\d|again|used up/i.test(line));
  return (found.at(-1) ?? lines.at(-1) ?? '').slice(0, 260);
}

const upstream = startUpstream(() => ({ source: 'none', target: 'none' }));
const serving: Bun.Subprocess[] = [];
const cleanup: (() => unknown)[] = [upstream.stop];
try {
  if (!(await programs.node())) throw new Error('skipped: npm cannot install node');
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], 'password1');
  await run(['option', 'set', `ModelPrice={"${model}":0.02}`]);
  await run(['user', 'create', '--username', poor, '--password-stdin'], 'password1');
  await run(['user', 'quota', 'set', poor, '0', '--yes']);
  const channel = ['channel', 'add', '--type', 'practice', '--name', 'up', '--base-url', upstream.url, '--key-stdin'];
  await run([...channel, '--models', `${model},another-model`, '--dialect', 'openai-chat'], 'none');
  const served = start(['serve', '--port', '0']);
  serving.push(served);
  const { value } = await served.stdout.getReader().read();
  const gateway = /https?:\/\/\S+/.exec(new TextDecoder().decode(value))?.[0] ?? '';
  const watch = startWatch(gateway);
  cleanup.push(watch.stop);
  for (const reason of wanted) {
    const { flags = [], after } = reasons[reason] ?? { flags: [] };
    await run(['token', 'create', '--name', reason, ...flags, '--key-stdin'], keyOf(reason));
    if (after !== undefined) await run([...after, reason, '--yes']);
  }
  let round = 0;
  for (const agent of names.flatMap((name) => agents.find((one) => one.name === name) ?? [])) {
    if (!(await programs.install(agent))) {
      console.log(`${agent.name}: skipped, it cannot be installed`);
      continue;
    }
    for (const reason of wanted) {
      const place = join(dir, `round-${++round}`);
      const [home, work] = [join(place, 'home'), join(place, 'work')];
      for (const folder of [home, work]) mkdirSync(folder, { recursive: true });
      const key = keyOf(reason);
      for (let call = 0; call < (reasons[reason]?.callsBefore ?? 0); call++) {
        const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] });
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
        await (await fetch(`${gateway}/v1/chat/completions`, { method: 'POST', headers, body })).text();
      }
      watch.reset();
      const own = prepareRun(agent, { url: watch.url, key, models: [model], model }, home);
      const env = { ...homeEnvironment(home, programs.path), ...own.environment };
      const ended = await runFor([agent.program, ...own.arguments, ...(asked[agent.name] ?? [])], env, work, limitMs);
      own.close();
      const { calls, said, seconds } = watch.seen();
      const lasted = seconds === null ? 'never refused' : `${seconds.toFixed(1)} s`;
      const end = ended.code === null ? 'ended by us' : `exit ${ended.code}`;
      console.log(
        `${agent.name} | ${reason} | ${calls.length} calls (${calls.join(', ')}) | ${lasted} | ${end} | ${wordsOf(ended.words, said)}`,
      );
      if (process.env.AGENTS_LOUD !== undefined)
        console.log(`--- sent: ${said}\n--- printed: ${ended.words.slice(-2500)}`);
    }
  }
} finally {
  for (const child of serving) {
    child.kill('SIGTERM');
    await child.exited;
  }
  for (const stop of cleanup) await stop();
  rmSync(dir, { recursive: true, force: true });
}
