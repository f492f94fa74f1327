/** What a node keeps beside itself: ends that are durable here and not in the books yet, and what the books acknowledged lately in case they forget it. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type OutboxFile, openAcknowledgedFile, openOutboxFile } from '../../db/outbox-file.ts';
import { AppError } from '../contract/errors.ts';
import { reasonText } from '../contract/storage-reasons.ts';
import type { LedgerCommand } from './commands.ts';

export interface Kept {
  readonly number: number;
  readonly command: LedgerCommand;
}

export interface Outbox {
  /** Durable when it returns. @returns their numbers; the caller has them in hand until `release`. @throws when there is no room, or the disk refuses. */
  keep(commands: readonly LedgerCommand[]): number[];
  /** The oldest that nobody has in hand; now the caller has. */
  take(most: number): Kept[];
  release(numbers: readonly number[]): void;
  /** They are in the books. */
  drop(numbers: readonly number[]): void;
  size(): number;
}

/** Batches that the books confirmed, for as long as a copy that lags behind may come to power. */
export interface Acknowledged {
  note(epoch: number, seq: number, commands: readonly LedgerCommand[]): void;
  since(epoch: number, seq: number): LedgerCommand[];
  /** The last of each epoch. */
  marks(): { readonly epoch: number; readonly seq: number }[];
}

export interface NodeFiles {
  readonly outbox: Outbox;
  readonly acknowledged: Acknowledged;
  close(): void;
}

export interface NodeFilesOptions {
  readonly nativeBinding?: string | undefined;
  /** Epoch milliseconds: the files outlive the process. */
  readonly now: () => number;
  readonly most?: number;
}

/** About 2 GiB. */
const mostOwed = 1_000_000;
const keptForMs = 15 * 60_000;
const forgetEveryMs = 60_000;

/** @throws AppError outbox_locked; the driver's error when the folder cannot be used. */
export function openNodeFiles(dir: string, { nativeBinding, now, most = mostOwed }: NodeFilesOptions): NodeFiles {
  const owed = openOwn(dir, nativeBinding);
  const batches = openAcknowledgedFile(join(dir, 'acknowledged.db'), nativeBinding);
  const inHand = new Set<number>();
  let count = owed.count();
  let forgotten = now();
  // An older start's, long past: nobody asks for these again.
  batches.forgetBefore(forgotten - keptForMs);

  return {
    outbox: {
      keep(commands) {
        if (count + commands.length > most)
          throw new AppError('storage_unavailable', { reason: reasonText('outbox_full') });
        const numbers = owed.insert(commands);
        count += numbers.length;
        for (const number of numbers) inHand.add(number);
        return numbers;
      },
      take(wanted) {
        if (count === inHand.size) return [];
        const free = owed.after(0, wanted + inHand.size).filter(({ number }) => !inHand.has(number));
        const taken = free.slice(0, wanted);
        for (const { number } of taken) inHand.add(number);
        return taken.map(({ number, command }) => ({ number, command: JSON.parse(command) as LedgerCommand }));
      },
      release(numbers) {
        for (const number of numbers) inHand.delete(number);
      },
      drop(numbers) {
        owed.remove(numbers);
        count -= numbers.length;
        for (const number of numbers) inHand.delete(number);
      },
      size: () => count,
    },
    acknowledged: {
      note(epoch, seq, commands) {
        const at = now();
        try {
          if (commands.length > 0) batches.insert(epoch, seq, at, commands);
          if (Math.abs(at - forgotten) < forgetEveryMs) return;
          forgotten = at;
          batches.forgetBefore(at - keptForMs);
        } catch {
          // They are in the books: a full disk here must not look like trouble there.
        }
      },
      since: batches.since,
      marks: batches.marks,
    },
    close() {
      rmSync(join(dir, ownerFile), { force: true });
      owed.close();
      batches.close();
    },
  };
}

/** For people: what keeps others out is the lock on the outbox itself. */
const ownerFile = 'outbox.owner';

interface Owner {
  readonly host: string;
  readonly pid: number;
}

function openOwn(dir: string, nativeBinding: string | undefined): OutboxFile {
  try {
    const outbox = openOutboxFile(join(dir, 'outbox.db'), nativeBinding);
    const owner: Owner = { host: hostname(), pid: process.pid };
    writeFileSync(join(dir, ownerFile), JSON.stringify(owner), { mode: 0o600 });
    return outbox;
  } catch (error) {
    if (!String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY')) throw error;
    throw new AppError('outbox_locked', { dir, ...ownerIn(dir) }, error);
  }
}

function ownerIn(dir: string): Owner {
  try {
    return JSON.parse(readFileSync(join(dir, ownerFile), 'utf8')) as Owner;
  } catch {
    return { host: '?', pid: 0 };
  }
}
