/** A real pseudo terminal around the executable: types keys, waits for words on the screen. */
import { afterEach, expect } from 'vitest';
import type { Sandbox } from './support.ts';

export interface TerminalOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
const escapes = /\u001b\[[0-9;?]*[A-Za-z]|\u001b[=>]/g;

export function openTerminal(command: readonly string[], { cwd, env, columns = 80, rows = 24 }: TerminalOptions) {
  let raw = '';
  let seen = 0;
  const child = Bun.spawn([...command], {
    cwd,
    env: { TERM: 'xterm-256color', ...env },
    terminal: {
      cols: columns,
      rows,
      data: (_terminal, bytes) => {
        raw += new TextDecoder().decode(bytes);
      },
    },
  });
  const text = () => raw.replace(escapes, '');
  return {
    /** Everything written so far, control sequences included. */
    raw: () => raw,
    text,
    type: (keys: string) => void child.terminal?.write(keys),
    resize: (width: number, height: number) => child.terminal?.resize(width, height),
    /** Waits until the words appear after those waited for before. */
    async until(words: string): Promise<void> {
      await expect
        .poll(() => text().indexOf(words, seen), { timeout: 60_000, message: words })
        .toBeGreaterThanOrEqual(0);
      seen = text().indexOf(words, seen) + words.length;
    },
    pid: child.pid,
    exited: () => child.exited,
    /** Cursor shown again, alternate screen left, raw mode off. */
    async restored(): Promise<void> {
      await child.exited;
      expect(raw.lastIndexOf('\u001b[?25h')).toBeGreaterThanOrEqual(raw.lastIndexOf('\u001b[?25l'));
      expect(raw.lastIndexOf('\u001b[?1049l')).toBeGreaterThanOrEqual(raw.lastIndexOf('\u001b[?1049h'));
    },
    close: () => child.kill('SIGKILL'),
  };
}

/** @param now the sandbox of the test that runs; made by hooks above the call, so that it goes after its terminals. @returns what opens a terminal in it. */
export function terminalsIn(now: () => Sandbox) {
  const opened: ReturnType<typeof openTerminal>[] = [];
  afterEach(() => {
    for (const terminal of opened.splice(0)) terminal.close();
  });
  return (
    command: readonly string[],
    more: Readonly<Record<string, string>> = {},
    size: Pick<TerminalOptions, 'columns' | 'rows'> = {},
  ) => {
    const { dir, dataDir } = now();
    const env = { LANG: 'C', HOME: dir, PATH: '/usr/bin:/bin', GATEWAY_DATA_DIR: dataDir, ...more };
    const terminal = openTerminal(command, { cwd: dir, env, ...size });
    opened.push(terminal);
    return terminal;
  };
}
