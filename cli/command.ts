/** The shape of a command: words for help, flags, and the module that does the work, loaded when it is called. */
import { AppError } from '../server/contract/errors.ts';
import type { Context, FlagValues } from './context.ts';

export interface Flag {
  /** commander's syntax: `--name <text>`. */
  readonly flag: string;
  readonly zh: string;
  readonly en: string;
  /** An empty value takes away what is stored. Elsewhere it is refused: it is what an unset variable of a shell leaves. */
  readonly clears?: true;
}

export interface CommandRow {
  /** `noun verb`, `noun noun verb` or one word. */
  readonly name: string;
  /** commander's syntax of the positional, `<id>`, `[id...]`, or of several: `<id> <key>`. */
  readonly argument?: string;
  readonly zh: string;
  readonly en: string;
  readonly flags?: readonly Flag[];
  /** Another name of the last word. */
  readonly alias?: string;
  /** At least two, without the leading `gateway`. */
  readonly examples: readonly string[];
  /** What follows the positional belongs to another program: its flags are left alone. */
  readonly passThrough?: boolean;
  /** Not shown in help. */
  readonly hidden?: boolean;
  readonly load: () => Promise<CommandRun>;
}

export type { FlagValues };

/** @param argument the first positional, '' when there is none. @param all every positional. */
export type CommandRun = (
  context: Context,
  flags: FlagValues,
  argument: string,
  all: readonly string[],
) => Promise<void>;

export const text = (value: FlagValues[string]): string | undefined => (typeof value === 'string' ? value : undefined);

/** A flag that may be given several times: `--set <assignment...>`. */
export const texts = (value: FlagValues[string]): readonly string[] =>
  typeof value === 'string' ? [value] : Array.isArray(value) ? (value as readonly string[]) : [];

/** For every verb that changes several things. */
export const dryRun: Flag = { flag: '--dry-run', zh: '只显示会改变什么', en: 'only say what would change' };

/** Values that must be there, all missing ones named at once. @throws AppError input_needed */
export function needed<const Names extends string>(
  values: Readonly<Record<Names, string | undefined>>,
): Record<Names, string> {
  const missing = Object.entries(values).flatMap(([flag, value]) => (value === undefined ? [flag] : []));
  if (missing.length > 0) throw new AppError('input_needed', { flags: missing.join(', ') });
  return values as Record<Names, string>;
}
