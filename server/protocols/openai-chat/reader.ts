/** Reads OpenAI chat completion streams and answers into events. */
import type {
  ChatEvent,
  Citation,
  EventOf,
  FinishReason,
  ProtocolId,
  UnifiedFinish,
  UpstreamError,
} from '../canonical.ts';
import type { FrameKind, StreamReader } from '../codec.ts';
import { readAnnotations } from '../shared/citations.ts';
import { endedEarly } from '../shared/ended-early.ts';
import { guardedLookup, list, number, parseExact, parseJson, record, records, text } from '../shared/json.ts';
import { Markers } from '../shared/markers.ts';
import { audioMime, deliveredPart, mediaFrom } from '../shared/media.ts';
import { StatedUsage } from '../shared/merge-usage.ts';
import { omitted, omittedWords } from '../shared/omitted.ts';
import { createOtherChoices, type OtherChoices } from '../shared/other-choices.ts';
import { unmarkSignature } from '../shared/signature.ts';
import type { SseFrame } from '../shared/sse.ts';
import { baseError, decodeError, isBareError } from './errors.ts';
import { hasOpenAiTotals, readOpenAiUsage } from './usage.ts';

const finishReasons: Readonly<Record<string, UnifiedFinish>> = {
  stop: 'stop',
  length: 'length',
  max_tokens: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
  // Words of relatives that speak this dialect.
  eos: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  model_length: 'length',
  model_context_window_exceeded: 'length',
  sensitive: 'content_filter',
  safety: 'content_filter',
  error: 'error',
  network_error: 'error',
  insufficient_system_resource: 'error',
};

const finishReason = (raw: string): FinishReason => ({
  unified: guardedLookup(finishReasons, raw) ?? 'other',
  raw,
});

/** A provider behind OpenRouter failed, and OpenRouter calls it `stop`. Source: https://github.com/earendil-works/pi/issues/8511. @returns its word; null = it did not. */
const failureWord = (native: unknown): string | null =>
  typeof native === 'string' && guardedLookup(finishReasons, native) === 'error' ? native : null;

/** Whether a whole answer ended with a failure. */
export const isFailed = (body: unknown): boolean =>
  records(record(body)?.choices).some(
    ({ finish_reason, native_finish_reason }) =>
      (failureWord(native_finish_reason) ?? failureWord(finish_reason)) !== null,
  );

/** Most frames say that usage and finish reason are null. */
export const markers = new Markers([
  { word: '"usage"', unless: [':null', ': null'] },
  { word: 'finish_reason', unless: ['":null', '": null'] },
  { word: '"error"' },
  // Zhipu and Alibaba tell an error by a code and words alone.
  { word: '"code"', unless: [':null', ': null'] },
  { word: '"status_code"', unless: [':0', ': 0'] },
  { word: '[DONE]' },
]);

interface ToolBlock {
  readonly index: number;
  /** The upstream's own number of it; null = it gave none. */
  readonly at: number | null;
  id: string | null;
  readonly custom: boolean;
  /** null = it has not come yet, and the call has not begun: the arguments so far. */
  held: string | null;
  signature: string | null;
  /** Some upstreams begin with empty arguments and send the real ones behind: `{}` waits for what follows. */
  empty: boolean;
}

/** Blocks that bear one number, as far as another piece with that number may belong to one of them. */
interface Numbered {
  last: number;
  lastId: string | null;
  /** Where each id came first. */
  readonly places: Map<string, number>;
}

/** The calls of an answer. */
class ToolBlocks {
  readonly all = new Map<number, ToolBlock>();
  private readonly numbered = new Map<number, Numbered>();
  private highest = -1;

  /**
   * Without an index, a named call is a new one and a nameless piece belongs to the last. An index that comes again with
   * a name and another id is a new call too, and what follows without a name belongs to it: some upstreams number every
   * call 0.
   */
  placeOf(index: number | null, id: string | null, name: string | null): number {
    const { all } = this;
    if (index === null) {
      const last = Math.max(0, all.size - 1);
      // A call that waits for its name gets the next one.
      return name === null || (all.get(last)?.held ?? null) !== null ? last : all.size;
    }
    const known = this.numbered.get(index);
    if (known !== undefined) {
      const place = id === null ? undefined : known.places.get(id);
      if (place !== undefined) return place;
      const isAnother = name !== null && id !== null && known.lastId !== null;
      if (!isAnother) return known.last;
    }
    return all.has(index) ? this.highest + 1 : index;
  }

