/** Files of a node: settlements that are durable here and not in the ledger yet, and the batches that the ledger acknowledged lately, in case it loses them. */
import { readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type DamagedFile, type OutboxFile, openAcknowledgedFile, openOutboxFile } from '../../db/outbox-file.ts';
import { processStart } from '../../db/process-start.ts';
import type { LedgerCommand } from '../billing/ledger/commands.ts';
import type { BatchMark, Outbox } from '../billing/ports.ts';
import { AppError } from '../contract/errors.ts';
import { reasonText } from '../contract/storage-reasons.ts';

/** Copies of the batches that the ledger confirmed lately, for as long as an older copy of the database may take over. */
export interface Acknowledged {
  /** To be called before the batch is committed. @throws when the disk refuses: then the batch must not be committed. */
  keep(mark: BatchMark, commands: readonly LedgerCommand[]): void;
  /** The batch was not committed. */
  discard(mark: BatchMark): void;
  since(mark: BatchMark): LedgerCommand[];
  /** Later batches are being sent to the ledger again, and will be kept under their new numbers. */
  markResent(mark: BatchMark): void;
  /** The last of each run. */
  marks(): BatchMark[];
  /** @throws when the disk would refuse a batch now. */
  check(): void;
}

export interface NodeFiles {
  readonly before: Before;
  readonly outbox: Outbox;
  readonly acknowledged: Acknowledged;
  close(): void;
}

export interface NodeFilesOptions {
  readonly nativeBinding?: string | undefined;
  /** Epoch milliseconds: the files outlive the process. */
  readonly now: () => number;
  /** Commands in the outbox. */
  readonly max?: number;
  /** Pages of the copies; default: as many as the disk has. */
  readonly maxPages?: number;
  /** One line for the operator. */
  readonly print: (line: string) => void;
}

/** About 2 GiB. */
const maxPending = 1_000_000;
const keptForMs = 15 * 60_000;
const deleteEveryMs = 60_000;

/** @throws AppError outbox_locked, node_copied; the driver's error when the folder cannot be used. */
export function openNodeFiles(
  dir: string,
  { nativeBinding, now, max = maxPending, maxPages, print }: NodeFilesOptions,
): NodeFiles {
  const { outbox, before } = openOwn(dir, nativeBinding, ({ path, detail, read }) =>
    print(
      `the outbox was damaged (${detail}): ${read} settlements were read from it and are sent; it is set aside as ${path}: keep it until gateway ledger verify and the upstreams' bills agree`,
    ),
  );
  const batches = openAcknowledgedFile(join(dir, 'acknowledged.db'), nativeBinding, maxPages, ({ path, detail }) =>
    print(
      `the copy of what was billed lately is damaged (${detail}) and set aside as ${path}; a new one begins. Until it is ${keptForMs / 60_000} minutes old, what an older copy of the database lacks cannot be sent again`,
    ),
  );
  const inHand = new Set<number>();
  let count = outbox.count();
  let forgotten = now();
  const unkept = (error: unknown) => new Error(reasonText('copy_unkept'), { cause: error });
  // Counted from the last batch: the database may have been away for longer than that when an older copy takes over.
  batches.deleteBefore(batches.newest() - keptForMs);

  return {
    before,
    outbox: {
      keep(commands) {
        if (count + commands.length > max)
          throw new AppError('storage_unavailable', { reason: reasonText('outbox_full') });
        const numbers = outbox.insert(commands);
        count += numbers.length;
        for (const number of numbers) inHand.add(number);
        return numbers;
      },
      take(limit) {
        if (count === inHand.size) return [];
        const free = outbox.after(0, limit + inHand.size).filter(({ number }) => !inHand.has(number));
        const taken = free.slice(0, limit);
        for (const { number } of taken) inHand.add(number);
        return taken.map(({ number, command }) => ({ number, command: JSON.parse(command) as LedgerCommand }));
      },
      release(numbers) {
        for (const number of numbers) inHand.delete(number);
      },
      drop(numbers) {
        outbox.remove(numbers);
        count -= numbers.length;
        for (const number of numbers) inHand.delete(number);
      },
      size: () => count,
    },
    acknowledged: {
      keep(mark, commands) {
        const at = now();
        try {
          batches.insert(mark, at, commands);
        } catch (error) {
          throw unkept(error);
        }
        if (Math.abs(at - forgotten) < deleteEveryMs) return;
        forgotten = at;
        try {
          batches.deleteBefore(at - keptForMs);
        } catch {
          // The next insertion shows whether the disk fails.
        }
      },
      discard(mark) {
        try {
          batches.remove(mark);
        } catch {
          // It is replaced by the next batch of that number, or sent again and found in the ledger or not.
        }
      },
      since: batches.since,
      markResent(mark) {
        try {
          batches.removeSince(mark);
        } catch {
          // Then it is sent once more after the next start.
        }
      },
      marks: batches.marks,
      check() {
        try {
          batches.check();
        } catch (error) {
          throw unkept(error);
        }
      },
    },
    close() {
      rmSync(join(dir, ownerFile), { force: true });
      outbox.close();
      batches.close();
    },
  };
}

/** Names the owner of the folder: for people, and for anyone who finds a copy of it. The lock on the outbox itself keeps other processes out. */
const ownerFile = 'outbox.owner';

interface Owner {
  readonly host: string;
  readonly pid: number;
  /** Which kernel, since when it runs, and which of its containers; empty where the system does not say. */
  readonly machine?: string;
  /** Start time of the process, so that a reused pid is not taken for the owner. */
  readonly started?: string;
}

function machineName(): string {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return '';
  }
}

/** What became of the process that had the folder before; `unknown`: it ran elsewhere, or has left nothing. */
export type Before = 'gone' | 'unknown';

function openOwn(
  dir: string,
  nativeBinding: string | undefined,
  onDamage: (damaged: DamagedFile) => void,
): { readonly outbox: OutboxFile; readonly before: Before } {
  const { host, pid, machine = '', started = '' } = ownerIn(dir);
  try {
    const outbox = openOutboxFile(join(dir, 'outbox.db'), nativeBinding, onDamage);
    const isHere = machine !== '' && started !== '' && machine === machineName();
    if (isHere && pid !== process.pid && processStart(pid) === started) {
      // It has the lock of another file than this one.
      outbox.close();
      throw new AppError('node_copied', { dir });
    }
    const owner: Owner = {
      host: hostname(),
      pid: process.pid,
      machine: machineName(),
      started: processStart(process.pid),
    };
    writeFileSync(join(dir, ownerFile), JSON.stringify(owner), { mode: 0o600 });
    return { outbox, before: isHere ? 'gone' : 'unknown' };
  } catch (error) {
    if (!String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY')) throw error;
    throw new AppError('outbox_locked', { dir, host, pid }, error);
  }
}

function ownerIn(dir: string): Owner {
  try {
    return JSON.parse(readFileSync(join(dir, ownerFile), 'utf8')) as Owner;
  } catch {
    return { host: '?', pid: 0 };
  }
}
