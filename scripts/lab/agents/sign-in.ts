/**
 * The real programs on a machine that signed in, each way that a program has: Claude Code by a helper, by variables and by its own
 * `/login`, Codex by a command and by the browser, opencode by a plugin. One sign-in, a task of two tools on upstreams of four dialects,
 * the same while the token ends three times, warnings at 76 and 96 percent, the end of a budget, a removed person.
 * Not part of the tests: it needs the registry (or AGENTS_FOLDER), the built executable, tmux, and for Codex's browser a Secret Service
 * (`gnome-keyring-daemon` and `dbus-daemon`). Screens are kept below AGENTS_SCREENS. Some eight minutes.
 * Run: node scripts/launch.mjs lab/agents/sign-in [WAY...] [--short | --renewals]   (without, or with nothing but, the four minutes in which tokens end)
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { agents } from '../../../server/contract/agents.ts';
import { gatewayIn } from '../../run-gateway.ts';
import {
  ask,
  type Certificate,
  certificateIn,
  claudeLogin,
  homeIn,
  lastLine,
  look,
  type Machine,
  startWatch,
  userCode,
} from './machine.ts';
import { asking, homeEnvironment, programsIn, runFor } from './programs.ts';
import { terminalsIn } from './screen.ts';
import { startUpstream } from './upstream.ts';

const executable = resolve(import.meta.dirname, '../../../dist/gateway');
const password = 'password1';
/** An answer takes so long that a token of a minute ends between each two of them. */
const slowMs = 62_000;
/** Four questions, between which a token ends three times. */
const slowReads = 2;
const dialects = ['anthropic-messages', 'openai-responses', 'openai-chat', 'gemini-generate'] as const;
type Dialect = (typeof dialects)[number];
/** Quota of a call, and calls made on the side so that four of a hundred are still a few. */
const price = 0.02;
const filling = 200;
const isShort = process.argv.includes('--short');
const onlyRenewals = process.argv.includes('--renewals');

const dir = mkdtempSync(join(tmpdir(), 'lab-sign-in-'));
const { start, run } = gatewayIn(join(dir, 'data'));
const programs = programsIn(process.env.AGENTS_FOLDER ?? join(dir, 'programs'));
const terminals = terminalsIn(process.env.AGENTS_SCREENS ?? join(dir, 'screens'));

const json = { 'content-type': 'application/json' };

/** A person in the console. */
async function consoleOf(url: string, username: string) {
  const body = JSON.stringify({ username, password });
  const login = await fetch(`${url}/api/user/login`, { method: 'POST', headers: json, body });
  const { data } = (await login.json()) as { data: { id: number } };
  const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const headers = { ...json, cookie, 'new-api-user': String(data.id), 'sec-fetch-site': 'same-origin' };
  return async (method: string, path: string, sent?: unknown) => {
    const more = sent === undefined ? {} : { body: JSON.stringify(sent) };
    const response = await fetch(`${url}${path}`, { method, headers, ...more });
    return (await response.json()) as { success: boolean; data: unknown };
  };
}

type Console = Awaited<ReturnType<typeof consoleOf>>;

interface Signed extends Machine {
  readonly console: Console;
}

interface Way {
  readonly program: 'claude' | 'codex' | 'opencode';
  /** Over TLS at an address of the own network. */
  readonly secure?: true;
  /** What its user does once. */
  signIn(machine: Signed): Promise<void>;
  /** Makes a model the one that it works with. */
  use(machine: Signed, model: string): Promise<void>;
  /** What is typed to see the budget, where there is something to type. */
  readonly budget?: string;
}

async function approve({ console, name }: Signed, code: string): Promise<void> {
  const { success } = await console('POST', '/api/device/decide', { code, approve: true });
  if (!success) throw new Error(`${name}: the code was not approved`);
}

async function gateway({ env, work }: Signed, ...words: string[]): Promise<string> {
  const ended = await runFor([executable, ...words], env, work, 60_000);
  if (ended.code !== 0) throw new Error(`gateway ${words.join(' ')}: ${ended.words}`);
  return ended.words.trim();
}

