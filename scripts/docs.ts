/** Writes the generated tables of the READMEs from the catalogues; `documentsAreFresh` tells whether that would change anything. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { commands } from '../cli/commands/index.ts';
import type { Language } from '../server/contract/enums.ts';
import { optionKeys, optionRow } from '../server/contract/options.ts';
import { providers } from '../server/providers/catalogue.ts';

const root = resolve(import.meta.dirname, '..');
const files: readonly (readonly [string, Language])[] = [
  ['README.md', 'en'],
  ['README.zh.md', 'zh'],
];

const cell = (text: string): string => text.replace(/\|/g, '\\|').replace(/\n/g, ' ');

const tables: Readonly<Record<string, (language: Language) => string>> = {
  commands: (language) =>
    [
      '| | |',
      '|---|---|',
      ...commands.map(
        (row) =>
          `| \`gateway ${row.name}${row.argument === undefined ? '' : ` ${row.argument}`}\` | ${cell(row[language])} |`,
      ),
    ].join('\n'),
  options: (language) =>
    [
      '| | | |',
      '|---|---|---|',
      ...optionKeys.map((key) => {
        const row = optionRow(key);
        const fallback = row.fallback.length > 40 ? '…' : row.fallback;
        return `| \`${key}\` | ${row.kind.name}${fallback === '' ? '' : ` \`${cell(fallback)}\``} | ${cell(row.label[language])} |`;
      }),
    ].join('\n'),
  providers: (language) =>
    [
      '| | | |',
      '|---|---|---|',
      ...providers.map((row) => `| ${row.type} | \`${row.slug}\` | ${cell(row.label[language])} |`),
    ].join('\n'),
};

function written(file: string, language: Language): string {
  return readFileSync(join(root, file), 'utf8').replace(
    /<!-- (\w+) -->[\s\S]*?<!-- \/\1 -->/g,
    (whole, name: string) =>
      tables[name] === undefined ? whole : `<!-- ${name} -->\n${tables[name](language)}\n<!-- /${name} -->`,
  );
}

export const documentsAreFresh = (): boolean =>
  files.every(([file, language]) => written(file, language) === readFileSync(join(root, file), 'utf8'));

if (import.meta.main) for (const [file, language] of files) writeFileSync(join(root, file), written(file, language));
