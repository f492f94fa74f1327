/** Runs the type checker, the linter and Vitest, and says what came of them. */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { processSettings } from '../cli/process-settings.ts';
import { keepResults } from './lab/prove/promises-table.ts';

const root = resolve(import.meta.dirname, '..');

/** Presses every control of every page: forty seconds of processor time. */
export const pressTests = 'tests/web/presses';

/** Tests that start programs or a browser, or take as long, and the step of `launch.mjs` that runs them. */
const stepOf: Readonly<Record<string, string>> = {
  [pressTests]: 'test-browser',
  'tests/binary': 'test-binary',
  'tests/browser': 'test-browser',
  'tests/postgres': 'test-postgres',
  'tests/programs': 'test-binary',
  'tests/storage': 'test-binary',
};

export const longTests: readonly string[] = Object.keys(stepOf).map((folder) => `${folder}/**`);

/** @returns one line for each path that `test` does not run, which names the step that does. */
export const leftOut = (paths: readonly string[]): string[] =>
  paths.flatMap((path) => {
    const named = relative(root, resolve(root, path));
    const folder = Object.keys(stepOf).find((one) => named === one || named.startsWith(`${one}/`));
    return folder === undefined ? [] : [`not run here: ${path} (node scripts/launch.mjs ${stepOf[folder]} ${path})`];
  });

export interface Checks {
  readonly tests: readonly string[];
  readonly exclude: readonly string[];
  /** Files at the same time, where each is a program or a browser of its own. */
  readonly workers?: number;
}

const run = async (title: string, command: string[], env: Record<string, string> = {}): Promise<boolean> => {
  const started = performance.now();
  const child = Bun.spawn([process.execPath, ...command], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
  });
  // A process that is asked to stop does not wait for this.
  const ended = () => child.kill();
  process.once('exit', ended);
  const code = await child.exited;
  process.off('exit', ended);
  printResult(title, code, started);
  return code === 0;
};

/** Beside another: what it says is shown in one piece. */
const runInBackground = async (title: string, command: string[]): Promise<boolean> => {
  const started = performance.now();
  const child = Bun.spawn([process.execPath, ...command], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const code = await child.exited;
  process.stdout.write(code === 0 ? '' : out + err);
  printResult(title, code, started);
  return code === 0;
};

const printResult = (title: string, code: number, started: number): void => {
  console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${title} ${((performance.now() - started) / 1000).toFixed(1)} s`);
};

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    /** The file. */
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** What Vitest wrote; nothing when it did not get that far. */
const reportIn = (path: string): Report =>
  existsSync(path)
    ? (JSON.parse(readFileSync(path, 'utf8')) as Report)
    : { numPassedTests: 0, numFailedTests: 0, testResults: [] };

/** More than that is no flake. */
const maxReruns = 5;

/** Runs each file that failed once more, alone. @returns whether all of them passed then; each is named as flaky. */
async function rerunAlone({ testResults }: Report): Promise<boolean> {
  const failed = testResults.filter(({ status }) => status === 'failed');
  // A file that does not load fails for good.
  if (failed.length === 0 || failed.length > maxReruns) return false;
  for (const { name, assertionResults } of failed) {
    const path = relative(root, name);
    if (!(await run(`${path}, once more, alone`, vitest(path), vitestEnv))) return false;
    for (const { status, fullName, failureMessages } of assertionResults)
      if (status === 'failed')
        console.log(`flaky: ${path} > ${fullName}: ${(failureMessages[0] ?? '').split('\n', 1)}`);
  }
  return true;
}

const vitest = (...args: string[]): string[] => [
  '--bun',
  'node_modules/vitest/vitest.mjs',
  'run',
  '--pool=threads',
  ...args,
];
/** As the gateway starts itself. */
const vitestEnv = {
  ...processSettings,
  MIMALLOC_PURGE_DELAY: process.env.MIMALLOC_PURGE_DELAY ?? processSettings.MIMALLOC_PURGE_DELAY,
};

/** Types, lint, and what nobody imports. @returns whether each is as it should be. */
export const runStatic = (): Promise<readonly boolean[]> =>
  Promise.all([
    runInBackground('types', ['node_modules/.bin/tsc', '-p', '.']),
    runInBackground('lint', ['node_modules/.bin/biome', 'check', '.']),
    runInBackground('unused', [
      'node_modules/.bin/knip',
      '--include=files,exports,dependencies',
      '--no-config-hints',
      '--no-progress',
    ]),
  ]);

/** @returns the exit code; the last line printed is `N passed, N failed`. */
export async function runChecks(checks: Checks): Promise<number> {
  const report = join(root, '.cache', `tests-${process.pid}.json`);
  mkdirSync(join(root, '.cache'), { recursive: true });
  const passed = await run(
    'tests',
    vitest(
      ...(checks.workers === undefined ? [] : [`--maxWorkers=${checks.workers}`]),
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...checks.exclude.flatMap((pattern) => ['--exclude', pattern]),
      ...checks.tests,
    ),
    vitestEnv,
  );
  const written = reportIn(report);
  if (existsSync(report)) keepResults(report);
  rmSync(report, { force: true });
  const retried = !passed && process.env.RERUN_FAILED === '1' && (await rerunAlone(written));
  // A file that does not load, or an error outside any test, fails without a failed test.
  const failed = passed || retried ? 0 : Math.max(1, written.numFailedTests);
  console.log(`${written.numPassedTests + (retried ? written.numFailedTests : 0)} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}
