/** What the answers of a conversation cost so far: as their ends report it, else counted from what went by. */
import type { UsageSource } from '../../../contract/enum.ts';
import { completionTokensOf, promptTokensOf } from '../../../contract/pricing/charge.ts';
import type { Usage } from '../../../protocols/canonical.ts';
import { type Json, number, record, records, text } from '../../../protocols/shared/json.ts';
import { emptyUsage } from '../../../protocols/shared/usage.ts';
import type { TokenCounter } from '../../admission/counting/counter.ts';
import { countedTexts, promptBound, readPrompt } from '../../intake/prompt.ts';
import { heardTokens, secondsIn, spokenTokens } from '../../shared/audio.ts';
import { DeliveredTextTally } from '../../shared/delivered-text.ts';
import { createSession, type Session } from './session.ts';
import { type Context, contextOf, nothingKnown, sum, turnUsage } from './usage.ts';

export interface Turns {
  /** The client sends this. */
  sent(event: Json): void;
  /** What the next answer costs at most, if it writes so many tokens. @param response of the event that asks for it, null = nobody asks. */
  next(response: Json | null, limit: number): Usage;
  /** An answer is asked for, and this is held for it. */
  ask(max: Usage): void;
  /** The upstream sent this. */
  received(event: Json): void;
  /** Something that was not in an answer was paid for together with them. */
  add(usage: Usage): void;
  /** Answers begun or asked for whose end was not heard of, and speech that is still being written down. */
  waiting(): number;
  /** What is owed now for what went by, roughly; costs nothing to ask. */
  bound(): Usage;
  /** What will be owed at most when all answers that were begun or asked for have ended. */
  max(): Usage;
  /** An answer that outgrew what is held for it may write so many tokens more. */
  stretch(more: number): void;
  count(): Promise<Usage>;
  source(): UsageSource;
  /** Seconds of sound that were made part of the conversation, and those that may become one next. */
  committedAudio(): { readonly committed: number; readonly pending: number };
  readonly session: Session;
}

/** What one answer reads: what is new is counted, what it knows already was counted by the upstream. */
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
  readonly said: DeliveredTextTally;
  seconds: number;
  /** What is held for it. */
  max: Usage;
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
const nothingRead = (): Reading => ({ words: new DeliveredTextTally(), seconds: 0, text: 0, images: 0 });

/** What stands in front of a conversation that nobody sees: roles, turns, what the upstream says by itself. */
const framingTokens = 64;
/** An upstream that listens says within this time that somebody speaks. */
const listeningMs = 5000;

