/** Conversations that one dialect tolerates, in the order that the upstream's dialect demands. */
import { expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecFor } from '../../server/protocols/registry.ts';
import { withinLimits } from '../../server/protocols/shared/model-limits.ts';
import { unknownTarget } from '../../server/protocols/target.ts';
import { encodeRequest as converse } from '../../server/providers/adapters/converse-request.ts';
import { targetFor } from '../../server/providers/knowledge/target.ts';

type Item = Record<string, unknown>;

function sent(from: ProtocolId, to: ProtocolId | 'converse', body: Item, model = 'm') {
  const dropped: string[] = [];
  const request = codecFor(from).translation.decodeRequest({ max_tokens: 9, ...body }, { model, stream: false });
  const made =
    to === 'converse'
      ? converse(withinLimits(request, unknownTarget, dropped), dropped)
      : codecFor(to).translation.encodeRequest(request, dropped, targetFor('', model));
  return { made, dropped, turns: (made.messages ?? made.contents ?? made.input) as readonly Item[] };
}

const call = (id: string, city: string) => ({
  id,
  type: 'function',
  function: { name: 'weather', arguments: JSON.stringify({ city }) },
});
const calls = (...ids: readonly string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => call(id, id.toUpperCase())),
});
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: `weather of ${id}` });
const user = { role: 'user', content: 'go' };

const use = (id: string) => ({ type: 'tool_use', id, name: 'weather', input: { city: id.toUpperCase() } });
const used = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: `weather of ${id}` });

/** The calls of a turn and what each of them got, by the rules of the wire. */
function paired(to: ProtocolId | 'converse', turns: readonly Item[]): readonly (readonly [string, string])[] {
  const text = (value: unknown) => JSON.stringify(value).match(/weather of \w+|No result was given/)?.[0] ?? '';
  const city = (value: unknown) => JSON.stringify(value).match(/city\W+(\w+)/)?.[1] ?? '';
  const parts = turns.flatMap((turn) => (turn.parts ?? turn.content ?? []) as readonly Item[]);
  switch (to) {
    case 'gemini-generate': {
      const results = parts.filter((part) => part.functionResponse !== undefined);
      return parts.filter((part) => part.functionCall !== undefined).map((one, at) => [city(one), text(results[at])]);
    }
    case 'anthropic-messages': {
      const results = parts.filter((part) => part.type === 'tool_result');
      const found = (id: unknown) => results.find((part) => part.tool_use_id === id);
      return parts.filter((part) => part.type === 'tool_use').map((one) => [city(one), text(found(one.id) ?? {})]);
    }
    case 'converse': {
      const results = parts.flatMap((part) => (part.toolResult === undefined ? [] : [part.toolResult as Item]));
      const uses = parts.flatMap((part) => (part.toolUse === undefined ? [] : [part.toolUse as Item]));
      const found = (id: unknown) => results.find((part) => part.toolUseId === id);
      return uses.map((one) => [city(one), text(found(one.toolUseId) ?? {})]);
    }
    case 'openai-responses': {
      const found = (id: unknown) => turns.find((one) => one.type === 'function_call_output' && one.call_id === id);
      return turns
        .filter((one) => one.type === 'function_call')
        .map((one) => [city(one), text(found(one.call_id) ?? {})]);
    }
    default: {
      const found = (id: unknown) => turns.find((one) => one.tool_call_id === id);
      return turns
        .flatMap((turn) => (turn.tool_calls ?? []) as readonly Item[])
        .map((one) => [city(one), text(found(one.id) ?? {})]);
    }
  }
}

const dialects = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'gemini-generate',
  'cohere-chat',
  'ollama-chat',
] as const;
const upstreams = [...dialects, 'converse'] as const;

test.each(upstreams)('%s: results that come in another order go to their calls', (to) => {
  const chat = sent('openai-chat', to, { messages: [user, calls('denver', 'moab'), result('moab'), result('denver')] });
  const messages = sent('anthropic-messages', to, {
    messages: [
      user,
      { role: 'assistant', content: [use('denver'), use('moab')] },
      { role: 'user', content: [used('moab'), used('denver')] },
    ],
  });
  for (const { turns, dropped } of [chat, messages]) {
    expect(paired(to, turns)).toEqual([
      ['DENVER', 'weather of denver'],
      ['MOAB', 'weather of moab'],
    ]);
    expect(dropped).toContain('/messages/2: results are sent right behind their calls, in the order of these');
  }
});

