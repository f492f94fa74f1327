/** Values that live for minutes and that every node has to know: codes that were mailed, tokens that were used up, counts of tries. */

/** Key of an entry: its purpose, and whom or what it is about. */
export interface EntryKey {
  readonly purpose: string;
  readonly key: string;
}

/** One of several at a place. */
export interface Entry {
  /** Who has it: there is one of each holder. */
  readonly holder: string;
  readonly value: string;
  /** Epoch milliseconds. */
  readonly until: number;
}

export interface EntryQueue {
  /** Tries that cost nothing. */
  readonly free: number;
  /** Milliseconds between the tries after those; the last holds for all that follow. */
  readonly delaysMs: readonly number[];
  /** A caller that would have to wait longer is turned away. */
  readonly maxMs: number;
  /** After this long without a try, the count of an origin starts again at zero. */
  readonly windowMs: number;
}

/** Each method is one step: two nodes that come at the same moment come one after the other. */
export interface EphemeralStore {
  /** Replaces that of the same holder. @param max the oldest go when there are more. */
  put(place: EntryKey, entry: Entry, max: number): Promise<void>;
  /** @param value that of any holder; absent = whatever there is. */
  has(place: EntryKey, value?: string): Promise<boolean>;
  /** Uses up the entry with this value. @returns false when it is not there, or another caller was faster. */
  take(place: EntryKey, value: string): Promise<boolean>;
  /** Makes the place the caller's. @param until epoch milliseconds. @returns false when another caller has it. */
  claim(place: EntryKey, until: number): Promise<boolean>;
  /** Replaces what is read there. @param text sealed by the caller where it tells anything. @param until epoch milliseconds. */
  write(place: EntryKey, text: string, until: number): Promise<void>;
  /** @returns the value written there; null = there is none, or it has expired. */
  read(place: EntryKey): Promise<string | null>;
  /** Everything at the place. */
  drop(place: EntryKey): Promise<void>;
  /** One more in a window that begins with the first. @returns how many these are, null when there were `max` before. */
  count(place: EntryKey, windowMs: number, max: number): Promise<number | null>;
  /** Takes back what was counted. */
  uncount(place: EntryKey): Promise<void>;
  counted(place: EntryKey): Promise<number>;
  /** Takes the next place in the queue of this origin. @returns milliseconds until its turn, null when turned away. */
  queue(place: EntryKey, queue: EntryQueue): Promise<number | null>;
  /** Throws away what is over. */
  cleanup(): Promise<void>;
}
