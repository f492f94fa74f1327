/** The tab key in the shells that are on this machine. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from './support.ts';
import { openTerminal } from './terminal.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = createSandbox();
  const key = join(sandbox.dir, 'key');
  writeFileSync(key, 'password1');
  await sandbox.run(['setup', '--username', 'root', '--password-file', key]);
  for (const name of ['plain-one', "with 'quotes' and spaces"])
    await sandbox.run(['channel', 'add', '--type', 'practice', '--name', name, '--key-file', key]);
});
afterAll(() => sandbox.close());

const shells = {
  bash: { start: ['bash', '--norc', '-i'], load: 'source ./bash.completion; PS1="rea""dy> "' },
  zsh: {
    start: ['zsh', '-f', '-i'],
    load: 'autoload -Uz compinit; compinit -u -D; source ./zsh.completion; PS1="rea""dy> "',
  },
  fish: {
    start: ['fish', '--no-config', '-i'],
    load: 'set -g fish_autosuggestion_enabled 0; source ./fish.completion; function fish_prompt; echo "rea""dy> "; end',
  },
} as const;
const present = (['bash', 'zsh', 'fish'] as const).filter((shell) => Bun.which(shell) !== null);

test.each(present)(
  '%s: commands, flags and names; what was completed is what is run',
  async (shell) => {
    writeFileSync(join(sandbox.dir, `${shell}.completion`), (await sandbox.run(['completion', shell])).out);
    const env = {
      PATH: `${sandbox.dir}:/usr/bin:/bin`,
      HOME: sandbox.dir,
      LANG: 'C.UTF-8',
      GATEWAY_DATA_DIR: sandbox.dataDir,
    };
    const terminal = openTerminal(shells[shell].start, { cwd: sandbox.dir, env, columns: 200, rows: 50 });
    try {
      await Bun.sleep(500);
      terminal.type(`${shells[shell].load}\r`);
      await terminal.until('ready> ');
      terminal.type('gateway chan\tl\t--wi\t\r');
      await terminal.until('with');
      await terminal.until('ready> ');
      terminal.type('gateway channel get plain\t -q\r');
      await terminal.until('ready> ');
      terminal.type('gateway channel get with\t -q > found; echo do""ne\r');
      await terminal.until('done');
    } finally {
      terminal.close();
    }
    expect(await Bun.file(join(sandbox.dir, 'found')).text()).toBe('2\n');
  },
  60_000,
);

test('there is a shell to test with', () => {
  expect(present).toContain('bash');
});
