/**
 * What a file of the ledger's journal holds: a header, then one frame for each batch of settlements, in order of their
 * sequence numbers. A file is written over when everything in it is in the tables, so older frames may lie behind the newest.
 */
import { crc32 } from 'node:zlib';
import type { LedgerCommand } from '../../server/billing/ledger/commands.ts';

/** The first frame begins behind them. */
export const headerBytes = 512;
/** In front of the commands of a frame; as many zeros follow the newest frame, so that a broken one behind it is noticed. */
export const frameBytes = 32;

const fileMark = Buffer.from('GWJRNL\x00\x01', 'latin1');
/** None of these bytes occurs in UTF-8. */
const frameMark = Buffer.from([0xff, 0xf8, 0xfe, 0xf9]);
const idBytes = 32;

export interface FileHeader {
  /** `meta.journal_id` of the database. */
  readonly id: string;
  /** One more with each file that is begun. */
  readonly generation: number;
  /** Sequence number of its first command. */
  readonly first: number;
  /** Sequence number of the last command that was in the tables by then. */
  readonly applied: number;
  /** Closed in order: everything in it is in the tables. */
  readonly isClosed: boolean;
}

/** Where a frame lies among the bytes of its file. */
export interface FramePlace {
  readonly generation: number;
  /** Sequence number of its first command. */
  readonly first: number;
  readonly count: number;
  /** Where its text stands. */
  readonly start: number;
  readonly end: number;
}

const seedOf = (id: string): number => crc32(Buffer.from(id, 'latin1'));

export function encodeHeader({ id, generation, first, applied, isClosed }: FileHeader): Buffer {
  const bytes = Buffer.alloc(headerBytes);
  fileMark.copy(bytes);
  bytes.writeUIntLE(generation, 16, 6);
  bytes.writeUIntLE(first, 24, 6);
  bytes.writeUIntLE(applied, 32, 6);
  bytes.writeUInt8(isClosed ? 1 : 0, 40);
  bytes.write(id, 48, idBytes, 'latin1');
  bytes.writeUInt32LE(crc32(bytes.subarray(16)), 8);
  return bytes;
}

/** @returns null = there is none, or it is damaged. */
function decodeHeader(file: Buffer): FileHeader | null {
  if (file.length < headerBytes || !file.subarray(0, fileMark.length).equals(fileMark)) return null;
  if (file.readUInt32LE(8) !== crc32(file.subarray(16, headerBytes))) return null;
  return {
    id: file.toString('latin1', 48, 48 + idBytes),
    generation: file.readUIntLE(16, 6),
    first: file.readUIntLE(24, 6),
    applied: file.readUIntLE(32, 6),
    isClosed: file.readUInt8(40) === 1,
  };
}

/** A batch on its way to the file: the frame, and the zeros behind it. @param text one command a line. */
export function encodeFrame(
  id: string,
  frame: { readonly generation: number; readonly first: number; readonly count: number; readonly text: string },
): Buffer {
  const length = Buffer.byteLength(frame.text);
  const bytes = Buffer.allocUnsafe(length + 2 * frameBytes);
  bytes.fill(0, 0, frameBytes);
  bytes.fill(0, frameBytes + length);
  frameMark.copy(bytes, 4);
  bytes.writeUIntLE(frame.generation, 8, 6);
  bytes.writeUIntLE(frame.first, 16, 6);
  bytes.writeUInt32LE(frame.count, 24);
  bytes.writeUInt32LE(length, 28);
  bytes.writeUInt16LE(markOf(bytes, 0), 14);
  bytes.write(frame.text, frameBytes, 'utf8');
  bytes.writeUInt32LE(crc32(bytes.subarray(4, frameBytes + length), seedOf(id)), 0);
  return bytes;
}

/** Checks the numbers of a frame alone, so that a damaged length costs nothing. */
const markOf = (file: Buffer, at: number): number =>
  (crc32(file.subarray(at + 16, at + frameBytes), crc32(file.subarray(at + 4, at + 14))) & 0xffff) >>> 0;

/** @returns the frame at this place; null = there is no whole one. */
function frameAt(file: Buffer, at: number, seed: number): FramePlace | null {
  if (at + frameBytes > file.length || file.readUInt16LE(at + 14) !== markOf(file, at)) return null;
  const start = at + frameBytes;
  const end = start + file.readUInt32LE(at + 28);
  if (end > file.length || file.readUInt32LE(at) !== crc32(file.subarray(at + 4, end), seed)) return null;
  const count = file.readUInt32LE(at + 24);
  return { generation: file.readUIntLE(at + 8, 6), first: file.readUIntLE(at + 16, 6), count, start, end };
}

