/**
 * The real Claude Code with this gateway as its own, by variables and by `/login`, and beside them by a plain address: a task of two
 * tools, warnings at 76 and 96 percent, the dollars of `/usage`, the end, a removed person. What its screen says is printed.
 * Not part of the tests: it needs the registry and some minutes.
 * Run: node scripts/launch.mjs lab/agents/claude-gateway [plain|variables|login...]
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agents } from '../../../server/contract/agents.ts';
import { gatewayIn } from '../../run-gateway.ts';
import { homeEnvironment, programsIn, runFor } from './programs.ts';
import { startUpstream } from './upstream.ts';

const password = 'password1';
const model = 'claude-show';
const limitMs = 90_000;
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

const dir = mkdtempSync(join(tmpdir(), 'gateway-claude-'));
const { start, run } = gatewayIn(join(dir, 'data'));
const programs = programsIn(process.env.AGENTS_FOLDER ?? join(dir, 'programs'));
const escapes = new RegExp(
  `${String.fromCharCode(27)}(?:\\[[0-9;?>=]*[A-Za-z~]|\\][^\\u0007]*\\u0007|[()][A-Z0-9]|[=>78])`,
  'g',
);

interface Seen {
  readonly line: string;
  readonly body: string;
  readonly token: string;
}

/** Stands before the gateway and notes what is asked, and how it was answered. */
function startWatch(target: string) {
  const seen: Seen[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const body = await request.text();
      const { method, headers } = request;
      const response = await fetch(`${target}${pathname}${search}`, {
        method,
        headers,
        ...(method === 'GET' || method === 'HEAD' ? {} : { body }),
        decompress: false,
        redirect: 'manual',
      });
      const status = response.headers.get('anthropic-ratelimit-unified-overage-utilization');
      const token = (headers.get('authorization') ?? '').replace(/^Bearer /i, '');
      seen.push({
        token,
        line: `${method} ${pathname} ${response.status}${status === null ? '' : ` used ${status}`}`,
        body,
      });
      return response;
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, seen, stop: () => server.stop(true) };
}

/** The token that Claude Code came with last. */
const tokenIn = (seen: readonly Seen[]): string => seen.findLast(({ token }) => token !== '')?.token ?? '';

const json = { 'content-type': 'application/json' };

