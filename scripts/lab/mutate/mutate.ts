/**
 * Mutation score beyond the ledger's core: changes relay, protocols, providers, pricing and domain in one place at a
 * time, in a throw-away copy, and counts the changes that `npm test` and the presses of the console's controls notice.
 * Flags: --seed TEXT, --count N (of the sample), --judge N (those of them that the type checker takes, in their order), --from N, --operators NAMES and --within PATHS (what is drawn from), --at FILE:LINE (all there instead of a sample, with commas), --only PATHS, --tests PATHS (asked alone; both with commas), --surface (console,
 * commands, HTTP and database instead), --minutes N (stops then; the next call goes on), --files N (test files asked at
 * most), --near (asks what imports a change, closest first, without learning what reaches it), --out FILE, --named (those of named.ts, over PostgreSQL and Redis where they are installed), --again
 * (survivors once more), --report (no run). The closest test files are asked first, so a survivor is one that these did
 * not notice: `--again --files 999` asks all of them.
 * All changes stand in one copy, each behind a switch: a first run with everything off learns which test file reaches
 * which change, and only these are asked, one change to a file in each round. --one asks the slow way, each change alone.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { startDatabases } from '../../servers/start.ts';
import type { Numbered } from './apply.ts';
import { type Copy, copyTree } from './copy.ts';
import { type Distances, distancesFrom, rankTests } from './distance.ts';
import { equivalents } from './equivalents.ts';
import { applied, type Mutant, mutantsOf, sampled } from './mutants.ts';
import { namedMutants } from './named.ts';
import { type Pending, recordReached, runRounds, writeSwitches } from './schedule.ts';
import { typeErrors } from './types.ts';
import { type Result, runTests, runUntilDetected } from './verify.ts';

type Verdict = Result | { readonly status: 'wrong types' };
type Row = Pick<Mutant, 'file' | 'line' | 'before' | 'after' | 'operator'> & Verdict;

/** What is kept between two calls. */
interface State {
  readonly results: Record<string, Row>;
  rightTypes: readonly string[];
  /** Test file -> its hash and the changes that it reaches. */
  readonly reached: Record<string, { readonly hash: string; readonly ids: readonly string[] }>;
  /** Changes that stood there when it was learned what is reached. */
  known?: readonly string[];
  /** Changes that take effect while a module is loaded. */
  loading: readonly string[];
  /** Test file -> seconds, and whether it passes where nothing was changed. */
  readonly seconds: Record<string, number>;
  readonly sound: Record<string, boolean>;
}

const root = resolve(import.meta.dirname, '..', '..', '..');
const textFlag = (name: string, fallback: string): string => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : (process.argv[at + 1] ?? fallback);
};
const isBelow = (file: string, paths: string): boolean => paths.split(',').some((path) => file.startsWith(path));
const has = (name: string): boolean => process.argv.includes(`--${name}`);
const number = (name: string, fallback: number): number => Number(textFlag(name, String(fallback)));

const out = resolve(textFlag('out', join(root, '.cache', 'mutants.json')));
const until = performance.now() + number('minutes', 24 * 60) * 60_000;
const scope = has('surface')
  ? /^(web|cli|db|server\/http)\/(?!bench|public|dist|vite|docs\/(en|zh)).*\.tsx?$/
  : /^server\/(relay|routing|billing|protocols|providers|domain|contract\/pricing)\/.*\.ts$/;
const processes = number('processes', 2);
const longTests = /^tests\/(binary|browser|programs|storage)\//;

const state: State = existsSync(out)
  ? (JSON.parse(readFileSync(out, 'utf8')) as State)
  : { results: {}, rightTypes: [], reached: {}, loading: [], seconds: {}, sound: {} };
const save = (): void => {
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, JSON.stringify(state, null, 1));
};
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');
const filesOf = (pattern: string): string[] => [...new Bun.Glob(pattern).scanSync({ cwd: root })].sort();

