/** The five screens on a real terminal, in both sizes and languages: answered, interrupted at each step, and their closing command. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { startPracticeUpstream } from '../../server/practice/upstream.ts';
import { openTerminal } from '../binary/terminal.ts';
import { createRunner } from '../cli/runner.ts';
import { gatewayProgram } from '../support/program.ts';

const key = { interrupt: '\u0003', enter: '\r', down: '\u001b[B', erase: '\u007f' } as const;
const upstreamKey = 'sk-canary-upstream';
const password = 'canary-password';

let dir: string;
let upstream: ReturnType<typeof startPracticeUpstream>;
const opened: ReturnType<typeof openTerminal>[] = [];
beforeAll(() => {
  upstream = startPracticeUpstream({ port: 0 });
});
afterAll(() => upstream.stop());
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-forms-'));
});
afterEach(() => {
  for (const terminal of opened.splice(0)) terminal.close();
  rmSync(dir, { recursive: true, force: true });
});

type Look = readonly [columns: number, rows: number, LANG: string];
const looks: readonly Look[] = [
  [80, 24, 'C'],
  [120, 40, 'C'],
  [80, 24, 'zh_CN.UTF-8'],
  [120, 40, 'zh_CN.UTF-8'],
];

const homeOf = (name: string): string => {
  const home = join(dir, name);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'password.txt'), `${password}\n`);
  writeFileSync(join(home, 'key.txt'), `${upstreamKey}\n`);
  return home;
};
const environment = (home: string, LANG: string) => ({
  LANG,
  HOME: home,
  PATH: '/usr/bin:/bin',
  GATEWAY_DATA_DIR: join(home, 'data'),
});

function open(home: string, args: readonly string[], [columns, rows, LANG]: Look) {
  const terminal = openTerminal([...gatewayProgram, ...args], {
    cwd: home,
    env: environment(home, LANG),
    columns,
    rows,
  });
  opened.push(terminal);
  return terminal;
}

interface Step {
  readonly zh: string;
  readonly en: string;
  readonly keys: readonly string[];
}
const step = (zh: string, en: string, ...keys: readonly string[]): Step => ({ zh, en, keys });

interface Screen {
  readonly args: readonly string[];
  readonly steps: readonly Step[];
  /** Said when all went well. */
  readonly end: readonly [zh: string, en: string];
  readonly prepare: (home: string) => Promise<unknown>;
}

const setUp = (home: string) =>
  createRunner(home).run(['setup', '--username', 'root', '--password-file', join(home, 'password.txt')]);
const ownRatio = async (home: string) => {
  await setUp(home);
  await createRunner(home).run(['option', 'set', 'ModelRatio={"own-model":3}']);
};
const withChannel = async (home: string) => {
  await setUp(home);
  await createRunner(home).run([
    ...['channel', 'add', '--type', 'practice', '--name', 'practice', '--base-url', upstream.url],
    ...['--key-file', join(home, 'key.txt')],
  ]);
};

const channelSteps = (): readonly Step[] => [
  step('上游地址', "upstream's address", `${upstream.url}\r`),
  step('模型', 'models', 'small', key.enter, key.enter),
];
const screens: Readonly<Record<string, () => Screen>> = {
  setup: () => ({
    args: ['setup'],
    steps: [
      step('1/7 使用模式', '1/7 usage mode', key.down, key.enter),
      step('2/7 管理员用户名', "2/7 administrator's username", key.enter),
      step('3/7 密码', '3/7 password', `${password}\r`),
      step('3/7 再次输入密码', '3/7 the same password again', `${password}\r`),
      step('4/7 上游', '4/7 provider', 'practice', key.enter),
      step('5/7 密钥', '5/7 key', `${upstreamKey}\r`),
      ...channelSteps(),
    ],
    end: ['接下来', 'next'],
    prepare: async () => undefined,
  }),
  'channel add': () => ({
    args: ['channel', 'add'],
    steps: [
      step('1/5 上游', '1/5 provider', 'practice', key.enter),
      step('2/5 名称', '2/5 name', 'main\r'),
      step('3/5 密钥', '3/5 key', `${upstreamKey}\r`),
      ...channelSteps(),
    ],
    end: ['同样的命令', 'the same as one command'],
    prepare: setUp,
  }),
  'token create': () => ({
    args: ['token', 'create'],
    steps: [
      step('1/3 名称', '1/3 name', 'laptop\r'),
      step('2/3 预算', '2/3 budget', key.down, key.down, key.enter),
      step('2/3 每日金额', '2/3 amount per day', '$2.50\r'),
      step('3/3 其余设置', '3/3 the rest', key.down, key.enter),
      step('1/6 可用模型', '1/6 models', 'large', ' ', key.enter, key.enter),
      step('2/6 过期', '2/6 expires', '2031-01-31\r'),
      step('3/6 分组', '3/6 group', 'vip', key.enter),
      step('4/6 每分钟请求数', '4/6 requests per minute', '1,000\r'),
      step('5/6 每分钟 tokens', '5/6 tokens per minute', key.enter),
      step('6/6 同时请求数', '6/6 requests at once', '4\r'),
    ],
    end: ['同样的命令', 'the same as one command'],
    prepare: withChannel,
  }),
  'ratios reset': () => ({
    args: ['ratios', 'reset'],
    steps: [step('[y/N]', '[y/N]', 'y')],
    end: ['同样的命令', 'the same as one command'],
    prepare: ownRatio,
  }),
  'logs tail': () => ({
    args: ['logs', 'tail', '-f'],
    steps: [step('跟随中', 'following', 'q')],
    end: ['', ''],
    prepare: setUp,
  }),
};

