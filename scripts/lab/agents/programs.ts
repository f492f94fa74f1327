/** The programs that people use: how npm and PyPI install them into a folder of ours, how each is asked once, and how it is kept from asking anybody but this machine. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Agent } from '../../../server/contract/agents.ts';

/** How each is asked once, with its tools allowed. */
export const asking: Readonly<Record<string, (prompt: string) => readonly string[]>> = {
  claude: (prompt) => ['-p', prompt, '--allowedTools', 'Read', 'Write'],
  codex: (prompt) => ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt],
  gemini: (prompt) => ['-p', prompt, '--yolo'],
  opencode: (prompt) => ['run', prompt],
  qwen: (prompt) => ['-p', prompt, '--yolo'],
  // It knows no tools: the prompt contains one file and asks for the other.
  aider: (prompt) => [
    ...'--no-git --yes-always --no-check-update --no-show-release-notes --no-show-model-warnings --no-stream'.split(
      ' ',
    ),
    ...[
      '--edit-format',
      'whole',
      '--analytics-disable',
      '--read',
      'source.txt',
      '--file',
      'target.txt',
      '--message',
      prompt,
    ],
  ],
};

export interface Ended {
  /** null = it ran past its time. */
  readonly code: number | null;
  readonly seconds: number;
  readonly words: string;
}

/** Ended with all that it started: some programs start themselves once more. */
export async function runFor(
  command: readonly string[],
  env: Record<string, string | undefined>,
  cwd: string,
  limitMs: number,
): Promise<Ended> {
  const started = performance.now();
  const child = Bun.spawn([...command], { cwd, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe', detached: true });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    process.kill(-child.pid, 'SIGKILL');
  }, limitMs);
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  clearTimeout(timer);
  return { code: late ? null : code, seconds: (performance.now() - started) / 1000, words: out + err };
}

/** @param folder a folder that is kept spares the next run the installation. */
export function programsIn(folder: string) {
  const venv = join(folder, 'python');

  async function succeeds(command: readonly string[]): Promise<boolean> {
    try {
      const child = Bun.spawn([...command], { cwd: folder, stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' });
      return (await child.exited) === 0;
    } catch {
      return false;
    }
  }

  async function installedFromPython(name: string, program: string): Promise<boolean> {
    if (existsSync(join(venv, 'bin', program))) return true;
    return (
      (await succeeds(['python3', '-m', 'venv', venv])) &&
      (await succeeds([join(venv, 'bin', 'pip'), 'install', '--quiet', name]))
    );
  }

  async function installedFromNpm(name: string): Promise<boolean> {
    if (!existsSync(join(folder, 'package.json'))) writeFileSync(join(folder, 'package.json'), '{"private":true}');
    if (existsSync(join(folder, 'node_modules', name.replace(/@\d+$/, '')))) return true;
    return succeeds(['npm', 'install', '--no-audit', '--no-fund', '--loglevel=error', name]);
  }

  return {
    path: [join(folder, 'node_modules', '.bin'), join(venv, 'bin'), process.env.PATH ?? ''].join(':'),
    /** Agents need a node of their own; @returns whether it lies there now. */
    async node(): Promise<boolean> {
      mkdirSync(folder, { recursive: true });
      return installedFromNpm('node@22');
    },
    /** @returns whether it lies there now. */
    async install({ package: from, python, program }: Agent): Promise<boolean> {
      if (from !== undefined) return installedFromNpm(from);
      return python !== undefined && installedFromPython(python, program);
    },
  };
}

/** Nothing listens there: who asks the world gets no answer, and at once. */
const nowhere = 'http://127.0.0.1:9';

/** A home of its own, and no way out of this machine. */
export const homeEnvironment = (home: string, path: string): Record<string, string | undefined> => ({
  PATH: path,
  HOME: home,
  TERM: 'dumb',
  LANG: 'C.UTF-8',
  // It refuses its tools in folders that it was not configured to trust.
  GEMINI_CLI_TRUST_WORKSPACE: 'true',
  // Its library would look for prices in the network.
  LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  DISABLE_AUTOUPDATER: '1',
  DISABLE_TELEMETRY: '1',
  DISABLE_ERROR_REPORTING: '1',
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  HTTP_PROXY: nowhere,
  HTTPS_PROXY: nowhere,
  http_proxy: nowhere,
  https_proxy: nowhere,
  NO_PROXY: '127.0.0.1,localhost',
  no_proxy: '127.0.0.1,localhost',
});

/** Programs that send whatever they ask through a proxy, also to this machine, and what keeps their statistics from going out without one. */
const direct: Readonly<Record<string, { readonly path: string; readonly settings: object }>> = {
  qwen: { path: '.qwen/settings.json', settings: { privacy: { usageStatisticsEnabled: false } } },
};

/** @param env of `homeEnvironment`; changed where the program needs it. */
export function takeProxyAway(program: string, home: string, env: Record<string, string | undefined>): void {
  const own = direct[program];
  if (own === undefined) return;
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy']) env[name] = undefined;
  mkdirSync(dirname(join(home, own.path)), { recursive: true });
  writeFileSync(join(home, own.path), JSON.stringify(own.settings));
}
