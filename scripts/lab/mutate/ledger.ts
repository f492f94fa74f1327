/** Mutation score of the ledger's rules: changes `server/billing/ledger/core.ts` in one place at a time and counts the changes its cases notice. `node scripts/launch.mjs lab/mutate/ledger [--survivors]` */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as core from '../../../server/billing/ledger/core.ts';
import { type Core, examineCore } from '../../../tests/ledger/core-cases.ts';

const file = resolve(import.meta.dirname, '..', '..', '..', 'server', 'billing', 'ledger', 'core.ts');
const min = 0.9;

/** Pattern -> what stands there instead, one after the other. */
const operators: readonly (readonly [RegExp, readonly string[]])[] = [
  [/ === /g, [' !== ']],
  [/ !== /g, [' === ']],
  [/ <= /g, [' < ', ' > ']],
  [/ >= /g, [' > ', ' < ']],
  [/ < /g, [' <= ', ' > ']],
  [/ > /g, [' >= ', ' < ']],
  [/ && /g, [' || ']],
  [/ \|\| /g, [' && ']],
  [/ \?\? /g, [' && ']],
  [/ \+ /g, [' - ']],
  [/ - /g, [' + ']],
  [/ % /g, [' * ']],
  [/(?<=: )-(?=\w)/g, ['']],
  [/(?<=[(\s])!(?=[\w(])/g, ['']],
  [/\btrue\b/g, ['false']],
  [/\bfalse\b/g, ['true']],
  [/(?<![\w.'"`$])\d[\d_e]*(?![\w.'"`])/g, ['7']],
  [/"[^"\n]*"/g, ['"changed"']],
  [/\bif \(/g, ['if (true || ', 'if (false && ']],
  [/\breturn (?=[^;])/g, ['return void ']],
  [/\bnull\b/g, ['undefined']],
  [/\bAccount\.(?:mint|revenue|promo|adjust)\b/g, ['Account.overrun']],
  [/\bdebit\b(?=:)/g, ['credit']],
  [/\bcredit\b(?=:)/g, ['debit']],
];

const source = new Bun.Transpiler({ loader: 'ts' })
  .transformSync(readFileSync(file, 'utf8'))
  .replace(
    /from "(\.[^"]+)"/g,
    (_whole, path: string) => `from ${JSON.stringify(pathToFileURL(join(file, '..', path)).href)}`,
  );

interface Mutant {
  readonly text: string;
  readonly line: number;
  readonly change: string;
}

function* mutants(): Generator<Mutant> {
  const imports = source.lastIndexOf('from "');
  const body = source.indexOf('\n', imports);
  for (const [pattern, replacements] of operators) {
    for (const match of source.matchAll(pattern)) {
      if (match.index < body) continue;
      for (const replacement of replacements) {
        yield {
          text: source.slice(0, match.index) + replacement + source.slice(match.index + match[0].length),
          line: source.slice(0, match.index).split('\n').length,
          change: `${match[0].trim()} -> ${replacement.trim()}`,
        };
      }
    }
  }
}

examineCore(core);
const folder = mkdtempSync(join(tmpdir(), 'mutants-'));
const survivors: Mutant[] = [];
let total = 0;
try {
  for (const mutant of mutants()) {
    const path = join(folder, `core-${total++}.mjs`);
    writeFileSync(path, mutant.text);
    try {
      examineCore((await import(path)) as Core);
      survivors.push(mutant);
    } catch {
      // Noticed: an assertion, or code that no longer runs.
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const score = (total - survivors.length) / total;
const lines = source.split('\n');
if (process.argv.includes('--survivors'))
  for (const { line, change } of survivors) console.log(`${change}    ${lines[line - 1]?.trim()}`);
console.log(`${total} mutants, ${survivors.length} survived, score ${(score * 100).toFixed(1)} %`);
process.exit(score >= min ? 0 : 1);
