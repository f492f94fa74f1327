/** `-thinking`, `-nothinking` and `-thinking-4096` behind a model's name. */

import type { SuffixRules } from '../definition.ts';
import { budgetShare, capped, modelSuffix, positive, withShare } from '../shared/suffix.ts';

export const suffix: SuffixRules = {
  read(model, thinking) {
    const found = thinking.gemini ? /^(.+)-(thinking|nothinking)(?:-(\d+))?$/.exec(model) : null;
    if (found === null) return null;
    const [, bare = model, kind, tokens] = found;
    if (kind === 'nothinking') return modelSuffix(bare, { budget: 0 });
    return tokens === undefined
      ? modelSuffix(bare, { share: thinking.geminiShare })
      : modelSuffix(bare, { budget: capped(Number(tokens)) });
  },
  edits(body, { budget, share }) {
    const name = 'generation_config' in body ? 'generation_config' : 'generationConfig';
    const config = (body[name] ?? {}) as Record<string, unknown>;
    if (config.thinkingConfig !== undefined || config.thinking_config !== undefined) return new Map();
    const thinkingBudget = budget ?? budgetShare(share ?? 0, positive(config.maxOutputTokens));
    const thinkingConfig = thinkingBudget === 0 ? { thinkingBudget } : { thinkingBudget, includeThoughts: true };
    return new Map([[name, JSON.stringify({ ...config, thinkingConfig })]]);
  },
  share: withShare,
};
