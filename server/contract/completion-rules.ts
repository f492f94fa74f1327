/** The family's fixed completion ratios: they win over configured values where `locked`, unless the model's name has a slash. Source: backend-reference 4.2. */

interface CompletionRule {
  readonly matches: (model: string) => boolean;
  readonly ratio: number;
  readonly locked: boolean;
}

const special = (model: string): boolean => model.endsWith('-all') || model.endsWith('-gizmo-*');

const rule = (matches: (model: string) => boolean, ratio: number, locked = true): CompletionRule => ({
  matches,
  ratio,
  locked,
});

const rules: readonly CompletionRule[] = [
  rule((m) => m === 'gpt-4o-2024-05-13', 3),
  rule((m) => m.startsWith('gpt-4o') && !special(m), 4),
  rule((m) => m.startsWith('gpt-4.5-preview'), 2),
  rule((m) => m.startsWith('gpt-4-turbo') || m.endsWith('gpt-4-1106') || m.endsWith('gpt-4-1105'), 3),
  rule((m) => m.startsWith('gpt-4') && !special(m), 2, false),
  rule((m) => m.startsWith('o1') || m.startsWith('o3'), 4),
  rule((m) => m === 'chatgpt-4o-latest', 3),
  rule((m) => m.includes('claude-instant-1') || m.includes('claude-2'), 3),
  rule((m) => m.includes('claude-3'), 5),
  rule((m) => m === 'gpt-3.5-turbo' || (m.startsWith('gpt-3.5') && m.endsWith('0125')), 3),
  rule((m) => m.startsWith('gpt-3.5') && m.endsWith('1106'), 2),
  rule((m) => m.startsWith('gpt-3.5'), 4 / 3),
  // The family locks the rest too; today's prices differ, so a configured ratio wins here.
  rule((m) => m.startsWith('mistral-'), 3, false),
  rule((m) => m.startsWith('gemini-2.5-pro-preview'), 8, false),
  rule((m) => m.startsWith('gemini-'), 4, false),
  rule((m) => m === 'command-r', 3, false),
  rule((m) => m === 'command-r-plus', 5, false),
  rule((m) => m.startsWith('command'), 4, false),
  rule((m) => /^deepseek-(chat|reasoner)$/i.test(m), 4, false),
  rule((m) => /^ERNIE-(Speed-|Lite-|Character|Functions)/.test(m), 2, false),
  rule((m) => m === 'llama2-70b-4096', 1.25, false),
  rule((m) => m === 'llama3-8b-8192', 2, false),
  rule((m) => m === 'llama3-70b-8192', 0.79 / 0.59, false),
];

/** @param configured the operator's value, if any. */
export function completionRatioFor(model: string, configured: number | undefined): number {
  if (configured !== undefined && model.includes('/')) return configured;
  const found = rules.find((item) => item.matches(model));
  if (found?.locked) return found.ratio;
  return configured ?? found?.ratio ?? 1;
}
