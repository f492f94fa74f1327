/** Changes a request that is told anew: the upstream's model, the suffix of its name, what the operator's options add. */
import type { ChatRequest, ProtocolId } from '../../protocols/canonical.ts';
import { codecFor } from '../../protocols/registry.ts';
import { budgetOf } from '../../protocols/shared/effort.ts';
import { reasoningOf } from '../../protocols/shared/suffix.ts';
import type { ModelSuffix, SuffixRules } from '../../protocols/traits.ts';
import type { RelaySettings } from '../state/settings.ts';

export interface ChangeFacts {
  readonly inquiry: { readonly model: string };
  readonly upstreamModel: string;
  readonly suffix: ModelSuffix | null;
  readonly dialect: ProtocolId;
  readonly settings: RelaySettings;
}

export function requestChange(
  { inquiry, upstreamModel: model, suffix, dialect, settings }: ChangeFacts,
  ceiling?: number,
): (request: ChatRequest) => ChatRequest {
  const { operator, suffix: rules } = codecFor(dialect).traits;
  return (given) => {
    const request = ceiling === undefined ? given : withinCeiling(given, ceiling);
    const fallback = operator?.maxTokens?.(settings, model, inquiry.model) ?? null;
    const changed: ChatRequest = { ...request, model, maxTokens: request.maxTokens ?? fallback };
    const asked = suffix === null ? changed : withSuffix(changed, suffix, rules, fallback);
    return operator?.change?.(asked, settings) ?? asked;
  };
}

/** A thought that is larger than the answer's limit would raise it. */
function withinCeiling(request: ChatRequest, ceiling: number): ChatRequest {
  const { reasoning } = request;
  const budget = budgetOf(reasoning);
  if (reasoning === null || budget === null || budget <= ceiling / 2) return request;
  return { ...request, reasoning: { ...reasoning, budget: Math.floor(ceiling / 2) } };
}

function withSuffix(
  request: ChatRequest,
  { effort, budget, share }: ModelSuffix,
  rules: SuffixRules,
  fallback: number | null,
): ChatRequest {
  if (request.reasoning !== null) return request;
  if (effort !== null) return { ...request, reasoning: reasoningOf({ effort }) };
  if (budget !== null) return { ...request, reasoning: reasoningOf({ budget }) };
  return rules.share(request, share ?? 0, fallback);
}