async function session(url: string, username: string) {
  const login = await fetch(`${url}/api/user/login`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ username, password }),
  });
  const { data } = (await login.json()) as { data: { id: number } };
  const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const headers = { ...json, cookie, 'new-api-user': String(data.id), 'sec-fetch-site': 'same-origin' };
  return async (method: string, path: string, body?: unknown) =>
    (await (
      await fetch(`${url}${path}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
    ).json()) as {
      success: boolean;
      data: unknown;
    };
}

type Api = Awaited<ReturnType<typeof session>>;

async function agentToken(url: string, api: Api): Promise<string> {
  const form = (fields: Record<string, string>) => ({ method: 'POST', body: new URLSearchParams(fields) });
  const begun = (await (
    await fetch(`${url}/oauth/device_authorization`, form({ client_id: 'gateway', host: 'show' }))
  ).json()) as {
    user_code: string;
    device_code: string;
  };
  await api('POST', '/api/device/decide', { code: begun.user_code, approve: true });
  const redeemed = await fetch(`${url}/oauth/token`, form({ grant_type: deviceGrant, device_code: begun.device_code }));
  const { refresh_token: refresh } = (await redeemed.json()) as { refresh_token: string };
  const kept = await fetch(
    `${url}/oauth/token`,
    form({ grant_type: 'refresh_token', refresh_token: refresh, kept: 'true' }),
  );
  return ((await kept.json()) as { access_token: string }).access_token;
}

const plainWords = (screen: string): string =>
  screen
    .replace(escapes, ' ')
    .replace(/[^\S\n]+/g, ' ')
    .replace(/[─│╭╮╰╯▐▛▜▝▘█▌▀▄]+/g, '');
const linesWith = (screen: string, pattern: RegExp): string[] => [
  ...new Set(
    plainWords(screen)
      .split(/[\r\n]+/)
      .map((line) => line.trim())
      .filter((line) => pattern.test(line)),
  ),
];

type Terminal = { write(text: string): unknown; close?(): unknown };

/** On a terminal, as a person does it. @param keys what is typed, each after its milliseconds. */
async function onTerminal(
  command: readonly string[],
  env: Record<string, string | undefined>,
  cwd: string,
  keys: readonly (readonly [afterMs: number, text: string])[],
  until?: (screen: string) => Promise<void> | void,
): Promise<string> {
  let screen = '';
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...env, TERM: 'xterm-256color' },
    terminal: { cols: 140, rows: 50, data: (_terminal, bytes) => (screen += new TextDecoder().decode(bytes)) },
  });
  const { terminal } = child as unknown as { terminal: Terminal };
  for (const [afterMs, text] of keys) {
    const end = performance.now() + afterMs;
    while (performance.now() < end && child.exitCode === null) {
      await Bun.sleep(200);
      await until?.(screen);
    }
    if (child.exitCode === null) terminal.write(text);
  }
  const ended = await Promise.race([child.exited.then(() => true), Bun.sleep(5000).then(() => false)]);
  if (!ended) child.kill('SIGKILL');
  return screen;
}

async function walk(way: string, gateway: string): Promise<void> {
  const [home, work] = [join(dir, way, 'home'), join(dir, way, 'work')];
  for (const folder of [join(home, '.claude'), work]) mkdirSync(folder, { recursive: true });
  const task = { source: join(work, 'source.txt'), target: join(work, 'target.txt') };
  const upstream = startUpstream(() => task);
  const watch = startWatch(gateway);
  const say = (what: string, words: readonly string[] | string) =>
    console.log(`[${way}] ${what}: ${typeof words === 'string' ? words : words.join(' | ') || '(nothing)'}`);
  try {
    await run(['user', 'create', '--username', way, '--password-stdin'], password);
    await run(['user', 'quota', 'set', way, '100000000', '--yes']);
    const name = `up-${way}`;
    await run(
      [
        'channel',
        'add',
        '--type',
        'practice',
        '--name',
        name,
        '--base-url',
        upstream.url,
        '--key-stdin',
        '--models',
        model,
        '--dialect',
        'anthropic-messages',
      ],
      'none',
    );
    const api = await session(gateway, way);
    const token = way === 'login' ? '' : await agentToken(gateway, api);
    writeFileSync(
      join(home, '.claude.json'),
      JSON.stringify({
        hasCompletedOnboarding: true,
        theme: 'dark',
        projects: { [work]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
      }),
    );
    const settings = way === 'login' ? { forceLoginMethod: 'gateway', forceLoginGatewayUrl: watch.url } : {};
    writeFileSync(join(home, '.claude', 'settings.json'), JSON.stringify(settings));
    const { DISABLE_TELEMETRY: _telemetry, ...quiet } = homeEnvironment(home, programs.path);
    const env = {
      ...quiet,
      ...(way === 'login' ? {} : { ANTHROPIC_BASE_URL: watch.url, ANTHROPIC_AUTH_TOKEN: token }),
      ...(way === 'variables' ? { CLAUDE_CODE_USE_GATEWAY: '1', CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: '1' } : {}),
      ANTHROPIC_MODEL: model,
    };
    if (way === 'login') {
      let approved = '';
      const screen = await onTerminal(
        ['claude'],
        env,
        work,
        [
          [8000, '/login'],
          [1500, '\r'],
          [5000, '\r'],
          // It asks whether the host is to be trusted, and No is what Enter means.
          [6000, '\u001b[A'],
          [700, '\r'],
          [25_000, '\r'],
          [6000, '\u0003'],
          [300, '\u0003'],
        ],
        async (shown) => {
          const code = /([BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4})/.exec(plainWords(shown))?.[1];
          if (code === undefined || code === approved) return;
          approved = code;
          const { success } = await api('POST', '/api/device/decide', { code, approve: true });
          say('approved', `${code} ${success}`);
        },
      );
      say('sign-in', linesWith(screen, /gateway|code|trust|sign|log/i).slice(-12));
      if (process.env.AGENTS_LOUD !== undefined) console.log(plainWords(screen).slice(-6000));
    }
    const ask = async (what: string) => {
      const from = watch.seen.length;
      const secret = `secret-${String.fromCharCode(...Array.from({ length: 8 }, () => 97 + Math.floor(Math.random() * 26)))}`;
      writeFileSync(task.source, `${secret}\n`);
      rmSync(task.target, { force: true });
      const prompt = `Read the file ${task.source} and write what is in it to ${task.target}.`;
      const { code, seconds, words } = await runFor(
        ['claude', '-p', prompt, '--allowedTools', 'Read', 'Write'],
        env,
        work,
        limitMs,
      );
      const wrote = existsSync(task.target) && readFileSync(task.target, 'utf8').includes(secret);
      const calls = watch.seen.slice(from).map(({ line }) => line);
      const messages = calls.filter((line) => line.includes('/v1/messages '));
      say(
        what,
        `${wrote ? 'done' : 'not done'}, exit ${code}, ${seconds.toFixed(1)} s, ${messages.length} calls: ${words.trim().split('\n').at(-1)?.slice(0, 220)}`,
      );
      say(`${what}, asked`, [...new Set(calls)]);
    };
    await ask('task');
    // Each request costs the same: so many that four of a hundred are still a few.
    const spend = token === '' ? tokenIn(watch.seen) : token;
    const body = JSON.stringify({ model, max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] });
    for (let call = 0; call < 100; call++)
      await (
        await fetch(`${gateway}/v1/messages`, { method: 'POST', headers: { ...json, 'x-api-key': spend }, body })
      ).text();
    const budget = async (share: number) => {
      const { data } = await api('GET', '/api/token/');
      const [key] = data as { id: number; day_used: number }[];
      if (key === undefined) throw new Error('no key');
      const limit = Math.max(1, Math.ceil(key.day_used / share));
      await api('PUT', '/api/token/', { ...key, day_budget: limit, unlimited_quota: true });
      return `${key.day_used} of ${limit}`;
    };
    for (const share of [0.76, 0.96]) {
      const set = await budget(share);
      const screen = await onTerminal(['claude', 'say hello'], env, work, [
        [12_000, '/usage'],
        [1500, '\r'],
        [5000, '\u001b'],
        [500, '\u0003'],
        [300, '\u0003'],
      ]);
      say(`at ${share * 100} % (${set})`, linesWith(screen, /\d+ ?%|usage credits|spent|reset|\$\d/i).slice(0, 14));
      if (process.env.AGENTS_LOUD !== undefined) console.log(plainWords(screen).slice(-4000));
    }
    await budget(1);
    await ask('budget used up');
    await budget(0.1);
    await run(['user', 'disable', way, '--yes']);
    await ask('removed person');
    say('all that was asked', [...new Set(watch.seen.map(({ line }) => line.replace(/ used .*/, '')))]);
  } catch (error) {
    say('failed', String(error).slice(0, 400));
  } finally {
    watch.stop();
    await upstream.stop();
  }
}

const selected = process.argv.slice(2);
const serving: Bun.Subprocess[] = [];
try {
  const claude = agents.find(({ name }) => name === 'claude');
  if (!(await programs.node()) || claude === undefined || !(await programs.install(claude)))
    throw new Error('skipped: npm cannot install claude');
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], password);
  await run(['option', 'set', 'agents.sign_in=true', `ModelPrice={"${model}":0.02}`]);
  const served = start(['serve', '--port', '0']);
  serving.push(served);
  const { value } = await served.stdout.getReader().read();
  const gateway = /https?:\/\/\S+/.exec(new TextDecoder().decode(value))?.[0] ?? '';
  for (const way of ['plain', 'variables', 'login'])
    if (selected.length === 0 || selected.includes(way)) await walk(way, gateway);
} finally {
  for (const child of serving) {
    child.kill('SIGTERM');
    await child.exited;
  }
  rmSync(dir, { recursive: true, force: true });
}
