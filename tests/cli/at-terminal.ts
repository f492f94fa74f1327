/** Runs one command as a person at a terminal that draws would see it, who says yes, against answers that are given. */
import type { CommandRun, FlagValues } from '../../cli/command.ts';
import { type Context, createContext, type GlobalFlags } from '../../cli/context.ts';
import type { Language } from '../../server/contract/enum.ts';
import { AppError } from '../../server/contract/errors.ts';

export interface Terminal {
  readonly answers?: Readonly<Record<string, unknown>>;
  readonly language?: Language;
  readonly global?: Partial<GlobalFlags>;
  readonly flags?: FlagValues;
  readonly args?: readonly string[];
}

export async function atTerminal(
  run: CommandRun,
  { answers = {}, language = 'en', global = {}, flags = {}, args = [] }: Terminal,
) {
  const seen = { out: '', notes: '', questions: [] as string[], calls: [] as unknown[][], lines: [] as FlagValues[] };
  const streams = {
    out: { write: (text: string) => (seen.out += text) },
    err: { write: (text: string) => (seen.notes += text) },
    outIsTty: true,
    columns: 200,
  };
  const base = createContext({ lang: language, ...global } as GlobalFlags, {}, streams, process.stdin, () => '');
  const call = async (id: string, input?: unknown): Promise<unknown> => {
    seen.calls.push(input === undefined ? [id] : [id, input]);
    if (!(id in answers)) throw new AppError('not_found', { what: id });
    return answers[id];
  };
  const context = {
    ...base,
    interactive: true,
    screens: true,
    client: async () => ({ call, close: async () => undefined }),
    during: (work: Promise<unknown>) => work,
    confirm: async (question: string) => void seen.questions.push(question),
    noteLine: (values: FlagValues) => void seen.lines.push(values),
  } as unknown as Context;
  await run(context, flags, args[0] ?? '', args);
  return seen;
}
