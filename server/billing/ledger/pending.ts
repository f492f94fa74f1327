/** Settlements that could not be written to the database when the process ended: lines of JSON in a place that outlives it; the next start settles them. */

import { lstatSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { open, readdir, rename, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { systemTimers, type Timers } from '../../contract/timers.ts';
import type { LedgerStore } from '../ports.ts';
import { keptUntilWritten, type LedgerCommand, type LedgerResult } from './commands.ts';

export interface PendingOutbox {
  readonly dir: string;
  /** How the names of its files begin. */
  readonly name: string;
  /** How the names of files begin whose blocks settlements may take where the disk is full: `reserve-space.ts`. */
  readonly reserve?: string;
  /**
   * `always`: the site's own folder, or one that the operator named. `persistent`: only where it is a disk of its own and
   * not memory or the layer of a container, which end with the process. `never`: earlier builds wrote here; it is read.
   */
  readonly writes?: 'always' | 'persistent' | 'never';
}

export interface PendingReport {
  /** Settlements that were written now; others of the files had been written before. */
  readonly settled: number;
  /** Files read and done with. */
  readonly files: readonly string[];
  /** Lines that the ledger's rules turned down, as `ref: reason`. */
  readonly rejected: readonly string[];
  /** Where the file is now. */
  readonly kept: readonly string[];
}

const placeMs = 2000;
const extension = '.jsonl';
const batchSize = 500;

/**
 * Tries one folder after the other; a disk that hangs is skipped like one that is full. Where there is no room, the lines
 * take the blocks of reserved files, as many as these hold, and the rest goes on to the next folder.
 * @param stamp makes the names unique.
 * @returns the files' paths: together they hold every command, and are durable.
 * @throws the last folder's error: not every command is durable.
 */
export async function writePending(
  outboxes: readonly PendingOutbox[],
  stamp: string,
  commands: readonly LedgerCommand[],
  timers: Pick<Timers, 'set'> = systemTimers,
): Promise<readonly string[]> {
  const order: PendingOrder = { lines: commands.map((command) => `${JSON.stringify(command)}\n`), paths: [] };
  let last: unknown = new Error('there is no folder that outlives the process');
  for (const outbox of outboxes) {
    const { promise: timedOut, reject } = Promise.withResolvers<never>();
    const timer = timers.set(() => reject(new Error(`${outbox.dir} does not answer`)), placeMs);
    try {
      await Promise.race([writeInto(outbox, stamp, order), timedOut]);
      return order.paths;
    } catch (error) {
      // reason: the disk alone; the last error is thrown.
      last = error;
    } finally {
      timer.close();
    }
  }
  throw last;
}

/** Lines that no file holds yet, and the files that hold the others. */
interface PendingOrder {
  lines: readonly string[];
  readonly paths: string[];
}

/** @throws while lines are left. */
async function writeInto(outbox: PendingOutbox, stamp: string, order: PendingOrder): Promise<void> {
  if (!(await outlivesProcess(outbox))) throw new Error(`${outbox.dir} may end with the process`);
  const path = (part = ''): string => join(outbox.dir, `${outbox.name}${stamp}${part}${extension}`);
  const { lines } = order;
  try {
    await writeWhole(path(), outbox.dir, lines.join(''));
    if (order.lines !== lines) return;
    order.paths.push(path());
    order.lines = [];
  } catch (error) {
    if (outbox.reserve === undefined) throw error;
    for (const name of (await readdir(outbox.dir)).filter(isReserved(outbox.reserve)).sort()) {
      await takeReserved(join(outbox.dir, name), path(`-${order.paths.length + 1}`), outbox.dir, order);
      if (order.lines.length === 0) return;
    }
    throw error;
  }
}

/** Numbers of `linux/magic.h`: folders in memory, and what a container writes beside its volumes. */
const endWithProcess: ReadonlySet<number> = new Set([0x01021994, 0x858458f6, 0x794c7630]);

async function outlivesProcess({ dir, writes = 'always' }: PendingOutbox): Promise<boolean> {
  if (writes !== 'persistent') return writes === 'always';
  if (process.platform !== 'linux') return true;
  return !endWithProcess.has((await statfs(dir)).type >>> 0);
}

export const isReserved =
  (reserve: string) =>
  (name: string): boolean =>
    name.startsWith(reserve) && /^\d+$/.test(name.slice(reserve.length));

/**
 * The file becomes one of settlements, by writing over blocks that it has already: a full disk takes that. File systems
 * that copy on writing may refuse; then the file is given up, and the lines take the room that this makes.
 */
async function takeReserved(reserved: string, path: string, dir: string, order: PendingOrder): Promise<void> {
  const draft = `${path}.part`;
  try {
    await rename(reserved, draft);
  } catch {
    // Another thread, or the process that takes over, has taken it.
    return;
  }
  const { lines } = order;
  // reason: the disk alone.
  let held = await overwrite(draft, lines).catch(() => 0);
  if (held > 0) {
    await rename(draft, path);
    await syncFolder(dir);
  } else {
    await rm(draft, { force: true });
    const isWritten = await writeWhole(path, dir, lines.join('')).then(
      () => true,
      () => false,
    );
    held = isWritten ? lines.length : 0;
  }
  // Another folder may have taken them meanwhile, because this one did not answer in time.
  if (held === 0 || order.lines !== lines) return;
  order.lines = lines.slice(held);
  order.paths.push(path);
}

/** @returns how many of the lines fit into the file as it is. */
async function overwrite(draft: string, lines: readonly string[]): Promise<number> {
  const file = await open(draft, 'r+');
  try {
    const { size } = await file.stat();
    let held = 0;
    let bytes = 0;
    for (const line of lines) {
      const more = Buffer.byteLength(line);
      if (bytes + more > size) break;
      bytes += more;
      held++;
    }
    const text = Buffer.from(lines.slice(0, held).join(''));
    for (let at = 0; at < text.length; ) {
      const { bytesWritten } = await file.write(text, at, text.length - at, at);
      at += bytesWritten;
    }
    await file.truncate(bytes);
    await file.sync();
    return held;
  } finally {
    await file.close();
  }
}

async function syncFolder(dir: string): Promise<void> {
  const folder = await open(dir, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** All of it under its name, or nothing. */
async function writeWhole(path: string, dir: string, text: string): Promise<void> {
  const draft = `${path}.part`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  await rename(draft, path);
  await syncFolder(dir);
}

/** Idempotent by `ref`: what reached the database before counts once. @throws the driver's error; then all files stay. */
export function settlePending(store: Pick<LedgerStore, 'apply'>, outboxes: readonly PendingOutbox[]): PendingReport {
  const report = newReport();
  for (const path of pendingFiles(outboxes)) {
    const file = openPending(path, report);
    for (const batch of file.batches) file.answered(batch, store.apply(batch).results);
    file.close();
  }
  return report;
}

/** The same for a ledger that answers later. @throws what `apply` throws; then the file stays. */
export async function settlePendingRemote(
  apply: (commands: readonly LedgerCommand[]) => Promise<readonly LedgerResult[]>,
  outboxes: readonly PendingOutbox[],
): Promise<PendingReport> {
  const report = newReport();
  for (const path of pendingFiles(outboxes)) {
    const file = openPending(path, report);
    for (const batch of file.batches) file.answered(batch, await apply(batch));
    file.close();
  }
  return report;
}

const newReport = () => ({ settled: 0, files: [] as string[], rejected: [] as string[], kept: [] as string[] });

function openPending(path: string, report: ReturnType<typeof newReport>) {
  const turnedDown: string[] = [];
  const commands = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map(commandOf);
  const count = Math.ceil(commands.length / batchSize);
  return {
    batches: Array.from({ length: count }, (_, at) => commands.slice(at * batchSize, (at + 1) * batchSize)),
    answered(batch: readonly LedgerCommand[], results: readonly LedgerResult[]) {
      for (const [index, result] of results.entries()) {
        const command = batch[index];
        if (command === undefined || result.status === 'duplicate') continue;
        if (result.status === 'done') report.settled += command.type === 'settle' ? 1 : 0;
        else turnedDown.push(`${command.ref}: ${result.status === 'refused' ? result.reason : result.status}`);
      }
    },
    close() {
      report.files.push(path);
      report.rejected.push(...turnedDown);
      if (turnedDown.length === 0) return rmSync(path);
      renameSync(path, `${path}.refused`);
      report.kept.push(`${path}.refused`);
    },
  };
}

/** Files of ours alone: a folder may be everybody's. */
export function pendingFiles(outboxes: readonly PendingOutbox[]): string[] {
  return outboxes.flatMap(({ dir, name }) =>
    namesIn(dir)
      .filter((file) => file.startsWith(name) && file.endsWith(extension))
      .sort()
      .map((file) => join(dir, file))
      .filter((path) => {
        const found = lstatSync(path);
        return found.isFile() && (found.mode & 0o077) === 0 && found.uid === (process.getuid?.() ?? found.uid);
      }),
  );
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

function commandOf(line: string): LedgerCommand {
  const command = JSON.parse(line) as LedgerCommand;
  if (typeof command.ref !== 'string' || !keptUntilWritten.has(command.type))
    throw new Error(`not a line of what is owed: ${line}`);
  return command;
}
