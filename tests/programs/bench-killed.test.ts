import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const program = resolve(import.meta.dirname, '../../cli/main.ts');
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const stat = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return '';
  }
};
const childrenOf = (parent: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter(
      (pid) =>
        Number(
          stat(pid)
            .replace(/^.*\) \S+ /s, '')
            .split(' ')[0],
        ) === parent,
    );
const commandOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
/** Nobody may be there to take notice of its end. */
const isAlive = (pid: number): boolean =>
  !['', 'Z'].includes(
    stat(pid)
      .replace(/^.*\) /s, '')
      .charAt(0),
  );

test.runIf(process.platform === 'linux')(
  'what a measurement has started ends when the one who measures is killed outright',
  async () => {
    const bench = Bun.spawn([process.execPath, program, 'bench', '--quick', '--no-extras'], {
      env: { PATH: process.env.PATH, HOME: dir, TMPDIR: dir, TERM: 'dumb' },
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'ignore',
    });
    const started = () => childrenOf(bench.pid).map((pid) => ({ pid, command: commandOf(pid) }));
    // The upstream and a gateway, which serve for ever.
    await expect
      .poll(() => started().filter(({ command }) => / (mock-upstream|serve) /.test(command)).length, {
        timeout: 60_000,
      })
      .toBeGreaterThanOrEqual(2);
    const all = started().map(({ pid }) => pid);
    bench.kill('SIGKILL');
    await bench.exited;
    await expect.poll(() => all.filter(isAlive), { timeout: 60_000 }).toEqual([]);
  },
  150_000,
);
