/** Runs the compiled executable in an empty folder with a bare environment. */
import { spawnSync } from 'node:child_process';
import { existsSync, linkSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const built = resolve(import.meta.dirname, '../../dist/gateway');

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A second name where the file system allows it: a copy of its 140 MB is read from the disk anew by each test. */
function place(program: string): void {
  try {
    linkSync(built, program);
  } catch {
    // Copied by another process: a descriptor open for writing here could be inherited by a child that another test
    // starts at that moment, and then the program is "busy" (ETXTBSY).
    const copied = spawnSync('cp', [built, program]);
    if (copied.status !== 0) throw new Error(`copying the executable: ${copied.stderr}`);
  }
}

export function createSandbox() {
  if (!existsSync(built)) throw new Error('dist/gateway is missing: npm run build');
  const dir = mkdtempSync(join(tmpdir(), 'gateway-binary-'));
  const program = join(dir, 'gateway');
  place(program);
  const env = { TERM: 'dumb', LANG: 'C', GATEWAY_DATA_DIR: join(dir, 'data') };
  const children = new Set<Bun.Subprocess>();

  return {
    dir,
    dataDir: join(dir, 'data'),
    async run(args: readonly string[], input = '', more: Record<string, string> = {}): Promise<Ran> {
      const child = Bun.spawn([program, ...args], {
        cwd: dir,
        env: { ...env, ...more },
        stdin: new Blob([input]),
        stdout: 'pipe',
        stderr: 'pipe',
      });
      const [out, err, code] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
        child.exited,
      ]);
      return { code, out, err };
    },
    /** A line for bash, in the folder of the executable. */
    async shell(script: string): Promise<Ran> {
      const child = Bun.spawn(['bash', '-c', script], {
        cwd: dir,
        env: { ...env, PATH: '/usr/bin:/bin' },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      });
      const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
      return { code: await child.exited, out, err };
    },
    /** Standard input stays open and says nothing. @returns null when it had not ended after so long. */
    async idle(args: readonly string[], ms: number, more: Record<string, string> = {}): Promise<Ran | null> {
      const child = Bun.spawn([program, ...args], {
        cwd: dir,
        env: { ...env, ...more },
        stdin: 'pipe',
        stdout: 'pipe',
        stderr: 'pipe',
      });
      const timer = setTimeout(() => child.kill('SIGKILL'), ms);
      const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
      const code = await child.exited;
      clearTimeout(timer);
      return child.signalCode === 'SIGKILL' ? null : { code, out, err };
    },
    /** Starts something that stays, and waits for its first line. */
    async start(
      args: readonly string[],
      more: Record<string, string> = {},
    ): Promise<{ readonly line: string; readonly child: Bun.Subprocess<'ignore', 'pipe', 'pipe'> }> {
      const child = Bun.spawn([program, ...args], {
        cwd: dir,
        env: { ...env, ...more },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      });
      children.add(child);
      const reader = child.stdout.getReader();
      let text = '';
      while (!text.includes('\n')) {
        const { done, value } = await reader.read();
        if (done) throw new Error(`ended early: ${await new Response(child.stderr).text()}`);
        text += new TextDecoder().decode(value);
      }
      reader.releaseLock();
      return { line: text.split('\n')[0] ?? '', child };
    },
    async close() {
      for (const child of children) child.kill('SIGKILL');
      await Promise.all([...children].map((child) => child.exited));
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

export type Sandbox = ReturnType<typeof createSandbox>;

export async function setUp(sandbox: Sandbox, upstreamUrl: string): Promise<string> {
  const ok = async (args: readonly string[], input = '') => {
    const ran = await sandbox.run(args, input);
    if (ran.code !== 0) throw new Error(`${args.join(' ')}: ${ran.err}`);
    return ran.out.trim();
  };
  await ok(['setup', '--username', 'root', '--password-stdin'], 'password1\n');
  await ok(
    ['channel', 'add', '--type', 'practice', '--name', 'practice', '--base-url', upstreamUrl, '--key-stdin'],
    'sk-canary-upstream-key\n',
  );
  return ok(['token', 'create', '--name', 'test', '--quota', 'unlimited', '-q']);
}

export const freePort = (): number => {
  const server = Bun.serve({ port: 0, fetch: () => new Response() });
  const port = server.port ?? 0;
  void server.stop(true);
  return port;
};
