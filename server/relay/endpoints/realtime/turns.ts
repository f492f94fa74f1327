/** What the answers of a conversation cost so far: as their ends report it, else counted from what went by. */
import type { UsageSource } from '../../../contract/enums.ts';
import { completionTokensOf, promptTokensOf } from '../../../contract/quota.ts';
import type { Usage } from '../../../protocols/canonical.ts';
import { type Json, number, record, records, text } from '../../../protocols/shared/json.ts';
import { emptyUsage } from '../../../protocols/shared/usage.ts';
import type { TokenCounter } from '../../admission/counting/counter.ts';
import { readPrompt } from '../../intake/prompt.ts';
import { createTelling, type Telling } from '../../shared/delivered-text.ts';
import { heardTokens, rateOf, secondsIn, spokenTokens, usualRate } from '../../shared/sound.ts';
import { sum, turnUsage } from './usage.ts';

export interface Turns {
  /** The client sent this. */
  sent(event: Json): void;
  /** The upstream sent this. */
  received(event: Json): void;
  /** Something that was not in an answer was paid for together with them. */
  add(usage: Usage): void;
  /** Answers begun or asked for whose end was not heard of, and speech that is still being written down. */
  waiting(): number;
  /** What is owed now at most; costs nothing to ask. */
  bound(): Usage;
  count(): Promise<Usage>;
  source(): UsageSource;
  /** The session speaks. */
  speaks(): boolean;
  /** Name of the model that writes down what is said. */
  transcriber(): string | null;
}

/** What one answer reads: what is new is counted, what it knows already was counted by the upstream. */
interface Reading {
  readonly words: Telling;
  seconds: number;
}

