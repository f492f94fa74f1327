/** The command tree for commander, built from the table of commands. */

import { Command, CommanderError, Option } from 'commander';
import type { Language } from '../server/contract/enum.ts';
import { AppError } from '../server/contract/errors.ts';
import { textIn } from '../server/contract/language.ts';
import type { CommandRow, FlagValues } from './command.ts';
import { commands } from './commands/index.ts';
import { createContext, type GlobalFlags } from './context.ts';
import { aliases, globals, nouns, otherTask, tasks } from './globals.ts';
import { guarded, type Streams } from './output.ts';
import { commandLine } from './parts/command-line.ts';

export interface ProgramDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly streams: Streams;
  readonly stdin: NodeJS.ReadStream;
  readonly language: Language;
}

const chineseTitles: Readonly<Record<string, string>> = {
  'Usage:': '用法：',
  'Arguments:': '参数：',
  'Options:': '选项：',
  'Commands:': '命令：',
};

/** Widest line of help. */
const helpWidth = 80;

const wordsOf = (row: CommandRow): string[] => row.name.split(' ');

/** @returns the command that is named; where none is or its name goes on, those of the noun; else all. */
function meantBy(args: readonly string[]): readonly CommandRow[] {
  const named = commands.filter((row) => wordsOf(row).every((word, at) => word === args[at]));
  const [one] = named;
  if (one !== undefined && named.length === 1 && !commands.some((row) => row.name.startsWith(`${one.name} `)))
    return named;
  const ofNoun = commands.filter((row) => wordsOf(row)[0] === args[0]);
  return ofNoun.length > 0 ? ofNoun : commands;
}

/** @param args what will be parsed: where it names a command or its noun, the others are left out. Absent = all are there. */
export function createProgram(programDeps: ProgramDeps, args?: readonly string[]): Command {
  const deps = { ...programDeps, streams: guarded(programDeps.streams) };
  const say = (zh: string, en: string) => textIn({ zh, en }, deps.language);
  const program = new Command('gateway')
    .description(
      say(
        '一个可执行文件：AI 请求网关、精确计费、控制台与终端',
        'One executable: AI gateway, exact billing, console and terminal',
      ),
    )
    .exitOverride(usageError(deps.language))
    .configureOutput({
      writeOut: (text) => void deps.streams.out.write(text),
      writeErr: (text) => void deps.streams.err.write(text),
      // What is wrong is said where all errors are, also as JSON.
      outputError: () => undefined,
      getOutHelpWidth: () => helpWidth,
      getErrHelpWidth: () => helpWidth,
    })
    .showSuggestionAfterError(true)
    .configureHelp({ styleTitle: (title) => say(chineseTitles[title] ?? title, title) })
    .helpOption('-h, --help', say('显示帮助', 'show help'))
    .helpCommand(false)
    .enablePositionalOptions();
  const known = new Map<string, Command>();
  /** The command a path of nouns stands for, made when first met. */
  const nounOf = (path: readonly string[]): Command => {
    const name = path.join(' ');
    const last = path.at(-1);
    if (last === undefined) return program;
    const found = known.get(name);
    if (found !== undefined) return found;
    const noun = nounOf(path.slice(0, -1))
      .command(last)
      .exitOverride(usageError(deps.language))
      .helpOption('-h, --help', say('显示帮助', 'show help'))
      .helpCommand(false);
    const about = nouns[name];
    noun.description(about === undefined ? name : textIn(about, deps.language));
    known.set(name, noun);
    return noun;
  };
  for (const row of meantBy(args ?? [])) {
    const path = wordsOf(row);
    const leaf = addLeaf(nounOf(path.slice(0, -1)), path.at(-1) ?? '', row, deps);
    addOptions(leaf, row, deps.language);
  }
  // Groups stand in the order of their first command.
  (program.commands as Command[]).sort((one, other) => taskOf(one) - taskOf(other));
  for (const command of program.commands)
    command.helpGroup(`${textIn(tasks[taskOf(command)] ?? otherTask, deps.language)}${say('：', ':')}`);
  return program;
}

/** Its heading in the list of all commands; those without one come last. */
function taskOf(command: Command): number {
  const at = tasks.findIndex(({ names }) => names.includes(command.name()));
  return at < 0 ? tasks.length : at;
}

function addLeaf(parent: Command, name: string, row: CommandRow, deps: ProgramDeps): Command {
  const leaf = parent
    .command(name, { hidden: row.hidden ?? false })
    .description(textIn(row, deps.language))
    .helpOption('-h, --help', textIn({ zh: '显示帮助', en: 'show help' }, deps.language))
    .exitOverride(usageError(deps.language, row));
  const alias = row.alias ?? aliases[name];
  if (alias !== undefined) leaf.alias(alias);
  const positionals = row.argument?.split(' ') ?? [];
  for (const positional of positionals) leaf.argument(positional);
  if (row.passThrough === true) leaf.passThroughOptions();
  leaf.addHelpText('after', examplesOf(row, deps.language));
  leaf.action(async (...received: unknown[]) => {
    const given = received
      .slice(0, positionals.length)
      .flat()
      .filter((one) => one !== undefined);
    const all = given.map(String);
    const values = leaf.opts<FlagValues>();
    refuseEmpty(row, values, all);
    const context = createContext(values as GlobalFlags, deps.env, deps.streams, deps.stdin, (typed) =>
      commandLine(row, typed),
    );
    try {
      const run = await row.load();
      await run(context, values, all[0] ?? '', all);
    } catch (error) {
      throw error instanceof AppError && error.code === 'input_needed' ? withMissing(error, row, values, all) : error;
    } finally {
      await context.close();
    }
  });
  return leaf;
}

