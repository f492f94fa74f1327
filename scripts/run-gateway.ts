/** The command line from the sources, or the executable that was built of them: in this very process, or beside it over a data folder of its own. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

const main = join(resolve(import.meta.dirname, '..'), 'cli', 'main.ts');

/** Signals and the terminal are its own. */
export function runGateway(args: readonly string[]): void {
  process.argv = [process.argv[0] ?? 'bun', main, ...args];
  void import(main);
}

/** @param executable what is started in place of the sources. @throws Error when there is none. */
export function gatewayIn(dataDir: string, executable?: string) {
  if (executable !== undefined && !existsSync(executable)) throw new Error(`there is no ${executable}`);
  const program = executable === undefined ? [process.execPath, main] : [resolve(executable)];
  const env = { ...process.env, GATEWAY_DATA_DIR: dataDir };
  return {
    /** The command line before its arguments. */
    program,
    /** Goes on until it is ended. */
    start: (args: readonly string[]) =>
      Bun.spawn([...program, ...args], { env, stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' }),
    /** @returns what it said, without the last line's end. @throws Error when it ended with another code than 0. */
    async run(args: readonly string[], input = ''): Promise<string> {
      const child = Bun.spawn([...program, ...args], {
        env,
        stdin: new Blob([input]),
        stdout: 'pipe',
        stderr: 'inherit',
      });
      const out = await new Response(child.stdout).text();
      if ((await child.exited) !== 0) throw new Error(`gateway ${args.join(' ')} failed`);
      return out.trim();
    },
  };
}
