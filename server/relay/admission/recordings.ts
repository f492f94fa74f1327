/** Speech that is read out, by its characters, and recordings that are written down, by their length. */
import { modelLimits } from '../../contract/model-limits.ts';
import { dearest, type Reading } from '../../contract/pricing/dearest.ts';
import type { ReserveSize } from '../../contract/pricing/reserve.ts';
import { record } from '../../protocols/shared/json.ts';
import { readingsOf } from '../../protocols/shared/member-name.ts';
import { withWrapped } from '../../routing/offers.ts';
import type { ParsedRequest } from '../intake/parsed-request.ts';
import type { Operation } from '../intake/routes.ts';

const operations: ReadonlySet<Operation> = new Set<Operation>(['transcriptions', 'translations']);
export const readsRecording = (operation: Operation): boolean => operations.has(operation);
/** Whether the request alone decides the charge, which is owed from the first piece of the answer on. */
export const isOwedAtOnce = (operation: Operation): boolean => operation === 'speech' || readsRecording(operation);

/** Tokens that a minute of a recording counts for, as in new-api. */
const tokensPerMinute = 1000;
/** Tokens that are written for each token of sound, where words are paid as well. */
const writtenShare = 0.4;

/** A request with a recording at most. */
export function sizeOfRecording(parsed: ParsedRequest): ReserveSize {
  // Transcription of a conversation is reserved as audio arrives.
  if (parsed.form === null && parsed.json === null) return { promptTokens: 1, maxTokens: 0 };
  const duration = Math.max(1, recordingTokens(parsed));
  const writes = modelLimits(parsed.model).known;
  return { promptTokens: duration, maxTokens: writes ? Math.ceil(duration * writtenShare) : 0 };
}

/** Speech is priced by the character. As new-api does. How it is to sound is read by the model as well. */
export const speechLength = ({ body }: ParsedRequest): number => {
  const objects = withWrapped(body);
  const spoken = objects.flatMap((object) => spokenNames.flatMap((name) => readingsOf(object, name)));
  const manner = objects.flatMap((object) => readingsOf(object, 'instructions'));
  return dearest(spoken.map(charactersIn), 1) + dearest(manner.map(charactersIn), 0);
};
/** Some hosts call it otherwise. Sources: https://docs.fish.audio/api-reference, https://platform.minimax.io/docs/api-reference, https://docs.cartesia.ai/api-reference */
const spokenNames = ['input', 'text', 'transcript'] as const;

const charactersIn = ({ value, place }: Reading<unknown>): Reading => ({ value: charactersOf(value), place });

function charactersOf(value: unknown): number {
  if (typeof value === 'string') return [...value].length;
  if (typeof value !== 'object' || value === null) return 0;
  let sum = 0;
  for (const item of Object.values(value)) sum += charactersOf(item);
  return sum;
}

/** Result of transcribing a recording. */
interface Transcript {
  /** The JSON of a whole answer, else null. */
  readonly body: unknown;
  /** The words that the client received. */
  readonly texts: readonly string[];
}

/** @param transcript absent before there is one. */
export function recordingTokens(parsed: ParsedRequest, transcript?: Transcript): number {
  const reported = transcript === undefined ? null : reportedSeconds(transcript.body);
  const seconds = reported ?? secondsOf(parsed, transcript === undefined ? null : subtitlesIn(parsed, transcript));
  return Math.round((Math.ceil(seconds) / 60) * tokensPerMinute);
}

/** @param named by subtitles: those end with the last word, not with the sound, so they can only raise it. */
function secondsOf({ form }: ParsedRequest, named: number | null): number {
  const seconds = form?.seconds() ?? null;
  return seconds === null ? (named ?? 60) : Math.max(named ?? 0, seconds);
}

/** Hosts that do not measure the recording write zero or nothing; of two places the longer one counts. */
const reportedSeconds = (body: unknown): number | null => {
  const answer = record(body);
  const seconds = [record(answer?.usage)?.seconds, answer?.duration].map(secondsFrom);
  const longest = Math.max(...seconds);
  return longest > 0 ? longest : null;
};

function secondsFrom(value: unknown): number {
  const seconds = typeof value === 'number' || typeof value === 'string' ? Number(value) : 0;
  return Number.isFinite(seconds) ? seconds : 0;
}

/** Only subtitles say how long the recording was; a transcript without times does not. */
const subtitlesIn = ({ body }: ParsedRequest, { texts }: Transcript): number | null =>
  body.response_format === 'srt' || body.response_format === 'vtt' ? subtitleSeconds(texts) : null;

const timestamp = /--> *(\d{1,3}):(\d{2}):(\d{2})[.,]\d{3}/g;

/** The last moment that subtitles name. */
function subtitleSeconds(texts: readonly string[]): number | null {
  let last: number | null = null;
  for (const [, hours, minutes, seconds] of texts.join('').matchAll(timestamp)) {
    last = Math.max(last ?? 0, Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds) + 1);
  }
  return last;
}
