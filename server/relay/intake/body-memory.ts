/** Memory that bodies under way take in all relay threads together: as much of the process's as leaves room for all else. */

/** Where a request says how much memory its body takes. */
export interface BodyHolder {
  /** @param bytes of memory, in the place of what it said before. @throws AppError overloaded where there is no room for so much. */
  holdMemory(bytes: number): void;
}

/**
 * A JSON body is there as bytes, as text, as members, as the words that are counted and as what goes upstream; a form as bytes,
 * and as what goes upstream. As `node scripts/launch.mjs lab/prove/prove large-bodies` measures it.
 */
export const memoryPerByte = { json: 5, form: 3 } as const;

/** Bodies up to this size, of which the listener itself knows the length, are not counted. Bytes. */
export const smallBody = 64 * 1024;

/** Of the memory of the process: the rest is for itself, for responses, and for what is not collected yet. */
const share = 0.4;
/** One user leaves so much of it to the others. */
const userShare = 0.75;

const unit = 1024;
const maxThreads = 64;

/** One cell for each relay thread. */
export const newBodyCells = (): SharedArrayBuffer => new SharedArrayBuffer(maxThreads * Int32Array.BYTES_PER_ELEMENT);

export class BodyMemory {
  /** The largest JSON body that fits in when nothing else is there, in bytes. */
  readonly largest: number;
  private readonly cells: Int32Array;
  private readonly limit: number;
  private readonly users = new Map<number, number>();

  /** @param thread from 0; what a thread before it held is gone. @param processBytes that the process may use. */
  constructor(
    memory: SharedArrayBuffer,
    private readonly thread: number,
    processBytes: number,
  ) {
    this.cells = new Int32Array(memory);
    this.limit = Math.floor((processBytes * share) / unit);
    this.largest = Math.floor((this.limit * userShare * unit) / memoryPerByte.json);
    Atomics.store(this.cells, thread, 0);
  }

  /** @param from bytes that the request holds. @param to that it would hold. @returns false where there is no room for them. */
  change(userId: number, from: number, to: number): boolean {
    const more = Math.ceil(to / unit) - Math.ceil(from / unit);
    const own = (this.users.get(userId) ?? 0) + more;
    Atomics.add(this.cells, this.thread, more);
    if (more > 0 && !this.fits(own)) {
      Atomics.sub(this.cells, this.thread, more);
      return false;
    }
    if (own > 0) this.users.set(userId, own);
    else this.users.delete(userId);
    return true;
  }

  private fits(own: number): boolean {
    let all = 0;
    for (const held of this.cells) all += held;
    return all <= this.limit && own <= this.limit * userShare;
  }
}
