/** Reads OpenAI chat completion streams and answers into events. */
import type { ChatEvent, Citation, FinishReason, ProtocolId, UnifiedFinish, Usage } from '../canonical.ts';
import type { LazyFrame, StreamReader } from '../codec.ts';
import { readAnnotations } from '../shared/citations.ts';
import { endedEarly } from '../shared/ended-early.ts';
import { list, lookUp, number, parseExact, parseJson, record, records, text } from '../shared/json.ts';
import { Markers } from '../shared/markers.ts';
import { audioMime, mediaFrom } from '../shared/media.ts';
import { createOtherChoices, type OtherChoices } from '../shared/other-choices.ts';
import { unmarkSignature } from '../shared/signatures.ts';
import { decodeError } from './errors.ts';
import { readOpenAiUsage } from './usage.ts';

const finishes: Readonly<Record<string, UnifiedFinish>> = {
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

export const finishReason = (raw: string): FinishReason => ({ unified: lookUp(finishes, raw) ?? 'other', raw });

const isDone = (data: string): boolean => data.trim() === '[DONE]';

export const isTerminal = (frame: LazyFrame): boolean => frame.text().includes('[DONE]') && isDone(frame.data());

/** With include_usage the last chunk has an empty list of choices. */
export const isUsageOnly = (frame: LazyFrame): boolean => {
  const raw = frame.text();
  if (!raw.includes('"usage"') || !/"choices"\s*:\s*\[\s*\]/.test(raw)) return false;
  return record(record(parseJson(frame.data()))?.usage) !== null;
};

/** Most frames say that usage and finish reason are null. */
export const markers = new Markers([
  { word: '"usage"', unless: [':null', ': null'] },
  { word: 'finish_reason', unless: ['":null', '": null'] },
  { word: '"error"' },
  { word: '[DONE]' },
]);

/** Of several choices one may end before the others. */
export const saysMore = (frame: LazyFrame): boolean => {
  const choices = records(record(parseJson(frame.data()))?.choices);
  const told = (value: unknown) => value !== null && value !== '' && !(Array.isArray(value) && value.length === 0);
  return (
    choices.every(({ finish_reason }) => text(finish_reason) === null) &&
    choices.some((choice) => text(choice.text) !== null || Object.values(record(choice.delta) ?? {}).some(told))
  );
};

interface ToolBlock {
  readonly index: number;
  /** The upstream's own number of it; null = it gave none. */
  readonly at: number | null;
  readonly id: string | null;
  readonly custom: boolean;
  signature: string | null;
  /** Some upstreams begin with empty arguments and send the real ones behind: `{}` waits for what follows. */
  empty: boolean;
}

/** Blocks of the first choice, numbered in order of appearance. Text and thoughts end when another kind begins; calls may come interleaved and end together. */
interface Blocks {
  next: number;
  text: number | null;
  reasoning: number | null;
  /** What the thoughts' block is sealed with. */
  seal: { signature: string | null; redacted: string | null; origin: ProtocolId | null };
  /** The open thoughts came as plain words; details that repeat them are not told again. */
  plain: boolean;
  citations: Citation[];
  /** A refusal's words came: `stop` is not the whole truth then. */
  refused: boolean;
  readonly tools: Map<number, ToolBlock>;
}

const unsealed = { signature: null, redacted: null, origin: null } as const;

function endReasoning(blocks: Blocks, events: ChatEvent[]): void {
  if (blocks.reasoning === null) return;
  const { signature, redacted, origin } = blocks.seal;
  events.push({
    type: 'reasoning-end',
    index: blocks.reasoning,
    signature,
    redacted,
    ...(origin === null ? {} : { origin }),
  });
  blocks.reasoning = null;
  blocks.plain = false;
  blocks.seal = { ...unsealed };
}

function endText(blocks: Blocks, events: ChatEvent[]): void {
  if (blocks.text === null) return;
  const { citations } = blocks;
  events.push({ type: 'text-end', index: blocks.text, ...(citations.length === 0 ? {} : { citations }) });
  blocks.text = null;
  blocks.citations = [];
}

function endAll(blocks: Blocks): ChatEvent[] {
  const events: ChatEvent[] = [];
  endReasoning(blocks, events);
  endText(blocks, events);
  for (const { index, signature, empty } of blocks.tools.values()) {
    if (empty) events.push({ type: 'tool-call-delta', index, arguments: '{}' });
    const signed = signature === null ? {} : { signature, origin: 'gemini-generate' as const };
    events.push({ type: 'tool-call-end', index, ...signed });
  }
  blocks.tools.clear();
  return events;
}

interface ChunkReader {
  /** @param whole it is a whole answer: where both stand, `message` has the words; in a stream `delta`. */
  take(chunk: Record<string, unknown>, whole?: boolean): ChatEvent[];
  standing(): 'going' | 'stopped';
  /** @param meant the upstream said that this is the end, though perhaps not why. */
  end(meant: boolean): ChatEvent[];
}

/** The reader proper: chunks already parsed, so that a whole answer is read by the same rules. */
function createChunkReader(): ChunkReader {
  const blocks: Blocks = {
    next: 0,
    text: null,
    reasoning: null,
    seal: { ...unsealed },
    plain: false,
    citations: [],
    refused: false,
    tools: new Map(),
  };
  let started = false;
  let tier: string | null = null;
  let finish: FinishReason | null = null;
  let ended = false;
  /** Most answers have one choice. */
  let others: OtherChoices<ChunkReader> | null = null;

  const conclude = (meant: boolean): ChatEvent[] => {
    if (ended) return [];
    ended = true;
    const reason: FinishReason | null = finish ?? (meant ? { unified: 'stop', raw: null } : null);
    if (reason !== null) {
      const unified = blocks.refused && reason.unified === 'stop' ? 'refusal' : reason.unified;
      return [...endAll(blocks), { type: 'finish', reason: { ...reason, unified } }];
    }
    return [...endAll(blocks), { type: 'error', error: endedEarly }];
  };

  const fail = (body: unknown): ChatEvent[] => {
    ended = true;
    const said = record(record(body)?.error);
    // Groq and OpenRouter give the status that the error would have had in front of a stream.
    const code = number(said?.code);
    const status = number(said?.status_code) ?? (code !== null && code >= 400 && code < 600 ? code : null);
    const error = { ...decodeError(0, JSON.stringify(body)), status };
    return [...endAll(blocks), { type: 'error', error }];
  };

  return {
    take(chunk, whole = false) {
      tier = text(chunk.service_tier) ?? tier;
      // What it cost may be reported behind the end, or behind an error.
      if (ended) {
        const late = usageIn(chunk, tier);
        return late === null ? [] : [{ type: 'usage', usage: late }];
      }
      if (chunk.error !== undefined && chunk.error !== null) return fail(chunk);
      // Why a stream was stopped early.
      const stopped = text(record(chunk.x_groq)?.error);
      if (stopped !== null) return fail({ error: { message: stopped } });
      const events: ChatEvent[] = [];
      const choices = records(chunk.choices);
      // A first chunk may hold nothing but filter results, and no id.
      if (!started && (choices.length > 0 || text(chunk.id) !== null)) {
        started = true;
        events.push(startEvent(chunk));
      }
      const usage = usageIn(chunk, tier);
      for (const choice of choices) {
        if (typeof choice.index === 'number' && choice.index > 0) {
          others ??= createOtherChoices(createChunkReader);
          others.take(choice.index, (reader) => reader.take({ choices: [{ ...choice, index: 0 }] }, whole), events);
          continue;
        }
        if (record(choice.error) !== null) return [...events, ...fail(choice)];
        const [first, second] = whole ? [choice.message, choice.delta] : [choice.delta, choice.message];
        const delta = record(first) ?? record(second);
        if (delta !== null) readDelta(delta, blocks, events);
        // Some relatives say every word in both forms.
        if (typeof choice.text === 'string' && (delta === null || !speaks(delta)))
          readText(choice.text, blocks, events);
        if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '')
          finish ??= finishReason(choice.finish_reason);
      }
      if (blocks.text !== null && blocks.citations.length === 0) blocks.citations = pageCitations(chunk);
      if (usage !== null) events.push({ type: 'usage', usage });
      return events;
    },
    standing: () => (finish === null && !ended ? 'going' : 'stopped'),
    end: conclude,
  };
}

