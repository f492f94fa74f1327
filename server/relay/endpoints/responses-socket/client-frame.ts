/** Frames that clients send over a socket for responses, and the requests that they become. https://developers.openai.com/api/docs/guides/websocket-mode */
import { AppError } from '../../../contract/errors.ts';
import { type Json, parseJson, record, text } from '../../../protocols/shared/json.ts';
import { maxMembers, outline } from '../../intake/json-text.ts';

/** Members of a frame that the same request over HTTP does not have, or that mean nothing where all is streamed. */
const ofSocket: ReadonlySet<string> = new Set(['type', 'generate', 'stream_id', 'stream', 'background']);

export interface ClientFrame {
  readonly event: Json;
  readonly text: string;
  /** Id of the response that is continued; null = a new conversation. */
  readonly previous: string | null;
}

/** @returns null for what is no object of JSON within the bounds of a body. */
export function readClientFrame(source: string): ClientFrame | null {
  if (!outline(source, maxMembers).ok) return null;
  const event = record(parseJson(source));
  return event === null ? null : { event, text: source, previous: text(event.previous_response_id) };
}

/** The request that a frame stands for. */
export interface Turn {
  /** The body of `POST /v1/responses`. */
  readonly body: string;
  /** All items of its input, as the text of a JSON list without its brackets; null = an upstream has those before. */
  readonly items: string | null;
}

/**
 * Every member stays as it came, byte for byte. @param kept items of the conversation that is continued; null = none is, or
 * not here. @throws AppError body_invalid.
 */
export function turnOf({ event, text: source, previous }: ClientFrame, kept: string | null): Turn {
  const shape = outline(source, maxMembers);
  if (!shape.ok) throw new AppError('body_not_json');
  const parts = ['"stream":true'];
  let own = '';
  for (const { key, keyStart, valueStart, valueEnd } of shape.members) {
    if (key === 'input') own = source.slice(valueStart, valueEnd);
    const isReplaced = kept !== null && (key === 'input' || key === 'previous_response_id');
    if (!ofSocket.has(key) && !isReplaced) parts.push(source.slice(keyStart, valueEnd));
  }
  const items = itemsIn(event.input, own);
  if (kept === null) return { body: `{${parts.join(',')}}`, items: previous === null ? items : null };
  const all = joined([kept, items]);
  parts.push(`"input":[${all}]`);
  return { body: `{${parts.join(',')}}`, items: all };
}

/** @param source the same as text. */
function itemsIn(input: unknown, source: string): string {
  if (input === undefined || input === null) return '';
  if (typeof input === 'string') return `{"type":"message","role":"user","content":${source}}`;
  if (!Array.isArray(input)) throw new AppError('body_invalid', { detail: 'input must be a string or a list' });
  return source.slice(1, -1).trim();
}

export const joined = (lists: readonly string[]): string => lists.filter((items) => items !== '').join(',');

/**
 * Items of a response as the input of the next turn. @param isStored the upstream keeps them, and finds thoughts by their id;
 * else thoughts without their encrypted form are known to nobody, and items may not name those they belonged to.
 */
export function asInput(output: readonly Json[], isStored: boolean): string {
  const isLost = (item: Json): boolean => item.type === 'reasoning' && text(item.encrypted_content) === null;
  if (isStored || !output.some(isLost)) return output.map((item) => JSON.stringify(item)).join(',');
  return output
    .filter((item) => !isLost(item))
    .map(({ id: _, ...item }) => JSON.stringify(item))
    .join(',');
}
