/** What output costs against input where no table says: the family's completion ratios by the beginning of a name. */

interface CompletionRule {
  readonly matches: (model: string) => boolean;
  readonly ratio: number;
}

const special = (model: string): boolean => model.endsWith('-all') || model.endsWith('-gizmo-*');

const rule = (matches: (model: string) => boolean, ratio: number): CompletionRule => ({ matches, ratio });

const rules: readonly CompletionRule[] = [
  rule((m) => m === 'gpt-4o-2024-05-13', 3),
  rule((m) => m.startsWith('gpt-4o') && !special(m), 4),
  rule((m) => m.startsWith('gpt-4.5-preview'), 2),
  rule((m) => m.startsWith('gpt-4-turbo') || m.endsWith('gpt-4-1106') || m.endsWith('gpt-4-1105'), 3),
  rule((m) => m.startsWith('gpt-4') && !special(m), 2),
  rule((m) => m.startsWith('o1') || m.startsWith('o3'), 4),
  rule((m) => m === 'chatgpt-4o-latest', 3),
  rule((m) => m.includes('claude-instant-1') || m.includes('claude-2'), 3),
  rule((m) => m.includes('claude-3'), 5),
  rule((m) => m === 'gpt-3.5-turbo' || (m.startsWith('gpt-3.5') && m.endsWith('0125')), 3),
  rule((m) => m.startsWith('gpt-3.5') && m.endsWith('1106'), 2),
  rule((m) => m.startsWith('gpt-3.5'), 4 / 3),
  rule((m) => m.startsWith('mistral-'), 3),
  rule((m) => m.startsWith('gemini-2.5-pro-preview'), 8),
  rule((m) => m.startsWith('gemini-'), 4),
  rule((m) => m === 'command-r', 3),
  rule((m) => m === 'command-r-plus', 5),
  rule((m) => m.startsWith('command'), 4),
  rule((m) => /^deepseek-(chat|reasoner)$/i.test(m), 4),
  rule((m) => /^ERNIE-(Speed-|Lite-|Character|Functions)/.test(m), 2),
  rule((m) => m === 'llama2-70b-4096', 1.25),
  rule((m) => m === 'llama3-8b-8192', 2),
  rule((m) => m === 'llama3-70b-8192', 0.79 / 0.59),
];

/** @param configured the operator's value, if any: it counts for every model. */
export const completionRatioFor = (model: string, configured: number | undefined): number =>
  configured ?? rules.find((item) => item.matches(model))?.ratio ?? 1;
