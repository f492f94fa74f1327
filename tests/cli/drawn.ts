/** A terminal that is drawn on, in this process: keys are typed at it, and what stands on it is read. */
import { PassThrough, Writable } from 'node:stream';
import { vi } from 'vitest';

/** The lines that stand there after everything that was written. */
class Picture {
  #lines: string[] = [''];
  #row = 0;
  #column = 0;
  /** What the alternate screen covers. */
  #covered: string[] | null = null;

  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
  static readonly #parts = /\u001b\[([0-9;?]*)([A-Za-z])|\r?\n|\r|[^\u001b\r\n]+|\u001b[=>]/g;

  write(text: string): void {
    for (const [whole, numbers = '', kind] of text.matchAll(Picture.#parts)) {
      if (kind !== undefined) this.#control(numbers, kind);
      else if (whole.endsWith('\n')) this.#to(this.#row + 1, 0);
      else if (whole === '\r') this.#column = 0;
      else if (!whole.startsWith('\u001b')) this.#put(whole);
    }
  }

  #put(text: string): void {
    const line = (this.#lines[this.#row] ?? '').padEnd(this.#column);
    this.#lines[this.#row] = line.slice(0, this.#column) + text + line.slice(this.#column + text.length);
    this.#column += text.length;
  }

  #to(row: number, column: number): void {
    this.#row = Math.max(0, row);
    this.#column = Math.max(0, column);
    while (this.#lines.length <= this.#row) this.#lines.push('');
  }

  #control(numbers: string, kind: string): void {
    const by = Number(numbers === '' ? 1 : numbers);
    if (kind === 'A') this.#to(this.#row - by, this.#column);
    else if (kind === 'B') this.#to(this.#row + by, this.#column);
    else if (kind === 'G') this.#column = by - 1;
    else if (kind === 'E') this.#to(this.#row + by, 0);
    else if (kind === 'F') this.#to(this.#row - by, 0);
    else if (kind === 'K')
      this.#lines[this.#row] = numbers === '2' ? '' : (this.#lines[this.#row] ?? '').slice(0, this.#column);
    else if (kind === 'J') this.#clear(numbers);
    else if (kind === 'H') this.#to(0, 0);
    else if (numbers === '?1049' && kind === 'h') {
      this.#covered = this.#lines;
      this.#clear('2');
    } else if (numbers === '?1049' && kind === 'l') {
      this.#lines = this.#covered ?? [''];
      this.#to(this.#lines.length - 1, 0);
    }
  }

  #clear(numbers: string): void {
    if (numbers === '2' || numbers === '3') {
      this.#lines = [''];
      this.#to(0, 0);
    } else this.#lines = [...this.#lines.slice(0, this.#row), (this.#lines[this.#row] ?? '').slice(0, this.#column)];
  }

  /** A window that becomes lower pushes out at the top what stands above the cursor, as terminals do. */
  lower(rows: number): void {
    const gone = Math.max(0, this.#row + 1 - rows);
    this.#lines = this.#lines.slice(gone, gone + rows);
    this.#row -= gone;
  }

  get lines(): readonly string[] {
    const trimmed = this.#lines.map((line) => line.trimEnd());
    return trimmed.slice(0, trimmed.findLastIndex((line) => line !== '') + 1);
  }
}

export interface Drawn {
  readonly stdin: NodeJS.ReadStream;
  /** For what a command says beside what is drawn. */
  readonly write: (text: string) => boolean;
  type(keys: string): void;
  /** Waits until the words stand there, drawn after the last keys, and nothing moves any more; '' = whatever stands there. */
  until(words: string): Promise<readonly string[]>;
  resize(columns: number, rows: number): void;
  /** Gives the process its own streams back. */
  close(): void;
}

const quietMs = 25;

export function drawnTerminal({ columns = 80, rows = 24 } = {}): Drawn {
  const picture = new Picture();
  let changes = 0;
  let before = -1;
  const write = (text: string) => {
    changes++;
    picture.write(text);
    return true;
  };
  const screen = () =>
    Object.assign(
      new Writable({
        decodeStrings: false,
        write(chunk, _encoding, done) {
          write(String(chunk));
          done();
        },
      }),
      { isTTY: true, columns, rows },
    );
  const keyboard = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: () => keyboard,
    ref: () => keyboard,
    unref: () => keyboard,
  });
  const kept = ['stdin', 'stdout', 'stderr'].map(
    (name) => [name, Object.getOwnPropertyDescriptor(process, name)] as const,
  );
  for (const [name, value] of Object.entries({ stdin: keyboard, stdout: screen(), stderr: screen() }))
    Object.defineProperty(process, name, { value, configurable: true, writable: true });
  return {
    stdin: keyboard as unknown as NodeJS.ReadStream,
    write,
    type(keys) {
      before = changes;
      keyboard.write(keys);
    },
    async until(words) {
      await vi
        .waitUntil(() => words === '' || (changes > before && picture.lines.some((line) => line.includes(words))), {
          timeout: 60_000,
          interval: 5,
        })
        .catch(() => {
          throw new Error(`“${words}” is not there:\n${picture.lines.join('\n')}`);
        });
      for (let last = -1; last !== changes; ) {
        last = changes;
        await new Promise((resolve) => setTimeout(resolve, quietMs));
      }
      return picture.lines;
    },
    resize(columns, rows) {
      before = changes;
      picture.lower(rows);
      for (const stream of [process.stdout, process.stderr]) {
        Object.assign(stream, { columns, rows });
        stream.emit('resize');
      }
    },
    close() {
      for (const [name, own] of kept) if (own !== undefined) Object.defineProperty(process, name, own);
    },
  };
}
