/** One Vitest process over some test files, each with a change of its own switched on. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FileOver } from './line-report.ts';
import { switchPath } from './switch.ts';

export interface Round {
  readonly dir: string;
  readonly name: string;
  /** Test file -> number of its change, -1 for none. */
  readonly on: ReadonlyMap<string, number>;
  /** Loads the modules again for each file: changes that take effect while a module is loaded. */
  readonly isolate: boolean;
  /** Where reached changes are noted. */
  readonly reached: string | null;
  /** How long one file may take. */
  readonly timeoutMs: number;
}

/** A test that hangs because of the change has noticed it. */
const maxTestMs = 120_000;
const checkMs = 2000;

const config = (isolate: boolean): string => `import base from './vitest.config.ts';
export default {
  ...base,
  test: {
    ...base.test,
    isolate: ${isolate},
    maxWorkers: 1,
    testTimeout: ${maxTestMs},
    hookTimeout: ${maxTestMs},
    expect: { poll: { timeout: 15_000 } },
    setupFiles: ['./scripts/lab/mutate/each-file.ts'],
    reporters: ['./scripts/lab/mutate/line-report.ts'],
    cache: false,
  },
};
`;

/** The test file that runs, and since when. */
function running(dir: string, pid: number): { readonly test: string; readonly since: number } | null {
  try {
    return JSON.parse(readFileSync(switchPath(dir, pid), 'utf8'));
  } catch {
    return null;
  }
}

const linesOf = (path: string): FileOver[] =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as FileOver)
    : [];

/** @returns what is known of each file; of those after one that hung, nothing. */
export async function runRound(round: Round): Promise<readonly FileOver[]> {
  const { dir, name } = round;
  const [settings, order, over] = [`vitest.${name}.ts`, `${name}.json`, `${name}.jsonl`].map((file) => join(dir, file));
  if (settings === undefined || order === undefined || over === undefined) return [];
  writeFileSync(settings, config(round.isolate));
  writeFileSync(order, JSON.stringify({ reached: round.reached, on: Object.fromEntries(round.on) }));
  rmSync(over, { force: true });
  const child = Bun.spawn(
    [
      ...[process.execPath, '--bun', 'node_modules/vitest/vitest.mjs', 'run', '--pool=threads', '--config', settings],
      ...round.on.keys(),
    ],
    {
      cwd: dir,
      env: {
        ...process.env,
        BUN_CONFIG_MAX_HTTP_REQUESTS: '65336',
        GATEWAY_ROUND: order,
        GATEWAY_ROUND_RESULT: over,
      },
      stdio: ['ignore', Bun.file(join(dir, `${name}.log`)), Bun.file(join(dir, `${name}.err`))],
    },
  );
  const started = Date.now();
  const watch = setInterval(() => {
    if (Date.now() - (running(dir, child.pid)?.since ?? started) > round.timeoutMs) child.kill('SIGKILL');
  }, checkMs);
  await child.exited;
  clearInterval(watch);
  const last = running(dir, child.pid);
  rmSync(switchPath(dir, child.pid), { force: true });
  const known = linesOf(over);
  if (last === null || known.some(({ test }) => test === last.test)) return known;
  return [...known, { test: last.test, ok: false, failed: 'hangs or ends the process', seconds: 0 }];
}
