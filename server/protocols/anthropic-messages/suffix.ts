/** `-thinking` behind a model's name: a share of the answer is thought. */

import type { SuffixRules } from '../definition.ts';
import { modelSuffix, positive, reasoningOf } from '../shared/suffix.ts';

/** Thinking needs at least so much room. */
const minTokens = 1280;
const minBudget = 1024;
/** Of an answer without a limit so much is thought of. As new-api does. */
const defaultTokens = 8192;

function thinkingOf(share: number, requested: number | null, fallback: number | null) {
  const maxTokens = Math.max(minTokens, requested ?? fallback ?? defaultTokens);
  return { maxTokens, budget: Math.max(minBudget, Math.floor(maxTokens * share)) };
}

export const suffix: SuffixRules = {
  read(model, thinking) {
    if (!thinking.claude || !model.endsWith('-thinking')) return null;
    return modelSuffix(model.slice(0, -'-thinking'.length), { share: thinking.claudeShare });
  },
  edits(body, { share }, fallbackMaxTokens) {
    const edits = new Map<string, string | undefined>();
    if (share === null || body.thinking !== undefined) return edits;
    const fitted = thinkingOf(share, positive(body.max_tokens), fallbackMaxTokens);
    edits.set('max_tokens', String(fitted.maxTokens));
    edits.set('thinking', JSON.stringify({ type: 'enabled', budget_tokens: fitted.budget }));
    edits.set('top_p', undefined);
    edits.set('temperature', '1');
    return edits;
  },
  share(request, share, fallback) {
    const { maxTokens, budget } = thinkingOf(share, request.maxTokens, fallback);
    return { ...request, maxTokens, reasoning: reasoningOf({ budget }) };
  },
};
