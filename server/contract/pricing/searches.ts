/**
 * Searches that a ranking takes: one ranks a question with up to 100 documents, and a document that is longer than 500
 * tokens with the question counts once for each 500. Sources: cohere.com/pricing ("A single search unit is a query with up
 * to 100 documents to be ranked. Documents longer than 500 tokens when including the length of the search query will be
 * split up into multiple chunks, where each chunk counts as a singular document."),
 * https://docs.aws.amazon.com/bedrock/latest/userguide/rerank-pricing.html (100 chunks a query).
 */
const documentsPerSearch = 100;
const tokensPerChunk = 500;
/** Unless a request allows more, the rest of a document is not read. Source: https://docs.cohere.com/reference/rerank */
const tokensRead = 4096;

export interface Ranking {
  /** Tokens of the question. */
  readonly question: number;
  /** Tokens of each document. */
  readonly documents: readonly number[];
  /** Tokens of a document that the request allows; 0 = it does not say. */
  readonly perDocument: number;
}

/** @returns searches, one at least. */
export function searchesOf({ question, documents, perDocument }: Ranking): number {
  const most = Math.max(tokensRead, perDocument);
  let chunks = 0;
  for (const tokens of documents)
    chunks += Math.max(1, Math.ceil((question + Math.min(tokens, most)) / tokensPerChunk));
  return searchesFor(chunks);
}

/** @param tokens of all documents, each with the question. @returns searches at most, whatever tokens each has. */
export const mostSearches = (documents: number, tokens: number): number =>
  searchesFor(documents + Math.floor(tokens / tokensPerChunk));

/** @param documents none of which is longer than what counts once. */
export const searchesFor = (documents: number): number => Math.max(1, Math.ceil(documents / documentsPerSearch));
