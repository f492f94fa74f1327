/**
 * Where the windows of end users lie: a table in the memory that all relay threads share, found by a hash of key and name. It
 * holds as many as it has slots; who has asked least lately gives way, unless a request of his is open.
 */
import { budgetUnits } from '../../contract/budgets.ts';
import { holderCells, holderStripe, type Memory } from './shared-memory.ts';

/** Cells of a block: 2,048 slots, 64 to a way, so that all ways of a set are under one lock. */
export const blockCells = 1 << 16;
export const blocks = 24;
const setsInRow = 64;
const ways = 16;
const rows = blockCells / holderCells / setsInRow / ways;
const setsInBlock = rows * setsInRow;
/** Cells behind those of a holder. */
const Mark = { low: 28, high: 29, usedAt: 30 } as const;

/** How the blocks are named among the slots of holders. */
const blockName = 'end_user block ';
export const blockKey = (at: number): string => `${blockName}${at}`;
export const isBlockKey = (key: string): boolean => key.startsWith(blockName);

/** First cells of all blocks, 0 where one is not known. @param slotOf by its key. */
export const blockSlots = (slotOf: (key: string) => number): readonly number[] =>
  Array.from({ length: blocks }, (_, at) => slotOf(blockKey(at)));

/** Slots of a block that were ever given out. */
export function* slotsInUse(memory: Memory, block: number): Generator<number> {
  for (let slot = block; slot < block + blockCells; slot += holderCells)
    if (memory.get(slot + Mark.usedAt) > 0) yield slot;
}

export class EndUserTable {
  /** @param first cells of the blocks, in their order. */
  constructor(
    private readonly memory: Memory,
    private readonly first: readonly number[],
  ) {}

  has(slot: number): boolean {
    return this.first.some((cell) => slot >= cell && slot < cell + blockCells);
  }

  /** The slot of an end user that has one; 0 = he has none. */
  known(tokenId: number, name: string): number {
    const { low, high, slotOf } = this.placeOf(tokenId, name);
    for (let way = 0; way < ways; way++) if (this.isOf(slotOf(way), low, high)) return slotOf(way);
    return 0;
  }

  /**
   * The slot of an end user. Where all that might give way have open requests, it is another one's: both are bounded together.
   * @param now epoch seconds.
   */
  find(tokenId: number, name: string, now: number): number {
    const { memory } = this;
    const { low, high, slotOf } = this.placeOf(tokenId, name);
    const stripe = holderStripe(slotOf(0));
    memory.lock(stripe);
    try {
      let oldest = 0;
      let oldestAt = Number.POSITIVE_INFINITY;
      for (let way = 0; way < ways; way++) {
        const slot = slotOf(way);
        const usedAt = memory.get(slot + Mark.usedAt);
        if (this.isOf(slot, low, high)) {
          memory.put(slot + Mark.usedAt, now);
          return slot;
        }
        if (usedAt < oldestAt && !this.isHeld(slot)) {
          oldest = slot;
          oldestAt = usedAt;
        }
      }
      if (oldest === 0) return slotOf(0);
      memory.note(oldest, holderCells);
      memory.cells(oldest, holderCells).fill(0);
      memory.put(oldest + Mark.low, low);
      memory.put(oldest + Mark.high, high);
      memory.put(oldest + Mark.usedAt, now);
      return oldest;
    } finally {
      memory.release(stripe);
    }
  }

  /** Where he may be: in one of as many slots as there are ways. */
  private placeOf(tokenId: number, name: string) {
    const hash = Bun.hash(`${tokenId} ${name}`) as bigint;
    const low = Number(hash & 0xffff_ffffn);
    const high = Number(hash >> 32n);
    const set = (low ^ high) >>> 0;
    const block = this.first[Math.floor(set / setsInBlock) % this.first.length] ?? 0;
    const inBlock = set % setsInBlock;
    const row = Math.floor(inBlock / setsInRow);
    const slotOf = (way: number) => block + ((row * ways + way) * setsInRow + (inBlock % setsInRow)) * holderCells;
    return { low, high, slotOf };
  }

  private isOf(slot: number, low: number, high: number): boolean {
    const { memory } = this;
    const isUsed = memory.get(slot + Mark.usedAt) > 0;
    return isUsed && memory.get(slot + Mark.low) === low && memory.get(slot + Mark.high) === high;
  }

  private isHeld(slot: number): boolean {
    const { memory } = this;
    // What open requests hold is what a holder's slot begins with.
    for (let unit = 0; unit < budgetUnits.length; unit++) if (memory.get(slot + unit) > 0) return true;
    return false;
  }
}
