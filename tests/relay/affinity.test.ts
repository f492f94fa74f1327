/** What is remembered of conversations: for how long, for whom, and never without bound. */
import { expect, test } from 'vitest';
import type { ParsedRequest, Principal } from '../../server/relay/intake/parsed-request.ts';
import { conversationKey, createAffinity, keptIds, type Served } from '../../server/relay/routing/affinity.ts';

const channelOf = (served: Served | null) => served?.channelId ?? null;
const minute = 60_000;
const day = 24 * 60 * minute;

test('a conversation stays with its channel for fifteen minutes after its last answer', () => {
  let now = 0;
  const affinity = createAffinity(() => now);
  affinity.store('a', 1);
  affinity.store(null, 2);
  now += 15 * minute;
  expect([channelOf(affinity.find('a')), channelOf(affinity.find('b')), channelOf(affinity.find(null))]).toEqual([
    1,
    null,
    null,
  ]);
  affinity.store('a', 3);
  now += 15 * minute;
  expect(channelOf(affinity.find('a'))).toBe(3);
  now += 1;
  expect(channelOf(affinity.find('a'))).toBeNull();
});

test('an item that an upstream stores is known for thirty days, with its owner', () => {
  let now = 0;
  const affinity = createAffinity(() => now);
  affinity.storeItem('resp_1', { channelId: 4, ownerId: 9 });
  now += 30 * day;
  expect(affinity.kept('resp_1')).toMatchObject({ channelId: 4, ownerId: 9 });
  expect(affinity.kept('resp_2')).toBeNull();
  now += 1;
  expect(affinity.kept('resp_1')).toBeNull();
});

test('an answer whose upstream gave it a name of more than 2,048 letters cannot be named again', () => {
  const reported: string[] = [];
  const affinity = createAffinity(() => 0, { served: () => undefined, kept: (id) => reported.push(id) });
  const [longest, tooLong] = ['r'.repeat(2048), 'r'.repeat(2049)];
  for (const id of [longest, tooLong]) affinity.storeItem(id, { channelId: 1, ownerId: 1 });
  expect([affinity.kept(longest)?.ownerId, affinity.kept(tooLong), reported]).toEqual([1, null, [longest]]);
});

test('the oldest are forgotten: 20,000 conversations, 50,000 kept answers; what is used again is young', () => {
  const affinity = createAffinity(() => 0);
  for (let n = 0; n < 20_000; n++) affinity.store(`c${n}`, n + 1);
  expect(channelOf(affinity.find('c0'))).toBe(1);
  affinity.store('c0', 7);
  affinity.store('more', 1);
  expect([channelOf(affinity.find('c0')), channelOf(affinity.find('c1')), channelOf(affinity.find('c2'))]).toEqual([
    7,
    null,
    3,
  ]);
  for (let n = 0; n < 50_000; n++) affinity.storeItem(`r${n}`, { channelId: n, ownerId: 1 });
  expect(affinity.kept('r0')).not.toBeNull();
  affinity.storeItem('r0', { channelId: 7, ownerId: 1 });
  affinity.storeItem('more', { channelId: 1, ownerId: 1 });
  expect([affinity.kept('r0')?.channelId, affinity.kept('r1'), affinity.kept('r2')?.channelId]).toEqual([7, null, 2]);
});

test('owners that the store does not know yet are asked for once more, and no others', async () => {
  const requested: (readonly string[])[] = [];
  const known = new Map([['r1', { id: 'r1', ownerId: 1, channelId: 5 }]]);
  const store = {
    keepOwners: async () => undefined,
    ownersOf: async (ids: readonly string[]) => {
      requested.push(ids);
      return ids.flatMap((id) => known.get(id) ?? []);
    },
  };
  const wait = (_ms: number, done: () => void) => {
    known.set('r2', { id: 'r2', ownerId: 2, channelId: 6 });
    done();
  };
  const affinity = createAffinity(() => 0, null, { store, wait, noteLost: () => undefined });
  await affinity.load(['r1', 'r2']);
  expect(requested).toEqual([['r1', 'r2'], ['r2']]);
  expect([affinity.kept('r1')?.channelId, affinity.kept('r2')?.channelId]).toEqual([5, 6]);
  expect(affinity.load(['r1'])).toBeNull();
});

test.each([
  ['openai-responses', { previous_response_id: 'resp_1' }, ['resp_1']],
  ['openai-responses', { conversation: 'conv_1' }, ['conv_1']],
  ['openai-responses', { conversation: { id: 'conv_2' } }, ['conv_2']],
  [
    'openai-responses',
    { tools: [{ container: 'cntr_1' }, { container: { type: 'auto' } }, { type: 'x' }] },
    ['cntr_1'],
  ],
  ['openai-responses', {}, []],
  ['anthropic-messages', { container: 'c_1' }, ['c_1']],
  ['anthropic-messages', { container: { id: 'c_2', skills: [] } }, ['c_2']],
  ['anthropic-messages', { previous_response_id: 'resp_1' }, []],
  ['openai-chat', { previous_response_id: 'resp_1', container: 'c_1' }, []],
])('%s %j asks for %j', (protocol, body, expected) => {
  expect(keptIds({ protocol, body } as unknown as ParsedRequest)).toEqual(expected);
});