function sample(): readonly Mutant[] {
  const files = filesOf('{server,web,cli,db}/**/*.{ts,tsx}').filter((file) => scope.test(file));
  const operators = textFlag('operators', '').split(',');
  const isDrawn = ({ operator }: Mutant): boolean => operators[0] === '' || operators.includes(operator);
  const all = files
    .filter((file) => isBelow(file, textFlag('within', '')))
    .flatMap((file) => mutantsOf(file, textOf(file)).filter(isDrawn));
  const places = textFlag('at', '');
  if (places !== '') return all.filter(({ file, line }) => places.split(',').includes(`${file}:${line}`));
  const seeded = sampled(all, textFlag('seed', 'one'), number('count', 700)).slice(number('from', 0));
  return seeded.filter(({ file }) => isBelow(file, textFlag('only', '')));
}

/** As much of the sample as has so many changes that the type checker takes: once their types were looked at. */
function judgedSample(): readonly Mutant[] {
  let left = number('judge', Number.POSITIVE_INFINITY);
  return sample().filter(({ id }) => left > 0 && (state.results[id]?.status === 'wrong types' || left-- > 0));
}

const named = (): readonly Mutant[] =>
  namedMutants
    .filter(({ file }) => isBelow(file, textFlag('only', '')))
    .map(({ name, file, before, after }) => {
      const text = textOf(file);
      const start = text.indexOf(before);
      if (start < 0 || text.includes(before, start + 1))
        throw new Error(`${file}: the place of “${name}” has moved: ${before}`);
      const line = text.slice(0, start).split('\n').length;
      const end = start + before.length;
      const where = { file, line, start, end, whole: [start, end] as const, isKey: false, isOnLoad: false };
      return { id: `named|${name}`, ...where, before, after, operator: name };
    });

/** Mutants that the type checker would notice are no test of the tests. */
async function withoutTypeErrors(copy: Copy, mutants: readonly Mutant[]): Promise<readonly Mutant[]> {
  const fresh = mutants.filter(({ id }) => state.results[id] === undefined);
  const unchecked = fresh.filter(({ id }) => !state.rightTypes.includes(id));
  await typeErrors(copy, unchecked, textOf, (judged, wrong, left) => {
    for (const { id, file, line, before, after, operator } of judged)
      if (wrong.has(id)) state.results[id] = { file, line, before, after, operator, status: 'wrong types' };
      else state.rightTypes = [...state.rightTypes, id];
    save();
    console.log(`types: ${left} to check`);
  });
  const judged = new Set(judgedSample().map(({ id }) => id));
  return fresh.filter(({ id }) => judged.has(id) && state.results[id] === undefined);
}

const testFiles = (): string[] =>
  filesOf('tests/**/*.test.{ts,tsx}').filter(
    (file) => !longTests.test(file) && isBelow(file, textFlag('tests', 'tests/')),
  );
/** Files that take longer are no first choice. */
const isSlow = (test: string): boolean => (state.seconds[test] ?? 0) > number('dear', 10);
const detectCount = (module: string, test: string): number =>
  Object.values(state.results).filter(
    (row) => row.file === module && row.status === 'noticed' && row.by?.startsWith(`${test}:`),
  ).length;

/** Records again which changes the test files reach that have changed since they last ran. */
async function update(copy: Copy, numbered: readonly Numbered[]): Promise<void> {
  const hashes = new Map(testFiles().map((test) => [test, Bun.hash(textOf(test)).toString(36)]));
  const unknown = [...hashes]
    .filter(([test, hash]) => !isSlow(test) && state.reached[test]?.hash !== hash)
    .map(([test]) => test);
  if (unknown.length === 0) return;
  state.known ??= numbered.map(({ mutant }) => mutant.id);
  console.log(`learning what ${unknown.length} test files reach`);
  const { by, loading, seconds, unsound } = await recordReached(copy, unknown, processes);
  const idOf = (number: number): string => numbered[number]?.mutant.id ?? '';
  for (const test of unknown) {
    state.reached[test] = { hash: hashes.get(test) ?? '', ids: [...(by.get(test) ?? [])].map(idOf) };
    state.sound[test] = !unsound.has(test);
    state.seconds[test] = seconds.get(test) ?? 1;
  }
  state.loading = [...new Set([...state.loading, ...[...loading].map(idOf)])];
  save();
  console.log(`not sound by themselves: ${[...unsound].join(' ') || 'none'}`);
}

