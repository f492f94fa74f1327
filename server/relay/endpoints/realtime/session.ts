/** How a conversation is set up: as its upstream says it is, and as the client wishes it to be until then. */
import { type Json, record, text } from '../../../protocols/shared/json.ts';
import { defaultRate, rateOf } from '../../shared/audio.ts';

export interface Session {
  /** The client requests this; whether it is accepted is reported later. */
  changeRequested(event: Json): void;
  /** The upstream says what holds. */
  confirmed(event: Json): void;
  /** Tokens that one answer writes at most where its own event does not say. */
  limit(): number;
  /** The same, as the client wants it. */
  requested(): number;
  /** How often the client named a limit. */
  settings(): number;
  /** Tokens that this answer may write. */
  limitOf(response: Json | null): number;
  /** A limit that we write, in the words of this session. */
  limited(limit: number): Json;
  /** Bytes of a second of sound. */
  rateIn(): number;
  rateOut(): number;
  /** Whether an answer speaks. */
  hasAudio(response: Json | null): boolean;
  /** Answers begin when the user stops speaking, without a request. */
  acceptsAudio(): boolean;
  /** The upstream detects speech itself: silence is no part of the conversation. */
  detects(): boolean;
  /** Name of the model that writes down what is said. */
  transcriber(): string | null;
  /** Kind of the session, where it has to be said with every change of it. */
  kind(): Json;
}

/** More than one answer never writes. Source: max_output_tokens in developers.openai.com/api/reference, realtime sessions. */
const maxResponseLength = 4096;
const limitNames = ['max_output_tokens', 'max_response_output_tokens'] as const;

const limitIn = (confirmed: Json | null): number | null => {
  const values = limitNames.flatMap((name) => (confirmed?.[name] === undefined ? [] : [confirmed[name]]));
  if (values.length === 0) return null;
  return Math.max(
    ...values.map((value) => (typeof value === 'number' && value > 0 ? Math.ceil(value) : maxResponseLength)),
  );
};

/** An upstream reads one of two names; where one of them asks for sound, the answer may speak. */
const audioIn = (confirmed: Json | null): boolean | null => {
  const kinds = [confirmed?.output_modalities, confirmed?.modalities].filter((kind) => Array.isArray(kind));
  return kinds.length === 0 ? null : kinds.some((kind) => kind.includes('audio'));
};

const inputOf = (confirmed: Json | null): Json | null => record(record(confirmed?.audio)?.input);

/** Its settings of turn detection, in both places; null = there are none. */
const detectionsIn = (confirmed: Json | null): readonly (Json | null)[] =>
  [confirmed?.turn_detection, inputOf(confirmed)?.turn_detection]
    .filter((detection) => detection !== undefined)
    .map(record);

const acceptsAudioIn = (confirmed: Json | null): boolean | null => {
  const detections = detectionsIn(confirmed);
  if (detections.length === 0) return null;
  return detections.some((detection) => detection !== null && detection.create_response !== false);
};

export function createSession(): Session {
  let limit = maxResponseLength;
  let requested: number | null = null;
  let settings = 0;
  let limitName: string = limitNames[0];
  let kind: Json = {};
  let rateIn = defaultRate;
  let rateOut = defaultRate;
  let audible = true;
  let listens = true;
  let detects = true;
  let transcriber: string | null = null;
  const writes = (confirmed: Json | null) => {
    const writer = confirmed?.input_audio_transcription ?? inputOf(confirmed)?.transcription;
    if (writer !== undefined) transcriber = text(record(writer)?.model);
  };
  return {
    // A change that makes a turn dearer counts from now on, one that makes it cheaper once the upstream has agreed.
    changeRequested(event) {
      const confirmed = record(event.session);
      const named = limitIn(confirmed);
      if (named !== null) settings++;
      requested = named ?? requested;
      limit = Math.max(limit, requested ?? 0);
      audible ||= audioIn(confirmed) === true;
      listens ||= acceptsAudioIn(confirmed) === true;
      // Without turn detection, the model takes all audio that is sent.
      if (detectionsIn(confirmed).includes(null)) detects = false;
      if (transcriber === null) writes(confirmed);
    },
    confirmed(event) {
      const confirmed = record(event.session);
      const audio = record(confirmed?.audio);
      limit = limitIn(confirmed) ?? limit;
      limitName = limitNames.find((name) => confirmed !== null && Object.hasOwn(confirmed, name)) ?? limitName;
      const type = text(confirmed?.type);
      kind = type === null ? {} : { type };
      rateIn = rateOf(confirmed?.input_audio_format) ?? rateOf(inputOf(confirmed)?.format) ?? rateIn;
      rateOut = rateOf(confirmed?.output_audio_format) ?? rateOf(record(audio?.output)?.format) ?? rateOut;
      audible = audioIn(confirmed) ?? audible;
      listens = acceptsAudioIn(confirmed) ?? listens;
      const detections = detectionsIn(confirmed);
      if (detections.length > 0) detects = !detections.includes(null);
      writes(confirmed);
    },
    limit: () => limit,
    requested: () => requested ?? maxResponseLength,
    settings: () => settings,
    limitOf: (response) => limitIn(response) ?? limit,
    limited: (max) => ({ [limitName]: max }),
    rateIn: () => rateIn,
    rateOut: () => rateOut,
    hasAudio: (response) => audioIn(response) ?? audible,
    acceptsAudio: () => listens,
    detects: () => detects,
    transcriber: () => transcriber,
    kind: () => kind,
  };
}
