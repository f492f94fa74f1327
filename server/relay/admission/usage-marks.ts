/** Oddities of a usage that an upstream reported. It is charged as reported, and the log row says so. */
import { modelLimits } from '../../contract/model-limits.ts';
import { completionTokensOf, promptTokensOf } from '../../contract/pricing/charge.ts';
import type { UsageMark } from '../../contract/usage-marks.ts';
import type { Usage } from '../../protocols/canonical.ts';
import type { ParsedRequest } from '../intake/parsed-request.ts';
import type { Estimate } from './meter.ts';

/** Upstreams add instructions and templates of their own. */
const ownInstructions = 8192;

export interface Circumstances {
  readonly parsed: ParsedRequest;
  readonly estimate: Estimate;
  /** The upstream's name of the model; '' = no upstream served the request. */
  readonly upstreamModel: string;
  /** Bytes of the answer; 0 = they were not counted. */
  readonly received: number;
}

/** @returns null = nothing is odd. */
export function usageMarks(
  usage: Usage,
  { parsed, estimate, upstreamModel, received }: Circumstances,
): readonly UsageMark[] | null {
  let marks: UsageMark[] | null = usage.corrected === true ? ['corrected'] : null;
  // Several calls of models, and tools that the provider runs, read and write what nobody else sees.
  if (usage.parts !== undefined || hasAny(usage.toolCalls)) return marks;
  const { answer } = estimate;
  if (answer !== null) {
    const most = (Math.max(answer.tokens, answer.model.output) + answer.thought) * answer.choices;
    if (completionTokensOf(usage) > most) marks = [...(marks ?? []), 'above_limit'];
    // Thoughts need not be delivered, nor all of the answers that were written for the best of them.
    const isAbove = received > 0 && usage.output > received && parsed.operation === 'chat';
    if (isAbove && !answer.model.thinking && !modelLimits(upstreamModel).thinking)
      marks = [...(marks ?? []), 'above_delivered'];
  }
  if (answer !== null || parsed.operation === 'embeddings') {
    let most = estimate.promptTokens + (estimate.files ?? 0);
    for (const name in estimate.media) most += estimate.media[name as keyof typeof estimate.media] ?? 0;
    if (promptTokensOf(usage) > 2 * most + ownInstructions) marks = [...(marks ?? []), 'above_sent'];
  }
  return marks;
}

function hasAny(calls: Usage['toolCalls']): boolean {
  for (const tool in calls) if ((calls[tool] ?? 0) > 0) return true;
  return false;
}
