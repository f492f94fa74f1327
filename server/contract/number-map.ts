/** Whole numbers by number, for ids that a database counted up: four bytes each, where a `Map` takes forty. */

const pageBits = 10;
const pageSize = 1 << pageBits;

export class NumberMap {
  /** By the id without its last bits; values are kept plus one, so that what was never set is absent. */
  readonly #pages = new Map<number, Int32Array>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: number): number | undefined {
    const page = Math.floor(id / pageSize);
    const found = this.#pages.get(page)?.[id - page * pageSize];
    return found === undefined || found === 0 ? undefined : found - 1;
  }

  /** @param value from 0 to 2 ** 31 - 2. */
  set(id: number, value: number): void {
    const page = Math.floor(id / pageSize);
    let own = this.#pages.get(page);
    if (own === undefined) {
      own = new Int32Array(pageSize);
      this.#pages.set(page, own);
    }
    const at = id - page * pageSize;
    if (own[at] === 0) this.#size++;
    own[at] = value + 1;
  }

  delete(id: number): void {
    const page = Math.floor(id / pageSize);
    const own = this.#pages.get(page);
    const at = id - page * pageSize;
    if (own === undefined || own[at] === 0) return;
    own[at] = 0;
    this.#size--;
  }

  clear(): void {
    this.#pages.clear();
    this.#size = 0;
  }

  *keys(): Generator<number> {
    for (const [id] of this) yield id;
  }

  *values(): Generator<number> {
    for (const [, value] of this) yield value;
  }

  *[Symbol.iterator](): Generator<[id: number, value: number]> {
    for (const [page, own] of this.#pages)
      for (let at = 0; at < pageSize; at++) {
        const value = own[at] ?? 0;
        if (value !== 0) yield [page * pageSize + at, value - 1];
      }
  }
}
