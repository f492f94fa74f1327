/**
 * What each relay thread has begun and not ended, in shared memory, so that others can end it when the thread is gone: whose
 * it is, what it holds, what was delivered and what it was settled with. A row changes together with the totals it is part of.
 */
import { maxLabels } from '../../contract/token-fields.ts';
import type { Usage } from '../../protocols/canonical.ts';
import { emptyUsage } from '../../protocols/shared/usage.ts';
import type { Memory } from './shared-memory.ts';

/** Cells of a row. */
export const Row = {
  state: 0,
  held: 1,
  maxCost: 2,
  budgetHeld: 3,
  /** Amount of the settlement that was sent, -1 = nothing was used. */
  charged: 4,
  /** 1 = counted among those under way of its token. */
  tokenRuns: 5,
  /** Slots of the groups where it counts among those under way: the key's, and that of a virtual model's target. 0 = in none. */
  groupRuns: 6,
  targetRuns: 7,
  /** Slots of the user and the token. */
  user: 8,
  token: 9,
  userId: 10,
  tokenId: 11,
  channelId: 12,
  startedMs: 13,
  streams: 14,
  /** Tokens of the prompt as usual text has them. */
  promptTokens: 15,
  /** Frames that the client got; 0 = nothing. */
  delivered: 16,
  selfUse: 17,
  refUnits: 18,
  modelUnits: 19,
  groupUnits: 20,
  /** Epoch of the lease under which it was admitted. */
  epoch: 21,
  /** What earlier requests had left of a unit when it was charged, -1 = none was counted. */
  carried: 22,
  /** Slots of those whose budgets hold for it, as many as `maxHolders`; 0 = no more. */
  holders: 23,
  /** Tokens that budgets hold for it. */
  tokensHeld: 30,
  /** On all that it costs at the channel that serves; 0 = none has delivered. */
  channelFactor: 31,
  /** What was used by the last note of it. */
  usage: 32,
  ref: 48,
  model: 56,
  groupName: 96,
} as const;
/** The key, its end user, the user, the group, the labels and the site. */
export const maxHolders = 5 + maxLabels;
/** The state and the money of a row, at its beginning: they change together with totals, under a lock. */
export const moneyCells = Row.charged + 1;
const rowCells = 128;
type Bucket = { [K in keyof Usage]-?: Usage[K] extends number ? K : never }[keyof Usage];
const buckets = Object.entries(emptyUsage).flatMap(([name, value]) =>
  typeof value === 'number' ? [name as Bucket] : [],
);
const refUnits = (Row.model - Row.ref) * 4;
const modelUnits = (Row.groupName - Row.model) * 4;
const groupUnits = (rowCells - Row.groupName) * 4;
/** Rows that are allocated together. */
export const rowsTogether = 512;

export const RowState = {
  free: 0,
  /** It may hold something. */
  open: 1,
  /** Its reservation is released and its cost taken; its settlement is not known to be durable. */
  ended: 2,
} as const;

/** Known only after the request was read. */
export interface ReadInput {
  readonly model: string;
  /** Whose prices hold. */
  readonly group: string;
  readonly streams: boolean;
  readonly promptTokens: number;
  readonly selfUse: boolean;
  readonly epoch: number;
}

export interface Started extends ReadInput {
  readonly ref: string;
  readonly startedMs: number;
}

/** Whose money it is. */
export interface Owner {
  /** Slots. */
  readonly user: number;
  readonly token: number;
  readonly userId: number;
  readonly tokenId: number;
}

/** One row, used by one request after another. */
export class OpenRequest {
  /** @param row its first cell; 0 = no other thread has to end the request. @param cells those of the row. */
  constructor(
    private readonly memory: Pick<Memory, 'write'>,
    readonly row: number,
    readonly cells: Float64Array,
  ) {}

  begin(owner: Owner, started: Started): void {
    const { memory, row, cells } = this;
    cells.fill(0, Row.held, Row.ref);
    cells[Row.user] = owner.user;
    cells[Row.token] = owner.token;
    cells[Row.userId] = owner.userId;
    cells[Row.tokenId] = owner.tokenId;
    cells[Row.startedMs] = started.startedMs;
    cells[Row.refUnits] = memory.write(row + Row.ref, started.ref, refUnits);
    this.read(started);
    cells[Row.state] = RowState.open;
  }

  /** For a row that began before the request was read. */
  read({ model, group, streams, promptTokens, selfUse, epoch }: ReadInput): void {
    const { cells, row } = this;
    cells[Row.selfUse] = selfUse ? 1 : 0;
    cells[Row.epoch] = epoch;
    cells[Row.streams] = streams ? 1 : 0;
    cells[Row.promptTokens] = promptTokens;
    if (row === 0) return;
    cells[Row.modelUnits] = this.memory.write(row + Row.model, model, modelUnits);
    cells[Row.groupUnits] = this.memory.write(row + Row.groupName, group, groupUnits);
  }

  /** The channel whose response is delivered. @param factor on what its requests cost: the channel may be gone when it is asked for. */
  servedBy(channelId: number, factor: number): void {
    this.cells[Row.channelId] = channelId;
    this.cells[Row.channelFactor] = factor;
  }

  /** @param frames that went out so far; no lock, one store. */
  delivered(frames: number): void {
    this.cells[Row.delivered] = frames;
  }

  /** What it has used so far. */
  used(usage: Usage): void {
    let cell = Row.usage;
    for (const bucket of buckets) this.cells[cell++] = usage[bucket];
  }
}

/** For requests that no other thread has to end. */
export const noRow = new OpenRequest({ write: () => 0 }, 0, new Float64Array(rowCells));

export interface OpenRequests {
  /** @returns its row; null = there is none left. */
  begin(owner: Owner, started: Started): OpenRequest | null;
  /** Nothing is left to be done about it. */
  over(request: OpenRequest): void;
  /** More rows for this thread. @param first cell of `rowsTogether` rows. */
  add(first: number): void;
  /** Rows that are not in use. */
  free(): number;
}

/** Where the only relay is in the main thread, no thread is left to end what it had open: the next start does. */
export const unreported: OpenRequests = {
  begin: () => noRow,
  over: () => undefined,
  add: () => undefined,
  free: () => 0,
};

/** One thread's rows. */
export function createOpenRequests(memory: Memory): OpenRequests {
  const free: OpenRequest[] = [];
  const add = (first: number) => {
    for (let index = rowsTogether - 1; index >= 0; index--) free.push(openRequestAt(memory, first + index * rowCells));
  };

  return {
    begin(owner, started) {
      if (free.length === 0 && memory.thread === 0) add(allocateRows(memory));
      const request = free.pop();
      if (request === undefined) return null;
      request.begin(owner, started);
      return request;
    },
    over(request) {
      if (request.row === 0 || request.cells[Row.state] === RowState.free) return;
      request.cells[Row.state] = RowState.free;
      free.push(request);
    },
    add,
    free: () => free.length,
  };
}

export const allocateRows = (memory: Memory): number => memory.allocate(rowsTogether * rowCells);

/** The row of a dead thread. */
export const openRequestAt = (memory: Memory, row: number): OpenRequest =>
  new OpenRequest(memory, row, memory.cells(row, rowCells));

/** Rows of one region, whichever thread it was assigned to. */
export function* rowsIn(first: number): Iterable<number> {
  for (let index = 0; index < rowsTogether; index++) yield first + index * rowCells;
}

/** The usage that was reported last. */
export const usageIn = (memory: Memory, row: number): Usage => ({
  ...emptyUsage,
  ...Object.fromEntries(buckets.map((bucket, index) => [bucket, memory.get(row + Row.usage + index)])),
});
