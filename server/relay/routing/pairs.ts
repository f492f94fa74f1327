/**
 * What is remembered of models of channels, and of keys at them, while they fail: thousands of rows in columns, some 70 bytes each
 * where an object takes three times as much. The one that failed last is last.
 */

/** A row in its place: it is read and changed where it lies, and must not be kept once any row was taken out. */
export interface Pair {
  failures: number;
  ejections: number;
  ejectedUntil: number;
  probingUntil: number;
  wasTried: boolean;
  share: number;
  since: number;
  waitUntil: number;
}

const none = -1;
const firstRows = 64;
const hashMix = 0x9e3779b1;
const idBase = 2 ** 32;

export class Pairs {
  size = 0;
  /** Rows that there is room for, and those that were ever used. */
  private room = 0;
  private used = 0;
  private freed = none;
  private first = none;
  private last = none;
  /** Rows by the hash of their ids; 0 = empty, else the row + 1. */
  private index = new Int32Array(0);
  ids = new Float64Array(0);
  ejectedUntil = new Float64Array(0);
  probingUntil = new Float64Array(0);
  waitUntil = new Float64Array(0);
  since = new Float64Array(0);
  share = new Float64Array(0);
  failures = new Int32Array(0);
  ejections = new Int32Array(0);
  wasTried = new Uint8Array(0);
  /** In the order in which they failed; of a row that is free: the next free one. */
  private next = new Int32Array(0);
  private previous = new Int32Array(0);

  /** @param most rows: whoever adds one more takes one out before. */
  constructor(private readonly most: number) {}

  get(id: number): Pair | undefined {
    const row = this.rowOf(id);
    return row === none ? undefined : new Row(this, row);
  }

  /** The one that failed longest ago. */
  oldest(): number | undefined {
    return this.first === none ? undefined : this.ids[this.first];
  }

  /** Ids of the pairs in the order in which they failed. */
  order(): Float64Array {
    const ids = new Float64Array(this.size);
    for (let row = this.first, at = 0; row !== none; row = this.next[row] ?? none) ids[at++] = this.ids[row] ?? 0;
    return ids;
  }

  /** It becomes the last. @returns undefined = there is none. */
  moveToEnd(id: number): Pair | undefined {
    const row = this.rowOf(id);
    if (row === none) return undefined;
    if (row !== this.last) {
      this.unlink(row);
      this.append(row);
    }
    return new Row(this, row);
  }

  /** A new row, the last one, with nothing in it. */
  add(id: number): Pair {
    if (this.freed === none && this.used === this.room) this.grow();
    let row = this.freed;
    if (row === none) row = this.used++;
    else this.freed = this.next[row] ?? none;
    this.ids[row] = id;
    this.ejectedUntil[row] = 0;
    this.probingUntil[row] = 0;
    this.waitUntil[row] = 0;
    this.since[row] = 0;
    this.share[row] = 0;
    this.failures[row] = 0;
    this.ejections[row] = 0;
    this.wasTried[row] = 0;
    this.append(row);
    this.insert(row);
    this.size++;
    return new Row(this, row);
  }

  /** @returns whether there was one. */
  delete(id: number): boolean {
    const row = this.rowOf(id);
    if (row === none) return false;
    this.take(row);
    this.unlink(row);
    this.next[row] = this.freed;
    this.freed = row;
    this.size--;
    return true;
  }

  // --- the order

  private append(row: number): void {
    this.previous[row] = this.last;
    this.next[row] = none;
    if (this.last === none) this.first = row;
    else this.next[this.last] = row;
    this.last = row;
  }

  private unlink(row: number): void {
    const [before = none, after = none] = [this.previous[row], this.next[row]];
    if (before === none) this.first = after;
    else this.next[before] = after;
    if (after === none) this.last = before;
    else this.previous[after] = before;
  }

  // --- the index: open addressing, the next place where one is taken

