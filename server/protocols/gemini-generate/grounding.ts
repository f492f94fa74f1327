/** Google's marks of a source: pages in one list, the places that rest on them in another, counted in bytes of the whole text. Source: groundingMetadata. */
import type { Citation } from '../canonical.ts';
import { list, number, record, records, text } from '../shared/json.ts';

const unitsOf = (bytes: Uint8Array, end: number): number => new TextDecoder().decode(bytes.subarray(0, end)).length;
const bytesOf = (words: string, end: number): number => Buffer.byteLength(words.slice(0, end));

/**
 * @param metadata of the candidate.
 * @param before words of the answer in front of this text.
 * @param words the text the citations stand on.
 */
export function readGrounding(metadata: unknown, before: string, words: string): Citation[] {
  const grounding = record(metadata);
  const chunks = records(grounding?.groundingChunks);
  const supports = records(grounding?.groundingSupports);
  const cite = (chunk: Record<string, unknown>, more: Pick<Citation, 'quote' | 'start' | 'end'>): Citation[] => {
    const page = record(chunk.web) ?? record(chunk.retrievedContext) ?? record(chunk.maps);
    const title = text(page?.title);
    const url = text(page?.uri);
    return page === null ? [] : [{ url, title, ...more, dialect: 'gemini-generate', raw: chunk }];
  };
  if (supports.length === 0) return chunks.flatMap((chunk) => cite(chunk, { quote: null, start: null, end: null }));
  const bytes = new TextEncoder().encode(words);
  const offset = Buffer.byteLength(before);
  return supports.flatMap(({ segment, groundingChunkIndices }) => {
    const place = record(segment);
    const from = (number(place?.startIndex) ?? 0) - offset;
    const to = (number(place?.endIndex) ?? offset + bytes.length) - offset;
    // It stands on another text of the answer.
    if (from < 0 || to > bytes.length || from > to) return [];
    const more = { quote: text(place?.text), start: unitsOf(bytes, from), end: unitsOf(bytes, to) };
    return list(groundingChunkIndices).flatMap((index) => cite(chunks[Number(index)] ?? {}, more));
  });
}

/** @returns null when no text rests on a page with an address. */
export function encodeGrounding(
  texts: readonly { readonly words: string; readonly citations?: readonly Citation[] }[],
): Record<string, unknown> | null {
  const chunks: { readonly web: { readonly uri: string; readonly title: string } }[] = [];
  const supports: Record<string, unknown>[] = [];
  let offset = 0;
  for (const { words, citations = [] } of texts) {
    for (const { url, title, start, end } of citations) {
      if (url === null) continue;
      const known = chunks.findIndex(({ web }) => web.uri === url);
      const index = known < 0 ? chunks.push({ web: { uri: url, title: title ?? url } }) - 1 : known;
      const [from, to] = [start ?? 0, end ?? words.length];
      supports.push({
        segment: {
          startIndex: offset + bytesOf(words, from),
          endIndex: offset + bytesOf(words, to),
          text: words.slice(from, to),
        },
        groundingChunkIndices: [index],
      });
    }
    offset += Buffer.byteLength(words);
  }
  return chunks.length === 0 ? null : { groundingChunks: chunks, groundingSupports: supports };
}
