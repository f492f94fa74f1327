import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createSandbox, freePort, type Sandbox, setUp } from './support.ts';
import { terminalsIn } from './terminal.ts';

const key = { escape: '\u001b', interrupt: '\u0003', enter: '\r', down: '\u001b[B' } as const;

let shared: Sandbox;
let upstream: string;
beforeAll(async () => {
  shared = createSandbox();
  upstream = (await shared.start(['mock-upstream', '--port', String(freePort())])).line;
});
afterAll(() => shared.close());

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.close());
const terminalOn = terminalsIn(() => sandbox);

const open = (
  args: readonly string[],
  more: Record<string, string> = {},
  size: { columns?: number; rows?: number } = {},
) => terminalOn(['./gateway', ...args], more, size);

test('from nothing to the first relayed answer in at most eight questions', async () => {
  const startedAt = Date.now();
  const terminal = open(['setup']);
  const longKey = `sk-canary-${'x'.repeat(200)}`;
  const answers: readonly (readonly [string, string])[] = [
    ['usage mode', key.enter],
    ['username', key.enter],
    ['password', 'password1\r'],
    ['the same password again', 'password1\r'],
    ['provider', 'practice'],
    ['> practice', key.enter],
    ['key', longKey],
    ['****', key.enter],
    ["upstream's address", `${upstream}\r`],
    ['models', key.enter],
  ];
  for (const [words, keys] of answers) {
    await terminal.until(words);
    terminal.type(keys);
  }
  await terminal.until('the test succeeded');
  await terminal.until('export OPENAI_API_KEY=sk-');
  expect(await terminal.exited()).toBe(0);
  expect(Date.now() - startedAt).toBeLessThan(60_000);
  expect(terminal.raw()).not.toContain('canary');
  expect(terminal.raw()).not.toContain('password1');
  // What was chosen stays on the screen, without the list.
  expect(terminal.text()).toMatch(/usage mode[^:\n]*: [A-Za-z]/);
  expect(terminal.text()).toMatch(/provider[^:\n]*: practice\s/);
  await terminal.restored();
  const { out } = await sandbox.run(['channel', 'list', '--json']);
  expect(JSON.parse(out)).toMatchObject([{ name: 'practice', models: 'practice-small,practice-large' }]);
});

test('a terminal that cannot be drawn on is asked line by line', async () => {
  const terminal = open(['setup'], { TERM: 'dumb' });
  for (const [words, keys] of [
    ['usage mode', '1\r'],
    ['username', '\r'],
    ['password', 'password1\r'],
    ['the same password again', 'password1\r'],
    ['provider', 'practice\r'],
    ['key', 'sk-canary-plain\r'],
    ["upstream's address", `${upstream}\r`],
    ['models', '\r'],
  ] as const) {
    await terminal.until(words);
    terminal.type(keys);
  }
  await terminal.until('the test succeeded');
  expect(await terminal.exited()).toBe(0);
  expect(terminal.raw()).not.toContain('canary');
  expect(terminal.raw()).not.toContain('\u001b[');
});

test.each([
  ['setup', ['setup'], 'usage mode'],
  ['channel form', ['channel', 'add'], 'provider'],
  ['ratios reset', ['ratios', 'reset'], '[y/N]'],
])('%s: Esc cancels with 3, Ctrl-C ends with 130, the terminal is restored', async (_name, args, words) => {
  await sandbox.run(['option', 'set', 'ModelRatio={"own-model":3}']);
  for (const [typed, code] of [
    [key.escape, 3],
    [key.interrupt, 130],
  ] as const) {
    const terminal = open(args);
    await terminal.until(words);
    terminal.type(typed);
    expect(await terminal.exited()).toBe(code);
    await terminal.restored();
  }
});

test('a reset shows what it changes and applies it once confirmed', async () => {
  await sandbox.run(['option', 'set', 'ModelRatio={"own-model":3}']);
  const terminal = open(['ratios', 'reset']);
  await terminal.until('[y/N]');
  expect(terminal.text()).toMatch(/- own-model +3/);
  terminal.type('y');
  await terminal.until('ratios reset, backup version');
  expect(await terminal.exited()).toBe(0);
  expect((await sandbox.run(['option', 'get', 'ModelRatio'])).out).not.toContain('own-model');
});

test('the board shows every channel and survives a resize', async () => {
  await setUp(sandbox, upstream);
  for (let number = 1; number <= 30; number++)
    await sandbox.run(['channel', 'copy', 'practice', '--name', `copy ${number}`, '--key-stdin'], 'sk-canary-copy');
  const terminal = open(['channel', 'test', '--all'], {}, { columns: 80, rows: 24 });
  await terminal.until('of 31 tested');
  terminal.resize(40, 10);
  expect(await terminal.exited()).toBe(0);
  expect(terminal.text().match(/copy \d+ +\S ok/g)?.length ?? 0).toBeGreaterThan(20);
  expect(terminal.raw()).not.toContain('canary');
  await terminal.restored();
});

test('the log is followed, filtered and paused; Esc ends it', async () => {
  const token = await setUp(sandbox, upstream);
  const server = await sandbox.start(['serve', '--port', String(freePort())]);
  const ask = (model: string) =>
    fetch(`${server.line.replace('URL: ', '')}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: `{"model":"${model}","messages":[{"role":"user","content":"hi"}]}`,
    });
  const terminal = open(['logs', 'tail', '-f'], {}, { columns: 200 });
  await terminal.until('following');
  await ask('practice-small');
  await terminal.until('practice-small');
  terminal.type(' ');
  await terminal.until('paused');
  await ask('practice-large');
  await terminal.until('1 new');
  expect(terminal.text()).not.toContain('practice-large');
  terminal.type(' ');
  await terminal.until('practice-large');
  terminal.type('/');
  terminal.type('nothing\r');
  await terminal.until('/nothing');
  terminal.type(key.escape);
  expect(await terminal.exited()).toBe(0);
  await terminal.restored();
});

test('the overview is renewed until q; Ctrl-C ends with 130', async () => {
  await setUp(sandbox, upstream);
  for (const [typed, code] of [
    ['q', 0],
    [key.interrupt, 130],
  ] as const) {
    const terminal = open(['status', '--watch']);
    await terminal.until('channels ');
    terminal.type(typed);
    expect(await terminal.exited()).toBe(code);
    await terminal.restored();
  }
});
