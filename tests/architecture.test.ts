import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { providers } from '../server/providers/catalogue.ts';

const root = resolve(import.meta.dirname, '..');
const files = ['cli', 'server', 'db', 'web', 'scripts', 'tests'].flatMap((folder) =>
  [...new Bun.Glob(`${folder}/**/*.{ts,tsx}`).scanSync({ cwd: root })].filter((path) => !path.includes('/dist/')),
);
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');
const source = files.filter((path) => !path.startsWith('tests/'));

/** Imports of a file as paths from the root; type-only imports are told apart. */
const importsOf = (path: string): { readonly target: string; readonly typeOnly: boolean }[] =>
  [...textOf(path).matchAll(/(import|export)\s+(type\s)?[^'"]*?from\s+'(\.[^']+)'|import\('(\.[^']+)'\)/g)].map(
    (match) => ({
      target: join(path, '..', match[3] ?? match[4] ?? ''),
      typeOnly: match[2] !== undefined,
    }),
  );

const layers: readonly (readonly [string, RegExp, RegExp])[] = [
  ['contract is pure', /^server\/contract\//, /^server\/(contract|protocols\/canonical)/],
  [
    'the database knows only the contract and the ledger’s language',
    /^db\//,
    /^(db|server\/contract|server\/ledger\/(commands|core))/,
  ],
  ['the ledger', /^server\/ledger\//, /^(db|server\/(contract|ledger))/],
  ['protocols know no database, no server, no provider', /^server\/protocols\//, /^server\/(contract|protocols)/],
  ['providers know only protocols', /^server\/providers\//, /^server\/(contract|protocols|providers)/],
  ['domain', /^server\/domain\//, /^(db|server\/(contract|domain|ledger|providers|protocols|relay\/snapshot))/],
  ['the relay', /^server\/relay\//, /^server\/(contract|protocols|providers|ledger\/commands|relay|domain\/channels)/],
  ['the console', /^web\//, /^(web|server\/contract)/],
  ['the practice upstream stands alone', /^server\/practice\//, /^server\/practice/],
];

test.each(layers)('%s', (_name, from, allowed) => {
  const crossing = source
    .filter((path) => from.test(path))
    .flatMap((path) => importsOf(path).map(({ target }) => ({ path, target })))
    .filter(({ target }) => !allowed.test(target));
  expect(crossing).toEqual([]);
});

test('the relay takes nothing but types from the domain, and no SQL', () => {
  const loaded = source
    .filter((path) => path.startsWith('server/relay/'))
    .flatMap((path) => importsOf(path).map((one) => ({ path, ...one })))
    .filter(({ target, typeOnly }) => !typeOnly && /^(db|server\/domain)/.test(target));
  expect(loaded).toEqual([]);
});

test('SQL lives in db alone', () => {
  const sql = /\b(SELECT .+ FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM)\b/;
  expect(
    source.filter((path) => !path.startsWith('db/') && !path.startsWith('scripts/') && sql.test(textOf(path))),
  ).toEqual([]);
});

test('files stay small', () => {
  const exempt =
    /catalogue|locales|migrations\/|contract\/(errors|options)\.ts|endpoints\/index|db\/schema|cli\/commands\/index/;
  const sizes = source
    .filter((path) => !exempt.test(path))
    .map((path) => ({ path, lines: textOf(path).split('\n').length }))
    .sort((a, b) => a.lines - b.lines);
  expect(sizes.filter((file) => file.lines > 450)).toEqual([]);
  expect(sizes[Math.floor(sizes.length * 0.5)]?.lines).toBeLessThanOrEqual(90);
  expect(sizes[Math.floor(sizes.length * 0.95)]?.lines).toBeLessThanOrEqual(300);
});

test('no provider is named outside its catalogue', () => {
  const slugs = providers
    .map((provider) => provider.slug)
    .filter((slug) => !['openai', 'custom', 'practice', 'github-models'].includes(slug));
  const named = new RegExp(`['"\`](${slugs.join('|')})['"\`]`);
  const offenders = source.filter(
    (path) => !path.startsWith('server/providers/') && !path.startsWith('scripts/') && named.test(textOf(path)),
  );
  expect(offenders).toEqual([]);
});

test('nothing is left undone or switched off', () => {
  const marks = new RegExp(
    `\\b(${['TO', 'DO'].join('')}|FIX${'ME'})\\b|\\.(skip|only|todo)\\(|@ts-(ignore|nocheck)|\\bas any\\b|: any\\b`,
  );
  expect(files.filter((path) => path !== 'tests/architecture.test.ts' && marks.test(textOf(path)))).toEqual([]);
});
