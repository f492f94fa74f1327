/** Runs the tests that load a changed module, the closest first, until one notices or as many were asked as one wants. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

export interface Result {
  readonly status: 'noticed' | 'survived';
  /** Test file that noticed, with the name of the test. */
  readonly by?: string;
  /** Test files that ran, and those that were not asked. */
  readonly ran: number;
  readonly left: number;
  readonly seconds: number;
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

export interface TestRun {
  readonly isOver: boolean;
  readonly failed: readonly { readonly test: string; readonly name: string }[];
  readonly seconds: ReadonlyMap<string, number>;
}

/** A test that hangs because of the change has noticed it. */
const maxTestMs = 40_000;
/** Nothing takes so long by itself, on a busy machine either. */
const timeoutMs = 300_000;

export async function runTests(dir: string, tests: readonly string[]): Promise<TestRun> {
  const report = join(dir, 'report.json');
  rmSync(report, { force: true });
  const child = Bun.spawn(
    [
      process.execPath,
      '--bun',
      'node_modules/vitest/vitest.mjs',
      'run',
      '--pool=threads',
      '--maxWorkers=1',
      '--bail=1',
      `--testTimeout=${maxTestMs}`,
      `--hookTimeout=${maxTestMs}`,
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...tests,
    ],
    { cwd: dir, env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: '65336' }, stdio: ['ignore', 'ignore', 'ignore'] },
  );
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  const code = await child.exited;
  clearTimeout(timer);
  return { isOver: code === 0, ...readReport(dir, report, code === 0) };
}

function readReport(dir: string, path: string, isOver: boolean): Pick<TestRun, 'failed' | 'seconds'> {
  try {
    const { testResults } = JSON.parse(readFileSync(path, 'utf8')) as Report;
    const named = testResults.map((one) => ({ ...one, test: one.name.replace(`${dir}/`, '') }));
    const failed = named.flatMap(({ test, status, assertionResults }) => {
      const name = assertionResults.find((one) => one.status === 'failed')?.fullName;
      return status === 'failed' && (name !== undefined || !isOver) ? [{ test, name: name ?? 'does not load' }] : [];
    });
    return { failed, seconds: new Map(named.map((one) => [one.test, (one.endTime - one.startTime) / 1000])) };
  } catch {
    return { failed: [], seconds: new Map() };
  }
}

export interface RunDeps {
  readonly dir: string;
  /** Test files that are asked at most. */
  readonly files: number;
  /** Whether a test file passes where nothing was changed. */
  readonly passes: (test: string) => Promise<boolean>;
  readonly update: (seconds: ReadonlyMap<string, number>) => void;
}

/** The closest file first, then more at a time, since each start costs seconds. */
export async function runUntilDetected(deps: RunDeps, tests: readonly string[]): Promise<Result> {
  const started = performance.now();
  const spent = (): number => (performance.now() - started) / 1000;
  const max = Math.min(tests.length, deps.files);
  let at = 0;
  let size = 1;
  while (at < max) {
    const some = tests.slice(at, Math.min(max, at + size));
    const { isOver, failed, seconds } = await runTests(deps.dir, some);
    deps.update(seconds);
    at += some.length;
    size = Math.min(12, size * 4);
    if (isOver) continue;
    const [first] = failed;
    const by = first === undefined ? 'hangs or ends the process' : `${first.test}: ${first.name}`;
    if (first !== undefined && !(await deps.passes(first.test))) continue;
    return { status: 'noticed', by, ran: at, left: tests.length - at, seconds: spent() };
  }
  return { status: 'survived', ran: at, left: tests.length - at, seconds: spent() };
}
