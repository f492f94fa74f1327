/**
 * The real programs on a machine that signed in: `gateway login` on a terminal, `gateway connect`, then a task of two tools on
 * upstreams of four dialects, and while the token ends again and again; a person who is removed meanwhile, and one whose balance is
 * used up. Not part of the tests: it needs the registry, the built executable and five minutes.
 * Run: node scripts/launch.mjs lab/agents/sign-in [NAME...]
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { agents } from '../../../server/contract/agents.ts';
import { gatewayIn } from '../../run-gateway.ts';
import { asking, type Ended, homeEnvironment, programsIn, runFor } from './programs.ts';
import { startUpstream, type Task } from './upstream.ts';

const executable = resolve(import.meta.dirname, '../../../dist/gateway');
const password = 'password1';
/** An answer takes so long that a token of a minute ends within each two of them. */
const slowMs = 62_000;
const limitMs = 400_000;
const dialects = ['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini-generate'] as const;
/** What each is served by while its token ends: another dialect than its own. */
const upstreamOf: Readonly<Record<string, string>> = {
  claude: 'openai-responses',
  codex: 'anthropic-messages',
  opencode: 'gemini-generate',
};
/** They look for a new token as seldom as every five minutes, which is no matter for a token of an hour. */
const shortTokens = { CLAUDE_CODE_API_KEY_HELPER_TTL_MS: '20000' };

const dir = mkdtempSync(join(tmpdir(), 'gateway-sign-in-'));
const dataDir = join(dir, 'data');
const { start, run } = gatewayIn(dataDir);
const programs = programsIn(process.env.AGENTS_FOLDER ?? join(dir, 'programs'));

/** Stands before the gateway: counts what a program asks, keeps answers back, and notes what is refused. */
function startWatch(target: string) {
  let delayMs = 0;
  let begun = performance.now();
  const seen: { at: number; status: number; token: string }[] = [];
  let onAnswer: () => Promise<void> = async () => undefined;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const { method, headers } = request;
      const response = await fetch(`${target}${pathname}${search}`, {
        method,
        headers,
        body: request.body,
        decompress: false,
      });
      if (method !== 'POST' || !/\/(messages|responses|completions)$/.test(pathname)) return response;
      const token = (headers.get('authorization') ?? headers.get('x-api-key') ?? '').slice(-12);
      seen.push({ at: (performance.now() - begun) / 1000, status: response.status, token });
      if (response.status === 200) await onAnswer();
      if (delayMs > 0 && response.status === 200) await Bun.sleep(delayMs);
      return response;
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    reset(delay: number, after: () => Promise<void> = async () => undefined) {
      delayMs = delay;
      onAnswer = after;
      begun = performance.now();
      seen.length = 0;
    },
    seen,
    stop: () => server.stop(true),
  };
}

async function approve(url: string, username: string, code: string): Promise<void> {
  const json = { 'content-type': 'application/json' };
  const login = await fetch(`${url}/api/user/login`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ username, password }),
  });
  const { data } = (await login.json()) as { data: { id: number } };
  const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const headers = { ...json, cookie, 'new-api-user': String(data.id) };
  const body = JSON.stringify({ code, approve: true });
  const decided = await fetch(`${url}/api/device/decide`, { method: 'POST', headers, body });
  const { success } = (await decided.json()) as { success: boolean };
  if (!success) throw new Error(`${username}: the code was not approved`);
}

/** On a terminal, as a person does it. @returns seconds from the command to its end. */
async function signIn(env: Record<string, string | undefined>, url: string, username: string): Promise<number> {
  const started = performance.now();
  let screen = '';
  const child = Bun.spawn([executable, 'login', url], {
    env: { ...env, TERM: 'xterm-256color' },
    terminal: { cols: 100, rows: 30, data: (_terminal, bytes) => (screen += new TextDecoder().decode(bytes)) },
  });
  let code: string | undefined;
  while (code === undefined && child.exitCode === null) {
    await Bun.sleep(50);
    code = /user_code=([A-Z]{4}-[A-Z]{4})/.exec(screen)?.[1];
  }
  if (code === undefined) throw new Error(`no code: ${screen}`);
  await approve(url, username, code);
  if ((await child.exited) !== 0) throw new Error(screen);
  return (performance.now() - started) / 1000;
}

interface Machine {
  readonly name: string;
  readonly env: Record<string, string | undefined>;
  readonly work: string;
  readonly task: Task;
}

/** @returns what the program said, and whether it did what it was told. */
async function ask({ name, env, work, task }: Machine): Promise<Ended & { readonly wrote: boolean }> {
  const secret = `secret-${String.fromCharCode(...Array.from({ length: 8 }, () => 97 + Math.floor(Math.random() * 26)))}`;
  writeFileSync(task.source, `${secret}\n`);
  rmSync(task.target, { force: true });
  const prompt = `Read the file ${task.source} and write what is in it to ${task.target}.`;
  const ended = await runFor([name, ...(asking[name]?.(prompt) ?? [])], env, work, limitMs);
  return { ...ended, wrote: existsSync(task.target) && readFileSync(task.target, 'utf8').includes(secret) };
}

