/** Answers the token-counting calls of the dialects here: no upstream, no charge. */
import { codecFor } from '../../protocols/registry.ts';
import type { TokenCounter } from '../admission/counting/counter.ts';
import { countLocally } from '../admission/meter.ts';
import type { Inquiry } from '../intake/inquiry.ts';
import { nothingDelivered } from '../shared/delivered-text.ts';

export async function answerTokenCount(counter: TokenCounter, inquiry: Inquiry): Promise<Response> {
  const usage = await countLocally(counter, { ...inquiry, operation: 'chat' }, { body: null, told: nothingDelivered });
  return Response.json(codecFor(inquiry.protocol).traits.countAnswer(usage.input), {
    headers: { 'x-oneapi-request-id': inquiry.requestId },
  });
}
