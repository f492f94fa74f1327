/** What commands say that work on the files of this machine, in a pipe and at a terminal, against texts that a person has read: tests/cli/outlines/local. */

import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { container, launchd, systemd } from '../../cli/commands/site/service.ts';
import { complete } from '../../cli/completion.ts';
import { languageOf } from '../../cli/context.ts';
import { printError } from '../../cli/errors.ts';
import { isAmount, readable } from '../../cli/parts/details.ts';
import type { Money } from '../../cli/parts/money.ts';
import { withProgress } from '../../cli/parts/progress.ts';
import { asHelpFlag, createProgram, isHelp, trailingGlobals } from '../../cli/program.ts';
import { newestSqlite } from '../../db/schema/migrations.ts';
import type { Language } from '../../server/contract/enum.ts';
import { version } from '../../server/embedded/version.ts';
import { answered } from '../support/answered.ts';
import { done, filled, now } from '../support/answers.ts';
import { withCheapPasswords } from '../support/cheap-passwords.ts';
import { expectGolden, fixTimeZone } from '../support/golden-file.ts';

const mostLines = 120;
let dir = '';
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-local-'));
  fixTimeZone();
  vi.useFakeTimers({ now: now * 1000, toFake: ['Date'] });
});
afterEach(() => vi.unstubAllGlobals());
afterAll(() => {
  vi.useRealTimers();
  rmSync(dir, { recursive: true });
});

const file = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};

/** What every run makes anew. */
const steady = (text: string): string =>
  text
    .replaceAll(dir, 'DIR')
    .replaceAll(newestSqlite, 'SCHEMA')
    .replaceAll(version, 'VERSION')
    .replace(/\bsk-[A-Za-z0-9]{48}\b/g, 'sk-KEY')
    .replace(/\b[0-9a-f]{64}\b/g, 'HASH')
    .replace(/\d+(\.\d+)?( GB free)|剩余 \d+(\.\d+)? GB/g, 'N')
    .replace(/("?\w*(?:bytes|before|after)"?:?\s*)\d{4,}/g, '$1N')
    .replace(/\t\d{5,7}\t/g, '\tN\t')
    .replace(/\b\d{5,} -> \d{5,}/g, 'N -> N')
    .replace(/ {2,}\d{6,} {2}/g, '  N  ')
    .replace(/\b(pid|process|进程) \d+/g, '$1 N')
    .replaceAll('\u001b', '^');

interface Run {
  readonly language?: Language;
  readonly isTerminal?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly data?: string;
  readonly debug?: boolean;
}

async function outputOf(
  args: readonly string[],
  { language = 'en', isTerminal = false, env = {}, data = 'data' }: Run,
) {
  const lines: string[] = [];
  let rest = '';
  const said = (mark: string) => (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    // How wide a column is depends on where the folder lies.
    for (const line of parts)
      lines.push(`${mark}${isTerminal ? steady(line).replace(/ {2,}/g, '  ') : steady(line)}`.trimEnd());
    return true;
  };
  const stdin = Object.assign(Readable.from([]), { isTTY: false }) as unknown as NodeJS.ReadStream;
  const out = { write: said('  | ') };
  const streams = { out, err: { write: said('  ! ') }, outIsTty: isTerminal, columns: 400, color: isTerminal };
  const words = trailingGlobals(asHelpFlag(args));
  const place = data === '' ? [] : ['--lang', language, '--data-dir', join(dir, data)];
  try {
    const program = createProgram({ env: { HOME: dir, ...env }, streams, stdin, language }, words);
    const ended = withCheapPasswords(() => program.parseAsync([...words, ...place], { from: 'user' }));
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error('does not end')), 10_000));
    await Promise.race([ended, late]);
  } catch (error) {
    const how = { json: args.includes('--json'), debug: false, color: isTerminal };
    if (!isHelp(error)) lines.push(`  ends with ${printError(error, language, how, said('  ! '))}`);
  }
  if (rest !== '') lines.push(`  | ${steady(rest)}`);
  // Of long texts the beginning is enough.
  return lines.length > mostLines ? [...lines.slice(0, mostLines), '  …'] : lines;
}

