/** Usage in the events of a conversation, and what text and audio count for where none is reported. */
import { bucketNames } from '../../../contract/pricing/bucket.ts';
import type { Usage } from '../../../protocols/canonical.ts';
import { number, record } from '../../../protocols/shared/json.ts';
import { detailCount, emptyUsage, tokenCounts } from '../../../protocols/shared/usage.ts';

/** Usage of one answer; details are named in the singular here. Those that do not fit into their totals give way. */
export function turnUsage(response: unknown): Usage | null {
  const usage = record(record(response)?.usage);
  const input = record(usage?.input_token_details);
  const output = record(usage?.output_token_details);
  const cached = record(input?.cached_tokens_details);
  const counts = tokenCounts([usage?.input_tokens, usage?.output_tokens]);
  if (usage === null || counts === null) return null;
  const [total, written] = counts;
  if (total + written === 0) return null;
  const fresh = (all: unknown, known: unknown): number => Math.max(0, detailCount(all) - detailCount(known));
  const cacheRead = Math.min(detailCount(input?.cached_tokens), total);
  const audioInput = Math.min(fresh(input?.audio_tokens, cached?.audio_tokens), total - cacheRead);
  const imageInput = Math.min(fresh(input?.image_tokens, cached?.image_tokens), total - cacheRead - audioInput);
  const audioOutput = Math.min(detailCount(output?.audio_tokens), written);
  return {
    ...emptyUsage,
    input: total - cacheRead - audioInput - imageInput,
    cacheRead,
    audioInput,
    imageInput,
    output: written - audioOutput,
    audioOutput,
    raw: usage,
  };
}

/** Usage of a model that writes down what was said: tokens, or seconds of sound. */
export interface Transcribed {
  readonly usage: Usage;
  readonly seconds: number;
}

export function transcribedIn(event: unknown): Transcribed | null {
  const usage = record(record(event)?.usage);
  if (usage === null) return null;
  const seconds = number(usage.seconds);
  if (seconds !== null) return seconds > 0 && seconds < 86_400 ? { usage: emptyUsage, seconds } : null;
  const counts = tokenCounts([
    usage.input_tokens,
    usage.output_tokens,
    record(usage.input_token_details)?.audio_tokens,
  ]);
  if (counts === null) return null;
  const [total, output, audio] = counts;
  const audioInput = Math.min(audio, total);
  return { usage: { ...emptyUsage, input: total - audioInput, audioInput, output }, seconds: 0 };
}

/** A minute of a recording; as in new-api. */
const tokensPerMinute = 1000;
export const recordedTokens = (seconds: number): number => Math.round((Math.ceil(seconds) / 60) * tokensPerMinute);

/** A loop of its own, for it runs with every event that an upstream sends. */
export function sum(a: Usage, b: Usage): Usage {
  const counts: Record<string, number> = {};
  for (const name of bucketNames) counts[name] = a[name] + b[name];
  return { ...emptyUsage, ...counts };
}

/** Tokens that the next answer reads besides what is new. */
export interface Context {
  readonly text: number;
  readonly audio: number;
  readonly images: number;
}

export const nothingKnown: Context = { text: 0, audio: 0, images: 0 };

/** Everything that an answer leaves to be read by the next one. Parts from a cache may have been sound. */
export function contextOf(usage: Usage): Context {
  const details = record(record(usage.raw)?.input_token_details);
  const cached = record(details?.cached_tokens_details);
  const cachedAudio = Math.min(cached === null ? usage.cacheRead : detailCount(cached.audio_tokens), usage.cacheRead);
  return {
    text: usage.input + usage.cacheRead - cachedAudio + usage.output,
    audio: usage.audioInput + cachedAudio + usage.audioOutput,
    images: usage.imageInput,
  };
}
