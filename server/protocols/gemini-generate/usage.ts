/** Google's usage: the prompt includes what was cached, thoughts stand beside the candidates. */
import type { Usage } from '../canonical.ts';
import { record, records } from '../shared/json.ts';
import { tokenCounts } from '../shared/usage.ts';

const ofModality = (details: unknown, modality: string): number => {
  let sum = 0;
  for (const detail of records(details)) {
    if (detail.modality === modality && typeof detail.tokenCount === 'number') sum += detail.tokenCount;
  }
  return sum;
};

/** @param body a whole answer or one frame. @returns null when there is none or it contradicts itself. */
export function readGeminiUsage(body: unknown): Usage | null {
  const usage = record(record(body)?.usageMetadata);
  if (usage === null) return null;
  const counts = tokenCounts([
    usage.promptTokenCount,
    usage.toolUsePromptTokenCount,
    usage.cachedContentTokenCount,
    usage.candidatesTokenCount,
    usage.thoughtsTokenCount,
    ofModality(usage.promptTokensDetails, 'AUDIO'),
    ofModality(usage.promptTokensDetails, 'IMAGE'),
    ofModality(usage.candidatesTokensDetails, 'AUDIO'),
  ]);
  if (counts === null) return null;
  const [prompt, toolUse, cached, candidates, thoughts, audio, images, spoken] = counts;
  if (prompt + candidates + thoughts === 0 || cached > prompt || spoken > candidates) return null;
  const fresh = prompt - cached;
  // What was cached may have been sound or pictures; the details do not say, so both are bounded by what is fresh.
  const audioInput = Math.min(audio, fresh);
  const imageInput = Math.min(images, fresh - audioInput);
  const searches = searchesIn(body);
  return {
    input: fresh - audioInput - imageInput + toolUse,
    cacheRead: cached,
    cacheWrite5m: 0,
    cacheWrite1h: 0,
    audioInput,
    imageInput,
    output: candidates - spoken,
    reasoning: thoughts,
    audioOutput: spoken,
    toolCalls: searches > 0 ? { web_search: searches } : {},
    raw: usage,
  };
}

function searchesIn(body: unknown): number {
  let count = 0;
  for (const candidate of records(record(body)?.candidates)) {
    const queries = record(candidate.groundingMetadata)?.webSearchQueries;
    if (Array.isArray(queries)) count += queries.length;
  }
  return count;
}

export function encodeUsage(usage: Usage): Record<string, unknown> {
  const prompt =
    usage.input + usage.cacheRead + usage.cacheWrite5m + usage.cacheWrite1h + usage.audioInput + usage.imageInput;
  const candidates = usage.output + usage.audioOutput;
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: candidates,
    totalTokenCount: prompt + candidates + usage.reasoning,
    ...(usage.cacheRead > 0 ? { cachedContentTokenCount: usage.cacheRead } : {}),
    ...(usage.reasoning > 0 ? { thoughtsTokenCount: usage.reasoning } : {}),
  };
}
