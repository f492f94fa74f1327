/** The command tree for commander, built from the table of commands. */
import { Command, CommanderError } from 'commander';
import type { Language } from '../server/contract/enums.ts';
import { AppError } from '../server/contract/errors.ts';
import type { CommandRow, FlagValues } from './command.ts';
import { commands } from './commands/index.ts';
import { createContext, type GlobalFlags } from './context.ts';
import type { Streams } from './output.ts';

export interface ProgramDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly streams: Streams;
  readonly stdin: NodeJS.ReadStream;
  readonly language: Language;
}

const globals = [
  ['--json', 'JSON 输出', 'print JSON'],
  ['-o, --output <format>', '输出格式：table、json、jsonl、id', 'output format: table, json, jsonl, id'],
  ['-q, --quiet', '只输出标识或密钥', 'print only ids or keys'],
  ['--data-dir <path>', '数据目录', 'data directory'],
  ['--url <address>', '远程网关地址（令牌取自 GATEWAY_TOKEN）', 'remote gateway (token from GATEWAY_TOKEN)'],
  ['--lang <language>', '语言：zh、en', 'language: zh, en'],
  ['-y, --yes', '不再询问', 'do not ask'],
  ['--non-interactive', '从不询问', 'never ask'],
  ['--timeout <seconds>', '超时（默认 60s）', 'time limit (default 60s)'],
] as const;

export function createProgram(deps: ProgramDeps): Command {
  const zh = deps.language === 'zh';
  const program = new Command('gateway')
    .description(
      zh
        ? '一个可执行文件：AI 请求网关、精确计费、控制台与终端'
        : 'One executable: AI gateway, exact billing, console and terminal',
    )
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void deps.streams.out.write(text),
      writeErr: (text) => void deps.streams.err.write(text),
    })
    .showSuggestionAfterError(true)
    .helpOption('-h, --help', zh ? '显示帮助' : 'show help')
    .enablePositionalOptions();
  const nouns = new Map<string, Command>();
  for (const row of commands) {
    const [first = '', verb] = row.name.split(' ');
    if (verb === undefined) {
      addLeaf(program, first, row, deps);
      continue;
    }
    let noun = nouns.get(first);
    if (noun === undefined) {
      noun = program.command(first).exitOverride().description(nounText(first, zh));
      nouns.set(first, noun);
    }
    addLeaf(noun, verb, row, deps);
  }
  return program;
}

const nounTexts: Readonly<Record<string, readonly [string, string]>> = {
  channel: ['上游渠道', 'upstream channels'],
  token: ['API 令牌', 'API tokens'],
  logs: ['使用日志', 'usage log'],
  redemption: ['兑换码', 'redemption codes'],
  payment: ['在线充值', 'online top-up'],
  ratios: ['价格倍率', 'price ratios'],
  option: ['配置项', 'options'],
  ledger: ['账本', 'the ledger'],
};
const nounText = (noun: string, zh: boolean): string => nounTexts[noun]?.[zh ? 0 : 1] ?? noun;

const aliases: Readonly<Record<string, string>> = { list: 'ls', rm: 'delete', create: 'new', get: 'show' };

function addLeaf(parent: Command, name: string, row: CommandRow, deps: ProgramDeps): void {
  const zh = deps.language === 'zh';
  const leaf = parent
    .command(name)
    .description(zh ? row.zh : row.en)
    .exitOverride();
  const alias = aliases[name];
  if (alias !== undefined) leaf.alias(alias);
  if (row.argument !== undefined) leaf.argument(row.argument);
  for (const flag of row.flags ?? []) leaf.option(flag.flag, zh ? flag.zh : flag.en);
  for (const [flag, inChinese, inEnglish] of globals) leaf.option(flag, zh ? inChinese : inEnglish);
  leaf.addHelpText(
    'after',
    `\n${zh ? '示例' : 'Examples'}:\n${row.examples.map((example) => `  gateway ${example}`).join('\n')}`,
  );
  leaf.action(async (...received: unknown[]) => {
    const argument = row.argument === undefined ? '' : String(received[0] ?? '');
    const values = leaf.opts<FlagValues>();
    const context = createContext(values as GlobalFlags, deps.env, deps.streams, deps.stdin);
    try {
      const run = await row.load();
      await run(context, values, argument);
    } finally {
      await context.close();
    }
  });
}

/** commander's own complaints are usage errors; help and version are not errors. */
export function usageExit(error: unknown): number | null {
  if (!(error instanceof CommanderError)) return null;
  return error.exitCode === 0 || error.code === 'commander.helpDisplayed' || error.code === 'commander.help'
    ? 0
    : new AppError('usage').row.exit;
}
