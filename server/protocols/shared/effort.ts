/** How hard to think: words in some dialects, token budgets in others. Source of the table: the matrices of reference/protocols 5.6. */
import type { Reasoning } from '../canonical.ts';
import { lookUp } from './json.ts';

const budgets: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 24_576,
  xhigh: 32_000,
  max: 32_000,
};

/** @returns tokens; 0 = off, -1 = the provider decides, null = nothing was said. */
export const budgetOf = (reasoning: Reasoning | null): number | null =>
  reasoning === null
    ? null
    : (reasoning.budget ?? (reasoning.effort === null ? null : (lookUp(budgets, reasoning.effort) ?? -1)));

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