/** `gateway login` on a terminal, approved as soon as its code is there. */
async function logIn(machine: Signed): Promise<void> {
  const screen = await terminals.open([executable, 'login', machine.url], machine.env, machine.work);
  await screen.until(userCode, 20_000);
  const code = userCode.exec(await screen.text())?.[1];
  await screen.keep(`${machine.name}-login`);
  if (code === undefined) throw new Error('no code');
  await approve(machine, code);
  const ended = await screen.until(/\[ended: 0\]/, 30_000);
  await screen.keep(`${machine.name}-logged-in`);
  await screen.close();
  if (!ended) throw new Error('gateway login did not end');
}

const connected = async (machine: Signed, model: string, ...more: string[]): Promise<void> =>
  void (await gateway(
    machine,
    'connect',
    machine.program,
    '--yes',
    ...(model === '' ? [] : ['--model', model]),
    ...more,
  ));

const claudeSettings = ({ home }: Signed): string => join(home, '.claude', 'settings.json');

/** At its first use Codex says which address it opens in the browser: here its user approves what stands there. */
async function codexBrowser(machine: Signed): Promise<void> {
  const { env, home, work, url, console } = machine;
  await connected(machine, modelOf(machine.name, 'openai-responses'), '--browser', '--url', url);
  const said = join(home, 'said');
  const child = Bun.spawn(
    ['sh', '-c', `"$@" >'${said}' 2>&1 </dev/null`, 'sh', ...machine.command('Say that it works.')],
    {
      env,
      cwd: work,
    },
  );
  let address: string | undefined;
  for (let tries = 0; tries < 200 && address === undefined && child.exitCode === null; tries++) {
    await Bun.sleep(200);
    if (existsSync(said)) address = /http:\S+\/oauth\/authorize\?\S+/.exec(readFileSync(said, 'utf8'))?.[0];
  }
  if (address !== undefined) {
    const request = Object.fromEntries(new URL(address).searchParams);
    const { data } = await console('POST', '/api/device/authorize', { ...request, approve: true });
    await fetch((data as { redirect: string }).redirect);
  }
  const code = await child.exited;
  if (code !== 0) throw new Error(`Codex, signed in: ${readFileSync(said, 'utf8').slice(-900)}`);
}

const ways: Readonly<Record<string, Way>> = {
  helper: {
    program: 'claude',
    async signIn(machine) {
      await logIn(machine);
      const line = { statusLine: { type: 'command', command: 'gateway statusline' } };
      writeFileSync(claudeSettings(machine), JSON.stringify(line));
    },
    use: (machine, model) => connected(machine, model),
  },
  variables: {
    program: 'claude',
    async signIn(machine) {
      await logIn(machine);
      const token = await gateway(machine, 'token', 'print', '--kept', '--url', machine.url);
      Object.assign(machine.env, { CLAUDE_CODE_USE_GATEWAY: '1', CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: '1' });
      Object.assign(machine.env, { ANTHROPIC_BASE_URL: machine.url, ANTHROPIC_AUTH_TOKEN: token });
    },
    use: async ({ env }, model) => void Object.assign(env, { ANTHROPIC_MODEL: model }),
    budget: '/usage',
  },
  login: {
    program: 'claude',
    secure: true,
    signIn: (machine) => claudeLogin(machine, terminals, (code) => approve(machine, code)),
    use: async ({ env }, model) => void Object.assign(env, { ANTHROPIC_MODEL: model }),
    budget: '/usage',
  },
  command: {
    program: 'codex',
    signIn: logIn,
    use: (machine, model) => connected(machine, model),
    budget: '/status',
  },
  browser: {
    program: 'codex',
    signIn: codexBrowser,
    use: (machine, model) => connected(machine, model, '--browser', '--url', machine.url),
    budget: '/status',
  },
  opencode: { program: 'opencode', signIn: logIn, use: (machine, model) => connected(machine, model) },
};

/**
 * A desktop's Secret Service: one bus and one unlocked keyring for all that runs on the machine, because Codex leaves a server of its
 * own running between two of its screens. @returns the variables that lead to it, and what ends it.
 */
