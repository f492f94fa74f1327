/** Cost of a conversation's answers so far: as the upstream reports it, else counted from the events that went by. */
import type { UsageSource } from '../../../contract/enum.ts';
import { completionTokensOf, promptTokensOf } from '../../../contract/pricing/charge.ts';
import type { Usage } from '../../../protocols/canonical.ts';
import { type Json, number, record, records, text } from '../../../protocols/shared/json.ts';
import { emptyUsage } from '../../../protocols/shared/usage.ts';
import type { TokenCounter } from '../../admission/counting/counter.ts';
import { countedTexts, promptBound, readPrompt } from '../../intake/prompt.ts';
import { audioInputTokens, audioTokens, secondsIn } from '../../shared/audio.ts';
import { DeliveredTextTally } from '../../shared/delivered-text.ts';
import { createSession, type Session } from './session.ts';
import { type Context, contextOf, nothingKnown, sum, turnUsage } from './usage.ts';

/** The new input of one answer. The conversation before it was counted by the upstream. */
interface Reading {
  readonly words: DeliveredTextTally;
  seconds: number;
  /** Tokens of words and pictures at most. */
  text: number;
  images: number;
}

interface Turn {
  readonly read: Reading;
  readonly known: number;
  readonly delivered: DeliveredTextTally;
  seconds: number;
  /** Usage that is reserved for it. */
  max: Usage;
  /** Parts whose deltas went by: their whole text at the end is not counted again. */
  readonly parts: Set<string>;
  counted: Usage | null;
}

const wordDeltas: ReadonlySet<string> = new Set([
  'response.output_text.delta',
  'response.text.delta',
  'response.output_audio_transcript.delta',
  'response.audio_transcript.delta',
  'response.function_call_arguments.delta',
  'response.mcp_call_arguments.delta',
]);
const soundDeltas: ReadonlySet<string> = new Set(['response.output_audio.delta', 'response.audio.delta']);
const emptyReading = (): Reading => ({ words: new DeliveredTextTally(), seconds: 0, text: 0, images: 0 });

/** Tokens of a conversation that no event shows: roles, turns, the upstream's own instructions. */
const framingTokens = 64;
/** An upstream that detects speech reports it within this time. */
const listeningMs = 5000;

/** The answers of one conversation and what they cost. */
export class Turns {
  readonly session: Session = createSession();
  readonly #counter: TokenCounter;
  readonly #model: string;
  readonly #now: () => number;
  /** Answers under way, by id. */
  readonly #open = new Map<string, Turn>();
  /** Answers that ended without a usage. */
  readonly #unreported: Turn[] = [];
  /** Tokens that results of other servers' tools were read as, by item. */
  readonly #found = new Map<string, number>();
  /** Ids of speech that is being transcribed. */
  readonly #transcribing = new Set<string>();
  /** Sum of the usages that were reported. */
  #total: Usage = emptyUsage;
  #reported = 0;
  /** Answers asked for that did not begin yet: what each may cost. */
  #asked: Usage[] = [];
  /** Usage of turns that an error may have been about. */
  #doubtful: Usage[] = [];
  #reading = emptyReading();
  /** Seconds in the upstream's buffer, and of the last speech that it detected there. */
  #buffered = 0;
  #speech: { from: number; seconds: number } | null = null;
  /** Seconds of all sound that was sent, and of what was made part of the conversation. */
  #sent = 0;
  #committed = 0;
  /** Sound that the upstream may not have listened to yet. */
  readonly #recent: { at: number; seconds: number }[] = [];
  /** Tokens of the conversation after the last answer. */
  #known = 0;
  #context: Context = nothingKnown;
  /** Kept result of `max`; null = to be computed. */
  #max: Usage | null = null;

  /** @param now epoch milliseconds. */
  constructor(counter: TokenCounter, model: string, now: () => number) {
    this.#counter = counter;
    this.#model = model;
    this.#now = now;
  }