/** @param now epoch milliseconds. */
export function createTurns(counter: TokenCounter, model: string, now: () => number): Turns {
  const open = new Map<string, Turn>();
  /** Answers that ended without a usage. */
  const unreported: Turn[] = [];
  const transcribing = new Set<string>();
  let total: Usage = emptyUsage;
  let reported = 0;
  /** Answers asked for that did not begin yet. */
  let asks: Usage[] = [];
  /** Those that an error may have been about. */
  let doubtful: Usage[] = [];
  let reading = nothingRead();
  /** Seconds in the upstream's buffer, and of the last speech it heard there. */
  let buffered = 0;
  let speech: { from: number; seconds: number } | null = null;
  /** Seconds of all sound that was sent, and of what was made part of the conversation. */
  let sent = 0;
  let committed = 0;
  /** Sound that may not have been listened to yet. */
  const recent: { at: number; seconds: number }[] = [];
  /** Tokens of the conversation as the last answer left it. */
  let known = 0;
  let context: Context = nothingKnown;
  /** What `max` says; null = something changed since it was asked. */
  let max: Usage | null = null;
  const session = createSession();

  /** What the answers before the next one leave behind for it to read. */
  const before = (): Context => {
    const last = asks.at(-1) ?? [...open.values()].at(-1)?.max;
    return last === undefined ? context : contextOf(last);
  };
  const pending = (): number => {
    if (!session.detects()) return buffered;
    if (speech !== null) return Math.min(buffered, speech.seconds || Math.max(0, sent - speech.from / 1000));
    // What was sent longer ago without a word about it was silence.
    const since = now() - listeningMs;
    while ((recent[0]?.at ?? since) < since) recent.shift();
    return Math.min(
      buffered,
      recent.reduce((sum, { seconds }) => sum + seconds, 0),
    );
  };
  const next = (response: Json | null, limit: number): Usage => {
    const { text: words, audio, images } = before();
    const spoken = session.speaks(response);
    return {
      ...emptyUsage,
      input: words + reading.text + framingTokens,
      audioInput: audio + heardTokens(reading.seconds + pending()),
      imageInput: images + reading.images,
      output: spoken ? 0 : limit,
      audioOutput: spoken ? limit : 0,
    };
  };
  const begin = (id: string): Turn => {
    const requested = asks.shift() ?? (session.listens() ? undefined : doubtful.shift());
    max = null;
    const held = requested ?? next(null, session.limit());
    const fresh = { said: new DeliveredTextTally(), seconds: 0, parts: new Set<string>(), counted: null };
    const turn: Turn = { read: reading, known, max: held, ...fresh };
    reading = nothingRead();
    open.set(id, turn);
    return turn;
  };
  const turnOf = (event: Json): Turn => {
    const id = typeof event.response_id === 'string' ? event.response_id : '';
    return open.get(id) ?? begin(id);
  };
  const partOf = ({ item_id: item, content_index: index }: Json): string =>
    `${typeof item === 'string' ? item : ''}:${typeof index === 'number' ? index : 0}`;
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
    max = null;
    const usage = turnUsage(response);
    if (usage !== null) {
      reported++;
      total = sum(total, usage);
      // What belongs to no conversation is not read again.
      if (response.conversation_id === null) return;
      known = promptTokensOf(usage) + completionTokensOf(usage);
      context = contextOf(usage);
      return;
    }
    context = contextOf(turn.max);
    for (const item of records(response.output)) {
      const key = text(item.id) ?? '';
      whole(turn, `${key}:0`, text(item.arguments));
      for (const [at, part] of records(item.content).entries())
        whole(turn, `${key}:${at}`, text(part.text) ?? text(part.transcript));
    }
    // A failure that said nothing costs nothing.
    if (turn.said.units > 0 || turn.seconds > 0 || response.status !== 'failed') unreported.push(turn);
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
  /** Tokens at least: few words are longer. */
  const surelyWritten = ({ said, seconds }: Turn): number => Math.floor(said.units / 8) + spokenTokens(seconds);
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
        const seconds = secondsIn(event.audio, session.rateIn());
        buffered += seconds;
        sent += seconds;
        const last = recent.at(-1);
        if (last !== undefined && now() - last.at < listeningMs / 10) last.seconds += seconds;
        else recent.push({ at: now(), seconds });
        return;
      }
      if (type === 'session.update') session.wished(event);
      else if (type !== 'conversation.item.create' && type !== 'response.create') return;
      const prompt = readPrompt(event);
      reading.text += promptBound(prompt, event, Buffer.byteLength(JSON.stringify(event)));
      reading.images += prompt.bound.media.imageInput ?? 0;
      const { instructions, input, tools } = record(event.response) ?? record(event.session) ?? {};
      const item = withoutSound(event.item);
      for (const words of countedTexts(readPrompt({ instructions, input, tools, item }))) reading.words.add(words);
      for (const part of records(record(event.item)?.content))
        reading.seconds += secondsIn(part.audio, session.rateIn());
    },
    next,
    ask(held) {
      max = null;
      asks.push(held);
    },
    received(event) {
      const type = typeof event.type === 'string' ? event.type : '';
      if (wordDeltas.has(type)) {
        const turn = turnOf(event);
        turn.parts.add(partOf(event));
        if (typeof event.delta === 'string') turn.said.add(event.delta);
        return;
      }
      if (soundDeltas.has(type)) {
        turnOf(event).seconds += secondsIn(event.delta, session.rateOut());
        return;
      }
      switch (type) {
        case 'session.created':
        case 'session.updated':
          return session.confirmed(event);
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
        case 'input_audio_buffer.committed': {
          // Where the upstream listens for speech itself, silence is not part of it.
          const seconds = speech?.seconds ? Math.min(speech.seconds, buffered) : buffered;
          reading.seconds += seconds;
          committed += seconds;
          buffered = 0;
          speech = null;
          if (session.transcriber() !== null) transcribing.add(text(event.item_id) ?? '');
          return;
        }
        case 'conversation.item.input_audio_transcription.completed':
        case 'conversation.item.input_audio_transcription.failed':
          transcribing.delete(text(event.item_id) ?? '');
          return;
        case 'error':
          // Nobody says which request it answers; what is asked for after all begins all the same.
          max = null;
          doubtful = [...doubtful, ...asks].slice(-8);
          asks = [];
      }
    },
    add(usage) {
      max = null;
      reported++;
      total = sum(total, usage);
    },
    waiting: () => open.size + asks.length + transcribing.size,
    bound() {
      let due = total;
      for (const turn of unreported) due = sum(due, boundOf(turn));
      for (const turn of open.values()) due = sum(due, boundOf(turn));
      if (asks.length === 0) return due;
      return sum(due, {
        ...emptyUsage,
        input: Math.ceil(reading.words.units / 2),
        cacheRead: known,
        audioInput: heardTokens(reading.seconds),
      });
    },
    max() {
      if (max !== null) return max;
      max = [...unreported.map(boundOf), ...asks, ...[...open.values()].map((turn) => turn.max)].reduce(sum, total);
      return max;
    },
    stretch(more) {
      for (const turn of open.values()) {
        const beyond = surelyWritten(turn) - completionTokensOf(turn.max);
        if (beyond <= 0) continue;
        const kind = turn.max.audioOutput > 0 ? 'audioOutput' : 'output';
        max = null;
        turn.max = sum(turn.max, { ...emptyUsage, [kind]: beyond + more });
      }
    },
    async count() {
      for (const turn of unreported) {
        if (turn.counted !== null) continue;
        turn.counted = await countOf(turn);
        max = null;
      }
      const counts = await Promise.all([...open.values()].map(countOf));
      return [...unreported.map(boundOf), ...counts].reduce(sum, total);
    },
    source() {
      const counted = open.size + unreported.length;
      if (counted === 0) return reported === 0 ? 'none' : 'reported';
      return reported === 0 ? 'estimated' : 'partial';
    },
    committedAudio: () => ({ committed, pending: pending() }),
    session,
  };
}

/** An item without what is heard of it: that is paid by its seconds, and raw sound cannot be told from words. */
export function withoutSound(item: unknown): unknown {
  const known = record(item);
  if (known === null || !Array.isArray(known.content)) return item;
  const content = known.content.map((part) => {
    const { audio, ...rest } = record(part) ?? {};
    return typeof audio === 'string' ? rest : part;
  });
  return { ...known, content };
}
