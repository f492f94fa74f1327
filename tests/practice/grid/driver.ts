/** A client of the grid: one SDK in one dialect, and what it got. */
import type { ProtocolId } from '../../../server/protocols/canonical.ts';
import type { World } from './world.ts';

export interface Got {
  readonly text: string;
  readonly thoughts: string;
  readonly calls: readonly { readonly id: string | null; readonly name: string; readonly args: unknown }[];
  readonly usage: { readonly prompt: number; readonly output: number } | null;
}

export interface Scenario {
  readonly name: string;
  readonly stream: boolean;
  readonly tools: boolean;
  readonly image: boolean;
  readonly schema: boolean;
  /** A word, or `budget`; null = nothing is said of thinking. */
  readonly effort: string | null;
}

export interface Driver {
  readonly name: string;
  readonly protocol: ProtocolId;
  /** Words for effort that its dialect has. */
  readonly efforts: readonly string[];
  /** @returns what came back, turn by turn. */
  run(world: World, model: string, scenario: Scenario): Promise<readonly Got[]>;
}

/** Words by which what was sent is known again at the other end. */
export const marks = {
  system: 'SYSTEM-7f3 “ü”',
  user: 'USER-9c1 日本',
  tool: 'plan_trip',
  toolWords: 'TOOL-4b8',
  result: 'RESULT-5d2 🚀',
  more: 'AGAIN-1a6',
} as const;

export const toolSchema = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const, description: 'CITY-2e9' }, days: { type: 'integer' as const } },
  required: ['city', 'days'],
  additionalProperties: false,
};
export const answerSchema = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const }, days: { type: 'integer' as const } },
  required: ['city', 'days'],
  additionalProperties: false,
};
export const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==';
export const pixelUrl = `data:image/png;base64,${pixel}`;

export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return `not JSON: ${text}`;
  }
};
