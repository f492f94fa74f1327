/**
 * How long real agents go on after an upstream refused, and what they print: seconds from the first refusal until the program ended.
 * The programs lie in AGENTS_FOLDER as npm installs them. Not part of the tests: it takes minutes.
 * Run: AGENTS_FOLDER=... bun scripts/lab/agents/error-messages.ts [NAME,...] [CASE,...]
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { agents } from '../../../server/contract/agents.ts';
import { gatewayIn } from '../../run-gateway.ts';

interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const cases: Readonly<Record<string, Refusal>> = {
  '401': { status: 401, message: 'Incorrect API key provided: sk-abcdefghijklmnopqrstuvwx' },
  '402': { status: 402, message: 'Insufficient balance: $0.02' },
  '403': { status: 403, message: 'Organization org-AbCdEf123456 has no access to this model' },
  '404': { status: 404, message: 'The model does not exist' },
  '429-long': { status: 429, message: 'Weekly limit reached', headers: { 'retry-after': '7200' } },
  '500': { status: 500, message: 'Something broke for a moment' },
};

const prompts: Readonly<Record<string, readonly string[]>> = {
  claude: ['-p', 'say hi'],
  codex: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', 'say hi'],
  gemini: ['-p', 'say hi', '--yolo'],
  opencode: ['run', 'say hi'],
  qwen: ['-p', 'say hi', '--yolo'],
};

const agentsFolder = process.env.AGENTS_FOLDER;
if (agentsFolder === undefined) throw new Error('AGENTS_FOLDER is not set');
/** Time after the first refusal, and before it. */
const limitMs = 60_000;
const startLimitMs = 120_000;
const [names = Object.keys(prompts), wanted = Object.keys(cases)] = process.argv
  .slice(2)
  .map((list) => list.split(','));

const dir = mkdtempSync(join(tmpdir(), 'gateway-refusals-'));
const dataDir = join(dir, 'data');
const main = resolve(import.meta.dirname, '..', '..', '..', 'cli', 'main.ts');
const { start, run } = gatewayIn(dataDir);

let firstMs: number | null = null;
let requests = 0;
const upstream = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const body = (await request.json()) as { readonly model?: string };
    firstMs ??= performance.now();
    requests++;
    const {
      status,
      message,
      headers = {},
    } = cases[body.model?.replace('refused-', '') ?? ''] ?? {
      status: 404,
      message: 'no such case',
    };
    return Response.json({ error: { message, type: 'error' } }, { status, headers });
  },
});

/** Ended with all that it started: some programs start themselves once more. */
async function runProgram(command: readonly string[], home: string, work: string): Promise<string> {
  const out = join(work, '..', 'out.txt');
  const startedMs = performance.now();
  const child = Bun.spawn([...command], {
    cwd: work,
    env: {
      PATH: [join(agentsFolder ?? '', 'node_modules', '.bin'), process.env.PATH ?? ''].join(':'),
      HOME: home,
      TERM: 'dumb',
      LANG: 'en_US.UTF-8',
      GATEWAY_DATA_DIR: dataDir,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
    },
    stdin: 'ignore',
    stdout: Bun.file(out),
    stderr: Bun.file(`${out}.err`),
    detached: true,
  });
  const timer = setInterval(() => {
    const sinceMs = performance.now();
    if (sinceMs - startedMs < startLimitMs && (firstMs === null || sinceMs - firstMs < limitMs)) return;
    process.kill(-child.pid, 'SIGKILL');
  }, 250);
  await child.exited;
  clearInterval(timer);
  return readFileSync(out, 'utf8') + readFileSync(`${out}.err`, 'utf8');
}

const ansiColors = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');
/** The line with the gateway's words, else the last one that speaks of an error. */
function plainText(text: string): string {
  const lines = text.replace(ansiColors, '').trim().split('\n');
  const line =
    lines.find((one) => /upstream|Contact the administrator/i.test(one)) ?? lines.findLast((one) => /error/i.test(one));
  return (line ?? lines.at(-1) ?? '').trim().slice(0, 260);
}

const serving: Bun.Subprocess[] = [];
try {
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], 'password1');
  for (const name of wanted)
    await run(
      [
        'channel',
        'add',
        '--type',
        'practice',
        '--name',
        name,
        '--base-url',
        `http://127.0.0.1:${upstream.port}`,
      ].concat(['--key-stdin', '--models', `refused-${name}`, '--dialect', 'openai-chat']),
      'none',
    );
  await run(['token', 'create', '--name', 'good', '--quota', 'unlimited']);
  const served = start(['serve', '--port', '0']);
  serving.push(served);
  const { value } = await served.stdout.getReader().read();
  writeFileSync(join(dataDir, 'gateway.url'), `${/https?:\/\/\S+/.exec(new TextDecoder().decode(value))?.[0] ?? ''}\n`);
  let round = 0;
  for (const { name } of agents.filter((agent) => names.includes(agent.name)))
    for (const refusal of wanted) {
      const place = join(dir, `round-${++round}`);
      const [home, work] = [join(place, 'home'), join(place, 'work')];
      for (const folder of [home, work]) mkdirSync(folder, { recursive: true });
      firstMs = null;
      requests = 0;
      const own = ['exec', '--token', 'good', '--model', `refused-${refusal}`, '--', name, ...(prompts[name] ?? [])];
      const text = await runProgram([process.execPath, main, ...own], home, work);
      const seconds = firstMs === null ? Number.NaN : (performance.now() - firstMs) / 1000;
      const ended = seconds * 1000 >= limitMs ? 'ended by us after' : 'ended after';
      console.log(`${name} ${refusal}: ${ended} ${seconds.toFixed(1)} s, ${requests} requests: ${plainText(text)}`);
    }
} finally {
  for (const child of serving) {
    child.kill('SIGTERM');
    await child.exited;
  }
  await upstream.stop(true);
  rmSync(dir, { recursive: true, force: true });
}
