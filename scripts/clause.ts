/**
 * Counts what the specification says, clause by clause, and how each is proven. Run it: it prints the counts and what is
 * wrong with the list. `--draw 60 --seed HASH` prints so many rows to be tried by hand, the same ones for the same seed.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const root = resolve(import.meta.dirname, '..');
const folder = join(root, 'tests/spec/clauses');
/** The documents themselves, where they lie beside the project. */
const documents = [resolve(root, '../shared/spec')].find(existsSync);

/** May only become fewer. */
const maxUnproven = 0;

export interface Clause {
  /** Document, section, number of the sentence in it. */
  readonly id: string;
  readonly status: 'proven' | 'deviating' | 'unproven' | 'nothing';
  /** `file › name of the test`, one or several. */
  readonly proofs: readonly string[];
  /** Why it deviates. */
  readonly reason: string;
  readonly text: string;
}

export const clauses = (): Clause[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.tsv'))
    .sort()
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').trimEnd().split('\n').map(clauseOf));

/** `-` = nothing that could be tried, `?` = unproven, `! why` = deviates, with proofs of what is there instead, else proofs. */
function clauseOf(line: string): Clause {
  const [id = '', mark = '', text = ''] = line.split('\t');
  const of = (status: Clause['status'], proofs: readonly string[] = [], reason = ''): Clause => ({
    ...{ id, text, status, proofs, reason },
  });
  if (mark === '-') return of('nothing');
  if (mark === '?' || mark === '') return of('unproven');
  const parts = mark.split(' ; ');
  if (mark.startsWith('!')) return of('deviating', parts.slice(1), parts[0]?.slice(1).trim());
  return of('proven', parts);
}

/** Sentences, list items and table rows of a document, each under its number. */
export function sentencesOf(document: string, text: string): Map<string, string> {
  const found = new Map<string, string>();
  let section = '';
  let number = 0;
  for (const line of text.split('\n')) {
    const heading = /^## (\d+)\./.exec(line)?.[1];
    if (heading !== undefined) [section, number] = [heading, 0];
    if (section === '' || line.trim() === '' || /^#{1,3} /.test(line) || /^\|[-| ]+\|$/.test(line)) continue;
    const parts = line.startsWith('|') ? [line] : line.replace(/^\s*(- )?/, '').split(/(?<=[.;])['’”)]?\s+/);
    for (const part of parts.map((one) => one.trim()).filter((one) => one !== '')) {
      number += 1;
      found.set(`${document}.${section}.${number}`, part);
    }
  }
  return found;
}

/** Whether a test only looks for words in source text. */
function readsSource(text: string): boolean {
  const code = text.replace(/^import [^;]*;$/gms, '');
  return /\b(readFileSync|readdirSync|Glob)\b/.test(code) && /\.tsx?['"`]|\{ts,tsx\}/.test(code);
}

const texts = new Map<string, string | null>();
const textOf = (file: string): string | null => {
  const path = join(root, file);
  if (!texts.has(file)) texts.set(file, existsSync(path) ? readFileSync(path, 'utf8') : null);
  return texts.get(file) ?? null;
};

function errorOf(proof: string): string | null {
  const [file = '', title = ''] = proof.split(' › ');
  const text = textOf(file);
  if (text === null) return `no file ${file}`;
  // A row of a table isQuoted in the file by its own name.
  const named = title.replace(/^family: /, '');
  const isQuoted = [`'${named}'`, `"${named}"`, `\`${named}\``].some((quoted) => text.includes(quoted));
  // Object keys that need no quotes.
  if (named === '' || !(isQuoted || text.includes(`\n  ${named}: `))) return `no test "${title}" in ${file}`;
  return readsSource(text) ? `${file} searches source text` : null;
}

export interface Coverage {
  readonly rows: number;
  readonly proven: number;
  readonly deviating: number;
  readonly unproven: number;
  readonly errors: readonly string[];
}

export function status(): Coverage {
  const all = clauses();
  const count = (state: Clause['status']) => all.filter((clause) => clause.status === state).length;
  const ids = all.map(({ id }) => id);
  const [deviating, unproven] = [count('deviating'), count('unproven')];
  const errors = [
    ...ids.filter((id, at) => ids.indexOf(id) < at).map((id) => `${id} twice`),
    ...all.flatMap(({ id, proofs }) =>
      proofs.map(errorOf).flatMap((error) => (error === null ? [] : [`${id}: ${error}`])),
    ),
    ...all
      .filter((one) => one.status === 'deviating' && one.reason === '')
      .map(({ id }) => `${id} deviates without a reason`),
    ...(unproven > maxUnproven ? [`${unproven} unproven, at most ${maxUnproven}`] : []),
    ...missing(all),
  ];
  return { rows: all.length - count('nothing'), proven: count('proven'), deviating, unproven, errors };
}

/** What the documents say and the list does not, or in other words. */
function missing(all: readonly Clause[]): string[] {
  if (documents === undefined) return [];
  const said = new Map<string, string>();
  for (const name of readdirSync(documents).filter((one) => /^00\d_.*\.txt$/.test(one)))
    for (const [id, text] of sentencesOf(name.slice(0, 3), readFileSync(join(documents, name), 'utf8')))
      said.set(id, text);
  const listed = new Map(all.map(({ id, text }) => [id, text]));
  return [
    ...[...said]
      .filter(([id, text]) => listed.get(id) !== text)
      .map(([id]) => `${id} is not listed as the document has it`),
    ...[...listed.keys()].filter((id) => !said.has(id)).map((id) => `${id} is in no document`),
  ];
}

/** So many rows that can be tried, in the order of the hash of seed and id, so that the choice is not made by hand. */
export function sampleOf(count: number, seed: string): Clause[] {
  const place = ({ id }: Clause): string => createHash('sha256').update(`${seed} ${id}`).digest('hex');
  return clauses()
    .filter(({ status }) => status !== 'nothing')
    .toSorted((a, b) => (place(a) < place(b) ? -1 : 1))
    .slice(0, count);
}

function main(): void {
  const { values } = parseArgs({
    options: { draw: { type: 'string' }, seed: { type: 'string', default: '' } },
  });
  if (values.draw !== undefined) {
    for (const { id, status: how, text } of sampleOf(Number(values.draw), values.seed))
      console.log([id, how, text].join('\t'));
    return;
  }
  const { rows, proven, deviating, unproven, errors } = status();
  console.log(
    `${rows} clauses: ${proven} proven, ${deviating} deviating, ${unproven} unproven (at most ${maxUnproven})`,
  );
  for (const { id, reason } of clauses().filter((one) => one.status === 'deviating'))
    console.log(`  ${id} ! ${reason}`);
  for (const error of errors) console.error(`  ${error}`);
  process.exitCode = errors.length === 0 ? 0 : 1;
}

if (import.meta.main) main();
