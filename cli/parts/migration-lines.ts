/** Says, line by line, what a migration of the database does while a start waits for it. */
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import type { MigrationStep } from '../../server/app/in-process.ts';

const everyMs = 3000;

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

export class MigrationLines {
  readonly #say: (zh: string, en: string) => string;
  readonly #write: (line: string) => void;
  #beganAt = 0;
  #ticking: ReturnType<typeof setInterval> | undefined;

  /** @param say picks the reader's language. */
  constructor(say: (zh: string, en: string) => string, write: (line: string) => void) {
    this.#say = say;
    this.#write = write;
  }

  readonly report = (step: MigrationStep): void => {
    const say = this.#say;
    this.end();
    if (step.kind === 'copy') {
      const { from, to, file, drafts, bytes } = step;
      const size = megabytes(bytes);
      this.#beganAt = performance.now();
      this.#write(
        say(
          `正在把数据库从 ${from} 升级到 ${to}，先复制到 ${file}（${size} MB）`,
          `the database is upgraded from ${from} to ${to}; before that it is copied to ${file} (${size} MB)`,
        ),
      );
      this.#every(() => {
        const written = drafts.reduce((sum, draft) => sum + sizeOf(draft), 0);
        const percent = Math.min(99, Math.floor((written / (drafts.length * Math.max(1, bytes))) * 100));
        return say(`正在复制：${percent}%`, `copying: ${percent} %`);
      });
    } else if (step.kind === 'apply') {
      const { name, at, of } = step;
      const beganAt = performance.now();
      this.#beganAt ||= beganAt;
      this.#write(say(`正在应用 ${name}（${at}/${of}）`, `applying ${name} (${at} of ${of})`));
      this.#every(() => {
        const seconds = Math.round((performance.now() - beganAt) / 1000);
        return say(`仍在应用 ${name}，已 ${seconds} 秒`, `still applying ${name}, for ${seconds} s`);
      });
    } else {
      const seconds = ((performance.now() - this.#beganAt) / 1000).toFixed(1);
      this.#write(
        say(`数据库已升级到 ${step.to}，用时 ${seconds} 秒`, `the database is at ${step.to} after ${seconds} s`),
      );
      const name = basename(step.copy);
      if (name !== '')
        this.#write(
          say(
            `退回旧版本：停止服务，运行 gateway backup restore ${name}，再启动旧版本`,
            `the way back: stop, run gateway backup restore ${name}, start the older build`,
          ),
        );
    }
  };

  /** Nothing more is said. */
  end(): void {
    clearInterval(this.#ticking);
  }

  #every(line: () => string): void {
    this.#ticking = setInterval(() => this.#write(line()), everyMs);
    this.#ticking.unref();
  }
}