test('a model that gives ids to its calls gets them back, one without gets none', () => {
  const body = { messages: [user, calls('denver', 'moab'), result('moab'), result('denver')] };
  const idsOf = (model: string) =>
    sent('openai-chat', 'gemini-generate', body, model).turns.flatMap(({ parts }) =>
      (parts as readonly { functionCall?: Item; functionResponse?: Item }[]).flatMap((part) => {
        const part_ = part.functionCall ?? part.functionResponse;
        return part_ === undefined ? [] : [part_.id];
      }),
    );
  expect(idsOf('gemini-3.6-flash')).toEqual(['denver', 'moab', 'denver', 'moab']);
  expect(idsOf('gemini-2.5-flash')).toEqual([undefined, undefined, undefined, undefined]);
});

test.each(upstreams)('%s: a call without a result gets a note as its result', (to) => {
  for (const [more, place] of [
    [[result('moab'), user], 1],
    [[user], 1],
    [[], 1],
  ] as const) {
    const { turns, dropped } = sent('openai-chat', to, { messages: [user, calls('denver', 'moab'), ...more] });
    expect(paired(to, turns)[0]).toEqual(['DENVER', 'No result was given']);
    expect(paired(to, turns)[1]?.[1]).toBe(more.length === 2 ? 'weather of moab' : 'No result was given');
    expect(dropped).toContain(`/messages/${place}: weather was called and has no result, a note stands in for it`);
  }
});

test.each(upstreams)('%s: a result without its call is text of the user', (to) => {
  const { turns, dropped } = sent('openai-chat', to, { messages: [user, result('lost'), user] });
  expect(JSON.stringify(turns)).toContain('weather of lost');
  expect(JSON.stringify(turns)).not.toMatch(/tool_call_id|tool_use_id|functionResponse|toolUseId|call_id/);
  expect(turns.every(({ role }) => role === 'user')).toBe(true);
  expect(dropped).toContain('/messages/1: a result whose call is not in the conversation is sent as text');
});

test.each(upstreams)('%s: a second result of one call is text behind the first', (to) => {
  const { turns } = sent('openai-chat', to, { messages: [user, calls('a'), result('a'), result('a'), user] });
  expect(paired(to, turns)).toEqual([['A', 'weather of a']]);
  expect(JSON.stringify(turns).match(/weather of a/g)).toHaveLength(2);
});

test.each(upstreams)('%s: two calls with one id are two calls, each with its own result', (to) => {
  const again = { ...calls('a'), tool_calls: [call('a', 'x'), call('a', 'y')] };
  const answer = (words: string) => ({ role: 'tool', tool_call_id: 'a', content: `weather of ${words}` });
  const { turns, dropped } = sent('openai-chat', to, { messages: [user, again, answer('x'), answer('y')] });
  expect(paired(to, turns)).toEqual([
    ['x', 'weather of x'],
    ['y', 'weather of y'],
  ]);
  expect(dropped).toContain('/messages/1: a call has the id of another one, and is sent under an id of its own');
});

test('an id that a later turn uses again belongs to the later call', () => {
  const { turns } = sent('openai-chat', 'anthropic-messages', {
    messages: [user, calls('a'), user, calls('a'), result('a')],
  });
  expect(paired('anthropic-messages', turns)).toEqual([
    ['A', 'No result was given'],
    ['A', 'weather of a'],
  ]);
});

test('what one side says in several messages is one turn where it calls', () => {
  const { turns, dropped } = sent('anthropic-messages', 'openai-chat', {
    messages: [
      user,
      { role: 'assistant', content: [use('a')] },
      { role: 'assistant', content: [use('b')] },
      { role: 'user', content: [used('a'), used('b')] },
    ],
  });
  expect(turns.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool']);
  expect(paired('openai-chat', turns)).toEqual([
    ['A', 'weather of a'],
    ['B', 'weather of b'],
  ]);
  expect(dropped).toEqual([]);
});

test('a reminder between a call and its result comes behind the result', () => {
  const { turns } = sent('anthropic-messages', 'openai-chat', {
    messages: [
      user,
      { role: 'assistant', content: [use('a')] },
      { role: 'system', content: 'be kind' },
      { role: 'user', content: [used('a')] },
    ],
  });
  expect(turns.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'system']);
});

