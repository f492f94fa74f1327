/** No pattern that reads what others wrote takes more than twice as long for twice as much. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseAst } from 'vite';
import { expect, test } from 'vitest';
import { often } from '../support/often.ts';
import { randomOf } from '../support/random.ts';
import { hostileTexts } from './hostile-texts.ts';

const root = resolve(import.meta.dirname, '../..');
const folders = 'server/{contract,protocols,providers,routing,relay}';

/** Patterns whose time grows with the square of what they read, and why that is short. */
const bounded: ReadonlyMap<string, string> = new Map([
  [String.raw`/\B(?=(\d{3})+$)/g`, 'digits of a number of ours'],
  [String.raw`/\/+$/`, 'addresses that the operator wrote'],
  [String.raw`/\0.*$/`, 'the name of a codec, cut to its field in the container'],
  ['/@.*$/', 'names of models in the catalogue'],
  [String.raw`/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g`, 'a message of an upstream, cut to 2,000 characters by `redact`'],
  [
    // Bun writes other letters than those of ASCII as escapes into a raw text.
    `${String.raw`/\b(?:USD|EUR|CNY|RMB)\s*-?\d[\d,]*(?:\.\d+)?|-?\d[\d,]*(?:\.\d+)?\s*(?:\b(?:USD|EUR|CNY|RMB|dollars?|credits?)\b`}|元|美元)/gi`,
    'a message of an upstream, cut to 2,000 characters by `redact`',
  ],
  [
    String.raw`/\b(?:[a-z\d](?:[a-z\d-]*[a-z\d])?\.)+(?:com|net|org|io|ai|cn|dev|app|cloud|co|us|eu|de|example|internal|local)\b(?::\d+)?(?:\/[^\s"'<>),]*)?/gi`,
    'a message of an upstream, cut to 2,000 characters by `redact`',
  ],
]);

interface Found {
  readonly path: string;
  readonly pattern: RegExp;
}

function literals(path: string): Found[] {
  const found: Found[] = [];
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if ('regex' in node && typeof node.regex === 'object' && node.regex !== null) {
      const { pattern, flags } = node.regex as { readonly pattern: string; readonly flags: string };
      found.push({ path, pattern: new RegExp(pattern, flags) });
      return;
    }
    for (const inner of Object.values(node)) walk(inner);
  };
  walk(parseAst(readFileSync(join(root, path), 'utf8'), { lang: 'ts' }));
  return found;
}

/** Processor milliseconds, the least of some tries: what else runs on the machine takes its share of the others. */
function timeOf(pattern: RegExp, text: string, enough: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let times = 0; times < 4 && least > enough; times++) {
    pattern.lastIndex = 0;
    const started = performance.now();
    if (pattern.global) text.replace(pattern, '');
    else pattern.exec(text);
    least = Math.min(least, performance.now() - started);
  }
  return least;
}

/** A pattern that is linear takes microseconds for a text of this length, a square one takes a hundred times that. */
const length = often(3000, 12_000);
const enoughMs = often(3, 6);

function slowest({ pattern }: Found, random: () => number): { readonly ms: number; readonly text: string } {
  let worst = { ms: 0, text: '' };
  for (const text of hostileTexts(pattern, random, length)) {
    const ms = timeOf(pattern, text, enoughMs);
    if (ms > worst.ms) worst = { ms, text };
  }
  return worst;
}

const random = randomOf(Number(process.env.FUZZ_SEED ?? 20261128));
const paths = [...new Bun.Glob(`${folders}/**/*.ts`).scanSync({ cwd: root })].sort();
const known = new Map(paths.flatMap(literals).map((found) => [String(found.pattern), found]));

test('the time of each pattern grows with its text and not with its square', () => {
  expect(known.size).toBeGreaterThan(300);
  const slow = [...known.values()]
    .filter(({ pattern }) => !bounded.has(String(pattern)))
    .flatMap((found) => {
      const { ms, text } = slowest(found, random);
      return ms <= enoughMs
        ? []
        : [`${found.path} ${found.pattern} ${ms.toFixed(1)} ms: ${JSON.stringify(text.slice(0, 40))}`];
    });
  expect(slow).toEqual([]);
});

test('each pattern with a bound is still there', () => {
  expect([...bounded.keys()].filter((pattern) => !known.has(pattern))).toEqual([]);
});

/** Patterns that are put together from parts, by file: what they read, or why they are linear. */
const composed: ReadonlyMap<string, string> = new Map([
  ['server/contract/channel-rules.ts', 'what the operator wrote: one unbounded repetition, and short texts for it'],
  ['server/contract/console-pages.ts', 'segments of an address, with a slash between them'],
  ['server/contract/language.ts', 'sentences of ours'],
  ['server/contract/model-rules.ts', 'what the operator wrote, with an engine without backtracking'],
  ['server/contract/networks.ts', 'an address of four numbers'],
  ['server/contract/plural.ts', 'sentences of ours'],
  ['server/contract/safe-text.ts', 'one class'],
  ['server/contract/storage-reasons.ts', 'sentences of ours'],
  ['server/contract/stored-texts.ts', 'sentences of ours'],
  ['server/providers/knowledge/refused-members.ts', 'names of at most 120 characters, and words that rows allow'],
  ['server/relay/admission/counting/count.ts', 'classes without a sign in common'],
  ['server/relay/endpoints/tasks/work.ts', 'a word, and blanks and digits that are counted'],
  ['server/relay/shared/failure.ts', 'a message of an upstream, cut to 2,000 characters by `redact`'],
]);

test('every pattern that is composed of parts is in the list below', () => {
  const found = paths.filter((path) => readFileSync(join(root, path), 'utf8').includes('new RegExp('));
  expect(found).toEqual([...composed.keys()].sort());
});

test.each([
  ['two classes with a sign in common', /^[A-Za-z\d+/_\r\n-]+={0,2}[\r\n]*$/, 4000],
  ['a loop in a loop', /^(?:a+)+$/, 21],
  ['a loop that may begin anywhere', /\s+$/, 4000],
  ['two loops over anything', /x.*y.*z/, 600],
  ['an assertion that looks to the end from everywhere', /\B(?=(?:\d{3})+$)/g, 4000],
])('the texts find %s', (_what, pattern, size) => {
  const texts = hostileTexts(pattern, randomOf(1), size);
  expect([...texts].some((text) => timeOf(pattern, text, enoughMs) > enoughMs)).toBe(true);
});
