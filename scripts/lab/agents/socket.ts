/**
 * Codex over HTTP and over a WebSocket (`/v1/responses`), beside each other: bytes that it sends, how long each turn waits for the first
 * byte of its answer, and what is charged; once as it is, and once with the upstream's answer cut off in the middle of one turn. Real Codex,
 * a strict double of OpenAI, everything on this machine. AGENTS_FOLDER keeps the program for the next run.
 * Run: node scripts/launch.mjs lab/agents/socket [--gateway dist/gateway] [--turns 30]
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median } from '../../../cli/bench/stats.ts';
import { prepareRun } from '../../../cli/parts/agent-run.ts';
import { agents } from '../../../server/contract/agents.ts';
import { createDouble } from '../../../tests/doubles/serve.ts';
import { doubles } from '../../../tests/doubles/table.ts';
import { pageOf, planTask, type Task } from '../../../tests/doubles/task.ts';
import { gatewayIn } from '../../run-gateway.ts';
import { asking, homeEnvironment, programsIn, runFor } from './programs.ts';

const after = (name: string): string | undefined => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
};
const turns = Number(after('--turns') ?? 30);
const model = 'gpt-4o';
const dir = mkdtempSync(join(tmpdir(), 'gateway-socket-'));
const programs = programsIn(process.env.AGENTS_FOLDER ?? join(dir, 'programs'));
const codex = agents.find(({ name }) => name === 'codex');

interface Round {
  readonly task: Task;
  /** The answer of this number is cut off. */
  readonly cut: number;
  answers: number;
}
let round: Round | null = null;

/** Its first piece, and then the connection is gone. */
function cutOff({ body, headers, status }: Response): Response {
  const reader = body?.getReader();
  let pieces = 0;
  const cut = new ReadableStream({
    async pull(controller) {
      const next = await reader?.read();
      if (next?.value === undefined || pieces++ > 0) {
        // As a process that is killed: nothing more comes, and no end.
        await reader?.cancel();
        controller.error(new Error('cut off'));
        return;
      }
      controller.enqueue(next.value.slice(0, Math.ceil(next.value.length / 2)));
    },
  });
  return new Response(cut, { headers, status });
}

const openai = doubles.find(({ name }) => name === 'openai');
if (openai === undefined || codex === undefined) throw new Error('there is no double of OpenAI, or no Codex');
const double = createDouble(openai, {
  now: Date.now,
  plan(heard, body, text, callId) {
    const idle: Task = { source: '', target: '', reads: 0, grows: false, calls: 1, shortened: false };
    const plan = planTask(round?.task ?? idle, heard, body, text, callId);
    // What Codex notes of its session (`client_metadata`) says how it is connected, and is no prompt.
    const prompt = Math.ceil(JSON.stringify([body.instructions, body.input, body.tools]).length / 4);
    return { ...plan, usage: { ...plan.usage, prompt, cached: Math.floor(prompt / 2) } };
  },
});
const upstream = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  error: () => new Response(null, { status: 502 }),
  async fetch(request) {
    const response = await double.handle(request);
    if (round === null || !new URL(request.url).pathname.endsWith('/responses')) return response;
    round.answers += 1;
    return round.answers === round.cut ? cutOff(response) : response;
  },
});

/** Between Codex and the gateway: counts, and takes the time from the last byte of a turn to the first of its answer. */
const seen = { up: 0, down: 0, waits: [] as number[], upgrades: 0 };
let sentAt = 0;
let port = 0;
interface Link {
  other: { write(data: Uint8Array): number; end(): void } | null;
  readonly waiting: Uint8Array[];
}
const line = Bun.listen<Link>({
  hostname: '127.0.0.1',
  port: 0,
  socket: {
    open(client) {
      client.data = { other: null, waiting: [] };
      void Bun.connect({
        hostname: '127.0.0.1',
        port,
        socket: {
          open(server) {
            client.data.other = server;
            for (const piece of client.data.waiting.splice(0)) server.write(piece);
          },
          data(_server, data) {
            seen.down += data.length;
            if (sentAt > 0 && data.length > 16) {
              seen.waits.push(performance.now() - sentAt);
              sentAt = 0;
            }
            client.write(data);
          },
          close: () => void client.end(),
        },
      });
    },
    data(client, data) {
      const head = Buffer.from(data.subarray(0, 400)).toString('latin1');
      if (/^GET .*upgrade: websocket/is.test(head)) seen.upgrades += 1;
      seen.up += data.length;
      sentAt = performance.now();
      if (client.data.other === null) client.data.waiting.push(data.slice());
      else client.data.other.write(data);
    },
    close: (client) => void client.data.other?.end(),
  },
});