/** Each command with what it says; a comment says how it is run. */
async function course(name: string, runs: readonly (readonly [line: string, run?: Run])[]): Promise<void> {
  const lines: string[] = [];
  for (const [line, run = {}] of runs) {
    const how = [
      ...(run.isTerminal === true ? ['at a terminal'] : []),
      ...(run.language === 'zh' ? ['in Chinese'] : []),
      ...Object.entries(run.env ?? {}).map(([key, value]) => `${key}=${value}`),
      ...(run.data === undefined ? [] : [run.data === '' ? 'no folder named' : `in ${run.data}`]),
    ];
    lines.push(steady(`$ gateway ${line}${how.length === 0 ? '' : `   # ${how.join(', ')}`}`));
    lines.push(
      ...(await outputOf(
        line.split(' ').map((word) => word.replaceAll('DIR', dir)),
        run,
      )),
    );
  }
  expectGolden(`tests/cli/outlines/local/${name}.txt`, lines);
  expect(lines.length).toBeGreaterThan(runs.length);
}
const zh = { language: 'zh' } as const;
const terminal = { isTerminal: true } as const;
const elsewhere = { env: { GATEWAY_URL: 'https://other.example' } };
const signedIn = { env: { ...elsewhere.env, GATEWAY_TOKEN: 'token' } };

test('a site from its first command on', async () => {
  file('pw', 'password1\n');
  file('key', 'sk-upstream\n');
  file('empty', '\n');
  await course('site', [
    ['doctor'],
    ['db path'],
    ['db status'],
    ['setup'],
    ['setup --mode some --username root --password-file DIR/pw'],
    ['setup --username root --password-file DIR/empty'],
    ['setup --username root --password-file DIR/pw --channel-type practice --token-name first'],
    [
      'setup --username root --password-file DIR/pw --channel-type practice --channel-base-url http://127.0.0.1:9 --channel-key-file DIR/key --token-name first',
    ],
    ['setup --username root --password-file DIR/pw', zh],
    ['setup --username root --password-file DIR/pw --json'],
    ['doctor'],
    ['doctor', { ...zh, ...terminal }],
    ['doctor --json'],
    ['doctor -q'],
    ['status'],
    ['db path', elsewhere],
    ['db path -q'],
    ['db status', zh],
    ['db status --json'],
    ['db check'],
    ['db check --json'],
    ['db vacuum'],
    ['db migrate'],
    ['db move'],
    ['db move mysql://x'],
    ['ledger verify'],
    ['ledger verify', { ...zh, ...terminal }],
    ['ledger verify --json'],
    ['audit verify'],
    ['audit verify', zh],
    ['audit list'],
    ['env'],
    ['env --for anthropic'],
    ['channel test 1 --model none'],
    ['logs prune --before 90d --yes'],
    ['user list --columns id,username,role'],
  ]);
});

test('secrets and backups', async () => {
  file('next', 'a new master key that is long enough\n');
  await course('secrets', [
    ['backup list'],
    ['backup create'],
    ['backup create DIR/own.backup --json'],
    ['backup create', elsewhere],
    ['backup list'],
    ['backup list', zh],
    ['backup list -q'],
    ['backup status'],
    ['backup run'],
    ['backup restore nothing'],
    ['backup restore DIR/own.backup'],
    ['backup restore DIR/own.backup --yes'],
    ['backup restore DIR/own.backup --yes --json', zh],
    ['backup restore DIR/pw --yes'],
    ['backup restore DIR/own.backup --yes', elsewhere],
    ['secrets rotate'],
    ['secrets rotate --yes', elsewhere],
    ['secrets rotate --yes', zh],
    ['secrets rotate --yes --keep-old'],
    ['secrets rotate --yes --key-file DIR/next --json'],
    ['secrets rotate --yes', { env: { GATEWAY_SECRET_KEY: 'a new master key that is long enough' } }],
    ['secrets rotate --yes -q'],
    ['db check', { env: { GATEWAY_SECRET_KEY: 'another master key, long enough too' } }],
    ['doctor'],
  ]);
});

test('doctor mends who may read', async () => {
  chmodSync(join(dir, 'data', 'secret.key'), 0o644);
  await course('doctor', [['doctor'], ['doctor', zh], ['doctor --fix'], ['doctor -q']]);
});

test('doctor about a site elsewhere', async () => {
  const answers: Record<string, unknown> = { ...done, ...filled, 'ratio.unset': [] };
  vi.stubGlobal('fetch', async (address: string, init: RequestInit = {}) =>
    answered(address, init, { answers, onCall: () => undefined }),
  );
  await course('doctor-elsewhere', [
    ['doctor', signedIn],
    ['doctor', { ...signedIn, ...zh }],
    ['doctor --silence 0', elsewhere],
    ['doctor --silence 0', { ...elsewhere, ...zh }],
    ['doctor --proxy apache', elsewhere],
    ['doctor --outside'],
  ]);
  const few = (filled['traffic.channels'] as { state: string }[]).filter(({ state }) => state !== 'failing');
  Object.assign(answers, {
    'traffic.channels': few,
    'channel.list': (filled['channel.list'] as { status: number }[]).map((one) => ({ ...one, other_info: '' })),
    'backup.status': {
      ...(filled['backup.status'] as object),
      missing: 'no copy for 30 h',
      error: 'the bucket is gone',
    },
    'status.overview': { storage: 'disk is full', settlements_waiting: 3, late_ends: 1, relays: 2 },
    'ratio.unset': ['no-such-model'],
    'token.bound': [{ id: 12, name: 'ci', user_id: 1, others: [22], enabled: [22] }],
  });
  await course('doctor-warns', [
    ['doctor', signedIn],
    ['doctor', { ...signedIn, ...zh }],
  ]);
  Object.assign(answers, {
    'channel.list': [],
    'token.bound': [],
    'node.list': { several: false, nodes: [] },
    'status.overview': { storage: 'ok', settlements_refused: 1 },
    'backup.status': { ...(filled['backup.status'] as object), every_hours: 0, made_at: 0, error: 'no credentials' },
  });
  await course('doctor-empty', [['doctor --json', signedIn]]);
  vi.stubGlobal('fetch', async () => {
    throw new Error('nobody is there');
  });
  await course('doctor-gone', [
    ['doctor', signedIn],
    ['doctor --json', signedIn],
    ['status', signedIn],
  ]);
});

test('a question through the gateway', async () => {
  const asked: string[] = [];
  let answer = () => new Response('');
  vi.stubGlobal('fetch', async (address: string, { method = 'GET', body = '', headers = {} }: RequestInit = {}) => {
    asked.push(steady(`${method} ${address} ${String(body)} ${JSON.stringify(headers)}`));
    return address.endsWith('/models') ? Response.json({ data: [{ id: 'first-model' }] }) : answer();
  });
  const frame = (delta: object) => `data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`;
  const streamed = () =>
    new Response(
      `${frame({ role: 'assistant' })}${frame({ content: 'Hel' })}${frame({ content: 'lo' })}data: [DONE]\n\n`,
    );
  answer = streamed;
  await course('chat', [
    ['chat how are you'],
    ['chat how are you --model own --json'],
    ['chat hi --raw --token first'],
    ['chat hi --token nobody'],
    ['chat'],
  ]);
  answer = () => Response.json({ error: { message: 'no quota' } }, { status: 402 });
  await course('chat-refused', [['chat hi'], ['chat hi', zh]]);
  answer = () => new Response('<html>', { status: 502 });
  await course('chat-behind', [['chat hi']]);
  answer = () => new Response(`${frame({ content: 'Hel' })}data: {"error":{"message":"gone"}}\n\n`);
  await course('chat-broken', [['chat hi']]);
  answer = () => {
    throw new Error('refused');
  };
  await course('chat-gone', [['chat hi --model own']]);
  expectGolden('tests/cli/outlines/local/chat-asks.txt', asked);
});

test('files that keep it running', async () => {
  const lines: string[] = [];
  const say = (_zh: string, en: string) => en;
  for (const [name, unit] of Object.entries({
    plain: systemd({ program: '/opt/gateway', dataDir: '/var/lib/gateway', isSet: false, port: '3000', say }),
    'of a package': systemd({
      program: '/usr/bin/gateway',
      dataDir: '/var/lib/gateway',
      isSet: false,
      port: '1024',
      user: 'gateway',
      say,
    }),
    'port of the system': systemd({
      program: '/home/me/my gateway',
      dataDir: '/root/a "b" $c %d\\',
      isSet: true,
      port: '1023',
      say,
    }),
    'from the sources': systemd({
      program: '',
      dataDir: '/srv/gw',
      isSet: true,
      port: '80',
      say: (chinese) => chinese,
    }),
    'a container': container({ program: '/opt/gateway', dataDir: '/data', isSet: true, port: '8080', say }),
    launchd: launchd({ program: '/opt/<a>&b', dataDir: '/data', isSet: true, port: '8080', say }),
    'launchd from the sources': launchd({ program: '', dataDir: '/data', isSet: false, port: '8080', say }),
  }))
    lines.push(
      `# ${name}`,
      ...unit.file.replace(/User=\d+/, 'User=N').split('\n'),
      ...unit.notes.map((one) => `! ${one}`),
    );
  expectGolden('tests/cli/outlines/local/units.txt', lines);
  const answers = (status: number, body: string) => vi.stubGlobal('fetch', async () => new Response(body, { status }));
  await course('service', [
    ['service print', { data: '' }],
    ['service print container --port 8080 --json'],
    ['service print launchd', { env: { GATEWAY_PORT: '9000' } }],
    ['service print other'],
    ['service print --port 65536'],
    ['service print --port x'],
  ]);
  answers(200, '{"ok":true}');
  await course('service-ready', [['service check'], ['service check --json', zh]]);
  answers(503, '{"ok":false,"hindrances":["storage","ledger"]}');
  await course('service-waits', [['service check']]);
  answers(503, '{"ok":false,"hindrances":["leases"]}');
  await course('service-bare', [['service check'], ['service check', zh]]);
  answers(502, 'bad gateway');
  await course('service-behind', [['service check']]);
  vi.stubGlobal('fetch', async () => {
    throw Object.assign(new Error('no'), { code: 'ECONNREFUSED' });
  });
  await course('service-gone', [['service check', { env: { GATEWAY_URL: 'http://0.0.0.0:3000' } }]]);
});

test('an upstream to practise with', async () => {
  const ask = async (url: string, key: string, path: string, body: object) => {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text().catch(() => 'is cut') };
  };
  const chat = {
    model: 'practice-small',
    messages: [{ role: 'user', content: 'hi' }],
    stream: true,
    stream_options: { include_usage: true },
  };
  /** Pieces of its answer, and whether it tells its usage. */
  const played = async (args: readonly string[], use: (url: string, key: string) => Promise<void>) => {
    const lines: string[] = [];
    const out = { write: (text: string) => lines.push(...text.trim().split('\n')) };
    const streams = { out, err: { write: () => true }, outIsTty: false, columns: 80 };
    const words = ['mock-upstream', '--port', '0', ...args];
    const program = createProgram({ env: {}, streams, stdin: process.stdin, language: 'en' }, words);
    const ended = program.parseAsync(words, { from: 'user' });
    await vi.waitUntil(() => lines.length > (args.includes('--as') ? 1 : 0));
    await use(lines[0] ?? '', lines[1] ?? 'k').finally(() => process.emit('SIGTERM', 'SIGTERM'));
    await ended;
  };
  const pieces: number[] = [];
  for (const args of [[], ['--chunks', '3'], ['--no-usage'], ['--error-rate', '1'], ['--cut-after', '2']])
    await played(args, async (url, key) => {
      const { status, text } = await ask(url, key, '/v1/chat/completions', chat);
      pieces.push(status === 200 ? text.split('\n').filter((line) => line.includes('"content"')).length : -status);
      pieces.push(text.includes('"usage":{') ? 1 : 0);
    });
  expect(pieces).toEqual([9, 1, 4, 1, 9, 0, -500, 0, 0, 0]);
  await played(['--latency', '150', '--tokens-per-second', '100', '--chunks', '5'], async (url, key) => {
    const from = performance.now();
    await ask(url, key, '/v1/chat/completions', chat);
    expect(performance.now() - from).toBeGreaterThan(180);
  });
  await played(['--as', 'openai', '--strict'], async (url, key) => {
    expect((await ask(url, 'another', '/v1/chat/completions', chat)).status).toBe(401);
    expect(key.length).toBeGreaterThan(8);
  });
  await course('mock-upstream', [
    ['mock-upstream --port -1'],
    ['mock-upstream --chunks many'],
    ['mock-upstream --latency -5'],
    ['mock-upstream --cut-after x'],
    ['mock-upstream --error-rate x', zh],
    ['mock-upstream --tokens-per-second x'],
    ['mock-upstream --strict'],
    ['mock-upstream --as nobody'],
  ]);
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  expect(await outputOf(['mock-upstream', '--port', String(port)], {})).toContain('  ends with 6');
  other.close();
});

test('help, topics, completions and what the shell is told', async () => {
  await course('help', [
    ['--help', { data: '' }],
    ['--help', { ...zh, data: '' }],
    ['token', { data: '' }],
    ['import', { data: '' }],
    ['help token create'],
    ['token create --help', zh],
    ['help nothing'],
    ['help'],
    ['help', zh],
    ['help environment --json'],
    ['help scripting -q'],
    ['version'],
    ['version --json'],
    ['completion bash'],
    ['completion zsh'],
    ['completion fish'],
    ['completion powershell'],
    ['completion tcsh'],
    ['completion zsh --install'],
    ['completion fish --install', { env: { XDG_CONFIG_HOME: join(dir, 'config') } }],
    ['completion bash --install --json', { env: { XDG_DATA_HOME: join(dir, 'share') } }],
    ['completion powershell --install'],
    ['tokn list'],
    ['token lst'],
    ['token create --quoto 5'],
    ['token create --name', zh],
    ['token get', zh],
    ['token get 1 2'],
    ['-q --lang zh token get 1'],
    ['--wide=1 token get 1'],
    ['--nothing token get 1'],
    ['token list --output xml'],
    ['token list --timeout 0'],
    ['token list --timeout soon', zh],
    ['db path', { data: '', env: { GATEWAY_DATA_DIR: join(dir, 'data') } }],
    ['db path', { env: { DATABASE_URL: 'postgres://u:secret@db.example/x' } }],
    ['db path', { env: { DATABASE_URL_FILE: join(dir, 'missing') } }],
    ['db path --database postgres://u:secret@other.example/x'],
    ['status', { env: { DATABASE_URL: 'mysql://x' } }],
    ['option list --jq .[0].key'],
    ['option set RetryTimes=x'],
    ['option get Nothing', terminal],
    ['context list'],
    ['whoami'],
    ['logout'],
    ['upgrade --from DIR/missing'],
    ['upgrade --rollback'],
    ['api GET /api/status --jq .system_name'],
    ['api /api/nothing'],
    ['api POST /api/user/login -f nothing'],
    ['import new-api DIR/missing --dry-run'],
    ['serve --port 65536'],
    ['serve --grace x'],
    ['serve --stop-delay 601'],
    ['serve --relays 0'],
    ['serve --log-format xml'],
    ['serve --metrics x'],
  ]);
});

test('names that completions know', async () => {
  const env = { HOME: dir, GATEWAY_DATA_DIR: join(dir, 'data') };
  await outputOf(['channel', 'edit', '1', '--tag', 'own'], {});
  const found: Record<string, readonly string[]> = {};
  for (const words of [
    'channel get ',
    'tag edit ',
    'token get ',
    'user get ',
    'model explain ',
    'node drain ',
    'context use ',
    'completion ',
    'option get Retry',
    'token create --na',
    'tok',
    'backup ',
    'status ',
    'channel --json get ',
    'token create -',
  ])
    found[words] = await complete(words.split(' '), env);
  expectGolden(
    'tests/cli/outlines/local/completions.txt',
    Object.entries(found).map(([words, own]) => `${words}: ${own.join(' ')}`),
  );
});

test('what the fields of a thing are called, and how each is read', () => {
  const names =
    'id name username display_name role status email quota used_quota remain_quota request_count group aff_code aff_count aff_quota aff_history_quota inviter_id setting user_id key created_time accessed_time expired_time model_limits allow_ips day_budget month_budget rpm_limit tpm_limit concurrency_limit day_used month_used old_key_hint old_key_until link_until last_ip type test_model weight priority test_time response_time base_url balance balance_updated_time models model_mapping status_code_mapping auto_ban tag other other_info param_override max_input_tokens version url data_dir setup setup_link users tokens channels channels_disabled requests relays storage settlements_waiting settlements_refused late_ends database uptime'.split(
      ' ',
    );
  const states = [
    'enabled',
    'disabled',
    'auto-disabled',
    'expired',
    'exhausted',
    'root',
    'admin',
    'user',
    'never',
    'yes',
    'no',
  ];
  const said = (language: Language, money: Money | null) => [
    ...readable(Object.fromEntries(names.map((name) => [name, 'x'])), { language, money }),
    ...readable(Object.fromEntries(names.map((name) => [name, 0])), { language, money }),
    ...readable(Object.fromEntries(names.map((name) => [name, 1_780_000_000])), { language, money }),
    ...states.flatMap((status) => readable({ status, role: status, other: status }, { language, money })),
    ...readable({ a: true, b: false, c: null, d: '', e: { x: 1 }, remain_quota: 'unlimited' }, { language, money }),
  ];
  const money = { of: (quota: number, how: string) => `${how} ${quota}` } as unknown as Money;
  expectGolden('tests/cli/outlines/local/fields.txt', [...said('en', null), ...said('zh', money)]);
  expect([isAmount('used_quota'), isAmount('name')]).toEqual([true, false]);
});

test('which language, by what the environment says', () => {
  const of = (env: Record<string, string>, flag?: string) => languageOf(flag, env);
  expect([
    of({}),
    of({ LANG: 'zh_CN.UTF-8' }),
    of({ LANG: 'zh_CN', LC_MESSAGES: 'en_US' }),
    of({ LC_ALL: 'zh.UTF-8', LANG: 'en' }),
    of({ GATEWAY_LANG: 'zh', LC_ALL: 'en' }),
    of({ GATEWAY_LANG: 'zh' }, 'en'),
    of({ LANG: 'fr_FR' }),
    of({ GATEWAY_LANG: '', LC_ALL: '', LC_MESSAGES: '', LANG: 'zh_CN' }),
    of({}, 'zh'),
  ]).toEqual(['en', 'zh', 'en', 'zh', 'zh', 'en', 'en', 'zh', 'zh']);
});

test('a sign of life comes late, moves, and is wiped away on a terminal alone', async () => {
  const texts: Record<string, string[]> = {};
  for (const [name, how] of Object.entries({
    terminal: { isTty: true, silent: false },
    pipe: { isTty: false, silent: false },
    quiet: { isTty: true, silent: true },
  })) {
    const own: string[] = [];
    texts[name] = own;
    await withProgress(new Promise((resolve) => setTimeout(resolve, 450)), {
      ...how,
      write: (text) => void own.push(text),
      word: () => 'working',
    });
  }
  expect(texts.pipe).toEqual([]);
  expect(texts.quiet).toEqual([]);
  expect(texts.terminal?.[0]).toBe('\r⠋ working 0 s\u001b[K');
  expect(texts.terminal?.at(-1)).toBe('\r\u001b[K');
});