const principal = (id: number) => ({ user: { id } }) as Principal;
const parsed = (over: {
  headers?: Record<string, string>;
  body?: object;
  texts?: string[];
  operation?: string;
  model?: string;
}) =>
  ({
    operation: over.operation ?? 'chat',
    model: over.model ?? 'm',
    body: over.body ?? {},
    prompt: { texts: over.texts ?? ['hello'] },
    request: new Request('http://gateway/', { headers: over.headers ?? {} }),
  }) as unknown as ParsedRequest;
const keyOf = (over: Parameters<typeof parsed>[0], user = 1) => conversationKey(parsed(over), principal(user));

test('a conversation is named by its client, else by how it begins; names of two users never match', () => {
  for (const name of ['x-session-id', 'session_id', 'session-id', 'x-claude-code-session-id'])
    expect(keyOf({ headers: { [name]: 's1' }, body: { prompt_cache_key: 'k' } })).toBe('1:m:s1');
  expect(keyOf({ headers: { 'x-session-id': '' }, body: { prompt_cache_key: 'k' } })).toBe('1:m:k');
  expect(keyOf({ body: { metadata: { user_id: 'u' } } })).toBe('1:m:u');
  expect(keyOf({ body: { prompt_cache_key: 'k'.repeat(300) } })).toBe(`1:m:${'k'.repeat(256)}`);
  expect(keyOf({ headers: { 'x-session-id': 'k'.repeat(300) } })).toBe(`1:m:${'k'.repeat(256)}`);
  expect(keyOf({ operation: 'embeddings' })).toBeNull();
  const begins = keyOf({});
  expect(keyOf({ body: { prompt_cache_key: '' } })).toBe(begins);
  expect(keyOf({ body: { prompt_cache_key: 7 } })).toBe(begins);
  expect(keyOf({}, 2)).not.toBe(begins);
  expect(keyOf({ model: 'n' })).not.toBe(begins);
  expect(keyOf({ texts: ['other'] })).not.toBe(begins);
});

test('2,048 characters of a long beginning count', () => {
  const long = 'x'.repeat(2048);
  expect(keyOf({ texts: [`${long}a`] })).toBe(keyOf({ texts: [`${long}b`] }));
  expect(keyOf({ texts: [long, 'a'] })).toBe(keyOf({ texts: [long, 'b'] }));
  expect(keyOf({ texts: [`${long.slice(1)}a`] })).not.toBe(keyOf({ texts: [`${long.slice(1)}b`] }));
  expect(keyOf({ texts: ['short', 'a'] })).not.toBe(keyOf({ texts: ['short', 'b'] }));
});

test('a conversation that had to leave may return once, half a minute later and while its prompt is cached there', () => {
  let now = 0;
  const affinity = createAffinity(() => now);
  const left = () => {
    const one = affinity.find('a')?.left ?? null;
    return one === null ? null : [one.channelId, one.keyIndex, affinity.isWarm(one)];
  };
  affinity.store('a', 1, 2);
  expect(left()).toBeNull();
  now += minute;
  affinity.evict('a', 7);
  expect([channelOf(affinity.find('a')), left()]).toEqual([1, null]);
  affinity.evict('a', 1);
  expect([channelOf(affinity.find('a')), left()]).toEqual([0, [1, 2, false]]);
  affinity.store('a', 5, 0);
  now += minute / 2;
  expect([affinity.find('a')?.keyIndex, left()]).toEqual([0, [1, 2, true]]);
  // It fails there again: it stays where it is.
  affinity.evict('a', 1);
  expect([channelOf(affinity.find('a')), left()]).toEqual([5, null]);
  affinity.evict('a', 5);
  affinity.store('a', 1, 2);
  now += minute / 2;
  expect(left()).toEqual([5, 0, true]);
  // Back again, there is nothing to return to.
  affinity.store('a', 5, 0);
  expect(left()).toBeNull();
  affinity.evict('a', 5);
  affinity.store('a', 1, 2);
  now += 5 * minute + 1;
  expect(left()).toEqual([5, 0, false]);
});

test('a key that is left for another of its channel may be returned to', () => {
  let now = 0;
  const affinity = createAffinity(() => now);
  affinity.store('a', 1, 0);
  affinity.evict('a', 1);
  affinity.store('a', 1, 1);
  now += minute;
  expect(affinity.find('a')).toMatchObject({ channelId: 1, keyIndex: 1, left: { channelId: 1, keyIndex: 0 } });
});

test('another thread learns where a conversation is, with its key, and what it left', () => {
  let now = 0;
  const there = createAffinity(() => now);
  there.receive({ served: [['a', 1, 2]], kept: [] });
  there.receive({ served: [['b', 4]], kept: [] });
  expect([there.find('a'), there.find('b')]).toMatchObject([
    { channelId: 1, keyIndex: 2, left: null },
    { channelId: 4, keyIndex: -1 },
  ]);
  now += minute;
  there.receive({ served: [['a', 5, 0]], kept: [] });
  expect(there.find('a')).toMatchObject({ channelId: 5, keyIndex: 0, left: { channelId: 1, keyIndex: 2 } });
});