  /** The client sends this. */
  sent(event: Json): void {
    const type = text(event.type);
    if (type === 'input_audio_buffer.append') {
      this.#sentSound(secondsIn(event.audio, this.session.rateIn()));
      return;
    }
    if (type === 'session.update' || type === 'transcription_session.update') this.session.changeRequested(event);
    else if (type !== 'conversation.item.create' && type !== 'response.create') return;
    const prompt = readPrompt(event);
    const reading = this.#reading;
    reading.text += promptBound(prompt, event, Buffer.byteLength(JSON.stringify(event)));
    reading.images += prompt.bound.media.imageInput ?? 0;
    const { instructions, input, tools } = record(event.response) ?? record(event.session) ?? {};
    const item = withoutSound(event.item);
    for (const words of countedTexts(readPrompt({ instructions, input, tools, item }))) reading.words.add(words);
    for (const part of records(record(event.item)?.content))
      reading.seconds += secondsIn(part.audio, this.session.rateIn());
  }

  #sentSound(seconds: number): void {
    this.#buffered += seconds;
    this.#sent += seconds;
    const now = this.#now();
    const last = this.#recent.at(-1);
    if (last !== undefined && now - last.at < listeningMs / 10) last.seconds += seconds;
    else this.#recent.push({ at: now, seconds });
  }

  /** Highest usage of the next answer, if it writes so many tokens. @param response of the event that asks for it, null = the upstream starts it by itself. */
  next(response: Json | null, limit: number): Usage {
    const { text: words, audio, images } = this.#contextOfNext();
    const spoken = this.session.hasAudio(response);
    return {
      ...emptyUsage,
      input: words + this.#reading.text + framingTokens,
      audioInput: audio + audioInputTokens(this.#reading.seconds + this.#pending()),
      imageInput: images + this.#reading.images,
      output: spoken ? 0 : limit,
      audioOutput: spoken ? limit : 0,
    };
  }

  /** The conversation as the answers before the next one leave it. */
  #contextOfNext(): Context {
    const last = this.#asked.at(-1) ?? [...this.#open.values()].at(-1)?.max;
    return last === undefined ? this.#context : contextOf(last);
  }

  /** Seconds of sound that may become part of the conversation next. */
  #pending(): number {
    if (!this.session.detects()) return this.#buffered;
    if (this.#speech !== null) {
      const { from, seconds } = this.#speech;
      return Math.min(this.#buffered, seconds || Math.max(0, this.#sent - from / 1000));
    }
    // Sound that the upstream has not called speech within this time was silence.
    const since = this.#now() - listeningMs;
    while ((this.#recent[0]?.at ?? since) < since) this.#recent.shift();
    return Math.min(
      this.#buffered,
      this.#recent.reduce((sum, { seconds }) => sum + seconds, 0),
    );
  }

  /** Seconds of sound that were made part of the conversation, and those that may become one next. */
  committedAudio(): { readonly committed: number; readonly pending: number } {
    return { committed: this.#committed, pending: this.#pending() };
  }

  /** An answer is asked for, and this is reserved for it. */
  ask(max: Usage): void {
    this.#max = null;
    this.#asked.push(max);
  }

  /** The upstream sent this. @returns whether an answer's first content went by, or its end. */
  received(event: Json): boolean {
    const type = typeof event.type === 'string' ? event.type : '';
    if (wordDeltas.has(type) || soundDeltas.has(type)) {
      const turn = this.#turnOf(event);
      const isFirst = !hasContent(turn);
      if (soundDeltas.has(type)) turn.seconds += secondsIn(event.delta, this.session.rateOut());
      else {
        turn.parts.add(partOf(event));
        if (typeof event.delta === 'string') turn.delivered.add(event.delta);
      }
      return isFirst && hasContent(turn);
    }
    this.#control(type, event);
    return type === 'response.done';
  }

  #control(type: string, event: Json): void {
    switch (type) {
      case 'session.created':
      case 'session.updated':
      case 'transcription_session.created':
      case 'transcription_session.updated':
        this.session.confirmed(event);
        return;
      case 'response.created':
        this.#begin(text(record(event.response)?.id) ?? '');
        return;
      case 'response.done':
        this.#finish(record(event.response) ?? {});
        return;
      case 'response.output_item.done':
      case 'conversation.item.done':
      case 'conversation.item.created':
        this.#foundElsewhere(record(event.item) ?? {});
        return;
      case 'input_audio_buffer.cleared':
        this.#buffered = 0;
        return;
      case 'input_audio_buffer.speech_started':
        this.#speech = { from: number(event.audio_start_ms) ?? 0, seconds: 0 };
        return;
      case 'input_audio_buffer.speech_stopped':
        if (this.#speech !== null)
          this.#speech.seconds = Math.max(0, (number(event.audio_end_ms) ?? 0) - this.#speech.from) / 1000;
        return;
      case 'input_audio_buffer.committed':
        this.#commitSound(text(event.item_id) ?? '');
        return;
      case 'conversation.item.input_audio_transcription.completed':
      case 'conversation.item.input_audio_transcription.failed':
        this.#transcribing.delete(text(event.item_id) ?? '');
        return;
      case 'error':
        // It does not say which request it answers; a request that is answered after all begins as usual.
        this.#max = null;
        this.#doubtful = [...this.#doubtful, ...this.#asked].slice(-8);
        this.#asked = [];
    }
  }

  /** Tools of another server, and what they answer, are read by the next answer. Source: https://developers.openai.com/api/docs/guides/realtime-mcp */
  #foundElsewhere(item: Json): void {
    const { type, id, output, tools } = item;
    if (type !== 'mcp_call' && type !== 'mcp_list_tools') return;
    const key = text(id) ?? '';
    const bytes = Buffer.byteLength(JSON.stringify(output ?? tools ?? ''));
    const before = this.#found.get(key) ?? 0;
    if (bytes <= before) return;
    this.#found.set(key, bytes);
    this.#reading.text += bytes - before;
    if (before === 0) this.#reading.words.add(text(output) ?? JSON.stringify(tools ?? ''));
  }

  #commitSound(item: string): void {
    // Where the upstream detects speech itself, silence is not part of it.
    const seconds = this.#speech?.seconds ? Math.min(this.#speech.seconds, this.#buffered) : this.#buffered;
    this.#reading.seconds += seconds;
    this.#committed += seconds;
    this.#buffered = 0;
    this.#speech = null;
    if (this.session.transcriber() !== null) this.#transcribing.add(item);
  }

  #begin(id: string): Turn {
    const requested = this.#asked.shift() ?? (this.session.acceptsAudio() ? undefined : this.#doubtful.shift());
    this.#max = null;
    const max = requested ?? this.next(null, this.session.limit());
    const fresh = { delivered: new DeliveredTextTally(), seconds: 0, parts: new Set<string>(), counted: null };
    const turn: Turn = { read: this.#reading, known: this.#known, max, ...fresh };
    this.#reading = emptyReading();
    this.#open.set(id, turn);
    return turn;
  }

  #turnOf(event: Json): Turn {
    const id = typeof event.response_id === 'string' ? event.response_id : '';
    return this.#open.get(id) ?? this.#begin(id);
  }

  #finish(response: Json): void {
    const id = text(response.id) ?? '';
    const turn = this.#open.get(id) ?? this.#begin(id);
    this.#open.delete(id);
    this.#max = null;
    const usage = turnUsage(response);
    if (usage !== null) {
      this.add(usage);
      // An answer outside of the conversation is not read again.
      if (response.conversation_id === null) return;
      this.#known = promptTokensOf(usage) + completionTokensOf(usage);
      this.#context = contextOf(usage);
      return;
    }
    this.#context = contextOf(turn.max);
    for (const item of records(response.output)) {
      const key = text(item.id) ?? '';
      addWhole(turn, `${key}:0`, text(item.arguments));
      for (const [at, part] of records(item.content).entries())
        addWhole(turn, `${key}:${at}`, text(part.text) ?? text(part.transcript));
    }
    // A failed answer without content costs nothing.
    if (hasContent(turn) || response.status !== 'failed') this.#unreported.push(turn);
  }

  /** This usage was reported: of an answer, or of something that is paid on the same bill. */
  add(usage: Usage): void {
    this.#max = null;
    this.#reported++;
    this.#total = sum(this.#total, usage);
  }

  /** Answers begun or asked for that have not ended, and speech that is still being transcribed. */
  waiting(): number {
    return this.#open.size + this.#asked.length + this.#transcribing.size;
  }

  /** Usage that is owed now, roughly; cheap. */
  bound(): Usage {
    let due = this.#total;
    for (const turn of this.#unreported) due = sum(due, boundOf(turn));
    for (const turn of this.#open.values()) due = sum(due, boundOf(turn));
    if (this.#asked.length === 0) return due;
    return sum(due, {
      ...emptyUsage,
      input: Math.ceil(this.#reading.words.units / 2),
      cacheRead: this.#known,
      audioInput: audioInputTokens(this.#reading.seconds),
    });
  }

  /** Highest usage that will be owed when all answers that were begun or asked for have ended. */
  max(): Usage {
    this.#max ??= [
      ...this.#unreported.map(boundOf),
      ...this.#asked,
      ...[...this.#open.values()].map((turn) => turn.max),
    ].reduce(sum, this.#total);
    return this.#max;
  }

  /** An answer that outgrew what is reserved for it may write so many tokens more. */
  raiseMax(more: number): void {
    for (const turn of this.#open.values()) {
      const beyond = surelyWritten(turn) - completionTokensOf(turn.max);
      if (beyond <= 0) continue;
      const kind = turn.max.audioOutput > 0 ? 'audioOutput' : 'output';
      this.#max = null;
      turn.max = sum(turn.max, { ...emptyUsage, [kind]: beyond + more });
    }
  }

  /** Usage that is owed now, with the words of unreported answers counted. @param begun with the input of answers that have no content yet. */
  async count(begun = true): Promise<Usage> {
    for (const turn of this.#unreported) {
      if (turn.counted !== null) continue;
      turn.counted = await this.#countOf(turn);
      this.#max = null;
    }
    const open = [...this.#open.values()].filter((turn) => begun || hasContent(turn));
    const counts = await Promise.all(open.map((turn) => this.#countOf(turn)));
    return [...this.#unreported.map(boundOf), ...counts].reduce(sum, this.#total);
  }

  async #countOf(turn: Turn): Promise<Usage> {
    const { read, delivered } = turn;
    const kept = delivered.texts.join('');
    const bound = boundOf(turn);
    const [input = 0, output = 0] = await this.#counter.count(this.#model, [read.words.texts.join('\n'), kept]);
    // Words that were not kept are counted like those that were.
    const all =
      kept.length < delivered.units && kept !== '' ? Math.ceil((output * delivered.units) / kept.length) : output;
    return { ...bound, input, output: all };
  }

  source(): UsageSource {
    const counted = this.#open.size + this.#unreported.length;
    if (counted === 0) return this.#reported === 0 ? 'none' : 'reported';
    return this.#reported === 0 ? 'estimated' : 'partial';
  }
}

const partOf = ({ item_id: item, content_index: index }: Json): string =>
  `${typeof item === 'string' ? item : ''}:${typeof index === 'number' ? index : 0}`;

/** Adds the text of a part unless its deltas went by already. */
function addWhole(turn: Turn, part: string, words: string | null): void {
  if (words === null || turn.parts.has(part)) return;
  turn.parts.add(part);
  turn.delivered.add(words);
}

const hasContent = ({ delivered, seconds }: Turn): boolean => delivered.units > 0 || seconds > 0;

const boundOf = (turn: Turn): Usage =>
  turn.counted ?? {
    ...emptyUsage,
    input: Math.ceil(turn.read.words.units / 2),
    cacheRead: turn.known,
    audioInput: audioInputTokens(turn.read.seconds),
    output: Math.ceil(turn.delivered.units / 2),
    audioOutput: audioTokens(turn.seconds),
  };

/** Tokens at least: few words are longer than eight letters. */
const surelyWritten = ({ delivered, seconds }: Turn): number => Math.floor(delivered.units / 8) + audioTokens(seconds);

/** An item without its audio, which is priced by seconds and would be counted as text. */
export function withoutSound(item: unknown): unknown {
  const known = record(item);
  if (known === null || !Array.isArray(known.content)) return item;
  const content = known.content.map((part) => {
    const { audio, ...rest } = record(part) ?? {};
    return typeof audio === 'string' ? rest : part;
  });
  return { ...known, content };
}
