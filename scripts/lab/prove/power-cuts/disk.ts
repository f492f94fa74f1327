/**
 * What a disk may hold after its power was cut. What was synced is there; of what was written since then any part may be, down
 * to single sectors. Names keep the order in which they changed, as journals of file systems keep it.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Random } from '../cluster/random.ts';
import type { FileOperation } from './recording.ts';

type Content = Extract<FileOperation, { kind: 'write' | 'truncate' | 'sync' }>;
type Named = Extract<FileOperation, { kind: 'create' | 'rename' | 'link' | 'unlink' | 'mkdir' }>;

interface StoredFile {
  /** As it was when the recording began. */
  readonly base: Buffer;
  readonly operations: Content[];
  /** Number of the change that gave it a name, -1 = it had one. */
  readonly created: number;
}

export interface CutReport {
  /** Writes that were not synced, and those of them that are missing, at least in part. */
  readonly unsynced: number;
  readonly missing: number;
  /** Changed names that were not durable and are missing. */
  readonly names: number;
}

export interface RecordedDisk {
  /** Writes a state of the disk to a folder. @param at epoch seconds. */
  stateAt(at: number, random: Random, into: string): CutReport;
}

const sectorBytes = 512;
/** Maps of memory that every opening makes anew. */
const isPassing = (path: string): boolean => path.endsWith('-shm');

type Fate = 'none' | 'some' | 'torn';

/** @param base copy of the folder from before the recording. */
export function createDisk(base: string, operations: readonly FileOperation[]): RecordedDisk {
  /** By the names that they had when the recording began. */
  const first = new Map<string, StoredFile>();
  const names = new Map<string, StoredFile>();
  const changes: { readonly named: Named; readonly file: StoredFile | null }[] = [];
  /** A sync of a folder, or of a file whose name is new: names up to this number are durable. */
  const marks: { readonly end: number; readonly upTo: number }[] = [];
  /** Paths that have lost their file. */
  const gone = new Set<string>();
  const fileAt = (path: string, content: Buffer, created: number): StoredFile => {
    const file = { base: content, operations: [], created };
    names.set(path, file);
    return file;
  };
  const known = (path: string): StoredFile | undefined => {
    const found = names.get(path);
    if (found !== undefined || gone.has(path)) return found;
    if (statSync(join(base, path), { throwIfNoEntry: false })?.isFile() !== true) return undefined;
    const file = fileAt(path, readFileSync(join(base, path)), -1);
    first.set(path, file);
    return file;
  };
  for (const operation of operations) {
    const { path, kind } = operation;
    if (isPassing(path)) continue;
    if (kind === 'create') {
      if (known(path) !== undefined) continue;
      const file = fileAt(path, Buffer.alloc(0), changes.length);
      gone.delete(path);
      changes.push({ named: operation, file });
      continue;
    }
    if (kind === 'mkdir') {
      changes.push({ named: operation, file: null });
      continue;
    }
    if (kind === 'rename' || kind === 'link' || kind === 'unlink') {
      const file = known(path) ?? null;
      if (kind !== 'link') {
        names.delete(path);
        gone.add(path);
      }
      changes.push({ named: operation, file });
      if (kind !== 'unlink' && file !== null) {
        names.set(operation.to, file);
        gone.delete(operation.to);
      }
      continue;
    }
    const file = known(path);
    // One that has no name any more is gone with the power.
    if (file === undefined && kind !== 'sync' && !gone.has(path)) throw new Error(`${path} was never made`);
    file?.operations.push(operation);
    if (kind !== 'sync') continue;
    const before = changes.filter(({ named }) => named.end <= operation.start);
    const last = before.findLastIndex(({ named }) => dirname(named.path) === (path === '' ? '.' : path));
    marks.push({ end: operation.end, upTo: Math.max(file?.created ?? -1, file === undefined ? last : -1) });
  }

  const contentOf = (file: StoredFile, at: number, fate: Fate, random: Random) => {
    const synced = file.operations.findLast(({ kind, end }) => kind === 'sync' && end <= at)?.start ?? 0;
    const ends = file.operations.map((one) =>
      one.kind === 'write' ? one.offset + one.bytes.length : one.kind === 'truncate' ? one.size : 0,
    );
    const content = Buffer.alloc(ends.reduce((most, one) => Math.max(most, one), file.base.length));
    file.base.copy(content);
    let size = file.base.length;
    let [unsynced, missing] = [0, 0];
    const write = (offset: number, bytes: Buffer) => {
      bytes.copy(content, offset);
      size = Math.max(size, offset + bytes.length);
    };
    for (const operation of file.operations) {
      if (operation.start > at || operation.kind === 'sync') continue;
      const isDurable = operation.end <= synced;
      if (!isDurable) unsynced++;
      const isThere = isDurable || (fate !== 'none' && random.share() < 0.5);
      if (operation.kind === 'truncate') {
        if (!isThere) {
          missing++;
          continue;
        }
        // What lies beyond an end reads as zeros when the file grows again.
        content.fill(0, operation.size);
        size = operation.size;
        continue;
      }
      const { offset, bytes } = operation;
      if (isDurable || (fate === 'some' && isThere)) {
        write(offset, bytes);
        continue;
      }
      missing++;
      if (fate !== 'torn') continue;
      for (let from = 0; from < bytes.length; ) {
        const to = Math.min(bytes.length, from + sectorBytes - ((offset + from) % sectorBytes));
        if (random.share() < 0.5) write(offset + from, bytes.subarray(from, to));
        from = to;
      }
    }
    return { content: content.subarray(0, size), unsynced, missing };
  };

  return {
    stateAt(at, random, into) {
      cpSync(base, into, { recursive: true });
      const fate = random.pick<Fate>(['none', 'some', 'torn']);
      const durable = Math.max(-1, ...marks.filter(({ end }) => end <= at).map(({ upTo }) => upTo)) + 1;
      const happened = changes.filter(({ named }) => named.end <= at).length;
      const kept = Math.max(durable, fate === 'none' ? durable : random.whole(durable, Math.max(durable, happened)));
      const present = new Map(first);
      const removed = new Set<string>();
      for (const { named, file } of changes.slice(0, kept)) {
        if (named.kind === 'mkdir') mkdirSync(join(into, named.path), { recursive: true, mode: 0o700 });
        if (named.kind === 'create' && file !== null) present.set(named.path, file);
        if (named.kind === 'create' || named.kind === 'mkdir') continue;
        if (named.kind !== 'link') {
          present.delete(named.path);
          removed.add(named.path);
        }
        if (named.kind !== 'unlink' && file !== null) {
          present.set(named.to, file);
          removed.delete(named.to);
        }
      }
      for (const path of removed) rmSync(join(into, path), { force: true });
      let [unsynced, missing] = [0, 0];
      for (const [path, file] of present) {
        const state = contentOf(file, at, fate, random);
        unsynced += state.unsynced;
        missing += state.missing;
        mkdirSync(dirname(join(into, path)), { recursive: true, mode: 0o700 });
        writeFileSync(join(into, path), state.content, { mode: 0o600 });
      }
      return { unsynced, missing, names: happened - kept };
    },
  };
}
