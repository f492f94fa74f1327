/** Runs commands on a data directory in this process, as a pipe would see them. */
import { join } from 'node:path';
import { createProgram } from '../../cli/program.ts';
import type { Language } from '../../server/contract/enum.ts';
import { withCheapPasswords } from '../support/cheap-passwords.ts';

export function createRunner(
  dir: string,
  env: Readonly<Record<string, string>> = {},
  where: readonly string[] = [],
  language: Language = 'en',
) {
  let said = '';
  const run = async (args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<string> => {
    let out = '';
    said = '';
    const program = createProgram(
      {
        env: { HOME: dir, ...env, ...more },
        streams: {
          out: { write: (text: string) => (out += text) },
          err: { write: (text: string) => (said += text) },
          outIsTty: false,
          columns: 80,
        },
        stdin: process.stdin,
        language,
      },
      args,
    );
    const place = where.length === 0 ? ['--data-dir', join(dir, 'data')] : where;
    await withCheapPasswords(() => program.parseAsync([...args, ...place, '--lang', language], { from: 'user' }));
    return out.trimEnd();
  };
  return {
    env,
    where,
    run,
    /** What the last command wrote beside its output. */
    said: () => said,
    json: async <T = never>(args: readonly string[]) => JSON.parse(await run([...args, '--json'])) as T,
  };
}

export type Runner = ReturnType<typeof createRunner>;
