/** Which changes the type checker notices: many at a time, those of one file far enough apart to assign each error to its change. */
import type { Copy } from './copy.ts';
import { applied, type Mutant } from './mutants.ts';

/** Lines between two changes of one file that are checked together. */
const apart = 12;
/** Names that are no longer used are no error of behaviour. */
const ignoredErrors = /error TS(6133|6138|6192|6196|6198|7027)\b/;
/** Where one text is no program, no types are looked at in any. */
const syntax = /error TS1\d{3}\b/;

function batchOf(mutants: readonly Mutant[]): Mutant[] {
  const batch: Mutant[] = [];
  for (const mutant of mutants)
    if (!batch.some(({ file, line }) => file === mutant.file && Math.abs(line - mutant.line) < apart))
      batch.push(mutant);
  return batch;
}

function failingMutant(batch: readonly Mutant[], file: string, line: number): Mutant | undefined {
  const near = batch.filter((mutant) => mutant.file === file);
  return near.sort((a, b) => Math.abs(a.line - line) - Math.abs(b.line - line))[0];
}

/** What stands below keeps its line. */
const narrowed = (mutant: Mutant): Mutant => ({
  ...mutant,
  after: mutant.after + '\n'.repeat(mutant.before.split('\n').length - 1),
});

/** @param onJudged after each run: those that it judged, and which of them are wrong. @returns ids of those noticed. */
export async function typeErrors(
  copy: Copy,
  mutants: readonly Mutant[],
  textOf: (file: string) => string,
  onJudged: (judged: readonly Mutant[], wrong: ReadonlySet<string>, left: number) => void,
): Promise<ReadonlySet<string>> {
  const wrong = new Set<string>();
  for (let left = [...mutants]; left.length > 0; ) {
    const batch = batchOf(left);
    const files = [...new Set(batch.map(({ file }) => file))];
    const texts = new Map(
      files.map(
        (file) => [file, applied(textOf(file), batch.filter((mutant) => mutant.file === file).map(narrowed))] as const,
      ),
    );
    const output = await copy.during(texts, async () => {
      const child = Bun.spawn(
        [process.execPath, 'node_modules/.bin/tsc', '-p', 'tsconfig.mutants.json', '--pretty', 'false'],
        { cwd: copy.dir, stdio: ['ignore', 'pipe', 'ignore'] },
      );
      return new Response(child.stdout).text();
    });
    const found = new Set<Mutant>();
    for (const [whole, file, line] of output.matchAll(/^(\S+?)\((\d+),\d+\): error TS\d+.*$/gm)) {
      if (ignoredErrors.test(whole)) continue;
      const mutant = failingMutant(batch, file ?? '', Number(line));
      if (mutant !== undefined) found.add(mutant);
    }
    for (const { id } of found) wrong.add(id);
    const over = syntax.test(output) && found.size > 0 ? [...found] : batch;
    left = left.filter((mutant) => !over.includes(mutant));
    onJudged(over, wrong, left.length);
  }
  return wrong;
}
