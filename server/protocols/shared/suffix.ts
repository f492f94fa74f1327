/** Suffixes of a model's name that are one word of effort: `-high`. */
import type { ChatRequest, Reasoning } from '../canonical.ts';
import type { MemberEdits, ModelSuffix, SuffixRules } from '../definition.ts';

const efforts = /-(minimal|low|medium|high|xhigh)$/;
/** Highest budget of Gemini's flash models. */
const maxBudget = 24_576;

export const modelSuffix = (model: string, more: Partial<ModelSuffix>): ModelSuffix => ({
  model,
  effort: null,
  budget: null,
  share: null,
  ...more,
});

export const positive = (value: unknown): number | null => (typeof value === 'number' && value > 0 ? value : null);

export const reasoningOf = (more: Partial<Reasoning>): Reasoning => ({
  effort: null,
  budget: null,
  includeThoughts: null,
  ...more,
});

export const capped = (budget: number): number => Math.min(budget, maxBudget);

/** @param requested the longest answer. */
export const budgetShare = (share: number, requested: number | null): number => {
  const budget = Math.floor((requested ?? 0) * share);
  return budget === 0 ? maxBudget : capped(budget);
};

export const withShare = (request: ChatRequest, share: number): ChatRequest => ({
  ...request,
  reasoning: reasoningOf({ budget: budgetShare(share, request.maxTokens) }),
});

/** @param edits of a body, where the name names an effort. */
export const effortSuffix = (
  edits: (body: Readonly<Record<string, unknown>>, effort: string) => readonly (readonly [string, unknown])[],
): SuffixRules => ({
  read(model, _thinking, hasEffortSuffix) {
    const effort = efforts.exec(model)?.[1];
    if (effort === undefined) return null;
    const bare = model.replace(efforts, '');
    return hasEffortSuffix(bare) ? modelSuffix(bare, { effort }) : null;
  },
  edits: (body, { effort }): MemberEdits =>
    new Map(effort === null ? [] : edits(body, effort).map(([name, value]) => [name, JSON.stringify(value)])),
  share: withShare,
});
