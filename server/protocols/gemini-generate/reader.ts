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

class GeminiAnswerReader implements AnswerReader {
  private next = 0;
  private open: { readonly kind: 'text' | 'reasoning'; readonly index: number; signature: string | null } | null = null;
  private finish: FinishReason | null = null;
  private readonly stated = new StatedUsage();
  private searches: Usage['toolCalls'] = {};
  /** What was reported of them with the counts. */
  private reported = this.searches;
  /** What was said of them without counts. */
  private readonly noted: Record<string, number> = {};
  private called = 0;
  /** A call whose arguments are still coming. */
  private calling: { readonly index: number; readonly partial: PartialArguments; readonly signature: object } | null =
    null;
  /** Ids that we make up differ from one answer to the next: the same conversation may hold many. */
  private answer = '';
  private started = false;
  private ended = false;
  /** Bytes of the texts before the open one, and its words. */
  private before = 0;
  private words = '';
  private grounding: Grounding | null = null;
  /** Most answers have one candidate. */
  private others: OtherChoices<AnswerReader> | null = null;

  private close(events: ChatEvent[]): void {
    if (this.open === null) return;
    const { kind, index, signature } = this.open;
    if (kind === 'text') {
      const citations = this.grounding === null ? [] : this.grounding.citationsOf(this.before, this.words);
      events.push({ type: 'text-end', index, ...(citations.length === 0 ? {} : { citations }) });
      this.before += Buffer.byteLength(this.words);
      this.words = '';
    } else {
      events.push({ type: 'reasoning-end', index, signature, redacted: null, origin: 'gemini-generate' });
    }
    this.open = null;
  }

  private emit(kind: 'text' | 'reasoning', content: string, events: ChatEvent[]): void {
    if (this.open?.kind !== kind) {
      this.close(events);
      this.open = { kind, index: this.next++, signature: null };
      events.push({ type: `${kind}-start`, index: this.open.index });
    }
    if (kind === 'text' && this.words.length < citableUnits) this.words += content;
    events.push({ type: `${kind}-delta`, index: this.open.index, text: content });
  }

  /** A signature without words of its own is a thought that says nothing. */
  private seal(signature: string, events: ChatEvent[]): void {
    if (this.open?.kind !== 'reasoning') {
      this.close(events);
      this.open = { kind: 'reasoning', index: this.next++, signature };
      events.push({ type: 'reasoning-start', index: this.open.index });
    } else this.open.signature = signature;
  }

  /** Each search as a call of a tool, for answers that report no usage at all. */
  private noteSearches(events: ChatEvent[]): void {
    for (const [tool, count] of Object.entries(this.searches))
      for (let known = this.noted[tool] ?? 0; known < count; known++) {
        this.noted[tool] = known + 1;
        events.push({ type: 'unknown', dialect: 'gemini-generate', raw: { type: `${tool}_call` } });
      }
  }

  private endCall(events: ChatEvent[]): void {
    if (this.calling === null) return;
    const { index, partial, signature } = this.calling;
    events.push(
      { type: 'tool-call-delta', index, arguments: partial.whole() },
      { type: 'tool-call-end', index, ...signature },
    );
    this.calling = null;
  }

  private takeCall(call: Record<string, unknown>, signature: string | null, events: ChatEvent[]): void {
    const name = text(call.name);
    if (name !== null) {
      this.endCall(events);
      this.close(events);
      const index = this.next++;
      const id = text(call.id) ?? `call_${this.answer}${this.called}_${name}`;
      const seal = signature === null ? {} : { signature, origin: 'gemini-generate' as const };
      this.called++;
      events.push({ type: 'tool-call-start', index, id, name, ...seal });
      if (!isPartial(call)) {
        events.push(
          { type: 'tool-call-delta', index, arguments: JSON.stringify(call.args ?? {}) },
          { type: 'tool-call-end', index, ...seal },
        );
        return;
      }
      this.calling = { index, partial: collectArguments(), signature: seal };
    }
    this.calling?.partial.take(call.partialArgs);
    // A piece without a word of more to come is the last.
    if (call.willContinue !== true) this.endCall(events);
  }

  private takePart(part: Record<string, unknown>, events: ChatEvent[]): void {
    // Relays in front of it may write its other spelling.
    const signature = text(part.thoughtSignature) ?? text(part.thought_signature);
    const call = record(part.functionCall);
    const content = text(part.text);
    if (call !== null) {
      this.takeCall(call, signature, events);
      return;
    }
    if (content !== null) this.emit(part.thought === true ? 'reasoning' : 'text', content, events);
    if (signature !== null) this.seal(signature, events);
    const media = mediaOf(part);
    if (media !== null) {
      this.close(events);
      events.push({ type: 'media', part: media });
    } else if (typeof part.text !== 'string' && signature === null) {
      events.push({ type: 'unknown', dialect: 'gemini-generate', raw: part });
    }
  }

