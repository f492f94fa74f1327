/** How hard to think: words in some dialects, token budgets in others. Source of the table: the matrices of reference/protocols 5.6. */
import type { ChatRequest, Reasoning } from '../canonical.ts';
import type { Target } from '../target.ts';
import { guardedLookup } from './json.ts';

const budgets: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 24_576,
  xhigh: 32_000,
  max: 32_000,
};

/** Where Anthropic's requests, and chat completions after it, give thoughts a budget in tokens. */
export const thoughtBudgets = [
  ['thinking', 'budget_tokens'],
  ['reasoning', 'max_tokens'],
] as const;

/** @returns tokens; 0 = off, -1 = the provider decides, null = nothing was said. */
export const budgetOf = (reasoning: Reasoning | null): number | null =>
  reasoning === null
    ? null
    : (reasoning.budget ?? (reasoning.effort === null ? null : (guardedLookup(budgets, reasoning.effort) ?? -1)));

/** @returns a word, null when nothing was said or the provider decides. */
export function effortOf(reasoning: Reasoning | null): string | null {
  if (reasoning === null) return null;
  if (reasoning.effort !== null) return reasoning.effort;
  const { budget } = reasoning;
  if (budget === null || budget < 0) return null;
  if (budget === 0) return 'none';
  if (budget <= 2048) return 'low';
  return budget <= 8192 ? 'medium' : 'high';
}

/** Dialects whose clients switch thinking on without a degree, where others let the model decide. */
const switches: ReadonlySet<string> = new Set(['ollama-chat', 'cohere-chat']);

/** The degree that upstreams with words for it take by themselves. Source: `reasoning_effort` in OpenAI's reference of chat completions. */
const usual = 'medium';

/** The word for upstreams that think by words alone: who switched thinking on says so, although without a degree. */
export function effortWord({ reasoning, dialect }: ChatRequest, { efforts, thinkingByDefault }: Target): string | null {
  const word = effortOf(reasoning);
  if (word !== null || reasoning?.budget !== -1 || thinkingByDefault || !switches.has(dialect)) return word;
  return efforts === null ? usual : closestEffort(usual, efforts);
}

/** Distances between the words: what is asked for is seldom exceeded. */
const ranks: Readonly<Record<string, number>> = { none: 0, minimal: 1, low: 2, medium: 4, high: 5, xhigh: 6, max: 8 };

/**
 * @param words those that are taken. `none` matches only itself: thinking is never switched off because another word was meant.
 * @returns null where no word is near.
 */
export function closestEffort(word: string, words: readonly string[]): string | null {
  if (words.includes(word)) return word;
  const rank = guardedLookup(ranks, word) ?? ranks.high ?? 0;
  let closest: string | null = null;
  let min = Number.POSITIVE_INFINITY;
  for (const other of words) {
    if (other === 'none') continue;
    const distance = Math.abs((guardedLookup(ranks, other) ?? rank) - rank);
    if (distance >= min) continue;
    closest = other;
    min = distance;
  }
  return closest;
}
