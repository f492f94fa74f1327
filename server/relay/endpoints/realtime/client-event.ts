/** Reads what a client's frame requests, as far as it needs permission. */
import { AppError } from '../../../contract/errors.ts';
import { type Json, parseJson, record } from '../../../protocols/shared/json.ts';
import { outline } from '../../intake/json-text.ts';

/** @throws AppError body_not_json, body_too_deep: what is not understood here might be understood elsewhere. */
export function readFrame(data: string | Uint8Array): Json {
  const text = typeof data === 'string' ? data : new TextDecoder().decode(data);
  const shape = outline(text);
  if (!shape.ok) throw new AppError(shape.reason === 'too_deep' ? 'body_too_deep' : 'body_not_json');
  const event = record(parseJson(text));
  if (event === null) throw new AppError('body_not_json');
  return event;
}

/** Some servers match names regardless of case, in all of Unicode. */
const fold = (name: string): string => name.toUpperCase().toLowerCase();

/** @param into receives the members of that name, of all the values. */
function collect(values: readonly unknown[], name: string, into: unknown[] = []): unknown[] {
  for (const value of values) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) continue;
    for (const [key, member] of Object.entries(value)) if (member !== null && fold(key) === name) into.push(member);
  }
  return into;
}

export interface NamedModels {
  /** For the spoken answer. */
  readonly speaking: readonly unknown[];
  /** For the transcription of the input. */
  readonly writing: readonly unknown[];
}

export function modelsIn(event: Json): NamedModels {
  const sessions = collect([event], 'session');
  const inputs = collect(collect(sessions, 'audio'), 'input');
  const writers = collect([event, ...sessions], 'input_audio_transcription');
  collect([event, ...sessions, ...inputs], 'transcription', writers);
  const speakers = [event, ...sessions, ...collect([event], 'response')];
  return { speaking: collect(speakers, 'model'), writing: collect(writers, 'model') };
}

/** Whether an event wants what a session that only writes down has not: an answer, or to be a conversation. */
export const asksForAnswers = (event: Json): boolean =>
  event.type === 'response.create' ||
  collect(collect([event], 'session'), 'type').some((type) => type !== 'transcription');

/** The event with the upstream's name of the conversation's model. */
export function withModel(event: Json, model: string): Json {
  const renamed = (value: unknown): unknown => {
    const body = record(value);
    return body === null || !Object.hasOwn(body, 'model') ? value : { ...body, model };
  };
  const parts = ['session', 'response'].flatMap((name) => (name in event ? [[name, renamed(event[name])]] : []));
  return { ...record(renamed(event)), ...Object.fromEntries(parts) };
}

/** A `response.create` whose answer gets no longer than this. @param limit the member that says so. */
export const limitedAnswer = (event: Json, limit: Json): Json => ({
  ...event,
  response: { ...record(event.response), ...limit },
});
