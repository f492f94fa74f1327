/** The executable's entry, signals and first lines, in this process. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { printReady, printReadyAsJson, type Ready } from '../../cli/commands/site/ready.ts';
import { ServeSignals } from '../../cli/commands/site/signals.ts';
import { createContext } from '../../cli/context.ts';
import { version } from '../../server/embedded/version.ts';

let dir = '';
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-main-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const ends = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const;
const red = '\u001b[31m';
let runs = 0;

/** What the entry writes and ends with. @param broken code of the error that standard output throws, or answers with. */
async function ranWith(args: readonly string[], { isTty = false, env = {}, broken = '', isThrown = true } = {}) {
  let [out, err] = ['', ''];
  const stream = (write: (text: string) => void) => ({
    isTTY: isTty,
    columns: 90,
    on: () => undefined,
    write(text: string, done?: (error: Error | null) => void) {
      const error = broken === '' || write === said ? null : Object.assign(new Error(broken), { code: broken });
      if (error !== null && isThrown) throw error;
      if (error === null) write(text);
      done?.(error);
      return error === null;
    },
  });
  const said = (text: string) => (err += text);
  const put = {
    stdout: stream((text) => (out += text)),
    stderr: stream(said),
    argv: ['bun', 'main', ...args],
  };
  const kept = Object.keys(put).map((name) => [name, Object.getOwnPropertyDescriptor(process, name)] as const);
  for (const [name, value] of Object.entries(put))
    Object.defineProperty(process, name, { value, configurable: true, writable: true });
  const own = {
    HOME: dir,
    GATEWAY_DATA_DIR: join(dir, 'data'),
    LANG: 'C',
    LC_ALL: '',
    GATEWAY_LANG: '',
    NO_COLOR: '',
    FORCE_COLOR: undefined,
    GATEWAY_URL: undefined,
    ...env,
  };
  for (const [name, value] of Object.entries(own)) vi.stubEnv(name, value);
  const before = ends.map((signal) => process.listeners(signal));
  const added = () =>
    ends.flatMap((signal, index) =>
      process
        .listeners(signal)
        .filter((listener) => before[index]?.includes(listener) !== true)
        .map((listener) => ({ signal, listener })),
    );
  const left: number[] = [];
  const exit = vi.spyOn(process, 'exit').mockImplementation(((code: number) => {
    left.push(code);
    throw new Error('left');
  }) as never);
  try {
    // Another name for each run, so that it runs.
    const entry = `${resolve(import.meta.dirname, '../../cli/main.ts')}?run=${++runs}`;
    await import(/* @vite-ignore */ entry).catch((error: Error) => {
      if (error.message !== 'left') throw error;
    });
    const signals = added().map(({ signal, listener }) => {
      try {
        (listener as () => void)();
      } catch {
        // It leaves.
      }
      return `${signal} ${left.at(-1)}`;
    });
    return { out, err, code: left[0], signals };
  } finally {
    for (const { signal, listener } of added()) process.off(signal, listener);
    exit.mockRestore();
    vi.unstubAllEnvs();
    for (const [name, one] of kept) if (one !== undefined) Object.defineProperty(process, name, one);
  }
}

test.each([['--version'], ['-V'], ['version']])('%s is said at once', async (arg) => {
  const { out, err, code, signals } = await ranWith([arg]);
  expect([out, err, code]).toEqual([`gateway ${version} (source)\n`, '', 0]);
  expect(signals).toEqual(['SIGINT 130', 'SIGTERM 143']);
});

test('the words that may follow, one in a line', async () => {
  expect((await ranWith(['__complete', 'tok'])).out).toBe('token\n');
  expect((await ranWith(['__complete', 'backup', 'r'])).out).toBe('restore\nrun\n');
});

