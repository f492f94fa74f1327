/** Every screen, every way out of it: the exit code, and a terminal that is as it was before. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createSandbox, freePort, type Sandbox, setUp } from './support.ts';
import { type openTerminal, terminalsIn } from './terminal.ts';

const key = { escape: '\u001b', interrupt: '\u0003', down: '\u001b[B' } as const;

let shared: Sandbox;
let upstream: string;
let slow: string;
beforeAll(async () => {
  shared = createSandbox();
  const start = async (...more: readonly string[]) =>
    (await shared.start(['mock-upstream', '--port', String(freePort()), ...more])).line;
  upstream = await start();
  slow = await start('--latency', '20000');
});
afterAll(() => shared.close());

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.close());
const open = terminalsIn(() => sandbox);

/** A shell that says afterwards how the command ended and how it left the terminal. */
const inShell = (args: readonly string[], more?: Record<string, string>, size?: { columns: number; rows: number }) =>
  open(['bash', '--norc', '-c', '"$@"; echo "[code $?]"; stty -a', '_', './gateway', ...args], more, size);

interface Screen {
  readonly args: readonly string[];
  /** On the screen when it stands. */
  readonly words: string;
  /** Exit code of Esc: screens that only show something just end. */
  readonly onEscape: number;
  /** What is on a terminal that cannot be drawn on. */
  readonly plain: string;
  readonly prepare: () => Promise<unknown>;
}

const nothing = async () => undefined;
const screens: Readonly<Record<string, Screen>> = {
  setup: { args: ['setup'], words: 'usage mode', onEscape: 3, plain: '1  external', prepare: nothing },
  'channel add': { args: ['channel', 'add'], words: 'provider', onEscape: 3, plain: 'provider', prepare: nothing },
  'token create': {
    args: ['token', 'create'],
    words: 'name',
    onEscape: 3,
    plain: 'name',
    prepare: () => setUp(sandbox, upstream),
  },
  'ratios reset': {
    args: ['ratios', 'reset'],
    words: '[y/N]',
    onEscape: 3,
    plain: '[y/N]',
    prepare: () => sandbox.run(['option', 'set', 'ModelRatio={"own-model":3}']),
  },
  'channel test': {
    args: ['channel', 'test', '--all'],
    words: '0 of 2',
    onEscape: 3,
    plain: 'practice',
    prepare: async () => {
      await setUp(sandbox, slow);
      await sandbox.run(['channel', 'copy', 'practice', '--key-stdin'], 'k');
    },
  },
  'logs tail': {
    args: ['logs', 'tail', '-f'],
    words: 'following',
    onEscape: 0,
    plain: 'x',
    prepare: () => setUp(sandbox, upstream),
  },
  'status --watch': {
    args: ['status', '--watch'],
    words: 'q quits',
    onEscape: 0,
    plain: 'channels ',
    prepare: () => setUp(sandbox, upstream),
  },
  top: { args: ['top'], words: 'no channels yet', onEscape: 0, plain: 'no channels yet', prepare: nothing },
};
const names = Object.keys(screens);
const screenOf = (name: string): Screen => screens[name] as Screen;

/** Line editing, echo and signals as a shell wants them, the cursor visible, the first screen back. */
function leftAsFound(terminal: ReturnType<typeof openTerminal>): void {
  const modes = terminal.text().slice(terminal.text().lastIndexOf('[code '));
  for (const mode of ['icanon', 'echo', 'isig', 'opost', 'icrnl'])
    expect(modes, mode).toMatch(new RegExp(`(?<!-)\\b${mode}\\b`));
  const raw = terminal.raw();
  expect(raw.lastIndexOf('\u001b[?25h')).toBeGreaterThanOrEqual(raw.lastIndexOf('\u001b[?25l'));
  expect(raw.lastIndexOf('\u001b[?1049l')).toBeGreaterThanOrEqual(raw.lastIndexOf('\u001b[?1049h'));
  expect(raw).not.toMatch(/\n\s+at .+:\d+/);
  expect(raw).not.toContain('canary');
}

test.each(names)(
  '%s: Esc and Ctrl-C',
  async (name) => {
    const { args, words, onEscape, prepare } = screenOf(name);
    await prepare();
    for (const [typed, code] of [
      [key.escape, onEscape],
      [key.interrupt, 130],
    ] as const) {
      const terminal = inShell(args);
      await terminal.until(words);
      terminal.type(typed);
      await terminal.until(`[code ${code}]`);
      await terminal.exited();
      leftAsFound(terminal);
    }
  },
  60_000,
);

test.each(names)(
  '%s: ended from outside',
  async (name) => {
    const { args, words, prepare } = screenOf(name);
    await prepare();
    const terminal = inShell(args);
    await terminal.until(words);
    const found = Bun.spawnSync(['pgrep', '-P', String(terminal.pid)])
      .stdout.toString()
      .trim();
    process.kill(Number(found), 'SIGTERM');
    await terminal.until('[code 143]');
    await terminal.exited();
    leftAsFound(terminal);
  },
  60_000,
);

test.each(names)(
  '%s: 80x24, resized while it stands, wrong keys and a long paste',
  async (name) => {
    const { args, words, prepare } = screenOf(name);
    await prepare();
    const terminal = inShell(args);
    await terminal.until(words);
    for (const line of terminal.text().split(/\r?\n/)) expect(Bun.stringWidth(line), line).toBeLessThanOrEqual(80);
    terminal.resize(30, 8);
    await Bun.sleep(100);
    terminal.type(`${key.down}\t\u0001\u001b[5~`);
    if (name !== 'ratios reset') terminal.type('x'.repeat(200));
    terminal.resize(120, 50);
    await Bun.sleep(100);
    expect(terminal.text()).not.toContain('[code ');
    terminal.type(key.interrupt);
    await terminal.until('[code 130]');
    await terminal.exited();
    leftAsFound(terminal);
  },
  60_000,
);

