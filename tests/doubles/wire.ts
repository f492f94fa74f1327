/** A dialect as its provider plays it: hears requests and says answers in its own words, apart from the product's codecs. */
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import type { Json } from '../../server/protocols/shared/json.ts';
import type { Heard, Plan } from './plan.ts';
import type { Seals } from './seal.ts';

/** What an answer is told with. */
export interface ReplyContext {
  readonly model: string;
  readonly seals: Seals;
  readonly received: Heard;
  readonly body: Json;
  /** Fails in the middle of its stream. */
  readonly breaks: boolean;
  /** Says that more was cached than there was. */
  readonly overCached: boolean;
}

export interface Wire {
  readonly id: ProtocolId | 'converse';
  receive(body: Json, stream: boolean, model: string): Heard;
  /** Id of a call. */
  callId(seed: string, name: string): string;
  whole(plan: Plan, context: ReplyContext): unknown;
  /** Its stream, piece by piece. */
  frames(plan: Plan, context: ReplyContext): readonly (string | Uint8Array)[];
  readonly contentType: string;
}

export const created = 1_700_000_000;
export const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
export const named = (event: string, value: unknown): string => `event: ${event}\n${data(value)}`;
export const events = 'text/event-stream';
