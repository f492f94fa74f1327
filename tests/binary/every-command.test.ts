/** Every command of the executable: nothing on stdout but data, no stack, no hang, no secret, a known exit code. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exitCodes } from '../../cli/commands/help/topics.ts';
import { commands } from '../../cli/commands/index.ts';
import { everywhere, onMachine, printsFile, printsKeys } from '../cli/every-command.ts';
import { createSandbox, freePort, type Ran, type Sandbox, setUp } from './support.ts';

let shared: Sandbox;
let upstream: string;
const sandboxes: Sandbox[] = [];
/** Waits for 30 s on its own while everything else goes on. */
let silent: Promise<Ran | null>;

beforeAll(async () => {
  shared = createSandbox();
  upstream = (await shared.start(['mock-upstream', '--port', String(freePort())])).line;
  silent = shared.idle(['token', 'create', '--name', 'x', '--key-stdin'], 60_000);
});
afterAll(async () => {
  for (const sandbox of [shared, ...sandboxes]) await sandbox.close();
});

/** A site of its own, and every call on it. */
async function site(): Promise<{ sandbox: Sandbox; calls: readonly (readonly string[])[] }> {
  const sandbox = createSandbox();
  sandboxes.push(sandbox);
  await setUp(sandbox, upstream);
  const ok = async (args: readonly string[]) => expect((await sandbox.run(args)).code).toBe(0);
  await ok(['channel', 'edit', 'practice', '--name', 'main', '--tag', 't']);
  await ok(['token', 'create', '--name', 'ci', '--quota', '5usd', '-q']);
  const file = (name: string, text: string): string => {
    writeFileSync(join(sandbox.dir, name), text);
    return join(sandbox.dir, name);
  };
  const details = { file, upstream };
  return { sandbox, calls: [...everywhere(details), ...onMachine(details), ['exec', '--token', 'ci', '--', 'true']] };
}

const codes = exitCodes.map((row) => row.code);
/** Lines of JSON, or a script that was asked for. */
const lines = /^(logs (tail|export))/;
const stack = /\n\s+at .+:\d+/;

function judge(args: readonly string[], ran: Ran): void {
  const said = args.join(' ');
  expect(codes, said).toContain(ran.code);
  expect(ran.out + ran.err, said).not.toMatch(stack);
  expect(ran.err, said).not.toContain('canary');
  if (!printsKeys(args)) expect(ran.out, said).not.toMatch(/canary|sk-[A-Za-z0-9]{40}|gat_[\w-]{40}/);
}

test('--json prints JSON or nothing to stdout, and failures as JSON to stderr', async () => {
  const { sandbox, calls } = await site();
  const called = new Set<string>();
  for (const args of calls.filter((one) => one[0] !== 'exec' && !printsFile(one))) {
    const ran = await sandbox.run([...args, '--json']);
    const said = args.join(' ');
    judge(args, ran);
    const texts = lines.test(said) ? ran.out.split('\n').filter((line) => line !== '') : [ran.out];
    for (const text of texts) if (text !== '') expect(() => JSON.parse(text), `${said}: ${text}`).not.toThrow();
    if (ran.code === 0 && !lines.test(said)) expect(ran.out, said).not.toBe('');
    if (ran.code !== 0)
      expect(JSON.parse(ran.err.trimEnd().split('\n').at(-1) ?? ''), said).toMatchObject({
        // An unforeseen failure is a bug, whatever one types.
        error: { code: expect.not.stringMatching(/^internal$/), message: expect.any(String) },
      });
    for (const row of commands) if (`${said} `.startsWith(`${row.name} `)) called.add(row.name);
  }
  const never = commands.map((row) => row.name).filter((name) => !called.has(name));
  expect(never).toEqual(['serve', 'mock-upstream', 'exec', 'bench']);
});

test('stdin closed or open and silent: the same end, at once', async () => {
  const [closed, open] = [await site(), await site()];
  for (const [index, args] of closed.calls.entries()) {
    const other = open.calls[index] ?? [];
    const [a, b] = await Promise.all([closed.sandbox.run(args), open.sandbox.idle(other, 15_000)]);
    judge(args, a);
    expect(b, `${args.join(' ')} waits`).not.toBe(null);
    expect(b?.code, args.join(' ')).toBe(a.code);
  }
});

