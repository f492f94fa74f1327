/** How spans call things: the semantic conventions of OpenTelemetry for HTTP and generative AI, and our own names for what these do not know. */
import type { EndedRequest } from '../../relay/admission/observer.ts';
import type { ParsedRequest } from '../../relay/intake/parsed-request.ts';

const operations: Readonly<Record<string, string>> = {
  completions: 'text_completion',
  embeddings: 'embeddings',
};

/** What the conventions call an operation of ours. */
export const operationOf = ({ operation }: ParsedRequest): string => operations[operation] ?? operation;

type List = readonly unknown[];
const listOf = (value: unknown): List => (Array.isArray(value) ? value : []);
const wordsIn = (items: List, member: string): string[] =>
  items.flatMap((item) => {
    const word = (Object(item) as Record<string, unknown>)[member];
    return typeof word === 'string' ? [word] : [];
  });

/** In the upstream's own words, as a stream or a whole response has them in any dialect. */
export function finishReasons({ finishReason, answer }: EndedRequest['finish']): string[] {
  const finishText = finishReason?.() ?? null;
  if (finishText !== null) return [finishText.raw ?? finishText.unified];
  const body = Object(answer) as Record<string, unknown>;
  const found = [
    ...wordsIn(listOf(body.choices), 'finish_reason'),
    ...wordsIn([body], 'stop_reason'),
    ...wordsIn(listOf(body.candidates), 'finishReason'),
  ];
  return found.length > 0 ? found : wordsIn([body], 'status');
}

const maxContentLength = 32_768;

/** The conversation as the client wrote it. */
export const contentOf = ({ body }: ParsedRequest): string =>
  JSON.stringify(body.messages ?? body.input ?? body.contents ?? body.prompt ?? null).slice(0, maxContentLength);
