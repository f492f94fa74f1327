/** The command line from the sources: in this very process, or beside it over a data folder of its own. */
import { join, resolve } from 'node:path';

const main = join(resolve(import.meta.dirname, '..'), 'cli', 'main.ts');

/** Signals and the terminal are its own. */
export function runGateway(args: readonly string[]): void {
  process.argv = [process.argv[0] ?? 'bun', main, ...args];
  void import(main);
}

export function gatewayIn(dataDir: string) {
  const env = { ...process.env, GATEWAY_DATA_DIR: dataDir };
  return {
    /** Goes on until it is ended. */
    start: (args: readonly string[]) =>
      Bun.spawn([process.execPath, main, ...args], { env, stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' }),
    /** @returns what it said, without the last line's end. @throws Error when it ended with another code than 0. */
    async run(args: readonly string[], input = ''): Promise<string> {
      const child = Bun.spawn([process.execPath, main, ...args], {
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
