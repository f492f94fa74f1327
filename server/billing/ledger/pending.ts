/** Settlements that could not be written to the database when the process ended: lines of JSON beside it, or elsewhere where that disk is full; the next start settles them. */

import { lstatSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { LedgerStore } from '../ports.ts';
import { keptUntilWritten, type LedgerCommand, type LedgerResult } from './commands.ts';

export interface PendingOutbox {
  readonly dir: string;
  /** How the names of its files begin. */
  readonly name: string;
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

/** Tries one folder after the other; a disk that hangs is skipped like one that is full. @param stamp makes the name unique. @returns the file's path. @throws the last folder's error. */
export async function writePending(
  outboxes: readonly PendingOutbox[],
  stamp: string,
  commands: readonly LedgerCommand[],
): Promise<string> {
  const text = commands.map((command) => `${JSON.stringify(command)}\n`).join('');
  let last: unknown;
  for (const { dir, name } of outboxes) {
    const path = join(dir, `${name}${stamp}${extension}`);
    const { promise: timedOut, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error(`${dir} does not answer`)), placeMs);
    try {
      await Promise.race([writeWhole(path, dir, text), timedOut]);
      return path;
    } catch (error) {
      last = error;
    } finally {
      clearTimeout(timer);
    }
  }
  throw last;
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
  const folder = await open(dir, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
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
