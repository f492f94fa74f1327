/** Three turns with tools and thoughts, at another upstream of another dialect after each. */

import type { ProtocolId } from '../../../server/protocols/canonical.ts';
import type { Exchange } from '../../doubles/serve.ts';
import type { Talker } from './talk.ts';
import { aliasOf, type GridTarget } from './targets.ts';
import type { World } from './world.ts';

/** One upstream for each dialect. Its own clients ask it what it takes. */
export const stations: Readonly<Record<string, GridTarget>> = {
  'openai-chat': {
    double: 'openai',
    model: 'gpt-5.1',
    own: {},
    fields: { setting: JSON.stringify({ dialect: 'openai-chat' }) },
  },
  'openai-responses': {
    double: 'openai',
    model: 'gpt-5',
    own: {},
    fields: { setting: JSON.stringify({ dialect: 'openai-responses' }) },
  },
  'anthropic-messages': { double: 'anthropic', model: 'claude-sonnet-4-5-20250929', own: {} },
  'gemini-generate': { double: 'gemini', model: 'gemini-3-flash-preview', own: {} },
  // Thoughts must come back here.
  deepseek: { double: 'deepseek', model: 'deepseek-v4-pro', own: {} },
};

export type Station = keyof typeof stations;

export interface WalkResult {
  readonly name: string;
  /** null = nothing was refused. */
  readonly rejected: string | null;
  readonly exchanges: readonly Exchange[];
}

/** @param within whether the upstream changes between a call and its result too. */
export async function walk(
  world: World,
  talker: Talker,
  [first, second]: readonly [Station, Station],
  within: boolean,
): Promise<WalkResult> {
  const name = `${talker.protocol}: ${first} → ${second} → ${first}${within ? ', within turns' : ''}`;
  world.take();
  const talk = talker.open(world);
  let requested = 0;
  const model = (turn: number): string => {
    const at = within ? requested++ : turn;
    const station = stations[at % 2 === 0 ? first : second];
    return station === undefined ? '' : aliasOf(station);
  };
  let failure: string | null = null;
  try {
    for (let turn = 0; turn < 3; turn++) {
      talk.print(`turn ${turn}`);
      while ((await talk.ask(model(turn))) > 0) talk.answer();
    }
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
  }
  const exchanges = world.take();
  const rejected = exchanges.find((exchange) => exchange.rejected !== null)?.rejected;
  const reason = rejected == null ? failure : `${rejected.rule}: ${rejected.refusal.message}`;
  return { name, rejected: reason, exchanges };
}

export const dialects: readonly ProtocolId[] = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'gemini-generate',
];

/** All ordered pairs of different dialects. */
export const pairs: readonly (readonly [ProtocolId, ProtocolId])[] = dialects.flatMap((from) =>
  dialects.filter((to) => to !== from).map((to) => [from, to] as const),
);