async function keyring(home: string, path: string) {
  const bus = Bun.spawn(['dbus-daemon', '--session', '--nofork', '--print-address'], {
    env: { HOME: home, PATH: path },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const { value } = await bus.stdout.getReader().read();
  const env = { DBUS_SESSION_BUS_ADDRESS: new TextDecoder().decode(value).trim() };
  const unlock = ['sh', '-c', 'printf x | gnome-keyring-daemon --unlock --components=secrets >/dev/null'];
  await runFor(unlock, { HOME: home, PATH: path, ...env }, home, 10_000);
  return { env, stop: () => bus.kill() };
}

/** Models that a way is served by, one for each dialect. Claude Code lists names with "claude" in them alone. */
const modelOf = (name: string, dialect: Dialect): string => `claude-${dialect}-${name}`;

async function walk(name: string, way: Way, gatewayUrl: string, tls: Certificate) {
  const { program } = way;
  const agent = agents.find((one) => one.name === program);
  if (agent === undefined || !(await programs.install(agent))) return [name, 'cannot be installed'];
  const { home, work, task } = homeIn(dir, name);
  if (program === 'codex')
    writeFileSync(join(home, '.codex', 'config.toml'), `[projects.${JSON.stringify(work)}]\ntrust_level = "trusted"\n`);
  let reads = 1;
  const upstream = startUpstream(() => ({ ...task, reads }));
  const watch = startWatch(() => gatewayUrl, way.secure === true ? tls : undefined);
  const { DISABLE_TELEMETRY: _telemetry, ...quiet } = homeEnvironment(
    home,
    `${join(executable, '..')}:${programs.path}`,
  );
  const desktop = name === 'browser' ? await keyring(home, quiet.PATH ?? '') : undefined;
  const env = {
    ...quiet,
    ...desktop?.env,
    PATH: `${home}:${quiet.PATH}`,
    // It looks for a new token as seldom as every five minutes, which is no matter for a token of an hour.
    CLAUDE_CODE_API_KEY_HELPER_TTL_MS: '20000',
    GATEWAY_NO_KEYRING: '1',
    GATEWAY_DATA_DIR: join(home, 'none'),
    LANG: 'en_US.UTF-8',
    NODE_EXTRA_CA_CERTS: tls.file,
    NO_PROXY: `${quiet.NO_PROXY},${tls.host}`,
    no_proxy: `${quiet.no_proxy},${tls.host}`,
  };
  const row = [name];
  const say = (what: string, words: string) => console.log(`[${name}] ${what}: ${words}`);
  try {
    await run(['user', 'create', '--username', name, '--password-stdin'], password);
    await run(['user', 'quota', 'set', name, '100000000', '--yes']);
    for (const dialect of dialects) {
      const model = modelOf(name, dialect);
      const add = ['channel', 'add', '--type', 'practice', '--name', model, '--base-url', upstream.url, '--key-stdin'];
      await run([...add, '--models', model, '--dialect', dialect], 'none');
    }
    const person = await consoleOf(gatewayUrl, name);
    const machine: Signed = {
      ...{ name, program, env, home, work, task, url: watch.url, console: person },
      command: (prompt) => [program, ...(asking[program]?.(prompt) ?? [])],
      opened: [program],
    };
    const started = performance.now();
    await way.signIn(machine);
    row.push(`${((performance.now() - started) / 1000).toFixed(1)} s`);

    const plain: string[] = [];
    for (const dialect of onlyRenewals ? dialects.slice(0, 1) : dialects) {
      await way.use(machine, modelOf(name, dialect));
      watch.reset(0);
      const { wrote, code, seconds, words } = await ask(machine);
      plain.push(wrote && code === 0 ? seconds.toFixed(1) : `FAILED ${dialect}`);
      if (!wrote || process.env.AGENTS_LOUD !== undefined) say(dialect, words.slice(-3000));
      for (const line of words.split('\n').filter((one) => /\bERROR\b|\bWARN\b|metadata/i.test(one)))
        say(dialect, line);
    }
    row.push(`${plain.join(', ')} s`);
    // Each request costs the same.
    const token = watch.calls().at(-1)?.token ?? '';
    const hi = JSON.stringify({
      ...{ model: modelOf(name, 'anthropic-messages'), max_tokens: 1 },
      messages: [{ role: 'user', content: 'hi' }],
    });
    const fills = { method: 'POST', headers: { ...json, 'x-api-key': token }, body: hi };
    for (let call = 0; call < (onlyRenewals ? 0 : filling); call++)
      await (await fetch(`${gatewayUrl}/v1/messages`, fills)).text();

    await way.use(machine, modelOf(name, way.program === 'codex' ? 'anthropic-messages' : 'openai-responses'));
    if (!isShort) {
      watch.reset(slowMs);
      reads = slowReads;
      const slow = await ask(machine);
      reads = 1;
      const tokens = new Set(watch.calls().map((one) => one.token)).size;
      const refused = watch.calls().filter(({ status }) => status !== 200).length;
      row.push(
        `${slow.wrote && slow.code === 0 ? 'done' : 'FAILED'} ${slow.seconds.toFixed(0)} s, ${tokens} tokens, ${refused} refused`,
      );
      if (!slow.wrote || process.env.AGENTS_LOUD !== undefined) say('slow', slow.words.slice(-3000));
    } else row.push('');
    if (onlyRenewals) {
      console.log(row.join(' | '));
      return row;
    }

    watch.reset(0);
    const budget = async (share: number) => {
      const { data } = await person('GET', '/api/token/');
      const [key] = data as { id: number; day_used: number }[];
      if (key === undefined) throw new Error('no key');
      const limit = Math.max(1, Math.ceil(key.day_used / share));
      await person('PUT', '/api/token/', { ...key, day_budget: limit, unlimited_quota: true });
    };
    for (const share of [0.76, 0.96]) {
      await budget(share);
      const lines = await look(machine, terminals, `at-${share * 100}`, way.budget);
      say(`at ${share * 100} %`, lines.join(' | ') || '(nothing)');
      row.push(lines.length === 0 ? 'nothing' : 'shown');
    }
    await budget(1);
    watch.reset(0);
    const poor = await ask(machine);
    row.push(`${poor.seconds.toFixed(1)} s, ${watch.calls().length} calls`);
    say('budget used up', `exit ${poor.code}: ${lastLine(poor.words)}`);
    await look(machine, terminals, 'used-up', undefined);
    await budget(0.1);

    let removedAt = 0;
    watch.reset(0, async () => {
      if (removedAt > 0) return;
      await run(['user', 'disable', name, '--yes']);
      removedAt = performance.now() / 1000;
    });
    const removed = await ask(machine);
    const after = watch.calls().filter(({ status }) => status !== 200).length;
    const seconds = (performance.now() / 1000 - removedAt).toFixed(1);
    row.push(`${seconds} s, ${after} calls, ${removed.wrote ? 'SERVED ON' : 'not served'}`);
    say('removed person', `exit ${removed.code}: ${lastLine(removed.words)}`);
    await look(machine, terminals, 'removed', undefined);
  } catch (error) {
    row.push(String(error).slice(0, 800));
    say('asked', watch.seen.map(({ path, status }) => `${path} ${status}`).join(', '));
  } finally {
    desktop?.stop();
    watch.stop();
    await upstream.stop();
  }
  // Whoever ends the run while another program is still at it keeps this.
  console.log(row.join(' | '));
  return row;
}

const selected = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const serving: Bun.Subprocess[] = [];
try {
  if (!(await programs.node())) throw new Error('skipped: npm cannot install node');
  const names = Object.keys(ways).filter((name) => selected.length === 0 || selected.includes(name));
  const prices = Object.fromEntries(names.flatMap((name) => dialects.map((each) => [modelOf(name, each), price])));
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], password);
  await run(['option', 'set', 'agents.sign_in=true', 'agents.token_minutes=1', `ModelPrice=${JSON.stringify(prices)}`]);
  await run(['option', 'set', 'general_setting.trusted_proxies=127.0.0.1']);
  const tls = await certificateIn(dir);
  const served = start(['serve', '--port', '0']);
  serving.push(served);
  const { value } = await served.stdout.getReader().read();
  const url = /https?:\/\/\S+/.exec(new TextDecoder().decode(value))?.[0] ?? '';
  const table: (readonly string[])[] = [
    [
      'way',
      'sign-in',
      `task on ${dialects.join(', ')}`,
      'while tokens end',
      'at 76 %',
      'at 96 %',
      'budget used up',
      'removed person',
    ],
  ];
  await Promise.all(
    names.map(async (name) => {
      const way = ways[name];
      if (way !== undefined) table.push(await walk(name, way, url, tls));
    }),
  );
  const widths = (table[0] ?? []).map((_, at) => Math.max(...table.map((cells) => (cells[at] ?? '').length)));
  for (const cells of table) console.log(cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  '));
} finally {
  for (const child of serving) {
    child.kill('SIGTERM');
    await child.exited;
  }
  await terminals.close();
  rmSync(dir, { recursive: true, force: true });
}