/**
 * What an unset variable of a shell leaves selects nothing, lifts no limit and names no place.
 * @throws AppError usage
 */
function refuseEmpty(row: CommandRow, values: FlagValues, positionals: readonly string[]): void {
  const isEmpty = (value: unknown): boolean => typeof value === 'string' && value.trim() === '';
  const own = row.flags ?? [];
  for (const flag of [...own, ...globals]) {
    const option = new Option(flag.flag);
    const value = values[option.attributeName()];
    // A value that may be left out is empty then.
    const isNeeded = flag.flag.includes('<');
    if (isNeeded && flag.clears !== true && [value].flat().some(isEmpty))
      throw emptyValue(row, option.long ?? flag.flag);
  }
  // The arguments of another program are its own.
  if (row.passThrough !== true && positionals.some(isEmpty)) throw emptyValue(row, row.argument ?? '');
}

const emptyValue = (row: CommandRow, name: string): AppError =>
  new AppError('usage', {
    detail: `${name}: empty`,
    detail_zh: `${name} 的值为空`,
    detail_en: `${name} has an empty value`,
    usage: `gateway ${row.name} ${row.argument ?? ''}`.trim(),
    example: `gateway ${row.examples[0] ?? row.name}`,
  });

function addOptions(leaf: Command, row: CommandRow, language: Language): void {
  const own = row.flags ?? [];
  const names = new Set(own.map(({ flag }) => new Option(flag).long));
  for (const flag of own) leaf.option(flag.flag, textIn(flag, language));
  leaf.optionsGroup(textIn({ zh: '通用：', en: 'Every command:' }, language));
  for (const flag of globals)
    if (!names.has(new Option(flag.flag).long)) leaf.option(flag.flag, textIn(flag, language));
}

const examplesOf = (row: CommandRow, language: Language): string =>
  `\n${textIn({ zh: '示例', en: 'Examples' }, language)}:\n${row.examples.map((example) => `  gateway ${example}`).join('\n')}`;

/** The command that was typed, with what it lacks. */
function withMissing(error: AppError, row: CommandRow, values: FlagValues, positionals: readonly string[]): AppError {
  const example = commandLine(row, values, positionals, String(error.params.flags ?? ''));
  return new AppError(error.code, { ...error.params, example }, error.cause);
}

/** @returns how many words at the beginning are flags that every command has, with their values. */
function globalsAt(args: readonly string[]): number {
  let at = 0;
  while (args[at]?.startsWith('-') === true) {
    const word = args[at] ?? '';
    const row = globals.find(({ flag }) => flag.split(/[ ,]+/).includes(word.split('=')[0] ?? ''));
    if (row === undefined) break;
    at += row.flag.includes('<') && !word.includes('=') ? 2 : 1;
  }
  return Math.min(at, args.length);
}

/** Whether no command is named, but at most which gateway, and how it is shown. */
export const namesNoCommand = (args: readonly string[]): boolean => globalsAt(args) === args.length;

/** Flags every command has may stand before it: they are moved behind its name. */
export function trailingGlobals(args: readonly string[]): string[] {
  const at = globalsAt(args);
  const [before, rest] = [args.slice(0, at), args.slice(at)];
  const name = commands
    .map((row) => row.name.split(' '))
    .filter((words) => words.every((word, index) => rest[index] === word))
    .reduce((longest, words) => Math.max(longest, words.length), 0);
  return name === 0 ? [...args] : [...rest.slice(0, name), ...before, ...rest.slice(name)];
}

/** `help token create` means `token create --help`, as in most programs; topics stay with the help command. */
export function asHelpFlag(args: readonly string[]): string[] {
  const [verb, ...words] = args;
  const isCommand = commands.some((row) => row.name.split(' ')[0] === words[0]);
  return verb === 'help' && isCommand ? [...words, '--help'] : [...args];
}

/** Help and version are no errors. */
export const isHelp = (error: unknown): boolean =>
  error instanceof CommanderError && (error.exitCode === 0 || error.code === 'commander.help');

/** The parser's own words, by their code: the quoted name stands for `{}`. */
const messages: Readonly<Record<string, readonly [zh: string, en: string]>> = {
  'commander.missingArgument': ['缺少参数 {}', 'missing argument {}'],
  'commander.optionMissingArgument': ['{} 缺少值', '{} needs a value'],
  'commander.unknownOption': ['未知的选项 {}', 'unknown option {}'],
  'commander.unknownCommand': ['未知的命令 {}', 'unknown command {}'],
  'commander.excessArguments': ['参数过多', 'too many arguments'],
};

/** What the parser complains of, as an error of ours: with the command's usage and an example. */
function usageError(language: Language, row?: CommandRow): (error: CommanderError) => never {
  return (error) => {
    if (isHelp(error)) throw error;
    const plain = error.message.replace(/^error: /, '');
    const known = messages[error.code] ?? [plain, plain];
    const name = /'([^']*)'/.exec(error.message)?.[1] ?? '';
    const meant = /Did you mean (?:one of )?(.+)\?\)/.exec(error.message)?.[1];
    const [zh, en] = known.map((text) => text.replace('{}', name));
    const detail = {
      zh: `${zh}${meant === undefined ? '' : `，是否指 ${meant}`}`,
      en: `${en}${meant === undefined ? '' : `, did you mean ${meant}?`}`,
    };
    const more: Record<string, string> =
      row === undefined
        ? { example: 'gateway --help' }
        : {
            usage: `gateway ${row.name} ${row.argument ?? ''}`.trim(),
            example: `gateway ${row.examples[0] ?? row.name}`,
          };
    throw new AppError(
      'usage',
      { detail: textIn(detail, language), detail_zh: detail.zh, detail_en: detail.en, ...more },
      error,
    );
  };
}
