/** What may follow the words typed so far: commands, flags, and the names of things that exist. */
import { Option } from 'commander';
import { commands } from './commands/index.ts';
import { globals } from './globals.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** @param words what was typed, the last one unfinished. */
export async function complete(words: readonly string[], env: Environment): Promise<string[]> {
  const typed = words.at(-1) ?? '';
  const before = words.slice(0, -1).filter((word) => !word.startsWith('-'));
  const found = await candidates(before, typed, env);
  return [...new Set(found)].filter((word) => word.startsWith(typed)).sort();
}

async function candidates(before: readonly string[], typed: string, env: Environment): Promise<string[]> {
  const row = commands.find((one) => {
    const path = one.name.split(' ');
    return path.every((word, index) => before[index] === word);
  });
  if (row === undefined)
    return commands
      .filter((one) => one.hidden !== true && before.every((word, index) => one.name.split(' ')[index] === word))
      .map((one) => one.name.split(' ')[before.length] ?? '');
  if (typed.startsWith('-')) return [...(row.flags ?? []), ...globals].map(({ flag }) => new Option(flag).long ?? '');
  return row.argument === undefined ? [] : namesFor(row.name, env);
}

/** Names of what the command works on, from a running server or the database; nothing when neither can be had at once. */
async function namesFor(command: string, env: Environment): Promise<string[]> {
  const [noun = ''] = command.split(' ');
  if (noun === 'option') return [...(await import('../server/contract/options.ts')).optionKeys];
  if (noun === 'context') return Object.keys((await import('./contexts.ts')).readContexts(env).contexts);
  if (noun === 'completion') return ['bash', 'zsh', 'fish', 'powershell'];
  const [{ existingNames }, { resolveDataDir }] = await Promise.all([
    import('../server/app/data-dir-commands.ts'),
    import('../server/app/data-dir.ts'),
  ]);
  return existingNames(resolveDataDir(undefined, env, process.cwd()), noun, env);
}
