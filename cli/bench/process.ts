/** Processes under test: started on a core of their own where that is possible, ended by their own id, all of them at the end. */
import { fileURLToPath } from 'node:url';
import { childVerb } from './child.ts';
import type { LoadOrder, LoadResult } from './load.ts';
import { canPin, cores } from './machine.ts';

/** What is typed before a verb. */
export type Program = readonly string[];

declare const GATEWAY_COMPILED: boolean | undefined;
export const isCompiled = typeof GATEWAY_COMPILED !== 'undefined' && GATEWAY_COMPILED;
/** This very program, whatever folder one is in and whatever the PATH holds. */
export const ownProgram: Program = isCompiled
  ? [process.execPath]
  : [process.execPath, fileURLToPath(new URL('../main.ts', import.meta.url))];

const children = new Set<Bun.Subprocess>();
let supervisor: Bun.Subprocess<'pipe', 'ignore', 'ignore'> | null = null;

/** Tells the supervisor which children to kill when this process is killed outright: the supervisor notices by the end of its input. */
function keep(sign: '+' | '-', { pid }: Bun.Subprocess): void {
  supervisor ??= Bun.spawn([...ownProgram, childVerb, 'keeper'], {
    env: bareEnvironment(),
    stdin: 'pipe',
    stdout: 'ignore',
    stderr: 'ignore',
  });
  supervisor.unref();
  supervisor.stdin.write(`${sign}${pid}\n`);
  supervisor.stdin.flush();
}

function track(child: Bun.Subprocess): void {
  children.add(child);
  keep('+', child);
}

function ended(child: Bun.Subprocess): void {
  children.delete(child);
  keep('-', child);
}
const timeoutMs = 5000;
const readyMs = 20_000;

/** The environment of the measuring process does not apply to what it measures. */
const bareEnvironment = (more: Readonly<Record<string, string>> = {}): Record<string, string | undefined> => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !name.startsWith('GATEWAY_') && name !== 'BUN_CONFIG_MAX_HTTP_REQUESTS',
    ),
  ),
  ...more,
});

/** @param core null = wherever there is room. */
const pinned = (core: number | null, command: readonly string[]): string[] => [
  ...(core === null || !canPin ? [] : ['taskset', '-c', String(core)]),
  ...command,
];

/** @param stdout descriptor of a file that gets what it writes. */
export function start(
  core: number | null,
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
  stdout: number | 'ignore' = 'ignore',
): Bun.Subprocess {
  const child = Bun.spawn(pinned(core, command), {
    env: bareEnvironment(env),
    stdin: 'ignore',
    stdout: stdout,
    stderr: stdout,
  });
  track(child);
  return child;
}

/** A process of a measurement that is talked to. @param onMessage called with each message of its. */
export function converse(
  core: number | null,
  command: readonly string[],
  onMessage: (message: unknown) => void,
): Bun.Subprocess {
  const child = Bun.spawn(pinned(core, command), {
    env: bareEnvironment(),
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
    serialization: 'json',
    ipc: onMessage,
  });
  track(child);
  return child;
}

export async function end(child: Bun.Subprocess): Promise<void> {
  child.kill();
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  await child.exited;
  clearTimeout(timer);
  ended(child);
}

export const endAll = (): Promise<unknown> => Promise.all([...children].map(end));

/** When there is no time left to wait. */
export function killAll(): void {
  for (const child of children) child.kill('SIGKILL');
}

/** @returns milliseconds until the address answered as wanted. @throws Error when it never did. */
export async function waitForResponse(
  url: string,
  isExpected: (status: number) => boolean = () => true,
): Promise<number> {
  const startedAt = performance.now();
  while (performance.now() - startedAt < readyMs) {
    const status = await fetch(url).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => 0,
    );
    if (status > 0 && isExpected(status)) return performance.now() - startedAt;
    await Bun.sleep(3);
  }
  throw new Error(`nothing answers at ${url}`);
}

/** A port that no process listens on right now. */
export function freePort(): number {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } });
  const { port } = probe;
  probe.stop(true);
  return port;
}

export interface Loaded extends LoadResult {
  /** CPU of the generator itself, microseconds. */
  readonly cpu: number;
}

export async function load(order: LoadOrder): Promise<Loaded> {
  const command = pinned(cores.around, [...ownProgram, childVerb, 'load', JSON.stringify(order)]);
  const child = Bun.spawn(command, { env: bareEnvironment(), stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  track(child);
  const [text, stdout] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  await child.exited;
  ended(child);
  if (!text.startsWith('{')) throw new Error(`the load generator ended early: ${stdout.trim()}`);
  return { ...(JSON.parse(text) as LoadResult), cpu: Number(child.resourceUsage()?.cpuTime.total ?? 0) };
}

/** Runs a command of a gateway to its end. @throws Error with what it wrote when it fails. */
export async function command(program: Program, dataDir: string, args: readonly string[], input = ''): Promise<string> {
  const child = Bun.spawn([...program, ...args], {
    env: bareEnvironment({ GATEWAY_DATA_DIR: dataDir }),
    stdin: new Blob([input]),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  track(child);
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  ended(child);
  if (code !== 0) throw new Error(`${program.at(-1)} ${args.join(' ')}: ${err}`);
  return out.trim();
}
