/** Rows by number: most lie in pages as they came, those that changed since are objects until they fill a page of their own. */
import { NumberMap } from '../../contract/number-map.ts';
import { pageRows, type UserPage } from '../../contract/packed-rows.ts';

/** Objects that were made of rows are kept for who asks again. */
const maxMade = 10_000;

export class RowStore<Row extends { readonly id: number }, Page extends UserPage> {
  readonly #at: (page: Page, row: number) => Row;
  readonly #pack: (rows: readonly Row[]) => Page;
  /** A page of which most rows are no longer the newest of their id is given up. */
  readonly #pages: ({ readonly page: Page; dead: number } | null)[] = [];
  /** Page and row as one number. */
  readonly #places = new NumberMap();
  readonly #changed = new Map<number, Row>();
  readonly #made = new Map<number, Row>();

  constructor(at: (page: Page, row: number) => Row, pack: (rows: readonly Row[]) => Page) {
    this.#at = at;
    this.#pack = pack;
  }

  get(id: number): Row | undefined {
    const known = this.#made.get(id) ?? this.#changed.get(id);
    if (known !== undefined) return known;
    const place = this.#places.get(id);
    const row = place === undefined ? undefined : this.#rowAt(place);
    if (row === undefined) return undefined;
    if (this.#made.size >= maxMade) this.#made.clear();
    this.#made.set(id, row);
    return row;
  }

  set(row: Row): void {
    this.delete(row.id);
    this.#changed.set(row.id, row);
    if (this.#changed.size >= pageRows) this.#packChanged();
  }

  delete(id: number): void {
    this.#made.delete(id);
    this.#changed.delete(id);
    const place = this.#places.get(id);
    if (place === undefined) return;
    this.#places.delete(id);
    const at = Math.floor(place / pageRows);
    const own = this.#pages[at];
    if (own === undefined || own === null) return;
    own.dead++;
    if (2 * own.dead > own.page.ids.length) this.#giveUp(at);
  }

  /** @param page of ids that have no row. */
  add(page: Page): void {
    const free = this.#pages.indexOf(null);
    const at = free < 0 ? this.#pages.length : free;
    this.#pages[at] = { page, dead: 0 };
    page.ids.forEach((id, row) => {
      this.#places.set(id, at * pageRows + row);
    });
  }

  clear(): void {
    this.#pages.length = 0;
    this.#places.clear();
    this.#changed.clear();
    this.#made.clear();
  }

  /** All rows, in pages that other threads may have. */
  pages(): readonly Page[] {
    this.#pages.forEach((own, at) => {
      if (own !== null && (own.dead > 0 || 2 * own.page.ids.length < pageRows)) this.#giveUp(at);
    });
    this.#packChanged();
    return this.#pages.flatMap((own) => (own === null ? [] : [own.page]));
  }

  #rowAt(place: number): Row | undefined {
    const own = this.#pages[Math.floor(place / pageRows)];
    return own === undefined || own === null ? undefined : this.#at(own.page, place % pageRows);
  }

  /** Its rows count as changed. */
  #giveUp(at: number): void {
    this.#pages[at]?.page.ids.forEach((id, row) => {
      const place = at * pageRows + row;
      if (this.#places.get(id) !== place) return;
      const current = this.#made.get(id) ?? this.#rowAt(place);
      if (current !== undefined) this.#changed.set(id, current);
      this.#places.delete(id);
    });
    this.#pages[at] = null;
    if (this.#changed.size >= pageRows) this.#packChanged();
  }

  #packChanged(): void {
    const rows = [...this.#changed.values()];
    this.#changed.clear();
    for (let from = 0; from < rows.length; from += pageRows) this.add(this.#pack(rows.slice(from, from + pageRows)));
  }
}