  private placeOf(id: number): number {
    const channel = Math.floor(id / idBase);
    const mixed = Math.imul((id >>> 0) ^ Math.imul(channel, hashMix), hashMix);
    return (mixed ^ (mixed >>> 15)) & (this.index.length - 1);
  }

  private rowOf(id: number): number {
    if (this.size === 0) return none;
    const { index } = this;
    const mask = index.length - 1;
    for (let place = this.placeOf(id); ; place = (place + 1) & mask) {
      const row = (index[place] ?? 0) - 1;
      if (row === none || this.ids[row] === id) return row;
    }
  }

  private insert(row: number): void {
    const { index } = this;
    const mask = index.length - 1;
    let place = this.placeOf(this.ids[row] ?? 0);
    while (index[place] !== 0) place = (place + 1) & mask;
    index[place] = row + 1;
  }

  /** Those behind it move up, so that no search ends at its place. */
  private take(row: number): void {
    const { index } = this;
    const mask = index.length - 1;
    let empty = this.placeOf(this.ids[row] ?? 0);
    while (index[empty] !== row + 1) empty = (empty + 1) & mask;
    for (let place = (empty + 1) & mask; index[place] !== 0; place = (place + 1) & mask) {
      const home = this.placeOf(this.ids[(index[place] ?? 0) - 1] ?? 0);
      // It lies behind its home, and the empty place is between the two.
      if (((place - home) & mask) < ((place - empty) & mask)) continue;
      index[empty] = index[place] ?? 0;
      empty = place;
    }
    index[empty] = 0;
  }

  private grow(): void {
    const room = Math.min(Math.max(this.room * 2, firstRows), this.most);
    this.room = room;
    for (const name of ['ids', 'ejectedUntil', 'probingUntil', 'waitUntil', 'since', 'share'] as const) {
      const wider = new Float64Array(room);
      wider.set(this[name]);
      this[name] = wider;
    }
    for (const name of ['failures', 'ejections', 'next', 'previous'] as const) {
      const wider = new Int32Array(room);
      wider.set(this[name]);
      this[name] = wider;
    }
    const tried = new Uint8Array(room);
    tried.set(this.wasTried);
    this.wasTried = tried;
    // No more than two thirds full.
    this.index = new Int32Array(2 ** Math.ceil(Math.log2(room * 1.5)));
    for (let row = this.first; row !== none; row = this.next[row] ?? none) this.insert(row);
  }
}

class Row implements Pair {
  constructor(
    private readonly pairs: Pairs,
    private readonly row: number,
  ) {}

  get failures(): number {
    return this.pairs.failures[this.row] ?? 0;
  }
  set failures(count: number) {
    this.pairs.failures[this.row] = count;
  }
  get ejections(): number {
    return this.pairs.ejections[this.row] ?? 0;
  }
  set ejections(count: number) {
    this.pairs.ejections[this.row] = count;
  }
  get ejectedUntil(): number {
    return this.pairs.ejectedUntil[this.row] ?? 0;
  }
  set ejectedUntil(at: number) {
    this.pairs.ejectedUntil[this.row] = at;
  }
  get probingUntil(): number {
    return this.pairs.probingUntil[this.row] ?? 0;
  }
  set probingUntil(at: number) {
    this.pairs.probingUntil[this.row] = at;
  }
  get wasTried(): boolean {
    return this.pairs.wasTried[this.row] === 1;
  }
  set wasTried(was: boolean) {
    this.pairs.wasTried[this.row] = was ? 1 : 0;
  }
  get share(): number {
    return this.pairs.share[this.row] ?? 0;
  }
  set share(share: number) {
    this.pairs.share[this.row] = share;
  }
  get since(): number {
    return this.pairs.since[this.row] ?? 0;
  }
  set since(at: number) {
    this.pairs.since[this.row] = at;
  }
  get waitUntil(): number {
    return this.pairs.waitUntil[this.row] ?? 0;
  }
  set waitUntil(at: number) {
    this.pairs.waitUntil[this.row] = at;
  }
}