/** Everything that the screens change, without what every site has of its own. */
async function stateOf(home: string): Promise<unknown> {
  const runner = createRunner(home);
  const stripped = (rows: readonly Record<string, unknown>[]) =>
    rows.map(({ key, key_hint, created_time, accessed_time, test_time, response_time, ...rest }) => rest);
  if ((await runner.json<{ setup: boolean }>(['status'])).setup !== true) return null;
  const options = ['SelfUseModeEnabled', 'DemoSiteEnabled', 'ModelRatio'];
  return {
    channels: stripped(await runner.json(['channel', 'list'])),
    tokens: stripped(await runner.json(['token', 'list'])),
    users: (await runner.json<readonly Record<string, unknown>[]>(['user', 'list'])).map(({ username }) => username),
    options: await Promise.all(options.map((name) => runner.run(['option', 'get', name]))),
  };
}

/** Types what the screen asks for. @param upTo this many steps. */
async function answer(
  terminal: ReturnType<typeof openTerminal>,
  steps: readonly Step[],
  zh: boolean,
  upTo = steps.length,
) {
  for (const { keys, ...words } of steps.slice(0, upTo)) {
    await terminal.until(zh ? words.zh : words.en);
    for (const typed of keys) {
      const drawn = terminal.raw().length;
      terminal.type(typed);
      // Keys of one question: each is a chunk of its own, as from a person, who sees what a key did before the next one.
      for (let waited = 0; waited < 2000 && terminal.raw().length === drawn; waited += 20) await Bun.sleep(20);
      await Bun.sleep(60);
    }
  }
}

const wholeLine = (text: string): string | undefined =>
  /^ {2}gateway [\s\S]+?(?=\n\S|\n$|$)/m.exec(text.replaceAll('\r', ''))?.[0].replaceAll('\n', '').trim();

const names = Object.keys(screens);
test.each(names.flatMap((name) => looks.map((check) => [name, ...check] as const)))(
  '%s on %s x %s (%s): answered, nothing wider than the screen, and its command makes the same',
  async (name, ...check) => {
    const screen = screens[name]?.();
    if (screen === undefined) throw new Error(name);
    const zh = check[2].startsWith('zh');
    const home = homeOf('form');
    await screen.prepare(home);
    const terminal = open(home, screen.args, check);
    await answer(terminal, screen.steps, zh);
    await terminal.until(screen.end[zh ? 0 : 1]);
    expect(await terminal.exited()).toBe(0);
    await terminal.restored();
    expect(terminal.raw()).not.toContain('canary');
    // The command is the same in both languages.
    if (zh) expect(terminal.text().replace(/^ {2}gateway [\s\S]*/m, '')).not.toMatch(/unlimited|same as/);
    if (zh) expect(terminal.text()).toMatch(/\p{Script=Han}/u);
    else expect(terminal.text().replace(/\S+ {2}\S*分组.*/g, '')).not.toMatch(/\p{Script=Han}/u);

    // Who only looks on changes nothing.
    if (name === 'logs tail') return;
    const line = wholeLine(terminal.text()) ?? 'no command was shown';
    const other = homeOf('command');
    await screen.prepare(other);
    const ran = Bun.spawnSync(['bash', '-c', `gateway() { "$PROGRAM" $MAIN "$@"; }\n${line}`], {
      cwd: other,
      env: { ...environment(other, check[2]), PROGRAM: gatewayProgram[0], MAIN: gatewayProgram[1] ?? '' },
      timeout: 60_000,
    });
    if (name !== 'logs tail')
      expect({ line, code: ran.exitCode, err: ran.stderr.toString() }).toMatchObject({ code: 0 });
    expect(await stateOf(other)).toEqual(await stateOf(home));
  },
  120_000,
);

