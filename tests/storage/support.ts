/** A gateway of the sources in processes of their own: what a stranger sees of it. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gatewayProgram } from '../support/program.ts';

const handled = resolve(import.meta.dirname, 'serve-child.ts');

export interface Serving {
  readonly url: string;
  readonly child: Bun.Subprocess<'pipe', 'pipe', 'pipe'>;
  /** What it has said on standard error so far. */
  output(): string;
  /** @returns its exit code. */
  ended(): Promise<number>;
}

export function createSite() {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-storage-'));
  const dataDir = join(dir, 'data');
  const env = {
    PATH: '/usr/bin:/bin',
    HOME: dir,
    TERM: 'dumb',
    LANG: 'C',
    GATEWAY_DATA_DIR: dataDir,
    BUN_CONFIG_MAX_HTTP_REQUESTS: '65336',
  };
  const children = new Set<Bun.Subprocess>();

  const run = async (args: readonly string[], input = '', more: Record<string, string> = {}) => {
    const child = Bun.spawn([...gatewayProgram, ...args], {
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
  };
  const ok = async (args: readonly string[], input = ''): Promise<string> => {
    const ran = await run(args, input);
    if (ran.code !== 0) throw new Error(`${args.join(' ')}: ${ran.err}`);
    return ran.out.trim();
  };

  return {
    dir,
    dataDir,
    run,
    ok,
    /** @returns an API key. */
    async setUp(upstreamUrl: string): Promise<string> {
      await ok(['setup', '--username', 'root', '--password-stdin'], 'password1\n');
      await ok(
        [
          'channel',
          'add',
          '--type',
          'openai',
          '--name',
          'up',
          '--models',
          'gpt-4o-mini',
          '--base-url',
          upstreamUrl,
          '--key-stdin',
        ],
        'sk-upstream-secret-key\n',
      );
      return ok(['token', 'create', '--name', 'test', '--quota', 'unlimited', '-q']);
    },
    /** @param through what starts it. */
    async serve(
      args: readonly string[] = [],
      more: Record<string, string> = {},
      through: readonly string[] = [],
    ): Promise<Serving> {
      const child = Bun.spawn([...through, process.execPath, handled, 'serve', '--port', '0', ...args], {
        cwd: dir,
        env: { ...env, ...more },
        stdin: 'pipe',
        stdout: 'pipe',
        stderr: 'pipe',
      });
      children.add(child);
      let output = '';
      void (async () => {
        const decoder = new TextDecoder();
        for await (const chunk of child.stderr) output += decoder.decode(chunk, { stream: true });
      })();
      const reader = child.stdout.getReader();
      let text = '';
      while (!text.includes('\n')) {
        const { done, value } = await reader.read();
        if (done) throw new Error(`ended early: ${output}`);
        text += new TextDecoder().decode(value);
      }
      reader.releaseLock();
      const url = text.split('\n')[0]?.replace('URL: ', '') ?? '';
      return { url, child, output: () => output, ended: () => child.exited };
    },
    /** Request ids of what was charged. */
    async charged(): Promise<string[]> {
      const { Database } = await import('bun:sqlite');
      const database = new Database(join(dataDir, 'gateway.db'), { readonly: true });
      const found = database.query("SELECT ref FROM postings WHERE kind = 'settle'").values() as [string][];
      database.close();
      return found.map(([ref]) => ref);
    },
    file: (name: string) => readFileSync(join(dataDir, name)),
    async close() {
      for (const child of children) child.kill('SIGKILL');
      await Promise.all([...children].map((child) => child.exited));
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

export type Site = ReturnType<typeof createSite>;

export interface ReceivedStream {
  readonly status: number;
  readonly id: string;
  readonly text: string;
  /** Its end was seen. */
  readonly whole: boolean;
  readonly retryAfter: string | null;
}

export async function chat(url: string, key: string, stream = false): Promise<ReceivedStream> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', stream, messages: [{ role: 'user', content: 'hi' }] }),
  });
  let text = '';
  try {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
  } catch {
    // Broken off: what came until then is what was heard.
  }
  const whole =
    response.status === 200 &&
    (stream ? text.endsWith('data: [DONE]\n\n') && !text.includes('"error"') : text.endsWith('}'));
  return {
    status: response.status,
    id: response.headers.get('x-oneapi-request-id') ?? '',
    text,
    whole,
    retryAfter: response.headers.get('retry-after'),
  };
}
