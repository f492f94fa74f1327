/** How long an answer may get for the quota that is left: it is asked for shorter rather than paid for with a debt. */
import type { Prices } from '../contract/pricing-tables.ts';
import { holdEstimate } from '../contract/quota.ts';
import { record } from '../protocols/shared/json.ts';
import type { Inquiry, Plan } from './exchange.ts';
import { editMembers, outline } from './json-text.ts';
import { choicesOf, maxTokensOf } from './meter.ts';

/** An answer shorter than this is of no use to anybody. */
const leastAnswer = 16;
const limitNames = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'];
const configNames = ['generationConfig', 'generation_config'];
const nestedNames = ['maxOutputTokens', 'max_output_tokens'];

/**
 * @param asked output tokens that would be held for.
 * @param available quota the request may hold.
 * @returns output tokens, at most `asked`, that fit together with the prompt; 0 = not even the prompt and one token.
 */
export function affordableOutput(prices: Prices, promptTokens: number, asked: number, available: number): number {
  const fits = (maxTokens: number) => holdEstimate(prices, { promptTokens, maxTokens }) <= available;
  if (fits(asked)) return asked;
  // Invariant: `low` fits (or is 0), `high` does not.
  let low = 0;
  let high = asked;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/**
 * The same request with the limit the client named lowered to what can be paid for.
 * @returns null when there is nothing to lower, or not enough for an answer.
 */
export function shorten(
  inquiry: Inquiry,
  plan: Pick<Plan, 'prices' | 'promptTokens'>,
  available: number,
): { readonly inquiry: Inquiry; readonly hold: number } | null {
  const asked = maxTokensOf(inquiry.body);
  if (inquiry.json === null || asked === null) return null;
  const choices = choicesOf(inquiry.body);
  const limit = Math.floor(affordableOutput(plan.prices, plan.promptTokens, asked, available) / choices);
  const thinking = record(inquiry.body.thinking)?.budget_tokens;
  if (limit < leastAnswer || (typeof thinking === 'number' && thinking >= limit)) return null;
  const edits = new Map<string, string>();
  for (const name of limitNames) if (typeof inquiry.body[name] === 'number') edits.set(name, String(limit));
  for (const name of configNames) {
    const config = record(inquiry.body[name]);
    if (config === null) continue;
    const lowered = nestedNames.filter((nested) => typeof config[nested] === 'number').map((nested) => [nested, limit]);
    if (lowered.length > 0) edits.set(name, JSON.stringify({ ...config, ...Object.fromEntries(lowered) }));
  }
  const text = editMembers(inquiry.json.text, inquiry.json.shape, edits);
  const shape = outline(text);
  if (!shape.ok) return null;
  const body = { ...inquiry.body, ...Object.fromEntries([...edits].map(([name, value]) => [name, JSON.parse(value)])) };
  return {
    inquiry: { ...inquiry, body, json: { text, shape, bytes: new TextEncoder().encode(text) } },
    hold: holdEstimate(plan.prices, { promptTokens: plan.promptTokens, maxTokens: limit * choices }),
  };
}