const speaks = ({ content, reasoning, reasoning_content, tool_calls }: Record<string, unknown>): boolean =>
  [content, reasoning, reasoning_content, tool_calls].some((told) => told !== undefined && told !== null);

/** Some upstreams report it inside of a choice, one in a member of its own. */
function usageIn(chunk: Record<string, unknown>, tier: string | null): Usage | null {
  let usage = readOpenAiUsage(chunk.usage, tier) ?? readOpenAiUsage(record(chunk.x_groq)?.usage, tier);
  for (const choice of records(chunk.choices)) usage ??= readOpenAiUsage(choice.usage, tier);
  return usage;
}

export function createReader(): StreamReader {
  const reader = createChunkReader();
  return {
    feed(frame) {
      if (frame.data === '') return [];
      if (isDone(frame.data)) return reader.end(true);
      // Words have no numbers of their own; a few upstreams send arguments as an object.
      const chunk = record(frame.data.includes('tool_calls') ? parseExact(frame.data) : parseJson(frame.data));
      return chunk === null ? [] : reader.take(chunk);
    },
    standing: reader.standing,
    end: () => reader.end(false),
  };
}

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

const startEvent = (body: Record<string, unknown>): ChatEvent => ({
  type: 'response-start',
  id: text(body.id),
  model: text(body.model),
  created: number(body.created),
});

