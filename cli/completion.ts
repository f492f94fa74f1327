/** What may follow the words typed so far: commands, flags, and the names of things that exist. */
import { Option } from 'commander';
import { logGroupings } from '../server/contract/names.ts';
import type { CommandRow } from './command.ts';
import { commands } from './commands/index.ts';
import { globals } from './globals.ts';
import { formats } from './output.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** @param words what was typed, the last one unfinished. */
export async function complete(words: readonly string[], env: Environment): Promise<string[]> {
  const typed = words.at(-1) ?? '';
  const { names, flag, dataDir } = readWords(words.slice(0, -1));
  const place = { ...env, ...(dataDir === undefined ? {} : { GATEWAY_DATA_DIR: dataDir }) };
  const found = flag === null ? await candidates(names, typed, place) : await valuesOf(names, flag, place);
  return [...new Set(found)].filter((word) => word.startsWith(typed)).sort();
}

interface Words {
  /** The command and its arguments, without flags and their values. */
  readonly names: readonly string[];
  /** The flag whose value is being typed, by its long name; null = none. */
  readonly flag: string | null;
  readonly dataDir: string | undefined;
}

/** Flags may stand before the command, and take the next word where they need one. */
function readWords(words: readonly string[]): Words {
  const names: string[] = [];
  let dataDir: string | undefined;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (!word.startsWith('-')) {
      names.push(word);
      continue;
    }
    const [name = '', given] = word.split('=');
    const flag = [...(rowOf(names)?.flags ?? []), ...globals].find((one) =>
      one.flag.split(/[ ,]+/).includes(name),
    )?.flag;
    if (flag === undefined || given !== undefined || !flag.includes('<')) continue;
    const long = new Option(flag).long ?? '';
    if (at === words.length - 1) return { names, flag: long, dataDir };
    at++;
    if (long === '--data-dir') dataDir = words[at];
  }
  return { names, flag: null, dataDir };
}

const rowOf = (names: readonly string[]): CommandRow | undefined =>
  commands.find((one) => one.name.split(' ').every((word, index) => names[index] === word));

async function candidates(names: readonly string[], typed: string, env: Environment): Promise<string[]> {
  const row = rowOf(names);
  if (row === undefined)
    return typed.startsWith('-')
      ? globals.map(({ flag }) => new Option(flag).long ?? '')
      : commands
          .filter((one) => one.hidden !== true && names.every((word, index) => one.name.split(' ')[index] === word))
          .map((one) => one.name.split(' ')[names.length] ?? '');
  if (typed.startsWith('-')) return [...(row.flags ?? []), ...globals].map(({ flag }) => new Option(flag).long ?? '');
  return row.argument === undefined ? [] : argumentsOf(row.name, env);
}

const logTypes = ['topup', 'consume', 'manage', 'system', 'error'];
const spans = ['15m', '1h', '24h', '7d', '30d'];

/** Values of flags that say what they want; others are left to the shell, which knows files. */
async function valuesOf(names: readonly string[], flag: string, env: Environment): Promise<string[]> {
  const noun = names[0] ?? '';
  switch (flag) {
    case '--output':
      return [...formats];
    case '--lang':
      return ['zh', 'en'];
    case '--color':
      return ['auto', 'always', 'never'];
    case '--context':
      return contextNames(env);
    case '--tag':
    case '--user':
    case '--token':
      return existing(flag.slice(2), env);
    case '--model':
    case '--models':
      return existing('model', env);
    case '--channel':
      return existing('channel', env);
    case '--group':
      return existing('group', env);
    case '--type':
      return noun === 'logs' ? logTypes : noun === 'channel' ? providerNames() : [];
    case '--by':
      return noun === 'logs' ? logGroupings.map((by) => by.replace('_', '-')) : [];
    case '--since':
    case '--until':
    case '--before':
      return spans;
    case '--for':
      return agentNames();
    default:
      return [];
  }
}

const contextNames = async (env: Environment): Promise<string[]> =>
  Object.keys((await import('./contexts.ts')).readContexts(env).contexts);
const agentNames = async (): Promise<string[]> =>
  (await import('../server/contract/agents.ts')).agents.map(({ name }) => name);
const providerNames = async (): Promise<string[]> =>
  (await import('../server/app/data-dir-commands.ts')).providerNames();

/** What a command works on. */
async function argumentsOf(command: string, env: Environment): Promise<string[]> {
  const [noun = ''] = command.split(' ');
  switch (noun) {
    case 'option':
      return [...(await import('../server/contract/options.ts')).optionKeys];
    case 'context':
      return contextNames(env);
    case 'completion':
      return ['bash', 'zsh', 'fish', 'powershell'];
    case 'help':
      return [
        ...(await import('./commands/help/topics.ts')).topics.map(({ name }) => name),
        ...commands.filter(({ hidden }) => hidden !== true).map(({ name }) => name.split(' ')[0] ?? ''),
      ];
    case 'service':
      return ['systemd', 'container', 'launchd'];
    case 'connect':
    case 'exec':
      return agentNames();
    case 'ratios':
      return command === 'ratios get' || command === 'ratios unset' ? existing('model', env) : [];
    case 'route':
    case 'chat':
      return existing('model', env);
    case 'backup':
      return command === 'backup restore' ? backupNames(env) : [];
    default:
      return existing(noun, env);
  }
}

/** Names from the database of the data directory; nothing when it cannot be read at once. */
async function existing(noun: string, env: Environment): Promise<string[]> {
  const [{ existingNames }, { resolveDataDir }] = await Promise.all([
    import('../server/app/data-dir-commands.ts'),
    import('../server/app/data-dir.ts'),
  ]);
  return existingNames(resolveDataDir(undefined, env, process.cwd()), noun, env);
}

/** Those that lie in the data directory. */
async function backupNames(env: Environment): Promise<string[]> {
  const [{ backupFiles }, { resolveDataDir }] = await Promise.all([
    import('../server/app/data-dir-commands.ts'),
    import('../server/app/data-dir.ts'),
  ]);
  try {
    return backupFiles(resolveDataDir(undefined, env, process.cwd())).map(({ file }) => file);
  } catch {
    return [];
  }
}