const escapes = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[A-Za-z]`, 'g');
const lastLine = (words: string): string => {
  const lines = words
    .replace(escapes, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return (
    lines.findLast((line) => /error|signed out|login|quota|limit|40[139]|429/i.test(line)) ??
    lines.at(-1) ??
    ''
  ).slice(0, 200);
};

async function walk(name: string, gateway: string): Promise<readonly string[]> {
  const agent = agents.find((one) => one.name === name);
  if (agent === undefined || !(await programs.install(agent))) return [name, 'cannot be installed'];
  const [home, work] = [join(dir, name, 'home'), join(dir, name, 'work')];
  for (const folder of [home, work]) mkdirSync(folder, { recursive: true });
  const task = { source: join(work, 'source.txt'), target: join(work, 'target.txt') };
  const upstream = startUpstream(() => task);
  const watch = startWatch(gateway);
  const env = {
    ...homeEnvironment(home, `${join(executable, '..')}:${programs.path}`),
    ...shortTokens,
    GATEWAY_NO_KEYRING: '1',
    GATEWAY_DATA_DIR: join(home, 'none'),
    LANG: 'en_US.UTF-8',
  };
  const machine = { name, env, work, task };
  const modelOf = (dialect: string) => `${dialect}-of-${name}`;
  const row = [name];
  try {
    await run(['user', 'create', '--username', name, '--password-stdin'], password);
    await run(['user', 'quota', 'set', name, '100000000', '--yes']);
    for (const dialect of dialects) {
      const model = modelOf(dialect);
      const add = ['channel', 'add', '--type', 'practice', '--name', model, '--base-url', upstream.url, '--key-stdin'];
      await run([...add, '--models', model, '--dialect', dialect], 'none');
    }
    row.push(`${(await signIn(env, watch.url, name)).toFixed(1)} s`);
    const connect = async (model: string) => {
      const connected = await runFor([executable, 'connect', name, '--yes', '--model', model], env, work, 30_000);
      if (connected.code !== 0) throw new Error(connected.words);
    };
    const plain: string[] = [];
    for (const dialect of dialects) {
      await connect(modelOf(dialect));
      watch.reset(0);
      const { wrote, code, seconds, words } = await ask(machine);
      plain.push(wrote && code === 0 ? seconds.toFixed(1) : `FAILED ${dialect}`);
      if (!wrote || process.env.AGENTS_LOUD !== undefined)
        console.log(`--- ${name}, ${dialect}\n${words.slice(-3000)}`);
      const errors = words.split('\n').filter((line) => /\bERROR\b|metadata/i.test(line));
      if (errors.length > 0) console.log(`${name}, ${dialect}, lines with ERROR or metadata:\n${errors.join('\n')}`);
    }
    row.push(`${plain.join(', ')} s`);
    await connect(modelOf(upstreamOf[name] ?? 'openai-chat'));

    watch.reset(slowMs);
    const slow = await ask(machine);
    const tokens = new Set(watch.seen.map(({ token }) => token)).size;
    const refused = watch.seen.filter(({ status }) => status !== 200).length;
    row.push(
      `${slow.wrote && slow.code === 0 ? 'done' : 'FAILED'} ${slow.seconds.toFixed(0)} s, ${tokens} tokens, ${refused} refused`,
    );
    if (!slow.wrote || process.env.AGENTS_LOUD !== undefined)
      console.log(`--- ${name}, slow\n${slow.words.slice(-3000)}`);

    await run(['user', 'quota', 'set', name, '0', '--yes']);
    watch.reset(0);
    const poor = await ask(machine);
    row.push(`${poor.seconds.toFixed(1)} s, ${watch.seen.length} calls`);
    console.log(`${name}, balance used up: exit ${poor.code}: ${lastLine(poor.words)}`);
    await run(['user', 'quota', 'set', name, '100000000', '--yes']);

    let removedAt = 0;
    watch.reset(0, async () => {
      if (removedAt > 0) return;
      await run(['user', 'disable', name, '--yes']);
      removedAt = performance.now() / 1000;
    });
    const removed = await ask(machine);
    const served = watch.seen.filter(({ status }) => status === 200).length;
    row.push(
      `${(performance.now() / 1000 - removedAt).toFixed(1)} s, ${watch.seen.length - served} calls, ${removed.wrote ? 'SERVED ON' : 'not served'}`,
    );
    console.log(`${name}, removed person: exit ${removed.code}: ${lastLine(removed.words)}`);
    const print = await runFor([executable, 'token', 'print', '--for', name], env, work, 30_000);
    row.push(`exit ${print.code}: ${print.words.trim()}`);
  } catch (error) {
    row.push(String(error).slice(0, 400));
  } finally {
    watch.stop();
    await upstream.stop();
  }
  // Whoever ends the run while another program is still at it keeps this.
  console.log(row.join(' | '));
  return row;
}

const selected = process.argv.slice(2);
const serving: Bun.Subprocess[] = [];
try {
  if (!(await programs.node())) throw new Error('skipped: npm cannot install node');
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], password);
  await run(['option', 'set', 'agents.sign_in=true', 'agents.token_minutes=1']);
  const served = start(['serve', '--port', '0']);
  serving.push(served);
  const { value } = await served.stdout.getReader().read();
  const gateway = /https?:\/\/\S+/.exec(new TextDecoder().decode(value))?.[0] ?? '';
  const names = Object.keys(upstreamOf).filter((name) => selected.length === 0 || selected.includes(name));
  const table: (readonly string[])[] = [
    [
      'program',
      'login',
      `task on ${dialects.join(', ')}`,
      'while tokens end',
      'balance used up',
      'removed person',
      'token print after it',
    ],
    ...(await Promise.all(names.map((name) => walk(name, gateway)))),
  ];
  const widths = (table[0] ?? []).map((_, at) => Math.max(...table.map((cells) => (cells[at] ?? '').length)));
  for (const cells of table) console.log(cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  '));
} finally {
  for (const child of serving) {
    child.kill('SIGTERM');
    await child.exited;
  }
  rmSync(dir, { recursive: true, force: true });
}