test('a bare --json takes no value, also behind a flag; fields are written with =', async () => {
  expect(JSON.parse((await ranWith(['version', '--json'])).out)).toEqual({ version, commit: 'source' });
  expect(JSON.parse((await ranWith(['--json', 'version'])).out)).toEqual({ version, commit: 'source' });
  expect(JSON.parse((await ranWith(['version', '--json=commit'])).out)).toEqual({ commit: 'source' });
});

test('without arguments it shows help in a pipe, and wherever nobody can press keys', async () => {
  const piped = await ranWith([]);
  expect([piped.out.split('\n')[0], piped.code]).toEqual(['Usage: gateway [options] [command]', 0]);
  const elsewhere = { GATEWAY_URL: 'http://127.0.0.1:9', GATEWAY_TOKEN: 'x', TERM: 'xterm' };
  const seen = await ranWith([], { isTty: true, env: elsewhere });
  expect([seen.out.split('\n')[0], seen.code]).toEqual(['Usage: gateway [options] [command]', 0]);
  expect((await ranWith([], { isTty: true, env: { TERM: 'dumb' } })).out).toContain('Usage:');
});

test('errors go to standard error: in words, in colours, as JSON, in Chinese, with their stack', async () => {
  const wrong = async (args: readonly string[], more = {}) => {
    const { out, err, code } = await ranWith(args, more);
    expect([out, code]).toEqual(['', 2]);
    return err;
  };
  expect(await wrong(['nothing'])).toBe('error: Usage error: unknown command nothing\n  fix: gateway --help\n');
  expect(await wrong(['--lang', 'zh', 'nothing'])).toMatch(/^错误：/);
  expect(await wrong(['nothing'], { env: { LANG: 'zh_CN.UTF-8' } })).toMatch(/^错误：/);
  expect(await wrong(['nothing'], { isTty: true, env: { TERM: 'xterm' } })).toContain(red);
  for (const flags of [['--color', 'always'], ['--color=always']])
    expect(await wrong([...flags, 'nothing'])).toContain(red);
  for (const flags of [['--color', 'never'], ['--color=never'], ['--no-color']])
    expect(await wrong([...flags, 'nothing'], { isTty: true, env: { TERM: 'xterm' } })).toMatch(/^error/);
  expect(JSON.parse(await wrong(['nothing', '--json']))).toMatchObject({ error: { code: 'usage' } });
  for (const flags of [['-o', 'json'], ['--output', 'jsonl'], ['--output=json']])
    expect(JSON.parse(await wrong(['nothing', ...flags]))).toMatchObject({ error: { code: 'usage' } });
  expect(await wrong(['nothing', '-o', 'table'])).toMatch(/^error/);
  expect(JSON.parse(await wrong(['nothing', '--jq', '.']))).toMatchObject({ error: { code: 'usage' } });
  expect(await wrong(['nothing', '--jqx', '.'])).toMatch(/^error/);
  expect(await wrong(['nothing', '--debug'])).toMatch(/\n.*at /);
  expect(JSON.parse(await wrong(['exec', '--json']))).toMatchObject({
    error: { details: { detail: 'missing argument command' } },
  });
});

test('help is no error; a reader that is gone is none either', async () => {
  expect((await ranWith(['token', 'create', '--help'])).code).toBe(0);
  expect((await ranWith(['help', 'token', 'list'])).out).toContain('Usage: gateway token list');
  expect(await ranWith(['--version'], { broken: 'EPIPE' })).toMatchObject({ out: '', err: '', code: 0 });
  process.exitCode = 4;
  const { code } = await ranWith(['version']);
  process.exitCode = 0;
  expect(code).toBe(4);
});

