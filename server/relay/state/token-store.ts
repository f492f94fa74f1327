/** Keys by number and by hash. */
import { hashBytes, packTokens, type TokenPage, tagOf, tokenAt } from '../../contract/packed-rows.ts';
import type { TokenSnapshot } from '../../contract/snapshot.ts';
import { RowStore } from './row-store.ts';
import { TokenRow } from './rows.ts';

/** Hashes that were looked up. */
const maxFound = 10_000;

export class TokenStore {
  readonly #rows = new RowStore<TokenSnapshot, TokenPage>((page, row) => new TokenRow(tokenAt(page, row)), packTokens);
  #index = new TagIndex();
  /** A key that is used is found by one look-up. */
  readonly #found = new Map<string, TokenSnapshot>();

  get(id: number): TokenSnapshot | undefined {
    return this.#rows.get(id);
  }

  /** By its key or by the one before. */
  byHash(hash: string): TokenSnapshot | undefined {
    const known = this.#found.get(hash);
    if (known !== undefined) return known;
    for (const id of this.#index.find(tagOf(hash))) {
      const row = this.#rows.get(id);
      if (row === undefined || (row.keyHmac !== hash && row.oldKey?.hmac !== hash)) continue;
      if (this.#found.size >= maxFound) this.#found.clear();
      this.#found.set(hash, row);
      return row;
    }
    return undefined;
  }

  set(row: TokenRow): void {
    this.delete(row.id);
    this.#rows.set(row);
    this.#index.add(tagOf(row.keyHmac), row.id);
    if (row.oldKey !== null) this.#index.add(tagOf(row.oldKey.hmac), row.id);
  }

  delete(id: number): void {
    const row = this.#rows.get(id);
    if (row === undefined) return;
    for (const hash of row.oldKey === null ? [row.keyHmac] : [row.keyHmac, row.oldKey.hmac]) {
      this.#found.delete(hash);
      this.#index.delete(tagOf(hash), id);
    }
    this.#rows.delete(id);
  }

  /** @param page of ids that have no row. */
  add(page: TokenPage): void {
    this.#rows.add(page);
    const { buffer, byteOffset, byteLength } = page.hashes;
    const hashes = new DataView(buffer, byteOffset, byteLength);
    page.ids.forEach((id, row) => {
      this.#index.add(hashes.getUint32(row * hashBytes), id);
    });
    for (const [id, hash] of page.rotated) this.#index.add(tagOf(hash), id);
  }

  clear(): void {
    this.#rows.clear();
    this.#index = new TagIndex();
    this.#found.clear();
  }

  /** All rows, in pages that other threads may have. */
  pages(): readonly TokenPage[] {
    return this.#rows.pages();
  }
}

/** Ids by the tags of their hashes: open addressing, where a `Map` of hashes would take ten times as much. */
class TagIndex {
  #tags = new Uint32Array(64);
  /** 0 = free. */
  #ids = new Float64Array(64);
  #count = 0;

  *find(tag: number): Generator<number> {
    for (let at = this.#first(tag); this.#ids[at] !== 0; at = this.#next(at))
      if (this.#tags[at] === tag) yield this.#ids[at] ?? 0;
  }

  add(tag: number, id: number): void {
    if (3 * this.#count >= 2 * this.#ids.length) this.#grow();
    let at = this.#first(tag);
    while (this.#ids[at] !== 0) at = this.#next(at);
    this.#tags[at] = tag;
    this.#ids[at] = id;
    this.#count++;
  }

  /** What was put behind it for want of its place moves up. */
  delete(tag: number, id: number): void {
    let at = this.#first(tag);
    while (this.#ids[at] !== 0 && (this.#tags[at] !== tag || this.#ids[at] !== id)) at = this.#next(at);
    if (this.#ids[at] === 0) return;
    this.#count--;
    let free = at;
    for (at = this.#next(at); this.#ids[at] !== 0; at = this.#next(at)) {
      const wanted = this.#first(this.#tags[at] ?? 0);
      const mask = this.#ids.length - 1;
      if (((at - wanted) & mask) < ((at - free) & mask)) continue;
      this.#tags[free] = this.#tags[at] ?? 0;
      this.#ids[free] = this.#ids[at] ?? 0;
      free = at;
    }
    this.#ids[free] = 0;
  }

  #first(tag: number): number {
    return tag & (this.#ids.length - 1);
  }

  #next(at: number): number {
    return (at + 1) & (this.#ids.length - 1);
  }

  #grow(): void {
    const [tags, ids] = [this.#tags, this.#ids];
    this.#tags = new Uint32Array(2 * ids.length);
    this.#ids = new Float64Array(2 * ids.length);
    this.#count = 0;
    ids.forEach((id, at) => {
      if (id !== 0) this.add(tags[at] ?? 0, id);
    });
  }
}
