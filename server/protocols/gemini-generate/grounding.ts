/** Google's marks of a source: pages in one list, the places that rest on them in another, counted in bytes of the whole text. Source: groundingMetadata. */
import type { Citation } from '../canonical.ts';
import { Quotes } from '../shared/citations.ts';
import { list, number, record, records, text } from '../shared/json.ts';

/** Bytes in front of each UTF-16 unit of a text, and of its end; null = each unit is one byte. */
function byteOffsets(words: string): Uint32Array | null {
  if (Buffer.byteLength(words) === words.length) return null;
  const offsets = new Uint32Array(words.length + 1);
  let bytes = 0;
  for (let unit = 0; unit < words.length; unit++) {
    const code = words.charCodeAt(unit);
    const isPair = code >= 0xd800 && code <= 0xdbff && (words.charCodeAt(unit + 1) & 0xfc00) === 0xdc00;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : isPair ? 4 : 3;
    // The second half of a pair stands behind the whole of it.
    if (isPair) offsets[++unit] = bytes;
    offsets[unit + 1] = bytes;
  }
  return offsets;
}

/** Units in front of a byte: the first that has at least so many bytes before it. */
function unitsOf(offsets: Uint32Array | null, bytes: number): number {
  if (offsets === null) return bytes;
  let [low, high] = [0, offsets.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((offsets[middle] ?? 0) < bytes) low = middle + 1;
    else high = middle;
  }
  // Between the halves of a pair nothing begins and nothing ends.
  return low + 1 < offsets.length && offsets[low + 1] === offsets[low] ? low + 1 : low;
}

const bytesOf = (offsets: Uint32Array | null, words: string, unit: number): number => {
  const end = Math.min(Math.max(Math.trunc(unit), 0), words.length);
  return offsets === null ? end : (offsets[end] ?? 0);
};

interface Support {
  /** Bytes from the beginning of the answer. */
  readonly from: number;
  /** null = to the end of the text. */
  readonly to: number | null;
  readonly quote: string | null;
  readonly pages: readonly unknown[];
  /** Its number in the list. */
  readonly at: number;
}

/** What one frame says of the sources. Each text of an answer looks only at those that stand on it. */
export class Grounding {
  private readonly chunks: readonly Record<string, unknown>[];
  /** By where they begin. */
  private readonly supports: readonly Support[];
  private isUsed = false;

  /** @param metadata of the candidate. */
  constructor(metadata: unknown) {
    const grounding = record(metadata);
    this.chunks = records(grounding?.groundingChunks);
    this.supports = records(grounding?.groundingSupports)
      .map(({ segment, groundingChunkIndices }, at): Support => {
        const place = record(segment);
        const [from, to] = [number(place?.startIndex) ?? 0, number(place?.endIndex)];
        return { from, to, quote: text(place?.text), pages: list(groundingChunkIndices), at };
      })
      .sort((one, other) => one.from - other.from);
  }

  /** @param offset bytes of the answer in front of this text. @param words the text the citations stand on. */
  citationsOf(offset: number, words: string): Citation[] {
    const { chunks, supports } = this;
    if (supports.length === 0) {
      // Sources without a place belong to the answer: they are named once.
      if (this.isUsed) return [];
      this.isUsed = true;
      return chunks.flatMap((chunk) => citationOf(chunk, { quote: null, start: null, end: null }));
    }
    const size = Buffer.byteLength(words);
    const own: Support[] = [];
    for (let at = this.firstFrom(offset); at < supports.length; at++) {
      const support = supports[at] as Support;
      if (support.from > offset + size) break;
      const to = support.to ?? offset + size;
      // What ends behind it stands on another text of the answer.
      if (to >= support.from && to <= offset + size) own.push(support);
    }
    if (own.length === 0) return [];
    const offsets = byteOffsets(words);
    return own
      .sort((one, other) => one.at - other.at)
      .flatMap(({ from, to, quote, pages }) => {
        const start = unitsOf(offsets, from - offset);
        const end = unitsOf(offsets, (to ?? offset + size) - offset);
        return pages.flatMap((index) => citationOf(chunks[Number(index)] ?? {}, { quote, start, end }));
      });
  }

  private firstFrom(offset: number): number {
    let [low, high] = [0, this.supports.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.supports[middle]?.from ?? 0) < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function citationOf(chunk: Record<string, unknown>, more: Pick<Citation, 'quote' | 'start' | 'end'>): Citation[] {
  const page = record(chunk.web) ?? record(chunk.retrievedContext) ?? record(chunk.maps);
  const title = text(page?.title);
  const url = text(page?.uri);
  return page === null ? [] : [{ url, title, ...more, dialect: 'gemini-generate', raw: chunk }];
}

/** @returns null when no text rests on a page with an address. */
export function encodeGrounding(
  texts: readonly { readonly words: string; readonly citations?: readonly Citation[] }[],
): Record<string, unknown> | null {
  const chunks: { readonly web: { readonly uri: string; readonly title: string } }[] = [];
  const places = new Map<string, number>();
  const supports: Record<string, unknown>[] = [];
  let offset = 0;
  for (const { words, citations = [] } of texts) {
    const quotes = new Quotes(words);
    const offsets = citations.length === 0 ? null : byteOffsets(words);
    for (const { url, title, start, end } of citations) {
      if (url === null) continue;
      const index = places.get(url) ?? chunks.push({ web: { uri: url, title: title ?? url } }) - 1;
      places.set(url, index);
      const [from, to] = [start ?? 0, end ?? words.length];
      supports.push({
        segment: {
          startIndex: offset + bytesOf(offsets, words, from),
          endIndex: offset + bytesOf(offsets, words, to),
          text: quotes.take(from, to),
        },
        groundingChunkIndices: [index],
      });
    }
    offset += Buffer.byteLength(words);
  }
  return chunks.length === 0 ? null : { groundingChunks: chunks, groundingSupports: supports };
}
