/** Conversations of every disorder, generated: what arrives obeys the upstream's rules of order, results go to their calls, nothing is lost, and what is made is declared. `FUZZ_SEED=n` repeats a run, `FUZZ_FACTOR=n` tries n a dialect. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { allCodecs, codecFor } from '../../server/protocols/registry.ts';
import { withinLimits } from '../../server/protocols/shared/model-limits.ts';
import { portableName } from '../../server/protocols/shared/tools.ts';
import { unknownTarget } from '../../server/protocols/target.ts';
import { encodeRequest as converse } from '../../server/providers/adapters/converse-request.ts';
import { rulesFor, withinRules } from '../../server/providers/knowledge/apply.ts';
import { isSystemFirst } from '../../server/providers/knowledge/message-order.ts';
import { targetFor } from '../../server/providers/knowledge/target.ts';
import { conversationOf, type Item, type Step, stepsOf, toolNames } from '../support/conversations.ts';
import { often } from '../support/often.ts';

type Upstream = ProtocolId | 'converse';

const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
const numRuns = often(60, 10_000, 'FUZZ_FACTOR');

const partsOf = (turn: Item): readonly Item[] => {
  const parts = turn.parts ?? turn.content;
  return Array.isArray(parts) ? (parts as readonly Item[]) : [];
};
const textIn = (value: unknown): string => JSON.stringify(value)?.match(/(?:result|call)\d+\./)?.[0] ?? '';

/** Each turn with calls and what answers it at once, as the wire pairs them. @throws where the wire would refuse. */
function pairsAt(to: Upstream, turns: readonly Item[]): readonly (readonly [string, string])[] {
  if (to === 'openai-chat' || to === 'ollama-chat' || to === 'cohere-chat') return pairsOfMessages(turns);
  if (to === 'openai-responses') {
    const calls = turns.filter(({ type }) => type === 'function_call');
    const results = turns.filter(({ type }) => type === 'function_call_output');
    expect(results.map(({ call_id }) => call_id)).toEqual(calls.map(({ call_id }) => call_id));
    return calls.map((call, at) => [textIn(call), textIn(results[at])]);
  }
  const { callOf, resultOf, idOf, answersOf } = {
    'gemini-generate': { callOf: 'functionCall', resultOf: 'functionResponse', idOf: 'name', answersOf: 'name' },
    'anthropic-messages': { callOf: 'tool_use', resultOf: 'tool_result', idOf: 'id', answersOf: 'tool_use_id' },
    converse: { callOf: 'toolUse', resultOf: 'toolResult', idOf: 'toolUseId', answersOf: 'toolUseId' },
  }[to];
  const inside = (part: Item, kind: string): readonly Item[] => {
    const held = part.type === kind ? part : part[kind];
    return held === undefined ? [] : [held as Item];
  };
  const found: [string, string][] = [];
  const ids: unknown[] = [];
  for (const [at, turn] of turns.entries()) {
    expect(turn.role).toBe(at % 2 === 0 ? 'user' : to === 'gemini-generate' ? 'model' : 'assistant');
    const calls = partsOf(turn).flatMap((part) => inside(part, callOf));
    const results = partsOf(turn).flatMap((part) => inside(part, resultOf));
    const before = turns[at - 1];
    const open: readonly Item[] = before === undefined ? [] : partsOf(before).flatMap((part) => inside(part, callOf));
    expect(results.map((result) => result[answersOf])).toEqual(open.map((call) => call[idOf]));
    const first = partsOf(turn).slice(0, results.length);
    expect(first.every((part) => inside(part, resultOf).length > 0)).toBe(true);
    for (const [place, call] of open.entries()) found.push([textIn(call), textIn(results[place])]);
    if (at === turns.length - 1) expect(calls).toEqual([]);
    ids.push(...calls.map((call) => call[idOf]));
  }
  if (to !== 'gemini-generate') expect(new Set(ids).size).toBe(ids.length);
  return found;
}

function pairsOfMessages(turns: readonly Item[]): readonly (readonly [string, string])[] {
  const found: [string, string][] = [];
  let open: Item[] = [];
  for (const turn of turns) {
    if (turn.role === 'tool') {
      const call = open.shift();
      expect(turn.tool_call_id).toBe(call?.id);
      found.push([textIn(call), textIn(turn)]);
      continue;
    }
    expect(open).toEqual([]);
    open = [...((turn.tool_calls ?? []) as readonly Item[])];
  }
  expect(open).toEqual([]);
  return found;
}

const upstreams: readonly Upstream[] = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'gemini-generate',
  'cohere-chat',
  'ollama-chat',
  'converse',
];

function check(all: readonly Step[], client: ProtocolId, to: Upstream): void {
  const { body, pairs, words, orphans } = conversationOf(all, client);
  const dropped: string[] = [];
  const request = codecFor(client).translation.decodeRequest({ max_tokens: 9, ...body }, { model: 'm', stream: false });
  const target = targetFor('custom', 'm');
  const encoded =
    to === 'converse'
      ? converse(withinLimits(request, unknownTarget, dropped), dropped)
      : codecFor(to).translation.encodeRequest(request, dropped, target);
  const made = to === 'converse' ? encoded : withinRules(encoded, rulesFor('custom', to, true, 'm'), dropped);
  const turns = (made.messages ?? made.contents ?? made.input) as readonly Item[];
  const arrived = pairsAt(to, turns);
  expect(arrived).toEqual(pairs.map(([call, result]) => [call, result ?? '']));
  const text = JSON.stringify(made);
  for (const word of words) expect(text.split(word).length, word).toBe(2);
  if (to === 'openai-chat' || to === 'ollama-chat') {
    expect(isSystemFirst(turns, undefined, {})).toBe(true);
    const roles = turns.map((turn) => (turn.tool_calls === undefined ? turn.role : 'calls'));
    expect(roles.some((role, at) => (role === 'user' || role === 'assistant') && role === roles[at - 1])).toBe(false);
  }
  for (const name of toolNames) expect(text).toContain(`"name":"${portableName(name)}"`);
  const missing = pairs.filter(([, result]) => result === null).length;
  expect(dropped.filter((line) => line.endsWith('a note stands in for it'))).toHaveLength(missing);
  expect(dropped.filter((line) => line.endsWith('is sent as text'))).toHaveLength(orphans);
}

test.each(upstreams)(
  'generated conversations of every dialect arrive at %s in its order, whole, each result at its call',
  (to) => {
    // What Claude itself takes in the middle passes; no request is translated into its own dialect.
    const clients = allCodecs.map(({ id }) => id).filter((id) => id !== to);
    fc.assert(
      fc.property(stepsOf(), fc.constantFrom(...clients), (all, client) => check(all, client, to)),
      { seed, numRuns },
    );
  },
);