test.each(names)(
  '%s: Ctrl-C at each step ends with 130 and leaves what was there',
  async (name) => {
    const steps = screens[name]?.().steps ?? [];
    for (const [at, { en }] of steps.entries()) {
      const screen = screens[name]?.();
      if (screen === undefined) throw new Error(name);
      const home = homeOf(`step-${at}`);
      await screen.prepare(home);
      const before = await stateOf(home);
      const terminal = open(home, screen.args, [80, 24, 'C']);
      await answer(terminal, screen.steps, false, at);
      await terminal.until(en);
      terminal.type(key.interrupt);
      expect({ step: en, code: await terminal.exited() }).toEqual({ step: en, code: 130 });
      await terminal.restored();
      // The account exists as soon as its questions are answered: the next run takes it up from there.
      if (name === 'setup' && at >= 4)
        expect(await stateOf(home)).toMatchObject({ channels: [], tokens: [], users: ['root'] });
      else expect(await stateOf(home)).toEqual(before);
    }
  },
  180_000,
);

test('a question about more changes than the screen holds says how to see the rest', async () => {
  const home = homeOf('long');
  await ownRatio(home);
  const terminal = open(home, ['ratios', 'reset'], [80, 24, 'C']);
  await terminal.until('20/');
  await terminal.until('↑ ↓ or Space for the rest');
  await terminal.until('[y/N]');
  terminal.type(' ');
  await terminal.until('40/');
  terminal.type('n');
  expect(await terminal.exited()).toBe(3);
}, 60_000);

test('a log that is paused says how it goes on', async () => {
  const home = homeOf('paused');
  await setUp(home);
  for (const [LANG, following, paused] of [
    ['C', 'space pause', 'space resume'],
    ['zh_CN.UTF-8', '空格 暂停', '空格 继续'],
  ] as const) {
    const terminal = open(home, ['logs', 'tail', '-f'], [80, 24, LANG]);
    await terminal.until(following);
    terminal.type(' ');
    await terminal.until(paused);
    terminal.type('q');
    expect(await terminal.exited()).toBe(0);
  }
}, 60_000);

test('set-up that was broken off is taken up where it ended', async () => {
  const home = homeOf('again');
  const { steps } = screens.setup?.() ?? { steps: [] };
  const first = open(home, ['setup'], [80, 24, 'C']);
  await answer(first, steps, false, 4);
  await first.until('provider');
  first.type(key.interrupt);
  expect(await first.exited()).toBe(130);

  const second = open(home, ['setup'], [80, 24, 'C']);
  await second.until('still open: channel, test, API key');
  await second.until('1/4 provider');
  second.type('practice');
  await Bun.sleep(60);
  second.type(key.enter);
  await second.until('2/4 key');
  second.type(`${upstreamKey}\r`);
  await second.until("3/4 upstream's address");
  second.type('http://127.0.0.1:1\r');
  await second.until('4/4 models');
  second.type(key.enter);
  // A test that fails is offered for correction.
  await second.until('the test failed');
  await second.until('what to do');
  second.type('address');
  await Bun.sleep(60);
  second.type(key.enter);
  await second.until("upstream's address (");
  second.type(`${upstream.url}\r`);
  await second.until('the test succeeded');
  await second.until('export OPENAI_API_KEY=sk-');
  expect(await second.exited()).toBe(0);
  // The whole key stands on the screen once.
  expect(second.text().match(/sk-[A-Za-z0-9]{48}/g)).toHaveLength(1);

  const third = open(home, ['setup'], [80, 24, 'C']);
  await third.until('channel, test and API key are there');
  expect(await third.exited()).toBe(0);
}, 120_000);

test('a short password, two that differ and a mistyped choice are asked again, with words', async () => {
  const home = homeOf('mistakes');
  const terminal = open(home, ['setup'], [80, 24, 'C']);
  await terminal.until('usage mode');
  terminal.type('qqqq');
  await terminal.until('nothing matches');
  terminal.type(key.erase.repeat(4));
  await Bun.sleep(60);
  terminal.type(key.enter);
  await terminal.until('username');
  terminal.type(key.enter);
  await terminal.until('at least 8 characters');
  terminal.type('abc\r');
  await terminal.until('must have at least 8 characters');
  terminal.type(`${password}\r`);
  await terminal.until('the same password again');
  terminal.type('another-one\r');
  await terminal.until("passwords don't match");
  // What is typed before the question is there would be a paste.
  await terminal.until('at least 8 characters');
  await Bun.sleep(60);
  terminal.type(`${password}\r`);
  await terminal.until('the same password again');
  terminal.type(`${password}\r`);
  await terminal.until('provider');
  expect(terminal.raw()).not.toContain('canary');
  expect(terminal.raw()).not.toContain('another-one');
}, 60_000);
