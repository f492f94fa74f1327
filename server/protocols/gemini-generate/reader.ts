/** Reads Gemini answers and streams of them into events. Every frame is a whole answer whose parts are increments. */

import type { ChatEvent, DeliveredPart, FinishReason, Media, UnifiedFinish, Usage } from '../canonical.ts';
import type { FrameKind, StreamReader } from '../codec.ts';
import { endedEarly } from '../shared/ended-early.ts';
import { guardedLookup, number, parseExact, parseJson, record, records, text } from '../shared/json.ts';
import { Markers } from '../shared/markers.ts';
import { deliveredPart } from '../shared/media.ts';
import { StatedUsage } from '../shared/merge-usage.ts';
import { createOtherChoices, type OtherChoices } from '../shared/other-choices.ts';
import type { SseFrame } from '../shared/sse.ts';
import { decodeError } from './errors.ts';
import { Grounding } from './grounding.ts';
import { collectArguments, isPartial, type PartialArguments } from './partial-arguments.ts';
import { groundingIn, hasGeminiTotals, mostCalls, readGeminiUsage } from './usage.ts';

const finishReasons: Readonly<Record<string, UnifiedFinish>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  // Google's screening of prompts and answers. Source: FinishReason and BlockedReason of @google/genai 3.3.
  MODEL_ARMOR: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
  IMAGE_PROHIBITED_CONTENT: 'content_filter',
  IMAGE_RECITATION: 'content_filter',
  MALFORMED_FUNCTION_CALL: 'error',
  UNEXPECTED_TOOL_CALL: 'error',
  MALFORMED_RESPONSE: 'error',
  TOO_MANY_TOOL_CALLS: 'error',
  MISSING_THOUGHT_SIGNATURE: 'error',
  LANGUAGE: 'error',
  NO_IMAGE: 'error',
  IMAGE_OTHER: 'error',
  OTHER: 'error',
};

/** Usage stands on most frames and last on the final one, so it alone is no reason to parse a frame. */
export const markers = new Markers([{ word: 'finishReason' }, { word: '"error"' }, { word: 'blockReason' }]);

/** Positions of sources in longer texts are not reported. */
const citableUnits = 1024 * 1024;

/** Answers already parsed, so that each candidate is read by the same rules. */
interface AnswerReader {
  take(body: Record<string, unknown>): ChatEvent[];
  progress(): 'going' | 'stopped';
  /** @param meant the upstream said that this is the end, though perhaps not why. */
  end(meant?: boolean): ChatEvent[];
}

