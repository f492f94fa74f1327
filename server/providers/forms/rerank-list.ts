/** Ranked documents in the two forms clients know: `/v2/rerank` as Cohere returns them, the other paths as Jina does. */
import { AppError } from '../../contract/errors.ts';
import { list, number, record, records, text } from '../../protocols/shared/json.ts';
import type { Requested } from '../adapter.ts';

/** @throws AppError body_invalid. */
export function documentTexts({ body }: Requested): string[] {
  if (!Array.isArray(body.documents)) throw new AppError('body_invalid', { detail: 'documents must be a list' });
  return body.documents.map((document) =>
    typeof document === 'string' ? document : (text(record(document)?.text) ?? JSON.stringify(document)),
  );
}

/** @param answer with `results` of `index` and `relevance_score`. @param tokens null = the upstream does not say. */
export function rankedList(
  answer: Readonly<Record<string, unknown>>,
  requested: Requested,
  tokens: number | null,
): unknown {
  const documents = list(requested.body.documents);
  const second = requested.path === '/v2/rerank';
  // Jina's clients get the documents unless they say no, Cohere's only when they say yes.
  const includesDocuments = second
    ? requested.body.return_documents === true
    : requested.body.return_documents !== false;
  const results = records(answer.results).map(({ index, relevance_score }) => {
    const document = documents[number(index) ?? -1];
    return {
      index,
      relevance_score,
      ...(includesDocuments ? { document: typeof document === 'string' ? { text: document } : document } : {}),
    };
  });
  if (second) {
    const meta = record(answer.meta) ?? (tokens === null ? {} : { billed_units: { input_tokens: tokens } });
    return { id: answer.id, results, meta, ...(tokens === null ? {} : { usage: { total_tokens: tokens } }) };
  }
  const billed = record(record(answer.meta)?.billed_units);
  return {
    model: requested.model,
    results,
    // What the ranking is paid by where that is no tokens.
    ...(billed === null ? {} : { meta: { billed_units: billed } }),
    ...(tokens === null ? {} : { usage: { total_tokens: tokens, prompt_tokens: tokens } }),
  };
}
