/**
 * What each relay thread has begun and not ended, in shared memory, so that others can end it when the thread is gone: whose
 * it is, what it holds, what was delivered and what it was settled with. A row changes together with the totals it is part of.
 */
import type { Usage } from '../../protocols/canonical.ts';
import { emptyUsage } from '../../protocols/shared/usage.ts';
import type { Memory } from './shared-memory.ts';

/** Cells of a row. */
export const Row = {
  state: 0,
  user: 1,
  token: 2,
  group: 3,
  held: 4,
  most: 5,
  house: 6,
  /** Counted among those under way of its token and its group. */
  tokenRuns: 7,
  groupRuns: 8,
  budgetHeld: 9,
  userId: 10,
  tokenId: 11,
  channelId: 12,
  startedMs: 13,
  streams: 14,
  /** Tokens of the prompt as usual text has them. */
  promptTokens: 15,
  /** Frames that the client got; 0 = nothing. */
  delivered: 16,
  /** Of the settlement that was sent, -1 = nothing was used. */
  charged: 17,
  refUnits: 18,
  modelUnits: 19,
  groupUnits: 20,
  /** Number of the lease under which it was let in. */
  epoch: 21,
  /** What was used by the last note of it. */
  usage: 28,
  ref: 44,
  model: 52,
  groupName: 92,
} as const;
const rowCells = 128;
type Bucket = { [K in keyof Usage]-?: Usage[K] extends number ? K : never }[keyof Usage];
const buckets = Object.entries(emptyUsage).flatMap(([name, value]) =>
  typeof value === 'number' ? [name as Bucket] : [],
);
const refUnits = (Row.model - Row.ref) * 4;
const modelUnits = (Row.groupName - Row.model) * 4;
const groupUnits = (rowCells - Row.groupName) * 4;
/** Rows that are given out together. */
export const rowsTogether = 512;

export const RowState = {
  free: 0,
  /** It may hold something. */
  open: 1,
  /** What it held is given back and what it cost is taken; its settlement is not known to be durable. */
  ended: 2,
} as const;

export interface Begun {
  readonly ref: string;
  readonly model: string;
  readonly group: string;
  readonly user: number;
  readonly token: number;
  readonly userId: number;
  readonly tokenId: number;
  readonly startedMs: number;
  readonly streams: boolean;
  readonly promptTokens: number;
  readonly house: boolean;
  readonly epoch: number;
}

/** What is only known when the request was read. */
export type ReadFacts = Pick<Begun, 'model' | 'streams' | 'promptTokens' | 'house' | 'epoch'>;

export interface OpenRequests {
  /** @returns its row; 0 = nobody needs one, null = there is none left. */
  begin(begun: Begun): number | null;
  /** Of a row that began before the request was read. */
  read(row: number, facts: ReadFacts): void;
  /** Nothing is left to be done about it. */
  over(row: number): void;
  /** The channel whose response goes out. */
  servedBy(row: number, channelId: number): void;
  /** @param frames that went out so far. */
  delivered(row: number, frames: number): void;
  /** What it has used so far. */
  used(row: number, usage: Usage): void;
  /** More rows for this thread. @param first cell of `rowsTogether` rows. */
  add(first: number): void;
  /** Rows that are not in use. */
  free(): number;
}

/** Where the only relay is in the main thread, nobody is left to end what it had open: the next start does. */
export const untold: OpenRequests = {
  begin: () => 0,
  read: () => undefined,
  over: () => undefined,
  servedBy: () => undefined,
  delivered: () => undefined,
  used: () => undefined,
  add: () => undefined,
  free: () => 0,
};

/** One thread's rows. */
export function createOpenRequests(memory: Memory): OpenRequests {
  const free: number[] = [];
  const add = (first: number) => {
    for (let index = rowsTogether - 1; index >= 0; index--) free.push(first + index * rowCells);
  };
  const next = (): number => {
    const row = free.pop();
    if (row !== undefined || memory.thread !== 0) return row ?? 0;
    add(allotRows(memory));
    return free.pop() ?? 0;
  };

  const { set, write } = memory;
  const read = (row: number, { model, streams, promptTokens, house, epoch }: ReadFacts) => {
    set(row + Row.house, house ? 1 : 0);
    set(row + Row.epoch, epoch);
    set(row + Row.streams, streams ? 1 : 0);
    set(row + Row.promptTokens, promptTokens);
    set(row + Row.modelUnits, write(row + Row.model, model, modelUnits));
  };

  return {
    begin(begun) {
      const row = next();
      if (row === 0) return null;
      memory.clear(row + Row.user, Row.ref - Row.user);
      set(row + Row.user, begun.user);
      set(row + Row.token, begun.token);
      set(row + Row.userId, begun.userId);
      set(row + Row.tokenId, begun.tokenId);
      set(row + Row.startedMs, begun.startedMs);
      set(row + Row.refUnits, write(row + Row.ref, begun.ref, refUnits));
      read(row, begun);
      set(row + Row.groupUnits, write(row + Row.groupName, begun.group, groupUnits));
      set(row + Row.state, RowState.open);
      return row;
    },
    read(row, facts) {
      if (row !== 0) read(row, facts);
    },
    over(row) {
      if (row === 0 || memory.get(row + Row.state) === RowState.free) return;
      memory.set(row + Row.state, RowState.free);
      free.push(row);
    },
    servedBy(row, channelId) {
      if (row !== 0) set(row + Row.channelId, channelId);
    },
    delivered(row, frames) {
      if (row !== 0) set(row + Row.delivered, frames);
    },
    used(row, usage) {
      if (row === 0) return;
      let cell = row + Row.usage;
      for (const bucket of buckets) memory.set(cell++, usage[bucket]);
    },
    add,
    free: () => free.length,
  };
}

export const allotRows = (memory: Memory): number => memory.allot(rowsTogether * rowCells);

/** Of one region, whoever it was given to. */
export function* rowsIn(first: number): Iterable<number> {
  for (let index = 0; index < rowsTogether; index++) yield first + index * rowCells;
}

/** What `used` said last. */
export const usageIn = (memory: Memory, row: number): Usage => ({
  ...emptyUsage,
  ...Object.fromEntries(buckets.map((bucket, index) => [bucket, memory.get(row + Row.usage + index)])),
});
