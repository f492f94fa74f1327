/** Google's usage: the prompt includes what was cached, thoughts stand beside the candidates. */
import { completionTokensOf, promptTokensOf } from '../../contract/pricing/bucket.ts';
import type { Usage } from '../canonical.ts';
import { list, record, records } from '../shared/json.ts';
import { isCounted, StatedUsage } from '../shared/merge-usage.ts';
import { detailCount, emptyUsage, readModifiers, tokenCounts } from '../shared/usage.ts';

const ofModality = (details: unknown, modality: string): number => {
  let sum = 0;
  for (const detail of records(details)) {
    if (detail.modality === modality && typeof detail.tokenCount === 'number') sum += detail.tokenCount;
  }
  return sum;
};

const totals = ['promptTokenCount', 'candidatesTokenCount', 'thoughtsTokenCount', 'toolUsePromptTokenCount'] as const;

/** Whether it counts tokens, not only what they consist of. */
export const hasGeminiTotals = (usage: unknown): boolean => isCounted(usage, totals);

/** What the last frame does not count may be counted in any frame before. */
export const usageMembers = [
  ...totals,
  'cachedContentTokenCount',
  'groundingMetadata',
  '"AUDIO"',
  '"IMAGE"',
  '"VIDEO"',
] as const;

/** @param body a whole answer; a list is a stream that came as a whole. @returns null when there is none or a total is absurd. */
export function readAnswerUsage(body: unknown): Usage | null {
  if (!Array.isArray(body)) return readGeminiUsage(record(body)?.usageMetadata, groundingIn(body));
  const stated = new StatedUsage();
  let searches: Usage['toolCalls'] = {};
  for (const [at, frame] of records(body).entries()) {
    stated.add(frame.usageMetadata, at === body.length - 1);
    searches = mostCalls(searches, groundingIn(frame));
  }
  return readGeminiUsage(stated.members, searches, stated);
}

/** Frames repeat what was searched for. */
export function mostCalls(one: Usage['toolCalls'], other: Usage['toolCalls']): Usage['toolCalls'] {
  const calls: Record<string, number> = { ...one };
  for (const name in other) calls[name] = Math.max(calls[name] ?? 0, other[name] ?? 0);
  return calls;
}

/**
 * A detail that contradicts its total is cut to it: the total of the whole answer always counts.
 * @param value the `usageMetadata` of an answer or a frame.
 * @param toolCalls what the answer searched for.
 * @param stated the reports that were merged into it; absent = it is the only one.
 * @returns null when there is none or a total is absurd.
 */
export function readGeminiUsage(value: unknown, toolCalls: Usage['toolCalls'], stated?: StatedUsage): Usage | null {
  const usage = record(value);
  if (usage === null) return null;
  const counts = tokenCounts([usage.promptTokenCount, usage.candidatesTokenCount]);
  if (counts === null) return null;
  const [prompt, candidates] = counts;
  const thoughts = detailCount(usage.thoughtsTokenCount);
  const toolUse = detailCount(usage.toolUsePromptTokenCount);
  if (prompt + toolUse + candidates + thoughts === 0) return null;
  const cached = Math.min(prompt, detailCount(usage.cachedContentTokenCount));
  const spoken = Math.min(candidates, detailCount(ofModality(usage.candidatesTokensDetails, 'AUDIO')));
  const fresh = prompt - cached;
  // What was cached may have been sound, pictures or video; the details do not say, so all are bounded by what is fresh.
  const audioInput = Math.min(detailCount(ofModality(usage.promptTokensDetails, 'AUDIO')), fresh);
  const imageInput = Math.min(detailCount(ofModality(usage.promptTokensDetails, 'IMAGE')), fresh - audioInput);
  const media = audioInput + imageInput;
  const videoInput = Math.min(detailCount(ofModality(usage.promptTokensDetails, 'VIDEO')), fresh - media);
  return {
    ...emptyUsage,
    input: fresh - media - videoInput + toolUse,
    cacheRead: cached,
    audioInput,
    imageInput,
    videoInput,
    output: candidates - spoken,
    reasoning: thoughts,
    audioOutput: spoken,
    toolCalls,
    ...readModifiers({ service_tier: tierIn(usage) }),
    ...stated?.mark(),
    raw: usage,
  };
}

/** `ON_DEMAND_PRIORITY` of Vertex, `serviceTier` elsewhere. */
function tierIn(usage: Readonly<Record<string, unknown>>): unknown {
  const { serviceTier, trafficType } = usage;
  if (serviceTier !== undefined || typeof trafficType !== 'string') return serviceTier;
  if (trafficType === 'TRAFFIC_TYPE_UNSPECIFIED') return undefined;
  return trafficType.replace(/^ON_DEMAND_?/, '') || 'standard';
}

/** Grounding is sold by the query or by the prompt, as the model's generation has it: both are counted, the prices choose. */
export function groundingIn(body: unknown): Record<string, number> {
  const calls: Record<string, number> = {};
  for (const candidate of records(record(body)?.candidates)) {
    const grounding = record(candidate.groundingMetadata);
    const queries = list(grounding?.webSearchQueries).length;
    if (queries > 0) {
      calls.google_search = (calls.google_search ?? 0) + queries;
      calls.google_search_prompt = 1;
    }
    if (records(grounding?.groundingChunks).some(({ maps }) => record(maps) !== null)) calls.google_maps_prompt = 1;
  }
  return calls;
}

export function encodeUsage(usage: Usage): Record<string, unknown> {
  const prompt = promptTokensOf(usage);
  const candidates = completionTokensOf(usage) - usage.reasoning;
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: candidates,
    totalTokenCount: prompt + candidates + usage.reasoning,
    ...(usage.cacheRead > 0 ? { cachedContentTokenCount: usage.cacheRead } : {}),
    ...(usage.reasoning > 0 ? { thoughtsTokenCount: usage.reasoning } : {}),
  };
}
