/** OpenAI's marks of a source, which its two dialects nest differently. */
import type { Citation, ProtocolId } from '../canonical.ts';
import { number, record, records, text } from './json.ts';

/** @param annotations as in a chat message (`url_citation` nested) or in a response's text (flat). */
export const readAnnotations = (annotations: unknown, dialect: ProtocolId): readonly Citation[] =>
  records(annotations).map((raw) => {
    const source = record(raw.url_citation) ?? raw;
    return {
      url: text(source.url) ?? fileAddress(source),
      title: text(source.title) ?? text(source.filename),
      quote: text(source.content),
      start: number(source.start_index),
      end: number(source.end_index),
      dialect,
      raw,
    };
  });

/** Files have no address, but a name that their own provider knows: other dialects take nothing else than addresses. */
const fileAddress = ({ file_id }: Record<string, unknown>): string | null =>
  text(file_id) === null ? null : `file:${String(file_id)}`;

/** @param length of the text the citations stand on. @param offset of that text in the whole answer. */
export function urlCitations(citations: readonly Citation[], length: number, offset = 0): Record<string, unknown>[] {
  return citations.flatMap(({ url, title, start, end }) =>
    url === null
      ? []
      : [{ start_index: offset + (start ?? 0), end_index: offset + (end ?? length), url, title: title ?? url }],
  );
}

/**
 * Words that sources stand on, cut where they would repeat the text over and over: many sources may name all of it.
 * A text is quoted four times at most, and a short one 64 K characters.
 */
export class Quotes {
  private room = 64 * 1024;

  constructor(private readonly words: string) {
    this.room += 4 * words.length;
  }

  /** @param start UTF-16 units from the beginning of the text. */
  take(start: number, end: number): string {
    const quote = this.words.slice(start, Math.min(end, start + this.room));
    this.room -= quote.length;
    return quote;
  }
}
