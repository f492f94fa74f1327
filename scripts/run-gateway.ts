/** Runs the command line from the sources in this very process, so that signals and the terminal are its own. */
import { join, resolve } from 'node:path';

export function runGateway(args: readonly string[]): void {
  const main = join(resolve(import.meta.dirname, '..'), 'cli', 'main.ts');
  process.argv = [process.argv[0] ?? 'bun', main, ...args];
  void import(main);
}
