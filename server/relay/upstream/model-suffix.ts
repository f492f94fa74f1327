/** Wishes that users write into a model's name: `-thinking`, `-nothinking`, `-thinking-4096`, `-high`. */
import type { ChatRequest, ProtocolId, Reasoning } from '../../protocols/canonical.ts';
import { budgetOf } from '../../protocols/shared/effort.ts';
import { claudeLeastTokens } from '../admission/answer-limit.ts';
import type { RelaySettings, ThinkingSettings } from '../state/settings.ts';
import type { MemberEdits } from './body.ts';

export interface ModelWish {
  /** The name without the wish. */
  readonly model: string;
  readonly effort: string | null;
  /** Tokens; 0 = off. */
  readonly budget: number | null;
  /** Part of the longest answer to spend on thinking. */
  readonly share: number | null;
}

/** Highest budget of Gemini's flash models. */
const geminiCap = 24_576;
const claudeLeastBudget = 1024;
const effortModel = /^(?:o[134]|gpt-5|grok-3-mini)/;
const efforts = /-(minimal|low|medium|high|xhigh)$/;

const wish = (model: string, more: Partial<ModelWish>): ModelWish => ({
  model,
  effort: null,
  budget: null,
  share: null,
  ...more,
});

/** @returns null when the name says nothing besides the model. */
export function wishOf(model: string, dialect: ProtocolId, thinking: ThinkingSettings): ModelWish | null {
  if (dialect === 'anthropic-messages') {
    if (!thinking.claude || !model.endsWith('-thinking')) return null;
    return wish(model.slice(0, -'-thinking'.length), { share: thinking.claudeShare });
  }
  if (dialect === 'gemini-generate') {
    const found = thinking.gemini ? /^(.+)-(thinking|nothinking)(?:-(\d+))?$/.exec(model) : null;
    if (found === null) return null;
    const [, bare = model, kind, tokens] = found;
    if (kind === 'nothinking') return wish(bare, { budget: 0 });
    return tokens === undefined
      ? wish(bare, { share: thinking.geminiShare })
      : wish(bare, { budget: Math.min(Number(tokens), geminiCap) });
  }
  const effort = effortModel.test(model) ? efforts.exec(model)?.[1] : undefined;
  return effort === undefined ? null : wish(model.replace(efforts, ''), { effort });
}

const positive = (value: unknown): number | null => (typeof value === 'number' && value > 0 ? value : null);

function claudeThinking(share: number, asked: number | null, fallback: number) {
  const maxTokens = Math.max(claudeLeastTokens, asked ?? fallback);
  return { maxTokens, budget: Math.max(claudeLeastBudget, Math.floor(maxTokens * share)) };
}

const geminiBudget = (share: number, asked: number | null): number => {
  const budget = Math.floor((asked ?? 0) * share);
  return budget === 0 ? geminiCap : Math.min(budget, geminiCap);
};

/** The wish as edits on a body that is passed on otherwise; what the client itself said about thinking wins. */
export function memberEdits(
  body: Readonly<Record<string, unknown>>,
  { effort, budget, share }: ModelWish,
  dialect: ProtocolId,
  fallbackMaxTokens: number,
): MemberEdits {
  const edits = new Map<string, string | undefined>();
  if (dialect === 'openai-chat' && effort !== null && body.reasoning_effort === undefined) {
    edits.set('reasoning_effort', JSON.stringify(effort));
  } else if (dialect === 'openai-responses' && effort !== null) {
    edits.set('reasoning', JSON.stringify({ ...(body.reasoning as object | undefined), effort }));
  } else if (dialect === 'anthropic-messages' && share !== null && body.thinking === undefined) {
    const told = claudeThinking(share, positive(body.max_tokens), fallbackMaxTokens);
    edits.set('max_tokens', String(told.maxTokens));
    edits.set('thinking', JSON.stringify({ type: 'enabled', budget_tokens: told.budget }));
    edits.set('top_p', undefined);
    edits.set('temperature', '1');
  } else if (dialect === 'gemini-generate') {
    const name = 'generation_config' in body ? 'generation_config' : 'generationConfig';
    const config = (body[name] ?? {}) as Record<string, unknown>;
    if (config.thinkingConfig !== undefined || config.thinking_config !== undefined) return edits;
    const thinkingBudget = budget ?? geminiBudget(share ?? 0, positive(config.maxOutputTokens));
    const thinkingConfig = thinkingBudget === 0 ? { thinkingBudget } : { thinkingBudget, includeThoughts: true };
    edits.set(name, JSON.stringify({ ...config, thinkingConfig }));
  }
  return edits;
}

export interface ChangeFacts {
  readonly upstreamModel: string;
  readonly wish: ModelWish | null;
  readonly dialect: ProtocolId;
  readonly settings: RelaySettings;
}

/** The same for a request that is told anew, and what the operator's options add to it. */
export function requestChange(
  { upstreamModel: model, wish: told, dialect, settings }: ChangeFacts,
  ceiling?: number,
): (request: ChatRequest) => ChatRequest {
  return (given) => {
    const request = ceiling === undefined ? given : withinCeiling(given, ceiling);
    const fallback = dialect === 'anthropic-messages' ? settings.claudeMaxTokens(model) : null;
    const changed: ChatRequest = { ...request, model, maxTokens: request.maxTokens ?? fallback };
    const asked = told === null ? changed : withWish(changed, told, dialect, fallback);
    return dialect === 'gemini-generate' ? forGemini(asked, settings) : asked;
  };
}

/** A thought that is larger than the answer's limit would raise it. */
function withinCeiling(request: ChatRequest, ceiling: number): ChatRequest {
  const { reasoning } = request;
  const budget = budgetOf(reasoning);
  if (reasoning === null || budget === null || budget <= ceiling / 2) return request;
  return { ...request, reasoning: { ...reasoning, budget: Math.floor(ceiling / 2) } };
}

function withWish(request: ChatRequest, told: ModelWish, dialect: ProtocolId, fallback: number | null): ChatRequest {
  if (request.reasoning !== null) return request;
  const reasoning = (more: Partial<Reasoning>): Reasoning => ({
    effort: null,
    budget: null,
    includeThoughts: null,
    ...more,
  });
  if (told.effort !== null) return { ...request, reasoning: reasoning({ effort: told.effort }) };
  if (told.budget !== null) return { ...request, reasoning: reasoning({ budget: told.budget }) };
  const share = told.share ?? 0;
  if (dialect !== 'anthropic-messages') {
    return { ...request, reasoning: reasoning({ budget: geminiBudget(share, request.maxTokens) }) };
  }
  const { maxTokens, budget } = claudeThinking(share, request.maxTokens, fallback ?? claudeLeastTokens);
  return { ...request, maxTokens, reasoning: reasoning({ budget }) };
}

function forGemini(request: ChatRequest, settings: RelaySettings): ChatRequest {
  const draws = settings.geminiImagineModels.has(request.model);
  return {
    ...request,
    ...(draws ? { modalities: ['text', 'image'] } : {}),
    extra: { safetySettings: settings.geminiSafety, ...request.extra },
  };
}
