/** The durable point of the ledger on a single machine: batches of settlements in two files in turn, written in place. */
import type { LedgerCommand } from '../../server/billing/ledger/commands.ts';
import {
  encodeFrame,
  encodeHeader,
  type FoundCommands,
  frameBytes,
  headerBytes,
  type JournalContents,
  readHeaders,
  readJournal,
} from './format.ts';

/** A file of a fixed size, filled with zeros when it was made. */
export interface JournalFile {
  readonly size: number;
  /** @param bytes absent = all of it. */
  read(bytes?: number): Buffer;
  /** In place. @throws the disk's error; then nobody knows what of it is there. */
  write(bytes: Buffer, at: number): void;
  /** @throws the disk's error; then nobody knows what of the last writes is there. */
  sync(): void;
  close(): void;
}

/** The other file cannot be written over yet. */
export class JournalFull extends Error {
  /** Sequence number up to which the tables have to be durable first. */
  readonly until: number;

  constructor(until: number) {
    super('the journal is full');
    this.until = until;
  }
}

interface Place {
  readonly file: number;
  readonly generation: number;
  /** Where the next frame goes. */
  at: number;
}

/** @throws what `read` throws. */
export function contentsOf(files: readonly JournalFile[], id: string, applied: number): JournalContents {
  // Most were closed in order: then their headers say all.
  const heads = files.map((file) => file.read(headerBytes));
  return (
    readHeaders(heads, id, applied) ??
    readJournal(
      files.map((file) => file.read()),
      id,
      applied,
    )
  );
}

export class Journal {
  readonly #files: readonly [JournalFile, JournalFile];
  readonly #id: string;
  /** Where frames go; null = the next one begins a file. */
  #place: Place | null = null;
  /** The file that is begun next. */
  #other: number;
  #generation: number;
  #last: number;
  /** Sequence number of the last command in each file, whether it was confirmed or not. */
  readonly #lastIn: [number, number];

  /** @param found what the files hold; all of it is in the tables, and durable there. */
  constructor(files: readonly [JournalFile, JournalFile], id: string, found: FoundCommands) {
    this.#files = files;
    this.#id = id;
    this.#other = found.newest === 0 ? 1 : 0;
    this.#generation = found.generation;
    this.#last = found.last;
    this.#lastIn = [0, 0];
  }

  /** Sequence number of the last command that was confirmed. */
  get last(): number {
    return this.#last;
  }

  /** Whether a batch of so many bytes has room in an empty file. */
  fits(bytes: number): boolean {
    return headerBytes + bytes + 2 * frameBytes <= Math.min(this.#files[0].size, this.#files[1].size);
  }

  /**
   * Durable when it returns.
   * @param text one command a line. @param durable sequence number up to which the tables are durable.
   * @returns the sequence number of the last one. @throws JournalFull; the disk's error: then the same commands come next.
   */
  append(text: string, count: number, durable: number): number {
    const first = this.#last + 1;
    const place = this.#place;
    if (place !== null) {
      const frame = encodeFrame(this.#id, { generation: place.generation, first, count, text });
      if (place.at + frame.length <= this.#files[place.file as 0 | 1].size) {
        this.#writeFrame(place, frame, first + count - 1);
        return this.#last;
      }
    }
    this.#begin(text, count, durable);
    return this.#last;
  }

  /** Everything in the files is in the tables, and durable there: the next opening reads nothing. */
  settled(): void {
    const file = this.#place?.file ?? 1 - this.#other;
    if (this.#generation === 0) return;
    const header = {
      id: this.#id,
      generation: this.#generation,
      first: this.#last + 1,
      applied: this.#last,
      isClosed: true,
    };
    this.#place = null;
    this.#other = 1 - file;
    const target = this.#files[file as 0 | 1];
    target.write(encodeHeader(header), 0);
    target.sync();
  }

  close(): void {
    for (const file of this.#files) file.close();
  }

  #writeFrame(place: Place, frame: Buffer, last: number): void {
    this.#lastIn[place.file as 0 | 1] = last;
    // A failed write is given up: the same numbers go to a file of the next generation.
    this.#place = null;
    this.#other = 1 - place.file;
    const file = this.#files[place.file as 0 | 1];
    file.write(frame, place.at);
    file.sync();
    place.at += frame.length - frameBytes;
    this.#place = place;
    this.#last = last;
  }

  #begin(text: string, count: number, durable: number): void {
    const index = this.#place === null ? this.#other : 1 - this.#place.file;
    if (this.#lastIn[index as 0 | 1] > durable) throw new JournalFull(this.#lastIn[index as 0 | 1]);
    const first = this.#last + 1;
    const generation = this.#generation + 1;
    const header = encodeHeader({ id: this.#id, generation, first, applied: durable, isClosed: false });
    const frame = encodeFrame(this.#id, { generation, first, count, text });
    const file = this.#files[index as 0 | 1];
    // A failed attempt is written over by the next one: nothing else lies in this file that is needed.
    this.#generation = generation;
    this.#place = null;
    this.#other = index;
    file.write(Buffer.concat([header, frame]), 0);
    file.sync();
    this.#lastIn[index as 0 | 1] = first + count - 1;
    this.#place = { file: index, generation, at: headerBytes + frame.length - frameBytes };
    this.#last = first + count - 1;
  }
}

/** One command a line. */
export const linesOf = (commands: readonly LedgerCommand[]): string =>
  commands.map((command) => JSON.stringify(command)).join('\n');
