/**
 * Conversations of every disorder, generated: what arrives is what the vendor's double takes and obeys its rules of order,
 * results go to their calls, nothing is lost without a word, and what is made is declared. `FUZZ_SEED=n` repeats a run,
 * `FUZZ_FACTOR=n` tries n a pair of dialects, `FUZZ_PAIRS=text` the pairs alone whose name has the text in it.
 */
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
import {
  type Conversation,
  conversationOf,
  type Item,
  type Step,
  stepsOf,
  toolNames,
  undeclaredIn,
} from '../support/conversations.ts';
import { figure } from '../support/figure.ts';
import { often } from '../support/often.ts';
import { strictHost } from '../support/strict-hosts.ts';

type Upstream = ProtocolId | 'converse';

const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
const numRuns = often(12, 10_000, 'FUZZ_FACTOR');
const wanted = process.env.FUZZ_PAIRS ?? '';

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

/** The vendor's own host, and a model of it that takes pictures and tools. */
const vendors: Readonly<Record<Upstream, readonly [double: string, model: string]>> = {
  'openai-chat': ['openai', 'gpt-4o'],
  'openai-responses': ['openai', 'gpt-5.5'],
  'anthropic-messages': ['anthropic', 'claude-haiku-4-5-20251001'],
  'gemini-generate': ['gemini', 'gemini-2.5-flash'],
  'cohere-chat': ['cohere', 'command-a-03-2025'],
  'ollama-chat': ['ollama', 'qwen3'],
  converse: ['bedrock', 'amazon.nova-pro-v1:0'],
};

const strict = new Map(
  Object.entries(vendors).map(([to, [name, model]]) => [to, { model, host: strictHost(name, to as Upstream, model) }]),
);

interface Sent {
  readonly made: Item;
  readonly dropped: readonly string[];
}

/** @param slug of the provider. */
function sentTo(to: Upstream, client: ProtocolId, body: Item, slug: string, model: string): Sent {
  const dropped: string[] = [];
  const request = codecFor(client).translation.decodeRequest({ max_tokens: 9, ...body }, { model, stream: false });
  const encoded =
    to === 'converse'
      ? converse(withinLimits(request, unknownTarget, dropped), dropped)
      : codecFor(to).translation.encodeRequest(request, dropped, targetFor(slug, model));
  const made = to === 'converse' ? encoded : withinRules(encoded, rulesFor(slug, to, true, model), dropped);
  return { made, dropped };
}

/** What the vendor would say, and what of the conversation is gone without a word. */
function faultsAt(to: Upstream, client: ProtocolId, conversation: Conversation): readonly unknown[] {
  const vendor = strict.get(to);
  if (vendor === undefined) return [to];
  const { made, dropped } = sentTo(to, client, conversation.body, vendor.host.slug, vendor.model);
  const text = JSON.stringify(made);
  const refusal = vendor.host.refusal(text);
  const lost = conversation.words.filter((word) => !text.includes(word));
  return [...(refusal === null ? [] : [refusal]), ...lost, ...undeclaredIn(conversation, text, dropped)];
}

function check(all: readonly Step[], client: ProtocolId, to: Upstream): void {
  const conversation = conversationOf(all, client);
  const { body, pairs, words, orphans } = conversation;
  expect(faultsAt(to, client, conversation)).toEqual([]);
  const { made, dropped } = sentTo(to, client, body, 'custom', 'm');
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
  expect(undeclaredIn(conversation, text, dropped)).toEqual([]);
  const missing = pairs.filter(([, result]) => result === null).length;
  expect(dropped.filter((line) => line.endsWith('a note stands in for it'))).toHaveLength(missing);
  expect(dropped.filter((line) => line.endsWith('is sent as text'))).toHaveLength(orphans);
}

// What Claude itself takes in the middle passes; no request is translated into its own dialect.
const pairs = (Object.keys(vendors) as Upstream[]).flatMap((to) =>
  allCodecs.flatMap(({ id }) => (id === to ? [] : [[id, to] as const])),
);

test.each(pairs.filter((pair) => pair.join(' to ').includes(wanted)))(
  'generated conversations of %s arrive at %s as it takes them, in its order, whole, each result at its call',
  (client, to) => {
    let tried = 0;
    fc.assert(
      fc.property(stepsOf('picture', 'thought'), (all) => {
        tried++;
        check(all, client, to);
      }),
      { seed, numRuns },
    );
    if (numRuns >= 1000) figure(`seed ${seed}, ${client} to ${to}: ${tried} conversations`);
  },
);