function readText(words: string, blocks: Blocks, events: ChatEvent[]): void {
  if (words === '') return;
  if (blocks.text === null) {
    endReasoning(blocks, events);
    blocks.text = blocks.next++;
    events.push({ type: 'text-start', index: blocks.text });
  }
  events.push({ type: 'text-delta', index: blocks.text, text: words });
}

function openReasoning(blocks: Blocks, events: ChatEvent[], id: string | null): number {
  if (blocks.reasoning !== null) return blocks.reasoning;
  endText(blocks, events);
  blocks.reasoning = blocks.next++;
  events.push({ type: 'reasoning-start', index: blocks.reasoning, ...(id === null ? {} : { id }) });
  return blocks.reasoning;
}

function readDelta(delta: Record<string, unknown>, blocks: Blocks, events: ChatEvent[]): void {
  const thought = text(delta.reasoning_content) ?? text(delta.reasoning);
  if (thought !== null) {
    events.push({ type: 'reasoning-delta', index: openReasoning(blocks, events, null), text: thought });
    blocks.plain = true;
  }
  for (const detail of records(delta.reasoning_details)) readDetail(detail, blocks, events);
  if (typeof delta.content === 'string') readText(delta.content, blocks, events);
  else for (const part of records(delta.content)) readPart(part, blocks, events);
  const refusal = text(delta.refusal);
  if (refusal !== null) {
    blocks.refused = true;
    events.push({ type: 'refusal-delta', text: refusal });
  }
  if (delta.annotations !== undefined) blocks.citations.push(...readAnnotations(delta.annotations, 'openai-chat'));
  const audio = record(delta.audio);
  if (audio !== null) readAudio(audio, blocks, events);
  for (const image of records(delta.images)) {
    const url = text(record(image.image_url)?.url);
    if (url !== null) events.push({ type: 'media', part: { type: 'image', source: mediaFrom(url) } });
  }
  for (const call of records(delta.tool_calls)) readToolCall(call, blocks, events);
  const legacy = record(delta.function_call);
  // Some relatives send an empty one beside every answer.
  if (legacy !== null && (text(legacy.name) ?? text(legacy.arguments) ?? '') !== '')
    readToolCall({ index: 0, id: legacy.name, function: legacy }, blocks, events);
}

/** Some relatives send a list of parts, thoughts among them. */
function readPart(part: Record<string, unknown>, blocks: Blocks, events: ChatEvent[]): void {
  if (part.type !== 'thinking') readText(text(part.text) ?? '', blocks, events);
  for (const piece of records(part.thinking)) {
    const words = text(piece.text);
    if (words !== null)
      events.push({ type: 'reasoning-delta', index: openReasoning(blocks, events, null), text: words });
  }
}