/** All whole frames, wherever they lie. */
function framesIn(file: Buffer, seed: number): FramePlace[] {
  const found: FramePlace[] = [];
  for (let at = headerBytes; ; ) {
    const mark = file.indexOf(frameMark, at + 4);
    if (mark < 0) return found;
    const frame = frameAt(file, mark - 4, seed);
    if (frame !== null) found.push(frame);
    at = frame?.end ?? mark - 3;
  }
}

export interface FoundCommands {
  readonly kind: 'found';
  /** Not in the tables, in order. */
  readonly commands: readonly LedgerCommand[];
  /** Sequence number of the first of them. */
  readonly first: number;
  /** Number of the last command that anything is known of. */
  readonly last: number;
  /** So many before `first` are neither here nor in the tables: the database is an older copy of itself. */
  readonly missing: number;
  /** Bytes behind the newest frame were being written, or are damaged: nobody can tell which. */
  readonly isTorn: boolean;
  /** Closed in order: everything was in the tables, and durable there. */
  readonly isClosed: boolean;
  /** Generation of the newest file; 0 = there is none. */
  readonly generation: number;
  /** The file of that generation, -1 = there is none. */
  readonly newest: number;
}

export type JournalContents =
  | FoundCommands
  /** The files belong to another database. */
  | { readonly kind: 'foreign' }
  /** Commands that were confirmed cannot be read. */
  | { readonly kind: 'damaged'; readonly from: number; readonly to: number };

interface FoundFrame extends FramePlace {
  readonly file: Buffer;
}

/**
 * @param files their bytes; empty = the file is not there. @param id of the database. @param applied sequence number of the
 * last command in its tables. A broken frame at the end was never confirmed, or cannot be told from one that was not; one
 * that has whole ones behind it was confirmed.
 */
export function readJournal(files: readonly Buffer[], id: string, applied: number): JournalContents {
  const quiet = readHeaders(files, id, applied);
  if (quiet !== null) return quiet;
  const own = ownHeaders(files, id);
  const seed = seedOf(id);
  const frames = files.flatMap((file) => framesIn(file, seed).map((frame): FoundFrame => ({ ...frame, file })));
  const newest = [...frames, ...own.flatMap((one) => one ?? [])].reduce(
    (most, one) => Math.max(most, one.generation),
    0,
  );
  const header = newestOf(own);
  const found = replay(
    frames.filter(({ first, count }) => count > 0 && first + count > applied + 1),
    beginnings(frames, own),
    applied,
    header?.applied ?? 0,
  );
  if (found.kind === 'damaged') return found;
  const file =
    newest === 0
      ? -1
      : files.findIndex(
          (one, at) =>
            own[at]?.generation === newest || frames.some((frame) => frame.file === one && frame.generation === newest),
        );
  const tail = frames
    .filter((frame) => frame.generation === newest)
    .reduce((end, frame) => Math.max(end, frame.end), headerBytes);
  const behind = files[file]?.subarray(tail, tail + frameBytes) ?? [];
  // A header that cannot be read may be that of the newest file.
  const isTorn = behind.some((byte) => byte !== 0) || files.some((one) => decodeHeader(one) === null && !isUnused(one));
  return { ...found, generation: newest, newest: file, isClosed: false, isTorn };
}

const ownHeaders = (files: readonly Buffer[], id: string): (FileHeader | null)[] =>
  files.map(decodeHeader).map((header) => (header?.id === id ? header : null));

/** @param heads the first `headerBytes` of each file, or more. @returns null = the frames have to be read. */
export function readHeaders(heads: readonly Buffer[], id: string, applied: number): JournalContents | null {
  const headers = heads.map(decodeHeader);
  const foreign = newestOf(headers.filter((header) => header?.id !== id));
  // One that was closed in order holds nothing that anybody needs.
  if (foreign !== null && !foreign.isClosed) return { kind: 'foreign' };
  const own = ownHeaders(heads, id);
  const header = newestOf(own);
  // A file whose header is damaged may be the newer one.
  const areKnown = heads.every((head, at) => headers[at] !== null || isUnused(head));
  if (header?.isClosed !== true || !areKnown) return null;
  const { generation, applied: known } = header;
  const missing = Math.max(0, known - applied);
  const last = applied + missing;
  return {
    ...{ kind: 'found', commands: [], first: last + 1, last, missing, isTorn: false },
    ...{ generation, newest: own.indexOf(header), isClosed: true },
  };
}

