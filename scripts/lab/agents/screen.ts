/** A terminal as its user sees it: what a program shows is kept by tmux (Debian: `tmux`), keys are typed, and the text of the screen is read. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** @param folder where the screens are kept as text, one file each. */
export function terminalsIn(folder: string) {
  mkdirSync(folder, { recursive: true });
  const server = ['tmux', '-L', `lab-${process.pid}`, '-f', '/dev/null'];
  const tmux = async (...words: string[]): Promise<string> => {
    const child = Bun.spawn([...server, ...words], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
    const out = await new Response(child.stdout).text();
    await child.exited;
    return out;
  };
  let opened = 0;
  return {
    async open(command: readonly string[], env: Readonly<Record<string, string | undefined>>, cwd: string) {
      const name = `screen-${++opened}`;
      const script = join(folder, `.${name}.sh`);
      const set = Object.entries(env).flatMap(([key, value]) =>
        value === undefined ? [] : [quoted(`${key}=${value}`)],
      );
      // Whatever a program says last stays to be read.
      const line = `env -i ${set.join(' ')} TERM=tmux-256color ${command.map(quoted).join(' ')}; echo "[ended: $?]"; sleep 600`;
      writeFileSync(script, line, { mode: 0o600 });
      await tmux('new-session', '-d', '-s', name, '-x', '110', '-y', '40', '-c', cwd, `sh ${quoted(script)}`);
      const text = () => tmux('capture-pane', '-p', '-J', '-t', name);
      return {
        text,
        type: (words: string) => tmux('send-keys', '-t', name, '-l', words),
        press: (...keys: string[]) => tmux('send-keys', '-t', name, ...keys),
        /** @returns whether it came in time. */
        async until(pattern: RegExp, limitMs: number): Promise<boolean> {
          const end = performance.now() + limitMs;
          while (performance.now() < end) {
            if (pattern.test(await text())) return true;
            await Bun.sleep(200);
          }
          return false;
        },
        /** Keeps what is on the screen. @returns its lines without their margins. */
        async keep(title: string): Promise<readonly string[]> {
          const shown = (await text()).replace(/\s+$/gm, '');
          writeFileSync(join(folder, `${title}.txt`), `${shown}\n`);
          return shown.split('\n').map((row) => row.trim());
        },
        close: () => tmux('kill-session', '-t', name),
      };
    },
    close: () => tmux('kill-server'),
  };
}

export type Terminals = ReturnType<typeof terminalsIn>;
export type Screen = Awaited<ReturnType<Terminals['open']>>;
