/** How long an answer may get for the quota that is left: it is asked for shorter rather than paid for with a debt. */
import { record } from '../../protocols/shared/json.ts';
import type { Inquiry } from '../intake/inquiry.ts';
import { keepsLimit, withLimit } from './answer-limit.ts';
import { type Estimate, holdFor } from './meter.ts';
import type { Plan } from './plan.ts';

/** An answer shorter than this is of no use to anybody. */
const leastAnswer = 16;
/** A thought that is cut off answers nothing and is paid all the same. */
const leastWithThought = 4096;

/**
 * @param available quota the request may hold.
 * @returns output tokens, at most what the request may write, that fit together with the prompt; 0 = not even the prompt and one token.
 */
export function affordableOutput(estimate: Estimate, available: number): number {
  const fits = (maxTokens: number) => holdFor(estimate, maxTokens) <= available;
  if (estimate.hold <= available) return estimate.maxTokens;
  // Invariant: `low` fits (or is 0), `high` does not.
  let low = 0;
  let high = estimate.maxTokens;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** The shortest single answer that is worth asking for: what the client wants where that is less. */
export function leastWorth({ answer }: Estimate, body: Inquiry['body']): number {
  if (answer === null) return 0;
  const budget = record(body.thinking)?.budget_tokens;
  const thinks = answer.model.thinks || (typeof budget === 'number' && budget > 0);
  return Math.min(answer.tokens, thinks ? leastWithThought : leastAnswer);
}

/**
 * The same request with a limit that can be paid for: what half of the free quota affords, so that the next request finds
 * some as well; down to the shortest answer of worth.
 * @returns null when no limit can be written, or not enough is left for an answer.
 */
export function shorten(
  inquiry: Inquiry,
  plan: Plan,
  available: number,
): { readonly inquiry: Inquiry; readonly plan: Plan } | null {
  const { estimate } = plan;
  const { answer } = estimate;
  if (answer === null) return null;
  const least = leastWorth(estimate, inquiry.body);
  if (holdFor(estimate, least * answer.choices) > available) return null;
  const wanted = answer.model.known ? Math.min(answer.tokens, answer.model.output) : answer.tokens;
  const half = Math.floor(affordableOutput(estimate, available / 2) / answer.choices);
  const limit = Math.max(least, Math.min(half, wanted));
  const candidates = plan.candidates.every(keepsLimit) ? plan.candidates : plan.candidates.filter(keepsLimit);
  const shorter = candidates.length === 0 ? null : withLimit(inquiry, limit, answer.model);
  if (shorter === null) return null;
  const maxTokens = limit * answer.choices;
  const hold = holdFor(estimate, maxTokens);
  return {
    inquiry: shorter,
    plan: {
      ...plan,
      candidates,
      estimate: { ...estimate, maxTokens, hold, answer: { ...answer, tokens: limit } },
      hold,
      most: hold,
      held: maxTokens,
    },
  };
}