function createAnswerReader(): AnswerReader {
  let next = 0;
  let open: { readonly kind: 'text' | 'reasoning'; readonly index: number; signature: string | null } | null = null;
  let finish: FinishReason | null = null;
  const stated = new StatedUsage();
  let searches: Usage['toolCalls'] = {};
  /** What was reported of them with the counts. */
  let reported = searches;
  /** What was said of them without counts. */
  const noted: Record<string, number> = {};
  let called = 0;
  /** A call whose arguments are still coming. */
  let calling: { readonly index: number; readonly partial: PartialArguments; readonly signature: object } | null = null;
  /** Ids that we make up differ from one answer to the next: the same conversation may hold many. */
  let answer = '';
  let started = false;
  let ended = false;
  /** Bytes of the texts before the open one, and its words. */
  let before = 0;
  let words = '';
  let grounding: Grounding | null = null;
  /** Most answers have one candidate. */
  let others: OtherChoices<AnswerReader> | null = null;

  const close = (events: ChatEvent[]) => {
    if (open === null) return;
    const { kind, index, signature } = open;
    if (kind === 'text') {
      const citations = grounding === null ? [] : grounding.citationsOf(before, words);
      events.push({ type: 'text-end', index, ...(citations.length === 0 ? {} : { citations }) });
      before += Buffer.byteLength(words);
      words = '';
    } else {
      events.push({ type: 'reasoning-end', index, signature, redacted: null, origin: 'gemini-generate' });
    }
    open = null;
  };
  const emit = (kind: 'text' | 'reasoning', content: string, events: ChatEvent[]) => {
    if (open?.kind !== kind) {
      close(events);
      open = { kind, index: next++, signature: null };
      events.push({ type: `${kind}-start`, index: open.index });
    }
    if (kind === 'text' && words.length < citableUnits) words += content;
    events.push({ type: `${kind}-delta`, index: open.index, text: content });
  };
  /** A signature without words of its own is a thought that says nothing. */
  const seal = (signature: string, events: ChatEvent[]) => {
    if (open?.kind !== 'reasoning') {
      close(events);
      open = { kind: 'reasoning', index: next++, signature };
      events.push({ type: 'reasoning-start', index: open.index });
    } else open.signature = signature;
  };
  /** Each search as a call of a tool, for answers that report no usage at all. */
  const noteSearches = (events: ChatEvent[]) => {
    for (const [tool, count] of Object.entries(searches))
      for (let known = noted[tool] ?? 0; known < count; known++) {
        noted[tool] = known + 1;
        events.push({ type: 'unknown', dialect: 'gemini-generate', raw: { type: `${tool}_call` } });
      }
  };
  const endCall = (events: ChatEvent[]) => {
    if (calling === null) return;
    const { index, partial, signature } = calling;
    events.push(
      { type: 'tool-call-delta', index, arguments: partial.whole() },
      { type: 'tool-call-end', index, ...signature },
    );
    calling = null;
  };
  const takeCall = (call: Record<string, unknown>, signature: string | null, events: ChatEvent[]) => {
    const name = text(call.name);
    if (name !== null) {
      endCall(events);
      close(events);
      const index = next++;
      const id = text(call.id) ?? `call_${answer}${called}_${name}`;
      const seal = signature === null ? {} : { signature, origin: 'gemini-generate' as const };
      called++;
      events.push({ type: 'tool-call-start', index, id, name, ...seal });
      if (!isPartial(call)) {
        events.push(
          { type: 'tool-call-delta', index, arguments: JSON.stringify(call.args ?? {}) },
          { type: 'tool-call-end', index, ...seal },
        );
        return;
      }
      calling = { index, partial: collectArguments(), signature: seal };
    }
    calling?.partial.take(call.partialArgs);
    // A piece without a word of more to come is the last.
    if (call.willContinue !== true) endCall(events);
  };
  const takePart = (part: Record<string, unknown>, events: ChatEvent[]) => {
    // Relays in front of it may write its other spelling.
    const signature = text(part.thoughtSignature) ?? text(part.thought_signature);
    const call = record(part.functionCall);
    const content = text(part.text);
    if (call !== null) return takeCall(call, signature, events);
    if (content !== null) emit(part.thought === true ? 'reasoning' : 'text', content, events);
    if (signature !== null) seal(signature, events);
    const media = mediaOf(part);
    if (media !== null) {
      close(events);
      events.push({ type: 'media', part: media });
    } else if (typeof part.text !== 'string' && signature === null) {
      events.push({ type: 'unknown', dialect: 'gemini-generate', raw: part });
    }
  };
  /** A frame may hold any of the candidates; one without a number is known by its place. */
  const firstOf = (candidates: readonly Record<string, unknown>[], events: ChatEvent[]) => {
    let first: Record<string, unknown> | undefined;
    for (const [place, candidate] of candidates.entries()) {
      const index = number(candidate.index) ?? place;
      if (index > 0) {
        others ??= createOtherChoices(createAnswerReader);
        others.take(index, (reader) => reader.take({ candidates: [{ ...candidate, index: 0 }] }), events);
      } else first ??= candidate;
    }
    return first;
  };
  /** Sources may come with one frame and the counts with another. */
  const state = (usage: unknown, events: ChatEvent[], isFinal = true) => {
    const changes = stated.add(usage, isFinal && (finish !== null || ended)) || searches !== reported;
    const isTotal = hasGeminiTotals(usage);
    const counted = changes || isTotal ? readGeminiUsage(stated.members, searches, stated) : null;
    if (counted === null) return;
    reported = searches;
    events.push({ type: 'usage', usage: counted, ...(isTotal ? {} : { repeated: true as const }) });
  };
  const endStream = (meant = false): ChatEvent[] => {
    if (ended) return [];
    ended = true;
    const events: ChatEvent[] = [];
    endCall(events);
    close(events);
    if (finish === null && meant) finish = { unified: 'stop', raw: null };
    if (finish === null) {
      events.push({ type: 'error', error: endedEarly });
      return events;
    }
    const unified = called > 0 && finish.unified === 'stop' ? 'tool_calls' : finish.unified;
    events.push({ type: 'finish', reason: { ...finish, unified } });
    return events;
  };

  return {
    take(body) {
      if (ended) {
        const events: ChatEvent[] = [];
        state(body.usageMetadata, events);
        return events;
      }
      const events: ChatEvent[] = [];
      if (body.error !== undefined && body.error !== null) {
        ended = true;
        close(events);
        events.push({ type: 'error', error: decodeError(0, JSON.stringify(body)) });
        return events;
      }
      if (!started) {
        started = true;
        answer = shortId(text(body.responseId));
        events.push({
          type: 'response-start',
          id: text(body.responseId),
          model: text(body.modelVersion),
          created: null,
        });
      }
      const candidate = firstOf(records(body.candidates), events);
      if (candidate?.groundingMetadata != null) grounding = new Grounding(candidate.groundingMetadata);
      for (const part of records(record(candidate?.content)?.parts)) takePart(part, events);
      const reason = text(candidate?.finishReason);
      if (reason !== null) finish = reasonOf(reason, text(candidate?.finishMessage));
      const blocked = text(record(body.promptFeedback)?.blockReason);
      if (blocked !== null) finish ??= { unified: 'content_filter', raw: blocked };
      if (candidate?.groundingMetadata !== undefined) searches = mostCalls(searches, groundingIn(body));
      // While other candidates go on, no report is the last.
      state(body.usageMetadata, events, others === null || records(body.candidates).length === 0);
      if (stated.members === null && searches !== reported) noteSearches(events);
      return events;
    },
    progress: () => (finish === null && !ended ? ('going' as const) : ('stopped' as const)),
    end: endStream,
  };
}

