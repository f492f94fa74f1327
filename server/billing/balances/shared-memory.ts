/**
 * Numbers that all relay threads share: cells of 64 bits in chunks of shared memory, changed under striped locks.
 *
 * A thread can die at any instruction. What it changes under its locks is therefore noted with the value from before; the
 * notes are dropped when its last lock is released. The thread that recovers it restores the old values and breaks its locks, so that
 * every group of changes has happened as a whole or not at all. That is why totals need no sub-totals of each thread:
 * they always agree with the table of open requests, which says which part of them belonged to the dead thread.
 */

export interface Memory {
  readonly thread: number;
  get(cell: number): number;
  /** The cells themselves, for callers that read the same ones repeatedly. All cells of one `allocate` call are in one chunk. */
  cells(first: number, count: number): Float64Array;
  /** Before cells in a row are changed in place: only under the lock that they belong to, and only those that no thread changes without it. */
  note(first: number, count: number): void;
  /** Only under the lock that the cell belongs to. */
  put(cell: number, value: number): void;
  /** The same for a change of what is there. */
  add(cell: number, amount: number): void;
  /** For cells that no other thread changes: whole at once, and not undone. */
  set(cell: number, value: number): void;
  /** A few words, 16 bits a unit, four a cell. @returns units written. */
  write(cell: number, text: string, maxUnits: number): number;
  read(cell: number, units: number): string;
  /** Waits for the lock; one that the thread has already is counted. A user's lock comes first, those of holders of budgets in their order, then that of a group. */
  lock(stripe: number): void;
  /** @returns false when another thread held it for that long. Only where the thread holds no lock. */
  tryLock(stripe: number, ms: number): boolean;
  release(stripe: number): void;
  /** New cells, all zero, at a multiple of their number; powers of two. @returns 0 where the memory is another thread's to give out. */
  allocate(cells: number): number;
  /** Undoes what a dead thread had begun, and frees its locks. */
  recoverThread(thread: number): void;
  /** For another thread. */
  parts(): MemoryParts;
  /** Attaches chunks that were allocated after the thread began. */
  attachChunks(chunks: readonly SharedArrayBuffer[]): void;
}

export interface MemoryParts {
  readonly control: SharedArrayBuffer;
  readonly chunks: readonly SharedArrayBuffer[];
}

/** Threads besides the main one. */
export const maxThreads = 15;
const stripes = 64;
const holderStripes = 64;
const groupStripes = 64;
/** Users' locks, then those of holders of budgets, then those of groups. */
const groupsFrom = stripes + holderStripes;
const locksCount = groupsFrom + groupStripes;
const chunkBits = 16;
const chunkCells = 1 << chunkBits;
const offsets = chunkCells - 1;
const unitsPerCell = 4;
/** The largest group of changes clears six rings of 31 sums, a note for each. */
const maxNotes = 1024;
/** How many cells of notes are in use, then the notes: the values from before, the first of their cells, and how many they are. */
const notesSize = 1 + 3 * maxNotes;
const notesStart = (locksCount * Int32Array.BYTES_PER_ELEMENT) / Float64Array.BYTES_PER_ELEMENT;
const spins = 200;
const sleepMs = 1;

export const userStripe = (slot: number): number => (slot >>> 4) & (stripes - 1);
/** Cells of the slot of a holder of budgets. */
export const holderCells = 32;
/** Lock of a holder of budgets. */
export const holderStripe = (slot: number): number => stripes + ((slot >>> 5) & (holderStripes - 1));
export const groupStripe = (slot: number): number => groupsFrom + ((slot >>> 4) & (groupStripes - 1));

/**
 * Runs the step under the locks of a user and of a group: no other thread intervenes. It must not wait. The user's lock comes before that
 * of the group, which everybody takes in this order. @param group slot; 0 = none.
 */
export function lockedBoth<T>(memory: Memory, user: number, group: number, step: () => T): T {
  const first = userStripe(user);
  const second = groupStripe(group);
  memory.lock(first);
  if (group !== 0) memory.lock(second);
  try {
    return step();
  } finally {
    if (group !== 0) memory.release(second);
    memory.release(first);
  }
}

/** Memory of the caller's own, which it may give to others. */
export function createMemory(threads = 0): Memory {
  const cells = notesStart + (threads + 1) * notesSize;
  return memoryOf(new SharedArrayBuffer(cells * Float64Array.BYTES_PER_ELEMENT), [newChunk()], 0);
}

/** @param thread a number of its own, from 1. */
export const attachMemory = ({ control, chunks }: MemoryParts, thread: number): Memory =>
  memoryOf(control, chunks, thread);

const none = new Float64Array(0);
const newChunk = () => new SharedArrayBuffer(chunkCells * Float64Array.BYTES_PER_ELEMENT);

