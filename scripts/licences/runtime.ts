/** Bun and what is linked into it, as its own licence notes list them; SQLite; data of others. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { unpackKnowledge } from '../../server/providers/knowledge/facts.ts';

export interface Part {
  readonly name: string;
  readonly version: string;
  /** As its source words it. */
  readonly license: string;
  readonly url: string;
  readonly kind: 'library' | 'platform' | 'data';
  readonly parts: readonly Part[];
}

export interface Runtime {
  readonly parts: readonly Part[];
  /** Title and text, in the order they are to be read. */
  readonly texts: readonly (readonly [title: string, text: string])[];
}

const linkOf = (cell: string): { readonly name: string; readonly url: string } => {
  const link = /\[`?([^`\]]+)`?\]\((\S+?)\)/.exec(cell);
  return { name: cell.replace(/\[`?([^`\]]+)`?\]\(\S+?\)/g, '$1').trim(), url: link?.[2] ?? '' };
};

/** Licences that the notes name, and the words they use for them. */
const named: readonly (readonly [id: string, words: RegExp])[] = [
  ['MIT', /\bMIT\b/],
  ['Apache-2.0', /Apache 2\.0/],
  ['BSD-2-Clause', /BSD 2-Clause/],
  ['BSD-3-Clause', /BSD 3-Clause|under the BSD License/],
  ['CC0-1.0', /CC0 1\.0/],
  ['ICU', /ICU license/],
  ['IJG', /\bIJG\b/],
  ['LGPL-2.0-only', /LGPL-2\b/],
  ['LGPL-2.1-only', /LGPL v2\.1/],
  ['libpng-2.0', /PNG Reference Library License v2/],
  ['Zlib', /\bzlib\b/],
];

/** The identifier where the words name one licence and nothing else. */
const idOf = (words: string): string =>
  named.find(([, pattern]) => words.replace(/ licensed$/, '').replace(pattern, '') === '')?.[0] ?? words;

/** Rows `| [name](address) | licence |` of the notes, in both of their tables. */
const rowsOf = (notes: string): Part[] =>
  [...notes.matchAll(/^\| (.*\[.*?) +\| (.*?) +\|$/gm)].map(([, name = '', license = '']) => ({
    ...linkOf(name),
    version: '',
    license: idOf(linkOf(license).name),
    kind: 'library',
    parts: [],
  }));

/** Of the packages that `npm run knowledge` reads. */
const addresses: Readonly<Record<string, string>> = {
  litellm: 'https://github.com/BerriAI/litellm',
  'genai-prices': 'https://github.com/pydantic/genai-prices',
  '@openai/codex': 'https://github.com/openai/codex',
};

/** @throws Error when the notes no longer read as they did. */
export function runtimeOf(root: string, bun: string): Runtime {
  const read = (path: string): string => readFileSync(join(root, path), 'utf8').replaceAll('\r\n', '\n').trim();
  const { sources } = unpackKnowledge(read('server/providers/knowledge/data/models.json'));
  const spdx = (id: string): string =>
    (
      JSON.parse(read(`node_modules/spdx-license-list/licenses/${id}.json`)) as { licenseText: string }
    ).licenseText.trim();
  const notes = read('node_modules/bun-types/docs/project/license.mdx').replace(/^---[\s\S]*?---\s*/, '');
  const listed = rowsOf(notes);
  if (listed.length < 40 || !/statically links JavaScriptCore/.test(notes))
    throw new Error("Bun's licence notes no longer list what is linked into it");
  const engine: Part = {
    name: 'JavaScriptCore',
    version: '',
    license: 'LGPL-2.0-only',
    url: 'https://github.com/oven-sh/webkit',
    kind: 'library',
    parts: [],
  };
  const sqlite = /#define SQLITE_VERSION\s+"([\d.]+)"/.exec(read('node_modules/better-sqlite3/deps/sqlite3/sqlite3.h'));
  if (sqlite === null) throw new Error('no version in sqlite3.h');
  return {
    parts: [
      {
        name: 'bun',
        version: bun,
        license: 'MIT',
        url: 'https://bun.sh',
        kind: 'platform',
        parts: [engine, ...listed],
      },
      {
        name: 'sqlite',
        version: sqlite[1] ?? '',
        license: 'blessing',
        url: 'https://sqlite.org',
        kind: 'library',
        parts: [],
      },
      {
        name: 'models.dev prices',
        version: '2026-07-02',
        license: 'MIT',
        url: 'https://github.com/anomalyco/models.dev',
        kind: 'data',
        parts: [],
      },
      ...sources.map(
        ({ name, version, licence }): Part => ({
          name: `${name} facts`,
          version,
          license: licence,
          url: addresses[name] ?? '',
          kind: 'data',
          parts: [],
        }),
      ),
    ],
    texts: [
      [`Bun ${bun}, its own notes on licences`, notes],
      ...named.filter(([, words]) => words.test(notes)).map(([id]) => [`${id}, for parts of Bun`, spdx(id)] as const),
      [`SQLite ${sqlite[1]}`, spdx('blessing')],
      ['Prices of models, facts of models.dev', read('scripts/prices/LICENSE-models.dev')],
      ['Prices and facts of models, of litellm', read('scripts/prices/LICENSE-litellm')],
      ['Prices and facts of models, of genai-prices', read('scripts/prices/LICENSE-genai-prices')],
      ['Efforts of models, facts of @openai/codex, Copyright OpenAI', spdx('Apache-2.0')],
    ],
  };
}