/** The test files that reach a change, the best first; the dear ones only where no other does. */
function requested(distances: Distances, { id, file }: Mutant, isLoading: boolean): string[] {
  const reaching = new Set(Object.keys(state.reached).filter((test) => state.reached[test]?.ids.includes(id)));
  // What was drawn later is asked of those that import it.
  const isKnown = !has('near') && state.known?.includes(id) !== false;
  const isRequested = (test: string): boolean => {
    if (state.sound[test] === false) return false;
    if (!isKnown) return !isSlow(test);
    if (reaching.size > 0) return reaching.has(test) || (isLoading && !isSlow(test));
    return isLoading || isSlow(test);
  };
  return rankTests(distances, file, {
    detectCount: (test) => detectCount(file, test),
    seconds: (test) => state.seconds[test] ?? 1,
    loads: (test) => reaching.has(test),
  })
    .filter(isRequested)
    .slice(0, number('files', 12));
}

async function runAll(copy: Copy, mutants: readonly Mutant[]): Promise<void> {
  const known = judgedSample().filter(({ id }) => state.results[id]?.status !== 'wrong types');
  const numbered = known.map((mutant, index) => ({ number: index, mutant }));
  writeSwitches(copy, numbered, textOf);
  if (!has('near')) await update(copy, numbered);
  const distances = distancesFrom(root, testFiles());
  const selected = new Set(mutants.map(({ id }) => id));
  const settle = ({ mutant, count, left }: Pending, verdict: Pick<Result, 'status' | 'by'>): void => {
    const { id, file, line, before, after, operator } = mutant;
    state.results[id] = { file, line, before, after, operator, ...verdict, ran: count, left: left.length, seconds: 0 };
    console.log(`${placeOf(file, mutant.start, line)} ${operator}: ${verdict.by ?? `SURVIVED ${count} files`}`);
  };
  for (const isLoading of [false, true]) {
    const pending = numbered
      .filter(
        ({ mutant: { id, isOnLoad } }) => selected.has(id) && (isOnLoad || state.loading.includes(id)) === isLoading,
      )
      .map(({ number: index, mutant }) => ({
        number: index,
        mutant,
        left: requested(distances, mutant, isLoading),
        count: 0,
      }));
    for (const one of pending) if (one.left.length === 0) settle(one, { status: 'survived' });
    await runRounds(
      {
        copy,
        processes,
        isolate: isLoading,
        seconds: (test) => state.seconds[test] ?? 1,
        isOver: () => performance.now() > until,
        detected: (one, by) => settle(one, { status: 'noticed', by }),
        survived: (one) => settle(one, { status: 'survived' }),
        log: (line) => {
          save();
          console.log(line);
        },
      },
      pending.filter(({ left }) => left.length > 0),
    );
  }
  save();
}

