/** Entry of the executable. Looks at the plainest cases first and loads nothing for them. */
import { commit, version } from '../server/embedded/version.ts';
import { processSettings } from './process-settings.ts';
import type { ProgramDeps } from './program.ts';

/** A bare `--json` takes no value from the word behind it; fields are written `--json=a,b`. */
const argv = process.argv.slice(2);
const args =
  argv[0] === 'exec'
    ? argv
    : argv.map((arg) => (arg === '--json' ? '--json=' : arg === '--no-color' ? '--color=never' : arg));
const hasFlag = (name: string): boolean => args.some((arg) => arg === name || arg.startsWith(`${name}=`));

/** The first word of the command; flags that every command has may stand before it. */
const command = args[0]?.startsWith('-') === true ? (await import('./program.ts')).trailingGlobals(args)[0] : args[0];

/** Programs read JSON where they asked for it, whichever way. */
const wantsJson = (): boolean =>
  hasFlag('--json') ||
  hasFlag('--jq') ||
  args.some(
    (arg, at) =>
      /^(?:-o|--output)=?jsonl?$/.test(arg) || (/^(?:-o|--output)$/.test(arg) && /^jsonl?$/.test(args[at + 1] ?? '')),
  );

/** What was said of colours, wherever it stands. */
function colorFlag(): string | undefined {
  const at = args.findIndex((arg) => arg === '--color' || arg.startsWith('--color='));
  return at < 0 ? undefined : (args[at]?.split('=')[1] ?? args[at + 1]);
}

function languageFlag(): string | undefined {
  const at = args.indexOf('--lang');
  return at < 0 ? undefined : args[at + 1];
}

/** What has not left the process yet: the reader of a full pipe may be slow. */
const pendingWrites = new Set<Promise<void>>();

/** Why standard output lacks something that was written to it, such as a full disk. */
let outputFailure: Error | null = null;

/** The reader of a pipe may leave early; that is no error of ours. */
function noteOutputFailure(error: Error & { readonly code?: string }): void {
  if (error.code === 'EPIPE') process.exit(0);
  outputFailure ??= error;
}

const waitingFor = (stream: NodeJS.WriteStream, failed: (error: Error) => void) => ({
  write(text: string) {
    const { promise, resolve } = Promise.withResolvers<void>();
    pendingWrites.add(promise);
    const done = (error?: Error | null) => {
      if (error) failed(error);
      pendingWrites.delete(promise);
      resolve();
    };
    try {
      stream.write(text, done);
    } catch (error) {
      done(error as Error);
    }
  },
});
const standardOutput = waitingFor(process.stdout, noteOutputFailure);
/** There is nowhere to say that it could not be said. */
const standardError = waitingFor(process.stderr, () => undefined);

async function restartWithMemory(): Promise<void> {
  if (process.env.BUN_CONFIG_MAX_HTTP_REQUESTS !== undefined) return;
  try {
    // There it exists and never works.
    if (process.platform !== 'win32')
      process.execve?.(process.execPath, [process.execPath, ...process.argv.slice(isCompiled ? 2 : 1)], {
        ...processSettings,
        ...process.env,
      });
  } catch {
    // Emulators and seccomp filters refuse it.
  }
  const { languageOf } = await import('./context.ts');
  const { textIn } = await import('../server/contract/language.ts');
  const note = textIn(
    {
      zh: '同时最多 256 个上游请求：如需更多，请设置 BUN_CONFIG_MAX_HTTP_REQUESTS=65336 后再启动',
      en: 'at most 256 upstream requests at a time: for more, start with BUN_CONFIG_MAX_HTTP_REQUESTS=65336',
    },
    languageOf(undefined, process.env),
  );
  standardError.write(`${note}\n`);
}

/** They read their modules while this thread reads its own. */
async function startThreads(): Promise<void> {
  const { startEarly } = await import('../server/embedded/workers.ts');
  // Nothing of the others' work begins before the ledger has opened the database.
  if (!process.env.DATABASE_URL && !process.env.DATABASE_URL_FILE) startEarly('ledger');
  startEarly('control');
}

async function main(): Promise<number> {
  if (args[0] === '__complete') {
    const { complete } = await import('./completion.ts');
    for (const word of await complete(args.slice(1), process.env)) standardOutput.write(`${word}\n`);
    return 0;
  }
  if (argv[0] === '__bench') {
    const { runChild } = await import('./bench/child.ts');
    return runChild(argv.slice(1), (text) => standardOutput.write(text));
  }
  if (args.length === 1 && (args[0] === '--version' || args[0] === '-V' || args[0] === 'version')) {
    standardOutput.write(`gateway ${version} (${commit})\n`);
    return 0;
  }
  if (command === 'serve') {
    await restartWithMemory();
    await startThreads();
  }
  const [{ asHelpFlag, createProgram, namesNoCommand, trailingGlobals, isHelp }, { languageOf }, { wantsColor }] =
    await Promise.all([import('./program.ts'), import('./context.ts'), import('./color.ts')]);
  const language = languageOf(languageFlag(), process.env);
  const streams = {
    out: standardOutput,
    err: standardError,
    outIsTty: process.stdout.isTTY === true && process.env.TERM !== 'dumb',
    columns: process.stdout.columns ?? 80,
  };
  const deps: ProgramDeps = {
    env: process.env,
    streams: { ...streams, color: wantsColor(colorFlag(), process.env, streams.outIsTty) },
    stdin: process.stdin,
    language,
  };
  const isBare = namesNoCommand(args);
  const hasScreen = streams.outIsTty && process.stdin.isTTY === true;
  // Known before the tree is made: of the other commands nothing is made then.
  const words = isBare && hasScreen ? ['board', ...args] : trailingGlobals(asHelpFlag(args));
  const program = createProgram(deps, words);
  try {
    if (isBare && !hasScreen) {
      program.outputHelp();
      return 0;
    }
    await program.parseAsync(words, { from: 'user' });
    return 0;
  } catch (error) {
    if (isHelp(error)) return 0;
    return printFailure(error);
  }
}

/** @returns the exit code. */
async function printFailure(error: unknown): Promise<number> {
  const [{ languageOf }, { printError }, { wantsColor }] = await Promise.all([
    import('./context.ts'),
    import('./errors.ts'),
    import('./color.ts'),
  ]);
  return printError(
    error,
    languageOf(languageFlag(), process.env),
    {
      json: wantsJson(),
      debug: hasFlag('--debug'),
      color: wantsColor(colorFlag(), process.env, process.stderr.isTTY === true),
    },
    standardError.write,
  );
}

/** What a command was asked for is not there where its output is not. @returns the exit code. */
async function endWith(code: number): Promise<number> {
  await Promise.all(pendingWrites);
  if (outputFailure === null || code !== 0) return code;
  const { AppError } = await import('../server/contract/errors.ts');
  const failed = await printFailure(
    new AppError('output_unwritable', { detail: outputFailure.message }, outputFailure),
  );
  await Promise.all(pendingWrites);
  return failed;
}

declare const GATEWAY_COMPILED: boolean | undefined;
const isCompiled = typeof GATEWAY_COMPILED !== 'undefined' && GATEWAY_COMPILED;

process.stdout.on('error', noteOutputFailure);
if (command !== 'serve' && command !== 'mock-upstream') {
  process.on('SIGINT', () => process.exit(130));
  process.on('SIGTERM', () => process.exit(143));
}
const code = await endWith(await main());
process.exit(code === 0 ? Number(process.exitCode ?? 0) : code);
