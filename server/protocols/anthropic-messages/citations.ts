/** Anthropic's marks of a source: pages of the web, search results the client gave, places in documents. */
import type { Citation } from '../canonical.ts';
import { records, text } from '../shared/json.ts';

export const readCitations = (citations: unknown): Citation[] =>
  records(citations).map((raw) => ({
    url: text(raw.url) ?? text(raw.source),
    title: text(raw.title) ?? text(raw.document_title),
    quote: text(raw.cited_text),
    start: null,
    end: null,
    dialect: 'anthropic-messages',
    raw,
  }));

/** Sources of other dialects become pages of the web; those without an address have no place here. */
export const encodeCitations = (citations: readonly Citation[] = []): unknown[] =>
  citations.flatMap(({ url, title, quote, dialect, raw }) => {
    if (dialect === 'anthropic-messages') return [raw];
    if (url === null) return [];
    return [{ type: 'web_search_result_location', url, title, cited_text: quote ?? '', encrypted_index: '' }];
  });