/** Everything in the files was in the tables when they were closed, or nothing was ever written to them. @param heads the first `headerBytes` of each. */
export function isQuiet(heads: readonly Buffer[]): boolean {
  const headers = heads.map(decodeHeader);
  const newest = newestOf(headers);
  return heads.every((head, at) => headers[at] !== null || isUnused(head)) && (newest === null || newest.isClosed);
}

/**
 * What can still be read of a journal that is damaged, or whose database is.
 * @param applied sequence number of the last command that the tables have, as far as anybody knows.
 */
export function survivors(files: readonly Buffer[], applied: number): LedgerCommand[] {
  const header = newestOf(files.map(decodeHeader));
  if (header === null) return [];
  const known = Math.max(applied, header.applied);
  return files
    .flatMap((file) => framesIn(file, seedOf(header.id)).map((frame): FoundFrame => ({ ...frame, file })))
    .filter(({ first, count }) => count > 0 && first + count > known + 1)
    .sort((one, other) => one.generation - other.generation || one.first - other.first)
    .flatMap(({ file, start, end, first }) => {
      const lines = file.toString('utf8', start, end).split('\n');
      return lines.slice(Math.max(0, known + 1 - first)).map((line) => JSON.parse(line) as LedgerCommand);
    });
}

/** The first number of each generation that is known of, the newest generation last. */
function beginnings(frames: readonly FramePlace[], headers: readonly (FileHeader | null)[]) {
  const firstOf = new Map<number, number>();
  for (const { generation, first } of [...frames, ...headers.flatMap((header) => header ?? [])])
    firstOf.set(generation, Math.min(first, firstOf.get(generation) ?? first));
  return [...firstOf]
    .map(([generation, first]) => ({ generation, first }))
    .sort((one, other) => one.generation - other.generation);
}

/** @param known sequence number up to which the tables were durable when the newest file was begun. */
function replay(
  frames: readonly FoundFrame[],
  generations: readonly { readonly generation: number; readonly first: number }[],
  applied: number,
  known: number,
):
  | Omit<FoundCommands, 'generation' | 'newest' | 'isTorn' | 'isClosed'>
  | (JournalContents & { readonly kind: 'damaged' }) {
  const commands: LedgerCommand[] = [];
  // A file is begun when all before it is in the tables, or in the file before: what neither holds is an older copy's lack.
  const oldest = generations.reduce((least, { first }) => Math.min(least, first), Number.POSITIVE_INFINITY);
  const first = Number.isFinite(oldest) ? Math.max(applied + 1, oldest) : applied + 1;
  // What the tables had when the newest file was begun is an older copy's lack; what came later was in the file before.
  const lacked = Math.max(applied, known) + 1;
  if (first > lacked) return { kind: 'damaged', from: lacked, to: first - 1 };
  let next = first;
  const sorted = [...frames].sort((one, other) => one.generation - other.generation || one.first - other.first);
  for (const frame of sorted) {
    // Where two generations hold the same number the later one counts: the earlier write had failed.
    const until = generations.reduce(
      (least, one) => (one.generation > frame.generation ? Math.min(least, one.first) : least),
      Number.POSITIVE_INFINITY,
    );
    if (frame.first >= until) continue;
    if (frame.first > next) return { kind: 'damaged', from: next, to: frame.first - 1 };
    const lines = frame.file.toString('utf8', frame.start, frame.end).split('\n');
    for (const line of lines.slice(next - frame.first, until - frame.first)) {
      commands.push(JSON.parse(line) as LedgerCommand);
      next++;
    }
  }
  // The numbers before the first one of a later file had been confirmed.
  const begun = generations.at(-1)?.first ?? 0;
  if (begun > next) return { kind: 'damaged', from: next, to: begun - 1 };
  return { kind: 'found', commands, first, last: next - 1, missing: first - applied - 1 };
}

const isUnused = (file: Buffer): boolean => file.subarray(0, headerBytes).every((byte) => byte === 0);

const newestOf = (headers: readonly (FileHeader | null)[]): FileHeader | null =>
  headers.reduce(
    (best, one) => (one !== null && (best === null || one.generation > best.generation) ? one : best),
    null,
  );
