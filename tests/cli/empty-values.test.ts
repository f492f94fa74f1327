/** What an unset variable of a shell leaves: it selects nothing, lifts no limit and names no place. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Option } from 'commander';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CommandRow } from '../../cli/command.ts';
import { commands } from '../../cli/commands/index.ts';
import { globals } from '../../cli/globals.ts';
import { createRunner, type Runner } from './runner.ts';

let dir: string;
let runner: Runner;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'empty-values-'));
  runner = createRunner(dir);
  const file = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  };
  await runner.run(['setup', '--username', 'root', '--password-file', file('pw', 'password1')]);
  const key = file('key', 'sk-canary');
  for (const name of ['a', 'b', 'c'])
    await runner.run(['channel', 'add', '--name', name, '--type', 'practice', '--key-file', key]);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Enough positionals for the parser, so that the value is what it stumbles over. */
const positionals = ({ argument }: CommandRow): readonly string[] =>
  (argument?.split(' ') ?? []).filter((one) => one.startsWith('<')).map(() => '1');
/** Behind the words of another program its flags are not ours. */
const inOrder = (row: CommandRow, flag: readonly string[]): readonly string[] =>
  row.passThrough === true ? [...flag, ...positionals(row)] : [...positionals(row), ...flag];
const takesValue = (flag: string): boolean => /<[^>]+>/.test(flag);

const cases = commands.flatMap((row) =>
  [...(row.flags ?? []), ...globals]
    .filter(({ flag }) => takesValue(flag))
    .map(({ flag, clears }) => ({ row, long: new Option(flag).long ?? flag, clears: clears === true })),
);

test('every flag of every command refuses an empty value, or says that it clears', async () => {
  const accepted: string[] = [];
  for (const { row, long, clears } of cases) {
    // The runner gives its own folder and language behind these.
    if (clears || long === '--data-dir' || long === '--lang') continue;
    for (const value of ['', ' ']) {
      const outcome = await runner.run([...row.name.split(' '), ...inOrder(row, [long, value])]).then(
        () => 'done',
        (error: { readonly code?: string; readonly params?: { readonly detail_en?: string } }) =>
          error.code === 'usage' && error.params?.detail_en === `${long} has an empty value` ? '' : error.code,
      );
      if (outcome !== '') accepted.push(`${row.name} ${long}: ${outcome}`);
    }
  }
  expect(accepted).toEqual([]);
  expect(cases.length).toBeGreaterThan(1000);
});

test('flags that clear say so in both languages', () => {
  const clearing = commands.flatMap((row) => (row.flags ?? []).filter(({ clears }) => clears === true));
  expect(clearing.length).toBeGreaterThan(0);
  for (const { zh, en } of clearing)
    expect([zh.includes('留空'), en.includes('empty removes it')]).toEqual([true, true]);
});

test('every positional refuses an empty value but those of another program', async () => {
  for (const row of commands.filter(({ argument, passThrough }) => argument !== undefined && passThrough !== true))
    await expect(runner.run([...row.name.split(' '), '']), row.name).rejects.toMatchObject({ code: 'usage' });
});

const names = async () => (await runner.json<{ name: string }[]>(['channel', 'list'])).map(({ name }) => name).sort();

test.each([
  ['channel', 'rm', '--tag', '', '--yes'],
  ['channel', 'rm', '--filter', '', '--yes'],
  ['channel', 'rm', '--filter', 'tag=', '--yes'],
  ['channel', 'disable', '--tag', ''],
  ['tag', 'rm', '', '--yes'],
  ['tag', 'disable', ''],
  ['tag', 'edit', '', '--models', 'zzz', '--yes'],
  ['token', 'create', '--name', 't', '--models', ''],
  ['token', 'create', '--name', 't', '--allow-ip', ''],
  ['channel', 'edit', 'a', '--base-url', ''],
])('gateway %s %s %s %s changes nothing', async (...args) => {
  await expect(runner.run(args)).rejects.toMatchObject({ code: expect.stringMatching(/^(usage|params_invalid)$/) });
  expect(await names()).toEqual(['a', 'b', 'c']);
  expect(await runner.json(['token', 'list'])).toEqual([]);
});

test('an address that came out empty is not this machine', async () => {
  await expect(runner.run(['channel', 'list'], { GATEWAY_URL: '' })).rejects.toMatchObject({ code: 'usage' });
  await expect(runner.run(['channel', 'list', '--url', ''])).rejects.toMatchObject({ code: 'usage' });
});

test('a limit is lifted by a word', async () => {
  await runner.run(['token', 'create', '--name', 'limited', '--models', 'gpt-4o', '--allow-ip', '10.0.0.1']);
  const read = async () => {
    const [token] = await runner.json<{ model_limits: string; allow_ips: string }[]>(['token', 'list']);
    return [token?.model_limits, token?.allow_ips];
  };
  expect(await read()).toEqual(['gpt-4o', '10.0.0.1']);
  await runner.run(['token', 'edit', 'limited', '--models', 'unlimited', '--allow-ip', 'unlimited']);
  expect(await read()).toEqual(['', '']);
});
