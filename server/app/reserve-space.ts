/** Room in the data directory that is given up for settlements when the disk is full: files of blocks that exist already. */
import { randomBytes } from 'node:crypto';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isReserved, type PendingOutbox } from '../billing/ledger/pending.ts';

export interface ReserveSpaceDeps {
  readonly outbox: PendingOutbox & { readonly reserve: string };
  /** Each thread takes a file of its own. */
  readonly relayThreads: number;
  /** Requests under way. */
  readonly open: () => number;
  /** One line for the operator. */
  readonly print: (line: string) => void;
}

/** Bytes of one file. */
export const reservedFileSize = 512 * 1024;
/** Bytes that the settlement of one request takes at most, but for rare ones. */
const settlementBytes = 16 * 1024;
/** So much is set aside at most: 64 MB, for 4,000 requests under way. */
const maxFiles = 128;
const checkMs = 5000;

/** Keeps as many files as the requests under way may need. */
export class ReserveSpace {
  private readonly deps: ReserveSpaceDeps;
  private readonly prefix: string;
  private timer: ReturnType<typeof setInterval> | undefined;
  private most = 0;
  private isShort = false;
  private running: Promise<void> | null = null;
  private isStopped = false;

  constructor(deps: ReserveSpaceDeps) {
    this.deps = deps;
    this.prefix = join(deps.outbox.dir, deps.outbox.reserve);
  }

  start(): void {
    this.timer = setInterval(() => void this.refill(), checkMs);
    this.timer.unref();
    void this.refill();
  }

  /** What is being written is waited for: the folder is left as it will stay. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearInterval(this.timer);
    await this.running;
  }

  /** Makes the files that are missing; one pass at a time. It never throws: what has no room is made later. */
  refill(): Promise<void> {
    this.running ??= this.fill().finally(() => {
      this.running = null;
    });
    return this.running;
  }

  private needed(): number {
    this.most = Math.max(this.most, this.deps.open());
    const files = Math.ceil((this.most * settlementBytes) / reservedFileSize);
    return Math.min(maxFiles, this.deps.relayThreads + 1 + files);
  }

  private async fill(): Promise<void> {
    const needed = this.needed();
    try {
      const names = new Set(await readdir(this.deps.outbox.dir));
      const isOurs = isReserved(this.deps.outbox.reserve);
      let count = [...names].filter(isOurs).length;
      for (let number = 1; count < needed && !this.isStopped; number++) {
        if (names.has(`${this.deps.outbox.reserve}${number}`)) continue;
        await createReserved(`${this.prefix}${number}`);
        count++;
      }
      if (this.isShort) this.deps.print('the room that is reserved for settlements is there again');
      this.isShort = false;
    } catch (error) {
      if (!this.isShort)
        this.deps.print(
          `no room could be reserved for settlements in ${this.deps.outbox.dir} (${error instanceof Error ? error.message : String(error)})`,
        );
      this.isShort = true;
    }
  }
}

/** A whole file or none. Its bytes are random: file systems that compress, or that leave zeros out, would reserve nothing. */
async function createReserved(path: string): Promise<void> {
  const draft = `${path}.part`;
  try {
    const file = await open(draft, 'w', 0o600);
    try {
      await file.writeFile(randomBytes(reservedFileSize));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
