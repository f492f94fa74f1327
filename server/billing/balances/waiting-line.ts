/**
 * Requests that wait in line for the same money, whichever thread they are in: two cells of the shared memory. Each function but
 * `isFirstOf` and `isEmptyLine` is called under the lock that the cells belong to.
 */
import type { Memory } from './shared-memory.ts';

/** Bits of a number. */
const maxInLine = 32;
/** Nobody is the first for longer; a wait is shorter. Some three seconds. */
const unitMs = 16;
const maxFirstUnits = 187;
const units = 2 ** 21;
const bitsBase = 2 ** maxInLine;

/** Ticket of the first; behind it those that wait as bits (bit 0 is the first), and above these since when it is, modulo nine hours. */
export interface LineCells {
  readonly first: number;
  readonly waits: number;
}

const bitsOf = (waits: number): number => waits % bitsBase;
const unitOf = (now: number): number => Math.floor(now / unitMs) % units;

/** A hint without the lock. @param cells of the slot. */
export const isEmptyLine = (cells: Float64Array, line: LineCells): boolean => bitsOf(cells[line.waits] ?? 0) === 0;

/** Nobody who came before still waits. A hint without the lock. */
export const isFirstOf = (cells: Float64Array, line: LineCells, ticket: number): boolean =>
  ticket <= (cells[line.first] ?? 0);

/** @param slot where the cells begin in the memory. @param now epoch milliseconds. @returns its ticket; null = too many wait. */
export function joinLine(
  memory: Memory,
  slot: number,
  cells: Float64Array,
  line: LineCells,
  now: number,
): number | null {
  const first = cells[line.first] ?? 0;
  const waits = cells[line.waits] ?? 0;
  const bits = bitsOf(waits);
  const unit = unitOf(now);
  const age = (unit - Math.floor(waits / bitsBase) + units) % units;
  // The thread of the first one has ended without leaving: those behind it have waited for as long.
  const isLeft = bits !== 0 && age >= maxFirstUnits;
  const length = 32 - Math.clz32(bits);
  if (length === maxInLine && !isLeft) return null;
  if (bits === 0 || isLeft) {
    memory.put(slot + line.first, first + maxInLine);
    memory.put(slot + line.waits, unit * bitsBase + 1);
    return first + maxInLine;
  }
  memory.put(slot + line.waits, waits + 2 ** length);
  return first + length;
}

/** @param now epoch milliseconds. */
export function leaveLine(
  memory: Memory,
  slot: number,
  cells: Float64Array,
  line: LineCells,
  ticket: number,
  now: number,
): void {
  const first = cells[line.first] ?? 0;
  const waits = cells[line.waits] ?? 0;
  const bits = bitsOf(waits);
  const bit = 2 ** (ticket - first);
  if (ticket < first || Math.floor(bits / bit) % 2 === 0) return;
  const left = bits - bit;
  // The next ticket that is still there is the first one.
  const passed = left === 0 ? 0 : 31 - Math.clz32(left & -left);
  if (passed > 0) memory.put(slot + line.first, first + passed);
  memory.put(slot + line.waits, passed === 0 ? waits - bit : unitOf(now) * bitsBase + left / 2 ** passed);
}
