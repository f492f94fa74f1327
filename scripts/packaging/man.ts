/** Man pages in both languages, from the table of commands: gateway(1), and one page for each first word. */
import type { CommandRow, Flag } from '../../cli/command.ts';
import { environment, exitCodes } from '../../cli/commands/help/topics.ts';
import { commands } from '../../cli/commands/index.ts';
import { globals, nouns } from '../../cli/globals.ts';
import type { Written } from '../../server/contract/enum.ts';

export interface ManPage {
  /** Below the folder `man`. */
  readonly path: string;
  readonly text: string;
}

/** A dot or a quote at the start of a line, and backslashes, mean something to roff; hyphens of flags are to be copied as they are. */
const roff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^([.'])/gm, '\\&$1');

const headings = {
  en: {
    name: 'NAME',
    usage: 'SYNOPSIS',
    commands: 'COMMANDS',
    options: 'OPTIONS',
    environment: 'ENVIRONMENT',
    exit: 'EXIT STATUS',
    examples: 'EXAMPLES',
    see: 'SEE ALSO',
    about: 'AI gateway: relay, billing, console and terminal',
  },
  zh: {
    name: '名称',
    usage: '用法',
    commands: '命令',
    options: '选项',
    environment: '环境变量',
    exit: '退出码',
    examples: '示例',
    see: '参见',
    about: 'AI 网关：转发、计费、控制台与终端',
  },
} as const;

const entry = (term: string, about: string): string => `.TP\n.B ${roff(term)}\n${roff(about)}\n`;
const flagsOf = (flags: readonly Flag[], language: Written): string =>
  flags.map((flag) => entry(flag.flag, flag[language])).join('');
const callOf = ({ name, argument }: CommandRow): string =>
  `gateway ${name}${argument === undefined ? '' : ` ${argument}`}`;

function overview(firsts: readonly string[], version: string, language: Written): string {
  const words = headings[language];
  const own = commands.filter((row) => row.hidden !== true);
  return [
    `.TH GATEWAY 1 "" "gateway ${version}"`,
    `.SH ${words.name}\ngateway \\- ${roff(words.about)}`,
    `.SH ${words.usage}\n.B gateway\n[${roff('options')}] command`,
    `.SH ${words.commands}\n${own.map((row) => entry(callOf(row), row[language])).join('')}`,
    `.SH ${words.options}\n${flagsOf(globals, language)}`,
    `.SH ${words.environment}\n${environment.map((row) => entry(row.name, row[language])).join('')}`,
    `.SH ${words.exit}\n${exitCodes.map((row) => entry(String(row.code), row[language])).join('')}`,
    `.SH ${words.see}\n${firsts.map((first) => `.BR gateway\\-${roff(first)} (1)`).join(',\n')}\n`,
  ].join('\n');
}

function pageOf(first: string, rows: readonly CommandRow[], version: string, language: Written): string {
  const words = headings[language];
  const about = nouns[first]?.[language] ?? rows[0]?.[language] ?? '';
  const sections = rows.map(
    (row) =>
      `.SS ${roff(callOf(row))}\n${roff(row[language])}\n${flagsOf(row.flags ?? [], language)}.PP\n${words.examples}\n.nf\n${row.examples.map((example) => `\\&    ${roff(`gateway ${example}`)}`).join('\n')}\n.fi\n`,
  );
  return [
    `.TH ${roff(`GATEWAY-${first.toUpperCase()}`)} 1 "" "gateway ${version}"`,
    `.SH ${words.name}\n${roff(`gateway-${first}`)} \\- ${roff(about)}`,
    `.SH ${words.commands}\n${sections.join('')}`,
    `.SH ${words.see}\n.BR gateway (1)\n`,
  ].join('\n');
}

export function manPages(version: string): readonly ManPage[] {
  const shown = commands.filter((row) => row.hidden !== true);
  const groups = Map.groupBy(shown, (row) => row.name.split(' ')[0] ?? '');
  const places = { en: 'man1', zh: 'zh_CN/man1' } as const;
  return (['en', 'zh'] as const).flatMap((language) => [
    { path: `${places[language]}/gateway.1`, text: overview([...groups.keys()], version, language) },
    ...[...groups].map(([first, rows]) => ({
      path: `${places[language]}/gateway-${first}.1`,
      text: pageOf(first, rows, version, language),
    })),
  ]);
}