test.each(names.filter((name) => name !== 'logs tail'))(
  '%s: a terminal that cannot be drawn on',
  async (name) => {
    const { args, plain, onEscape, prepare } = screenOf(name);
    await prepare();
    for (const [variable, value] of [
      ['TERM', 'dumb'],
      ['ACCESSIBLE', '1'],
    ] as const) {
      const more = { [variable]: value };
      // Nothing is waited for: the plain form of the board tests with a limit of its own.
      const terminal = open(['./gateway', ...args, ...(name === 'channel test' ? ['--timeout', '1'] : [])], more);
      if (name === 'channel test') {
        await Bun.sleep(300);
        terminal.type(key.interrupt);
        expect(await terminal.exited()).toBe(130);
      } else {
        await terminal.until(plain);
        if (onEscape !== 0) terminal.type(key.escape);
        expect(await terminal.exited()).toBe(onEscape);
      }
      expect(terminal.raw()).not.toContain('\u001b[?25l');
    }
  },
  60_000,
);

test('the log is followed as plain lines on a terminal that cannot be drawn on; Ctrl-C ends it', async () => {
  const token = await setUp(sandbox, upstream);
  const server = await sandbox.start(['serve', '--port', String(freePort())]);
  const terminal = open(['./gateway', 'logs', 'tail', '-f'], { TERM: 'dumb' });
  await Bun.sleep(500);
  await fetch(`${server.line.replace('URL: ', '')}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: '{"model":"practice-small","messages":[{"role":"user","content":"hi"}]}',
  });
  await terminal.until('practice-small');
  terminal.type(key.interrupt);
  expect(await terminal.exited()).toBe(130);
  expect(terminal.raw()).not.toContain('\u001b[');
});

test.each([
  [80, 24, 'C'],
  [40, 10, 'C'],
  [80, 24, 'zh_CN.UTF-8'],
])(
  'a channel is added by the form on %s x %s (%s), its pasted key is never shown',
  async (columns, rows, LANG) => {
    const terminal = open(['./gateway', 'channel', 'add'], { LANG }, { columns, rows });
    const zh = LANG.startsWith('zh');
    const pasted = `sk-canary-${'x'.repeat(200)}`;
    for (const [words, keys] of [
      [zh ? '上游' : 'provider', 'practice'],
      ['> practice', '\r'],
      [zh ? '名称' : 'name', 'from the form\r'],
      // With the line end that a paste brings.
      [zh ? '密钥' : 'key', `${pasted}\r`],
      [zh ? '上游地址' : "upstream's address", `${upstream}\r`],
      [zh ? '模型' : 'models', '\r'],
    ] as const) {
      await terminal.until(words);
      terminal.type(keys);
    }
    await terminal.until('from the form');
    expect(await terminal.exited()).toBe(0);
    await terminal.restored();
    expect(terminal.raw()).not.toContain('canary');
    // The command that does the same is one line, for copying.
    for (const line of terminal.text().split(/\r?\n/))
      if (!line.startsWith('  gateway ')) expect(Bun.stringWidth(line), line).toBeLessThanOrEqual(columns);
    const tested = await sandbox.run(['channel', 'test', 'from the form']);
    expect(tested.code).toBe(0);
  },
  60_000,
);

test('the log on a terminal says why it ends when the server stops, and takes the width that the terminal gets', async () => {
  const token = await setUp(sandbox, upstream);
  const server = await sandbox.start(['serve', '--port', String(freePort())]);
  const terminal = open(['./gateway', 'logs', 'tail', '-f'], {}, { columns: 120, rows: 24 });
  await terminal.until('following');
  terminal.resize(60, 24);
  const before = terminal.text().length;
  await fetch(`${server.line.replace('URL: ', '')}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: '{"model":"practice-small","messages":[{"role":"user","content":"hi"}]}',
  });
  await terminal.until('practice-small');
  const row = terminal
    .text()
    .slice(before)
    .split(/\r?\n/)
    .find((line) => line.includes('practice-small'));
  expect(Bun.stringWidth((row ?? '').trimEnd())).toBeLessThanOrEqual(60);
  server.child.kill('SIGKILL');
  await terminal.until('Cannot reach the server');
  expect(await terminal.exited()).toBe(7);
  await terminal.restored();
}, 60_000);

test('a backup is not poured onto a terminal', async () => {
  await setUp(sandbox, upstream);
  const terminal = open(['./gateway', 'backup', 'create', '-']);
  await terminal.until('a backup is binary, redirect it');
  expect(await terminal.exited()).toBe(2);
});

test('without a terminal no screen is drawn and nothing is waited for', async () => {
  await setUp(sandbox, upstream);
  for (const [args, code] of [
    [['channel', 'add'], 9],
    [['token', 'create'], 9],
    [['ratios', 'reset'], 9],
    [['channel', 'test', '--all'], 0],
    [['status', '--watch'], 0],
    [['logs', 'tail'], 0],
  ] as const) {
    const ran = await sandbox.idle(args, 10_000, { TERM: 'xterm-256color' });
    expect(ran?.code, args.join(' ')).toBe(code);
    expect((ran?.out ?? '') + (ran?.err ?? '')).not.toContain('\u001b[');
  }
});