async function runEach(copy: Copy, mutants: readonly Mutant[]): Promise<void> {
  const distances = distancesFrom(root, testFiles());
  // The tree may be edited meanwhile.
  const copied = (file: string): string => readFileSync(join(copy.dir, file), 'utf8');
  const update = (seconds: ReadonlyMap<string, number>): void => {
    for (const [test, taken] of seconds) state.seconds[test] = taken;
  };
  for (const [index, mutant] of mutants.entries()) {
    if (performance.now() > until) return;
    const { id, file, line, start, before, after, operator } = mutant;
    const hint = namedMutants.find(({ name }) => id === `named|${name}`)?.test;
    const order = rankTests(distances, file, {
      detectCount: (test) => (test === hint ? Number.POSITIVE_INFINITY : detectCount(file, test)),
      seconds: (test) => state.seconds[test] ?? 1,
      loads: () => false,
    }).filter((test) => state.sound[test] !== false);
    const original = copied(file);
    const changed = new Map([[file, applied(original, [mutant])]]);
    const passes = async (test: string): Promise<boolean> => {
      state.sound[test] ??= await copy.during(new Map([[file, original]]), async () => {
        const { isOver, seconds } = await runTests(copy.dir, [test]);
        update(seconds);
        return isOver;
      });
      return state.sound[test];
    };
    const deps = { dir: copy.dir, files: number('files', 15), passes, update };
    const verdict = await copy.during(changed, () => runUntilDetected(deps, order));
    state.results[id] = { file, line, before, after, operator, ...verdict };
    save();
    const rule = namedMutants.find(({ name }) => id === `named|${name}`)?.rule;
    const found = verdict.status === 'noticed' ? verdict.by : `SURVIVED ${verdict.ran} files, ${verdict.left} not run`;
    console.log(
      `${index + 1}/${mutants.length} ${placeOf(file, start, line)} ${operator}${rule === undefined ? '' : ` (${rule})`} ${verdict.seconds.toFixed(0)} s: ${found}`,
    );
  }
}

const placeOf = (file: string, start: number, line: number): string =>
  `${file}:${line}:${start - textOf(file).lastIndexOf('\n', start)}`;

const isEquivalent = ({ file, line, before, after }: Row): boolean =>
  equivalents.some(
    (one) =>
      one.file === file &&
      one.before === before &&
      one.after === after &&
      textOf(file).split('\n')[line - 1]?.trim() === one.line,
  );

function report(mutants: readonly Mutant[]): number {
  const rows = mutants.flatMap(({ id }) => state.results[id] ?? []);
  const different = rows.filter(({ status }) => status !== 'wrong types');
  const judged = different.filter((row) => row.status === 'noticed' || !isEquivalent(row));
  const survivors = judged.flatMap((row) => (row.status === 'survived' ? [row] : []));
  for (const row of survivors) {
    console.log(`\n${row.file}:${row.line} ${row.operator} (${row.ran} test files ran, ${row.left} did not)`);
    console.log(`- ${row.before.replace(/\n/g, '\n- ')}\n+ ${row.after.replace(/\n/g, '\n+ ')}`);
  }
  const share = judged.length === 0 ? 0 : (judged.length - survivors.length) / judged.length;
  console.log(
    `\n${mutants.length} drawn, ${rows.length - different.length} refused by the type checker, ` +
      `${different.length - judged.length} equivalent, ${judged.length} judged, ` +
      `${survivors.length} survived: ${(share * 100).toFixed(1)} % noticed`,
  );
  return survivors.length;
}

const mutants = has('named') ? named() : sample();
if (has('again')) for (const { id } of mutants) if (state.results[id]?.status === 'survived') delete state.results[id];
if (!has('report')) {
  const endDatabases = has('named') ? await startDatabases() : null;
  const copy = copyTree(root);
  process.once('exit', copy.remove);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void Promise.resolve(endDatabases?.()).finally(() => process.exit(1)));
  try {
    if (has('named')) for (const { id } of mutants) delete state.results[id];
    const fresh = has('named') ? mutants : await withoutTypeErrors(copy, mutants);
    await (has('named') || has('one') ? runEach(copy, fresh) : runAll(copy, fresh));
  } finally {
    copy.remove();
    await endDatabases?.();
  }
}
const survived = report(has('named') ? mutants : judgedSample());
process.exit(has('named') && survived > 0 ? 1 : 0);
