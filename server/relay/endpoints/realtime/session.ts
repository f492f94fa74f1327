/** How a conversation is set up: as its upstream says it is, and as the client wishes it to be until then. */
import { type Json, record, text } from '../../../protocols/shared/json.ts';
import { rateOf, usualRate } from '../../shared/sound.ts';

export interface Session {
  /** The client wishes for this; whether it comes true is told later. */
  wished(event: Json): void;
  /** The upstream says what holds. */
  told(event: Json): void;
  /** Tokens that one answer writes at most where its own event does not say. */
  limit(): number;
  /** The same, as the client wants it. */
  wish(): number;
  /** How often the client named a limit. */
  wishes(): number;
  /** Tokens that this answer may write. */
  limitOf(response: Json | null): number;
  /** A limit that we write, in the words of this session. */
  limited(limit: number): Json;
  /** Bytes of a second of sound. */
  rateIn(): number;
  rateOut(): number;
  /** Whether an answer speaks. */
  speaks(response: Json | null): boolean;
  /** Answers begin when somebody stops speaking, without being asked for. */
  listens(): boolean;
  /** The upstream hears by itself when somebody speaks: silence is no part of the conversation. */
  detects(): boolean;
  /** Name of the model that writes down what is said. */
  transcriber(): string | null;
  /** Kind of the session, where it has to be said with every change of it. */
  kind(): Json;
}

/** More than one answer never writes. Source: max_output_tokens in developers.openai.com/api/reference, realtime sessions. */
const longestAnswer = 4096;
const limitNames = ['max_output_tokens', 'max_response_output_tokens'] as const;

const limitIn = (told: Json | null): number | null => {
  const values = limitNames.flatMap((name) => (told?.[name] === undefined ? [] : [told[name]]));
  if (values.length === 0) return null;
  return Math.max(
    ...values.map((value) => (typeof value === 'number' && value > 0 ? Math.ceil(value) : longestAnswer)),
  );
};

const speaksIn = (told: Json | null): boolean | null => {
  const kinds = told?.output_modalities ?? told?.modalities;
  return Array.isArray(kinds) ? kinds.includes('audio') : null;
};

const inputOf = (told: Json | null): Json | null => record(record(told?.audio)?.input);

/** @returns undefined when nothing is said about it. */
function detectionIn(told: Json | null): Json | null | undefined {
  const own = told?.turn_detection;
  const detection = own === undefined ? inputOf(told)?.turn_detection : own;
  return detection === undefined ? undefined : record(detection);
}

const listensIn = (told: Json | null): boolean | null => {
  const detection = detectionIn(told);
  return detection === undefined ? null : detection !== null && detection.create_response !== false;
};

export function createSession(): Session {
  let limit = longestAnswer;
  let wish: number | null = null;
  let wishes = 0;
  let limitName: string = limitNames[0];
  let kind: Json = {};
  let rateIn = usualRate;
  let rateOut = usualRate;
  let audible = true;
  let listens = true;
  let detects = true;
  let transcriber: string | null = null;
  const writes = (told: Json | null) => {
    const writer = told?.input_audio_transcription ?? inputOf(told)?.transcription;
    if (writer !== undefined) transcriber = text(record(writer)?.model);
  };
  return {
    // What makes a turn dearer counts from now on, what makes it cheaper once the upstream has agreed.
    wished(event) {
      const told = record(event.session);
      const named = limitIn(told);
      if (named !== null) wishes++;
      wish = named ?? wish;
      limit = Math.max(limit, wish ?? 0);
      audible ||= speaksIn(told) === true;
      listens ||= listensIn(told) === true;
      // Without it, all that is sent is heard.
      if (detectionIn(told) === null) detects = false;
      if (transcriber === null) writes(told);
    },
    told(event) {
      const told = record(event.session);
      const audio = record(told?.audio);
      limit = limitIn(told) ?? limit;
      limitName = limitNames.find((name) => told !== null && Object.hasOwn(told, name)) ?? limitName;
      const type = text(told?.type);
      kind = type === null ? {} : { type };
      rateIn = rateOf(told?.input_audio_format) ?? rateOf(inputOf(told)?.format) ?? rateIn;
      rateOut = rateOf(told?.output_audio_format) ?? rateOf(record(audio?.output)?.format) ?? rateOut;
      audible = speaksIn(told) ?? audible;
      listens = listensIn(told) ?? listens;
      const detection = detectionIn(told);
      if (detection !== undefined) detects = detection !== null;
      writes(told);
    },
    limit: () => limit,
    wish: () => wish ?? longestAnswer,
    wishes: () => wishes,
    limitOf: (response) => limitIn(response) ?? limit,
    limited: (most) => ({ [limitName]: most }),
    rateIn: () => rateIn,
    rateOut: () => rateOut,
    speaks: (response) => speaksIn(response) ?? audible,
    listens: () => listens,
    detects: () => detects,
    transcriber: () => transcriber,
    kind: () => kind,
  };
}
