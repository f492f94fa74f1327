/** Answers the token-counting calls of the dialects here: no upstream, no charge. */
import type { ProtocolId } from '../../protocols/canonical.ts';
import type { TokenCounter } from '../admission/counting/counter.ts';
import { countLocally } from '../admission/meter.ts';
import type { Inquiry } from '../intake/inquiry.ts';
import { nothingTold } from '../shared/delivered-text.ts';

const answers: Readonly<Record<ProtocolId, (tokens: number) => Record<string, unknown>>> = {
  'openai-chat': (tokens) => ({ input_tokens: tokens }),
  'openai-responses': (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  'anthropic-messages': (tokens) => ({ input_tokens: tokens }),
  'gemini-generate': (tokens) => ({
    totalTokens: tokens,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: tokens }],
  }),
};

export async function answerTokenCount(counter: TokenCounter, inquiry: Inquiry): Promise<Response> {
  const usage = await countLocally(counter, { ...inquiry, operation: 'chat' }, { body: null, told: nothingTold });
  return Response.json(answers[inquiry.protocol](usage.input), {
    headers: { 'x-oneapi-request-id': inquiry.requestId },
  });
}
