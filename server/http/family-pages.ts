/**
 * Pages of channels and tokens for both generations of the family's scripts. The older ones count from 0 and get a list.
 * The newer ones count from 1 and get `{items, page, page_size, total}`. A request is of the newer form when `p` is 1 or
 * more, the size is named `page_size` or `ps`, and none of `size`, `id_sort` and `tag_mode` is there, one of which every
 * older form carries.
 */
import type { EndpointId } from '../contract/endpoints/index.ts';

const older = ['size', 'id_sort', 'tag_mode'] as const;
const maxRows = 100;

/** Which of them already cut a page; the others answer with all that was found. */
const lists: Readonly<Partial<Record<string, 'page' | 'whole'>>> = {
  'channel.list': 'page',
  'channel.search': 'whole',
  'token.list': 'page',
  'token.search': 'whole',
} satisfies Partial<Record<EndpointId, 'page' | 'whole'>>;

type Query = Readonly<Record<string, unknown>>;

export interface NewerPage {
  /** What the handler, which counts from 0, gets instead; '' = nothing. */
  readonly query: Query;
  /** @param counted rows in all, where the handler says it. */
  answer(rows: unknown, counted: unknown): unknown;
}

const wholeNumber = (value: unknown): number | null =>
  typeof value === 'string' && /^[1-9]\d{0,8}$/.test(value) ? Number(value) : null;

/** @returns null for the older form and for every other call. */
export function newerPage(id: string, query: Query): NewerPage | null {
  const kind = lists[id];
  const page = wholeNumber(query.p);
  const requested = wholeNumber(query.page_size) ?? wholeNumber(query.ps);
  if (kind === undefined || page === null || requested === null || older.some((name) => query[name] !== undefined))
    return null;
  const size = Math.min(maxRows, requested);
  const start = kind === 'page' ? 0 : (page - 1) * size;
  return {
    query:
      kind === 'page'
        ? { p: String(page - 1), size: String(size), page_size: String(size) }
        : { p: '', size: '', page_size: '' },
    answer(rows, counted) {
      const all: readonly unknown[] = Array.isArray(rows) ? rows : [];
      const total = kind === 'page' ? Number(counted ?? all.length) : all.length;
      return { items: all.slice(start, start + size), page, page_size: size, total };
    },
  };
}
