/** What arrives of a generated conversation, read out of the body in which an upstream got it. */
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import type { Item } from './conversations.ts';

export type UpstreamWire = ProtocolId | 'converse';

const isItem = (value: unknown): value is Item => typeof value === 'object' && value !== null && !Array.isArray(value);
const items = (value: unknown): readonly Item[] => (Array.isArray(value) ? value.filter(isItem) : []);

/** The word of a call or of its result; '' = another one stands there. */
export const wordIn = (value: unknown): string => JSON.stringify(value)?.match(/(?:result|call)\d+\./)?.[0] ?? '';

const turnsOf = (body: Item): readonly Item[] => items(body.messages ?? body.contents ?? body.input);
const partsOf = (turn: Item): readonly Item[] => items(turn.parts ?? turn.content);

interface Open {
  readonly id: unknown;
  readonly name: unknown;
  readonly word: string;
}

/** Calls that wait for their results, in order. */
class Pairs {
  readonly found: (readonly [call: string, result: string])[] = [];
  private readonly open: Open[] = [];

  call(id: unknown, name: unknown, value: unknown): void {
    this.open.push({ id, name, word: wordIn(value) });
  }

  /** @param id of its call; undefined = the first that waits, of this name where one is given. */
  result(id: unknown, name: unknown, value: unknown): void {
    const at = this.open.findIndex((call) =>
      id === undefined ? name === undefined || call.name === name : call.id === id,
    );
    const [call] = at < 0 ? [] : this.open.splice(at, 1);
    this.found.push([call?.word ?? 'no call', wordIn(value)]);
  }

  /** Calls without results stand behind the others. */
  all(): readonly (readonly [call: string, result: string])[] {
    return [...this.found, ...this.open.map(({ word }): readonly [string, string] => [word, 'no result'])];
  }
}

/** Each call with what answers it, as the wire pairs them. */
export function pairsIn(wire: UpstreamWire, body: Item): readonly (readonly [call: string, result: string])[] {
  const pairs = new Pairs();
  for (const turn of turnsOf(body)) {
    for (const call of items(turn.tool_calls)) {
      const held = isItem(call.function) ? call.function : call;
      pairs.call(call.id, held.name, held.arguments);
    }
    if (turn.role === 'tool')
      pairs.result(turn.tool_call_id, wire === 'ollama-chat' ? turn.tool_name : undefined, turn.content);
    if (turn.type === 'function_call') pairs.call(turn.call_id, turn.name, turn.arguments);
    if (turn.type === 'function_call_output') pairs.result(turn.call_id, undefined, turn.output);
    for (const part of partsOf(turn)) {
      if (part.type === 'tool_use') pairs.call(part.id, part.name, part.input);
      if (part.type === 'tool_result') pairs.result(part.tool_use_id, undefined, part.content);
      if (isItem(part.toolUse)) pairs.call(part.toolUse.toolUseId, part.toolUse.name, part.toolUse.input);
      if (isItem(part.toolResult)) pairs.result(part.toolResult.toolUseId, undefined, part.toolResult.content);
      if (isItem(part.functionCall)) pairs.call(part.functionCall.id, part.functionCall.name, part.functionCall.args);
      if (isItem(part.functionResponse))
        pairs.result(part.functionResponse.id, part.functionResponse.name, part.functionResponse.response);
    }
  }
  return pairs.all();
}