test.each([true, false])('standard output that cannot be written is an error (thrown: %s)', async (isThrown) => {
  const full = { broken: 'ENOSPC', isThrown };
  for (const args of [
    ['--version'],
    ['version', '--json=commit'],
    ['token', 'create', '--help'],
    ['__complete', 'tok'],
  ])
    expect(await ranWith(args, full), args.join(' ')).toMatchObject({
      code: 1,
      err: expect.stringContaining('Standard output cannot be written: ENOSPC'),
    });
  expect((await ranWith(['--lang', 'zh', 'version'], full)).err).toBe('错误：无法写入标准输出：ENOSPC\n');
  expect(JSON.parse((await ranWith(['version', '--json'], full)).err)).toMatchObject({
    error: { code: 'output_unwritable' },
  });
  // Another failure was said already, and keeps its code.
  const wrong = await ranWith(['nothing'], full);
  expect([wrong.code, wrong.err.match(/error/gi)?.length]).toEqual([2, 2]);
});

test('the first signal stops, the second stops now, the third leaves; others are taken note of', () => {
  const done: string[] = [];
  const listening = (detached: boolean) => {
    const before = ends.map((signal) => process.listeners(signal));
    new ServeSignals({
      stop: () => void done.push('stop'),
      stopNow: () => void done.push('now'),
      say: (line) => void done.push(line),
    }).listen(detached);
    return Object.fromEntries(
      ends.map((signal, index) => {
        const [own] = process.listeners(signal).filter((one) => before[index]?.includes(one) !== true);
        if (own !== undefined) process.off(signal, own);
        return [signal, () => own?.(signal)];
      }),
    );
  };
  const exit = vi.spyOn(process, 'exit').mockImplementation(((code: number) => {
    done.push(`leaves ${code}`);
    throw new Error('left');
  }) as never);
  const signals = listening(true);
  for (const signal of ['SIGUSR1', 'SIGUSR2', 'SIGHUP']) signals[signal]?.();
  expect(done.splice(0).map((line) => line.split(':')[0])).toEqual(['SIGUSR1', 'SIGUSR2', 'SIGHUP']);
  signals.SIGTERM?.();
  expect([done.splice(0), process.exitCode ?? 0]).toEqual([['stop'], 0]);
  signals.SIGINT?.();
  expect([done.splice(0), process.exitCode]).toEqual([['now'], 130]);
  expect(() => signals.SIGTERM?.()).toThrow('left');
  expect(done.splice(0)).toEqual(['leaves 143']);
  process.exitCode = 0;
  exit.mockRestore();
});

test.each(['en', 'zh'] as const)('what a server says when it is ready: %s', (lang) => {
  let [out, err] = ['', ''];
  const streams = {
    out: { write: (text: string) => (out += text) },
    err: { write: (text: string) => (err += text) },
    outIsTty: false,
    columns: 80,
  };
  const context = createContext({ lang, dataDir: '/data' }, {}, streams, process.stdin, () => '');
  const gateway = {
    url: 'http://h:1',
    recovered: { settled: 0, voided: 1 },
    pending: { files: ['a', 'b'], settled: 3, rejected: [], kept: [] },
    descriptors: 1024,
    metricsPort: 9,
  };
  const ready = { gateway, link: 'http://h:1/setup#c', relays: 2, metricsHost: 'm' } as unknown as Ready;
  printReady(context, ready);
  const bare = {
    ...gateway,
    recovered: { settled: 0, voided: 0 },
    pending: { ...gateway.pending, files: [] },
    descriptors: null,
    metricsPort: null,
  };
  printReady(context, { ...ready, gateway: bare, link: null } as unknown as Ready);
  printReadyAsJson(context, ready);
  const lines = out.trimEnd().split('\n');
  expect(JSON.parse(lines.pop() ?? '')).toEqual({
    level: 'info',
    at: expect.stringMatching(/^\d{4}-.*Z$/),
    event: 'ready',
    url: 'http://h:1',
    data_dir: '/data',
    setup_link: 'http://h:1/setup#c',
    recovered: gateway.recovered,
    owed: gateway.pending,
    descriptors: 1024,
    relays: 2,
    metrics_port: 9,
  });
  expect([...lines, ...err.trimEnd().split('\n')]).toMatchSnapshot();
});