export function createReader(): StreamReader {
  const { take, progress, end } = createAnswerReader();
  const reader = {
    frameKind: 'plain' as FrameKind,
    progress: progress(),
    feed({ data }: SseFrame): ChatEvent[] {
      reader.frameKind = 'plain';
      if (data === '' || data === '[DONE]') return [];
      // Words have no numbers of their own.
      const parsed = data.includes('functionCall') ? parseExact(data) : parseJson(data);
      const body = record(Array.isArray(parsed) ? parsed[0] : parsed);
      if (body === null) return [];
      const events = take(body);
      reader.progress = progress();
      // Of several candidates one may end before the others.
      if (reader.progress === 'stopped' && data.includes('"parts"') && !data.includes('finishReason'))
        reader.frameKind = 'more';
      return events;
    },
    end(): ChatEvent[] {
      reader.progress = 'stopped';
      return end();
    },
  };
  return reader;
}

function reasonOf(raw: string, message: string | null): FinishReason {
  const unified = guardedLookup(finishReasons, raw) ?? 'other';
  return unified === 'error' ? { unified, raw, message: message ?? `the model ended with ${raw}` } : { unified, raw };
}

const shortId = (id: string | null): string => (id === null ? '' : `${Bun.hash(id).toString(36).slice(0, 8)}_`);

function mediaOf(part: Record<string, unknown>): DeliveredPart | null {
  const inline = record(part.inlineData) ?? record(part.inline_data);
  const file = record(part.fileData) ?? record(part.file_data);
  const data = text(inline?.data);
  const url = text(file?.fileUri) ?? text(file?.file_uri);
  const named = inline ?? file;
  const mimeType = text(named?.mimeType) ?? text(named?.mime_type) ?? 'image/png';
  const source: Media | null =
    data !== null ? { kind: 'base64', data, mimeType } : url !== null ? { kind: 'url', url, mimeType } : null;
  return source === null ? null : deliveredPart(source, mimeType);
}

/** A whole answer, as if it had been streamed in one piece; a list is a stream that came as a whole. */
export function decodeResponse(body: unknown): ChatEvent[] {
  const { take, end } = createAnswerReader();
  const answers = records(Array.isArray(body) ? body : [body]);
  return [...answers.flatMap(take), ...end(records(record(body)?.candidates).length > 0)];
}