  add(place: number, tool: ToolBlock): void {
    const { at, id } = tool;
    this.all.set(place, tool);
    this.highest = Math.max(this.highest, place);
    const number = at ?? place;
    let known = this.numbered.get(number);
    if (known === undefined) {
      known = { last: place, lastId: id, places: new Map() };
      this.numbered.set(number, known);
    }
    known.last = place;
    known.lastId = id;
    if (id !== null && !known.places.has(id)) known.places.set(id, place);
  }
}

/** Of several choices one may end before the others. */
function hasMore(choices: readonly unknown[]): boolean {
  const all = records(choices);
  const isPresent = (value: unknown) => value !== null && value !== '' && !(Array.isArray(value) && value.length === 0);
  return (
    all.every(({ finish_reason }) => text(finish_reason) === null) &&
    all.some((choice) => text(choice.text) !== null || Object.values(record(choice.delta) ?? {}).some(isPresent))
  );
}

/** As `record` says, of what stands in every chunk: numbers that matter are no objects of their own there. */
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Where parts of an answer have what is neither words nor calls, and what it is taken for where it does not say so. */
const mediaMembers = [
  { member: 'image_url', mimeType: 'image/png' },
  { member: 'image', mimeType: 'image/png' },
  { member: 'b64_json', mimeType: 'image/png' },
  { member: 'video_url', mimeType: 'video/mp4' },
  { member: 'video', mimeType: 'video/mp4' },
  { member: 'file', mimeType: 'application/octet-stream' },
] as const;

const noChoices: readonly unknown[] = [];
const none: readonly never[] = [];
const unsealed = { signature: null, redacted: null, origin: null } as const;

/** Reads chunks, and whole answers by the same rules. */
class OpenAiChatReader implements StreamReader {
  frameKind: FrameKind = 'plain';
  progress: 'going' | 'stopped' = 'going';

  private started = false;
  private ended = false;
  private tier: string | null = null;
  private reason: FinishReason | null = null;
  /** null = none so far. */
  private stated: StatedUsage | null = null;
  /** Most answers have one choice. */
  private others: OtherChoices<OpenAiChatReader> | null = null;

  // Blocks of the first choice, numbered in order of appearance. Text and thoughts end when another kind begins; calls
  // may come interleaved and end together.
  private next = 0;
  private text: number | null = null;
  private reasoning: number | null = null;
  /** What the thoughts' block is sealed with. */
  private signature: {
    readonly signature: string | null;
    readonly redacted: string | null;
    readonly origin: ProtocolId | null;
  } = unsealed;
  /** The open thoughts came as plain words; details that repeat them are not emitted again. */
  private isPlain = false;
  private citations: Citation[] = [];
  /** A refusal's words came: `stop` is not the whole truth then. */
  private isRejected = false;
  private tools: ToolBlocks | null = null;

  feed({ data }: SseFrame): ChatEvent[] {
    this.frameKind = 'plain';
    if (data === '') return [];
    if (data.trim() === '[DONE]') {
      this.frameKind = 'terminal';
      return this.finish(true);
    }
    // Words have no numbers of their own; a few upstreams send arguments as an object.
    const parsed = data.includes('tool_calls') ? parseExact(data) : parseJson(data);
    if (!isObject(parsed)) return [];
    const events = this.take(parsed, false);
    const { choices, usage } = parsed;
    if (Array.isArray(choices)) {
      // With include_usage the last chunk has an empty list of choices.
      if (choices.length > 0) {
        if (this.progress === 'stopped' && hasMore(choices)) this.frameKind = 'more';
      } else if (record(usage) !== null) this.frameKind = 'usage-only';
    }
    return events;
  }

  end(): ChatEvent[] {
    return this.finish(false);
  }

  held(): readonly ChatEvent[] {
    const others = this.others?.held((reader) => reader.held()) ?? none;
    if (this.tools === null) return others;
    const events: ChatEvent[] = [...others];
    for (const { index, held } of this.tools.all.values())
      if (held !== null && held !== '') events.push({ type: 'tool-call-delta', index, arguments: held });
    return events;
  }

