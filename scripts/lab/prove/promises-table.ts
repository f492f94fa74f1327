/** Writes the table of promises in both languages from what the suites said when they ran last. Run: node scripts/launch.mjs lab/prove/promises-table */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import type { TaskMeta } from 'vitest';
import { type PromiseRow, promises } from './promises.ts';

const root = resolve(import.meta.dirname, '..', '..', '..');
const kept = join(root, '.cache', 'proof.json');

/** What one test file said when it ran last. */
interface TestResult {
  /** YYYY-MM-DD, UTC. */
  readonly day: string;
  readonly passed: number;
  readonly failed: number;
  readonly figures: readonly string[];
}

/** As Vitest's JSON reporter writes it. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly startTime: number;
    readonly status: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly meta?: Pick<TaskMeta, 'figures'>;
    }[];
  }[];
}

const readKept = (): Record<string, TestResult> =>
  existsSync(kept) ? (JSON.parse(readFileSync(kept, 'utf8')) as Record<string, TestResult>) : {};

/** Takes over what a run of any suite said. @param report path of Vitest's JSON report. */
export function keepResults(report: string): void {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  const results = readKept();
  for (const { name, startTime, status, assertionResults } of testResults) {
    const count = (kind: string) => assertionResults.filter((one) => one.status === kind).length;
    results[relative(root, name)] = {
      day: new Date(startTime).toISOString().slice(0, 10),
      passed: count('passed'),
      // A file may fail without a failed test.
      failed: Math.max(count('failed'), status === 'failed' ? 1 : 0),
      figures: assertionResults.flatMap(({ meta }) => meta?.figures ?? []),
    };
  }
  mkdirSync(dirname(kept), { recursive: true });
  writeFileSync(kept, JSON.stringify(results, null, 1));
}

const isBelow = (place: string) => (file: string) => file === place || file.startsWith(`${place}/`);

/** What its tests said. @throws Error when one of them has not run, or did not pass. */
function lastRun({ tests }: PromiseRow, results: Readonly<Record<string, TestResult>>): string {
  if (tests.length === 0) return '–';
  const testResults = tests.flatMap((place) => {
    const found = Object.entries(results).filter(([file]) => isBelow(place)(file));
    if (found.length === 0) throw new Error(`${place} has not run`);
    for (const [file, { failed }] of found) if (failed > 0) throw new Error(`${file} did not pass`);
    return found.map(([, one]) => one);
  });
  const passed = testResults.reduce((sum, one) => sum + one.passed, 0);
  const days = testResults.map(({ day }) => day).sort();
  return [`${days[0]}: ${passed}`, ...testResults.flatMap(({ figures }) => figures)].join('; ');
}

const cell = (text: string): string => text.replace(/\|/g, '\\|').replace(/\s+/g, ' ');
const code = (text: string): string => `\`${text}\``;

/** @param evidence per promise, in their order. */
export function tableOf(language: 'en' | 'zh', evidence: readonly string[]): string {
  const comma = language === 'zh' ? '、' : ', ';
  const heads = language === 'zh' ? ['承诺', '证据', '最近一次运行'] : ['promise', 'proof', 'last run'];
  const rows = promises.map(({ tests, commands = [], ...words }, index) => [
    words[language],
    [...tests, ...commands].map(code).join(comma),
    evidence[index] ?? '',
  ]);
  return [heads, heads.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');
}

const marked = /(<!-- promises -->\n)([\s\S]*?)(\n<!-- \/promises -->)/;

/** @returns what stands between the marks. */
export const writtenTable = (document: string): string =>
  marked.exec(readFileSync(join(root, document), 'utf8'))?.[2] ?? '';

if (import.meta.main) {
  const results = readKept();
  const evidence = promises.map((promised) => lastRun(promised, results));
  for (const [file, language] of [
    ['tests/PROMISES.md', 'en'],
    ['tests/PROMISES.zh.md', 'zh'],
  ] as const) {
    const path = join(root, file);
    const text = readFileSync(path, 'utf8');
    writeFileSync(
      path,
      text.replace(
        marked,
        (_all, before: string, _old: string, after: string) => `${before}${tableOf(language, evidence)}${after}`,
      ),
    );
  }
}
