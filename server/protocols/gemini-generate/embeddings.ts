/** Embeddings between OpenAI's form and Gemini's, requests and answers, both ways. */
import { AppError } from '../../contract/errors.ts';
import { type Json, number, present, record, records, text } from '../shared/json.ts';
import { packedNumbers } from '../shared/media.ts';

const textOfContent = (content: unknown): string =>
  records(record(content)?.parts)
    .map((part) => text(part.text) ?? '')
    .join('');

/** @param body of embedContent or batchEmbedContents. @returns an OpenAI request. */
export function embedRequestToOpenAi(body: Json, model: string): Record<string, unknown> {
  const requests = Array.isArray(body.requests) ? records(body.requests) : [body];
  const size = requests.map((one) => number(one.outputDimensionality) ?? number(one.output_dimensionality));
  return present({
    model,
    input: requests.map((one) => textOfContent(one.content)),
    dimensions: size[0],
    encoding_format: 'float',
  });
}

/** @param batch the client asked with a list. */
export function embedAnswerFromOpenAi(body: unknown, batch: boolean): unknown {
  const embeddings = records(record(body)?.data).map(({ embedding }) => ({ values: embedding }));
  return batch ? { embeddings } : { embedding: embeddings[0] ?? { values: [] } };
}

/** @param body an OpenAI embeddings request. @throws AppError body_invalid for token lists, which only their own model reads. */
export function embedRequestFromOpenAi(body: Json, model: string): Record<string, unknown> {
  const inputs = Array.isArray(body.input) ? body.input : [body.input];
  return {
    requests: inputs.map((input) => {
      if (typeof input !== 'string') throw new AppError('body_invalid', { detail: 'input must be text' });
      return present({
        model: `models/${model}`,
        content: { parts: [{ text: input }] },
        outputDimensionality: number(body.dimensions),
      });
    }),
  };
}

/** @param format the client's `encoding_format`. */
export function embedAnswerToOpenAi(body: unknown, model: string, format: unknown): unknown {
  const data = records(record(body)?.embeddings).map(({ values }, index) => ({
    object: 'embedding',
    index,
    embedding: embeddingIn(format, values),
  }));
  return { object: 'list', model, data };
}

/** @param format the client's `encoding_format`. */
export const embeddingIn = (format: unknown, values: unknown): unknown =>
  format === 'base64' ? packedNumbers(values) : values;
