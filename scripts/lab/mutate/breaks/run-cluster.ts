/** Breaks what keeps several machines exact, one line at a time, and runs the test that has to notice: `GATEWAY_TEST_DATABASE=postgres://… node scripts/launch.mjs lab/mutate/breaks/run-cluster [name]`, or without an address on a server of its own. Ends with the rules and corrections of the design and what was noticed of each. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { postgresPrograms, startPostgres } from '../../../servers/postgres.ts';
import { type Copy, copyTree } from '../copy.ts';
import { breaks } from './cluster.ts';
import { lawNames, laws } from './laws.ts';
import type { Break } from './row.ts';

const root = resolve(import.meta.dirname, '..', '..', '..', '..');

type Verdict = 'noticed' | 'UNNOTICED' | 'NOT APPLIED' | 'NO PROGRAM' | 'UNSOUND' | 'HUNG';
type Env = Readonly<Record<string, string>>;

const timeoutMs = 120_000;
const parser = new Bun.Transpiler({ loader: 'ts' });

const isProgram = (text: string): boolean => {
  try {
    parser.transformSync(text);
    return true;
  } catch {
    return false;
  }
};

/** @returns whether the test passes; null = it does not end. */
async function passes(copy: Copy, { test, title }: Break, env: Env): Promise<boolean | null> {
  const vitest = ['--bun', 'node_modules/vitest/vitest.mjs', 'run', '--pool=threads', '--maxWorkers=1', '--bail=1'];
  const child = Bun.spawn([process.execPath, ...vitest, test, ...(title === '' ? [] : ['-t', title])], {
    cwd: copy.dir,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  const late = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  const code = await child.exited;
  clearTimeout(late);
  return child.signalCode === 'SIGKILL' ? null : code === 0;
}

/** By test: what fails where nothing is broken notices nothing. */
const sound = new Map<string, Promise<boolean | null>>();

async function verdictOf(copy: Copy, one: Break, env: Env): Promise<Verdict> {
  const text = readFileSync(join(copy.dir, one.file), 'utf8');
  const broken = text.replace(one.from, () => one.to);
  if (broken === text) return 'NOT APPLIED';
  if (!isProgram(broken)) return 'NO PROGRAM';
  const test = `${one.test} ${one.title}`;
  if (!sound.has(test)) sound.set(test, passes(copy, one, env));
  if ((await sound.get(test)) !== true) return 'UNSOUND';
  const passed = await copy.during(new Map([[one.file, broken]]), () => passes(copy, one, env));
  return passed === null ? 'HUNG' : passed ? 'UNNOTICED' : 'noticed';
}

/** A test that waits in vain for what never comes has noticed as well: unbroken it ended in time. */
const isNoticed = (verdict: Verdict | undefined): boolean => verdict === 'noticed' || verdict === 'HUNG';

/** @returns how many of the rules and corrections are kept by no line at all. */
function sayLaws(verdicts: ReadonlyMap<Break, Verdict>): number {
  let without = 0;
  for (const law of lawNames) {
    const rows = breaks.filter(({ keeps }) => keeps.includes(law));
    if (rows.length === 0) without++;
    const asked = rows.filter((one) => verdicts.has(one));
    const noticed = asked.filter((one) => isNoticed(verdicts.get(one))).length;
    const said = rows.length === 0 ? 'NO LINE' : `${noticed} of ${asked.length} noticed`;
    console.log(`${law.padEnd(14)} ${said.padEnd(18)} ${laws[law]}`);
  }
  return without;
}

const bin = postgresPrograms();
const given = process.env.GATEWAY_TEST_DATABASE ?? '';
const server = given === '' && bin !== null ? await startPostgres(bin) : null;
const copy = copyTree(root);
const verdicts = new Map<Break, Verdict>();
let without = 0;
const end = () => {
  copy.remove();
  server?.remove();
};
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    end();
    process.exit(130);
  });
try {
  const [word = ''] = process.argv.slice(2);
  const env = { GATEWAY_TEST_DATABASE: server?.url ?? given };
  for (const one of breaks.filter(({ name, keeps }) => [name, ...keeps].some((text) => text.includes(word)))) {
    const verdict = await verdictOf(copy, one, env);
    verdicts.set(one, verdict);
    const test = `${one.test}${one.title === '' ? '' : ` “${one.title}”`}`;
    console.log(`${verdict.padEnd(12)} ${one.name}\n${' '.repeat(13)}${[...one.keeps, test].join(', ')}`);
  }
  without = sayLaws(verdicts);
} finally {
  end();
}
const noticed = [...verdicts.values()].filter(isNoticed).length;
console.log(`${noticed} of ${verdicts.size} noticed`);
process.exit(noticed === verdicts.size && without === 0 ? 0 : 1);