/** Speech and what it says; streamed speech is bare samples. */
function readAudio(audio: Record<string, unknown>, blocks: Blocks, events: ChatEvent[]): void {
  readText(text(audio.transcript) ?? '', blocks, events);
  const data = text(audio.data);
  if (data === null) return;
  const format = text(audio.format) ?? 'pcm16';
  const source = { kind: 'base64', data, mimeType: audioMime(format) } as const;
  events.push({ type: 'media', part: { type: 'audio', source, format } });
}

/** OpenRouter repeats its words in `reasoning`; only what is sealed is new then. */
function readDetail(detail: Record<string, unknown>, blocks: Blocks, events: ChatEvent[]): void {
  const words = text(detail.text) ?? text(detail.summary);
  const sealed = text(detail.signature) ?? text(detail.data);
  if (words === null && sealed === null) return;
  if (sealed !== null && (blocks.seal.signature ?? blocks.seal.redacted) !== null) endReasoning(blocks, events);
  const index = openReasoning(blocks, events, text(detail.id));
  if (words !== null && !blocks.plain) events.push({ type: 'reasoning-delta', index, text: words });
  if (sealed === null) return;
  const { signature, origin } = unmarkSignature(sealed, 'openai-chat');
  const encrypted = detail.type === 'reasoning.encrypted';
  blocks.seal = { signature: encrypted ? null : signature, redacted: encrypted ? signature : null, origin };
}

function readToolCall(call: Record<string, unknown>, blocks: Blocks, events: ChatEvent[]): void {
  const custom = record(call.custom);
  const called = custom ?? record(call.function) ?? {};
  const id = text(call.id);
  const name = text(called.name);
  const at = number(call.index);
  const position = placeOf(at, id, name, blocks);
  let tool = blocks.tools.get(position);
  const created = tool === undefined;
  if (tool === undefined) {
    endReasoning(blocks, events);
    endText(blocks, events);
    const signature = sealOf(call);
    tool = { index: blocks.next++, at, id, custom: custom !== null, signature, empty: false };
    blocks.tools.set(position, tool);
    events.push({
      type: 'tool-call-start',
      index: tool.index,
      id: id ?? `call_${position}`,
      name: name ?? '',
      ...(tool.custom ? { custom: true } : {}),
      ...(signature === null ? {} : { signature, origin: 'gemini-generate' }),
    });
  }
  tool.signature ??= sealOf(call);
  const words = tool.custom ? text(called.input) : argumentsText(called.arguments);
  if (words === null) return;
  tool.empty = created && words === '{}';
  if (!tool.empty) events.push({ type: 'tool-call-delta', index: tool.index, arguments: words });
}

const sealOf = (call: Record<string, unknown>): string | null =>
  text(record(record(call.extra_content)?.google)?.thought_signature);

/** JSON text; a few upstreams send the object itself. */
const argumentsText = (value: unknown): string | null => {
  const object = record(value);
  return object === null ? text(value) : JSON.stringify(object);
};

/**
 * Without an index, a named call is a new one and a nameless piece belongs to the last. An index that comes again with
 * a name and another id is a new call too, and what follows without a name belongs to it: some upstreams number every
 * call 0.
 */
function placeOf(index: number | null, id: string | null, name: string | null, blocks: Blocks): number {
  const { tools } = blocks;
  if (index === null) return name !== null ? tools.size : Math.max(0, tools.size - 1);
  let last: number | null = null;
  let lastId: string | null = null;
  for (const [place, tool] of tools) {
    if ((tool.at ?? place) !== index) continue;
    if (id !== null && tool.id === id) return place;
    last = place;
    lastId = tool.id;
  }
  const isAnother = name !== null && id !== null && lastId !== null;
  if (last !== null && !isAnother) return last;
  return tools.has(index) ? Math.max(...tools.keys()) + 1 : index;
}

/** A whole answer, as if it had been streamed in one piece. */
export function decodeResponse(body: unknown): ChatEvent[] {
  const reader = createChunkReader();
  const answer = record(body);
  return [...(answer === null ? [] : reader.take(answer, true)), ...reader.end(answer?.choices !== undefined)];
}