  /** @param isWhole it is a whole answer: where both stand, `message` has the words; in a stream `delta`. */
  take(chunk: Record<string, unknown>, isWhole: boolean): ChatEvent[] {
    if (typeof chunk.service_tier === 'string' && chunk.service_tier !== '') this.tier = chunk.service_tier;
    const choices: readonly unknown[] = Array.isArray(chunk.choices) ? chunk.choices : noChoices;
    // What it cost may be reported behind the end, or behind an error.
    if (this.ended) {
      const usage = this.usageIn(chunk, choices);
      return usage === null ? [] : [usage];
    }
    if (chunk.error !== undefined && chunk.error !== null) return this.fail(chunk);
    const base = chunk.base_resp === undefined ? null : baseError(chunk);
    if (base !== null) return this.failAs(base);
    if (choices.length === 0 && (chunk.code !== undefined || chunk.object === 'error') && isBareError(chunk))
      return this.failAs({ ...decodeError(0, JSON.stringify(chunk)), status: null });
    // Why a stream was stopped early.
    const stopped = chunk.x_groq === undefined ? null : text(record(chunk.x_groq)?.error);
    if (stopped !== null) return this.fail({ error: { message: stopped } });
    const events: ChatEvent[] = [];
    // A first chunk may hold nothing but filter results, and no id.
    if (!this.started && (choices.some(isObject) || text(chunk.id) !== null)) {
      this.started = true;
      events.push({
        type: 'response-start',
        id: text(chunk.id),
        model: text(chunk.model),
        created: number(chunk.created),
      });
    }
    const usage = this.usageIn(chunk, choices);
    for (const choice of choices) {
      if (!isObject(choice)) continue;
      if (typeof choice.index === 'number' && choice.index > 0) {
        this.takeOther(choice, choice.index, isWhole, events);
        continue;
      }
      if (choice.error !== undefined && record(choice.error) !== null) return [...events, ...this.fail(choice)];
      const [fallback, other] = isWhole ? [choice.message, choice.delta] : [choice.delta, choice.message];
      const delta = isObject(fallback) ? fallback : record(other);
      if (delta !== null) this.readDelta(delta, events);
      // Some relatives say every word in both forms.
      if (typeof choice.text === 'string' && (delta === null || !hasContent(delta))) this.readText(choice.text, events);
      if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '') {
        this.reason ??= finishReason(failureWord(choice.native_finish_reason) ?? choice.finish_reason);
        this.progress = 'stopped';
      }
    }
    if (this.text !== null && this.citations.length === 0 && (chunk.search_results ?? chunk.citations) !== undefined)
      this.citations = pageCitations(chunk);
    if (usage !== null) events.push(usage);
    return events;
  }

  private takeOther(choice: Record<string, unknown>, index: number, isWhole: boolean, events: ChatEvent[]): void {
    this.others ??= createOtherChoices(() => new OpenAiChatReader());
    this.others.take(index, (reader) => reader.take({ choices: [{ ...choice, index: 0 }] }, isWhole), events);
  }

  /** @param isMeant the upstream said that this is the end, though perhaps not why. */
  finish(isMeant: boolean): ChatEvent[] {
    if (this.ended) return [];
    this.ended = true;
    this.progress = 'stopped';
    const events: ChatEvent[] = [];
    this.endAll(events);
    const reason: FinishReason | null = this.reason ?? (isMeant ? { unified: 'stop', raw: null } : null);
    if (reason === null) events.push({ type: 'error', error: endedEarly });
    else {
      const unified = this.isRejected && reason.unified === 'stop' ? 'refusal' : reason.unified;
      events.push({ type: 'finish', reason: { ...reason, unified } });
    }
    return events;
  }

  private fail(body: unknown): ChatEvent[] {
    const value = record(record(body)?.error);
    // Groq and OpenRouter give the status that the error would have had in front of a stream.
    const code = number(value?.code);
    const status = number(value?.status_code) ?? (code !== null && code >= 400 && code < 600 ? code : null);
    return this.failAs({ ...decodeError(0, JSON.stringify(body)), status });
  }

  private failAs(error: UpstreamError): ChatEvent[] {
    this.ended = true;
    this.progress = 'stopped';
    const events: ChatEvent[] = [];
    this.endAll(events);
    events.push({ type: 'error', error });
    return events;
  }

  /** Some upstreams report it inside of a choice, one in a member of its own. */
  private usageIn(chunk: Record<string, unknown>, choices: readonly unknown[]): EventOf<'usage'> | null {
    const { usage } = chunk;
    let isStated = usage !== undefined && usage !== null;
    const groq = chunk.x_groq === undefined ? undefined : record(chunk.x_groq)?.usage;
    isStated ||= groq !== undefined;
    let isFinal = this.progress === 'stopped';
    let several = choices.length > 0 && this.others !== null;
    for (const choice of choices) {
      if (!isObject(choice)) continue;
      isStated ||= choice.usage !== undefined;
      isFinal ||= typeof choice.finish_reason === 'string' && choice.finish_reason !== '';
      several ||= typeof choice.index === 'number' && choice.index > 0;
    }
    // With the end of one of several choices some report that one alone.
    if (several) isFinal = false;
    if (!isStated) return null;
    this.stated ??= new StatedUsage();
    const { stated } = this;
    let changes = false;
    let isTotal = false;
    for (const choice of choices)
      if (isObject(choice) && choice.usage !== undefined) {
        changes = stated.add(choice.usage, false) || changes;
        isTotal ||= hasOpenAiTotals(choice.usage);
      }
    changes = stated.add(groq, false) || changes;
    changes = stated.add(usage, isFinal) || changes;
    isTotal ||= hasOpenAiTotals(groq) || hasOpenAiTotals(usage);
    if (!changes && !isTotal) return null;
    const read = readOpenAiUsage(stated.members, this.tier, stated);
    if (read === null) return null;
    return isTotal ? { type: 'usage', usage: read } : { type: 'usage', usage: read, repeated: true };
  }

  private endReasoning(events: ChatEvent[]): void {
    if (this.reasoning === null) return;
    const { signature, redacted, origin } = this.signature;
    events.push({
      type: 'reasoning-end',
      index: this.reasoning,
      signature,
      redacted,
      ...(origin === null ? {} : { origin }),
    });
    this.reasoning = null;
    this.isPlain = false;
    this.signature = unsealed;
  }

  private endText(events: ChatEvent[]): void {
    if (this.text === null) return;
    const { citations } = this;
    events.push({ type: 'text-end', index: this.text, ...(citations.length === 0 ? {} : { citations }) });
    this.text = null;
    this.citations = [];
  }

  private endAll(events: ChatEvent[]): void {
    this.endReasoning(events);
    this.endText(events);
    if (this.tools === null) return;
    for (const [position, tool] of this.tools.all) {
      const { index, signature, empty, held } = tool;
      if (held !== null) {
        // Nobody said what is called.
        startCall(tool, '', position, events);
        if (held !== '') events.push({ type: 'tool-call-delta', index, arguments: held });
      }
      if (empty) events.push({ type: 'tool-call-delta', index, arguments: '{}' });
      const signed = signature === null ? {} : { signature, origin: 'gemini-generate' as const };
      events.push({ type: 'tool-call-end', index, ...signed });
    }
    this.tools = null;
  }

  private readText(words: string, events: ChatEvent[]): void {
    if (words === '') return;
    if (this.text === null) {
      this.endReasoning(events);
      this.text = this.next++;
      events.push({ type: 'text-start', index: this.text });
    }
    events.push({ type: 'text-delta', index: this.text, text: words });
  }

  private openReasoning(events: ChatEvent[], id: string | null): number {
    if (this.reasoning !== null) return this.reasoning;
    this.endText(events);
    this.reasoning = this.next++;
    events.push({ type: 'reasoning-start', index: this.reasoning, ...(id === null ? {} : { id }) });
    return this.reasoning;
  }

  /** Nearly every delta has words and nothing else: what is not there is not read. */
  private readDelta(delta: Record<string, unknown>, events: ChatEvent[]): void {
    const { content } = delta;
    if (delta.reasoning_content !== undefined || delta.reasoning !== undefined) {
      const thought = text(delta.reasoning_content) ?? text(delta.reasoning);
      if (thought !== null) {
        events.push({ type: 'reasoning-delta', index: this.openReasoning(events, null), text: thought });
        this.isPlain = true;
      }
    }
    if (delta.reasoning_details !== undefined)
      for (const detail of records(delta.reasoning_details)) this.readDetail(detail, events);
    if (typeof content === 'string') this.readText(content, events);
    else if (Array.isArray(content)) for (const part of records(content)) this.readPart(part, events);
    if (typeof delta.refusal === 'string' && delta.refusal !== '') {
      this.isRejected = true;
      events.push({ type: 'refusal-delta', text: delta.refusal });
    }
    if (delta.annotations !== undefined)
      for (const citation of readAnnotations(delta.annotations, 'openai-chat')) this.citations.push(citation);
    if (delta.audio !== undefined) this.readAudio(record(delta.audio), events);
    if (delta.images !== undefined) for (const image of records(delta.images)) this.readMedia(image, events);
    if (delta.tool_calls !== undefined) for (const call of records(delta.tool_calls)) this.readToolCall(call, events);
    if (delta.function_call !== undefined) {
      const legacy = record(delta.function_call);
      // Some relatives send an empty one beside every answer.
      if (legacy !== null && (text(legacy.name) ?? text(legacy.arguments) ?? '') !== '')
        this.readToolCall({ index: 0, id: legacy.name, function: legacy }, events);
    }
    for (const name in delta) {
      if (deltaMembers.has(name)) continue;
      const value = delta[name];
      if (typeof value !== 'object' && typeof value !== 'string') continue;
      const words = omittedWords(name, value);
      if (words !== '') events.push({ type: 'omitted', what: name, words });
      else if (record(value) !== null) events.push({ type: 'omitted', what: name });
    }
  }

  /** Some relatives send a list of parts, thoughts among them. */
  private readPart(part: Record<string, unknown>, events: ChatEvent[]): void {
    const before = events.length;
    this.readKnownPart(part, events);
    if (events.length === before && part.text === undefined && part.thinking === undefined)
      events.push(omitted(text(part.type) ?? 'a part', part));
  }

  private readKnownPart(part: Record<string, unknown>, events: ChatEvent[]): void {
    if (part.type !== 'thinking') this.readText(text(part.text) ?? '', events);
    this.readMedia(part, events);
    for (const chunk of records(part.thinking)) {
      const words = text(chunk.text);
      if (words !== null)
        events.push({ type: 'reasoning-delta', index: this.openReasoning(events, null), text: words });
    }
  }

  /** A picture, video or file in whichever member the relative has it. */
  private readMedia(part: Record<string, unknown>, events: ChatEvent[]): void {
    for (const { member, mimeType } of mediaMembers) {
      const value = part[member];
      if (value === undefined) continue;
      const held = record(value);
      const url = text(value) ?? text(held?.url) ?? text(held?.file_data);
      if (url === null) continue;
      const source =
        member === 'b64_json' ? ({ kind: 'base64', data: url, mimeType } as const) : mediaFrom(url, mimeType);
      events.push({ type: 'media', part: deliveredPart(source, source.mimeType ?? mimeType) });
      return;
    }
    // Sound of a list of parts: samples, or a recording that names its form.
    const sound = record(part.input_audio) ?? record(part.audio);
    if (part.type !== undefined && sound !== null) this.readAudio(sound, events);
  }

  /** Speech and what it says; streamed speech is bare samples. */
  private readAudio(audio: Record<string, unknown> | null, events: ChatEvent[]): void {
    if (audio === null) return;
    this.readText(text(audio.transcript) ?? '', events);
    const data = text(audio.data);
    if (data === null) return;
    const format = text(audio.format) ?? 'pcm16';
    const source = { kind: 'base64', data, mimeType: audioMime(format) } as const;
    events.push({ type: 'media', part: { type: 'audio', source, format } });
  }

  /** OpenRouter repeats its words in `reasoning`; only what is sealed is new then. */
  private readDetail(detail: Record<string, unknown>, events: ChatEvent[]): void {
    const words = text(detail.text) ?? text(detail.summary);
    const sealed = text(detail.signature) ?? text(detail.data);
    if (words === null && sealed === null) return;
    if (sealed !== null && (this.signature.signature ?? this.signature.redacted) !== null) this.endReasoning(events);
    const index = this.openReasoning(events, text(detail.id));
    if (words !== null && !this.isPlain) events.push({ type: 'reasoning-delta', index, text: words });
    if (sealed === null) return;
    const { signature, origin } = unmarkSignature(sealed, 'openai-chat');
    const encrypted = detail.type === 'reasoning.encrypted';
    this.signature = { signature: encrypted ? null : signature, redacted: encrypted ? signature : null, origin };
  }

  private readToolCall(call: Record<string, unknown>, events: ChatEvent[]): void {
    const custom = record(call.custom);
    const called = custom ?? record(call.function) ?? {};
    const id = text(call.id);
    // Some say that it is empty until they know it. Source: lobehub/lobe-chat#13189
    const name = text(called.name) || null;
    const at = number(call.index);
    this.tools ??= new ToolBlocks();
    const position = this.tools.placeOf(at, id, name);
    let tool = this.tools.all.get(position);
    const created = tool === undefined;
    if (tool === undefined) {
      this.endReasoning(events);
      this.endText(events);
      const signature = signatureOf(call);
      tool = { index: this.next++, at, id, custom: custom !== null, held: '', signature, empty: false };
      this.tools.add(position, tool);
    }
    tool.id ??= id;
    tool.signature ??= signatureOf(call);
    const { held } = tool;
    const words = tool.custom ? text(called.input) : argumentsText(called.arguments);
    if (held !== null) {
      if (name === null) {
        tool.held = held + (words ?? '');
        return;
      }
      startCall(tool, name, position, events);
      if (held !== '') events.push({ type: 'tool-call-delta', index: tool.index, arguments: held });
    }
    if (words === null) return;
    tool.empty = created && words === '{}';
    if (!tool.empty) events.push({ type: 'tool-call-delta', index: tool.index, arguments: words });
  }
}