function memoryOf(control: SharedArrayBuffer, initial: readonly SharedArrayBuffer[], thread: number): Memory {
  const me = thread + 1;
  const locks = new Int32Array(control, 0, locksCount);
  const notesOf = (of: number) =>
    new Float64Array(control, (notesStart + of * notesSize) * Float64Array.BYTES_PER_ELEMENT, notesSize);
  const notes = notesOf(thread);
  const buffers: SharedArrayBuffer[] = [];
  const chunks: Float64Array[] = [];
  const words: Uint16Array[] = [];
  const depths = new Uint8Array(locksCount);
  let held = 0;
  // Cell 0 belongs to no account.
  let next = 16;

  const attachChunks = (more: readonly SharedArrayBuffer[]) => {
    for (const buffer of more) {
      buffers.push(buffer);
      chunks.push(new Float64Array(buffer));
      words.push(new Uint16Array(buffer));
    }
  };
  attachChunks(initial);

  return {
    thread,
    get: (cell) => chunks[cell >>> chunkBits]?.[cell & offsets] ?? 0,
    cells(first, count) {
      const at = first & offsets;
      return (chunks[first >>> chunkBits] ?? none).subarray(at, at + count);
    },
    note(first, count) {
      const chunk = chunks[first >>> chunkBits];
      if (chunk === undefined) return;
      const from = first & offsets;
      let at = (notes[0] ?? 0) + 1;
      for (let index = 0; index < count; index++) notes[at++] = chunk[from + index] ?? 0;
      notes[at] = first;
      notes[at + 1] = count;
      notes[0] = at + 1;
    },
    put(cell, value) {
      const chunk = chunks[cell >>> chunkBits];
      if (chunk === undefined) return;
      const at = (notes[0] ?? 0) + 1;
      notes[at] = chunk[cell & offsets] ?? 0;
      notes[at + 1] = cell;
      notes[at + 2] = 1;
      notes[0] = at + 2;
      chunk[cell & offsets] = value;
    },
    add(cell, amount) {
      const chunk = chunks[cell >>> chunkBits];
      if (chunk === undefined) return;
      const at = (notes[0] ?? 0) + 1;
      const before = chunk[cell & offsets] ?? 0;
      notes[at] = before;
      notes[at + 1] = cell;
      notes[at + 2] = 1;
      notes[0] = at + 2;
      chunk[cell & offsets] = before + amount;
    },
    set(cell, value) {
      const chunk = chunks[cell >>> chunkBits];
      if (chunk !== undefined) chunk[cell & offsets] = value;
    },
    write(cell, text, maxUnits) {
      const units = Math.min(text.length, maxUnits);
      const at = (cell & offsets) * unitsPerCell;
      const chunk = words[cell >>> chunkBits];
      if (chunk !== undefined) for (let index = 0; index < units; index++) chunk[at + index] = text.charCodeAt(index);
      return units;
    },
    read(cell, units) {
      const at = (cell & offsets) * unitsPerCell;
      return String.fromCharCode(...(words[cell >>> chunkBits]?.subarray(at, at + units) ?? []));
    },
    lock(stripe) {
      if ((depths[stripe] ?? 0) > 0) {
        depths[stripe] = (depths[stripe] ?? 0) + 1;
        return;
      }
      for (let attempts = 1; Atomics.compareExchange(locks, stripe, 0, me) !== 0; attempts++) {
        // Its owner may have been put to sleep, or be dead; then another thread is about to break the lock.
        if (attempts % spins === 0) Atomics.wait(locks, stripe, Atomics.load(locks, stripe) || -1, sleepMs);
      }
      depths[stripe] = 1;
      held++;
    },
    tryLock(stripe, ms) {
      for (let naps = 0; naps <= ms; naps++) {
        for (let attempts = 0; attempts < spins; attempts++) {
          if (Atomics.compareExchange(locks, stripe, 0, me) !== 0) continue;
          depths[stripe] = 1;
          held++;
          return true;
        }
        Atomics.wait(locks, stripe, Atomics.load(locks, stripe) || -1, sleepMs);
      }
      return false;
    },
    release(stripe) {
      const depth = (depths[stripe] ?? 1) - 1;
      depths[stripe] = depth;
      if (depth > 0) return;
      held--;
      if (held === 0) notes[0] = 0;
      Atomics.store(locks, stripe, 0);
    },
    allocate(cells) {
      if (thread !== 0) return 0;
      const first = Math.ceil(next / cells) * cells;
      next = first + cells;
      while (next > chunks.length * chunkCells) attachChunks([newChunk()]);
      return first;
    },
    recoverThread(dead) {
      const left = notesOf(dead);
      // The newest first: a cell may be noted twice.
      for (let at = left[0] ?? 0; at > 0; ) {
        const count = left[at] ?? 0;
        const first = left[at - 1] ?? 0;
        at -= count + 2;
        chunks[first >>> chunkBits]?.set(left.subarray(at + 1, at + 1 + count), first & offsets);
      }
      left[0] = 0;
      for (let stripe = 0; stripe < locksCount; stripe++) Atomics.compareExchange(locks, stripe, dead + 1, 0);
    },
    parts: () => ({ control, chunks: [...buffers] }),
    attachChunks,
  };
}
