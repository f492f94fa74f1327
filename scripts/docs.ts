/** Writes the generated lists beside the catalogues they come from; `documentsAreFresh` returns whether they are up to date. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { commands } from '../cli/commands/index.ts';
import { agents, lineFor, setupSteps } from '../server/contract/agents.ts';
import type { Written } from '../server/contract/enum.ts';
import { textIn } from '../server/contract/language.ts';
import { optionKeys, optionRow } from '../server/contract/options.ts';
import { providers } from '../server/providers/catalogue.ts';

const root = resolve(import.meta.dirname, '..');
const files: readonly (readonly [string, Written])[] = [
  ['cli/COMMANDS.md', 'en'],
  ['cli/COMMANDS.zh.md', 'zh'],
  ['cli/AGENTS.md', 'en'],
  ['cli/AGENTS.zh.md', 'zh'],
  ['server/contract/OPTIONS.md', 'en'],
  ['server/contract/OPTIONS.zh.md', 'zh'],
  ['server/providers/PROVIDERS.md', 'en'],
  ['server/providers/PROVIDERS.zh.md', 'zh'],
];

const cell = (text: string): string => text.replace(/\|/g, '\\|').replace(/\n/g, ' ');

type Heading = readonly [en: string, zh: string];

function table(language: Written, headings: readonly Heading[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  return [
    line(headings.map(([en, zh]) => (language === 'zh' ? zh : en))),
    line(headings.map(() => '---')),
    ...rows.map(line),
  ].join('\n');
}

const tables: Readonly<Record<string, (language: Written) => string>> = {
  commands: (language) =>
    table(
      language,
      [
        ['command', '命令'],
        ['what it does', '作用'],
      ],
      commands.map((row) => [
        `\`gateway ${row.name}${row.argument === undefined ? '' : ` ${row.argument}`}\``,
        textIn(row, language),
      ]),
    ),
  options: (language) =>
    table(
      language,
      [
        ['key', '键'],
        ['kind, default', '类型与默认值'],
        ['what it sets', '含义'],
      ],
      optionKeys.map((key) => {
        const row = optionRow(key);
        const fallback = row.fallback.length > 40 ? '…' : row.fallback;
        return [
          `\`${key}\``,
          `${row.kind.name}${fallback === '' ? '' : ` \`${fallback}\``}`,
          textIn(row.label, language),
        ];
      }),
    ),
  agents: (language) =>
    agents
      .map((agent) => {
        const details = { url: 'http://127.0.0.1:3000', key: 'sk-...', models: ['MODEL'], model: 'MODEL' };
        const shell = language === 'zh' ? '在终端中' : 'In a shell';
        return [
          `## ${agent.label}`,
          `\`${lineFor(agent)}\``,
          ...(agent.note === undefined ? [] : [textIn(agent.note, language)]),
          ...setupSteps(agent, details).map(({ path, text }) =>
            [`${path === '' ? shell : `\`${path}\``}:`, '', '```text', text.trimEnd(), '```'].join('\n'),
          ),
        ].join('\n\n');
      })
      .join('\n\n'),
  providers: (language) =>
    table(
      language,
      [
        ['type', '类型'],
        ['name for `--type`', '`--type` 名称'],
        ['provider', '上游'],
      ],
      providers.map((row) => [String(row.type), `\`${row.slug}\``, textIn(row.label, language)]),
    ),
};

function written(file: string, language: Written): string {
  return readFileSync(join(root, file), 'utf8').replace(
    /<!-- (\w+) -->[\s\S]*?<!-- \/\1 -->/g,
    (whole, name: string) =>
      tables[name] === undefined ? whole : `<!-- ${name} -->\n${tables[name](language)}\n<!-- /${name} -->`,
  );
}

export const documentsAreFresh = (): boolean =>
  files.every(([file, language]) => written(file, language) === readFileSync(join(root, file), 'utf8'));

if (import.meta.main) {
  if (process.argv.includes('--check')) process.exit(documentsAreFresh() ? 0 : 1);
  for (const [file, language] of files) writeFileSync(join(root, file), written(file, language));
}