const { start, run } = gatewayIn(join(dir, 'data'), after('--gateway'));

async function work(name: string, overSocket: boolean, cut: number): Promise<number> {
  if (codex === undefined) return 0;
  const place = join(dir, name);
  const [home, folder] = [join(place, 'home'), join(place, 'work')];
  for (const one of [home, folder]) mkdirSync(one, { recursive: true });
  const source = join(folder, 'source.txt');
  const target = join(folder, 'target.txt');
  const task: Task = { source, target, reads: turns - 1, grows: false, calls: 0, shortened: false };
  for (let call = 0; call < task.reads; call++) writeFileSync(pageOf(task, call), 'secret-carried\n');
  round = { task, cut, answers: 0 };
  Object.assign(seen, { up: 0, down: 0, upgrades: 0 });
  seen.waits.length = 0;
  const created = await run(['token', 'create', '--name', name, '--quota', 'unlimited', '--json']);
  const key = /sk-[A-Za-z0-9]+/.exec(created)?.[0] ?? '';
  const prepared = prepareRun(codex, { url: `http://127.0.0.1:${line.port}`, key, models: [model], model }, home);
  const provider = /model_providers\.([\w-]+)/.exec(prepared.arguments.join(' '))?.[1] ?? 'gateway';
  const socket = ['-c', `model_providers.${provider}.supports_websockets=${overSocket}`];
  const words = asking.codex?.(`Read the file ${source} and write what is in it to ${target}.`) ?? [];
  const ended = await runFor(
    [codex.program, ...prepared.arguments, ...socket, ...words],
    { ...homeEnvironment(home, programs.path), ...prepared.environment },
    folder,
    60_000 + turns * 5000,
  );
  prepared.close();
  const done = existsSync(target) && readFileSync(target, 'utf8').includes('secret-carried') && ended.code === 0;
  const rows = JSON.parse(await run(['logs', 'list', '--token', name, '--limit', '200', '--json'])) as {
    quota: number;
    other: string;
  }[];
  const charged = rows.reduce((sum, { quota }) => sum + quota, 0);
  console.log(
    `${name}: ${done ? 'done' : `NOT DONE (${ended.code}): ${ended.words.slice(-600)}`}, ${round.answers} answers, ${seen.upgrades} sockets, up ${seen.up} bytes, ` +
      `first byte median ${median(seen.waits).toFixed(1)} ms, ${rows.length} rows, charged ${charged}`,
  );
  return charged;
}

const serving: Bun.Subprocess[] = [];
try {
  if (!(await programs.node()) || !(await programs.install(codex)))
    throw new Error('skipped: npm cannot install Codex');
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], 'password1');
  await run(
    [
      'channel',
      'add',
      '--type',
      'openai',
      '--name',
      'up',
      '--base-url',
      `http://127.0.0.1:${upstream.port}`,
      '--models',
      model,
      '--key-stdin',
    ],
    'sk-practice',
  );
  await run(['option', 'set', 'general_setting.responses_sockets=true']);
  const served = start(['serve', '--port', '0']);
  serving.push(served);
  const { value } = await served.stdout.getReader().read();
  port = Number(
    /:(\d+)/.exec(/https?:\/\/[^\s/]+/.exec(new TextDecoder().decode(value))?.[0].slice(6) ?? '')?.[1] ?? 0,
  );
  let equal = true;
  for (const cut of [0, Math.ceil(turns / 2)]) {
    // Names of one length: prompts name the folder.
    const suffix = cut === 0 ? 'whole' : 'cut';
    const http = await work(`http-${suffix}`, false, cut);
    const socket = await work(`sock-${suffix}`, true, cut);
    // A fraction of a unit is carried from the user's one session to the next.
    const same = Math.abs(http - socket) <= 1;
    equal &&= same;
    console.log(same ? 'bills equal, within the unit that is carried' : `bills differ: ${http} and ${socket}`);
  }
  process.exitCode = equal ? 0 : 1;
} finally {
  for (const child of serving) {
    child.kill('SIGTERM');
    await child.exited;
  }
  line.stop(true);
  await upstream.stop(true);
  rmSync(dir, { recursive: true, force: true });
}
