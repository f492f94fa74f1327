/** Embeddings as OpenAI lists them. */
import { AppError } from '../../contract/errors.ts';
import { embeddingIn } from '../../protocols/gemini-generate/embeddings.ts';
import { list } from '../../protocols/shared/json.ts';
import type { Requested } from '../adapter.ts';

/** Texts of a request. @throws AppError body_invalid for token lists, which only their own model reads. */
export function textsOf({ body }: Requested): string[] {
  const inputs = Array.isArray(body.input) ? body.input : [body.input];
  return inputs.map((input) => {
    if (typeof input !== 'string') throw new AppError('body_invalid', { detail: 'input must be text' });
    return input;
  });
}

/** @param vectors one per text, in order. @param tokens null = the upstream does not say. */
export const embeddingList = (vectors: unknown, { model, body }: Requested, tokens: number | null): unknown => ({
  object: 'list',
  data: list(vectors).map((values, index) => ({
    object: 'embedding',
    index,
    embedding: embeddingIn(body.encoding_format, values),
  })),
  model,
  ...(tokens === null ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens } }),
});