test('a result that comes after the model went on belongs to its call all the same', () => {
  const { turns, dropped } = sent('openai-chat', 'gemini-generate', {
    messages: [user, calls('a'), user, { role: 'assistant', content: 'waiting' }, result('a'), user],
  });
  expect(paired('gemini-generate', turns)).toEqual([['A', 'weather of a']]);
  expect(turns.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model', 'user']);
  expect(dropped).toContain('/messages/2: results are sent right behind their calls, in the order of these');
});

test('pictures in results come behind all results where these go by their place', () => {
  const picture = (id: string) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } }],
  });
  const { turns } = sent('anthropic-messages', 'gemini-generate', {
    messages: [
      user,
      { role: 'assistant', content: [use('a'), use('b')] },
      { role: 'user', content: [picture('a'), picture('b'), { type: 'text', text: 'next' }] },
    ],
  });
  expect(((turns[2]?.parts ?? []) as readonly Item[]).map((part) => Object.keys(part)[0])).toEqual([
    'functionResponse',
    'functionResponse',
    'inlineData',
    'inlineData',
    'text',
  ]);
});

test.each(upstreams)('%s: a turn in which the model said nothing is left out', (to) => {
  const { turns, dropped } = sent('openai-chat', to, { messages: [user, { role: 'assistant', content: ' ' }, user] });
  expect(turns.some(({ role }) => role === 'assistant' || role === 'model')).toBe(false);
  expect(dropped).toContain('/messages/1: says nothing and is left out');
});

const apart = ['anthropic-messages', 'gemini-generate', 'converse'] as const;

test.each(apart)('%s: where nobody asks anything the instructions are the question', (to) => {
  const { made, turns, dropped } = sent('openai-chat', to, {
    messages: [
      { role: 'system', content: 'be brief' },
      { role: 'system', content: 'say hi' },
    ],
  });
  expect(JSON.stringify(turns)).toContain('say hi');
  expect(turns.map(({ role }) => role)).toEqual(['user']);
  expect(JSON.stringify(made.system ?? made.systemInstruction)).toContain('be brief');
  expect(dropped).toContain('/messages/1: nobody asks anything, these instructions are sent as the question');
});

test.each(apart)('%s: a conversation that the model begins is begun by the user', (to) => {
  const { turns, dropped } = sent('openai-chat', to, { messages: [{ role: 'assistant', content: 'hello' }, user] });
  expect(turns.map(({ role }) => role)).toEqual(['user', to === 'gemini-generate' ? 'model' : 'assistant', 'user']);
  expect(dropped).toContain('/messages: the model cannot speak first, a word of the user’s stands before it');
});

test.each([
  ['gemini-3.6-flash', 'user'],
  ['gemini-3.5-flash', 'user'],
  ['gemini-4-argon', 'user'],
  ['gemini-3.1-pro-preview', 'model'],
  ['gemini-3-pro-preview', 'model'],
  ['gemini-2.5-flash', 'model'],
])('words to go on from are followed by a wish to go on where Gemini refuses them: %s ends with %s', (model, role) => {
  const body = { messages: [user, { role: 'assistant', content: 'one,' }] };
  expect(sent('openai-chat', 'gemini-generate', body, model).turns.at(-1)?.role).toBe(role);
});

test.each(upstreams)('%s: where nothing but empty turns is left a word of the user’s stands for them', (to) => {
  const silent = { role: 'assistant', content: '' };
  const { turns, dropped } = sent('openai-chat', to, { messages: [silent, silent] });
  expect(turns).toHaveLength(1);
  expect(turns[0]?.role).toBe('user');
  expect(JSON.stringify(turns)).toContain('Begin.');
  expect(dropped).toContain('/messages: nobody says anything, a word of the user’s stands for it');
  const asked = sent('openai-chat', to, { messages: [silent, user] });
  expect(JSON.stringify(asked.turns)).not.toContain('Begin.');
  expect(asked.dropped).toEqual(['/messages/0: says nothing and is left out']);
});

test.each(dialects)('a conversation in order goes to %s as it is, and nothing is declared', (to) => {
  const messages = [user, calls('a', 'b'), result('a'), result('b'), { role: 'assistant', content: 'done' }, user];
  const { turns, dropped } = sent('openai-chat', to, { messages });
  expect(paired(to, turns)).toEqual([
    ['A', 'weather of a'],
    ['B', 'weather of b'],
  ]);
  expect(dropped).toEqual([]);
});

test('the name of who speaks later in one turn of calls is declared as left out', () => {
  const named = (name: string, ...ids: readonly string[]) => ({ ...calls(...ids), name });
  const conversation = (...names: readonly string[]) => ({
    messages: [user, ...names.map((name, at) => named(name, `c${at}`)), ...names.map((_, at) => result(`c${at}`))],
  });
  const lost = ['/messages/2/name: it is one turn with what was said before'];
  expect(sent('openai-chat', 'openai-chat', conversation('ann', 'bob')).dropped).toEqual(lost);
  expect(sent('openai-chat', 'openai-chat', conversation('ann', 'ann')).dropped).toEqual([]);
});