/** What is read of a delta or message, and what hosts say of themselves beside it. */
const deltaMembers: ReadonlySet<string> = new Set([
  ...['role', 'content', 'refusal', 'annotations', 'audio', 'images', 'tool_calls', 'function_call'],
  ...['reasoning', 'reasoning_content', 'reasoning_details', 'provider_specific_fields', 'extra_content'],
]);

function startCall(tool: ToolBlock, name: string, position: number, events: ChatEvent[]): void {
  const { index, id, custom, signature } = tool;
  tool.held = null;
  events.push({
    type: 'tool-call-start',
    index,
    id: id ?? `call_${position}`,
    name,
    ...(custom ? { custom: true } : {}),
    ...(signature === null ? {} : { signature, origin: 'gemini-generate' }),
  });
}

export const createReader = (): StreamReader => new OpenAiChatReader();

/** A whole answer, as if it had been streamed in one piece. */
export function decodeResponse(body: unknown): ChatEvent[] {
  const reader = new OpenAiChatReader();
  const answer = record(body);
  return [...(answer === null ? [] : reader.take(answer, true)), ...reader.finish(answer?.choices !== undefined)];
}

const hasContent = ({ content, reasoning, reasoning_content, tool_calls }: Record<string, unknown>): boolean =>
  [content, reasoning, reasoning_content, tool_calls].some((value) => value !== undefined && value !== null);

/** Searching models list their sources beside the choices, on every chunk alike. */
function pageCitations(chunk: Record<string, unknown>): Citation[] {
  if (chunk.search_results === undefined && chunk.citations === undefined) return [];
  const pages = records(chunk.search_results);
  const listed = pages.length > 0 ? pages : list(chunk.citations).map((url) => ({ url, title: null }));
  return listed.flatMap((raw) => {
    const url = text(raw.url);
    if (url === null) return [];
    return [{ url, title: text(raw.title), quote: null, start: null, end: null, dialect: 'openai-chat' as const, raw }];
  });
}

const signatureOf = (call: Record<string, unknown>): string | null =>
  text(record(record(call.extra_content)?.google)?.thought_signature);

/** JSON text; a few upstreams send the object itself. */
const argumentsText = (value: unknown): string | null => {
  const object = record(value);
  return object === null ? text(value) : JSON.stringify(object);
};
