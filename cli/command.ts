/** The shape of a command: words for help, flags, and the module that does the work, loaded when it is called. */
import type { Context } from './context.ts';

export interface Flag {
  /** commander's syntax: `--name <text>`. */
  readonly flag: string;
  readonly zh: string;
  readonly en: string;
}

export interface CommandRow {
  /** `noun verb` or one word. */
  readonly name: string;
  /** commander's syntax of the positional, e.g. `<id>`. */
  readonly argument?: string;
  readonly zh: string;
  readonly en: string;
  readonly flags?: readonly Flag[];
  /** At least two, without the leading `gateway`. */
  readonly examples: readonly string[];
  readonly load: () => Promise<CommandRun>;
}

export type FlagValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
export type CommandRun = (context: Context, flags: FlagValues, argument: string) => Promise<void>;

export const text = (value: FlagValues[string]): string | undefined => (typeof value === 'string' ? value : undefined);

/** A flag that may be given several times: `--set <assignment...>`. */
export const texts = (value: FlagValues[string]): readonly string[] =>
  typeof value === 'string' ? [value] : Array.isArray(value) ? (value as readonly string[]) : [];