test('bare commands name everything they need, with a line that has it', async () => {
  const { sandbox } = await site();
  for (const args of [
    ['channel', 'add'],
    ['token', 'create'],
    ['user', 'create'],
    ['redemption', 'create'],
    ['apply'],
  ]) {
    const ran = await sandbox.run(args);
    expect([ran.code, ran.out], args.join(' ')).toEqual([9, '']);
    expect(ran.err).toMatch(/fix: gateway /);
  }
});

test('a secret that never comes is given up after half a minute', async () => {
  const ran = await silent;
  expect(ran?.code).toBe(9);
  expect(ran?.err).toContain('--key-stdin');
});

test('a long answer arrives whole, however slowly it is read', async () => {
  const { sandbox } = await site();
  await sandbox.run(['token', 'create', '--name', 'many', '--count', '700', '-q']);
  for (const command of ['token list --json', 'export']) {
    const { out } = await sandbox.shell(`./gateway ${command} | (sleep 0.5; cat)`);
    expect(out.length, command).toBeGreaterThan(2 ** 16);
    expect(out.match(/many-\d+/g)?.length, command).toBe(700);
    if (command.endsWith('--json')) expect(JSON.parse(out)).toHaveLength(702);
  }
  const piped = await sandbox.shell('./gateway backup create - | (sleep 0.5; cat) > piped.backup');
  expect(piped.code, piped.err).toBe(0);
  const restored = await sandbox.run(['backup', 'restore', 'piped.backup', '--yes']);
  expect(restored.code, restored.err).toBe(0);
  // The reader goes while most is still to come.
  for (const command of ['token list --json', 'backup create -'])
    expect((await sandbox.shell(`./gateway ${command} | head -c 10 >/dev/null; exit \${PIPESTATUS[0]}`)).code).toBe(0);
  expect((await sandbox.shell('ls data/backups')).out).toBe('');
});

test('a command whose output a full disk does not take has failed, and says so', async () => {
  const { sandbox } = await site();
  for (const command of ['token list', 'export', 'backup create -', 'version', 'help ratios', 'logs export']) {
    const { code, err } = await sandbox.shell(`./gateway ${command} >/dev/full`);
    expect([code, err.match(/Standard output cannot be written: ENOSPC/g)?.length], command).toEqual([1, 1]);
  }
  expect((await sandbox.shell('ls data/backups')).out).toBe('');
  const { code, err } = await sandbox.shell('./gateway option list --json >/dev/full');
  expect([code, JSON.parse(err).error.code]).toEqual([1, 'output_unwritable']);
});

test.each([
  [['option', 'list'], 0],
  [['channel', 'get', '99'], 5],
] as const)('%j into a pipe that is full, and then gone', async (args, code) => {
  const { sandbox } = await site();
  const run = async (script: string) => {
    const { out, err } = await sandbox.shell(script);
    return { out: out.trim(), err: err.trim() };
  };
  const command = `./gateway ${args.join(' ')}`;
  // The reader sleeps while the pipe is full, then takes everything: nothing is lost.
  const whole = await run(`${command} --json`);
  expect((await run(`${command} --json | (sleep 1; cat)`)).out).toBe(whole.out);
  expect((await run(`${command} | head -1 >/dev/null; echo \${PIPESTATUS[0]}`)).out).toBe(String(code));
  expect((await run(`${command} | true; echo \${PIPESTATUS[0]}`)).out).toBe(String(code));
  // Both streams gone, and a full disk.
  expect((await run(`${command} >&- 2>&-; echo $?`)).out).toBe(String(code));
  expect((await run(`${command} 2>/dev/full >/dev/null; echo $?`)).out).toBe(String(code));
  const full = await run(`${command} >/dev/full; echo $? >&2`);
  expect(full.err).toMatch(new RegExp(`\n${code === 0 ? 1 : code}$`));
  expect(full.err).not.toMatch(/\n\s+at /);
});