interface Turn {
  readonly read: Reading;
  readonly known: number;
  readonly said: Telling;
  seconds: number;
  /** Parts whose pieces went by, so that the whole at their end is not counted again. */
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
const nothingRead = (): Reading => ({ words: createTelling(), seconds: 0 });

export function createTurns(counter: TokenCounter, model: string): Turns {
  const open = new Map<string, Turn>();
  /** Answers that ended without a usage. */
  const untold: Turn[] = [];
  const transcribing = new Set<string>();
  let total: Usage = emptyUsage;
  let reported = 0;
  /** Answers asked for that did not begin yet. */
  let asked = 0;
  let reading = nothingRead();
  /** Seconds in the upstream's buffer, and of the last speech it heard there. */
  let buffered = 0;
  let speech: { from: number; seconds: number } | null = null;
  /** Tokens of the conversation as the last answer left it. */
  let known = 0;
  let rateIn = usualRate;
  let rateOut = usualRate;
  let audible = true;
  let transcriber: string | null = null;

  const session = (event: Json) => {
    const told = record(event.session);
    const audio = record(told?.audio);
    const input = record(audio?.input);
    rateIn = rateOf(told?.input_audio_format) ?? rateOf(input?.format) ?? rateIn;
    rateOut = rateOf(told?.output_audio_format) ?? rateOf(record(audio?.output)?.format) ?? rateOut;
    const kinds = told?.output_modalities ?? told?.modalities;
    if (Array.isArray(kinds)) audible = kinds.includes('audio');
    const writes = told?.input_audio_transcription ?? input?.transcription;
    if (writes !== undefined) transcriber = text(record(writes)?.model);
  };
  const begin = (id: string): Turn => {
    const turn: Turn = { read: reading, known, said: createTelling(), seconds: 0, parts: new Set(), counted: null };
    reading = nothingRead();
    asked = Math.max(0, asked - 1);
    open.set(id, turn);
    return turn;
  };
  const turnOf = (event: Json): Turn => {
    const id = text(event.response_id) ?? '';
    return open.get(id) ?? begin(id);
  };
  const partOf = (event: Json): string => `${text(event.item_id) ?? ''}:${number(event.content_index) ?? 0}`;
  const whole = (turn: Turn, key: string, words: string | null) => {
    if (words === null || turn.parts.has(key)) return;
    turn.parts.add(key);
    turn.said.add(words);
  };
  const finish = (event: Json) => {
    const response = record(event.response) ?? {};
    const id = text(response.id) ?? '';
    const turn = open.get(id) ?? begin(id);
    open.delete(id);
    const usage = turnUsage(response);
    if (usage !== null) {
      reported++;
      total = sum(total, usage);
      // What belongs to no conversation is not read again.
      if (response.conversation_id !== null) known = promptTokensOf(usage) + completionTokensOf(usage);
      return;
    }
    for (const item of records(response.output)) {
      const key = text(item.id) ?? '';
      whole(turn, `${key}:0`, text(item.arguments));
      for (const [at, part] of records(item.content).entries())
        whole(turn, `${key}:${at}`, text(part.text) ?? text(part.transcript));
    }
    // A failure that said nothing costs nothing.
    if (turn.said.units > 0 || turn.seconds > 0 || response.status !== 'failed') untold.push(turn);
  };
  const boundOf = (turn: Turn): Usage =>
    turn.counted ?? {
      ...emptyUsage,
      input: Math.ceil(turn.read.words.units / 2),
      cacheRead: turn.known,
      audioInput: heardTokens(turn.read.seconds),
      output: Math.ceil(turn.said.units / 2),
      audioOutput: spokenTokens(turn.seconds),
    };
  const countOf = async (turn: Turn): Promise<Usage> => {
    const { read, said } = turn;
    const kept = said.texts.join('');
    const bound = boundOf(turn);
    const [input = 0, output = 0] = await counter.count(model, [read.words.texts.join('\n'), kept]);
    // What was not kept is counted like what was.
    const all = kept.length < said.units && kept !== '' ? Math.ceil((output * said.units) / kept.length) : output;
    return { ...bound, input, output: all };
  };

  return {
    sent(event) {
      const type = text(event.type);
      if (type === 'input_audio_buffer.append') {
        buffered += secondsIn(event.audio, rateIn);
        return;
      }
      if (type === 'response.create') asked++;
      else if (type !== 'conversation.item.create' && type !== 'session.update') return;
      const { instructions, input, tools } = record(event.response) ?? record(event.session) ?? {};
      for (const words of readPrompt({ instructions, input, tools, item: event.item }).texts) reading.words.add(words);
      for (const part of records(record(event.item)?.content)) reading.seconds += secondsIn(part.audio, rateIn);
    },
    received(event) {
      const type = text(event.type) ?? '';
      if (wordDeltas.has(type)) {
        const turn = turnOf(event);
        turn.parts.add(partOf(event));
        turn.said.add(text(event.delta) ?? '');
        return;
      }
      if (soundDeltas.has(type)) {
        turnOf(event).seconds += secondsIn(event.delta, rateOut);
        return;
      }
      switch (type) {
        case 'session.created':
        case 'session.updated':
          return session(event);
        case 'response.created':
          begin(text(record(event.response)?.id) ?? '');
          return;
        case 'response.done':
          return finish(event);
        case 'input_audio_buffer.cleared':
          buffered = 0;
          return;
        case 'input_audio_buffer.speech_started':
          speech = { from: number(event.audio_start_ms) ?? 0, seconds: 0 };
          return;
        case 'input_audio_buffer.speech_stopped':
          if (speech !== null) speech.seconds = Math.max(0, (number(event.audio_end_ms) ?? 0) - speech.from) / 1000;
          return;
        case 'input_audio_buffer.committed':
          // Where the upstream listens for speech itself, silence is not part of it.
          reading.seconds += speech?.seconds ? Math.min(speech.seconds, buffered) : buffered;
          buffered = 0;
          speech = null;
          if (transcriber !== null) transcribing.add(text(event.item_id) ?? '');
          return;
        case 'conversation.item.input_audio_transcription.completed':
        case 'conversation.item.input_audio_transcription.failed':
          transcribing.delete(text(event.item_id) ?? '');
          return;
        case 'error':
          // Nobody says which request it answers; what is asked for after all begins all the same.
          asked = 0;
      }
    },
    add(usage) {
      reported++;
      total = sum(total, usage);
    },
    waiting: () => open.size + asked + transcribing.size,
    bound() {
      let owed = total;
      for (const turn of untold) owed = sum(owed, boundOf(turn));
      for (const turn of open.values()) owed = sum(owed, boundOf(turn));
      if (asked === 0) return owed;
      return sum(owed, {
        ...emptyUsage,
        input: Math.ceil(reading.words.units / 2),
        cacheRead: known,
        audioInput: heardTokens(reading.seconds),
      });
    },
    async count() {
      for (const turn of untold) turn.counted ??= await countOf(turn);
      const counts = await Promise.all([...open.values()].map(countOf));
      return [...untold.map(boundOf), ...counts].reduce(sum, total);
    },
    source() {
      const counted = open.size + untold.length;
      if (counted === 0) return reported === 0 ? 'none' : 'reported';
      return reported === 0 ? 'estimated' : 'partial';
    },
    speaks: () => audible,
    transcriber: () => transcriber,
  };
}
