/** A command line as a person types it: from its row, its flags and its arguments. */
import { Option } from 'commander';
import type { CommandRow, FlagValues } from '../command.ts';
import { globals } from '../globals.ts';

const plain = /^[\w@%+=:,./-]+$/;
const quoted = (word: string): string => (plain.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

function flagWords(flag: string, values: FlagValues): string[] {
  const option = new Option(flag);
  const value = values[option.attributeName()];
  const name = option.long ?? option.short ?? '';
  if (value === undefined || (option.negate ? value === true : value === false)) return [];
  if (typeof value === 'boolean' || value === '') return [name];
  return typeof value === 'string' ? [name, quoted(value)] : value.flatMap((one) => [name, quoted(String(one))]);
}

/** Values that stand for what is missing: `--name TEXT`, `AMOUNT`, and last what standard input brings. */
function missingWords(row: CommandRow, missing: string) {
  const words = { before: [] as string[], arguments: [] as string[], flags: [] as string[], input: '' };
  for (const part of missing.split(', ')) {
    const [name = ''] = part.split(' | ');
    const flag = [...(row.flags ?? []), ...globals].find((one) => one.flag.split(/[ ,]+/).includes(name))?.flag;
    const place = /[<[]([\w-]+)/.exec(flag ?? '')?.[1]?.toUpperCase();
    if (name.endsWith('-stdin')) words.input = ' < FILE';
    if (name.startsWith('-')) words.flags.push(place === undefined ? name : `${name} ${place}`);
    else if (name.startsWith('GATEWAY_')) words.before.push(`${name}=...`);
    else if (/^[A-Z_=.]+$/.test(name)) words.arguments.push(name);
  }
  return words;
}

/** @param missing names as `input_needed` has them: all of those between commas, one of those between bars. */
export function commandLine(
  row: CommandRow,
  values: FlagValues,
  positionals: readonly string[] = [],
  missing = '',
): string {
  const needed = missingWords(row, missing);
  const flags = [...(row.flags ?? []), ...globals].flatMap(({ flag }) => flagWords(flag, values));
  const argumentWords = [...positionals.map(quoted), ...needed.arguments];
  // A value such as -5usd would be read as a flag: what follows `--` is none.
  const isDashed = positionals.some((one) => one.startsWith('-'));
  const words = [
    ...needed.before,
    'gateway',
    row.name,
    ...(isDashed ? [] : argumentWords),
    ...flags,
    ...needed.flags,
    ...(isDashed ? ['--', ...argumentWords] : []),
  ];
  return words.join(' ') + needed.input;
}
