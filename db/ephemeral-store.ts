/** What lives for minutes and every node has to know: codes that were mailed, what was used up, counts of tries. */

/** What it is for, and whom or what it is about. */
export interface MemoPlace {
  readonly purpose: string;
  readonly key: string;
}

/** One of several at a place. */
export interface Memo {
  /** Who has it: there is one of each holder. */
  readonly holder: string;
  readonly value: string;
  /** Epoch milliseconds. */
  readonly until: number;
}

export interface MemoQueue {
  /** Tries that cost nothing. */
  readonly free: number;
  /** Milliseconds between the tries after those; the last holds for all that follow. */
  readonly apartMs: readonly number[];
  /** Whoever would have to wait longer is turned away. */
  readonly longestMs: number;
  /** Without a try for so long, an origin starts anew. */
  readonly windowMs: number;
}

/** Each method is one step: two nodes that come at the same moment come one after the other. */
export interface EphemeralStore {
  /** Replaces that of the same holder. @param most the oldest go when there are more. */
  put(place: MemoPlace, memo: Memo, most: number): Promise<void>;
  /** @param value that of any holder; absent = whatever there is. */
  has(place: MemoPlace, value?: string): Promise<boolean>;
  /** Uses up the one with this value. @returns false when it is not there, or somebody was faster. */
  take(place: MemoPlace, value: string): Promise<boolean>;
  /** Makes the place the caller's. @param until epoch milliseconds. @returns false when it is somebody's. */
  claim(place: MemoPlace, until: number): Promise<boolean>;
  /** Everything at the place. */
  drop(place: MemoPlace): Promise<void>;
  /** One more in a window that begins with the first. @returns how many these are, null when there were `most` before. */
  count(place: MemoPlace, windowMs: number, most: number): Promise<number | null>;
  /** It does not count after all. */
  uncount(place: MemoPlace): Promise<void>;
  counted(place: MemoPlace): Promise<number>;
  /** Takes the next place of whoever stands here. @returns milliseconds until it is due, null when turned away. */
  queue(place: MemoPlace, queue: MemoQueue): Promise<number | null>;
  /** Throws away what is over. */
  sweep(): Promise<void>;
}