  /** A frame may hold any of the candidates; one without a number is known by its place. */
  private firstOf(
    candidates: readonly Record<string, unknown>[],
    events: ChatEvent[],
  ): Record<string, unknown> | undefined {
    let first: Record<string, unknown> | undefined;
    for (const [place, candidate] of candidates.entries()) {
      const index = number(candidate.index) ?? place;
      if (index > 0) {
        this.others ??= createOtherChoices(createAnswerReader);
        this.others.take(index, (reader) => reader.take({ candidates: [{ ...candidate, index: 0 }] }), events);
      } else first ??= candidate;
    }
    return first;
  }

  /** Sources may come with one frame and the counts with another. */
  private state(usage: unknown, events: ChatEvent[], isFinal = true): void {
    const changes =
      this.stated.add(usage, isFinal && (this.finish !== null || this.ended)) || this.searches !== this.reported;
    const isTotal = hasGeminiTotals(usage);
    const counted = changes || isTotal ? readGeminiUsage(this.stated.members, this.searches, this.stated) : null;
    if (counted === null) return;
    this.reported = this.searches;
    events.push({ type: 'usage', usage: counted, ...(isTotal ? {} : { repeated: true as const }) });
  }

  take(body: Record<string, unknown>): ChatEvent[] {
    if (this.ended) {
      const events: ChatEvent[] = [];
      this.state(body.usageMetadata, events);
      return events;
    }
    const events: ChatEvent[] = [];
    if (body.error !== undefined && body.error !== null) {
      this.ended = true;
      this.close(events);
      events.push({ type: 'error', error: decodeError(0, JSON.stringify(body)) });
      return events;
    }
    if (!this.started) {
      this.started = true;
      this.answer = shortId(text(body.responseId));
      events.push({
        type: 'response-start',
        id: text(body.responseId),
        model: text(body.modelVersion),
        created: null,
      });
    }
    const candidate = this.firstOf(records(body.candidates), events);
    if (candidate?.groundingMetadata != null) this.grounding = new Grounding(candidate.groundingMetadata);
    for (const part of records(record(candidate?.content)?.parts)) this.takePart(part, events);
    const reason = text(candidate?.finishReason);
    if (reason !== null) this.finish = reasonOf(reason, text(candidate?.finishMessage));
    const blocked = text(record(body.promptFeedback)?.blockReason);
    if (blocked !== null) this.finish ??= { unified: 'content_filter', raw: blocked };
    if (candidate?.groundingMetadata !== undefined) this.searches = mostCalls(this.searches, groundingIn(body));
    // While other candidates go on, no report is the last.
    this.state(body.usageMetadata, events, this.others === null || records(body.candidates).length === 0);
    if (this.stated.members === null && this.searches !== this.reported) this.noteSearches(events);
    return events;
  }

  progress(): 'going' | 'stopped' {
    return this.finish === null && !this.ended ? 'going' : 'stopped';
  }

  end(meant = false): ChatEvent[] {
    if (this.ended) return [];
    this.ended = true;
    const events: ChatEvent[] = [];
    this.endCall(events);
    this.close(events);
    if (this.finish === null && meant) this.finish = { unified: 'stop', raw: null };
    if (this.finish === null) {
      events.push({ type: 'error', error: endedEarly });
      return events;
    }
    const unified = this.called > 0 && this.finish.unified === 'stop' ? 'tool_calls' : this.finish.unified;
    events.push({ type: 'finish', reason: { ...this.finish, unified } });
    return events;
  }
}

const createAnswerReader = (): AnswerReader => new GeminiAnswerReader();

class GeminiReader implements StreamReader {
  progress: 'going' | 'stopped' = 'going';
  frameKind: FrameKind = 'plain';
  private readonly candidates = createAnswerReader();

  feed({ data }: SseFrame): ChatEvent[] {
    this.frameKind = 'plain';
    if (data === '' || data === '[DONE]') return [];
    // Words have no numbers of their own.
    const parsed = data.includes('functionCall') ? parseExact(data) : parseJson(data);
    const body = record(Array.isArray(parsed) ? parsed[0] : parsed);
    if (body === null) return [];
    const events = this.candidates.take(body);
    this.progress = this.candidates.progress();
    // Of several candidates one may end before the others.
    if (this.progress === 'stopped' && data.includes('"parts"') && !data.includes('finishReason'))
      this.frameKind = 'more';
    return events;
  }

  end(): ChatEvent[] {
    this.progress = 'stopped';
    return this.candidates.end();
  }
}

export const createReader = (): StreamReader => new GeminiReader();

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
  const reader = createAnswerReader();
  const answers = records(Array.isArray(body) ? body : [body]);
  return [...answers.flatMap((one) => reader.take(one)), ...reader.end(records(record(body)?.candidates).length > 0)];
}
